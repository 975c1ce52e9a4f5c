"""Model prices: a dated table, and the cost of one reply in Decimal dollars (None for a model without a price).

Change PRICING_VERSION with every edit of a row: verdicts carry it.
"""

import json
import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final

from worker.domain.ports import Prompt

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
_DATED: Final = re.compile(r"-\d{8}$")


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


FRAMING_BYTES: Final = 1_000
"""Bytes that the server adds to a prompt: roles and a description of the schema."""


def prompt_bytes(prompt: Prompt) -> int:
    """Bytes that the model reads. A token has at least a byte, so this also bounds the tokens."""
    texts = (prompt.system, *prompt.turns, json.dumps(prompt.schema, ensure_ascii=False))
    return FRAMING_BYTES + sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
