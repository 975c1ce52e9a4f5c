"""What a merge group is told follows from where its pull request stands; every doubt is closed."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from tests.worker.publishing.texts.samples import HEAD, abstained, accepted, dossier, rejected
from worker.domain.check.check_run import Conclusion
from worker.domain.check.merge_group import MergeGroup
from worker.domain.ids import CheckRunId, DeliveryId, EvalId, InstallationId, RepositoryId
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import Abstain, AbstainReason, Accept, JudgeKind, Reject, SubjectKind, Tokens
from worker.dossier.diff.parser import diff_of, hash_changed_lines
from worker.judge.merge_group import (
    GroupAccepted,
    GroupMemberState,
    GroupPasses,
    GroupPullRequest,
    GroupStopReason,
    GroupStops,
    GroupWaits,
    PublishedCheckRun,
    carry_over_accept,
    find_answer,
    group_member_state,
    is_same_change,
    newest_entry,
)

AT = datetime(2026, 11, 21, tzinfo=UTC)
GROUP = "9" * 40
DIFF = """diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1,2 +1,2 @@
 x = 1
-y = 2
+y = 3
"""
MOVED = DIFF.replace("@@ -1,2 +1,2 @@\n x = 1", "@@ -8,2 +9,2 @@\n z = 1")
OTHER = DIFF.replace("y = 3", "y = 4")
NO_FILE = "--- a/a.py\n+++ b/a.py\n@@ -1,9 +1,9 @@\n-x\n"


def entry(verdict: Accept | Reject | Abstain | None = None, **changes: Any) -> LedgerEntry:
    made = verdict or accepted()
    fields: dict[str, Any] = {
        "eval_id": made.eval_id,
        "created_at": made.created_at,
        "round": 1,
        "fence": 1,
        "head_sha": made.subject.head_sha,
        "fingerprint": made.fingerprint,
        "diff_summary": "",
        "changed_lines": hash_changed_lines(diff_of(DIFF)),
        "verdict": made,
    }
    return LedgerEntry(**{**fields, **changes})


def shown(conclusion: str | None, title: str = "Words") -> PublishedCheckRun:
    return PublishedCheckRun(CheckRunId(5), conclusion, title)


def group(at: datetime = AT) -> MergeGroup:
    return MergeGroup(
        installation_id=InstallationId(100),
        repository_id=RepositoryId(7),
        repository="acme/widgets",
        head_sha=GROUP,
        base_sha="b" * 40,
        base_ref="refs/heads/main",
        head_ref="refs/heads/any",
        delivery_id=DeliveryId("one"),
        at=at,
    )


def child(parent: LedgerEntry, group: str = GROUP, kind: SubjectKind = SubjectKind.MERGE_GROUP) -> LedgerEntry:
    subject = parent.verdict.subject.model_copy(update={"kind": kind, "head_sha": group})
    changes = {"subject": subject, "parent_eval_id": parent.eval_id, "eval_id": EvalId("child")}
    return entry(parent.verdict.model_copy(update=changes), head_sha=parent.head_sha)


ACCEPTED, REJECTED, UNDECIDED = entry(), entry(rejected()), entry(abstained(AbstainReason.BUDGET))
BLOCKING = ("failure", "action_required", "cancelled", "timed_out", "stale", "a new word")


@pytest.mark.parametrize(
    ("published", "recorded", "standing"),
    [
        *((shown, recorded, GroupWaits()) for shown in (None, shown(None)) for recorded in (None, ACCEPTED)),
        (shown("success"), ACCEPTED, GroupAccepted(accepted(), ACCEPTED, shown("success"))),
        *(
            (shown("success"), recorded, GroupStops(GroupStopReason.UNRECORDED, shown("success")))
            for recorded in (None, REJECTED, UNDECIDED)
        ),
        (shown("neutral"), REJECTED, GroupPasses(Conclusion.NEUTRAL, shown("neutral"))),
        (shown("skipped"), REJECTED, GroupPasses(Conclusion.SKIPPED, shown("skipped"))),
        (shown("failure"), REJECTED, GroupStops(GroupStopReason.REJECTED, shown("failure"), rejected())),
        *((shown(word), None, GroupStops(GroupStopReason.NOT_JUDGED, shown(word))) for word in BLOCKING),
        *((shown(word), ACCEPTED, GroupStops(GroupStopReason.HELD, shown(word), accepted())) for word in BLOCKING),
    ],
)
def test_a_group_stands_as_the_check_and_the_record_of_its_pull_request_say(
    published: PublishedCheckRun | None, recorded: LedgerEntry | None, standing: GroupMemberState
) -> None:
    assert group_member_state(GroupPullRequest(HEAD, is_closed=False, published=published), recorded) == standing
    closed = GroupPullRequest(HEAD, is_closed=True, published=published)
    assert group_member_state(closed, recorded) == GroupStops(GroupStopReason.CLOSED, published)


def test_the_newest_verdict_of_its_own_on_this_head_counts() -> None:
    first, second = entry(), entry(rejected())
    other = entry(head_sha="8" * 40)
    assert newest_entry((first, second, child(second), other), HEAD) == second
    assert newest_entry((other,), HEAD) is None


def test_an_answer_on_record_is_this_groups_and_of_this_verdict() -> None:
    parent = entry()
    there = child(parent)
    assert find_answer((parent, there), group(), parent) == there
    assert find_answer((parent, child(parent, "7" * 40)), group(), parent) is None
    assert find_answer((parent, child(parent, kind=SubjectKind.SUBMISSION)), group(), parent) is None
    assert find_answer((parent, there), group(), entry(eval_id=EvalId("newer"))) is None


def test_that_nobody_judged_it_is_no_answer_to_who_asks_again() -> None:
    parent = entry()
    subject = parent.verdict.subject.model_copy(update={"kind": SubjectKind.MERGE_GROUP, "head_sha": GROUP})
    changes = {"subject": subject, "parent_eval_id": parent.eval_id}
    nobody = entry(abstained(AbstainReason.BUDGET).model_copy(update=changes), created_at=AT)
    assert find_answer((parent, nobody), group(AT), parent) == nobody
    assert find_answer((parent, nobody), group(AT + timedelta(seconds=1)), parent) is None


def test_what_is_carried_over_is_a_child_that_cost_nothing() -> None:
    accept = accepted(
        judge_kind=JudgeKind.LLM,
        judge_model="m",
        judge_cost_usd=Decimal("0.02"),
        tokens=Tokens(input=5),
        signals={"a": 1},
    )
    made = carry_over_accept(accept, GROUP, EvalId("new"), AT)
    assert (made.eval_id, made.parent_eval_id, made.carried_from) == ("new", accept.eval_id, accept.eval_id)
    assert (made.subject.kind, made.subject.head_sha, made.subject.number) == ("merge_group", GROUP, 12)
    assert (made.judge_cost_usd, made.tokens, made.judge_latency_ms, made.created_at) == (Decimal(0), Tokens(), 0, AT)
    assert made.signals == {"a": 1, "pointers_at": HEAD}
    assert (made.concern, made.evidence, made.judge_model) == (accept.concern, accept.evidence, "m")


def test_what_was_carried_before_names_where_it_was_judged_and_an_unknown_price_stays_unknown() -> None:
    accept = accepted(carried_from=EvalId("first"), judge_kind=JudgeKind.LLM, judge_model="m", judge_cost_usd=None)
    made = carry_over_accept(accept, GROUP, EvalId("new"), AT)
    assert (made.carried_from, made.judge_cost_usd) == ("first", None)


@pytest.mark.parametrize("is_kept", [True, False])
def test_the_same_lines_are_the_same_change_wherever_they_stand(is_kept: bool) -> None:  # noqa: FBT001 - both ways
    kept = dossier(diff=DIFF) if is_kept else None
    assert is_same_change(DIFF, entry(), kept)
    assert is_same_change(MOVED, entry(), kept)
    assert not is_same_change(OTHER, entry(), kept)
    assert not is_same_change("", entry(), kept)


def test_another_mode_is_another_change() -> None:
    mode = DIFF.replace("--- a/a.py", "old mode 100644\nnew mode 100755\n--- a/a.py")
    assert not is_same_change(mode, entry(), dossier(diff=DIFF))


def test_what_can_not_be_read_or_has_no_hashes_counts_as_changed() -> None:
    assert not is_same_change(NO_FILE, entry(), dossier(diff=DIFF))
    assert not is_same_change(DIFF, entry(), dossier(diff=NO_FILE))
    assert not is_same_change("", entry(changed_lines={}), None)
