"""What a job does about everything that can happen to it. The job runs here, without RQ around it."""

import contextlib
import signal
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count
from resource import RUSAGE_CHILDREN, getrusage
from typing import Protocol, TypeVar

import pytest
from rq.job import Job
from rq.serializers import JSONSerializer

from tests.worker.adapters.redis.store_samples import HEAD, NEWER, REQUESTED_AT, judge_request, make_due, pull_ref
from tests.worker.adapters.redis.subject_kinds import (
    MERGE_GROUP,
    PULL_REQUEST,
    SubjectKind,
    dispatch_subject,
    for_both_kinds,
    next_job,
)
from tests.worker.adapters.redis.test_merge_groups import merge_group
from tests.worker.publishing.texts.samples import abstained, accepted, rejected
from tests.worker.scheduling.scripted_judging import GIVEN_UP, ScriptedGitHub, entry_for
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import RedisClient, text
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.check.merge_group import GroupEnd
from worker.domain.check.overrides import NO_DECISIONS, HumanDecisions, Override
from worker.domain.judge_request import AuthorKind, Trigger
from worker.domain.lifecycle.work import DispatchLimits
from worker.domain.metrics import DurationMetric, EventCount
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import AbstainReason
from worker.errors import Unavailable
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
    run_job,
)
from worker.scheduling.queue import JudgeQueue, judge_queue, rq_connection
from worker.settings import Settings, Timing

T = TypeVar("T")
HANDLERS = "tests.worker.scheduling.scripted_judging:open_scripted_handlers"
CALLS = count(1)
Run = Callable[[], int | None]


class InJob(Protocol):
    """Does something about the RQ job of a subject, as its worker does."""

    def __call__(self, act: Callable[[Job], T], subject: SubjectJob, /) -> T: ...


@pytest.fixture
def run(settings: Settings, store: Store) -> Run:
    """Judge what is due next; its fence, or None when nothing is."""
    return running(settings, store)


def running(here: Settings, store: Store) -> Run:
    def next_one() -> int | None:
        given = store.pulls.next_due(f"call-{next(CALLS)}", DispatchLimits(1, 10))
        if given is None:
            return None
        context = copy_context()
        context.run(JOB_CONTEXT.set, JobContext(here, HANDLERS, SystemClock(), store))
        context.run(judge, PullRequestJob(given.request.pull, given.fence))
        return given.fence

    return next_one


@pytest.fixture
def in_job(settings: Settings, store: Store) -> InJob:
    def work(act: Callable[[Job], T], subject: SubjectJob, /) -> T:
        with (
            contextlib.closing(JudgeQueue(settings)) as queue,
            contextlib.closing(rq_connection(settings)) as connection,
        ):
            if isinstance(subject, PullRequestJob):
                queue.submit(subject.fence, subject.pull)
            else:
                queue.submit_group(subject.group_id, subject.token)
            (name,) = judge_queue(connection).job_ids
            job = Job.fetch(name, connection, JSONSerializer)  # pyright: ignore[reportUnknownMemberType] - untyped there
            job.delete()
        context, patient = copy_context(), replace(settings, timing=replace(settings.timing, retry_delay=30))
        context.run(JOB_CONTEXT.set, JobContext(patient, HANDLERS, SystemClock(), store))
        return context.run(act, job)

    return work


@for_both_kinds
def test_a_subject_is_judged_once_however_often_its_job_is_started(
    in_job: InJob, store: Store, world: ScriptedGitHub, subject_kind: SubjectKind
) -> None:
    job = dispatch_subject(store, subject_kind)
    assert [in_job(run_job, job) for _ in range(2)] == [True, True]
    assert len(world.notes(subject_kind.judging_note)) == 1
    assert subject_kind.is_over(store)


@for_both_kinds
@pytest.mark.parametrize("trouble", ["unavailable", "away", "limited 60"])
def test_what_passes_is_waited_for_and_no_failure_of_the_job(
    in_job: InJob, store: Store, world: ScriptedGitHub, subject_kind: SubjectKind, trouble: str
) -> None:
    world.script(pull_ref(subject_kind.script_number), trouble)
    assert in_job(run_job, dispatch_subject(store, subject_kind))
    assert (subject_kind.is_over(store), subject_kind.dispatch(store)) == (False, None), "not before its time"
    subject_kind.expire(store)
    assert in_job(run_job, next_job(store, subject_kind))
    assert (len(world.notes(subject_kind.judging_note)), subject_kind.is_over(store)) == (2, True)


@for_both_kinds
def test_a_bug_fails_the_job(in_job: InJob, store: Store, world: ScriptedGitHub, subject_kind: SubjectKind) -> None:
    world.script(pull_ref(subject_kind.script_number), "bug a_line_of_a_private_source")
    assert not in_job(run_job, dispatch_subject(store, subject_kind))


@for_both_kinds
def test_whose_process_was_killed_comes_back_immediately(
    in_job: InJob, store: Store, subject_kind: SubjectKind
) -> None:
    job = dispatch_subject(store, subject_kind)
    assert subject_kind.dispatch(store) is None, "a judge has it"
    in_job(lambda rq_job: handle_killed_job(rq_job, 1, signal.SIGKILL, getrusage(RUSAGE_CHILDREN)), job)
    assert subject_kind.dispatch(store) is not None
    killed = store.measures.read_totals(SystemClock().now()).counts.get(EventCount.KILLED, 0)
    assert killed == (subject_kind is PULL_REQUEST)


@for_both_kinds
def test_without_redis_the_lease_brings_it_back(
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
    ("trouble", "failed"),
    [
        ("unavailable", ""),
        ("away", ""),
        ("limited 60", ""),
        ("gone", ""),
        ("forbidden", "checks: write is missing"),
        ("bug x", FAILED),
    ],
)
def test_a_group_that_was_not_judged_is_answered_again_and_told_why_if_that_stays(
    in_job: InJob, store: Store, world: ScriptedGitHub, trouble: str, failed: str
) -> None:
    world.script(pull_ref(MERGE_GROUP.script_number), trouble)
    in_job(run_job, dispatch_subject(store, MERGE_GROUP))
    MERGE_GROUP.expire(store)
    pending = store.groups.next()
    assert pending is not None
    assert (pending.attempt, pending.queued.failed) == (1, failed)


def test_a_judge_that_lost_its_group_leaves_it_to_the_next(in_job: InJob, store: Store, world: ScriptedGitHub) -> None:
    world.script(pull_ref(MERGE_GROUP.script_number), "lose")
    assert in_job(run_job, dispatch_subject(store, MERGE_GROUP))
    assert MERGE_GROUP.dispatch(store) is None, "it waits for its next judge"
    assert not MERGE_GROUP.is_over(store)


def test_a_group_that_github_gave_up_is_judged_by_nobody(in_job: InJob, store: Store, world: ScriptedGitHub) -> None:
    job = dispatch_subject(store, MERGE_GROUP)
    store.groups.put(merge_group("gone", ended=GroupEnd.DEQUEUED))
    assert in_job(run_job, job)
    assert world.notes("group judged") == []
    pending = store.groups.next()
    assert pending is not None
    assert pending.group.ended is GroupEnd.DEQUEUED


def tries(run: Run, store: Store, times: int) -> None:
    """Judge what waits as often, each time when its time has come."""
    for _ in range(times):
        with contextlib.suppress(JudgingFailed):
            assert run()
        assert run() is None, "not before its time"
        make_due(store, pull_ref())


@pytest.fixture
def impatient(settings: Settings, store: Store) -> Run:
    """As `run`, where an outage of GitHub is waited for no longer than anything else."""
    return running(replace(settings, timing=replace(settings.timing, github_outage=0)), store)


def check(world: ScriptedGitHub) -> str:
    return world.checks()[f"100/1 {HEAD}"]


def test_an_outage_is_tried_again_and_then_given_up(run: Run, store: Store, world: ScriptedGitHub) -> None:
    world.script(pull_ref(), *["unavailable"] * 3)
    store.pulls.request_judging(judge_request())
    tries(run, store, 2)
    assert world.checks() == {}
    assert run()
    assert check(world) == f"action_required: {GIVEN_UP}GitHub is unavailable: 502"
    assert run() is None


def test_while_github_is_away_a_judging_is_tried_for_longer_than_anything_else(
    run: Run, store: Store, world: ScriptedGitHub
) -> None:
    world.script(pull_ref(), *["away"] * 8)
    store.pulls.request_judging(judge_request())
    tries(run, store, 8)
    assert world.checks() == {}
    run()
    assert check(world) == "failure: judged"
    told = [one["away"] for one in world.notes("put off")]
    assert told == [True] * 6, "what passes in a moment is not told"


@pytest.mark.parametrize("is_older_judged", [False, True])
def test_an_outage_that_lasts_longer_than_is_waited_is_told_if_it_can_be(
    impatient: Run, store: Store, world: ScriptedGitHub, *, is_older_judged: bool
) -> None:
    if is_older_judged:  # a verdict on record of an older head is not waited with
        store.pulls.request_judging(judge_request())
        impatient()
    world.script(pull_ref(), *["away"] * 3)
    store.pulls.request_judging(judge_request(head_sha=NEWER))
    tries(impatient, store, 3)
    assert world.checks()[f"100/1 {NEWER}"] == f"action_required: {GIVEN_UP}GitHub is unavailable: 502"
    assert impatient() is None


@pytest.mark.parametrize("first", ["away", "bug x"])
def test_what_can_not_be_told_while_github_is_away_is_judged_again_until_it_is_back(
    impatient: Run, store: Store, world: ScriptedGitHub, first: str
) -> None:
    world.script(pull_ref(), *["away"] * 2)  # as often as anything is tried
    world.script(pull_ref(), *[first, "away"] * 10)  # the judging, and telling that there is none
    store.pulls.request_judging(judge_request())
    tries(impatient, store, 12)
    assert world.checks() == {}
    impatient()
    assert check(world) == "failure: judged"
    assert impatient() is None


def test_a_verdict_that_is_on_record_is_waited_with_for_longer_than_any_outage(
    settings: Settings, impatient: Run, store: Store, world: ScriptedGitHub
) -> None:
    world.script(pull_ref(), "record", *["away"] * 9)
    store.pulls.request_judging(judge_request())
    tries(impatient, store, 10)
    assert not any("given up" in str(one["said"]) for one in world.notes("wrote"))
    told = [datetime.fromisoformat(str(one["until"])) for one in world.notes("put off")]
    assert told[-1] - SystemClock().now() > timedelta(seconds=settings.timing.github_delay * 5), "ever seldomer"
    impatient()
    assert check(world) == "failure: judged"
    assert impatient() is None


def test_what_was_judged_in_vain_comes_again_after_its_wait_and_says_that_it_does(
    run: Run, store: Store, world: ScriptedGitHub
) -> None:
    world.script(pull_ref(), "outage 3600", "outage 3600")
    store.pulls.request_judging(judge_request())
    for tries in range(1, 3):
        run()
        assert run() is None, "not before that time"
        newest = store.pulls.find_request(pull_ref())
        assert newest is not None
        assert (newest.trigger, newest.outages, newest.head_sha) == (Trigger.OUTAGE, tries, None)
        make_due(store, pull_ref())
    run()
    assert [line["trigger"] for line in world.notes("began")] == ["pushed", "outage", "outage"]
    assert list(world.checks().values()) == ["failure: judged"]
    assert run() is None


def test_a_rate_limit_is_waited_for(run: Run, store: Store, world: ScriptedGitHub) -> None:
    world.script(pull_ref(), "limited 3600")
    store.pulls.request_judging(judge_request())
    tries(run, store, 1)
    run()
    assert check(world) == "failure: judged"


def test_what_one_limit_put_off_comes_back_in_turns_that_its_checks_tell(
    settings: Settings, store: Store, world: ScriptedGitHub
) -> None:
    run, gap = running(replace(settings, timing=Timing(quiet_window=0)), store), Timing().release_gap
    limit = SystemClock().now() + timedelta(hours=1)
    many, asked = range(1, 31), {10, 20, 30}
    for number in many:
        world.script(pull_ref(number), f"limited_until {limit.isoformat()}")
        store.pulls.request_judging(
            judge_request(number, trigger=Trigger.COMMAND if number in asked else Trigger.PUSHED)
        )
    for _ in many:
        assert run()
    assert run() is None
    at = {
        number: float(text(store.client.call("HGET", keys.pull(pull_ref(number)).name, "after"))) / 1000
        for number in many
    }
    order = sorted(many, key=lambda number: at[number])
    assert set(order[:3]) == asked, "who asked comes first"
    turns = [at[number] - limit.timestamp() for number in order]
    assert turns[0] > -1, "none before its end"
    assert gap * 15 < turns[-1] < gap * 30
    assert all(sum(one <= each < one + 5 * gap for each in turns) <= 8 for one in turns), "never all at once"
    told = {str(one["pull"]): datetime.fromisoformat(str(one["until"])).timestamp() for one in world.notes("put off")}
    assert all(abs(told[f"100/{number}"] - at[number]) < 1 for number in many)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("", "failure: judged"),
        ("forbidden", f"action_required: {GIVEN_UP}checks: write is missing"),
        ("gone", None),
        ("dropped", None),
    ],
)
def test_a_judging_ends_at_once_and_where_nobody_waits_nothing_is_told(
    run: Run, store: Store, world: ScriptedGitHub, step: str, said: str | None
) -> None:
    world.script(pull_ref(), step)
    store.pulls.request_judging(judge_request())
    fence = run()
    assert world.checks() == ({} if said is None else {f"100/1 {HEAD}": said})
    assert [entry.fence for entry in store.ledger.entries(pull_ref())] == [fence] * (step == "")
    assert run() is None


def test_a_bug_is_told_kept_out_of_redis_and_not_tried_again(run: Run, store: Store, world: ScriptedGitHub) -> None:
    world.script(pull_ref(), "bug a_line_of_a_private_source")
    store.pulls.request_judging(judge_request())
    with pytest.raises(JudgingFailed) as failure:
        run()
    assert "private" not in str(failure.value)
    assert failure.value.__cause__ is failure.value.__context__ is None
    assert check(world) == f"action_required: {GIVEN_UP}{FAILED}"
    assert run() is None


def test_what_can_not_even_be_given_up_ends_all_the_same(run: Run, store: Store, world: ScriptedGitHub) -> None:
    world.script(pull_ref(), "bug x", "mute")
    store.pulls.request_judging(judge_request())
    with pytest.raises(JudgingFailed):
        run()
    assert run() is None


def dies(store: Store, entry: LedgerEntry | None = None) -> None:
    """A judge takes it, gets as far as this verdict, and is killed."""
    given = store.pulls.next_due(f"call-{next(CALLS)}", DispatchLimits(1, 10))
    assert given is not None
    assert store.pulls.take_lease(pull_ref(), given.fence) is not None
    if entry is not None:
        store.ledger.append(pull_ref(), entry.model_copy(update={"fence": given.fence}))
    store.pulls.requeue_dead(pull_ref(), given.fence)


@pytest.mark.parametrize(
    ("is_recorded", "asked_later_s", "deaths", "begins", "said"),
    [
        (False, 0, 3, 0, f"action_required: {GIVEN_UP}Assay tried 3 times and came to no end."),
        (True, 0, 5, 1, "failure: judged"),
        (True, 0, 6, 0, f"action_required: {GIVEN_UP}Assay tried 6 times and came to no end."),
        (True, 1, 3, 0, f"action_required: {GIVEN_UP}Assay tried 3 times and came to no end."),
    ],
    ids=["unrecorded", "recorded", "never published", "asked for again since the record"],
)
def test_what_kills_its_judges_is_given_up_and_a_verdict_on_record_is_tried_as_often_again(  # noqa: PLR0913 - a table
    run: Run,
    store: Store,
    world: ScriptedGitHub,
    *,
    is_recorded: bool,
    asked_later_s: int,
    deaths: int,
    begins: int,
    said: str,
) -> None:
    entry = entry_for(HEAD, 1)
    store.pulls.request_judging(judge_request(requested_at=entry.created_at + timedelta(seconds=asked_later_s)))
    for number in range(deaths):
        dies(store, entry if is_recorded and number == 0 else None)
    run()
    assert len(world.notes("began")) == begins
    assert check(world) == said
    assert run() is None


def test_other_checks_are_waited_for_without_counting(run: Run, store: Store, world: ScriptedGitHub) -> None:
    world.script(pull_ref(), *["wait 0"] * 5)
    store.pulls.request_judging(judge_request())
    while run():
        pass
    assert [line["waiting"] for line in world.notes("began")] == [False, *[True] * 5]
    assert check(world) == "failure: judged"


def test_a_head_that_moved_is_judged_next(run: Run, store: Store, world: ScriptedGitHub) -> None:
    store.pulls.request_judging(judge_request())
    world.push(pull_ref(), HEAD)
    world.script(pull_ref(), "think 0")
    run()
    world.push(pull_ref(), NEWER)
    store.pulls.request_judging(judge_request(head_sha=NEWER))
    run()
    assert world.checks() == {f"100/1 {HEAD}": "failure: judged", f"100/1 {NEWER}": "failure: judged"}


def test_the_head_that_was_judged_is_the_newest_whatever_delivery_came_last(
    run: Run, store: Store, world: ScriptedGitHub
) -> None:
    world.push(pull_ref(), NEWER)
    store.pulls.request_judging(judge_request(head_sha=HEAD))
    run()
    assert store.checks().newest_head(pull_ref()) == NEWER


def test_a_judge_that_was_overtaken_writes_nothing_and_asks_for_another(
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


def test_an_outage_of_redis_fails_the_job_and_the_lease_brings_it_back(settings: Settings, store: Store) -> None:
    nowhere = Store(RedisClient("unix:///nowhere/r.sock", 1), store.codec, store.url, store.timing)
    context = copy_context()
    context.run(JOB_CONTEXT.set, JobContext(settings, HANDLERS, SystemClock(), nowhere))
    with pytest.raises(Unavailable, match="Redis"):
        context.run(judge, PullRequestJob(pull_ref(), 1))


@pytest.mark.parametrize("step", ["", "unavailable", "bug x", "dropped", "outage 60", "lose"])
def test_every_line_of_a_job_names_the_delivery_that_asked_for_it(
    run: Run, store: Store, world: ScriptedGitHub, caplog: pytest.LogCaptureFixture, step: str
) -> None:
    world.script(pull_ref(), step)
    store.pulls.request_judging(judge_request(delivery_id="guid-1"))
    with caplog.at_level("INFO", "worker"), contextlib.suppress(JudgingFailed):
        run()
    told = [vars(one) for one in caplog.records if one.name.startswith("worker.")]
    assert [one["msg"] for one in told][:1] == ["judging started"]
    assert [one["msg"] for one in told][-1:] == ["judging ended"]
    for one in told:
        known = (one.get("delivery_id"), one.get("repository"), one.get("number"), one.get("head_sha"))
        assert known == ("guid-1", "acme/widgets", 1, HEAD), one["msg"]


def test_what_a_job_came_to_is_counted(run: Run, store: Store, world: ScriptedGitHub) -> None:
    store.pulls.request_judging(judge_request())
    run()
    world.script(pull_ref(2), *["forbidden"] * 5)
    store.pulls.request_judging(judge_request(2))
    run()
    figures = store.measures.read_totals(SystemClock().now())
    assert (sum(figures.verdicts.values()), sum(figures.spans[DurationMetric.VERDICT].counts)) == (1, 1)
    assert figures.counts[EventCount.GIVEN_UP] == 1


def test_only_what_nobody_judged_because_of_ci_comes_again() -> None:
    assert {reason for reason in AbstainReason if is_retriggered_by_ci(abstained(reason), NO_DECISIONS)} == CI_REASONS
    assert not is_retriggered_by_ci(accepted(), NO_DECISIONS)
    assert not is_retriggered_by_ci(rejected(), NO_DECISIONS)


def test_what_somebody_lets_pass_whatever_checks_say_does_not_come_again() -> None:
    said = HumanDecisions(override=Override(login="alice", reason="We ship.", at=REQUESTED_AT))
    assert not any(is_retriggered_by_ci(abstained(reason), said) for reason in CI_REASONS)


@pytest.mark.parametrize("trigger", [Trigger.PUSHED, Trigger.COMMAND])
def test_what_is_asked_for_then_is_the_newest_head_and_whose_it_is(trigger: Trigger) -> None:
    request = judge_request(trigger=trigger, head_sha=HEAD, author=AuthorKind.BOT, outages=2, delivery_id="guid-1")
    later = request_after_ci(request, 7, REQUESTED_AT + timedelta(hours=1))
    assert (later.trigger, later.head_sha, later.author, later.outages) == (Trigger.CI, None, AuthorKind.BOT, 0)
    assert (later.delivery_id, later.requested_at) == ("ci-7-guid-1", REQUESTED_AT + timedelta(hours=1))


@pytest.mark.parametrize("before", ["guid-1", "ci-7-guid-1", "resumed-3-guid-1", "resumed-8-ci-7-guid-1"])
def test_what_checks_wake_again_and_again_is_still_told_by_its_first_delivery(before: str) -> None:
    assert request_after_ci(judge_request(delivery_id=before), 12, REQUESTED_AT).delivery_id == "ci-12-guid-1"
