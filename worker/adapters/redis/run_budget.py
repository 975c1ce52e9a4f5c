"""The book of one run: what its questions may cost together, beside the caps that all judgings share.

Does not know prices. Invariant: what is reserved and spent never exceeds the limit, in however many processes; what a
process that was killed had reserved stays spent.
"""

from decimal import Decimal

from worker.adapters.redis import keys
from worker.adapters.redis.client import RedisClient, items, text, whole
from worker.adapters.redis.scripts import Script, run_script
from worker.domain.ports import ModelBudget
from worker.domain.request.judge_request import PullRef
from worker.domain.verdict.budget import Bill, Cap, CapLevel, Density, Reservation, from_nano, to_nano
from worker.errors import BudgetReached, LeaseLost


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
