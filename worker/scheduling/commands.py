"""What follows from a command: who gives it, whether they may, what is done, and what they are told.

Does not judge: what a command asks for is written down, and a judge does it. Invariant: whoever may not is refused before
anything is done; a bot is never answered; the same words in the same comment are followed once; nobody is told the same twice.
All of it may be done again: an errand that broke off comes back.
"""

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Final, assert_never

from worker.adapters.redis.store import Store
from worker.domain.check.overrides import BUTTON_REASON, Contest, Override, ReviewDecision, ReviewDismissal
from worker.domain.config.command_permissions import (
    COMMAND_RIGHTS,
    CommandAuthor,
    CommandRefusal,
    Role,
    find_refusal,
    parse_pause,
)
from worker.domain.ids import DeliveryId, EvalId, Sha
from worker.domain.judging import JudgingCompleted, JudgingOutcome, JudgingSuperseded, WaitForCi
from worker.domain.pattern import pattern
from worker.domain.ports import Clock, CommandApi, CurrentPull
from worker.domain.request.judge_request import CommandName, CommandRequest, JudgeRequest, Trigger
from worker.domain.request.pause import LONGEST_NAME, LONGEST_REASON, JudgingPause, UntilError
from worker.domain.request.pull_request_events import PullRequestEvent, PullRequestEventKind
from worker.domain.value import Value, replace
from worker.domain.verdict.verdict import Abstain, AbstainReason
from worker.errors import SubjectGone, unavailable_if_recent
from worker.publishing.texts import comments
from worker.traces import log_fields

LOG: Final = logging.getLogger(__name__)
ACCEPTED_REACTION: Final = "eyes"
REFUSED_REACTION: Final = "-1"
UNKNOWN_REACTION: Final = "confused"

FindOwnedBase = Callable[[CommandRequest, Role], str | None]
"""Into which branch a commit goes that a person has to decide about, if the reviewer owns a file of it."""


class AuthorizedCommand(Value):
    """A command whose author may give it."""

    request: CommandRequest
    proposal: CurrentPull
    at: datetime

    @property
    def head_sha(self) -> Sha:
        """The commit that it is about: the one that it names, or the newest."""
        return self.request.head_sha or self.proposal.head_sha


class CommandHandler(Value):
    """Answers commands."""

    api: CommandApi
    store: Store
    clock: Clock
    find_owned_base: FindOwnedBase

    def answer(self, request: CommandRequest) -> None:
        """Do what somebody asks for, if they may, and let them see it."""
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
        """Raises Gone only once a while has passed: GitHub may not find at once what it has just told of."""
        try:
            return self.api.find_pull(request)
        except SubjectGone as gone:
            if late := unavailable_if_recent("the pull request", gone, request.asked_at, self.clock.now()):
                raise late from gone
            raise

    def _refuse(self, request: CommandRequest, why: CommandRefusal, role: Role, detail: str = "") -> None:
        LOG.info("refused a command", extra={"command": request.command, "why": why, "repository": request.repository})
        self._react(request, REFUSED_REACTION)
        if COMMAND_RIGHTS[request.command].syntax and not is_button_press(request):
            self._reply(
                request, f"{why} {request.command}", lambda: comments.refusal_comment(request, why, role, detail)
            )

    def _begin(self, request: CommandRequest, proposal: CurrentPull, role: Role) -> None:
        """Follow it, unless the same words in the same comment were followed before: it was edited elsewhere."""
        act = f"{_command_source(request)} {request.command} {request.reason}"
        at = self.store.decisions.claim_action(request.pull, act, request.delivery_id, self.clock.now())
        if at is not None and self._execute(AuthorizedCommand(request, proposal, at), role):
            self._react(request, ACCEPTED_REACTION)

    def _execute(self, command: AuthorizedCommand, role: Role) -> bool:
        """Do it; False: it was refused all the same."""
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
                self._resume(command)
            case CommandName.HELP:
                self._reply(request, "help", comments.help_comment)
            case CommandName.APPROVED | CommandName.CHANGES | CommandName.DISMISSED:  # the last was done before
                self._review(command, role)
            case _:
                assert_never(request.command)
        return True

    def _contest(self, command: AuthorizedCommand) -> None:
        """A press of the button takes no words from who wrote some before."""
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
        """A code owner's review counts, of the commit that it is about; what others think is theirs.

        An older one, and one that is dismissed already, may be looked into after the newer: then it is nothing.
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
        """Whom GitHub lets take back a review takes back what it decided: the check says again what is on record."""
        review, head_sha, decisions = request.review, request.head_sha, self.store.decisions
        if review is None or head_sha is None:
            return
        decision = ReviewDismissal(login=request.login, at=request.asked_at, of=review.login)
        decisions.dismiss(
            request.pull, review, decision
        )  # first: whoever looks into the review right now sees this, or is seen below
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

    def _resume(self, command: AuthorizedCommand) -> None:
        request = command.request
        was_paused = self.store.pauses.resume(request.pull.installation_id, request.pull.repository_id)
        self._request_judging(command, Trigger.RESUMED, None)
        self._reply(request, f"resumed {request.delivery_id}", lambda: comments.resume_comment(was_paused=was_paused))

    def _request_judging(
        self, command: AuthorizedCommand, trigger: Trigger, happened: PullRequestEventKind | None
    ) -> None:
        """Have it judged, and note down what may be an outcome."""
        self.store.pulls.request_judging(request_for_command(command.request, trigger, command.at))
        if happened is not None:
            self.store.pull_request_events.put(_pull_request_event(command, happened))

    def _is_about_other_head(self, command: AuthorizedCommand) -> bool:
        """Whether the words are not about the newest commit: they name an older one, or it came after them.

        One that we were not told of yet came after the one that we know: who spoke may not have seen it.
        """
        if command.request.head_sha is not None:
            return command.request.head_sha != command.proposal.head_sha
        newest = self.store.decisions.newest_arrival(command.request.pull)
        return newest is not None and (newest.head_sha != command.head_sha or newest.at > command.request.asked_at)

    def _current_verdict(self, command: AuthorizedCommand) -> EvalId | None:
        """The verdict that stands at this commit."""
        entries = self.store.ledger.entries(command.request.pull)
        own = [
            entry for entry in entries if entry.head_sha == command.head_sha and entry.verdict.parent_eval_id is None
        ]
        return own[-1].eval_id if own else None

    def _react(self, request: CommandRequest, sign: str) -> None:
        """A review that only decides is no command: nothing is left at it, whoever wrote it."""
        if COMMAND_RIGHTS[request.command].syntax:
            self.api.react(request, sign)

    def _reply(self, request: CommandRequest, what: str, text: Callable[[], str]) -> None:
        """Answer in words, if this person was not told so before. Raises RateLimited: the same errand says it later."""
        if self.store.decisions.claim_answer(request.pull, f"{request.login.casefold()} {what}", request.delivery_id):
            self.api.post_comment(request, text())


def request_for_command(request: CommandRequest, trigger: Trigger, at: datetime) -> JudgeRequest:
    """Have the newest commit judged, because of a command."""
    return JudgeRequest(
        pull=request.pull,
        repository=request.repository,
        head_sha=None,
        trigger=trigger,
        delivery_id=DeliveryId(f"ask-{request.delivery_id}"),
        requested_at=at,
    )


def reason_of(request: CommandRequest) -> str:
    """What somebody says in favour of a command. A press of a button says nothing."""
    return BUTTON_REASON if is_button_press(request) and request.command is CommandName.CONTEST else request.reason


def is_button_press(request: CommandRequest) -> bool:
    """A button, and no comment or review."""
    return request.comment_id is None and not request.in_review


def _command_source(request: CommandRequest) -> object:
    """Where it was said. What a review itself decides is said once, by its delivery."""
    if request.comment_id is None and request.review is not None and COMMAND_RIGHTS[request.command].syntax:
        return f"review-{request.review.id}"
    return request.comment_id or request.delivery_id


def _pull_request_event(command: AuthorizedCommand, what: PullRequestEventKind) -> PullRequestEvent:
    request = command.request
    return PullRequestEvent(
        what=what,
        installation_id=request.pull.installation_id,
        repository_id=request.pull.repository_id,
        number=request.pull.number,
        delivery_id=request.delivery_id,
        at=request.asked_at,
        by_person=True,
        head_sha=None if what is PullRequestEventKind.ASKED_AGAIN else command.head_sha,
    )


RESUMED_PREFIX: Final = pattern(r"resumed-\d+-")


def update_paused_heads(store: Store, request: JudgeRequest, fence: int, outcome: JudgingOutcome) -> None:
    """Note down what came of a judging: nobody judged, for a pause; or it is over. May be called twice."""
    match outcome:
        case JudgingCompleted(verdict=Abstain(abstain_reason=AbstainReason.PAUSED)):
            store.paused_heads.put(resumed_request(request, fence))
        case JudgingSuperseded() | WaitForCi():
            pass
        case _:
            store.paused_heads.remove(request.pull)


def resumed_request(request: JudgeRequest, fence: int) -> JudgeRequest:
    """What is asked for when the pause is over: whatever head is the newest then. Its delivery is told by the first one's id.

    Who looks then asks GitHub whether it is a draft: as one it would wait here for ever, though somebody had asked for it.
    """
    first = RESUMED_PREFIX.sub("", request.delivery_id)
    changes = {"head_sha": None, "trigger": Trigger.RESUMED, "delivery_id": DeliveryId(f"resumed-{fence}-{first}")}
    return request.model_copy(update={**changes, "draft": False})


def resume_paused_heads(store: Store, clock: Clock) -> int:
    """Ask for what waits where no pause is in force any more; how many that were. May be called twice."""
    asked = 0
    for paused in store.paused_heads.next():
        if store.pauses.find_pause(paused.installation_id, paused.repository_id) is not None:
            continue
        for request in store.paused_heads.list_requests(paused):
            store.pulls.request_judging(request.model_copy(update={"requested_at": clock.now()}))
            store.paused_heads.remove(request.pull)
            LOG.info("the pause is over", extra=log_fields(request))
            asked += 1
        store.paused_heads.remove_repository(paused)
    return asked
