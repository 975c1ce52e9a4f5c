"""What an event holds, and what it never does."""

import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.judge.samples import abstain_verdict, accept_verdict, reject_verdict
from worker.domain.ids import EvalId
from worker.domain.verdict.audit import AuditRecord, EvaluatedVerdict, Exchange, JudgeSettings
from worker.domain.verdict.events import (
    EvalTrigger,
    EvaluationStarted,
    EventError,
    EventKind,
    FailureMode,
    Sensitivity,
    failed_event,
    lost_event,
    problem_events,
    read_event,
    started_event,
    subject_id,
    terminal_event,
)
from worker.domain.verdict.verdict import Abstain, Accept, JudgeKind, Reject, Subject, SubjectKind

HEAD = reject_verdict().subject.head_sha
LAW = JudgeSettings("default", "sha256:r", "sha256:p", 0.7, None, None)


def subject(kind: SubjectKind = SubjectKind.SUBMISSION) -> Subject:
    return reject_verdict().subject.model_copy(update={"kind": kind})


def begun() -> EvaluationStarted:
    return EvaluationStarted("e1", subject(), "default", "1", JudgeKind.HYBRID)


def told(verdict: Accept | Reject | Abstain, **more: Any) -> dict[str, Any]:
    return dict(terminal_event(verdict, EvalTrigger.BUS, **more).body)


def heard(*faults: str | None, models: str | None = "claude-haiku-5-5") -> EvaluatedVerdict:
    exchanges = tuple(Exchange("s", "f", ("q",), fault=fault, model=models) for fault in faults)
    return EvaluatedVerdict(reject_verdict(), AuditRecord(EvalId("0193-earlier"), LAW, (), exchanges))


def test_what_began_says_who_is_to_judge_what_and_because_of_what() -> None:
    event = started_event(begun())
    assert event.kind is EventKind.STARTED
    assert event.body == {
        "v": 1,
        "eval_id": "e1",
        "subject_kind": "submission",
        "subject_id": f"7/12/{HEAD}",
        "repository_id": 7,
        "number": 12,
        "sensitivity": "pseudonymous",
        "rubric_id": "default",
        "rubric_version": "1",
        "judge_kind_planned": "hybrid",
        "trigger": "bus",
    }


def test_a_verdict_is_told_by_numbers_and_words_of_closed_sets() -> None:
    verdict = reject_verdict(
        judge_kind="hybrid",
        judge_model="claude-haiku-5-5, vendor/claude-opus-5",
        judge_cost_usd=Decimal("0.001742"),
        judge_pricing_version="2026-11",
        findings=[
            {"signal": "stub_body", "category": "half_finished", "fact": True, "note": "private"},
            {"signal": "debug_output", "category": "half_finished", "fact": False},
        ],
        signals={
            "heuristic_score": 0.5,
            "vetoed_by": "claims",
            "escalation_skipped": "some private words",
            "policy_unknown_signals": "bob-jones",
            "files": ("setup.py",),
            "opinions": None,
        },
    )
    body = told(verdict)
    assert body["judge_model"] == "claude-haiku-5-5, vendor/claude-opus-5"
    assert (body["judge_cost_usd"], body["facts"], body["trigger"]) == ("0.001742", ["stub_body"], "bus")
    assert body["signals"] == {"heuristic_score": 0.5, "vetoed_by": "claims", "opinions": None}
    assert (body["decision"], body["category"], body["abstain_reason"]) == ("reject", "weak_test", None)
    assert body["author_agent"] == "copilot"


def test_an_event_names_twenty_facts_at_most() -> None:
    findings = [{"signal": f"fact_{number:02}", "category": "half_finished", "fact": True} for number in range(25)]
    assert told(reject_verdict(findings=findings))["facts"] == [f"fact_{number:02}" for number in range(20)]


def test_what_has_no_price_is_told_as_unknown() -> None:
    verdict = accept_verdict(judge_kind="llm", judge_model="m", judge_cost_usd=None)
    assert told(verdict)["judge_cost_usd"] is None


def test_the_words_of_an_opinion_make_the_event_user_controlled() -> None:
    event = terminal_event(reject_verdict(), EvalTrigger.BUS, opinion_text="It was looked at.")
    assert event.body["sensitivity"] == "user_controlled"
    assert event.body["signals"]["rationale_redacted"] == "It was looked at."
    assert told(reject_verdict())["sensitivity"] == "pseudonymous"
    assert "rationale_redacted" not in told(reject_verdict())["signals"]


@pytest.mark.parametrize(
    ("reason", "mode"),
    [("reply_invalid", FailureMode.JUDGE_OUTPUT_INVALID), ("judge_unavailable", FailureMode.JUDGE_CALL_FAILED)],
)
def test_a_judge_that_failed_is_told_with_what_code_thought(reason: str, mode: FailureMode) -> None:
    event = terminal_event(abstain_verdict(abstain_reason=reason), EvalTrigger.BUS, opinion_text="never told")
    assert (event.kind, event.body["failure_mode"]) == (EventKind.FAILED, mode)
    assert (event.body["score"], event.body["confidence"]) == (0.5, 0.137)
    assert "never told" not in event.dump().decode()


def test_a_cap_is_a_verdict_and_no_failure() -> None:
    event = terminal_event(abstain_verdict(abstain_reason="budget", throttled_reason="pr_cap"), EvalTrigger.BUS)
    assert (event.kind, event.body["throttled_reason"]) == (EventKind.COMPLETED, "pr_cap")


def test_what_came_to_no_verdict_says_why_and_what_it_cost() -> None:
    event = failed_event(begun(), FailureMode.SUBJECT_NOT_FOUND, cost_usd="0.01")
    assert event.body["error_message"] == "what was to be judged is not there any more"
    assert event.body["judge_cost_usd"] == "0.01"
    assert failed_event(begun(), FailureMode.JUDGE_CALL_FAILED, "gone").body["error_message"] == "gone"


def test_the_children_of_a_verdict_are_listed_by_their_ids() -> None:
    signals = {"child_eval_ids": ("e1", "e2", "two words")}
    assert told(accept_verdict(signals=signals))["signals"]["child_eval_ids"] == ["e1", "e2"]


def test_each_subject_has_a_name_of_its_own() -> None:
    names = {kind: subject_id(subject(kind)) for kind in SubjectKind}
    assert names[SubjectKind.PULL_REQUEST] == "7/12"
    assert names[SubjectKind.SUBMISSION] == names[SubjectKind.BENCHMARK] == f"7/12/{HEAD}"
    checks = {subject_id(subject(SubjectKind.CI_CHECK), name) for name in ("lint", "tests / private name")}
    assert len(checks) == 2
    assert not any("private" in check for check in checks)


def test_each_reply_that_could_not_be_read_is_told_once() -> None:
    events = list(problem_events(heard(None, "not_json", "wrong_schema"), None))
    assert [event.kind for event in events] == [EventKind.EVALUATOR_PARSE_ERROR] * 2
    assert [(event.body["attempt"], event.body["fault"]) for event in events] == [(1, "not_json"), (2, "wrong_schema")]
    assert events[0].body["judge_model"] == "claude-haiku-5-5"
    assert next(problem_events(heard("not_json", models=None), None)).body["judge_model"] is None


def test_a_case_that_could_not_be_read_is_told_without_its_words() -> None:
    (event,) = problem_events(heard(), "line 3: private words")
    assert event.kind is EventKind.CASE_PARSE_ERROR
    assert "private" not in event.dump().decode()


@given(st.text(max_size=200), st.text(max_size=60))
def test_no_text_gets_into_an_event(text: str, name: str) -> None:
    verdict = reject_verdict(concern=f"x{text}", signals={"said": f"{text} {text}"}, author_agent=f"{name} !")
    body = terminal_event(verdict, EvalTrigger.BUS).dump().decode()
    assert json.dumps(f"x{text}", ensure_ascii=False) not in body
    assert json.loads(body)["author_agent"] is None
    assert json.loads(body)["signals"] == {}


def test_an_event_is_read_as_it_was_written() -> None:
    event = terminal_event(reject_verdict(), EvalTrigger.BATCH)
    assert read_event(event.kind, event.dump()).body == event.body


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        ("eval.completed", b"{"),
        ("eval.completed", b"[1]"),
        ("eval.completed", b'{"v": 2}'),
        ("eval.completed", b"{}"),
        ("eval.unknown", b'{"v": 1}'),
        ("eval.completed", b"\xff"),
    ],
)
def test_what_is_broken_or_newer_is_not_guessed_at(kind: str, raw: bytes) -> None:
    with pytest.raises(EventError):
        read_event(kind, raw)


def test_a_judge_that_dies_is_told_as_a_failure_whose_cost_is_unknown_where_a_model_may_have_been_asked() -> None:
    for planned, cost in ((JudgeKind.HEURISTIC, "0"), (JudgeKind.HYBRID, None)):
        begun = EvaluationStarted(EvalId("e"), reject_verdict().subject, "default", "1", planned)
        lost = json.loads(lost_event(begun).dump())
        assert (lost["eval_id"], lost["failure_mode"], lost["judge_cost_usd"]) == ("e", "judge_call_failed", cost)


PAGE = (Path(__file__).resolve().parents[4] / "docs" / "events.md").read_text()
FRAME = {"v", "eval_id", "subject_kind", "subject_id", "repository_id", "number", "sensitivity"}


def section(name: str) -> str:
    return PAGE.split(f"### {name}", 1)[1].split("\n##", 1)[0]


def named(text: str) -> set[str]:
    return set(re.findall(r"`([a-z_]+)`", text))


def test_every_kind_and_every_way_to_fail_is_in_the_catalogue() -> None:
    table = set(re.findall(r"^\| `([a-z._]+)` \|", PAGE, re.MULTILINE))
    assert {member.value for member in EventKind} <= table
    assert {member.value for member in FailureMode} <= table
    assert {member.value for member in Sensitivity} <= set(re.findall(r"\*([a-z_]+)\*", PAGE))
    assert {member.value for member in EvalTrigger} <= named(section("eval.started"))


def test_every_field_is_in_the_catalogue_and_no_other() -> None:
    began = set(started_event(begun()).body) - FRAME
    assert began == {"rubric_id", "rubric_version", "judge_kind_planned", "trigger"}
    assert began <= named(section("eval.started"))
    fields = set(terminal_event(reject_verdict(), EvalTrigger.BUS).body) - FRAME
    assert fields == {field for field in named(section("eval.completed")) if field != "child_eval_ids"}
    lost = set(failed_event(begun(), FailureMode.SUBJECT_NOT_FOUND).body) - FRAME
    assert lost <= named(section("eval.failed"))
    failure = set(terminal_event(abstain_verdict(), EvalTrigger.BUS).body) - FRAME
    assert failure == fields | {"failure_mode", "error_message"}
    (trouble,) = problem_events(heard("not_json"), None)
    assert set(trouble.body) - FRAME <= named(section("case_parse_error"))
