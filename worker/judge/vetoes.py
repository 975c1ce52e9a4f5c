"""What code holds against the model's word: claims, tests for code, names that are there, rules that are not, findings that do not survive.

Asks nobody. Facts and unread files are vetoes, too, and stand where the ruling is made (`worker.judge.model_judge`). Invariant:
nothing here rejects: what is vetoed is a person's to decide, and the model's opinion stays on record.
"""

from collections.abc import Collection, Iterator
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.value import replace
from worker.domain.verdict.opinion import Leaning, ModelOpinion
from worker.domain.verdict.verdict import ClaimStatus, ClaimVerdict, CriterionStatus, CriterionVerdict
from worker.judge import texts
from worker.judge.checks.claims import names_criterion
from worker.judge.checks.missing_names import find_refuted_claim
from worker.judge.checks.missing_rules import find_missing_rule
from worker.judge.checks.survival import Survival, survival_of
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
"""What a criterion says that a test, a text or a run may meet."""


SUSPICIONS_SIGNAL: Final = "suspicions"
"""Why an accept is a person's that answers what code suspects with no line that could settle it."""


def apply_vetoes(ruling: Ruling, opinion: ModelOpinion, bundle: EvidenceBundle) -> Ruling:
    """The same ruling, or a person's."""
    untested = criteria_without_test(opinion, bundle)
    ruling = replace(
        ruling,
        criteria=tuple(
            _without_test(criterion) if criterion.id in untested else criterion for criterion in ruling.criteria
        ),
    )
    match ruling.decision:
        case "reject":
            return _check_reject(ruling, opinion, bundle)
        case "accept":
            return _check_accept(ruling, opinion, bundle)
        case _:
            return ruling


def _without_test(criterion: CriterionVerdict) -> CriterionVerdict:
    return criterion.model_copy(update={"status": CriterionStatus.MISSING, "evidence": (), "note": texts.NO_TEST})


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
    return _with_survivors(ruling, survival, unmet - survival.criteria)


def _check_accept(ruling: Ruling, opinion: ModelOpinion, bundle: EvidenceBundle) -> Ruling:
    against = next(contradicted_claims(bundle), None)
    if against is not None:
        return _veto(ruling, texts.contradicted(*against), "claims")
    if bare := criteria_shown_without_code(opinion, bundle):
        return _veto(ruling, texts.shown_by_tests_alone(bare), "evidence")
    if untested := criteria_without_test(opinion, bundle):
        return _veto(ruling, texts.met_without_a_test(untested), "tests")
    left = find_unanswered(opinion, bundle)
    return (
        _veto(ruling, texts.suspicions_unanswered([suspicion.finding for suspicion in left]), SUSPICIONS_SIGNAL)
        if left
        else ruling
    )


def _veto(ruling: Ruling, concern_and_step: tuple[str, str], why: str) -> Ruling:
    return leave_to_person(ruling, concern_and_step, ruling.decision, vetoed_by=why)


def _with_survivors(ruling: Ruling, survival: Survival, refuted: Collection[str]) -> Ruling:
    """The reject without what the change speaks against."""
    criteria = tuple(
        criterion.model_copy(update={"status": CriterionStatus.UNVERIFIABLE, "note": texts.MENTIONED_THOUGH_UNMET})
        if criterion.id in refuted
        else criterion
        for criterion in ruling.criteria
    )
    return replace(ruling, evidence=survival.evidence, criteria=criteria)


def contradicted_claims(bundle: EvidenceBundle) -> Iterator[tuple[str, ClaimVerdict]]:
    """Each criterion that the author says is met somewhere where it is known not to be, with that claim."""
    case = bundle.dossier.case
    for claim, checked in zip(case.ac_coverage if case else (), bundle.claims, strict=False):
        if checked.status is ClaimStatus.CONTRADICTED:
            yield from ((criterion.id, checked) for criterion in bundle.criteria if names_criterion(claim, criterion))


def find_question(opinion: ModelOpinion, bundle: EvidenceBundle, asked: Collection[str] = ()) -> str | None:
    """What the model is asked about where it looked, if that can't have been enough. *asked*: the suspicions that it was told of."""
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
    """The criteria that ask for a test and are called met by a change that adds to none."""
    untested = find_untested_criteria(CodeChange(bundle.dossier))
    return tuple(
        criterion.id
        for criterion in opinion.criteria
        if criterion.status is CriterionStatus.MET and criterion.id in untested
    )


def criteria_shown_without_code(opinion: ModelOpinion, bundle: EvidenceBundle) -> tuple[str, ...]:
    """The criteria of code that an accept shows by tests or texts only, though the change holds code."""
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
