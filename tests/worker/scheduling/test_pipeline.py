"""The steps of a judging: who may spend, how long a lease holds, and where the newest head is asked for."""

import threading
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from structlog.contextvars import get_contextvars

from tests.worker.adapters.redis.store_samples import (
    NEWER,
    expire_lease,
    judge_request,
    make_due,
    pull_ref,
    settings_for,
    wait_until,
)
from tests.worker.evaluation.bench.samples import DONE, STUB
from tests.worker.evaluation.live_judging import dossier as recorded
from tests.worker.judge.samples import BASE, HEAD, NOW, pull_request
from tests.worker.judge.samples import dossier as made
from tests.worker.publishing.texts.samples import abstained, dossier
from tests.world.redis import RedisServer
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import text
from worker.adapters.redis.store import Store, open_store
from worker.clock import SystemClock
from worker.domain.dossier import ConfigOrigin, ConfigText, Dossier
from worker.domain.ids import Sha
from worker.domain.judge_request import MANUAL_TRIGGERS, JudgeRequest, Trigger
from worker.domain.lifecycle.judging import (
    FindHead,
    Finish,
    JudgingCompleted,
    JudgingDiscarded,
    JudgingOutcome,
    JudgingSuperseded,
)
from worker.domain.lifecycle.work import DispatchLimits
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import AbstainReason
from worker.errors import AssayError, Forbidden, LeaseLost, Outage, SubjectGone, Unavailable
from worker.judge.context import JudgeContext
from worker.judge.judge import fingerprint_of
from worker.judge.rubric import load_prompt, load_rubric
from worker.log import bind_log_fields
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
from worker.settings import Timing
from worker.wiring.cli import RecordedSource

BENCH = JudgeContext(load_rubric(), load_prompt(), 0.0)


def dependencies(source: RecordedSource, **changes: Any) -> JudgingDependencies:
    standard: dict[str, Any] = {
        "source": source,
        "status": NullStatusReporter(source),
        "context": BENCH,
        "clock": SystemClock(),
        "ci_wait": CiWaitPolicy(timedelta(0), timedelta(0), None),
    }
    return JudgingDependencies(**{**standard, **changes})


class Listening(NullStatusReporter):
    """Hears how it is asked for the head, and whether it is told beside something else."""

    def __init__(self, source: RecordedSource) -> None:
        super().__init__(source)
        self.at_once: list[bool] = []

    def find_newer_head(
        self, request: JudgeRequest, head_sha: Sha, *, is_fresh: bool = False, find_head: FindHead | None = None
    ) -> Sha | None:
        self.at_once.append(is_fresh)
        return find_head() if find_head else super().find_newer_head(request, head_sha, is_fresh=is_fresh)


class Told:
    """An author who is told. *head*: where the answer says that the pull request stands; None: it was closed."""

    def __init__(self, store: Store, head: Sha | None) -> None:
        self._store = store
        self._head = head
        self.on_record: list[str] = []

    def prepare(self, request: JudgeRequest, judged: JudgingCompleted) -> FindHead | None:
        assert not self._store.ledger.entries(request.pull)
        return partial(self._looks, request, judged.verdict.subject.head_sha)

    def _looks(self, request: JudgeRequest, head_sha: Sha) -> Sha | None:
        self.on_record = [one.head_sha for one in self._store.ledger.entries(request.pull)]
        if self._head is None:
            raise SubjectGone("closed")
        return None if self._head == head_sha else self._head


def judge(store: Store, request: JudgeRequest) -> tuple[str | None, list[bool]]:
    """From where the verdict was carried over, and how the head was asked for."""
    outcome, asked = judging(store, request)
    assert isinstance(outcome, JudgingCompleted)
    return outcome.verdict.carried_from, asked


class Lacking(RecordedSource):
    """Does not find something of a pull request. *ends*: how that is over itself; None: it is there."""

    def __init__(self, what: str, ends: str | None) -> None:
        super().__init__(recorded(1, STUB))
        self._what, self._ends = what, ends

    def dossier(self, request: JudgeRequest) -> Dossier:  # noqa: ARG002 - it is not there for anybody
        raise SubjectGone(self._what)

    def head_sha(self, request: JudgeRequest) -> Sha:
        if self._ends is not None:
            raise SubjectGone(self._ends)
        return super().head_sha(request)


def judging(
    store: Store, request: JudgeRequest, author: AuthorNotifier | None = None, source: RecordedSource | None = None
) -> tuple[JudgingOutcome, list[bool]]:
    store.pulls.request_judging(request)
    make_due(store, request.pull)
    job = store.pulls.next_due(request.delivery_id, DispatchLimits(1, 10))
    assert job is not None
    taken = store.pulls.take_lease(request.pull, job.fence)
    assert taken is not None
    source = source or RecordedSource(recorded(1, STUB))
    board = Listening(source)
    recorder = VerdictRecorder(store.ledger, store.archive, store.events, taken.lease)
    deps = dependencies(source, status=board, ledger=store.ledger, recorder=recorder, author_notifier=author)
    outcome = judge_pull_request(request, deps)
    store.pulls.finish(taken.lease, Finish.JUDGED)
    return outcome, board.at_once


def test_who_judged_asks_anew_and_who_found_a_verdict_need_not(store: Store) -> None:
    first, asked = judge(store, judge_request())
    assert (first, asked) == (None, [False])

    found, asked = judge(store, judge_request())
    assert (found, asked) == (None, [True]), "the delivery came after its verdict"

    later = SystemClock().now() + timedelta(days=1)
    carried, asked = judge(store, judge_request(trigger=Trigger.RERUN, requested_at=later))
    assert (carried is not None, asked) == (True, [True])


@pytest.mark.parametrize("what", ["deleted", "head commit deleted"])
def test_a_pull_request_of_which_something_is_not_found_is_not_taken_for_closed(store: Store, what: str) -> None:
    with pytest.raises(Unavailable, match="does not find all of it"):
        judging(store, judge_request(), source=Lacking(what, None))


@pytest.mark.parametrize(
    ("what", "ends", "why"),
    [("deleted", "merged", "merged"), ("suspended", None, "suspended"), ("closed", None, "closed")],
)
def test_what_is_over_is_dropped_with_what_became_of_it(store: Store, what: str, ends: str | None, why: str) -> None:
    outcome, _ = judging(store, judge_request(), source=Lacking(what, ends))
    assert outcome == JudgingDiscarded(why)


HERE = recorded(1, STUB).pull_request.head_sha


@pytest.mark.parametrize(
    ("head", "kind"), [(HERE, JudgingCompleted), (NEWER, JudgingSuperseded), (None, JudgingDiscarded)]
)
def test_an_author_who_is_told_by_what_asks_for_the_head_can_rely_on_what_he_is_told(
    store: Store, head: Sha | None, kind: type[JudgingOutcome]
) -> None:
    author = Told(store, head)
    outcome, asked = judging(store, judge_request(), author)
    assert isinstance(outcome, kind)
    assert asked == [False]
    assert author.on_record == [HERE], "the verdict is on record before"
    assert [one.head_sha for one in store.ledger.entries(judge_request().pull)] == [HERE], "and stays there"


class Losing(RecordedSource):
    """Everything of it can be read, but when the verdict is there."""

    def __init__(self, error: AssayError) -> None:
        super().__init__(recorded(1, STUB))
        self._error = error

    def head_sha(self, request: JudgeRequest) -> Sha:  # noqa: ARG002 - nobody sees any
        raise self._error


@pytest.mark.parametrize("error", [SubjectGone("suspended"), Forbidden("contents: read"), Outage("GitHub", "502")])
def test_a_verdict_that_was_made_as_access_was_lost_is_what_a_sweep_shows(store: Store, error: AssayError) -> None:
    ends_with(store, error)
    [made] = store.ledger.entries(judge_request().pull)

    later = SystemClock().now() + timedelta(days=1)
    outcome, _ = judging(store, judge_request(trigger=Trigger.SWEEP, requested_at=later))
    assert isinstance(outcome, JudgingCompleted)
    assert outcome.verdict.eval_id == made.eval_id
    assert store.ledger.entries(judge_request().pull) == (made,)


@pytest.mark.parametrize("what", ["closed", "merged", "deleted"])
def test_one_that_was_over_by_then_leaves_no_verdict(store: Store, what: str) -> None:
    ends_with(store, SubjectGone(what))
    assert store.ledger.entries(judge_request().pull) == ()


def ends_with(store: Store, error: AssayError) -> None:
    """A judging ends so: as one that is over, or with the error, for whoever runs it."""
    if isinstance(error, SubjectGone):
        outcome, _ = judging(store, judge_request(), source=Losing(error))
        assert outcome == JudgingDiscarded(error.reason)
        return
    with pytest.raises(type(error)):
        judging(store, judge_request(), source=Losing(error))
    store.pulls.requeue_dead(
        judge_request().pull, int(text(store.client.call("HGET", keys.pull(judge_request().pull).name, "fence")))
    )


EVERYONE = (ConfigText(origin=ConfigOrigin.REPOSITORY, text="ask_model_for: everyone\n"),)


def by(author: str, *, is_from_fork: bool | None, config: tuple[ConfigText, ...] = ()) -> Dossier:
    raw = dossier(config=config)
    changes = {"author": author, "is_from_fork": is_from_fork}
    return raw.model_copy(update={"pull_request": raw.pull_request.model_copy(update=changes)})


def spending(store: Store, *writers: str) -> SpendingPolicy:
    def may_write(request: JudgeRequest, login: str) -> bool:
        assert request.pull == pull_ref()
        return login in writers

    return SpendingPolicy(store.decisions, may_write)


@pytest.mark.parametrize(
    ("read", "is_allowed"),
    [
        (by("mallory", is_from_fork=False), True),
        (by("mallory", is_from_fork=None), True),
        (by("mallory", is_from_fork=True), False),
        (by("bob", is_from_fork=True), True),
        (by("mallory", is_from_fork=True, config=EVERYONE), True),
    ],
    ids=["own branch", "not known", "a stranger's fork", "a writer's fork", "for everyone"],
)
def test_a_strangers_fork_may_not_spend(store: Store, read: Dossier, *, is_allowed: bool) -> None:
    store.pulls.request_judging(judge_request())
    assert spending(store, "bob").is_allowed(judge_request(), read) is is_allowed


@pytest.mark.parametrize("trigger", sorted(MANUAL_TRIGGERS))
def test_once_an_account_with_write_access_asked_it_may_from_then_on(store: Store, trigger: Trigger) -> None:
    store.pulls.request_judging(judge_request())
    who, read = spending(store), by("mallory", is_from_fork=True)
    assert not who.is_allowed(judge_request(), read)
    assert who.is_allowed(judge_request(trigger=trigger), read)
    assert who.is_allowed(judge_request(trigger=Trigger.PUSHED), read)


def beats() -> bool:
    return any(thread.name == "heartbeat" for thread in threading.enumerate())


def test_a_lease_is_prolonged_until_the_block_ends(store: Store) -> None:
    lease = store.pulls.take_local_lease(judge_request())
    end = [keys.DISPATCHED.name, keys.pull(pull_ref()).name]
    first = float(text(store.client.call("ZSCORE", *end)))
    with renewing_lease(lease, lease_s=0.02):
        assert wait_until(lambda: float(text(store.client.call("ZSCORE", *end))) > first)
    assert not beats()


def test_a_lease_that_was_lost_is_not_taken_back(store: Store) -> None:
    lease = store.pulls.take_local_lease(judge_request())
    expire_lease(store, pull_ref())
    with renewing_lease(lease, lease_s=0.02):
        assert wait_until(lambda: not beats())
    with pytest.raises(LeaseLost):
        lease.renew()


def test_an_outage_does_not_end_the_heartbeat(caplog: pytest.LogCaptureFixture) -> None:
    redis = RedisServer.launch()
    try:
        with open_store(settings_for(redis.url, Timing(lease=600))) as store:
            lease = store.pulls.take_local_lease(judge_request())
            with renewing_lease(lease, lease_s=0.02):
                redis.kill()
                assert wait_until(lambda: "lease not renewed: Redis is unavailable" in caplog.text)
                redis.start()
                assert beats()
            lease.renew()
    finally:
        redis.end()


class Carrying:
    """A lease that notes down what a line of the log would carry here."""

    fence = 1

    def __init__(self) -> None:
        self.carried: list[dict[str, object]] = []

    def renew(self) -> None:
        self.carried.append(dict(get_contextvars()))


def test_what_a_judging_s_lines_carry_its_heartbeat_s_carry_too() -> None:
    lease = Carrying()
    with bind_log_fields({"delivery_id": "guid-1"}), renewing_lease(lease, lease_s=0.02):
        assert wait_until(lambda: lease.carried)
    assert lease.carried[0] == {"delivery_id": "guid-1"}


def told(trigger: Trigger, head_sha: Sha | None = HEAD) -> JudgeRequest:
    return judge_request(trigger=trigger, head_sha=head_sha, requested_at=NOW)


@pytest.mark.parametrize("trigger", [Trigger.OPENED, Trigger.PUSHED])
def test_the_delivery_that_announced_the_head_tells_when_it_came(trigger: Trigger) -> None:
    assert with_push_time(made(), told(trigger)).pull_request.pushed_at == NOW


@pytest.mark.parametrize(
    "other",
    [told(Trigger.RERUN), told(Trigger.COMMAND, None), told(Trigger.PUSHED, BASE)],
    ids=["rerun", "command", "older"],
)
def test_of_a_head_that_nobody_announced_it_is_not_known(other: JudgeRequest) -> None:
    assert with_push_time(made(), other).pull_request.pushed_at is None


def test_what_a_dossier_says_itself_stays() -> None:
    early = NOW.replace(year=2025)
    known = made(pull_request=pull_request(pushed_at=early))
    assert with_push_time(known, told(Trigger.PUSHED)).pull_request.pushed_at == early


@pytest.mark.parametrize("text", [DONE, STUB], ids=["as it was", "into another base"])
def test_the_verdict_on_record_comes_back_where_it_is_of_what_is_proposed(text: str) -> None:
    proposed = recorded(1, text)
    judged = abstained(AbstainReason.NEEDS_HUMAN).model_copy(
        update={"fingerprint": fingerprint_of(recorded(1, DONE), BENCH)}
    )
    entry = LedgerEntry(
        eval_id=judged.eval_id,
        created_at=judged.created_at,
        round=1,
        fence=1,
        head_sha=proposed.pull_request.head_sha,
        fingerprint=judged.fingerprint,
        diff_summary="",
        verdict=judged,
    )
    proposed = proposed.model_copy(update={"ledger": (entry,)})
    deps = dependencies(RecordedSource(proposed), ledger=None, recorder=None)
    found = show_human_decision(judge_request(trigger=Trigger.DISMISSED), proposed, deps)
    assert (found is None) == (text == STUB)
    assert found is None or (isinstance(found, JudgingCompleted) and found.verdict is judged)
