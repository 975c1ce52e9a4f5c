"""A merge group is answered from what is on record, and judged where it differs; who died over it leaves nothing undone."""

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
from tests.worker.scheduling.test_outcomes import adding
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import Argument, RedisClient, Reply
from worker.adapters.redis.judging.check_runs import RedisCheckRegistry
from worker.adapters.redis.keys import GROUPS
from worker.adapters.redis.store import Store
from worker.domain.check.check_run import CheckContent, Conclusion
from worker.domain.check.merge_group import NO_PULL, GroupEnd, MergeGroup
from worker.domain.dossier import Dossier
from worker.domain.ids import CheckRunId, Sha
from worker.domain.judge_request import JudgeRequest, Trigger
from worker.domain.lifecycle.work import GroupLease, LeasedGroup
from worker.domain.ports import Fence
from worker.domain.verdict.ledger import LedgerEntry
from worker.errors import NOT_FOUND_GRACE, Forbidden, LeaseLost, Outage, SubjectGone, Unavailable
from worker.judge.context import JudgeContext
from worker.judge.merge_group import GroupPullRequest, PublishedCheckRun
from worker.publishing.check_runs import CheckRunService, no_lease
from worker.publishing.texts.merge_group import GroupLocation, looking_content
from worker.scheduling.merge_queue import ABANDON_AFTER, GroupTerms, MergeGroupHandler
from worker.scheduling.record import EventPublishing, VerdictStores

DIFF = adding("upload.py", "    return send(data, tries=3)")
OTHER = adding("upload.py", "    return send(data, tries=1)")
NUMBER = 7
WAIT = timedelta(minutes=10)
SAME = (Conclusion.SUCCESS, "Accepted with #7: the same change")
WAITS = (None, "Waiting for the verdict on #7")
DIFFERS = (None, "Judging: this commit differs from #7")
REJECTED = (Conclusion.FAILURE, "#7 is rejected: half finished")
CLOSED = (Conclusion.ACTION_REQUIRED, "Not judged: #7 is closed")
TOO_LATE = (Conclusion.ACTION_REQUIRED, "Not judged: #7 has no verdict yet")
UNRECORDED = (Conclusion.ACTION_REQUIRED, "Not judged: no accept of #7 is on record")
STRANGE = (Conclusion.ACTION_REQUIRED, "Not judged: this group names no pull request")
FAILED = (Conclusion.ACTION_REQUIRED, "Not judged: Assay failed")
GONE = (Conclusion.CANCELLED, "Not needed any more")
OWN = "Merge group of #7: Not judged"
"""The title of a verdict where no model is set up, as on a pull request."""


def strange_group() -> MergeGroup:
    return merge_group().model_copy(update={"head_ref": f"{merge_group().head_ref}-pr-8-{HEAD}"})


@dataclass
class FakeGroupJudge:
    """GitHub, as far as groups are concerned, with the one check run of the group, and what that was shown."""

    head: Sha = HEAD
    is_closed: bool = False
    is_gone: bool = False
    check: PublishedCheckRun | None = None
    change: str | None = DIFF
    trouble: Exception | None = None
    before_writing: Callable[[], object] = lambda: None
    after_writing: Callable[[], object] = lambda: None
    shown: list[CheckContent] = field(default_factory=list[CheckContent])
    asked: list[str] = field(default_factory=list[str])
    fence: Fence = no_lease

    def says(self, conclusion: str, title: str) -> None:
        self.check = PublishedCheckRun(CheckRunId(5), conclusion, title)

    def pull_request(self, group: MergeGroup) -> GroupPullRequest | None:
        self.asked.append(f"pull request {group.number}")
        if self.trouble is not None:
            raise self.trouble
        return None if self.is_gone else GroupPullRequest(self.head, self.is_closed, self.check)

    def diff(self, group: MergeGroup) -> str | None:
        self.asked.append(f"diff of {group.head_sha[0]}")
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
        return CheckRunId(1) if (request.head_sha, bool(self.shown)) == (head_sha, True) else None

    def update(self, request: JudgeRequest, check: CheckRunId, content: CheckContent) -> None:
        assert (request.pull, check) == (pull_ref(NO_PULL), 1)
        self.before_writing()
        self.fence()
        self.shown.append(content)
        self.after_writing()

    @property
    def said(self) -> list[tuple[Conclusion | None, str]]:
        return [(content.conclusion, content.title) for content in self.shown]

    @property
    def last(self) -> tuple[Conclusion | None, str]:
        return self.said[-1]


@dataclass
class FakeServices:
    """The handler of groups with a real store behind it. `meanwhile`: what happens while a group is judged."""

    store: Store
    github: FakeGroupJudge = field(default_factory=FakeGroupJudge)
    clock: FixedClock = field(default_factory=lambda: FixedClock(REQUESTED_AT + timedelta(seconds=1)))
    submitted: list[str] = field(default_factory=list[str])
    judged: list[JudgeRequest] = field(default_factory=list[JudgeRequest])
    meanwhile: Callable[[], object] = lambda: None

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
        self.meanwhile()

    def accepts(self) -> LedgerEntry:
        """The pull request is accepted, on record and at GitHub."""
        self.github.says("success", "Accepted")
        return judge_head(self.store, NUMBER, accepted(), DIFF)

    def rejects(self) -> None:
        self.github.says("failure", "Rejected: half finished")
        judge_head(self.store, NUMBER, rejected(), DIFF)

    def edits(self) -> None:
        """Edit what the pull request was judged by."""
        self.store.pulls.request_judging(judge_request(NUMBER, trigger=Trigger.CRITERIA))

    def ends(self) -> None:
        """GitHub gives the group up."""
        self.store.groups.put(merge_group("gone", ended=GroupEnd.DEQUEUED))

    def queues(self, queued: MergeGroup | None = None) -> None:
        self.store.groups.put(queued or merge_group())

    def looks(self) -> bool:
        """Look at the next group, whatever it waits for; whether there was one."""
        expire_group(self.store)
        return self.answers()

    def answers(self) -> bool:
        """Look at the next group that is due; whether there was one."""
        pending = self.store.groups.next()
        if pending is not None:
            self.handler().answer(pending)
        return pending is not None

    def dies(self, times: int) -> None:
        """Whoever looks at the group dies of it."""
        for _ in range(times):
            expire_group(self.store)
            assert self.store.groups.next() is not None

    def lease(self, asked: MergeGroup | None = None) -> LeasedGroup:
        """The job of a group that was handed to the judges."""
        asked = asked or merge_group()
        leased = self.store.groups.take_lease(asked.id, self.store.groups.dispatch(asked) or "")
        assert leased is not None
        return leased

    def judges(self) -> None:
        """Hand the next group to the judges, and judge it."""
        self.looks()
        self.judges_submitted()

    def judges_submitted(self) -> None:
        """Judge the group that was handed to the judges last."""
        leased = self.store.groups.take_lease(merge_group().id, self.submitted[-1])
        assert leased is not None
        self.handler().answer(leased)

    def waits_for_the_next_verdict(self) -> None:
        """The group is looked at again without a pause, waits, and is answered by the reject that follows."""
        assert self.answers(), "immediately"
        assert self.github.last == WAITS
        self.rejects()
        self.looks()
        assert self.github.last == REJECTED

    @property
    def children(self) -> list[LedgerEntry]:
        """What is on record of the group."""
        entries = self.store.ledger.entries(pull_ref(NUMBER))
        return [entry for entry in entries if entry.verdict.subject.kind == "merge_group"]

    @property
    def is_done(self) -> bool:
        return self.store.client.call("ZCARD", GROUPS.order.name) == 0


@pytest.fixture
def office(store: Store) -> FakeServices:
    return FakeServices(store)


@pytest.fixture
def differing(office: FakeServices) -> FakeServices:
    """The pull request is accepted, and the group changes other lines."""
    office.accepts()
    office.github.change = OTHER
    office.queues()
    return office


Stands = Callable[[FakeServices], object]
"""Where the pull request of the group stands."""


def shows(conclusion: str, title: str) -> Stands:
    return lambda office: office.github.says(conclusion, title)


# What is on record


def test_the_same_change_is_accepted_immediately_recorded_and_told(office: FakeServices) -> None:
    office.accepts()
    office.queues()
    assert office.looks()
    assert (office.github.said, office.github.asked) == ([SAME], ["pull request 7", "diff of a"])
    (made,) = office.children
    assert (made.verdict.judge_cost_usd, made.verdict.subject.head_sha) == (0, GROUP_HEAD)
    assert {entry.head_sha for entry in office.store.ledger.entries(pull_ref(NUMBER))} == {HEAD, GROUP_HEAD}
    assert [event["subject_kind"] for event in event_bodies(office.store, "eval.completed")][-1:] == ["merge_group"]
    assert (office.is_done, office.submitted) == (True, [])


def test_a_recorded_answer_is_published_and_not_made_again(office: FakeServices) -> None:
    office.accepts()
    office.queues()
    office.looks()
    office.queues(merge_group("again"))
    office.looks()
    assert office.github.said == [SAME, SAME]
    assert len(office.children) == 1


def test_where_no_dossier_is_kept_the_ledgers_hashes_tell(office: FakeServices) -> None:
    office.store.client.call("DEL", keys.dossier(office.accepts().eval_id).name)
    office.queues()
    office.looks()
    assert office.github.said == [SAME]


def closed(office: FakeServices) -> None:
    office.accepts()
    office.github.is_closed = True


def gone(office: FakeServices) -> None:
    office.accepts()
    office.github.is_gone = True


def moved(office: FakeServices) -> None:
    office.accepts()
    office.github.head = "e" * 40


@pytest.mark.parametrize("is_leased", [False, True], ids=["answered", "judged"])
@pytest.mark.parametrize(
    ("stands", "asked", "said"),
    [
        (FakeServices.rejects, merge_group, REJECTED),
        (shows("skipped", "A person's"), merge_group, (Conclusion.SKIPPED, "As #7: A person's")),
        (shows("neutral", "Paused"), merge_group, (Conclusion.NEUTRAL, "As #7: Paused")),
        (shows("success", "Accepted"), merge_group, UNRECORDED),
        (moved, merge_group, UNRECORDED),
        (closed, merge_group, CLOSED),
        (gone, merge_group, CLOSED),
        (FakeServices.accepts, strange_group, STRANGE),
    ],
    ids=["rejected", "out of scope", "paused", "unrecorded", "moved", "closed", "gone", "strange"],
)
def test_a_group_is_answered_as_its_pull_request_stands_also_where_a_judge_has_it(
    office: FakeServices,
    stands: Stands,
    asked: Callable[[], MergeGroup],
    said: tuple[Conclusion, str],
    is_leased: bool,  # noqa: FBT001 - both ways
) -> None:
    stands(office)
    office.queues(asked())
    if is_leased:
        office.handler().answer(office.lease(asked()))
    else:
        office.looks()
    assert (office.github.said, office.is_done, office.judged) == ([said], True, [])
    assert office.github.asked == ([] if said == STRANGE else ["pull request 7"])


def test_a_diff_that_github_does_not_show_stops(office: FakeServices) -> None:
    office.accepts()
    office.github.change = None
    office.queues()
    office.looks()
    assert office.github.last == (Conclusion.ACTION_REQUIRED, "Not judged: no diff to compare with #7")


# Waiting


def test_while_its_pull_request_is_judged_redis_alone_is_asked(office: FakeServices) -> None:
    office.store.pulls.request_judging(judge_request(NUMBER))
    office.queues()
    for _ in range(3):
        assert office.looks()
    assert office.github.asked == []
    assert office.github.said == [WAITS]


def test_it_is_answered_when_the_verdict_lands(office: FakeServices) -> None:
    office.queues()
    office.looks()
    assert office.github.last == WAITS
    office.accepts()
    office.looks()
    assert office.github.last == SAME


def unknown(office: FakeServices) -> None:
    assert office.github.check is None


def due(office: FakeServices) -> None:
    office.store.pulls.request_judging(judge_request(NUMBER))
    make_due(office.store, pull_ref(NUMBER))


def edited(office: FakeServices) -> None:
    office.accepts()
    office.edits()


def unjudged(office: FakeServices) -> None:
    office.github.says("neutral", "No model")
    due(office)


@pytest.mark.parametrize(
    ("stands", "said"),
    [
        (unknown, TOO_LATE),
        (due, TOO_LATE),
        (edited, TOO_LATE),
        (unjudged, (Conclusion.NEUTRAL, "As #7: No model")),
    ],
    ids=["no verdict", "due", "judged again", "passes without a verdict"],
)
def test_past_the_deadline_only_what_passes_without_a_verdict_does(
    office: FakeServices, stands: Stands, said: tuple[Conclusion, str]
) -> None:
    stands(office)
    office.queues()
    office.looks()
    assert office.github.last == WAITS
    office.clock.at = REQUESTED_AT + WAIT
    office.looks()
    assert (office.github.last, office.is_done) == (said, True)


def edits_as_it_is_written(office: FakeServices) -> None:
    """What the pull request was judged by is edited right before the answer is sent, once."""

    def edits() -> None:
        office.github.before_writing = lambda: None
        office.edits()

    office.github.before_writing = edits


@pytest.mark.parametrize("conclusion", ["success", "skipped", "neutral"])
def test_an_edit_while_it_is_answered_has_it_wait_for_the_next_verdict(office: FakeServices, conclusion: str) -> None:
    office.accepts()
    office.github.says(conclusion, "As it was")
    office.queues()
    edits_as_it_is_written(office)
    office.looks()
    assert office.github.said == []
    office.waits_for_the_next_verdict()


def test_an_answer_that_an_edit_came_before_is_the_same_where_the_verdict_stays(office: FakeServices) -> None:
    office.accepts()
    office.queues()
    edits_as_it_is_written(office)
    office.looks()
    office.accepts()
    office.looks()
    assert office.github.last == SAME


def test_one_that_stops_is_told_so_whatever_is_edited(office: FakeServices) -> None:
    office.rejects()
    office.queues()
    edits_as_it_is_written(office)
    office.looks()
    assert office.github.said == [REJECTED]


# Ends and failures


def test_what_ended_before_it_was_looked_at_needs_no_check(office: FakeServices) -> None:
    office.queues(merge_group("gone", ended=GroupEnd.MERGED))
    office.looks()
    assert (office.github.shown, office.is_done) == ([], True)


def test_what_its_judge_could_not_do_is_said(office: FakeServices) -> None:
    office.queues()
    pending = office.store.groups.next()
    assert pending
    office.store.groups.postpone(pending.queued.model_copy(update={"failed": "GitHub said no"}), timedelta(0))
    office.looks()
    assert office.github.last == FAILED
    assert "GitHub said no" in office.github.shown[-1].summary


@pytest.mark.parametrize(
    ("is_recorded", "deaths", "said"),
    [(False, 2, SAME), (False, 3, FAILED), (True, 5, SAME), (True, 6, FAILED)],
    ids=["tried", "given up", "published", "never published"],
)
def test_one_that_kills_whoever_looks_is_given_up_later_where_an_answer_is_on_record(
    office: FakeServices,
    is_recorded: bool,  # noqa: FBT001 - both ways
    deaths: int,
    said: tuple[Conclusion, str],
) -> None:
    office.accepts()
    office.queues()
    if is_recorded:
        office.looks()
        office.queues(merge_group("again"))
    office.dies(deaths)
    office.looks()
    assert (office.github.last, office.is_done) == (said, True)
    if said == FAILED:
        assert f"{deaths} times" in office.github.shown[-1].summary


def test_an_outage_leaves_it_where_it_is_and_is_shown_once(office: FakeServices) -> None:
    office.github.trouble = Unavailable("GitHub", "502")
    office.queues()
    for _ in range(2):
        with pytest.raises(Unavailable):
            office.looks()
        assert (office.github.said, office.is_done) == ([(None, "Looking up the verdict on #7")], False)


def refuses() -> None:
    raise Unavailable("GitHub", "no writes")


def test_what_kept_us_from_the_answer_is_told_also_where_nothing_can_be_written(office: FakeServices) -> None:
    office.github.trouble, office.github.before_writing = Unavailable("GitHub", "502"), refuses
    office.queues()
    with pytest.raises(Unavailable, match="502"):
        office.looks()


def test_who_comes_after_one_that_died_over_it_says_first_that_somebody_looks(office: FakeServices) -> None:
    office.accepts()
    office.queues()
    office.dies(1)
    office.looks()
    assert office.github.said == [(None, "Looking up the verdict on #7"), SAME]


def test_what_github_does_not_find_yet_is_looked_at_again(office: FakeServices) -> None:
    office.accepts()
    office.github.trouble = SubjectGone("head commit deleted")
    office.queues()
    with pytest.raises(Unavailable, match="does not find it yet"):
        office.looks()
    office.github.trouble = None
    office.looks()
    assert office.github.last == SAME


@pytest.mark.parametrize(
    ("trouble", "after"),
    [(SubjectGone("deleted"), NOT_FOUND_GRACE), (Unavailable("GitHub", "502"), WAIT + ABANDON_AFTER)],
    ids=["repository gone", "for hours"],
)
def test_what_nobody_waits_for_is_let_go(office: FakeServices, trouble: Exception, after: timedelta) -> None:
    office.github.trouble = trouble
    office.queues()
    office.clock.at = REQUESTED_AT + after
    office.looks()
    assert (office.github.shown, office.is_done) == ([], True)


# A judging of its own


def test_another_change_is_given_to_a_judge_once(differing: FakeServices) -> None:
    differing.looks()
    assert (differing.github.said, len(differing.submitted), differing.is_done) == ([DIFFERS], 1, False)
    differing.looks()
    assert differing.submitted == differing.submitted[:1] * 2, "it waits for its turn under the same name"


def test_one_that_is_given_up_meanwhile_is_given_to_nobody(differing: FakeServices) -> None:
    pending = differing.store.groups.next()
    assert pending
    differing.ends()
    differing.handler().answer(pending)
    assert differing.submitted == []
    differing.looks()
    assert (differing.github.last, differing.is_done) == (GONE, True)


def test_what_differs_is_judged_recorded_and_published(differing: FakeServices) -> None:
    parent = differing.store.ledger.entries(pull_ref(NUMBER))[0]
    differing.judges()
    (made,) = differing.children
    assert (made.verdict.parent_eval_id, made.verdict.carried_from) == (parent.eval_id, None)
    assert made.verdict.subject.head_sha == GROUP_HEAD
    assert [(request.pull, request.head_sha) for request in differing.judged] == [(pull_ref(NUMBER), HEAD)]
    assert differing.github.last[0] is Conclusion.NEUTRAL, "as of a pull request where no model is set up"
    assert differing.github.last[1].startswith(OWN)
    events = event_bodies(differing.store, "eval.started", "eval.completed")
    assert [event["eval_id"] for event in events] == [made.eval_id] * 2
    assert differing.is_done
    assert differing.store.archive.find(made.eval_id) is not None


@pytest.mark.parametrize("is_kept", [True, False])
@pytest.mark.parametrize("is_leased", [False, True], ids=["answered", "judged"])
def test_a_verdict_of_its_own_is_published_as_it_was_recorded(
    differing: FakeServices,
    is_kept: bool,  # noqa: FBT001 - both ways
    is_leased: bool,  # noqa: FBT001 - both ways
) -> None:
    differing.judges()
    if not is_kept:
        differing.store.client.call("DEL", keys.dossier(differing.children[0].eval_id).name)
    differing.queues(merge_group("again"))
    if is_leased:
        differing.handler().answer(differing.lease(merge_group("again")))
    else:
        differing.looks()
    before, after = differing.github.said[-2:]
    assert after[1].startswith(OWN)
    assert after == before or not is_kept
    assert (len(differing.children), len(differing.judged)) == (1, 1)


def test_a_reject_of_its_own_stops_it(office: FakeServices) -> None:
    parent = office.accepts()
    office.queues(merge_group("first"))
    office.looks()
    (carried,) = office.children
    own = rejected(
        eval_id="0199ffff-0000-7000-8000-000000000001",
        parent_eval_id=parent.eval_id,
        subject=carried.verdict.subject,
    )
    changes = {"eval_id": own.eval_id, "verdict": own, "created_at": REQUESTED_AT + timedelta(hours=1)}
    office.store.ledger.append(pull_ref(NUMBER), parent.model_copy(update=changes), ())
    office.queues(merge_group("second"))
    office.looks()
    title = "Merge group of #7: Rejected without criteria: half finished at upload.py:17"
    assert office.github.last == (Conclusion.FAILURE, title)


def test_a_recorded_verdict_is_tried_to_be_published_as_often_again(differing: FakeServices) -> None:
    differing.judges()
    differing.queues(merge_group("again"))
    differing.dies(5)
    differing.looks()
    assert differing.github.last[1].startswith(OWN)


@pytest.mark.parametrize(("hook", "recorded"), [("meanwhile", 0), ("before_writing", 1)])
def test_a_judge_whose_group_was_given_up_writes_nothing(differing: FakeServices, hook: str, recorded: int) -> None:
    differing.looks()
    setattr(differing if hook == "meanwhile" else differing.github, hook, differing.ends)
    with pytest.raises(LeaseLost):
        differing.judges_submitted()
    assert (len(differing.children), differing.github.last) == (recorded, DIFFERS)


@pytest.mark.parametrize("hook", ["meanwhile", "before_writing"])
def test_an_edit_while_it_is_judged_has_it_wait_for_the_next_verdict(differing: FakeServices, hook: str) -> None:
    differing.looks()
    setattr(differing if hook == "meanwhile" else differing.github, hook, differing.edits)
    differing.judges_submitted()
    assert len(differing.children) == 1, "what was paid for is on record"
    assert differing.github.said == [DIFFERS]
    differing.github.before_writing = lambda: None
    differing.waits_for_the_next_verdict()


def test_a_judge_shows_no_stop_that_an_edit_came_before(office: FakeServices) -> None:
    office.rejects()
    office.queues()
    edits_as_it_is_written(office)
    office.handler().answer(office.lease())
    assert office.github.said == []
    assert office.answers(), "immediately"
    assert office.github.said == [WAITS]


def test_an_edit_before_it_is_judged_has_it_wait(differing: FakeServices) -> None:
    differing.edits()
    differing.handler().answer(differing.lease())
    assert (differing.github.last, differing.judged, differing.is_done) == (WAITS, [], False)


def test_a_verdict_that_its_pull_request_got_meanwhile_has_it_judged_again_by_that(differing: FakeServices) -> None:
    differing.meanwhile = differing.accepts
    differing.judges()
    assert differing.github.said == [DIFFERS]
    differing.meanwhile = lambda: None
    differing.judges()
    assert [entry.verdict.parent_eval_id for entry in differing.children] == [
        entry.eval_id
        for entry in differing.store.ledger.entries(pull_ref(NUMBER))
        if entry.verdict.parent_eval_id is None
    ]
    assert differing.is_done


# A check past its deadline


@pytest.fixture
def overdue(office: FakeServices) -> FakeServices:
    """The pull request is accepted, and the group's check was opened and never concluded."""
    office.accepts()
    opened = looking_content(GroupLocation("https://github.com", "acme/widgets", NUMBER))
    service = CheckRunService(office.github, office.store.checks(), no_lease)
    service.write(merge_group().request(NO_PULL, GROUP_HEAD, Trigger.PUSHED), GROUP_HEAD, opened)
    return office


def is_open(office: FakeServices) -> bool:
    return GROUP_HEAD in office.store.checks().open_checks(pull_ref(NO_PULL))


@pytest.mark.parametrize(
    ("asked", "said"),
    [(merge_group(), FAILED), (strange_group(), FAILED), (merge_group(ended=GroupEnd.INVALIDATED), GONE)],
    ids=["unanswered", "strange", "ended"],
)
def test_an_overdue_check_is_closed_and_lets_nothing_pass(
    overdue: FakeServices, asked: MergeGroup, said: tuple[Conclusion, str]
) -> None:
    overdue.handler().expire(asked, CheckRunId(1))
    assert (overdue.github.last, is_open(overdue)) == (said, False)
    assert overdue.store.groups.next() is None


def test_one_that_was_answered_meanwhile_stays_as_it_is(overdue: FakeServices) -> None:
    overdue.handler().expire(merge_group(), CheckRunId(99))
    assert len(overdue.github.shown) == 1


class Looked(RedisClient):
    """Redis; right after it first told which checks are open, something else happens."""

    def __init__(self, store: Store, happens: Callable[[], object]) -> None:
        super().__init__(store.url.get_secret_value(), store.timing.redis_timeout)
        self._happens = [happens]

    def call(self, *command: Argument) -> Reply:
        reply = super().call(*command)
        if command == ("HGETALL", keys.checks(pull_ref(NO_PULL)).name) and self._happens:
            self._happens.pop()()
        return reply


def loses_answers() -> None:
    raise Outage("GitHub", "the connection broke")


def does_nothing() -> None: ...


@pytest.mark.parametrize("after_writing", [does_nothing, loses_answers], ids=["written", "answer lost"])
def test_an_accept_that_comes_while_its_check_is_closed_as_overdue_is_shown_again(
    overdue: FakeServices, after_writing: Callable[[], object]
) -> None:
    store = overdue.store
    overdue.queues()

    def answers_first() -> None:
        overdue.answers()
        overdue.github.after_writing = after_writing

    late = Looked(store, answers_first)
    overdue.handler(RedisCheckRegistry(late, store.timing)).expire(merge_group(), CheckRunId(1))
    late.close()
    overdue.github.after_writing = lambda: None
    assert (overdue.github.said[1:], is_open(overdue)) == ([SAME, FAILED], False), "written over, and no longer watched"
    assert overdue.answers()
    assert overdue.github.last == SAME
    assert not overdue.answers()


def test_an_overdue_one_that_github_does_not_let_us_close_stays_watched(overdue: FakeServices) -> None:
    overdue.github.after_writing = loses_answers
    with pytest.raises(Outage):
        overdue.handler().expire(merge_group(), CheckRunId(1))
    assert is_open(overdue)
    assert overdue.store.client.call("ZCARD", keys.DEADLINES.name) == 1


def test_one_that_may_not_be_written_to_is_looked_for_when_it_is_answered(overdue: FakeServices) -> None:
    def forbids() -> None:
        raise Forbidden("checks: write is missing")

    overdue.github.before_writing = forbids
    overdue.handler().expire(merge_group(), CheckRunId(1))
    assert overdue.store.client.call("ZCARD", keys.DEADLINES.name) == 0
    overdue.github.before_writing = lambda: None
    overdue.queues()
    assert overdue.answers()
    assert overdue.github.last == SAME
