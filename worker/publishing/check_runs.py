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
from worker.domain.check.code_scanning import Refusal
from worker.domain.check.overrides import NOTHING, Said
from worker.domain.check.shared_head import Strictness, Together, state_of, strictness
from worker.domain.dossier.dossier import Dossier
from worker.domain.ids import CheckRunId, Sha
from worker.domain.ports import CheckPublisher, CheckRegistry, Fence, Lease, PullSource, Siblings
from worker.domain.request.judge_request import ARRIVALS, JudgeRequest, PullRef, Trigger
from worker.domain.verdict.verdict import Abstain, Accept, Reject
from worker.errors import Forbidden, Gone, Unavailable
from worker.publishing.status import Look, Wait
from worker.publishing.texts.check_run import (
    GITHUB,
    check_content,
    checks_page,
    closed,
    failed,
    judging,
    superseded,
    waiting_for_ci,
    waiting_for_github,
    waiting_out,
)
from worker.publishing.texts.overrides import Called, unjudged, with_people
from worker.publishing.texts.scanning import with_unscanned
from worker.publishing.texts.siblings import together
from worker.publishing.texts.states import begun, said_why


class People(Protocol):
    """What people said about a head, and whom a verdict asks."""

    def said(self, pull: PullRef, head_sha: Sha) -> Said: ...

    def call(self, request: JudgeRequest, verdict: Accept | Reject | Abstain, dossier: Dossier) -> Called | None: ...


class Beside(NamedTuple):
    """What a verdict's check tells besides the verdict. *unscanned*: why its repository's SARIF was not taken, if it wants any."""

    people: People | None
    unscanned: Callable[[PullRef, Dossier], Refusal | None] | None


NOTHING_BESIDE: Final = Beside(None, None)


class LiveSource(PullSource, Protocol):
    """A source that knows how fresh its word is."""

    def was_just_told(self, request: JudgeRequest, head_sha: Sha) -> bool:
        """Whether GitHub said a moment ago, after all that was read of this pull request, that this is its newest head."""
        ...


def no_lease() -> None:
    """The fence of whoever judges nothing. What he wrote too late is told from the registry's notes, and set right."""


class CheckBoard:
    """GitHub's board: one check run per head commit. *desk*: one whose every write is under this fence."""

    def __init__(
        self,
        source: LiveSource,
        desk: "Callable[[Fence], CheckDesk]",
        lease: Lease,
        site_url: str,
        beside: Beside | None = None,
    ) -> None:
        self._people, self._unscanned = beside or NOTHING_BESIDE
        self._source = source
        self._lease = lease
        self._desk = desk(lease.keep)
        self._site_url = site_url

    def begin(self, request: JudgeRequest, head_sha: Sha) -> None:
        """Show `in_progress` on this head, and nothing unfinished on any other."""
        self._lease.keep()
        self._desk.restart(request, head_sha)
        self._desk.supersede(request, head_sha)

    def rest(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> None:
        """Say why nobody judges this head, or not yet. Raises LeaseLost."""
        if not self._is_overtaken(request, head_sha, content):
            self._desk.write(request, head_sha, content)
        self._desk.supersede(request, head_sha)
        self._desk.end_begun(request, head_sha)

    def wait_for_ci(self, request: JudgeRequest, head_sha: Sha, wait: Wait) -> None:
        self._lease.keep()
        self._desk.write(request, head_sha, waiting_for_ci(wait.names, wait.until))

    def newer_head(
        self, request: JudgeRequest, head_sha: Sha, *, at_once: bool = False, look: Look | None = None
    ) -> Sha | None:
        """The newest head if it is not *head_sha*; our check there is then cancelled. Raises Gone, LeaseLost.

        *at_once*: nobody took any time since the dossier was read, so that an answer that came with it may be as new as another.
        *look*: writes at GitHub, and may find it out; where it does not, it is asked for.
        """
        if at_once and self._source.was_just_told(request, head_sha):
            return None
        newest = self._looked(look) or self._source.head_sha(request)
        if newest == head_sha:
            return None
        self._lease.keep()
        self._desk.supersede(request, newest)
        return newest

    def _looked(self, look: Look | None) -> Sha | None:
        if look is None:
            return None
        self._lease.keep()
        return look()

    def publish(
        self, request: JudgeRequest, verdict: Accept | Reject | Abstain, dossier: Dossier, again_at: datetime | None
    ) -> bool:
        """Write the verdict on the head that it was made for. Raises LeaseLost.

        False: something else that it was judged by changed meanwhile. Its check says so and stays open.
        """
        head_sha = verdict.subject.head_sha
        made = check_content(verdict, dossier, self._site_url, again_at, request.delivery_id)
        refusal = self._unscanned(request.pull, dossier) if self._unscanned else None
        content = with_unscanned(said_why(made, request.trigger), refusal)
        if self._is_overtaken(request, head_sha, content):
            return False
        if self._people is not None:
            called = self._people.call(request, verdict, dossier)
            said = self._people.said(request.pull, head_sha)
            content = with_people(content, said.into(dossier.pull_request.base_ref), verdict, called)
            if self._is_overtaken(request, head_sha, content):
                return False
        self._desk.write(request, head_sha, content)
        self._desk.end_begun(request, head_sha)
        return True

    def overrule(self, request: JudgeRequest, head_sha: Sha) -> None:
        """A person decided about a head that has no verdict. Raises LeaseLost."""
        said = self._people.said(request.pull, head_sha) if self._people else NOTHING
        content = with_people(unjudged(), said, None)
        if not self._is_overtaken(request, head_sha, content):
            self._desk.write(request, head_sha, content)
        self._desk.end_begun(request, head_sha)

    def _is_overtaken(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> bool:
        """Whether this conclusion counts no more already: its check then goes on. Raises LeaseLost."""
        why = self._lease.keep()
        if why is None or content.conclusion is None:
            return False
        self._desk.go_on(request, head_sha, why)
        return True

    def close(self, request: JudgeRequest, *, is_over: bool) -> None:
        """The pull request was closed, or can't be seen: nobody waits for its checks any more."""
        self._lease.keep()
        self._desk.close(request, is_over=is_over)


class CheckDesk:
    """The check runs of one pull request, as GitHub and the registry know them. *siblings* None: nobody else has their heads."""

    def __init__(
        self,
        checks: CheckPublisher,
        registry: CheckRegistry,
        fence: Fence,
        siblings: Siblings | None = None,
        site_url: str = GITHUB,
    ) -> None:
        self._site_url = site_url
        self._checks = checks.under(fence)
        self._registry = registry
        self._siblings = siblings

    def open(self, request: JudgeRequest, head_sha: Sha, content: CheckContent | None = None) -> bool:
        """Give this head its check run, and cancel the unfinished ones of older heads. False: somebody judges it already.

        An existing one is left, unless nobody judges it yet: then it says *content*, or goes on saying until when nobody can.
        Whether it still is the newest is asked once the claim is there to be seen: whoever judges a newer one either sees the
        claim, or is seen here.
        """
        check, said = self._registry.claim(request.pull, head_sha), content or judging()
        newest = self._registry.newest(request.pull) or head_sha
        if check is None and newest == head_sha:
            self._create(request, head_sha, said)
        elif check is None:
            self._adopt(request, head_sha)
        elif self._registry.is_resting(request.pull, head_sha):
            if said.conclusion is not None or not self._registry.is_put_off(request.pull, head_sha):
                return self.reopen(request, head_sha, check, said)
        elif (again := self._registry.again(request.pull, head_sha)) is not None:
            return self.reopen(request, head_sha, check, said if again.why is None else begun(again.why))
        elif self._siblings is not None:
            self._siblings.comes(request.pull, head_sha)
        self.supersede(request, newest)
        return True

    def reopen(self, request: JudgeRequest, head_sha: Sha, check: CheckRunId, content: CheckContent) -> bool:
        """Have a check that is noted to rest say this. False: somebody judges it by now."""
        self._update(request, head_sha, check, content)
        self.supersede(request, self._registry.newest(request.pull) or head_sha)
        is_left = self._is_left(request, head_sha, check, content)
        if not is_left and not self.leave_behind(request, head_sha, check):
            self.written_over(request, head_sha, check)
        return is_left

    def written_over(self, request: JudgeRequest, head_sha: Sha, check: CheckRunId) -> None:
        """Others concluded a check that was written to meanwhile: it may say that nobody did, and counts as open until somebody judges."""
        self._registry.opened(request.pull, head_sha, check)
        self._registry.expires(request.pull, head_sha)

    def leave_behind(self, request: JudgeRequest, head_sha: Sha, check: CheckRunId) -> bool:
        """Cancel a check that may say something else than was noted last, if its head is the newest no more: nobody judges that again.

        False: it is the newest, as far as we know.
        """
        newest = self._registry.newest(request.pull)
        if newest in (None, head_sha):
            return False
        self._update(request, head_sha, check, self._superseded(request, newest))
        self._registry.concluded(request.pull, head_sha)
        return True

    def _is_left(self, request: JudgeRequest, head_sha: Sha, check: CheckRunId, content: CheckContent) -> bool:
        """Whether nobody began to judge while this was written, and no watchdog wrote. Else one may stand in the place of the other."""
        if content.conclusion is None:
            return self._registry.still_rests(request.pull, head_sha, check, content)
        is_resting = self._registry.is_resting(request.pull, head_sha)
        return is_resting and self._registry.concluded(request.pull, head_sha, check)

    def restart(self, request: JudgeRequest, head_sha: Sha) -> None:
        """Show that this head is being judged: one that was only queued, or is finished, goes to `in_progress`.

        One that says already when its judging begins is left as it is: the verdict takes its place.
        """
        check = self._registry.claim(request.pull, head_sha)
        if check is None:
            self._create(request, head_sha, begun(request.trigger))
        elif head_sha not in self._registry.open_checks(request.pull):
            self._registry.opened(request.pull, head_sha, check)  # first: whoever dies here has left a note
            self._update(request, head_sha, check, begun(request.trigger))
        elif self._registry.is_resting(request.pull, head_sha):
            if request.trigger not in ARRIVALS or not self._registry.is_announced(request.pull, head_sha):
                self._update(request, head_sha, check, begun(request.trigger))
            self._registry.opened(request.pull, head_sha, check)

    def go_on(self, request: JudgeRequest, head_sha: Sha, why: Trigger) -> None:
        """Show that this head is judged again before anything else was shown, and watch it anew."""
        check = self._registry.claim(request.pull, head_sha)
        if check is None:
            self._create(request, head_sha, begun(why))
        else:
            self._registry.opened(request.pull, head_sha, check)  # first: whoever dies here has left a note
            self._update(request, head_sha, check, begun(why))

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
                self._note(request, head_sha, check, content)

    def _conclude(self, request: JudgeRequest, head_sha: Sha, check: CheckRunId, content: CheckContent) -> None:
        """Have it say how it ended. Where the watchdog closed it meanwhile, perhaps over that, it is written again."""
        self._update(request, head_sha, check, content)
        if not self._registry.concluded(request.pull, head_sha, check):
            self._update(request, head_sha, check, content)

    def _note(self, request: JudgeRequest, head_sha: Sha, check: CheckRunId, content: CheckContent) -> None:
        """What everybody knows of a check run that says this."""
        pull = request.pull
        if content.conclusion is not None:
            self._registry.concluded(pull, head_sha, check)
        elif content.is_queued:
            self._registry.rests(pull, head_sha, check, is_watched=content.is_watched)
        else:
            self._registry.opened(pull, head_sha, check)

    def _update(self, request: JudgeRequest, head_sha: Sha, check: CheckRunId, content: CheckContent) -> None:
        """Have it say this, as far as the other pull requests of this head let it."""
        beside = self._beside(request.pull, head_sha, content)
        shown = content if beside is None else together(content, beside.others, is_here=beside.is_here)
        self._checks.update(request, check, shown)
        self._told(request.pull, head_sha, beside, shown)

    def _superseded(self, request: JudgeRequest, newest: Sha) -> CheckContent:
        return superseded(newest, checks_page(self._site_url, request.repository, newest))

    def _beside(self, pull: PullRef, head_sha: Sha, content: CheckContent) -> Together | None:
        return self._siblings.says(pull, head_sha, content) if self._siblings else None

    def _told(self, pull: PullRef, head_sha: Sha, beside: Together | None, shown: CheckContent) -> None:
        """GitHub shows it. Whoever is alone and stands in the way of a merge may not have been alone all the time: no harm in that."""
        if self._siblings is None or beside is None:
            return
        if beside.others or strictness(state_of(shown)) is Strictness.PASSES:
            self._siblings.told(pull, head_sha, beside.version, shown)

    def supersede(self, request: JudgeRequest, newest: Sha) -> None:
        """Cancel the unfinished checks of every other head, naming the newer commit."""
        for head_sha, check in self._registry.open_checks(request.pull).items():
            if head_sha != newest:
                self._update(request, head_sha, check, self._superseded(request, newest))
                self._registry.concluded(request.pull, head_sha)

    def end_begun(self, request: JudgeRequest, newest: Sha) -> None:
        """Cancel the check runs of other heads that somebody began to create and never told the end of."""
        if begun := [head_sha for head_sha in self._registry.begun(request.pull) if head_sha != newest]:
            self._adopt_all(request, begun)
            self.supersede(request, newest)

    def finish_all(self, request: JudgeRequest, content: CheckContent) -> None:
        """Conclude every unfinished check of the pull request.

        One that we may not see any more is forgotten: whoever looks around finds its head without a state, should we see it again.
        """
        self._adopt_all(request, self._registry.begun(request.pull))
        for head_sha, check in self._registry.open_checks(request.pull).items():
            try:
                self._update(request, head_sha, check, content)
            except Gone:
                self._registry.forget(request.pull, head_sha)
            else:
                self._registry.concluded(request.pull, head_sha)

    def close(self, request: JudgeRequest, *, is_over: bool = True) -> None:
        """Nobody waits for this pull request's checks any more; and where it *is_over*, none of another one waits for it."""
        self.finish_all(request, closed())
        if self._siblings is not None and is_over:
            self._siblings.leaves(request.pull)

    def fail(self, request: JudgeRequest, reason: str) -> None:
        """Say on every unfinished check that nobody judged, and why; on the head asked for if there is none yet."""
        if request.head_sha is not None and not self._registry.open_checks(request.pull):
            self.write(request, request.head_sha, failed(reason, request.delivery_id))
        self.finish_all(request, failed(reason, request.delivery_id))

    def put_off(self, request: JudgeRequest, until: datetime, *, is_away: bool = False) -> None:
        """Say on every unfinished check until when nobody can judge. *is_away*: GitHub fails, else it lets us ask no more."""
        content = waiting_out(until) if is_away else waiting_for_github(until)
        for head_sha, check in self._registry.open_checks(request.pull).items():
            self._update(request, head_sha, check, content)
            self._registry.rests(request.pull, head_sha, check, is_watched=content.is_watched, is_put_off=True)

    def expire(self, request: JudgeRequest, head_sha: Sha, check: CheckRunId, content: CheckContent) -> bool:
        """Close a check that is still unfinished. False: somebody concluded it while this was written, perhaps over that."""
        if self._registry.open_checks(request.pull).get(head_sha) != check:
            return True
        self._registry.expires(request.pull, head_sha)  # first: whoever dies here has left a note
        try:
            self._update(request, head_sha, check, content)
        except (Gone, Forbidden):
            self._registry.forget(request.pull, head_sha)
            return True
        except Unavailable:
            if head_sha in self._registry.open_checks(request.pull):
                raise
        return self._registry.expired(request.pull, head_sha, check)

    def _adopt_all(self, request: JudgeRequest, begun: Iterable[Sha]) -> None:
        """Have every check run that is being created known by its id; waits for makers that are still at it."""
        for head_sha in begun:
            if self._registry.claim(request.pull, head_sha) is None:
                self._adopt(request, head_sha)

    def _adopt(self, request: JudgeRequest, head_sha: Sha) -> None:
        """Take over what an earlier maker may have left on this head, whose claim is ours; create nothing."""
        with contextlib.suppress(Gone):
            if check := self._checks.find(request, head_sha):
                self._registry.opened(request.pull, head_sha, check)
                return
        self._registry.release(request.pull, head_sha)
        self._registry.concluded(request.pull, head_sha)

    def _create(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> None:
        with contextlib.ExitStack() as unless_created:
            unless_created.callback(self._registry.release, request.pull, head_sha)
            is_new = request.trigger is not Trigger.SWEEP and self._registry.is_first(request.pull, head_sha)
            make = self._checks.make if is_new else self._checks.create  # a sweep looks for what we forgot
            beside = self._beside(request.pull, head_sha, content)
            shown = content if beside is None else together(content, beside.others, is_here=beside.is_here)
            check = make(request, head_sha, shown)
            unless_created.pop_all()
        # whoever was stopped for longer than his claim may have been followed by another, who made one, too
        if not self._registry.is_making(request.pull, head_sha):
            check = self._checks.find(request, head_sha) or check
        self._note(request, head_sha, check, content)
        self._told(request.pull, head_sha, beside, shown)
