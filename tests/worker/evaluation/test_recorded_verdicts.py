"""Current verdicts and their re-evaluations, read from the streams."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from tests.worker.evaluation.live_judging import INSTALLATION, judge_live, read_survey, rejudge, terms
from worker.adapters.redis.store import Store
from worker.domain.time_range import Window
from worker.domain.verdict.verdict import SubjectKind
from worker.evaluation.recorded_verdicts import RecordedVerdict, RejudgeSelection, VerdictSurvey
from worker.evaluation.rejudge import OrderResult
from worker.settings import Settings

JUDGE_DIGEST = "aaaabbbbccccdddd"


def head(name: str) -> str:
    """The subject id of a commit."""
    return f"7/1/{name * 40}"


def body(eval_id: str, **changes: Any) -> dict[str, Any]:
    return {
        "v": 1,
        "eval_id": eval_id,
        "subject_kind": "submission",
        "subject_id": "7/1" if changes.get("subject_kind") == "pull_request" else head("b"),
        "repository_id": 7,
        "number": 1,
        "decision": "accept",
        "judge_cost_usd": "0",
        **changes,
    }


def child(eval_id: str, parent: str, **changes: Any) -> dict[str, Any]:
    return body(eval_id, **{"parent_eval_id": parent, "signals": {"law": JUDGE_DIGEST}, **changes})


class Survey(VerdictSurvey):
    def __init__(self, *bodies: Mapping[str, Any], **changes: Any) -> None:
        wanted: dict[str, Any] = {
            "kind": SubjectKind.SUBMISSION,
            "window": Window(0, 1000),
            "judge_digest": JUDGE_DIGEST,
            **changes,
        }
        super().__init__(RejudgeSelection(**wanted))
        for recorded in bodies:
            self.see(recorded)

    def see(self, recorded: Mapping[str, Any] | bytes, at_ms: int = 5, kind: str = "") -> RecordedVerdict | None:
        if isinstance(recorded, bytes):
            return self.add_entry(INSTALLATION, at_ms, b"eval.completed", recorded)
        kind = kind or ("eval.failed" if recorded.get("failure_mode") else "eval.completed")
        return self.add_entry(INSTALLATION, at_ms, kind.encode(), json.dumps(recorded).encode())

    @property
    def ids(self) -> list[str]:
        return [verdict.eval_id for verdict in self.current_verdicts]

    @property
    def open_ids(self) -> list[str]:
        return [verdict.eval_id for verdict in self.unanswered_verdicts]


def test_current_verdict_is_the_one_with_the_greatest_eval_id() -> None:
    assert Survey(body("b"), body("c"), body("a"), body("0", subject_id=head("c"))).ids == ["0", "c"]


def test_rejudging_answers_its_parent_and_is_not_current() -> None:
    survey = Survey(body("a"))
    answer = survey.see(child("b", "a", decision="reject", category="weak_test"))
    assert answer is not None
    assert (survey.ids, survey.open_ids, answer.summary) == (["a"], [], "reject weak_test")
    assert [(before.summary, now.summary) for before, now in survey.answered_pairs] == [("accept", "reject weak_test")]


@pytest.mark.parametrize("signals", [{"law": "other"}, None])
def test_answer_of_another_judge_digest_does_not_count(signals: dict[str, str] | None) -> None:
    survey = Survey(body("a"))
    assert survey.see(child("b", "a", signals=signals)) is None
    assert survey.open_ids == ["a"]


@pytest.mark.parametrize(
    "changes",
    [
        {"decision": "abstain", "abstain_reason": "budget", "throttled_reason": "daily_cap"},
        {"decision": "accept", "throttled_reason": "pr_cap"},
        {"decision": "abstain", "abstain_reason": "paused"},
        {"decision": "abstain", "abstain_reason": "judge_unavailable", "failure_mode": "judge_call_failed"},
        {"decision": None, "failure_mode": "rubric_invalid"},
    ],
)
def test_unfinished_answer_leaves_the_verdict_unanswered(changes: dict[str, Any]) -> None:
    survey = Survey(body("a"), child("b", "a", **changes))
    assert survey.open_ids == ["a"]
    survey.see(child("c", "a", decision="reject", category="weak_test"))
    assert survey.see(child("d", "a", **changes)) is None
    assert (survey.open_ids, survey.answers[survey.current_verdicts[0].eval_id].eval_id) == ([], "c"), "it is final"


def test_missing_subject_is_not_asked_again() -> None:
    survey = Survey(body("a"))
    answer = survey.see(child("b", "a", failure_mode="subject_not_found", decision=None))
    assert answer is not None
    assert (survey.open_ids, answer.summary) == ([], "subject_not_found")


@pytest.mark.parametrize("kind", ["merge_group", "ci_check", "pull_request"])
def test_verdict_with_a_submission_as_parent_is_current_until_it_is_answered(kind: str) -> None:
    live = {"subject_kind": kind, "parent_eval_id": "a"}
    earlier, later = body("b", **live, trigger="bus"), body("c", **live, trigger="feedback_arrived", score=0.75)
    survey = Survey(earlier, later, kind=SubjectKind(kind))
    assert survey.open_ids == ["c"], "a live verdict answers nothing"
    assert survey.see(child("e", "c", subject_kind=kind, trigger="batch", score=0.5)) is not None
    assert (survey.ids, survey.open_ids) == (["c"], [])
    assert [(before.score, now.score) for before, now in survey.answered_pairs] == [(0.75, 0.5)]


@pytest.mark.parametrize(
    "changes",
    [
        {"subject_kind": "submission"},
        {"trigger": "batch"},
        {"trigger": None},
        {"signals": {"opinion_of": "lens"}},
        {"signals": {"law": "another"}},
        {"carried_from": "a"},
    ],
    ids=str,
)
def test_rejudging_opinion_or_carried_over_verdict_is_not_current(changes: dict[str, Any]) -> None:
    recorded = body("b", **{"subject_kind": "merge_group", "parent_eval_id": "a", "trigger": "bus", **changes})
    survey = Survey(kind=SubjectKind(recorded["subject_kind"]))
    assert survey.see(recorded) is None
    assert (survey.current_verdicts, survey.unread_count) == ((), 0)


@pytest.mark.parametrize(
    ("recorded", "kind", "is_current"),
    [
        (body("a", carried_from="0"), "eval.completed", True),
        (
            body("a", decision="abstain", abstain_reason="reply_invalid", failure_mode="judge_output_invalid"),
            "eval.failed",
            True,
        ),
        (body("a", decision=None, failure_mode="subject_not_found"), "eval.failed", False),
        (body("a"), "eval.started", False),
    ],
    ids=["carried over", "failure with an opinion", "failure without a verdict", "start"],
)
def test_submission_with_a_verdict_is_current(recorded: dict[str, Any], kind: str, *, is_current: bool) -> None:
    survey = Survey()
    survey.see(recorded, kind=kind)
    assert (survey.ids, survey.unread_count) == (["a"] if is_current else [], 0)


def test_selection_filters_by_window_kind_and_repository() -> None:
    survey = Survey(window=Window(10, 20), repositories=frozenset({(100, 7)}))
    survey.see(body("a", subject_id=head("1")), at_ms=9)
    survey.see(body("b", subject_id=head("2")), at_ms=10)
    survey.see(body("c", subject_id=f"{head('3')}/{'0' * 16}", subject_kind="ci_check"), at_ms=10)
    survey.see(body("d", subject_id=f"8/1/{'4' * 40}", repository_id=8), at_ms=10)
    survey.see(body("e", subject_id=head("5")), at_ms=20)
    assert (survey.ids, survey.unread_count) == (["b"], 0)
    survey.see(child("f", "b"), at_ms=500)
    assert survey.open_ids == [], "an answer may come later"


@pytest.mark.parametrize(
    "raw",
    [
        b"not JSON",
        b"[]",
        b'{"v": 1, "eval_id": "a"}',
        b'{"v":1,"signals":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        *(
            json.dumps({**body("a"), **changes}).encode()
            for changes in (
                {"v": 9},
                {"eval_id": 7},
                {"eval_id": "\ud800"},
                {"parent_eval_id": 7},
                {"repository_id": "x"},
                {"repository_id": None},
                {"number": True},
                {"number": -1},
                {"number": "1"},
                {"subject_kind": None},
                {"subject_id": "x"},
                {"subject_id": "7/1"},
                {"subject_id": "7/1/other"},
                {"subject_id": f"7/2/{'b' * 40}"},
                {"subject_id": f"/{'b' * 40}"},
                {"subject_id": head("b"), "subject_kind": "pull_request"},
                {"subject_id": "", "subject_kind": "pull_request"},
                {"judge_cost_usd": "much"},
                {"judge_cost_usd": "NaN"},
                {"judge_cost_usd": 0.5},
                {"signals": "x"},
                {"signals": {"law": 7}},
                {"score": "much"},
                {"score": True},
                {"score": 1.1},
                {"score": float("nan")},
                {"trigger": ["bus"]},
                {"decision": ["accept"]},
                {"decision": "é"},
            )
        ),
    ],
)
def test_unreadable_entry_is_skipped_and_counted(raw: bytes) -> None:
    survey = Survey()
    assert survey.see(raw) is None
    assert (survey.unread_count, survey.current_verdicts) == (1, ())


def test_entry_without_a_kind_is_skipped_and_counted() -> None:
    survey = Survey()
    assert survey.add_entry(INSTALLATION, 5, b"", b"") is None
    assert (survey.unread_count, survey.current_verdicts) == (1, ())


def test_recorded_verdict_has_its_pull_request_and_cost() -> None:
    survey = Survey(body("a", judge_cost_usd="0.0042"), body("b", judge_cost_usd=None, subject_id=head("2")))
    first, second = survey.current_verdicts
    assert (first.pull.installation_id, first.pull.repository_id, first.pull.number) == (100, 7, 1)
    assert (first.judge_cost_usd, second.judge_cost_usd) == (Decimal("0.0042"), None)


@pytest.mark.parametrize("repositories", [None, frozenset({(100, 7)})])
def test_surveyor_reads_each_entry_once_from_the_window_start(
    store: Store, settings: Settings, repositories: frozenset[tuple[int, int]] | None
) -> None:
    by = terms(settings)
    first = judge_live(store, settings, 1)
    reader = read_survey(store, by.law, repositories=repositories)
    assert [verdict.eval_id for verdict in reader.survey.current_verdicts] == [first.eval_id]
    assert rejudge(settings, store, by, first) is OrderResult.JUDGED
    second, again = judge_live(store, settings, 2), judge_live(store, settings, 1, head="c")
    assert [answer.parent_eval_id for answer in reader.read_new()] == [first.eval_id]
    assert list(reader.read_new()) == []
    current = [verdict.eval_id for verdict in reader.survey.current_verdicts]
    assert current == [first.eval_id, second.eval_id, again.eval_id]
    later = read_survey(store, by.law, repositories=repositories, window=Window(2**51, 2**52))
    assert list(later.read_entries()) == list(later.survey.current_verdicts) == []
