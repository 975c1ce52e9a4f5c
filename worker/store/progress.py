"""How far the looks at what was missed came.

Does not look. Invariant: nothing here is needed to judge; what is lost is looked at again.
"""

from datetime import UTC, datetime

from worker.domain import keys
from worker.domain.ids import InstallationId
from worker.store.door import lifetime_s
from worker.store.lua import Script, run
from worker.store.wire import Wire, text

MOST_TIMES = 3
"""A delivery that failed as often fails for a reason that another try does not mend."""


class RedisProgress:
    """The Progress port."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def looked_at(self) -> datetime | None:
        found = self._wire.call("GET", keys.LOOKED.name)
        return datetime.fromtimestamp(int(text(found)), UTC) if found else None

    def looked(self, at: datetime) -> None:
        self._put(keys.LOOKED, int(at.timestamp()))

    def may_again(self, guid: str, attempt: int) -> bool:
        key = keys.asked_again(guid)
        return bool(run(self._wire, Script.ASK_AGAIN, [key], attempt, MOST_TIMES, lifetime_s(key)))

    def page(self, installation: InstallationId) -> int:
        found = self._wire.call("GET", keys.swept(installation).name)
        return int(text(found)) if found else 1

    def turn_to(self, installation: InstallationId, page: int) -> None:
        self._put(keys.swept(installation), page)

    def _put(self, key: keys.Key, value: int) -> None:
        run(self._wire, Script.PROGRESS, [key], value, lifetime_s(key))
