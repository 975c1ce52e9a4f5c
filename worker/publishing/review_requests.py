"""A verdict that needs a person asks the code owners for their review, once, and says on the check whom it asked.

Who reviewed this very commit before there was a verdict to decide about is heard now. Does not judge and does not decide by whose
review the check goes (`worker.scheduling.commands` does). Invariant: nobody is asked twice at one pull request, the author is never asked, and
what GitHub refuses is said on the check and stops nothing.
"""

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Final

from worker.domain.check.check_run import Conclusion
from worker.domain.check.overrides import Said, asks_a_person
from worker.domain.codeowners import Owner, owners_of
from worker.domain.config.command_permissions import RIGHTS, Role, roles_from
from worker.domain.config.config import Review
from worker.domain.dossier.dossier import Dossier
from worker.domain.ids import DeliveryId, EvalId, Sha
from worker.domain.judging import Judged, Outcome
from worker.domain.ports import CommandQueue, DecisionStore, GivenReview, Ledger, PullRequestEventQueue, Reviewers
from worker.domain.request.judge_request import Ask, CommandName, JudgeRequest, PullRef
from worker.domain.request.pull_request_events import Happened, Happening
from worker.domain.value import Value
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import Abstain, Accept, Reject
from worker.dossier.diff.parser import DiffError, diff_of
from worker.errors import Forbidden, Gone, RateLimited, Unavailable
from worker.publishing.texts.check_run import conclusion
from worker.publishing.texts.overrides import Called

LOG: Final = logging.getLogger(__name__)
MOST_ASKED: Final = 5
"""Who owns most of the changed files comes first."""


class People(Value):
    """What people said about a head, and whom to ask about it. `review_of`: whom the repository wants asked.

    `asks_nobody`: the operator declined that.
    """

    decisions: DecisionStore
    asks: CommandQueue
    reviewers: Reviewers
    review_of: Callable[[Dossier], Review]
    asks_nobody: bool = False

    def said(self, pull: PullRef, head_sha: Sha) -> Said:
        return self.decisions.of(pull, head_sha)

    def call(self, request: JudgeRequest, verdict: Accept | Reject | Abstain, dossier: Dossier) -> Called | None:
        """Ask the code owners, if this verdict needs a person, blocks a merge and nobody was asked yet; None: nobody needs to be asked."""
        if not asks_a_person(verdict):
            return None
        said = self.said(request.pull, verdict.subject.head_sha)
        is_decided = said.into(dossier.pull_request.base_ref).decides(verdict)
        approved = frozenset[str]() if is_decided else self._hear(request, verdict.subject.head_sha)
        review = self.review_of(dossier)
        is_blocking = dossier.is_required and conclusion(verdict, dossier) is not Conclusion.NEUTRAL
        if not review.codeowners or not is_blocking:
            if not is_decided:
                self._only_label(request, review.label)
            return None
        known = self.decisions.called(request.pull)
        if known is not None:
            return Called(known, has_owners=bool(known))
        if is_decided:
            return None
        try:
            called = self._call(request, dossier, review, approved)
        except RateLimited:
            raise
        except (
            Forbidden,
            Gone,
            Unavailable,
        ) as refused:  # Gone: what we asked at; the check tells of the pull request itself
            LOG.warning("nobody was asked for a review: %s", refused, extra={"repository": request.repository})
            return Called(refused=not isinstance(refused, Unavailable))
        if called is not None and not called.is_declined:
            self.decisions.call(request.pull, called.names)
        return called

    def _hear(self, request: JudgeRequest, head_sha: Sha) -> frozenset[str]:
        """Have those reviews looked into that were given before the verdict, if one approves; who approves."""
        try:
            given = [one for one in self.reviewers.given(request) if one.head_sha == head_sha]
        except RateLimited:
            raise
        except (Forbidden, Gone, Unavailable) as refused:
            LOG.warning("nobody knows who reviewed this before: %s", refused, extra={"repository": request.repository})
            return frozenset()
        approved = frozenset(one.review.login.casefold() for one in given if one.is_approved)
        for one in given if approved else ():
            self.asks.put(_ask_of(request, one))
        return approved

    def heard(self, request: JudgeRequest, outcome: Outcome, happenings: PullRequestEventQueue) -> None:
        """What was asked for was done, if somebody decided; and a contest that was right is told. May be called again."""
        if not isinstance(outcome, Judged) or outcome.said.anew_since is None or outcome.said.override is not None:
            return
        verdict, head_sha = outcome.verdict, outcome.verdict.subject.head_sha
        if not isinstance(verdict, Abstain):
            self.decisions.judged(request.pull, head_sha, outcome.said)
        contested = _reject_before(outcome) if outcome.said.open_reason is not None else None
        if contested is not None and (isinstance(verdict, Accept) or asks_a_person(verdict)):
            happenings.put(_upheld(request, contested, verdict.created_at))

    def _call(self, request: JudgeRequest, dossier: Dossier, review: Review, approved: frozenset[str]) -> Called | None:
        """None: nobody needs to be asked, since an owner approved already."""
        pull = dossier.pull_request
        owners = owners_at_base(self.reviewers, request.pull, dossier)
        if any(one.team is None and one.login.casefold() in approved for one in owners):
            return None
        if self.asks_nobody:
            return Called(is_declined=True, has_owners=bool(owners))
        others = [one for one in owners if one.login.casefold() != pull.author.casefold()][:MOST_ASKED]
        asked = self.reviewers.ask(request, others) if others else ()
        if review.label is not None:
            self._label(request, review.label)
        return Called(tuple(one.name for one in asked), has_owners=bool(owners))

    def _only_label(self, request: JudgeRequest, name: str | None) -> None:
        """A label is chosen by itself: it tells of such a verdict where nobody is to be asked, too."""
        if name is None or self.asks_nobody or self.decisions.is_labelled(request.pull):
            return
        try:
            self._label(request, name)
        except RateLimited:
            raise
        except Unavailable as refused:
            LOG.warning("no label was put on: %s", refused, extra={"repository": request.repository})
        else:
            self.decisions.label(request.pull)

    def _label(self, request: JudgeRequest, name: str) -> None:
        """Whom GitHub let us ask is asked, whatever it says to the label."""
        try:
            self.reviewers.label(request, name)
        except (Forbidden, Gone) as refused:
            LOG.warning("no label was put on: %s", refused, extra={"repository": request.repository})


class Owning(Value):
    """Whether somebody's review counts. `dossier_of`: what a verdict was made from."""

    reviewers: Reviewers
    ledger: Ledger
    dossier_of: Callable[[Ask, EvalId], Dossier]

    def owns_into(self, ask: Ask, role: Role) -> str | None:
        """The base of the commit under review, if a person has to decide about that and the reviewer owns a file of it there.

        Of a team nobody tells us the members: for it speaks who may override anyway.
        """
        entries = [one for one in self.ledger.entries(ask.pull) if one.verdict.parent_eval_id is None]
        last = next((one for one in reversed(entries) if one.head_sha == ask.head_sha), None)
        if last is None or not asks_a_person(last.verdict):
            return None
        dossier = self.dossier_of(ask, last.eval_id)
        base_ref, owners = dossier.pull_request.base_ref, owners_at_base(self.reviewers, ask.pull, dossier)
        if role in roles_from(RIGHTS[CommandName.OVERRIDE].least) and any(one.team is not None for one in owners):
            return base_ref
        return (
            base_ref if ask.login.casefold() in {one.login.casefold() for one in owners if one.team is None} else None
        )


def _ask_of(request: JudgeRequest, given: GivenReview) -> Ask:
    """As if it had been submitted now; each judging that comes to such a verdict asks once."""
    return Ask(
        pull=request.pull,
        repository=request.repository,
        comment_id=None,
        login=given.review.login,
        command=CommandName.APPROVED if given.is_approved else CommandName.CHANGES,
        delivery_id=DeliveryId(f"{request.delivery_id}-review-{given.review.id}"),
        asked_at=given.at,
        head_sha=given.head_sha,
        in_review=True,
        review=given.review,
    )


def _reject_before(outcome: Judged) -> LedgerEntry | None:
    """The reject that stood at this head before."""
    head_sha, eval_id = outcome.verdict.subject.head_sha, outcome.verdict.eval_id
    before = [one for one in outcome.dossier.ledger if one.head_sha == head_sha and one.eval_id != eval_id]
    return before[-1] if before and isinstance(before[-1].verdict, Reject) else None


def _upheld(request: JudgeRequest, contested: LedgerEntry, at: datetime) -> Happening:
    return Happening(
        what=Happened.CONTEST_UPHELD,
        installation_id=request.pull.installation_id,
        repository_id=request.pull.repository_id,
        number=request.pull.number,
        delivery_id=DeliveryId(f"upheld-{contested.eval_id}"),
        at=at,
        head_sha=contested.head_sha,
    )


def owners_at_base(reviewers: Reviewers, pull: PullRef, dossier: Dossier) -> tuple[Owner, ...]:
    """Who owns the changed files, by the base commit: a pull request does not choose its own judges."""
    proposed = dossier.pull_request
    written = reviewers.owners(pull, proposed.repository, proposed.base_sha)
    return owners_of(written or "", changed(dossier))


def changed(dossier: Dossier) -> list[str]:
    """The paths of the changed files."""
    try:
        files = [file.path for file in diff_of(dossier.diff).files]
    except DiffError:
        files = []
    return list(dict.fromkeys([*files, *(one.path for one in dossier.files_unread)]))
