"""Stored values, read also where a later version wrote them: two versions run side by side while one replaces the other.

Does not open what is encrypted (`worker.adapters.redis.encryption` does). Invariant: a field that this version does not know is left out,
not an error; nothing else about a value is guessed.
"""

from typing import TypeVar

from pydantic import ValidationError

from worker.domain.model import Frozen

M = TypeVar("M", bound=Frozen)


def read_json(kind: type[M], text: str | bytes) -> M:
    """The value that was stored."""
    return kind.model_validate_json(text, extra="ignore")


def read_json_or_none(kind: type[M], text: str | bytes) -> M | None:
    """The same; None where it holds a word that only a later version knows: it stays for whoever does."""
    try:
        return read_json(kind, text)
    except ValidationError as error:
        import logging  # noqa: PLC0415 - a laptop's judging logs nothing, and pays 2 ms for it

        where = ", ".join(".".join(map(str, detail["loc"])) for detail in error.errors(include_input=False))
        logging.getLogger(__name__).warning("left for a later version: %s in %s", kind.__name__, where)
        return None
