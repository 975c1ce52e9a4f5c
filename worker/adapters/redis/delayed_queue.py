"""Things of one kind that wait for somebody to look at them: in the order of when to, each until it is done.

Does not know what they are, or who puts them. Invariant: one that is looked at and not done comes again after the hold; one that
only a later version can read stays for whoever does.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, TypeVar

from worker.adapters.redis.client import RedisClient, items, text, whole
from worker.adapters.redis.intake import milliseconds
from worker.adapters.redis.queue_keys import QueueKeys
from worker.adapters.redis.scripts import Script, run_script
from worker.adapters.redis.versioned_json import read_json_or_none
from worker.domain.model import Frozen
from worker.settings import Timing

M = TypeVar("M", bound=Frozen)


@dataclass(frozen=True, slots=True)
class DelayedQueue(Generic[M]):
    """One such queue."""

    wire: RedisClient
    timing: Timing
    kind: type[M]
    queue_keys: QueueKeys

    def next(self) -> tuple[M, int] | None:
        """The one that is to be looked at for longest, for a while, and how often it was, from 1 on."""
        entry = self.next_with_text()
        return entry and entry[:2]

    def next_with_text(self) -> tuple[M, int, str] | None:
        """The same, and the text as it was written, perhaps by another version."""
        reply = items(run_script(self.wire, Script.ASK_NEXT, self.queue_keys.keys, milliseconds(self.timing.open_hold)))
        written = text(reply[0]) if reply else ""
        value = read_json_or_none(self.kind, written) if written else None
        return (value, whole(reply[1]), written) if value else None

    def postpone(self, name: str, delay: timedelta) -> None:
        """Look at it again after a while."""
        run_script(
            self.wire, Script.ASK_LATER, [self.queue_keys.order], name, max(0, milliseconds(delay.total_seconds()))
        )

    def complete(self, name: str) -> None:
        run_script(self.wire, Script.ASK_DONE, self.queue_keys.keys, name)
