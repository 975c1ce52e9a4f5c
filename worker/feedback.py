"""Tells the author of a rejected pull request, in one comment, what to do next.

Does not decide about the pull request and does not word anything. Invariant: one comment a pull request, whatever answers get
lost: what it will hold is noted before it is written, and looked for before it is written again.
"""

import logging
import secrets
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from worker.configuring import config_of
from worker.domain.check import Conclusion
from worker.domain.feedback import Letter, Note, Says, is_news, is_wanted, mark, says, told_of
from worker.domain.ids import Sha
from worker.domain.ledger import LedgerEntry
from worker.domain.request import JudgeRequest, PullRef
from worker.domain.value import Value
from worker.domain.verdict import Reject
from worker.errors import Forbidden, Gone
from worker.pipeline import Judged, Outcome
from worker.ports import Clock, Comments, Ledger, Notes
from worker.render.check import conclusion
from worker.render.feedback import feedback

LOG: Final = logging.getLogger(__name__)
BEFORE: Final = timedelta(days=1)
"""How far back a comment is looked for whose answer was lost: clocks differ, and errands are tried again for a while."""


class Writer(Value):
    """`newest`: the head that was announced last."""

    comments: Comments
    notes: Notes
    ledger: Ledger
    newest: Callable[[PullRef], Sha | None]
    clock: Clock
    round_limit: int

    def tell(self, letter: Letter) -> None:
        """May be called again. Raises what GitHub's outages raise; where it does not let us, nothing is written."""
        entries = self.ledger.entries(letter.pull)
        entry = told_of(entries, letter.head_sha)
        if entry is None or self.newest(letter.pull) not in (None, letter.head_sha):
            return
        said = says(entry.verdict, is_overridden=letter.is_overridden)
        note = self.notes.of(letter.pull)
        if said is None or not is_news(said, entry.head_sha, note):
            return
        told = feedback(entries, self.round_limit, is_overridden=letter.is_overridden)
        try:
            self._write(letter.pull, entry, note, Wording(said, told))
        except (Forbidden, Gone) as refused:
            LOG.info("the author is not told: %s", refused, extra={"number": letter.pull.number})

    def _write(self, pull: PullRef, entry: LedgerEntry, note: Note | None, wording: "Wording") -> None:
        repository = entry.verdict.subject.repository
        if note is None:
            known, comment_id = Note(nonce=secrets.token_hex(16)), None
            self.notes.put(pull, known)
        else:
            known = note
            comment_id = note.comment_id or self.comments.find(pull, repository, mark(note.nonce), self._since())
        text, is_open = f"{wording.text}\n\n{mark(known.nonce)}", wording.said is Says.ASKS
        if comment_id is not None:
            self.comments.change(pull, repository, comment_id, text)
        elif is_open:
            comment_id = self.comments.write(pull, repository, text)
        self.notes.put(pull, Note(nonce=known.nonce, comment_id=comment_id, head_sha=entry.head_sha, is_open=is_open))

    def _since(self) -> datetime:
        return self.clock.now() - BEFORE


class Wording(Value):
    """What the comment is to say, and its text without the mark."""

    said: Says
    text: str


def letter_of(request: JudgeRequest, outcome: Outcome) -> Letter | None:
    """What the author may have to be told of; None: nothing, or nobody wants them to be told.

    A reject that blocks nothing is shown on the check, and asks for nothing.
    """
    if not isinstance(outcome, Judged):
        return None
    verdict, dossier = outcome.verdict, outcome.dossier
    is_overridden = outcome.said.override is not None
    if outcome.said.decides(verdict) and not is_overridden:
        return None  # a review did, of a verdict that left it to a person: the author was told so
    if says(verdict, is_overridden=is_overridden) is None or not is_wanted(verdict, config_of(dossier).feedback):
        return None
    if isinstance(verdict, Reject) and not is_overridden and conclusion(verdict, dossier) is not Conclusion.FAILURE:
        return None
    subject = verdict.subject
    return Letter(
        pull=request.pull,
        head_sha=subject.head_sha,
        eval_id=verdict.eval_id,
        delivery_id=request.delivery_id,
        is_overridden=is_overridden,
    )
