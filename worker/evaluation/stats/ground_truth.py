"""Whether an outcome bears a verdict out. An abstention is never right or wrong; some outcomes tell nothing."""

from collections.abc import Mapping
from typing import Final

from worker.domain.verdict.outcomes import OutcomeKind

BEARS_OUT: Final[Mapping[str, tuple[bool | None, bool | None]]] = {
    OutcomeKind.MERGED: (True, False),
    OutcomeKind.CLOSED_UNMERGED: (False, True),
    OutcomeKind.REOPENED: (None, None),
    OutcomeKind.REVERTED: (False, True),
    OutcomeKind.LATER_FIX: (False, True),
    OutcomeKind.OVERRIDE: (None, False),
    OutcomeKind.OWN_OVERRIDE: (None, None),
    OutcomeKind.CONTEST: (False, False),
    OutcomeKind.CONTEST_UPHELD: (None, False),
    OutcomeKind.HELPFUL: (True, True),
    OutcomeKind.NOT_HELPFUL: (False, False),
    OutcomeKind.RETRY: (None, False),
    OutcomeKind.EDIT_FOLLOWUP: (False, True),
    OutcomeKind.MANUAL_SWAP: (False, True),
    OutcomeKind.CI_RED_LATER: (False, True),
}
"""By outcome: of an accept, of a reject."""


def is_borne_out(decision: str, outcome: str) -> bool | None:
    """Whether the verdict was right, by this outcome; None: it does not tell."""
    accept, reject = BEARS_OUT[outcome]
    match decision:
        case "accept":
            return accept
        case "reject":
            return reject
        case _:
            return None
