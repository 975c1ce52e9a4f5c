"""The money of one run: a limit for all its processes, kept in its folder.

What is reserved and spent never exceeds the limit, in however many processes and however often the run is resumed; what a
killed process had reserved stays spent.
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
"""The account that all rows of a run are paid from."""

BUDGET_FILE: Final = "money.json"


class RunMoney(NamedTuple):
    """A run's budget file, and the most that the run may cost."""

    path: Path
    limit_usd: Decimal

    @property
    def spent_usd(self) -> Decimal:
        """What is spent or reserved."""
        with FileBudget(self).open_data() as data:
            return from_nano(data["used"])


class RunBudgetData(TypedDict):
    """Nanodollars: all that is used, and of it what each open reservation holds.

    `dense`: of each model, how many replies were counted, and the highest number of tokens in a byte.
    """

    used: int
    open: dict[str, int]
    dense: dict[str, tuple[int, str]]


class FileBudget:
    """The ModelBudget port over one file."""

    def __init__(self, money: RunMoney) -> None:
        self._money = money

    def density(self, pull: PullRef, model: str) -> Density:  # noqa: ARG002 - a run is one account
        """How dense the prompts of this run have been."""
        with self.open_data() as data:
            replies, most = data["dense"].get(model, (0, "1"))
            return Density(replies, Decimal(most))

    def reserve(self, name: str, pull: PullRef, usd: Decimal) -> Reservation:
        """Reserve money; idempotent by *name*. Raises BudgetReached."""
        wanted = to_nano(usd)
        with self.open_data() as data:
            if name not in data["open"]:
                if data["used"] + wanted > to_nano(self._money.limit_usd):
                    raise BudgetReached(CapLevel(Cap.DAY, from_nano(data["used"]), self._money.limit_usd), usd)
                data["used"] += wanted
                data["open"][name] = wanted
        return Reservation(name, pull, "", usd)

    def settle(self, reservation: Reservation, bill: Bill) -> CapLevel | None:
        """Give back what was not spent, once."""
        with self.open_data() as data:
            held = data["open"].pop(reservation.id, None)
            if held is not None and bill.usd is not None:
                data["used"] += to_nano(bill.usd) - held
            if held is not None and bill.size:
                replies, most = data["dense"].get(bill.model, (0, "0"))
                data["dense"][bill.model] = replies + 1, str(max(Decimal(most), Decimal(bill.tokens) / bill.size))
        return None

    @contextmanager
    def open_data(self) -> Generator[RunBudgetData]:
        """The file's data, locked for this process; changes are written, unless an error ends the block."""
        with os.fdopen(os.open(self._money.path, os.O_RDWR | os.O_CREAT, 0o644), "r+", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            before = file.read()
            data = cast("RunBudgetData", json.loads(before)) if before else RunBudgetData(used=0, open={}, dense={})
            yield data
            after = json.dumps(data)
            if after != before:
                file.seek(0)
                file.write(f"{after:<{len(before)}}")
                file.flush()
