"""The inbox: deliveries that the web server appends in one write, and that the dispatcher applies in their order.

An entry is removed in the transaction that applies it, so it counts exactly once. What can't be applied is put aside, and tried again by
the next process that dispatches: it may be of a later version.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, assert_never

from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import RedisClient, items, text
from worker.adapters.redis.connection.transactions import Operation, Transaction, commit_async, run
from worker.adapters.redis.delayed_queue import receive_event
from worker.adapters.redis.judging import intake
from worker.domain.lifecycle.intake import (
    INBOX_DELIVERY,
    AppliedDelivery,
    CheckDelivery,
    CloseDelivery,
    EventDelivery,
    InboxDelivery,
    IntakeOutcome,
    RequestDelivery,
)
from worker.settings import Timing

if TYPE_CHECKING:
    from worker.adapters.redis.connection.async_client import AsyncRedisClient


async def append_delivery(client: "AsyncRedisClient", delivery: InboxDelivery) -> IntakeOutcome:
    """Append a delivery, unless it was received before. Raises Unavailable."""
    transaction, delivery_id = Transaction(), delivery.delivery_id
    if delivery_id is not None:
        marker = keys.delivery(delivery_id)
        transaction.expect(("EXISTS", marker.name), 0)
        transaction.write("SET", marker.name, 1, "EX", marker.seconds)
    transaction.write("RPUSH", keys.INBOX.name, delivery.model_dump_json())
    return IntakeOutcome.QUEUED if await commit_async(client, transaction) else IntakeOutcome.DUPLICATE


class RedisInbox:
    """The inbox as the dispatcher sees it. All methods raise Unavailable."""

    def __init__(self, client: RedisClient, timing: Timing, ledger_retention: timedelta) -> None:
        self._client = client
        self._timing = timing
        self._ledger_retention = ledger_retention

    def read(self, count: int) -> Sequence[str]:
        """The oldest entries, at most *count*."""
        return [text(entry) for entry in items(self._client.call("LRANGE", keys.INBOX.name, 0, count - 1))]

    def apply(self, entry: str) -> AppliedDelivery | None:
        """Apply the oldest entry and remove it. None: another process has done it.

        Raises any exception for an entry that can't be applied.
        """
        delivery = INBOX_DELIVERY.validate_json(entry, extra="ignore")

        def apply(transaction: Transaction) -> Operation[AppliedDelivery | None]:
            if not (yield from _take(transaction, entry)):
                return None
            return AppliedDelivery(delivery, (yield from self._apply(transaction, delivery)))

        return run(self._client, apply)

    def put_aside(self, entry: str) -> None:
        """Remove the oldest entry, and keep it for the next process that dispatches."""

        def put_aside(transaction: Transaction) -> Operation[None]:
            if (yield from _take(transaction, entry)):
                transaction.write("RPUSH", keys.INBOX_ASIDE.name, entry)
                transaction.write("EXPIRE", keys.INBOX_ASIDE.name, keys.INBOX_ASIDE.seconds)

        run(self._client, put_aside)

    def restore(self) -> None:
        """Append what was put aside."""
        while self._client.call("LMOVE", keys.INBOX_ASIDE.name, keys.INBOX.name, "LEFT", "RIGHT") is not None:
            pass

    def _apply(self, transaction: Transaction, delivery: InboxDelivery) -> Operation[IntakeOutcome]:
        match delivery:
            case RequestDelivery(request=request, named_by=by, unless_judged_by=issues, event=event):
                receipt = yield from intake.receive_request(transaction, request, self._timing, by, issues)
                if event is not None:
                    yield from receive_event(transaction, event)
                return receipt.outcome
            case CloseDelivery(pull=pull, event=event):
                yield from intake.close_pull_request(transaction, pull, self._ledger_retention)
                return (yield from receive_event(transaction, event))
            case CheckDelivery(event=event):
                noted = IntakeOutcome.UNKNOWN if event is None else (yield from receive_event(transaction, event))
                outcome = yield from intake.retrigger_ci(
                    transaction, delivery, self._timing, is_green=delivery.is_green
                )
                return noted if outcome is IntakeOutcome.UNKNOWN else outcome
            case EventDelivery(event=event):
                return (yield from receive_event(transaction, event))
            case _:
                assert_never(delivery)


def _take(transaction: Transaction, entry: str) -> Operation[bool]:
    """Remove this entry. False: it is not the oldest one, since another process has removed it."""
    (oldest,) = yield from transaction.read(("LINDEX", keys.INBOX.name, 0))
    if text(oldest) != entry:
        return False
    transaction.write("LPOP", keys.INBOX.name)
    return True
