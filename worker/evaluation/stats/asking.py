"""A question to the records: over which time, about what, grouped how.

Does not answer. Invariant: a parameter that can't be used is told with its name, what is expected and what was found; one that
nobody knows is refused too, so that a slip of the pen is no silent default.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, TypeVar

from worker.domain.pattern import pattern
from worker.domain.value import Value
from worker.domain.verdict.verdict import SubjectKind
from worker.domain.window import moment_ms
from worker.evaluation.stats.reading import WHOLE, View
from worker.evaluation.stats.tables import Dimension
from worker.evaluation.stats.windows import EPOCH, LATEST, Window, window

T = TypeVar("T")
WEEK: Final = timedelta(days=7)
WITHIN: Final = 0.15
"""How far apart two scores of one subject may be to agree."""

ALL: Final = "all"
APART: Final = frozenset({SubjectKind.BENCHMARK})
"""In no answer but one that asks for it by its name: nobody proposed what was judged there."""

NONE: Final = "none"
SHARE: Final = pattern(r"[0-9]{1,2}(\.[0-9]{1,10})?")


class Topic(StrEnum):
    """What is asked about."""

    QUALITY = "quality"
    COST = "cost"
    AGREEMENT = "agreement"
    BACKLOG = "backlog"
    AGENTS = "agents"
    OVERRIDES = "overrides"


class AskError(ValueError):
    """A parameter can't be used; says which, what is expected, what was found."""

    def __init__(self, parameter: str, expected: str, found: str) -> None:
        super().__init__(f"{parameter}: expected {expected}, found {found[:100]!r}.")
        self.parameter = parameter
        self.expected = expected
        self.found = found[:100]


class Question(Value):
    """`group_by` None: one row for all. `min_confidence` and `within` are ten-thousandths."""

    over: Window
    subject: str = SubjectKind.SUBMISSION.value
    view: View = View.VERDICTS
    group_by: Dimension | None = Dimension.AUTHOR_AGENT
    min_confidence: int = 0
    include_eval: bool = False
    within: int = round(WITHIN * WHOLE)

    @property
    def subjects(self) -> tuple[str, ...]:
        return tuple(one.value for one in SubjectKind if one not in APART) if self.subject == ALL else (self.subject,)


PARAMETERS: Final = ("from", "to", "subject", "view", "group_by", "min_confidence", "include_eval", "agreement_window")


def asked(given: Mapping[str, str], topic: Topic, now: datetime) -> Question:
    """Read the parameters. Raises AskError."""
    for name in given:
        if name not in PARAMETERS:
            raise AskError(name, f"one of {', '.join(PARAMETERS)}", given[name])
    until = _read(given, "to", now, lambda text: moment("to", text, now))
    since = _read(given, "from", max(until - WEEK, EPOCH), lambda text: moment("from", text, now))
    if since >= until:
        raise AskError("from", f"a time before {until.isoformat()}", given.get("from", since.isoformat()))
    usual = ALL if topic in {Topic.COST, Topic.BACKLOG} else SubjectKind.SUBMISSION.value
    subjects = (*(one.value for one in SubjectKind), ALL)
    groups = (*(one.value for one in Dimension), NONE)
    group = _one_of(given, "group_by", groups, Dimension.AUTHOR_AGENT.value)
    return Question(
        over=window(since, until),
        subject=_one_of(given, "subject", subjects, usual),
        view=View(_one_of(given, "view", tuple(one.value for one in View), View.VERDICTS.value)),
        group_by=None if group == NONE else Dimension(group),
        min_confidence=_read(given, "min_confidence", 0, lambda text: share("min_confidence", text, 2)),
        include_eval=_one_of(given, "include_eval", ("true", "false", "1", "0"), "false") in {"true", "1"},
        within=_read(given, "agreement_window", round(WITHIN * WHOLE), lambda text: share("agreement_window", text)),
    )


def _read(given: Mapping[str, str], name: str, usual: T, read: Callable[[str], T]) -> T:
    return read(given[name]) if name in given else usual


def _one_of(given: Mapping[str, str], name: str, known: tuple[str, ...], usual: str) -> str:
    found = given.get(name, usual)
    if found not in known:
        raise AskError(name, f"one of {', '.join(known)}", found)
    return found


def moment(name: str, text: str, now: datetime) -> datetime:
    """An ISO 8601 date or time (UTC where it names no zone), or how long ago. Raises AskError."""
    expected = (
        "an ISO 8601 date or time after 1970, like 2026-11-20 or 2026-11-20T08:00Z, or how long ago, like 7d or 24h"
    )
    try:
        at = EPOCH + timedelta(milliseconds=moment_ms(text, now))
    except (ValueError, OverflowError) as error:
        raise AskError(name, expected, text) from error
    if not EPOCH <= at <= LATEST:
        raise AskError(name, expected, text)
    return at


def share(name: str, text: str, digits: int = 4) -> int:
    """A number from 0 to 1, as ten-thousandths. Raises AskError."""
    if not SHARE.fullmatch(text) or float(text) > 1 or len(text.partition(".")[2].rstrip("0")) > digits:
        raise AskError(name, f"a number from 0 to 1 with at most {digits} digits", text)
    return round(float(text) * WHOLE)
