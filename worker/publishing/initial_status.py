"""The first status of a head's check: what judging waits for, or why the head is skipped.

Eligibility that needs the whole dossier is left to the judge, and the content of a judge is not overwritten. A check that lets a pull
request pass is written only after GitHub was asked for its author, commits included.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol

from worker.domain.check.check_run import CheckContent
from worker.domain.config.config import Authors, Handling
from worker.domain.github_events import OpenPull, PullSnapshot, RepositoryAdded
from worker.domain.judge_request import HEAD_TRIGGERS, MANUAL_TRIGGERS, AuthorKind, JudgeRequest, PullRef, Trigger
from worker.domain.model import CheckRunId, DeliveryId, InstallationId, RepositoryName, Sha
from worker.domain.ports import CheckRegistry, Clock, JudgeRequests, Ledger
from worker.dossier.authors import (
    AuthorSkipped,
    Eligibility,
    EligibilityInput,
    Eligible,
    classify_author,
    decide_eligibility,
    find_handling,
    with_operator_defaults,
)
from worker.errors import SubjectGone, Unreadable
from worker.log import late_delivery_id
from worker.publishing.check_runs import CheckRunService
from worker.publishing.texts.phrases import CHECK_EXPIRED
from worker.publishing.texts.states import (
    TRIGGER_TEXTS,
    existing_pull_content,
    failed_content,
    idle_content,
    judging_content,
    quiet_window_content,
    started_content,
)

MIN_ANNOUNCED_WAIT: Final = timedelta(seconds=1)
"""A shorter wait is not announced."""

WATCHED_SHARE: Final = 0.5
"""The share of a check's deadline that a wait may take for the deadline to count from its creation."""

MAX_WRITES: Final = 10
"""Checks of preexisting pull requests that are written in a row: GitHub allows few writes a minute."""

CONTINUE_AFTER: Final = timedelta(minutes=1)
"""The pause after them."""

TEXT_TRIGGERS: Final = frozenset({Trigger.EDITED, Trigger.CASE, Trigger.CRITERIA, Trigger.RULES})
"""They leave a check that waits for its verdict as it is."""

QUIET_WINDOW_TRIGGERS: Final = frozenset({Trigger.TEXT, Trigger.REOPENED})
"""They make a verdict stale, and wait for the quiet window: further edits may follow."""


class AuthorListing(Protocol):
    """Authors of pull requests, and the open ones. Raises as PullSource does."""

    def find_author(self, request: JudgeRequest) -> PullSnapshot: ...

    def open_pulls(self, installation: InstallationId, repository: RepositoryName) -> Iterator[OpenPull]: ...


@dataclass(frozen=True)
class InitialStatus:
    """Opens check runs. `operators`: the operator's defaults for `authors`."""

    service: CheckRunService
    checks: CheckRegistry
    pulls: JudgeRequests
    ledger: Ledger
    listing: AuthorListing
    clock: Clock
    operators: Authors
    deadline: timedelta

    def open(self, request: JudgeRequest, head_sha: Sha) -> None:
        """Give a head its check run with its current status. Idempotent, also after a write whose end is unknown."""
        doubtful = self.checks.list_overwritten_heads(request.pull)
        if head_sha in doubtful:
            self.pulls.request_judging(late_request(request))
        outdated = None if request.trigger in HEAD_TRIGGERS else self.checks.find_outdated(request.pull, head_sha)
        is_unchanged = request.trigger in TEXT_TRIGGERS and not request.draft
        if outdated is not None and outdated.trigger is not None:
            self._reopen(request, head_sha, outdated.check, outdated.trigger)
        elif outdated is not None or not (is_unchanged and self.checks.find(request.pull, head_sha).is_present):
            self._open(request, head_sha)
        for sha in doubtful:
            self._repair(request, sha)

    def _repair(self, request: JudgeRequest, head_sha: Sha) -> None:
        """Cancel a check whose content at GitHub is unknown, or register it as open until a judging. Idempotent."""
        check = self.checks.find(request.pull, head_sha).check
        is_left = check is not None and self.service.cancel_stale(request, head_sha, check)
        if check is not None and not is_left and head_sha not in self.checks.open_checks(request.pull):
            self.service.mark_overwritten(request, head_sha, check)
        self.checks.clear_reopened(request.pull, head_sha)

    def _reopen(self, request: JudgeRequest, head_sha: Sha, check: CheckRunId, why: Trigger) -> None:
        """Replace a stale verdict on the check right away, before the judging that is due."""
        content = self._content(request.pull, why) if why in QUIET_WINDOW_TRIGGERS else started_content(why)
        self.checks.mark_reopened(request.pull, head_sha)
        if not self.service.reopen(request, head_sha, check, content):
            self.pulls.request_judging(late_request(request))
        self.pulls.record_outdated(request.pull)
        self.checks.clear_reopened(request.pull, head_sha)

    def _open(self, request: JudgeRequest, head_sha: Sha) -> None:
        eligibility = self._eligibility(request)
        if isinstance(eligibility, Eligible):
            had_verdict = request.trigger in TRIGGER_TEXTS and any(
                entry.head_sha == head_sha for entry in self.ledger.entries(request.pull)
            )
            content = self._content(request.pull, request.trigger if had_verdict else None)
        else:
            content = idle_content(eligibility)
        if is_known := self.checks.find(request.pull, head_sha).is_present:
            self.checks.mark_reopened(request.pull, head_sha)
        if not self.service.open(request, head_sha, content):
            self.pulls.request_judging(late_request(request))
        elif isinstance(eligibility, AuthorSkipped):
            self.pulls.withdraw(request)
        if is_known:
            self.checks.clear_reopened(request.pull, head_sha)

    def expire(self, request: JudgeRequest, head_sha: Sha, check: CheckRunId) -> None:
        """Close a check run past its deadline; a verdict that was shown meanwhile is requested again."""
        if not self.service.expire(request, head_sha, check, failed_content(CHECK_EXPIRED, request.delivery_id)):
            self.pulls.request_judging(late_request(request))

    def _eligibility(self, request: JudgeRequest) -> Eligibility:
        if request.trigger in MANUAL_TRIGGERS:
            return Eligible()
        if request.author is AuthorKind.AGENT:
            inputs = EligibilityInput(author=AuthorKind.AGENT, trigger=request.trigger, draft=request.draft)
            return decide_eligibility(inputs, self.operators)
        snapshot = self.listing.find_author(request)
        if snapshot.authors is None:
            return Eligible()
        inputs = EligibilityInput(
            author=classify_author(snapshot.pull, request.author), trigger=request.trigger, draft=snapshot.pull.draft
        )
        return decide_eligibility(inputs, with_operator_defaults(snapshot.authors, self.operators))

    def _content(self, pull: PullRef, why: Trigger | None) -> CheckContent:
        """The check until it is judged. *why*: what made its verdict stale, if it has one."""
        plan, now = self.pulls.find_plan(pull), self.clock.now()
        if plan is None or plan.due_at - now < MIN_ANNOUNCED_WAIT:
            return started_content(why) if why is Trigger.TEXT else judging_content()
        is_watched = plan.due_at - now < self.deadline * WATCHED_SHARE
        return quiet_window_content(plan.due_at, plan.window_s, is_watched=is_watched, why=why)

    def show_repository_added(self, added: RepositoryAdded) -> bool:
        """Show on the open pull requests of a new repository that they precede Assay; False: more are left.

        A pull request with a record from an earlier installation is judged instead. Idempotent. Raises as PullSource does.
        """
        written = 0
        for open_pull in self.listing.open_pulls(added.installation_id, added.repository):
            pull = PullRef(
                installation_id=added.installation_id, repository_id=added.repository_id, number=open_pull.number
            )
            if open_pull.opened_at >= added.since or self.checks.find(pull, open_pull.head_sha).is_present:
                continue
            delivery_id = DeliveryId(f"greeted-{added.id}-{open_pull.number}-{added.delivery_id}")
            now = self.clock.now()
            request = request_for_open_pull(pull, added.repository, open_pull, Trigger.SWEEP, delivery_id, now)
            if is_known_head(pull, open_pull.head_sha, self.pulls, self.ledger):
                self.pulls.request_judging(request)
                continue
            if written == MAX_WRITES:
                return False
            written += self.show_preexisting(request, open_pull.head_sha)
        return True

    def show_preexisting(self, request: JudgeRequest, head_sha: Sha) -> bool:
        """Show on a pull request that it precedes Assay. False: it is closed by now. Raises as PullSource does."""
        try:
            snapshot = self.listing.find_author(request)
        except SubjectGone:
            return False
        author = classify_author(snapshot.pull, request.author)
        handling = find_handling(author, with_operator_defaults(snapshot.authors or Authors(), self.operators))
        is_blocking = snapshot.is_required and not snapshot.is_passed_unjudged and handling is Handling.JUDGE
        self.service.open(request, head_sha, existing_pull_content(is_blocking=is_blocking))
        self.pulls.record_initial_head(request.pull, head_sha)
        return True


def late_request(request: JudgeRequest) -> JudgeRequest:
    """A request for a judging after a check was written that a judge had begun with: the check may be stale, also about a draft."""
    changes = {"trigger": Trigger.LATE, "delivery_id": late_delivery_id(request.delivery_id), "head_sha": None}
    return request.model_copy(update={**changes, "draft": False})


def is_known_head(pull: PullRef, head_sha: Sha, pulls: JudgeRequests, ledger: Ledger) -> bool:
    """Whether a judging was requested lately, it was ever judged, or it was pushed to since the repository was added."""
    try:
        if pulls.find_request(pull) is not None or ledger.entries(pull):
            return True
    except Unreadable:
        return True  # an entry whose key is missing: the judge shows that on the check
    return pulls.find_initial_head(pull) not in (None, head_sha)


def request_for_open_pull(
    pull: PullRef,
    repository: RepositoryName,
    open_pull: OpenPull,
    trigger: Trigger,
    delivery_id: DeliveryId,
    at: datetime,
) -> JudgeRequest:
    """The request for a pull request that GitHub lists as open."""
    return JudgeRequest(
        pull=pull,
        repository=repository,
        head_sha=open_pull.head_sha,
        trigger=trigger,
        delivery_id=delivery_id,
        requested_at=at,
        author=open_pull.author,
        draft=open_pull.draft,
        base=open_pull.base,
    )
