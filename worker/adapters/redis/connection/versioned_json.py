"""Stored JSON, readable across versions: two run side by side during an upgrade. An unknown field is ignored."""

from typing import TypeVar

from pydantic import ValidationError

from worker.domain.model import Frozen

M = TypeVar("M", bound=Frozen)


def read_json(kind: type[M], text: str | bytes) -> M:
    """Read a stored value."""
    return kind.model_validate_json(text, extra="ignore")


def read_json_or_none(kind: type[M], text: str | bytes) -> M | None:
    """Read a stored value; None for an enum value of a later version: it stays for a process that can read it."""
    try:
        return read_json(kind, text)
    except ValidationError as error:
        import logging  # noqa: PLC0415 - a laptop's judging logs nothing, and pays 2 ms for it

        where = ", ".join(".".join(map(str, detail["loc"])) for detail in error.errors(include_input=False))
        logging.getLogger(__name__).warning("left for a later version: %s in %s", kind.__name__, where)
        return None
