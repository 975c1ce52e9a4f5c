"""Caps and shares of the budget, the budget of a run, and GitHub's rate limits, on a real Redis."""

import logging
import re
import subprocess
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from tests.worker.adapters.redis.outcome_samples import FixedClock
from tests.worker.adapters.redis.spender import CAPS, PULLS, REPOSITORIES
from tests.worker.adapters.redis.store_samples import pull_ref, register_pull_requests, require, settings_for, ttl_s
from tests.world.redis import RedisServer
from worker.adapters.redis import keys
from worker.adapters.redis.budget import RedisBudget, RunCappedBudget
from worker.adapters.redis.connection.client import find_server_time, items, text
from worker.adapters.redis.store import Store, open_store
from worker.domain.judge_request import PullRef
from worker.domain.model import InstallationId, hash_base
from worker.domain.ports import RateLimit
from worker.domain.verdict.budget import Bill, Cap, CapLevel, Caps, Density, Reservation, from_nano
from worker.errors import BudgetReached, LeaseLost
from worker.process import SystemClock

CENT = Decimal("0.01")
TODAY = datetime(2026, 11, 20, 20, 5, tzinfo=UTC)
NAMES = count(1)
COST, LEDGER = keys.pull_request_cost(pull_ref()), keys.ledger(pull_ref())


class Calendar(FixedClock):
    """A clock whose day a test sets."""

    def next_day(self) -> None:
        self.at += timedelta(days=1)


@pytest.fixture
def calendar() -> Calendar:
    return Calendar(TODAY)


@pytest.fixture(autouse=True)
def known_pull_requests(store: Store) -> None:
    refs = (pull_ref(number, repository=repository) for repository in (7, 8) for number in range(100))
    register_pull_requests(store, pull_ref(99, installation=101), *refs)


@pytest.fixture
def budget(store: Store, calendar: Calendar) -> RedisBudget:
    return store.budget(Caps(), calendar)


def read_usd(store: Store, key: keys.Key, name: str = "spent") -> Decimal:
    stored = store.client.call("HGET", key.name, name)
    return from_nano(int(text(stored))) if stored else Decimal(0)


def day_key(day: str = "2026-11-20") -> keys.Key:
    return keys.installation_budget(InstallationId(100), day)


def spend(budget: RedisBudget, payer: PullRef, cents: int, *bills: Decimal | None) -> list[CapLevel | None]:
    """Reserve once and settle each bill; the warning of each settlement."""
    reservation = budget.reserve(f"r{next(NAMES)}", payer, cents * CENT)
    return [budget.settle(reservation, Bill(bill)) for bill in bills]


def refuse(budget: RedisBudget, payer: PullRef, usd: Decimal) -> CapLevel:
    with pytest.raises(BudgetReached) as reached:
        budget.reserve("refused", payer, usd)
    assert reached.value.asked_usd == usd
    return reached.value.level


# Reservations


@pytest.mark.parametrize(
    ("cents", "bills", "spent"),
    [
        pytest.param(5, [], 5 * CENT, id="the worst case counts until it is settled"),
        pytest.param(5, [2 * CENT], 2 * CENT, id="the rest is returned"),
        pytest.param(6, [CENT, CENT, Decimal(0)], CENT, id="the first bill counts"),
        pytest.param(6, [None, CENT], 6 * CENT, id="an unknown bill counts in full"),
        pytest.param(1, [3 * CENT], 3 * CENT, id="more than was reserved"),
        pytest.param(1, [Decimal("0.0000000001")], Decimal("0.000000001"), id="fractions are rounded up"),
    ],
)
def test_reservation_counts_until_it_is_settled(
    store: Store, budget: RedisBudget, cents: int, bills: list[Decimal | None], spent: Decimal
) -> None:
    assert spend(budget, pull_ref(), cents, *bills) == [None] * len(bills)
    assert [read_usd(store, COST), read_usd(store, day_key()), read_usd(store, day_key(), "repo:7")] == [spent] * 3


def test_repeated_reservation_counts_once(store: Store, budget: RedisBudget) -> None:
    assert budget.reserve("a", pull_ref(), 6 * CENT) == budget.reserve("a", pull_ref(), 6 * CENT)
    assert read_usd(store, day_key()) == 6 * CENT


def test_unsettled_reservation_expires_as_spent(store: Store, budget: RedisBudget) -> None:
    reservation = budget.reserve("a", pull_ref(), 6 * CENT)
    key = keys.reservation(InstallationId(100), "a")
    assert ttl_s(store, key) == 3600
    store.client.call("DEL", key.name)
    budget.settle(reservation, Bill(Decimal(0)))
    assert read_usd(store, COST) == read_usd(store, day_key()) == 6 * CENT


def test_reservation_for_a_forgotten_pull_request_is_refused(store: Store, budget: RedisBudget) -> None:
    budget.reserve("a", pull_ref(), CENT)
    store.client.call("DEL", keys.pull(pull_ref()).name, COST.name)
    with pytest.raises(LeaseLost):
        budget.reserve("b", pull_ref(), CENT)
    assert not store.client.call("EXISTS", COST.name, keys.reservation(InstallationId(100), "b").name)
    assert read_usd(store, day_key()) == CENT
    store.client.call("HSET", LEDGER.name, "e", "x")
    assert budget.reserve("c", pull_ref(), CENT).usd == CENT, "a closed pull request with a ledger is judged again"


def test_settlement_refunds_nothing_to_a_forgotten_cost(store: Store, budget: RedisBudget) -> None:
    """A repository is forgotten while a model answers, so a refund could exceed what is left of its cost."""
    before = budget.reserve("before", pull_ref(), 5 * CENT)
    store.client.call("DEL", COST.name)
    budget.settle(before, Bill(CENT))
    assert (read_usd(store, COST), read_usd(store, day_key())) == (0, CENT)
    assert not store.client.call("EXISTS", COST.name)
    crossing = budget.reserve("crossing", pull_ref(), 5 * CENT)
    store.client.call("DEL", COST.name)
    after = budget.reserve("after", pull_ref(), 2 * CENT)
    budget.settle(crossing, Bill(CENT))
    assert read_usd(store, COST) == 2 * CENT
    budget.settle(after, Bill(CENT))
    assert (read_usd(store, COST), read_usd(store, day_key())) == (CENT, 3 * CENT)


def test_reservation_is_settled_on_the_day_it_was_made(store: Store, budget: RedisBudget, calendar: Calendar) -> None:
    reservation = budget.reserve("a", pull_ref(), 6 * CENT)
    calendar.next_day()
    budget.settle(reservation, Bill(CENT))
    assert (read_usd(store, day_key()), read_usd(store, day_key("2026-11-21"))) == (CENT, 0)
    assert (ttl_s(store, day_key()), ttl_s(store, COST)) == (8 * 86_400, -1)


@pytest.mark.parametrize(
    ("has_ledger", "ledger_ends", "is_closed"),
    [(True, True, False), (True, True, True), (True, False, False), (True, False, True), (False, False, True)],
)
def test_cost_expires_with_the_ledger_or_with_the_pull_request(
    store: Store, budget: RedisBudget, *, has_ledger: bool, ledger_ends: bool, is_closed: bool
) -> None:
    hour, state = int(find_server_time(store.client)) + 3_600_000, keys.pull(pull_ref()).name
    commands = [("HSET", COST.name, "since", "x"), ("EXPIRE", COST.name, 60), ("HSET", state, "ends", 2 * hour)]
    commands += [("HSET", LEDGER.name, "e", "x")] if has_ledger else []
    commands += [("PEXPIREAT", LEDGER.name, hour)] if ledger_ends else []
    commands += [("HSET", state, "over", 1)] if is_closed else []
    store.client.pipeline(commands)
    budget.reserve("a", pull_ref(), CENT)
    assert store.client.call("PEXPIRETIME", COST.name) == (hour if ledger_ends else -1 if has_ledger else 2 * hour)


# Caps and shares


def test_pull_request_cap_lasts_beyond_the_day(store: Store, budget: RedisBudget, calendar: Calendar) -> None:
    assert refuse(budget, pull_ref(), 11 * CENT).cap is Cap.PULL
    assert read_usd(store, day_key()) == 0, "a refusal counts nothing"
    budget.reserve("a", pull_ref(), 10 * CENT)
    calendar.next_day()
    assert refuse(budget, pull_ref(), Decimal("0.000000001")) == CapLevel(Cap.PULL, 10 * CENT, 10 * CENT)
    budget.reserve("b", pull_ref(2), 10 * CENT)


def test_day_cap_starts_over_each_day(store: Store, budget: RedisBudget, calendar: Calendar) -> None:
    for number in range(10):
        spend(budget, pull_ref(number), 10)
    assert refuse(budget, pull_ref(99), CENT) == CapLevel(Cap.DAY, 100 * CENT, 100 * CENT)
    spend(budget, pull_ref(99, installation=101), 1)
    calendar.next_day()
    spend(budget, pull_ref(99), 1)
    nothing = Caps(pull_usd=Decimal(0), day_usd=Decimal(0))
    assert refuse(store.budget(nothing, calendar), pull_ref(), CENT).cap is Cap.PULL, "the first cap that is checked"


@pytest.mark.parametrize("is_granted", [True, False])
def test_repository_keeps_to_its_share_beside_another(
    store: Store, budget: RedisBudget, calendar: Calendar, *, is_granted: bool
) -> None:
    other = pull_ref(50, repository=8)
    if is_granted:
        spend(budget, other, 1)
    else:
        refuse(store.budget(Caps(pull_usd=Decimal(0)), calendar), other, CENT)
    for reason in ("it asked today", "it asked yesterday"):
        for number in range(5):
            spend(budget, pull_ref(number + 10 * (reason == "it asked yesterday")), 10)
        assert refuse(budget, pull_ref(60), CENT) == CapLevel(Cap.SHARE, 50 * CENT, 50 * CENT), reason
        calendar.next_day()
    for number in range(20, 30):
        spend(budget, pull_ref(number), 10)


Step = tuple[str, int, int, int]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("reserve"), st.integers(0, 2), st.integers(0, 3), st.integers(1, 12)),
        st.tuples(st.just("settle"), st.integers(0, 30), st.integers(0, 12), st.just(0)),
        st.tuples(st.just("day"), st.just(0), st.just(0), st.just(0)),
    ),
    max_size=60,
)


@dataclass
class BudgetModel:
    """A model of the rules: sums over a list of all reservations."""

    caps: Caps
    day: int = 0
    asked: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    spent: list[dict[str, int]] = field(default_factory=list[dict[str, int]])

    def total(self, **fields: int) -> int:
        return sum(
            entry["cents"] for entry in self.spent if all(entry[name] == value for name, value in fields.items())
        )

    def answer(self, repository: int, number: int, cents: int) -> Cap | None:
        self.asked.append((self.day, repository))
        others = any(other != repository and self.day - day <= 1 for day, other in self.asked)
        pull_total = self.total(repository=repository, number=number)
        if (pull_total + cents) * CENT > self.caps.pull_usd:
            return Cap.PULL
        if (self.total(day=self.day) + cents) * CENT > self.caps.day_usd:
            return Cap.DAY
        mine = self.total(day=self.day, repository=repository) + cents
        return Cap.SHARE if others and mine * CENT > self.caps.share * self.caps.day_usd else None


@contextmanager
def open_empty_store(server: RedisServer) -> Generator[Store]:
    with open_store(settings_for(server.url)) as store:
        store.client.call("FLUSHALL")
        register_pull_requests(
            store, *(pull_ref(number, repository=repository) for repository in range(3) for number in range(4))
        )
        yield store


@hypothesis_settings(max_examples=hypothesis_settings().max_examples * 6 // 10, deadline=None)
@given(steps=STEPS)
def test_caps_and_shares_hold_for_any_order_of_requests(redis_server: RedisServer, steps: list[Step]) -> None:
    caps = Caps(pull_usd=10 * CENT, day_usd=30 * CENT, share=Decimal("0.4"))
    with open_empty_store(redis_server) as store:
        calendar, model = Calendar(TODAY), BudgetModel(caps)
        budget = store.budget(caps, calendar)
        granted: list[Reservation] = []
        for position, (what, first, second, cents) in enumerate(steps):
            if what == "day":
                calendar.next_day()
                model.day += 1
            elif what == "settle" and first < len(granted):
                paid = min(second, model.spent[first]["reserved"])
                budget.settle(granted[first], Bill(paid * CENT))
                if not model.spent[first]["settled"]:
                    model.spent[first] |= {"cents": paid, "settled": 1}
            elif what == "reserve":
                expected = model.answer(first, second, cents)
                payer = pull_ref(second, repository=first)
                if expected is not None:
                    assert refuse(budget, payer, cents * CENT).cap is expected
                else:
                    granted.append(budget.reserve(f"r{position}", payer, cents * CENT))
                    entry = {"day": model.day, "repository": first, "number": second}
                    model.spent.append({**entry, "cents": cents, "reserved": cents, "settled": 0})
            day = day_key(f"{calendar.now():%Y-%m-%d}")
            assert read_usd(store, day) == model.total(day=model.day) * CENT <= caps.day_usd


@pytest.mark.slow
def test_caps_hold_for_concurrent_spenders_that_are_killed(redis_server: RedisServer, store: Store) -> None:
    """Ten processes of a hundred threads; four of them die by SIGKILL between reserving and settling."""
    register_pull_requests(store, *(pull_ref(number, repository=number % REPOSITORIES) for number in range(PULLS)))
    spenders = [start_spender(redis_server.url, seed, 100, "dies" if seed < 4 else "lives") for seed in range(10)]
    assert [spender.stdout.readline() for spender in spenders if spender.stdout] == ["ready\n"] * 10
    day = keys.installation_budget(InstallationId(100), f"{SystemClock().now():%Y-%m-%d}")
    for spender in spenders:
        stdin = require(spender.stdin)
        stdin.write("go\n")
        stdin.flush()
    peak = Decimal(0)
    while any(spender.poll() is None for spender in spenders):
        peak = max(peak, read_usd(store, day))
    output = "".join(spender.communicate()[0] for spender in spenders)
    assert sum(spender.returncode == -9 for spender in spenders) >= 2
    assert peak <= CAPS.day_usd
    assert re.search(r"^refused (day|share)$", output, re.MULTILINE), "no cap was reached"
    assert_budget_adds_up(store, day)


def start_spender(url: str, seed: int, times: int, fate: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.worker.adapters.redis.spender", url, str(seed), str(times), fate]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def assert_budget_adds_up(store: Store, day: keys.Key) -> None:
    """Each reservation counts as settled, or in full if its spender died first, and no cap is broken."""
    pattern = keys.reservation(InstallationId(100), "*").name
    names = [text(name) for name in items(store.client.call("KEYS", pattern))]
    reservations = [items(store.client.call("HMGET", name, "amount", "settled")) for name in names]
    assert sum(settled is None for _, settled in reservations) >= 2, "spenders died"
    total = read_usd(store, day)
    assert total == from_nano(
        sum(int(text(amount if settled is None else settled)) for amount, settled in reservations)
    )
    by_pull = [
        read_usd(store, keys.pull_request_cost(pull_ref(number, repository=number % REPOSITORIES)))
        for number in range(PULLS)
    ]
    shares = [read_usd(store, day, f"repo:{repository}") for repository in range(REPOSITORIES)]
    assert sum(by_pull, Decimal(0)) == sum(shares, Decimal(0)) == total <= CAPS.day_usd
    assert all(usd <= CAPS.pull_usd for usd in by_pull)
    assert all(usd <= CAPS.share * CAPS.day_usd for usd in shares)


# Warnings and token density


def test_nearly_reached_cap_is_logged_once_and_always_returned(
    budget: RedisBudget, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    levels = [
        spend(budget, pull_ref(), cents, usd) for cents, usd in ((8, Decimal("0.0799")), (1, CENT / 100), (1, CENT))
    ]
    assert levels == [[None], [CapLevel(Cap.PULL, 8 * CENT, 10 * CENT)], [CapLevel(Cap.PULL, 9 * CENT, 10 * CENT)]]
    last = [spend(budget, pull_ref(number), 10, 9 * CENT) for number in range(2, 10)][-1]
    assert last == [CapLevel(Cap.PULL, 9 * CENT, 10 * CENT)], "the fuller cap"
    assert spend(budget, pull_ref(20), 1, CENT) == [CapLevel(Cap.DAY, 82 * CENT, 100 * CENT)]
    day_messages = [message for message in caplog.messages if "day's" in message]
    assert day_messages == ["the day's budget is almost used up: 0.81 of 1.00 dollars"]
    of_first = [record for record in caplog.records if record.__dict__["pull"]["number"] == 1]
    assert [record.getMessage().startswith("the pull request's budget") for record in of_first] == [True]


@pytest.mark.parametrize("asked_on", ["today", "yesterday"])
def test_nearly_reached_share_is_logged_when_another_repository_asked(
    budget: RedisBudget, calendar: Calendar, caplog: pytest.LogCaptureFixture, asked_on: str
) -> None:
    caplog.set_level(logging.WARNING)
    other = pull_ref(1, repository=8)
    if asked_on == "yesterday":
        spend(budget, other, 1)
        calendar.next_day()
    assert [spend(budget, pull_ref(number), 9, 7 * CENT) for number in range(1, 5)] == [[None]] * 4
    if asked_on == "today":
        spend(budget, other, 1)
    levels = [spend(budget, pull_ref(number), 9, 7 * CENT) for number in (6, 7)]
    assert levels == [[None], [CapLevel(Cap.SHARE, 42 * CENT, 50 * CENT)]]
    spend(budget, pull_ref(8), 1, CENT)
    assert caplog.messages == ["the repository's share of the day is almost used up: 0.42 of 0.500 dollars"]


def test_zero_cap_always_warns(store: Store, calendar: Calendar) -> None:
    nothing = store.budget(Caps(pull_usd=Decimal(0), day_usd=Decimal(0)), calendar)
    assert require(nothing.settle(Reservation("never", pull_ref(), "2026-11-20", CENT), Bill(CENT))).cap_usd == 0


def test_token_density_is_the_weekly_maximum_by_model_and_installation(budget: RedisBudget, calendar: Calendar) -> None:
    spend(budget, pull_ref(), 1, None)
    assert budget.density(pull_ref(), "small") == Density(), "without a reply"
    for name, tokens in (("a", 300), ("b", 401), ("c", 350)):
        budget.settle(budget.reserve(name, pull_ref(), CENT), Bill(Decimal(0), "small", 1_000, tokens))
    assert budget.density(pull_ref(2), "small") == Density(3, Decimal("0.401"))
    assert budget.density(pull_ref(), "large") == budget.density(pull_ref(installation=5), "small") == Density()
    calendar.next_day()
    budget.settle(budget.reserve("d", pull_ref(), CENT), Bill(Decimal(0), "small", 3_000, 1_000))
    days = {1: Density(4, Decimal("0.401")), 7: Density(1, Decimal("0.333334")), 8: Density()}
    for day in range(1, 9):
        if day in days:
            assert budget.density(pull_ref(), "small") == days[day], day
        calendar.next_day()


def submit_as(store: Store, payer: PullRef, author: str) -> PullRef:
    """Begin a submission of this author, and return its pull request."""
    assert store.outcomes.begin_submission(payer, author, hash_base("main"), ())
    return payer


def test_author_leaves_half_of_the_share_to_others(store: Store, calendar: Calendar) -> None:
    budget = store.budget(Caps(pull_usd=Decimal(1), share=Decimal(1)), calendar)
    spend(budget, pull_ref(9), 1)
    fields = items(store.client.call("HKEYS", day_key().name))
    assert not any(text(field).startswith("author") for field in fields), "the author is unknown"
    authors = ("mallory", "Mallory", "bob")
    first, second, theirs = (submit_as(store, pull_ref(number), name) for number, name in enumerate(authors, 1))
    alone = budget.reserve("alone", first, 59 * CENT)
    spend(budget, theirs, 10)
    assert refuse(budget, second, CENT) == CapLevel(Cap.AUTHOR, 59 * CENT, 50 * CENT)
    spend(budget, theirs, 30)
    budget.settle(alone, Bill(20 * CENT))
    spend(budget, second, 10)
    calendar.next_day()
    assert refuse(budget, first, 51 * CENT).cap is Cap.AUTHOR, "bob asked yesterday"
    spend(budget, second, 50)


# The budget of a run


@pytest.mark.parametrize("bill", [CENT, None])
def test_run_budget_counts_each_question_once(store: Store, bill: Decimal | None) -> None:
    run_budget = store.run_budget("run", 10 * CENT)
    for _ in range(3):
        run_budget.reserve("q", 4 * CENT)
    for _ in range(2):
        run_budget.settle("q", bill)
    assert run_budget.spent_usd == (4 * CENT if bill is None else bill)
    assert not run_budget.is_full


def test_run_budget_keeps_its_limit_under_concurrent_reservations(store: Store) -> None:
    run_budget = store.run_budget("run", 10 * CENT)

    def reserve(number: int) -> bool:
        try:
            run_budget.reserve(f"q{number}", 4 * CENT)
        except BudgetReached:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(reserve, range(20))) == 2
    assert (run_budget.spent_usd, run_budget.is_full) == (8 * CENT, True)


def test_refusal_does_not_prolong_the_run_budget(store: Store) -> None:
    run_budget, key = store.run_budget("run", 5 * CENT), keys.run_budget("run")
    for _ in range(2):
        with pytest.raises(BudgetReached):
            run_budget.reserve("more", 10 * CENT)
    assert ttl_s(store, key) > 0, "an unused run budget ends, too"
    run_budget.reserve("q", 4 * CENT)
    store.client.call("EXPIRE", key.name, 60)
    with pytest.raises(BudgetReached):
        run_budget.reserve("more", 4 * CENT)
    assert ttl_s(store, key) <= 60


def test_resumed_run_with_a_larger_limit_is_not_full(store: Store) -> None:
    small, larger = store.run_budget("run", CENT), store.run_budget("run", 10 * CENT)
    with pytest.raises(BudgetReached):
        small.reserve("q", 4 * CENT)
    assert (small.is_full, larger.is_full) == (True, False)
    larger.reserve("q", 4 * CENT)
    assert store.run_budget("other", 10 * CENT).spent_usd == 0
    assert 0 < ttl_s(store, keys.run_budget("run")) <= 8 * 86400


def test_capped_run_needs_room_in_the_caps_and_the_run_budget(store: Store) -> None:
    live = store.budget(Caps(pull_usd=5 * CENT), SystemClock())
    budget = RunCappedBudget(run_budget := store.run_budget("run", 6 * CENT), live, is_capped=True)
    with pytest.raises(LeaseLost):
        budget.reserve("forgotten", pull_ref(repository=99), CENT)
    first = budget.reserve("q1", pull_ref(), 4 * CENT)
    for name, payer, cents, level in (
        ("q2", pull_ref(), 2, CapLevel(Cap.PULL, 4 * CENT, 5 * CENT)),
        ("q3", pull_ref(2), 4, CapLevel(Cap.DAY, 4 * CENT, 6 * CENT)),
    ):
        with pytest.raises(BudgetReached) as reached:
            budget.reserve(name, payer, cents * CENT)
        assert reached.value.level == level
        assert run_budget.spent_usd == 4 * CENT, "a refusal by either reserves in neither"
    budget.settle(first, Bill(CENT, "model", 10, 5))
    assert (run_budget.spent_usd, budget.density(pull_ref(), "model").replies) == (CENT, 1)
    budget.reserve("q4", pull_ref(), 4 * CENT)


def test_uncapped_run_is_limited_by_the_run_budget_alone(store: Store) -> None:
    live = store.budget(Caps(pull_usd=Decimal(0), day_usd=Decimal(0)), SystemClock())
    budget = RunCappedBudget(run_budget := store.run_budget("run", 10 * CENT), live, is_capped=False)
    assert budget.settle(budget.reserve("q", pull_ref(), 4 * CENT), Bill(2 * CENT)) is None
    assert run_budget.spent_usd == 2 * CENT
    assert store.client.call("EXISTS", COST.name) == 0


def test_rate_limit_keeps_the_lowest_remainder_of_the_latest_hour(store: Store) -> None:
    installation, later = InstallationId(100), TODAY + timedelta(hours=1)
    for name, left, reset, stored in (
        ("core", 40, TODAY, {"core": RateLimit(40, TODAY)}),
        ("core", 41, TODAY, {"core": RateLimit(40, TODAY)}),
        ("core", 39, TODAY, {"core": RateLimit(39, TODAY)}),
        ("graphql", 7, TODAY, {"core": RateLimit(39, TODAY), "graphql": RateLimit(7, TODAY)}),
        ("core", 1400, later, {"core": RateLimit(1400, later), "graphql": RateLimit(7, TODAY)}),
        ("core", 2, TODAY, {"core": RateLimit(1400, later), "graphql": RateLimit(7, TODAY)}),
    ):
        store.rates.put(installation, name, RateLimit(left, reset))
        assert store.rates.find_limits(installation) == stored
    assert store.rates.find_limits(InstallationId(200)) == {}
