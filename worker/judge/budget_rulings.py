"""What is ruled where a cap stands before the model.

Does not know any budget: it is told which cap, and how full. Invariant: a fact still rejects and a safe change is still
accepted; all else is nobody's verdict, and says which cap it was.
"""

from types import MappingProxyType
from typing import Final

from worker.domain.value import replace
from worker.domain.verdict.budget import Cap, Level
from worker.domain.verdict.opinion import CERTAIN
from worker.domain.verdict.verdict import AbstainReason, Coverage, ThrottledReason
from worker.errors import BudgetReached
from worker.judge import texts
from worker.judge.checks.coverage import coverage_of
from worker.judge.context import Sitting
from worker.judge.escalation import AcceptAsSafe
from worker.judge.llm.client import Throttled
from worker.judge.rulings import Hearing, Ruling, Signals, abstain, reject_on_facts, without_model

SKIPPED: Final = "budget"

REASONS: Final = MappingProxyType(
    {
        Cap.PULL: ThrottledReason.PR_CAP,
        Cap.DAY: ThrottledReason.DAILY_CAP,
        Cap.SHARE: ThrottledReason.DAILY_CAP,
        Cap.AUTHOR: ThrottledReason.DAILY_CAP,
    }
)


def throttled(hearing: Hearing, stopped: Throttled, reason: str) -> Sitting:
    """Rule by code alone; *reason* says why a model would have been asked."""
    coverage = coverage_of(hearing.dossier, hearing.diff)
    ruling = _by_code(hearing, stopped.reached, coverage)
    return Sitting(
        replace(
            ruling,
            throttled_reason=REASONS[stopped.reached.level.cap],
            signals={**ruling.signals, "escalation_skipped": SKIPPED},
        ),
        coverage,
        f"{reason}; {texts.cap_in_the_way(stopped.reached.level.cap)}",
        asked=stopped.spent.is_owed,
        spent=stopped.spent,
        exchanges=stopped.exchanges,
    )


def _by_code(hearing: Hearing, reached: BudgetReached, coverage: Coverage) -> Ruling:
    opinion = hearing.opinion
    if opinion.facts:
        return reject_on_facts(hearing)
    if opinion.safe is not None and opinion.confidence >= CERTAIN:
        return without_model(hearing, AcceptAsSafe(opinion.reason), coverage)
    return abstain(hearing, AbstainReason.BUDGET, texts.budget(reached.level, reached.asked_usd))


def nearly_used_up(near: Level | None) -> Signals:
    """A cap that is almost reached, for the record and for whoever reads the check."""
    if near is None:
        return {}
    return {
        "budget_cap": near.cap.value if near.cap is Cap.SHARE else REASONS[near.cap].value,
        "budget_used": texts.dollars(near.used_usd),
        "budget_limit": texts.dollars(near.cap_usd),
    }
