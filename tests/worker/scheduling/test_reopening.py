"""Reopened check runs: an outdated verdict is taken off, no valid one stays overwritten, and none is left open."""

import contextlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from tests.worker.adapters.redis.store_samples import (
    HEAD,
    NEWER,
    REQUESTED_AT,
    close_pull_request,
    expire_lease,
    judge_request,
    pull_ref,
    start_judging,
)
from tests.worker.scheduling.scripted_judging import Action, ScriptedCheckRuns, ScriptedGitHub, raise_error
from worker.adapters.redis.judging import intake
from worker.adapters.redis.store import Store
from worker.domain.check.check_run import CheckContent, Conclusion
from worker.domain.config.config import Authors
from worker.domain.judge_request import AuthorKind, JudgeRequest, Trigger
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import JudgedHead, LeasedJob
from worker.domain.model import CheckRunId, Sha
from worker.errors import Outage, Unavailable
from worker.process import SystemClock
from worker.publishing.check_runs import CheckRunService, no_lease
from worker.publishing.initial_status import InitialStatus, late_request
from worker.publishing.texts.states import closed_content, draft_content, rate_limit_content, skipped_content
from worker.settings import Timing

NAME = f"100/1 {HEAD}"
QUIET = Timing(quiet_window=45)
ACCEPTED = CheckContent("Accepted", "Yes.", conclusion=Conclusion.SUCCESS)
EDITED = "in_progress: Judging again: the linked issues changed"


def service_of(store: Store, checks: ScriptedCheckRuns | None = None) -> CheckRunService:
    return CheckRunService(checks or ScriptedCheckRuns(store), store.checks(), no_lease, store.shared_heads)


def initial_status_of(store: Store, checks: ScriptedCheckRuns | None = None) -> InitialStatus:
    registry = store.checks()
    service = CheckRunService(checks or ScriptedCheckRuns(store), registry, no_lease, store.shared_heads)
    clock, hour = SystemClock(), timedelta(hours=1)
    no_listing: Any = None  # GitHub is not asked for authors
    return InitialStatus(service, registry, store.pulls, store.ledger, no_listing, clock, Authors(), hour)


def lease_job(store: Store) -> LeasedJob:
    return start_judging(store, pull_ref())


def conclude(store: Store, job: LeasedJob, content: CheckContent = ACCEPTED) -> str:
    service_of(store).restart(job.request, HEAD)
    service_of(store).write(job.request, HEAD, content)
    return store.pulls.finish(job.lease, Finish.JUDGED, of=JudgedHead(HEAD))


def judge_head(store: Store, content: CheckContent = ACCEPTED) -> None:
    """Judge HEAD completely."""
    store.pulls.request_judging(judge_request(author=AuthorKind.AGENT))
    assert open_next(store)
    conclude(store, lease_job(store), content)


def deliver(store: Store, trigger: Trigger, timing: Timing = QUIET, **changes: Any) -> None:
    standard: dict[str, Any] = {"author": AuthorKind.AGENT}
    intake.request_judging(store.client, judge_request(trigger=trigger, **(standard | changes)), timing)


def deliver_and_open(store: Store, trigger: Trigger, timing: Timing = QUIET, **changes: Any) -> None:
    deliver(store, trigger, timing, **changes)
    assert open_next(store)


def push_newer(store: Store) -> None:
    deliver_and_open(store, Trigger.PUSHED, head_sha=NEWER)


def judge_and_edit(store: Store, trigger: Trigger = Trigger.EDITED) -> None:
    """Judge HEAD, and deliver an edit after that."""
    judge_head(store)
    deliver(store, trigger)


def start_next(store: Store) -> LeasedJob:
    job = lease_job(store)
    service_of(store).restart(job.request, HEAD)
    return job


def assert_next_verdict_is_shown(store: Store) -> None:
    assert conclude(store, lease_job(store)) == "closed"
    assert check_of(store) == "success: Accepted"


def open_next(store: Store, checks: ScriptedCheckRuns | None = None) -> bool:
    """Open the next check run as the dispatcher does; return whether there was one."""
    pending = store.pulls.next_to_open()
    if pending is None:
        return False
    initial_status_of(store, checks).open(pending.request, pending.head_sha)
    store.pulls.mark_opened(pending.request.pull, pending.head_sha)
    return True


def start_head(store: Store) -> LeasedJob:
    """Push HEAD, open its check run and start its judging."""
    deliver_and_open(store, Trigger.PUSHED)
    return start_next(store)


def request_of(store: Store) -> JudgeRequest:
    request = store.pulls.find_request(pull_ref())
    assert request is not None
    return request


def check_of(store: Store) -> str:
    return ScriptedGitHub(store).checks()[NAME]


@pytest.mark.parametrize(
    ("trigger", "head_sha", "state"),
    [
        (Trigger.EDITED, HEAD, EDITED),
        (Trigger.BASE, HEAD, "in_progress: Judging again: the base changed"),
        (Trigger.CRITERIA, None, "in_progress: Judging again: the issue was edited"),
        (Trigger.RULES, None, "in_progress: Judging again: the rules changed"),
        (Trigger.CASE, HEAD, "in_progress: Judging"),
        (Trigger.READY, HEAD, "in_progress: Judging"),
        (Trigger.REOPENED, HEAD, "in_progress: Judging starts at"),
        (Trigger.TEXT, HEAD, "in_progress: Judging starts at"),
    ],
)
def test_outdated_verdict_is_taken_off_before_the_next_judging(
    store: Store, trigger: Trigger, head_sha: Sha | None, state: str
) -> None:
    judge_head(store)
    deliver_and_open(store, trigger, head_sha=head_sha)
    assert check_of(store)[: len(state)] == state
    assert HEAD in store.checks().open_checks(pull_ref())
    assert_next_verdict_is_shown(store)
    assert not open_next(store)
    assert store.checks().open_checks(pull_ref()) == {}


def test_edit_during_a_judging_takes_the_earlier_verdict_off_after_it(store: Store) -> None:
    judge_and_edit(store, Trigger.COMMAND)
    job = lease_job(store)
    deliver_and_open(store, Trigger.EDITED)
    assert check_of(store) == "success: Accepted", "left to its judging"
    assert conclude(store, job) == "again"
    assert open_next(store)
    assert check_of(store) == EDITED


@pytest.mark.parametrize("trigger", [Trigger.COMMAND, Trigger.LATE, Trigger.SWEEP])
def test_edited_text_takes_a_verdict_off_in_spite_of_another_request(store: Store, trigger: Trigger) -> None:
    judge_head(store)
    deliver(store, trigger)
    deliver_and_open(store, Trigger.TEXT)
    assert check_of(store).startswith("in_progress: Judging")
    assert HEAD in store.checks().open_checks(pull_ref())
    assert_next_verdict_is_shown(store)


def requeue_dead(store: Store, job: LeasedJob) -> None:
    store.pulls.requeue_dead(pull_ref(), job.lease.fence)


def lose_lease(store: Store, _: LeasedJob) -> None:
    expire_lease(store, pull_ref())
    assert store.pulls.requeue_lost("queue") == 1


def retry(store: Store, job: LeasedJob) -> None:
    store.pulls.finish(job.lease, Finish.RETRY, timedelta(minutes=5))


@pytest.mark.parametrize("end_judging", [requeue_dead, lose_lease, retry])
def test_unfinished_judging_leaves_no_outdated_verdict(
    store: Store, end_judging: Callable[[Store, LeasedJob], None]
) -> None:
    judge_and_edit(store)
    job = lease_job(store)
    open_next(store)
    assert check_of(store) == "success: Accepted"
    end_judging(store, job)
    assert open_next(store)
    assert check_of(store) == EDITED


def test_check_that_shows_a_missing_model_is_not_overwritten(store: Store) -> None:
    judge_and_edit(store)
    job = start_next(store)
    service_of(store).write(job.request, HEAD, CheckContent("No model", "", conclusion=Conclusion.ACTION_REQUIRED))
    store.pulls.finish(job.lease, Finish.OUTAGE, timedelta(minutes=5), job.request)
    open_next(store)
    assert check_of(store) == "action_required: No model"


@pytest.mark.parametrize("trigger", [Trigger.READY, Trigger.EDITED, Trigger.COMMAND])
def test_check_keeps_showing_a_rate_limit_until_the_next_judging(store: Store, trigger: Trigger) -> None:
    judge_and_edit(store)
    job = start_next(store)
    service_of(store).postpone(job.request, REQUESTED_AT)
    deliver(store, trigger)
    store.pulls.finish(job.lease, Finish.PUT_OFF, timedelta(minutes=5))
    assert open_next(store)
    assert check_of(store) == f"in_progress: {rate_limit_content(REQUESTED_AT).title}"
    assert not open_next(store)


def test_verdict_overwritten_by_an_edit_is_shown_again(store: Store) -> None:
    judge_and_edit(store)
    open_next(store, ScriptedCheckRuns(store, lambda: conclude(store, lease_job(store))))
    assert check_of(store) == EDITED, "overwritten"
    assert request_of(store).trigger is Trigger.LATE
    assert_next_verdict_is_shown(store)
    assert store.checks().open_checks(pull_ref()) == {}


def test_judging_that_starts_during_a_write_is_registered(store: Store) -> None:
    judge_and_edit(store)
    open_next(store, ScriptedCheckRuns(store, lambda: service_of(store).restart(lease_job(store).request, HEAD)))
    assert not store.checks().find(pull_ref(), HEAD).is_idle
    assert HEAD in store.checks().open_checks(pull_ref())


def test_failed_write_of_a_check_run_is_repeated(store: Store) -> None:
    judge_and_edit(store)
    with pytest.raises(Unavailable):
        open_next(store, ScriptedCheckRuns(store, raise_error(Unavailable("GitHub", "502"))))
    assert check_of(store) == "success: Accepted"
    assert store.checks().open_checks(pull_ref()), "its deadline is set"
    initial_status_of(store).open(request_of(store), HEAD)
    assert check_of(store) == EDITED


def unanswered(store: Store, before: Action | None = None) -> ScriptedCheckRuns:
    """Check runs whose next write succeeds late, and whose answer is lost."""
    return ScriptedCheckRuns(store, before, raise_error(Outage("GitHub", "the connection broke")))


@pytest.mark.parametrize("is_new", [False, True])
def test_verdict_overwritten_without_an_answer_is_shown_again(store: Store, *, is_new: bool) -> None:
    if is_new:
        deliver(store, Trigger.PUSHED)
        assert open_next(store)
    else:
        judge_head(store)
        deliver(store, Trigger.EDITED)
    late_checks = unanswered(store, lambda: conclude(store, lease_job(store)))
    request = request_of(store)
    with pytest.raises(Outage):
        initial_status_of(store, late_checks).open(request, HEAD)
    assert check_of(store).startswith("in_progress"), "overwritten"
    assert store.checks().open_checks(pull_ref()) == {}
    initial_status_of(store).open(request, HEAD)
    assert request_of(store).trigger is Trigger.LATE
    assert [*store.checks().open_checks(pull_ref())] == [HEAD], "also if the head moves"
    assert_next_verdict_is_shown(store)
    assert store.checks().open_checks(pull_ref()) == {}
    before = store.pulls.find_request(pull_ref())
    initial_status_of(store).open(request, HEAD)
    assert store.pulls.find_request(pull_ref()) == before


def test_verdict_concluded_unnoticed_is_taken_off_by_the_next_edit(store: Store) -> None:
    judge_and_edit(store)
    request = request_of(store)
    late_checks = unanswered(store, lambda: conclude(store, lease_job(store)))
    with pytest.raises(Outage):
        initial_status_of(store, late_checks).open(request, HEAD)
    unnoticed = ScriptedCheckRuns(store)
    unnoticed.update(request, unnoticed.find(request, HEAD) or CheckRunId(0), ACCEPTED)
    deliver(store, Trigger.BASE)
    initial_status_of(store).open(request_of(store), HEAD)
    assert check_of(store) == "in_progress: Judging again: the base changed"
    assert [*store.checks().open_checks(pull_ref())] == [HEAD]


@pytest.mark.parametrize("has_verdict", [False, True])
@pytest.mark.parametrize("make_checks", [ScriptedCheckRuns, unanswered])
def test_superseded_head_stays_cancelled_after_a_late_write(
    store: Store, make_checks: Callable[[Store, Action], ScriptedCheckRuns], *, has_verdict: bool
) -> None:
    if has_verdict:
        judge_head(store)
        deliver(store, Trigger.EDITED)
    else:
        deliver(store, Trigger.PUSHED)
        assert open_next(store)
    request = request_of(store)

    with contextlib.suppress(Outage):
        initial_status_of(store, make_checks(store, lambda: push_newer(store))).open(request, HEAD)
    initial_status_of(store).open(request_of(store), NEWER)
    assert check_of(store) == f"cancelled: Superseded by {NEWER[:12]}"
    assert [*store.checks().open_checks(pull_ref())] == [NEWER]


@pytest.mark.parametrize("make_checks", [ScriptedCheckRuns, unanswered])
def test_verdict_during_the_close_of_an_overdue_check_is_shown_again(
    store: Store, make_checks: Callable[[Store, Action], ScriptedCheckRuns]
) -> None:
    job = start_head(store)
    watchdog = initial_status_of(store, make_checks(store, lambda: conclude(store, job)))
    watchdog.expire(job.request, HEAD, store.checks().open_checks(pull_ref())[HEAD])
    assert check_of(store).startswith("action_required: Not judged"), "overwritten"
    assert request_of(store).trigger is Trigger.LATE
    assert_next_verdict_is_shown(store)


def test_verdict_overwritten_by_the_watchdog_is_written_again(store: Store) -> None:
    job = start_head(store)
    check = store.checks().open_checks(pull_ref())[HEAD]
    overwritten = ScriptedCheckRuns(store, after=lambda: initial_status_of(store).expire(job.request, HEAD, check))
    service_of(store, overwritten).write(job.request, HEAD, ACCEPTED)
    assert check_of(store) == "success: Accepted"
    assert store.checks().open_checks(pull_ref()) == {}
    assert store.pulls.finish(job.lease, Finish.JUDGED, of=JudgedHead(HEAD)) == "closed"


class Killed(BaseException):
    """The process is killed."""


def overwrite_and_die(store: Store) -> ScriptedCheckRuns:
    """Check runs whose next write is overwritten by a watchdog that is killed after it."""

    def expire() -> None:
        request, check = request_of(store), store.checks().find(pull_ref(), HEAD).check
        killed = ScriptedCheckRuns(store, after=raise_error(Killed()))
        with pytest.raises(Killed):
            initial_status_of(store, killed).expire(request, HEAD, check or CheckRunId(0))

    return ScriptedCheckRuns(store, after=expire)


def test_verdict_overwritten_by_a_killed_watchdog_is_written_again(store: Store) -> None:
    job = start_head(store)
    service_of(store, overwrite_and_die(store)).write(job.request, HEAD, ACCEPTED)
    assert check_of(store) == "success: Accepted"
    assert store.checks().open_checks(pull_ref()) == {}


def test_skipped_check_overwritten_by_a_killed_watchdog_is_reported(store: Store) -> None:
    deliver_and_open(store, Trigger.PUSHED)
    check = store.checks().open_checks(pull_ref())[HEAD]
    skipped = skipped_content(AuthorKind.PERSON)
    assert not service_of(store, overwrite_and_die(store)).reopen(judge_request(), HEAD, check, skipped)
    assert check_of(store).startswith("action_required"), "overwritten"


def test_verdict_after_the_close_of_an_overdue_check_is_written_once(store: Store, world: ScriptedGitHub) -> None:
    job = start_head(store)
    initial_status_of(store).expire(job.request, HEAD, store.checks().open_checks(pull_ref())[HEAD])
    assert conclude(store, job) == "closed"
    wrote = [note["state"] for note in world.notes("wrote")]
    assert wrote[-2:] == ["in_progress: Judging", "success: Accepted"]


def test_verdict_on_a_superseded_head_is_not_written_again(store: Store) -> None:
    job = start_head(store)

    service_of(store, ScriptedCheckRuns(store, after=lambda: push_newer(store))).write(job.request, HEAD, ACCEPTED)
    assert check_of(store) == f"cancelled: Superseded by {NEWER[:12]}"


def test_overdue_check_stays_watched_if_its_close_fails(store: Store) -> None:
    deliver_and_open(store, Trigger.PUSHED)
    request, check = judge_request(), store.checks().open_checks(pull_ref())[HEAD]
    with pytest.raises(Outage):
        initial_status_of(store, unanswered(store)).expire(request, HEAD, check)
    assert store.checks().open_checks(pull_ref()) == {HEAD: check}
    initial_status_of(store).expire(request, HEAD, check)
    assert store.checks().open_checks(pull_ref()) == {}
    assert request_of(store).trigger is Trigger.PUSHED


@pytest.mark.parametrize("finish", [Finish.PUT_OFF, Finish.AWAY])
@pytest.mark.parametrize("trigger", [Trigger.BASE, Trigger.READY, Trigger.EDITED])
def test_check_keeps_showing_a_postponed_judging(store: Store, trigger: Trigger, finish: Finish) -> None:
    judge_head(store)
    deliver(store, trigger)
    job = lease_job(store)
    assert open_next(store)
    service_of(store).restart(job.request, HEAD)
    service_of(store).postpone(job.request, SystemClock().now() + timedelta(minutes=9), is_away=finish is Finish.AWAY)
    state = check_of(store)
    store.pulls.finish(job.lease, finish, timedelta(minutes=9))
    assert open_next(store)
    assert check_of(store) == state
    deliver(store, Trigger.COMMAND)
    deliver_and_open(store, Trigger.READY)
    assert check_of(store) == state
    assert_next_verdict_is_shown(store)


def test_skipped_pull_request_does_not_wait_for_a_rate_limit(store: Store) -> None:
    deliver_and_open(store, Trigger.PUSHED)
    job = lease_job(store)
    service_of(store).postpone(job.request, SystemClock().now() + timedelta(minutes=9))
    store.pulls.finish(job.lease, Finish.PUT_OFF, timedelta(minutes=9))
    assert service_of(store).open(judge_request(), HEAD, skipped_content(AuthorKind.PERSON))
    assert check_of(store).startswith("skipped")
    assert store.checks().open_checks(pull_ref()) == {}


@pytest.mark.parametrize(("trigger", "writes"), [(Trigger.EDITED, 0), (Trigger.TEXT, 1)])
def test_only_an_edited_text_in_the_quiet_window_is_shown(
    store: Store, world: ScriptedGitHub, trigger: Trigger, writes: int
) -> None:
    deliver_and_open(store, Trigger.PUSHED)
    written = len(world.notes("wrote"))
    deliver_and_open(store, trigger)
    assert check_of(store).startswith("in_progress: Judging starts at")
    assert len(world.notes("wrote")) == written + writes


def test_edited_text_without_a_quiet_window_shows_its_reason(store: Store) -> None:
    judge_head(store)
    deliver_and_open(store, Trigger.TEXT, Timing(quiet_window=0))
    assert check_of(store) == "in_progress: Judging again: its title or description was edited"


def test_persons_judged_pull_request_is_judged_again_after_a_base_change(store: Store) -> None:
    judge_head(store)
    deliver_and_open(store, Trigger.BASE, author=AuthorKind.PERSON)
    assert check_of(store) == "in_progress: Judging again: the base changed"
    assert store.pulls.find_plan(pull_ref()) is not None


def test_edited_draft_keeps_its_verdict_until_it_is_ready(store: Store) -> None:
    judge_and_edit(store, Trigger.CI)
    deliver_and_open(store, Trigger.EDITED, draft=True)
    assert check_of(store) == "success: Accepted"
    deliver_and_open(store, Trigger.READY)
    assert check_of(store) == "in_progress: Judging"


@pytest.mark.parametrize(
    ("is_draft", "state"), [(False, "in_progress: Judging starts at"), (True, f"in_progress: {draft_content().title}")]
)
def test_cancelled_check_waits_again_when_its_pull_request_reopens(store: Store, state: str, *, is_draft: bool) -> None:
    judge_head(store, closed_content())
    close_pull_request(store, pull_ref(), store.ledger_retention)
    deliver_and_open(store, Trigger.REOPENED, draft=is_draft)
    assert check_of(store)[: len(state)] == state
    assert store.checks().find(pull_ref(), HEAD).is_idle


def test_superseded_head_that_returns_waits_again(store: Store) -> None:
    deliver_and_open(store, Trigger.PUSHED)
    push_newer(store)
    assert check_of(store) == f"cancelled: Superseded by {NEWER[:12]}"
    deliver_and_open(store, Trigger.PUSHED)
    assert check_of(store)[:30] == "in_progress: Judging starts at"


def test_head_that_returns_during_its_cancellation_does_not_stay_open(store: Store) -> None:
    deliver_and_open(store, Trigger.PUSHED)
    push_newer(store)
    deliver(store, Trigger.PUSHED)
    request = request_of(store)
    open_next(store, ScriptedCheckRuns(store, lambda: service_of(store).supersede(request, NEWER)))
    assert request_of(store).trigger is Trigger.LATE
    job = lease_job(store)
    service_of(store).restart(job.request, NEWER)
    service_of(store).supersede(job.request, NEWER)
    assert check_of(store) == f"cancelled: Superseded by {NEWER[:12]}"


def test_verdict_recorded_after_it_was_overwritten_is_reported(store: Store) -> None:
    judge_and_edit(store)
    check = store.checks().find(pull_ref(), HEAD).check
    assert check is not None

    def conclude_unnoticed() -> None:
        job = start_next(store)
        ScriptedCheckRuns(store).update(job.request, check, ACCEPTED)

    open_next(store, ScriptedCheckRuns(store, conclude_unnoticed))
    assert check_of(store) == EDITED, "overwritten"
    assert not store.checks().record_concluded(pull_ref(), HEAD, check)


def test_verdict_on_a_returned_head_stays_until_its_judging(store: Store) -> None:
    judge_head(store)
    push_newer(store)
    deliver_and_open(store, Trigger.PUSHED)
    assert check_of(store) == "success: Accepted"


def test_edit_during_a_write_keeps_the_verdict_outdated(store: Store) -> None:
    judge_and_edit(store)
    jobs: list[LeasedJob] = []

    def lease_and_edit() -> None:
        jobs.append(lease_job(store))
        deliver(store, Trigger.BASE)

    open_next(store, ScriptedCheckRuns(store, lease_and_edit))
    store.pulls.next_to_open()
    conclude(store, jobs[0])
    deliver(store, Trigger.COMMAND, head_sha=None)
    outdated = store.checks().find_outdated(pull_ref(), HEAD)
    assert outdated is not None
    assert outdated.trigger is Trigger.BASE


def test_late_requests_of_one_delivery_have_distinct_ids(store: Store) -> None:
    request = judge_request(author=AuthorKind.AGENT)
    once = late_request(request)
    again = late_request(late_request(request))
    assert len({request.delivery_id, once.delivery_id, again.delivery_id}) == 3
    assert len(once.delivery_id) == len(again.delivery_id)
    for late in (once, again):
        before = store.pulls.find_request(pull_ref())
        store.pulls.request_judging(late)
        assert store.pulls.find_request(pull_ref()) not in (None, before)
