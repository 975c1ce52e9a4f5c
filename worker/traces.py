"""The one id that leads from a delivery to its check run: what every line of the log about a request carries.

Does not log anything. Invariant: ids, names and commits only; a repository's name is in the log, never its text.
"""

import re
import secrets
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Final

from structlog.contextvars import bound_contextvars

from worker.domain.ids import DeliveryId, Sha
from worker.domain.request.judge_request import JudgeRequest

LATE_PREFIX: Final = re.compile(r"^late-[0-9a-f]{8}-")


def log_fields(request: JudgeRequest, head_sha: Sha | None = None) -> dict[str, object]:
    """The fields of a line about this request. *head_sha*: the head that it came to be about, where that is known better."""
    return {
        "delivery_id": request.delivery_id,
        "repository": request.repository,
        "number": request.pull.number,
        "head_sha": head_sha or request.head_sha,
    }


def late_delivery_id(delivery_id: DeliveryId) -> DeliveryId:
    """Of who has to look once more at what this delivery asked for. Another each time: what was heard before is not heard."""
    return DeliveryId(f"late-{secrets.token_hex(4)}-{LATE_PREFIX.sub('', delivery_id)}")


@contextmanager
def bind_log_fields(fields: Mapping[str, object]) -> Generator[None]:
    """Whatever is logged in this block, by whichever library, carries these fields."""
    with bound_contextvars(**fields):
        yield
