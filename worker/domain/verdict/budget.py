"""Money and tokens: how much of them a model may cost, how full a cap is, what a week would come to, how large a question may be.

Sums are Decimal dollars; the store counts whole nanodollars, rounded up, so that it never counts too little. A limit in tokens
is one in bytes, by the density of earlier replies.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from enum import StrEnum
from typing import Final

from worker.domain.judge_request import PullRef

NANO: Final = Decimal(1_000_000_000)

NEAR_SHARE: Final = Decimal("0.8")
"""From this part of a cap on, people are warned."""


def to_nano(usd: Decimal) -> int:
    """Whole nanodollars, rounded up."""
    return int((usd * NANO).to_integral_value(ROUND_CEILING))


def from_nano(nano: int) -> Decimal:
    return Decimal(nano) / NANO


class Cap(StrEnum):
    """The caps on asking a model. A repository's and an author's fair share are parts of their installation's day."""

    PULL = "pull"
    DAY = "day"
    SHARE = "share"
    AUTHOR = "author"


@dataclass(frozen=True)
class Caps:
    """The operator's limits in dollars. `share`, `author_share`: the part of a day for one repository or author beside others."""

    pull_usd: Decimal = Decimal("0.10")
    day_usd: Decimal = Decimal("1.00")
    share: Decimal = Decimal("0.5")
    author_share: Decimal = Decimal("0.5")

    def find_limit(self, cap: Cap) -> Decimal:
        return {
            Cap.PULL: self.pull_usd,
            Cap.DAY: self.day_usd,
            Cap.SHARE: self.day_usd * self.share,
            Cap.AUTHOR: self.day_usd * self.author_share,
        }[cap]


@dataclass(frozen=True)
class CapLevel:
    """How full a cap is: the money spent, and that reserved and not settled yet."""

    cap: Cap
    used_usd: Decimal
    cap_usd: Decimal

    @property
    def is_near(self) -> bool:
        return self.used_usd >= NEAR_SHARE * self.cap_usd


def find_reached_cap(levels: Sequence[CapLevel], usd: Decimal) -> CapLevel | None:
    """The first cap that *usd* more would exceed."""
    return next((level for level in levels if level.used_usd + from_nano(to_nano(usd)) > level.cap_usd), None)


@dataclass(frozen=True)
class Reservation:
    """Money set aside for one request to a model. `day`: that of the budget, as YYYY-MM-DD in UTC."""

    id: str
    pull: PullRef
    day: str
    usd: Decimal


@dataclass(frozen=True)
class Bill:
    """The cost of a request. `usd` None: unknown, so all that was reserved is spent.

    `size`: bytes that were sent, of a reply whose tokens were counted; else 0.
    """

    usd: Decimal | None
    model: str = ""
    size: int = 0
    tokens: int = 0


@dataclass(frozen=True)
class Week:
    """What a week of pull requests would cost: as expected, and at most under the caps."""

    pulls: int
    judgings: int
    expected_usd: Decimal
    most_usd: Decimal


def estimate_week(judgings: Sequence[int], usd_each: Decimal, caps: Caps) -> Week:
    """Estimate from how often each pull request of the last seven days would have been judged."""
    expected = sum((min(count * usd_each, caps.pull_usd) for count in judgings), Decimal(0))
    most = min(len(judgings) * caps.pull_usd, 7 * caps.day_usd)
    return Week(len(judgings), sum(judgings), min(expected, most), most)


LEAST_REPLIES: Final = 10
"""Fewer replies than this are no measure of tokens per byte."""


TOKEN_MARGIN: Final = Decimal("1.25")
"""How much denser than any before the next prompt may be."""


@dataclass(frozen=True)
class Density:
    """How many tokens there were in a byte, at most, in the replies of the last seven days."""

    replies: int = 0
    most: Decimal = Decimal(1)

    def max_tokens(self, size: int) -> int:
        """How many tokens a prompt of *size* bytes has at most: never more than bytes."""
        if self.replies < LEAST_REPLIES:
            return size
        return min(size, int((size * self.most * TOKEN_MARGIN).to_integral_value(ROUND_CEILING)))


PROMPT_TOKENS: Final = 60_000
"""The most tokens of a question. At a token for each byte, nine of ten recorded changes of agents are read whole."""


_BYTES_STEP: Final = 1_000


@dataclass(frozen=True)
class TokenBudget:
    """`question_bytes`: the whole question, system part and schema included."""

    question_bytes: int = PROMPT_TOKENS


DEFAULT_TOKEN_BUDGET: Final = TokenBudget()


def token_budget_for(tokens: int, density: Density) -> TokenBudget:
    """The bytes that surely take at most *tokens*, by the recorded density of earlier questions.

    Rounded down to whole steps, so that not every reply moves the point where a file is cut.
    """
    if density.replies < LEAST_REPLIES:
        return TokenBudget(tokens)
    fits = int(tokens / (density.most * TOKEN_MARGIN)) // _BYTES_STEP * _BYTES_STEP
    return TokenBudget(max(tokens, fits))
