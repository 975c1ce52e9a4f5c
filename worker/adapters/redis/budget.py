"""The model budget in Redis, reserved before a request and settled after it, and the rate limits of GitHub.

Reserved and spent dollars never exceed a cap, even with concurrent reservations and killed processes. A reservation
that is never settled counts as spent.

If another repository of the installation asked for money today or yesterday (UTC), granted or not, a repository may
spend only `share` of its installation's day. Otherwise it may spend the whole day. The same holds for the author of a
pull request and `author_share`.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from types import MappingProxyType
from typing import Final

from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import RedisClient, Reply, field_values, items, text, whole
from worker.adapters.redis.connection.transactions import Operation, RedisPart, Transaction, in_transaction, run
from worker.adapters.redis.judging.intake import expire_with_ledger
from worker.domain.judge_request import PullRef
from worker.domain.model import InstallationId
from worker.domain.ports import Clock, ModelBudget, RateLimit
from worker.domain.verdict.budget import (
    NEAR_SHARE,
    Bill,
    Cap,
    CapLevel,
    Caps,
    Density,
    Reservation,
    find_reached_cap,
    from_nano,
    to_nano,
)
from worker.errors import BudgetReached, LeaseLost

LOG: Final = logging.getLogger(__name__)
PER: Final = 1_000_000
"""Densities are stored as tokens per this many bytes."""

WEEK: Final = 7
"""Days of replies that determine the density of prompts; a day's budget is kept longer."""


SPENT, SINCE = "spent", "since"
"""Fields of the books: nanodollars, and the first reservation in them."""


@dataclass(frozen=True)
class BudgetShare:
    """A part of an installation's day. `field`: its spending; `count_field`: how many such parts asked for money."""

    cap: Cap
    field: str
    count_field: str

    def has_others(self, books: Sequence[Mapping[str, Reply]]) -> bool:
        """Whether another one asked for money on these days."""
        return sum(whole(book[self.count_field]) - (book[self.field] is not None) for book in books) > 0


class RedisBudget(RedisPart):
    """The ModelBudget port."""

    def __init__(self, client: RedisClient, caps: Caps, clock: Clock) -> None:
        super().__init__(client)
        self._caps = caps
        self._clock = clock

    def density(self, pull: PullRef, model: str) -> Density:
        """The highest density of the last seven days' replies."""
        fields = (f"replies:{model}", f"dense:{model}")
        week = _days(pull, self._clock.now(), WEEK)
        days = map(items, self._client.pipeline([("HMGET", day.name, *fields) for day in week]))
        densities = [(whole(replies), whole(most)) for replies, most in days if replies and most]
        if not densities:
            return Density()
        return Density(sum(replies for replies, _ in densities), Decimal(max(most for _, most in densities)) / PER)

    def reserve(self, name: str, pull: PullRef, usd: Decimal) -> Reservation:
        """Reserve dollars for one request; idempotent by *name*.

        Raises BudgetReached, and LeaseLost for a pull request that was deleted meanwhile.
        """
        now = self._clock.now()
        reached = self._reserve(name, pull, usd, now)
        if reached is not None:
            raise BudgetReached(reached, usd)
        return Reservation(name, pull, _day(now), usd)

    @in_transaction
    def _reserve(
        self, transaction: Transaction, name: str, pull: PullRef, usd: Decimal, now: datetime
    ) -> Operation[CapLevel | None]:
        """Reserve, or return the cap that is in the way. In both cases the repository and the author asked today."""
        reservation, cost, ledger = (
            keys.reservation(pull.installation_id, name),
            keys.pull_request_cost(pull).name,
            keys.ledger(pull).name,
        )
        is_reserved, is_stored, stored_pull, expires_at, stored_cost = yield from transaction.read(
            ("EXISTS", reservation.name),
            ("EXISTS", keys.pull(pull).name, ledger),
            ("HMGET", keys.pull(pull).name, "author", "over", "ends"),
            ("PEXPIRETIME", ledger),
            ("HMGET", cost, SPENT, SINCE),
        )
        if is_reserved:
            return None
        if not is_stored:
            raise LeaseLost
        author, closed_at, ends_at = map(text, items(stored_pull))
        shares = (
            _repository_share(pull),
            *([BudgetShare(Cap.AUTHOR, f"author:{author}", "authors")] if author else []),
        )
        spent, since = items(stored_cost)
        days, levels = _days(pull, now, 2), [self._level(Cap.PULL, whole(spent))]
        levels += yield from self._read_days(transaction, days, shares)
        if (reached := find_reached_cap(levels, usd)) is not None:
            return reached
        amount = to_nano(usd)
        for key, field in ((cost, SPENT), (days[0].name, SPENT), *((days[0].name, share.field) for share in shares)):
            transaction.write("HINCRBY", key, field, amount)
        expire_with_ledger(transaction, cost, whole(expires_at), float(ends_at) if closed_at and ends_at else None)
        if since is None:
            transaction.write("HSET", cost, SINCE, reservation.name)
        fields = ("amount", amount, SINCE, text(since) or reservation.name)
        author_share = ("author", shares[-1].field) if author else ()
        transaction.write("HSET", reservation.name, *fields, *author_share)
        transaction.write("EXPIRE", reservation.name, reservation.seconds)
        return None

    def _read_days(
        self, transaction: Transaction, days: Sequence[keys.Key], shares: Sequence[BudgetShare]
    ) -> Operation[list[CapLevel]]:
        """Levels of today and of the shares that apply, and record that all of them asked today."""
        today, fields = days[0], (SPENT, *(field for share in shares for field in (share.field, share.count_field)))
        replies = yield from transaction.read(*(("HMGET", day.name, *fields) for day in days))
        books = [dict(zip(fields, items(reply), strict=True)) for reply in replies]
        levels = [self._level(Cap.DAY, whole(books[0][SPENT]))]
        for share in shares:
            used = books[0][share.field]
            if used is None:
                transaction.write("HSET", today.name, share.field, 0)
                transaction.write("HINCRBY", today.name, share.count_field, 1)
                transaction.write("EXPIRE", today.name, today.seconds)
            if share.has_others(books):
                levels.append(self._level(share.cap, whole(used)))
        return levels

    def _level(self, cap: Cap, nano: int) -> CapLevel:
        return CapLevel(cap, from_nano(nano), self._caps.find_limit(cap))

    def settle(self, reservation: Reservation, bill: Bill) -> CapLevel | None:
        """Release what was not spent, once; return the fullest cap that is almost reached.

        Logs once for each cap that it is almost reached. Nothing is released to the books of a pull request that was
        deleted meanwhile.
        """
        run(self._client, partial(_settle, reservation=reservation, bill=bill))
        near = [(level, warned) for level, warned in self._read_levels(reservation) if level.is_near]
        is_first = self._client.pipeline([("HSETNX", *warned, 1) for _, warned in near]) if near else []
        for (level, _), first in zip(near, is_first, strict=True):
            if first:
                LOG.warning(
                    "the %s is almost used up: %s of %s dollars",
                    CAP_NAMES[level.cap],
                    f"{level.used_usd:f}",
                    f"{level.cap_usd:f}",
                    extra={"pull": reservation.pull.model_dump()},
                )
        return max(
            (level for level, _ in near),
            key=lambda level: level.used_usd / level.cap_usd if level.cap_usd else NEAR_SHARE,
            default=None,
        )

    def _read_levels(self, reservation: Reservation) -> list[tuple[CapLevel, tuple[str, str]]]:
        """Each level with the key and the field that mark its warning; of the repository's share if the day is shared."""
        pull, share = reservation.pull, _repository_share(reservation.pull)
        cost, fields = keys.pull_request_cost(pull).name, (SPENT, share.field, share.count_field)
        days = _days(pull, datetime.fromisoformat(reservation.day), 2)
        spent, *replies = self._client.pipeline(
            [("HGET", cost, SPENT), *(("HMGET", day.name, *fields) for day in days)]
        )
        books = [dict(zip(fields, items(reply), strict=True)) for reply in replies]
        day = days[0].name
        levels = [
            (self._level(Cap.PULL, whole(spent)), (cost, "warned")),
            (self._level(Cap.DAY, whole(books[0][SPENT])), (day, "warned")),
        ]
        if share.has_others(books):
            levels.append((self._level(Cap.SHARE, whole(books[0][share.field])), (day, f"warned:{pull.repository_id}")))
        return levels


def _repository_share(pull: PullRef) -> BudgetShare:
    return BudgetShare(Cap.SHARE, f"repo:{pull.repository_id}", "active")


def _settle(transaction: Transaction, reservation: Reservation, bill: Bill) -> Operation[None]:
    """Settle a reservation, unless it was settled or has expired."""
    pull, densest = reservation.pull, f"dense:{bill.model}"
    day, cost = keys.installation_budget(pull.installation_id, reservation.day).name, keys.pull_request_cost(pull).name
    key = keys.reservation(pull.installation_id, reservation.id).name
    stored, since, density = yield from transaction.read(
        ("HMGET", key, "amount", "settled", SINCE, "author"), ("HGET", cost, SINCE), ("HGET", day, densest)
    )
    amount, settled, reserved_since, author = items(stored)
    if amount is None or settled is not None:
        return
    billed = whole(amount) if bill.usd is None else to_nano(bill.usd)
    change = billed - whole(amount)
    transaction.write("HSET", key, "settled", billed)
    if since == reserved_since:
        transaction.write("HINCRBY", cost, SPENT, change)
    for field in (SPENT, _repository_share(pull).field, *([text(author)] if author else [])):
        transaction.write("HINCRBY", day, field, change)
    if bill.size:
        transaction.write("HINCRBY", day, f"replies:{bill.model}", 1)
        transaction.write("HSET", day, densest, max(whole(density), -(-bill.tokens * PER // bill.size)))


CAP_NAMES: Final = MappingProxyType(
    {Cap.PULL: "pull request's budget", Cap.DAY: "day's budget", Cap.SHARE: "repository's share of the day"}
)


def _days(pull: PullRef, now: datetime, count: int) -> list[keys.Key]:
    """Budget keys of the last days, today's first."""
    return [keys.installation_budget(pull.installation_id, _day(now - timedelta(days=back))) for back in range(count)]


def _day(at: date) -> str:
    return f"{at:%Y-%m-%d}"


class RedisRunBudget(RedisPart):
    """The budget of one run. The same *name* continues the same run; its limit may change."""

    def __init__(self, client: RedisClient, name: str, limit: Decimal) -> None:
        super().__init__(client)
        self._key = keys.run_budget(name)
        self._limit = limit

    @property
    def spent_usd(self) -> Decimal:
        """Dollars spent or reserved."""
        stored = self._client.call("HGET", self._key.name, "used")
        return from_nano(int(text(stored))) if stored else Decimal(0)

    @property
    def is_full(self) -> bool:
        """Whether a request was refused at this limit."""
        stored = self._client.call("HGET", self._key.name, "full")
        return bool(stored) and text(stored) == str(to_nano(self._limit))

    def close(self) -> None:
        """End the run: the same name later starts a new one."""
        self._client.call("DEL", self._key.name)

    def reserve(self, name: str, usd: Decimal) -> None:
        """Reserve dollars; idempotent by *name*. Raises BudgetReached."""
        reached = self._reserve(name, usd)
        if reached is not None:
            raise BudgetReached(reached, usd)

    @in_transaction
    def _reserve(self, transaction: Transaction, name: str, usd: Decimal) -> Operation[CapLevel | None]:
        """Reserve, or return the level of the limit. A refusal does not make a run's budget live longer."""
        key, field = self._key.name, _open_field(name)
        (stored,) = yield from transaction.read(("HMGET", key, "used", field))
        used, is_reserved = items(stored)
        level = CapLevel(Cap.DAY, from_nano(whole(used)), self._limit)
        if is_reserved:
            return None
        if reached := find_reached_cap([level], usd):
            transaction.write("HSET", key, "full", to_nano(self._limit))
            transaction.write("EXPIRE", key, self._key.seconds, "NX")
            return reached
        transaction.write("HINCRBY", key, "used", to_nano(usd))
        transaction.write("HSET", key, field, to_nano(usd))
        transaction.write("EXPIRE", key, self._key.seconds)
        return None

    @in_transaction
    def settle(self, transaction: Transaction, name: str, usd: Decimal | None) -> Operation[None]:
        """Release what was not spent, once; None: unknown, so all of it counts as spent."""
        key, field = self._key.name, _open_field(name)
        (reserved,) = yield from transaction.read(("HGET", key, field))
        if reserved is None:
            return
        transaction.write("HDEL", key, field)
        if usd is not None:
            transaction.write("HINCRBY", key, "used", to_nano(usd) - whole(reserved))


def _open_field(name: str) -> str:
    return f"open:{name}"


class RunCappedBudget:
    """The ModelBudget port over the live caps and a run's budget, both of which apply. *is_capped* False: the run's only."""

    def __init__(self, run_budget: RedisRunBudget, live: ModelBudget, *, is_capped: bool) -> None:
        self._run_budget = run_budget
        self._live = live
        self._is_capped = is_capped

    def density(self, pull: PullRef, model: str) -> Density:
        """Density of the installation's prompts."""
        return self._live.density(pull, model)

    def reserve(self, name: str, pull: PullRef, usd: Decimal) -> Reservation:
        """Reserve in both. Raises BudgetReached or LeaseLost, without a reservation in either."""
        self._run_budget.reserve(name, usd)
        if not self._is_capped:
            return Reservation(name, pull, "", usd)
        try:
            return self._live.reserve(name, pull, usd)
        except (BudgetReached, LeaseLost):
            self._run_budget.settle(name, Decimal(0))
            raise

    def settle(self, reservation: Reservation, bill: Bill) -> CapLevel | None:
        """Release in both what was not spent, once."""
        self._run_budget.settle(reservation.id, bill.usd)
        return self._live.settle(reservation, bill) if self._is_capped else None


class RedisRates(RedisPart):
    """The RateLimits port: limits per installation, for all processes, each with its reset."""

    def find_limits(self, installation: InstallationId) -> Mapping[str, RateLimit]:
        stored = field_values(self._client.call("HGETALL", keys.rate(installation).name))
        return {resource: _parse_limit(text(value)) for resource, value in stored.items()}

    @in_transaction
    def put(
        self, transaction: Transaction, installation: InstallationId, resource: str, limit: RateLimit
    ) -> Operation[None]:
        """Record a limit, unless an answer that is later than it was recorded."""
        key = keys.rate(installation)
        (stored,) = yield from transaction.read(("HGET", key.name, resource))
        if stored is None or _order(limit) >= _order(_parse_limit(text(stored))):
            value = f"{limit.remaining} {int(limit.reset_at.timestamp())}"
            transaction.write("HSET", key.name, resource, value)
            transaction.write("EXPIRE", key.name, key.seconds)


def _order(limit: RateLimit) -> tuple[int, int]:
    """Sorts answers by time: of the same period, a later one leaves as much or less."""
    return int(limit.reset_at.timestamp()), -limit.remaining


def _parse_limit(text: str) -> RateLimit:
    remaining, reset = text.split()
    return RateLimit(int(remaining), datetime.fromtimestamp(int(reset), UTC))
