"""The money of a run: one limit for all processes, however often it is taken up again."""

from concurrent.futures import ProcessPoolExecutor
from decimal import Decimal
from multiprocessing import get_context
from pathlib import Path

import pytest

from worker.domain.verdict.budget import Bill
from worker.errors import BudgetReached
from worker.evaluation.bench.run_budget import BUDGET_FILE, RUN_ACCOUNT, FileBudget, RunMoney

CENT = Decimal("0.01")


@pytest.fixture
def money(tmp_path: Path) -> RunMoney:
    return RunMoney(tmp_path / BUDGET_FILE, Decimal("0.10"))


def test_what_was_not_spent_comes_back_once(money: RunMoney) -> None:
    purse = FileBudget(money)
    held = purse.reserve("a", RUN_ACCOUNT, 5 * CENT)
    assert money.spent_usd == 5 * CENT
    for _ in range(2):
        purse.settle(held, Bill(CENT, "m", 100, 30))
        assert money.spent_usd == CENT


def test_the_same_reservation_again_changes_nothing(money: RunMoney) -> None:
    for _ in range(2):
        FileBudget(money).reserve("a", RUN_ACCOUNT, 8 * CENT)
    assert money.spent_usd == 8 * CENT


def test_what_nobody_knows_to_be_billed_stays_spent(money: RunMoney) -> None:
    purse = FileBudget(money)
    purse.settle(purse.reserve("a", RUN_ACCOUNT, 3 * CENT), Bill(None))
    assert money.spent_usd == 3 * CENT


def test_beyond_the_limit_nothing_is_reserved(money: RunMoney) -> None:
    purse = FileBudget(money)
    purse.reserve("a", RUN_ACCOUNT, 9 * CENT)
    with pytest.raises(BudgetReached) as caught:
        purse.reserve("b", RUN_ACCOUNT, 2 * CENT)
    assert (caught.value.level.used_usd, caught.value.asked_usd) == (9 * CENT, 2 * CENT)
    assert money.spent_usd == 9 * CENT
    assert FileBudget(money._replace(limit_usd=CENT * 11)).reserve("b", RUN_ACCOUNT, 2 * CENT).usd == 2 * CENT


def test_prompts_are_taken_to_be_as_dense_as_the_densest_so_far(money: RunMoney) -> None:
    purse = FileBudget(money)
    assert purse.density(RUN_ACCOUNT, "m").bound(1000) == 1000
    for number in range(10):
        purse.settle(purse.reserve(f"{number}", RUN_ACCOUNT, CENT), Bill(Decimal(0), "m", 1000, 200 + number))
    assert purse.density(RUN_ACCOUNT, "m").bound(10_000) == 2613


def test_a_book_that_became_shorter_is_still_a_book(money: RunMoney) -> None:
    purse = FileBudget(money)
    held = [purse.reserve(f"{'x' * 50}{number}", RUN_ACCOUNT, CENT) for number in range(10)]
    for one in held:
        purse.settle(one, Bill(Decimal(0)))
    assert money.spent_usd == 0


def wants(money: RunMoney) -> int:
    """How many of 25 reservations of a cent are granted to this process."""
    purse, granted = FileBudget(money), 0
    for number in range(25):
        try:
            purse.reserve(f"{id(purse)}-{number}-{granted}", RUN_ACCOUNT, CENT / 2)
        except BudgetReached:
            break
        granted += 1
    return granted


@pytest.mark.slow
def test_many_processes_never_exceed_the_limit(money: RunMoney) -> None:
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        granted = sum(pool.map(wants, [money] * 4))
    assert granted >= 20
    assert money.spent_usd == Decimal("0.10")
