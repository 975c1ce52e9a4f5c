"""How the author of a rejected pull request is told what to do next: who listens to what, and whether to tell at all.

Does not word or send anything. Invariant: a pull request has at most one such comment, and a head is told of at most once; nobody
is addressed where the next move is a person's.
"""

from collections.abc import Sequence
from typing import Final

from worker.domain.config import Feedback
from worker.domain.frozen import Frozen
from worker.domain.ids import DeliveryId, EvalId, Sha
from worker.domain.ledger import LedgerEntry
from worker.domain.request import PullRef
from worker.domain.value import Value
from worker.domain.verdict import Reject, SubjectKind, Verdict


class Address(Value):
    """How one agent is spoken to in a comment. `needs`: what has to be so that it answers an App. `source`: where that is said."""

    agent: str
    mention: str
    needs: str
    source: str


ADDRESSES: Final = (
    Address(
        "copilot",
        "@copilot",
        "It answers people with write access only: one of them repeats the next step in a comment that mentions it.",
        "GitHub's docs, Reviewing a pull request created by Copilot; 2026-11",
    ),
    Address(
        "claude",
        "@claude",
        "Its workflow answers Apps only where `allowed_bots` names this one.",
        "claude-code-action's docs, Usage; 2026-11",
    ),
    Address(
        "devin",
        "@devin-ai-integration",
        "It answers Apps only once this one is listed under Settings, Pull request settings, bot comments.",
        "Devin's docs, Bot comment settings; 2026-11",
    ),
    Address("codex", "@codex", "Not known whether it answers Apps.", "OpenAI's docs, Codex on GitHub; 2026-11"),
    Address(
        "cursor", "@cursor", "Not known whether it answers Apps.", "Cursor's docs, Cloud agents on GitHub; 2026-11"
    ),
)
"""The agents of `worker.domain.agents` that are spoken to by a name of their own; the others read the comment if they read any."""


class Letter(Frozen):
    """That the author of a pull request may have to be told of this verdict. Numbers and ids only."""

    pull: PullRef
    head_sha: Sha
    eval_id: EvalId
    delivery_id: DeliveryId


class Note(Frozen):
    """What is known of the one comment at a pull request.

    `nonce` stands in it, so that it is found again if the answer to its creation was lost. `comment_id` None: perhaps not created.
    """

    nonce: str
    comment_id: int | None = None
    head_sha: Sha | None = None
    is_open: bool = True


def mark(nonce: str) -> str:
    """What the comment ends in: nobody sees it, and it is found again by it."""
    return f"<!-- assay:{nonce} -->"


def mention_of(agent: str | None) -> str | None:
    """The name by which this agent listens."""
    return next((one.mention for one in ADDRESSES if one.agent == agent), None)


def is_wanted(verdict: Verdict, feedback: Feedback) -> bool:
    """Whether the author of this pull request is to be told at all."""
    return feedback.people if verdict.author_agent is None else feedback.agents


def told_of(entries: Sequence[LedgerEntry], head_sha: Sha) -> LedgerEntry | None:
    """The entry to tell of: the newest verdict on a submission, if it is on this head. None: a newer head was judged."""
    own = submissions(entries)
    return own[-1] if own and own[-1].head_sha == head_sha else None


def submissions(entries: Sequence[LedgerEntry]) -> tuple[LedgerEntry, ...]:
    """The verdicts on the pull request's heads, oldest first; what was judged beside them is nobody's business here."""
    return tuple(
        one
        for one in entries
        if one.verdict.parent_eval_id is None and one.verdict.subject.kind is SubjectKind.SUBMISSION
    )


def is_news(verdict: Verdict, note: Note | None) -> bool:
    """Whether the comment has to be written or changed.

    A reject is told once a head. What is no reject changes a comment that asks for something, and makes none.
    """
    if isinstance(verdict, Reject):
        return note is None or note.comment_id is None or note.head_sha != verdict.subject.head_sha or not note.is_open
    return note is not None and note.is_open
