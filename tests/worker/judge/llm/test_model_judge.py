"""At a cap: facts still reject, safe changes are still accepted, the rest is `budget` and says which cap."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tests.worker.judge.courtroom import bench, docket
from tests.worker.judge.making import DIFF, DOCUMENTED, accept, dossier, model_of, new_file, reply
from worker.domain.dossier.dossier import HeadFile
from worker.domain.verdict.budget import Cap, CapLevel
from worker.domain.verdict.verdict import Abstain, AbstainReason, Accept, JudgeKind, Reject, ThrottledReason
from worker.errors import BudgetReached
from worker.judge.escalation import Pause
from worker.judge.judge import fingerprint_of, judge, judge_with_record

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
