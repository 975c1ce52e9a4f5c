"""The opinions on the parts of one change, joined into one opinion by a fixed rule.

Asks nobody, and changes no opinion. Invariant: a part that rejects with evidence rejects the whole; the whole is accepted only
where every part is; where neither holds, nobody can tell. The weakest of the deciding parts speaks: its words, its scores.
"""

from collections.abc import Sequence

from worker.domain.dossier import Criterion
from worker.domain.opinion import Leaning, ModelOpinion
from worker.domain.verdict import CriterionStatus, CriterionVerdict, EvidencePointer


def settles(opinion: ModelOpinion) -> bool:
    """Whether a part's opinion decides for the whole, whatever the other parts hold.

    A part that misses something but points at nothing does not: what it misses may stand in another part.
    """
    return opinion.decision is Leaning.REJECT and bool(opinion.evidence)


def joined(opinions: Sequence[ModelOpinion]) -> ModelOpinion:
    """One opinion of the *opinions* on each part, of which there is one at least."""
    deciding, leaning = _deciding(opinions)
    speaker = min(deciding, key=lambda one: one.score)
    return speaker.model_copy(
        update={
            "decision": leaning,
            "category": speaker.category if leaning is Leaning.REJECT else None,
            "next_step": None if leaning is Leaning.ACCEPT else speaker.next_step,
            "confidence": min(one.confidence for one in deciding),
            "evidence": _together(deciding),
            "criteria": tuple(found for one in opinions for found in one.criteria),
            "conditions": tuple(answer for one in opinions for answer in one.conditions),
            "settled": tuple(answer for one in opinions for answer in one.settled),
        }
    )


def _deciding(opinions: Sequence[ModelOpinion]) -> tuple[Sequence[ModelOpinion], Leaning]:
    if rejecting := [one for one in opinions if settles(one)]:
        return rejecting, Leaning.REJECT
    if doubting := [one for one in opinions if one.decision is not Leaning.ACCEPT]:
        return doubting, Leaning.CANNOT_TELL
    return opinions, Leaning.ACCEPT


def _together(opinions: Sequence[ModelOpinion]) -> tuple[EvidencePointer, ...]:
    """The evidence of each, and where an accepted part pointed only at what meets its criteria, that."""
    return tuple(dict.fromkeys(pointer for one in opinions for pointer in one.evidence or _of_criteria(one)))


def _of_criteria(opinion: ModelOpinion) -> tuple[EvidencePointer, ...]:
    accepting = opinion.decision is Leaning.ACCEPT
    return tuple(one.evidence[0] for one in opinion.criteria if one.evidence) if accepting else ()


def of_all(opinion: ModelOpinion, criteria: Sequence[Criterion], claimed: frozenset[str]) -> ModelOpinion:
    """The opinion with every criterion in its order: of one that no part was asked for, nobody can tell."""
    found = {one.id: one for one in opinion.criteria}
    whole = (
        found.get(one.id) or CriterionVerdict(id=one.id, status=CriterionStatus.UNVERIFIABLE, claimed=one.id in claimed)
        for one in criteria
    )
    return opinion.model_copy(update={"criteria": tuple(whole)})
