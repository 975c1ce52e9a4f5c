"""A judge that loses its lease in the middle writes nothing more: the real judge, before a real GitHub and Redis.

Another process would have to be stopped within a millisecond for this; here the lease runs out right after an answer of
Redis. What GitHub shows afterwards is all that counts.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import partial
from http import HTTPStatus
from itertools import count, pairwise
from typing import Any

import pytest

from tests.worker.adapters.redis.store_samples import REQUESTED_AT, expire_lease, judge_request, make_due, pull_ref
from tests.world.changes import PROJECT, STUB
from tests.world.fake_github import FakeGitHub
from tests.world.people import Person
from tests.world.product import build_environment
from tests.world.pull_requests import PullRequest, Repository
from tests.world.redis import RedisServer
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import Argument, RedisClient, Reply
from worker.adapters.redis.judging import intake
from worker.adapters.redis.judging.check_runs import RedisCheckRegistry
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.ids import hash_base
from worker.domain.judge_request import HEAD_TRIGGERS, FirstSeen, JudgeRequest, Trigger
from worker.domain.lifecycle.judging import Finish, FinishResult, JudgingCompleted, JudgingSuperseded
from worker.domain.lifecycle.work import DispatchLimits, LeasedJob
from worker.errors import LeaseLost
from worker.publishing.check_runs import no_lease
from worker.publishing.texts.states import judging_content
from worker.settings import Settings, Timing, read_settings
from worker.wiring.app import open_app

NUMBERS = count(1)


NEVER, CHECK_OPENED, RECORDED = "never written", keys.DEADLINE_NOTES.name, ":ledger:"
"""Names of what a transaction writes."""


class Overtaking(RedisClient):
    """Redis, where something else happens right after it wrote to a key with this in its name."""

    def __init__(self, store: Store, url: str, after: str, happens: Callable[[], object]) -> None:
        super().__init__(url, store.timing.redis_timeout)
        self._after, self._happens = after, happens

    def pipeline(self, commands: Sequence[tuple[Argument, ...]]) -> list[Reply]:
        replies = super().pipeline(commands)
        for command, reply in zip(commands, replies, strict=True):
            if reply and any(verb == "HSET" and self._after in str(name) for verb, name in pairwise(command)):
                self._happens()
        return replies


@pytest.fixture(scope="module")
def github() -> Iterator[FakeGitHub]:
    bench = FakeGitHub.start()
    yield bench
    bench.stop()


@pytest.fixture
def settings(github: FakeGitHub, redis_server: RedisServer) -> Settings:
    nobody = {"ANTHROPIC_BASE_URL": "", "ANTHROPIC_API_KEY": ""}
    return read_settings(build_environment(github.info, "", redis_server, nobody))


@pytest.fixture
def opened(github: FakeGitHub) -> PullRequest:
    made = github.control("repo", name=f"widgets-{next(NUMBERS)}", files=PROJECT)
    return Person("bob", github, Repository(github, made["full_name"], made["id"])).open_pull_request(STUB)


@pytest.fixture
def taken(store: Store, opened: PullRequest) -> LeasedJob:
    """The judging of this pull request was begun."""
    return begins(store, opened, Trigger.PUSHED, REQUESTED_AT)


def begins(store: Store, opened: PullRequest, trigger: Trigger, at: datetime, **said: Any) -> LeasedJob:
    """Begin what is due once this is wanted, too. *said*: what else the delivery says, of its arrival as the door does."""
    ref = pull_ref(opened.number, repository=opened.repository.id)
    changes: dict[str, Any] = {"head_sha": opened.head, "trigger": trigger, "requested_at": at, **said}
    if trigger in HEAD_TRIGGERS:
        changes["arrived"] = FirstSeen(head_sha=changes["head_sha"], at=at)
    store.pulls.request_judging(judge_request(pull=ref, repository=opened.repository.name, **changes))
    given = store.pulls.next_due(f"call-{next(NUMBERS)}", DispatchLimits(1, 1))
    assert given is not None
    begun = store.pulls.take_lease(ref, given.fence)
    assert begun is not None
    return begun


def judge(
    here: Settings, store: Store, taken: LeasedJob, after: str, happens: Callable[[], object] | None = None
) -> object:
    """*happens*: right after this was written; if it is not said what, the lease runs out."""
    assert here.redis_url is not None
    request: JudgeRequest = taken.request
    happens = happens or partial(expire_lease, store, request.pull)
    wire = Overtaking(store, here.redis_url.get_secret_value(), after, happens)
    with open_app(here, Store(wire, store.codec, store.url, store.timing)) as context:
        try:
            return context.judge(request, taken.lease, None)
        finally:
            wire.close()


def test_a_judge_that_is_not_overtaken_records_and_publishes(
    settings: Settings, store: Store, taken: LeasedJob, opened: PullRequest
) -> None:
    assert isinstance(judge(settings, store, taken, NEVER), JudgingCompleted)
    assert opened.check.conclusion == "failure"
    assert len(store.ledger.entries(taken.request.pull)) == 1


def test_what_a_dead_process_left_on_an_older_head_is_cancelled_with_the_verdict_on_the_newer_one(
    settings: Settings, store: Store, github: FakeGitHub, opened: PullRequest
) -> None:
    old = opened.head
    Person("bob", github, opened.repository).push(opened, {"more.py": "MORE = 1\n"})
    taken = begins(store, opened, Trigger.PUSHED, REQUESTED_AT)
    assert RedisCheckRegistry(store.client, Timing(open_hold=0.01)).claim(taken.request.pull, old) is None
    with open_app(settings, store) as context:
        context.checks.with_fence(no_lease).create(taken.request, old, judging_content())
    judge(settings, store, taken, NEVER)
    assert [one.conclusion for one in opened.checks_of(old)] == ["cancelled"]
    assert opened.check.conclusion == "failure"


@pytest.mark.parametrize(
    ("trigger", "entries"), [(Trigger.PUSHED, 1), (Trigger.OPENED, 1), (Trigger.REOPENED, 2), (Trigger.RERUN, 2)]
)
def test_the_arrival_of_a_head_that_is_told_after_its_verdict_brings_no_second_one(
    settings: Settings, store: Store, taken: LeasedJob, opened: PullRequest, trigger: Trigger, entries: int
) -> None:
    judge(settings, store, taken, NEVER)
    store.pulls.finish(taken.lease, Finish.JUDGED)
    late = SystemClock().now() + timedelta(hours=1)
    judge(settings, store, begins(store, opened, trigger, late), NEVER)
    assert opened.check.conclusion == "failure"
    recorded = store.ledger.entries(taken.request.pull)
    assert len(recorded) == entries
    assert opened.verdict["eval_id"] == recorded[-1].eval_id


def test_a_command_is_followed_though_the_arrival_of_a_head_is_told_after_it(
    settings: Settings, store: Store, taken: LeasedJob, opened: PullRequest
) -> None:
    judge(settings, store, taken, NEVER)
    store.pulls.finish(taken.lease, Finish.JUDGED)
    asked = SystemClock().now() + timedelta(hours=1)
    store.pulls.request_judging(
        judge_request(
            pull=taken.request.pull,
            repository=opened.repository.name,
            head_sha=None,
            trigger=Trigger.COMMAND,
            requested_at=asked,
        )
    )
    told = begins(store, opened, Trigger.PUSHED, asked + timedelta(seconds=1), head_sha="e" * 40)
    assert told.request.trigger is Trigger.COMMAND
    judge(settings, store, told, NEVER)
    assert len(store.ledger.entries(taken.request.pull)) == 2


def test_a_judge_that_was_overtaken_while_it_read_shows_nothing(
    settings: Settings, store: Store, taken: LeasedJob, opened: PullRequest
) -> None:
    expire_lease(store, taken.request.pull)
    with pytest.raises(LeaseLost):
        judge(settings, store, taken, NEVER)
    assert opened.repository.checks == []


def test_a_judge_that_was_overtaken_while_it_judged_records_nothing(
    settings: Settings, store: Store, taken: LeasedJob, opened: PullRequest
) -> None:
    with pytest.raises(LeaseLost):
        judge(settings, store, taken, CHECK_OPENED)
    assert opened.check.status == "in_progress", "and whoever took over ends it"
    assert store.ledger.entries(taken.request.pull) == ()


def test_a_judge_that_was_overtaken_after_it_recorded_publishes_nothing(
    settings: Settings, store: Store, taken: LeasedJob, opened: PullRequest
) -> None:
    with pytest.raises(LeaseLost):
        judge(settings, store, taken, RECORDED)
    assert opened.check.status == "in_progress", "and whoever took over publishes what was recorded"
    assert len(store.ledger.entries(taken.request.pull)) == 1


def held_and_overtaken(github: FakeGitHub, store: Store, taken: LeasedJob, match: str) -> None:
    """GitHub keeps its answer to itself for a while, and the lease runs out before it comes."""
    caught = github.control("trap", match=match, after=True, wait=60_000, hold=1_000)
    assert caught["line"]
    expire_lease(store, taken.request.pull)


def conclusions(github: FakeGitHub, opened: PullRequest) -> list[Any]:
    """What GitHub was sent to end a check run with, whatever it answered."""
    asked = github.traffic(f"^(POST|PATCH) /repos/{opened.repository.name}/check-runs")
    return [said for one in asked if (said := json.loads(one["sent"] or "{}").get("conclusion"))]


@pytest.mark.parametrize(
    ("match", "status", "sent"),
    [("GET /repos/.*/annotations", 200, []), ("PATCH /repos/.*/check-runs/", 502, ["failure"])],
    ids=["while it reads what is shown", "while its answer is lost"],
)
def test_a_judge_that_is_overtaken_between_two_requests_of_its_verdict_sends_no_more(  # noqa: PLR0913, PLR0917 - fixtures
    settings: Settings,
    store: Store,
    github: FakeGitHub,
    taken: LeasedJob,
    opened: PullRequest,
    match: str,
    status: int,
    sent: list[str],
) -> None:
    if status != HTTPStatus.OK:
        github.fault(match, status=status)
    with ThreadPoolExecutor(1) as pool:
        overtaken = pool.submit(held_and_overtaken, github, store, taken, match)
        with pytest.raises(LeaseLost):
            judge(settings, store, taken, NEVER)
        overtaken.result()
    assert conclusions(github, opened) == sent
    assert opened.check.status == "in_progress", "and whoever took over publishes what was recorded"
    assert len(store.ledger.entries(taken.request.pull)) == 1


def test_nobody_judges_by_rules_that_changed_while_they_were_read(
    settings: Settings, store: Store, taken: LeasedJob, opened: PullRequest
) -> None:
    ref = taken.request.pull
    place = (store.client, ref.installation_id, ref.repository_id, hash_base("main"))
    assert (
        judge(settings, store, taken, CHECK_OPENED, partial(intake.find_requests_by_base, *place))
        == JudgingSuperseded()
    )
    assert (opened.check.status, store.ledger.entries(ref)) == ("in_progress", ())
    assert store.client.call("HGET", keys.pull(ref).name, "eval") is None, "nor was a beginning told"
    assert store.pulls.finish(taken.lease, Finish.AGAIN) is FinishResult.AGAIN
    again = begins(store, opened, Trigger.PUSHED, REQUESTED_AT)
    assert isinstance(judge(settings, store, again, NEVER), JudgingCompleted)


@pytest.mark.parametrize(
    ("trigger", "said"),
    [
        (Trigger.BASE, "Judging again: the base changed"),
        (Trigger.TEXT, "Judging again: its title or description was edited"),
        (Trigger.EDITED, "Judging again: the linked issues changed"),
        (Trigger.CRITERIA, "Judging again: the issue was edited"),
        (Trigger.RULES, "Judging again: the rules changed"),
        (Trigger.CASE, "Judging"),
        (Trigger.REOPENED, "Judging"),
        (Trigger.READY, "Judging"),
    ],
)
def test_a_verdict_on_what_reads_otherwise_by_now_is_recorded_and_not_shown(
    settings: Settings, store: Store, taken: LeasedJob, opened: PullRequest, trigger: Trigger, said: str
) -> None:
    ref, name = taken.request.pull, opened.repository.name
    edited = judge_request(pull=ref, repository=name, head_sha=opened.head, trigger=trigger)
    outcome = judge(settings, store, taken, RECORDED, partial(store.pulls.request_judging, edited))
    assert outcome == JudgingSuperseded()
    assert opened.check == ("in_progress", None, said)
    assert [*store.checks().open_checks(ref)] == [opened.head], "and the watchdog sees to it"
    assert len(store.ledger.entries(ref)) == 1
    assert store.pulls.finish(taken.lease, Finish.AGAIN) is FinishResult.AGAIN

    make_due(store, ref)
    given = store.pulls.next_due("again", DispatchLimits(1, 1))
    again = store.pulls.take_lease(ref, given.fence) if given else None
    assert again is not None
    assert isinstance(judge(settings, store, again, NEVER), JudgingCompleted)
    assert opened.check.conclusion == "failure"
    assert len(opened.checks_of(opened.head)) == 1


def test_a_command_while_it_is_judged_keeps_no_verdict_back(
    settings: Settings, store: Store, taken: LeasedJob, opened: PullRequest
) -> None:
    asked = judge_request(
        pull=taken.request.pull, repository=opened.repository.name, head_sha=None, trigger=Trigger.COMMAND
    )
    assert isinstance(
        judge(settings, store, taken, RECORDED, partial(store.pulls.request_judging, asked)), JudgingCompleted
    )
    assert opened.check.conclusion == "failure"
