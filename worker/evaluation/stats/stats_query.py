"""A question to the records: over which time, about what, grouped how.

An invalid parameter is refused with its name, what is expected and its value; so is an unknown one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.time_range import parse_moment_ms
from worker.domain.verdict.verdict import SubjectKind
from worker.evaluation.stats.figures import EPOCH, LATEST, HourWindow, make_window
from worker.evaluation.stats.stream_entries import SHARE_UNITS, VerdictView

WEEK: Final = timedelta(days=7)
DEFAULT_TOLERANCE: Final = 0.15
"""How far apart two scores of one subject may be to agree."""

ALL_SUBJECTS: Final = "all"
EXCLUDED_SUBJECTS: Final = frozenset({SubjectKind.BENCHMARK})
"""In no answer but one that asks for them by name: they are not proposed changes."""

NO_GROUP: Final = "none"
SHARE_PATTERN: Final = pattern(r"[0-9]{1,2}(\.[0-9]{1,10})?")


class GroupDimension(StrEnum):
    """By what verdicts are grouped."""

    AUTHOR_AGENT = "author_agent"
    JUDGE_KIND = "judge_kind"
    RUBRIC = "rubric"
    REPOSITORY = "repository"
    CATEGORY = "category"


class StatsTopic(StrEnum):
    """What is asked about."""

    QUALITY = "quality"
    COST = "cost"
    AGREEMENT = "agreement"
    BACKLOG = "backlog"
    AGENTS = "agents"
    OVERRIDES = "overrides"


class ParameterError(ValueError):
    """An invalid parameter: its name, what is expected, its value."""

    def __init__(self, parameter: str, expected: str, received: str) -> None:
        super().__init__(f"{parameter}: expected {expected}, found {received[:100]!r}.")
        self.parameter = parameter
        self.expected = expected
        self.received = received[:100]


@dataclass(frozen=True)
class StatsQuery:
    """`group_by` None: one row for all. `min_confidence` and `tolerance` are ten-thousandths."""

    window: HourWindow
    subject: str = SubjectKind.SUBMISSION.value
    view: VerdictView = VerdictView.VERDICTS
    group_by: GroupDimension | None = GroupDimension.AUTHOR_AGENT
    min_confidence: int = 0
    include_eval: bool = False
    tolerance: int = round(DEFAULT_TOLERANCE * SHARE_UNITS)

    @property
    def subjects(self) -> tuple[str, ...]:
        if self.subject != ALL_SUBJECTS:
            return (self.subject,)
        return tuple(kind.value for kind in SubjectKind if kind not in EXCLUDED_SUBJECTS)


PARAMETERS: Final = ("from", "to", "subject", "view", "group_by", "min_confidence", "include_eval", "agreement_window")


def parse_query(parameters: Mapping[str, str], topic: StatsTopic, now: datetime) -> StatsQuery:
    """Read the parameters. Raises ParameterError."""
    for name in parameters:
        if name not in PARAMETERS:
            raise ParameterError(name, f"one of {', '.join(PARAMETERS)}", parameters[name])
    until = parse_moment("to", parameters["to"], now) if "to" in parameters else now
    since = max(until - WEEK, EPOCH)
    if "from" in parameters:
        since = parse_moment("from", parameters["from"], now)
    if since >= until:
        raise ParameterError("from", f"a time before {until.isoformat()}", parameters.get("from", since.isoformat()))
    usual = ALL_SUBJECTS if topic in {StatsTopic.COST, StatsTopic.BACKLOG} else SubjectKind.SUBMISSION.value
    subjects = (*(kind.value for kind in SubjectKind), ALL_SUBJECTS)
    groups = (*(dimension.value for dimension in GroupDimension), NO_GROUP)
    group = _read_choice(parameters, "group_by", groups, GroupDimension.AUTHOR_AGENT.value)
    views = tuple(view.value for view in VerdictView)
    return StatsQuery(
        window=make_window(since, until),
        subject=_read_choice(parameters, "subject", subjects, usual),
        view=VerdictView(_read_choice(parameters, "view", views, VerdictView.VERDICTS.value)),
        group_by=None if group == NO_GROUP else GroupDimension(group),
        min_confidence=parse_share("min_confidence", parameters.get("min_confidence", "0"), 2),
        include_eval=_read_choice(parameters, "include_eval", ("true", "false", "1", "0"), "false") in {"true", "1"},
        tolerance=parse_share("agreement_window", parameters.get("agreement_window", f"{DEFAULT_TOLERANCE}")),
    )


def _read_choice(parameters: Mapping[str, str], name: str, choices: tuple[str, ...], usual: str) -> str:
    value = parameters.get(name, usual)
    if value not in choices:
        raise ParameterError(name, f"one of {', '.join(choices)}", value)
    return value


def parse_moment(name: str, text: str, now: datetime) -> datetime:
    """An ISO 8601 date or time (UTC where it names no zone), or how long ago. Raises ParameterError."""
    expected = (
        "an ISO 8601 date or time after 1970, like 2026-11-20 or 2026-11-20T08:00Z, or how long ago, like 7d or 24h"
    )
    try:
        at = EPOCH + timedelta(milliseconds=parse_moment_ms(text, now))
    except (ValueError, OverflowError) as error:
        raise ParameterError(name, expected, text) from error
    if not EPOCH <= at <= LATEST:
        raise ParameterError(name, expected, text)
    return at


def parse_share(name: str, text: str, digits: int = 4) -> int:
    """A number from 0 to 1, as ten-thousandths. Raises ParameterError."""
    if not SHARE_PATTERN.fullmatch(text) or float(text) > 1 or len(text.partition(".")[2].rstrip("0")) > digits:
        raise ParameterError(name, f"a number from 0 to 1 with at most {digits} digits", text)
    return round(float(text) * SHARE_UNITS)
