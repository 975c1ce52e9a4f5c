"""What is ruled where a cap stands before the model.

Does not know any budget: it is told which cap, and how full. Invariant: a fact still rejects and a safe change is still
accepted; all else is nobody's verdict, and says which cap it was.
"""

from types import MappingProxyType
from typing import Final

from worker.domain.value import replace
from worker.domain.verdict.budget import Cap, CapLevel
from worker.domain.verdict.opinion import CERTAIN_CONFIDENCE
from worker.domain.verdict.verdict import AbstainReason, Coverage, ThrottledReason
from worker.errors import BudgetReached
from worker.judge import texts
from worker.judge.checks.coverage import coverage_of
from worker.judge.context import JudgingResult
from worker.judge.escalation import AcceptAsSafe
from worker.judge.llm.client import ThrottledConsultation
from worker.judge.rulings import EvidenceBundle, Ruling, RulingSignals, abstain, reject_on_facts, rule_without_model

SKIP_REASON: Final = "budget"

THROTTLED_REASONS: Final = MappingProxyType(
    {
        Cap.PULL: ThrottledReason.PR_CAP,
        Cap.DAY: ThrottledReason.DAILY_CAP,
        Cap.SHARE: ThrottledReason.DAILY_CAP,
        Cap.AUTHOR: ThrottledReason.DAILY_CAP,
    }
)


def rule_without_budget(bundle: EvidenceBundle, stopped: ThrottledConsultation, reason: str) -> JudgingResult:
    """Rule by code alone; *reason* says why a model would have been asked."""
    coverage = coverage_of(bundle.dossier, bundle.diff)
    ruling = _rule_by_code(bundle, stopped.reached, coverage)
    return JudgingResult(
        replace(
            ruling,
            throttled_reason=THROTTLED_REASONS[stopped.reached.level.cap],
            signals={**ruling.signals, "escalation_skipped": SKIP_REASON},
        ),
        coverage,
        f"{reason}; {texts.cap_reached(stopped.reached.level.cap)}",
        is_model_asked=stopped.costs.is_owed,
        costs=stopped.costs,
        exchanges=stopped.exchanges,
    )


def _rule_by_code(bundle: EvidenceBundle, reached: BudgetReached, coverage: Coverage) -> Ruling:
    opinion = bundle.opinion
    if opinion.facts:
        return reject_on_facts(bundle)
    if opinion.safe is not None and opinion.confidence >= CERTAIN_CONFIDENCE:
        return rule_without_model(bundle, AcceptAsSafe(opinion.reason), coverage)
    return abstain(bundle, AbstainReason.BUDGET, texts.budget(reached.level, reached.asked_usd))


def cap_signals(near: CapLevel | None) -> RulingSignals:
    """A cap that is almost reached, for the record and for whoever reads the check."""
    if near is None:
        return {}
    return {
        "budget_cap": near.cap.value if near.cap is Cap.SHARE else THROTTLED_REASONS[near.cap].value,
        "budget_used": texts.dollars(near.used_usd),
        "budget_limit": texts.dollars(near.cap_usd),
    }
