"""How far the looks at what was missed came.

Does not look. Invariant: nothing here is needed to judge; what is lost is looked at again.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from worker.adapters.redis import keys
from worker.adapters.redis.client import Argument, RedisClient, items, text
from worker.adapters.redis.intake import lifetime_s
from worker.adapters.redis.scripts import Script, run_script
from worker.adapters.redis.versioned_json import read_json, read_json_or_none
from worker.domain.ids import InstallationId
from worker.domain.request.missed_deliveries import DeliveryAttempt, DeliveryCursor

MOST_TIMES = 3
"""A delivery that failed as often fails for a reason that another try does not mend."""

ARRIVED_MARK: Final = "arrived"
"""Stands among the attempts after which a delivery was asked for: another try of it came through."""


class RedisProgress:
    """The ports Progress and Pages."""

    def __init__(self, wire: RedisClient) -> None:
        self._wire = wire

    def last_completed_at(self) -> datetime | None:
        stored = self._wire.call("GET", keys.RECONCILED_AT.name)
        return datetime.fromtimestamp(int(text(stored)), UTC) if stored else None

    def complete(self, at: datetime) -> None:
        self._put(keys.RECONCILED_AT, int(at.timestamp()))
        self._wire.call("DEL", keys.RECONCILE_PLACE.name)

    def load_position(self) -> DeliveryCursor | None:
        stored = self._wire.call("GET", keys.RECONCILE_PLACE.name)
        return read_json(DeliveryCursor, text(stored)) if stored else None

    def save_position(self, position: DeliveryCursor) -> None:
        self._put(keys.RECONCILE_PLACE, position.model_dump_json())

    def pending(self) -> Sequence[DeliveryAttempt]:
        texts = items(self._wire.call("HVALS", keys.MISSED_DELIVERIES.name))
        return [attempt for stored in texts if (attempt := read_json_or_none(DeliveryAttempt, text(stored)))]

    def add_pending(self, attempts: Iterable[DeliveryAttempt]) -> None:
        fields = [part for attempt in attempts for part in (attempt.guid, attempt.model_dump_json())]
        if fields:
            self._wire.call("HSET", keys.MISSED_DELIVERIES.name, *fields)

    def remove_pending(self, guid: str) -> None:
        self._wire.call("HDEL", keys.MISSED_DELIVERIES.name, guid)

    def mark_arrived(self, guid: str) -> None:
        key = keys.redelivery_attempts(guid)
        run_script(self._wire, Script.ASK_AGAIN, [key], ARRIVED_MARK, MOST_TIMES + 1, lifetime_s(key))
        self.remove_pending(guid)

    def is_settled(self, guid: str, attempt: int) -> bool:
        members = {text(member) for member in items(self._wire.call("SMEMBERS", keys.redelivery_attempts(guid).name))}
        return ARRIVED_MARK in members or any(int(member) >= attempt for member in members)

    def may_redeliver(self, guid: str, attempt: int) -> bool:
        key = keys.redelivery_attempts(guid)
        return bool(run_script(self._wire, Script.ASK_AGAIN, [key], attempt, MOST_TIMES, lifetime_s(key)))

    def round(self) -> int:
        stored = self._wire.call("GET", keys.RECONCILE_ROUND.name)
        return int(text(stored)) if stored else 1

    def goes_on(self, page: int) -> None:
        self._put(keys.RECONCILE_ROUND, page)

    def next_page(self, installation: InstallationId) -> int:
        stored = self._wire.call("GET", keys.reconciled_page(installation).name)
        return int(text(stored)) if stored else 1

    def set_next_page(self, installation: InstallationId, page: int) -> None:
        self._put(keys.reconciled_page(installation), page)

    def _put(self, key: keys.Key, value: Argument) -> None:
        run_script(self._wire, Script.PROGRESS, [key], value, lifetime_s(key))
