"""The comment that tells the author of a rejected pull request what to do next: whom it mentions, and when it is written.

A pull request has at most one. It is written once a head, and changed only where it no longer holds for that head. It
mentions no agent where the next move is a person's.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from worker.domain.config.config import Feedback
from worker.domain.judge_request import PullRef
from worker.domain.model import DeliveryId, EvalId, Frozen, Sha
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import Abstain, AbstainReason, Reject, SubjectKind, Verdict


class VerdictTask(Frozen):
    """Something to do about a published verdict: its head, and the delivery that led to it."""

    pull: PullRef
    head_sha: Sha
    eval_id: EvalId
    delivery_id: DeliveryId


AGENT_MENTIONS: Final = {
    "copilot": "@copilot",
    "claude": "@claude",
    "devin": "@devin-ai-integration",
    "codex": "@codex",
    "cursor": "@cursor",
}
"""How a comment mentions an agent of `worker.dossier.authors`; the others read it if they read any.

docs/using.md says under which condition each answers an App.
"""


class AuthorMessage(StrEnum):
    """What the author is asked for: the next step (and a readable case), passing CI, a readable case; or what needs no answer."""

    ASKS = "asks"
    ASKS_WITH_CASE = "asks_with_case"
    CI_FAILED = "ci_failed"
    CASE_REFUSED = "case_refused"
    CI_MENDED = "ci_mended"
    OVER = "over"

    @property
    def is_open(self) -> bool:
        """Whether the author has to do something."""
        return self not in {AuthorMessage.CI_MENDED, AuthorMessage.OVER}

    @property
    def is_about_ci(self) -> bool:
        """Whether it asks for passing CI or a readable case, and not for another change."""
        return self in {AuthorMessage.CI_FAILED, AuthorMessage.CASE_REFUSED}

    @property
    def is_about_case(self) -> bool:
        """Whether it names what keeps the case from being read."""
        return self in {AuthorMessage.ASKS_WITH_CASE, AuthorMessage.CASE_REFUSED}


class CommentJob(VerdictTask):
    """Write or update the author's comment about this verdict. `is_overridden`: a person overrode it."""

    is_overridden: bool = False


class CommentRecord(Frozen):
    """The one comment at a pull request.

    `nonce` is in its text, so that it is found if the answer to its creation was lost. `comment_id` None: perhaps not created.
    `node_id`: its id in GraphQL; empty: GitHub refused to change it by that id. `head_sha`: the head it is about. `is_open`,
    `is_about_ci`, `is_about_case`: of its AuthorMessage.
    """

    nonce: str
    comment_id: int | None = None
    node_id: str | None = None
    head_sha: Sha | None = None
    is_open: bool = True
    is_about_ci: bool = False
    is_about_case: bool = False


def comment_marker(nonce: str) -> str:
    """The invisible end of the comment, by which it is found."""
    return f"<!-- assay:{nonce} -->"


def find_mention(agent: str | None) -> str | None:
    """The mention that calls this agent."""
    return AGENT_MENTIONS.get(agent or "")


def is_comment_enabled(verdict: Verdict, feedback: Feedback) -> bool:
    """Whether this author gets comments."""
    return feedback.people if verdict.author_agent is None else feedback.agents


def find_entry_for_comment(entries: Sequence[LedgerEntry], head_sha: Sha) -> LedgerEntry | None:
    """The newest verdict on a submission, if it is on this head. None: a newer head was judged."""
    own = submission_entries(entries)
    return own[-1] if own and own[-1].head_sha == head_sha else None


def submission_entries(entries: Sequence[LedgerEntry]) -> tuple[LedgerEntry, ...]:
    """The verdicts on the pull request's heads, oldest first, without those that were judged beside them."""
    own = (entry for entry in entries if entry.verdict.parent_eval_id is None)
    return tuple(entry for entry in own if entry.verdict.subject.kind is SubjectKind.SUBMISSION)


def message_to_author(verdict: Verdict, *, is_overridden: bool) -> AuthorMessage | None:
    """The message of a verdict to the author; None: nothing new, as it could not be judged."""
    if is_overridden:
        return AuthorMessage.OVER
    match verdict:
        case Reject():
            return AuthorMessage.ASKS_WITH_CASE if verdict.case_error else AuthorMessage.ASKS
        case Abstain(abstain_reason=AbstainReason.CI_FAILED):
            return AuthorMessage.CI_FAILED
        case Abstain(abstain_reason=AbstainReason.CI_PENDING | AbstainReason.PAUSED):
            return None
        case Abstain() if verdict.abstain_reason is not AbstainReason.NEEDS_HUMAN:
            return AuthorMessage.CASE_REFUSED if verdict.case_error else AuthorMessage.CI_MENDED
        case _:
            return AuthorMessage.OVER


def needs_update(message: AuthorMessage, head_sha: Sha, note: CommentRecord | None) -> bool:
    """Whether the comment has to be written or changed.

    OVER makes no comment, and changes only one that asks for something; CI_MENDED changes only one that asks for that. For the
    head that the comment is about, it changes only if the message does.
    """
    if note is None:
        return message.is_open
    if message is AuthorMessage.CI_MENDED:
        return note.is_open and note.is_about_ci
    if note.comment_id is None or note.head_sha != head_sha:
        return message.is_open or note.is_open
    flags = (message.is_open, message.is_about_ci, message.is_about_case)
    return flags != (note.is_open, note.is_about_ci, note.is_about_case)
