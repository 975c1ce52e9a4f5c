"""The answer to a merge group, from the published check run and the ledger of its pull request."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from tests.worker.judge.samples import ledger_entry
from tests.worker.publishing.texts.samples import HEAD, abstained, accepted, dossier, rejected
from worker.domain.check.check_run import Conclusion
from worker.domain.github_events import MergeGroup
from worker.domain.model import CheckRunId, DeliveryId, EvalId, InstallationId, RepositoryId
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import Abstain, AbstainReason, Accept, JudgeKind, Reject, SubjectKind, Tokens
from worker.dossier.diff import diff_of, hash_changed_lines
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
CHANGED_LINES = hash_changed_lines(diff_of(DIFF))
MOVED = DIFF.replace("@@ -1,2 +1,2 @@\n x = 1", "@@ -8,2 +9,2 @@\n z = 1")
OTHER = DIFF.replace("y = 3", "y = 4")
NO_FILE = "--- a/a.py\n+++ b/a.py\n@@ -1,9 +1,9 @@\n-x\n"


def entry_of(verdict: Accept | Reject | Abstain | None = None, **changes: Any) -> LedgerEntry:
    recorded = verdict or accepted()
    fields = {"created_at": recorded.created_at, "head_sha": recorded.subject.head_sha, "changed_lines": CHANGED_LINES}
    return ledger_entry(recorded, **{**fields, **changes})


def check_run(conclusion: str | None, title: str = "Words") -> PublishedCheckRun:
    return PublishedCheckRun(CheckRunId(5), conclusion, title)


def merge_group(at: datetime = AT) -> MergeGroup:
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


def group_entry(parent: LedgerEntry, head_sha: str = GROUP, kind: SubjectKind = SubjectKind.MERGE_GROUP) -> LedgerEntry:
    subject = parent.verdict.subject.model_copy(update={"kind": kind, "head_sha": head_sha})
    changes = {"subject": subject, "parent_eval_id": parent.eval_id, "eval_id": EvalId("child")}
    return entry_of(parent.verdict.model_copy(update=changes), head_sha=parent.head_sha)


ACCEPTED, REJECTED, UNDECIDED = entry_of(), entry_of(rejected()), entry_of(abstained(AbstainReason.BUDGET))
BLOCKING = ("failure", "action_required", "cancelled", "timed_out", "stale", "a new word")


@pytest.mark.parametrize(
    ("published", "recorded", "standing"),
    [
        *((published, recorded, GroupWaits()) for published in (None, check_run(None)) for recorded in (None, ACCEPTED)),
        (check_run("success"), ACCEPTED, GroupAccepted(accepted(), ACCEPTED, check_run("success"))),
        *((check_run("success"), recorded, GroupStops(GroupStopReason.UNRECORDED, check_run("success"))) for recorded in (None, REJECTED, UNDECIDED)),
        (check_run("neutral"), REJECTED, GroupPasses(Conclusion.NEUTRAL, check_run("neutral"))),
        (check_run("skipped"), REJECTED, GroupPasses(Conclusion.SKIPPED, check_run("skipped"))),
        (check_run("failure"), REJECTED, GroupStops(GroupStopReason.REJECTED, check_run("failure"), rejected())),
        *((check_run(word), None, GroupStops(GroupStopReason.NOT_JUDGED, check_run(word))) for word in BLOCKING),
        *((check_run(word), ACCEPTED, GroupStops(GroupStopReason.HELD, check_run(word), accepted())) for word in BLOCKING),
    ],
)  # fmt: skip
def test_group_member_state_follows_check_run_and_ledger(
    published: PublishedCheckRun | None, recorded: LedgerEntry | None, standing: GroupMemberState
) -> None:
    assert group_member_state(GroupPullRequest(HEAD, is_closed=False, published=published), recorded) == standing
    closed = GroupPullRequest(HEAD, is_closed=True, published=published)
    assert group_member_state(closed, recorded) == GroupStops(GroupStopReason.CLOSED, published)


def test_newest_entry_ignores_children_and_other_heads() -> None:
    first, second = entry_of(), entry_of(rejected())
    other = entry_of(head_sha="8" * 40)
    assert newest_entry((first, second, group_entry(second), other), HEAD) == second
    assert newest_entry((other,), HEAD) is None


def test_recorded_answer_matches_group_and_parent_verdict() -> None:
    parent = entry_of()
    answer = group_entry(parent)
    assert find_answer((parent, answer), merge_group(), parent) == answer
    assert find_answer((parent, group_entry(parent, "7" * 40)), merge_group(), parent) is None
    assert find_answer((parent, group_entry(parent, kind=SubjectKind.SUBMISSION)), merge_group(), parent) is None
    assert find_answer((parent, answer), merge_group(), entry_of(eval_id=EvalId("newer"))) is None


def test_recorded_abstain_does_not_answer_later_request() -> None:
    parent = entry_of()
    subject = parent.verdict.subject.model_copy(update={"kind": SubjectKind.MERGE_GROUP, "head_sha": GROUP})
    changes = {"subject": subject, "parent_eval_id": parent.eval_id}
    abstain = entry_of(abstained(AbstainReason.BUDGET).model_copy(update=changes), created_at=AT)
    assert find_answer((parent, abstain), merge_group(AT), parent) == abstain
    assert find_answer((parent, abstain), merge_group(AT + timedelta(seconds=1)), parent) is None


def test_carried_over_accept_is_free_child() -> None:
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


def test_carried_over_accept_keeps_original_eval_id_and_unknown_cost() -> None:
    accept = accepted(carried_from=EvalId("first"), judge_kind=JudgeKind.LLM, judge_model="m", judge_cost_usd=None)
    made = carry_over_accept(accept, GROUP, EvalId("new"), AT)
    assert (made.carried_from, made.judge_cost_usd) == ("first", None)


@pytest.mark.parametrize("is_kept", [True, False])
def test_same_changed_lines_are_same_change_at_any_position(is_kept: bool) -> None:  # noqa: FBT001 - both ways
    kept = dossier(diff=DIFF) if is_kept else None
    assert is_same_change(DIFF, entry_of(), kept)
    assert is_same_change(MOVED, entry_of(), kept)
    assert not is_same_change(OTHER, entry_of(), kept)
    assert not is_same_change("", entry_of(), kept)


def test_mode_change_is_another_change() -> None:
    mode = DIFF.replace("--- a/a.py", "old mode 100644\nnew mode 100755\n--- a/a.py")
    assert not is_same_change(mode, entry_of(), dossier(diff=DIFF))


def test_unreadable_diff_or_missing_hashes_count_as_changed() -> None:
    assert not is_same_change(NO_FILE, entry_of(), dossier(diff=DIFF))
    assert not is_same_change(DIFF, entry_of(), dossier(diff=NO_FILE))
    assert not is_same_change("", entry_of(changed_lines={}), None)
