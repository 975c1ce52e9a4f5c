"""Caps hold, however many spend at once and whoever dies; against a real server."""

import logging
import subprocess
import sys
from collections import Counter
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

from tests.worker.adapters.redis.spender import CAPS, PULLS, REPOSITORIES
from tests.worker.adapters.redis.store_samples import pull_ref, register_pull_requests, settings_for, ttl_s
from tests.world.redis import RedisServer
from worker.adapters.redis import keys
from worker.adapters.redis.budget import RedisBudget, RunCappedBudget
from worker.adapters.redis.connection.client import find_server_time, items, text
from worker.adapters.redis.store import Store, open_store
from worker.clock import SystemClock
from worker.domain.ids import InstallationId, hash_base
from worker.domain.judge_request import PullRef
from worker.domain.ports import RateLimit
from worker.domain.verdict.budget import Bill, Cap, CapLevel, Caps, Reservation, from_nano
from worker.domain.verdict.token_budget import Density
from worker.errors import BudgetReached, LeaseLost

CENT = Decimal("0.01")
TODAY = datetime(2026, 11, 20, 20, 5, tzinfo=UTC)
NAMES = count(1)
COST, LEDGER = keys.pull_request_cost(pull_ref()), keys.ledger(pull_ref())


@dataclass
class Calendar:
    """A Clock that a test turns."""

    at: datetime = TODAY

    def now(self) -> datetime:
        return self.at

    def monotonic_ms(self) -> int:
        return 0

    def next_day(self) -> None:
        self.at += timedelta(days=1)


@pytest.fixture
def calendar() -> Calendar:
    return Calendar()


@pytest.fixture(autouse=True)
def known(store: Store) -> None:
    """All pull requests that the tests below name."""
    repositories = [(100, repository) for repository in range(9)] + [(101, 7)]
    register_pull_requests(store, *(pull_ref(number, *where) for where in repositories for number in range(100)))


@pytest.fixture
def purse(store: Store, calendar: Calendar) -> RedisBudget:
    return store.budget(Caps(), calendar)


def used(store: Store, key: keys.Key, name: str = "spent") -> Decimal:
    stored = store.client.call("HGET", key.name, name)
    return from_nano(int(text(stored))) if stored else Decimal(0)


def of_day(day: str = "2026-11-20") -> keys.Key:
    return keys.installation_budget(InstallationId(100), day)


def pays(purse: RedisBudget, payer: PullRef, cents: int, *bills: Decimal | None) -> list[CapLevel | None]:
    """What each settlement of one reservation warns of."""
    reservation = purse.reserve(f"r{next(NAMES)}", payer, cents * CENT)
    return [purse.settle(reservation, Bill(bill)) for bill in bills]


def refused(purse: RedisBudget, payer: PullRef, usd: Decimal) -> CapLevel:
    with pytest.raises(BudgetReached) as reached:
        purse.reserve("refused", payer, usd)
    assert reached.value.asked_usd == usd
    return reached.value.level


# Reserved, and settled


@pytest.mark.parametrize(
    ("cents", "bills", "spent"),
    [
        pytest.param(5, [], 5 * CENT, id="the worst case counts at once"),
        pytest.param(5, [2 * CENT], 2 * CENT, id="the rest comes back"),
        pytest.param(6, [CENT, CENT, Decimal(0)], CENT, id="once"),
        pytest.param(6, [None, CENT], 6 * CENT, id="a bill that nobody knows"),
        pytest.param(1, [3 * CENT], 3 * CENT, id="more than was reserved"),
        pytest.param(1, [Decimal("0.0000000001")], Decimal("0.000000001"), id="fractions are counted up"),
    ],
)
def test_what_is_reserved_counts_until_it_is_settled(
    store: Store, purse: RedisBudget, cents: int, bills: list[Decimal | None], spent: Decimal
) -> None:
    assert pays(purse, pull_ref(), cents, *bills) == [None] * len(bills)
    assert [used(store, COST), used(store, of_day()), used(store, of_day(), "repo:7")] == [spent] * 3


def test_the_same_reservation_again_changes_nothing(store: Store, purse: RedisBudget) -> None:
    assert purse.reserve("a", pull_ref(), 6 * CENT) == purse.reserve("a", pull_ref(), 6 * CENT)
    assert used(store, of_day()) == 6 * CENT


def test_a_reservation_that_nobody_settles_expires_to_spent(store: Store, purse: RedisBudget) -> None:
    reservation = purse.reserve("a", pull_ref(), 6 * CENT)
    kept = keys.reservation(InstallationId(100), "a")
    assert ttl_s(store, kept) == 3600
    store.client.call("DEL", kept.name)
    purse.settle(reservation, Bill(Decimal(0)))
    assert used(store, COST) == used(store, of_day()) == 6 * CENT


def test_a_judge_whose_pull_request_is_forgotten_opens_no_books_anew_and_asks_nobody(
    store: Store, purse: RedisBudget
) -> None:
    purse.reserve("a", pull_ref(), CENT)
    store.client.call("DEL", keys.pull(pull_ref()).name, COST.name)
    with pytest.raises(LeaseLost):
        purse.reserve("b", pull_ref(), CENT)
    assert not store.client.call("EXISTS", COST.name, keys.reservation(InstallationId(100), "b").name)
    assert used(store, of_day()) == CENT
    store.client.call("HSET", LEDGER.name, "e", "x")
    assert purse.reserve("c", pull_ref(), CENT).usd == CENT, "a closed one, that is judged anew by what is on record"


def test_books_that_were_forgotten_meanwhile_get_nothing_back(store: Store, purse: RedisBudget) -> None:
    """A repository is forgotten while a model is asked: what comes back would be more than is left in its books."""
    before = purse.reserve("before", pull_ref(), 5 * CENT)
    store.client.call("DEL", COST.name)
    purse.settle(before, Bill(CENT))
    assert (used(store, COST), used(store, of_day())) == (0, CENT)
    assert not store.client.call("EXISTS", COST.name)
    crossing = purse.reserve("crossing", pull_ref(), 5 * CENT)
    store.client.call("DEL", COST.name)
    after = purse.reserve("after", pull_ref(), 2 * CENT)
    purse.settle(crossing, Bill(CENT))
    assert used(store, COST) == 2 * CENT
    purse.settle(after, Bill(CENT))
    assert (used(store, COST), used(store, of_day())) == (CENT, 3 * CENT)


def test_a_reservation_of_yesterday_is_settled_in_yesterdays_books(
    store: Store, purse: RedisBudget, calendar: Calendar
) -> None:
    reservation = purse.reserve("a", pull_ref(), 6 * CENT)
    calendar.next_day()
    purse.settle(reservation, Bill(CENT))
    assert (used(store, of_day()), used(store, of_day("2026-11-21"))) == (CENT, 0)
    assert (ttl_s(store, of_day()), ttl_s(store, COST)) == (8 * 86_400, -1)


@pytest.mark.parametrize(
    ("has_ledger", "ledger_ends", "is_closed"),
    [(True, True, False), (True, True, True), (True, False, False), (True, False, True), (False, False, True)],
)
def test_the_books_of_a_pull_request_end_with_its_ledger_or_with_itself(
    store: Store, purse: RedisBudget, *, has_ledger: bool, ledger_ends: bool, is_closed: bool
) -> None:
    hour, state = int(find_server_time(store.client)) + 3_600_000, keys.pull(pull_ref()).name
    commands = [("HSET", COST.name, "since", "x"), ("EXPIRE", COST.name, 60), ("HSET", state, "ends", 2 * hour)]
    commands += [("HSET", LEDGER.name, "e", "x")] if has_ledger else []
    commands += [("PEXPIREAT", LEDGER.name, hour)] if ledger_ends else []
    commands += [("HSET", state, "over", 1)] if is_closed else []
    store.client.pipeline(commands)
    purse.reserve("a", pull_ref(), CENT)
    assert store.client.call("PEXPIRETIME", COST.name) == (hour if ledger_ends else -1 if has_ledger else 2 * hour)


# Caps, and a fair share


def test_a_pull_request_has_its_cap_for_life(store: Store, purse: RedisBudget, calendar: Calendar) -> None:
    assert refused(purse, pull_ref(), 11 * CENT).cap is Cap.PULL
    assert used(store, of_day()) == 0, "what was refused is not counted"
    purse.reserve("a", pull_ref(), 10 * CENT)
    calendar.next_day()
    assert refused(purse, pull_ref(), Decimal("0.000000001")) == CapLevel(Cap.PULL, 10 * CENT, 10 * CENT)
    purse.reserve("b", pull_ref(2), 10 * CENT)


def test_a_day_has_its_cap_and_the_next_day_a_new_one(store: Store, purse: RedisBudget, calendar: Calendar) -> None:
    for number in range(10):
        pays(purse, pull_ref(number), 10)
    assert refused(purse, pull_ref(99), CENT) == CapLevel(Cap.DAY, 100 * CENT, 100 * CENT)
    pays(purse, pull_ref(99, installation=101), 1)
    calendar.next_day()
    pays(purse, pull_ref(99), 1)
    nothing = Caps(pull_usd=Decimal(0), day_usd=Decimal(0))
    assert refused(store.budget(nothing, calendar), pull_ref(), CENT).cap is Cap.PULL, "it is named first"


@pytest.mark.parametrize("is_granted", [True, False])
def test_beside_another_that_asked_a_repository_has_its_share(
    store: Store, purse: RedisBudget, calendar: Calendar, *, is_granted: bool
) -> None:
    other = pull_ref(50, repository=8)
    if is_granted:
        pays(purse, other, 1)
    else:
        refused(store.budget(Caps(pull_usd=Decimal(0)), calendar), other, CENT)
    for reason in ("it asked today", "it asked yesterday"):
        for number in range(5):
            pays(purse, pull_ref(number + 10 * (reason == "it asked yesterday")), 10)
        assert refused(purse, pull_ref(60), CENT) == CapLevel(Cap.SHARE, 50 * CENT, 50 * CENT), reason
        calendar.next_day()
    for number in range(20, 30):
        pays(purse, pull_ref(number), 10)


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
class Books:
    """The rules once more, in the simplest words: sums over a list of everything that ever happened."""

    caps: Caps
    day: int = 0
    asked: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    spent: list[dict[str, int]] = field(default_factory=list[dict[str, int]])

    def total(self, **of: int) -> int:
        return sum(one["cents"] for one in self.spent if all(one[name] == value for name, value in of.items()))

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
def emptied(server: RedisServer) -> Generator[Store]:
    with open_store(settings_for(server.url)) as store:
        store.client.call("FLUSHALL")
        register_pull_requests(
            store, *(pull_ref(number, repository=repository) for repository in range(3) for number in range(4))
        )
        yield store


@hypothesis_settings(max_examples=hypothesis_settings().max_examples * 6 // 10, deadline=None)
@given(steps=STEPS)
def test_whatever_is_asked_and_paid_in_any_order_the_caps_and_shares_hold(
    redis_server: RedisServer, steps: list[Step]
) -> None:
    caps = Caps(pull_usd=10 * CENT, day_usd=30 * CENT, share=Decimal("0.4"))
    with emptied(redis_server) as store:
        calendar, books = Calendar(), Books(caps)
        purse = store.budget(caps, calendar)
        granted: list[Reservation] = []
        for position, (what, first, second, cents) in enumerate(steps):
            if what == "day":
                calendar.next_day()
                books.day += 1
            elif what == "settle" and first < len(granted):
                paid = min(second, books.spent[first]["reserved"])
                purse.settle(granted[first], Bill(paid * CENT))
                if not books.spent[first]["settled"]:
                    books.spent[first] |= {"cents": paid, "settled": 1}
            elif what == "reserve":
                expected = books.answer(first, second, cents)
                payer = pull_ref(second, repository=first)
                if expected is not None:
                    assert refused(purse, payer, cents * CENT).cap is expected
                else:
                    granted.append(purse.reserve(f"r{position}", payer, cents * CENT))
                    books.spent.append(
                        {
                            "day": books.day, "repository": first, "number": second,
                            "cents": cents, "reserved": cents, "settled": 0,
                        }
                    )  # fmt: skip
            day = of_day(f"{calendar.at:%Y-%m-%d}")
            assert used(store, day) == books.total(day=books.day) * CENT <= caps.day_usd


# A crowd


@pytest.mark.slow
def test_a_thousand_reservations_at_once_never_break_a_cap_though_some_spenders_are_killed(
    redis_server: RedisServer, store: Store
) -> None:
    """Ten processes of a hundred threads; four of them die by SIGKILL between reserving and settling."""
    crowd = [start_spender(redis_server.url, seed, 100, "dies" if seed < 4 else "lives") for seed in range(10)]
    assert [one.stdout.readline() for one in crowd if one.stdout] == ["ready\n"] * 10
    day = keys.installation_budget(InstallationId(100), f"{SystemClock().now():%Y-%m-%d}")
    for one in crowd:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    watched = Decimal(0)
    while any(one.poll() is None for one in crowd):
        watched = max(watched, used(store, day))
    told = Counter(" ".join(line.split()[:2]) for one in crowd for line in one.communicate()[0].splitlines())
    assert sum(one.returncode == -9 for one in crowd) >= 2
    assert watched <= CAPS.day_usd
    assert told["refused day"] + told["refused share"] > 0, "or nothing was at stake"
    assert_books_are_right(store, day)


def start_spender(url: str, seed: int, times: int, fate: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.worker.adapters.redis.spender", url, str(seed), str(times), fate]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def assert_books_are_right(store: Store, day: keys.Key) -> None:
    """Every reservation counts as settled, or whole where its spender died first; and no cap is broken."""
    pattern = keys.reservation(InstallationId(100), "*").name
    names = [text(one) for one in items(store.client.call("KEYS", pattern))]
    kept = [items(store.client.call("HMGET", name, "amount", "settled")) for name in names]
    assert sum(settled is None for _, settled in kept) >= 2, "those who died"
    total = used(store, day)
    assert total == from_nano(sum(int(text(amount if settled is None else settled)) for amount, settled in kept))
    by_pull = [
        used(store, keys.pull_request_cost(pull_ref(number, repository=number % REPOSITORIES)))
        for number in range(PULLS)
    ]
    shares = [used(store, day, f"repo:{repository}") for repository in range(REPOSITORIES)]
    assert sum(by_pull, Decimal(0)) == sum(shares, Decimal(0)) == total <= CAPS.day_usd
    assert all(one <= CAPS.pull_usd for one in by_pull)
    assert all(one <= CAPS.share * CAPS.day_usd for one in shares)


# Warnings, and what replies teach


def test_a_cap_that_is_almost_reached_is_said_once_in_the_log_and_on_every_verdict(
    purse: RedisBudget, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    levels = [
        pays(purse, pull_ref(), cents, usd) for cents, usd in ((8, Decimal("0.0799")), (1, CENT / 100), (1, CENT))
    ]
    assert levels == [[None], [CapLevel(Cap.PULL, 8 * CENT, 10 * CENT)], [CapLevel(Cap.PULL, 9 * CENT, 10 * CENT)]]
    last = [pays(purse, pull_ref(number), 10, 9 * CENT) for number in range(2, 10)][-1]
    assert last == [CapLevel(Cap.PULL, 9 * CENT, 10 * CENT)], "the fuller one"
    assert pays(purse, pull_ref(20), 1, CENT) == [CapLevel(Cap.DAY, 82 * CENT, 100 * CENT)]
    messages = [record.getMessage() for record in caplog.records]
    assert [message for message in messages if "day's" in message] == [
        "the day's budget is almost used up: 0.81 of 1.00 dollars"
    ]
    of_first = [record for record in caplog.records if record.__dict__["pull"]["number"] == 1]
    assert [record.getMessage().startswith("the pull request's budget") for record in of_first] == [True]


@pytest.mark.parametrize("asked", ["today", "yesterday"])
def test_a_share_that_is_almost_reached_is_said_where_the_day_is_shared(
    purse: RedisBudget, calendar: Calendar, caplog: pytest.LogCaptureFixture, asked: str
) -> None:
    caplog.set_level(logging.WARNING)
    other = pull_ref(1, repository=8)
    if asked == "yesterday":
        pays(purse, other, 1)
        calendar.next_day()
    assert [pays(purse, pull_ref(number), 9, 7 * CENT) for number in range(1, 5)] == [[None]] * 4
    if asked == "today":
        pays(purse, other, 1)
    levels = [pays(purse, pull_ref(number), 9, 7 * CENT) for number in (6, 7)]
    assert levels == [[None], [CapLevel(Cap.SHARE, 42 * CENT, 50 * CENT)]]
    pays(purse, pull_ref(8), 1, CENT)
    assert [record.getMessage() for record in caplog.records] == [
        "the repository's share of the day is almost used up: 0.42 of 0.500 dollars"
    ]


def test_a_cap_of_nothing_is_always_near(store: Store, calendar: Calendar) -> None:
    nothing = store.budget(Caps(pull_usd=Decimal(0), day_usd=Decimal(0)), calendar)
    level = nothing.settle(Reservation("never", pull_ref(), "2026-11-20", CENT), Bill(CENT))
    assert level is not None
    assert level.cap_usd == 0


def test_the_densest_reply_of_seven_days_is_remembered_by_model_and_installation(
    purse: RedisBudget, calendar: Calendar
) -> None:
    pays(purse, pull_ref(), 1, None)
    assert purse.density(pull_ref(), "small") == Density(), "no reply teaches nothing"
    for name, tokens in (("a", 300), ("b", 401), ("c", 350)):
        purse.settle(purse.reserve(name, pull_ref(), CENT), Bill(Decimal(0), "small", 1_000, tokens))
    assert purse.density(pull_ref(2), "small") == Density(3, Decimal("0.401"))
    assert purse.density(pull_ref(), "large") == purse.density(pull_ref(installation=5), "small") == Density()
    calendar.next_day()
    purse.settle(purse.reserve("d", pull_ref(), CENT), Bill(Decimal(0), "small", 3_000, 1_000))
    days = {1: Density(4, Decimal("0.401")), 7: Density(1, Decimal("0.333334")), 8: Density()}
    for day in range(1, 9):
        if day in days:
            assert purse.density(pull_ref(), "small") == days[day], day
        calendar.next_day()


def by(store: Store, payer: PullRef, author: str) -> PullRef:
    """The same pull request once a judging of it began, which says whose it is."""
    assert store.outcomes.begin_submission(payer, author, hash_base("main"), ())
    return payer


def test_an_author_leaves_room_for_others_who_ask(store: Store, calendar: Calendar) -> None:
    purse = store.budget(Caps(pull_usd=Decimal(1), share=Decimal(1)), calendar)
    pays(purse, pull_ref(9), 1)
    fields = items(store.client.call("HKEYS", of_day().name))
    assert not any(text(field).startswith("author") for field in fields), "of no known author"
    first, second, theirs = (
        by(store, pull_ref(1), "mallory"),
        by(store, pull_ref(2), "Mallory"),
        by(store, pull_ref(3), "bob"),
    )
    alone = purse.reserve("alone", first, 59 * CENT)
    pays(purse, theirs, 10)
    assert refused(purse, second, CENT) == CapLevel(Cap.AUTHOR, 59 * CENT, 50 * CENT)
    pays(purse, theirs, 30)
    purse.settle(alone, Bill(20 * CENT))
    pays(purse, second, 10)
    calendar.next_day()
    assert refused(purse, first, 51 * CENT).cap is Cap.AUTHOR, "bob asked yesterday"
    pays(purse, second, 50)


# The budget of one run, beside the caps


@pytest.mark.parametrize("bill", [CENT, None])
def test_the_same_question_is_reserved_once_and_settled_once(store: Store, bill: Decimal | None) -> None:
    book = store.run_budget("run", 10 * CENT)
    for _ in range(3):
        book.reserve("q", 4 * CENT)
    for _ in range(2):
        book.settle("q", bill)
    assert book.spent_usd == (4 * CENT if bill is None else bill)
    assert not book.is_full


def test_what_is_reserved_and_spent_never_exceeds_the_limit_however_many_reserve(store: Store) -> None:
    book = store.run_budget("run", 10 * CENT)

    def reserve(number: int) -> bool:
        try:
            book.reserve(f"q{number}", 4 * CENT)
        except BudgetReached:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(reserve, range(20))) == 2
    assert (book.spent_usd, book.is_full) == (8 * CENT, True)


def test_a_refusal_keeps_no_book_alive(store: Store) -> None:
    book, key = store.run_budget("run", 5 * CENT), keys.run_budget("run")
    for _ in range(2):
        with pytest.raises(BudgetReached):
            book.reserve("more", 10 * CENT)
    assert ttl_s(store, key) > 0, "one that was never spent in ends, too"
    book.reserve("q", 4 * CENT)
    store.client.call("EXPIRE", key.name, 60)
    with pytest.raises(BudgetReached):
        book.reserve("more", 4 * CENT)
    assert ttl_s(store, key) <= 60


def test_a_run_that_is_taken_up_with_a_larger_limit_is_not_full(store: Store) -> None:
    small, larger = store.run_budget("run", CENT), store.run_budget("run", 10 * CENT)
    with pytest.raises(BudgetReached):
        small.reserve("q", 4 * CENT)
    assert (small.is_full, larger.is_full) == (True, False)
    larger.reserve("q", 4 * CENT)
    assert store.run_budget("other", 10 * CENT).spent_usd == 0
    assert 0 < ttl_s(store, keys.run_budget("run")) <= 8 * 86400


def test_both_the_caps_and_the_book_must_have_room(store: Store) -> None:
    live = store.budget(Caps(pull_usd=5 * CENT), SystemClock())
    both = RunCappedBudget(book := store.run_budget("run", 6 * CENT), live, is_capped=True)
    with pytest.raises(LeaseLost):
        both.reserve("forgotten", pull_ref(repository=99), CENT)
    first = both.reserve("q1", pull_ref(), 4 * CENT)
    for name, payer, cents, level in (
        ("q2", pull_ref(), 2, CapLevel(Cap.PULL, 4 * CENT, 5 * CENT)),
        ("q3", pull_ref(2), 4, CapLevel(Cap.DAY, 4 * CENT, 6 * CENT)),
    ):
        with pytest.raises(BudgetReached) as reached:
            both.reserve(name, payer, cents * CENT)
        assert reached.value.level == level
        assert book.spent_usd == 4 * CENT, "what one refuses is reserved in neither"
    both.settle(first, Bill(CENT, "model", 10, 5))
    assert (book.spent_usd, both.density(pull_ref(), "model").replies) == (CENT, 1)
    both.reserve("q4", pull_ref(), 4 * CENT)


def test_without_the_caps_the_book_alone_bounds(store: Store) -> None:
    live = store.budget(Caps(pull_usd=Decimal(0), day_usd=Decimal(0)), SystemClock())
    alone = RunCappedBudget(book := store.run_budget("run", 10 * CENT), live, is_capped=False)
    assert alone.settle(alone.reserve("q", pull_ref(), 4 * CENT), Bill(2 * CENT)) is None
    assert book.spent_usd == 2 * CENT
    assert store.client.call("EXISTS", COST.name) == 0


# Rate limits of GitHub, shared by all processes


def test_of_two_answers_about_one_hour_the_one_that_leaves_less_is_the_later_and_the_next_hour_is_new(
    store: Store,
) -> None:
    here, other, later = InstallationId(100), InstallationId(200), TODAY + timedelta(hours=1)
    for name, left, reset, stored in (
        ("core", 40, TODAY, {"core": RateLimit(40, TODAY)}),
        ("core", 41, TODAY, {"core": RateLimit(40, TODAY)}),
        ("core", 39, TODAY, {"core": RateLimit(39, TODAY)}),
        ("graphql", 7, TODAY, {"core": RateLimit(39, TODAY), "graphql": RateLimit(7, TODAY)}),
        ("core", 1400, later, {"core": RateLimit(1400, later), "graphql": RateLimit(7, TODAY)}),
        ("core", 2, TODAY, {"core": RateLimit(1400, later), "graphql": RateLimit(7, TODAY)}),
    ):
        store.rates.put(here, name, RateLimit(left, reset))
        assert store.rates.find_limits(here) == stored
    assert store.rates.find_limits(other) == {}
