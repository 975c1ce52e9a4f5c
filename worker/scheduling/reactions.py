"""Listens to the thumbs at our comment once its pull request is over, and tells of them as of the check's buttons.

Does not ask twice: GitHub tells no App of reactions, so it costs one request for each pull request that was closed and has our
comment. Invariant: a reaction is told once, however often it is read; an outage loses nothing that was told before.
"""

import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Final, Protocol

from worker.domain.check.author_comment import submissions
from worker.domain.ids import RepositoryName
from worker.domain.ports import Ledger, Notes
from worker.domain.request.judge_request import PullRef
from worker.domain.request.pull_request_events import Happening
from worker.domain.value import Value
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.outcomes import Outcome
from worker.domain.verdict.reactions import OVER, THUMBS, Reaction, thumbs
from worker.errors import Forbidden, Gone
from worker.scheduling.outcomes import Teller, told_as

LOG: Final = logging.getLogger(__name__)
SECOND: Final = timedelta(seconds=1)
"""GitHub tells whole ones."""


class Reactions(Protocol):
    """The reactions at one comment. Raises as PullSource does."""

    def of(self, pull: PullRef, repository: RepositoryName, comment_id: int) -> tuple[Reaction, ...]: ...


class Listener(Value):
    """Looks at the comment of a pull request that is over."""

    reactions: Reactions
    notes: Notes
    ledger: Ledger
    book: Teller

    def hear(self, happening: Happening) -> None:
        """Tell of every thumb, if this ended a pull request. May be called again; raises what GitHub's outages raise."""
        pull = happening.pull
        if pull is None or happening.what not in OVER:
            return
        note = self.notes.of(pull)
        entries = submissions(self.ledger.entries(pull))
        if note is None or note.comment_id is None or not entries:
            return
        try:
            found = self.reactions.of(pull, entries[-1].verdict.subject.repository, note.comment_id)
        except (Forbidden, Gone) as refused:
            LOG.info("reactions can't be read: %s", refused, extra={"number": pull.number})
            return
        for one in thumbs(found):
            self._tell(pull, one, _meant(entries, one))

    def _tell(self, pull: PullRef, thumb: Reaction, about: LedgerEntry) -> None:
        kind = THUMBS[thumb.content]
        outcome = Outcome(kind=kind, eval_id=about.eval_id, head_sha=about.head_sha, at=thumb.at)
        self.book.tell(pull, told_as(pull, kind, f"reaction-{thumb.id}"), outcome, is_event=False)


def _meant(entries: Sequence[LedgerEntry], thumb: Reaction) -> LedgerEntry:
    """The verdict that the comment told of when the thumb was given."""
    return next((one for one in reversed(entries) if one.created_at < thumb.at + SECOND), entries[0])
