"""The model is asked, corrected once and then given up, within one time limit; all that it costs is counted."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tests.worker.judge.making import (
    DIFF,
    DOCUMENTED,
    ScriptedModel,
    accept,
    bench,
    docket,
    dossier,
    model_of,
    new_file,
    reject,
    reply,
)
from worker.domain.dossier import HeadFile
from worker.domain.ports import ModelReply, Prompt, StopReason
from worker.domain.verdict.budget import Cap, CapLevel
from worker.domain.verdict.verdict import (
    Abstain,
    AbstainReason,
    Accept,
    JudgeKind,
    ModelOpinion,
    Reject,
    ThrottledReason,
    Tokens,
)
from worker.errors import BudgetReached, Unavailable
from worker.judge.checks.evidence import Places
from worker.judge.escalation import Pause
from worker.judge.judge import fingerprint_of, judge, judge_with_record
from worker.judge.llm.model_judge import (
    Consultation,
    consult_model,
    with_time_limit,
)
from worker.judge.llm.reply import ReplyError, ReplyFault, read_reply
from worker.judge.llm.reply_schema import RETRY_FACTOR, ReplyRequirements, reply_schema
from worker.judge.rubric import load_rubric

DOSSIER = dossier()
ASKED = ReplyRequirements(DOSSIER.criteria or (), load_rubric(), Places(DOSSIER))
PROMPT = Prompt("system", ("question",), reply_schema(), "sha256:1")
WRONG = accept(category="weak_test")
OUTAGE = Unavailable("The model", "status 529 (overloaded_error)")


def read(model_reply: ModelReply) -> ModelOpinion | ReplyError:
    return read_reply(model_reply, ASKED)


def asked_of(model: ScriptedModel) -> Consultation:
    return consult_model(model, PROMPT, read)


def test_a_good_reply_is_asked_for_once() -> None:
    model = model_of(accept())
    result = asked_of(model)
    assert isinstance(result.outcome, ModelOpinion)
    assert model.asked == [PROMPT]
    assert (result.costs.cost_usd, result.costs.replies) == (Decimal("0.001"), 1)


def test_an_unusable_reply_is_corrected_once_naming_the_error() -> None:
    model = model_of(WRONG, reject())
    result = asked_of(model)
    assert isinstance(result.outcome, ModelOpinion)
    assert result.outcome.category == "weak_test"
    question, answer, correction = model.asked[1].turns
    assert (question, answer) == ("question", reply(WRONG).text)
    assert '1. An accept has no category, found "weak_test": use null, or reject.' in correction
    assert (model.asked[1].system, model.asked[1].schema) == (PROMPT.system, PROMPT.schema)


def test_a_second_unusable_reply_is_the_last() -> None:
    model = model_of(WRONG, "I accept.", accept())
    result = asked_of(model)
    assert isinstance(result.outcome, ReplyError)
    assert [exchange.fault for exchange in result.exchanges] == [ReplyFault.CONTRADICTION, ReplyFault.NOT_JSON]
    assert len(model.asked) == 2


def test_tokens_and_costs_of_all_replies_are_summed() -> None:
    result = asked_of(model_of(WRONG, accept()))
    assert result.costs.tokens == Tokens(input=2_000, output=200, cache_read=20, cache_write=2)
    assert result.costs.cost_usd == Decimal("0.002")


def test_one_unknown_price_makes_the_sum_unknown() -> None:
    assert asked_of(model_of(reply(WRONG, cost_usd=None), accept())).costs.cost_usd is None
    assert asked_of(model_of(WRONG, reply(accept(), cost_usd=None))).costs.cost_usd is None


def test_an_outage_is_no_reply_and_costs_nothing() -> None:
    result = asked_of(model_of(OUTAGE))
    assert isinstance(result.outcome, Unavailable)
    assert (result.outcome.reason, result.costs.cost_usd) == ("status 529 (overloaded_error)", Decimal(0))


def test_an_outage_at_the_correction_still_counts_the_first_reply() -> None:
    result = asked_of(model_of(WRONG, OUTAGE))
    assert isinstance(result.outcome, Unavailable)
    assert (result.costs.replies, result.costs.cost_usd) == (1, Decimal("0.001"))


def test_an_answer_that_was_cut_off_may_be_longer_the_second_time_and_no_other_may() -> None:
    prompt = replace(PROMPT, reply_tokens=700)
    for first, allowed in ((reply("{", stop=StopReason.TRUNCATED), 700 * RETRY_FACTOR), (WRONG, 700)):
        model = model_of(first, accept())
        assert isinstance(consult_model(model, prompt, read).outcome, ModelOpinion)
        assert [prompt.reply_tokens for prompt in model.asked] == [700, allowed]
    model = model_of(reply("{", stop=StopReason.TRUNCATED), accept())
    assert isinstance(asked_of(model).outcome, ModelOpinion)
    assert [prompt.reply_tokens for prompt in model.asked] == [None, None]


def test_a_refusal_is_asked_once_more_and_silence_is_named() -> None:
    model = model_of(reply("", stop=StopReason.REFUSED), accept())
    assert isinstance(asked_of(model).outcome, ModelOpinion)
    assert model.asked[1].turns[1] == "(no text)"


def test_a_question_that_does_not_fit_is_not_asked_again() -> None:
    model = model_of(reply("", stop=StopReason.CONTEXT_EXCEEDED), accept())
    result = asked_of(model)
    assert isinstance(result.outcome, ReplyError)
    assert len(model.asked) == 1


def test_a_long_reply_is_echoed_in_part() -> None:
    model = model_of("x" * 100_000, accept())
    asked_of(model)
    assert len(model.asked[1].turns[1]) < 17_000


def test_what_a_problem_quotes_of_the_change_is_made_visible() -> None:
    model = model_of(accept(concern="ok", evidence=[{"path": "a\u202e\nb.py", "line": 1}]), accept())
    asked_of(model)
    assert "a\\u202e b.py" in model.asked[1].turns[2]


QUESTION = Prompt("system", ("turn",), {}, "v")


def test_a_question_that_comes_in_time_is_asked() -> None:
    model = model_of(accept())
    timed = with_time_limit(bench(model), lambda: 0).model
    assert timed is not None
    assert (timed.name, timed.pricing_version) == (model.name, model.pricing_version)
    assert timed.ask(QUESTION).text
    assert model.asked == [QUESTION]


def test_no_question_begins_after_the_end_whoever_is_asked_it() -> None:
    now = [1_000]
    first, second = model_of(accept()), model_of(accept())
    timed = with_time_limit(replace(bench(first), second_model=second, asking_ms=500), lambda: now[0])
    now[0] += 500
    for model in (timed.model, timed.second_model):
        assert model is not None
        with pytest.raises(Unavailable, match="took so long"):
            model.ask(QUESTION)
    assert (first.asked, second.asked) == ([], [])


def test_where_nobody_is_asked_nobody_is_timed() -> None:
    timed = with_time_limit(bench(), lambda: 0)
    assert (timed.model, timed.second_model) == (None, None)


CENT = Decimal("0.01")
STUB = new_file("upload.py", "def send(data):", "    raise NotImplementedError")
STUB_FILES = (HeadFile(path="upload.py", text="def send(data):\n    raise NotImplementedError\n"),)
ALWAYS = 2.0


def reached(cap: Cap = Cap.PULL) -> BudgetReached:
    return BudgetReached(CapLevel(cap, 9 * CENT, 10 * CENT), 2 * CENT)


def judged(*answers: Any, threshold: float = ALWAYS, **changes: Any) -> Accept | Reject | Abstain:
    return judge(dossier(**changes), docket(), bench(model_of(*answers), threshold))


@pytest.mark.parametrize(
    ("cap", "reason"),
    [
        (Cap.PULL, ThrottledReason.PR_CAP),
        (Cap.DAY, ThrottledReason.DAILY_CAP),
        (Cap.SHARE, ThrottledReason.DAILY_CAP),
        (Cap.AUTHOR, ThrottledReason.DAILY_CAP),
    ],
)
def test_what_would_have_been_asked_is_nobodys_verdict_and_names_the_cap(cap: Cap, reason: ThrottledReason) -> None:
    verdict = judged(reached(cap), threshold=0.7)
    assert isinstance(verdict, Abstain)
    assert (verdict.abstain_reason, verdict.throttled_reason) == (AbstainReason.BUDGET, reason)
    assert "$0.09 of $0.10" in verdict.concern
    assert verdict.escalation_reason.endswith("has no room for it")


def test_a_verdict_without_a_reply_is_the_heuristic_tiers_and_costs_nothing() -> None:
    verdict = judged(reached())
    assert (verdict.judge_kind, verdict.judge_cost_usd, verdict.judge_model) == (JudgeKind.HEURISTIC, 0, None)
    assert not verdict.escalated
    assert verdict.signals["escalation_skipped"] == "budget"


def test_a_correction_that_the_cap_has_no_room_for_counts_what_was_paid_before() -> None:
    verdict = judged("prose", reached(), threshold=0.7)
    assert isinstance(verdict, Abstain)
    assert verdict.abstain_reason is AbstainReason.BUDGET
    assert (verdict.judge_kind, verdict.judge_cost_usd) == (JudgeKind.HYBRID, Decimal("0.001"))
    assert verdict.escalated


def test_the_question_that_was_not_asked_is_on_record() -> None:
    heard = judge_with_record(dossier(), docket(), bench(model_of(reached())))
    [exchange] = heard.audit.exchanges
    assert exchange.reply is None
    assert exchange.over is not None
    assert exchange.over.cap == "pull"


def test_a_cap_that_is_near_after_the_last_reply_is_on_record() -> None:
    near = reply(accept(), near_cap=CapLevel(Cap.DAY, Decimal("0.8"), Decimal(1)))
    signals = judged(near, threshold=0.7).signals
    assert {name: signals[name] for name in signals if name.startswith("budget")} == {
        "budget_cap": "daily_cap",
        "budget_used": "$0.80",
        "budget_limit": "$1.00",
    }
    assert not [name for name in judged(accept(), threshold=0.7).signals if name.startswith("budget")]
    of_share = reply(accept(), near_cap=CapLevel(Cap.SHARE, Decimal("0.4"), Decimal("0.5")))
    assert judged(of_share, threshold=0.7).signals["budget_cap"] == "share"


@pytest.mark.parametrize(
    "diff", [DIFF, STUB, DOCUMENTED["diff"], "", "no diff at all"], ids=["code", "stub", "docs", "empty", "torn"]
)
@pytest.mark.parametrize("pause", Pause)
def test_while_judging_is_paused_nothing_is_looked_at(diff: str, pause: Pause) -> None:
    model = model_of()
    stopped = replace(bench(model, ALWAYS), pause=pause)
    verdict = judge(dossier(diff=diff), docket(), stopped)
    assert verdict.abstain_reason is AbstainReason.PAUSED
    assert (verdict.judge_kind, verdict.findings, verdict.coverage.read) == (JudgeKind.HEURISTIC, (), ())
    assert model.asked == []


def test_what_was_not_judged_in_a_pause_is_other_content_than_what_is_judged_after_it() -> None:
    stopped = replace(bench(), pause=Pause.OPERATOR)
    assert fingerprint_of(dossier(), stopped) != fingerprint_of(dossier(), bench())
