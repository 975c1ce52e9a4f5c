"""The errors that the product knows, and `classify`, which decides what a job does about each.

    AssayError
    ├── InputError            the caller has to change something (exit code 2)
    │   ├── SettingError      a variable: which one, what is expected, where to get it
    │   ├── RubricRefused     a rubric that was changed and kept its version
    │   └── (others)          a file, an option, a checkout: where, expected, found
    ├── Unreadable            a stored value can't be read: its key is missing, or another program wrote it
    ├── Forbidden             GitHub refuses, and will until a person acts
    ├── Unavailable           a server can't be reached or answers errors; a retry may help
    │   ├── RateLimited       ... not before a stated time
    │   └── Outage            GitHub does not answer; retried for hours
    ├── BudgetReached         a cap prevents a request to a model; the verdict says so
    ├── SubjectGone           the subject was deleted or closed, or the App uninstalled
    └── LeaseLost             another judge took over; stop without writing

Adapters raise these and nothing of their SDK. Any other exception is a bug.
"""

from bisect import bisect_left
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import accumulate
from math import ceil
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from worker.domain.verdict.budget import CapLevel


class AssayError(Exception):
    """An error with a message for people."""


class InputError(AssayError):
    """Unusable input. The message says what, where, and what to do."""


class SettingError(InputError):
    """A setting is missing or malformed."""

    def __init__(self, variable: str, problem: str, remedy: str) -> None:
        super().__init__(f"{variable} {problem}. {remedy}")
        self.variable = variable


class RubricRefused(InputError):
    """A rubric whose version is recorded with another content. It judges nothing until its version is raised."""


class Unreadable(AssayError):
    """A stored value can't be read; a retry does not help."""


class Forbidden(AssayError):
    """GitHub refuses: the App lacks a permission, or the token can't see the repository."""


class Unavailable(AssayError):
    """*service* can't be reached or fails. `reason`: for people, without secrets.

    `lost_usd`: the possible cost of unanswered requests.
    """

    def __init__(self, service: str, reason: str, lost_usd: Decimal = Decimal(0)) -> None:
        super().__init__(f"{service} is unavailable: {reason}")
        self.service = service
        self.reason = reason
        self.lost_usd = lost_usd


class RateLimited(Unavailable):
    """*service* refuses requests until `retry_at`."""

    def __init__(self, service: str, retry_at: datetime) -> None:
        super().__init__(service, f"rate limit reached, again at {retry_at:%H:%M:%S} UTC")
        self.retry_at = retry_at


class Outage(Unavailable):
    """*service* does not answer: a broken connection, a timeout, a 5xx; not a 4xx."""


class BudgetReached(AssayError):
    """A request could cost *asked_usd*, which exceeds the cap of *level*. Nothing was reserved.

    `lost_usd`: the possible cost of earlier, unanswered attempts.
    """

    def __init__(self, level: "CapLevel", asked_usd: Decimal, lost_usd: Decimal = Decimal(0)) -> None:
        super().__init__(f"{level.cap} cap: {level.used_usd:f} + {asked_usd:f} > {level.cap_usd:f} dollars")
        self.level = level
        self.asked_usd = asked_usd
        self.lost_usd = lost_usd


CLOSED_REASONS: Final = frozenset({"closed", "merged", "deleted"})
"""Reasons that concern the pull request itself."""


class SubjectGone(AssayError):
    """The subject is gone. `reason`: a word like `closed` or `deleted`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    @property
    def is_closed(self) -> bool:
        """Whether the pull request itself is gone, rather than invisible to the App, perhaps for a while."""
        return self.reason in CLOSED_REASONS


NOT_FOUND_GRACE: Final = timedelta(minutes=1)
"""How long GitHub may answer 404 for what it has just announced: its parts are eventually consistent."""


def unavailable_if_recent(service: str, gone: SubjectGone, announced_at: datetime, now: datetime) -> Unavailable | None:
    """The error to raise instead within the grace after GitHub announced *service*; None: it is gone."""
    is_fresh = now < announced_at + NOT_FOUND_GRACE
    return Unavailable(service, f"GitHub does not find it yet ({gone.reason})") if is_fresh else None


class LeaseLost(AssayError):
    """Another judge took over. This one must write nothing."""


@dataclass(frozen=True)
class RetryIn:
    delay: timedelta


@dataclass(frozen=True)
class RetryAt:
    at: datetime


@dataclass(frozen=True)
class RetryAfterOutage:
    """An outage: retry after the delay, without counting an attempt."""

    delay: timedelta


@dataclass(frozen=True)
class FailCheck:
    """Publish `judge_unavailable` with this reason."""

    reason: str


@dataclass(frozen=True)
class Discard:
    """Write nothing: no answer is needed, or another judge gives it."""

    reason: str


@dataclass(frozen=True)
class Bug:
    """Any other exception: log the traceback, report on the check that Assay failed, raise."""


RetryDecision = RetryIn | RetryAt | RetryAfterOutage | FailCheck | Discard | Bug


def classify(error: Exception, attempt: int, retry: "RetryRule") -> RetryDecision:  # noqa: PLR0911 - one return for each decision
    """Decide what the job does about *error*. *attempt* counts from 1, outages separately."""
    match error:
        case LeaseLost():
            return Discard("another judge took over")
        case SubjectGone(reason=what):
            return Discard(what)
        case Forbidden() | RubricRefused() | Unreadable():
            return FailCheck(str(error))
        case RateLimited(retry_at=at):  # however often: it is no failure
            return RetryAt(at)
        case Outage() if attempt <= retry.outage_attempts:
            return RetryAfterOutage(retry.outage_delay(attempt))
        case Unavailable() if attempt > retry.attempts:
            return FailCheck(str(error))
        case Unavailable():
            return RetryIn(retry.first_delay * retry.factor ** (attempt - 1))
        case _:
            return Bug()


MAX_BACKOFF_STEPS: Final = 40
"""After so many attempts the longest delay is reached."""

MIN_DELAY_SHARE: Final = 1 / 40
"""The shortest delay in an outage, as a share of the longest."""


@dataclass(frozen=True)
class RetryRule:
    """Exponential backoff: `first_delay`, then *factor* times as long each.

    In an outage retries go on for `outage_limit` in all, at most `longest_delay` apart; never fewer than *attempts*.
    """

    attempts: int
    first_delay: timedelta
    factor: int = 3
    longest_delay: timedelta = timedelta(minutes=10)
    outage_limit: timedelta = timedelta(0)

    def outage_delay(self, attempt: int) -> timedelta:
        """The delay after so many failed attempts."""
        grown = self.first_delay.total_seconds() * self.factor ** min(attempt - 1, MAX_BACKOFF_STEPS)
        longest = self.longest_delay.total_seconds()
        return timedelta(seconds=min(longest, max(grown, longest * MIN_DELAY_SHARE)))

    @property
    def outage_attempts(self) -> int:
        """How many attempts fit into `outage_limit`."""
        passed = list(accumulate(self.outage_delay(attempt) for attempt in range(1, MAX_BACKOFF_STEPS + 1)))
        beyond = max(0, ceil((self.outage_limit - passed[-1]) / self.longest_delay))
        return max(self.attempts, min(bisect_left(passed, self.outage_limit) + 1, MAX_BACKOFF_STEPS) + beyond)
