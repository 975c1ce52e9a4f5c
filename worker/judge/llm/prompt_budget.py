"""How large a question to a model may be, in bytes: a token is at least one byte, so what fits the bytes fits the tokens."""

from dataclasses import dataclass
from typing import Final

from worker.domain.verdict.budget import LEAST_REPLIES, TOKEN_MARGIN, Density

PROMPT_TOKENS: Final = 60_000
"""The most tokens of a question. At a token for each byte, nine of ten recorded changes of agents are read whole."""

_STEP: Final = 1_000


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
    fits = int(tokens / (density.most * TOKEN_MARGIN)) // _STEP * _STEP
    return TokenBudget(max(tokens, fits))
