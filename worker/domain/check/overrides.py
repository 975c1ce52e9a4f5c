"""What people decided about one head of a pull request: overridden, contested, reviewed.

A decision holds for this commit alone. It never changes a verdict, only what its check concludes.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Final

from pydantic import Field

from worker.domain.judge_request import LONGEST_REASON, ReviewRef
from worker.domain.model import EvalId, Frozen
from worker.domain.verdict.verdict import Abstain, AbstainReason, Verdict

BUTTON_REASON: Final = "pressed Contest"
"""The reason of a contest by the button, which takes no text."""

HUMAN_REASONS: Final = frozenset({AbstainReason.NEEDS_HUMAN, AbstainReason.TOO_LARGE})
"""The abstentions that a person's review decides."""


class HumanDecision(Frozen):
    """`eval_id`: the verdict that was shown then, if there was one."""

    login: Annotated[str, Field(min_length=1)]
    reason: Annotated[str, Field(max_length=LONGEST_REASON)] = ""
    at: datetime
    eval_id: EvalId | None = None


class Override(HumanDecision):
    """An override: this head passes. `is_own`: by the repository's only maintainer, on their own pull request."""

    is_own: bool = False


class Contest(HumanDecision):
    """A contest: the verdict is wrong, and why."""


class ReviewDecision(HumanDecision):
    """A code owner's review of this head; the newest counts. `review_id`: GitHub's number of it, where it was recorded.

    `base_ref`: the branch whose CODEOWNERS name its author; an earlier version did not record it.
    """

    is_approved: bool
    review_id: int | None = None
    base_ref: str | None = None

    def is_valid_for(self, base_ref: str) -> bool:
        """Whether its author owns files of this branch."""
        return self.base_ref in (None, base_ref)

    def matches(self, review: ReviewRef) -> bool:
        return self.login == review.login if self.review_id is None else self.review_id == review.id


class ReviewDismissal(HumanDecision):
    """The review that had decided was dismissed: `of` wrote it."""

    of: Annotated[str, Field(min_length=1)]


@dataclass(frozen=True)
class HumanDecisions:
    """All that people decided about one head. `dismissed`: where no review followed.

    `contested_at`, `forced_at`: when a judging was requested that has not happened yet, for a contest or without one.
    """

    override: Override | None = None
    contest: Contest | None = None
    review: ReviewDecision | None = None
    contested_at: datetime | None = None
    forced_at: datetime | None = None
    dismissed: ReviewDismissal | None = None

    @property
    def rejudge_requested_at(self) -> datetime | None:
        """Verdicts from before this moment do not count; None: the recorded one does."""
        return max((at for at in (self.contested_at, self.forced_at) if at is not None), default=None)

    @property
    def open_contest_reason(self) -> str | None:
        """The reason of a contest that has not been judged yet."""
        return self.contest.reason if self.contest is not None and self.contested_at is not None else None

    def for_base(self, base_ref: str) -> "HumanDecisions":
        """The decisions that count for this base: without a review by an owner of another branch's files."""
        return self if self.review is None or self.review.is_valid_for(base_ref) else replace(self, review=None)

    def is_deciding(self, verdict: Verdict | None) -> bool:
        """Whether a person concludes the check, and not the verdict (None: there is none)."""
        return self.override is not None or (self.review is not None and needs_human(verdict))


NO_DECISIONS: Final = HumanDecisions()


def dump_decisions(decisions: HumanDecisions) -> dict[str, Any]:
    """The decisions as JSON, by kind."""
    by_kind: dict[str, HumanDecision | None] = {
        "override": decisions.override,
        "review": decisions.review,
        "dismissed": decisions.dismissed,
        "contest": decisions.contest,
    }
    return {kind: decision.model_dump(mode="json") for kind, decision in by_kind.items() if decision is not None}


def needs_human(verdict: Verdict | None) -> bool:
    """Whether this verdict leaves the decision to a person."""
    return isinstance(verdict, Abstain) and verdict.abstain_reason in HUMAN_REASONS
