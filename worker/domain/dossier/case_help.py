"""What `assay case` reports: a draft of claims for an author to confirm, and a case with its claims checked."""

from dataclasses import dataclass
from typing import Final

from worker.domain.dossier.case import Case
from worker.domain.dossier.dossier import Criterion
from worker.domain.verdict.verdict import ClaimStatus, ClaimVerdict, Finding

CONFIRMATION_MARK: Final = "to be confirmed"
"""A draft's mark behind each place, which its author removes."""


@dataclass(frozen=True)
class DraftClaim:
    """Added lines, as `path:line`, that mention a criterion: of code or documentation, and of tests."""

    criterion: Criterion
    places: tuple[str, ...]
    tests: tuple[str, ...]


@dataclass(frozen=True)
class CheckedCase:
    """Each claim as it was checked, criteria that no claim names among them, and the findings of signals about the case.

    `unread`: fields that are not read. `has_criteria`: whether the criteria are known.
    """

    case: Case
    claims: tuple[ClaimVerdict, ...]
    findings: tuple[Finding, ...]
    unread: tuple[str, ...]
    has_criteria: bool

    @property
    def unconfirmed_count(self) -> int:
        """How many texts still have the mark."""
        texts = [self.case.summary, *(f"{claim.addressed_by} {claim.evidence}" for claim in self.case.ac_coverage)]
        return sum(CONFIRMATION_MARK in text for text in texts)

    @property
    def problem_count(self) -> int:
        """How many claims are not verified, criteria not named and texts not confirmed."""
        return self.unconfirmed_count + sum(claim.status is not ClaimStatus.VERIFIED for claim in self.claims)
