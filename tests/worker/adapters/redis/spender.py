"""A process that spends from many threads, and may kill itself meanwhile.

    python -m tests.worker.adapters.redis.spender REDIS_URL SEED TIMES lives|dies

It waits for a line on standard input, so that many begin together. Invariant: it dies between reserving and settling.
"""

import os
import random
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

from tests.worker.adapters.redis.store_samples import pull_ref, settings_for
from worker.adapters.redis.budget import RedisBudget
from worker.adapters.redis.store import open_store
from worker.domain.verdict.budget import Bill, Caps
from worker.errors import BudgetReached
from worker.process import SystemClock

CENT = Decimal("0.01")
CAPS = Caps(pull_usd=10 * CENT, day_usd=100 * CENT, share=Decimal("0.4"))
PULLS, REPOSITORIES = 30, 3


def report(*parts: object) -> None:
    print(*parts, flush=True)  # noqa: T201 - read by the test that started it


def spend(budget: RedisBudget, name: str, *, dies: bool) -> None:
    """Reserve an amount and settle for a part of it, or die between the two."""
    chance = random.Random(name)  # noqa: S311 - no secret
    number = chance.randrange(PULLS)
    worst = CENT * chance.randint(1, 100) / 100
    try:
        reservation = budget.reserve(name, pull_ref(number, repository=number % REPOSITORIES), worst)
    except BudgetReached as reached:
        report("refused", reached.level.cap)
        return
    if dies:
        os.kill(os.getpid(), signal.SIGKILL)
    budget.settle(reservation, Bill(worst * chance.randint(0, 100) / 100))
    report("paid", name)


def main(url: str, seed: int, times: int, *, dies: bool) -> None:
    with open_store(settings_for(url)) as store, ThreadPoolExecutor(times) as pool:
        budget = store.budget(CAPS, SystemClock())
        report("ready")
        sys.stdin.readline()
        for done in [pool.submit(spend, budget, f"{seed}-{turn}", dies=dies) for turn in range(times)]:
            done.result()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), dies=sys.argv[4] == "dies")
