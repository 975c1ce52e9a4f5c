"""The book of a run bounds what it costs, beside the caps."""

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest

from tests.worker.adapters.redis.played import on_record, pull
from worker.adapters.redis import keys
from worker.adapters.redis.budget import RunCappedBudget
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.verdict.budget import Bill, Caps
from worker.errors import BudgetReached, LeaseLost

TEN, FOUR = Decimal("0.10"), Decimal("0.04")


def test_what_is_reserved_and_spent_never_exceeds_the_limit_however_many_reserve(store: Store) -> None:
    book = store.run_budget("run", TEN)

    def reserve(number: int) -> bool:
        try:
            book.reserve(f"q{number}", FOUR)
        except BudgetReached:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(reserve, range(20))) == 2
    assert book.spent_usd == Decimal("0.08")
    assert book.is_full


def test_the_same_question_is_reserved_once_and_settled_once(store: Store) -> None:
    book = store.run_budget("run", TEN)
    for _ in range(3):
        book.reserve("q", FOUR)
    for _ in range(2):
        book.settle("q", Decimal("0.01"))
    assert book.spent_usd == Decimal("0.01")
    assert not book.is_full


def test_a_bill_that_nobody_knows_is_all_that_was_reserved(store: Store) -> None:
    book = store.run_budget("run", TEN)
    book.reserve("q", FOUR)
    book.settle("q", None)
    assert book.spent_usd == FOUR


def test_a_refusal_keeps_no_book_alive(store: Store) -> None:
    book, key = store.run_budget("run", Decimal("0.045")), keys.run_budget("run").name
    for _ in range(2):
        with pytest.raises(BudgetReached):
            book.reserve("more", TEN)
    assert int(str(store.client.call("TTL", key))) > 0, "one that was never spent in ends, too"
    book.reserve("q", FOUR)
    store.client.call("EXPIRE", key, 60)
    with pytest.raises(BudgetReached):
        book.reserve("more", FOUR)
    assert int(str(store.client.call("TTL", key))) <= 60


def test_a_run_that_is_taken_up_with_a_larger_limit_is_not_full(store: Store) -> None:
    small = store.run_budget("run", Decimal("0.01"))
    with pytest.raises(BudgetReached):
        small.reserve("q", FOUR)
    assert small.is_full
    larger = store.run_budget("run", TEN)
    assert not larger.is_full
    larger.reserve("q", FOUR)
    assert store.run_budget("other", TEN).spent_usd == 0
    assert 0 < int(str(store.client.call("TTL", keys.run_budget("run").name))) <= 8 * 86400


def test_what_is_forgotten_meanwhile_is_reserved_in_neither(store: Store) -> None:
    both = RunCappedBudget(book := store.run_budget("run", TEN), store.budget(Caps(), SystemClock()), is_capped=True)
    with pytest.raises(LeaseLost):
        both.reserve("q", pull(), Decimal("0.01"))
    assert book.spent_usd == 0


def test_both_the_caps_and_the_book_must_have_room(store: Store) -> None:
    on_record(store, pull())
    live = store.budget(Caps(pull_usd=Decimal("0.05")), SystemClock())
    both = RunCappedBudget(book := store.run_budget("run", Decimal("0.06")), live, is_capped=True)
    first = both.reserve("q1", pull(), FOUR)
    with pytest.raises(BudgetReached) as reached:
        both.reserve("q2", pull(), Decimal("0.02"))
    assert reached.value.level.cap == "pull"
    assert book.spent_usd == FOUR, "what one refuses is reserved in neither"
    with pytest.raises(BudgetReached) as reached:
        both.reserve("q3", pull(2), FOUR)
    assert reached.value.level.cap_usd == Decimal("0.06")
    both.settle(first, Bill(Decimal("0.01"), "model", 10, 5))
    assert book.spent_usd == Decimal("0.01")
    assert both.density(pull(), "model").replies == 1
    both.reserve("q4", pull(), FOUR)


def test_without_the_caps_the_book_alone_bounds(store: Store) -> None:
    live = store.budget(Caps(pull_usd=Decimal(0), day_usd=Decimal(0)), SystemClock())
    alone = RunCappedBudget(book := store.run_budget("run", TEN), live, is_capped=False)
    held = alone.reserve("q", pull(), FOUR)
    assert alone.settle(held, Bill(Decimal("0.02"))) is None
    assert book.spent_usd == Decimal("0.02")
    assert store.client.call("EXISTS", keys.pull_request_cost(pull()).name) == 0
