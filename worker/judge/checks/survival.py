"""Which findings of a model's reject survive a look at the change.

Does not judge whether a finding is right: it asks whether the change bears it out or speaks against it. Invariant: a criterion that
is called missing survives only if the change does not speak of it, and if the reject speaks of it or of a place that survives; a
place survives only if code suspects the same there, or if the words of the reject are about what stands there; a fact and a condition that is still open need neither.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from worker.domain.value import Value
from worker.domain.verdict.opinion import Leaning, ModelOpinion
from worker.domain.verdict.verdict import (
    Category,
    ClaimStatus,
    ConditionState,
    CriterionStatus,
    CriterionVerdict,
    EvidencePointer,
)
from worker.judge import texts as words
from worker.judge.checks.missing_rules import names_a_rule
from worker.judge.rulings import UNMET, EvidenceBundle
from worker.signals.acceptance_gap.criteria_not_met import is_mentioned
from worker.signals.analysis.change import CodeChange
from worker.signals.analysis.relatedness import NAME_PATTERN, common_stems, stems_of_all
from worker.signals.scope_creep.unrelated_file import is_apart

TEXTS: Final = (".md", ".rst", ".txt", ".adoc")
NEARBY_LINES: Final = 3
"""Lines before and after a place that words about it may be about."""


class Survival(Value):
    """`criteria`: the unmet ones that the change does not speak against; `evidence`: the places likewise.

    `refused`: a sentence for each finding that does not survive.
    """

    criteria: frozenset[str]
    evidence: tuple[EvidencePointer, ...]
    refused: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        return not self.criteria and not self.evidence


def survival_of(opinion: ModelOpinion, bundle: EvidenceBundle) -> Survival | None:
    """What survives of a reject; None where nothing has to: no reject, a fact, or a condition that is still open.

    Nothing has to of a change to texts alone either: a text may speak of what is asked for and not give it.
    """
    is_open = any(condition.state is ConditionState.OPEN for condition in opinion.conditions)
    if opinion.decision is not Leaning.REJECT or bundle.opinion.facts or is_open:
        return None
    change = CodeChange(bundle.dossier)
    if all(file.path.endswith(TEXTS) for file in change.files):
        return None
    reject_words = _words_of((opinion.concern, *(pointer.note for pointer in _places(opinion))))
    refused: list[str] = []
    evidence: list[EvidencePointer] = []
    for pointer in opinion.evidence:
        if problem := _refute_place(pointer, opinion, change, bundle, reject_words):
            refused.append(problem)
        else:
            evidence.append(pointer)
    criteria: list[str] = []
    for criterion in opinion.criteria:
        if criterion.status in UNMET:
            problem = _refute_criterion(criterion, change, bundle, reject_words)
            if problem is None and not evidence and not _mentions_criterion(criterion, bundle, reject_words):
                problem = words.criterion_is_not_named(criterion.id, criterion.status)
            if problem:
                refused.append(problem)
            else:
                criteria.append(criterion.id)
    is_gap = opinion.category is Category.ACCEPTANCE_GAP and any(
        criterion.status in UNMET for criterion in opinion.criteria
    )
    if is_gap and not criteria:  # it rests on its criteria, and its places show no more than where
        evidence = []
    if opinion.category is Category.SPEC_VIOLATION and not evidence and not _rests_on_a_rule(opinion, bundle):
        criteria = []
        refused.append(words.RULE_NOT_NAMED)
    return Survival(frozenset(criteria), tuple(evidence), tuple(dict.fromkeys(refused)))


def _places(opinion: ModelOpinion) -> Iterator[EvidencePointer]:
    yield from opinion.evidence
    for criterion in opinion.criteria:
        yield from criterion.evidence if criterion.status in UNMET else ()


def _refute_criterion(
    criterion: CriterionVerdict, change: CodeChange, bundle: EvidenceBundle, reject_words: frozenset[str]
) -> str | None:
    """Missing is what the change does not speak of. What is partly met may have a place that falls short."""
    is_partial = criterion.status is CriterionStatus.PARTIAL
    if is_partial and any(_is_mentioned(pointer, bundle, reject_words) for pointer in criterion.evidence):
        return None
    if not is_mentioned(change, criterion.id):
        return None
    return words.criterion_is_mentioned(criterion.id, criterion.status)


def _mentions_criterion(criterion: CriterionVerdict, bundle: EvidenceBundle, reject_words: frozenset[str]) -> bool:
    """Whether the words of the reject are about what a criterion asks for, or show at a line of it what falls short."""
    if any(_is_mentioned(pointer, bundle, reject_words) for pointer in criterion.evidence):
        return True
    asked = _words_of(other.text for other in bundle.criteria if other.id == criterion.id)
    return not asked or not reject_words.isdisjoint(asked)


def _refute_place(
    pointer: EvidencePointer,
    opinion: ModelOpinion,
    change: CodeChange,
    bundle: EvidenceBundle,
    reject_words: frozenset[str],
) -> str | None:
    if any(
        finding.category is opinion.category and finding.path == pointer.path for finding in bundle.opinion.findings
    ):
        return None
    match opinion.category:
        case Category.SCOPE_CREEP if not is_apart(change, pointer.path):
            return words.place_is_related(pointer)
        case Category.SCOPE_CREEP if not reject_words.isdisjoint(_words_of((pointer.path,))):
            return None
        case Category.SPEC_VIOLATION if not _rests_on_a_rule(opinion, bundle):
            return words.RULE_NOT_NAMED
        case _:
            return None if _is_mentioned(pointer, bundle, reject_words) else words.place_is_not_mentioned(pointer)


def _rests_on_a_rule(opinion: ModelOpinion, bundle: EvidenceBundle) -> bool:
    """Whether it names the rule, or the case claims what is not there."""
    wrong = {ClaimStatus.CONTRADICTED, ClaimStatus.UNSUPPORTED}
    return any(claim.status in wrong for claim in bundle.claims) or names_a_rule(opinion, bundle.dossier)


def _is_mentioned(pointer: EvidencePointer, bundle: EvidenceBundle, reject_words: frozenset[str]) -> bool:
    """Whether the words of the reject speak of what stands at a place or right beside it. A file without lines has its name."""
    if pointer.line is None:
        return not reject_words.isdisjoint(_words_of((pointer.path,)))
    numbers = range(max(1, pointer.line - NEARBY_LINES), (pointer.end_line or pointer.line) + NEARBY_LINES + 1)
    lines = (bundle.places.line(pointer.path, number, pointer.side) for number in numbers)
    return not reject_words.isdisjoint(_words_of(line for line in lines if line is not None))


def _words_of(texts: Iterable[str]) -> frozenset[str]:
    return stems_of_all({name for text in texts for name in NAME_PATTERN.findall(text)}) - common_stems()
