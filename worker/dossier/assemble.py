"""Complete a dossier: derive what its source left unset. Pure and idempotent."""

from collections.abc import Sequence
from typing import Final

from worker.domain.dossier import FAILED_CONCLUSIONS, Ci, CiCheck, CiState, Dossier
from worker.dossier.authors import find_author_agent
from worker.dossier.case import CaseError, read_case
from worker.dossier.issues import criteria_of

PASSED_CONCLUSIONS: Final = frozenset({"success", "neutral", "skipped"})
"""GitHub's words; a check with one that is neither here nor in FAILED_CONCLUSIONS (`stale`, or none yet) did not finish."""


def complete_dossier(dossier: Dossier) -> Dossier:
    """Derive what is unset: the author's agent, the criteria, the policy, the case, the state of CI."""
    given_fields, pull = dossier.model_fields_set, dossier.pull_request
    derived: dict[str, object] = {}
    if "author_agent" not in pull.model_fields_set:
        derived["pull_request"] = pull.model_copy(update={"author_agent": find_author_agent(pull)})
    ci = dossier.ci if "ci" in given_fields else Ci()
    if ci is not None and ci.state is None:
        derived["ci"] = ci.model_copy(update={"state": ci_state(ci.checks)})
    if "criteria" not in given_fields:
        derived["criteria"] = criteria_of(dossier.issues, pull.title, pull.body)
    if dossier.config and "policy" not in given_fields:
        from worker.dossier.config import build_policy  # noqa: PLC0415 - most repositories have no configuration

        derived["policy"] = build_policy(dossier.config)
    if not given_fields & {"case", "case_error"}:
        case = read_case(pull.body)
        derived["case"] = None if isinstance(case, CaseError) else case
        derived["case_error"] = case.message if isinstance(case, CaseError) else None
    return dossier.model_copy(update=derived)


def ci_state(checks: Sequence[CiCheck]) -> CiState:
    """The state of all checks: one that failed decides, then one that did not finish.

    Checks that were all skipped or neutral prove nothing: that is no result, and not green. A check that is known not to be
    required counts only where there is no other: the heuristic tier doubts a change by it.
    """
    if not checks:
        return CiState.MISSING
    counting = [check for check in checks if check.required is not False] or checks
    conclusions = {check.conclusion for check in counting}
    if conclusions & FAILED_CONCLUSIONS:
        return CiState.FAILURE
    if not conclusions <= PASSED_CONCLUSIONS:
        return CiState.PENDING
    return CiState.SUCCESS if "success" in conclusions else CiState.MISSING
