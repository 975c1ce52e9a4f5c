"""Thumbs at our own comment: what people say with one about the verdict that the comment tells of.

Does not ask GitHub, and knows nobody's name. Invariant: whoever reacts counts once, with their last thumb; what a bot reacts says
nothing, as with the check's buttons.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Final

from worker.domain.request.pull_request_events import PullRequestEventKind
from worker.domain.value import Value
from worker.domain.verdict.outcomes import OutcomeKind

THUMB_OUTCOMES: Final[Mapping[str, OutcomeKind]] = MappingProxyType(
    {"+1": OutcomeKind.HELPFUL, "-1": OutcomeKind.NOT_HELPFUL}
)
"""GitHub's other six say how somebody feels, not about what."""

CLOSING_KINDS: Final = frozenset({PullRequestEventKind.MERGED, PullRequestEventKind.CLOSED})
"""When reactions are looked at."""


class Reaction(Value):
    """One reaction, by GitHub's numbers: `id` of its own, `account` of whoever reacted. The later has the greater `id`."""

    id: int
    account: int
    is_bot: bool
    content: str
    at: datetime


def last_thumbs(reactions: Iterable[Reaction]) -> tuple[Reaction, ...]:
    """The last thumb of each person, in the order in which they were given."""
    last: dict[int, Reaction] = {}
    for reaction in sorted(reactions, key=lambda reaction: reaction.id):
        if reaction.content in THUMB_OUTCOMES and not reaction.is_bot:
            last.pop(reaction.account, None)
            last[reaction.account] = reaction
    return tuple(last.values())
