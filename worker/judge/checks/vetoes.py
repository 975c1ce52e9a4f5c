"""Code's vetoes on a model's decision: contradicted claims, missing proof, wrong reasons, open suspicions.

A veto never rejects: it leaves the decision to a person, and the model's opinion stays on record. Facts and unread files are vetoes
too, in `worker.judge.llm.model_judge`.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import ClaimStatus, ClaimVerdict, CriterionStatus, Leaning, ModelOpinion
from worker.judge import texts
from worker.judge.checks.claims import names_criterion
from worker.judge.checks.missing import find_missing_rule, find_refuted_claim
from worker.judge.checks.survival import survival_of
from worker.judge.checks.suspicions import find_unanswered
from worker.judge.rulings import UNMET, EvidenceBundle, Ruling, leave_to_person
from worker.signals.acceptance_gap.criteria_not_met import find_untested_criteria
from worker.signals.analysis.change import CodeChange
from worker.signals.analysis.file_roles import FileRole, role_of

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
                yield Veto("claims", *texts.contradicted(criterion, claim))
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
