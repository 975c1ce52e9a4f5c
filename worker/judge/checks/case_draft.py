"""The author's help for a case: draft its claims, and check them by the functions that judging uses."""

from worker.domain.dossier.case import Case
from worker.domain.dossier.case_help import CheckedCase, DraftClaim
from worker.domain.dossier.dossier import Criterion, Dossier
from worker.dossier.diff.parser import diff_of
from worker.judge.checks.claims import check_claims
from worker.judge.checks.evidence import Places
from worker.signals.acceptance_gap.change_index import build_index, find_terms
from worker.signals.analysis.change import CodeChange
from worker.signals.analysis.file_roles import FileRole, role_of
from worker.signals.registry import SIGNALS
from worker.signals.signal import SignalScope


def draft_claims(dossier: Dossier) -> tuple[DraftClaim, ...]:
    """One claim for each listed criterion, with the added lines that share its words: the author confirms each place.

    A criterion that asks for a test is met by one. Raises DiffError for a diff that git did not print.
    """
    change = CodeChange(dossier)
    index = build_index(change)
    terms_by_id = {terms.criterion.id: terms for terms in find_terms(change)}
    drafts: list[DraftClaim] = []
    for criterion in dossier.criteria or ():
        if criterion.inferred:
            continue
        terms = terms_by_id.get(criterion.id)
        pointers = index.find_evidence(terms) if terms else ()
        tests = tuple(pointer.location for pointer in pointers if role_of(pointer.path) is FileRole.TEST)
        places = tuple(pointer.location for pointer in pointers if role_of(pointer.path) is not FileRole.TEST)
        is_test = not places or (tests and terms and terms.is_about_tests)
        drafts.append(DraftClaim(criterion, tests, ()) if is_test else DraftClaim(criterion, places, tests))
    return tuple(drafts)


def check_case(dossier: Dossier, case: Case, unread: tuple[str, ...] = ()) -> CheckedCase:
    """Check *case* against the change of *dossier*. Raises DiffError for a diff that git did not print."""
    asked = tuple(criterion for criterion in dossier.criteria or () if not criterion.inferred)
    names = dict.fromkeys(claim.criterion for claim in case.ac_coverage)
    criteria = asked or tuple(Criterion(id=name, text=name) for name in names)  # to look the places up all the same
    whole = dossier.model_copy(update={"case": case, "criteria": criteria})
    change = CodeChange(whole)
    findings = (
        finding for signal in SIGNALS if signal.scope is SignalScope.CASE for finding in signal.findings(change)
    )
    return CheckedCase(
        case=case,
        claims=check_claims(whole, diff_of(whole.diff), Places(whole)),
        findings=tuple(findings),
        unread=unread,
        has_criteria=bool(asked),
    )
