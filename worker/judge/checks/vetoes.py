"""Code's vetoes on a model's decision: contradicted claims, missing proof, wrong reasons, open suspicions.

A veto never rejects: it leaves the decision to a person, and the model's opinion stays on record. Facts and unread files are vetoes
too, in `worker.judge.llm.model_judge`. What the change bears out of a reject survives; whether that is right is not decided here.
A criterion survives as missing if the change does not mention it and the reject speaks of it or of a place that survives. A place
survives if code suspects the same there or the reject's words are about it. Facts and open conditions need neither.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import (
    Category,
    ClaimStatus,
    ClaimVerdict,
    ConditionState,
    CriterionStatus,
    CriterionVerdict,
    EvidencePointer,
    Leaning,
    ModelOpinion,
)
from worker.judge import texts
from worker.judge.checks.claims import names_criterion
from worker.judge.checks.missing import find_missing_rule, find_refuted_claim, names_a_rule
from worker.judge.checks.suspicions import find_unanswered, lines_near, stems_in
from worker.judge.rulings import UNMET, EvidenceBundle, Ruling, leave_to_person
from worker.signals.acceptance_gap.criteria_not_met import find_untested_criteria, is_mentioned
from worker.signals.analysis.change import CodeChange
from worker.signals.analysis.file_roles import FileRole, role_of
from worker.signals.scope_creep.unrelated_file import is_apart

_TEXT: Final = pattern(
    r"\.(?:md|mdx|markdown|rst|txt|adoc|asciidoc|org|tex)$|(?:^|/)(?:LICENSE|NOTICE|AUTHORS|CHANGELOG)$"
)
_NOT_ABOUT_CODE: Final = pattern(
    r"(?i)\b(?:tests?|tested|testing|covers?|covered|coverage|assert\w*|specs?|fixtures?|ci|lint\w*|build|pipeline|workflow"
    r"|docs?|document\w*|readme|changelog|comments?|docstrings?|examples?|guides?|tutorials?|wording|typos?|notes?)\b"
)
"""A criterion with these words may be met by a test, a text or a run."""

SUSPICIONS_SIGNAL: Final = "suspicions"
"""`vetoed_by` of an accept that leaves a suspicion open."""

SHOWN_BY_TESTS: Final = "evidence"
UNSUPPORTED: Final = "change"


@dataclass(frozen=True)
class Veto:
    """`kind`: the verdict's `vetoed_by`. `question`: asked of the model before the veto, where it can correct itself."""

    kind: str
    concern: str
    next_step: str
    question: str | None = None


def apply_vetoes(ruling: Ruling, opinion: ModelOpinion, bundle: EvidenceBundle) -> Ruling:
    """The same ruling, or a person's to decide."""
    untested = criteria_without_test(opinion, bundle)
    ruling = _with_criteria(ruling, untested, CriterionStatus.MISSING, evidence=(), note=texts.NO_TEST)
    if ruling.decision == "abstain":
        return ruling
    veto = next(_vetoes_of(opinion, bundle), None)
    if veto is not None:
        bare = replace(ruling, evidence=()) if veto.kind == UNSUPPORTED else ruling
        return leave_to_person(bare, (veto.concern, veto.next_step), ruling.decision, vetoed_by=veto.kind)
    survival = survival_of(opinion, bundle) if ruling.decision == "reject" else None
    if survival is None:
        return ruling
    unmet = {criterion.id for criterion in opinion.criteria if criterion.status in UNMET}
    refuted = unmet - survival.criteria
    ruling = _with_criteria(ruling, refuted, CriterionStatus.UNVERIFIABLE, note=texts.MENTIONED_THOUGH_UNMET)
    return replace(ruling, evidence=survival.evidence)


def _with_criteria(ruling: Ruling, ids: Collection[str], status: CriterionStatus, **changes: object) -> Ruling:
    update = {"status": status, **changes}
    criteria = (entry.model_copy(update=update) if entry.id in ids else entry for entry in ruling.criteria)
    return replace(ruling, criteria=tuple(criteria))


def find_question(opinion: ModelOpinion, bundle: EvidenceBundle, asked: Collection[str] = ()) -> str | None:
    """The correction for an opinion that a veto would stop. *asked*: ids of the suspicions in the question."""
    vetoes = (veto for veto in _vetoes_of(opinion, bundle, asked) if veto.question)
    veto = next(vetoes, None)
    is_moot = opinion.decision is Leaning.ACCEPT and bundle.opinion.facts and veto and veto.kind != SHOWN_BY_TESTS
    return veto.question if veto and not is_moot else None


def _vetoes_of(opinion: ModelOpinion, bundle: EvidenceBundle, asked: Collection[str] = ()) -> Iterator[Veto]:
    """What code holds against the decision, the most important first."""
    match opinion.decision:
        case Leaning.REJECT:
            if claim := find_refuted_claim(opinion, bundle.dossier):
                yield Veto("names", *texts.name_exists(claim.name, claim.path, claim.line, is_taken=claim.is_imported))
            if rule := find_missing_rule(opinion, bundle.dossier):
                yield Veto("rules", *texts.rule_not_found(rule))
            survival = survival_of(opinion, bundle)
            if survival is not None and survival.is_empty:
                yield Veto(UNSUPPORTED, *texts.reject_not_supported(opinion.concern, survival.refused))
        case Leaning.ACCEPT:
            for criterion, claim in contradicted_claims(bundle):
                yield Veto("claims", *texts.claim_contradicted(criterion, claim))
            if bare := criteria_shown_without_code(opinion, bundle):
                yield Veto(SHOWN_BY_TESTS, *texts.shown_by_tests_alone(bare))
            if untested := criteria_without_test(opinion, bundle):
                yield Veto("tests", *texts.met_without_a_test(untested))
            if left := find_unanswered(opinion, bundle):
                question = texts.settle_suspicions([suspicion.id for suspicion in left if suspicion.id in asked])
                findings = [suspicion.finding for suspicion in left]
                yield Veto(SUSPICIONS_SIGNAL, *texts.suspicions_unanswered(findings), question)
        case _:
            return


def contradicted_claims(bundle: EvidenceBundle) -> Iterator[tuple[str, ClaimVerdict]]:
    """Each criterion with a contradicted claim."""
    case = bundle.dossier.case
    for claim, checked in zip(case.ac_coverage if case else (), bundle.claims, strict=False):
        if checked.status is ClaimStatus.CONTRADICTED:
            yield from ((criterion.id, checked) for criterion in bundle.criteria if names_criterion(claim, criterion))


def criteria_without_test(opinion: ModelOpinion, bundle: EvidenceBundle) -> tuple[str, ...]:
    """The criteria that ask for a test and are called met, though the change adds to no test."""
    untested = find_untested_criteria(CodeChange(bundle.dossier))
    met = (criterion.id for criterion in opinion.criteria if criterion.status is CriterionStatus.MET)
    return tuple(name for name in met if name in untested)


def criteria_shown_without_code(opinion: ModelOpinion, bundle: EvidenceBundle) -> tuple[str, ...]:
    """The criteria about code that an accept shows by tests or texts only, though the change contains code."""
    if opinion.decision is not Leaning.ACCEPT or all(is_test_or_text(file.path) for file in bundle.diff.files):
        return ()
    of_code = {criterion.id for criterion in bundle.criteria if not _NOT_ABOUT_CODE.search(criterion.text)}
    return tuple(
        criterion.id
        for criterion in opinion.criteria
        if criterion.id in of_code and all(is_test_or_text(pointer.path) for pointer in criterion.evidence)
    )


def is_test_or_text(path: str) -> bool:
    return role_of(path) is FileRole.TEST or _TEXT.search(path) is not None


TEXT_SUFFIXES: Final = (".md", ".rst", ".txt", ".adoc")


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
    if all(file.path.endswith(TEXT_SUFFIXES) for file in change.files):
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
