"""Prices are exact, and an unknown one is None."""

from decimal import Decimal

import pytest

from worker.llm.prices import PRICES, PRICING_VERSION, Billed, cost_of, price_of, pricing_version_of


def billed(**counts: int) -> Billed:
    return Billed(**{"input": 0, "output": 0, "write_5m": 0, "write_1h": 0, "cache_read": 0, **counts})


def test_a_bill_is_the_sum_of_its_five_parts_each_at_its_own_price() -> None:
    parts = billed(input=812, output=402, write_5m=2_000, write_1h=1_000, cache_read=5_120)
    expected = (812 * Decimal(2) + 402 * 10 + 2_000 * Decimal("2.5") + 1_000 * 4 + 5_120 * Decimal("0.1")) / 10**6
    assert cost_of("claude-sonnet-5-5", parts) == expected == Decimal("0.015156")


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"input": 100_000}, "0.01"),
        ({"input": 100_001}, "0.0500005"),
        ({"input": 1, "cache_read": 100_000}, "0.0050005"),
        ({"input": 50_000, "write_5m": 50_001}, "0.056250625"),
    ],
    ids=str,
)
def test_a_large_prompt_pays_the_higher_price_for_every_token(counts: dict[str, int], expected: str) -> None:
    assert cost_of("claude-haiku-5-5", billed(**counts)) == Decimal(expected)


def test_the_price_of_an_unknown_model_is_not_known_and_not_zero() -> None:
    assert cost_of("claude-unknown", billed(input=1)) is None
    assert pricing_version_of("claude-unknown") is None


def test_a_dated_snapshot_costs_what_its_model_costs() -> None:
    assert price_of("claude-opus-5-5-20261101", 10) == price_of("claude-opus-5-5", 10)
    assert pricing_version_of("claude-opus-5-5-20261101") == PRICING_VERSION


@pytest.mark.parametrize("price", PRICES, ids=lambda one: f"{one.model}>{one.above}")
def test_a_row_has_the_usual_order_of_prices(price: object) -> None:
    one = next(row for row in PRICES if row == price)
    assert one.cache_read < one.input < one.write_5m < one.write_1h < one.output
