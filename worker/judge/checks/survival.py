"""Which findings of a model's reject the change bears out; whether they are right is not decided here.

A criterion survives as missing if the change does not mention it and the reject speaks of it or of a place that survives. A
place survives if code suspects the same there or the reject's words are about it. Facts and open conditions need neither.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from worker.domain.verdict.verdict import (
    Category,
    ClaimStatus,
    ConditionState,
    CriterionStatus,
    CriterionVerdict,
    EvidencePointer,
    Finding,
    Leaning,
    ModelOpinion,
)
from worker.judge import texts
from worker.judge.checks.missing import names_a_rule
from worker.judge.rulings import UNMET, EvidenceBundle
from worker.signals.acceptance_gap.criteria_not_met import is_mentioned
from worker.signals.analysis.change import CodeChange
from worker.signals.analysis.relatedness import NAME_PATTERN, common_stems, stems_of_all
from worker.signals.scope_creep.unrelated_file import is_apart

TEXTS: Final = (".md", ".rst", ".txt", ".adoc")
NEARBY_LINES: Final = 3
"""Lines around a place that words about it may refer to."""


@dataclass(frozen=True)
class Survival:
    """`criteria`: ids of the unmet ones that survive; `evidence`: places that do; `refused`: a sentence for each other finding."""

    criteria: frozenset[str]
    evidence: tuple[EvidencePointer, ...]
    refused: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        return not self.criteria and not self.evidence


def survival_of(opinion: ModelOpinion, bundle: EvidenceBundle) -> Survival | None:
    """What survives of a reject; None where nothing has to: no reject, a fact, an open condition, or a change to texts alone.

    A text may mention what is asked for without giving it.
    """
    is_open = any(condition.state is ConditionState.OPEN for condition in opinion.conditions)
    if opinion.decision is not Leaning.REJECT or bundle.opinion.facts or is_open:
        return None
    change = CodeChange(bundle.dossier)
    if all(file.path.endswith(TEXTS) for file in change.files):
        return None
    unmet = [criterion for criterion in opinion.criteria if criterion.status in UNMET]
    places = (*opinion.evidence, *(pointer for criterion in unmet for pointer in criterion.evidence))
    reject_words = stems_in((opinion.concern, *(pointer.note for pointer in places)))
    refused: list[str] = []
    evidence: list[EvidencePointer] = []
    for pointer in opinion.evidence:
        if problem := _refute_place(pointer, opinion, change, bundle, reject_words):
            refused.append(problem)
        else:
            evidence.append(pointer)
    criteria: list[str] = []
    for criterion in unmet:
        problem = _refute_criterion(criterion, change, bundle, reject_words)
        if problem is None and not evidence and not _mentions_criterion(criterion, bundle, reject_words):
            problem = texts.criterion_is_not_named(criterion.id, criterion.status)
        if problem:
            refused.append(problem)
        else:
            criteria.append(criterion.id)
    if opinion.category is Category.ACCEPTANCE_GAP and unmet and not criteria:  # it rests on its criteria
        evidence = []
    if opinion.category is Category.SPEC_VIOLATION and not evidence and not _rests_on_a_rule(opinion, bundle):
        criteria = []
        refused.append(texts.RULE_NOT_NAMED)
    return Survival(frozenset(criteria), tuple(evidence), tuple(dict.fromkeys(refused)))


def _refute_criterion(
    criterion: CriterionVerdict, change: CodeChange, bundle: EvidenceBundle, reject_words: frozenset[str]
) -> str | None:
    """What speaks against an unmet criterion: the change mentions it, and no place of a partial one falls short."""
    is_partial = criterion.status is CriterionStatus.PARTIAL
    falls_short = is_partial and any(_is_mentioned(pointer, bundle, reject_words) for pointer in criterion.evidence)
    if falls_short or not is_mentioned(change, criterion.id):
        return None
    return texts.criterion_is_mentioned(criterion.id, criterion.status)


def _mentions_criterion(criterion: CriterionVerdict, bundle: EvidenceBundle, reject_words: frozenset[str]) -> bool:
    """Whether the reject's words are about the criterion's text or one of its places."""
    if any(_is_mentioned(pointer, bundle, reject_words) for pointer in criterion.evidence):
        return True
    asked = stems_in(entry.text for entry in bundle.criteria if entry.id == criterion.id)
    return not asked or not reject_words.isdisjoint(asked)


def _refute_place(
    pointer: EvidencePointer,
    opinion: ModelOpinion,
    change: CodeChange,
    bundle: EvidenceBundle,
    reject_words: frozenset[str],
) -> str | None:
    """Why a place does not survive; None where it does."""
    suspected = {(finding.category, finding.path) for finding in bundle.opinion.findings}
    if (opinion.category, pointer.path) in suspected:
        return None
    match opinion.category:
        case Category.SCOPE_CREEP if not is_apart(change, pointer.path):
            return texts.place_is_related(pointer)
        case Category.SCOPE_CREEP if not reject_words.isdisjoint(stems_in((pointer.path,))):
            return None
        case Category.SPEC_VIOLATION if not _rests_on_a_rule(opinion, bundle):
            return texts.RULE_NOT_NAMED
        case _:
            return None if _is_mentioned(pointer, bundle, reject_words) else texts.place_is_not_mentioned(pointer)


def _rests_on_a_rule(opinion: ModelOpinion, bundle: EvidenceBundle) -> bool:
    """Whether a reject names the rule, or the case claims what is not there."""
    wrong = {ClaimStatus.CONTRADICTED, ClaimStatus.UNSUPPORTED}
    return any(claim.status in wrong for claim in bundle.claims) or names_a_rule(opinion, bundle.dossier)


def _is_mentioned(pointer: EvidencePointer, bundle: EvidenceBundle, reject_words: frozenset[str]) -> bool:
    """Whether the reject's words occur at a place or beside it; of a place without a line, in its path."""
    if pointer.line is None:
        return not reject_words.isdisjoint(stems_in((pointer.path,)))
    return not reject_words.isdisjoint(stems_in(lines_near(pointer.path, pointer.line, pointer, bundle)))


def lines_near(path: str, line: int, source: EvidencePointer | Finding, bundle: EvidenceBundle) -> Iterator[str]:
    """The known lines at a place and beside it; *source* gives its end and side."""
    for number in range(max(1, line - NEARBY_LINES), (source.end_line or line) + NEARBY_LINES + 1):
        if (text := bundle.places.line(path, number, source.side)) is not None:
            yield text


def stems_in(lines: Iterable[str]) -> frozenset[str]:
    """The stems of all names in these texts, without common ones."""
    return stems_of_all({name for line in lines for name in NAME_PATTERN.findall(line)}) - common_stems()
