"""Looks up what an author's case claims, as a judging does.

Does not ask a model. Invariant: the answers are those of a judging, by the same functions.
"""

from worker.domain.dossier.case import Case
from worker.domain.dossier.case_help import CheckedCase
from worker.domain.dossier.dossier import Criterion, Dossier
from worker.dossier.diff.parser import diff_of
from worker.judge.checks.claims import check_claims
from worker.judge.checks.evidence import Places
from worker.signals.analysis.change import CodeChange
from worker.signals.registry import SIGNALS
from worker.signals.signal import SignalScope


def check_case(dossier: Dossier, case: Case, unread: tuple[str, ...] = ()) -> CheckedCase:
    """Look up *case* in the change of *dossier*. Raises DiffError for a diff that git did not print."""
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
