"""What people decided about one head of a pull request: overridden, contested, reviewed.

A decision holds for this commit alone. It never changes a verdict, only what its check concludes.
"""

from datetime import datetime
from typing import Annotated, Any, Final

from pydantic import Field

from worker.domain.ids import EvalId
from worker.domain.model import Frozen
from worker.domain.request.judge_request import LONGEST_REASON, ReviewRef
from worker.domain.value import Value, replace
from worker.domain.verdict.verdict import Abstain, AbstainReason, Verdict

BUTTON_REASON: Final = "pressed Contest"
"""The reason of who contests by a button, which takes no words."""

HUMAN_REASONS: Final = frozenset({AbstainReason.NEEDS_HUMAN, AbstainReason.TOO_LARGE})
"""What a person's review decides."""


class HumanDecision(Frozen):
    """`eval_id`: the verdict that stood there then, if there was one."""

    login: Annotated[str, Field(min_length=1)]
    reason: Annotated[str, Field(max_length=LONGEST_REASON)] = ""
    at: datetime
    eval_id: EvalId | None = None


class Override(HumanDecision):
    """Somebody lets this head pass. `is_own`: the only maintainer of the repository, whose own pull request it is."""

    is_own: bool = False


class Contest(HumanDecision):
    """Somebody says that the verdict is wrong, and why."""


class ReviewDecision(HumanDecision):
    """A code owner's review of this head; the newest counts. `review_id`: GitHub's number of it, where it was noted.

    `base_ref`: the branch whose CODEOWNERS name who wrote it; an earlier version did not note it.
    """

    is_approved: bool
    review_id: int | None = None
    base_ref: str | None = None

    def is_valid_for(self, base_ref: str) -> bool:
        """Whether who owns files of one branch may decide what goes into this one."""
        return self.base_ref in (None, base_ref)

    def matches(self, review: ReviewRef) -> bool:
        return self.login == review.login if self.review_id is None else self.review_id == review.id


class ReviewDismissal(HumanDecision):
    """Somebody took back the review that had decided: `of` wrote it."""

    of: Annotated[str, Field(min_length=1)]


class HumanDecisions(Value):
    """All that people said about one head. `dismissed`: where no review came after that.

    `contested_at`, `forced_at`: when it was asked to be judged anew, for a contest or without one, and nobody did so yet.
    """

    override: Override | None = None
    contest: Contest | None = None
    review: ReviewDecision | None = None
    contested_at: datetime | None = None
    forced_at: datetime | None = None
    dismissed: ReviewDismissal | None = None

    @property
    def rejudge_requested_at(self) -> datetime | None:
        """No verdict from before this moment is good enough; None: the recorded one is."""
        return max((at for at in (self.contested_at, self.forced_at) if at is not None), default=None)

    @property
    def open_contest_reason(self) -> str | None:
        """What is held against the verdict, as long as nobody judged it."""
        return self.contest.reason if self.contest is not None and self.contested_at is not None else None

    def for_base(self, base_ref: str) -> "HumanDecisions":
        """What counts of it for a pull request into this branch: not the review of who owns files of another one."""
        return self if self.review is None or self.review.is_valid_for(base_ref) else replace(self, review=None)

    def is_deciding(self, verdict: Verdict | None) -> bool:
        """Whether a person's word concludes the check, and not the verdict (None: there is none)."""
        return self.override is not None or (self.review is not None and needs_human(verdict))


NO_DECISIONS: Final = HumanDecisions()


def dump_decisions(decisions: HumanDecisions) -> dict[str, Any]:
    """What was said, by kind; empty where nothing was."""
    by_kind = {
        "override": decisions.override,
        "review": decisions.review,
        "dismissed": decisions.dismissed,
        "contest": decisions.contest,
    }
    return {kind: word.model_dump(mode="json") for kind, word in by_kind.items() if word is not None}


def needs_human(verdict: Verdict | None) -> bool:
    """Whether this verdict leaves the decision to a person."""
    return isinstance(verdict, Abstain) and verdict.abstain_reason in HUMAN_REASONS
