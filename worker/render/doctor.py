"""The report of `assay doctor`: one line for each thing that was looked at.

Does not look at anything. Invariant: whatever is not right says what to do.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from worker.domain.value import Value
from worker.render.columns import Ink, Page, columns, wrapped
from worker.render.visible import one_line


class Health(StrEnum):
    OK = "ok"
    MISSING = "missing"
    WRONG = "wrong"


class Examined(Value):
    """One thing that was looked at. *words* say what was found and, unless all is well, what to do."""

    name: str
    health: Health
    words: str


INKS: Final = {Health.OK: Ink.GREEN, Health.MISSING: Ink.YELLOW, Health.WRONG: Ink.RED}
HEALTH_COLUMNS: Final = 9
NAME_COLUMNS: Final = 24


def doctor_report(examined: Sequence[Examined], page: Page) -> str:
    """All lines, and what is left to do."""
    lines = [line for one in examined for line in _lines(one, page)]
    bad = sum(one.health is not Health.OK for one in examined)
    last = "All is well." if not bad else f"{bad} of {len(examined)} to change; the lines above say how."
    return "\n".join([*lines, "", last, ""])


def _lines(one: Examined, page: Page) -> list[str]:
    indent = HEALTH_COLUMNS + NAME_COLUMNS
    first, *rest = wrapped(one_line(one.words), page, indent)
    name = one.name + " " * max(1, NAME_COLUMNS - columns(one.name))
    health = page.ink(one.health, INKS[one.health]) + " " * (HEALTH_COLUMNS - len(one.health))
    return [f"{health}{name}{first.lstrip()}", *rest]
