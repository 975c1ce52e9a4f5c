"""Complete a dossier: derive what its source left unset. Pure and idempotent."""

from collections.abc import Sequence
from typing import Final

from worker.domain.dossier.case import Case
from worker.domain.dossier.dossier import FAILED_CONCLUSIONS, Ci, CiCheck, CiState, Dossier, PullRequest
from worker.dossier.agents import find_author_agent
from worker.dossier.case import CaseError, read_case

PASSED_CONCLUSIONS: Final = frozenset({"success", "neutral", "skipped"})
"""GitHub's words; what is neither here nor in FAILED (`stale`, or none yet) did not finish."""


def complete_dossier(dossier: Dossier) -> Dossier:
    """Derive what is unset: the author's agent, the criteria, the policy, the case, the state of CI."""
    given_fields = dossier.model_fields_set
    derived: dict[str, object] = {"pull_request": _with_agent(dossier.pull_request), "ci": _ci(dossier)}
    if "criteria" not in given_fields:
        from worker.dossier.criteria import criteria_of  # noqa: PLC0415 - 3 ms that a complete dossier need not pay

        pull = dossier.pull_request
        derived["criteria"] = criteria_of(dossier.issues, pull.title, pull.body)
    if dossier.config and "policy" not in given_fields:
        from worker.dossier.config import build_policy  # noqa: PLC0415 - most repositories have no configuration

        derived["policy"] = build_policy(dossier.config)
    if not given_fields & {"case", "case_error"}:
        derived["case"], derived["case_error"] = _case(dossier.pull_request.body)
    return dossier.model_copy(update=derived)


def _with_agent(pull: PullRequest) -> PullRequest:
    if "author_agent" in pull.model_fields_set:
        return pull
    return pull.model_copy(update={"author_agent": find_author_agent(pull)})


def _case(body: str) -> tuple[Case | None, str | None]:
    match read_case(body):
        case CaseError(message=message):
            return None, message
        case case:
            return case, None


def _ci(dossier: Dossier) -> Ci | None:
    ci = dossier.ci if "ci" in dossier.model_fields_set else Ci()
    if ci is None or ci.state is not None:
        return ci
    return ci.model_copy(update={"state": ci_state(ci.checks)})


def ci_state(checks: Sequence[CiCheck]) -> CiState:
    """What the checks say together: one that failed decides, then one that is not done yet.

    Where every check was skipped or neutral nothing was proved: that is no result, and not green. What is known not to
    be required counts only where nothing else does: the heuristic tier doubts a change by it.
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
