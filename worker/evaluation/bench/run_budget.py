"""The money of one run: a limit for all its processes, kept in its folder.

Does not know prices. Invariant: what is reserved and spent never exceeds the limit, in however many processes and however
often the run is taken up again; what a process that was killed had reserved stays spent.
"""

import fcntl
import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Final, NamedTuple, TypedDict, cast

from worker.domain.ids import RepositoryId
from worker.domain.request.judge_request import LOCAL_INSTALLATION, PullRef
from worker.domain.verdict.budget import Bill, Cap, CapLevel, Density, Reservation, from_nano, to_nano
from worker.errors import BudgetReached

RUN_ACCOUNT: Final = PullRef(installation_id=LOCAL_INSTALLATION, repository_id=RepositoryId(0), number=0)
"""A run pays as one."""

BUDGET_FILE: Final = "money.json"


class RunMoney(NamedTuple):
    """The books of a run, and the most that it may cost."""

    path: Path
    limit_usd: Decimal

    @property
    def spent_usd(self) -> Decimal:
        """What is spent or reserved; nothing where no book was ever opened."""
        with FileBudget(self).open_data() as book:
            return from_nano(book["used"])


class RunBudgetData(TypedDict):
    """Nanodollars: all that is used, and of it what each open reservation holds.

    `dense`: of each model, how many replies were counted, and the most tokens that there were in a byte.
    """

    used: int
    open: dict[str, int]
    dense: dict[str, tuple[int, str]]


class FileBudget:
    """The Purse port over one file."""

    def __init__(self, money: RunMoney) -> None:
        self._money = money

    def density(self, pull: PullRef, model: str) -> Density:  # noqa: ARG002 - a run is one account
        """How dense the prompts of this run have been."""
        with self.open_data() as book:
            replies, most = book["dense"].get(model, (0, "1"))
            return Density(replies, Decimal(most))

    def reserve(self, name: str, pull: PullRef, usd: Decimal) -> Reservation:
        """Set money aside; the same *name* again changes nothing. Raises BudgetReached."""
        wanted = to_nano(usd)
        with self.open_data() as book:
            if name not in book["open"]:
                if book["used"] + wanted > to_nano(self._money.limit_usd):
                    raise BudgetReached(CapLevel(Cap.DAY, from_nano(book["used"]), self._money.limit_usd), usd)
                book["used"] += wanted
                book["open"][name] = wanted
        return Reservation(name, pull, "", usd)

    def settle(self, reservation: Reservation, bill: Bill) -> CapLevel | None:
        """Give back what was not spent, once."""
        with self.open_data() as book:
            held = book["open"].pop(reservation.id, None)
            if held is not None and bill.usd is not None:
                book["used"] += to_nano(bill.usd) - held
            if held is not None and bill.size:
                replies, most = book["dense"].get(bill.model, (0, "0"))
                book["dense"][bill.model] = replies + 1, str(max(Decimal(most), Decimal(bill.tokens) / bill.size))
        return None

    @contextmanager
    def open_data(self) -> Generator[RunBudgetData]:
        """The book, held by this process alone; what was changed is written, unless an error ends it."""
        with os.fdopen(os.open(self._money.path, os.O_RDWR | os.O_CREAT, 0o644), "r+", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            before = file.read()
            book = cast("RunBudgetData", json.loads(before)) if before else RunBudgetData(used=0, open={}, dense={})
            yield book
            after = json.dumps(book)
            if after != before:
                file.seek(0)
                file.write(f"{after:<{len(before)}}")
                file.flush()
