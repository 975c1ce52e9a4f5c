"""Catching up: bounded, each delivery a few times, and what has its state is left alone."""

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from tests.worker.adapters.redis.store_samples import (
    HEAD,
    NEWER,
    REQUESTED_AT,
    judge_request,
    pull_ref,
    record_verdict,
    start_judging,
)
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import items, text
from worker.adapters.redis.records.records import MOST_TIMES, RedisProgress, add_repositories, find_repositories
from worker.adapters.redis.store import Store
from worker.domain.ids import BaseHash, CheckRunId, InstallationId, RepositoryId, Sha, hash_base
from worker.domain.judge_request import AuthorKind, JudgeRequest, PullRef, Trigger
from worker.domain.lifecycle.judging import Finish
from worker.domain.pull_request_events import DeliveryAttempt, OpenPull, OpenRepository, Repository, RepositoryAdded
from worker.errors import Outage, RateLimited, Unavailable
from worker.judge.merge_group import PublishedCheckRun
from worker.scheduling.reconcile import (
    MAX_CONSECUTIVE_FAILURES,
    MAX_DOUBTFUL_HEADS,
    MAX_FAILED_ATTEMPTS,
    MAX_HEADS,
    MAX_PENDING,
    MAX_REDELIVERIES,
    MissedDeliveries,
    OpenPullSweep,
    ReopenedCheckSweep,
)

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
HERE = InstallationId(100)
THERE, ELSEWHERE = InstallationId(101), InstallationId(102)
MAIN, OWN = hash_base("main"), hash_base("agents-own")
A_DAY_AGO, A_MONTH_AGO, A_YEAR_AGO = (NOW - timedelta(days=days) for days in (1, 30, 365))
NEW_HERE = RepositoryId(7)
LATER, LATEST = 1000, 10_000
"""From here on attempts are counted that somebody asked for."""


class Hand:
    """A clock that stands."""

    def __init__(self) -> None:
        self.at = NOW

    def now(self) -> datetime:
        return self.at

    def monotonic_ms(self) -> int:
        return 0


class Hooks:
    """GitHub's list of deliveries: each attempt of *guids* failed. `most`: how many of it one look reads."""

    most = 100_000

    def __init__(self, *guids: str) -> None:
        self.sent: list[DeliveryAttempt] = []
        for number, guid in enumerate(guids, 1):
            self.fails(number, guid)
        self.asked: list[int] = []
        self.looked_from: list[datetime] = []
        self.read: list[int] = []

    def list_since(self, since: datetime, cursor: str | None) -> tuple[list[DeliveryAttempt], str | None]:
        """A cursor is the number of the attempt that was read last."""
        self.looked_from.append(since)
        left = [one for one in self._newest_first() if one.at >= since and (cursor is None or one.id < int(cursor))]
        some = left[: self.most]
        self.read.append(len(some))
        return some, str(some[-1].id) if len(left) > len(some) else None

    def _newest_first(self) -> list[DeliveryAttempt]:
        return sorted(self.sent, key=lambda one: -one.id)

    def redeliver(self, sent: DeliveryAttempt) -> bool:
        self.asked.append(sent.id)
        self.fails(LATER + len(self.sent), sent.guid)
        return True

    def fails(self, number: int, guid: str) -> None:
        self.sent.append(self._attempt(number, guid))

    def comes_through(self, number: int, guid: str) -> None:
        self.sent.append(self._attempt(number, guid, 202))

    def _attempt(self, number: int, guid: str, status: int = 500) -> DeliveryAttempt:
        is_again = any(one.guid == guid for one in self.sent)
        return DeliveryAttempt(
            id=number, guid=guid, at=NOW - timedelta(minutes=5), status_code=status, is_again=is_again
        )


def redelivering(store: Store, hooks: Hooks, clock: Hand | None = None) -> MissedDeliveries:
    return MissedDeliveries(hooks, RedisProgress(store.client), clock or Hand())


def test_a_delivery_that_fails_every_time_is_given_up(store: Store) -> None:
    hooks = Hooks("broken")
    missed = redelivering(store, hooks)
    assert [missed.run() for _ in range(MOST_TIMES + 2)] == [1] * MOST_TIMES + [0, 0]


def test_so_many_at_a_time_and_the_others_the_next_time(store: Store) -> None:
    hooks, clock = Hooks(*(f"d{number}" for number in range(2 * MAX_REDELIVERIES + 1))), Hand()
    first_ones = [one.id for one in hooks.sent]
    missed = redelivering(store, hooks, clock)
    for _ in range(3):
        missed.run()
        clock.at += timedelta(minutes=20)
    assert [one for one in hooks.asked if one < LATER] == first_ones
    assert len(hooks.asked) <= 3 * MAX_REDELIVERIES


def test_what_is_given_up_holds_nothing_back(store: Store) -> None:
    broken = [f"broken{number}" for number in range(MAX_REDELIVERIES)]
    hooks = Hooks(*broken)
    missed = redelivering(store, hooks)
    for _ in range(MOST_TIMES):
        missed.run()
    hooks.fails(LATEST, "lost")
    assert missed.run() == 1
    assert hooks.asked[-1] == LATEST


def test_a_look_begins_a_little_before_the_last_one_and_never_at_the_beginning_of_time(store: Store) -> None:
    hooks, clock = Hooks(), Hand()
    missed = redelivering(store, hooks, clock)
    missed.run()
    clock.at = NOW + timedelta(minutes=5)
    missed.run()
    clock.at = NOW + timedelta(days=30)
    missed.run()
    assert hooks.looked_from == [NOW - timedelta(hours=1), NOW - timedelta(minutes=10), NOW + timedelta(days=27)]


class Mending(Hooks):
    """The door is up again: whatever is asked for arrives."""

    def redeliver(self, sent: DeliveryAttempt) -> bool:
        self.asked.append(sent.id)
        self.comes_through(LATER + len(self.sent), sent.guid)
        return True


def test_a_list_that_is_too_long_for_one_look_is_read_on_where_it_stopped(store: Store) -> None:
    hooks, clock = Mending(*(f"d{number}" for number in range(5 * MAX_REDELIVERIES))), Hand()
    hooks.most = 2 * MAX_REDELIVERIES
    missed = redelivering(store, hooks, clock)
    for _ in range(12):
        clock.at += timedelta(minutes=5)
        missed.run()
    assert sorted(hooks.asked) == list(range(1, 5 * MAX_REDELIVERIES + 1))
    assert max(hooks.read) <= hooks.most
    assert items(store.client.call("HKEYS", keys.MISSED_DELIVERIES.name)) == []


def test_what_comes_while_a_long_list_is_read_is_read_after_it(store: Store) -> None:
    hooks, clock = Mending(*(f"d{number}" for number in range(5))), Hand()
    hooks.most = 2
    missed = redelivering(store, hooks, clock)
    missed.run()
    hooks.fails(LATEST, "new")
    for _ in range(9):
        missed.run()
    assert sorted(hooks.asked) == [1, 2, 3, 4, 5, LATEST]


def test_a_first_attempt_that_is_read_after_the_one_that_came_through_is_not_asked_for(store: Store) -> None:
    hooks = Hooks("a", "b")
    hooks.comes_through(LATER, "a")
    hooks.fails(LATER + 1, "b")
    hooks.most = 1
    missed = redelivering(store, hooks)
    for _ in range(4):
        missed.run()
    assert hooks.asked == [LATER + 1]


def test_what_waits_to_be_asked_for_and_arrives_meanwhile_is_let_go(store: Store) -> None:
    hooks = Hooks(*(f"d{number}" for number in range(MAX_REDELIVERIES + 1)))
    missed = redelivering(store, hooks)
    missed.run()
    last = f"d{MAX_REDELIVERIES}"
    hooks.sent = []
    hooks.comes_through(LATEST, last)
    missed.run()
    assert MAX_REDELIVERIES + 1 not in hooks.asked


def test_nobody_reads_on_while_many_wait_and_what_is_too_old_is_let_go(store: Store) -> None:
    hooks, clock = Hooks(), Hand()
    progress = RedisProgress(store.client)
    waits = [
        DeliveryAttempt(id=one, guid=f"w{one}", at=NOW - timedelta(hours=1), status_code=500)
        for one in range(MAX_PENDING)
    ]
    progress.add_pending(waits)
    missed = redelivering(store, hooks, clock)
    missed.run()
    assert (hooks.looked_from, len(hooks.asked)) == ([], MAX_REDELIVERIES)
    clock.at += timedelta(days=3)
    assert missed.run() == 0
    assert progress.pending() == []


class Stubborn(Hooks):
    """GitHub answers 502 to whoever asks for one of *stuck*."""

    def __init__(self, *guids: str, stuck: Collection[str]) -> None:
        super().__init__(*guids)
        self.stuck = stuck
        self.tried: list[str] = []

    def redeliver(self, sent: DeliveryAttempt) -> bool:
        self.tried.append(sent.guid)
        if sent.guid in self.stuck:
            raise Outage("GitHub", "answered 502")
        return super().redeliver(sent)


def test_one_that_github_fails_to_make_again_holds_nobody_behind_it(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    hooks, clock, told = Stubborn("odd", "a", "b", stuck={"odd"}), Hand(), list[str]()
    missed = MissedDeliveries(hooks, RedisProgress(store.client), clock, lambda one: told.append(one.guid))
    assert missed.run() == 2
    assert hooks.tried == ["odd", "a", "b"]
    for number in range(1, MAX_FAILED_ATTEMPTS):
        assert told == []
        hooks.tried.clear()
        hooks.sent.clear()
        hooks.fails(LATEST + number, f"new{number}")
        assert missed.run() == 1
        assert hooks.tried == [f"new{number}", "odd"], "behind the others"
    assert told == ["odd"]
    assert [one.levelname for one in caplog.records if "passed over" in one.message] == ["WARNING"]
    hooks.sent.clear()
    missed.run()
    assert told == ["odd"], "once"
    hooks.stuck = ()
    hooks.tried.clear()
    assert missed.run() == 1
    assert hooks.tried == ["odd"], "and not lost"


def test_where_github_is_away_few_are_tried_and_none_is_lost(store: Store) -> None:
    guids = [f"d{number}" for number in range(20)]
    hooks = Stubborn(*guids, stuck=guids)
    progress = RedisProgress(store.client)
    missed = redelivering(store, hooks)
    for _ in range(2):
        with pytest.raises(Outage):
            missed.run()
    assert hooks.tried == guids[: 2 * MAX_CONSECUTIVE_FAILURES], "others the next time"
    hooks.stuck = ()
    assert missed.run() == len(guids)
    assert progress.pending() == []


def test_a_rate_limit_is_nobodys_failure(store: Store) -> None:
    class Limited(Hooks):
        def redeliver(self, sent: DeliveryAttempt) -> bool:
            self.asked.append(sent.id)
            raise RateLimited("GitHub", NOW)

    hooks, progress = Limited("a", "b"), RedisProgress(store.client)
    with pytest.raises(RateLimited):
        redelivering(store, hooks).run()
    assert [one.failed for one in progress.pending()] == [0, 0]
    assert hooks.asked == [1]


def test_a_round_goes_on_where_the_one_before_it_stopped(store: Store) -> None:
    progress = RedisProgress(store.client)
    assert progress.round() == 1
    progress.goes_on(11)
    assert progress.round() == 11


class Town:
    """Repositories by the page, each with its open pull requests."""

    def __init__(self, *pages: Sequence[OpenRepository]) -> None:
        self.pages = pages
        self.seen: list[int] = []
        self.is_closed = False
        self.down: set[InstallationId] = set()
        self.visited: list[InstallationId] = []

    def list_page(self, installation: InstallationId, number: int) -> tuple[tuple[Repository, ...], bool]:
        self.visited.append(installation)
        if installation in self.down:
            raise Unavailable("GitHub", f"{installation}: 502")
        if self.is_closed:
            raise RateLimited("GitHub", NOW)
        self.seen.append(number)
        found = tuple(one.repository for one in self.pages[number - 1])
        return found, number < len(self.pages)

    def list_open(self, installation: InstallationId, repositories: Sequence[Repository]) -> Iterator[OpenRepository]:
        assert installation not in self.down
        yield from (one for page in self.pages for one in page if one.repository in repositories)


class Book:
    """A store, the numbers that were shown as older than Assay, and what sweeps asked for."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.clock = Hand()
        self.greeted: list[int] = []

    @property
    def wanted(self) -> list[JudgeRequest]:
        names = sorted(map(text, items(self.store.client.call("KEYS", "assay:*:pull:*"))))
        requests = filter(None, map(self.store.pulls.find_request, map(keys.parse_pull, names)))
        return [request for request in requests if request.delivery_id.startswith("swept-")]

    def greets(self, request: JudgeRequest, head_sha: Sha) -> None:
        self.store.pulls.record_initial_head(request.pull, head_sha)
        self.greeted.append(request.pull.number)


def around(
    repository: int, *numbers: int, opened_at: datetime = NOW, head_sha: str = HEAD, base: BaseHash = MAIN
) -> OpenRepository:
    pulls = (OpenPull(one, head_sha, opened_at, draft=False, author=AuthorKind.AGENT, base=base) for one in numbers)
    place = Repository(RepositoryId(repository), f"acme/r{repository}", is_busy=bool(numbers))
    return OpenRepository(place, tuple(pulls))


@pytest.fixture
def book(store: Store) -> Book:
    return Book(store)


CHECK = CheckRunId(77)
OPEN, ENDED = PublishedCheckRun(CHECK, None, "Judging"), PublishedCheckRun(CHECK, "success", "Accepted")


class GitHub:
    """Shows the same for every head. `then` happens between its answer and what is made of it."""

    def __init__(self, run: PublishedCheckRun | None) -> None:
        self.run = run
        self.asked: list[int] = []
        self.then: Callable[[], object] = lambda: None

    def newest_runs(
        self, installation: InstallationId, asked: Sequence[JudgeRequest]
    ) -> Sequence[PublishedCheckRun | None]:
        assert installation == HERE or not asked
        self.asked += [one.pull.number for one in asked]
        self.then()
        return [self.run] * len(asked)


def sweeping(town: Town, book: Book) -> OpenPullSweep:
    progress, reopened = RedisProgress(book.store.client), ReopenedCheckSweep(GitHub(None), book.store)
    return OpenPullSweep(town, book.store, progress, book.clock, reopened, book.greets)


def sweep(book: Book, *found: OpenRepository, since: datetime = A_DAY_AGO) -> int:
    """Sweep an installation of *since* where these are open."""
    return sweeping(Town(found), book).run(HERE, since)


def test_a_head_without_its_check_is_taken_up_and_one_that_has_it_is_left(book: Book) -> None:
    book.store.checks().record_opened(pull_ref(1), HEAD, check=5)  # pyright: ignore[reportArgumentType] - a number will do
    assert sweep(book, around(7, 1, 2)) == 1
    [request] = book.wanted
    assert (request.pull.number, request.trigger, request.head_sha) == (2, Trigger.SWEEP, HEAD)


def has_its_check(book: Book, *, base: BaseHash | None) -> None:
    """Number 1 is known with its head, and with the base that it was told of last."""
    book.store.pulls.request_judging(judge_request(base=base))
    book.store.checks().record_opened(pull_ref(), HEAD, CheckRunId(5))


def test_one_that_went_into_another_base_without_a_word_is_judged_by_that(book: Book) -> None:
    has_its_check(book, base=MAIN)
    assert sweep(book, around(7, 1)) == 0
    assert sweep(book, around(7, 1, base=OWN)) == 1
    [request] = book.wanted
    assert (request.trigger, request.head_sha, request.base) == (Trigger.BASE, HEAD, OWN)
    assert book.store.pulls.record_base(pull_ref(), MAIN) == OWN
    assert sweep(book, around(7, 1, base=OWN)) == 0, "and once"


def test_one_that_came_back_to_an_earlier_head_without_a_word_is_judged_there(book: Book) -> None:
    has_its_check(book, base=MAIN)
    book.store.pulls.request_judging(judge_request(head_sha=NEWER, base=MAIN))
    book.store.checks().record_opened(pull_ref(), NEWER, CheckRunId(6))
    assert sweep(book, around(7, 1, head_sha=NEWER)) == 0
    assert sweep(book, around(7, 1)) == 0, "whoever judges the newer one asks GitHub"
    book.store.client.call("HDEL", keys.pull(pull_ref()).name, "state")
    assert sweep(book, around(7, 1)) == 1
    [request] = book.wanted
    assert (request.trigger, request.head_sha) == (Trigger.SWEEP, HEAD)
    assert sweep(book, around(7, 1)) == 0, "and once"


def test_one_of_which_no_base_is_known_is_left_until_it_goes_into_another_one_than_was_seen(book: Book) -> None:
    has_its_check(book, base=None)
    assert sweep(book, around(7, 1)) == 0
    assert sweep(book, around(7, 1, base=OWN)) == 1
    [request] = book.wanted
    assert (request.trigger, request.base) == (Trigger.BASE, OWN)


def test_one_that_went_into_another_base_before_assay_came_stays_greeted(book: Book) -> None:
    assert sweep(book, around(7, 1, opened_at=NOW - timedelta(days=2))) == 1
    assert sweep(book, around(7, 1, opened_at=NOW - timedelta(days=2), base=OWN)) == 0
    assert sweep(book, around(7, 1, opened_at=NOW - timedelta(days=2))) == 0
    assert (book.greeted, book.wanted) == ([1], [])
    assert book.store.client.call("EXISTS", keys.pull(pull_ref()).name) == 0


def asked_for(store: Store) -> None:
    store.pulls.request_judging(judge_request())


@pytest.mark.parametrize("known", [asked_for, record_verdict])
def test_what_is_older_than_the_installation_is_only_greeted_unless_it_was_asked_for_or_ever_judged(
    book: Book, known: Callable[[Store], None]
) -> None:
    known(book.store)
    assert sweep(book, around(7, 1, 2, opened_at=NOW - timedelta(days=2))) == 2
    assert (book.greeted, [one.pull.number for one in book.wanted]) == ([2], [1])


def test_an_old_repository_that_is_new_to_an_old_installation_is_greeted_by_whoever_sees_it_first(book: Book) -> None:
    sweep(book, around(NEW_HERE, 1, 2, opened_at=A_MONTH_AGO), since=A_YEAR_AGO)
    assert (book.greeted, book.wanted) == ([1, 2], [])
    told = RepositoryAdded(
        installation_id=HERE, repository_id=NEW_HERE, repository="acme/r7", since=NOW + timedelta(days=1)
    )
    add_repositories(book.store.client, [told])
    found = book.store.added_repositories.next()
    assert found is not None
    assert found.added.since == NOW


def test_what_was_greeted_is_left_until_it_is_pushed_to_however_long_ago_that_was(book: Book) -> None:
    sweep(book, around(NEW_HERE, 1, opened_at=A_MONTH_AGO), since=A_YEAR_AGO)
    book.clock.at = NOW + timedelta(days=90)
    assert sweep(book, around(NEW_HERE, 1, opened_at=A_MONTH_AGO), since=A_YEAR_AGO) == 0
    pushed = around(NEW_HERE, 1, opened_at=A_MONTH_AGO, head_sha=NEWER)
    assert sweep(book, pushed, since=A_YEAR_AGO) == 1
    assert ([one.head_sha for one in book.wanted], book.greeted) == ([NEWER], [1])


def test_what_was_opened_in_the_second_in_which_a_repository_was_seen_is_not_old(book: Book) -> None:
    book.clock.at = NOW + timedelta(milliseconds=900)
    assert sweep(book, around(NEW_HERE, 1, opened_at=NOW), since=A_YEAR_AGO) == 1
    assert ([one.pull.number for one in book.wanted], book.greeted) == ([1], [])


def test_what_was_opened_since_a_repository_was_first_seen_is_missed_though_nothing_was_open_then(book: Book) -> None:
    told = RepositoryAdded(installation_id=HERE, repository_id=NEW_HERE, repository="acme/r7", since=A_MONTH_AGO)
    add_repositories(book.store.client, [told])
    book.store.added_repositories.complete(told)
    sweep(book, around(8), since=A_YEAR_AGO)
    book.clock.at = NOW + timedelta(hours=2)
    later = NOW + timedelta(hours=1)
    sweep(
        book, around(NEW_HERE, 1, opened_at=NOW - timedelta(days=29)), around(8, 2, opened_at=later), since=A_YEAR_AGO
    )
    assert ([one.pull.number for one in book.wanted], book.greeted) == ([1, 2], [])


def test_a_repository_that_was_judged_before_that_was_noted_is_as_old_as_the_installation_unless_it_was_gone(
    book: Book,
) -> None:
    book.store.pulls.request_judging(judge_request(9, head_sha=NEWER))  # its name is on record from then on
    place = Repository(NEW_HERE, judge_request().repository)
    assert book.store.first_seen.record_seen(HERE, [place], A_YEAR_AGO, NOW) == {NEW_HERE: A_YEAR_AGO}
    book.store.first_seen.remove(HERE, [NEW_HERE])
    assert book.store.first_seen.seen_since(HERE, NEW_HERE) is None
    assert book.store.first_seen.record_seen(HERE, [place], A_YEAR_AGO, NOW) == {NEW_HERE: NOW}
    assert book.store.first_seen.record_seen(HERE, [], A_YEAR_AGO, NOW) == {}


def test_what_is_on_record_of_a_renamed_repository_is_found_by_its_new_name_too(book: Book) -> None:
    book.store.pulls.request_judging(judge_request(9, head_sha=NEWER))
    other, was = RepositoryId(8), judge_request().repository
    book.store.first_seen.record_seen(HERE, [Repository(NEW_HERE, was), Repository(other, "acme/other")], NOW, NOW)
    assert find_repositories(book.store.client, "acme/gadgets") == []
    book.store.first_seen.record_seen(
        HERE, [Repository(NEW_HERE, "acme/gadgets"), Repository(other, "acme/others")], NOW, NOW
    )
    assert (
        find_repositories(book.store.client, "acme/gadgets")
        == find_repositories(book.store.client, was)
        == [(HERE, NEW_HERE)]
    )
    assert find_repositories(book.store.client, "acme/others") == [], "nothing is on record of it"
    book.store.first_seen.record_seen(HERE, [Repository(NEW_HERE, "acme/gizmos")], NOW, NOW)
    assert find_repositories(book.store.client, "acme/gizmos") == [(HERE, NEW_HERE)], "and whenever it is renamed again"


def test_a_repository_that_is_to_be_greeted_is_left_until_it_was(book: Book) -> None:
    for installation, repository in ((HERE, 7), (THERE, 8)):
        new = RepositoryAdded(
            installation_id=installation, repository_id=RepositoryId(repository), repository="acme/new", since=NOW
        )
        add_repositories(book.store.client, [new])
    assert sweep(book, around(7, 1), around(8, 2), since=A_YEAR_AGO) == 1
    assert [one.pull.number for one in book.wanted] == [2]


def test_an_outage_of_one_installation_keeps_nobody_from_the_others(
    book: Book, caplog: pytest.LogCaptureFixture
) -> None:
    town = Town([around(7, 1)])
    town.down = {THERE}
    sweeping(town, book).run_all((one, A_DAY_AGO) for one in (THERE, HERE, ELSEWHERE))
    assert town.visited == [THERE, HERE, ELSEWHERE]
    took_up = [vars(one)["installation_id"] for one in caplog.records if one.message.startswith("took up")]
    assert took_up == [HERE, ELSEWHERE]
    assert "101: 502" in caplog.text


def test_an_outage_of_all_is_one(book: Book) -> None:
    town = Town([around(7, 1)])
    town.down = {HERE, THERE}
    with pytest.raises(Unavailable, match="101"):
        sweeping(town, book).run_all((one, NOW) for one in (THERE, HERE))
    sweeping(town, book).run_all([])


def test_every_sweep_goes_on_where_the_one_before_it_stopped(book: Book) -> None:
    town = Town(*([around(number)] for number in range(1, 6)))
    sweep = sweeping(town, book)
    sweep.run(HERE, NOW)
    sweep.run(HERE, NOW)
    assert town.seen == [1, 2, 3, 4, 5]
    sweep.run(HERE, NOW)
    assert town.seen[5:] == [1, 2, 3]


def test_so_many_heads_at_a_time(book: Book) -> None:
    assert sweep(book, around(7, *range(1, MAX_HEADS + 10))) == MAX_HEADS


def test_a_sweep_waits_while_pull_requests_need_what_is_left(book: Book) -> None:
    town = Town([around(7, 1)])
    town.is_closed = True
    assert sweeping(town, book).run(HERE, NOW) == 0


def judged(store: Store, ref: PullRef | None = None) -> None:
    store.pulls.request_judging(judge_request())
    store.pulls.finish(start_judging(store).lease, Finish.JUDGED)
    store.checks().record_concluded(ref or pull_ref(), HEAD)


def restored(store: Store) -> None:
    """What is known was noted by a server that is none any more."""
    store.client.call("HSET", keys.pull(pull_ref()).name, "served", "another")


def judged_elsewhere(store: Store) -> None:
    """It was judged, and what is known of that was noted by a server that is none any more."""
    judged(store)
    restored(store)


def greeted(store: Store) -> None:
    store.pulls.record_initial_head(pull_ref(), HEAD)


def look(store: Store, github: GitHub, *numbers: int) -> int:
    known = [judge_request(number) for number in numbers or (1,)]
    return ReopenedCheckSweep(github, store).requeue_reopened(HERE, known)


def test_what_this_server_saw_judged_is_asked_about_no_more(store: Store) -> None:
    judged(store)
    github = GitHub(OPEN)
    assert (look(store, github), github.asked) == (0, [])


def test_a_check_that_is_open_at_github_alone_is_looked_at_again_and_once(store: Store) -> None:
    judged_elsewhere(store)
    github = GitHub(OPEN)
    assert look(store, github) == 1
    again = start_judging(store)
    assert (again.request.trigger, again.request.head_sha) == (Trigger.LATE, None)
    assert again.request.requested_at == REQUESTED_AT, "what answered that is an answer still"
    store.pulls.finish(again.lease, Finish.JUDGED)
    assert (look(store, github), github.asked) == (0, [1])
    restored(store)
    assert look(store, github) == 0, "this server asked for that check once"


@pytest.mark.parametrize(("known", "run"), [(judged_elsewhere, ENDED), (judged_elsewhere, None), (greeted, ENDED)])
def test_one_that_ended_at_github_too_is_asked_about_once(
    store: Store, known: Callable[[Store], None], run: PublishedCheckRun | None
) -> None:
    known(store)
    github, initial = GitHub(run), store.pulls.find_initial_head(pull_ref())
    assert [look(store, github), look(store, github)] == [0, 0]
    assert github.asked == [1]
    assert store.pulls.find_initial_head(pull_ref()) == initial


def test_what_happens_after_github_answered_leaves_its_answer_behind(store: Store) -> None:
    judged_elsewhere(store)
    github = GitHub(OPEN)
    github.then = lambda: store.pulls.request_judging(judge_request())
    assert look(store, github) == 0, "who judges by now ends the check himself"
    assert start_judging(store).request.trigger is not Trigger.LATE


def test_what_happens_while_it_is_found_as_known_leaves_it_in_doubt(store: Store) -> None:
    judged_elsewhere(store)
    before = store.checks().doubt(pull_ref(), HEAD)
    store.client.call("HINCRBY", keys.pull(pull_ref()).name, "seq", 1)
    store.checks().is_as_known(pull_ref(), HEAD, before)
    assert store.checks().doubt(pull_ref(), HEAD) not in {"", before}


def test_one_that_was_only_greeted_is_judged_if_somebody_had_asked_for_that(store: Store) -> None:
    store.pulls.record_initial_head(pull_ref(), HEAD)
    assert look(store, GitHub(OPEN)) == 1
    assert start_judging(store).request.delivery_id.startswith(f"late-check-{CHECK}-")


def test_a_head_that_nobody_named_is_none(store: Store) -> None:
    github = GitHub(OPEN)
    assert (
        ReopenedCheckSweep(github, store).requeue_reopened(
            HERE, [judge_request().model_copy(update={"head_sha": None})]
        )
        == 0
    )
    assert github.asked == []


def test_one_look_asks_about_so_many_and_the_next_one_about_the_others(store: Store) -> None:
    for number in range(1, MAX_DOUBTFUL_HEADS + 3):
        store.pulls.record_initial_head(pull_ref(number), HEAD)
    github = GitHub(ENDED)
    look(store, github, *range(1, MAX_DOUBTFUL_HEADS + 3))
    assert len(github.asked) == MAX_DOUBTFUL_HEADS
    look(store, github, *range(1, MAX_DOUBTFUL_HEADS + 3))
    assert github.asked[MAX_DOUBTFUL_HEADS:] == [MAX_DOUBTFUL_HEADS + 1, MAX_DOUBTFUL_HEADS + 2]


def test_what_is_not_known_of_a_pull_request_is_not_made_by_asking_about_it(store: Store) -> None:
    store.pulls.record_initial_head(pull_ref(), HEAD)
    assert look(store, GitHub(ENDED)) == 0
    assert store.client.call("EXISTS", keys.pull(pull_ref()).name) == 0, "nobody ever asked for it"
    store.first_seen.remove(HERE, [pull_ref().repository_id])
    store.client.call("DEL", keys.first_seen(HERE, pull_ref().repository_id).name)  # as it is forgotten
    assert look(store, GitHub(ENDED)) == 0
    left = [keys.pull(pull_ref()).name, keys.first_seen(HERE, pull_ref().repository_id).name]
    assert [store.client.call("EXISTS", name) for name in left] == [0, 0]
