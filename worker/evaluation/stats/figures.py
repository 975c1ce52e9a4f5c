"""A question to the records, and the arithmetic of its answer.

A question says over which time, about what, grouped how; an invalid parameter is refused with its name, what is expected and its
value, and so is an unknown one. The arithmetic: whole UTC hours; sums of counted rows, means, percentiles, intervals, of exact integers.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from math import ceil, sqrt
from typing import Final, NamedTuple

from pydantic_core import from_json

from worker.domain.pattern import pattern
from worker.domain.time_range import parse_moment_ms
from worker.domain.verdict.verdict import SubjectKind

SHARE_UNITS: Final = 10_000
"""A score of 1; events hold four digits."""

SCORE_STEP: Final = 10
"""Percentiles are of scores with three digits, cut and not rounded."""

HOUR_MS: Final = 3_600_000
DAY_HOURS: Final = 24
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
LATEST: Final = datetime(9999, 1, 1, tzinfo=UTC)
"""The latest time that an entry may have."""

LATEST_MS: Final = (LATEST - EPOCH) // timedelta(milliseconds=1)

Z: Final = 1.959963984540054
"""Two-sided 95 %."""

DIGITS: Final = 6


class HourWindow(NamedTuple):
    """From an hour on, and before another: hours since 1970."""

    start: int
    end: int

    @property
    def since(self) -> datetime:
        return EPOCH + timedelta(hours=self.start)

    @property
    def until(self) -> datetime:
        return EPOCH + timedelta(hours=self.end)


def make_window(since: datetime, until: datetime) -> HourWindow:
    """The window of two times, rounded outward."""
    return HourWindow(to_milliseconds(since) // HOUR_MS, -(-to_milliseconds(until) // HOUR_MS))


def to_milliseconds(at: datetime) -> int:
    return (at - EPOCH) // timedelta(milliseconds=1)


def format_time(at_ms: int) -> str:
    return (EPOCH + timedelta(milliseconds=at_ms)).isoformat(timespec="milliseconds")


def first_kept_hour(now_ms: int, kept_ms: int) -> int:
    """The first hour of which every entry is kept; *kept_ms* 0: all are."""
    return -(-max(0, now_ms - kept_ms) // HOUR_MS) if kept_ms else 0


class ConfidenceInterval(NamedTuple):
    low: float
    high: float

    def is_apart_from(self, other: "ConfidenceInterval") -> bool:
        return self.high < other.low or other.high < self.low


def wilson_interval(hits: int, of: int) -> ConfidenceInterval | None:
    """The 95 % interval of a share (Wilson 1927). None for a share of nothing."""
    if of == 0:
        return None
    share, spread = hits / of, Z * Z / of
    middle = (share + spread / 2) / (1 + spread)
    half = Z * sqrt(share * (1 - share) / of + spread / (4 * of)) / (1 + spread)
    return ConfidenceInterval(round(max(0.0, middle - half), DIGITS), round(min(1.0, middle + half), DIGITS))


def share_of(hits: int, of: int) -> float | None:
    return round(hits / of, DIGITS) if of else None


class FigureSums(NamedTuple):
    """The number of figures, their sum, and the sum of their squares."""

    times: int
    total: int
    squares: int


def mean_interval(sums: FigureSums, whole: int) -> ConfidenceInterval | None:
    """The 95 % interval of a mean between 0 and 1, by the normal approximation. None for fewer than two."""
    count, total, squares = sums
    if count < 2:  # noqa: PLR2004 - one figure has no spread
        return None
    half = Z * sqrt((count * squares - total * total) / (count * (count - 1)) / count)
    middle = total / count
    return ConfidenceInterval(
        round(max(0.0, (middle - half) / whole), DIGITS), round(min(1.0, (middle + half) / whole), DIGITS)
    )


def percentiles(ordered: Sequence[int], parts: Sequence[float], whole: int) -> list[float | None]:
    """By nearest rank: the smallest figure that at least this part of all does not exceed. *ordered*: the smallest first."""
    count = len(ordered)
    return [ordered[max(1, ceil(part * count)) - 1] / whole if count else None for part in parts]


class CountedStream(NamedTuple):
    """What was counted of one installation's stream, in the tables of `figures.sql`.

    `since_ms`: the first time of which every entry is kept; `until_ms`: of the last counted entry, 0 without one; `is_behind`: there
    are more entries.
    """

    db: sqlite3.Connection
    since_ms: int
    until_ms: int
    is_behind: bool

    def select(self, query: str, window: HourWindow, **parameters: object) -> sqlite3.Cursor:
        """Run a query about `:since` to before `:before`."""
        since = max(window.start * HOUR_MS, self.since_ms)
        return self.db.execute(query, {"since": since, "before": window.end * HOUR_MS, **parameters})


class Sums:
    """Sums by name, and `each`: figures that are listed one by one."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.each: list[int] = []

    def __getitem__(self, name: str) -> int:
        return self.counts[name]

    def add(self, figures: Iterable[tuple[str, int | str | None]]) -> None:
        """Add a row: its numbers to the sums of their columns, and each number of a text like `1,2,3`."""
        for name, figure in figures:
            if isinstance(figure, str):
                self.each += from_json(f"[{figure}]")
            elif figure:
                self.counts[name] += figure


def sum_rows(
    streams: Iterable[CountedStream], query: str, window: HourWindow, **parameters: object
) -> dict[str | None, Sums]:
    """The rows of a query, summed over all streams by their first column."""
    sums: dict[str | None, Sums] = {}
    for stream in streams:
        rows = stream.select(query, window, **parameters)
        names = [column[0] for column in rows.description][1:]
        for value, *figures in rows:
            sums.setdefault(value, Sums()).add(zip(names, figures, strict=True))
    return sums


WEEK: Final = timedelta(days=7)
DEFAULT_TOLERANCE: Final = 0.15
"""How far apart two scores of one subject may be to agree."""

ALL_SUBJECTS: Final = "all"
EXCLUDED_SUBJECTS: Final = frozenset({SubjectKind.BENCHMARK})
"""In no answer but one that asks for them by name: they are not proposed changes."""

NO_GROUP: Final = "none"
SHARE_PATTERN: Final = pattern(r"[0-9]{1,2}(\.[0-9]{1,10})?")


class VerdictView(StrEnum):
    """Which of the verdicts on a subject. An opinion is a part of a verdict, a shadow evaluation posts nothing."""

    VERDICTS = "verdicts"
    OPINIONS = "opinions"
    CANARIES = "canaries"


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
