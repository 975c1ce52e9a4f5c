"""What `assay doctor` wants to know of the model's key.

Does not ask the model anything, so it costs nothing. Invariant: never raises for what it is asked to find
out, and no answer holds the key or what a server echoed.
"""

from typing import Final

import anthropic
import httpx2

from worker.adapters.anthropic.model import BASE_URL, CONNECT_S, REMEDIES
from worker.settings import ModelAccess

TIMEOUT_S: Final = 20.0
MOST_MODELS: Final = 1000


def check_key(access: ModelAccess) -> str | None:
    """Why the key or the model's name can't be used, as a clause; None when they can."""
    with anthropic.Anthropic(
        api_key=access.api_key.get_secret_value(),
        base_url=access.base_url or BASE_URL,
        max_retries=0,
        timeout=httpx2.Timeout(TIMEOUT_S, connect=CONNECT_S),
    ) as client:
        try:
            model_ids = {model.id for model in client.models.list(limit=MOST_MODELS).data}
        except anthropic.APIStatusError as error:
            return f"status {error.status_code}: {REMEDIES.get(error.status_code, 'try again later')}"
        except (anthropic.APIError, httpx2.HTTPError):
            return f"{access.base_url or BASE_URL} can't be reached; check the network and ANTHROPIC_BASE_URL"
    return None if access.name in model_ids else f'there is no model "{access.name}"; check ASSAY_MODEL'
