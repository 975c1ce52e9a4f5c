"""Exchange the code of GitHub's manifest flow for the created App, in one request without redirects or retries.

The web process loads no GitHub client, so urllib sends it. No error or repr holds a secret.
"""

import http.client
import re
from typing import Final
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from worker.errors import Unavailable

MAX_RESPONSE_BYTES: Final = 1024 * 1024
CODE: Final = r"[A-Za-z0-9_-]{1,200}"
SERVER_ERROR: Final = 500
TOO_MANY_REQUESTS: Final = 429


class CreatedApp(BaseModel):
    """The App and its secrets, which GitHub returns once."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    id: int = Field(gt=0)
    # max_length instead of {1,100} in the pattern, whose compilation takes a twentieth of the start
    slug: str = Field(pattern=r"^[\w.-]+$", max_length=100)
    html_url: str = Field(pattern=r"^https?://[^\s\"<>]+$", max_length=500)
    pem: SecretStr = Field(min_length=1)
    webhook_secret: SecretStr = Field(min_length=1)


class CodeRefused(Exception):
    """GitHub refuses the code, or it has expired. The message is for people."""


def exchange_code(api_url: str, code: str, timeout_s: float) -> CreatedApp:
    """Fetch the App of a code. Raises CodeRefused, and Unavailable where a retry may help."""
    if not re.fullmatch(CODE, code):
        raise CodeRefused("That is no code of GitHub's.")
    request = Request(  # noqa: S310 - settings take http(s) only
        f"{api_url}/app-manifests/{quote(code, safe='')}/conversions",
        data=b"",
        headers={"Accept": "application/vnd.github+json", "User-Agent": "assay"},
        method="POST",
    )
    try:
        with _opener().open(request, timeout=timeout_s) as answer:
            return CreatedApp.model_validate_json(answer.read(MAX_RESPONSE_BYTES))
    except HTTPError as error:
        with error:
            if error.code >= SERVER_ERROR or error.code == TOO_MANY_REQUESTS:
                raise Unavailable("GitHub", f"answered {error.code}") from None
            raise CodeRefused(
                f"GitHub does not take this code (any more): it answered {error.code}. A code is good for an hour, and once."
            ) from None
    except (OSError, http.client.HTTPException) as error:
        raise Unavailable("GitHub", f"did not answer ({type(error).__name__})") from None
    except ValidationError:
        raise CodeRefused("GitHub answered with what is no App.") from None


def _opener() -> OpenerDirector:
    """Urllib's default opener without redirects: the code must reach GitHub only."""
    opener = OpenerDirector()
    for handler in (ProxyHandler, HTTPHandler, HTTPSHandler, HTTPDefaultErrorHandler, HTTPErrorProcessor):
        opener.add_handler(handler())
    return opener
