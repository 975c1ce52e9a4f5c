"""The money for models in Redis: reserved before a request, settled after it.

Does not know prices and asks nobody. The rules are in `lua/reserve.lua` and `lua/settle.lua`; this room gives
them names and types. Invariant: what is reserved and what is spent never exceeds a cap, however many reserve at once
and whoever dies; a reservation that nobody settles is spent.

A repository may spend `share` of its installation's day, and no more, whenever another repository of the installation
asked for money today or yesterday (UTC), whatever that one was told. Alone it may spend the whole day. The same holds for the author
of a pull request and `author_share`.
"""

import logging
from datetime import date, datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Final

from worker.adapters.redis import keys
from worker.adapters.redis.client import RedisClient, items, text, whole
from worker.adapters.redis.intake import lifetime_s
from worker.adapters.redis.scripts import Script, run_script
from worker.domain.ports import Clock, ModelBudget
from worker.domain.request.judge_request import PullRef
from worker.domain.verdict.budget import NEAR_SHARE, Bill, Cap, CapLevel, Caps, Density, Reservation, from_nano, to_nano
from worker.errors import BudgetReached, LeaseLost

LOG: Final = logging.getLogger(__name__)
PER: Final = 1_000_000
"""Densities are kept as tokens in that many bytes."""

WEEK: Final = 7
"""So many days of replies say how dense prompts are; the books of a day are kept longer."""

GRANTED: Final = "granted"
FORGOTTEN_STATUS: Final = "gone"


class RedisBudget:
    """The Purse port."""

    def __init__(self, wire: RedisClient, caps: Caps, clock: Clock) -> None:
        self._wire = wire
        self._caps = caps
        self._clock = clock

    def density(self, pull: PullRef, model: str) -> Density:
        """The densest of the last seven days' replies."""
        fields = (f"replies:{model}", f"dense:{model}")
        week = _days(pull, self._clock.now(), WEEK)
        days = [items(self._wire.call("HMGET", day.name, *fields)) for day in week]
        densities = [(int(text(replies)), int(text(most))) for replies, most in days if replies and most]
        if not densities:
            return Density()
        return Density(sum(replies for replies, _ in densities), Decimal(max(most for _, most in densities)) / PER)

    def reserve(self, name: str, pull: PullRef, usd: Decimal) -> Reservation:
        """Set money aside for one request. Raises BudgetReached; LeaseLost where the pull request was forgotten meanwhile."""
        now, caps = self._clock.now(), self._caps
        kept = keys.reservation(pull.installation_id, name)
        today, yesterday = _days(pull, now, 2)
        answer, used = items(
            run_script(
                self._wire,
                Script.RESERVE,
                [today, yesterday, keys.pull_request_cost(pull), kept, keys.pull(pull), keys.ledger(pull)],
                to_nano(usd),
                *(_floor(caps.find_limit(cap)) for cap in (Cap.PULL, Cap.DAY, Cap.SHARE)),
                pull.repository_id,
                lifetime_s(today),
                lifetime_s(kept),
                _floor(caps.find_limit(Cap.AUTHOR)),
            )
        )
        if text(answer) == FORGOTTEN_STATUS:
            raise LeaseLost
        if text(answer) != GRANTED:
            cap = Cap(text(answer))
            raise BudgetReached(CapLevel(cap, from_nano(whole(used)), caps.find_limit(cap)), usd)
        return Reservation(name, pull, _day(now), usd)

    def settle(self, reservation: Reservation, bill: Bill) -> CapLevel | None:
        """Give back what was not spent. Says in the log, once for each cap, that it is almost reached."""
        pull, caps = reservation.pull, self._caps
        yesterday = _day(date.fromisoformat(reservation.day) - timedelta(days=1))
        is_counted = bill.size > 0
        reply = run_script(
            self._wire,
            Script.SETTLE,
            [
                keys.installation_budget(pull.installation_id, reservation.day),
                keys.pull_request_cost(pull),
                keys.reservation(pull.installation_id, reservation.id),
                keys.installation_budget(pull.installation_id, yesterday),
            ],
            "" if bill.usd is None else to_nano(bill.usd),
            pull.repository_id,
            to_nano(NEAR_SHARE * caps.pull_usd),
            to_nano(NEAR_SHARE * caps.day_usd),
            bill.model,
            -(-bill.tokens * PER // bill.size) if is_counted else "",
            to_nano(NEAR_SHARE * caps.find_limit(Cap.SHARE)),
        )
        values = [whole(value) for value in items(reply)]
        levels = [
            CapLevel(cap, from_nano(used), caps.find_limit(cap))
            for cap, used in zip(WARNED_CAPS, values[::2], strict=True)
            if used >= 0
        ]
        for level, is_first in zip(levels, values[1::2], strict=False):
            if is_first:
                _warn(level, pull)
        near = [level for level in levels if level.is_near]
        return max(
            near, key=lambda level: level.used_usd / level.cap_usd if level.cap_usd else NEAR_SHARE, default=None
        )


WARNED_CAPS: Final = (Cap.PULL, Cap.DAY, Cap.SHARE)
"""In what order `lua/settle.lua` answers; the last only where the day is shared."""

CAP_NAMES: Final = MappingProxyType(
    {Cap.PULL: "pull request's budget", Cap.DAY: "day's budget", Cap.SHARE: "repository's share of the day"}
)


def _warn(level: CapLevel, pull: PullRef) -> None:
    LOG.warning(
        "the %s is almost used up: %s of %s dollars",
        CAP_NAMES[level.cap],
        f"{level.used_usd:f}",
        f"{level.cap_usd:f}",
        extra={"pull": pull.model_dump()},
    )


def _floor(usd: Decimal) -> int:
    return int(usd * 10**9)


def _days(pull: PullRef, now: datetime, count: int) -> list[keys.Key]:
    """The books of the last days, today's first."""
    return [keys.installation_budget(pull.installation_id, _day(now - timedelta(days=back))) for back in range(count)]


def _day(at: date) -> str:
    return f"{at:%Y-%m-%d}"


class RedisRunBudget:
    """One book. The same *name* is the same run, taken up again; its limit may be another then."""

    def __init__(self, wire: RedisClient, name: str, limit: Decimal) -> None:
        self._wire = wire
        self._key = keys.run_budget(name)
        self._limit = limit

    @property
    def spent_usd(self) -> Decimal:
        """What is spent or reserved."""
        stored = self._wire.call("HGET", self._key.name, "used")
        return from_nano(int(text(stored))) if stored else Decimal(0)

    @property
    def is_full(self) -> bool:
        """Whether a question was refused at this very limit."""
        stored = self._wire.call("HGET", self._key.name, "full")
        return bool(stored) and text(stored) == str(to_nano(self._limit))

    def close(self) -> None:
        """The run is over: whoever gives the same name later begins another one."""
        self._wire.call("DEL", self._key.name)

    def reserve(self, name: str, usd: Decimal) -> None:
        """Set money aside; the same *name* again changes nothing. Raises BudgetReached."""
        ttl = self._key.ttl
        assert ttl is not None  # noqa: S101 - every book ends
        what = (name, to_nano(usd), to_nano(self._limit), int(ttl.total_seconds()))
        has_room, used = items(run_script(self._wire, Script.BOOK_RESERVE, [self._key], *what))
        if not whole(has_room):
            raise BudgetReached(CapLevel(Cap.DAY, from_nano(whole(used)), self._limit), usd)

    def settle(self, name: str, usd: Decimal | None) -> None:
        """Give back what was not spent, once; None: nobody knows, so that all of it is."""
        run_script(self._wire, Script.BOOK_SETTLE, [self._key], name, "" if usd is None else to_nano(usd))


class RunCappedBudget:
    """The Purse port: the live caps and the book of a run, both of which must have room. *is_capped* False: the book alone."""

    def __init__(self, book: RedisRunBudget, live: ModelBudget, *, is_capped: bool) -> None:
        self._book = book
        self._live = live
        self._is_capped = is_capped

    def density(self, pull: PullRef, model: str) -> Density:
        """As dense as the installation's prompts were."""
        return self._live.density(pull, model)

    def reserve(self, name: str, pull: PullRef, usd: Decimal) -> Reservation:
        """Set it aside in both. Raises BudgetReached or LeaseLost, and then it is set aside in neither."""
        self._book.reserve(name, usd)
        if not self._is_capped:
            return Reservation(name, pull, "", usd)
        try:
            return self._live.reserve(name, pull, usd)
        except (BudgetReached, LeaseLost):
            self._book.settle(name, Decimal(0))
            raise

    def settle(self, reservation: Reservation, bill: Bill) -> CapLevel | None:
        """Give back in both what was not spent, once."""
        self._book.settle(reservation.id, bill.usd)
        return self._live.settle(reservation, bill) if self._is_capped else None
