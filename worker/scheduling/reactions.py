"""Listens to the thumbs at our comment once its pull request is over, and tells of them as of the check's buttons.

Does not ask twice: GitHub tells no App of reactions, so it costs one request for each pull request that was closed and has our
comment. Invariant: a reaction is told once, however often it is read; an outage loses nothing that was told before.
"""

import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Final, Protocol

from worker.domain.check.author_comment import submission_entries
from worker.domain.ids import RepositoryName
from worker.domain.ports import CommentRecords, Ledger
from worker.domain.request.judge_request import PullRef
from worker.domain.request.pull_request_events import PullRequestEvent
from worker.domain.value import Value
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.outcomes import Outcome
from worker.domain.verdict.reactions import CLOSING_KINDS, THUMB_OUTCOMES, Reaction, last_thumbs
from worker.errors import Forbidden, SubjectGone
from worker.scheduling.outcomes import OutcomePublisher, outcome_name

LOG: Final = logging.getLogger(__name__)
SECOND: Final = timedelta(seconds=1)
"""GitHub tells whole ones."""


class CommentReactions(Protocol):
    """The reactions at one comment. Raises as PullSource does."""

    def reactions_to(self, pull: PullRef, repository: RepositoryName, comment_id: int) -> tuple[Reaction, ...]: ...


class ReactionRecorder(Value):
    """Looks at the comment of a pull request that is over."""

    reactions: CommentReactions
    notes: CommentRecords
    ledger: Ledger
    publisher: OutcomePublisher

    def record(self, happening: PullRequestEvent) -> None:
        """Tell of every thumb, if this ended a pull request. May be called again; raises what GitHub's outages raise."""
        pull = happening.pull
        if pull is None or happening.what not in CLOSING_KINDS:
            return
        note = self.notes.find_record(pull)
        entries = submission_entries(self.ledger.entries(pull))
        if note is None or note.comment_id is None or not entries:
            return
        try:
            reactions = self.reactions.reactions_to(pull, entries[-1].verdict.subject.repository, note.comment_id)
        except (Forbidden, SubjectGone) as refused:
            LOG.info("reactions can't be read: %s", refused, extra={"number": pull.number})
            return
        for thumb in last_thumbs(reactions):
            self._publish(pull, thumb, _entry_at(entries, thumb))

    def _publish(self, pull: PullRef, thumb: Reaction, about: LedgerEntry) -> None:
        kind = THUMB_OUTCOMES[thumb.content]
        outcome = Outcome(kind=kind, eval_id=about.eval_id, head_sha=about.head_sha, at=thumb.at)
        self.publisher.publish(pull, outcome_name(pull, kind, f"reaction-{thumb.id}"), outcome, is_event=False)


def _entry_at(entries: Sequence[LedgerEntry], thumb: Reaction) -> LedgerEntry:
    """The verdict that the comment told of when the thumb was given."""
    return next((entry for entry in reversed(entries) if entry.created_at < thumb.at + SECOND), entries[0])
