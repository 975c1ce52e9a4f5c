"""JSON logs of the long-running commands on stderr, one object a line, and the fields that tie a line to its request.

Modules log with the standard library's `logging` and fields in `extra`. Fields are ids, names and commits, never a repository's text.
"""

import logging
import re
import secrets
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Final

import structlog
from structlog.contextvars import bound_contextvars
from structlog.typing import Processor

from worker.domain.judge_request import JudgeRequest
from worker.domain.model import DeliveryId, Sha

LATE_PREFIX: Final = re.compile(r"^late-[0-9a-f]{8}-")


def log_json(level: str) -> None:
    """Format the logging of all libraries in this process as JSON."""
    shared: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.contextvars.merge_contextvars,  # last: a line's own fields win over those of its context
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.CallsiteParameterAdder([structlog.processors.CallsiteParameter.PROCESS]),
    ]
    final: list[Processor] = [
        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
        structlog.processors.format_exc_info,
        structlog.processors.JSONRenderer(),
    ]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=final))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.getLogger("anthropic").setLevel("INFO" if level == "DEBUG" else level)  # at DEBUG it logs whole requests
    if level not in ("DEBUG", "ERROR"):
        for chatty in ("rq.worker", "rq.job", "httpx", "httpx2", "httpcore", "hishel", "uvicorn"):
            logging.getLogger(chatty).setLevel("WARNING")


def log_fields(request: JudgeRequest, head_sha: Sha | None = None) -> dict[str, object]:
    """The fields of a line about this request. *head_sha*: the head that is judged, where it is known better."""
    return {
        "delivery_id": request.delivery_id,
        "repository": request.repository,
        "number": request.pull.number,
        "head_sha": head_sha or request.head_sha,
    }


def late_delivery_id(delivery_id: DeliveryId) -> DeliveryId:
    """A new id for repeating what a delivery asked for; the delivery's own id counts as a duplicate."""
    return DeliveryId(f"late-{secrets.token_hex(4)}-{LATE_PREFIX.sub('', delivery_id)}")


@contextmanager
def bind_log_fields(fields: Mapping[str, object]) -> Generator[None]:
    """Add these fields to all that is logged in this block."""
    with bound_contextvars(**fields):
        yield
