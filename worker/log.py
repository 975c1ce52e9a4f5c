"""Logs of the long-running commands: one JSON object a line, on stderr.

Does not log anything itself; modules use the standard library's `logging`, with fields in `extra`. Invariant: every
line of every library goes the same way, and at no level does one hold what a model is asked.
"""

import logging
import sys

import structlog
from structlog.typing import Processor


def log_json(level: str) -> None:
    """Send all logging of this process through here."""
    shared: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.contextvars.merge_contextvars,  # after: what a line says of itself is nearer than what it is part of
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
    logging.getLogger("anthropic").setLevel("INFO" if level == "DEBUG" else level)  # below, it logs whole questions
    if level in ("DEBUG", "ERROR"):
        return
    for chatty in ("rq.worker", "rq.job", "httpx", "httpx2", "httpcore", "hishel", "uvicorn"):
        logging.getLogger(chatty).setLevel("WARNING")
