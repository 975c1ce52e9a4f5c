"""What stands, and what was judged anew, read off the streams."""

import json
from decimal import Decimal
from typing import Any

import pytest

from tests.worker.evaluation.recorded import judged, order, surveyor, terms
from worker.adapters.redis.store import Store
from worker.domain.ids import InstallationId
from worker.domain.verdict.verdict import SubjectKind
from worker.domain.window import Window
from worker.evaluation.rejudge import OrderResult, Rejudger
from worker.evaluation.supersession import RecordedVerdict, RejudgeSelection, VerdictSurvey
from worker.settings import Settings
from worker.wiring.rejudge import open_terms

HERE = InstallationId(100)
LAW = "aaaabbbbccccdddd"


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


def head(name: str) -> str:
    """A subject's id: another commit of the same pull request."""
    return f"7/1/{name * 40}"


def child(eval_id: str, parent: str, **changes: Any) -> dict[str, Any]:
    return body(eval_id, parent_eval_id=parent, signals={"law": LAW}, **changes)


def survey(**changes: Any) -> VerdictSurvey:
    wanted: dict[str, Any] = {"kind": SubjectKind.SUBMISSION, "window": Window(0, 1000), "judge_digest": LAW, **changes}
    return VerdictSurvey(RejudgeSelection(**wanted))


def see(
    one: VerdictSurvey, said: dict[str, Any] | bytes, kind: str = "eval.completed", at_ms: int = 5
) -> RecordedVerdict | None:
    raw = said if isinstance(said, bytes) else json.dumps(said).encode()
    return one.add_entry(HERE, at_ms, kind.encode(), raw)


def standing(one: VerdictSurvey) -> list[str]:
    return [said.eval_id for said in one.standing]


def test_of_a_subject_the_greatest_eval_id_stands_in_whatever_order_they_come() -> None:
    one = survey()
    for name in ("b", "c", "a"):
        see(one, body(name))
    see(one, body("0", subject_id=head("c")))
    assert standing(one) == ["0", "c"]


def test_a_judging_anew_never_stands_and_answers_its_parent() -> None:
    one = survey()
    see(one, body("a"))
    answer = see(one, child("b", "a", decision="reject", category="weak_test"))
    assert answer is not None
    assert (standing(one), one.unanswered, answer.summary) == (["a"], (), "reject weak_test")
    assert [(before.summary, now.summary) for before, now in one.answered_pairs] == [("accept", "reject weak_test")]


def test_another_laws_answer_is_none() -> None:
    one = survey()
    see(one, body("a"))
    assert see(one, {**child("b", "a"), "signals": {"law": "other"}}) is None
    assert see(one, {**child("b", "a"), "signals": None}) is None
    assert [said.eval_id for said in one.unanswered] == ["a"]


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
def test_who_was_kept_from_judging_is_asked_again_and_the_last_answer_counts(changes: dict[str, Any]) -> None:
    one = survey()
    see(one, body("a"))
    see(one, child("b", "a", **changes), "eval.failed" if "failure_mode" in changes else "eval.completed")
    assert [said.eval_id for said in one.unanswered] == ["a"]
    see(one, child("c", "a", decision="reject", category="weak_test"))
    assert (one.unanswered, one.answers[one.standing[0].eval_id].eval_id) == ((), "c")
    assert see(one, child("d", "a", **changes)) is None
    assert one.answers[one.standing[0].eval_id].eval_id == "c", "what was judged once is known"


def test_a_subject_that_is_gone_is_not_asked_for_again() -> None:
    one = survey()
    see(one, body("a"))
    said = see(one, {**child("b", "a", failure_mode="subject_not_found"), "decision": None}, "eval.failed")
    assert said is not None
    assert (one.unanswered, said.summary) == ((), "subject_not_found")


@pytest.mark.parametrize("kind", ["merge_group", "ci_check", "pull_request"])
def test_a_verdict_that_is_made_beside_a_submission_stands_and_is_answered_by_the_mark_of_a_law(kind: str) -> None:
    one = survey(kind=SubjectKind(kind))
    live = {"subject_kind": kind, "parent_eval_id": "a", "trigger": "bus"}
    assert see(one, body("b", **live)) is None
    see(one, body("c", **{**live, "trigger": "feedback_arrived"}, score=0.75))
    assert [said.eval_id for said in one.unanswered] == ["c"], (
        "the submission's id is its parent, and it answers nothing"
    )
    answer = see(one, child("e", "c", subject_kind=kind, trigger="batch", score=0.5))
    assert (standing(one), one.unanswered) == (["c"], ())
    assert [(before.score, now.score) for before, now in one.answered_pairs] == [(0.75, 0.5)]
    assert answer is not None


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
def test_what_was_made_beside_a_verdict_anew_or_as_a_part_of_it_or_not_at_all_does_not_stand(
    changes: dict[str, Any],
) -> None:
    said = body("b", **{"subject_kind": "merge_group", "parent_eval_id": "a", "trigger": "bus", **changes})
    one = survey(kind=SubjectKind(said["subject_kind"]))
    assert see(one, said) is None
    assert (one.standing, one.unread_count) == ((), 0)


def test_a_submission_that_was_carried_over_stands() -> None:
    one = survey()
    see(one, body("a", carried_from="0"))
    assert standing(one) == ["a"]


def test_only_the_window_the_kind_and_the_repositories_that_are_wanted_stand() -> None:
    one = survey(window=Window(10, 20), repositories=frozenset({(100, 7)}))
    see(one, body("a", subject_id=head("1")), at_ms=9)
    see(one, body("b", subject_id=head("2")), at_ms=10)
    see(one, body("c", subject_id=f"{head('3')}/{'0' * 16}", subject_kind="ci_check"), at_ms=10)
    see(one, body("d", subject_id=f"8/1/{'4' * 40}", repository_id=8), at_ms=10)
    see(one, body("e", subject_id=head("5")), at_ms=20)
    assert one.unread_count == 0
    assert standing(one) == ["b"]
    see(one, child("f", "b"), at_ms=500)
    assert one.unanswered == (), "an answer may come later"


def test_what_came_to_no_verdict_does_not_stand() -> None:
    one = survey()
    see(one, {**body("a"), "decision": None, "failure_mode": "subject_not_found"}, "eval.failed")
    see(one, body("b"), "eval.started")
    assert (standing(one), one.unread_count) == ([], 0)


def test_a_failure_with_an_opinion_stands() -> None:
    one = survey()
    see(
        one,
        body("a", decision="abstain", abstain_reason="reply_invalid", failure_mode="judge_output_invalid"),
        "eval.failed",
    )
    assert standing(one) == ["a"]


@pytest.mark.parametrize(
    "raw",
    [
        b"not JSON",
        b"[]",
        json.dumps({**body("a"), "v": 9}).encode(),
        json.dumps({"v": 1, "eval_id": "a"}).encode(),
        json.dumps(body("a", repository_id="x")).encode(),
        json.dumps(body("a", repository_id=None)).encode(),
        json.dumps(body("a", judge_cost_usd="much")).encode(),
        json.dumps(body("a", subject_id="x")).encode(),
        json.dumps(body("a", subject_id="7/1")).encode(),
        json.dumps(body("a", subject_id="7/1/other")).encode(),
        json.dumps(body("a", subject_id=f"7/2/{'b' * 40}")).encode(),
        json.dumps(body("a", subject_id=f"/{'b' * 40}")).encode(),
        json.dumps(body("a", subject_id=head("b"), subject_kind="pull_request")).encode(),
        json.dumps(body("a", subject_id="", subject_kind="pull_request")).encode(),
        json.dumps(body("a", judge_cost_usd="NaN")).encode(),
        json.dumps(body("a", judge_cost_usd=0.5)).encode(),
        json.dumps(body("a", number=True)).encode(),
        json.dumps(body("a", number=-1)).encode(),
        json.dumps(body("a", number="1")).encode(),
        json.dumps(body("a", signals="x")).encode(),
        json.dumps(body("a", signals={"law": 7})).encode(),
        json.dumps(body("a", score="much")).encode(),
        json.dumps(body("a", score=True)).encode(),
        json.dumps(body("a", score=1.1)).encode(),
        json.dumps(body("a", score=float("nan"))).encode(),
        json.dumps(body("a", trigger=["bus"])).encode(),
        json.dumps(body("a", decision=["accept"])).encode(),
        json.dumps(body("a", subject_kind=None)).encode(),
        json.dumps(body("a", parent_eval_id=7)).encode(),
        json.dumps({**body("a"), "eval_id": 7}).encode(),
        json.dumps({**body("a"), "eval_id": "\ud800"}).encode(),
        b'{"v":1,"signals":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)
def test_what_cant_be_read_is_counted_and_left_out(raw: bytes) -> None:
    one = survey()
    assert see(one, raw) is None
    assert (one.unread_count, one.standing) == (1, ())


def test_an_entry_without_a_kind_is_counted_and_left_out() -> None:
    one = survey()
    assert see(one, b"", "") is None
    assert (one.unread_count, one.standing) == (1, ())


def test_a_verdict_tells_its_pull_request_and_its_cost() -> None:
    one = survey()
    see(one, body("a", judge_cost_usd="0.0042"))
    see(one, body("b", judge_cost_usd=None, subject_id=head("2")))
    first, second = one.standing
    assert (first.pull.installation_id, first.pull.repository_id, first.pull.number) == (100, 7, 1)
    assert (first.cost_usd, second.cost_usd) == (Decimal("0.0042"), None)


@pytest.mark.parametrize("repositories", [None, frozenset({(100, 7)})])
def test_each_entry_of_a_stream_is_read_once_from_the_windows_begin(
    store: Store, here: Settings, repositories: frozenset[tuple[int, int]] | None
) -> None:
    law = terms(here).law
    first = judged(store, here, 1)
    reader = surveyor(store, law, repositories=repositories)
    assert standing(reader.survey) == [first.eval_id]
    assert Rejudger(here, store, terms(here), open_terms).execute(order(first)) is OrderResult.JUDGED
    second = judged(store, here, 2)
    assert [answer.parent for answer in reader.read_new()] == [first.eval_id]
    assert list(reader.read_new()) == []
    assert standing(reader.survey) == [first.eval_id, second.eval_id]
    later = surveyor(store, law, repositories=repositories, window=Window(2**51, 2**52))
    assert list(later.read_entries()) == standing(later.survey) == []
