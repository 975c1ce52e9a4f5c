"""What models cost: a dated table, and the price of one reply.

Does not fetch prices. Invariant: money is Decimal, and a price that is not known is None, never 0.
Edit a row only together with PRICING_VERSION: verdicts carry it.
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
    """What one reply is billed for; the five never overlap."""

    input: int
    output: int
    write_5m: int
    write_1h: int
    cache_read: int

    @property
    def prompt_tokens(self) -> int:
        """The size that decides the tier."""
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
    """The price of one reply in US dollars; a prompt in a higher tier pays it for every token."""
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
    """The most that a request of up to so many tokens may cost: nothing read from the cache, all of it written there."""
    price = price_of(model, prompt_tokens)
    if price is None:
        return None
    return (prompt_tokens * max(price.input, price.write_5m) + output_tokens * price.output) / _MILLION


TYPICAL_PROMPT: Final = 12_000
TYPICAL_OUTPUT: Final = 700
"""Tokens of a middling verdict, as the prompt aims at; for estimates only."""


def typical_cost(model: str) -> Decimal | None:
    """What one middling verdict costs."""
    return worst_case(model, TYPICAL_PROMPT, TYPICAL_OUTPUT)


def priced_models() -> tuple[str, ...]:
    """The models that the table knows, by its order."""
    return tuple(dict.fromkeys(row.model for row in PRICES))


def price_of(model: str, prompt_tokens: int) -> TokenPrice | None:
    """The row for this model (with or without the date of its snapshot) and this size of prompt."""
    name = name_without_date(model)
    rows = [row for row in PRICES if row.model == name and (row.above_tokens == 0 or prompt_tokens > row.above_tokens)]
    return max(rows, key=lambda row: row.above_tokens, default=None)


def name_without_date(model: str) -> str:
    """The model's name without the date of its snapshot."""
    return _DATED.sub("", model)


def pricing_version_of(model: str) -> str | None:
    return None if price_of(model, 0) is None else PRICING_VERSION


def unpriced_text(name: str) -> str:
    """Why a model without a price is not asked, and what to do; for people."""
    models = ", ".join(priced_models())
    return f'the price of "{name}" is not known, so no money can be set aside; set ASSAY_MODEL to one of {models}'


FRAMING_BYTES: Final = 1_000
"""What the server adds to a prompt, in bytes: roles, and its words about the schema."""


def prompt_bytes(prompt: Prompt) -> int:
    """Bytes that the model reads. A token is a byte at least, so this bounds the tokens, too."""
    texts = (prompt.system, *prompt.turns, json.dumps(prompt.schema, ensure_ascii=False))
    return FRAMING_BYTES + sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
