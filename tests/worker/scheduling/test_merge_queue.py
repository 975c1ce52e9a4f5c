"""Merge groups: answered from recorded verdicts, judged if their change differs, and closed past their deadline."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Self

import pytest

from tests.worker.adapters.redis.outcome_samples import FixedClock, event_bodies, judge_head
from tests.worker.adapters.redis.store_samples import HEAD, REQUESTED_AT, judge_request, make_due, pull_ref
from tests.worker.adapters.redis.test_merge_groups import HEAD as GROUP_HEAD
from tests.worker.adapters.redis.test_merge_groups import expire_group, merge_group
from tests.worker.judge.samples import dossier, judge_context
from tests.worker.publishing.texts.samples import accepted, rejected
from tests.worker.scheduling.scripted_judging import raise_error
from tests.worker.scheduling.test_outcomes import diff_adding
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import Argument, RedisClient, Reply
from worker.adapters.redis.judging.check_runs import RedisCheckRegistry
from worker.adapters.redis.keys import GROUPS
from worker.adapters.redis.store import Store
from worker.domain.check.check_run import CheckContent, Conclusion
from worker.domain.dossier import Dossier
from worker.domain.github_events import NO_PULL, GroupEnd, MergeGroup
from worker.domain.judge_request import JudgeRequest, Trigger
from worker.domain.lifecycle.work import GroupLease, LeasedGroup
from worker.domain.model import CheckRunId, Sha
from worker.domain.ports import Fence
from worker.domain.verdict.ledger import LedgerEntry
from worker.errors import NOT_FOUND_GRACE, Forbidden, LeaseLost, Outage, SubjectGone, Unavailable
from worker.judge.context import JudgeContext
from worker.judge.merge_group import GroupPullRequest, PublishedCheckRun
from worker.publishing.check_runs import CheckRunService, no_lease
from worker.publishing.texts.merge_group import GroupLocation, looking_content
from worker.scheduling.merge_queue import ABANDON_AFTER, GroupTerms, MergeGroupHandler
from worker.scheduling.record import EventPublishing, VerdictStores

DIFF = diff_adding("upload.py", "    return send(data, tries=3)")
OTHER = diff_adding("upload.py", "    return send(data, tries=1)")
NUMBER = 7
WAIT = timedelta(minutes=10)
SAME_CHANGE = (Conclusion.SUCCESS, "Accepted with #7: the same change")
WAITING = (None, "Waiting for the verdict on #7")
DIFFERS = (None, "Judging: this commit differs from #7")
REJECTED = (Conclusion.FAILURE, "#7 is rejected: half finished")
CLOSED_PULL = (Conclusion.ACTION_REQUIRED, "Not judged: #7 is closed")
TOO_LATE = (Conclusion.ACTION_REQUIRED, "Not judged: #7 has no verdict yet")
UNRECORDED = (Conclusion.ACTION_REQUIRED, "Not judged: no accept of #7 is on record")
UNPARSABLE = (Conclusion.ACTION_REQUIRED, "Not judged: this group names no pull request")
FAILED = (Conclusion.ACTION_REQUIRED, "Not judged: Assay failed")
NOT_NEEDED = (Conclusion.CANCELLED, "No longer needed")
OWN_TITLE = "Merge group of #7: Not judged"
"""The title of a verdict without a model."""


def unparsable_group() -> MergeGroup:
    return merge_group().model_copy(update={"head_ref": f"{merge_group().head_ref}-pr-8-{HEAD}"})


@dataclass
class GroupGitHub:
    """GitHub's side of a merge group: its pull request, its diff, and the contents of its check run."""

    head: Sha = HEAD
    is_closed: bool = False
    is_gone: bool = False
    check: PublishedCheckRun | None = None
    change: str | None = DIFF
    error: Exception | None = None
    before_writing: Callable[[], object] = lambda: None
    after_writing: Callable[[], object] = lambda: None
    contents: list[CheckContent] = field(default_factory=list[CheckContent])
    queries: list[str] = field(default_factory=list[str])
    fence: Fence = no_lease

    def set_check(self, conclusion: str, title: str) -> None:
        self.check = PublishedCheckRun(CheckRunId(5), conclusion, title)

    def pull_request(self, group: MergeGroup) -> GroupPullRequest | None:
        self.queries.append(f"pull request {group.number}")
        if self.error is not None:
            raise self.error
        return None if self.is_gone else GroupPullRequest(self.head, self.is_closed, self.check)

    def diff(self, group: MergeGroup) -> str | None:
        self.queries.append(f"diff of {group.head_sha[0]}")
        return self.change

    def with_fence(self, fence: Fence) -> Self:
        self.fence = fence
        return self

    def create(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> CheckRunId:
        assert head_sha == GROUP_HEAD
        self.update(request, CheckRunId(1), content)
        return CheckRunId(1)

    create_first = create

    def find(self, request: JudgeRequest, head_sha: Sha) -> CheckRunId | None:
        return CheckRunId(1) if (request.head_sha, bool(self.contents)) == (head_sha, True) else None

    def update(self, request: JudgeRequest, check: CheckRunId, content: CheckContent) -> None:
        assert (request.pull, check) == (pull_ref(NO_PULL), 1)
        self.before_writing()
        self.fence()
        self.contents.append(content)
        self.after_writing()

    @property
    def states(self) -> list[tuple[Conclusion | None, str]]:
        return [(content.conclusion, content.title) for content in self.contents]

    @property
    def last_state(self) -> tuple[Conclusion | None, str]:
        return self.states[-1]


@dataclass
class GroupServices:
    """The handler of merge groups with a real store. `during_judging` runs while a group is judged."""

    store: Store
    github: GroupGitHub = field(default_factory=GroupGitHub)
    clock: FixedClock = field(default_factory=lambda: FixedClock(REQUESTED_AT + timedelta(seconds=1)))
    submitted: list[str] = field(default_factory=list[str])
    judged: list[JudgeRequest] = field(default_factory=list[JudgeRequest])
    during_judging: Callable[[], object] = lambda: None

    def handler(self, registry: RedisCheckRegistry | None = None) -> MergeGroupHandler:
        store, checks = self.store, registry or self.store.checks()
        return MergeGroupHandler(
            queue=store.groups,
            source=self.github,
            open_check=lambda _, fence: CheckRunService(self.github, checks, fence),
            open_judging=self._open_judging,
            submit=lambda _, token: self.submitted.append(token),
            ledger=store.ledger,
            dossiers=store.archive,
            stores=VerdictStores(store.ledger, store.archive),
            publishing=EventPublishing(),
            clock=self.clock,
            terms=GroupTerms(WAIT, 2, "https://github.com"),
        )

    @contextmanager
    def _open_judging(self, request: JudgeRequest, lease: GroupLease) -> Generator[tuple[Dossier, JudgeContext]]:
        self.judged.append(request)
        made = dossier(diff=OTHER)
        commit = made.pull_request.model_copy(update={"head_sha": lease.group.head_sha})
        yield made.model_copy(update={"pull_request": commit}), judge_context()
        self.during_judging()

    def accept(self) -> LedgerEntry:
        """Accept the pull request, in the ledger and at GitHub."""
        self.github.set_check("success", "Accepted")
        return judge_head(self.store, NUMBER, accepted(), DIFF)

    def reject(self) -> None:
        self.github.set_check("failure", "Rejected: half finished")
        judge_head(self.store, NUMBER, rejected(), DIFF)

    def edit(self) -> None:
        """Edit the criteria of the pull request."""
        self.store.pulls.request_judging(judge_request(NUMBER, trigger=Trigger.CRITERIA))

    def dequeue(self) -> None:
        """Remove the group from the merge queue."""
        self.store.groups.put(merge_group("gone", ended=GroupEnd.DEQUEUED))

    def queue(self, queued: MergeGroup | None = None) -> None:
        self.store.groups.put(queued or merge_group())

    def queue_and_answer(self, group: MergeGroup | None = None, *, is_leased: bool = False) -> None:
        """Queue the group and answer it, from the queue or under a lease."""
        self.queue(group)
        if is_leased:
            self.handler().answer(self.lease(group))
        else:
            assert self.expire_and_answer()

    def expire_and_answer(self) -> bool:
        """Answer the next group without waiting; return whether there was one."""
        expire_group(self.store)
        return self.answer_next()

    def answer_next(self) -> bool:
        """Answer the next group that is due; return whether there was one."""
        pending = self.store.groups.next()
        if pending is not None:
            self.handler().answer(pending)
        return pending is not None

    def kill_answers(self, times: int) -> None:
        """Let this many answers of the group be killed."""
        for _ in range(times):
            expire_group(self.store)
            assert self.store.groups.next() is not None

    def lease(self, group: MergeGroup | None = None) -> LeasedGroup:
        """Lease the job of a dispatched group."""
        group = group or merge_group()
        leased = self.store.groups.take_lease(group.id, self.store.groups.dispatch(group) or "")
        assert leased is not None
        return leased

    def expire_and_judge(self) -> None:
        """Answer the next group without waiting, and judge it."""
        self.expire_and_answer()
        self.judge_submitted()

    def judge_submitted(self) -> None:
        """Judge the group that was submitted last."""
        leased = self.store.groups.take_lease(merge_group().id, self.submitted[-1])
        assert leased is not None
        self.handler().answer(leased)

    def assert_waits_for_the_next_verdict(self) -> None:
        """The group is answered again immediately, waits, and gets the reject that follows."""
        assert self.answer_next(), "immediately"
        assert self.github.last_state == WAITING
        self.reject()
        self.expire_and_answer()
        assert self.github.last_state == REJECTED

    @property
    def group_entries(self) -> list[LedgerEntry]:
        """The ledger entries of the group."""
        entries = self.store.ledger.entries(pull_ref(NUMBER))
        return [entry for entry in entries if entry.verdict.subject.kind == "merge_group"]

    @property
    def is_finished(self) -> bool:
        return self.store.client.call("ZCARD", GROUPS.order.name) == 0


@pytest.fixture
def services(store: Store) -> GroupServices:
    return GroupServices(store)


@pytest.fixture
def differing(services: GroupServices) -> GroupServices:
    """An accepted pull request whose group changes other lines."""
    services.accept()
    services.github.change = OTHER
    services.queue()
    return services


Setup = Callable[[GroupServices], object]


def set_check(conclusion: str, title: str) -> Setup:
    return lambda services: services.github.set_check(conclusion, title)


def accept_with(**changes: object) -> Setup:
    return lambda services: (services.accept(), vars(services.github).update(changes))


# Recorded verdicts


def test_group_with_the_same_change_is_accepted_and_recorded(services: GroupServices) -> None:
    services.accept()
    services.queue_and_answer()
    assert (services.github.states, services.github.queries) == ([SAME_CHANGE], ["pull request 7", "diff of a"])
    (made,) = services.group_entries
    assert (made.verdict.judge_cost_usd, made.verdict.subject.head_sha) == (0, GROUP_HEAD)
    assert {entry.head_sha for entry in services.store.ledger.entries(pull_ref(NUMBER))} == {HEAD, GROUP_HEAD}
    assert [event["subject_kind"] for event in event_bodies(services.store, "eval.completed")][-1:] == ["merge_group"]
    assert (services.is_finished, services.submitted) == (True, [])


def test_recorded_answer_is_published_again(services: GroupServices) -> None:
    services.accept()
    services.queue_and_answer()
    services.queue_and_answer(merge_group("again"))
    assert services.github.states == [SAME_CHANGE, SAME_CHANGE]
    assert len(services.group_entries) == 1


def test_same_change_is_recognized_without_a_dossier(services: GroupServices) -> None:
    services.store.client.call("DEL", keys.dossier(services.accept().eval_id).name)
    services.queue_and_answer()
    assert services.github.states == [SAME_CHANGE]


@pytest.mark.parametrize("is_leased", [False, True], ids=["answered", "judged"])
@pytest.mark.parametrize(
    ("setup", "make_group", "state"),
    [
        (GroupServices.reject, merge_group, REJECTED),
        (set_check("skipped", "A person's"), merge_group, (Conclusion.SKIPPED, "As #7: A person's")),
        (set_check("neutral", "Paused"), merge_group, (Conclusion.NEUTRAL, "As #7: Paused")),
        (set_check("success", "Accepted"), merge_group, UNRECORDED),
        (accept_with(head="e" * 40), merge_group, UNRECORDED),
        (accept_with(is_closed=True), merge_group, CLOSED_PULL),
        (accept_with(is_gone=True), merge_group, CLOSED_PULL),
        (GroupServices.accept, unparsable_group, UNPARSABLE),
    ],
    ids=["rejected", "out of scope", "paused", "unrecorded", "moved", "closed", "gone", "strange"],
)
def test_group_gets_the_state_of_its_pull_request_whether_leased_or_not(
    services: GroupServices,
    setup: Setup,
    make_group: Callable[[], MergeGroup],
    state: tuple[Conclusion, str],
    *,
    is_leased: bool,
) -> None:
    setup(services)
    services.queue_and_answer(make_group(), is_leased=is_leased)
    assert (services.github.states, services.is_finished, services.judged) == ([state], True, [])
    assert services.github.queries == ([] if state == UNPARSABLE else ["pull request 7"])


def test_group_without_a_diff_needs_action(services: GroupServices) -> None:
    services.accept()
    services.github.change = None
    services.queue_and_answer()
    assert services.github.last_state == (Conclusion.ACTION_REQUIRED, "Not judged: no diff to compare with #7")


# Waiting for the verdict


def test_group_asks_redis_alone_while_its_pull_request_is_judged(services: GroupServices) -> None:
    services.store.pulls.request_judging(judge_request(NUMBER))
    services.queue()
    for _ in range(3):
        assert services.expire_and_answer()
    assert services.github.queries == []
    assert services.github.states == [WAITING]


def test_group_is_answered_after_the_verdict(services: GroupServices) -> None:
    services.queue_and_answer()
    assert services.github.last_state == WAITING
    services.accept()
    services.expire_and_answer()
    assert services.github.last_state == SAME_CHANGE


def make_pull_due(services: GroupServices) -> None:
    services.store.pulls.request_judging(judge_request(NUMBER))
    make_due(services.store, pull_ref(NUMBER))


def conclude_neutral(services: GroupServices) -> None:
    services.github.set_check("neutral", "No model")
    make_pull_due(services)


AT_DEADLINE: dict[str, tuple[Setup, tuple[Conclusion, str]]] = {
    "no verdict": (lambda _: None, TOO_LATE),
    "due": (make_pull_due, TOO_LATE),
    "judged again": (lambda services: (services.accept(), services.edit()), TOO_LATE),
    "passes without a verdict": (conclude_neutral, (Conclusion.NEUTRAL, "As #7: No model")),
}


@pytest.mark.parametrize(("setup", "state"), AT_DEADLINE.values(), ids=AT_DEADLINE)
def test_group_past_its_deadline_needs_action_or_passes_as_its_pull_request(
    services: GroupServices, setup: Setup, state: tuple[Conclusion, str]
) -> None:
    setup(services)
    services.queue_and_answer()
    assert services.github.last_state == WAITING
    services.clock.at = REQUESTED_AT + WAIT
    services.expire_and_answer()
    assert (services.github.last_state, services.is_finished) == (state, True)


def edit_before_writing(services: GroupServices) -> None:
    """Edit the pull request once, right before the answer is written."""

    def edit() -> None:
        services.github.before_writing = lambda: None
        services.edit()

    services.github.before_writing = edit


@pytest.mark.parametrize("conclusion", ["success", "skipped", "neutral"])
def test_edit_during_the_answer_lets_the_group_wait_for_the_next_verdict(
    services: GroupServices, conclusion: str
) -> None:
    services.accept()
    services.github.set_check(conclusion, "As it was")
    edit_before_writing(services)
    services.queue_and_answer()
    assert services.github.states == []
    services.assert_waits_for_the_next_verdict()


def test_reject_is_shown_in_spite_of_an_edit(services: GroupServices) -> None:
    services.reject()
    edit_before_writing(services)
    services.queue_and_answer()
    assert services.github.states == [REJECTED]


# Ends and failures


def test_ended_group_gets_no_check_run(services: GroupServices) -> None:
    services.queue_and_answer(merge_group("gone", ended=GroupEnd.MERGED))
    assert (services.github.contents, services.is_finished) == ([], True)


def test_failure_of_a_group_judging_is_shown(services: GroupServices) -> None:
    services.queue()
    pending = services.store.groups.next()
    assert pending
    services.store.groups.postpone(pending.queued.model_copy(update={"failed": "GitHub said no"}), timedelta(0))
    services.expire_and_answer()
    assert services.github.last_state == FAILED
    assert "GitHub said no" in services.github.contents[-1].summary


@pytest.mark.parametrize(
    ("is_recorded", "deaths", "state"),
    [(False, 2, SAME_CHANGE), (False, 3, FAILED), (True, 5, SAME_CHANGE), (True, 6, FAILED)],
    ids=["tried", "given up", "published", "never published"],
)
def test_group_that_kills_its_answers_is_given_up_later_if_one_is_recorded(
    services: GroupServices, deaths: int, state: tuple[Conclusion, str], *, is_recorded: bool
) -> None:
    services.accept()
    services.queue()
    if is_recorded:
        services.expire_and_answer()
        services.queue(merge_group("again"))
    services.kill_answers(deaths)
    services.expire_and_answer()
    assert (services.github.last_state, services.is_finished) == (state, True)
    if state == FAILED:
        assert f"{deaths} times" in services.github.contents[-1].summary


def test_outage_keeps_the_group_queued_and_is_shown_once(services: GroupServices) -> None:
    services.github.error = Unavailable("GitHub", "502")
    services.queue()
    for _ in range(2):
        with pytest.raises(Unavailable):
            services.expire_and_answer()
        assert (services.github.states, services.is_finished) == ([(None, "Looking up the verdict on #7")], False)


def test_first_error_is_raised_if_the_check_run_can_not_be_written(services: GroupServices) -> None:
    services.github.error = Unavailable("GitHub", "502")
    services.github.before_writing = raise_error(Unavailable("GitHub", "no writes"))
    services.queue()
    with pytest.raises(Unavailable, match="502"):
        services.expire_and_answer()


def test_answer_after_a_killed_one_shows_its_start_first(services: GroupServices) -> None:
    services.accept()
    services.queue()
    services.kill_answers(1)
    services.expire_and_answer()
    assert services.github.states == [(None, "Looking up the verdict on #7"), SAME_CHANGE]


def test_missing_pull_request_is_looked_up_again(services: GroupServices) -> None:
    services.accept()
    services.github.error = SubjectGone("head commit deleted")
    services.queue()
    with pytest.raises(Unavailable, match="does not find it yet"):
        services.expire_and_answer()
    services.github.error = None
    services.expire_and_answer()
    assert services.github.last_state == SAME_CHANGE


@pytest.mark.parametrize(
    ("error", "after"),
    [(SubjectGone("deleted"), NOT_FOUND_GRACE), (Unavailable("GitHub", "502"), WAIT + ABANDON_AFTER)],
    ids=["repository gone", "for hours"],
)
def test_group_is_dropped_if_its_pull_request_stays_missing_or_unavailable(
    services: GroupServices, error: Exception, after: timedelta
) -> None:
    services.github.error = error
    services.queue()
    services.clock.at = REQUESTED_AT + after
    services.expire_and_answer()
    assert (services.github.contents, services.is_finished) == ([], True)


# Group judgings


def test_differing_group_is_submitted_once(differing: GroupServices) -> None:
    differing.expire_and_answer()
    assert (differing.github.states, len(differing.submitted), differing.is_finished) == ([DIFFERS], 1, False)
    differing.expire_and_answer()
    assert differing.submitted == differing.submitted[:1] * 2, "under the same token"


def test_dequeued_group_is_not_submitted(differing: GroupServices) -> None:
    pending = differing.store.groups.next()
    assert pending
    differing.dequeue()
    differing.handler().answer(pending)
    assert differing.submitted == []
    differing.expire_and_answer()
    assert (differing.github.last_state, differing.is_finished) == (NOT_NEEDED, True)


def test_differing_group_is_judged_recorded_and_published(differing: GroupServices) -> None:
    parent = differing.store.ledger.entries(pull_ref(NUMBER))[0]
    differing.expire_and_judge()
    (made,) = differing.group_entries
    assert (made.verdict.parent_eval_id, made.verdict.carried_from) == (parent.eval_id, None)
    assert made.verdict.subject.head_sha == GROUP_HEAD
    assert [(request.pull, request.head_sha) for request in differing.judged] == [(pull_ref(NUMBER), HEAD)]
    assert differing.github.last_state[0] is Conclusion.NEUTRAL, "without a model"
    assert differing.github.last_state[1].startswith(OWN_TITLE)
    events = event_bodies(differing.store, "eval.started", "eval.completed")
    assert [event["eval_id"] for event in events] == [made.eval_id] * 2
    assert differing.is_finished
    assert differing.store.archive.find(made.eval_id) is not None


@pytest.mark.parametrize("is_kept", [True, False])
@pytest.mark.parametrize("is_leased", [False, True], ids=["answered", "judged"])
def test_recorded_group_verdict_is_published_unchanged(
    differing: GroupServices, *, is_kept: bool, is_leased: bool
) -> None:
    differing.expire_and_judge()
    if not is_kept:
        differing.store.client.call("DEL", keys.dossier(differing.group_entries[0].eval_id).name)
    differing.queue_and_answer(merge_group("again"), is_leased=is_leased)
    before, after = differing.github.states[-2:]
    assert after[1].startswith(OWN_TITLE)
    assert after == before or not is_kept
    assert (len(differing.group_entries), len(differing.judged)) == (1, 1)


def test_rejected_group_fails(services: GroupServices) -> None:
    parent = services.accept()
    services.queue_and_answer(merge_group("first"))
    (carried,) = services.group_entries
    eval_id = "0199ffff-0000-7000-8000-000000000001"
    own = rejected(eval_id=eval_id, parent_eval_id=parent.eval_id, subject=carried.verdict.subject)
    changes = {"eval_id": own.eval_id, "verdict": own, "created_at": REQUESTED_AT + timedelta(hours=1)}
    services.store.ledger.append(pull_ref(NUMBER), parent.model_copy(update=changes), ())
    services.queue_and_answer(merge_group("second"))
    title = "Merge group of #7: Rejected without criteria: half finished at upload.py:17"
    assert services.github.last_state == (Conclusion.FAILURE, title)


@pytest.mark.parametrize(("hook", "recorded"), [("during_judging", 0), ("before_writing", 1)])
def test_judge_of_a_dequeued_group_writes_nothing(differing: GroupServices, hook: str, recorded: int) -> None:
    differing.expire_and_answer()
    setattr(differing if hook == "during_judging" else differing.github, hook, differing.dequeue)
    with pytest.raises(LeaseLost):
        differing.judge_submitted()
    assert (len(differing.group_entries), differing.github.last_state) == (recorded, DIFFERS)


@pytest.mark.parametrize("hook", ["during_judging", "before_writing"])
def test_edit_during_a_group_judging_lets_the_group_wait_for_the_next_verdict(
    differing: GroupServices, hook: str
) -> None:
    differing.expire_and_answer()
    setattr(differing if hook == "during_judging" else differing.github, hook, differing.edit)
    differing.judge_submitted()
    assert len(differing.group_entries) == 1, "the judging is recorded"
    assert differing.github.states == [DIFFERS]
    differing.github.before_writing = lambda: None
    differing.assert_waits_for_the_next_verdict()


def test_judge_shows_no_reject_from_before_an_edit(services: GroupServices) -> None:
    services.reject()
    services.queue()
    edit_before_writing(services)
    services.handler().answer(services.lease())
    assert services.github.states == []
    assert services.answer_next(), "immediately"
    assert services.github.states == [WAITING]


def test_edit_before_a_group_judging_lets_the_group_wait(differing: GroupServices) -> None:
    differing.edit()
    differing.handler().answer(differing.lease())
    assert (differing.github.last_state, differing.judged, differing.is_finished) == (WAITING, [], False)


def test_new_verdict_during_a_group_judging_repeats_it(differing: GroupServices) -> None:
    differing.during_judging = differing.accept
    differing.expire_and_judge()
    assert differing.github.states == [DIFFERS]
    differing.during_judging = lambda: None
    differing.expire_and_judge()
    entries = differing.store.ledger.entries(pull_ref(NUMBER))
    parents = [entry.eval_id for entry in entries if entry.verdict.parent_eval_id is None]
    assert [entry.verdict.parent_eval_id for entry in differing.group_entries] == parents
    assert differing.is_finished


# Overdue check runs


@pytest.fixture
def overdue(services: GroupServices) -> GroupServices:
    """An accepted pull request, and an open check run of its group."""
    services.accept()
    opened = looking_content(GroupLocation("https://github.com", "acme/widgets", NUMBER))
    service = CheckRunService(services.github, services.store.checks(), no_lease)
    service.write(merge_group().request(NO_PULL, GROUP_HEAD, Trigger.PUSHED), GROUP_HEAD, opened)
    return services


def is_open(services: GroupServices) -> bool:
    return GROUP_HEAD in services.store.checks().open_checks(pull_ref(NO_PULL))


@pytest.mark.parametrize(
    ("group", "state"),
    [(merge_group(), FAILED), (unparsable_group(), FAILED), (merge_group(ended=GroupEnd.INVALIDATED), NOT_NEEDED)],
    ids=["unanswered", "strange", "ended"],
)
def test_overdue_group_check_is_closed_without_passing(
    overdue: GroupServices, group: MergeGroup, state: tuple[Conclusion, str]
) -> None:
    overdue.handler().expire(group, CheckRunId(1))
    assert (overdue.github.last_state, is_open(overdue)) == (state, False)
    assert overdue.store.groups.next() is None


def test_answered_group_is_not_closed_as_overdue(overdue: GroupServices) -> None:
    overdue.handler().expire(merge_group(), CheckRunId(99))
    assert len(overdue.github.contents) == 1


class InterruptingClient(RedisClient):
    """A Redis client that acts right after the first read of open checks."""

    def __init__(self, store: Store, action: Callable[[], object]) -> None:
        super().__init__(store.url.get_secret_value(), store.timing.redis_timeout)
        self._actions = [action]

    def call(self, *command: Argument) -> Reply:
        reply = super().call(*command)
        if command == ("HGETALL", keys.checks(pull_ref(NO_PULL)).name) and self._actions:
            self._actions.pop()()
        return reply


lose_answer = raise_error(Outage("GitHub", "the connection broke"))


@pytest.mark.parametrize("after_writing", [lambda: None, lose_answer], ids=["written", "answer lost"])
def test_accept_during_the_close_of_an_overdue_check_is_shown_again(
    overdue: GroupServices, after_writing: Callable[[], object]
) -> None:
    store = overdue.store
    overdue.queue()

    def answer_first() -> None:
        overdue.answer_next()
        overdue.github.after_writing = after_writing

    late = InterruptingClient(store, answer_first)
    overdue.handler(RedisCheckRegistry(late, store.timing)).expire(merge_group(), CheckRunId(1))
    late.close()
    overdue.github.after_writing = lambda: None
    assert (overdue.github.states[1:], is_open(overdue)) == ([SAME_CHANGE, FAILED], False), "overwritten, unwatched"
    assert overdue.answer_next()
    assert overdue.github.last_state == SAME_CHANGE
    assert not overdue.answer_next()


def test_overdue_group_check_stays_watched_if_github_fails(overdue: GroupServices) -> None:
    overdue.github.after_writing = lose_answer
    with pytest.raises(Outage):
        overdue.handler().expire(merge_group(), CheckRunId(1))
    assert is_open(overdue)
    assert overdue.store.client.call("ZCARD", keys.DEADLINES.name) == 1


def test_group_check_without_write_access_is_updated_by_the_next_answer(overdue: GroupServices) -> None:
    overdue.github.before_writing = raise_error(Forbidden("checks: write is missing"))
    overdue.handler().expire(merge_group(), CheckRunId(1))
    assert overdue.store.client.call("ZCARD", keys.DEADLINES.name) == 0
    overdue.github.before_writing = lambda: None
    overdue.queue()
    assert overdue.answer_next()
    assert overdue.github.last_state == SAME_CHANGE
