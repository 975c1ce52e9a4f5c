"""How many bytes surely are so many tokens."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from worker.domain.verdict.budget import Density
from worker.judge.llm.prompt_budget import DEFAULT_TOKEN_BUDGET, TokenBudget, token_budget_for

DENSITIES = st.builds(Density, st.integers(0, 50), st.decimals("0.05", "1", places=4))


@given(st.integers(20_000, 500_000), DENSITIES)
def test_what_fills_the_room_is_never_of_more_tokens_than_were_set(tokens: int, density: Density) -> None:
    room = token_budget_for(tokens, density)
    assert room.question_bytes >= tokens
    assert density.bound(room.question_bytes) <= tokens


def test_recorded_replies_make_the_room_larger_in_whole_steps() -> None:
    assert token_budget_for(60_000, Density()) == DEFAULT_TOKEN_BUDGET
    assert token_budget_for(60_000, Density(9, Decimal("0.3"))) == DEFAULT_TOKEN_BUDGET
    assert token_budget_for(60_000, Density(10, Decimal("0.3"))) == TokenBudget(160_000)
    assert token_budget_for(60_000, Density(10, Decimal("0.301"))) == TokenBudget(159_000)
