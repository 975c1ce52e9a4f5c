"""A verdict that counts no more is taken off the check at once. Invariant: no verdict is written over, and none is left open."""

import contextlib
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from tests.worker.adapters.redis.store_samples import (
    DELIVERIES,
    HEAD,
    NEWER,
    REQUESTED_AT,
    close_pull_request,
    expire_lease,
    judge_request,
    make_due,
    pull_ref,
)
from tests.worker.scheduling.scripted_judging import Action, ScriptedCheckRuns, ScriptedGitHub, raises
from worker.adapters.redis.judging import intake
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.check.check_run import CheckContent, Conclusion
from worker.domain.config.config import Authors
from worker.domain.ids import CheckRunId, InstallationId, RepositoryName, Sha
from worker.domain.judge_request import AuthorKind, JudgeRequest, Trigger
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import DispatchLimits, JudgedHead, LeasedJob
from worker.domain.pull_request_events import OpenPull, PullSnapshot
from worker.errors import Outage, Unavailable
from worker.publishing.check_runs import CheckRunService, no_lease
from worker.publishing.initial_status import InitialStatus, late_request
from worker.publishing.texts.states import closed_content, draft_content, rate_limit_content, skipped_content
from worker.settings import Timing

NAME = f"100/1 {HEAD}"
QUIET = Timing(quiet_window=45)
ACCEPTED = CheckContent("Accepted", "Yes.", conclusion=Conclusion.SUCCESS)
EDITED = "in_progress: Judging again: the linked issues changed"


class Nobody:
    """Nobody has to be asked who wrote it."""

    def find_author(self, request: JudgeRequest) -> PullSnapshot:
        raise AssertionError(request)

    def open_pulls(self, installation: InstallationId, repository: RepositoryName) -> Iterator[OpenPull]:
        raise AssertionError(installation, repository)


def desk_of(store: Store, checks: ScriptedCheckRuns | None = None) -> CheckRunService:
    return CheckRunService(checks or ScriptedCheckRuns(store), store.checks(), no_lease, store.shared_heads)


def reception(store: Store, checks: ScriptedCheckRuns | None = None) -> InitialStatus:
    registry = store.checks()
    desk = CheckRunService(checks or ScriptedCheckRuns(store), registry, no_lease, store.shared_heads)
    clock, hour = SystemClock(), timedelta(hours=1)
    return InitialStatus(desk, registry, store.pulls, store.ledger, Nobody(), clock, Authors(), hour)


def takes(store: Store) -> LeasedJob:
    """A judge begins what is due."""
    make_due(store, pull_ref())
    job = store.pulls.next_due(f"call-{next(DELIVERIES)}", DispatchLimits(100, 100))
    taken = store.pulls.take_lease(pull_ref(), job.fence) if job else None
    assert taken is not None
    return taken


def concludes(store: Store, taken: LeasedJob, content: CheckContent = ACCEPTED) -> str:
    desk_of(store).restart(taken.request, HEAD)
    desk_of(store).write(taken.request, HEAD, content)
    return store.pulls.finish(taken.lease, Finish.JUDGED, of=JudgedHead(HEAD))


def judged(store: Store, content: CheckContent = ACCEPTED) -> None:
    """HEAD has its verdict, and nothing is left to do."""
    store.pulls.request_judging(judge_request(author=AuthorKind.AGENT))
    assert opens(store)
    concludes(store, takes(store), content)


def hears(store: Store, trigger: Trigger, **changes: Any) -> None:
    intake.request_judging(store.client, judge_request(trigger=trigger, author=AuthorKind.AGENT, **changes), QUIET)


def opens(store: Store, checks: ScriptedCheckRuns | None = None) -> bool:
    """Do what the dispatcher does about a check; False: there is nothing to open."""
    found = store.pulls.next_to_open()
    if found is None:
        return False
    reception(store, checks).open(found.request, found.head_sha)
    store.pulls.mark_opened(found.request.pull, found.head_sha)
    return True


def begun(store: Store) -> LeasedJob:
    """A head that was pushed has its check run, and a judge shows there that it began."""
    hears(store, Trigger.PUSHED)
    assert opens(store)
    taken = takes(store)
    desk_of(store).restart(taken.request, HEAD)
    return taken


def request_of(store: Store) -> JudgeRequest:
    request = store.pulls.find_request(pull_ref())
    assert request is not None
    return request


def shown(store: Store) -> str:
    return ScriptedGitHub(store).checks()[NAME]


@pytest.mark.parametrize(
    ("why", "head_sha", "said"),
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
def test_a_verdict_that_counts_no_more_is_taken_off_before_anybody_judges(
    store: Store, why: Trigger, head_sha: Sha | None, said: str
) -> None:
    judged(store)
    hears(store, why, head_sha=head_sha)
    assert opens(store)
    assert shown(store)[: len(said)] == said
    assert HEAD in store.checks().open_checks(pull_ref())
    assert concludes(store, takes(store)) == "closed"
    assert shown(store) == "success: Accepted"
    assert not opens(store)
    assert store.checks().open_checks(pull_ref()) == {}


def test_an_edit_while_it_is_judged_takes_the_verdict_off_that_was_made_before(store: Store) -> None:
    judged(store)
    hears(store, Trigger.COMMAND)
    taken = takes(store)
    hears(store, Trigger.EDITED)
    assert opens(store)
    assert shown(store) == "success: Accepted", "who judges shows that himself"
    assert concludes(store, taken) == "again"
    assert opens(store)
    assert shown(store) == EDITED


@pytest.mark.parametrize("asks", [Trigger.COMMAND, Trigger.LATE, Trigger.SWEEP])
def test_an_edited_text_takes_the_verdict_off_also_where_somebody_asked_for_another_one(
    store: Store, asks: Trigger
) -> None:
    judged(store)
    hears(store, asks)
    hears(store, Trigger.TEXT)
    assert opens(store)
    assert shown(store).startswith("in_progress: Judging")
    assert HEAD in store.checks().open_checks(pull_ref())
    assert concludes(store, takes(store)) == "closed"
    assert shown(store) == "success: Accepted"


def dies(store: Store, taken: LeasedJob) -> None:
    store.pulls.requeue_dead(pull_ref(), taken.lease.fence)


def is_not_heard_of(store: Store, _: LeasedJob) -> None:
    expire_lease(store, pull_ref())
    assert store.pulls.requeue_lost("queue") == 1


def tries_again(store: Store, taken: LeasedJob) -> None:
    store.pulls.finish(taken.lease, Finish.RETRY, timedelta(minutes=5))


@pytest.mark.parametrize("ends", [dies, is_not_heard_of, tries_again])
def test_a_judge_that_came_to_no_end_leaves_no_verdict_behind_that_counts_no_more(
    store: Store, ends: Callable[[Store, LeasedJob], None]
) -> None:
    judged(store)
    hears(store, Trigger.EDITED)
    taken = takes(store)
    opens(store)
    assert shown(store) == "success: Accepted"
    ends(store, taken)
    assert opens(store)
    assert shown(store) == EDITED


def test_a_judge_that_shows_why_nobody_judges_is_not_written_over(store: Store) -> None:
    judged(store)
    hears(store, Trigger.EDITED)
    taken = takes(store)
    desk_of(store).restart(taken.request, HEAD)
    desk_of(store).write(taken.request, HEAD, CheckContent("No model", "", conclusion=Conclusion.ACTION_REQUIRED))
    store.pulls.finish(taken.lease, Finish.OUTAGE, timedelta(minutes=5), taken.request)
    opens(store)
    assert shown(store) == "action_required: No model"


@pytest.mark.parametrize("what", [Trigger.READY, Trigger.EDITED, Trigger.COMMAND])
def test_one_that_says_until_when_nobody_can_judge_goes_on_saying_so(store: Store, what: Trigger) -> None:
    judged(store)
    hears(store, Trigger.EDITED)
    taken = takes(store)
    desk_of(store).restart(taken.request, HEAD)
    desk_of(store).postpone(taken.request, REQUESTED_AT)
    hears(store, what)
    store.pulls.finish(taken.lease, Finish.PUT_OFF, timedelta(minutes=5))
    assert opens(store)
    assert shown(store) == f"in_progress: {rate_limit_content(REQUESTED_AT).title}"
    assert not opens(store)


def test_a_verdict_that_came_while_the_old_one_was_taken_off_is_shown_again(store: Store) -> None:
    judged(store)
    hears(store, Trigger.EDITED)
    opens(store, ScriptedCheckRuns(store, lambda: concludes(store, takes(store))))
    assert shown(store) == EDITED, "written over"
    assert request_of(store).trigger is Trigger.LATE
    assert concludes(store, takes(store)) == "closed"
    assert shown(store) == "success: Accepted"
    assert store.checks().open_checks(pull_ref()) == {}


def test_a_judge_that_began_while_it_was_written_is_known_to_be_at_it(store: Store) -> None:
    judged(store)
    hears(store, Trigger.EDITED)
    opens(store, ScriptedCheckRuns(store, lambda: desk_of(store).restart(takes(store).request, HEAD)))
    assert not store.checks().find(pull_ref(), HEAD).is_idle
    assert HEAD in store.checks().open_checks(pull_ref())


def test_who_dies_before_github_is_told_is_followed_by_somebody_who_tells(store: Store) -> None:
    judged(store)
    hears(store, Trigger.EDITED)
    with pytest.raises(Unavailable):
        opens(store, ScriptedCheckRuns(store, raises(Unavailable("GitHub", "502"))))
    assert shown(store) == "success: Accepted"
    assert store.checks().open_checks(pull_ref()), "its watchdog is set"
    found = request_of(store)
    reception(store).open(found, HEAD)
    assert shown(store) == EDITED


def unanswered(store: Store, happens: Action | None = None) -> ScriptedCheckRuns:
    """GitHub takes its time, writes it, and the answer is lost."""
    return ScriptedCheckRuns(store, happens, raises(Outage("GitHub", "the connection broke")))


@pytest.mark.parametrize("is_new", [False, True])
def test_a_verdict_that_was_written_over_by_who_never_heard_of_it_is_shown_again(
    store: Store,
    is_new: bool,  # noqa: FBT001 - both ways
) -> None:
    if is_new:
        hears(store, Trigger.PUSHED)
        assert opens(store)
    else:
        judged(store)
        hears(store, Trigger.EDITED)
    cut_off = unanswered(store, lambda: concludes(store, takes(store)))
    request = request_of(store)
    with pytest.raises(Outage):
        reception(store, cut_off).open(request, HEAD)
    assert shown(store).startswith("in_progress"), "written over"
    assert store.checks().open_checks(pull_ref()) == {}, "and nobody would look"
    reception(store).open(request, HEAD)
    assert request_of(store).trigger is Trigger.LATE
    assert [*store.checks().open_checks(pull_ref())] == [HEAD], "also for a judge who finds another head"
    assert concludes(store, takes(store)) == "closed"
    assert shown(store) == "success: Accepted"
    assert store.checks().open_checks(pull_ref()) == {}
    before = store.pulls.find_request(pull_ref())
    reception(store).open(request, HEAD)
    assert store.pulls.find_request(pull_ref()) == before


def test_one_that_may_be_written_over_is_taken_off_as_soon_as_any_other(store: Store) -> None:
    judged(store)
    hears(store, Trigger.EDITED)
    request = request_of(store)
    cut_off = unanswered(store, lambda: concludes(store, takes(store)))
    with pytest.raises(Outage):
        reception(store, cut_off).open(request, HEAD)
    concludes_unheard = ScriptedCheckRuns(store)
    concludes_unheard.update(request, concludes_unheard.find(request, HEAD) or CheckRunId(0), ACCEPTED)
    hears(store, Trigger.BASE)
    newer = request_of(store)
    reception(store).open(newer, HEAD)
    assert shown(store) == "in_progress: Judging again: the base changed"
    assert [*store.checks().open_checks(pull_ref())] == [HEAD]


@pytest.mark.parametrize("is_judged", [False, True])
@pytest.mark.parametrize("writes", [ScriptedCheckRuns, unanswered])
def test_a_head_that_is_left_while_its_check_is_written_to_stays_cancelled(
    store: Store,
    writes: Callable[[Store, Action], ScriptedCheckRuns],
    is_judged: bool,  # noqa: FBT001 - both ways
) -> None:
    if is_judged:
        judged(store)
        hears(store, Trigger.EDITED)
    else:
        hears(store, Trigger.PUSHED)
        assert opens(store)
    request = request_of(store)

    def is_pushed_to() -> None:
        hears(store, Trigger.PUSHED, head_sha=NEWER)
        opens(store)

    with contextlib.suppress(Outage):
        reception(store, writes(store, is_pushed_to)).open(request, HEAD)
    newest = request_of(store)
    reception(store).open(newest, NEWER)
    assert shown(store) == f"cancelled: Superseded by {NEWER[:12]}"
    assert [*store.checks().open_checks(pull_ref())] == [NEWER]


@pytest.mark.parametrize("writes", [ScriptedCheckRuns, unanswered])
def test_a_verdict_that_comes_while_its_check_is_closed_as_overdue_is_shown_again(
    store: Store, writes: Callable[[Store, Action], ScriptedCheckRuns]
) -> None:
    taken = begun(store)
    watchdog = reception(store, writes(store, lambda: concludes(store, taken)))
    watchdog.expire(taken.request, HEAD, store.checks().open_checks(pull_ref())[HEAD])
    assert shown(store).startswith("action_required: Not judged"), "written over"
    assert request_of(store).trigger is Trigger.LATE
    assert concludes(store, takes(store)) == "closed"
    assert shown(store) == "success: Accepted"


def test_a_verdict_that_is_noted_only_after_the_watchdog_wrote_over_it_is_written_again(store: Store) -> None:
    taken = begun(store)
    check = store.checks().open_checks(pull_ref())[HEAD]
    over = ScriptedCheckRuns(store, after=lambda: reception(store).expire(taken.request, HEAD, check))
    desk_of(store, over).write(taken.request, HEAD, ACCEPTED)
    assert shown(store) == "success: Accepted"
    assert store.checks().open_checks(pull_ref()) == {}
    assert store.pulls.finish(taken.lease, Finish.JUDGED, of=JudgedHead(HEAD)) == "closed"


class Killed(BaseException):
    """Nothing more is done by this process."""


def test_a_verdict_that_a_watchdog_wrote_over_who_died_of_it_is_written_again(store: Store) -> None:
    taken = begun(store)
    check = store.checks().open_checks(pull_ref())[HEAD]

    def is_killed() -> None:
        with pytest.raises(Killed):
            reception(store, ScriptedCheckRuns(store, after=raises(Killed()))).expire(taken.request, HEAD, check)

    desk_of(store, ScriptedCheckRuns(store, after=is_killed)).write(taken.request, HEAD, ACCEPTED)
    assert shown(store) == "success: Accepted"
    assert store.checks().open_checks(pull_ref()) == {}


def test_why_nobody_judges_is_looked_at_again_where_a_watchdog_wrote_over_it_who_died_of_it(store: Store) -> None:
    hears(store, Trigger.PUSHED)
    assert opens(store)
    check = store.checks().open_checks(pull_ref())[HEAD]

    def is_killed() -> None:
        with pytest.raises(Killed):
            reception(store, ScriptedCheckRuns(store, after=raises(Killed()))).expire(judge_request(), HEAD, check)

    said = skipped_content(AuthorKind.PERSON)
    assert not desk_of(store, ScriptedCheckRuns(store, after=is_killed)).reopen(judge_request(), HEAD, check, said)
    assert shown(store).startswith("action_required"), "written over, and somebody is asked for who looks"


def test_a_verdict_that_comes_after_its_check_was_closed_as_overdue_is_written_once(
    store: Store, world: ScriptedGitHub
) -> None:
    taken = begun(store)
    reception(store).expire(taken.request, HEAD, store.checks().open_checks(pull_ref())[HEAD])
    assert concludes(store, taken) == "closed"
    wrote = [one["said"] for one in world.notes("wrote")]
    assert wrote[-2:] == ["in_progress: Judging", "success: Accepted"]


def test_a_verdict_on_a_head_that_was_left_meanwhile_is_not_written_again(store: Store) -> None:
    taken = begun(store)

    def is_pushed_to() -> None:
        hears(store, Trigger.PUSHED, head_sha=NEWER)
        opens(store)

    desk_of(store, ScriptedCheckRuns(store, after=is_pushed_to)).write(taken.request, HEAD, ACCEPTED)
    assert shown(store) == f"cancelled: Superseded by {NEWER[:12]}"


def test_an_overdue_check_that_github_does_not_let_us_close_stays_watched(store: Store) -> None:
    hears(store, Trigger.PUSHED)
    assert opens(store)
    request, check = judge_request(), store.checks().open_checks(pull_ref())[HEAD]
    with pytest.raises(Outage):
        reception(store, unanswered(store)).expire(request, HEAD, check)
    assert store.checks().open_checks(pull_ref()) == {HEAD: check}
    reception(store).expire(request, HEAD, check)
    assert store.checks().open_checks(pull_ref()) == {}
    assert request_of(store).trigger is Trigger.PUSHED


@pytest.mark.parametrize("how", [Finish.PUT_OFF, Finish.AWAY])
@pytest.mark.parametrize("why", [Trigger.BASE, Trigger.READY, Trigger.EDITED])
def test_a_check_that_says_until_when_github_lets_nobody_judge_goes_on_saying_so(
    store: Store, why: Trigger, how: Finish
) -> None:
    judged(store)
    hears(store, why)
    taken = takes(store)
    assert opens(store)
    desk_of(store).restart(taken.request, HEAD)
    desk_of(store).postpone(taken.request, SystemClock().now() + timedelta(minutes=9), is_away=how is Finish.AWAY)
    said = shown(store)
    store.pulls.finish(taken.lease, how, timedelta(minutes=9))
    assert opens(store)
    assert shown(store) == said
    hears(store, Trigger.COMMAND)
    hears(store, Trigger.READY)
    assert opens(store)
    assert shown(store) == said
    assert concludes(store, takes(store)) == "closed"
    assert shown(store) == "success: Accepted"


def test_who_is_to_be_skipped_does_not_wait_for_github(store: Store) -> None:
    hears(store, Trigger.PUSHED)
    assert opens(store)
    taken = takes(store)
    desk_of(store).postpone(taken.request, SystemClock().now() + timedelta(minutes=9))
    store.pulls.finish(taken.lease, Finish.PUT_OFF, timedelta(minutes=9))
    assert desk_of(store).open(judge_request(), HEAD, skipped_content(AuthorKind.PERSON))
    assert shown(store).startswith("skipped")
    assert store.checks().open_checks(pull_ref()) == {}


def test_an_edit_in_the_quiet_window_writes_nothing(store: Store, world: ScriptedGitHub) -> None:
    intake.request_judging(store.client, judge_request(author=AuthorKind.AGENT), QUIET)
    assert opens(store)
    written = len(world.notes("wrote"))
    hears(store, Trigger.EDITED)
    assert opens(store)
    assert len(world.notes("wrote")) == written


def test_an_edited_text_in_the_quiet_window_says_when_judging_starts_now(store: Store, world: ScriptedGitHub) -> None:
    intake.request_judging(store.client, judge_request(author=AuthorKind.AGENT), QUIET)
    assert opens(store)
    written = len(world.notes("wrote"))
    hears(store, Trigger.TEXT)
    assert opens(store)
    assert shown(store).startswith("in_progress: Judging starts at")
    assert len(world.notes("wrote")) == written + 1


def test_an_edited_text_without_a_window_is_judged_by_at_once_and_says_why(store: Store) -> None:
    judged(store)
    intake.request_judging(
        store.client, judge_request(trigger=Trigger.TEXT, author=AuthorKind.AGENT), Timing(quiet_window=0)
    )
    assert opens(store)
    assert shown(store) == "in_progress: Judging again: its title or description was edited"


def test_a_persons_pull_request_that_was_judged_by_hand_is_judged_again_at_another_base(store: Store) -> None:
    judged(store)
    intake.request_judging(store.client, judge_request(trigger=Trigger.BASE, author=AuthorKind.PERSON), QUIET)
    assert opens(store)
    assert shown(store) == "in_progress: Judging again: the base changed"
    assert store.pulls.find_plan(pull_ref()) is not None


def test_an_edited_draft_keeps_its_verdict_until_it_is_ready(store: Store) -> None:
    judged(store)
    hears(store, Trigger.CI)
    hears(store, Trigger.EDITED, draft=True)
    opens(store)
    assert shown(store) == "success: Accepted"
    hears(store, Trigger.READY)
    assert opens(store)
    assert shown(store) == "in_progress: Judging"


@pytest.mark.parametrize(
    ("is_draft", "said"), [(False, "in_progress: Judging starts at"), (True, f"in_progress: {draft_content().title}")]
)
def test_what_was_cancelled_when_it_closed_waits_again_when_it_is_reopened(
    store: Store,
    is_draft: bool,  # noqa: FBT001 - both ways
    said: str,
) -> None:
    judged(store, closed_content())
    close_pull_request(store, pull_ref(), store.ledger_retention)
    hears(store, Trigger.REOPENED, draft=is_draft)
    assert opens(store)
    assert shown(store)[: len(said)] == said
    assert store.checks().find(pull_ref(), HEAD).is_idle


def test_a_head_that_comes_back_after_it_was_superseded_waits_again(store: Store) -> None:
    hears(store, Trigger.PUSHED)
    opens(store)
    hears(store, Trigger.PUSHED, head_sha=NEWER)
    opens(store)
    assert shown(store) == f"cancelled: Superseded by {NEWER[:12]}"
    hears(store, Trigger.PUSHED)
    assert opens(store)
    assert shown(store)[:30] == "in_progress: Judging starts at"


def test_a_head_that_comes_back_while_it_is_cancelled_for_another_does_not_stay_open(store: Store) -> None:
    hears(store, Trigger.PUSHED)
    opens(store)
    hears(store, Trigger.PUSHED, head_sha=NEWER)
    opens(store)
    hears(store, Trigger.PUSHED)
    request = request_of(store)
    opens(store, ScriptedCheckRuns(store, lambda: desk_of(store).supersede(request, NEWER)))
    assert request_of(store).trigger is Trigger.LATE
    taken = takes(store)
    desk_of(store).restart(taken.request, NEWER)
    desk_of(store).supersede(taken.request, NEWER)
    assert shown(store) == f"cancelled: Superseded by {NEWER[:12]}"


def test_who_notes_a_verdict_only_after_it_was_written_over_learns_of_that(store: Store) -> None:
    judged(store)
    hears(store, Trigger.EDITED)
    check = store.checks().find(pull_ref(), HEAD).check
    assert check is not None

    def is_judged() -> None:
        taken = takes(store)
        desk_of(store).restart(taken.request, HEAD)
        ScriptedCheckRuns(store).update(taken.request, check, ACCEPTED)

    opens(store, ScriptedCheckRuns(store, is_judged))
    assert shown(store) == EDITED, "over the verdict"
    assert not store.checks().record_concluded(pull_ref(), HEAD, check)


def test_a_verdict_on_a_head_that_comes_back_is_left_to_its_judge(store: Store) -> None:
    judged(store)
    hears(store, Trigger.PUSHED, head_sha=NEWER)
    opens(store)
    hears(store, Trigger.PUSHED)
    assert opens(store)
    assert shown(store) == "success: Accepted"


def test_what_was_told_once_more_while_it_was_shown_is_not_forgotten(store: Store) -> None:
    judged(store)
    hears(store, Trigger.EDITED)
    taken: list[LeasedJob] = []

    def is_judged_and_edited() -> None:
        taken.append(takes(store))
        hears(store, Trigger.BASE)

    opens(store, ScriptedCheckRuns(store, is_judged_and_edited))
    store.pulls.next_to_open()
    concludes(store, taken[0])
    hears(store, Trigger.COMMAND, head_sha=None)
    found = store.checks().find_outdated(pull_ref(), HEAD)
    assert found is not None
    assert found.trigger is Trigger.BASE


def test_a_verdict_that_is_written_over_twice_for_one_event_is_shown_again_twice(store: Store) -> None:
    request = judge_request(author=AuthorKind.AGENT)
    once = late_request(request)
    again = late_request(late_request(request))
    assert len({request.delivery_id, once.delivery_id, again.delivery_id}) == 3
    assert len(once.delivery_id) == len(again.delivery_id)
    for one in (once, again):
        before = store.pulls.find_request(pull_ref())
        store.pulls.request_judging(one)
        assert store.pulls.find_request(pull_ref()) not in (None, before)
