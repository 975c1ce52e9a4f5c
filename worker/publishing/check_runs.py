"""Publish a verdict as a check run.

A head commit has one check run. Each write of a judge renews its lease first, and a conclusion is held back once something that the
verdict depends on changed. Where the head moved, its check is cancelled and names the newer commit. Pull requests that share a head
show the strictest of their states.
"""

import contextlib
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Protocol

from worker.domain.check.check_run import CheckContent, UploadRefusal
from worker.domain.check.overrides import NO_DECISIONS, HumanDecisions
from worker.domain.check.shared_head import (
    CommitRef,
    SharedHeadMember,
    SharedHeadState,
    Strictness,
    check_state,
    find_strictest,
    hash_content,
    strictness_of,
)
from worker.domain.dossier import Dossier
from worker.domain.judge_request import HEAD_TRIGGERS, JudgeRequest, PullRef, Trigger
from worker.domain.lifecycle.judging import CiWait, FindHead
from worker.domain.model import CheckRunId, Sha
from worker.domain.ports import CheckPublisher, CheckRegistry, Fence, JudgeRequests, Lease, PullSource, SharedHeads
from worker.domain.verdict.verdict import Abstain, Accept, Reject
from worker.errors import Forbidden, SubjectGone, Unavailable
from worker.publishing.texts.check_run import GITHUB, check_content
from worker.publishing.texts.sarif import with_sarif_refusal
from worker.publishing.texts.states import (
    RequestedReviews,
    checks_page,
    closed_content,
    combine_content,
    failed_content,
    github_outage_content,
    judging_content,
    rate_limit_content,
    started_content,
    superseded_content,
    unjudged_content,
    waiting_for_ci_content,
    with_decisions,
    with_trigger_reason,
)

LOG: Final = logging.getLogger(__name__)


class ReviewDecisions(Protocol):
    """What people decided about a head, and the reviews that a verdict asks for."""

    def decisions_for(self, pull: PullRef, head_sha: Sha) -> HumanDecisions: ...

    def request_reviews(
        self, request: JudgeRequest, verdict: Accept | Reject | Abstain, dossier: Dossier
    ) -> RequestedReviews | None: ...


class LiveSource(PullSource, Protocol):
    """A source that knows the age of its answers."""

    def is_newest_head(self, request: JudgeRequest, head_sha: Sha) -> bool:
        """Whether the last answer of GitHub about this pull request is fresh and names this head as the newest."""
        ...


def no_lease() -> None:
    """The fence of a writer without a lease. The registry detects and repairs its late writes."""


class CheckStatusReporter:
    """The status reporter that writes check runs at GitHub.

    *open_service*: the service whose writes all pass this fence. *find_sarif_refusal*: why GitHub refused the SARIF of a repository that
    wants it, for the check of its next verdict.
    """

    def __init__(
        self,
        source: LiveSource,
        open_service: "Callable[[Fence], CheckRunService]",
        lease: Lease,
        site_url: str,
        decisions: ReviewDecisions | None = None,
        find_sarif_refusal: Callable[[PullRef, Dossier], UploadRefusal | None] | None = None,
    ) -> None:
        self._decisions, self._find_sarif_refusal = decisions, find_sarif_refusal
        self._source = source
        self._lease = lease
        self._service = open_service(lease.renew)
        self._site_url = site_url

    def begin(self, request: JudgeRequest, head_sha: Sha) -> None:
        """Show `in_progress` on this head, and cancel the unfinished checks of all others."""
        self._lease.renew()
        self._service.restart(request, head_sha)
        self._service.supersede(request, head_sha)

    def show_skipped(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> None:
        """Show why this head is not judged, or not yet. Raises LeaseLost."""
        if not self._is_outdated(request, head_sha, content):
            self._service.write(request, head_sha, content)
        self._service.supersede(request, head_sha)
        self._service.cancel_abandoned(request, head_sha)

    def wait_for_ci(self, request: JudgeRequest, head_sha: Sha, wait: CiWait) -> None:
        self._lease.renew()
        self._service.write(request, head_sha, waiting_for_ci_content(wait.names, wait.until))

    def find_newer_head(
        self, request: JudgeRequest, head_sha: Sha, *, is_fresh: bool = False, find_head: FindHead | None = None
    ) -> Sha | None:
        """The newest head if it is not *head_sha*; the check on *head_sha* is then cancelled. Raises SubjectGone, LeaseLost.

        *is_fresh*: no time passed since the dossier was read, so an answer that came with it will do.
        *find_head*: a write to GitHub whose answer may name the head; where it does not, GitHub is asked.
        """
        if is_fresh and self._source.is_newest_head(request, head_sha):
            return None
        newest = None
        if find_head is not None:
            self._lease.renew()
            newest = find_head()
        newest = newest or self._source.head_sha(request)
        if newest == head_sha:
            return None
        self._lease.renew()
        self._service.supersede(request, newest)
        return newest

    def publish(
        self, request: JudgeRequest, verdict: Accept | Reject | Abstain, dossier: Dossier, again_at: datetime | None
    ) -> bool:
        """Write the verdict on the head that it was made for. Raises LeaseLost.

        False: something else that it depends on changed meanwhile. Its check says so and stays open.
        """
        head_sha = verdict.subject.head_sha
        made = check_content(verdict, dossier, self._site_url, again_at, request.delivery_id)
        content = with_trigger_reason(made, request.trigger)
        if self._find_sarif_refusal and (refusal := self._find_sarif_refusal(request.pull, dossier)):
            content = with_sarif_refusal(content, refusal)
        if self._is_outdated(request, head_sha, content):
            return False
        if self._decisions is not None:
            requested = self._decisions.request_reviews(request, verdict, dossier)
            decisions = self._decisions.decisions_for(request.pull, head_sha)
            content = with_decisions(content, decisions.for_base(dossier.pull_request.base_ref), verdict, requested)
            if self._is_outdated(request, head_sha, content):
                return False
        self._service.write(request, head_sha, content)
        self._service.cancel_abandoned(request, head_sha)
        return True

    def show_decision(self, request: JudgeRequest, head_sha: Sha) -> None:
        """Show a person's decision about a head without a verdict. Raises LeaseLost."""
        decisions = self._decisions.decisions_for(request.pull, head_sha) if self._decisions else NO_DECISIONS
        content = with_decisions(unjudged_content(), decisions, None)
        if not self._is_outdated(request, head_sha, content):
            self._service.write(request, head_sha, content)
        self._service.cancel_abandoned(request, head_sha)

    def _is_outdated(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> bool:
        """Whether this conclusion is already stale: the check then restarts instead. Raises LeaseLost."""
        why = self._lease.renew()
        if why is None or content.conclusion is None:
            return False
        self._service.restart_outdated(request, head_sha, why)
        return True

    def close(self, request: JudgeRequest, *, is_over: bool) -> None:
        """Conclude the checks of a pull request that was closed, or that the App can't see."""
        self._lease.renew()
        self._service.close(request, is_over=is_over)


class CheckRunService:
    """The check runs of one pull request, at GitHub and in the registry. *shared_heads* None: no other pull request shares a head."""

    def __init__(
        self,
        checks: CheckPublisher,
        registry: CheckRegistry,
        fence: Fence,
        shared_heads: SharedHeads | None = None,
        site_url: str = GITHUB,
    ) -> None:
        self._site_url = site_url
        self._checks = checks.with_fence(fence)
        self._registry = registry
        self._shared_heads = shared_heads

    def open(self, request: JudgeRequest, head_sha: Sha, content: CheckContent | None = None) -> bool:
        """Give this head its check run, and cancel the unfinished ones of older heads. False: a judge has this head already.

        An existing check run stays as it is, unless it still waits for its judge: then it shows *content*, or keeps the time of a
        retry. The newest head is read after the claim is written: a judge of a newer head either sees the claim, or is seen here.
        """
        check, shown = self._registry.claim(request.pull, head_sha), content or judging_content()
        newest = self._registry.newest_head(request.pull) or head_sha
        if check is None and newest == head_sha:
            self._create(request, head_sha, shown)
        elif check is None:
            self._adopt(request, head_sha)
        elif self._registry.find(request.pull, head_sha).is_idle:
            if shown.conclusion is not None or not self._registry.find(request.pull, head_sha).is_deferred:
                return self.reopen(request, head_sha, check, shown)
        elif (outdated := self._registry.find_outdated(request.pull, head_sha)) is not None:
            again = shown if outdated.trigger is None else started_content(outdated.trigger)
            return self.reopen(request, head_sha, check, again)
        elif self._shared_heads is not None:
            self._shared_heads.rejoin(request.pull, head_sha)
        self.supersede(request, newest)
        return True

    def reopen(self, request: JudgeRequest, head_sha: Sha, check: CheckRunId, content: CheckContent) -> bool:
        """Show *content* on a check that is registered as waiting. False: a judge has started meanwhile."""
        self._update(request, head_sha, check, content)
        self.supersede(request, self._registry.newest_head(request.pull) or head_sha)
        if content.conclusion is None:
            is_unchanged = self._registry.record_still_waiting(request.pull, head_sha, check, content)
        else:
            is_waiting = self._registry.find(request.pull, head_sha).is_idle
            is_unchanged = is_waiting and self._registry.record_concluded(request.pull, head_sha, check)
        if not is_unchanged and not self.cancel_stale(request, head_sha, check):
            self.mark_overwritten(request, head_sha, check)
        return is_unchanged

    def mark_overwritten(self, request: JudgeRequest, head_sha: Sha, check: CheckRunId) -> None:
        """Register a check as open and expiring, since a late write may have replaced its conclusion at GitHub."""
        self._registry.record_opened(request.pull, head_sha, check)
        self._registry.mark_expiring(request.pull, head_sha)

    def cancel_stale(self, request: JudgeRequest, head_sha: Sha, check: CheckRunId) -> bool:
        """Cancel a check that may differ from what is registered, if its head is stale. False: the head is the newest known."""
        newest = self._registry.newest_head(request.pull)
        if newest in (None, head_sha):
            return False
        self._update(request, head_sha, check, self._superseded_content(request, newest))
        self._registry.record_concluded(request.pull, head_sha)
        return True

    def restart(self, request: JudgeRequest, head_sha: Sha) -> None:
        """Show that this head is being judged: a queued or concluded check goes to `in_progress`.

        A waiting check that announces the start of judging stays as it is until the verdict.
        """
        check = self._registry.claim(request.pull, head_sha)
        if check is None:
            self._create(request, head_sha, started_content(request.trigger))
        elif head_sha not in self._registry.open_checks(request.pull):
            self._registry.record_opened(
                request.pull, head_sha, check
            )  # before the write: a crash in between leaves a note
            self._update(request, head_sha, check, started_content(request.trigger))
        elif self._registry.find(request.pull, head_sha).is_idle:
            if request.trigger not in HEAD_TRIGGERS or not self._registry.find(request.pull, head_sha).is_announced:
                self._update(request, head_sha, check, started_content(request.trigger))
            self._registry.record_opened(request.pull, head_sha, check)

    def restart_outdated(self, request: JudgeRequest, head_sha: Sha, why: Trigger) -> None:
        """Show that this head is judged again before its verdict was shown, and restart its deadline."""
        check = self._registry.claim(request.pull, head_sha)
        if check is None:
            self._create(request, head_sha, started_content(why))
        else:
            self._registry.record_opened(request.pull, head_sha, check)  # before the write, as in `restart`
            self._update(request, head_sha, check, started_content(why))

    def write(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> None:
        """Write content to this head's check run."""
        check = self._registry.claim(request.pull, head_sha)
        if check is None:
            self._create(request, head_sha, content)
            return
        self._update(request, head_sha, check, content)
        if content.is_queued and content.conclusion is None:
            self._register(request, head_sha, check, content)
        elif content.conclusion is not None and not self._registry.record_concluded(request.pull, head_sha, check):
            self._update(request, head_sha, check, content)  # the watchdog may have written over it

    def _register(self, request: JudgeRequest, head_sha: Sha, check: CheckRunId, content: CheckContent) -> None:
        """Note the state that this content gives a check run."""
        pull = request.pull
        if content.conclusion is not None:
            self._registry.record_concluded(pull, head_sha, check)
        elif content.is_queued:
            self._registry.record_waiting(pull, head_sha, check, is_watched=content.is_watched)
        else:
            self._registry.record_opened(pull, head_sha, check)

    def _update(self, request: JudgeRequest, head_sha: Sha, check: CheckRunId, content: CheckContent) -> None:
        """Show *content*, as far as the other pull requests of this head allow."""
        state, shown = self._combine(request.pull, head_sha, content)
        self._checks.update(request, check, shown)
        self._record_shown(request.pull, head_sha, state, shown)

    def _superseded_content(self, request: JudgeRequest, newest: Sha) -> CheckContent:
        return superseded_content(newest, checks_page(self._site_url, request.repository, newest))

    def _combine(
        self, pull: PullRef, head_sha: Sha, content: CheckContent
    ) -> tuple[SharedHeadState | None, CheckContent]:
        """Record the pull request's own content; what its check shows beside the others of its head."""
        if self._shared_heads is None:
            return None, content
        state, number = self._shared_heads.record_content(pull, head_sha, content), pull.number
        return state, combine_content(content, state.others(number), is_head=state.is_here(number))

    def _record_shown(self, pull: PullRef, head_sha: Sha, state: SharedHeadState | None, shown: CheckContent) -> None:
        """Record what GitHub shows. A check that blocks needs no record while no other pull request shares its head."""
        if self._shared_heads is None or state is None:
            return
        if state.others(pull.number) or strictness_of(check_state(shown)) is Strictness.PASSES:
            self._shared_heads.record_written(pull, head_sha, state.version, shown)

    def supersede(self, request: JudgeRequest, newest: Sha) -> None:
        """Cancel the unfinished checks of every other head, naming the newer commit."""
        for head_sha, check in self._registry.open_checks(request.pull).items():
            if head_sha != newest:
                self._update(request, head_sha, check, self._superseded_content(request, newest))
                self._registry.record_concluded(request.pull, head_sha)

    def cancel_abandoned(self, request: JudgeRequest, newest: Sha) -> None:
        """Cancel check runs of other heads whose creation never completed."""
        if heads := [head_sha for head_sha in self._registry.list_unfinished_heads(request.pull) if head_sha != newest]:
            self._adopt_all(request, heads)
            self.supersede(request, newest)

    def conclude_all(self, request: JudgeRequest, content: CheckContent) -> None:
        """Conclude every unfinished check of the pull request.

        A check that the App can't write to is dropped from the registry: should it become visible, a sweep finds its head without a
        state.
        """
        self._adopt_all(request, self._registry.list_unfinished_heads(request.pull))
        for head_sha, check in self._registry.open_checks(request.pull).items():
            try:
                self._update(request, head_sha, check, content)
            except SubjectGone:
                self._registry.mark_unwritable(request.pull, head_sha)
            else:
                self._registry.record_concluded(request.pull, head_sha)

    def close(self, request: JudgeRequest, *, is_over: bool = True) -> None:
        """Conclude the pull request's checks; where it *is_over*, it also leaves the heads that it shares."""
        self.conclude_all(request, closed_content())
        if self._shared_heads is not None and is_over:
            self._shared_heads.leave(request.pull)

    def fail(self, request: JudgeRequest, reason: str) -> None:
        """Show on every unfinished check why judging failed; on the requested head if none is open."""
        if request.head_sha is not None and not self._registry.open_checks(request.pull):
            self.write(request, request.head_sha, failed_content(reason, request.delivery_id))
        self.conclude_all(request, failed_content(reason, request.delivery_id))

    def postpone(self, request: JudgeRequest, until: datetime, *, is_away: bool = False) -> None:
        """Show on every unfinished check when judging goes on. *is_away*: GitHub is down, else its rate limit is reached."""
        content = github_outage_content(until) if is_away else rate_limit_content(until)
        for head_sha, check in self._registry.open_checks(request.pull).items():
            self._update(request, head_sha, check, content)
            self._registry.record_waiting(
                request.pull, head_sha, check, is_watched=content.is_watched, is_deferred=True
            )

    def is_unfinished(self, request: JudgeRequest, head_sha: Sha) -> bool:
        """Whether an unconcluded check run exists, or its creation was begun."""
        pull, registry = request.pull, self._registry
        return head_sha in registry.open_checks(pull) or head_sha in registry.list_unfinished_heads(pull)

    def expire(self, request: JudgeRequest, head_sha: Sha, check: CheckRunId, content: CheckContent) -> bool:
        """Close a check that is still unfinished. False: it was concluded during the write, and may be overwritten."""
        if self._registry.open_checks(request.pull).get(head_sha) != check:
            return True
        self._registry.mark_expiring(request.pull, head_sha)  # before the write: a crash in between leaves a note
        try:
            self._update(request, head_sha, check, content)
        except (SubjectGone, Forbidden):
            self._registry.mark_unwritable(request.pull, head_sha)
            return True
        except Unavailable:
            if head_sha in self._registry.open_checks(request.pull):
                raise
        return self._registry.record_expired(request.pull, head_sha, check)

    def _adopt_all(self, request: JudgeRequest, heads: Iterable[Sha]) -> None:
        """Register every check run whose creation was started; waits for writers that still hold their claim."""
        for head_sha in heads:
            if self._registry.claim(request.pull, head_sha) is None:
                self._adopt(request, head_sha)

    def _adopt(self, request: JudgeRequest, head_sha: Sha) -> None:
        """Register what an earlier writer may have created on this head, under our claim; create nothing."""
        with contextlib.suppress(SubjectGone):
            if check := self._checks.find(request, head_sha):
                self._registry.record_opened(request.pull, head_sha, check)
                return
        self._registry.release(request.pull, head_sha)
        self._registry.record_concluded(request.pull, head_sha)

    def _create(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> None:
        with contextlib.ExitStack() as unless_created:
            unless_created.callback(self._registry.release, request.pull, head_sha)
            is_new = request.trigger is not Trigger.SWEEP and self._registry.is_first(request.pull, head_sha)
            create = (
                self._checks.create_first if is_new else self._checks.create
            )  # a sweep searches for a forgotten one first
            state, shown = self._combine(request.pull, head_sha, content)
            check = create(request, head_sha, shown)
            unless_created.pop_all()
        # a process that was stopped for longer than its claim holds may have been followed by another, which created one, too
        if not self._registry.is_claim_held(request.pull, head_sha):
            check = self._checks.find(request, head_sha) or check
        self._register(request, head_sha, check, content)
        self._record_shown(request.pull, head_sha, state, shown)


MAX_SYNC_WRITES: Final = 30
"""Check runs of a commit that are written in a row before others get their turn."""


@dataclass(frozen=True)
class SharedHeadSync:
    """Keeps the check runs of one commit consistent, from the recorded contents and without judging.

    Each shows its pull request's last content beside those of the others, also when several processes write at the same time. A pull
    request that GitHub no longer shows at this head holds none of the others. Raises as PullSource does, and may be retried.
    """

    shared_heads: SharedHeads
    checks: CheckPublisher
    registry: CheckRegistry
    pulls: JudgeRequests
    source: PullSource

    def sync(self, commit: CommitRef) -> bool:
        """Write each check that shows something else. False: it is to be done again, as the state has changed or more is to be written."""
        state, written = self.shared_heads.find_state(commit), 0
        for member in state.members:
            own = self.shared_heads.own_content(_pull_of(commit, member.number), commit.head_sha)
            others = state.others(member.number)
            content = combine_content(own, others, is_head=member.is_here)
            if hash_content(content) == member.shown:
                continue
            if written == MAX_SYNC_WRITES or (content != own and self._has_left(commit, state, find_strictest(others))):
                return False
            self._show(commit, state, member, content)
            written += 1
        return self.shared_heads.close_version(commit, state.version)

    def _has_left(self, commit: CommitRef, state: SharedHeadState, strictest: SharedHeadMember | None) -> bool:
        """Whether the strictest of the others left this commit without a delivery that told so."""
        request = self._request(commit, state, strictest.number) if strictest else None
        if request is None:
            return False
        try:
            if self.source.head_sha(request) == commit.head_sha:
                return False
        except Forbidden:
            return False
        except SubjectGone as gone:
            if not gone.is_closed:
                return False
        LOG.info("pull request left the commit without a delivery", extra={"number": request.pull.number})
        self.shared_heads.leave(request.pull, commit.head_sha)
        return True

    def _show(self, commit: CommitRef, state: SharedHeadState, member: SharedHeadMember, content: CheckContent) -> None:
        """Write one check. Where GitHub refuses the write, what it shows stays unknown, and a later sync retries."""
        request, pull = self._request(commit, state, member.number), _pull_of(commit, member.number)
        check = self.registry.find(pull, commit.head_sha).check
        if request is None or check is None:
            return  # its creation combines it with the others
        self.shared_heads.mark_updating(pull, commit.head_sha)
        try:
            self.checks.with_fence(no_lease).update(request, check, replace(content, annotations=()))
        except (SubjectGone, Forbidden) as refused:
            LOG.info("check run not updated: %s", refused, extra={"number": member.number})
            return
        self.shared_heads.record_written(pull, commit.head_sha, state.version, content, is_sync=True)

    def _request(self, commit: CommitRef, state: SharedHeadState, number: int) -> JudgeRequest | None:
        """The request of a pull request; one of the same repository, rewritten to it, where it has none."""
        for candidate in (number, *(member.number for member in state.members)):
            if request := self.pulls.find_request(_pull_of(commit, candidate)):
                return request.model_copy(update={"pull": _pull_of(commit, number)})
        return None


def _pull_of(commit: CommitRef, number: int) -> PullRef:
    return PullRef(installation_id=commit.installation_id, repository_id=commit.repository_id, number=number)
