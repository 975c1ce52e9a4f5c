"""Budgets: prices, caps, estimates of a week and the size of a question."""

import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.domain.ports import FRAMING_BYTES, Prompt
from worker.domain.verdict import budget as prices
from worker.domain.verdict.budget import (
    DEFAULT_TOKEN_BUDGET,
    LEAST_REPLIES,
    Cap,
    CapLevel,
    Caps,
    Density,
    TokenBudget,
    Week,
    estimate_week,
    find_reached_cap,
    from_nano,
    to_nano,
    token_budget_for,
)

CENT = Decimal("0.01")
MONEY = st.decimals(min_value=0, max_value=1_000_000, allow_nan=False, allow_infinity=False, places=15)


def test_stored_amount_is_rounded_up() -> None:
    assert [to_nano(Decimal(usd)) for usd in ("0", "0.1", "0.0000000001", "0.000000001")] == [0, 100_000_000, 1, 1]


@given(usd=MONEY)
def test_stored_amount_is_read_back_within_a_nanodollar(usd: Decimal) -> None:
    assert 0 <= from_nano(to_nano(usd)) - usd < Decimal("0.000000001")


def test_caps_are_those_of_the_operator() -> None:
    caps = Caps(pull_usd=2 * CENT, day_usd=30 * CENT, share=Decimal("0.4"), author_share=Decimal("0.2"))
    assert [caps.find_limit(cap) for cap in Cap] == [2 * CENT, 30 * CENT, 12 * CENT, 6 * CENT]
    assert [Caps().find_limit(cap) for cap in Cap] == [10 * CENT, 100 * CENT, 50 * CENT, 50 * CENT]


@pytest.mark.parametrize(("used", "is_near"), [("0.0799999", False), ("0.08", True), ("0.2", True)])
def test_cap_is_near_from_four_fifths_on(used: str, is_near: bool) -> None:  # noqa: FBT001 - an expectation
    assert CapLevel(Cap.PULL, Decimal(used), 10 * CENT).is_near is is_near


PULL, DAY = CapLevel(Cap.PULL, Decimal("0.09"), Decimal("0.10")), CapLevel(Cap.DAY, Decimal("0.5"), Decimal(1))


@pytest.mark.parametrize(
    ("levels", "usd", "reached"),
    [
        ([], "99", None),
        ([PULL, DAY], "0.01", None),
        ([PULL, DAY], "0.010000001", PULL),
        ([PULL, DAY], "0.0100000000001", PULL),
        ([PULL, DAY], "0.51", PULL),
        ([DAY, PULL], "0.51", DAY),
        ([DAY], "0.5", None),
        ([DAY], "0.51", DAY),
    ],
)
def test_first_cap_that_would_be_exceeded_is_reached(
    levels: list[CapLevel], usd: str, reached: CapLevel | None
) -> None:
    assert find_reached_cap(levels, Decimal(usd)) == reached


def test_few_replies_bound_a_prompt_by_one_token_per_byte() -> None:
    assert Density().max_tokens(5_000) == 5_000
    assert Density(LEAST_REPLIES - 1, Decimal("0.3")).max_tokens(5_000) == 5_000


def test_enough_replies_bound_the_next_prompt_with_a_margin() -> None:
    assert Density(LEAST_REPLIES, Decimal("0.3")).max_tokens(5_001) == 1_876


@given(size=st.integers(0, 10**7), replies=st.integers(0, 100), most=st.decimals(0, 1, places=6))
def test_bound_is_between_the_densest_reply_and_a_token_per_byte(size: int, replies: int, most: Decimal) -> None:
    bound = Density(replies, most).max_tokens(size)
    assert most * size <= bound <= size


def test_estimated_week_is_limited_by_the_caps() -> None:
    assert estimate_week([1, 2, 3], CENT, Caps()) == Week(3, 6, 6 * CENT, 30 * CENT)
    assert estimate_week([50], CENT, Caps()) == Week(1, 50, 10 * CENT, 10 * CENT), "the pull request cap"
    assert estimate_week([1] * 1_000, CENT, Caps()) == Week(1_000, 1_000, 700 * CENT, 700 * CENT), "the day cap"
    assert estimate_week([], CENT, Caps()) == Week(0, 0, Decimal(0), Decimal(0))


DENSITIES = st.builds(Density, st.integers(0, 50), st.decimals("0.05", "1", places=4))


@given(st.integers(20_000, 500_000), DENSITIES)
def test_token_budget_fits_the_configured_tokens(tokens: int, density: Density) -> None:
    room = token_budget_for(tokens, density)
    assert room.question_bytes >= tokens
    assert density.max_tokens(room.question_bytes) <= tokens


def test_recorded_replies_raise_the_token_budget_in_whole_steps() -> None:
    assert token_budget_for(60_000, Density()) == DEFAULT_TOKEN_BUDGET
    assert token_budget_for(60_000, Density(9, Decimal("0.3"))) == DEFAULT_TOKEN_BUDGET
    assert token_budget_for(60_000, Density(10, Decimal("0.3"))) == TokenBudget(160_000)
    assert token_budget_for(60_000, Density(10, Decimal("0.301"))) == TokenBudget(159_000)


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


def test_model_without_a_price_is_explained_with_the_priced_ones() -> None:
    assert prices.unpriced_text("claude-unknown").endswith(
        "set ASSAY_MODEL to one of claude-haiku-5-5, claude-sonnet-5-5, claude-opus-5-5"
    )


TESTS = Path(__file__).resolve().parents[3]
LOADS_IT = re.compile(r"^(?:import anthropic|from anthropic|from worker\.adapters\.anthropic )", re.MULTILINE)
PROMPT = Prompt("You judge.", ("The change: ä.",), {"type": "object"}, "v")
SIZE = FRAMING_BYTES + len("You judge.") + len("The change: ä.") + 1 + len('{"type": "object"}')


def test_size_of_a_prompt_counts_turns_schema_and_lone_surrogates() -> None:
    assert PROMPT.size == SIZE
    longer = Prompt(PROMPT.system, (*PROMPT.turns, "no", "\ud800"), PROMPT.schema, "v")
    assert longer.size == SIZE + 2 + 3


def test_no_test_module_imports_the_sdk() -> None:
    """The import takes a second in each process."""
    assert [path.name for path in TESTS.rglob("*.py") if LOADS_IT.search(path.read_text(encoding="utf-8"))] == []
