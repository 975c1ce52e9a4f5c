"""Prices are exact, an unknown one is None, and what is weighed of a question without the SDK."""

import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from worker.adapters.anthropic.prices import (
    FRAMING_BYTES,
    PRICES,
    PRICING_VERSION,
    BilledTokens,
    TokenPrice,
    cost_of,
    price_of,
    priced_models,
    pricing_version_of,
    prompt_bytes,
    typical_cost,
    worst_case,
)
from worker.domain.ports import Prompt


def billed(**counts: int) -> BilledTokens:
    return BilledTokens(**{"input": 0, "output": 0, "write_5m": 0, "write_1h": 0, "cache_read": 0, **counts})


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
        ({"input": 1, "write_1h": 100_000}, "0.1000005"),
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


@pytest.mark.parametrize("row", PRICES, ids=lambda one: f"{one.model}>{one.above_tokens}")
def test_a_row_has_the_usual_order_of_prices(row: TokenPrice) -> None:
    assert row.cache_read < row.input < row.write_5m < row.write_1h < row.output


def test_the_worst_case_writes_the_whole_prompt_to_the_cache_in_the_tier_of_its_size() -> None:
    assert worst_case("claude-haiku-5-5", 100_000, 8_000) == Decimal("0.0165")
    assert worst_case("claude-haiku-5-5", 100_001, 8_000) == Decimal("0.082500625")
    assert worst_case("claude-unknown", 1, 1) is None


@pytest.mark.parametrize("model", priced_models())
def test_no_reply_costs_more_than_the_worst_case_which_grows_with_the_prompt(model: str) -> None:
    costs = list[Decimal]()
    for prompt in (0, 1, 99_999, 100_000, 100_001, 190_000):
        worst = worst_case(model, prompt, 700)
        assert worst is not None
        costs.append(worst)
        mixed = billed(input=1, write_5m=prompt - 1) if prompt else billed()
        for split in (billed(input=prompt), billed(write_5m=prompt), billed(cache_read=prompt), mixed):
            cost = cost_of(model, replace(split, output=700))
            assert cost is not None
            assert cost <= worst
    assert costs == sorted(set(costs))


def test_a_middling_verdict_of_the_default_model_keeps_the_goal() -> None:
    assert typical_cost("claude-haiku-5-5") == Decimal("0.00185")
    assert typical_cost("claude-unknown") is None


# What is weighed of a question without the SDK

TESTS = Path(__file__).resolve().parents[3]
LOADS_IT = re.compile(
    r"^(?:import anthropic|from anthropic|from worker\.adapters\.anthropic\.model )",
    re.MULTILINE,
)
PROMPT = Prompt("You judge.", ("The change: ä.",), {"type": "object"}, "v")
SIZE = FRAMING_BYTES + len("You judge.") + len("The change: ä.") + 1 + len('{"type": "object"}')


def test_every_turn_and_the_schema_count_and_half_a_character_does_too() -> None:
    assert prompt_bytes(PROMPT) == SIZE
    longer = Prompt(PROMPT.system, (*PROMPT.turns, "no", "\ud800"), PROMPT.schema, "v")
    assert prompt_bytes(longer) == SIZE + 2 + 3


def test_no_module_of_tests_loads_the_sdk_before_one_of_them_runs() -> None:
    """It takes a second, in each process of a run."""
    assert [path.name for path in TESTS.rglob("*.py") if LOADS_IT.search(path.read_text(encoding="utf-8"))] == []
