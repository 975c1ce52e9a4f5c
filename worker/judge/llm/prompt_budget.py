"""How much the question to a model may hold.

Does not measure anything. Invariant: a room is in bytes, since a token is a byte at least: what fits the bytes fits the tokens.
"""

from typing import Final

from worker.domain.value import Value
from worker.domain.verdict.budget import LEAST_REPLIES, TOKEN_MARGIN, Density

PROMPT_TOKENS: Final = 60_000
"""The most tokens of a question. At a token for each byte, nine of ten recorded changes of agents are read whole."""

_STEP: Final = 1_000


class TokenBudget(Value):
    """`question_bytes`: of the whole question, system part and schema included."""

    question_bytes: int = PROMPT_TOKENS


DEFAULT_TOKEN_BUDGET: Final = TokenBudget()
"""Where nothing else is set."""


def token_budget_for(tokens: int, density: Density) -> TokenBudget:
    """The room in which a question surely is of at most so many *tokens*, by what was recorded of earlier ones.

    In whole steps, so that not every reply moves the place where a file is cut.
    """
    if density.replies < LEAST_REPLIES:
        return TokenBudget(tokens)
    fits = int(tokens / (density.most * TOKEN_MARGIN)) // _STEP * _STEP
    return TokenBudget(max(tokens, fits))
