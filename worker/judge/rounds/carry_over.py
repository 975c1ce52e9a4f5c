"""Same content, same verdict: a verdict is carried over to a head with the same fingerprint, at no cost.

An abstain is not carried over, and neither is a verdict with a pointer whose line is gone. A round is never taken back.
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal

from worker.domain.dossier import Dossier
from worker.domain.verdict.ledger import LedgerEntry, conditions_of
from worker.domain.verdict.verdict import (
    Abstain,
    Accept,
    ClosingCondition,
    ConditionState,
    CriterionVerdict,
    EvidencePointer,
    Reject,
    Tokens,
)
from worker.dossier.diff.parser import DiffError
from worker.judge.checks.evidence import Places
from worker.judge.context import EvaluationHeader, JudgeContext
from worker.signals.heuristic_opinion import form_opinion


def carry_over_verdict(dossier: Dossier, header: EvaluationHeader, context: JudgeContext) -> Accept | Reject | None:
    """The newest recorded accept or reject of this content, moved to this head; None if there is none."""
    verdicts = [entry.verdict for entry in dossier.ledger]
    recorded = (entry.verdict for entry in reversed(dossier.ledger) if entry.fingerprint == header.fingerprint)
    earlier = next((verdict for verdict in recorded if not isinstance(verdict, Abstain)), None)
    if earlier is None:
        return None
    try:
        places = Places(dossier)
    except DiffError:
        return None
    evidence = _relocate_pointers(earlier.evidence, places)
    criteria: list[CriterionVerdict] = []
    for criterion in earlier.criteria:
        if (moved := _relocate_pointers(criterion.evidence, places)) is None:
            return None
        criteria.append(criterion.model_copy(update={"evidence": tuple(moved)}))
    if evidence is None:
        return None
    return type(earlier).model_validate(
        {
            **dict(earlier),
            "eval_id": header.eval_id,
            "carried_from": earlier.carried_from or earlier.eval_id,
            "subject": header.subject,
            "round": max([earlier.round, *(verdict.round for verdict in verdicts if isinstance(verdict, Reject))]),
            "case_error": dossier.case_error,
            "created_at": header.created_at,
            "evidence": evidence,
            "criteria": criteria,
            "closing_conditions": _conditions(earlier, dossier.ledger),
            "findings": form_opinion(dossier, context.rubric).findings,
            "judge_cost_usd": None if earlier.judge_cost_usd is None else Decimal(0),
            "judge_latency_ms": 0,
            "tokens": Tokens(),
        }
    )


def _conditions(verdict: Accept | Reject, ledger: Sequence[LedgerEntry]) -> tuple[ClosingCondition, ...]:
    """All conditions in the state that *verdict* has them in; those frozen after an accept are resolved by it."""
    conditions = conditions_of(ledger)
    states = {condition.text: condition.state for condition in verdict.closing_conditions}
    is_met = isinstance(verdict, Accept)
    return tuple(
        condition.model_copy(
            update={"state": states.get(condition.text, ConditionState.RESOLVED if is_met else condition.state)}
        )
        for condition in conditions
    )


def _relocate_pointers(pointers: Iterable[EvidencePointer], places: Places) -> list[EvidencePointer] | None:
    located = [places.relocate(pointer) for pointer in pointers]
    return None if None in located else [pointer for pointer in located if pointer is not None]
