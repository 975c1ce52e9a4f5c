"""A second opinion and a panel: which models are asked when, what they rule together, and what is recorded of each."""

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tests.worker.judge.making import (
    DOCUMENTED,
    ScriptedModel,
    accept,
    bench,
    cannot_tell,
    criteria,
    docket,
    dossier,
    model_of,
    new_file,
    reject,
    reply,
)
from worker.domain.dossier import Dossier, HeadFile, Policy
from worker.domain.verdict.audit import EvaluatedVerdict, Stage, dump_audit, read_audit
from worker.domain.verdict.budget import Cap, CapLevel, TokenBudget
from worker.domain.verdict.rubric import Lens
from worker.domain.verdict.verdict import VERDICT_ADAPTER, AbstainReason, Category
from worker.errors import BudgetReached, Unavailable
from worker.judge.context import JudgeContext
from worker.judge.judge import fingerprint_of, judge_with_record
from worker.judge.replay import replay
from worker.judge.rubric import load_prompt, load_rubric

OUTAGE = Unavailable("The model", "status 529")
OVER = BudgetReached(CapLevel(Cap.DAY, Decimal("0.99"), Decimal("1.00")), Decimal("0.02"))
CONTESTED = dossier(contest="The test is in another repository.")


def strong(*answers: Any) -> ScriptedModel:
    model = model_of(*answers)
    model.name, model.pricing_version = "claude-opus-5-5", "2026-11"
    return model


def two(first: Any, second: ScriptedModel | None, of: Dossier | None = None) -> EvaluatedVerdict:
    return judge_with_record(of or dossier(), docket(), replace(bench(model_of(first)), second_model=second))


def board(
    *answers: Any, of: Dossier | None = None, second: ScriptedModel | None = None
) -> tuple[EvaluatedVerdict, ScriptedModel]:
    model = model_of(*answers)
    return judge_with_record(
        of or dossier(), docket(), replace(bench(model), is_panel=True, second_model=second)
    ), model


# --- when a second opinion is asked for -----------------------------------------------------------


def test_both_are_off_by_default() -> None:
    heard = two(reject(), None)
    assert (heard.verdict.decision, heard.opinions) == ("reject", ())
    assert "opinions" not in heard.verdict.signals


@pytest.mark.parametrize("answer", [accept(), cannot_tell(), OUTAGE], ids=["accept", "cannot tell", "outage"])
def test_only_a_reject_is_looked_at_twice(answer: Any) -> None:
    stronger = strong()
    assert two(answer, stronger).opinions == ()
    assert not stronger.asked


def test_a_reject_on_a_fact_is_not_looked_at_twice() -> None:
    stub = new_file("upload.py", "def send(data):", "    raise NotImplementedError")
    files = (HeadFile(path="upload.py", text="def send(data):\n    raise NotImplementedError\n"),)
    stronger = strong()
    answer = cannot_tell(criteria=criteria("unverifiable", "unverifiable"))
    asked = replace(bench(model_of(answer), 2.0), second_model=stronger, is_panel=True)
    heard = judge_with_record(dossier(diff=stub, files=files), docket(), asked)
    assert (heard.verdict.decision, heard.opinions, stronger.asked) == ("reject", (), [])


@pytest.mark.parametrize("answer", [accept(), cannot_tell(), reject()], ids=["accept", "cannot tell", "reject"])
def test_a_contested_verdict_is_looked_at_twice_and_its_reason_is_data(answer: Any) -> None:
    stronger = strong(accept())
    heard = two(answer, stronger, CONTESTED)
    assert len(heard.opinions) == 2
    turn = stronger.asked[0].turns[0]
    fence = turn.partition("MARK is `")[2].partition("`")[0]
    assert f"[[{fence} begin: reason]]\nThe test is in another repository." in turn
    assert heard.verdict.escalation_reason.endswith(
        "then claude-opus-5-5 for a second opinion: the verdict is contested"
    )


# --- what two rule together -----------------------------------------------------------------------


def test_each_model_is_shown_what_its_own_tokens_allow_and_the_record_says_so() -> None:
    large = "".join(
        new_file(f"part{number}.py", *[f"value_{line} = {line}" for line in range(120)]) for number in range(30)
    )
    of = dossier(diff=large, files=None, contest="It is in another repository.")
    at = [{"path": "part0.py", "line": 1, "end_line": None, "side": "head", "quote": "value_0 = 0", "note": "here"}]
    answer = reject(evidence=at, criteria=criteria("missing", "missing"), what_works="All.", what_does_not="None.")
    answer["concern"] = "`value_0` is no upload."
    first, second = model_of(answer), strong(answer)
    seated = replace(
        bench(first),
        second_model=second,
        token_budget=TokenBudget(100_000),
        token_budgets={"claude-opus-5-5": TokenBudget(30_000)},
    )
    heard = judge_with_record(of, docket(), seated)
    sizes = [len(model.asked[0].turns[0].encode()) for model in (first, second)]
    assert sizes[1] < 30_000 < sizes[0]
    assert [opinion.audit.law.question_bytes for opinion in heard.opinions] == [100_000, 30_000]
    assert (heard.audit.law.question_bytes, heard.audit.law.second_bytes) == (100_000, 30_000)
    kept = read_audit(dump_audit(heard.audit))
    assert replay(heard.verdict, kept, of, load_rubric(), load_prompt()).differing == ()
    chosen = replace(seated, choices={"claude-opus-5-5": second}).with_chosen_model(Policy(model="claude-opus-5-5"))
    assert chosen.token_budget == TokenBudget(30_000)


def test_two_rejects_for_the_same_reason_reject_in_the_words_of_the_second() -> None:
    heard = two(reject(confidence=0.6), strong(reject(concern="Nothing shows it.", confidence=0.9)))
    assert (heard.verdict.decision, heard.verdict.concern) == ("reject", "Nothing shows it.")
    assert (heard.verdict.confidence, heard.verdict.signals["opinions_agree"]) == (0.9, True)


def test_two_rejects_for_different_reasons_are_less_sure() -> None:
    heard = two(reject(confidence=0.9), strong(reject(category="half_finished", confidence=0.8)))
    assert (heard.verdict.category, heard.verdict.confidence) == (Category.HALF_FINISHED, 0.8)
    assert heard.verdict.signals["opinions_agree"] is False


def test_opposite_opinions_are_a_persons_to_decide() -> None:
    heard = two(reject(), strong(accept()))
    assert heard.verdict.abstain_reason is AbstainReason.NEEDS_HUMAN
    assert heard.verdict.concern == (
        "The opinions on this change differ. First says reject: The test proves nothing of what is made when send is busy. Second says accept: It retries."
    )
    assert heard.verdict.confidence == 0.4
    assert heard.verdict.signals["opinions"] == (
        "first (claude-haiku-5-5): reject, weak_test, 0.80; second (claude-opus-5-5): accept, 0.90"
    )


@pytest.mark.parametrize(("first", "second", "decision", "confidence"), [
    (reject(), cannot_tell(), "reject", 0.4),
    (cannot_tell(), reject(), "reject", 0.4),
    (accept(), cannot_tell(), "accept", 0.45),
    (cannot_tell(), accept(), "accept", 0.45),
    (cannot_tell(), cannot_tell(), "abstain", 0.3),
])  # fmt: skip
def test_one_that_can_not_tell_leaves_the_other_half_as_sure(
    first: Any, second: Any, decision: str, confidence: float
) -> None:
    heard = two(first, strong(second), CONTESTED)
    assert (heard.verdict.decision, heard.verdict.confidence) == (decision, confidence)


@pytest.mark.parametrize("failure", [OUTAGE, OVER, "prose"], ids=["outage", "budget", "unusable"])
def test_a_second_opinion_that_could_not_be_had_changes_nothing_and_is_told(failure: Any) -> None:
    heard = two(reject(), strong(failure, "prose"))
    assert (heard.verdict.decision, heard.verdict.confidence) == ("reject", 0.8)
    assert heard.verdict.throttled_reason is None
    assert "second (claude-opus-5-5): no answer" in str(heard.verdict.signals["opinions"])
    assert next(step for step in heard.audit.steps if step.stage is Stage.OPINIONS).outcome == "one alone was had"


SAFE = dossier(**DOCUMENTED)
IN_DOCS = {"path": "docs/busy.md", "line": 3, "end_line": None, "side": "head", "quote": "The server is busy at noon."}
MISPLACED = {**IN_DOCS, "note": "wrong hour"}
MISSED = reject(
    criteria=[{"id": "AC1", "status": "partial", "evidence": [MISPLACED]}],
    evidence=[MISPLACED],
    category="acceptance_gap",
)
PRAISED = accept(criteria=criteria("met", at=[{**IN_DOCS, "note": "here"}]))


def always(heard_by: JudgeContext) -> EvaluatedVerdict:
    return judge_with_record(SAFE, docket(), replace(heard_by, threshold=2.0))


def test_what_code_accepts_at_a_cap_is_no_second_opinion() -> None:
    heard = always(replace(bench(model_of(MISSED)), second_model=strong(OVER)))
    assert (heard.verdict.decision, heard.verdict.category) == ("reject", Category.ACCEPTANCE_GAP)
    assert "second (claude-opus-5-5): no answer" in str(heard.verdict.signals["opinions"])


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        ((PRAISED, OVER, PRAISED), "accept"),
        ((OVER, OVER, OVER), "accept"),
        ((PRAISED, OVER, MISSED), "abstain"),
        ((OUTAGE, OVER, PRAISED), "abstain"),
    ],
)
def test_what_code_accepts_at_a_cap_is_no_lens_of_a_board(answer: tuple[Any, ...], decision: str) -> None:
    heard = always(replace(bench(model_of(*answer)), is_panel=True))
    assert heard.verdict.decision == decision
    assert "tests (claude-haiku-5-5): no answer" in str(heard.verdict.signals["opinions"])
    assert (heard.verdict.throttled_reason is not None) is (decision == "accept")


# --- what is on record ----------------------------------------------------------------------------


def test_each_opinion_is_the_child_of_the_verdict_with_its_own_model_and_price() -> None:
    heard = two(reject(), strong(reply(accept(), cost_usd=Decimal("0.04"))))
    first, second = (opinion.verdict for opinion in heard.opinions)
    assert {first.parent_eval_id, second.parent_eval_id} == {heard.verdict.eval_id}
    assert len({heard.verdict.eval_id, first.eval_id, second.eval_id}) == 3
    assert [(verdict.decision, verdict.judge_model, verdict.judge_cost_usd) for verdict in (first, second)] == [
        ("reject", "claude-haiku-5-5", Decimal("0.001")),
        ("accept", "claude-opus-5-5", Decimal("0.04")),
    ]
    assert [verdict.signals["opinion_of"] for verdict in (first, second)] == ["first", "second"]
    assert heard.verdict.judge_model == "claude-haiku-5-5, claude-opus-5-5"
    assert heard.verdict.judge_cost_usd == Decimal("0.041")
    assert heard.verdict.tokens == first.tokens + second.tokens
    assert [len(verdict.audit.exchanges) for verdict in (heard, *heard.opinions)] == [2, 1, 1]
    assert [exchange.model for exchange in heard.audit.exchanges] == ["claude-haiku-5-5", "claude-opus-5-5"]
    assert (heard.audit.law.model, heard.audit.law.second) == ("claude-haiku-5-5", "claude-opus-5-5")
    assert "second opinion of claude-opus-5-5" in heard.audit.steps[0].reason


def test_an_unknown_price_of_one_makes_the_sum_unknown() -> None:
    assert two(reject(), strong(reply(accept(), cost_usd=None))).verdict.judge_cost_usd is None


WRONG = accept(category="weak_test")


@pytest.mark.parametrize("script", [
    ((reject(),), (accept(),)),
    ((reject(),), (reject(),)),
    ((WRONG, reject()), (WRONG, cannot_tell())),
    ((reject(),), (OUTAGE,)),
    ((reject(),), (OVER,)),
    ((reject(),), ("a", "b")),
    ((accept(),), ()),
])  # fmt: skip
def test_a_replay_with_two_seats_gives_the_same_decision(script: tuple[tuple[Any, ...], tuple[Any, ...]]) -> None:
    first, second = script
    made = judge_with_record(dossier(), docket(), replace(bench(model_of(*first)), second_model=strong(*second)))
    assert again(made) == (True, None)


@pytest.mark.parametrize("answer", [
    (accept(), accept(), accept()),
    (reject(), accept(), accept()),
    (WRONG, accept(), OUTAGE, cannot_tell()),
])  # fmt: skip
def test_a_replay_of_a_board_gives_the_same_decision(answer: tuple[Any, ...]) -> None:
    assert again(board(*answer)[0]) == (True, None)


def again(made: EvaluatedVerdict) -> tuple[bool, object]:
    audit = read_audit(json.loads(json.dumps(dump_audit(made.audit))))
    verdict = VERDICT_ADAPTER.validate_json(VERDICT_ADAPTER.dump_json(made.verdict))
    replayed = replay(verdict, audit, dossier(), load_rubric(), load_prompt())
    return replayed.is_same, replayed.first_difference


def test_a_record_of_before_there_were_seats_is_read() -> None:
    fields: Any = dump_audit(two(accept(), None).audit)
    for name in ("second", "second_pricing_version", "board"):
        del fields["law"][name]
    for field in fields["exchanges"]:
        del field["model"]
    read = read_audit(fields)
    assert (read.law.second, read.law.board, read.exchanges[0].model) == (None, False, None)


# --- the board ------------------------------------------------------------------------------------


def test_a_board_asks_the_same_question_through_three_lenses() -> None:
    heard, model = board(accept(confidence=0.9), accept(confidence=0.7), accept(confidence=0.8))
    assert (heard.verdict.decision, heard.verdict.confidence) == ("accept", 0.7)
    same = {prompt.turns[0].rpartition("\n\n")[0] for prompt in model.asked}
    assert len(same) == 1, "all but the last sentence is cached"
    last = [prompt.turns[0].rpartition("\n\n")[2] for prompt in model.asked]
    assert ["tests turn red" in text for text in last] == [False, True, False]
    assert len({prompt.system for prompt in model.asked}) == 1
    assert [opinion.verdict.signals["opinion_of"] for opinion in heard.opinions] == ["correctness", "tests", "scope"]
    assert heard.verdict.judge_cost_usd == Decimal("0.003")
    assert heard.verdict.escalation_reason.endswith("; through three lenses")


LENIENT = reject(confidence=0.7)
UNSURE = cannot_tell()


@pytest.mark.parametrize(
    ("answers", "decision", "confidence", "agree", "concern"),
    [
        ((accept(), reject(), accept()), "reject", 0.8 / 3, False, "The test proves nothing"),  # weak_test is of its lens
        ((reject(), accept(), accept()), "needs_human", 0.8, False, "Correctness says reject: The test proves nothing"),
        ((reject(), accept(), reject()), "reject", 1.6 / 3, False, "The test proves nothing"),
        ((reject(), LENIENT, reject()), "reject", 0.7, True, "The test proves nothing"),  # the lens of tests speaks
        ((accept(), UNSURE, accept()), "needs_human", 0.3, False, "Tests says cannot tell: The server's side is not"),
        ((UNSURE, UNSURE, UNSURE), "needs_human", 0.3, True, "The server's side is not shown."),
        ((accept(), OUTAGE, accept()), "judge_unavailable", 0.5, False, "The model could not be asked"),
        ((accept(), OVER, accept()), "budget", 0.5, False, "The model was not asked"),
        ((OUTAGE, reject(), accept()), "reject", 0.8 / 3, False, "The test proves nothing"),
        ((OVER, reject(), accept()), "reject", 0.8 / 3, False, "The test proves nothing"),
    ],
    ids=["own lens", "other lens", "two", "all", "one unsure", "all unsure", "outage", "cap", "outage and reject", "cap and reject"],
)  # fmt: skip
def test_a_board_rules_by_its_lenses(
    answers: tuple[Any, ...], decision: str, confidence: float, concern: str, *, agree: bool
) -> None:
    verdict = board(*answers)[0].verdict
    assert (verdict.abstain_reason or verdict.decision) == decision
    assert (verdict.confidence, verdict.signals["opinions_agree"]) == (pytest.approx(confidence), agree)
    assert concern in verdict.concern


def test_a_rubric_names_lenses_of_its_own() -> None:
    lenses = (
        Lens(id="safety", focus="Look at safety alone.", categories=(Category.WEAK_TEST,)),
        Lens(id="style", focus="Look at style alone.", categories=(Category.SCOPE_CREEP,)),
    )
    model = model_of(reject(), accept())
    asked = replace(bench(model), is_panel=True)
    own = replace(asked, rubric=asked.rubric.model_copy(update={"lenses": lenses}))
    heard = judge_with_record(dossier(), docket(), own)
    assert heard.verdict.decision == "reject", "weak_test is of the first one"
    assert [prompt.turns[0].rpartition("\n\n")[2] for prompt in model.asked] == [lens.focus for lens in lenses]
    assert heard.verdict.escalation_reason.endswith("; through two lenses")
    assert ", a board of two" in heard.audit.steps[0].reason


def test_a_second_opinion_may_follow_a_board() -> None:
    heard, _ = board(accept(), reject(), accept(), second=strong(accept()))
    assert heard.verdict.abstain_reason is AbstainReason.NEEDS_HUMAN
    assert [opinion.verdict.signals["opinion_of"] for opinion in heard.opinions] == [
        "correctness",
        "tests",
        "scope",
        "second",
    ]
    assert len(heard.audit.exchanges) == 4


# --- the choice of a repository -------------------------------------------------------------------


def choosing(name: str | None, first: ScriptedModel | None, **others: ScriptedModel) -> tuple[JudgeContext, Dossier]:
    chosen = {other.name: other for other in others.values()}
    return replace(bench(first), choices=chosen), dossier(policy=Policy(model=name))


def test_a_repository_chooses_among_the_models_that_the_operator_allows() -> None:
    asked, of = choosing("claude-opus-5-5", model_of(), strong=strong(accept()))
    verdict = judge_with_record(of, docket(), asked).verdict
    assert (verdict.judge_model, verdict.decision) == ("claude-opus-5-5", "accept")
    assert "model_not_allowed" not in verdict.signals


@pytest.mark.parametrize("name", ["claude-unknown", None, "claude-haiku-5-5"])
def test_any_other_choice_leaves_the_operators(name: str | None) -> None:
    asked, of = choosing(name, model_of(accept()), strong=strong())
    verdict = judge_with_record(of, docket(), asked).verdict
    assert verdict.judge_model == "claude-haiku-5-5"
    assert verdict.signals.get("model_not_allowed") == (name if name == "claude-unknown" else None)


def test_a_choice_does_not_bring_a_model_where_none_may_be_asked() -> None:
    asked, of = choosing("claude-opus-5-5", None, strong=strong())
    verdict = judge_with_record(of, docket(), asked).verdict
    assert (verdict.abstain_reason, verdict.judge_model) == (AbstainReason.UNPROVEN, None)


def test_who_judges_is_part_of_the_content() -> None:
    plain, of = choosing("claude-opus-5-5", model_of(), strong=strong())
    others = [
        fingerprint_of(of, plain),
        fingerprint_of(of, bench(model_of())),
        fingerprint_of(of, replace(bench(model_of()), is_panel=True)),
        fingerprint_of(of, replace(bench(model_of()), second_model=strong())),
    ]
    assert len(set(others)) == 4
