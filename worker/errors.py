"""The errors that the product knows, and the one place that says what a job does about each.

    AssayError
    ├── InputError            the person who called us has to change something (exit 2)
    │   ├── SettingError      a variable: which, what is expected, where to get it
    │   ├── RubricRefused     a rubric that was changed and kept its version
    │   └── (others)          a file, an option, a checkout: where, expected, found
    ├── Unreadable            what is stored can't be read: its key is missing, or it was written by something else
    ├── Forbidden             GitHub refuses, and will refuse again until somebody acts
    ├── Unavailable           a server can't be reached or answers errors; trying again may help
    │   ├── RateLimited       ... not before a stated time
    │   └── Outage            GitHub answers nobody, or not this: what is to be done there is waited out, for hours
    ├── BudgetReached         a cap stands before a question to a model; the judge says so in its verdict
    ├── Gone                  nobody is waiting for an answer any more (deleted, closed, uninstalled)
    └── LeaseLost             another judge took over; stop without writing

Does not retry or sleep. Invariant: adapters raise these and nothing of their SDK; what is none of these
is a bug, and a bug is raised, never judged.
"""

from bisect import bisect_left
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import accumulate
from math import ceil
from typing import TYPE_CHECKING, Final

from worker.domain.value import Value

if TYPE_CHECKING:
    from worker.domain.verdict.budget import CapLevel


class AssayError(Exception):
    """Something we know how to tell a person about."""


class InputError(AssayError):
    """What the caller gave us can't be used. The message says what, where, and what to do."""


class SettingError(InputError):
    """A setting is missing or malformed."""

    def __init__(self, variable: str, problem: str, remedy: str) -> None:
        super().__init__(f"{variable} {problem}. {remedy}")
        self.variable = variable


class RubricRefused(InputError):
    """A rubric whose version stands for another content. Nothing is judged by it until somebody raises the version."""


class Unreadable(AssayError):
    """What is stored can't be read, and trying again will not help."""


class Forbidden(AssayError):
    """GitHub says no: a permission that the App lacks, a repository that a token can't see."""


class Unavailable(AssayError):
    """*service* can't be reached or fails; `reason` is for people, without secrets.

    `lost_usd`: what questions that nobody answered may have cost all the same.
    """

    def __init__(self, service: str, reason: str, lost_usd: Decimal = Decimal(0)) -> None:
        super().__init__(f"{service} is unavailable: {reason}")
        self.service = service
        self.reason = reason
        self.lost_usd = lost_usd


class RateLimited(Unavailable):
    """*what* asks us to come back at `retry_at`."""

    def __init__(self, service: str, retry_at: datetime) -> None:
        super().__init__(service, f"rate limit reached, again at {retry_at:%H:%M:%S} UTC")
        self.retry_at = retry_at


class Outage(Unavailable):
    """*what* is away: a broken connection, no answer in time, a 5xx. What it refuses (4xx) is none."""


class BudgetReached(AssayError):
    """Asking could cost *asked_usd*, and *level* has no room for it. Nothing was reserved.

    `lost_usd`: what earlier tries of the same question may have cost, which nobody answered.
    """

    def __init__(self, level: "CapLevel", asked_usd: Decimal, lost_usd: Decimal = Decimal(0)) -> None:
        super().__init__(f"{level.cap} cap: {level.used_usd:f} + {asked_usd:f} > {level.cap_usd:f} dollars")
        self.level = level
        self.asked_usd = asked_usd
        self.lost_usd = lost_usd


CLOSED_REASONS: Final = frozenset({"closed", "merged", "deleted"})
"""What is said of a pull request that is gone."""


class SubjectGone(AssayError):
    """The thing to judge is not there any more; `reason` is a word like `closed` or `deleted`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    @property
    def is_closed(self) -> bool:
        """Whether the pull request itself is. Else we may only not see it (suspended, uninstalled), perhaps for a while."""
        return self.reason in CLOSED_REASONS


NOT_FOUND_GRACE: Final = timedelta(minutes=1)
"""How long GitHub may not find yet what it has just told of: its parts learn of something new one after the other."""


def unavailable_if_recent(service: str, gone: SubjectGone, announced_at: datetime, now: datetime) -> Unavailable | None:
    """What to raise instead, as long as GitHub told of *service* just now; None: it is gone."""
    is_fresh = now < announced_at + NOT_FOUND_GRACE
    return Unavailable(service, f"GitHub does not find it yet ({gone.reason})") if is_fresh else None


class LeaseLost(AssayError):
    """This judge was overtaken. It must not write anything any more."""


class RetryIn(Value):
    delay: timedelta


class RetryAt(Value):
    at: datetime


class RetryAfterOutage(Value):
    """An outage: try again after so long. That counts as no try, since nothing was tried."""

    delay: timedelta


class FailCheck(Value):
    """Publish `judge_unavailable` with this reason."""

    reason: str


class Discard(Value):
    """Nothing to write: nobody is waiting, or somebody else will answer."""

    reason: str


class Bug(Value):
    """Not one of ours: log the traceback, tell the check that Assay failed, raise."""


RetryDecision = RetryIn | RetryAt | RetryAfterOutage | FailCheck | Discard | Bug


def classify(error: Exception, attempt: int, retry: "RetryRule") -> RetryDecision:  # noqa: PLR0911 - one return a fate
    """Say what the job does about *error*; *attempt* counts from 1, of outages apart from all else."""
    match error:
        case LeaseLost():
            return Discard("another judge took over")
        case SubjectGone(reason=what):
            return Discard(what)
        case Forbidden() | RubricRefused() | Unreadable():
            return FailCheck(str(error))
        case RateLimited(retry_at=at):  # however often: it is no failure, and it says itself when it is over
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
"""After so many tries the longest wait is reached, however short the first was."""

MIN_DELAY_SHARE: Final = 1 / 40
"""Of the longest wait: no shorter one waits an outage out, or trying would become all that is done."""


class RetryRule(Value):
    """Retries after the first try: `first_delay`, then *factor* times as long each.

    Of an outage for `outage_limit` in all, at most `longest_delay` apart; never fewer than of anything else.
    """

    attempts: int
    first_delay: timedelta
    factor: int = 3
    longest_delay: timedelta = timedelta(minutes=10)
    outage_limit: timedelta = timedelta(0)

    def outage_delay(self, attempt: int) -> timedelta:
        """How long to wait after so many tries in vain."""
        grown = self.first_delay.total_seconds() * self.factor ** min(attempt - 1, MAX_BACKOFF_STEPS)
        longest = self.longest_delay.total_seconds()
        return timedelta(seconds=min(longest, max(grown, longest * MIN_DELAY_SHARE)))

    @property
    def outage_attempts(self) -> int:
        """After how many tries in vain an outage is taken for more than that."""
        passed = list(accumulate(self.outage_delay(attempt) for attempt in range(1, MAX_BACKOFF_STEPS + 1)))
        beyond = max(0, ceil((self.outage_limit - passed[-1]) / self.longest_delay))
        return max(self.attempts, min(bisect_left(passed, self.outage_limit) + 1, MAX_BACKOFF_STEPS) + beyond)
