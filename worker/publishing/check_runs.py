"""Publish a verdict as a check run.

Does not word anything (`worker.publishing.texts` does). Invariant: success is written only for the head commit that was
judged, by the judge that still holds the pull request (asked right before each request), and not once we were told that something else which it was judged by
changed; and one head has one check run. A head that moved is not an error: its check is cancelled, naming the newer commit, and
the newer request will speak. Where several pull requests have one
head, none of their check runs lets a merge pass that another one's stands in the way of (`worker.publishing.shared_head` keeps them so).
"""

import contextlib
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final, NamedTuple, Protocol

from worker.domain.check.check_run import CheckContent
from worker.domain.check.code_scanning import UploadRefusal
from worker.domain.check.overrides import NO_DECISIONS, HumanDecisions
from worker.domain.check.shared_head import SharedHeadView, Strictness, check_state, strictness_of
from worker.domain.dossier.dossier import Dossier
from worker.domain.ids import CheckRunId, Sha
from worker.domain.ports import CheckPublisher, CheckRegistry, Fence, Lease, PullSource, SharedHeadMembers
from worker.domain.request.judge_request import HEAD_TRIGGERS, JudgeRequest, PullRef, Trigger
from worker.domain.verdict.verdict import Abstain, Accept, Reject
from worker.errors import Forbidden, SubjectGone, Unavailable
from worker.publishing.status import CiWait, FindHead
from worker.publishing.texts.check_run import (
    GITHUB,
    check_content,
    checks_page,
    closed_content,
    failed_content,
    github_outage_content,
    judging_content,
    rate_limit_content,
    superseded_content,
    waiting_for_ci_content,
)
from worker.publishing.texts.overrides import RequestedReviews, unjudged_content, with_decisions
from worker.publishing.texts.sarif import with_sarif_refusal
from worker.publishing.texts.states import combine_content, started_content, with_trigger_reason


class ReviewDecisions(Protocol):
    """What people said about a head, and whom a verdict asks."""

    def decisions_for(self, pull: PullRef, head_sha: Sha) -> HumanDecisions: ...

    def request_reviews(
        self, request: JudgeRequest, verdict: Accept | Reject | Abstain, dossier: Dossier
    ) -> RequestedReviews | None: ...


class CheckExtras(NamedTuple):
    """What a verdict's check tells besides the verdict. *find_sarif_refusal*: why its repository's SARIF was not taken, if it wants any."""

    decisions: ReviewDecisions | None
    find_sarif_refusal: Callable[[PullRef, Dossier], UploadRefusal | None] | None


NO_EXTRAS: Final = CheckExtras(None, None)


class LiveSource(PullSource, Protocol):
    """A source that knows how fresh its word is."""

    def is_newest_head(self, request: JudgeRequest, head_sha: Sha) -> bool:
        """Whether GitHub said a moment ago, after all that was read of this pull request, that this is its newest head."""
        ...


def no_lease() -> None:
    """The fence of whoever judges nothing. What he wrote too late is told from the registry's notes, and set right."""


class CheckStatusReporter:
    """GitHub's board: one check run per head commit. *desk*: one whose every write is under this fence."""

    def __init__(
        self,
        source: LiveSource,
        open_service: "Callable[[Fence], CheckRunService]",
        lease: Lease,
        site_url: str,
        extras: CheckExtras | None = None,
    ) -> None:
        self._decisions, self._find_sarif_refusal = extras or NO_EXTRAS
        self._source = source
        self._lease = lease
        self._service = open_service(lease.renew)
        self._site_url = site_url

    def begin(self, request: JudgeRequest, head_sha: Sha) -> None:
        """Show `in_progress` on this head, and nothing unfinished on any other."""
        self._lease.renew()
        self._service.restart(request, head_sha)
        self._service.supersede(request, head_sha)

    def show_skipped(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> None:
        """Say why nobody judges this head, or not yet. Raises LeaseLost."""
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
        """The newest head if it is not *head_sha*; our check there is then cancelled. Raises Gone, LeaseLost.

        *at_once*: nobody took any time since the dossier was read, so that an answer that came with it may be as new as another.
        *look*: writes at GitHub, and may find it out; where it does not, it is asked for.
        """
        if is_fresh and self._source.is_newest_head(request, head_sha):
            return None
        newest = self._find_head(find_head) or self._source.head_sha(request)
        if newest == head_sha:
            return None
        self._lease.renew()
        self._service.supersede(request, newest)
        return newest

    def _find_head(self, find_head: FindHead | None) -> Sha | None:
        if find_head is None:
            return None
        self._lease.renew()
        return find_head()

    def publish(
        self, request: JudgeRequest, verdict: Accept | Reject | Abstain, dossier: Dossier, again_at: datetime | None
    ) -> bool:
        """Write the verdict on the head that it was made for. Raises LeaseLost.

        False: something else that it was judged by changed meanwhile. Its check says so and stays open.
        """
        head_sha = verdict.subject.head_sha
        made = check_content(verdict, dossier, self._site_url, again_at, request.delivery_id)
        refusal = self._find_sarif_refusal(request.pull, dossier) if self._find_sarif_refusal else None
        content = with_sarif_refusal(with_trigger_reason(made, request.trigger), refusal)
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
        """A person decided about a head that has no verdict. Raises LeaseLost."""
        decisions = self._decisions.decisions_for(request.pull, head_sha) if self._decisions else NO_DECISIONS
        content = with_decisions(unjudged_content(), decisions, None)
        if not self._is_outdated(request, head_sha, content):
            self._service.write(request, head_sha, content)
        self._service.cancel_abandoned(request, head_sha)

    def _is_outdated(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> bool:
        """Whether this conclusion counts no more already: its check then goes on. Raises LeaseLost."""
        why = self._lease.renew()
        if why is None or content.conclusion is None:
            return False
        self._service.restart_outdated(request, head_sha, why)
        return True

    def close(self, request: JudgeRequest, *, is_over: bool) -> None:
        """The pull request was closed, or can't be seen: nobody waits for its checks any more."""
        self._lease.renew()
        self._service.close(request, is_over=is_over)


class CheckRunService:
    """The check runs of one pull request, as GitHub and the registry know them. *siblings* None: nobody else has their heads."""

    def __init__(
        self,
        checks: CheckPublisher,
        registry: CheckRegistry,
        fence: Fence,
        shared_heads: SharedHeadMembers | None = None,
        site_url: str = GITHUB,
    ) -> None:
        self._site_url = site_url
        self._checks = checks.with_fence(fence)
        self._registry = registry
        self._shared_heads = shared_heads

    def open(self, request: JudgeRequest, head_sha: Sha, content: CheckContent | None = None) -> bool:
        """Give this head its check run, and cancel the unfinished ones of older heads. False: somebody judges it already.

        An existing one is left, unless nobody judges it yet: then it says *content*, or goes on saying until when nobody can.
        Whether it still is the newest is asked once the claim is there to be seen: whoever judges a newer one either sees the
        claim, or is seen here.
        """
        check, shown = self._registry.claim(request.pull, head_sha), content or judging_content()
        newest = self._registry.newest_head(request.pull) or head_sha
        if check is None and newest == head_sha:
            self._create(request, head_sha, shown)
        elif check is None:
            self._adopt(request, head_sha)
        elif self._registry.is_waiting(request.pull, head_sha):
            if shown.conclusion is not None or not self._registry.is_deferred(request.pull, head_sha):
                return self.reopen(request, head_sha, check, shown)
        elif (outdated := self._registry.find_outdated(request.pull, head_sha)) is not None:
            return self.reopen(
                request, head_sha, check, shown if outdated.trigger is None else started_content(outdated.trigger)
            )
        elif self._shared_heads is not None:
            self._shared_heads.rejoin(request.pull, head_sha)
        self.supersede(request, newest)
        return True

    def reopen(self, request: JudgeRequest, head_sha: Sha, check: CheckRunId, content: CheckContent) -> bool:
        """Have a check that is noted to rest say this. False: somebody judges it by now."""
        self._update(request, head_sha, check, content)
        self.supersede(request, self._registry.newest_head(request.pull) or head_sha)
        is_left = self._is_unchanged(request, head_sha, check, content)
        if not is_left and not self.cancel_stale(request, head_sha, check):
            self.mark_overwritten(request, head_sha, check)
        return is_left

    def mark_overwritten(self, request: JudgeRequest, head_sha: Sha, check: CheckRunId) -> None:
        """Others concluded a check that was written to meanwhile: it may say that nobody did, and counts as open until somebody judges."""
        self._registry.record_opened(request.pull, head_sha, check)
        self._registry.mark_expiring(request.pull, head_sha)

    def cancel_stale(self, request: JudgeRequest, head_sha: Sha, check: CheckRunId) -> bool:
        """Cancel a check that may say something else than was noted last, if its head is the newest no more: nobody judges that again.

        False: it is the newest, as far as we know.
        """
        newest = self._registry.newest_head(request.pull)
        if newest in (None, head_sha):
            return False
        self._update(request, head_sha, check, self._superseded_content(request, newest))
        self._registry.record_concluded(request.pull, head_sha)
        return True

    def _is_unchanged(self, request: JudgeRequest, head_sha: Sha, check: CheckRunId, content: CheckContent) -> bool:
        """Whether nobody began to judge while this was written, and no watchdog wrote. Else one may stand in the place of the other."""
        if content.conclusion is None:
            return self._registry.record_still_waiting(request.pull, head_sha, check, content)
        is_resting = self._registry.is_waiting(request.pull, head_sha)
        return is_resting and self._registry.record_concluded(request.pull, head_sha, check)

    def restart(self, request: JudgeRequest, head_sha: Sha) -> None:
        """Show that this head is being judged: one that was only queued, or is finished, goes to `in_progress`.

        One that says already when its judging begins is left as it is: the verdict takes its place.
        """
        check = self._registry.claim(request.pull, head_sha)
        if check is None:
            self._create(request, head_sha, started_content(request.trigger))
        elif head_sha not in self._registry.open_checks(request.pull):
            self._registry.record_opened(request.pull, head_sha, check)  # first: whoever dies here has left a note
            self._update(request, head_sha, check, started_content(request.trigger))
        elif self._registry.is_waiting(request.pull, head_sha):
            if request.trigger not in HEAD_TRIGGERS or not self._registry.is_announced(request.pull, head_sha):
                self._update(request, head_sha, check, started_content(request.trigger))
            self._registry.record_opened(request.pull, head_sha, check)

    def restart_outdated(self, request: JudgeRequest, head_sha: Sha, why: Trigger) -> None:
        """Show that this head is judged again before anything else was shown, and watch it anew."""
        check = self._registry.claim(request.pull, head_sha)
        if check is None:
            self._create(request, head_sha, started_content(why))
        else:
            self._registry.record_opened(request.pull, head_sha, check)  # first: whoever dies here has left a note
            self._update(request, head_sha, check, started_content(why))

    def write(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> None:
        """Write content to this head's check run."""
        check = self._registry.claim(request.pull, head_sha)
        if check is None:
            self._create(request, head_sha, content)
        elif content.conclusion is not None:
            self._conclude(request, head_sha, check, content)
        else:
            self._update(request, head_sha, check, content)
            if content.is_queued:
                self._register(request, head_sha, check, content)

    def _conclude(self, request: JudgeRequest, head_sha: Sha, check: CheckRunId, content: CheckContent) -> None:
        """Have it say how it ended. Where the watchdog closed it meanwhile, perhaps over that, it is written again."""
        self._update(request, head_sha, check, content)
        if not self._registry.record_concluded(request.pull, head_sha, check):
            self._update(request, head_sha, check, content)

    def _register(self, request: JudgeRequest, head_sha: Sha, check: CheckRunId, content: CheckContent) -> None:
        """What everybody knows of a check run that says this."""
        pull = request.pull
        if content.conclusion is not None:
            self._registry.record_concluded(pull, head_sha, check)
        elif content.is_queued:
            self._registry.record_waiting(pull, head_sha, check, is_watched=content.is_watched)
        else:
            self._registry.record_opened(pull, head_sha, check)

    def _update(self, request: JudgeRequest, head_sha: Sha, check: CheckRunId, content: CheckContent) -> None:
        """Have it say this, as far as the other pull requests of this head let it."""
        view = self._other_pull_requests(request.pull, head_sha, content)
        shown = content if view is None else combine_content(content, view.other_pulls, is_head=view.is_current)
        self._checks.update(request, check, shown)
        self._note_shown(request.pull, head_sha, view, shown)

    def _superseded_content(self, request: JudgeRequest, newest: Sha) -> CheckContent:
        return superseded_content(newest, checks_page(self._site_url, request.repository, newest))

    def _other_pull_requests(self, pull: PullRef, head_sha: Sha, content: CheckContent) -> SharedHeadView | None:
        return self._shared_heads.record_content(pull, head_sha, content) if self._shared_heads else None

    def _note_shown(self, pull: PullRef, head_sha: Sha, view: SharedHeadView | None, shown: CheckContent) -> None:
        """GitHub shows it. Whoever is alone and stands in the way of a merge may not have been alone all the time: no harm in that."""
        if self._shared_heads is None or view is None:
            return
        if view.other_pulls or strictness_of(check_state(shown)) is Strictness.PASSES:
            self._shared_heads.record_written(pull, head_sha, view.version, shown)

    def supersede(self, request: JudgeRequest, newest: Sha) -> None:
        """Cancel the unfinished checks of every other head, naming the newer commit."""
        for head_sha, check in self._registry.open_checks(request.pull).items():
            if head_sha != newest:
                self._update(request, head_sha, check, self._superseded_content(request, newest))
                self._registry.record_concluded(request.pull, head_sha)

    def cancel_abandoned(self, request: JudgeRequest, newest: Sha) -> None:
        """Cancel the check runs of other heads that somebody began to create and never told the end of."""
        if heads := [head_sha for head_sha in self._registry.list_unfinished_heads(request.pull) if head_sha != newest]:
            self._adopt_all(request, heads)
            self.supersede(request, newest)

    def conclude_all(self, request: JudgeRequest, content: CheckContent) -> None:
        """Conclude every unfinished check of the pull request.

        One that we may not see any more is forgotten: whoever looks around finds its head without a state, should we see it again.
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
        """Nobody waits for this pull request's checks any more; and where it *is_over*, none of another one waits for it."""
        self.conclude_all(request, closed_content())
        if self._shared_heads is not None and is_over:
            self._shared_heads.leave(request.pull)

    def fail(self, request: JudgeRequest, reason: str) -> None:
        """Say on every unfinished check that nobody judged, and why; on the head asked for if there is none yet."""
        if request.head_sha is not None and not self._registry.open_checks(request.pull):
            self.write(request, request.head_sha, failed_content(reason, request.delivery_id))
        self.conclude_all(request, failed_content(reason, request.delivery_id))

    def postpone(self, request: JudgeRequest, until: datetime, *, is_away: bool = False) -> None:
        """Say on every unfinished check until when nobody can judge. *is_away*: GitHub fails, else it lets us ask no more."""
        content = github_outage_content(until) if is_away else rate_limit_content(until)
        for head_sha, check in self._registry.open_checks(request.pull).items():
            self._update(request, head_sha, check, content)
            self._registry.record_waiting(
                request.pull, head_sha, check, is_watched=content.is_watched, is_deferred=True
            )

    def expire(self, request: JudgeRequest, head_sha: Sha, check: CheckRunId, content: CheckContent) -> bool:
        """Close a check that is still unfinished. False: somebody concluded it while this was written, perhaps over that."""
        if self._registry.open_checks(request.pull).get(head_sha) != check:
            return True
        self._registry.mark_expiring(request.pull, head_sha)  # first: whoever dies here has left a note
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
        """Have every check run that is being created known by its id; waits for makers that are still at it."""
        for head_sha in heads:
            if self._registry.claim(request.pull, head_sha) is None:
                self._adopt(request, head_sha)

    def _adopt(self, request: JudgeRequest, head_sha: Sha) -> None:
        """Take over what an earlier maker may have left on this head, whose claim is ours; create nothing."""
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
            make = self._checks.create_first if is_new else self._checks.create  # a sweep looks for what we forgot
            view = self._other_pull_requests(request.pull, head_sha, content)
            shown = content if view is None else combine_content(content, view.other_pulls, is_head=view.is_current)
            check = make(request, head_sha, shown)
            unless_created.pop_all()
        # whoever was stopped for longer than his claim may have been followed by another, who made one, too
        if not self._registry.is_claim_held(request.pull, head_sha):
            check = self._checks.find(request, head_sha) or check
        self._register(request, head_sha, check, content)
        self._note_shown(request.pull, head_sha, view, shown)
