"""Which models think before they answer, and how long a reply of each may be.

Does not ask. Invariant: a model whose thinking can't be switched off is given all that the operator allows, since what it
thinks counts into the length of its reply and is bounded by nothing else.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from worker.adapters.anthropic.prices import name_without_date
from worker.domain.ports import Prompt
from worker.settings import ModelAccess

if TYPE_CHECKING:
    from anthropic.types import ThinkingConfigParam

WITHOUT_THINKING: Final[Mapping[str, "ThinkingConfigParam"]] = MappingProxyType(
    {"claude-haiku-5-5": {"type": "disabled"}, "claude-sonnet-5-5": {"type": "between_tools"}}
)
"""How each model is asked not to think; between tools is never, where there are none. Of a model that is not here nothing is said."""


def thinking_off(access: ModelAccess) -> "ThinkingConfigParam | None":
    """What keeps this model from thinking; None where it thinks, or may."""
    return None if access.has_thinking else WITHOUT_THINKING.get(name_without_date(access.name))


def max_output_tokens(access: ModelAccess, prompt: Prompt) -> int:
    """How many tokens a reply to this question has at most."""
    if prompt.reply_tokens is None or thinking_off(access) is None:
        return access.max_output_tokens
    return min(prompt.reply_tokens, access.max_output_tokens)
