"""Caps hold, however many spend at once and whoever dies; against a real server."""

import logging
import subprocess
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from tests.worker.adapters.redis.played import on_record, pull, settings
from tests.worker.adapters.redis.spender import CAPS, PULLS, REPOSITORIES
from tests.world.redis import Redis
from worker.adapters.redis import keys
from worker.adapters.redis.budget import RedisBudget
from worker.adapters.redis.connection.client import items, text, whole
from worker.adapters.redis.store import Store, open_store
from worker.clock import SystemClock
from worker.domain.ids import InstallationId, hash_base
from worker.domain.judge_request import PullRef
from worker.domain.verdict.budget import Bill, Cap, CapLevel, Caps, Density, Reservation, from_nano
from worker.errors import BudgetReached, LeaseLost

CENT = Decimal("0.01")
TODAY = datetime(2026, 11, 20, 20, 5, tzinfo=UTC)


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
    repositories = [(100, one) for one in range(9)] + [(101, 7)]
    on_record(store, *(pull(number, *where) for where in repositories for number in range(100)))


@pytest.fixture
def purse(store: Store, calendar: Calendar) -> RedisBudget:
    return store.budget(Caps(), calendar)


def used(store: Store, key: keys.Key, name: str = "spent") -> Decimal:
    found = store.client.call("HGET", key.name, name)
    return from_nano(int(text(found))) if found else Decimal(0)


def of_day(day: str = "2026-11-20") -> keys.Key:
    return keys.installation_budget(InstallationId(100), day)


def refused(purse: RedisBudget, payer: PullRef, usd: Decimal) -> CapLevel:
    with pytest.raises(BudgetReached) as reached:
        purse.reserve("refused", payer, usd)
    assert reached.value.asked_usd == usd
    return reached.value.level


def test_the_worst_case_counts_at_once_and_the_rest_comes_back(store: Store, purse: RedisBudget) -> None:
    reservation = purse.reserve("a", pull(), 5 * CENT)
    assert (used(store, keys.pull_request_cost(pull())), used(store, of_day())) == (5 * CENT, 5 * CENT)
    assert purse.settle(reservation, Bill(2 * CENT)) is None
    books = [used(store, keys.pull_request_cost(pull())), used(store, of_day()), used(store, of_day(), "repo:7")]
    assert books == [2 * CENT] * 3


def test_the_same_reservation_again_changes_nothing(store: Store, purse: RedisBudget) -> None:
    assert purse.reserve("a", pull(), 6 * CENT) == purse.reserve("a", pull(), 6 * CENT)
    assert used(store, of_day()) == 6 * CENT


def test_a_settlement_sent_twice_gives_back_once(store: Store, purse: RedisBudget) -> None:
    reservation = purse.reserve("a", pull(), 6 * CENT)
    purse.settle(reservation, Bill(CENT))
    purse.settle(reservation, Bill(CENT))
    purse.settle(reservation, Bill(Decimal(0)))
    assert used(store, of_day()) == CENT


def test_a_bill_that_nobody_knows_is_all_that_was_reserved(store: Store, purse: RedisBudget) -> None:
    reservation = purse.reserve("a", pull(), 6 * CENT)
    purse.settle(reservation, Bill(None))
    purse.settle(reservation, Bill(CENT))
    assert used(store, of_day()) == 6 * CENT


def test_a_reservation_that_nobody_settles_expires_to_spent(store: Store, purse: RedisBudget) -> None:
    reservation = purse.reserve("a", pull(), 6 * CENT)
    kept = keys.reservation(InstallationId(100), "a")
    assert store.client.call("TTL", kept.name) == 3600
    store.client.call("DEL", kept.name)
    purse.settle(reservation, Bill(Decimal(0)))
    assert used(store, keys.pull_request_cost(pull())) == used(store, of_day()) == 6 * CENT


def test_what_cost_more_than_was_reserved_is_counted_whole(store: Store, purse: RedisBudget) -> None:
    purse.settle(purse.reserve("a", pull(), CENT), Bill(3 * CENT))
    assert used(store, of_day()) == 3 * CENT


def test_a_judge_whose_pull_request_is_forgotten_opens_no_books_anew_and_asks_nobody(
    store: Store, purse: RedisBudget
) -> None:
    purse.reserve("a", pull(), CENT)
    store.client.call("DEL", keys.pull(pull()).name, keys.pull_request_cost(pull()).name)
    with pytest.raises(LeaseLost):
        purse.reserve("b", pull(), CENT)
    assert not store.client.call(
        "EXISTS", keys.pull_request_cost(pull()).name, keys.reservation(InstallationId(100), "b").name
    )
    assert used(store, of_day()) == CENT
    store.client.call("HSET", keys.ledger(pull()).name, "e", "x")
    assert purse.reserve("c", pull(), CENT).usd == CENT, "a closed one, that is judged anew by what is on record"


def test_books_that_were_forgotten_meanwhile_get_nothing_back(store: Store, purse: RedisBudget) -> None:
    """A repository is forgotten while a model is asked: what comes back would be more than is left in its books."""
    spent = keys.pull_request_cost(pull())
    before = purse.reserve("before", pull(), 5 * CENT)
    store.client.call("DEL", spent.name)
    purse.settle(before, Bill(CENT))
    assert (used(store, spent), used(store, of_day())) == (0, CENT)
    assert not store.client.call("EXISTS", spent.name)
    crossing = purse.reserve("crossing", pull(), 5 * CENT)
    store.client.call("DEL", spent.name)
    after = purse.reserve("after", pull(), 2 * CENT)
    purse.settle(crossing, Bill(CENT))
    assert used(store, spent) == 2 * CENT
    purse.settle(after, Bill(CENT))
    assert (used(store, spent), used(store, of_day())) == (CENT, 3 * CENT)


def test_fractions_of_a_nanodollar_are_counted_up(store: Store, purse: RedisBudget) -> None:
    purse.settle(purse.reserve("a", pull(), CENT), Bill(Decimal("0.0000000001")))
    assert used(store, of_day()) == Decimal("0.000000001")


def test_a_pull_request_has_its_cap_for_life(purse: RedisBudget, calendar: Calendar) -> None:
    purse.reserve("a", pull(), 10 * CENT)
    calendar.next_day()
    assert refused(purse, pull(), Decimal("0.000000001")) == CapLevel(Cap.PULL, 10 * CENT, 10 * CENT)
    purse.reserve("b", pull(2), 10 * CENT)


def test_a_day_has_its_cap_and_the_next_day_a_new_one(purse: RedisBudget, calendar: Calendar) -> None:
    for number in range(10):
        purse.reserve(f"a{number}", pull(number), 10 * CENT)
    assert refused(purse, pull(99), CENT) == CapLevel(Cap.DAY, 100 * CENT, 100 * CENT)
    purse.reserve("other", pull(99, installation=101), CENT)
    calendar.next_day()
    purse.reserve("tomorrow", pull(99), CENT)


def test_of_two_caps_the_pull_requests_is_named_first(store: Store, calendar: Calendar) -> None:
    nothing = store.budget(Caps(pull_usd=Decimal(0), day_usd=Decimal(0)), calendar)
    assert refused(nothing, pull(), CENT).cap is Cap.PULL
    no_day = store.budget(Caps(day_usd=Decimal(0)), calendar)
    assert refused(no_day, pull(), CENT).cap is Cap.DAY


def test_what_was_refused_is_not_counted(store: Store, purse: RedisBudget) -> None:
    refused(purse, pull(), 11 * CENT)
    assert used(store, of_day()) == 0
    purse.reserve("a", pull(), 10 * CENT)


def test_a_reservation_of_yesterday_is_settled_in_yesterdays_books(
    store: Store, purse: RedisBudget, calendar: Calendar
) -> None:
    reservation = purse.reserve("a", pull(), 6 * CENT)
    calendar.next_day()
    purse.settle(reservation, Bill(CENT))
    assert (used(store, of_day()), used(store, of_day("2026-11-21"))) == (CENT, 0)


def test_books_of_a_day_are_kept_for_a_week_and_of_a_pull_request_for_good(store: Store, purse: RedisBudget) -> None:
    purse.reserve("a", pull(), CENT)
    assert store.client.call("TTL", of_day().name) == timedelta(days=8).total_seconds()
    assert store.client.call("TTL", keys.pull_request_cost(pull()).name) == -1


@pytest.mark.parametrize(
    ("has_ledger", "ledger_ends", "is_closed"),
    [(True, True, False), (True, True, True), (True, False, False), (True, False, True), (False, False, True)],
)
def test_the_books_of_a_pull_request_end_with_its_ledger_or_with_itself(
    store: Store,
    purse: RedisBudget,
    has_ledger: bool,  # noqa: FBT001 - a row of the table
    ledger_ends: bool,  # noqa: FBT001 - as above
    is_closed: bool,  # noqa: FBT001 - as above
) -> None:
    hour = whole(items(store.client.call("TIME"))[0]) * 1000 + 3_600_000
    state, cost, ledger = keys.pull(pull()).name, keys.pull_request_cost(pull()).name, keys.ledger(pull()).name
    store.client.pipeline([("HSET", cost, "since", "x"), ("EXPIRE", cost, 60), ("HSET", state, "ends", 2 * hour)])
    if has_ledger:
        store.client.call("HSET", ledger, "e", "x")
    if ledger_ends:
        store.client.call("PEXPIREAT", ledger, hour)
    if is_closed:
        store.client.call("HSET", state, "over", 1)
    purse.reserve("a", pull(), CENT)
    ends = store.client.call("PEXPIRETIME", cost)
    assert ends == (hour if ledger_ends else -1 if has_ledger else 2 * hour)


# A fair share


def test_alone_a_repository_may_spend_the_whole_day(purse: RedisBudget) -> None:
    for number in range(10):
        purse.reserve(f"a{number}", pull(number), 10 * CENT)


def test_beside_another_a_repository_has_its_share(purse: RedisBudget, calendar: Calendar) -> None:
    purse.reserve("other", pull(50, repository=8), CENT)
    for number in range(5):
        purse.reserve(f"a{number}", pull(number), 10 * CENT)
    assert refused(purse, pull(6), CENT) == CapLevel(Cap.SHARE, 50 * CENT, 50 * CENT)
    purse.reserve("b", pull(51, repository=8), 10 * CENT)
    calendar.next_day()
    for number in range(10, 15):
        purse.reserve(f"a{number}", pull(number), 10 * CENT)
    assert refused(purse, pull(16), CENT).cap is Cap.SHARE, "the other one asked yesterday"
    calendar.next_day()
    for number in range(20, 30):
        purse.reserve(f"a{number}", pull(number), 10 * CENT)


def test_whoever_was_refused_counts_as_active_too(store: Store, purse: RedisBudget, calendar: Calendar) -> None:
    refused(store.budget(Caps(pull_usd=Decimal(0)), calendar), pull(50, repository=8), CENT)
    for number in range(5):
        purse.reserve(f"a{number}", pull(number), 10 * CENT)
    assert refused(purse, pull(6), CENT).cap is Cap.SHARE


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
def emptied(server: Redis) -> Generator[Store]:
    with open_store(settings(server.url)) as store:
        store.client.call("FLUSHALL")
        on_record(store, *(pull(number, repository=repository) for repository in range(3) for number in range(4)))
        yield store


@hypothesis_settings(max_examples=hypothesis_settings().max_examples * 6 // 10, deadline=None)
@given(steps=STEPS)
def test_whatever_is_asked_and_paid_in_any_order_the_caps_and_shares_hold(
    redis_server: Redis, steps: list[Step]
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
                payer = pull(second, repository=first)
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
    redis_server: Redis, store: Store
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
        used(store, keys.pull_request_cost(pull(number, repository=number % REPOSITORIES))) for number in range(PULLS)
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
    assert purse.settle(purse.reserve("a", pull(), 8 * CENT), Bill(Decimal("0.0799"))) is None
    first = purse.settle(purse.reserve("b", pull(), CENT), Bill(Decimal("0.0001")))
    again = purse.settle(purse.reserve("c", pull(), CENT), Bill(CENT))
    assert (first, again) == (CapLevel(Cap.PULL, 8 * CENT, 10 * CENT), CapLevel(Cap.PULL, 9 * CENT, 10 * CENT))
    last = None
    for number in range(2, 10):
        last = purse.settle(purse.reserve(f"d{number}", pull(number), 10 * CENT), Bill(9 * CENT))
    assert last == CapLevel(Cap.PULL, 9 * CENT, 10 * CENT), "the fuller one"
    last = purse.settle(purse.reserve("e", pull(20), CENT), Bill(CENT))
    assert last == CapLevel(Cap.DAY, 82 * CENT, 100 * CENT)
    messages = [one.getMessage() for one in caplog.records if "day's" in one.getMessage()]
    assert messages == ["the day's budget is almost used up: 0.81 of 1.00 dollars"]
    of_first = [
        one for one in caplog.records if "pull request's" in one.getMessage() and one.__dict__["pull"]["number"] == 1
    ]
    assert len(of_first) == 1


def test_a_share_that_is_almost_reached_is_said_where_the_day_is_shared(
    purse: RedisBudget, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    for number in range(1, 5):
        assert purse.settle(purse.reserve(f"a{number}", pull(number), 9 * CENT), Bill(7 * CENT)) is None
    purse.reserve("other", pull(1, repository=8), CENT)
    of_share = purse.settle(purse.reserve("b", pull(6), 9 * CENT), Bill(7 * CENT))
    again = purse.settle(purse.reserve("c", pull(7), 9 * CENT), Bill(7 * CENT))
    assert of_share is None
    assert again == CapLevel(Cap.SHARE, 42 * CENT, 50 * CENT)
    purse.settle(purse.reserve("d", pull(8), CENT), Bill(CENT))
    assert [one.getMessage() for one in caplog.records] == [
        "the repository's share of the day is almost used up: 0.42 of 0.500 dollars"
    ]


def test_who_came_yesterday_shares_todays_day(purse: RedisBudget, calendar: Calendar) -> None:
    purse.reserve("other", pull(1, repository=8), CENT)
    calendar.next_day()
    for number in range(1, 5):
        purse.settle(purse.reserve(f"a{number}", pull(number), 10 * CENT), Bill(7 * CENT))
    last = [purse.settle(purse.reserve(f"b{number}", pull(number + 9), 7 * CENT), Bill(7 * CENT)) for number in (1, 2)]
    assert last == [None, CapLevel(Cap.SHARE, 42 * CENT, 50 * CENT)]


def test_a_cap_of_nothing_is_always_near(store: Store, calendar: Calendar) -> None:
    nothing = store.budget(Caps(pull_usd=Decimal(0), day_usd=Decimal(0)), calendar)
    level = nothing.settle(Reservation("never", pull(), "2026-11-20", CENT), Bill(CENT))
    assert level is not None
    assert level.cap_usd == 0


def test_the_densest_reply_of_seven_days_is_remembered_by_model_and_installation(
    purse: RedisBudget, calendar: Calendar
) -> None:
    assert purse.density(pull(), "small") == Density()
    for name, tokens in (("a", 300), ("b", 401), ("c", 350)):
        purse.settle(purse.reserve(name, pull(), CENT), Bill(Decimal(0), "small", 1_000, tokens))
    assert purse.density(pull(2), "small") == Density(3, Decimal("0.401"))
    assert purse.density(pull(), "large") == purse.density(pull(installation=5), "small") == Density()
    calendar.next_day()
    purse.settle(purse.reserve("d", pull(), CENT), Bill(Decimal(0), "small", 3_000, 1_000))
    assert purse.density(pull(), "small") == Density(4, Decimal("0.401"))
    for _ in range(6):
        calendar.next_day()
    assert purse.density(pull(), "small") == Density(1, Decimal("0.333334"))
    calendar.next_day()
    assert purse.density(pull(), "small") == Density()


def test_a_request_without_a_reply_teaches_nothing(store: Store, purse: RedisBudget) -> None:
    purse.settle(purse.reserve("a", pull(), CENT), Bill(None, "small"))
    assert purse.density(pull(), "small") == Density()
    assert "dense:small" not in [text(one) for one in items(store.client.call("HKEYS", of_day().name))]


def by(store: Store, payer: PullRef, author: str) -> PullRef:
    """The same pull request once a judging of it began, which says whose it is."""
    store.client.call("HSET", keys.pull(payer).name, "seq", "1")
    assert store.outcomes.begin_submission(payer, author, hash_base("main"), ())
    return payer


def test_an_author_leaves_room_for_others_who_ask(store: Store, calendar: Calendar) -> None:
    purse = store.budget(Caps(pull_usd=Decimal(1), share=Decimal(1)), calendar)
    first, second = by(store, pull(1), "mallory"), by(store, pull(2), "Mallory")
    alone = purse.reserve("alone", first, 60 * CENT)
    theirs = by(store, pull(3), "bob")
    purse.reserve("bob", theirs, 10 * CENT)
    assert refused(purse, second, CENT) == CapLevel(Cap.AUTHOR, 60 * CENT, 50 * CENT)
    purse.reserve("bob again", theirs, 30 * CENT)
    purse.settle(alone, Bill(20 * CENT))
    purse.reserve("settled", second, 10 * CENT)

    calendar.next_day()
    assert refused(purse, first, 51 * CENT).cap is Cap.AUTHOR, "bob asked yesterday"
    purse.reserve("within", second, 50 * CENT)


def test_where_no_author_is_known_no_share_of_one_is_counted(store: Store, purse: RedisBudget) -> None:
    purse.reserve("nobody's", pull(1), 10 * CENT)
    fields = {text(one) for one in items(store.client.call("HKEYS", of_day().name))}
    assert not {one for one in fields if one.startswith("author")}
