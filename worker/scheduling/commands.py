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
from worker.domain.check.overrides import PRESSED, Contest, Dismissed, Override, Reviewed
from worker.domain.config.command_permissions import RIGHTS, Asker, Refusal, Role, pause_of, refusal
from worker.domain.ids import DeliveryId, EvalId, Sha
from worker.domain.ports import Clock, Desk, Proposal
from worker.domain.request.judge_request import Ask, CommandName, JudgeRequest, Trigger
from worker.domain.request.pause import LONGEST_NAME, LONGEST_REASON, Suspension, UntilError
from worker.domain.request.pull_request_events import Happened, Happening
from worker.domain.value import Value, replace
from worker.errors import Gone, not_found_yet
from worker.publishing.texts import comments

LOG: Final = logging.getLogger(__name__)
TAKEN: Final = "eyes"
NO: Final = "-1"
WHAT: Final = "confused"

OwnsInto = Callable[[Ask, Role], str | None]
"""Into which branch a commit goes that a person has to decide about, if the reviewer owns a file of it."""


class Given(Value):
    """A command whose author may give it."""

    ask: Ask
    proposal: Proposal
    at: datetime

    @property
    def head_sha(self) -> Sha:
        """The commit that it is about: the one that it names, or the newest."""
        return self.ask.head_sha or self.proposal.head_sha


class Clerk(Value):
    """Answers commands."""

    desk: Desk
    store: Store
    clock: Clock
    owns_into: OwnsInto

    def answer(self, ask: Ask) -> None:
        """Do what somebody asks for, if they may, and let them see it."""
        if ask.command is CommandName.DISMISSED:
            self._dismiss(ask)
            return
        if ask.is_bot:
            return
        if ask.misspelt is not None:
            self._react(ask, WHAT)
            self._say(ask, f"unknown {ask.misspelt}", lambda: comments.unknown(ask))
            return
        role = self.desk.role(ask)
        if refusal(ask.command, Asker(role), reason_of(ask)) is Refusal.ROLE:
            self._refuse(ask, Refusal.ROLE, role)  # before more is asked of GitHub for a stranger
            return
        proposal = self._proposal(ask)
        asker = Asker(role, is_author=proposal.author.casefold() == ask.login.casefold())
        if asker.is_author and RIGHTS[ask.command].by_only_maintainer:
            asker = replace(asker, is_only_maintainer=self.desk.is_only_maintainer(ask))
        if why := refusal(ask.command, asker, reason_of(ask)):
            self._refuse(ask, why, role)
        elif proposal.is_open:
            self._begin(ask, proposal, role)

    def _proposal(self, ask: Ask) -> Proposal:
        """Raises Gone only once a while has passed: GitHub may not find at once what it has just told of."""
        try:
            return self.desk.proposal(ask)
        except Gone as gone:
            if late := not_found_yet("the pull request", gone, ask.asked_at, self.clock.now()):
                raise late from gone
            raise

    def _refuse(self, ask: Ask, why: Refusal, role: Role, detail: str = "") -> None:
        LOG.info("refused a command", extra={"command": ask.command, "why": why, "repository": ask.repository})
        self._react(ask, NO)
        if RIGHTS[ask.command].spelled and not is_press(ask):
            self._say(ask, f"{why} {ask.command}", lambda: comments.refused(ask, why, role, detail))

    def _begin(self, ask: Ask, proposal: Proposal, role: Role) -> None:
        """Follow it, unless the same words in the same comment were followed before: it was edited elsewhere."""
        act = f"{_place(ask)} {ask.command} {ask.reason}"
        at = self.store.decisions.begins(ask.pull, act, ask.delivery_id, self.clock.now())
        if at is not None and self._follow(Given(ask, proposal, at), role):
            self._react(ask, TAKEN)

    def _follow(self, given: Given, role: Role) -> bool:
        """Do it; False: it was refused all the same."""
        ask = given.ask
        match ask.command:
            case CommandName.REJUDGE:
                self._judge(given, Trigger.COMMAND, Happened.ASKED_AGAIN)
            case CommandName.FORCE:
                self.store.decisions.force(ask.pull, given.head_sha, given.at)
                self._judge(given, Trigger.FORCE, Happened.ASKED_AGAIN)
            case CommandName.CONTEST | CommandName.OVERRIDE if self._is_of_another(given):
                self._refuse(ask, Refusal.OVERTAKEN, role, given.proposal.head_sha)
                return False
            case CommandName.CONTEST:
                self._contest(given)
            case CommandName.OVERRIDE:
                self._override(given)
            case CommandName.PAUSE:
                return self._pause(given, role)
            case CommandName.RESUME:
                self._resume(given)
            case CommandName.HELP:
                self._say(ask, "help", comments.listed)
            case CommandName.APPROVED | CommandName.CHANGES | CommandName.DISMISSED:  # the last was done before
                self._review(given, role)
            case _:
                assert_never(ask.command)
        return True

    def _contest(self, given: Given) -> None:
        """A press of the button takes no words from who wrote some before."""
        ask, head_sha = given.ask, given.head_sha
        said = self.store.decisions.of(ask.pull, head_sha)
        if not is_press(ask) or said.contested_at is None:
            word = Contest(login=ask.login, reason=reason_of(ask), at=given.at, eval_id=self._verdict(given))
            self.store.decisions.contest(ask.pull, head_sha, word)
        self._judge(given, Trigger.CONTEST, Happened.CONTESTED)

    def _override(self, given: Given) -> None:
        ask = given.ask
        at = min(given.at, ask.asked_at)  # an override told late counts for the base of its time alone
        is_own = given.proposal.author.casefold() == ask.login.casefold()
        word = Override(login=ask.login, reason=ask.reason, at=at, eval_id=self._verdict(given), is_own=is_own)
        self.store.decisions.override(ask.pull, given.head_sha, word)
        self._judge(given, Trigger.COMMAND, Happened.OVERRIDDEN_OWN if is_own else Happened.OVERRIDDEN)

    def _review(self, given: Given, role: Role) -> None:
        """A code owner's review counts, of the commit that it is about; what others think is theirs.

        An older one, and one that is dismissed already, may be looked into after the newer: then it is nothing.
        """
        ask, decisions = given.ask, self.store.decisions
        if ask.head_sha != given.proposal.head_sha or (base_ref := self.owns_into(ask, role)) is None:
            return
        before = decisions.of(ask.pull, given.head_sha).into(base_ref).review
        if before is not None and before.at > ask.asked_at:
            return
        word = Reviewed(
            login=ask.login,
            at=ask.asked_at,
            eval_id=self._verdict(given),
            is_approved=ask.command is CommandName.APPROVED,
            review_id=ask.review and ask.review.id,
            base_ref=base_ref,
        )
        decisions.review(ask.pull, given.head_sha, word)
        if ask.review is not None and (gone := decisions.dismissed(ask.pull, ask.review)):
            decisions.withdraw(ask.pull, given.head_sha, gone)
        self._judge(given, Trigger.COMMAND, None)

    def _dismiss(self, ask: Ask) -> None:
        """Whom GitHub lets take back a review takes back what it decided: the check says again what is on record."""
        review, head_sha, decisions = ask.review, ask.head_sha, self.store.decisions
        if review is None or head_sha is None:
            return
        word = Dismissed(login=ask.login, at=ask.asked_at, of=review.login)
        decisions.dismiss(
            ask.pull, review, word
        )  # first: whoever looks into the review right now sees this, or is seen below
        said = decisions.of(ask.pull, head_sha)
        if said.review is not None and said.review.is_of(review):
            decisions.withdraw(ask.pull, head_sha, word)
        elif said.dismissed != word:
            return
        proposal = self._proposal(ask)
        if proposal.is_open and proposal.head_sha == head_sha:
            self.store.pulls.want(request_of(ask, Trigger.DISMISSED, ask.asked_at))

    def _pause(self, given: Given, role: Role) -> bool:
        ask = given.ask
        try:
            until, reason = pause_of(ask.reason, given.at)
        except UntilError as error:
            self._refuse(ask, Refusal.TIME, role, str(error))
            return False
        suspension = Suspension(
            by=ask.login[:LONGEST_NAME],
            at=given.at,
            until=until,
            reason=reason[:LONGEST_REASON],
            repository=ask.repository,
        )
        self.store.switches.pause(ask.pull.installation_id, ask.pull.repository_id, suspension)
        self._say(ask, f"paused {ask.delivery_id}", lambda: comments.paused(suspension))
        return True

    def _resume(self, given: Given) -> None:
        ask = given.ask
        was_paused = self.store.switches.resume(ask.pull.installation_id, ask.pull.repository_id)
        self._judge(given, Trigger.RESUMED, None)
        self._say(ask, f"resumed {ask.delivery_id}", lambda: comments.resumed(was_paused=was_paused))

    def _judge(self, given: Given, trigger: Trigger, happened: Happened | None) -> None:
        """Have it judged, and note down what may be an outcome."""
        self.store.pulls.want(request_of(given.ask, trigger, given.at))
        if happened is not None:
            self.store.happenings.put(_happening(given, happened))

    def _is_of_another(self, given: Given) -> bool:
        """Whether the words are not about the newest commit: they name an older one, or it came after them.

        One that we were not told of yet came after the one that we know: who spoke may not have seen it.
        """
        if given.ask.head_sha is not None:
            return given.ask.head_sha != given.proposal.head_sha
        known = self.store.decisions.arrived(given.ask.pull)
        return known is not None and (known.head_sha != given.head_sha or known.at > given.ask.asked_at)

    def _verdict(self, given: Given) -> EvalId | None:
        """The verdict that stands at this commit."""
        entries = self.store.ledger.entries(given.ask.pull)
        own = [one for one in entries if one.head_sha == given.head_sha and one.verdict.parent_eval_id is None]
        return own[-1].eval_id if own else None

    def _react(self, ask: Ask, sign: str) -> None:
        """A review that only decides is no command: nothing is left at it, whoever wrote it."""
        if RIGHTS[ask.command].spelled:
            self.desk.react(ask, sign)

    def _say(self, ask: Ask, what: str, text: Callable[[], str]) -> None:
        """Answer in words, if this person was not told so before. Raises RateLimited: the same errand says it later."""
        if self.store.decisions.answers(ask.pull, f"{ask.login.casefold()} {what}", ask.delivery_id):
            self.desk.say(ask, text())


def request_of(ask: Ask, trigger: Trigger, at: datetime) -> JudgeRequest:
    """Have the newest commit judged, because of a command."""
    return JudgeRequest(
        pull=ask.pull,
        repository=ask.repository,
        head_sha=None,
        trigger=trigger,
        delivery_id=DeliveryId(f"ask-{ask.delivery_id}"),
        requested_at=at,
    )


def reason_of(ask: Ask) -> str:
    """What somebody says in favour of a command. A press of a button says nothing."""
    return PRESSED if is_press(ask) and ask.command is CommandName.CONTEST else ask.reason


def is_press(ask: Ask) -> bool:
    """A button, and no comment or review."""
    return ask.comment_id is None and not ask.in_review


def _place(ask: Ask) -> object:
    """Where it was said. What a review itself decides is said once, by its delivery."""
    if ask.comment_id is None and ask.review is not None and RIGHTS[ask.command].spelled:
        return f"review-{ask.review.id}"
    return ask.comment_id or ask.delivery_id


def _happening(given: Given, what: Happened) -> Happening:
    ask = given.ask
    return Happening(
        what=what,
        installation_id=ask.pull.installation_id,
        repository_id=ask.pull.repository_id,
        number=ask.pull.number,
        delivery_id=ask.delivery_id,
        at=ask.asked_at,
        by_person=True,
        head_sha=None if what is Happened.ASKED_AGAIN else given.head_sha,
    )
