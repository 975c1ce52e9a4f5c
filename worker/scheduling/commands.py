"""Carry out commands of comments, reviews and buttons: check permissions, act, answer.

Permissions are checked before anything is done, and bots get no answer. The same text in the same comment acts once, and a person gets
the same answer once. Everything is idempotent, since an interrupted task is retried. What a command asks of a judge is requested.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Final, assert_never

from worker.domain.check.overrides import BUTTON_REASON, Contest, Override, ReviewDecision, ReviewDismissal
from worker.domain.config.command_permissions import (
    COMMAND_RIGHTS,
    CommandAuthor,
    CommandRefusal,
    Role,
    find_refusal,
    parse_pause,
)
from worker.domain.github_events import PullRequestEvent, PullRequestEventKind
from worker.domain.judge_request import CommandName, CommandRequest, JudgeRequest, Trigger
from worker.domain.model import DeliveryId, EvalId, Sha
from worker.domain.ports import Clock, CommandApi, CurrentPull
from worker.domain.time_range import LONGEST_NAME, LONGEST_REASON, JudgingPause, UntilError
from worker.errors import SubjectGone, unavailable_if_recent
from worker.judge.merge_group import newest_entry
from worker.publishing.texts import comments
from worker.scheduling.ports import SchedulingStore

LOG: Final = logging.getLogger(__name__)
ACCEPTED_REACTION: Final = "eyes"
REFUSED_REACTION: Final = "-1"
UNKNOWN_REACTION: Final = "confused"

FindOwnedBase = Callable[[CommandRequest, Role], str | None]
"""The base branch of a commit whose verdict needs a person, if the reviewer owns one of its files."""


@dataclass(frozen=True)
class AuthorizedCommand:
    """A permitted command."""

    request: CommandRequest
    proposal: CurrentPull
    at: datetime

    @property
    def head_sha(self) -> Sha:
        """The commit that it names, or the newest."""
        return self.request.head_sha or self.proposal.head_sha


@dataclass(frozen=True)
class CommandHandler:
    """Answers commands."""

    api: CommandApi
    store: SchedulingStore
    clock: Clock
    find_owned_base: FindOwnedBase

    def answer(self, request: CommandRequest) -> None:
        """Carry out a command if it is permitted, and answer it."""
        if request.command is CommandName.DISMISSED:
            self._dismiss(request)
            return
        if request.is_bot:
            return
        if request.misspelt is not None:
            self._react(request, UNKNOWN_REACTION)
            self._reply(request, f"unknown {request.misspelt}", lambda: comments.unknown_command_comment(request))
            return
        role = self.api.role(request)
        if find_refusal(request.command, CommandAuthor(role), reason_of(request)) is CommandRefusal.ROLE:
            self._refuse(request, CommandRefusal.ROLE, role)  # before more is asked of GitHub for a stranger
            return
        proposal = self._proposal(request)
        asker = CommandAuthor(role, is_author=proposal.author.casefold() == request.login.casefold())
        if asker.is_author and COMMAND_RIGHTS[request.command].is_for_only_maintainer:
            asker = replace(asker, is_only_maintainer=self.api.is_only_maintainer(request))
        if why := find_refusal(request.command, asker, reason_of(request)):
            self._refuse(request, why, role)
        elif proposal.is_open:
            self._begin(request, proposal, role)

    def _proposal(self, request: CommandRequest) -> CurrentPull:
        """The pull request. Raises SubjectGone only after a while: GitHub may not find right away what it just sent an event about."""
        try:
            return self.api.find_pull(request)
        except SubjectGone as gone:
            if late := unavailable_if_recent("the pull request", gone, request.asked_at, self.clock.now()):
                raise late from gone
            raise

    def _refuse(self, request: CommandRequest, why: CommandRefusal, role: Role, detail: str = "") -> None:
        LOG.info("command refused", extra={"command": request.command, "why": why, "repository": request.repository})
        self._react(request, REFUSED_REACTION)
        if COMMAND_RIGHTS[request.command].syntax and not is_button_press(request):
            self._reply(
                request, f"{why} {request.command}", lambda: comments.refusal_comment(request, why, role, detail)
            )

    def _begin(self, request: CommandRequest, proposal: CurrentPull, role: Role) -> None:
        """Carry it out, unless an edit left the same text in the same comment."""
        source: object = request.comment_id or request.delivery_id
        if request.comment_id is None and request.review is not None and COMMAND_RIGHTS[request.command].syntax:
            source = f"review-{request.review.id}"
        act = f"{source} {request.command} {request.reason}"
        at = self.store.decisions.claim_action(request.pull, act, request.delivery_id, self.clock.now())
        if at is not None and self._execute(AuthorizedCommand(request, proposal, at), role):
            self._react(request, ACCEPTED_REACTION)

    def _execute(self, command: AuthorizedCommand, role: Role) -> bool:
        """Carry it out; False: it was refused after all."""
        request = command.request
        match request.command:
            case CommandName.REJUDGE:
                self._request_judging(command, Trigger.COMMAND, PullRequestEventKind.ASKED_AGAIN)
            case CommandName.FORCE:
                self.store.decisions.force(request.pull, command.head_sha, command.at)
                self._request_judging(command, Trigger.FORCE, PullRequestEventKind.ASKED_AGAIN)
            case CommandName.CONTEST | CommandName.OVERRIDE if self._is_about_other_head(command):
                self._refuse(request, CommandRefusal.OVERTAKEN, role, command.proposal.head_sha)
                return False
            case CommandName.CONTEST:
                self._contest(command)
            case CommandName.OVERRIDE:
                self._override(command)
            case CommandName.PAUSE:
                return self._pause(command, role)
            case CommandName.RESUME:
                was_paused = self.store.pauses.resume(request.pull.installation_id, request.pull.repository_id)
                self._request_judging(command, Trigger.RESUMED, None)
                answer = partial(comments.resume_comment, was_paused=was_paused)
                self._reply(request, f"resumed {request.delivery_id}", answer)
            case CommandName.HELP:
                self._reply(request, "help", comments.help_comment)
            case CommandName.APPROVED | CommandName.CHANGES | CommandName.DISMISSED:  # the last was done before
                self._review(command, role)
            case _:
                assert_never(request.command)
        return True

    def _contest(self, command: AuthorizedCommand) -> None:
        """Record a contest. A button without a reason does not replace an earlier reason."""
        request, head_sha = command.request, command.head_sha
        decisions = self.store.decisions.find_decisions(request.pull, head_sha)
        if not is_button_press(request) or decisions.contested_at is None:
            decision = Contest(
                login=request.login, reason=reason_of(request), at=command.at, eval_id=self._current_verdict(command)
            )
            self.store.decisions.contest(request.pull, head_sha, decision)
        self._request_judging(command, Trigger.CONTEST, PullRequestEventKind.CONTESTED)

    def _override(self, command: AuthorizedCommand) -> None:
        request = command.request
        at = min(command.at, request.asked_at)  # an override told late counts for the base of its time alone
        is_own = command.proposal.author.casefold() == request.login.casefold()
        decision = Override(
            login=request.login, reason=request.reason, at=at, eval_id=self._current_verdict(command), is_own=is_own
        )
        self.store.decisions.override(request.pull, command.head_sha, decision)
        self._request_judging(
            command, Trigger.COMMAND, PullRequestEventKind.OVERRIDDEN_OWN if is_own else PullRequestEventKind.OVERRIDDEN
        )

    def _review(self, command: AuthorizedCommand, role: Role) -> None:
        """Record a code owner's review of the newest commit; other reviews decide nothing.

        Reviews may be processed out of order: an older or dismissed one changes nothing.
        """
        request, decisions = command.request, self.store.decisions
        if request.head_sha != command.proposal.head_sha or (base_ref := self.find_owned_base(request, role)) is None:
            return
        before = decisions.find_decisions(request.pull, command.head_sha).for_base(base_ref).review
        if before is not None and before.at > request.asked_at:
            return
        decision = ReviewDecision(
            login=request.login,
            at=request.asked_at,
            eval_id=self._current_verdict(command),
            is_approved=request.command is CommandName.APPROVED,
            review_id=request.review and request.review.id,
            base_ref=base_ref,
        )
        decisions.review(request.pull, command.head_sha, decision)
        if request.review is not None and (gone := decisions.find_dismissal(request.pull, request.review)):
            decisions.withdraw(request.pull, command.head_sha, gone)
        self._request_judging(command, Trigger.COMMAND, None)

    def _dismiss(self, request: CommandRequest) -> None:
        """Withdraw the decision of a dismissed review: the check shows the recorded verdict again."""
        review, head_sha, decisions = request.review, request.head_sha, self.store.decisions
        if review is None or head_sha is None:
            return
        decision = ReviewDismissal(login=request.login, at=request.asked_at, of=review.login)
        decisions.dismiss(
            request.pull, review, decision
        )  # before the read: a concurrent `_review` either sees this, or is seen below
        current = decisions.find_decisions(request.pull, head_sha)
        if current.review is not None and current.review.matches(review):
            decisions.withdraw(request.pull, head_sha, decision)
        elif current.dismissed != decision:
            return
        proposal = self._proposal(request)
        if proposal.is_open and proposal.head_sha == head_sha:
            self.store.pulls.request_judging(request_for_command(request, Trigger.DISMISSED, request.asked_at))

    def _pause(self, command: AuthorizedCommand, role: Role) -> bool:
        request = command.request
        try:
            until, reason = parse_pause(request.reason, command.at)
        except UntilError as error:
            self._refuse(request, CommandRefusal.TIME, role, str(error))
            return False
        suspension = JudgingPause(
            by=request.login[:LONGEST_NAME],
            at=command.at,
            until=until,
            reason=reason[:LONGEST_REASON],
            repository=request.repository,
        )
        self.store.pauses.pause(request.pull.installation_id, request.pull.repository_id, suspension)
        self._reply(request, f"paused {request.delivery_id}", lambda: comments.pause_comment(suspension))
        return True

    def _request_judging(
        self, command: AuthorizedCommand, trigger: Trigger, happened: PullRequestEventKind | None
    ) -> None:
        """Request a judging, and queue the event for its outcome."""
        self.store.pulls.request_judging(request_for_command(command.request, trigger, command.at))
        if happened is not None:
            asked = command.request
            event = PullRequestEvent(
                what=happened,
                installation_id=asked.pull.installation_id,
                repository_id=asked.pull.repository_id,
                number=asked.pull.number,
                delivery_id=asked.delivery_id,
                at=asked.asked_at,
                by_person=True,
                head_sha=None if happened is PullRequestEventKind.ASKED_AGAIN else command.head_sha,
            )
            self.store.pull_request_events.put(event)

    def _is_about_other_head(self, command: AuthorizedCommand) -> bool:
        """Whether the command is not about the newest commit: it names an older one, or was written before the newest was first seen.

        A head without a delivery so far is newer than the last known one, and its author may not have seen it.
        """
        if command.request.head_sha is not None:
            return command.request.head_sha != command.proposal.head_sha
        newest = self.store.decisions.newest_arrival(command.request.pull)
        return newest is not None and (newest.head_sha != command.head_sha or newest.at > command.request.asked_at)

    def _current_verdict(self, command: AuthorizedCommand) -> EvalId | None:
        """The newest verdict on this commit."""
        newest = newest_entry(self.store.ledger.entries(command.request.pull), command.head_sha)
        return newest and newest.eval_id

    def _react(self, request: CommandRequest, sign: str) -> None:
        """React to a command; a review that only decides gets no reaction."""
        if COMMAND_RIGHTS[request.command].syntax:
            self.api.react(request, sign)

    def _reply(self, request: CommandRequest, what: str, text: Callable[[], str]) -> None:
        """Post an answer, unless this person got it before. Raises RateLimited; the same task posts it later."""
        if self.store.decisions.claim_answer(request.pull, f"{request.login.casefold()} {what}", request.delivery_id):
            self.api.post_comment(request, text())


def request_for_command(request: CommandRequest, trigger: Trigger, at: datetime) -> JudgeRequest:
    """The request to judge the newest commit, caused by a command."""
    return JudgeRequest(
        pull=request.pull,
        repository=request.repository,
        head_sha=None,
        trigger=trigger,
        delivery_id=DeliveryId(f"ask-{request.delivery_id}"),
        requested_at=at,
    )


def reason_of(request: CommandRequest) -> str:
    """The reason of a command; a button has a fixed one."""
    return BUTTON_REASON if is_button_press(request) and request.command is CommandName.CONTEST else request.reason


def is_button_press(request: CommandRequest) -> bool:
    """A button, and no comment or review."""
    return request.comment_id is None and not request.in_review
