"""No check run is left unfinished, whoever died between asking GitHub for it and writing down its number."""

import pytest

from tests.worker.adapters.redis.store_samples import HEAD, NEWER, REQUESTED_AT, judge_request, make_due, pull_ref
from tests.worker.scheduling.scripted_judging import ScriptedCheckRuns, ScriptedGitHub, raises
from worker.adapters.redis import keys
from worker.adapters.redis.judging.check_runs import RedisCheckRegistry
from worker.adapters.redis.store import Store
from worker.domain.check.check_run import CheckContent
from worker.domain.dossier import Dossier
from worker.domain.ids import CheckRunId, Sha
from worker.domain.judge_request import AuthorKind, JudgeRequest, Trigger
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import DispatchLimits, LeasedJob
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


def desk_of(store: Store, refusal: Exception | None = None, fence: Fence = no_lease) -> CheckRunService:
    """*refusal*: what GitHub answers to the next writing."""
    return CheckRunService(ScriptedCheckRuns(store, raises(refusal) if refusal else None), store.checks(), fence)


@pytest.fixture
def desk(store: Store) -> CheckRunService:
    return desk_of(store)


def taken(store: Store) -> LeasedJob:
    """A judge began."""
    store.pulls.request_judging(judge_request())
    make_due(store, pull_ref())
    job = store.pulls.next_due("call", DispatchLimits(100, 100))
    leased = store.pulls.take_lease(pull_ref(), job.fence) if job else None
    assert leased
    return leased


def board(store: Store, lease: Lease, witness: "Witness | None" = None) -> CheckStatusReporter:
    source = witness or Witness(is_fresh=False)
    return CheckStatusReporter(source, lambda fence: desk_of(store, fence=fence), lease, "https://github.com")


def dies_making(store: Store, *, created: bool) -> None:
    """Somebody claims the check run of HEAD and dies; the claim is soon over."""
    assert RedisCheckRegistry(store.client, Timing(open_hold=0.01)).claim(pull_ref(), HEAD) is None
    if created:
        ScriptedCheckRuns(store).create(judge_request(), HEAD, judging_content())


class TwoMakers(ScriptedCheckRuns):
    """Whoever makes one is stopped for so long that somebody else makes one, too: GitHub has two."""

    OTHER = CheckRunId(77)

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._store = store

    def create_first(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> CheckRunId:
        self._store.client.call("DEL", keys.check(pull_ref(), head_sha).name)
        other = self._store.checks()
        assert other.claim(pull_ref(), head_sha) is None
        other.record_opened(pull_ref(), head_sha, self.OTHER)
        return super().create_first(request, head_sha, content)

    def find(self, request: JudgeRequest, head_sha: Sha) -> CheckRunId | None:
        assert super().find(request, head_sha) is not None
        return self.OTHER


def test_whoever_made_one_beside_another_takes_the_one_that_github_looks_at(store: Store) -> None:
    CheckRunService(TwoMakers(store), store.checks(), no_lease).open(judge_request(), HEAD)
    assert store.checks().find(pull_ref(), HEAD).check == TwoMakers.OTHER
    assert store.checks().open_checks(pull_ref()) == {HEAD: TwoMakers.OTHER}


@pytest.mark.parametrize(
    ("created", "shown"),
    [(True, {NAME: f"cancelled: Superseded by {NEWER[:12]}"}), (False, {})],
    ids=["made", "never made"],
)
def test_a_check_run_whose_maker_died_is_cancelled_once_a_newer_head_has_its_verdict(
    store: Store, desk: CheckRunService, world: ScriptedGitHub, shown: dict[str, str], *, created: bool
) -> None:
    dies_making(store, created=created)
    desk.cancel_abandoned(judge_request(), HEAD)
    assert store.checks().list_unfinished_heads(pull_ref()) == (HEAD,), "the judged head itself is left to its judge"
    desk.cancel_abandoned(judge_request(), NEWER)
    assert world.checks() == shown
    assert store.checks().list_unfinished_heads(pull_ref()) == ()
    assert store.checks().open_checks(pull_ref()) == {}


def test_a_check_run_whose_maker_died_is_concluded_when_the_pull_request_closes(
    store: Store, desk: CheckRunService, world: ScriptedGitHub
) -> None:
    dies_making(store, created=True)
    desk.conclude_all(judge_request(), closed_content())
    assert world.checks() == {NAME: "cancelled: Closed before it was judged"}


def test_a_repository_that_is_gone_has_nothing_to_be_found(store: Store) -> None:
    class Empty(ScriptedCheckRuns):
        def find(self, request: JudgeRequest, head_sha: Sha) -> CheckRunId | None:
            raise SubjectGone(f"{request.repository} {head_sha}")

    dies_making(store, created=True)
    CheckRunService(Empty(store), store.checks(), no_lease).conclude_all(judge_request(), closed_content())
    assert store.checks().list_unfinished_heads(pull_ref()) == ()


@pytest.mark.parametrize(
    ("is_left", "shown"), [(True, {NAME: f"cancelled: Superseded by {NEWER[:12]}"}), (False, {})], ids=["left", "none"]
)
def test_a_head_that_is_not_the_newest_any_more_gets_no_check_run_and_what_was_left_on_it_is_cancelled(
    store: Store, desk: CheckRunService, world: ScriptedGitHub, shown: dict[str, str], *, is_left: bool
) -> None:
    if is_left:
        dies_making(store, created=True)
    store.pulls.request_judging(judge_request(head_sha=NEWER))
    desk.open(judge_request(head_sha=HEAD), HEAD)
    assert world.checks() == shown
    assert store.checks().list_unfinished_heads(pull_ref()) == ()


def announced(store: Store, desk: CheckRunService, content: CheckContent) -> None:
    store.pulls.request_judging(judge_request())
    desk.open(judge_request(), HEAD, content)
    assert store.checks().find(pull_ref(), HEAD).is_idle


def test_one_that_says_when_judging_begins_is_left_until_the_verdict_takes_its_place(
    store: Store, desk: CheckRunService, world: ScriptedGitHub
) -> None:
    announced(store, desk, quiet_window_content(REQUESTED_AT, 45))
    desk.restart(judge_request(), HEAD)
    assert world.checks() == {NAME: f"in_progress: {quiet_window_content(REQUESTED_AT, 45).title}"}
    assert not store.checks().find(pull_ref(), HEAD).is_idle, "and yet it is known that somebody judges it"
    assert HEAD in store.checks().open_checks(pull_ref())
    desk.write(judge_request(), HEAD, closed_content())
    assert world.checks() == {NAME: "cancelled: Closed before it was judged"}


@pytest.mark.parametrize(
    ("content", "trigger"),
    [
        (draft_content(), Trigger.PUSHED),
        (quiet_window_content(REQUESTED_AT, 45), Trigger.REVIEW),
        (quiet_window_content(REQUESTED_AT, 9000, is_watched=False), Trigger.PUSHED),
    ],
)
def test_one_that_says_anything_else_says_that_it_is_judged(
    store: Store, desk: CheckRunService, world: ScriptedGitHub, content: CheckContent, trigger: Trigger
) -> None:
    announced(store, desk, content)
    desk.restart(judge_request(trigger=trigger), HEAD)
    assert world.checks() == {NAME: "in_progress: Judging"}


def test_one_that_was_put_off_says_that_it_is_judged_when_it_is(
    store: Store, desk: CheckRunService, world: ScriptedGitHub
) -> None:
    announced(store, desk, quiet_window_content(REQUESTED_AT, 45))
    desk.restart(judge_request(), HEAD)
    desk.postpone(judge_request(), REQUESTED_AT)
    assert world.checks() == {NAME: f"in_progress: {rate_limit_content(REQUESTED_AT).title}"}
    assert store.checks().find(pull_ref(), HEAD).is_idle
    desk.restart(judge_request(), HEAD)
    assert world.checks() == {NAME: "in_progress: Judging"}
    assert not store.checks().find(pull_ref(), HEAD).is_idle


def test_one_that_waits_until_github_is_back_says_so(
    store: Store, desk: CheckRunService, world: ScriptedGitHub
) -> None:
    desk.restart(judge_request(), HEAD)
    desk.postpone(judge_request(), REQUESTED_AT, is_away=True)
    assert world.checks() == {NAME: f"in_progress: {github_outage_content(REQUESTED_AT).title}"}
    assert store.checks().find(pull_ref(), HEAD).is_idle


class Witness:
    """GitHub, which was asked a moment ago, or not; `asked` counts what it is asked again."""

    def __init__(self, *, is_fresh: bool) -> None:
        self.is_fresh = is_fresh
        self.asked = 0

    def dossier(self, request: JudgeRequest) -> Dossier:
        raise AssertionError(request)

    def head_sha(self, request: JudgeRequest) -> Sha:
        assert request
        self.asked += 1
        return NEWER

    def is_newest_head(self, request: JudgeRequest, head_sha: Sha) -> bool:
        return self.is_fresh and (request.pull, head_sha) == (pull_ref(), HEAD)


@pytest.mark.parametrize(("is_fresh", "at_once", "asked"), [(True, True, 0), (True, False, 1), (False, True, 1)])
def test_the_newest_head_is_asked_for_unless_github_said_so_and_nobody_took_any_time_since(
    store: Store,
    is_fresh: bool,  # noqa: FBT001 - both ways
    at_once: bool,  # noqa: FBT001 - both ways
    asked: int,
) -> None:
    witness = Witness(is_fresh=is_fresh)
    reporter = board(store, taken(store).lease, witness)
    assert reporter.find_newer_head(judge_request(), HEAD, is_fresh=at_once) == (NEWER if asked else None)
    assert witness.asked == asked


@pytest.mark.parametrize(("seen", "asked"), [(NEWER, 0), (None, 1)])
def test_what_finds_the_head_out_beside_something_else_spares_the_question_and_needs_the_lease(
    store: Store, seen: Sha | None, asked: int
) -> None:
    witness, looks, job = Witness(is_fresh=False), list[Sha | None](), taken(store)

    def look() -> Sha | None:
        looks.append(seen)
        return seen

    reporter = board(store, job.lease, witness)
    assert reporter.find_newer_head(judge_request(), HEAD, find_head=look) == NEWER
    assert (looks, witness.asked) == ([seen], asked)

    store.pulls.finish(job.lease, Finish.JUDGED)
    with pytest.raises(LeaseLost):
        reporter.find_newer_head(judge_request(), HEAD, find_head=look)
    assert (looks, witness.asked) == ([seen], asked)


def test_nobody_is_skipped_or_let_pass_for_a_base_that_is_none_any_more(store: Store, world: ScriptedGitHub) -> None:
    reporter = board(store, taken(store).lease)
    store.pulls.request_judging(judge_request(trigger=Trigger.BASE))
    reporter.show_skipped(judge_request(), HEAD, skipped_content(AuthorKind.PERSON))
    assert world.checks() == {NAME: "in_progress: Judging again: the base changed"}
    reporter.show_decision(judge_request(), HEAD)
    assert world.checks() == {NAME: "in_progress: Judging again: the base changed"}
    reporter.show_skipped(judge_request(), HEAD, draft_content())
    assert world.checks() == {NAME: f"in_progress: {draft_content().title}"}, "which lets nobody pass"


def test_a_check_run_is_known_to_be_open_before_it_is_opened_again(store: Store) -> None:
    store.checks().record_opened(pull_ref(), HEAD, CheckRunId(5))
    store.checks().record_concluded(pull_ref(), HEAD)
    with pytest.raises(Unavailable):
        desk_of(store, Unavailable("GitHub", "502")).restart(judge_request(), HEAD)
    assert store.checks().open_checks(pull_ref()) == {HEAD: 5}


@pytest.mark.parametrize("ends", ["closes", "expires"])
def test_a_check_that_nobody_may_write_any_more_is_found_again_by_whoever_looks_around(
    store: Store, desk: CheckRunService, world: ScriptedGitHub, ends: str
) -> None:
    desk.open(judge_request(), HEAD)
    check = store.checks().open_checks(pull_ref())[HEAD]
    if ends == "closes":
        desk_of(store, SubjectGone("suspended")).close(judge_request())
    else:
        refusing = desk_of(store, Forbidden("checks: write is missing"))
        assert refusing.expire(judge_request(), HEAD, check, failed_content("overdue"))
    assert world.checks()[NAME] == f"in_progress: {judging_content().title}"
    assert store.checks().open_checks(pull_ref()) == {}
    assert store.checks().take_expired() == ()
    assert not store.checks().find(pull_ref(), HEAD).is_present, "it has no state"
    desk.restart(judge_request(trigger=Trigger.SWEEP), HEAD)
    assert store.checks().open_checks(pull_ref()) == {HEAD: check}, "the same one"
    assert not store.checks().is_first(pull_ref(), HEAD)
