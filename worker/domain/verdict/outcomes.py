"""What came of a pull request after it was judged: outcomes, how strongly each speaks, and the event that tells of one.

Does not find out what came of one (`worker.scheduling.outcomes` does) and does not know who did it. Invariant: closed sets, numbers
and times only: no login, no text.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from worker.domain.ids import EvalId, Sha
from worker.domain.model import Frozen
from worker.domain.request.judge_request import PullRef
from worker.domain.verdict.events import EVENT_VERSION, Event, EventKind, Sensitivity, format_timestamp
from worker.domain.verdict.verdict import SubjectKind


class OutcomeKind(StrEnum):
    """What came of it. `contest_upheld`: a contested reject was judged anew, and was none any more. `own_override`: the author's own."""

    MERGED = "merged"
    CLOSED_UNMERGED = "closed_unmerged"
    REOPENED = "reopened"
    REVERTED = "reverted"
    LATER_FIX = "later_fix"
    OVERRIDE = "override"
    OWN_OVERRIDE = "own_override"
    CONTEST = "contest"
    CONTEST_UPHELD = "contest_upheld"
    HELPFUL = "helpful"
    NOT_HELPFUL = "not_helpful"
    RETRY = "retry"
    EDIT_FOLLOWUP = "edit_followup"
    MANUAL_SWAP = "manual_swap"
    CI_RED_LATER = "ci_red_later"


class Strength(StrEnum):
    """How strongly an outcome speaks; the stronger first.

    EXPLICIT: somebody said what they think of the verdict. IMPLICIT: what was done speaks for itself. LIFECYCLE: the pull
    request went on, as they all do.
    """

    EXPLICIT = "explicit"
    IMPLICIT = "implicit"
    LIFECYCLE = "lifecycle"


STRENGTHS: Final[Mapping[OutcomeKind, Strength]] = MappingProxyType(
    {
        OutcomeKind.MERGED: Strength.LIFECYCLE,
        OutcomeKind.CLOSED_UNMERGED: Strength.LIFECYCLE,
        OutcomeKind.REOPENED: Strength.LIFECYCLE,
        OutcomeKind.REVERTED: Strength.IMPLICIT,
        OutcomeKind.LATER_FIX: Strength.IMPLICIT,
        OutcomeKind.RETRY: Strength.IMPLICIT,
        OutcomeKind.EDIT_FOLLOWUP: Strength.IMPLICIT,
        OutcomeKind.MANUAL_SWAP: Strength.IMPLICIT,
        OutcomeKind.CI_RED_LATER: Strength.IMPLICIT,
        OutcomeKind.CONTEST_UPHELD: Strength.IMPLICIT,
        OutcomeKind.OVERRIDE: Strength.EXPLICIT,
        OutcomeKind.OWN_OVERRIDE: Strength.EXPLICIT,
        OutcomeKind.CONTEST: Strength.EXPLICIT,
        OutcomeKind.HELPFUL: Strength.EXPLICIT,
        OutcomeKind.NOT_HELPFUL: Strength.EXPLICIT,
    }
)


class Outcome(Frozen):
    """One outcome. `eval_id`: the latest verdict on a submission that it is about; `at`: when we heard of it."""

    kind: OutcomeKind
    eval_id: EvalId | None = None
    head_sha: Sha | None = None
    at: datetime

    @property
    def strength(self) -> Strength:
        return STRENGTHS[self.kind]


def outcome_event(pull: PullRef, outcome: Outcome) -> Event:
    """`outcome.recorded`."""
    return Event(
        EventKind.OUTCOME,
        {
            "v": EVENT_VERSION,
            "subject_kind": SubjectKind.PULL_REQUEST.value,
            "subject_id": f"{pull.repository_id}/{pull.number}",
            "repository_id": pull.repository_id,
            "number": pull.number,
            "sensitivity": Sensitivity.PSEUDONYMOUS.value,
            "outcome": outcome.kind.value,
            "strength": outcome.strength.value,
            "eval_id": outcome.eval_id,
            "head_sha": outcome.head_sha,
            "at": format_timestamp(outcome.at),
        },
    )
