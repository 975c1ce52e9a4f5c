"""Asking models: one correction, time limit, budgets and pauses; second opinions and panels, and how opinions combine."""

import json
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
    cannot_tell_answer,
    criteria,
    decision_of,
    dossier,
    evaluation_header,
    evidence_at,
    judge_context,
    judge_dossier,
    model_of,
    new_file,
    reject_answer,
    reply,
)
from worker.domain.dossier import Dossier, HeadFile, Policy
from worker.domain.ports import ModelReply, Prompt, StopReason
from worker.domain.verdict.audit import EvaluatedVerdict, Stage, dump_audit, read_audit
from worker.domain.verdict.budget import Cap, CapLevel, TokenBudget
from worker.domain.verdict.verdict import VERDICT_ADAPTER, Category, JudgeKind, Lens, ModelOpinion, Tokens, Verdict
from worker.errors import BudgetReached, Unavailable
from worker.judge.checks.evidence import Places
from worker.judge.context import JudgeContext, Pause
from worker.judge.fingerprint import fingerprint_of
from worker.judge.judge import judge, judge_with_record
from worker.judge.llm.opinions import Consultation, consult_model, with_time_limit
from worker.judge.llm.reply import RETRY_FACTOR, ReplyError, ReplyRequirements, read_reply, reply_schema
from worker.judge.replay import replay
from worker.judge.rubric import load_prompt, load_rubric

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


OVER = BudgetReached(CapLevel(Cap.DAY, Decimal("0.99"), Decimal("1.00")), Decimal("0.02"))
CONTESTED = dossier(contest="The test is in another repository.")


def strong(*answers: Any) -> ScriptedModel:
    model = model_of(*answers)
    model.name, model.pricing_version = "claude-opus-5-5", "2026-11"
    return model


def judge_with(model: ScriptedModel, judged: Dossier | None = None, **changes: Any) -> EvaluatedVerdict:
    return judge_with_record(judged or dossier(), evaluation_header(), replace(judge_context(model), **changes))


def judge_with_second(first: Any, second: ScriptedModel | None, judged: Dossier | None = None) -> EvaluatedVerdict:
    return judge_with(model_of(first), judged, second_model=second)


def judge_panel(*answers: Any, **changes: Any) -> EvaluatedVerdict:
    return judge_with(model_of(*answers), is_panel=True, **changes)


# --- when a second opinion is requested -----------------------------------------------------------


def test_second_opinion_and_panel_are_off_by_default() -> None:
    made = judge_with_second(reject_answer(), None)
    assert (made.verdict.decision, made.opinions) == ("reject", ())
    assert "opinions" not in made.verdict.signals


@pytest.mark.parametrize("answer", [accept_answer(), cannot_tell_answer(), OUTAGE], ids=["accept", "cannot tell", "outage"])  # fmt: skip
def test_only_a_reject_gets_a_second_opinion(answer: Any) -> None:
    stronger = strong()
    assert (judge_with_second(answer, stronger).opinions, stronger.prompts) == ((), [])


def test_reject_on_a_fact_gets_no_second_opinion() -> None:
    files = (HeadFile(path="upload.py", text="def send(data):\n    raise NotImplementedError\n"),)
    stub = dossier(diff=new_file("upload.py", "def send(data):", "    raise NotImplementedError"), files=files)
    stronger, answer = strong(), cannot_tell_answer(criteria=criteria("unverifiable", "unverifiable"))
    made = judge_with(model_of(answer), stub, threshold=ALWAYS_ASK, second_model=stronger, is_panel=True)
    assert (made.verdict.decision, made.opinions, stronger.prompts) == ("reject", (), [])


@pytest.mark.parametrize("answer", [accept_answer(), cannot_tell_answer(), reject_answer()], ids=["accept", "cannot tell", "reject"])  # fmt: skip
def test_contested_verdict_gets_second_opinion_with_fenced_reason(answer: Any) -> None:
    stronger = strong(accept_answer())
    made = judge_with_second(answer, stronger, CONTESTED)
    assert len(made.opinions) == 2
    turn = stronger.prompts[0].turns[0]
    fence = turn.partition("MARK is `")[2].partition("`")[0]
    assert f"[[{fence} begin: reason]]\nThe test is in another repository." in turn
    ending = "then claude-opus-5-5 for a second opinion: the verdict is contested"
    assert made.verdict.escalation_reason.endswith(ending)


# --- two opinions ---------------------------------------------------------------------------------


def test_each_model_gets_a_prompt_of_its_own_token_budget() -> None:
    lines = [f"value_{line} = {line}" for line in range(60)]
    large = "".join(new_file(f"part{number}.py", *lines) for number in range(15))
    judged = dossier(diff=large, files=None, contest="It is in another repository.")
    evidence = [evidence_at("part0.py", 1, quote="value_0 = 0")]
    answer = reject_answer(
        evidence=evidence, criteria=criteria("missing", "missing"), what_works="All.", what_does_not="None."
    )
    answer["concern"] = "`value_0` is no upload."
    first, second = model_of(answer), strong(answer)
    context = replace(
        judge_context(first),
        second_model=second,
        token_budget=TokenBudget(60_000),
        token_budgets={"claude-opus-5-5": TokenBudget(30_000)},
    )
    made = judge_with_record(judged, evaluation_header(), context)
    sizes = [len(model.prompts[0].turns[0].encode()) for model in (first, second)]
    assert sizes[1] < 10_000 < sizes[0]
    assert [opinion.audit.law.question_bytes for opinion in made.opinions] == [60_000, 30_000]
    assert (made.audit.law.question_bytes, made.audit.law.second_bytes) == (60_000, 30_000)
    stored = read_audit(dump_audit(made.audit))
    assert replay(made.verdict, stored, judged, load_rubric(), load_prompt()).differing == ()
    chosen = replace(context, choices={"claude-opus-5-5": second}).with_chosen_model(Policy(model="claude-opus-5-5"))
    assert chosen.token_budget == TokenBudget(30_000)


@pytest.mark.parametrize(
    ("first", "second", "expected", "confidence", "agree"),
    [
        (reject_answer(confidence=0.6), reject_answer(concern="Nothing shows it.", confidence=0.9), "reject weak_test", 0.9, True),
        (reject_answer(confidence=0.9), reject_answer(category="half_finished", confidence=0.8), "reject half_finished", 0.8, False),
        (reject_answer(), accept_answer(), "abstain needs_human", 0.4, False),
        # a cannot_tell halves the confidence of the other
        (reject_answer(), cannot_tell_answer(), "reject weak_test", 0.4, False),
        (cannot_tell_answer(), reject_answer(), "reject weak_test", 0.4, False),
        (accept_answer(), cannot_tell_answer(), "accept", 0.45, False),
        (cannot_tell_answer(), accept_answer(), "accept", 0.45, False),
        (cannot_tell_answer(), cannot_tell_answer(), "abstain needs_human", 0.3, True),
    ],
)  # fmt: skip
def test_two_opinions_are_combined(first: Any, second: Any, expected: str, confidence: float, *, agree: bool) -> None:
    verdict = judge_with_second(first, strong(second), CONTESTED).verdict
    assert (decision_of(verdict), verdict.confidence) == (expected, confidence)
    assert verdict.signals["opinions_agree"] is agree
    if expected == "reject weak_test" and agree:
        assert verdict.concern == "Nothing shows it.", "the second opinion words it"


def test_opposite_opinions_are_quoted_and_recorded() -> None:
    verdict = judge_with_second(reject_answer(), strong(accept_answer())).verdict
    assert verdict.concern == (
        "The opinions on this change differ. First says reject: The test proves nothing of what is made when send is busy. Second says accept: It retries."
    )
    assert verdict.signals["opinions"] == (
        "first (claude-haiku-5-5): reject, weak_test, 0.80; second (claude-opus-5-5): accept, 0.90"
    )


@pytest.mark.parametrize("failure", [OUTAGE, OVER, "prose"], ids=["outage", "budget", "unusable"])
def test_failed_second_opinion_is_recorded_and_changes_nothing(failure: Any) -> None:
    made = judge_with_second(reject_answer(), strong(failure, "prose"))
    assert (made.verdict.decision, made.verdict.confidence) == ("reject", 0.8)
    assert made.verdict.throttled_reason is None
    assert "second (claude-opus-5-5): no answer" in str(made.verdict.signals["opinions"])
    assert next(step for step in made.audit.steps if step.stage is Stage.OPINIONS).outcome == "one alone was had"


SAFE = dossier(**DOCS_CHANGE)
DOCS_LINE = evidence_at("docs/busy.md", 3, quote="The server is busy at noon.")
DOCS_OBJECTION = {**DOCS_LINE, "note": "wrong hour"}
MISSED = reject_answer(
    criteria=[{"id": "AC1", "status": "partial", "evidence": [DOCS_OBJECTION]}],
    evidence=[DOCS_OBJECTION],
    category="acceptance_gap",
)
DOCS_ACCEPT = accept_answer(criteria=criteria("met", evidence=[DOCS_LINE]))


def test_accept_by_code_at_a_cap_is_no_second_opinion() -> None:
    made = judge_with(model_of(MISSED), SAFE, threshold=ALWAYS_ASK, second_model=strong(OVER))
    assert decision_of(made.verdict) == "reject acceptance_gap"
    assert "second (claude-opus-5-5): no answer" in str(made.verdict.signals["opinions"])


@pytest.mark.parametrize(
    ("answers", "decision"),
    [
        ((DOCS_ACCEPT, OVER, DOCS_ACCEPT), "accept"),
        ((OVER, OVER, OVER), "accept"),
        ((DOCS_ACCEPT, OVER, MISSED), "abstain"),
        ((OUTAGE, OVER, DOCS_ACCEPT), "abstain"),
    ],
)
def test_accept_by_code_at_a_cap_is_no_panel_opinion(answers: tuple[Any, ...], decision: str) -> None:
    verdict = judge_panel(*answers, judged=SAFE, threshold=ALWAYS_ASK).verdict
    assert verdict.decision == decision
    assert "tests (claude-haiku-5-5): no answer" in str(verdict.signals["opinions"])
    assert (verdict.throttled_reason is not None) is (decision == "accept")


# --- records --------------------------------------------------------------------------------------


def test_opinions_are_children_with_own_model_and_cost() -> None:
    made = judge_with_second(reject_answer(), strong(reply(accept_answer(), cost_usd=Decimal("0.04"))))
    first, second = (opinion.verdict for opinion in made.opinions)
    assert {first.parent_eval_id, second.parent_eval_id} == {made.verdict.eval_id}
    assert len({made.verdict.eval_id, first.eval_id, second.eval_id}) == 3
    assert [(verdict.decision, verdict.judge_model, verdict.judge_cost_usd) for verdict in (first, second)] == [
        ("reject", "claude-haiku-5-5", Decimal("0.001")),
        ("accept", "claude-opus-5-5", Decimal("0.04")),
    ]
    assert [verdict.signals["opinion_of"] for verdict in (first, second)] == ["first", "second"]
    assert made.verdict.judge_model == "claude-haiku-5-5, claude-opus-5-5"
    assert made.verdict.judge_cost_usd == Decimal("0.041")
    assert made.verdict.tokens == first.tokens + second.tokens
    assert [len(verdict.audit.exchanges) for verdict in (made, *made.opinions)] == [2, 1, 1]
    assert [exchange.model for exchange in made.audit.exchanges] == ["claude-haiku-5-5", "claude-opus-5-5"]
    assert (made.audit.law.model, made.audit.law.second) == ("claude-haiku-5-5", "claude-opus-5-5")
    assert "second opinion of claude-opus-5-5" in made.audit.steps[0].reason


def test_unknown_price_of_one_opinion_makes_the_sum_unknown() -> None:
    made = judge_with_second(reject_answer(), strong(reply(accept_answer(), cost_usd=None)))
    assert made.verdict.judge_cost_usd is None


@pytest.mark.parametrize(
    ("answers", "second"),
    [
        ((reject_answer(),), (accept_answer(),)),
        ((reject_answer(),), (reject_answer(),)),
        ((WRONG, reject_answer()), (WRONG, cannot_tell_answer())),
        ((reject_answer(),), (OUTAGE,)),
        ((reject_answer(),), (OVER,)),
        ((reject_answer(),), ("a", "b")),
        ((accept_answer(),), ()),
        ((accept_answer(), accept_answer(), accept_answer()), None),
        ((reject_answer(), accept_answer(), accept_answer()), None),
        ((WRONG, accept_answer(), OUTAGE, cannot_tell_answer()), None),
    ],
)
def test_replay_of_several_opinions_gives_same_decision(
    answers: tuple[Any, ...], second: tuple[Any, ...] | None
) -> None:
    made = judge_panel(*answers) if second is None else judge_with(model_of(*answers), second_model=strong(*second))
    audit = read_audit(json.loads(json.dumps(dump_audit(made.audit))))
    verdict = VERDICT_ADAPTER.validate_json(VERDICT_ADAPTER.dump_json(made.verdict))
    replayed = replay(verdict, audit, dossier(), load_rubric(), load_prompt())
    assert (replayed.is_same, replayed.first_difference) == (True, None)


def test_audit_record_without_panel_fields_is_read() -> None:
    fields: Any = dump_audit(judge_with_second(accept_answer(), None).audit)
    for name in ("second", "second_pricing_version", "board"):
        del fields["law"][name]
    for field in fields["exchanges"]:
        del field["model"]
    read = read_audit(fields)
    assert (read.law.second, read.law.board, read.exchanges[0].model) == (None, False, None)


# --- the panel ------------------------------------------------------------------------------------


def test_panel_asks_same_question_through_three_lenses() -> None:
    model = model_of(accept_answer(confidence=0.9), accept_answer(confidence=0.7), accept_answer(confidence=0.8))
    made = judge_with(model, is_panel=True)
    assert (made.verdict.decision, made.verdict.confidence) == ("accept", 0.7)
    same = {prompt.turns[0].rpartition("\n\n")[0] for prompt in model.prompts}
    assert len(same) == 1, "all but the last sentence can be cached"
    last = [prompt.turns[0].rpartition("\n\n")[2] for prompt in model.prompts]
    assert ["tests turn red" in text for text in last] == [False, True, False]
    assert len({prompt.system for prompt in model.prompts}) == 1
    assert [opinion.verdict.signals["opinion_of"] for opinion in made.opinions] == ["correctness", "tests", "scope"]
    assert made.verdict.judge_cost_usd == Decimal("0.003")
    assert made.verdict.escalation_reason.endswith("; through three lenses")


LENIENT = reject_answer(confidence=0.7)
UNSURE = cannot_tell_answer()


@pytest.mark.parametrize(
    ("answers", "decision", "confidence", "agree", "concern"),
    [
        ((accept_answer(), reject_answer(), accept_answer()), "reject", 0.8 / 3, False, "The test proves nothing"),  # weak_test belongs to the lens of tests
        ((reject_answer(), accept_answer(), accept_answer()), "needs_human", 0.8, False, "Correctness says reject: The test proves nothing"),
        ((reject_answer(), accept_answer(), reject_answer()), "reject", 1.6 / 3, False, "The test proves nothing"),
        ((reject_answer(), LENIENT, reject_answer()), "reject", 0.7, True, "The test proves nothing"),  # the lens of tests words it
        ((accept_answer(), UNSURE, accept_answer()), "needs_human", 0.3, False, "Tests says cannot tell: The server's side is not"),
        ((UNSURE, UNSURE, UNSURE), "needs_human", 0.3, True, "The server's side is not shown."),
        ((accept_answer(), OUTAGE, accept_answer()), "judge_unavailable", 0.5, False, "The model could not be asked"),
        ((accept_answer(), OVER, accept_answer()), "budget", 0.5, False, "The model was not asked"),
        ((OUTAGE, reject_answer(), accept_answer()), "reject", 0.8 / 3, False, "The test proves nothing"),
        ((OVER, reject_answer(), accept_answer()), "reject", 0.8 / 3, False, "The test proves nothing"),
    ],
    ids=["own lens", "other lens", "two", "all", "one unsure", "all unsure", "outage", "cap", "outage and reject", "cap and reject"],
)  # fmt: skip
def test_panel_opinions_are_combined(
    answers: tuple[Any, ...], decision: str, confidence: float, concern: str, *, agree: bool
) -> None:
    verdict = judge_panel(*answers).verdict
    assert (verdict.abstain_reason or verdict.decision) == decision
    assert (verdict.confidence, verdict.signals["opinions_agree"]) == (pytest.approx(confidence), agree)
    assert concern in verdict.concern


def test_rubric_lenses_replace_the_default_ones() -> None:
    lenses = (
        Lens(id="safety", focus="Look at safety alone.", categories=(Category.WEAK_TEST,)),
        Lens(id="style", focus="Look at style alone.", categories=(Category.SCOPE_CREEP,)),
    )
    model = model_of(reject_answer(), accept_answer())
    made = judge_with(model, is_panel=True, rubric=load_rubric().model_copy(update={"lenses": lenses}))
    assert made.verdict.decision == "reject", "weak_test belongs to the first lens"
    assert [prompt.turns[0].rpartition("\n\n")[2] for prompt in model.prompts] == [lens.focus for lens in lenses]
    assert made.verdict.escalation_reason.endswith("; through two lenses")
    assert ", a board of two" in made.audit.steps[0].reason


def test_second_opinion_may_follow_a_panel() -> None:
    made = judge_panel(accept_answer(), reject_answer(), accept_answer(), second_model=strong(accept_answer()))
    assert decision_of(made.verdict) == "abstain needs_human"
    names = [opinion.verdict.signals["opinion_of"] for opinion in made.opinions]
    assert names == ["correctness", "tests", "scope", "second"]
    assert len(made.audit.exchanges) == 4


# --- the model chosen by a repository -------------------------------------------------------------


def choice_of(name: str | None, first: ScriptedModel | None, stronger: ScriptedModel) -> tuple[JudgeContext, Dossier]:
    return replace(judge_context(first), choices={stronger.name: stronger}), dossier(policy=Policy(model=name))


def judge_with_choice(name: str | None, first: ScriptedModel | None, *answers: Any) -> Verdict:
    context, judged = choice_of(name, first, strong(*answers))
    return judge(judged, evaluation_header(), context)


def test_repository_chooses_among_allowed_models() -> None:
    verdict = judge_with_choice("claude-opus-5-5", model_of(), accept_answer())
    assert (verdict.judge_model, verdict.decision) == ("claude-opus-5-5", "accept")
    assert "model_not_allowed" not in verdict.signals


@pytest.mark.parametrize("name", ["claude-unknown", None, "claude-haiku-5-5"])
def test_unknown_choice_keeps_the_operators_model(name: str | None) -> None:
    verdict = judge_with_choice(name, model_of(accept_answer()))
    assert verdict.judge_model == "claude-haiku-5-5"
    assert verdict.signals.get("model_not_allowed") == (name if name == "claude-unknown" else None)


def test_choice_is_ignored_when_no_model_may_be_asked() -> None:
    verdict = judge_with_choice("claude-opus-5-5", None)
    assert (decision_of(verdict), verdict.judge_model) == ("abstain unproven", None)


def test_judges_are_part_of_the_content() -> None:
    plain, of = choice_of("claude-opus-5-5", model_of(), strong())
    others = [
        fingerprint_of(of, plain),
        fingerprint_of(of, judge_context(model_of())),
        fingerprint_of(of, replace(judge_context(model_of()), is_panel=True)),
        fingerprint_of(of, replace(judge_context(model_of()), pause=Pause.OPERATOR)),
        fingerprint_of(of, replace(judge_context(model_of()), second_model=strong())),
    ]
    assert len(set(others)) == 5
