"""What the family's signals find in a change made of texts."""

from collections.abc import Mapping

from tests.worker.signals.made import change_of
from worker.domain.verdict.verdict import Side
from worker.signals.weak_test import SIGNALS

Seen = tuple[str, int | None]


def seen(before: Mapping[str, str], after: Mapping[str, str], *, texts: bool = True) -> list[Seen]:
    """The name and the line of every finding; a line of the version before is negative."""
    change = change_of(before, after, texts=texts)
    found = [finding for signal in SIGNALS for finding in signal.findings(change)]
    return [(one.signal, -(one.line or 0) if one.side is Side.BASE else one.line) for one in found]


def seen_new(path: str, text: str, *, texts: bool = True) -> list[Seen]:
    """In a new file."""
    return seen({}, {path: text}, texts=texts)


def names(found: list[Seen]) -> list[str]:
    return [name for name, _ in found]
