"""Asking the model: one correction, the time limit, budgets and pauses."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tests.worker.judge.samples import (
    ALWAYS_ASK,
    DIFF,
    DOCS_CHANGE,
    ScriptedModel,
    accept_answer,
    decision_of,
    dossier,
    evaluation_header,
    judge_context,
    judge_dossier,
    model_of,
    reject_answer,
    reply,
)
from worker.domain.ports import ModelReply, Prompt, StopReason
from worker.domain.verdict.budget import Cap, CapLevel
from worker.domain.verdict.verdict import JudgeKind, ModelOpinion, Tokens
from worker.errors import BudgetReached, Unavailable
from worker.judge.checks.evidence import Places
from worker.judge.escalation import Pause
from worker.judge.judge import fingerprint_of, judge, judge_with_record
from worker.judge.llm.model_judge import Consultation, consult_model, with_time_limit
from worker.judge.llm.reply import ReplyError, read_reply
from worker.judge.llm.reply_schema import RETRY_FACTOR, ReplyRequirements, reply_schema
from worker.judge.rubric import load_rubric

DOSSIER = dossier()
ASKED = ReplyRequirements(DOSSIER.criteria or (), load_rubric(), Places(DOSSIER))
PROMPT = Prompt("system", ("question",), reply_schema(), "sha256:1")
WRONG = accept_answer(category="weak_test")
OUTAGE = Unavailable("The model", "status 529 (overloaded_error)")
TRUNCATED, REFUSED = reply("{", stop=StopReason.TRUNCATED), reply("", stop=StopReason.REFUSED)
TOO_LONG = reply("", stop=StopReason.CONTEXT_EXCEEDED)


def read_answer(model_reply: ModelReply) -> ModelOpinion | ReplyError:
    return read_reply(model_reply, ASKED)


def consult(model: ScriptedModel, prompt: Prompt = PROMPT) -> Consultation:
    return consult_model(model, prompt, read_answer)


@pytest.mark.parametrize(
    ("answers", "result", "questions", "cost", "faults"),
    [
        ((accept_answer(),), ModelOpinion, 1, "0.001", [None]),
        ((WRONG, reject_answer()), ModelOpinion, 2, "0.002", ["contradiction", None]),
        ((WRONG, "I accept.", accept_answer()), ReplyError, 2, "0.002", ["contradiction", "not_json"]),
        ((reply(WRONG, cost_usd=None), accept_answer()), ModelOpinion, 2, None, ["contradiction", None]),
        ((WRONG, reply(accept_answer(), cost_usd=None)), ModelOpinion, 2, None, ["contradiction", None]),
        ((OUTAGE,), Unavailable, 1, "0", [None]),
        ((WRONG, OUTAGE), Unavailable, 2, "0.001", ["contradiction", None]),
        ((REFUSED, accept_answer()), ModelOpinion, 2, "0.002", ["refused", None]),
        ((TOO_LONG, accept_answer()), ReplyError, 1, "0.001", ["too_long"]),  # a correction would not fit either
    ],
)
def test_unusable_reply_is_corrected_once_and_every_reply_is_paid(
    answers: tuple[Any, ...], result: type, questions: int, cost: str | None, faults: list[str | None]
) -> None:
    model = model_of(*answers)
    consultation = consult(model)
    assert (type(consultation.outcome), len(model.prompts)) == (result, questions)
    assert consultation.costs.cost_usd == (None if cost is None else Decimal(cost))
    assert consultation.costs.replies == questions - (result is Unavailable)
    assert [exchange.fault for exchange in consultation.exchanges] == faults
    assert model.prompts[0] == PROMPT


def test_correction_names_the_error_and_tokens_are_summed() -> None:
    model = model_of(WRONG, reject_answer())
    result = consult(model)
    question, answer, correction = model.prompts[1].turns
    assert (question, answer) == ("question", reply(WRONG).text)
    assert '1. An accept has no category, found "weak_test": use null, or reject.' in correction
    assert (model.prompts[1].system, model.prompts[1].schema) == (PROMPT.system, PROMPT.schema)
    assert result.costs.tokens == Tokens(input=2_000, output=200, cache_read=20, cache_write=2)


@pytest.mark.parametrize(
    ("first", "reserved", "allowed"),
    [(TRUNCATED, 700, 700 * RETRY_FACTOR), (WRONG, 700, 700), (TRUNCATED, None, None)],
    ids=["cut off", "another fault", "nothing reserved"],
)
def test_truncated_answer_gets_more_reply_tokens(first: Any, reserved: int | None, allowed: int | None) -> None:
    model = model_of(first, accept_answer())
    assert isinstance(consult(model, replace(PROMPT, reply_tokens=reserved)).outcome, ModelOpinion)
    assert [prompt.reply_tokens for prompt in model.prompts] == [reserved, allowed]


def test_correction_quotes_empty_long_and_hidden_text_safely() -> None:
    silent, long = model_of(REFUSED, accept_answer()), model_of("x" * 100_000, accept_answer())
    hiding = model_of(accept_answer(concern="ok", evidence=[{"path": "a\u202e\nb.py", "line": 1}]), accept_answer())
    for model in (silent, long, hiding):
        consult(model)
    assert silent.prompts[1].turns[1] == "(no text)"
    assert len(long.prompts[1].turns[1]) < 17_000
    assert "a\\u202e b.py" in hiding.prompts[1].turns[2]


# --- the time limit -------------------------------------------------------------------------------


def test_model_is_asked_within_the_time_limit() -> None:
    model = model_of(accept_answer())
    timed = with_time_limit(judge_context(model), lambda: 0).model
    assert timed is not None
    assert (timed.name, timed.pricing_version) == (model.name, model.pricing_version)
    assert timed.ask(PROMPT).text
    assert model.prompts == [PROMPT]


def test_no_model_is_asked_after_the_time_limit() -> None:
    now = [1_000]
    first, second = model_of(accept_answer()), model_of(accept_answer())
    timed = with_time_limit(replace(judge_context(first), second_model=second, asking_ms=500), lambda: now[0])
    now[0] += 500
    for model in (timed.model, timed.second_model):
        assert model is not None
        with pytest.raises(Unavailable, match="took so long"):
            model.ask(PROMPT)
    assert (first.prompts, second.prompts) == ([], [])


def test_context_without_models_gets_no_time_limit() -> None:
    timed = with_time_limit(judge_context(), lambda: 0)
    assert (timed.model, timed.second_model) == (None, None)


# --- budgets --------------------------------------------------------------------------------------

CENT = Decimal("0.01")


def cap_reached(cap: Cap = Cap.PULL) -> BudgetReached:
    return BudgetReached(CapLevel(cap, 9 * CENT, 10 * CENT), 2 * CENT)


@pytest.mark.parametrize(
    ("cap", "reason"),
    [(Cap.PULL, "pr_cap"), (Cap.DAY, "daily_cap"), (Cap.SHARE, "daily_cap"), (Cap.AUTHOR, "daily_cap")],
)
def test_reached_cap_abstains_and_is_named(cap: Cap, reason: str) -> None:
    verdict = judge_dossier(model_of(cap_reached(cap)))
    assert (decision_of(verdict), verdict.throttled_reason) == ("abstain budget", reason)
    assert "$0.09 of $0.10" in verdict.concern
    assert verdict.escalation_reason.endswith("has no room for it")
    assert (verdict.judge_kind, verdict.judge_cost_usd, verdict.judge_model) == (JudgeKind.HEURISTIC, 0, None)
    assert (verdict.escalated, verdict.signals["escalation_skipped"]) == (False, "budget")


def test_cap_reached_on_correction_counts_first_reply() -> None:
    verdict = judge_dossier(model_of("prose", cap_reached()))
    assert (decision_of(verdict), verdict.escalated) == ("abstain budget", True)
    assert (verdict.judge_kind, verdict.judge_cost_usd) == (JudgeKind.HYBRID, Decimal("0.001"))


def test_question_stopped_by_cap_is_recorded() -> None:
    [exchange] = judge_with_record(
        dossier(), evaluation_header(), judge_context(model_of(cap_reached()))
    ).audit.exchanges
    assert exchange.reply is None
    assert exchange.over is not None
    assert exchange.over.cap == "pull"


@pytest.mark.parametrize(
    ("near", "signals"),
    [
        (CapLevel(Cap.DAY, Decimal("0.8"), Decimal(1)), ("daily_cap", "$0.80", "$1.00")),
        (CapLevel(Cap.SHARE, Decimal("0.4"), Decimal("0.5")), ("share", "$0.40", "$0.50")),
        (None, ()),
    ],
)
def test_nearly_reached_cap_is_recorded(near: CapLevel | None, signals: tuple[str, ...]) -> None:
    recorded = judge_dossier(model_of(reply(accept_answer(), near_cap=near))).signals
    names = ("budget_cap", "budget_used", "budget_limit")
    assert {name: recorded[name] for name in recorded if name.startswith("budget")} == dict(
        zip(names, signals, strict=False)
    )


# --- a pause --------------------------------------------------------------------------------------

STUB = (
    "diff --git a/a.py b/a.py\n--- /dev/null\n+++ b/a.py\n@@ -0,0 +1,2 @@\n+def a():\n+    raise NotImplementedError\n"
)


@pytest.mark.parametrize(
    "diff", [DIFF, STUB, DOCS_CHANGE["diff"], "", "no diff at all"], ids=["code", "stub", "docs", "empty", "torn"]
)
@pytest.mark.parametrize("pause", Pause)
def test_paused_judging_abstains_without_looking(diff: str, pause: Pause) -> None:
    model = model_of()
    verdict = judge(dossier(diff=diff), evaluation_header(), replace(judge_context(model, ALWAYS_ASK), pause=pause))
    assert (decision_of(verdict), model.prompts) == ("abstain paused", [])
    assert (verdict.judge_kind, verdict.findings, verdict.coverage.read) == (JudgeKind.HEURISTIC, (), ())


def test_pause_changes_the_fingerprint() -> None:
    stopped = replace(judge_context(), pause=Pause.OPERATOR)
    assert fingerprint_of(dossier(), stopped) != fingerprint_of(dossier(), judge_context())
