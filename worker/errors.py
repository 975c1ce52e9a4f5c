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
    from worker.domain.verdict.budget import Level


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
    """*what* can't be reached or fails; `reason` is for people, without secrets.

    `lost_usd`: what questions that nobody answered may have cost all the same.
    """

    def __init__(self, what: str, reason: str, lost_usd: Decimal = Decimal(0)) -> None:
        super().__init__(f"{what} is unavailable: {reason}")
        self.what = what
        self.reason = reason
        self.lost_usd = lost_usd


class RateLimited(Unavailable):
    """*what* asks us to come back at `retry_at`."""

    def __init__(self, what: str, retry_at: datetime) -> None:
        super().__init__(what, f"rate limit reached, again at {retry_at:%H:%M:%S} UTC")
        self.retry_at = retry_at


class Outage(Unavailable):
    """*what* is away: a broken connection, no answer in time, a 5xx. What it refuses (4xx) is none."""


class BudgetReached(AssayError):
    """Asking could cost *asked_usd*, and *level* has no room for it. Nothing was reserved.

    `lost_usd`: what earlier tries of the same question may have cost, which nobody answered.
    """

    def __init__(self, level: "Level", asked_usd: Decimal, lost_usd: Decimal = Decimal(0)) -> None:
        super().__init__(f"{level.cap} cap: {level.used_usd:f} + {asked_usd:f} > {level.cap_usd:f} dollars")
        self.level = level
        self.asked_usd = asked_usd
        self.lost_usd = lost_usd


OVER: Final = frozenset({"closed", "merged", "deleted"})
"""What is said of a pull request that is gone."""


class Gone(AssayError):
    """The thing to judge is not there any more; `what` is a word like `closed` or `deleted`."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what

    @property
    def is_over(self) -> bool:
        """Whether the pull request itself is. Else we may only not see it (suspended, uninstalled), perhaps for a while."""
        return self.what in OVER


FRESH: Final = timedelta(minutes=1)
"""How long GitHub may not find yet what it has just told of: its parts learn of something new one after the other."""


def not_found_yet(what: str, gone: Gone, told_at: datetime, now: datetime) -> Unavailable | None:
    """What to raise instead, as long as GitHub told of *what* just now; None: it is gone."""
    is_fresh = now < told_at + FRESH
    return Unavailable(what, f"GitHub does not find it yet ({gone.what})") if is_fresh else None


class LeaseLost(AssayError):
    """This judge was overtaken. It must not write anything any more."""


class RetryIn(Value):
    delay: timedelta


class RetryAt(Value):
    at: datetime


class WaitOut(Value):
    """An outage: try again after so long. That counts as no try, since nothing was tried."""

    delay: timedelta


class GiveUp(Value):
    """Publish `judge_unavailable` with this reason."""

    reason: str


class Drop(Value):
    """Nothing to write: nobody is waiting, or somebody else will answer."""

    reason: str


class Bug(Value):
    """Not one of ours: log the traceback, tell the check that Assay failed, raise."""


Fate = RetryIn | RetryAt | WaitOut | GiveUp | Drop | Bug


def classify(error: Exception, attempt: int, retry: "RetryRule") -> Fate:  # noqa: PLR0911 - one return a fate
    """Say what the job does about *error*; *attempt* counts from 1, of outages apart from all else."""
    match error:
        case LeaseLost():
            return Drop("another judge took over")
        case Gone(what=what):
            return Drop(what)
        case Forbidden() | RubricRefused() | Unreadable():
            return GiveUp(str(error))
        case RateLimited(retry_at=at):  # however often: it is no failure, and it says itself when it is over
            return RetryAt(at)
        case Outage() if attempt <= retry.outage_attempts:
            return WaitOut(retry.outage_delay(attempt))
        case Unavailable() if attempt > retry.attempts:
            return GiveUp(str(error))
        case Unavailable():
            return RetryIn(retry.first_delay * retry.factor ** (attempt - 1))
        case _:
            return Bug()


GROWS_FOR: Final = 40
"""After so many tries the longest wait is reached, however short the first was."""

SHORTEST: Final = 1 / 40
"""Of the longest wait: no shorter one waits an outage out, or trying would become all that is done."""


class RetryRule(Value):
    """Retries after the first try: `first_delay`, then *factor* times as long each.

    Of an outage for `outage` in all, at most `longest` apart; never fewer than of anything else.
    """

    attempts: int
    first_delay: timedelta
    factor: int = 3
    longest: timedelta = timedelta(minutes=10)
    outage: timedelta = timedelta(0)

    def outage_delay(self, attempt: int) -> timedelta:
        """How long to wait after so many tries in vain."""
        grown = self.first_delay.total_seconds() * self.factor ** min(attempt - 1, GROWS_FOR)
        longest = self.longest.total_seconds()
        return timedelta(seconds=min(longest, max(grown, longest * SHORTEST)))

    @property
    def outage_attempts(self) -> int:
        """After how many tries in vain an outage is taken for more than that."""
        passed = list(accumulate(self.outage_delay(attempt) for attempt in range(1, GROWS_FOR + 1)))
        beyond = max(0, ceil((self.outage - passed[-1]) / self.longest))
        return max(self.attempts, min(bisect_left(passed, self.outage) + 1, GROWS_FOR) + beyond)
