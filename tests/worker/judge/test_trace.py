"""The audit record of a judging: its stages, and the first difference between two records."""

from decimal import Decimal
from typing import Any

import pytest
from inline_snapshot import snapshot

from tests.worker.judge.samples import (
    ScriptedModel,
    accept_answer,
    cannot_tell_answer,
    dossier,
    evaluation_header,
    evidence_at,
    judge_context,
    ledger_entry,
    model_of,
    reject_answer,
    reject_verdict,
    reply,
)
from worker.domain.dossier import Ci, CiCheck, CiState, Dossier, Issue
from worker.domain.ports import StopReason
from worker.domain.verdict.audit import AuditRecord, OverBudget, RecordedRedaction, Stage, Step
from worker.domain.verdict.budget import Cap, CapLevel
from worker.domain.verdict.verdict import Category, Leaning, ModelOpinion, Score
from worker.errors import BudgetReached, Unavailable
from worker.judge.judge import judge_with_record
from worker.judge.rounds.carry_over import carry_over_verdict
from worker.judge.rulings import Ruling
from worker.judge.trace import carry_over_record, first_difference, opinion_steps

EMPTY: dict[str, Any] = {"diff": "", "files": ()}
OUTAGE, TOO_LONG = Unavailable("The model", "status 529"), reply("", stop=StopReason.CONTEXT_EXCEEDED)
OVER = BudgetReached(CapLevel(Cap.DAY, Decimal("0.99"), Decimal("1.00")), Decimal("0.02"))


def audit_of(model: ScriptedModel | None, of: Dossier | None = None) -> AuditRecord:
    return judge_with_record(of or dossier(), evaluation_header(), judge_context(model)).audit


def stage_outcomes(audit: AuditRecord) -> list[tuple[str, str]]:
    """The stages after the judge digest with their outcomes, without prompt sizes and signal names."""
    steps = [(step.stage.value, step.outcome) for step in audit.steps[1:]]
    bare = {Stage.HEURISTICS.value: "", Stage.QUESTION.value: "sent", Stage.CORRECTION.value: "sent"}
    return [(stage, bare.get(stage, outcome)) for stage, outcome in steps]


def test_model_accept_passes_every_stage() -> None:
    assert stage_outcomes(audit_of(model_of(accept_answer()))) == snapshot([
        ("validators", "success"),
        ("code checks", ""),
        ("route", "the model is asked"),
        ("question", "sent"),
        ("reply", "usable"),
        ("evidence", "2 places, each found"),
        ("vetoes", "none"),
        ("ruling", "accept"),
        ("verdict", "accept"),
    ])  # fmt: skip


def test_correction_is_recorded_as_second_exchange_with_the_fault() -> None:
    result = audit_of(
        model_of(accept_answer(evidence=[evidence_at(line=4000)]), accept_answer(evidence=[evidence_at()]))
    )
    assert [stage for stage, _ in stage_outcomes(result)][2:8] == snapshot(
        ["route", "question", "reply", "correction", "reply", "evidence"]
    )
    first, second = result.exchanges
    assert first.fault == "pointer"
    assert (second.turns[0], len(second.turns)) == (first.turns[0], 3)
    assert second.reply is not None
    assert (second.reply.request_id, second.reply.cost_usd) == ("req_1", Decimal("0.001"))


RED = Ci(
    state=CiState.FAILURE,
    checks=(CiCheck(name="unit", conclusion="failure"), CiCheck(name="lint", conclusion=None)),
)
WRONG = accept_answer(evidence=[evidence_at(line=4000)])


@pytest.mark.parametrize(
    ("answers", "changes", "stage", "outcome", "reason"),
    [
        ((WRONG, accept_answer()), {}, "reply", "pointer", "`upload.py` has 9 lines at the head commit, line 4000 does not exist."),
        ((OUTAGE,), {}, "question", None, None),
        ((OUTAGE,), {}, "reply", "none came", "status 529"),
        ((OUTAGE,), {}, "ruling", "abstain, judge_unavailable", None),
        ((TOO_LONG,), {}, "reply", "too_long", None),
        ((OVER,), {}, "ruling", "abstain, budget", None),
        ((cannot_tell_answer(),), {}, "vetoes", "none", ""),
        ((reject_answer(),), {}, "vetoes", "none", ""),
        ((reject_answer(),), {}, "evidence", None, "tests/test_upload.py:6, upload.py:2"),
        ((reject_answer(),), {}, "ruling", "reject, weak_test", "The test proves nothing of what is made when send is busy."),
        ((), EMPTY, "route", "code alone", None),
        (None, EMPTY, "code checks", None, "fact empty_diff; suspicion test_not_found"),
        (None, EMPTY, "law", None, "threshold 0.7, 5 rounds, no model"),
        (None, {"ci": RED}, "validators", "failure", "failed: unit, not finished: lint"),
        (None, {"diff": "diff --git a/x b/x\n@@ nonsense @@\n"}, "ruling", "abstain, too_large", None),
    ],
)  # fmt: skip
def test_audit_records_each_stage_with_its_reason(
    answers: tuple[Any, ...] | None, changes: dict[str, Any], stage: str, outcome: str | None, reason: str | None
) -> None:
    result = audit_of(None if answers is None else model_of(*answers), dossier(**changes))
    step = next(step for step in result.steps if step.stage == stage)
    assert outcome is None or step.outcome == outcome
    assert reason is None or step.reason.endswith(reason)
    assert len(result.exchanges) == len(answers or ())


def test_unanswered_question_is_recorded_with_budget_or_failure() -> None:
    assert audit_of(model_of(OVER)).exchanges[0].over == OverBudget(
        "day", Decimal("0.99"), Decimal("1.00"), Decimal("0.02")
    )
    assert audit_of(model_of(OUTAGE)).exchanges[0].failure == "status 529"


LEANING = ModelOpinion(
    decision=Leaning.REJECT,
    category=Category.WEAK_TEST,
    concern="The test proves nothing.",
    next_step="Assert it.",
    scores=(Score(criterion="proof", score=2, reasoning="", improvement=""),),
    score=0.2,
    confidence=0.8,
)
REJECTED = Ruling("`retry` is a stub.", "Write it.", 0.1, 0.9, category=Category.HALF_FINISHED)


@pytest.mark.parametrize("decision", Leaning)
def test_overruled_opinion_is_recorded_as_veto_with_its_reason(decision: Leaning) -> None:
    veto = opinion_steps(LEANING.model_copy(update={"decision": decision}), REJECTED)[1]
    assert veto == Step(Stage.VETOES, f"the model's {decision} does not stand", "`retry` is a stub.")
    assert opinion_steps(None, REJECTED) == ()


def test_redaction_is_recorded_without_the_secret() -> None:
    token = "ghp_" + "a1B2" * 9
    result = audit_of(model_of(accept_answer()), dossier(issues=(Issue(number=7, title="503", body=f"use\n{token}"),)))
    assert result.redactions == (RecordedRedaction("github token", "issues[7].body", 2),)
    assert token not in str(result.exchanges)


def test_carried_over_verdict_records_no_judging_stages() -> None:
    quoted = {"path": "upload.py", "line": 9, "quote": "LIMIT = 10"}
    earlier = ledger_entry(reject_verdict(fingerprint="sha256:now", evidence=[quoted]))
    verdict = carry_over_verdict(dossier(ledger=(earlier,)), evaluation_header(), judge_context())
    assert verdict is not None
    result = carry_over_record(verdict, judge_context())
    assert [step.stage for step in result.steps] == [Stage.LAW, Stage.CARRIED, Stage.VERDICT]
    assert result.steps[1].outcome == f"from {earlier.eval_id}"


FIRST, OTHER = Step(Stage.LAW, "a"), Step(Stage.LAW, "b")


@pytest.mark.parametrize(
    ("recorded", "replayed", "difference"),
    [
        ([FIRST, FIRST], [FIRST, FIRST], None),
        ([FIRST, FIRST], [FIRST, OTHER], (FIRST, OTHER)),
        ([FIRST], [FIRST, OTHER], (None, OTHER)),
        ([FIRST, OTHER], [FIRST], (OTHER, None)),
    ],
)
def test_first_difference_is_first_stage_that_differs_or_is_missing(
    recorded: list[Step], replayed: list[Step], difference: object
) -> None:
    assert first_difference(recorded, replayed) == difference
