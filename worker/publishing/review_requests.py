"""Ask code owners for a review of a verdict that needs a person, once per pull request, and never its author.

Reviews of the same commit that came before the verdict are imported as commands. What GitHub refuses is shown on the check and does not
stop the verdict.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from worker.domain.check.check_run import Conclusion
from worker.domain.check.overrides import HumanDecisions, needs_human
from worker.domain.codeowners import Owner, find_owners
from worker.domain.config.command_permissions import COMMAND_RIGHTS, Role, roles_from
from worker.domain.config.config import Review
from worker.domain.dossier import Dossier
from worker.domain.github_events import PullRequestEvent, PullRequestEventKind
from worker.domain.judge_request import CommandName, CommandRequest, JudgeRequest, PullRef
from worker.domain.lifecycle.judging import JudgingCompleted, JudgingOutcome
from worker.domain.model import DeliveryId, EvalId, Sha
from worker.domain.ports import DecisionStore, DeliveryQueue, Ledger, Reviewers, SubmittedReview
from worker.domain.verdict.verdict import Abstain, Accept, Reject
from worker.dossier.diff import diff_or_empty
from worker.errors import Forbidden, RateLimited, SubjectGone, Unavailable
from worker.publishing.texts.check_run import conclusion
from worker.publishing.texts.states import RequestedReviews

LOG: Final = logging.getLogger(__name__)
MAX_OWNERS: Final = 5
"""Owners of most of the changed files come first."""


@dataclass(frozen=True)
class ReviewRequests:
    """Decisions about a head, and requests for them. `review_settings`: the repository's `review`; `is_silent`: the operator declined."""

    decisions: DecisionStore
    commands: DeliveryQueue[CommandRequest]
    reviewers: Reviewers
    review_settings: Callable[[Dossier], Review]
    is_silent: bool = False

    def decisions_for(self, pull: PullRef, head_sha: Sha) -> HumanDecisions:
        return self.decisions.find_decisions(pull, head_sha)

    def request_reviews(
        self, request: JudgeRequest, verdict: Accept | Reject | Abstain, dossier: Dossier
    ) -> RequestedReviews | None:
        """Ask the code owners if this verdict needs a person and blocks a merge, unless they were asked; None: no review is needed."""
        if not needs_human(verdict):
            return None
        decisions = self.decisions_for(request.pull, verdict.subject.head_sha)
        is_decided = decisions.for_base(dossier.pull_request.base_ref).is_deciding(verdict)
        approved = frozenset[str]() if is_decided else self._import_reviews(request, verdict.subject.head_sha)
        review = self.review_settings(dossier)
        is_blocking = dossier.is_required and conclusion(verdict, dossier) is not Conclusion.NEUTRAL
        if not review.codeowners or not is_blocking:
            if not is_decided:
                self._label_once(request, review.label)
            return None
        earlier = self.decisions.find_requested_reviewers(request.pull)
        if earlier is not None:
            return RequestedReviews(earlier, has_owners=bool(earlier))
        if is_decided:
            return None
        try:
            requested = self._request(request, dossier, review, approved)
        except RateLimited:
            raise
        except (
            Forbidden,
            SubjectGone,
            Unavailable,
        ) as refused:  # gone may be the page alone; the judging detects the rest
            LOG.warning("review not requested: %s", refused, extra={"repository": request.repository})
            return RequestedReviews(is_refused=not isinstance(refused, Unavailable))
        if requested is not None and not requested.is_declined:
            self.decisions.record_requested_reviewers(request.pull, requested.names)
        return requested

    def _import_reviews(self, request: JudgeRequest, head_sha: Sha) -> frozenset[str]:
        """Queue the reviews from before the verdict as commands, if one approves; the approving logins."""
        try:
            reviews = [review for review in self.reviewers.list_reviews(request) if review.head_sha == head_sha]
        except RateLimited:
            raise
        except (Forbidden, SubjectGone, Unavailable) as refused:
            LOG.warning("reviews not read: %s", refused, extra={"repository": request.repository})
            return frozenset()
        approved = frozenset(review.review.login.casefold() for review in reviews if review.is_approved)
        for review in reviews if approved else ():
            self.commands.put(_command_of_review(request, review))
        return approved

    def record_outcome(
        self, request: JudgeRequest, outcome: JudgingOutcome, events: DeliveryQueue[PullRequestEvent]
    ) -> None:
        """Record that a requested judging was done, and a contest that it upheld. Idempotent."""
        if (
            not isinstance(outcome, JudgingCompleted)
            or outcome.decisions.rejudge_requested_at is None
            or outcome.decisions.override is not None
        ):
            return
        verdict, head_sha = outcome.verdict, outcome.verdict.subject.head_sha
        if not isinstance(verdict, Abstain):
            self.decisions.record_judged(request.pull, head_sha, outcome.decisions)
        if outcome.decisions.open_contest_reason is None or not (isinstance(verdict, Accept) or needs_human(verdict)):
            return
        entries = outcome.dossier.ledger
        before = [entry for entry in entries if entry.head_sha == head_sha and entry.eval_id != verdict.eval_id]
        if before and isinstance(before[-1].verdict, Reject):
            event = PullRequestEvent(
                what=PullRequestEventKind.CONTEST_UPHELD,
                installation_id=request.pull.installation_id,
                repository_id=request.pull.repository_id,
                number=request.pull.number,
                delivery_id=DeliveryId(f"upheld-{before[-1].eval_id}"),
                at=verdict.created_at,
                head_sha=head_sha,
            )
            events.put(event)

    def _request(
        self, request: JudgeRequest, dossier: Dossier, review: Review, approved: frozenset[str]
    ) -> RequestedReviews | None:
        """Request the reviews; None: an owner approved already."""
        pull = dossier.pull_request
        owners = owners_at_base(self.reviewers, request.pull, dossier)
        if any(owner.team is None and owner.login.casefold() in approved for owner in owners):
            return None
        if self.is_silent:
            return RequestedReviews(is_declined=True, has_owners=bool(owners))
        others = [owner for owner in owners if owner.login.casefold() != pull.author.casefold()][:MAX_OWNERS]
        requested = self.reviewers.request_reviews(request, others) if others else ()
        if review.label is not None:
            self._label(request, review.label)
        return RequestedReviews(tuple(owner.name for owner in requested), has_owners=bool(owners))

    def _label_once(self, request: JudgeRequest, name: str | None) -> None:
        """Add the label where no review is requested: a repository may set it alone."""
        if name is None or self.is_silent or self.decisions.is_labelled(request.pull):
            return
        try:
            self._label(request, name)
        except RateLimited:
            raise
        except Unavailable as refused:
            LOG.warning("label not added: %s", refused, extra={"repository": request.repository})
        else:
            self.decisions.record_labelled(request.pull)

    def _label(self, request: JudgeRequest, name: str) -> None:
        """Add the label; a refusal leaves the requested reviews in place."""
        try:
            self.reviewers.add_label(request, name)
        except (Forbidden, SubjectGone) as refused:
            LOG.warning("label not added: %s", refused, extra={"repository": request.repository})


@dataclass(frozen=True)
class CodeOwnership:
    """Whether a reviewer owns changed code. `dossier_of`: the dossier of a verdict."""

    reviewers: Reviewers
    ledger: Ledger
    dossier_of: Callable[[CommandRequest, EvalId], Dossier]

    def find_owned_base(self, command: CommandRequest, role: Role) -> str | None:
        """The base of the reviewed commit, if its verdict needs a person and the reviewer owns one of its files there.

        The App can't read the members of a team: for a team counts a reviewer who may override.
        """
        entries = [entry for entry in self.ledger.entries(command.pull) if entry.verdict.parent_eval_id is None]
        last = next((entry for entry in reversed(entries) if entry.head_sha == command.head_sha), None)
        if last is None or not needs_human(last.verdict):
            return None
        dossier = self.dossier_of(command, last.eval_id)
        base_ref, owners = dossier.pull_request.base_ref, owners_at_base(self.reviewers, command.pull, dossier)
        is_owner = command.login.casefold() in {owner.login.casefold() for owner in owners if owner.team is None}
        may_override = role in roles_from(COMMAND_RIGHTS[CommandName.OVERRIDE].least_role)
        is_for_team = may_override and any(owner.team is not None for owner in owners)
        return base_ref if is_owner or is_for_team else None


def _command_of_review(request: JudgeRequest, review: SubmittedReview) -> CommandRequest:
    """The review as a command that is submitted now, once per judging."""
    return CommandRequest(
        pull=request.pull,
        repository=request.repository,
        comment_id=None,
        login=review.review.login,
        command=CommandName.APPROVED if review.is_approved else CommandName.CHANGES,
        delivery_id=DeliveryId(f"{request.delivery_id}-review-{review.review.id}"),
        asked_at=review.at,
        head_sha=review.head_sha,
        in_review=True,
        review=review.review,
    )


def owners_at_base(reviewers: Reviewers, pull: PullRef, dossier: Dossier) -> tuple[Owner, ...]:
    """The owners of the changed files by CODEOWNERS of the base commit, which the pull request can't edit."""
    proposed = dossier.pull_request
    written = reviewers.read_codeowners(pull, proposed.repository, proposed.base_sha)
    return find_owners(written or "", changed_paths(dossier))


def changed_paths(dossier: Dossier) -> list[str]:
    """The paths of the changed files."""
    return list(dict.fromkeys(file.path for file in (*diff_or_empty(dossier.diff).files, *dossier.files_unread)))
