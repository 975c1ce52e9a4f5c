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

    def answer(self, ask: CommandRequest) -> None:
        """Do what somebody asks for, if they may, and let them see it."""
        if ask.command is CommandName.DISMISSED:
            self._dismiss(ask)
            return
        if ask.is_bot:
            return
        if ask.misspelt is not None:
            self._react(ask, UNKNOWN_REACTION)
            self._reply(ask, f"unknown {ask.misspelt}", lambda: comments.unknown_command_comment(ask))
            return
        role = self.api.role(ask)
        if find_refusal(ask.command, CommandAuthor(role), reason_of(ask)) is CommandRefusal.ROLE:
            self._refuse(ask, CommandRefusal.ROLE, role)  # before more is asked of GitHub for a stranger
            return
        proposal = self._proposal(ask)
        asker = CommandAuthor(role, is_author=proposal.author.casefold() == ask.login.casefold())
        if asker.is_author and COMMAND_RIGHTS[ask.command].is_for_only_maintainer:
            asker = replace(asker, is_only_maintainer=self.api.is_only_maintainer(ask))
        if why := find_refusal(ask.command, asker, reason_of(ask)):
            self._refuse(ask, why, role)
        elif proposal.is_open:
            self._begin(ask, proposal, role)

    def _proposal(self, ask: CommandRequest) -> CurrentPull:
        """Raises Gone only once a while has passed: GitHub may not find at once what it has just told of."""
        try:
            return self.api.find_pull(ask)
        except SubjectGone as gone:
            if late := unavailable_if_recent("the pull request", gone, ask.asked_at, self.clock.now()):
                raise late from gone
            raise

    def _refuse(self, ask: CommandRequest, why: CommandRefusal, role: Role, detail: str = "") -> None:
        LOG.info("refused a command", extra={"command": ask.command, "why": why, "repository": ask.repository})
        self._react(ask, REFUSED_REACTION)
        if COMMAND_RIGHTS[ask.command].syntax and not is_button_press(ask):
            self._reply(ask, f"{why} {ask.command}", lambda: comments.refusal_comment(ask, why, role, detail))

    def _begin(self, ask: CommandRequest, proposal: CurrentPull, role: Role) -> None:
        """Follow it, unless the same words in the same comment were followed before: it was edited elsewhere."""
        act = f"{_command_source(ask)} {ask.command} {ask.reason}"
        at = self.store.decisions.claim_action(ask.pull, act, ask.delivery_id, self.clock.now())
        if at is not None and self._execute(AuthorizedCommand(ask, proposal, at), role):
            self._react(ask, ACCEPTED_REACTION)

    def _execute(self, command: AuthorizedCommand, role: Role) -> bool:
        """Do it; False: it was refused all the same."""
        ask = command.request
        match ask.command:
            case CommandName.REJUDGE:
                self._request_judging(command, Trigger.COMMAND, PullRequestEventKind.ASKED_AGAIN)
            case CommandName.FORCE:
                self.store.decisions.force(ask.pull, command.head_sha, command.at)
                self._request_judging(command, Trigger.FORCE, PullRequestEventKind.ASKED_AGAIN)
            case CommandName.CONTEST | CommandName.OVERRIDE if self._is_about_other_head(command):
                self._refuse(ask, CommandRefusal.OVERTAKEN, role, command.proposal.head_sha)
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
                self._reply(ask, "help", comments.help_comment)
            case CommandName.APPROVED | CommandName.CHANGES | CommandName.DISMISSED:  # the last was done before
                self._review(command, role)
            case _:
                assert_never(ask.command)
        return True

    def _contest(self, command: AuthorizedCommand) -> None:
        """A press of the button takes no words from who wrote some before."""
        ask, head_sha = command.request, command.head_sha
        decisions = self.store.decisions.find_decisions(ask.pull, head_sha)
        if not is_button_press(ask) or decisions.contested_at is None:
            word = Contest(
                login=ask.login, reason=reason_of(ask), at=command.at, eval_id=self._current_verdict(command)
            )
            self.store.decisions.contest(ask.pull, head_sha, word)
        self._request_judging(command, Trigger.CONTEST, PullRequestEventKind.CONTESTED)

    def _override(self, command: AuthorizedCommand) -> None:
        ask = command.request
        at = min(command.at, ask.asked_at)  # an override told late counts for the base of its time alone
        is_own = command.proposal.author.casefold() == ask.login.casefold()
        word = Override(
            login=ask.login, reason=ask.reason, at=at, eval_id=self._current_verdict(command), is_own=is_own
        )
        self.store.decisions.override(ask.pull, command.head_sha, word)
        self._request_judging(
            command, Trigger.COMMAND, PullRequestEventKind.OVERRIDDEN_OWN if is_own else PullRequestEventKind.OVERRIDDEN
        )

    def _review(self, command: AuthorizedCommand, role: Role) -> None:
        """A code owner's review counts, of the commit that it is about; what others think is theirs.

        An older one, and one that is dismissed already, may be looked into after the newer: then it is nothing.
        """
        ask, decisions = command.request, self.store.decisions
        if ask.head_sha != command.proposal.head_sha or (base_ref := self.find_owned_base(ask, role)) is None:
            return
        before = decisions.find_decisions(ask.pull, command.head_sha).for_base(base_ref).review
        if before is not None and before.at > ask.asked_at:
            return
        word = ReviewDecision(
            login=ask.login,
            at=ask.asked_at,
            eval_id=self._current_verdict(command),
            is_approved=ask.command is CommandName.APPROVED,
            review_id=ask.review and ask.review.id,
            base_ref=base_ref,
        )
        decisions.review(ask.pull, command.head_sha, word)
        if ask.review is not None and (gone := decisions.find_dismissal(ask.pull, ask.review)):
            decisions.withdraw(ask.pull, command.head_sha, gone)
        self._request_judging(command, Trigger.COMMAND, None)

    def _dismiss(self, ask: CommandRequest) -> None:
        """Whom GitHub lets take back a review takes back what it decided: the check says again what is on record."""
        review, head_sha, decisions = ask.review, ask.head_sha, self.store.decisions
        if review is None or head_sha is None:
            return
        word = ReviewDismissal(login=ask.login, at=ask.asked_at, of=review.login)
        decisions.dismiss(
            ask.pull, review, word
        )  # first: whoever looks into the review right now sees this, or is seen below
        current = decisions.find_decisions(ask.pull, head_sha)
        if current.review is not None and current.review.matches(review):
            decisions.withdraw(ask.pull, head_sha, word)
        elif current.dismissed != word:
            return
        proposal = self._proposal(ask)
        if proposal.is_open and proposal.head_sha == head_sha:
            self.store.pulls.request_judging(request_for_command(ask, Trigger.DISMISSED, ask.asked_at))

    def _pause(self, command: AuthorizedCommand, role: Role) -> bool:
        ask = command.request
        try:
            until, reason = parse_pause(ask.reason, command.at)
        except UntilError as error:
            self._refuse(ask, CommandRefusal.TIME, role, str(error))
            return False
        suspension = JudgingPause(
            by=ask.login[:LONGEST_NAME],
            at=command.at,
            until=until,
            reason=reason[:LONGEST_REASON],
            repository=ask.repository,
        )
        self.store.pauses.pause(ask.pull.installation_id, ask.pull.repository_id, suspension)
        self._reply(ask, f"paused {ask.delivery_id}", lambda: comments.pause_comment(suspension))
        return True

    def _resume(self, command: AuthorizedCommand) -> None:
        ask = command.request
        was_paused = self.store.pauses.resume(ask.pull.installation_id, ask.pull.repository_id)
        self._request_judging(command, Trigger.RESUMED, None)
        self._reply(ask, f"resumed {ask.delivery_id}", lambda: comments.resume_comment(was_paused=was_paused))

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

    def _react(self, ask: CommandRequest, sign: str) -> None:
        """A review that only decides is no command: nothing is left at it, whoever wrote it."""
        if COMMAND_RIGHTS[ask.command].syntax:
            self.api.react(ask, sign)

    def _reply(self, ask: CommandRequest, what: str, text: Callable[[], str]) -> None:
        """Answer in words, if this person was not told so before. Raises RateLimited: the same errand says it later."""
        if self.store.decisions.claim_answer(ask.pull, f"{ask.login.casefold()} {what}", ask.delivery_id):
            self.api.post_comment(ask, text())


def request_for_command(ask: CommandRequest, trigger: Trigger, at: datetime) -> JudgeRequest:
    """Have the newest commit judged, because of a command."""
    return JudgeRequest(
        pull=ask.pull,
        repository=ask.repository,
        head_sha=None,
        trigger=trigger,
        delivery_id=DeliveryId(f"ask-{ask.delivery_id}"),
        requested_at=at,
    )


def reason_of(ask: CommandRequest) -> str:
    """What somebody says in favour of a command. A press of a button says nothing."""
    return BUTTON_REASON if is_button_press(ask) and ask.command is CommandName.CONTEST else ask.reason


def is_button_press(ask: CommandRequest) -> bool:
    """A button, and no comment or review."""
    return ask.comment_id is None and not ask.in_review


def _command_source(ask: CommandRequest) -> object:
    """Where it was said. What a review itself decides is said once, by its delivery."""
    if ask.comment_id is None and ask.review is not None and COMMAND_RIGHTS[ask.command].syntax:
        return f"review-{ask.review.id}"
    return ask.comment_id or ask.delivery_id


def _pull_request_event(command: AuthorizedCommand, what: PullRequestEventKind) -> PullRequestEvent:
    ask = command.request
    return PullRequestEvent(
        what=what,
        installation_id=ask.pull.installation_id,
        repository_id=ask.pull.repository_id,
        number=ask.pull.number,
        delivery_id=ask.delivery_id,
        at=ask.asked_at,
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
