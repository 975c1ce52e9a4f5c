"""The steps of a judging: spending, lease renewal, and the query for the newest head."""

import threading
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from structlog.contextvars import get_contextvars
from typing_extensions import override

from tests.worker.adapters.redis.store_samples import (
    NEWER,
    expire_lease,
    judge_request,
    pull_ref,
    settings_for,
    start_judging,
    wait_until,
)
from tests.worker.evaluation.bench.samples import DONE, STUB
from tests.worker.evaluation.live_judging import dossier as recorded_dossier
from tests.worker.judge.samples import BASE, HEAD, NOW, ledger_entry, pull_request
from tests.worker.judge.samples import dossier as judge_dossier
from tests.worker.publishing.texts.samples import abstained, dossier
from tests.world.redis import RedisServer
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import text
from worker.adapters.redis.store import Store, open_store
from worker.domain.dossier import ConfigOrigin, ConfigText, Dossier
from worker.domain.judge_request import MANUAL_TRIGGERS, JudgeRequest, Trigger
from worker.domain.lifecycle.judging import (
    FindHead,
    Finish,
    JudgingCompleted,
    JudgingDiscarded,
    JudgingOutcome,
    JudgingSuperseded,
)
from worker.domain.model import Sha
from worker.domain.verdict.verdict import AbstainReason
from worker.errors import AssayError, Forbidden, LeaseLost, Outage, SubjectGone, Unavailable
from worker.judge.context import JudgeContext
from worker.judge.fingerprint import fingerprint_of
from worker.judge.rubric import load_prompt, load_rubric
from worker.log import bind_log_fields
from worker.process import SystemClock
from worker.scheduling.pipeline import (
    AuthorNotifier,
    CiWaitPolicy,
    JudgingDependencies,
    NullStatusReporter,
    SpendingPolicy,
    judge_pull_request,
    renewing_lease,
    show_human_decision,
    with_push_time,
)
from worker.scheduling.record import VerdictRecorder
from worker.scheduling.retry import OutageRetries
from worker.settings import Timing
from worker.wiring.cli import RecordedSource

CONTEXT = JudgeContext(load_rubric(), load_prompt(), 0.0)


def dependencies(source: RecordedSource, **changes: Any) -> JudgingDependencies:
    standard: dict[str, Any] = {
        "source": source,
        "status": NullStatusReporter(source),
        "context": CONTEXT,
        "clock": SystemClock(),
        "ci_wait": CiWaitPolicy(timedelta(0), timedelta(0), None),
        "outage_retries": OutageRetries(3, timedelta(minutes=10)),
    }
    return JudgingDependencies(**{**standard, **changes})


class HeadQueries(NullStatusReporter):
    """A status reporter that records whether a fresh head was enough."""

    def __init__(self, source: RecordedSource) -> None:
        super().__init__(source)
        self.allows_fresh: list[bool] = []

    @override
    def find_newer_head(
        self, request: JudgeRequest, head_sha: Sha, *, is_fresh: bool = False, find_head: FindHead | None = None
    ) -> Sha | None:
        self.allows_fresh.append(is_fresh)
        return find_head() if find_head else super().find_newer_head(request, head_sha, is_fresh=is_fresh)


class FakeAuthorNotifier:
    """A notifier whose query finds this head; None: the pull request was closed."""

    def __init__(self, store: Store, head: Sha | None) -> None:
        self._store = store
        self._head = head
        self.ledger_heads: list[str] = []

    def prepare(self, request: JudgeRequest, judged: JudgingCompleted) -> FindHead | None:
        assert not self._store.ledger.entries(request.pull)
        return partial(self._find_head, request, judged.verdict.subject.head_sha)

    def _find_head(self, request: JudgeRequest, head_sha: Sha) -> Sha | None:
        self.ledger_heads = [entry.head_sha for entry in self._store.ledger.entries(request.pull)]
        if self._head is None:
            raise SubjectGone("closed")
        return None if self._head == head_sha else self._head


def judge_completely(store: Store, request: JudgeRequest) -> tuple[str | None, list[bool]]:
    """Return the origin of a carried verdict, and the head queries."""
    outcome, queries = run_judging(store, request)
    assert isinstance(outcome, JudgingCompleted)
    assert outcome.retry_in is None, "only an outage of the model is retried"
    return outcome.verdict.carried_from, queries


class FailingSource(RecordedSource):
    """A source whose queries for the dossier and for the head fail with these errors, if any."""

    def __init__(self, dossier: AssayError | None = None, head: AssayError | None = None) -> None:
        super().__init__(recorded_dossier(1, STUB))
        self._dossier_error, self._head_error = dossier, head

    @override
    def dossier(self, request: JudgeRequest) -> Dossier:
        if self._dossier_error is not None:
            raise self._dossier_error
        return super().dossier(request)

    @override
    def head_sha(self, request: JudgeRequest) -> Sha:
        if self._head_error is not None:
            raise self._head_error
        return super().head_sha(request)


def run_judging(
    store: Store, request: JudgeRequest, author: AuthorNotifier | None = None, source: RecordedSource | None = None
) -> tuple[JudgingOutcome, list[bool]]:
    store.pulls.request_judging(request)
    job = start_judging(store, request.pull)
    source = source or RecordedSource(recorded_dossier(1, STUB))
    status = HeadQueries(source)
    recorder = VerdictRecorder(store.ledger, store.archive, store.events, job.lease)
    deps = dependencies(source, status=status, ledger=store.ledger, recorder=recorder, author_notifier=author)
    outcome = judge_pull_request(request, deps)
    store.pulls.finish(job.lease, Finish.JUDGED)
    return outcome, status.allows_fresh


def test_new_verdict_queries_the_head_and_recorded_one_need_not(store: Store) -> None:
    first, queries = judge_completely(store, judge_request())
    assert (first, queries) == (None, [False])

    again, queries = judge_completely(store, judge_request())
    assert (again, queries) == (None, [True]), "the delivery came after its verdict"

    later = SystemClock().now() + timedelta(days=1)
    carried, queries = judge_completely(store, judge_request(trigger=Trigger.RERUN, requested_at=later))
    assert (carried is not None, queries) == (True, [True])


@pytest.mark.parametrize("reason", ["deleted", "head commit deleted"])
def test_incomplete_pull_request_is_not_taken_for_closed(store: Store, reason: str) -> None:
    with pytest.raises(Unavailable, match="does not find all of it"):
        run_judging(store, judge_request(), source=FailingSource(SubjectGone(reason)))


@pytest.mark.parametrize(
    ("reason", "end", "discarded"),
    [("deleted", "merged", "merged"), ("suspended", None, "suspended"), ("closed", None, "closed")],
)
def test_ended_pull_request_is_discarded_with_its_reason(
    store: Store, reason: str, end: str | None, discarded: str
) -> None:
    source = FailingSource(SubjectGone(reason), None if end is None else SubjectGone(end))
    outcome, _ = run_judging(store, judge_request(), source=source)
    assert outcome == JudgingDiscarded(discarded)


RECORDED_HEAD = recorded_dossier(1, STUB).pull_request.head_sha


@pytest.mark.parametrize(
    ("head", "kind"), [(RECORDED_HEAD, JudgingCompleted), (NEWER, JudgingSuperseded), (None, JudgingDiscarded)]
)
def test_author_comment_with_the_head_query_follows_the_recorded_verdict(
    store: Store, head: Sha | None, kind: type[JudgingOutcome]
) -> None:
    author = FakeAuthorNotifier(store, head)
    outcome, queries = run_judging(store, judge_request(), author)
    assert isinstance(outcome, kind)
    assert queries == [False]
    assert author.ledger_heads == [RECORDED_HEAD], "the verdict is recorded first"
    assert [entry.head_sha for entry in store.ledger.entries(judge_request().pull)] == [RECORDED_HEAD]


@pytest.mark.parametrize("error", [SubjectGone("suspended"), Forbidden("contents: read"), Outage("GitHub", "502")])
def test_sweep_shows_a_verdict_recorded_when_access_was_lost(store: Store, error: AssayError) -> None:
    judge_until(store, error)
    [judge_dossier] = store.ledger.entries(judge_request().pull)

    later = SystemClock().now() + timedelta(days=1)
    outcome, _ = run_judging(store, judge_request(trigger=Trigger.SWEEP, requested_at=later))
    assert isinstance(outcome, JudgingCompleted)
    assert outcome.verdict.eval_id == judge_dossier.eval_id
    assert store.ledger.entries(judge_request().pull) == (judge_dossier,)


@pytest.mark.parametrize("reason", ["closed", "merged", "deleted"])
def test_pull_request_that_ended_meanwhile_leaves_no_verdict(store: Store, reason: str) -> None:
    judge_until(store, SubjectGone(reason))
    assert store.ledger.entries(judge_request().pull) == ()


def judge_until(store: Store, error: AssayError) -> None:
    """Judge until the head query fails: discarded where the pull request is gone, else with the error."""
    if isinstance(error, SubjectGone):
        outcome, _ = run_judging(store, judge_request(), source=FailingSource(head=error))
        assert outcome == JudgingDiscarded(error.reason)
        return
    with pytest.raises(type(error)):
        run_judging(store, judge_request(), source=FailingSource(head=error))
    store.pulls.requeue_dead(
        judge_request().pull, int(text(store.client.call("HGET", keys.pull(judge_request().pull).name, "fence")))
    )


EVERYONE = (ConfigText(origin=ConfigOrigin.REPOSITORY, text="ask_model_for: everyone\n"),)


def dossier_by(author: str, *, is_from_fork: bool | None, config: tuple[ConfigText, ...] = ()) -> Dossier:
    raw = dossier(config=config)
    changes = {"author": author, "is_from_fork": is_from_fork}
    return raw.model_copy(update={"pull_request": raw.pull_request.model_copy(update=changes)})


def spending_of(store: Store, *writers: str) -> SpendingPolicy:
    def may_write(request: JudgeRequest, login: str) -> bool:
        assert request.pull == pull_ref()
        return login in writers

    return SpendingPolicy(store.decisions, may_write)


@pytest.mark.parametrize(
    ("read", "is_allowed"),
    [
        (dossier_by("mallory", is_from_fork=False), True),
        (dossier_by("mallory", is_from_fork=None), True),
        (dossier_by("mallory", is_from_fork=True), False),
        (dossier_by("bob", is_from_fork=True), True),
        (dossier_by("mallory", is_from_fork=True, config=EVERYONE), True),
    ],
    ids=["own branch", "unknown", "outside contributor's fork", "writer's fork", "model for everyone"],
)
def test_fork_of_an_outside_contributor_may_not_spend(store: Store, read: Dossier, *, is_allowed: bool) -> None:
    store.pulls.request_judging(judge_request())
    assert spending_of(store, "bob").is_allowed(judge_request(), read) is is_allowed


@pytest.mark.parametrize("trigger", sorted(MANUAL_TRIGGERS))
def test_command_with_write_access_allows_spending_from_then_on(store: Store, trigger: Trigger) -> None:
    store.pulls.request_judging(judge_request())
    policy, read = spending_of(store), dossier_by("mallory", is_from_fork=True)
    assert not policy.is_allowed(judge_request(), read)
    assert policy.is_allowed(judge_request(trigger=trigger), read)
    assert policy.is_allowed(judge_request(trigger=Trigger.PUSHED), read)


def has_heartbeat() -> bool:
    return any(thread.name == "heartbeat" for thread in threading.enumerate())


def test_lease_is_renewed_until_the_block_ends(store: Store) -> None:
    lease = store.pulls.take_local_lease(judge_request())
    end = [keys.DISPATCHED.name, keys.pull(pull_ref()).name]
    first = float(text(store.client.call("ZSCORE", *end)))
    with renewing_lease(lease, lease_s=0.02):
        assert wait_until(lambda: float(text(store.client.call("ZSCORE", *end))) > first)
    assert not has_heartbeat()


def test_lost_lease_is_not_renewed(store: Store) -> None:
    lease = store.pulls.take_local_lease(judge_request())
    expire_lease(store, pull_ref())
    with renewing_lease(lease, lease_s=0.02):
        assert wait_until(lambda: not has_heartbeat())
    with pytest.raises(LeaseLost):
        lease.renew()


def test_heartbeat_survives_an_outage(caplog: pytest.LogCaptureFixture) -> None:
    redis = RedisServer.launch()
    try:
        with open_store(settings_for(redis.url, Timing(lease=600))) as store:
            lease = store.pulls.take_local_lease(judge_request())
            with renewing_lease(lease, lease_s=0.02):
                redis.kill()
                assert wait_until(lambda: "lease not renewed: Redis is unavailable" in caplog.text)
                redis.start()
                assert has_heartbeat()
            lease.renew()
    finally:
        redis.end()


class LoggingLease:
    """A lease that records the log fields of its renewals."""

    fence = 1

    def __init__(self) -> None:
        self.fields: list[dict[str, object]] = []

    def renew(self) -> None:
        self.fields.append(dict(get_contextvars()))


def test_heartbeat_has_the_log_fields_of_its_judging() -> None:
    lease = LoggingLease()
    with bind_log_fields({"delivery_id": "guid-1"}), renewing_lease(lease, lease_s=0.02):
        assert wait_until(lambda: lease.fields)
    assert lease.fields[0] == {"delivery_id": "guid-1"}


def request_at_now(trigger: Trigger, head_sha: Sha | None = HEAD) -> JudgeRequest:
    return judge_request(trigger=trigger, head_sha=head_sha, requested_at=NOW)


@pytest.mark.parametrize("trigger", [Trigger.OPENED, Trigger.PUSHED])
def test_delivery_of_a_head_sets_its_push_time(trigger: Trigger) -> None:
    assert with_push_time(judge_dossier(), request_at_now(trigger)).pull_request.pushed_at == NOW


@pytest.mark.parametrize(
    "other",
    [request_at_now(Trigger.RERUN), request_at_now(Trigger.COMMAND, None), request_at_now(Trigger.PUSHED, BASE)],
    ids=["rerun", "command", "older"],
)
def test_head_without_a_delivery_has_no_push_time(other: JudgeRequest) -> None:
    assert with_push_time(judge_dossier(), other).pull_request.pushed_at is None


def test_push_time_of_a_dossier_is_kept() -> None:
    early = NOW.replace(year=2025)
    timed = judge_dossier(pull_request=pull_request(pushed_at=early))
    assert with_push_time(timed, request_at_now(Trigger.PUSHED)).pull_request.pushed_at == early


@pytest.mark.parametrize("text", [DONE, STUB], ids=["same change", "another base"])
def test_human_decision_shows_the_recorded_verdict_of_the_same_change(text: str) -> None:
    proposed = recorded_dossier(1, text)
    fingerprint = fingerprint_of(recorded_dossier(1, DONE), CONTEXT)
    judged = abstained(AbstainReason.NEEDS_HUMAN).model_copy(update={"fingerprint": fingerprint})
    entry = ledger_entry(judged, head_sha=proposed.pull_request.head_sha)
    proposed = proposed.model_copy(update={"ledger": (entry,)})
    deps = dependencies(RecordedSource(proposed), ledger=None, recorder=None)
    outcome = show_human_decision(judge_request(trigger=Trigger.DISMISSED), proposed, deps)
    assert (outcome is None) == (text == STUB)
    assert outcome is None or (isinstance(outcome, JudgingCompleted) and outcome.verdict is judged)
