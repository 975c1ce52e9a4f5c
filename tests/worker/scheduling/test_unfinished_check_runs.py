"""Unfinished check runs: abandoned by a killed process, duplicated, or closed without write access."""

import pytest
from typing_extensions import override

from tests.worker.adapters.redis.store_samples import HEAD, NEWER, REQUESTED_AT, judge_request, pull_ref, start_judging
from tests.worker.scheduling.scripted_judging import ScriptedCheckRuns, ScriptedGitHub, raise_error
from worker.adapters.redis import keys
from worker.adapters.redis.judging.check_runs import RedisCheckRegistry
from worker.adapters.redis.store import Store
from worker.domain.check.check_run import CheckContent
from worker.domain.dossier import Dossier
from worker.domain.judge_request import AuthorKind, JudgeRequest, Trigger
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import LeasedJob
from worker.domain.model import CheckRunId, Sha
from worker.domain.ports import Fence, Lease
from worker.errors import Forbidden, LeaseLost, SubjectGone, Unavailable
from worker.publishing.check_runs import CheckRunService, CheckStatusReporter, no_lease
from worker.publishing.texts.states import (
    closed_content,
    draft_content,
    failed_content,
    github_outage_content,
    judging_content,
    quiet_window_content,
    rate_limit_content,
    skipped_content,
)
from worker.settings import Timing

NAME = f"100/1 {HEAD}"


def service_of(store: Store, refusal: Exception | None = None, fence: Fence = no_lease) -> CheckRunService:
    """*refusal*: GitHub's error at the next write."""
    return CheckRunService(ScriptedCheckRuns(store, raise_error(refusal) if refusal else None), store.checks(), fence)


def lease_job(store: Store) -> LeasedJob:
    store.pulls.request_judging(judge_request())
    return start_judging(store)


def reporter_of(store: Store, lease: Lease, source: "HeadSource | None" = None) -> CheckStatusReporter:
    return CheckStatusReporter(
        source or HeadSource(is_fresh=False), lambda fence: service_of(store, fence=fence), lease, "https://github.com"
    )


def abandon_check(store: Store, *, created: bool) -> None:
    """Claim the check run of HEAD, with a short hold, and leave it."""
    assert RedisCheckRegistry(store.client, Timing(open_hold=0.01)).claim(pull_ref(), HEAD) is None
    if created:
        ScriptedCheckRuns(store).create(judge_request(), HEAD, judging_content())


class DuplicateCheckRuns(ScriptedCheckRuns):
    """Check runs of which another process creates a second one during each creation."""

    OTHER = CheckRunId(77)

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._store = store

    @override
    def create_first(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> CheckRunId:
        self._store.client.call("DEL", keys.check(pull_ref(), head_sha).name)
        other = self._store.checks()
        assert other.claim(pull_ref(), head_sha) is None
        other.record_opened(pull_ref(), head_sha, self.OTHER)
        return super().create_first(request, head_sha, content)

    @override
    def find(self, request: JudgeRequest, head_sha: Sha) -> CheckRunId | None:
        assert super().find(request, head_sha) is not None
        return self.OTHER


def test_duplicate_check_run_is_replaced_by_the_one_that_github_shows(store: Store) -> None:
    CheckRunService(DuplicateCheckRuns(store), store.checks(), no_lease).open(judge_request(), HEAD)
    assert store.checks().find(pull_ref(), HEAD).check == DuplicateCheckRuns.OTHER
    assert store.checks().open_checks(pull_ref()) == {HEAD: DuplicateCheckRuns.OTHER}


@pytest.mark.parametrize(
    ("created", "shown"),
    [(True, {NAME: f"cancelled: Superseded by {NEWER[:12]}"}), (False, {})],
    ids=["created", "never created"],
)
def test_abandoned_check_run_is_cancelled_after_the_verdict_on_a_newer_head(
    store: Store, world: ScriptedGitHub, shown: dict[str, str], *, created: bool
) -> None:
    abandon_check(store, created=created)
    service_of(store).cancel_abandoned(judge_request(), HEAD)
    assert store.checks().list_unfinished_heads(pull_ref()) == (HEAD,), "the judged head itself is kept"
    service_of(store).cancel_abandoned(judge_request(), NEWER)
    assert world.checks() == shown
    assert store.checks().list_unfinished_heads(pull_ref()) == ()
    assert store.checks().open_checks(pull_ref()) == {}


def test_abandoned_check_run_is_concluded_when_the_pull_request_closes(store: Store, world: ScriptedGitHub) -> None:
    abandon_check(store, created=True)
    service_of(store).conclude_all(judge_request(), closed_content())
    assert world.checks() == {NAME: "cancelled: Closed before it was judged"}


def test_abandoned_check_run_of_a_missing_repository_is_dropped(store: Store) -> None:
    class Empty(ScriptedCheckRuns):
        @override
        def find(self, request: JudgeRequest, head_sha: Sha) -> CheckRunId | None:
            raise SubjectGone(f"{request.repository} {head_sha}")

    abandon_check(store, created=True)
    CheckRunService(Empty(store), store.checks(), no_lease).conclude_all(judge_request(), closed_content())
    assert store.checks().list_unfinished_heads(pull_ref()) == ()


@pytest.mark.parametrize(
    ("is_left", "shown"), [(True, {NAME: f"cancelled: Superseded by {NEWER[:12]}"}), (False, {})], ids=["left", "none"]
)
def test_superseded_head_gets_no_check_run_and_its_abandoned_one_is_cancelled(
    store: Store, world: ScriptedGitHub, shown: dict[str, str], *, is_left: bool
) -> None:
    if is_left:
        abandon_check(store, created=True)
    store.pulls.request_judging(judge_request(head_sha=NEWER))
    service_of(store).open(judge_request(head_sha=HEAD), HEAD)
    assert world.checks() == shown
    assert store.checks().list_unfinished_heads(pull_ref()) == ()


def open_waiting(store: Store, content: CheckContent) -> None:
    store.pulls.request_judging(judge_request())
    service_of(store).open(judge_request(), HEAD, content)
    assert store.checks().find(pull_ref(), HEAD).is_idle


def test_announced_start_is_shown_until_the_verdict(store: Store, world: ScriptedGitHub) -> None:
    open_waiting(store, quiet_window_content(REQUESTED_AT, 45))
    service_of(store).restart(judge_request(), HEAD)
    assert world.checks() == {NAME: f"in_progress: {quiet_window_content(REQUESTED_AT, 45).title}"}
    assert not store.checks().find(pull_ref(), HEAD).is_idle, "the judging is registered"
    assert HEAD in store.checks().open_checks(pull_ref())
    service_of(store).write(judge_request(), HEAD, closed_content())
    assert world.checks() == {NAME: "cancelled: Closed before it was judged"}


@pytest.mark.parametrize(
    ("content", "trigger"),
    [
        (draft_content(), Trigger.PUSHED),
        (quiet_window_content(REQUESTED_AT, 45), Trigger.REVIEW),
        (quiet_window_content(REQUESTED_AT, 9000, is_watched=False), Trigger.PUSHED),
    ],
)
def test_other_waiting_check_shows_the_start_of_its_judging(
    store: Store, world: ScriptedGitHub, content: CheckContent, trigger: Trigger
) -> None:
    open_waiting(store, content)
    service_of(store).restart(judge_request(trigger=trigger), HEAD)
    assert world.checks() == {NAME: "in_progress: Judging"}


def test_postponed_check_shows_the_start_of_its_judging(store: Store, world: ScriptedGitHub) -> None:
    open_waiting(store, quiet_window_content(REQUESTED_AT, 45))
    service_of(store).restart(judge_request(), HEAD)
    service_of(store).postpone(judge_request(), REQUESTED_AT)
    assert world.checks() == {NAME: f"in_progress: {rate_limit_content(REQUESTED_AT).title}"}
    assert store.checks().find(pull_ref(), HEAD).is_idle
    service_of(store).restart(judge_request(), HEAD)
    assert world.checks() == {NAME: "in_progress: Judging"}
    assert not store.checks().find(pull_ref(), HEAD).is_idle


def test_postponed_check_shows_an_outage(store: Store, world: ScriptedGitHub) -> None:
    service_of(store).restart(judge_request(), HEAD)
    service_of(store).postpone(judge_request(), REQUESTED_AT, is_away=True)
    assert world.checks() == {NAME: f"in_progress: {github_outage_content(REQUESTED_AT).title}"}
    assert store.checks().find(pull_ref(), HEAD).is_idle


class HeadSource:
    """A source that read the head just now if `is_fresh`; `queries` counts further reads."""

    def __init__(self, *, is_fresh: bool) -> None:
        self.is_fresh = is_fresh
        self.queries = 0

    def dossier(self, request: JudgeRequest) -> Dossier:
        raise AssertionError(request)

    def head_sha(self, request: JudgeRequest) -> Sha:
        assert request
        self.queries += 1
        return NEWER

    def is_newest_head(self, request: JudgeRequest, head_sha: Sha) -> bool:
        return self.is_fresh and (request.pull, head_sha) == (pull_ref(), HEAD)


@pytest.mark.parametrize(("is_fresh", "allows_fresh", "queries"), [(True, True, 0), (True, False, 1), (False, True, 1)])
def test_newest_head_is_queried_unless_it_was_read_just_now(
    store: Store, queries: int, *, is_fresh: bool, allows_fresh: bool
) -> None:
    source = HeadSource(is_fresh=is_fresh)
    reporter = reporter_of(store, lease_job(store).lease, source)
    assert reporter.find_newer_head(judge_request(), HEAD, is_fresh=allows_fresh) == (NEWER if queries else None)
    assert source.queries == queries


@pytest.mark.parametrize(("seen", "queries"), [(NEWER, 0), (None, 1)])
def test_head_query_of_another_request_is_used_and_needs_the_lease(
    store: Store, seen: Sha | None, queries: int
) -> None:
    source, looks, job = HeadSource(is_fresh=False), list[Sha | None](), lease_job(store)

    def look() -> Sha | None:
        looks.append(seen)
        return seen

    reporter = reporter_of(store, job.lease, source)
    assert reporter.find_newer_head(judge_request(), HEAD, find_head=look) == NEWER
    assert (looks, source.queries) == ([seen], queries)

    store.pulls.finish(job.lease, Finish.JUDGED)
    with pytest.raises(LeaseLost):
        reporter.find_newer_head(judge_request(), HEAD, find_head=look)
    assert (looks, source.queries) == ([seen], queries)


def test_skip_or_decision_for_an_earlier_base_is_not_shown(store: Store, world: ScriptedGitHub) -> None:
    reporter = reporter_of(store, lease_job(store).lease)
    store.pulls.request_judging(judge_request(trigger=Trigger.BASE))
    reporter.show_skipped(judge_request(), HEAD, skipped_content(AuthorKind.PERSON))
    assert world.checks() == {NAME: "in_progress: Judging again: the base changed"}
    reporter.show_decision(judge_request(), HEAD)
    assert world.checks() == {NAME: "in_progress: Judging again: the base changed"}
    reporter.show_skipped(judge_request(), HEAD, draft_content())
    assert world.checks() == {NAME: f"in_progress: {draft_content().title}"}, "a draft does not pass"


def test_check_run_is_registered_before_it_is_reopened(store: Store) -> None:
    store.checks().record_opened(pull_ref(), HEAD, CheckRunId(5))
    store.checks().record_concluded(pull_ref(), HEAD)
    with pytest.raises(Unavailable):
        service_of(store, Unavailable("GitHub", "502")).restart(judge_request(), HEAD)
    assert store.checks().open_checks(pull_ref()) == {HEAD: 5}


@pytest.mark.parametrize("end", ["closes", "expires"])
def test_check_run_without_write_access_is_found_by_the_next_judging(
    store: Store, world: ScriptedGitHub, end: str
) -> None:
    service_of(store).open(judge_request(), HEAD)
    check = store.checks().open_checks(pull_ref())[HEAD]
    if end == "closes":
        service_of(store, SubjectGone("suspended")).close(judge_request())
    else:
        refusing = service_of(store, Forbidden("checks: write is missing"))
        assert refusing.expire(judge_request(), HEAD, check, failed_content("overdue"))
    assert world.checks()[NAME] == f"in_progress: {judging_content().title}"
    assert store.checks().open_checks(pull_ref()) == {}
    assert store.checks().take_expired() == ()
    assert not store.checks().find(pull_ref(), HEAD).is_present, "it has no state"
    service_of(store).restart(judge_request(trigger=Trigger.SWEEP), HEAD)
    assert store.checks().open_checks(pull_ref()) == {HEAD: check}, "the same one"
    assert not store.checks().is_first(pull_ref(), HEAD)
