"""Jobs: how a judging ends, is retried, or is given up; run without RQ."""

import contextlib
import signal
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import replace
from datetime import datetime, timedelta
from resource import RUSAGE_CHILDREN, getrusage
from typing import Protocol, TypeVar

import pytest
from rq.job import Job
from rq.serializers import JSONSerializer

from tests.worker.adapters.redis.store_samples import (
    HEAD,
    NEWER,
    REQUESTED_AT,
    dispatch_next,
    expire_hold,
    judge_request,
    make_due,
    pull_ref,
    start_judging,
    wait_until,
)
from tests.worker.adapters.redis.subject_kinds import (
    MERGE_GROUP,
    PULL_REQUEST,
    SubjectKind,
    dispatch_subject,
    for_both_kinds,
    next_job,
)
from tests.worker.adapters.redis.test_merge_groups import merge_group
from tests.worker.publishing.texts.samples import abstained, accepted, dossier, rejected
from tests.worker.scheduling.scripted_judging import GIVEN_UP, ScriptedGitHub, entry_for
from tests.worker.scheduling.test_dispatcher import run_dispatcher
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import RedisClient, text
from worker.adapters.redis.store import Store
from worker.domain.check.overrides import NO_DECISIONS, HumanDecisions, Override
from worker.domain.github_events import GroupEnd
from worker.domain.judge_request import AuthorKind, Trigger
from worker.domain.lifecycle.judging import (
    JudgingCompleted,
    JudgingDiscarded,
    JudgingOutcome,
    JudgingSuperseded,
    WaitForCi,
)
from worker.domain.lifecycle.work import DispatchLimits, PausedRepository
from worker.domain.metrics import DurationMetric, EventCount
from worker.domain.time_range import JudgingPause
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import AbstainReason
from worker.errors import Unavailable
from worker.process import SystemClock
from worker.scheduling.jobs import (
    CI_REASONS,
    FAILED,
    JOB_CONTEXT,
    JobContext,
    JudgingFailed,
    PullRequestJob,
    SubjectJob,
    handle_killed_job,
    is_retriggered_by_ci,
    judge,
    request_after_ci,
    requeue,
    resume_paused_heads,
    resumed_request,
    run_job,
    update_paused_heads,
)
from worker.scheduling.queue import JUDGE_QUEUE, JudgeQueue, open_queue, rq_connection
from worker.settings import Settings, Timing

T = TypeVar("T")
HANDLERS = "tests.worker.scheduling.scripted_judging:open_scripted_handlers"
LIMITS = DispatchLimits(1, 10)
Run = Callable[[], int | None]


class InJob(Protocol):
    """Acts on the RQ job of a subject, as its worker does."""

    def __call__(self, act: Callable[[Job], T], subject: SubjectJob, /) -> T: ...


@pytest.fixture
def run(settings: Settings, store: Store) -> Run:
    return runner_of(settings, store)


def runner_of(settings: Settings, store: Store) -> Run:
    def run_next() -> int | None:
        """Judge what is due next; return its fence, or None if nothing is due."""
        job = dispatch_next(store, LIMITS)
        if job is None:
            return None
        context = copy_context()
        context.run(JOB_CONTEXT.set, JobContext(settings, HANDLERS, SystemClock(), store))
        context.run(judge, PullRequestJob(job.request.pull, job.fence))
        return job.fence

    return run_next


@pytest.fixture
def in_job(settings: Settings, store: Store) -> InJob:
    def act_in_job(act: Callable[[Job], T], subject: SubjectJob, /) -> T:
        with (
            contextlib.closing(JudgeQueue(settings)) as queue,
            contextlib.closing(rq_connection(settings)) as connection,
        ):
            if isinstance(subject, PullRequestJob):
                queue.submit(subject.fence, subject.pull)
            else:
                queue.submit_group(subject.group_id, subject.token)
            (name,) = open_queue(JUDGE_QUEUE, connection).job_ids
            job = Job.fetch(name, connection, JSONSerializer)  # pyright: ignore[reportUnknownMemberType] - untyped there
            job.delete()
        context, patient = copy_context(), replace(settings, timing=replace(settings.timing, retry_delay=30))
        context.run(JOB_CONTEXT.set, JobContext(patient, HANDLERS, SystemClock(), store))
        return context.run(act, job)

    return act_in_job


@for_both_kinds
def test_subject_is_judged_once_if_its_job_starts_twice(
    in_job: InJob, store: Store, world: ScriptedGitHub, subject_kind: SubjectKind
) -> None:
    job = dispatch_subject(store, subject_kind)
    assert [in_job(run_job, job) for _ in range(2)] == [True, True]
    assert len(world.notes(subject_kind.judging_note)) == 1
    assert subject_kind.is_over(store)


@for_both_kinds
@pytest.mark.parametrize("step", ["unavailable", "away", "limited 60"])
def test_temporary_error_is_retried_and_does_not_fail_the_job(
    in_job: InJob, store: Store, world: ScriptedGitHub, subject_kind: SubjectKind, step: str
) -> None:
    world.script(pull_ref(subject_kind.script_number), step)
    assert in_job(run_job, dispatch_subject(store, subject_kind))
    assert (subject_kind.is_over(store), subject_kind.dispatch(store)) == (False, None), "not before its time"
    subject_kind.expire(store)
    assert in_job(run_job, next_job(store, subject_kind))
    assert (len(world.notes(subject_kind.judging_note)), subject_kind.is_over(store)) == (2, True)


@for_both_kinds
def test_bug_fails_the_job(in_job: InJob, store: Store, world: ScriptedGitHub, subject_kind: SubjectKind) -> None:
    world.script(pull_ref(subject_kind.script_number), "bug a_line_of_a_private_source")
    assert not in_job(run_job, dispatch_subject(store, subject_kind))


@for_both_kinds
def test_subject_of_a_killed_job_is_requeued_immediately(
    in_job: InJob, store: Store, subject_kind: SubjectKind
) -> None:
    job = dispatch_subject(store, subject_kind)
    assert subject_kind.dispatch(store) is None, "it is leased"
    in_job(lambda rq_job: handle_killed_job(rq_job, 1, signal.SIGKILL, getrusage(RUSAGE_CHILDREN)), job)
    assert subject_kind.dispatch(store) is not None
    killed = store.measures.read_totals(SystemClock().now()).counts.get(EventCount.KILLED, 0)
    assert killed == (subject_kind is PULL_REQUEST)


@for_both_kinds
def test_killed_job_is_left_to_its_lease_during_an_outage_of_redis(
    in_job: InJob,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    subject_kind: SubjectKind,
) -> None:
    job = dispatch_subject(store, subject_kind)

    def unreachable(*_: object) -> None:
        raise Unavailable("Redis", "down")

    monkeypatch.setattr(RedisClient, "pipeline", unreachable)
    in_job(requeue, job)
    assert "job not requeued, waits for its lease to expire" in caplog.text


@pytest.mark.parametrize(
    ("step", "failed"),
    [
        ("unavailable", ""),
        ("away", ""),
        ("limited 60", ""),
        ("gone", ""),
        ("forbidden", "checks: write is missing"),
        ("bug x", FAILED),
    ],
)
def test_merge_group_is_answered_again_with_the_reason_of_a_permanent_failure(
    in_job: InJob, store: Store, world: ScriptedGitHub, step: str, failed: str
) -> None:
    world.script(pull_ref(MERGE_GROUP.script_number), step)
    in_job(run_job, dispatch_subject(store, MERGE_GROUP))
    MERGE_GROUP.expire(store)
    pending = store.groups.next()
    assert pending is not None
    assert (pending.attempt, pending.queued.failed) == (1, failed)


def test_judge_that_lost_its_group_leaves_it_queued(in_job: InJob, store: Store, world: ScriptedGitHub) -> None:
    world.script(pull_ref(MERGE_GROUP.script_number), "lose")
    assert in_job(run_job, dispatch_subject(store, MERGE_GROUP))
    assert MERGE_GROUP.dispatch(store) is None, "it is dispatched again"
    assert not MERGE_GROUP.is_over(store)


def test_group_that_left_the_merge_queue_is_not_judged(in_job: InJob, store: Store, world: ScriptedGitHub) -> None:
    job = dispatch_subject(store, MERGE_GROUP)
    store.groups.put(merge_group("gone", ended=GroupEnd.DEQUEUED))
    assert in_job(run_job, job)
    assert world.notes("group judged") == []
    pending = store.groups.next()
    assert pending is not None
    assert pending.group.ended is GroupEnd.DEQUEUED


def run_repeatedly(run: Run, store: Store, times: int) -> None:
    """Judge the pull request so many times, each time when it is due."""
    for _ in range(times):
        with contextlib.suppress(JudgingFailed):
            assert run()
        assert run() is None, "not before its time"
        make_due(store, pull_ref())


@pytest.fixture
def run_impatiently(settings: Settings, store: Store) -> Run:
    """As `run`, without extra retries during an outage of GitHub."""
    return runner_of(replace(settings, timing=replace(settings.timing, github_outage=0)), store)


def check_of(world: ScriptedGitHub) -> str:
    return world.checks()[f"100/1 {HEAD}"]


def test_unavailable_github_is_retried_and_then_given_up(run: Run, store: Store, world: ScriptedGitHub) -> None:
    world.script(pull_ref(), *["unavailable"] * 3)
    store.pulls.request_judging(judge_request())
    run_repeatedly(run, store, 2)
    assert world.checks() == {}
    assert run()
    assert check_of(world) == f"action_required: {GIVEN_UP}GitHub is unavailable: 502"
    assert run() is None


def test_judging_is_retried_longer_during_an_outage(run: Run, store: Store, world: ScriptedGitHub) -> None:
    world.script(pull_ref(), *["away"] * 8)
    store.pulls.request_judging(judge_request())
    run_repeatedly(run, store, 8)
    assert world.checks() == {}
    run()
    assert check_of(world) == "failure: judged"
    postponed = [note["away"] for note in world.notes("put off")]
    assert postponed == [True] * 6, "not after the first two tries"


@pytest.mark.parametrize("is_older_judged", [False, True])
def test_outage_past_its_limit_is_shown_on_the_check_run(
    run_impatiently: Run, store: Store, world: ScriptedGitHub, *, is_older_judged: bool
) -> None:
    if is_older_judged:
        store.pulls.request_judging(judge_request())
        run_impatiently()
    world.script(pull_ref(), *["away"] * 3)
    store.pulls.request_judging(judge_request(head_sha=NEWER))
    run_repeatedly(run_impatiently, store, 3)
    assert world.checks()[f"100/1 {NEWER}"] == f"action_required: {GIVEN_UP}GitHub is unavailable: 502"
    assert run_impatiently() is None


@pytest.mark.parametrize("first", ["away", "bug x"])
def test_failure_that_can_not_be_shown_is_retried_until_the_outage_ends(
    run_impatiently: Run, store: Store, world: ScriptedGitHub, first: str
) -> None:
    world.script(pull_ref(), *["away"] * 2)  # as many as the retries
    world.script(pull_ref(), *[first, "away"] * 10)  # the judging, and the write of its failure
    store.pulls.request_judging(judge_request())
    run_repeatedly(run_impatiently, store, 12)
    assert world.checks() == {}
    run_impatiently()
    assert check_of(world) == "failure: judged"
    assert run_impatiently() is None


def test_recorded_verdict_is_retried_until_it_is_published(
    settings: Settings, run_impatiently: Run, store: Store, world: ScriptedGitHub
) -> None:
    world.script(pull_ref(), "record", *["away"] * 9)
    store.pulls.request_judging(judge_request())
    run_repeatedly(run_impatiently, store, 10)
    assert not any("given up" in str(note["state"]) for note in world.notes("wrote"))
    last = datetime.fromisoformat(str(world.notes("put off")[-1]["until"]))
    assert last - SystemClock().now() > timedelta(seconds=settings.timing.github_delay * 5), "delays grow"
    run_impatiently()
    assert check_of(world) == "failure: judged"
    assert run_impatiently() is None


def test_judging_during_a_model_outage_is_requested_again_after_its_delay(
    run: Run, store: Store, world: ScriptedGitHub
) -> None:
    world.script(pull_ref(), "outage 3600", "outage 3600")
    store.pulls.request_judging(judge_request())
    for outages in range(1, 3):
        run()
        assert run() is None, "not before that time"
        newest = store.pulls.find_request(pull_ref())
        assert newest is not None
        assert (newest.trigger, newest.outages, newest.head_sha) == (Trigger.OUTAGE, outages, None)
        make_due(store, pull_ref())
    run()
    assert [line["trigger"] for line in world.notes("began")] == ["pushed", "outage", "outage"]
    assert list(world.checks().values()) == ["failure: judged"]
    assert run() is None


def test_judgings_after_a_rate_limit_are_spread_out_as_their_checks_show(
    settings: Settings, store: Store, world: ScriptedGitHub
) -> None:
    run, gap = runner_of(replace(settings, timing=Timing(quiet_window=0)), store), Timing().release_gap
    limit = SystemClock().now() + timedelta(hours=1)
    numbers, asked = range(1, 31), {10, 20, 30}
    for number in numbers:
        world.script(pull_ref(number), f"limited_until {limit.isoformat()}")
        store.pulls.request_judging(
            judge_request(number, trigger=Trigger.COMMAND if number in asked else Trigger.PUSHED)
        )
    for _ in numbers:
        assert run()
    assert run() is None
    at = {
        number: float(text(store.client.call("HGET", keys.pull(pull_ref(number)).name, "after"))) / 1000
        for number in numbers
    }
    order = sorted(numbers, key=lambda number: at[number])
    assert set(order[:3]) == asked, "commands come first"
    turns = [at[number] - limit.timestamp() for number in order]
    assert turns[0] > -1, "none before its end"
    assert gap * 15 < turns[-1] < gap * 30
    assert all(sum(start <= turn < start + 5 * gap for turn in turns) <= 8 for start in turns), "spread out"
    shown = {note["pull"]: datetime.fromisoformat(str(note["until"])).timestamp() for note in world.notes("put off")}
    assert all(abs(shown[f"100/{number}"] - at[number]) < 1 for number in numbers)


def test_failed_judging_is_shown_although_the_ledger_is_unreadable(
    run: Run, store: Store, world: ScriptedGitHub
) -> None:
    world.script(pull_ref(), "forbidden")
    store.pulls.request_judging(judge_request())
    store.client.call("HSET", keys.ledger(pull_ref()).name, "entry", "not encrypted")
    assert run() is not None
    assert world.checks() == {f"100/1 {HEAD}": f"action_required: {GIVEN_UP}checks: write is missing"}


@pytest.mark.parametrize(
    ("step", "state"),
    [
        ("", "failure: judged"),
        ("forbidden", f"action_required: {GIVEN_UP}checks: write is missing"),
        ("gone", None),
        ("dropped", None),
    ],
)
def test_judging_that_ends_without_retry_shows_its_result_if_any(
    run: Run, store: Store, world: ScriptedGitHub, step: str, state: str | None
) -> None:
    world.script(pull_ref(), step)
    store.pulls.request_judging(judge_request())
    fence = run()
    assert world.checks() == ({} if state is None else {f"100/1 {HEAD}": state})
    assert [entry.fence for entry in store.ledger.entries(pull_ref())] == [fence] * (step == "")
    assert run() is None


def test_bug_is_shown_without_its_text_and_not_retried(run: Run, store: Store, world: ScriptedGitHub) -> None:
    world.script(pull_ref(), "bug a_line_of_a_private_source")
    store.pulls.request_judging(judge_request())
    with pytest.raises(JudgingFailed) as failure:
        run()
    assert "private" not in str(failure.value)
    assert failure.value.__cause__ is failure.value.__context__ is None
    assert check_of(world) == f"action_required: {GIVEN_UP}{FAILED}"
    assert run() is None


def test_judging_ends_if_its_failure_can_not_be_shown(run: Run, store: Store, world: ScriptedGitHub) -> None:
    world.script(pull_ref(), "bug x", "mute")
    store.pulls.request_judging(judge_request())
    with pytest.raises(JudgingFailed):
        run()
    assert run() is None


def kill_judging(store: Store, entry: LedgerEntry | None = None) -> None:
    """Start a judging that records this entry and is killed."""
    fence = start_judging(store).lease.fence
    if entry is not None:
        store.ledger.append(pull_ref(), entry.model_copy(update={"fence": fence}))
    store.pulls.requeue_dead(pull_ref(), fence)


@pytest.mark.parametrize(
    ("is_recorded", "asked_later_s", "deaths", "begins", "state"),
    [
        (False, 0, 3, 0, f"action_required: {GIVEN_UP}Assay tried 3 times and came to no end."),
        (True, 0, 5, 1, "failure: judged"),
        (True, 0, 6, 0, f"action_required: {GIVEN_UP}Assay tried 6 times and came to no end."),
        (True, 1, 3, 0, f"action_required: {GIVEN_UP}Assay tried 3 times and came to no end."),
    ],
    ids=["unrecorded", "recorded", "never published", "asked for again since the record"],
)
def test_judging_that_kills_its_judges_is_given_up_later_if_it_recorded_a_verdict(  # noqa: PLR0913 - a table
    run: Run,
    store: Store,
    world: ScriptedGitHub,
    *,
    is_recorded: bool,
    asked_later_s: int,
    deaths: int,
    begins: int,
    state: str,
) -> None:
    entry = entry_for(HEAD, 1)
    store.pulls.request_judging(judge_request(requested_at=entry.created_at + timedelta(seconds=asked_later_s)))
    for number in range(deaths):
        kill_judging(store, entry if is_recorded and number == 0 else None)
    run()
    assert len(world.notes("began")) == begins
    assert check_of(world) == state
    assert run() is None


def test_wait_for_ci_counts_as_no_attempt(run: Run, store: Store, world: ScriptedGitHub) -> None:
    world.script(pull_ref(), *["wait 0"] * 5)
    store.pulls.request_judging(judge_request())
    while run():
        pass
    assert [line["waiting"] for line in world.notes("began")] == [False, *[True] * 5]
    assert check_of(world) == "failure: judged"


def test_new_head_is_judged_next(run: Run, store: Store, world: ScriptedGitHub) -> None:
    store.pulls.request_judging(judge_request())
    world.push(pull_ref(), HEAD)
    world.script(pull_ref(), "think 0")
    run()
    world.push(pull_ref(), NEWER)
    store.pulls.request_judging(judge_request(head_sha=NEWER))
    run()
    assert world.checks() == {f"100/1 {HEAD}": "failure: judged", f"100/1 {NEWER}": "failure: judged"}


def test_judged_head_is_the_newest_head(run: Run, store: Store, world: ScriptedGitHub) -> None:
    world.push(pull_ref(), NEWER)
    store.pulls.request_judging(judge_request(head_sha=HEAD))
    run()
    assert store.checks().newest_head(pull_ref()) == NEWER


def test_judge_that_lost_its_lease_writes_nothing_and_requests_a_judging(
    run: Run, store: Store, world: ScriptedGitHub
) -> None:
    store.pulls.request_judging(judge_request())
    world.script(pull_ref(), "lose")
    run()
    assert world.checks() == {}
    assert store.ledger.entries(pull_ref()) == ()
    newest = store.pulls.find_request(pull_ref())
    assert newest is not None
    assert newest.trigger is Trigger.LATE


def test_outage_of_redis_fails_the_job(settings: Settings, store: Store) -> None:
    nowhere = Store(RedisClient("unix:///nowhere/r.sock", 1), store.codec, store.url, store.timing)
    context = copy_context()
    context.run(JOB_CONTEXT.set, JobContext(settings, HANDLERS, SystemClock(), nowhere))
    with pytest.raises(Unavailable, match="Redis"):
        context.run(judge, PullRequestJob(pull_ref(), 1))


@pytest.mark.parametrize("step", ["", "unavailable", "bug x", "dropped", "outage 60", "lose"])
def test_job_logs_its_delivery_id_on_every_line(
    run: Run, store: Store, world: ScriptedGitHub, caplog: pytest.LogCaptureFixture, step: str
) -> None:
    world.script(pull_ref(), step)
    store.pulls.request_judging(judge_request(delivery_id="guid-1"))
    with caplog.at_level("INFO", "worker"), contextlib.suppress(JudgingFailed):
        run()
    lines = [vars(record) for record in caplog.records if record.name.startswith("worker.")]
    assert (lines[0]["msg"], lines[-1]["msg"]) == ("judging started", "judging ended")
    for line in lines:
        fields = (line.get("delivery_id"), line.get("repository"), line.get("number"), line.get("head_sha"))
        assert fields == ("guid-1", "acme/widgets", 1, HEAD), line["msg"]


def test_job_counts_verdicts_and_failures(run: Run, store: Store, world: ScriptedGitHub) -> None:
    store.pulls.request_judging(judge_request())
    run()
    world.script(pull_ref(2), *["forbidden"] * 5)
    store.pulls.request_judging(judge_request(2))
    run()
    figures = store.measures.read_totals(SystemClock().now())
    assert (sum(figures.verdicts.values()), sum(figures.spans[DurationMetric.VERDICT].counts)) == (1, 1)
    assert figures.counts[EventCount.GIVEN_UP] == 1


def test_only_abstains_because_of_ci_without_an_override_are_judged_again_after_ci() -> None:
    decisions = HumanDecisions(override=Override(login="alice", reason="We ship.", at=REQUESTED_AT))
    assert not any(is_retriggered_by_ci(abstained(reason), decisions) for reason in CI_REASONS)
    assert {reason for reason in AbstainReason if is_retriggered_by_ci(abstained(reason), NO_DECISIONS)} == CI_REASONS
    assert not is_retriggered_by_ci(accepted(), NO_DECISIONS)
    assert not is_retriggered_by_ci(rejected(), NO_DECISIONS)


@pytest.mark.parametrize("trigger", [Trigger.PUSHED, Trigger.COMMAND])
def test_request_after_ci_is_for_the_newest_head_and_keeps_the_author(trigger: Trigger) -> None:
    request = judge_request(trigger=trigger, head_sha=HEAD, author=AuthorKind.BOT, outages=2, delivery_id="guid-1")
    later = request_after_ci(request, 7, REQUESTED_AT + timedelta(hours=1))
    assert (later.trigger, later.head_sha, later.author, later.outages) == (Trigger.CI, None, AuthorKind.BOT, 0)
    assert (later.delivery_id, later.requested_at) == ("ci-7-guid-1", REQUESTED_AT + timedelta(hours=1))


@pytest.mark.parametrize("before", ["guid-1", "ci-7-guid-1", "resumed-3-guid-1", "resumed-8-ci-7-guid-1"])
def test_request_after_ci_keeps_its_first_delivery_id(before: str) -> None:
    assert request_after_ci(judge_request(delivery_id=before), 12, REQUESTED_AT).delivery_id == "ci-12-guid-1"


REPOSITORY = PausedRepository.model_validate({"installation_id": 100, "repository_id": 7})
PAUSED = JudgingCompleted(abstained(AbstainReason.PAUSED), dossier())


def resume_now(store: Store) -> int:
    """Resume paused heads without waiting for the hold."""
    expire_hold(store, keys.PAUSED_REPOSITORIES, REPOSITORY.model_dump_json())
    return resume_paused_heads(store, SystemClock())


def test_paused_head_is_requested_once_after_the_pause(store: Store) -> None:
    store.pauses.pause(REPOSITORY.installation_id, REPOSITORY.repository_id, JudgingPause(by="alice"))
    update_paused_heads(store, judge_request(delivery_id="guid-1"), 7, PAUSED)
    assert resume_now(store) == 0, "it is paused"
    assert store.pulls.find_request(pull_ref()) is None
    store.pauses.resume(REPOSITORY.installation_id, REPOSITORY.repository_id)
    assert resume_now(store) == 1
    request = store.pulls.find_request(pull_ref())
    assert request is not None
    assert (request.trigger, request.delivery_id, request.head_sha) == (Trigger.RESUMED, "resumed-7-guid-1", None)
    assert resume_now(store) == 0, "once"


def test_draft_requested_in_a_pause_is_judged_after_it(store: Store) -> None:
    update_paused_heads(store, judge_request(trigger=Trigger.REVIEW, draft=True), 7, PAUSED)
    assert resume_now(store) == 1
    assert store.pulls.find_plan(pull_ref()) is not None


def test_global_pause_keeps_heads_waiting(store: Store) -> None:
    store.pauses.pause_all(JudgingPause(by="alice"))
    update_paused_heads(store, judge_request(), 7, PAUSED)
    assert resume_now(store) == 0
    store.pauses.resume_all()
    assert resume_now(store) == 1


@pytest.mark.parametrize(
    ("outcome", "waiting"),
    [
        (JudgingCompleted(rejected(), dossier()), 0),
        (JudgingDiscarded("closed"), 0),
        (JudgingSuperseded(NEWER), 1),
        (WaitForCi(timedelta(0), ()), 1),
    ],
    ids=["judged", "closed", "overtaken", "waiting"],
)
def test_paused_head_waits_until_it_is_judged_or_closed(store: Store, outcome: JudgingOutcome, waiting: int) -> None:
    update_paused_heads(store, judge_request(), 7, PAUSED)
    update_paused_heads(store, judge_request(), 8, outcome)
    assert len(store.paused_heads.list_requests(REPOSITORY)) == waiting
    assert resume_now(store) == waiting


def test_request_of_a_repeatedly_paused_head_keeps_its_first_delivery_id() -> None:
    once = resumed_request(judge_request(delivery_id="guid-1"), 7)
    assert resumed_request(once, 12).delivery_id == "resumed-12-guid-1"


@pytest.mark.parametrize("is_paused", [False, True], ids=["goes on", "ASSAY_PAUSED is 1"])
def test_dispatcher_resumes_paused_heads_unless_the_operator_paused_all(
    settings: Settings, store: Store, *, is_paused: bool
) -> None:
    update_paused_heads(store, judge_request(), 7, PAUSED)
    connection = rq_connection(settings)
    with run_dispatcher(replace(settings, is_paused=is_paused)):
        is_queued = wait_until(lambda: open_queue(JUDGE_QUEUE, connection).job_ids, 1.0 if is_paused else 20.0)
        assert is_queued is not is_paused
    connection.close()
