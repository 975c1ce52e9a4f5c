"""Measure what a model would be asked, and what that may cost, without asking it."""

from decimal import Decimal
from typing import Final

from worker.adapters.anthropic.model import max_output_tokens
from worker.adapters.anthropic.prices import TYPICAL_OUTPUT, prompt_bytes, worst_case
from worker.domain.ports import ModelReply, Prompt
from worker.errors import Unavailable
from worker.judge.llm.client import with_retry_length
from worker.settings import ModelAccess

TOKENS_PER_BYTE: Final = Decimal("0.3")
"""Of code and English; a run pays by what the model's server counts."""


class PromptMeter:
    """The Model port: measures each prompt and what it may cost at most, and answers none.

    Costs are those of all prompts so far; None: no price is known.
    """

    def __init__(self, access: ModelAccess) -> None:
        self.name = access.name
        self.pricing_version: str | None = None
        self.asked = 0
        self.expected_usd: Decimal | None = Decimal(0)
        self.most_usd: Decimal | None = Decimal(0)
        self._access = access

    def ask(self, prompt: Prompt) -> ModelReply:
        """Measure it. Raises Unavailable."""
        self.asked += 1
        size = prompt_bytes(prompt)
        self.expected_usd = _add(self.expected_usd, worst_case(self.name, int(size * TOKENS_PER_BYTE), TYPICAL_OUTPUT))
        for attempt in (prompt, with_retry_length(prompt)):
            most = worst_case(self.name, size, max_output_tokens(self._access, attempt))
            self.most_usd = _add(self.most_usd, most)
        raise Unavailable("The model", "it is only weighed what it would be asked")


def _add(total: Decimal | None, cost: Decimal | None) -> Decimal | None:
    return None if total is None or cost is None else total + cost
