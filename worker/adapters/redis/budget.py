"""The model budget in Redis: reserved before a request, settled after it (`lua/reserve.lua`, `lua/settle.lua`).

Reserved and spent dollars never exceed a cap, even with concurrent reservations and killed processes. A reservation
that is never settled counts as spent.

If another repository of the installation asked for money today or yesterday (UTC), granted or not, a repository may
spend only `share` of its installation's day. Otherwise it may spend the whole day. The same holds for the author of a
pull request and `author_share`.
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
"""Densities are stored as tokens per this many bytes."""

WEEK: Final = 7
"""Days of replies that determine the density of prompts; a day's budget is kept longer."""

GRANTED: Final = "granted"
FORGOTTEN_STATUS: Final = "gone"


class RedisBudget:
    """The ModelBudget port."""

    def __init__(self, wire: RedisClient, caps: Caps, clock: Clock) -> None:
        self._wire = wire
        self._caps = caps
        self._clock = clock

    def density(self, pull: PullRef, model: str) -> Density:
        """The highest density of the last seven days' replies."""
        fields = (f"replies:{model}", f"dense:{model}")
        week = _days(pull, self._clock.now(), WEEK)
        days = [items(self._wire.call("HMGET", day.name, *fields)) for day in week]
        densities = [(int(text(replies)), int(text(most))) for replies, most in days if replies and most]
        if not densities:
            return Density()
        return Density(sum(replies for replies, _ in densities), Decimal(max(most for _, most in densities)) / PER)

    def reserve(self, name: str, pull: PullRef, usd: Decimal) -> Reservation:
        """Reserve dollars for one request. Raises BudgetReached, and LeaseLost for a pull request that was deleted meanwhile."""
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
        """Release what was not spent. Logs once for each cap that it is almost reached."""
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
"""Order of the flags from `lua/settle.lua`; the last only if the day is shared."""

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
    """Budget keys of the last days, today's first."""
    return [keys.installation_budget(pull.installation_id, _day(now - timedelta(days=back))) for back in range(count)]


def _day(at: date) -> str:
    return f"{at:%Y-%m-%d}"


class RedisRunBudget:
    """The budget of one run. The same *name* continues the same run; its limit may change."""

    def __init__(self, wire: RedisClient, name: str, limit: Decimal) -> None:
        self._wire = wire
        self._key = keys.run_budget(name)
        self._limit = limit

    @property
    def spent_usd(self) -> Decimal:
        """Dollars spent or reserved."""
        stored = self._wire.call("HGET", self._key.name, "used")
        return from_nano(int(text(stored))) if stored else Decimal(0)

    @property
    def is_full(self) -> bool:
        """Whether a request was refused at this limit."""
        stored = self._wire.call("HGET", self._key.name, "full")
        return bool(stored) and text(stored) == str(to_nano(self._limit))

    def close(self) -> None:
        """End the run: the same name later starts a new one."""
        self._wire.call("DEL", self._key.name)

    def reserve(self, name: str, usd: Decimal) -> None:
        """Reserve dollars; idempotent by *name*. Raises BudgetReached."""
        ttl = self._key.ttl
        assert ttl is not None  # noqa: S101 - every run budget expires
        what = (name, to_nano(usd), to_nano(self._limit), int(ttl.total_seconds()))
        has_room, used = items(run_script(self._wire, Script.BOOK_RESERVE, [self._key], *what))
        if not whole(has_room):
            raise BudgetReached(CapLevel(Cap.DAY, from_nano(whole(used)), self._limit), usd)

    def settle(self, name: str, usd: Decimal | None) -> None:
        """Release what was not spent, once; None: unknown, so all of it counts as spent."""
        run_script(self._wire, Script.BOOK_SETTLE, [self._key], name, "" if usd is None else to_nano(usd))


class RunCappedBudget:
    """The ModelBudget port over the live caps and a run's budget, both of which apply. *is_capped* False: the run's only."""

    def __init__(self, book: RedisRunBudget, live: ModelBudget, *, is_capped: bool) -> None:
        self._book = book
        self._live = live
        self._is_capped = is_capped

    def density(self, pull: PullRef, model: str) -> Density:
        """Density of the installation's prompts."""
        return self._live.density(pull, model)

    def reserve(self, name: str, pull: PullRef, usd: Decimal) -> Reservation:
        """Reserve in both. Raises BudgetReached or LeaseLost, without a reservation in either."""
        self._book.reserve(name, usd)
        if not self._is_capped:
            return Reservation(name, pull, "", usd)
        try:
            return self._live.reserve(name, pull, usd)
        except (BudgetReached, LeaseLost):
            self._book.settle(name, Decimal(0))
            raise

    def settle(self, reservation: Reservation, bill: Bill) -> CapLevel | None:
        """Release in both what was not spent, once."""
        self._book.settle(reservation.id, bill.usd)
        return self._live.settle(reservation, bill) if self._is_capped else None
