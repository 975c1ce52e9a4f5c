"""How far the looks at what was missed came.

Does not look. Invariant: nothing here is needed to judge; what is lost is looked at again.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from worker.adapters.redis import keys
from worker.adapters.redis.client import Argument, Wire, items, text
from worker.adapters.redis.intake import lifetime_s
from worker.adapters.redis.scripts import Script, run
from worker.adapters.redis.versioned_json import read, read_or_leave
from worker.domain.ids import InstallationId
from worker.domain.request.missed_deliveries import Place, Sent

MOST_TIMES = 3
"""A delivery that failed as often fails for a reason that another try does not mend."""

ARRIVED: Final = "arrived"
"""Stands among the attempts after which a delivery was asked for: another try of it came through."""


class RedisProgress:
    """The ports Progress and Pages."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def looked_at(self) -> datetime | None:
        found = self._wire.call("GET", keys.LOOKED.name)
        return datetime.fromtimestamp(int(text(found)), UTC) if found else None

    def looked(self, at: datetime) -> None:
        self._put(keys.LOOKED, int(at.timestamp()))
        self._wire.call("DEL", keys.LOOKING.name)

    def place(self) -> Place | None:
        found = self._wire.call("GET", keys.LOOKING.name)
        return read(Place, text(found)) if found else None

    def stands(self, place: Place) -> None:
        self._put(keys.LOOKING, place.model_dump_json())

    def waiting(self) -> Sequence[Sent]:
        found = items(self._wire.call("HVALS", keys.MISSED.name))
        return [one for said in found if (one := read_or_leave(Sent, text(said)))]

    def wait(self, found: Iterable[Sent]) -> None:
        told = [part for one in found for part in (one.guid, one.model_dump_json())]
        if told:
            self._wire.call("HSET", keys.MISSED.name, *told)

    def done(self, guid: str) -> None:
        self._wire.call("HDEL", keys.MISSED.name, guid)

    def arrived(self, guid: str) -> None:
        key = keys.asked_again(guid)
        run(self._wire, Script.ASK_AGAIN, [key], ARRIVED, MOST_TIMES + 1, lifetime_s(key))
        self.done(guid)

    def is_over(self, guid: str, attempt: int) -> bool:
        known = {text(one) for one in items(self._wire.call("SMEMBERS", keys.asked_again(guid).name))}
        return ARRIVED in known or any(int(one) >= attempt for one in known)

    def may_again(self, guid: str, attempt: int) -> bool:
        key = keys.asked_again(guid)
        return bool(run(self._wire, Script.ASK_AGAIN, [key], attempt, MOST_TIMES, lifetime_s(key)))

    def round(self) -> int:
        found = self._wire.call("GET", keys.ROUND.name)
        return int(text(found)) if found else 1

    def goes_on(self, page: int) -> None:
        self._put(keys.ROUND, page)

    def page(self, installation: InstallationId) -> int:
        found = self._wire.call("GET", keys.swept(installation).name)
        return int(text(found)) if found else 1

    def turn_to(self, installation: InstallationId, page: int) -> None:
        self._put(keys.swept(installation), page)

    def _put(self, key: keys.Key, value: Argument) -> None:
        run(self._wire, Script.PROGRESS, [key], value, lifetime_s(key))
