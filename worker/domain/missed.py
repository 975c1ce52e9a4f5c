"""Which deliveries never arrived, by GitHub's own list of them.

Does not ask GitHub. Invariant: what arrived once, in whichever attempt, is not missed.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from worker.domain.value import Value

SETTLES: Final = timedelta(seconds=30)
"""How long GitHub waits for an answer, and some: before that nobody knows whether one without an answer arrived."""

OLDEST: Final = timedelta(days=3)
"""GitHub delivers nothing older again."""


class Sent(Value):
    """One attempt at a delivery. `guid` names the delivery, `id` the attempt."""

    id: int
    guid: str
    at: datetime
    status_code: int

    @property
    def arrived(self) -> bool:
        return 200 <= self.status_code < 300  # noqa: PLR2004 - HTTP's successes

    def is_settled(self, now: datetime) -> bool:
        """Whether it is known that it failed, and GitHub would still deliver it again."""
        return (SETTLES if self.status_code == 0 else timedelta(0)) <= now - self.at < OLDEST


def missed(sent: Iterable[Sent], now: datetime) -> Sequence[Sent]:
    """The newest attempt of each delivery that never arrived, the oldest first."""
    newest: dict[str, Sent] = {}
    arrived: set[str] = set()
    for one in sent:
        if one.arrived:
            arrived.add(one.guid)
        if one.guid not in newest or (newest[one.guid].at, newest[one.guid].id) < (one.at, one.id):
            newest[one.guid] = one
    found = (one for guid, one in newest.items() if guid not in arrived)
    return sorted((one for one in found if one.is_settled(now)), key=lambda one: (one.at, one.id))
