"""A merge group that differs is judged by the same court, and recorded beside the accept of its pull request."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from tests.worker.adapters.redis.played import AT, HEAD, pull, wish
from tests.worker.adapters.redis.test_merge_groups import group, runs_out
from tests.worker.adapters.redis.watching import Standing, judged, told
from tests.worker.judge.courtroom import bench
from tests.worker.judge.making import dossier
from tests.worker.publishing.texts.samples import accepted, rejected
from tests.worker.scheduling.test_answering_groups import DIFF, NUMBER, OTHER, Office, Played
from worker.adapters.github.merge_groups import MergeGroupHead
from worker.adapters.redis.store import Store
from worker.domain.check.check_run import Conclusion
from worker.domain.check.merge_group import GroupEnd
from worker.domain.dossier import Dossier
from worker.domain.ids import CheckRunId
from worker.domain.judge_request import JudgeRequest, Trigger
from worker.domain.lifecycle.work import LeasedGroup
from worker.domain.verdict.audit import EvaluatedVerdict
from worker.domain.verdict.ledger import LedgerEntry
from worker.errors import LeaseLost
from worker.judge.context import JudgeContext
from worker.judge.merge_group import PublishedCheckRun
from worker.scheduling.merge_queue import GroupJudge, GroupJudgement
from worker.scheduling.record import EventPublishing, VerdictStores


@dataclass
class Room:
    """A court room with code checks alone. `meanwhile`: what happens while it sits."""

    meanwhile: Callable[[], object] = lambda: None
    asked: list[JudgeRequest] = field(default_factory=list[JudgeRequest])

    def judge_dossier(
        self, request: JudgeRequest, taken: LeasedGroup, hold: Callable[[Dossier, JudgeContext], EvaluatedVerdict]
    ) -> GroupJudgement:
        self.asked.append(request)
        known = dossier(diff=OTHER)
        commit = known.pull_request.model_copy(update={"head_sha": taken.lease.group.head_sha})
        made = known.model_copy(update={"pull_request": commit})
        heard = hold(made, bench())
        self.meanwhile()
        return GroupJudgement(heard, made)


@pytest.fixture
def office(store: Store) -> Office:
    github = Played(
        MergeGroupHead(HEAD, is_closed=False), PublishedCheckRun(CheckRunId(5), "success", "Accepted"), OTHER
    )
    return Office(store, github, Standing(AT + timedelta(seconds=1)))


def sits(office: Office, room: Room) -> None:
    """Take the group that was given, and judge it."""
    office.looks()
    taken = office.store.groups.take_lease(group().id, office.submitted[-1])
    assert taken is not None
    judge(office, room, taken)


def judge(office: Office, room: Room, taken: LeasedGroup) -> None:
    store, github = office.store, office.github
    GroupJudge(
        queue=store.groups,
        source=github,
        check=github,
        judging=room,
        ledger=store.ledger,
        stores=VerdictStores(store.ledger, store.archive),
        publishing=EventPublishing(),
        clock=office.clock,
        site_url="https://github.com",
    ).judge(taken)


def of_group(office: Office) -> list[LedgerEntry]:
    entries = office.store.ledger.entries(pull(NUMBER))
    return [one for one in entries if one.verdict.subject.kind == "merge_group"]


def test_what_differs_is_judged_recorded_and_published(office: Office) -> None:
    parent = judged(office.store, NUMBER, accepted(), DIFF)
    office.store.groups.put(group())
    room = Room()
    sits(office, room)
    (made,) = of_group(office)
    assert (made.verdict.parent_eval_id, made.verdict.carried_from) == (parent.eval_id, None)
    assert made.verdict.subject.head_sha == group().head_sha
    assert [(one.pull, one.head_sha) for one in room.asked] == [(pull(NUMBER), HEAD)]
    assert office.github.shown[-1].conclusion is Conclusion.NEUTRAL, "as of a pull request where no model is set up"
    assert office.github.shown[-1].title.startswith("Merge group of #7: Not judged")
    assert [one["eval_id"] for one in told(office.store, "eval.started", "eval.completed")] == [made.eval_id] * 2
    assert office.is_done
    assert office.store.archive.find(made.eval_id) is not None


def test_who_died_after_recording_is_followed_by_one_who_publishes(office: Office) -> None:
    judged(office.store, NUMBER, accepted(), DIFF)
    office.store.groups.put(group())
    sits(office, Room())
    office.store.groups.put(group("again"))
    office.looks()
    assert office.github.shown[-1].title.startswith("Merge group of #7: Not judged")
    assert len(of_group(office)) == 1


@pytest.mark.parametrize(
    ("deaths", "said"),
    [(5, "Merge group of #7: Not judged"), (6, "Not judged: Assay failed")],
    ids=["tried", "given up"],
)
def test_a_verdict_on_record_is_tried_to_be_published_as_often_again_as_there_are_tries(
    office: Office, deaths: int, said: str
) -> None:
    judged(office.store, NUMBER, accepted(), DIFF)
    office.store.groups.put(group())
    sits(office, Room())
    office.store.groups.put(group("again"))
    for _ in range(deaths):
        runs_out(office.store)
        assert office.store.groups.next() is not None, "whoever looks dies of it"
    runs_out(office.store)
    office.looks()
    assert office.github.shown[-1].title.startswith(said)


def test_where_nothing_is_kept_the_verdict_alone_is_published(office: Office) -> None:
    judged(office.store, NUMBER, accepted(), DIFF)
    office.store.groups.put(group())
    sits(office, Room())
    office.store.client.call("DEL", f"assay:dossier:{of_group(office)[0].eval_id}")
    office.store.groups.put(group("again"))
    office.looks()
    assert office.github.shown[-1].title.startswith("Merge group of #7: Not judged")


def test_a_judge_whose_group_was_given_up_writes_nothing(office: Office) -> None:
    judged(office.store, NUMBER, accepted(), DIFF)
    office.store.groups.put(group())
    with pytest.raises(LeaseLost):
        sits(office, Room(lambda: office.store.groups.put(group("gone", ended=GroupEnd.DEQUEUED))))
    assert of_group(office) == []
    assert office.github.last == (None, "Judging: this commit differs from #7")


def test_a_judge_whose_group_is_given_up_while_its_check_is_read_writes_nothing(office: Office) -> None:
    judged(office.store, NUMBER, accepted(), DIFF)
    office.store.groups.put(group())

    def looks_before_it_writes() -> None:
        office.github.before_writing = lambda: office.store.groups.put(group("gone", ended=GroupEnd.DEQUEUED))

    with pytest.raises(LeaseLost):
        sits(office, Room(looks_before_it_writes))
    assert len(of_group(office)) == 1
    assert office.github.last == (None, "Judging: this commit differs from #7")


def edited(office: Office) -> None:
    """What its pull request was judged by."""
    office.store.pulls.request_judging(wish(NUMBER, trigger=Trigger.CRITERIA))


def test_an_edit_while_it_is_judged_has_it_wait_for_the_next_verdict_on_its_pull_request(office: Office) -> None:
    judged(office.store, NUMBER, accepted(), DIFF)
    office.store.groups.put(group())
    sits(office, Room(lambda: edited(office)))
    assert len(of_group(office)) == 1, "what was paid for is on record"
    assert {one.conclusion for one in office.github.shown} == {None}
    office.looks()
    assert office.github.last == (None, "Waiting for the verdict on #7")
    judged(office.store, NUMBER, rejected(), DIFF)
    office.github.check = PublishedCheckRun(CheckRunId(6), "failure", "Rejected: half finished")
    runs_out(office.store)
    office.looks()
    assert office.github.last == (Conclusion.FAILURE, "#7 is rejected: half finished")


def test_a_verdict_that_its_pull_request_got_meanwhile_has_it_judged_again_by_that(office: Office) -> None:
    judged(office.store, NUMBER, accepted(), DIFF)
    office.store.groups.put(group())
    sits(office, Room(lambda: judged(office.store, NUMBER, accepted(), DIFF)))
    assert {one.conclusion for one in office.github.shown} == {None}
    sits(office, Room())
    assert [one.verdict.parent_eval_id for one in of_group(office)] == [
        one.eval_id for one in office.store.ledger.entries(pull(NUMBER)) if one.verdict.parent_eval_id is None
    ]
    assert office.is_done


def test_an_edit_that_is_told_right_before_its_verdict_is_written_is_heard(office: Office) -> None:
    judged(office.store, NUMBER, accepted(), DIFF)
    office.store.groups.put(group())

    def looks_before_it_writes() -> None:
        office.github.before_writing = lambda: edited(office)

    sits(office, Room(looks_before_it_writes))
    assert {one.conclusion for one in office.github.shown} == {None}
    assert not office.is_done


@pytest.mark.parametrize("case", ["rejected", "gone", "moved", "answered", "strange", "edited", "held"])
def test_what_is_not_to_be_judged_any_more_is_looked_at_again(office: Office, case: str) -> None:
    store, room = office.store, Room()
    asked = group().model_copy(update={"head_ref": "strange"}) if case == "strange" else group()
    judged(store, NUMBER, accepted(), DIFF)
    store.groups.put(asked)
    if case == "answered":
        sits(office, Room())
        store.groups.put(group("again"))
    if case == "rejected":
        judged(store, NUMBER, rejected(), DIFF)
    if case == "edited":
        edited(office)
    if case == "held":
        office.github.check = PublishedCheckRun(CheckRunId(5), "neutral", "Paused")
    office.github.head_now = {"gone": None, "moved": MergeGroupHead("e" * 40, is_closed=False)}.get(
        case, office.github.head_now
    )
    opened = store.groups.next()
    assert opened is not None
    taken = store.groups.take_lease(asked.id, store.groups.dispatch(opened.group) or "")
    assert taken is not None
    judge(office, room, taken)
    assert room.asked == []
    assert store.groups.next() is not None
