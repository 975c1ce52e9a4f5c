"""Reconciliation: redelivery of missed deliveries, and sweeps of open pull requests and reopened checks."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from typing_extensions import override

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
from worker.adapters.redis.connection.client import find_server_time, items, text
from worker.adapters.redis.judging import intake
from worker.adapters.redis.records import MOST_TIMES, RedisProgress, add_repositories, find_repositories
from worker.adapters.redis.store import Store
from worker.domain.github_events import (
    DeliveryAttempt,
    OpenPull,
    OpenRepository,
    Repository,
    RepositoryAdded,
)
from worker.domain.judge_request import AuthorKind, JudgeRequest, PullRef, Trigger
from worker.domain.lifecycle.intake import NamedHead, ShownPull
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import QueuedDelivery
from worker.domain.model import BaseHash, CheckRunId, InstallationId, RepositoryId, Sha, hash_base
from worker.errors import Outage, RateLimited, SubjectGone, Unavailable
from worker.judge.merge_group import PublishedCheckRun
from worker.scheduling import reconcile
from worker.scheduling.reconcile import (
    MAX_CONSECUTIVE_FAILURES,
    MAX_FAILED_ATTEMPTS,
    MAX_HEADS,
    MAX_PENDING,
    MAX_REDELIVERIES,
    DeliveryConfirmation,
    MissedDeliveries,
    OpenPullSweep,
    ReopenedCheckSweep,
)
from worker.settings import Timing

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
INSTALLATION = InstallationId(100)
OTHER, THIRD = InstallationId(101), InstallationId(102)
MAIN, OTHER_BASE = hash_base("main"), hash_base("agents-own")
A_DAY_AGO, A_MONTH_AGO, A_YEAR_AGO = (NOW - timedelta(days=days) for days in (1, 30, 365))
REPOSITORY = RepositoryId(7)
LATER, LATEST = 1000, 10_000
"""The ids of redelivered and of later attempts start here."""


class StoppedClock:
    def __init__(self) -> None:
        self.at = NOW

    def now(self) -> datetime:
        return self.at

    def monotonic_ms(self) -> int:
        return 0


class DeliveryLog:
    """GitHub's list of deliveries; each attempt of *guids* failed. `most`: how many one page has."""

    most = 100_000

    def __init__(self, *guids: str) -> None:
        self.attempts: list[DeliveryAttempt] = []
        for number, guid in enumerate(guids, 1):
            self.add_failed(number, guid)
        self.redelivered: list[int] = []
        self.queried_since: list[datetime] = []
        self.read: list[int] = []

    def list_since(self, since: datetime, cursor: str | None) -> tuple[list[DeliveryAttempt], str | None]:
        """The cursor is the id of the attempt that was read last."""
        self.queried_since.append(since)
        newest_first = sorted(self.attempts, key=lambda attempt: -attempt.id)
        left = [each for each in newest_first if each.at >= since and (cursor is None or each.id < int(cursor))]
        page = left[: self.most]
        self.read.append(len(page))
        return page, str(page[-1].id) if len(left) > len(page) else None

    def redeliver(self, sent: DeliveryAttempt) -> bool:
        self.redelivered.append(sent.id)
        self.add_failed(LATER + len(self.attempts), sent.guid)
        return True

    def add_failed(self, number: int, guid: str) -> None:
        self.attempts.append(self._attempt(number, guid))

    def add_delivered(self, number: int, guid: str) -> None:
        self.attempts.append(self._attempt(number, guid, 202))

    def _attempt(self, number: int, guid: str, status: int = 500) -> DeliveryAttempt:
        is_again = any(attempt.guid == guid for attempt in self.attempts)
        return DeliveryAttempt(
            id=number, guid=guid, at=NOW - timedelta(minutes=5), status_code=status, is_again=is_again
        )


def missed_deliveries(store: Store, log: DeliveryLog, clock: StoppedClock | None = None) -> MissedDeliveries:
    return MissedDeliveries(log, RedisProgress(store.client), clock or StoppedClock())


class CurrentPulls:
    """GitHub shows the pull request with this *head*; None: closed."""

    def __init__(self, head: Sha | None) -> None:
        self._head = head

    def find_shown(self, request: JudgeRequest) -> ShownPull:
        assert request.head_sha == NEWER
        if self._head is None:
            raise SubjectGone("closed")
        return ShownPull(self._head, MAIN, draft=False)


def push_of_unknown_order(store: Store) -> QueuedDelivery:
    """A push to NEWER from an unknown commit, while HEAD is known."""
    store.pulls.request_judging(judge_request())
    push = judge_request(head_sha=NEWER, trigger=Trigger.PUSHED, requested_at=NOW)
    intake.request_judging(store.client, push, Timing(), NamedHead("9" * 40))
    queued = store.unconfirmed.next()
    assert queued is not None
    return queued


def confirm(store: Store, queued: QueuedDelivery, head: Sha | None, after_s: float) -> float | None:
    """Ask GitHub so long after the receipt. Seconds until it is asked again; None: never."""
    clock = StoppedClock()
    clock.at = NOW + timedelta(seconds=after_s)
    DeliveryConfirmation(CurrentPulls(head), store.unconfirmed, clock, timedelta(seconds=2)).confirm(queued)
    name = queued.delivery.request.delivery_id
    due_at = store.client.call("ZSCORE", keys.UNCONFIRMED.order.name, name)
    return None if due_at is None else round((float(text(due_at)) - find_server_time(store.client)) / 1000)


@pytest.mark.parametrize(
    ("head", "attempt", "after_s", "pause_s"),
    [
        (NEWER, 1, 0, None),
        (HEAD, 1, 0, 2),
        (HEAD, 2, 2, 4),
        (HEAD, 9, 9.9, 8),
        (HEAD, 1, 10, None),
    ],
)
def test_github_is_asked_for_an_announced_head_for_ten_seconds(
    store: Store, head: Sha, attempt: int, after_s: float, pause_s: float | None
) -> None:
    queued = replace(push_of_unknown_order(store), attempt=attempt)
    assert confirm(store, queued, head, after_s) == pause_s
    assert store.checks().newest_head(pull_ref()) == head


def test_github_is_asked_again_after_a_later_event(store: Store) -> None:
    queued = push_of_unknown_order(store)
    store.pulls.request_judging(judge_request())
    assert confirm(store, queued, NEWER, 0) == 0
    assert store.checks().newest_head(pull_ref()) == HEAD


@pytest.mark.parametrize(("after_s", "error"), [(30, Unavailable), (90, SubjectGone)])
def test_closed_pull_request_of_a_recent_delivery_is_searched_again(
    store: Store, after_s: float, error: type[Exception]
) -> None:
    with pytest.raises(error, match="closed"):
        confirm(store, push_of_unknown_order(store), None, after_s)


def test_delivery_that_always_fails_is_given_up(store: Store) -> None:
    log = DeliveryLog("broken")
    missed = missed_deliveries(store, log)
    assert [missed.run() for _ in range(MOST_TIMES + 2)] == [1] * MOST_TIMES + [0, 0]


def test_redeliveries_per_round_are_limited(store: Store) -> None:
    log, clock = DeliveryLog(*(f"d{number}" for number in range(2 * MAX_REDELIVERIES + 1))), StoppedClock()
    first_ids = [attempt.id for attempt in log.attempts]
    missed = missed_deliveries(store, log, clock)
    for _ in range(3):
        missed.run()
        clock.at += timedelta(minutes=20)
    assert [number for number in log.redelivered if number < LATER] == first_ids
    assert len(log.redelivered) <= 3 * MAX_REDELIVERIES


def test_given_up_deliveries_do_not_hold_others_back(store: Store) -> None:
    broken = [f"broken{number}" for number in range(MAX_REDELIVERIES)]
    log = DeliveryLog(*broken)
    missed = missed_deliveries(store, log)
    for _ in range(MOST_TIMES):
        missed.run()
    log.add_failed(LATEST, "lost")
    assert missed.run() == 1
    assert log.redelivered[-1] == LATEST


def test_round_queries_deliveries_since_shortly_before_the_last_one(store: Store) -> None:
    log, clock = DeliveryLog(), StoppedClock()
    missed = missed_deliveries(store, log, clock)
    missed.run()
    clock.at = NOW + timedelta(minutes=5)
    missed.run()
    clock.at = NOW + timedelta(days=30)
    missed.run()
    assert log.queried_since == [NOW - timedelta(hours=1), NOW - timedelta(minutes=10), NOW + timedelta(days=27)]


class RepairedLog(DeliveryLog):
    """A log in which each redelivery succeeds."""

    @override
    def redeliver(self, sent: DeliveryAttempt) -> bool:
        self.redelivered.append(sent.id)
        self.add_delivered(LATER + len(self.attempts), sent.guid)
        return True


def test_long_list_of_deliveries_is_read_over_several_rounds(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconcile, "MAX_REDELIVERIES", 4)
    log, clock = RepairedLog(*(f"d{number}" for number in range(20))), StoppedClock()
    log.most = 8
    missed = missed_deliveries(store, log, clock)
    for _ in range(12):
        clock.at += timedelta(minutes=5)
        missed.run()
    assert sorted(log.redelivered) == list(range(1, 21))
    assert max(log.read) <= log.most
    assert items(store.client.call("HKEYS", keys.MISSED_DELIVERIES.name)) == []


def test_new_deliveries_are_read_after_a_long_list(store: Store) -> None:
    log, clock = RepairedLog(*(f"d{number}" for number in range(5))), StoppedClock()
    log.most = 2
    missed = missed_deliveries(store, log, clock)
    missed.run()
    log.add_failed(LATEST, "new")
    for _ in range(9):
        missed.run()
    assert sorted(log.redelivered) == [1, 2, 3, 4, 5, LATEST]


def test_delivery_that_succeeded_later_is_not_redelivered(store: Store) -> None:
    log = DeliveryLog("a", "b")
    log.add_delivered(LATER, "a")
    log.add_failed(LATER + 1, "b")
    log.most = 1
    missed = missed_deliveries(store, log)
    for _ in range(4):
        missed.run()
    assert log.redelivered == [LATER + 1]


def test_pending_delivery_that_arrives_is_not_redelivered(store: Store) -> None:
    log = DeliveryLog(*(f"d{number}" for number in range(MAX_REDELIVERIES + 1)))
    missed = missed_deliveries(store, log)
    missed.run()
    last = f"d{MAX_REDELIVERIES}"
    log.attempts = []
    log.add_delivered(LATEST, last)
    missed.run()
    assert MAX_REDELIVERIES + 1 not in log.redelivered


def test_full_pending_list_is_not_extended_and_expires(store: Store) -> None:
    log, clock = DeliveryLog(), StoppedClock()
    progress = RedisProgress(store.client)
    at = NOW - timedelta(hours=1)
    progress.add_pending(
        [DeliveryAttempt(id=number, guid=f"w{number}", at=at, status_code=500) for number in range(MAX_PENDING)]
    )
    missed = missed_deliveries(store, log, clock)
    missed.run()
    assert (log.queried_since, len(log.redelivered)) == ([], MAX_REDELIVERIES)
    clock.at += timedelta(days=3)
    assert missed.run() == 0
    assert progress.pending() == []


class FailingLog(DeliveryLog):
    """A log in which redeliveries of *stuck* fail with 502."""

    def __init__(self, *guids: str, stuck: Collection[str]) -> None:
        super().__init__(*guids)
        self.stuck = stuck
        self.tried: list[str] = []

    @override
    def redeliver(self, sent: DeliveryAttempt) -> bool:
        self.tried.append(sent.guid)
        if sent.guid in self.stuck:
            raise Outage("GitHub", "answered 502")
        return super().redeliver(sent)


def test_failing_redelivery_is_postponed_and_reported_once(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    log, reported = FailingLog("odd", "a", "b", stuck={"odd"}), list[str]()
    missed = MissedDeliveries(
        log, RedisProgress(store.client), StoppedClock(), lambda attempt: reported.append(attempt.guid)
    )
    assert missed.run() == 2
    assert log.tried == ["odd", "a", "b"]
    for number in range(1, MAX_FAILED_ATTEMPTS):
        assert reported == []
        log.tried.clear()
        log.attempts.clear()
        log.add_failed(LATEST + number, f"new{number}")
        assert missed.run() == 1
        assert log.tried == [f"new{number}", "odd"], "behind the others"
    assert reported == ["odd"]
    assert [record.levelname for record in caplog.records if record.message.startswith("delivery requested after")] == [
        "WARNING"
    ]
    log.attempts.clear()
    missed.run()
    assert reported == ["odd"], "once"
    log.stuck = ()
    log.tried.clear()
    assert missed.run() == 1
    assert log.tried == ["odd"], "and not lost"


def test_outage_stops_redeliveries_and_loses_none(store: Store) -> None:
    guids = [f"d{number}" for number in range(20)]
    log = FailingLog(*guids, stuck=guids)
    progress = RedisProgress(store.client)
    missed = missed_deliveries(store, log)
    for _ in range(2):
        with pytest.raises(Outage):
            missed.run()
    assert log.tried == guids[: 2 * MAX_CONSECUTIVE_FAILURES], "others the next time"
    log.stuck = ()
    assert missed.run() == len(guids)
    assert progress.pending() == []


def test_rate_limit_counts_as_no_failure(store: Store) -> None:
    class Limited(DeliveryLog):
        @override
        def redeliver(self, sent: DeliveryAttempt) -> bool:
            self.redelivered.append(sent.id)
            raise RateLimited("GitHub", NOW)

    log, progress = Limited("a", "b"), RedisProgress(store.client)
    with pytest.raises(RateLimited):
        missed_deliveries(store, log).run()
    assert [attempt.failed for attempt in progress.pending()] == [0, 0]
    assert log.redelivered == [1]


def test_progress_records_where_the_last_sweep_stopped(store: Store) -> None:
    progress = RedisProgress(store.client)
    assert progress.round() == 1
    progress.goes_on(11)
    assert progress.round() == 11


class Repositories:
    """Pages of repositories, each with its open pull requests."""

    def __init__(self, *pages: Sequence[OpenRepository]) -> None:
        self.pages = pages
        self.pages_read: list[int] = []
        self.is_limited = False
        self.down: set[InstallationId] = set()
        self.visited: list[InstallationId] = []

    def list_page(self, installation: InstallationId, number: int) -> tuple[tuple[Repository, ...], bool]:
        self.visited.append(installation)
        if installation in self.down:
            raise Unavailable("GitHub", f"{installation}: 502")
        if self.is_limited:
            raise RateLimited("GitHub", NOW)
        self.pages_read.append(number)
        page = tuple(listed.repository for listed in self.pages[number - 1])
        return page, number < len(self.pages)

    def list_open(self, installation: InstallationId, repositories: Sequence[Repository]) -> Iterator[OpenRepository]:
        assert installation not in self.down
        yield from (listed for page in self.pages for listed in page if listed.repository in repositories)


class SweepState:
    """The store, the numbers of initial checks, and the requests of sweeps."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.clock = StoppedClock()
        self.initial_checks: list[int] = []

    @property
    def requests(self) -> list[JudgeRequest]:
        names = sorted(map(text, items(self.store.client.call("KEYS", "assay:*:pull:*"))))
        requests = filter(None, map(self.store.pulls.find_request, map(keys.parse_pull, names)))
        return [request for request in requests if request.delivery_id.startswith("swept-")]

    def show_initial_check(self, request: JudgeRequest, head_sha: Sha) -> None:
        self.store.pulls.record_initial_head(request.pull, head_sha)
        self.initial_checks.append(request.pull.number)


def open_repository(
    number: int, *pulls: int, opened_at: datetime = NOW, head_sha: str = HEAD, base: BaseHash = MAIN
) -> OpenRepository:
    repository = Repository(RepositoryId(number), f"acme/r{number}", is_busy=bool(pulls))
    listed = (OpenPull(pull, head_sha, opened_at, draft=False, author=AuthorKind.AGENT, base=base) for pull in pulls)
    return OpenRepository(repository, tuple(listed))


@pytest.fixture
def state(store: Store) -> SweepState:
    return SweepState(store)


CHECK = CheckRunId(77)
OPEN, ENDED = PublishedCheckRun(CHECK, None, "Judging"), PublishedCheckRun(CHECK, "success", "Accepted")


class GitHub:
    """GitHub with the same check run at every head. `then` runs after its answer."""

    def __init__(self, run: PublishedCheckRun | None) -> None:
        self.run = run
        self.queried: list[int] = []
        self.then: Callable[[], object] = lambda: None

    def newest_runs(
        self, installation: InstallationId, asked: Sequence[JudgeRequest]
    ) -> Sequence[PublishedCheckRun | None]:
        assert installation == INSTALLATION or not asked
        self.queried += [request.pull.number for request in asked]
        self.then()
        return [self.run] * len(asked)


def sweep_of(repositories: Repositories, state: SweepState) -> OpenPullSweep:
    progress, reopened = RedisProgress(state.store.client), ReopenedCheckSweep(GitHub(None), state.store)
    return OpenPullSweep(repositories, state.store, progress, state.clock, reopened, state.show_initial_check)


def sweep(state: SweepState, *repositories: OpenRepository, since: datetime = A_DAY_AGO) -> int:
    """Sweep these repositories of an installation that exists *since* then."""
    return sweep_of(Repositories(repositories), state).run(INSTALLATION, since)


def test_sweep_requests_heads_without_a_check_run_only(state: SweepState) -> None:
    state.store.checks().record_opened(pull_ref(1), HEAD, check=5)  # pyright: ignore[reportArgumentType] - an int
    assert sweep(state, open_repository(7, 1, 2)) == 1
    [request] = state.requests
    assert (request.pull.number, request.trigger, request.head_sha) == (2, Trigger.SWEEP, HEAD)


def record_checked_head(state: SweepState, *, base: BaseHash | None) -> None:
    """Record a check run of number 1 and its last known base."""
    state.store.pulls.request_judging(judge_request(base=base))
    state.store.checks().record_opened(pull_ref(), HEAD, CheckRunId(5))


def test_sweep_requests_a_judging_after_an_unannounced_base_change(state: SweepState) -> None:
    record_checked_head(state, base=MAIN)
    assert sweep(state, open_repository(7, 1)) == 0
    assert sweep(state, open_repository(7, 1, base=OTHER_BASE)) == 1
    [request] = state.requests
    assert (request.trigger, request.head_sha, request.base) == (Trigger.BASE, HEAD, OTHER_BASE)
    assert state.store.pulls.record_base(pull_ref(), MAIN) == OTHER_BASE
    assert sweep(state, open_repository(7, 1, base=OTHER_BASE)) == 0, "once"


def test_sweep_requests_a_judging_after_an_unannounced_return_to_an_earlier_head(state: SweepState) -> None:
    record_checked_head(state, base=MAIN)
    state.store.pulls.request_judging(judge_request(head_sha=NEWER, base=MAIN))
    state.store.checks().record_opened(pull_ref(), NEWER, CheckRunId(6))
    assert sweep(state, open_repository(7, 1, head_sha=NEWER)) == 0
    assert sweep(state, open_repository(7, 1)) == 0, "the judging of the newer head queries GitHub"
    state.store.client.call("HDEL", keys.pull(pull_ref()).name, "state")
    assert sweep(state, open_repository(7, 1)) == 1
    [request] = state.requests
    assert (request.trigger, request.head_sha) == (Trigger.SWEEP, HEAD)
    assert sweep(state, open_repository(7, 1)) == 0, "once"


def test_sweep_learns_an_unknown_base_and_requests_a_judging_after_its_change(state: SweepState) -> None:
    record_checked_head(state, base=None)
    assert sweep(state, open_repository(7, 1)) == 0
    assert sweep(state, open_repository(7, 1, base=OTHER_BASE)) == 1
    [request] = state.requests
    assert (request.trigger, request.base) == (Trigger.BASE, OTHER_BASE)


def test_sweep_keeps_the_initial_check_after_a_base_change(state: SweepState) -> None:
    assert sweep(state, open_repository(7, 1, opened_at=NOW - timedelta(days=2))) == 1
    assert sweep(state, open_repository(7, 1, opened_at=NOW - timedelta(days=2), base=OTHER_BASE)) == 0
    assert sweep(state, open_repository(7, 1, opened_at=NOW - timedelta(days=2))) == 0
    assert (state.initial_checks, state.requests) == ([1], [])
    assert state.store.client.call("EXISTS", keys.pull(pull_ref()).name) == 0


def request_judging(store: Store) -> None:
    store.pulls.request_judging(judge_request())


@pytest.mark.parametrize("prepare", [request_judging, record_verdict])
def test_older_pull_request_gets_an_initial_check_unless_requested_or_judged(
    state: SweepState, prepare: Callable[[Store], None]
) -> None:
    prepare(state.store)
    assert sweep(state, open_repository(7, 1, 2, opened_at=NOW - timedelta(days=2))) == 2
    assert (state.initial_checks, [request.pull.number for request in state.requests]) == ([2], [1])


def add_repository(store: Store, since: datetime, number: int = 7, installation: InstallationId = INSTALLATION) -> None:
    ids: dict[str, Any] = {"installation_id": installation, "repository_id": number}
    add_repositories(store.client, [RepositoryAdded(**ids, repository=f"acme/r{number}", since=since)])


def test_new_repository_of_an_old_installation_gets_initial_checks(state: SweepState) -> None:
    sweep(state, open_repository(REPOSITORY, 1, 2, opened_at=A_MONTH_AGO), since=A_YEAR_AGO)
    assert (state.initial_checks, state.requests) == ([1, 2], [])
    add_repository(state.store, NOW + timedelta(days=1))
    pending = state.store.added_repositories.next()
    assert pending is not None
    assert pending.added.since == NOW


def test_initial_check_stays_until_the_next_push(state: SweepState) -> None:
    sweep(state, open_repository(REPOSITORY, 1, opened_at=A_MONTH_AGO), since=A_YEAR_AGO)
    state.clock.at = NOW + timedelta(days=90)
    assert sweep(state, open_repository(REPOSITORY, 1, opened_at=A_MONTH_AGO), since=A_YEAR_AGO) == 0
    pushed = open_repository(REPOSITORY, 1, opened_at=A_MONTH_AGO, head_sha=NEWER)
    assert sweep(state, pushed, since=A_YEAR_AGO) == 1
    assert ([request.head_sha for request in state.requests], state.initial_checks) == ([NEWER], [1])


def test_pull_request_opened_in_the_second_of_the_first_look_is_not_older(state: SweepState) -> None:
    state.clock.at = NOW + timedelta(milliseconds=900)
    assert sweep(state, open_repository(REPOSITORY, 1, opened_at=NOW), since=A_YEAR_AGO) == 1
    assert ([request.pull.number for request in state.requests], state.initial_checks) == ([1], [])


def test_pull_request_opened_after_the_first_look_is_requested(state: SweepState) -> None:
    add_repository(state.store, A_MONTH_AGO)
    pending = state.store.added_repositories.next()
    assert pending is not None
    state.store.added_repositories.complete(pending.added)
    sweep(state, open_repository(8), since=A_YEAR_AGO)
    state.clock.at = NOW + timedelta(hours=2)
    first = open_repository(REPOSITORY, 1, opened_at=NOW - timedelta(days=29))
    second = open_repository(8, 2, opened_at=NOW + timedelta(hours=1))
    sweep(state, first, second, since=A_YEAR_AGO)
    assert ([request.pull.number for request in state.requests], state.initial_checks) == ([1, 2], [])


def test_first_look_at_a_judged_repository_is_the_installation_unless_removed(state: SweepState) -> None:
    state.store.pulls.request_judging(judge_request(9, head_sha=NEWER))  # records its name
    repository = Repository(REPOSITORY, judge_request().repository)
    assert state.store.first_seen.record_seen(INSTALLATION, [repository], A_YEAR_AGO, NOW) == {REPOSITORY: A_YEAR_AGO}
    state.store.first_seen.remove(INSTALLATION, [REPOSITORY])
    assert state.store.first_seen.seen_since(INSTALLATION, REPOSITORY) is None
    assert state.store.first_seen.record_seen(INSTALLATION, [repository], A_YEAR_AGO, NOW) == {REPOSITORY: NOW}
    assert state.store.first_seen.record_seen(INSTALLATION, [], A_YEAR_AGO, NOW) == {}


def test_renamed_repository_is_found_by_both_names(state: SweepState) -> None:
    state.store.pulls.request_judging(judge_request(9, head_sha=NEWER))
    find, was = partial(find_repositories, state.store.client), judge_request().repository

    def see(name: str, other_name: str) -> None:
        repositories = [Repository(REPOSITORY, name), Repository(RepositoryId(8), other_name)]
        state.store.first_seen.record_seen(INSTALLATION, repositories, NOW, NOW)

    see(was, "acme/other")
    assert find("acme/gadgets") == []
    see("acme/gadgets", "acme/others")
    assert find("acme/gadgets") == find(was) == [(INSTALLATION, REPOSITORY)]
    assert find("acme/others") == [], "nothing is recorded of it"
    see("acme/gizmos", "acme/others")
    assert find("acme/gizmos") == [(INSTALLATION, REPOSITORY)], "renamed again"


def test_sweep_skips_a_repository_until_its_initial_checks(state: SweepState) -> None:
    add_repository(state.store, NOW, 7, INSTALLATION)
    add_repository(state.store, NOW, 8, OTHER)
    assert sweep(state, open_repository(7, 1), open_repository(8, 2), since=A_YEAR_AGO) == 1
    assert [request.pull.number for request in state.requests] == [2]


def test_outage_of_one_installation_does_not_stop_the_others(
    state: SweepState, caplog: pytest.LogCaptureFixture
) -> None:
    repositories = Repositories([open_repository(7, 1)])
    repositories.down = {OTHER}
    sweep_of(repositories, state).run_all((installation, A_DAY_AGO) for installation in (OTHER, INSTALLATION, THIRD))
    assert repositories.visited == [OTHER, INSTALLATION, THIRD]
    swept = [vars(record)["installation_id"] for record in caplog.records if record.message == "untracked heads queued"]
    assert swept == [INSTALLATION, THIRD]
    assert "101: 502" in caplog.text


def test_outage_of_all_installations_is_raised(state: SweepState) -> None:
    repositories = Repositories([open_repository(7, 1)])
    repositories.down = {INSTALLATION, OTHER}
    with pytest.raises(Unavailable, match="101"):
        sweep_of(repositories, state).run_all((installation, NOW) for installation in (OTHER, INSTALLATION))
    sweep_of(repositories, state).run_all([])


def test_sweep_continues_where_the_last_one_stopped(state: SweepState) -> None:
    repositories = Repositories(*([open_repository(number)] for number in range(1, 6)))
    sweep = sweep_of(repositories, state)
    sweep.run(INSTALLATION, NOW)
    sweep.run(INSTALLATION, NOW)
    assert repositories.pages_read == [1, 2, 3, 4, 5]
    sweep.run(INSTALLATION, NOW)
    assert repositories.pages_read[5:] == [1, 2, 3]


def test_heads_per_sweep_are_limited(state: SweepState) -> None:
    assert sweep(state, open_repository(7, *range(1, MAX_HEADS + 10))) == MAX_HEADS


def test_sweep_stops_at_a_rate_limit(state: SweepState) -> None:
    repositories = Repositories([open_repository(7, 1)])
    repositories.is_limited = True
    assert sweep_of(repositories, state).run(INSTALLATION, NOW) == 0


def record_judged(store: Store, ref: PullRef | None = None) -> None:
    store.pulls.request_judging(judge_request())
    store.pulls.finish(start_judging(store).lease, Finish.JUDGED)
    store.checks().record_concluded(ref or pull_ref(), HEAD)


def restore_backup(store: Store) -> None:
    """Make the records those of an earlier Redis server."""
    store.client.call("HSET", keys.pull(pull_ref()).name, "served", "another")


def record_judged_by_earlier_server(store: Store) -> None:
    record_judged(store)
    restore_backup(store)


def record_initial_head(store: Store) -> None:
    store.pulls.record_initial_head(pull_ref(), HEAD)


def requeue_reopened(store: Store, github: GitHub, *numbers: int) -> int:
    requests = [judge_request(number) for number in numbers or (1,)]
    return ReopenedCheckSweep(github, store).requeue_reopened(INSTALLATION, requests)


def test_head_judged_by_this_server_is_not_queried(store: Store) -> None:
    record_judged(store)
    github = GitHub(OPEN)
    assert (requeue_reopened(store, github), github.queried) == (0, [])


def test_check_run_open_at_github_only_is_judged_again_once(store: Store) -> None:
    record_judged_by_earlier_server(store)
    github = GitHub(OPEN)
    assert requeue_reopened(store, github) == 1
    again = start_judging(store)
    assert (again.request.trigger, again.request.head_sha) == (Trigger.LATE, None)
    assert again.request.requested_at == REQUESTED_AT, "the recorded answer stays valid"
    store.pulls.finish(again.lease, Finish.JUDGED)
    assert (requeue_reopened(store, github), github.queried) == (0, [1])
    restore_backup(store)
    assert requeue_reopened(store, github) == 0, "once per server"


@pytest.mark.parametrize(
    ("prepare", "run"),
    [(record_judged_by_earlier_server, ENDED), (record_judged_by_earlier_server, None), (record_initial_head, ENDED)],
)
def test_check_run_concluded_at_github_is_queried_once(
    store: Store, prepare: Callable[[Store], None], run: PublishedCheckRun | None
) -> None:
    prepare(store)
    github, initial = GitHub(run), store.pulls.find_initial_head(pull_ref())
    assert [requeue_reopened(store, github), requeue_reopened(store, github)] == [0, 0]
    assert github.queried == [1]
    assert store.pulls.find_initial_head(pull_ref()) == initial


def test_request_after_the_query_outdates_its_answer(store: Store) -> None:
    record_judged_by_earlier_server(store)
    github = GitHub(OPEN)
    github.then = lambda: store.pulls.request_judging(judge_request())
    assert requeue_reopened(store, github) == 0, "that judging concludes the check run"
    assert start_judging(store).request.trigger is not Trigger.LATE


def test_change_while_a_head_is_confirmed_keeps_it_doubtful(store: Store) -> None:
    record_judged_by_earlier_server(store)
    before = store.checks().doubt(pull_ref(), HEAD)
    store.client.call("HINCRBY", keys.pull(pull_ref()).name, "seq", 1)
    store.checks().is_as_known(pull_ref(), HEAD, before)
    assert store.checks().doubt(pull_ref(), HEAD) not in {"", before}


def test_reopened_initial_check_is_judged(store: Store) -> None:
    store.pulls.record_initial_head(pull_ref(), HEAD)
    assert requeue_reopened(store, GitHub(OPEN)) == 1
    assert start_judging(store).request.delivery_id.startswith(f"late-check-{CHECK}-")


def test_request_without_a_head_is_not_queried(store: Store) -> None:
    github = GitHub(OPEN)
    assert (
        ReopenedCheckSweep(github, store).requeue_reopened(
            INSTALLATION, [judge_request().model_copy(update={"head_sha": None})]
        )
        == 0
    )
    assert github.queried == []


def test_doubtful_heads_per_round_are_limited(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconcile, "MAX_DOUBTFUL_HEADS", 3)
    github = GitHub(ENDED)
    for number in range(1, 6):
        store.pulls.record_initial_head(pull_ref(number), HEAD)
    requeue_reopened(store, github, *range(1, 6))
    assert github.queried == [1, 2, 3]
    requeue_reopened(store, github, *range(1, 6))
    assert github.queried == [1, 2, 3, 4, 5]


def test_query_creates_no_records_of_an_unknown_pull_request(store: Store) -> None:
    store.pulls.record_initial_head(pull_ref(), HEAD)
    assert requeue_reopened(store, GitHub(ENDED)) == 0
    assert store.client.call("EXISTS", keys.pull(pull_ref()).name) == 0, "it was never requested"
    store.first_seen.remove(INSTALLATION, [pull_ref().repository_id])
    store.client.call("DEL", keys.first_seen(INSTALLATION, pull_ref().repository_id).name)  # as if it expired
    assert requeue_reopened(store, GitHub(ENDED)) == 0
    left = [keys.pull(pull_ref()).name, keys.first_seen(INSTALLATION, pull_ref().repository_id).name]
    assert [store.client.call("EXISTS", name) for name in left] == [0, 0]
