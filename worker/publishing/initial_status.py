"""The first thing that a head's check says: who waits for what, or why nobody judges it.

Does not judge and does not read a change. Invariant: what can't be told from here is left to the judge, who knows all of it;
what a judge says is never overwritten by what was true before; and a check that lets a pull request pass is written only once
who wrote it was asked of GitHub, commits included.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final, Protocol

from worker.domain.check.check_run import CheckContent
from worker.domain.config.config import Authors, Handling
from worker.domain.ids import CheckRunId, DeliveryId, InstallationId, RepositoryName, Sha
from worker.domain.ports import Clock, JudgeRequests, Ledger, ReopenedChecks
from worker.domain.request.greeting import Greeting
from worker.domain.request.judge_request import ARRIVALS, BY_HAND, AuthorKind, JudgeRequest, PullRef, Trigger
from worker.domain.request.open_pulls import Looked, OpenPull
from worker.domain.value import Value
from worker.dossier.eligibility import About, Judge, Skip, Standing, handling_of, kind_of, standing, with_operators
from worker.errors import Gone, Unreadable
from worker.publishing.check_runs import CheckDesk
from worker.publishing.eligibility import shown
from worker.publishing.texts.check_run import failed, judging
from worker.publishing.texts.phrases import OVERDUE
from worker.publishing.texts.states import AGAIN, begun, old, waiting
from worker.traces import told_late

SOON: Final = timedelta(seconds=1)
"""A shorter wait is not worth a word."""

WATCHED_SHARE: Final = 0.5
"""How much of a check's time may pass until judging begins, for its deadline to count from the beginning."""

MOST_AT_ONCE: Final = 10
"""How many checks of old pull requests are written in one go: GitHub allows few writes a minute."""

GOES_ON: Final = timedelta(minutes=1)
"""How long to leave it at that."""


AFTERWARDS: Final = frozenset({Trigger.EDITED, Trigger.CASE, Trigger.CRITERIA, Trigger.RULES})
"""They change nothing about what a check says that waits for its verdict."""

WINDOWED: Final = frozenset({Trigger.TEXT, Trigger.REOPENED})
"""They have a verdict count no more, and wait for the quiet window: there may be more of it."""


class Look(Protocol):
    """Who wrote a pull request, and which ones are open. Raises as PullSource does."""

    def look(self, request: JudgeRequest) -> Looked: ...

    def open_pulls(self, installation: InstallationId, repository: RepositoryName) -> Iterator[OpenPull]: ...


class Reception(Value):
    """Opens check runs. `operators`: whose pull requests are judged where a repository does not say."""

    desk: CheckDesk
    checks: ReopenedChecks
    pulls: JudgeRequests
    ledger: Ledger
    look: Look
    clock: Clock
    operators: Authors
    deadline: timedelta

    def open(self, request: JudgeRequest, head_sha: Sha) -> None:
        """Give a head its check run, with what is true of it now. May be called again: after a write whose end is not known, too."""
        doubtful = self.checks.may_be_written_over(request.pull)
        if head_sha in doubtful:
            self.pulls.want(late(request))
        self._say(request, head_sha)
        for one in doubtful:
            self._set_right(request, one)

    def _say(self, request: JudgeRequest, head_sha: Sha) -> None:
        again = None if request.trigger in ARRIVALS else self.checks.again(request.pull, head_sha)
        if again is not None and again.why is not None:
            self._reopen(request, head_sha, again.check, again.why)
        elif again is not None or not self._is_said(request, head_sha):
            self._open(request, head_sha)

    def _set_right(self, request: JudgeRequest, head_sha: Sha) -> None:
        """Have a check that may say anything cancelled, or counted as open until somebody judges. May be called again."""
        check = self.checks.known(request.pull, head_sha)
        is_left = check is not None and self.desk.leave_behind(request, head_sha, check)
        if check is not None and not is_left and head_sha not in self.checks.open_checks(request.pull):
            self.desk.written_over(request, head_sha, check)
        self.checks.reopened(request.pull, head_sha)

    def _is_said(self, request: JudgeRequest, head_sha: Sha) -> bool:
        """Whether what happened changes nothing about what the check says as long as it waits for its verdict."""
        return request.trigger in AFTERWARDS and not request.draft and self.checks.is_known(request.pull, head_sha)

    def _reopen(self, request: JudgeRequest, head_sha: Sha, check: CheckRunId, why: Trigger) -> None:
        """What its check says counts no more, and somebody is to judge it: nobody may rely on it until then."""
        content = self._begins(request.pull, why) if why in WINDOWED else begun(why)
        self.checks.reopens(request.pull, head_sha)
        if not self.desk.reopen(request, head_sha, check, content):
            self.pulls.want(late(request))
        self.checks.is_again(request.pull)
        self.checks.reopened(request.pull, head_sha)

    def _open(self, request: JudgeRequest, head_sha: Sha) -> None:
        found = self._standing(request)
        content = (
            self._begins(request.pull, self._outdated_by(request, head_sha))
            if isinstance(found, Judge)
            else shown(found)
        )
        if is_known := self.checks.is_known(request.pull, head_sha):
            self.checks.reopens(request.pull, head_sha)
        if not self.desk.open(request, head_sha, content):
            self.pulls.want(late(request))
        elif isinstance(found, Skip):
            self.pulls.rest(request)
        if is_known:
            self.checks.reopened(request.pull, head_sha)

    def expire(self, request: JudgeRequest, head_sha: Sha, check: CheckRunId) -> None:
        """Close a check run that nobody concluded in time, and no verdict with it."""
        if not self.desk.expire(request, head_sha, check, failed(OVERDUE, request.delivery_id)):
            self.pulls.want(late(request))

    def _standing(self, request: JudgeRequest) -> Standing:
        if request.trigger in BY_HAND:
            return Judge()
        if request.author is AuthorKind.AGENT:
            about = About(author=AuthorKind.AGENT, trigger=request.trigger, draft=request.draft)
            return standing(about, self.operators)
        looked = self.look.look(request)
        if looked.authors is None:
            return Judge()
        about = About(author=kind_of(looked.pull, request.author), trigger=request.trigger, draft=looked.pull.draft)
        return standing(about, with_operators(looked.authors, self.operators))

    def _outdated_by(self, request: JudgeRequest, head_sha: Sha) -> Trigger | None:
        """What has a verdict on this head count no more; None: nothing, or there is none."""
        is_told = request.trigger in AGAIN and any(
            one.head_sha == head_sha for one in self.ledger.entries(request.pull)
        )
        return request.trigger if is_told else None

    def _begins(self, pull: PullRef, why: Trigger | None) -> CheckContent:
        """What the check says until it is judged."""
        plan, now = self.pulls.plan(pull), self.clock.now()
        if plan is None or plan.due_at - now < SOON:
            return begun(why) if why is Trigger.TEXT else judging()
        is_watched = plan.due_at - now < self.deadline * WATCHED_SHARE
        return waiting(plan.due_at, plan.window_s, is_watched=is_watched, why=why)

    def greet(self, greeting: Greeting) -> bool:
        """Say on the open pull requests of a repository that they were there before; False: not yet on all of them.

        One that Assay heard of in an earlier time is judged instead. May be called again. Raises as PullSource does.
        """
        written = 0
        for one in self.look.open_pulls(greeting.installation_id, greeting.repository):
            pull = pull_of(greeting, one)
            if one.opened_at >= greeting.since or self.checks.is_known(pull, one.head_sha):
                continue
            request = swept(greeting, one, self.clock.now())
            if was_heard_of(pull, one.head_sha, self.pulls, self.ledger):
                self.pulls.want(request)
                continue
            if written == MOST_AT_ONCE:
                return False
            content = of_before(request, self.look, self.operators)
            if content is not None:
                self.desk.open(request, one.head_sha, content)
                self.pulls.greeted(pull, one.head_sha)
                written += 1
        return True


def of_before(request: JudgeRequest, look: Look, operators: Authors) -> CheckContent | None:
    """What the check of a pull request from before Assay says; None: it is closed by now. Raises as PullSource does."""
    try:
        looked = look.look(request)
    except Gone:
        return None
    author = kind_of(looked.pull, request.author)
    handling = handling_of(author, with_operators(looked.authors or Authors(), operators))
    return old(is_blocking=looked.is_required and not looked.lets_pass and handling is Handling.JUDGE)


def late(request: JudgeRequest) -> JudgeRequest:
    """Somebody began to judge while the check was written: it may say what was true before, also of a draft that is none."""
    changes = {"trigger": Trigger.LATE, "delivery_id": told_late(request.delivery_id), "head_sha": None}
    return request.model_copy(update={**changes, "draft": False})


def was_heard_of(pull: PullRef, head_sha: Sha, pulls: JudgeRequests, ledger: Ledger) -> bool:
    """Whether somebody asked for it lately, it was ever judged, or it was pushed to since it was greeted."""
    try:
        if pulls.request(pull) is not None or ledger.entries(pull):
            return True
    except Unreadable:
        return True  # there is an entry, and its key is missing: the judge says so on the check
    return pulls.greeted_head(pull) not in (None, head_sha)


def pull_of(greeting: Greeting, one: OpenPull) -> PullRef:
    return PullRef(installation_id=greeting.installation_id, repository_id=greeting.repository_id, number=one.number)


def swept(greeting: Greeting, one: OpenPull, at: datetime) -> JudgeRequest:
    return JudgeRequest(
        pull=pull_of(greeting, one),
        repository=greeting.repository,
        head_sha=one.head_sha,
        trigger=Trigger.SWEEP,
        delivery_id=DeliveryId(f"greeted-{greeting.id}-{one.number}-{greeting.delivery_id}"),
        requested_at=at,
        author=one.author,
        draft=one.draft,
        base=one.base,
    )
