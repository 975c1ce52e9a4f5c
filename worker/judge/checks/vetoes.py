"""Code's vetoes on a model's decision: contradicted claims, missing proof, wrong reasons, open suspicions.

A veto never rejects: it leaves the decision to a person, and the model's opinion stays on record. Facts and unread files are vetoes
too, in `worker.judge.llm.model_judge`.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.verdict.opinion import Leaning, ModelOpinion
from worker.domain.verdict.verdict import ClaimStatus, ClaimVerdict, CriterionStatus
from worker.judge import texts
from worker.judge.checks.claims import names_criterion
from worker.judge.checks.missing_names import find_refuted_claim
from worker.judge.checks.missing_rules import find_missing_rule
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


def apply_vetoes(ruling: Ruling, opinion: ModelOpinion, bundle: EvidenceBundle) -> Ruling:
    """The same ruling, or a person's to decide."""
    untested = criteria_without_test(opinion, bundle)
    no_test = {"status": CriterionStatus.MISSING, "evidence": (), "note": texts.NO_TEST}
    ruling = _with_criteria(ruling, untested, no_test)
    match ruling.decision:
        case "reject":
            return _check_reject(ruling, opinion, bundle)
        case "accept":
            return _check_accept(ruling, opinion, bundle)
        case _:
            return ruling


def _with_criteria(ruling: Ruling, ids: Collection[str], update: Mapping[str, object]) -> Ruling:
    """The ruling with these criteria changed."""
    criteria = (entry.model_copy(update=update) if entry.id in ids else entry for entry in ruling.criteria)
    return replace(ruling, criteria=tuple(criteria))


def _check_reject(ruling: Ruling, opinion: ModelOpinion, bundle: EvidenceBundle) -> Ruling:
    if claim := find_refuted_claim(opinion, bundle.dossier):
        wording = texts.name_exists(claim.name, claim.path, claim.line, is_taken=claim.is_imported)
        return _veto(ruling, wording, "names")
    if rule := find_missing_rule(opinion, bundle.dossier):
        return _veto(ruling, texts.rule_not_found(rule), "rules")
    survival = survival_of(opinion, bundle)
    if survival is None:
        return ruling
    if survival.is_empty:
        wording = texts.reject_not_supported(opinion.concern, survival.refused)
        return _veto(replace(ruling, evidence=()), wording, "change")
    unmet = {criterion.id for criterion in opinion.criteria if criterion.status in UNMET}
    unverifiable = {"status": CriterionStatus.UNVERIFIABLE, "note": texts.MENTIONED_THOUGH_UNMET}
    ruling = _with_criteria(ruling, unmet - survival.criteria, unverifiable)
    return replace(ruling, evidence=survival.evidence)


def _check_accept(ruling: Ruling, opinion: ModelOpinion, bundle: EvidenceBundle) -> Ruling:
    against = next(contradicted_claims(bundle), None)
    if against is not None:
        return _veto(ruling, texts.contradicted(*against), "claims")
    if bare := criteria_shown_without_code(opinion, bundle):
        return _veto(ruling, texts.shown_by_tests_alone(bare), "evidence")
    if untested := criteria_without_test(opinion, bundle):
        return _veto(ruling, texts.met_without_a_test(untested), "tests")
    if left := [suspicion.finding for suspicion in find_unanswered(opinion, bundle)]:
        return _veto(ruling, texts.suspicions_unanswered(left), SUSPICIONS_SIGNAL)
    return ruling


def _veto(ruling: Ruling, concern_and_step: tuple[str, str], why: str) -> Ruling:
    return leave_to_person(ruling, concern_and_step, ruling.decision, vetoed_by=why)


def contradicted_claims(bundle: EvidenceBundle) -> Iterator[tuple[str, ClaimVerdict]]:
    """Each criterion with a contradicted claim."""
    case = bundle.dossier.case
    for claim, checked in zip(case.ac_coverage if case else (), bundle.claims, strict=False):
        if checked.status is ClaimStatus.CONTRADICTED:
            yield from ((criterion.id, checked) for criterion in bundle.criteria if names_criterion(claim, criterion))


def find_question(opinion: ModelOpinion, bundle: EvidenceBundle, asked: Collection[str] = ()) -> str | None:
    """The correction for an opinion that a veto would stop. *asked*: ids of the suspicions in the question."""
    match opinion.decision:
        case Leaning.REJECT:
            return _question_of_reject(opinion, bundle)
        case Leaning.ACCEPT:
            return _question_of_accept(opinion, bundle, asked)
        case _:
            return None


def _question_of_reject(opinion: ModelOpinion, bundle: EvidenceBundle) -> str | None:
    if claim := find_refuted_claim(opinion, bundle.dossier):
        return texts.look_at_name(claim.name, claim.path, claim.line, is_taken=claim.is_imported)
    if rule := find_missing_rule(opinion, bundle.dossier):
        return texts.look_for_rule(rule)
    survival = survival_of(opinion, bundle)
    return texts.no_finding_survives(survival.refused) if survival and survival.is_empty else None


def _question_of_accept(opinion: ModelOpinion, bundle: EvidenceBundle, asked: Collection[str]) -> str | None:
    if bare := criteria_shown_without_code(opinion, bundle):
        return texts.look_at_code(bare)
    if bundle.opinion.facts:
        return None
    if untested := criteria_without_test(opinion, bundle):
        return texts.look_for_a_test(untested)
    left = [suspicion.id for suspicion in find_unanswered(opinion, bundle) if suspicion.id in asked]
    return texts.settle_suspicions(left) if left else None


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
