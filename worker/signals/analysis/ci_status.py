"""What the validators' history says beside their result.

Does not decide on failed validators (`worker.judge.checks.ci_status` does). Invariant: only what is known counts; a check
whose attempts nobody told passed at the first.
"""

from typing import Final

from worker.domain.dossier.dossier import Ci, CiCheck

FAILED_OUTCOMES: Final = frozenset({"failure", "timed_out", "startup_failure", "action_required", "cancelled", "error"})


def find_ci_doubt(ci: Ci | None) -> str | None:
    """A clause that names the first check that speaks against the change although CI is green; None without one."""
    checks = ci.checks if ci is not None else ()
    return next((doubt for doubt in map(_find_check_doubt, checks) if doubt is not None), None)


def _find_check_doubt(check: CiCheck) -> str | None:
    if check.required is False and check.conclusion in FAILED_OUTCOMES:
        return f"{check.name} failed, though it is not required"
    if check.required and check.conclusion == "success" and check.attempt > 1:
        return f"{check.name} passed only at attempt {check.attempt}"
    return None
