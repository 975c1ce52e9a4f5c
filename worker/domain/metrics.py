"""Names and values of the figures of `/metrics`. Names are closed sets without repositories, pull requests or people."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Final

from worker.domain.model import InstallationId

BOUNDS_S: Final = (0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600)
"""Upper bounds of a histogram's buckets; one more takes the rest."""


class DurationMetric(StrEnum):
    """Durations since the delivery."""

    FIRST_CHECK = "first_check"
    VERDICT = "verdict"


class EventCount(StrEnum):
    """Events that are counted."""

    OVERDUE = "overdue"
    GIVEN_UP = "given_up"
    KILLED = "killed"
    PASSED_OVER = "passed_over"


@dataclass(frozen=True)
class Histogram:
    """Counts per bucket of BOUNDS_S and beyond, not cumulative, and their sum."""

    counts: tuple[int, ...]
    sum_s: float


@dataclass(frozen=True)
class CurrentGauges:
    """Current values. `age_s`: wait of the longest due pull request. `waiting_tasks`: waiting tasks, by kind."""

    due: int
    due_now: int
    age_s: float
    dispatched: int
    leased: int
    open_checks: int
    has_dispatcher: bool
    is_paused: bool
    waiting_tasks: Mapping[str, int]


@dataclass(frozen=True)
class MetricTotals:
    """Counters. `verdicts`: by decision and reason; `spent_usd`: today, by installation.

    `left`: remaining requests by installation and GitHub's budget, as far as reported lately.
    """

    verdicts: Mapping[tuple[str, str], int]
    counts: Mapping[EventCount, int]
    spans: Mapping[DurationMetric, Histogram]
    spent_usd: Mapping[InstallationId, Decimal]
    left: Mapping[tuple[InstallationId, str], int] = field(default_factory=dict[tuple[InstallationId, str], int])
