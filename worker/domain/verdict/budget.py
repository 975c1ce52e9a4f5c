"""Money and tokens: prices, how much a model may cost, how full a cap is, what a week would come to, how large a question may be.

Prices are a dated table: change PRICING_VERSION with every edit of a row, since verdicts carry it. Costs are Decimal dollars, None for a
model without a price; the store counts whole nanodollars, rounded up, so that it never counts too little. A limit in tokens is one in
bytes, by the density of earlier replies.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_CEILING, Decimal
from enum import StrEnum
from typing import Final

from worker.domain.judge_request import PullRef
from worker.domain.pattern import pattern

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


PRICING_VERSION: Final = "2026-11"


@dataclass(frozen=True, slots=True)
class TokenPrice:
    """US dollars per million tokens, as published on *since*. *above_tokens*: only prompts of more tokens than this."""

    model: str
    since: date
    input: Decimal
    output: Decimal
    write_5m: Decimal
    write_1h: Decimal
    cache_read: Decimal
    above_tokens: int = 0


@dataclass(frozen=True, slots=True)
class BilledTokens:
    """Billed tokens of one reply, in five disjoint kinds."""

    input: int
    output: int
    write_5m: int
    write_1h: int
    cache_read: int

    @property
    def prompt_tokens(self) -> int:
        """Size of the prompt, which decides the tier."""
        return self.input + self.write_5m + self.write_1h + self.cache_read


def _price(model: str, since: date, dollars: str, above: int = 0) -> TokenPrice:
    return TokenPrice(model, since, *(Decimal(amount) for amount in dollars.split()), above_tokens=above)


PRICES: Final[tuple[TokenPrice, ...]] = (
    #                                          input output write_5m write_1h cache_read
    _price("claude-haiku-5-5", date(2026, 11, 1), "0.10 0.50 0.125 0.20 0.01"),
    _price("claude-haiku-5-5", date(2026, 11, 1), "0.50 2.50 0.625 1.00 0.05", above=100_000),
    _price("claude-sonnet-5-5", date(2026, 10, 7), "2 10 2.50 4 0.10"),
    _price("claude-opus-5-5", date(2026, 11, 1), "4 20 5 8 0.20"),
)

_MILLION: Final = Decimal(1_000_000)
_DATED: Final = pattern(r"-\d{8}$")


def cost_of(model: str, billed: BilledTokens) -> Decimal | None:
    """Cost of one reply in US dollars; a prompt in a higher tier pays its rate for every token."""
    price = price_of(model, billed.prompt_tokens)
    if price is None:
        return None
    total = (
        billed.input * price.input
        + billed.output * price.output
        + billed.write_5m * price.write_5m
        + billed.write_1h * price.write_1h
        + billed.cache_read * price.cache_read
    )
    return total / _MILLION


def worst_case(model: str, prompt_tokens: int, output_tokens: int) -> Decimal | None:
    """Highest cost of a request with at most so many tokens: none read from the cache, all written to it."""
    price = price_of(model, prompt_tokens)
    if price is None:
        return None
    return (prompt_tokens * max(price.input, price.write_5m) + output_tokens * price.output) / _MILLION


TYPICAL_PROMPT: Final = 12_000
TYPICAL_OUTPUT: Final = 700
"""Typical tokens of a verdict; for estimates only."""


def typical_cost(model: str) -> Decimal | None:
    """Cost of a typical verdict."""
    return worst_case(model, TYPICAL_PROMPT, TYPICAL_OUTPUT)


def priced_models() -> tuple[str, ...]:
    """Models in the table, in its order."""
    return tuple(dict.fromkeys(row.model for row in PRICES))


def price_of(model: str, prompt_tokens: int) -> TokenPrice | None:
    """The row for a model (with or without a snapshot date) and a prompt size."""
    name = name_without_date(model)
    rows = [row for row in PRICES if row.model == name and (row.above_tokens == 0 or prompt_tokens > row.above_tokens)]
    return max(rows, key=lambda row: row.above_tokens, default=None)


def name_without_date(model: str) -> str:
    """Remove the snapshot date from a model's name."""
    return _DATED.sub("", model)


def pricing_version_of(model: str) -> str | None:
    return None if price_of(model, 0) is None else PRICING_VERSION


def unpriced_text(name: str) -> str:
    """Explain why a model without a price is not asked, and what to do."""
    models = ", ".join(priced_models())
    return f'the price of "{name}" is not known, so no money can be set aside; set ASSAY_MODEL to one of {models}'
