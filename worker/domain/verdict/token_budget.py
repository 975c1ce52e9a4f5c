"""The size of a question to a model: a limit in tokens as bytes, by the density of earlier replies."""

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Final

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
