"""Same content, same verdict: a recorded accept or reject is carried over to a head that changes nothing.

Does not decide anew. Invariant: an abstain is never carried, and neither is a verdict with a pointer whose line does
not stand in the new head; what was carried says from where, cost nothing this time, and turns no round back.
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal

from worker.domain.dossier.dossier import Dossier
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
    """The newest recorded accept or reject of this very content, set anew on this head; None if there is none."""
    recorded = (entry.verdict for entry in reversed(dossier.ledger) if entry.fingerprint == header.fingerprint)
    earlier = next((verdict for verdict in recorded if not isinstance(verdict, Abstain)), None)
    if earlier is None:
        return None
    try:
        places = Places(dossier)
    except DiffError:
        return None
    evidence = _relocate_pointers(earlier.evidence, places)
    criteria = [_relocate_criterion(criterion, places) for criterion in earlier.criteria]
    if evidence is None or None in criteria:
        return None
    return type(earlier).model_validate(
        {
            **dict(earlier),
            "eval_id": header.eval_id,
            "carried_from": earlier.carried_from or earlier.eval_id,
            "subject": header.subject,
            "round": max(
                [earlier.round, *(entry.verdict.round for entry in dossier.ledger if isinstance(entry.verdict, Reject))]
            ),
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
    """Every condition: as the verdict that comes back has it; what was frozen after it travels on, met by an accept."""
    then = {condition.text: condition.state for condition in verdict.closing_conditions}
    met = (
        {condition.text: ConditionState.RESOLVED for condition in conditions_of(ledger)}
        if isinstance(verdict, Accept)
        else {}
    )
    states = {**met, **then}
    return tuple(
        condition.model_copy(update={"state": states.get(condition.text, condition.state)})
        for condition in conditions_of(ledger)
    )


def _relocate_pointers(pointers: Iterable[EvidencePointer], places: Places) -> list[EvidencePointer] | None:
    located = [places.relocate(pointer) for pointer in pointers]
    return None if None in located else [pointer for pointer in located if pointer is not None]


def _relocate_criterion(verdict: CriterionVerdict, places: Places) -> CriterionVerdict | None:
    evidence = _relocate_pointers(verdict.evidence, places)
    return None if evidence is None else verdict.model_copy(update={"evidence": tuple(evidence)})
