"""Tells the author of a pull request that was rejected, or whose CI failed, in one comment what to do next.

Once the comment is there, the judge changes it himself right before he shows his verdict, since GitHub's answer to that names
the newest head, which he had to ask for anyway; whatever stands in the way of that is left to the errand that follows each verdict.
Does not decide about the pull request and does not word anything. Invariant: one comment a pull request, whatever answers get
lost: what it will hold is noted before it is written, and looked for before it is written again. Two never write it at a time.
"""

import logging
import secrets
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Final

from worker.domain.check.author_comment import (
    AuthorMessage,
    CommentJob,
    CommentRecord,
    comment_marker,
    find_entry_for_comment,
    is_comment_enabled,
    message_to_author,
    needs_update,
)
from worker.domain.check.check_run import Conclusion
from worker.domain.ids import Sha
from worker.domain.judging import JudgingCompleted, JudgingOutcome
from worker.domain.ports import Clock, CommentRecords, Comments, Ledger, PostedComment
from worker.domain.request.judge_request import JudgeRequest, PullRef
from worker.domain.value import Value
from worker.domain.verdict.ledger import LedgerEntry
from worker.dossier.config import config_of
from worker.errors import Forbidden, RateLimited, SubjectGone, Unavailable
from worker.publishing.texts.check_run import conclusion
from worker.publishing.texts.comments import feedback_comment

LOG: Final = logging.getLogger(__name__)
SEARCH_WINDOW: Final = timedelta(days=1)
"""How far back a comment is looked for whose answer was lost: clocks differ, and errands are tried again for a while."""

REFUSED_NODE_ID: Final = ""
"""What stands for the name of a comment that GitHub did not let us change by it: each try would be a request more."""


class AuthorCommentPublisher(Value):
    """`newest_head`: the head that was announced last. `is_silent`: the operator declined comments."""

    comments: Comments
    notes: CommentRecords
    ledger: Ledger
    newest_head: Callable[[PullRef], Sha | None]
    clock: Clock
    round_limit: int
    is_silent: bool = False

    def publish(self, job: CommentJob) -> None:
        """May be called again. Raises what GitHub's outages raise; where it does not let us, nothing is written."""
        update = self._update(job)
        if update is None:
            return
        try:
            self._write(job.pull, update)
        except (Forbidden, SubjectGone) as refused:
            LOG.info("the author is not told: %s", refused, extra={"number": job.pull.number})

    def publish_and_find_head(self, job: CommentJob) -> Sha | None:
        """Change the comment, and see in GitHub's answer which head is the newest; None: that is still to be asked for.

        Raises RateLimited, and Unavailable where not GitHub but our own memory is away.
        """
        update = self._update(job)
        if update is None or update.note is None or not update.note.node_id:
            return None
        try:
            tip = self.comments.change_and_read_head(job.pull, update.note.node_id, update.text_with_mark(update.note))
        except RateLimited:
            raise
        except (Forbidden, SubjectGone, Unavailable) as refused:
            LOG.info("the author is not told yet: %s", refused, extra={"number": job.pull.number})
            if not isinstance(refused, Unavailable):
                self.notes.put(job.pull, update.note.model_copy(update={"node_id": REFUSED_NODE_ID}))
            return None
        self.notes.put(job.pull, update.updated_note(update.note))
        return tip.head_sha if tip and tip.is_open else None

    def can_find_head(self, job: CommentJob, state: AuthorMessage) -> bool:
        """Whether `publish_and_find_head` would change the comment, once this is on record."""
        if self.is_silent:
            return False
        note = self.notes.find_record(job.pull)
        is_known = note is not None and note.comment_id is not None and bool(note.node_id)
        return is_known and needs_update(state, job.head_sha, note) and self._is_newest(job)

    def _update(self, job: CommentJob) -> "CommentUpdate | None":
        """What the comment is to say; None: there is nothing new, or nothing is to be said."""
        if self.is_silent:
            return None
        entries = self.ledger.entries(job.pull)
        entry = find_entry_for_comment(entries, job.head_sha)
        if entry is None or not self._is_newest(job):
            return None
        message = message_to_author(entry.verdict, is_overridden=job.is_overridden)
        note = self.notes.find_record(job.pull)
        if message is None or not needs_update(message, entry.head_sha, note):
            return None
        return CommentUpdate(
            entry, note, message, feedback_comment(entries, self.round_limit, is_overridden=job.is_overridden)
        )

    def _is_newest(self, job: CommentJob) -> bool:
        return self.newest_head(job.pull) in (None, job.head_sha)

    def _write(self, pull: PullRef, update: "CommentUpdate") -> None:
        if update.note is None:
            note = CommentRecord(nonce=secrets.token_hex(16))
            self.notes.put(pull, note)
        else:
            note = update.note
        posted = self._post(pull, update, note)
        self.notes.put(pull, update.updated_note(note, posted))

    def _post(self, pull: PullRef, update: "CommentUpdate", note: CommentRecord) -> PostedComment | None:
        """The comment, which says this now; None: there is none, and none is needed."""
        repository, comment_id = update.entry.verdict.subject.repository, note.comment_id
        if comment_id is None and update.note is not None:
            match = self.comments.find(pull, repository, comment_marker(note.nonce), self.clock.now() - SEARCH_WINDOW)
            comment_id = match.id if match else None
        if comment_id is not None:
            return self.comments.change(pull, repository, comment_id, update.text_with_mark(note))
        return self.comments.write(pull, repository, update.text_with_mark(note)) if update.is_open else None


class CommentUpdate(Value):
    """What the comment is to say of this verdict, its text without the mark, and what is known of it so far."""

    entry: LedgerEntry
    note: CommentRecord | None
    state: AuthorMessage
    text: str

    @property
    def is_open(self) -> bool:
        return self.state.is_open

    def text_with_mark(self, note: CommentRecord) -> str:
        return f"{self.text}\n\n{comment_marker(note.nonce)}"

    def updated_note(self, note: CommentRecord, posted: PostedComment | None = None) -> CommentRecord:
        """The note once this is said, in the comment that was *posted*. What GitHub refused once stays refused."""
        changes = {} if posted is None else {"comment_id": posted.id, "node_id": posted.node_id}
        if note.node_id is not None:
            changes.pop("node_id", None)
        about = {"is_about_ci": self.state.is_about_ci, "is_about_case": self.state.is_about_case}
        return note.model_copy(update={**changes, "head_sha": self.entry.head_sha, "is_open": self.is_open, **about})


class EarlyAuthorComment(Value):
    """The author is told by what asks for the newest head. `is_waiting`: whether an errand may be at this pull request's comment."""

    publisher: AuthorCommentPublisher
    is_waiting: Callable[[PullRef], bool]

    def prepare(self, request: JudgeRequest, judged: JudgingCompleted) -> Callable[[], Sha | None] | None:
        """What tells the author of this verdict once it is on record, and finds the newest head out.

        None: the comment says nothing new, or can't be changed so. What was carried over needs no such question.
        """
        job = comment_job_for(request, judged)
        if job is None or judged.verdict.carried_from is not None or self.is_waiting(job.pull):
            return None
        message = message_to_author(judged.verdict, is_overridden=job.is_overridden)
        if message is None or not self.publisher.can_find_head(job, message):
            return None
        return partial(self.publisher.publish_and_find_head, job)


def comment_job_for(request: JudgeRequest, outcome: JudgingOutcome) -> CommentJob | None:
    """What the author may have to be told of; None: nothing, or nobody wants them to be told.

    A reject or a red CI that blocks nothing is shown on the check, and asks for nothing.
    """
    if not isinstance(outcome, JudgingCompleted):
        return None
    verdict, dossier = outcome.verdict, outcome.dossier
    is_overridden = outcome.decisions.override is not None
    if outcome.decisions.is_deciding(verdict) and not is_overridden:
        return None  # a review did, of a verdict that left it to a person: the author was told so
    message = message_to_author(verdict, is_overridden=is_overridden)
    if message is None or not is_comment_enabled(verdict, config_of(dossier).feedback):
        return None
    if message.is_open and conclusion(verdict, dossier) is Conclusion.NEUTRAL:
        return None
    subject = verdict.subject
    return CommentJob(
        pull=request.pull,
        head_sha=subject.head_sha,
        eval_id=verdict.eval_id,
        delivery_id=request.delivery_id,
        is_overridden=is_overridden,
    )
