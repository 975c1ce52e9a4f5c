"""A judge that loses its lease writes nothing more: the real judge, with the fake GitHub and a real Redis."""

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from http import HTTPStatus
from itertools import count, pairwise
from typing import Any

import pytest

from tests.worker.adapters.redis.store_samples import REQUESTED_AT, expire_lease, judge_request, pull_ref, start_judging
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
from worker.domain.judge_request import HEAD_TRIGGERS, FirstSeen, JudgeRequest, PullRef, Trigger
from worker.domain.lifecycle.judging import Finish, FinishResult, JudgingCompleted, JudgingSuperseded
from worker.domain.lifecycle.work import LeasedJob
from worker.domain.model import hash_base
from worker.domain.verdict.ledger import LedgerEntry
from worker.errors import LeaseLost
from worker.process import SystemClock
from worker.publishing.check_runs import no_lease
from worker.publishing.texts.states import judging_content
from worker.settings import Settings, Timing, read_settings
from worker.wiring.app import open_app

NUMBERS = count(1)


NEVER, CHECK_OPENED, RECORDED = "never written", keys.DEADLINE_NOTES.name, ":ledger:"


class InterruptingClient(RedisClient):
    """A Redis client that acts right after the first write to a key whose name contains *after*."""

    def __init__(self, store: Store, after: str, action: Callable[[], object]) -> None:
        super().__init__(store.url.get_secret_value(), store.timing.redis_timeout)
        self._after, self._action = after, action

    def pipeline(self, commands: Sequence[tuple[Argument, ...]]) -> list[Reply]:
        replies = super().pipeline(commands)
        for command, reply in zip(commands, replies, strict=True):
            if reply and any(verb == "HSET" and self._after in str(name) for verb, name in pairwise(command)):
                self._action()
        return replies


@pytest.fixture(scope="module")
def github() -> Iterator[FakeGitHub]:
    server = FakeGitHub.start()
    yield server
    server.stop()


@pytest.fixture
def settings(github: FakeGitHub, redis_server: RedisServer) -> Settings:
    without_model = {"ANTHROPIC_BASE_URL": "", "ANTHROPIC_API_KEY": ""}
    return read_settings(build_environment(github.info, "", redis_server, without_model))


@pytest.fixture
def pull_request(github: FakeGitHub) -> PullRequest:
    created = github.control("repo", name=f"widgets-{next(NUMBERS)}", files=PROJECT)
    return Person("bob", github, Repository(github, created["full_name"], created["id"])).open_pull_request(STUB)


@dataclass
class Judging:
    """A pull request, its leased job, and the real judge."""

    settings: Settings
    store: Store
    pull_request: PullRequest
    ref: PullRef
    job: LeasedJob = field(init=False)

    def request(self, trigger: Trigger, **changes: Any) -> JudgeRequest:
        standard: dict[str, Any] = {"pull": self.ref, "repository": self.pull_request.repository.name}
        standard |= {"head_sha": self.pull_request.head, "trigger": trigger}
        return judge_request(**(standard | changes))

    def lease(self, trigger: Trigger, at: datetime = REQUESTED_AT, **changes: Any) -> LeasedJob:
        """Request a judging as the web server does, and lease the job that is due."""
        request = self.request(trigger, requested_at=at, **changes)
        if trigger in HEAD_TRIGGERS:
            request = request.model_copy(update={"arrived": FirstSeen(head_sha=request.head_sha or "", at=at)})
        self.store.pulls.request_judging(request)
        self.job = start_judging(self.store, self.ref)
        return self.job

    def judge(self, after: str = NEVER, action: Callable[[], object] | None = None) -> object:
        """Judge, and run *action* right after a write to *after*; the default ends the lease."""
        action = action or partial(expire_lease, self.store, self.ref)
        with closing(InterruptingClient(self.store, after, action)) as client:
            interrupted = Store(client, self.store.codec, self.store.url, self.store.timing)
            with open_app(self.settings, interrupted) as context:
                return context.judge(self.job.request, self.job.lease, None)

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        return self.store.ledger.entries(self.ref)


@pytest.fixture
def judging(settings: Settings, store: Store, pull_request: PullRequest) -> Judging:
    ref = pull_ref(pull_request.number, repository=pull_request.repository.id)
    made = Judging(settings, store, pull_request, ref)
    made.lease(Trigger.PUSHED)
    return made


def test_judge_with_a_lease_records_and_publishes(judging: Judging) -> None:
    assert isinstance(judging.judge(), JudgingCompleted)
    assert judging.pull_request.check.conclusion == "failure"
    assert len(judging.entries) == 1


def test_verdict_cancels_an_abandoned_check_run_of_an_older_head(judging: Judging, github: FakeGitHub) -> None:
    judging.store.pulls.finish(judging.job.lease, Finish.JUDGED)
    old = judging.pull_request.head
    Person("bob", github, judging.pull_request.repository).push(judging.pull_request, {"more.py": "MORE = 1\n"})
    judging.lease(Trigger.PUSHED)
    assert RedisCheckRegistry(judging.store.client, Timing(open_hold=0.01)).claim(judging.ref, old) is None
    with open_app(judging.settings, judging.store) as context:
        context.checks.with_fence(no_lease).create(judging.job.request, old, judging_content())
    judging.judge()
    assert [check.conclusion for check in judging.pull_request.checks_of(old)] == ["cancelled"]
    assert judging.pull_request.check.conclusion == "failure"


@pytest.mark.parametrize(
    ("trigger", "entries"), [(Trigger.PUSHED, 1), (Trigger.OPENED, 1), (Trigger.REOPENED, 2), (Trigger.RERUN, 2)]
)
def test_late_delivery_of_a_judged_head_adds_no_ledger_entry(judging: Judging, trigger: Trigger, entries: int) -> None:
    judging.judge()
    judging.store.pulls.finish(judging.job.lease, Finish.JUDGED)
    late = SystemClock().now() + timedelta(hours=1)
    judging.lease(trigger, late)
    judging.judge()
    assert judging.pull_request.check.conclusion == "failure"
    recorded = judging.entries
    assert len(recorded) == entries
    assert judging.pull_request.verdict["eval_id"] == recorded[-1].eval_id


def test_late_delivery_of_a_head_does_not_replace_a_command(judging: Judging) -> None:
    judging.judge()
    judging.store.pulls.finish(judging.job.lease, Finish.JUDGED)
    asked_at = SystemClock().now() + timedelta(hours=1)
    judging.store.pulls.request_judging(judging.request(Trigger.COMMAND, head_sha=None, requested_at=asked_at))
    judging.lease(Trigger.PUSHED, asked_at + timedelta(seconds=1), head_sha="e" * 40)
    assert judging.job.request.trigger is Trigger.COMMAND
    judging.judge()
    assert len(judging.entries) == 2


def test_judge_without_a_lease_opens_no_check_run(judging: Judging) -> None:
    expire_lease(judging.store, judging.ref)
    with pytest.raises(LeaseLost):
        judging.judge()
    assert judging.pull_request.repository.checks == []


@pytest.mark.parametrize(("after", "entries"), [(CHECK_OPENED, 0), (RECORDED, 1)], ids=["judging", "recorded"])
def test_judge_that_loses_its_lease_records_and_publishes_no_more(judging: Judging, after: str, entries: int) -> None:
    with pytest.raises(LeaseLost):
        judging.judge(after)
    assert judging.pull_request.check.status == "in_progress", "left to the next judge"
    assert len(judging.entries) == entries


def delay_and_expire(github: FakeGitHub, judging: Judging, match: str) -> None:
    """Delay an answer of GitHub, and end the lease meanwhile."""
    caught = github.control("trap", match=match, after=True, wait=60_000, hold=1_000)
    assert caught["line"]
    expire_lease(judging.store, judging.ref)


def sent_conclusions(github: FakeGitHub, pull_request: PullRequest) -> list[Any]:
    """Return the conclusions that GitHub received, whatever it answered."""
    exchanges = github.traffic(f"^(POST|PATCH) /repos/{pull_request.repository.name}/check-runs")
    bodies = [json.loads(exchange["sent"] or "{}") for exchange in exchanges]
    return [body["conclusion"] for body in bodies if body.get("conclusion")]


@pytest.mark.parametrize(
    ("match", "status", "sent"),
    [("GET /repos/.*/annotations", 200, []), ("PATCH /repos/.*/check-runs/", 502, ["failure"])],
    ids=["while it reads what is shown", "while its answer is lost"],
)
def test_judge_that_loses_its_lease_while_publishing_sends_no_more(
    judging: Judging, github: FakeGitHub, match: str, status: int, sent: list[str]
) -> None:
    if status != HTTPStatus.OK:
        github.fault(match, status=status)
    with ThreadPoolExecutor(1) as pool:
        overtaken = pool.submit(delay_and_expire, github, judging, match)
        with pytest.raises(LeaseLost):
            judging.judge()
        overtaken.result()
    assert sent_conclusions(github, judging.pull_request) == sent
    assert judging.pull_request.check.status == "in_progress", "left to the next judge"
    assert len(judging.entries) == 1


def test_judging_is_superseded_if_the_base_changes_while_it_reads(judging: Judging) -> None:
    ref = judging.ref
    base = (judging.store.client, ref.installation_id, ref.repository_id, hash_base("main"))
    push_to_base = partial(intake.find_requests_by_base, *base)
    assert judging.judge(CHECK_OPENED, push_to_base) == JudgingSuperseded()
    assert (judging.pull_request.check.status, judging.entries) == ("in_progress", ())
    assert judging.store.client.call("HGET", keys.pull(ref).name, "eval") is None, "no start is recorded"
    assert judging.store.pulls.finish(judging.job.lease, Finish.AGAIN) is FinishResult.AGAIN
    judging.lease(Trigger.PUSHED)
    assert isinstance(judging.judge(), JudgingCompleted)


@pytest.mark.parametrize(
    ("trigger", "title"),
    [
        (Trigger.BASE, "Judging again: the base changed"),
        (Trigger.TEXT, "Judging again: its title or description was edited"),
        (Trigger.CASE, "Judging"),
    ],
)
def test_verdict_on_edited_input_is_recorded_and_not_shown(judging: Judging, trigger: Trigger, title: str) -> None:
    edited = judging.request(trigger)
    outcome = judging.judge(RECORDED, partial(judging.store.pulls.request_judging, edited))
    assert outcome == JudgingSuperseded()
    assert judging.pull_request.check == ("in_progress", None, title)
    assert [*judging.store.checks().open_checks(judging.ref)] == [judging.pull_request.head], "the watchdog follows it"
    assert len(judging.entries) == 1
    assert judging.store.pulls.finish(judging.job.lease, Finish.AGAIN) is FinishResult.AGAIN

    judging.job = start_judging(judging.store, judging.ref)
    assert isinstance(judging.judge(), JudgingCompleted)
    assert judging.pull_request.check.conclusion == "failure"
    assert len(judging.pull_request.checks_of(judging.pull_request.head)) == 1


def test_command_during_a_judging_does_not_hold_the_verdict_back(judging: Judging) -> None:
    command = partial(judging.store.pulls.request_judging, judging.request(Trigger.COMMAND, head_sha=None))
    assert isinstance(judging.judge(RECORDED, command), JudgingCompleted)
    assert judging.pull_request.check.conclusion == "failure"
