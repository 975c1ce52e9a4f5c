"""Prices of models, the worst case of a prompt, and its size in bytes."""

import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from worker.adapters import model_prices as prices
from worker.domain.ports import Prompt


def billed(**counts: int) -> prices.BilledTokens:
    return prices.BilledTokens(**{"input": 0, "output": 0, "write_5m": 0, "write_1h": 0, "cache_read": 0, **counts})


def test_cost_is_the_sum_of_five_parts_at_their_prices() -> None:
    parts = billed(input=812, output=402, write_5m=2_000, write_1h=1_000, cache_read=5_120)
    expected = (812 * Decimal(2) + 402 * 10 + 2_000 * Decimal("2.5") + 1_000 * 4 + 5_120 * Decimal("0.1")) / 10**6
    assert prices.cost_of("claude-sonnet-5-5", parts) == expected == Decimal("0.015156")


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
def test_large_prompt_pays_the_higher_price_for_each_token(counts: dict[str, int], expected: str) -> None:
    assert prices.cost_of("claude-haiku-5-5", billed(**counts)) == Decimal(expected)


def test_unknown_model_has_no_price() -> None:
    assert prices.cost_of("claude-unknown", billed(input=1)) is None
    assert prices.pricing_version_of("claude-unknown") is None


def test_dated_snapshot_costs_the_same_as_its_model() -> None:
    assert prices.price_of("claude-opus-5-5-20261101", 10) == prices.price_of("claude-opus-5-5", 10)
    assert prices.pricing_version_of("claude-opus-5-5-20261101") == prices.PRICING_VERSION


@pytest.mark.parametrize("row", prices.PRICES, ids=lambda price: f"{price.model}>{price.above_tokens}")
def test_price_row_is_in_the_usual_order(row: prices.TokenPrice) -> None:
    assert row.cache_read < row.input < row.write_5m < row.write_1h < row.output


def test_worst_case_writes_the_whole_prompt_to_the_cache() -> None:
    assert prices.worst_case("claude-haiku-5-5", 100_000, 8_000) == Decimal("0.0165")
    assert prices.worst_case("claude-haiku-5-5", 100_001, 8_000) == Decimal("0.082500625")
    assert prices.worst_case("claude-unknown", 1, 1) is None


@pytest.mark.parametrize("model", prices.priced_models())
def test_worst_case_bounds_each_reply_and_grows_with_the_prompt(model: str) -> None:
    costs = list[Decimal]()
    for prompt in (0, 1, 99_999, 100_000, 100_001, 190_000):
        worst = prices.worst_case(model, prompt, 700)
        assert worst is not None
        costs.append(worst)
        mixed = billed(input=1, write_5m=prompt - 1) if prompt else billed()
        for split in (billed(input=prompt), billed(write_5m=prompt), billed(cache_read=prompt), mixed):
            cost = prices.cost_of(model, replace(split, output=700))
            assert cost is not None
            assert cost <= worst
    assert costs == sorted(set(costs))


def test_typical_verdict_of_the_default_model_keeps_the_cost_goal() -> None:
    assert prices.typical_cost("claude-haiku-5-5") == Decimal("0.00185")
    assert prices.typical_cost("claude-unknown") is None


TESTS = Path(__file__).resolve().parents[2]
LOADS_IT = re.compile(r"^(?:import anthropic|from anthropic|from worker\.adapters\.anthropic )", re.MULTILINE)
PROMPT = Prompt("You judge.", ("The change: ä.",), {"type": "object"}, "v")
SIZE = prices.FRAMING_BYTES + len("You judge.") + len("The change: ä.") + 1 + len('{"type": "object"}')


def test_prompt_bytes_count_turns_schema_and_lone_surrogates() -> None:
    assert prices.prompt_bytes(PROMPT) == SIZE
    longer = Prompt(PROMPT.system, (*PROMPT.turns, "no", "\ud800"), PROMPT.schema, "v")
    assert prices.prompt_bytes(longer) == SIZE + 2 + 3


def test_no_test_module_imports_the_sdk() -> None:
    """The import takes a second in each process."""
    assert [path.name for path in TESTS.rglob("*.py") if LOADS_IT.search(path.read_text(encoding="utf-8"))] == []
