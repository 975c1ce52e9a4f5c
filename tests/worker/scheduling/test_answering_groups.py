"""A merge group is answered from what is on record; who died over it leaves nothing undone, and nobody waits for ever."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from tests.worker.adapters.redis.played import AT, HEAD, becomes_due, pull, wish
from tests.worker.adapters.redis.test_merge_groups import group, runs_out
from tests.worker.adapters.redis.watching import Standing, judged, told
from tests.worker.publishing.texts.samples import accepted, rejected
from tests.worker.scheduling.test_following import adding
from worker.adapters.github.merge_groups import MergeGroupHead
from worker.adapters.redis import keys
from worker.adapters.redis.keys import GROUPS
from worker.adapters.redis.store import Store
from worker.domain.check.check_run import CheckContent, Conclusion
from worker.domain.check.merge_group import GroupEnd, MergeGroup
from worker.domain.ids import CheckRunId, DeliveryId
from worker.domain.judge_request import Trigger
from worker.domain.ports import Fence
from worker.errors import NOT_FOUND_GRACE, SubjectGone, Unavailable
from worker.judge.merge_group import PublishedCheckRun
from worker.publishing.check_runs import no_lease
from worker.scheduling.merge_queue import ABANDON_AFTER, GroupTerms, MergeGroupHandler

DIFF = adding("upload.py", "    return send(data, tries=3)")
OTHER = adding("upload.py", "    return send(data, tries=1)")
NUMBER = 7
WAIT = timedelta(minutes=10)


def group_id() -> str:
    """All tests are about one group."""
    return group().id


@dataclass
class Played:
    """GitHub, as far as a group's clerk sees it, and what it was shown."""

    head_now: MergeGroupHead | None = None
    check: PublishedCheckRun | None = None
    change: str | None = DIFF
    trouble: Exception | None = None
    is_read_only: bool = False
    before_writing: Callable[[], object] = lambda: None
    shown: list[CheckContent] = field(default_factory=list[CheckContent])
    numbers: set[int] = field(default_factory=set[int])
    asked: list[str] = field(default_factory=list[str])

    def head(self, group: MergeGroup, number: int) -> MergeGroupHead | None:
        self._asks(group, f"head {number}")
        if self.trouble is not None:
            raise self.trouble
        return self.head_now

    def published(self, group: MergeGroup, number: int, head_sha: str) -> PublishedCheckRun | None:
        self._asks(group, f"check {number} {head_sha[:1]}")
        return self.check

    def diff(self, group: MergeGroup) -> str | None:
        self._asks(group, "diff")
        return self.change

    def show(self, group: MergeGroup, number: int, content: CheckContent, fence: Fence) -> None:
        assert group.id == group_id()
        self.before_writing()
        fence()
        if self.is_read_only:
            raise Unavailable("GitHub", "no writes")
        self.numbers.add(number)
        self.shown.append(content)

    def expire(self, group: MergeGroup, check: CheckRunId, content: CheckContent) -> bool:
        """Nobody answers it meanwhile here."""
        self.asked.append(f"expire {check}")
        self.show(group, NUMBER, content, no_lease)
        return True

    def is_open(self, group: MergeGroup) -> bool:
        return group.id == group_id() and bool(self.shown) and self.shown[-1].conclusion is None

    def _asks(self, group: MergeGroup, what: str) -> None:
        assert group.id == group_id()
        self.asked.append(what)

    @property
    def last(self) -> tuple[Conclusion | None, str]:
        return self.shown[-1].conclusion, self.shown[-1].title


@dataclass
class Office:
    """A clerk at a counter with a real store behind it."""

    store: Store
    github: Played
    clock: Standing
    submitted: list[str] = field(default_factory=list[str])

    def looks(self) -> bool:
        """Look at the next group; whether there was one."""
        opened = self.store.groups.next()
        if opened is not None:
            self.clerk.answer(opened)
        return opened is not None

    @property
    def clerk(self) -> MergeGroupHandler:
        return MergeGroupHandler(
            queue=self.store.groups,
            source=self.github,
            check=self.github,
            ledger=self.store.ledger,
            dossiers=self.store.archive,
            submit=lambda _, token: self.submitted.append(token),
            clock=self.clock,
            terms=GroupTerms(WAIT, 2, "https://github.com"),
        )

    @property
    def is_done(self) -> bool:
        return self.store.client.call("ZCARD", GROUPS.order.name) == 0


@pytest.fixture
def office(store: Store) -> Office:
    return Office(store, Played(MergeGroupHead(HEAD, is_closed=False)), Standing(AT + timedelta(seconds=1)))


def accepted_on_record(office: Office, **changes: Any) -> None:
    judged(office.store, NUMBER, accepted(**changes), DIFF)
    office.github.check = PublishedCheckRun(CheckRunId(5), "success", "Accepted")


def children(office: Office) -> list[Any]:
    entries = office.store.ledger.entries(pull(NUMBER))
    return [one.verdict for one in entries if one.verdict.subject.kind == "merge_group"]


def test_the_same_change_is_accepted_at_once_recorded_and_told(office: Office) -> None:
    accepted_on_record(office)
    office.store.groups.put(group())
    assert office.looks()
    assert [one.conclusion for one in office.github.shown] == [Conclusion.SUCCESS]
    assert (office.github.asked, office.github.numbers) == (["head 7", "check 7 1", "diff"], {NUMBER})
    (made,) = children(office)
    assert (made.judge_cost_usd, made.subject.head_sha) == (0, group().head_sha)
    assert {one.head_sha for one in office.store.ledger.entries(pull(NUMBER))} == {HEAD, group().head_sha}
    assert [one["subject_kind"] for one in told(office.store, "eval.completed")][-1:] == ["merge_group"]
    assert office.is_done
    assert office.submitted == []


def test_who_died_after_recording_is_followed_by_one_who_publishes(office: Office) -> None:
    accepted_on_record(office)
    office.store.groups.put(group())
    office.looks()
    office.store.groups.put(group("again"))
    office.looks()
    assert office.github.last == (Conclusion.SUCCESS, "Accepted with #7: the same change")
    assert len(children(office)) == 1


def test_where_no_dossier_is_kept_the_ledgers_hashes_tell(office: Office) -> None:
    accepted_on_record(office)
    for one in office.store.ledger.entries(pull(NUMBER)):
        office.store.client.call("DEL", keys.dossier(one.eval_id).name)
    office.store.groups.put(group())
    office.looks()
    assert office.github.last[0] is Conclusion.SUCCESS


def test_another_change_is_given_to_a_judge(office: Office) -> None:
    accepted_on_record(office)
    office.github.change = OTHER
    office.store.groups.put(group())
    office.looks()
    assert office.github.last == (None, "Judging: this commit differs from #7")
    assert len(office.submitted) == 1
    assert not office.is_done
    runs_out(office.store)
    office.looks()
    assert office.submitted == office.submitted[:1] * 2, "it waits for its turn under the same name"


def test_one_that_is_given_up_meanwhile_is_given_to_nobody(office: Office) -> None:
    accepted_on_record(office)
    office.github.change = OTHER
    office.store.groups.put(group())
    opened = office.store.groups.next()
    assert opened
    office.store.groups.put(group("gone", ended=GroupEnd.DEQUEUED))
    office.clerk.answer(opened)
    assert office.submitted == []
    office.looks()
    assert office.github.last == (Conclusion.CANCELLED, "Not needed any more")
    assert office.is_done


def test_a_diff_that_github_does_not_show_stops(office: Office) -> None:
    accepted_on_record(office)
    office.github.change = None
    office.store.groups.put(group())
    office.looks()
    assert office.github.last == (Conclusion.ACTION_REQUIRED, "Not judged: no diff to compare with #7")


def test_a_rejected_pull_request_is_named(office: Office) -> None:
    judged(office.store, NUMBER, rejected(), DIFF)
    office.github.check = PublishedCheckRun(CheckRunId(5), "failure", "Rejected: half finished")
    office.store.groups.put(group())
    office.looks()
    assert office.github.last == (Conclusion.FAILURE, "#7 is rejected: half finished")
    assert office.is_done


def test_what_is_out_of_scope_is_so_at_once(office: Office) -> None:
    office.github.check = PublishedCheckRun(CheckRunId(5), "skipped", "Out of scope: a person's")
    office.store.groups.put(group())
    office.looks()
    assert office.github.last == (Conclusion.SKIPPED, "As #7: Out of scope: a person's")
    assert "diff" not in office.github.asked


@pytest.mark.parametrize("head", [None, MergeGroupHead(HEAD, is_closed=True)])
def test_a_pull_request_that_is_gone_or_closed_stops(office: Office, head: MergeGroupHead | None) -> None:
    accepted_on_record(office)
    office.github.head_now = head
    office.store.groups.put(group())
    office.looks()
    assert office.github.last == (Conclusion.ACTION_REQUIRED, "Not judged: #7 is closed")


def test_a_strange_ref_fails_closed_and_asks_github_nothing(office: Office) -> None:
    strange = group().model_copy(update={"head_ref": f"{group().head_ref}-pr-8-{HEAD}"})
    accepted_on_record(office)
    office.store.groups.put(strange)
    office.looks()
    assert office.github.last == (Conclusion.ACTION_REQUIRED, "Not judged: this group names no pull request")
    assert (office.github.asked, office.github.numbers, office.is_done) == ([], {0}, True)


# Waiting


def test_while_its_pull_request_is_judged_redis_alone_is_asked(office: Office) -> None:
    office.store.pulls.request_judging(wish(NUMBER))
    office.store.groups.put(group())
    for _ in range(3):
        assert office.looks()
        runs_out(office.store)
    assert office.github.asked == []
    assert [one.title for one in office.github.shown] == ["Waiting for the verdict on #7"]


def test_it_is_answered_when_the_verdict_lands(office: Office) -> None:
    office.store.groups.put(group())
    office.looks()
    assert office.github.last == (None, "Waiting for the verdict on #7")
    accepted_on_record(office)
    runs_out(office.store)
    office.looks()
    assert office.github.last[0] is Conclusion.SUCCESS


@pytest.mark.parametrize("is_due", [True, False])
def test_past_the_deadline_it_is_not_judged(office: Office, is_due: bool) -> None:  # noqa: FBT001 - both ways
    if is_due:
        office.store.pulls.request_judging(wish(NUMBER))
        becomes_due(office.store, pull(NUMBER))
    office.store.groups.put(group())
    office.looks()
    office.clock.at = AT + WAIT
    runs_out(office.store)
    office.looks()
    assert office.github.last == (Conclusion.ACTION_REQUIRED, "Not judged: #7 has no verdict yet")
    assert office.is_done


def edits_as_it_is_written(office: Office) -> None:
    """What its pull request was judged by is edited right before the answer is sent, once."""

    def edits() -> None:
        office.github.before_writing = lambda: None
        office.store.pulls.request_judging(wish(NUMBER, trigger=Trigger.CRITERIA))

    office.github.before_writing = edits


@pytest.mark.parametrize("conclusion", ["success", "skipped", "neutral"])
def test_what_its_pull_request_was_judged_by_is_edited_while_it_is_answered(office: Office, conclusion: str) -> None:
    accepted_on_record(office)
    office.github.check = PublishedCheckRun(CheckRunId(5), conclusion, "As it was")
    office.store.groups.put(group())
    edits_as_it_is_written(office)
    office.looks()
    assert [one.conclusion for one in office.github.shown] == [None]
    assert office.github.last == (None, "Waiting for the verdict on #7")
    judged(office.store, NUMBER, rejected(), DIFF)
    office.github.check = PublishedCheckRun(CheckRunId(6), "failure", "Rejected: half finished")
    runs_out(office.store)
    office.looks()
    assert office.github.last == (Conclusion.FAILURE, "#7 is rejected: half finished")


def test_an_answer_that_an_edit_came_before_is_the_same_where_the_verdict_stays(office: Office) -> None:
    accepted_on_record(office)
    office.store.groups.put(group())
    edits_as_it_is_written(office)
    office.looks()
    accepted_on_record(office)
    runs_out(office.store)
    office.looks()
    assert office.github.last == (Conclusion.SUCCESS, "Accepted with #7: the same change")


def test_one_that_stops_is_told_so_whatever_is_edited(office: Office) -> None:
    judged(office.store, NUMBER, rejected(), DIFF)
    office.github.check = PublishedCheckRun(CheckRunId(5), "failure", "Rejected: half finished")
    office.store.groups.put(group())
    edits_as_it_is_written(office)
    office.looks()
    assert office.github.last == (Conclusion.FAILURE, "#7 is rejected: half finished")


def test_an_accept_that_is_judged_again_past_the_deadline_lets_nothing_pass(office: Office) -> None:
    accepted_on_record(office)
    office.store.pulls.request_judging(wish(NUMBER, trigger=Trigger.CRITERIA))
    office.store.groups.put(group())
    office.clock.at = AT + WAIT
    office.looks()
    assert office.github.last == (Conclusion.ACTION_REQUIRED, "Not judged: #7 has no verdict yet")
    assert office.is_done


def test_what_passes_without_a_verdict_does_so_past_the_deadline_though_somebody_is_to_judge_it(office: Office) -> None:
    office.github.check = PublishedCheckRun(CheckRunId(5), "neutral", "Not judged: no model could be reached")
    office.store.pulls.request_judging(wish(NUMBER))
    office.store.groups.put(group())
    office.clock.at = AT + WAIT
    office.looks()
    assert office.github.last == (Conclusion.NEUTRAL, "As #7: Not judged: no model could be reached")


# Ends and failures


def test_what_ended_before_it_was_looked_at_needs_no_check(office: Office) -> None:
    office.store.groups.put(group("gone", ended=GroupEnd.MERGED))
    office.looks()
    assert (office.github.shown, office.is_done) == ([], True)


def test_what_its_judge_could_not_do_is_said(office: Office) -> None:
    office.store.groups.put(group())
    opened = office.store.groups.next()
    assert opened
    office.store.groups.postpone(opened.queued.model_copy(update={"failed": "GitHub said no"}), timedelta(0))
    office.looks()
    assert office.github.last == (Conclusion.ACTION_REQUIRED, "Not judged: Assay failed")
    assert "GitHub said no" in office.github.shown[-1].summary


def test_as_often_as_it_may_be_tried_it_is_answered(office: Office) -> None:
    accepted_on_record(office)
    office.store.groups.put(group())
    for _ in range(2):
        assert office.store.groups.next()
        runs_out(office.store)
    office.looks()
    assert office.github.last == (Conclusion.SUCCESS, "Accepted with #7: the same change")


def test_what_got_as_far_as_being_recorded_is_tried_to_be_told_as_often_again(office: Office) -> None:
    accepted_on_record(office)
    office.store.groups.put(group())
    office.github.is_read_only = True
    with pytest.raises(Unavailable):
        office.looks()
    office.github.is_read_only = False
    for _ in range(3):
        runs_out(office.store)
        assert office.store.groups.next()
    runs_out(office.store)
    office.looks()
    assert office.github.last == (Conclusion.SUCCESS, "Accepted with #7: the same change")


def test_one_that_kills_whoever_looks_at_it_is_given_up(office: Office) -> None:
    accepted_on_record(office)
    office.store.groups.put(group())
    for _ in range(3):
        assert office.store.groups.next()
        runs_out(office.store)
    office.looks()
    assert "3 times" in office.github.shown[-1].summary
    assert office.is_done


def test_an_outage_leaves_it_where_it_is(office: Office) -> None:
    office.github.trouble = Unavailable("GitHub", "502")
    office.store.groups.put(group())
    for _ in range(2):
        with pytest.raises(Unavailable):
            office.looks()
        assert office.github.shown != []
        runs_out(office.store)
    assert not office.is_done
    assert [one.title for one in office.github.shown] == ["Looking up the verdict on #7"], "its first word, said once"


def test_what_kept_us_from_the_answer_is_told_also_where_nothing_can_be_written(office: Office) -> None:
    office.github.trouble, office.github.is_read_only = Unavailable("GitHub", "502"), True
    office.store.groups.put(group())
    with pytest.raises(Unavailable, match="502"):
        office.looks()


def test_who_comes_after_one_that_died_over_it_says_first_that_somebody_looks(office: Office) -> None:
    accepted_on_record(office)
    office.store.groups.put(group())
    assert office.store.groups.next()
    runs_out(office.store)
    office.looks()
    assert [one.conclusion for one in office.github.shown] == [None, Conclusion.SUCCESS]


def test_what_github_does_not_find_yet_is_looked_at_again(office: Office) -> None:
    accepted_on_record(office)
    office.github.trouble = SubjectGone("head commit deleted")
    office.store.groups.put(group())
    with pytest.raises(Unavailable, match="does not find it yet"):
        office.looks()
    office.github.trouble = None
    runs_out(office.store)
    office.looks()
    assert office.github.last[0] is Conclusion.SUCCESS


def test_nobody_waits_in_a_repository_that_is_gone(office: Office) -> None:
    office.github.trouble = SubjectGone("deleted")
    office.store.groups.put(group())
    office.clock.at = AT + NOT_FOUND_GRACE
    office.looks()
    assert office.is_done


def test_what_can_not_be_told_for_hours_is_let_go(office: Office) -> None:
    office.github.trouble = Unavailable("GitHub", "502")
    office.store.groups.put(group())
    office.clock.at = AT + WAIT + ABANDON_AFTER
    office.looks()
    assert (office.github.shown, office.is_done) == ([], True)


def test_a_verdict_of_the_groups_own_is_published_as_it_was_recorded(office: Office) -> None:
    accepted_on_record(office)
    office.store.groups.put(group(DeliveryId("first")))
    office.looks()
    (carried,) = children(office)
    parent = next(one for one in office.store.ledger.entries(pull(NUMBER)) if one.verdict.parent_eval_id is None)
    own = rejected(
        eval_id="0199ffff-0000-7000-8000-000000000001",
        parent_eval_id=parent.eval_id,
        subject=carried.subject,
    )
    later = AT + timedelta(hours=1)
    entry = parent.model_copy(update={"eval_id": own.eval_id, "verdict": own, "created_at": later})
    office.store.ledger.append(pull(NUMBER), entry, ())
    office.store.groups.put(group("second"))
    office.looks()
    assert office.github.last == (
        Conclusion.FAILURE,
        "Merge group of #7: Rejected without criteria: half finished at upload.py:17",
    )
