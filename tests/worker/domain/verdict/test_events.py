"""The fields of events, which never hold user text."""

import json
import re
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.worker.judge.samples import abstain_verdict, accept_verdict, reject_verdict
from worker.domain.github_events import PullRequestEvent, PullRequestEventKind, hash_issue
from worker.domain.judge_request import PullRef
from worker.domain.model import DeliveryId, EvalId, InstallationId, RepositoryId
from worker.domain.verdict.audit import AuditRecord, EvaluatedVerdict, Exchange, JudgeSettings
from worker.domain.verdict.events import (
    STRENGTHS,
    Demotion,
    EvalTrigger,
    EvaluationStarted,
    EventError,
    EventKind,
    FailureMode,
    Outcome,
    OutcomeKind,
    PullRequestRubric,
    Reaction,
    RejectCounts,
    Sensitivity,
    Strength,
    failed_event,
    last_thumbs,
    lost_event,
    outcome_event,
    problem_events,
    read_event,
    started_event,
    subject_id,
    terminal_event,
)
from worker.domain.verdict.verdict import Abstain, Accept, JudgeKind, Reject, Subject, SubjectKind
from worker.judge.rubric import load_ci_check_rubric, load_pull_request_rubric
from worker.signals.heuristic_opinion import REGISTERED_NAMES

HEAD = reject_verdict().subject.head_sha
SETTINGS = JudgeSettings("default", "sha256:r", "sha256:p", 0.7, None, None)


def subject(kind: SubjectKind = SubjectKind.SUBMISSION) -> Subject:
    return reject_verdict().subject.model_copy(update={"kind": kind})


def evaluation() -> EvaluationStarted:
    return EvaluationStarted("e1", subject(), "default", "1", JudgeKind.HYBRID)


def verdict_body(verdict: Accept | Reject | Abstain, **more: Any) -> dict[str, Any]:
    return dict(terminal_event(verdict, EvalTrigger.BUS, **more).body)


def evaluated_verdict(*faults: str | None, models: str | None = "claude-haiku-5-5") -> EvaluatedVerdict:
    exchanges = tuple(Exchange("s", "f", ("q",), fault=fault, model=models) for fault in faults)
    return EvaluatedVerdict(reject_verdict(), AuditRecord(EvalId("0193-earlier"), SETTINGS, (), exchanges))


def test_started_event_names_subject_rubric_and_trigger() -> None:
    event = started_event(evaluation())
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


def test_verdict_event_holds_only_numbers_and_closed_sets() -> None:
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
    body = verdict_body(verdict)
    assert body["judge_model"] == "claude-haiku-5-5, vendor/claude-opus-5"
    assert (body["judge_cost_usd"], body["facts"], body["trigger"]) == ("0.001742", ["stub_body"], "bus")
    assert body["signals"] == {"heuristic_score": 0.5, "vetoed_by": "claims", "opinions": None}
    assert (body["decision"], body["category"], body["abstain_reason"]) == ("reject", "weak_test", None)
    assert body["author_agent"] == "copilot"


def test_event_names_twenty_facts_at_most() -> None:
    findings = [{"signal": f"fact_{number:02}", "category": "half_finished", "fact": True} for number in range(25)]
    assert verdict_body(reject_verdict(findings=findings))["facts"] == [f"fact_{number:02}" for number in range(20)]


def test_unknown_price_is_null() -> None:
    verdict = accept_verdict(judge_kind="llm", judge_model="m", judge_cost_usd=None)
    assert verdict_body(verdict)["judge_cost_usd"] is None


def test_opinion_text_makes_the_event_user_controlled() -> None:
    event = terminal_event(reject_verdict(), EvalTrigger.BUS, opinion_text="It was looked at.")
    assert event.body["sensitivity"] == "user_controlled"
    assert event.body["signals"]["rationale_redacted"] == "It was looked at."
    assert verdict_body(reject_verdict())["sensitivity"] == "pseudonymous"
    assert "rationale_redacted" not in verdict_body(reject_verdict())["signals"]


@pytest.mark.parametrize(
    ("reason", "mode"),
    [("reply_invalid", FailureMode.JUDGE_OUTPUT_INVALID), ("judge_unavailable", FailureMode.JUDGE_CALL_FAILED)],
)
def test_failed_judge_event_holds_the_opinion_of_code(reason: str, mode: FailureMode) -> None:
    event = terminal_event(abstain_verdict(abstain_reason=reason), EvalTrigger.BUS, opinion_text="never told")
    assert (event.kind, event.body["failure_mode"]) == (EventKind.FAILED, mode)
    assert (event.body["score"], event.body["confidence"]) == (0.5, 0.137)
    assert "never told" not in event.dump().decode()


def test_reached_cap_is_a_completed_event() -> None:
    event = terminal_event(abstain_verdict(abstain_reason="budget", throttled_reason="pr_cap"), EvalTrigger.BUS)
    assert (event.kind, event.body["throttled_reason"]) == (EventKind.COMPLETED, "pr_cap")


def test_failed_event_says_why_and_what_it_cost() -> None:
    event = failed_event(evaluation(), FailureMode.SUBJECT_NOT_FOUND, cost_usd="0.01")
    assert event.body["error_message"] == "what was to be judged no longer exists"
    assert event.body["judge_cost_usd"] == "0.01"
    assert failed_event(evaluation(), FailureMode.JUDGE_CALL_FAILED, "gone").body["error_message"] == "gone"


def test_verdict_event_lists_its_children_by_id() -> None:
    signals = {"child_eval_ids": ("e1", "e2", "two words")}
    assert verdict_body(accept_verdict(signals=signals))["signals"]["child_eval_ids"] == ["e1", "e2"]


def test_each_subject_kind_has_its_own_id() -> None:
    names = {kind: subject_id(subject(kind)) for kind in SubjectKind}
    assert names[SubjectKind.PULL_REQUEST] == "7/12"
    assert names[SubjectKind.SUBMISSION] == names[SubjectKind.BENCHMARK] == f"7/12/{HEAD}"
    checks = {subject_id(subject(SubjectKind.CI_CHECK), name) for name in ("lint", "tests / private name")}
    assert len(checks) == 2
    assert not any("private" in check for check in checks)


def test_each_unreadable_reply_is_one_event() -> None:
    events = list(problem_events(evaluated_verdict(None, "not_json", "wrong_schema"), None))
    assert [event.kind for event in events] == [EventKind.EVALUATOR_PARSE_ERROR] * 2
    assert [(event.body["attempt"], event.body["fault"]) for event in events] == [(1, "not_json"), (2, "wrong_schema")]
    assert events[0].body["judge_model"] == "claude-haiku-5-5"
    assert next(problem_events(evaluated_verdict("not_json", models=None), None)).body["judge_model"] is None


def test_unreadable_case_event_holds_no_text() -> None:
    (event,) = problem_events(evaluated_verdict(), "line 3: private words")
    assert event.kind is EventKind.CASE_PARSE_ERROR
    assert "private" not in event.dump().decode()


@given(st.text(max_size=200), st.text(max_size=60))
def test_event_holds_no_user_text(text: str, name: str) -> None:
    verdict = reject_verdict(concern=f"x{text}", signals={"said": f"{text} {text}"}, author_agent=f"{name} !")
    body = terminal_event(verdict, EvalTrigger.BUS).dump().decode()
    assert json.dumps(f"x{text}", ensure_ascii=False) not in body
    assert json.loads(body)["author_agent"] is None
    assert json.loads(body)["signals"] == {}


def test_event_survives_being_written_and_read() -> None:
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
def test_broken_or_newer_event_is_refused(kind: str, raw: bytes) -> None:
    with pytest.raises(EventError):
        read_event(kind, raw)


def test_lost_judging_has_unknown_cost_when_a_model_was_planned() -> None:
    for planned, cost in ((JudgeKind.HEURISTIC, "0"), (JudgeKind.HYBRID, None)):
        evaluation = EvaluationStarted(EvalId("e"), reject_verdict().subject, "default", "1", planned)
        lost = json.loads(lost_event(evaluation).dump())
        assert (lost["eval_id"], lost["failure_mode"], lost["judge_cost_usd"]) == ("e", "judge_call_failed", cost)


PAGE = (Path(__file__).resolve().parents[4] / "docs" / "events.md").read_text()
FRAME = {"v", "eval_id", "subject_kind", "subject_id", "repository_id", "number", "sensitivity"}


def section(name: str) -> str:
    return PAGE.split(f"### {name}", 1)[1].split("\n##", 1)[0]


def quoted_names(text: str) -> set[str]:
    return set(re.findall(r"`([a-z_]+)`", text))


def test_event_catalogue_lists_every_kind_and_failure_mode() -> None:
    table = set(re.findall(r"^\| `([a-z._]+)` \|", PAGE, re.MULTILINE))
    assert {member.value for member in EventKind} <= table
    assert {member.value for member in FailureMode} <= table
    assert {member.value for member in Sensitivity} <= set(re.findall(r"\*([a-z_]+)\*", PAGE))
    assert {member.value for member in EvalTrigger} <= quoted_names(section("eval.started"))


def test_event_catalogue_lists_every_field() -> None:
    began = set(started_event(evaluation()).body) - FRAME
    assert began == {"rubric_id", "rubric_version", "judge_kind_planned", "trigger"}
    assert began <= quoted_names(section("eval.started"))
    fields = set(terminal_event(reject_verdict(), EvalTrigger.BUS).body) - FRAME
    assert fields == {field for field in quoted_names(section("eval.completed")) if field != "child_eval_ids"}
    lost = set(failed_event(evaluation(), FailureMode.SUBJECT_NOT_FOUND).body) - FRAME
    assert lost <= quoted_names(section("eval.failed"))
    failure = set(terminal_event(abstain_verdict(), EvalTrigger.BUS).body) - FRAME
    assert failure == fields | {"failure_mode", "error_message"}
    (trouble,) = problem_events(evaluated_verdict("not_json"), None)
    assert set(trouble.body) - FRAME <= quoted_names(section("case_parse_error"))


PULL = PullRef(installation_id=InstallationId(100), repository_id=RepositoryId(7), number=3)
AT = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
OUTCOME_HEAD = "1" * 40


def pull_request_event(**changes: Any) -> PullRequestEvent:
    fields: dict[str, Any] = {"what": PullRequestEventKind.SPOKE, "delivery_id": DeliveryId("d"), "at": AT}
    return PullRequestEvent(**{**PULL.model_dump(), **fields, **changes})


def test_each_outcome_has_a_strength() -> None:
    assert set(STRENGTHS) == set(OutcomeKind)
    assert set(STRENGTHS.values()) == set(Strength)


def test_outcome_event_names_its_pull_request_and_verdict() -> None:
    outcome = Outcome(kind=OutcomeKind.REVERTED, eval_id=EvalId("e"), head_sha=OUTCOME_HEAD, at=AT)
    event = outcome_event(PULL, outcome)
    assert (event.kind, event.body) == (
        EventKind.OUTCOME,
        {
            "v": 1,
            "subject_kind": "pull_request",
            "subject_id": "7/3",
            "repository_id": 7,
            "number": 3,
            "sensitivity": "pseudonymous",
            "outcome": "reverted",
            "strength": "implicit",
            "eval_id": "e",
            "head_sha": OUTCOME_HEAD,
            "at": "2026-11-21T10:00:00.000+00:00",
        },
    )
    assert read_event(event.kind, event.dump()) == event
    assert json.loads(outcome_event(PULL, Outcome(kind=OutcomeKind.MERGED, at=AT)).dump())["eval_id"] is None


def test_outcome_has_no_field_for_a_name_or_a_text() -> None:
    with pytest.raises(ValidationError):
        Outcome.model_validate({"kind": "merged", "at": AT, "login": "alice"})
    with pytest.raises(ValidationError):
        Outcome.model_validate({"kind": "loved", "at": AT})


def test_pull_request_event_names_its_pull_request_or_only_a_commit() -> None:
    assert pull_request_event().pull == PULL
    assert pull_request_event(number=None).pull is None
    assert pull_request_event(number=None).pull_with_number(3) == PULL


def test_issue_hash_hides_the_repository_name() -> None:
    marks = {hash_issue("acme/widgets", 7), hash_issue("acme/widgets", 8), hash_issue("acme/other", 7)}
    assert len(marks) == 3
    assert hash_issue("Acme/Widgets", 7) == hash_issue("acme/widgets", 7)
    assert not any("widgets" in mark for mark in marks)


def rubric_with(**pull: float) -> dict[str, Any]:
    shipped = load_pull_request_rubric().model_dump()
    return {**shipped, "pull": {**shipped["pull"], **pull}}


def test_shipped_rubrics_name_known_signals_and_outcomes() -> None:
    assert set(load_ci_check_rubric().loosening) <= REGISTERED_NAMES
    spoken = set(load_pull_request_rubric().speaks_for)
    contested = {OutcomeKind.CONTEST, OutcomeKind.CONTEST_UPHELD}
    rated = {OutcomeKind.HELPFUL, OutcomeKind.NOT_HELPFUL, OutcomeKind.REOPENED} | contested
    silent = {OutcomeKind.OWN_OVERRIDE}
    assert spoken == set(OutcomeKind) - rated - silent, "what people say of a verdict depends on the verdict"


@pytest.mark.parametrize(
    ("rubric", "problem"),
    [
        (rubric_with(explicit=0.6), "explicit has to be more"),
        (rubric_with(implicit=0.9), "explicit has to be more"),
        (rubric_with(implicit=0.5, explicit=0.6), "explicit has to be more"),
        (rubric_with(lifecycle=0.7), "explicit has to be more"),
        (rubric_with(lifecycle=0.0), "explicit has to be more"),
        ({**rubric_with(), "pull": {}}, "explicit has to be more"),
        ({**rubric_with(), "favourite": 1}, "extra"),
    ],
)
def test_rubric_with_inverted_strengths_or_unknown_fields_is_refused(rubric: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        PullRequestRubric.model_validate(rubric)


@pytest.mark.parametrize(
    ("rejects", "overturned", "is_too_much"),
    [(39, 39, False), (40, 2, False), (40, 3, True), (100, 5, False), (100, 6, True), (0, 0, False)],
)
def test_more_than_five_per_cent_of_forty_rejects_is_over_the_limit(
    rejects: int, overturned: int, *, is_too_much: bool
) -> None:
    assert RejectCounts(rejects=rejects, overturned=overturned).is_over_limit is is_too_much


def test_demotion_notice_says_why_and_how_to_undo_it() -> None:
    demotion = Demotion(
        signal="stub", tally=RejectCounts(rejects=50, overturned=4), at=datetime(2026, 11, 20, tzinfo=UTC)
    )
    assert demotion.notice(InstallationId(7)) == (
        "stub is a suspicion since 2026-11-20: 4 of its 50 rejects were overridden, more than 5 % "
        "(installation 7). `assay rubric promote stub --installation 7` takes it back."
    )


REACTED_AT = datetime(2026, 11, 20, tzinfo=UTC)


def reaction(number: int, content: str, account: int = 1, **other: Any) -> Reaction:
    return Reaction(number, account, other.get("is_bot", False), content, REACTED_AT)


def test_last_thumb_of_each_account_counts() -> None:
    up, down, other = reaction(3, "+1"), reaction(5, "-1"), reaction(4, "+1", account=2)
    assert last_thumbs([down, up, other]) == (other, down)


def test_reactions_of_bots_and_without_a_thumb_are_ignored() -> None:
    reactions = [reaction(1, "-1", is_bot=True)]
    reactions += [
        reaction(n, feeling) for n, feeling in enumerate(("laugh", "hooray", "confused", "heart", "rocket", "eyes"))
    ]
    assert last_thumbs(reactions) == ()
