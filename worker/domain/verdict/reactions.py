"""Thumbs at our own comment: what people say with one about the verdict that the comment tells of.

Does not ask GitHub, and knows nobody's name. Invariant: whoever reacts counts once, with their last thumb; what a bot reacts says
nothing, as with the check's buttons.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Final

from worker.domain.request.pull_request_events import Happened
from worker.domain.value import Value
from worker.domain.verdict.outcomes import OutcomeKind

THUMBS: Final[Mapping[str, OutcomeKind]] = MappingProxyType({"+1": OutcomeKind.HELPFUL, "-1": OutcomeKind.NOT_HELPFUL})
"""GitHub's other six say how somebody feels, not about what."""

OVER: Final = frozenset({Happened.MERGED, Happened.CLOSED})
"""When reactions are looked at."""


class Reaction(Value):
    """One reaction, by GitHub's numbers: `id` of its own, `account` of whoever reacted. The later has the greater `id`."""

    id: int
    account: int
    is_bot: bool
    content: str
    at: datetime


def thumbs(reactions: Iterable[Reaction]) -> tuple[Reaction, ...]:
    """The last thumb of each person, in the order in which they were given."""
    last: dict[int, Reaction] = {}
    for one in sorted(reactions, key=lambda one: one.id):
        if one.content in THUMBS and not one.is_bot:
            last.pop(one.account, None)
            last[one.account] = one
    return tuple(last.values())
