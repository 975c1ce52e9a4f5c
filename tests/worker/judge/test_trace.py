"""The way of a judging is written down stage by stage, and two ways part where the judge's did."""

from decimal import Decimal

import pytest
from inline_snapshot import snapshot

from tests.worker.judge.making import (
    ScriptedModel,
    accept,
    bench,
    cannot_tell,
    docket,
    dossier,
    entry,
    model_of,
    place,
    reject,
    rejected,
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

EMPTY = dossier(diff="", files=())
OVER = BudgetReached(CapLevel(Cap.DAY, Decimal("0.99"), Decimal("1.00")), Decimal("0.02"))


def record(model: ScriptedModel | None, of: Dossier | None = None) -> AuditRecord:
    return judge_with_record(of or dossier(), docket(), bench(model)).audit


def way(record: AuditRecord) -> list[tuple[str, str]]:
    """Stages and outcomes, but for the law, and without what depends on the prompt's words and on single signals."""
    steps = [(step.stage.value, step.outcome) for step in record.steps[1:]]
    bare = {Stage.HEURISTICS.value: "", Stage.QUESTION.value: "sent", Stage.CORRECTION.value: "sent"}
    return [(stage, bare.get(stage, outcome)) for stage, outcome in steps]


def step(record: AuditRecord, stage: Stage) -> Step:
    return next(step for step in record.steps if step.stage is stage)


def test_an_accept_of_the_model_went_through_every_stage() -> None:
    assert way(record(model_of(accept()))) == snapshot([
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


def test_a_correction_is_a_second_question_and_says_what_was_wrong_before() -> None:
    result = record(model_of(accept(evidence=[place(line=4000)]), accept(evidence=[place()])))
    assert [stage for stage, _ in way(result)][2:8] == snapshot(
        ["route", "question", "reply", "correction", "reply", "evidence"]
    )
    assert step(result, Stage.REPLY) == snapshot(
        Step(Stage.REPLY, "pointer", "`upload.py` has 9 lines at the head commit, line 4000 does not exist.")
    )
    first, second = result.exchanges
    assert first.fault == "pointer"
    assert second.turns[0] == first.turns[0]
    assert len(second.turns) == 3
    assert second.reply is not None
    assert (second.reply.request_id, second.reply.cost_usd) == ("req_1", Decimal("0.001"))


def test_a_fact_needs_no_model() -> None:
    assert step(record(model_of(accept()), EMPTY), Stage.ROUTE).outcome == "code alone"


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


@pytest.mark.parametrize("says", [Leaning.ACCEPT, Leaning.REJECT, Leaning.CANNOT_TELL])
def test_what_code_does_not_let_stand_is_a_veto_with_its_reason(says: Leaning) -> None:
    veto = opinion_steps(LEANING.model_copy(update={"decision": says}), REJECTED)[1]
    assert veto == Step(Stage.VETOES, f"the model's {says} does not stand", "`retry` is a stub.")


def test_nothing_was_vetoed_of_an_opinion_that_nobody_could_read() -> None:
    assert opinion_steps(None, REJECTED) == ()


def test_a_model_that_cannot_tell_is_no_veto() -> None:
    assert step(record(model_of(cannot_tell())), Stage.VETOES).outcome == "none"


def test_a_reject_of_the_model_stands() -> None:
    result = record(model_of(reject()))
    assert step(result, Stage.VETOES).outcome == "none"
    assert step(result, Stage.RULING) == Step(
        Stage.RULING, "reject, weak_test", "The test proves nothing of what is made when send is busy."
    )
    assert step(result, Stage.EVIDENCE).reason == "tests/test_upload.py:6, upload.py:2"


def test_an_outage_is_a_question_without_a_reply() -> None:
    result = record(model_of(Unavailable("The model", "status 529")))
    assert way(result)[-4:] == snapshot([
        ("question", "sent"),
        ("reply", "none came"),
        ("ruling", "abstain, judge_unavailable"),
        ("verdict", "abstain"),
    ])  # fmt: skip
    assert result.exchanges[0].failure == "status 529"
    assert step(result, Stage.REPLY).reason == "status 529"


def test_a_cap_stands_on_record_with_its_figures() -> None:
    result = record(model_of(OVER))
    assert result.exchanges[0].over == OverBudget("day", Decimal("0.99"), Decimal("1.00"), Decimal("0.02"))
    assert step(result, Stage.RULING).outcome == "abstain, budget"


def test_what_code_decides_alone_asked_nobody_and_names_what_it_saw() -> None:
    result = record(None, EMPTY)
    assert result.exchanges == ()
    assert step(result, Stage.HEURISTICS).reason.startswith("fact ")
    assert step(result, Stage.LAW).reason.endswith("threshold 0.7, 5 rounds, no model")


def test_the_validators_are_named() -> None:
    checks = (CiCheck(name="unit", conclusion="failure"), CiCheck(name="lint", conclusion=None))
    result = record(None, dossier(ci=Ci(state=CiState.FAILURE, checks=checks)))
    assert step(result, Stage.VALIDATORS) == Step(Stage.VALIDATORS, "failure", "failed: unit, not finished: lint")


def test_a_diff_that_nobody_can_read_has_a_way_too() -> None:
    result = record(None, dossier(diff="diff --git a/x b/x\n@@ nonsense @@\n"))
    assert step(result, Stage.RULING).outcome == "abstain, too_large"


def test_what_was_taken_out_of_the_question_is_listed_without_itself() -> None:
    token = "ghp_" + "a1B2" * 9
    result = record(model_of(accept()), dossier(issues=(Issue(number=7, title="503", body=f"use\n{token}"),)))
    assert result.redactions == (RecordedRedaction("github token", "issues[7].body", 2),)
    assert token not in str(result.exchanges)


def test_what_is_carried_over_was_not_judged() -> None:
    earlier = entry(
        rejected(fingerprint="sha256:now", evidence=[{"path": "upload.py", "line": 9, "quote": "LIMIT = 10"}])
    )
    again = dossier(ledger=(earlier,))
    verdict = carry_over_verdict(again, docket(), bench())
    assert verdict is not None
    result = carry_over_record(verdict, bench())
    assert [step.stage for step in result.steps] == [Stage.LAW, Stage.CARRIED, Stage.VERDICT]
    assert result.steps[1].outcome == f"from {earlier.eval_id}"


def test_the_same_replies_write_the_same_trail() -> None:
    assert record(model_of(accept())) == record(model_of(accept()))


def test_two_ways_part_at_the_first_stage_that_differs_or_ends() -> None:
    first, other = Step(Stage.LAW, "a"), Step(Stage.LAW, "b")
    assert first_difference([first, first], [first, first]) is None
    assert first_difference([first, first], [first, other]) == (first, other)
    assert first_difference([first], [first, other]) == (None, other)
    assert first_difference([first, other], [first]) == (other, None)


def test_a_reply_that_does_not_fit_is_asked_no_more() -> None:
    result = record(model_of(reply("", stop=StopReason.CONTEXT_EXCEEDED)))
    assert [exchange.fault for exchange in result.exchanges] == ["too_long"]
