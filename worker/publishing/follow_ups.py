"""Follow-ups of a verdict, which background tasks carry out: the comment for the author, and the SARIF for code scanning.

The author of a rejected pull request, or of one with failing CI, is told what to do next in a single comment. A pull request gets one comment
even if an answer of GitHub is lost: its nonce is recorded before it is written and searched for before another try. The judge updates an
existing comment right before it shows its verdict, because GitHub's answer names the newest head as well; everything else is left to the
background task after each verdict. The two never write at the same time.

SARIF is uploaded where the repository enables it. One request per head and verdict, unless its answer is lost; superseded heads are left out. A
refusal is recorded, shown on the check of the next verdict, and not retried before that.
"""

import base64
import gzip
import logging
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from importlib.metadata import version
from typing import Final, Protocol

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
from worker.domain.check.check_run import MOST_BYTES, Conclusion, SarifUpload, UploadedSarif, UploadRefusal
from worker.domain.dossier import Dossier
from worker.domain.judge_request import JudgeRequest, PullRef
from worker.domain.lifecycle.judging import JudgingCompleted, JudgingOutcome
from worker.domain.model import RepositoryName, Sha
from worker.domain.ports import Clock, CommentRecords, Comments, DossierLookup, Ledger, PostedComment
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import Abstain
from worker.dossier.config import config_of
from worker.errors import Forbidden, RateLimited, SubjectGone, Unavailable
from worker.publishing.texts.check_run import conclusion
from worker.publishing.texts.comments import feedback_comment
from worker.publishing.texts.sarif import SarifRule, sarif_for_upload

LOG: Final = logging.getLogger(__name__)
SEARCH_WINDOW: Final = timedelta(days=1)
"""How far back a comment whose answer was lost is searched for: clocks differ, and tasks retry for a while."""

REFUSED_NODE_ID: Final = ""
"""The node id of a comment that GitHub refused to change by its id: another try would only cost a request."""


@dataclass(frozen=True)
class AuthorCommentPublisher:
    """`newest_head`: the head that was announced last. `is_silent`: the operator declined comments."""

    comments: Comments
    notes: CommentRecords
    ledger: Ledger
    newest_head: Callable[[PullRef], Sha | None]
    clock: Clock
    round_limit: int
    is_silent: bool = False

    def publish(self, job: CommentJob) -> None:
        """Write or update the comment. Idempotent; raises on GitHub's outages, and leaves the comment alone on a refusal."""
        update = self._update(job)
        if update is None:
            return
        try:
            note = update.note
            if note is None:
                note = CommentRecord(nonce=secrets.token_hex(16))
                self.notes.put(job.pull, note)
            self.notes.put(job.pull, update.updated_note(note, self._post(job.pull, update, note)))
        except (Forbidden, SubjectGone) as refused:
            LOG.info("author comment not written: %s", refused, extra={"number": job.pull.number})

    def publish_and_find_head(self, job: CommentJob) -> Sha | None:
        """Change the comment, and read the newest head from GitHub's answer; None: it is unknown.

        Raises RateLimited, and Unavailable if Redis is down.
        """
        update = self._update(job)
        if update is None or update.note is None or not update.note.node_id:
            return None
        try:
            tip = self.comments.change_and_read_head(job.pull, update.note.node_id, update.text_with_mark(update.note))
        except RateLimited:
            raise
        except (Forbidden, SubjectGone, Unavailable) as refused:
            LOG.info("author comment postponed: %s", refused, extra={"number": job.pull.number})
            if not isinstance(refused, Unavailable):
                self.notes.put(job.pull, update.note.model_copy(update={"node_id": REFUSED_NODE_ID}))
            return None
        self.notes.put(job.pull, update.updated_note(update.note))
        return tip.head_sha if tip and tip.is_open else None

    def can_find_head(self, job: CommentJob, state: AuthorMessage) -> bool:
        """Whether `publish_and_find_head` would change the comment once this verdict is recorded."""
        if self.is_silent:
            return False
        note = self.notes.find_record(job.pull)
        is_known = note is not None and note.comment_id is not None and bool(note.node_id)
        return is_known and needs_update(state, job.head_sha, note) and self._is_newest(job)

    def _update(self, job: CommentJob) -> "CommentUpdate | None":
        """The new text of the comment; None: nothing changes."""
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

    def _post(self, pull: PullRef, update: "CommentUpdate", note: CommentRecord) -> PostedComment | None:
        """Write the text into the comment; None: there is no comment, and none is needed."""
        repository, comment_id = update.entry.verdict.subject.repository, note.comment_id
        if comment_id is None and update.note is not None:
            match = self.comments.find(pull, repository, comment_marker(note.nonce), self.clock.now() - SEARCH_WINDOW)
            comment_id = match.id if match else None
        if comment_id is not None:
            return self.comments.change(pull, repository, comment_id, update.text_with_mark(note))
        return self.comments.write(pull, repository, update.text_with_mark(note)) if update.is_open else None


@dataclass(frozen=True)
class CommentUpdate:
    """The comment for a verdict: its text without the mark, and its record so far."""

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
        """The record after the update, with the ids of the *posted* comment. A refusal stays recorded."""
        changes = {} if posted is None else {"comment_id": posted.id, "node_id": posted.node_id}
        if note.node_id is not None:
            changes.pop("node_id", None)
        about = {"is_about_ci": self.state.is_about_ci, "is_about_case": self.state.is_about_case}
        return note.model_copy(update={**changes, "head_sha": self.entry.head_sha, "is_open": self.is_open, **about})


@dataclass(frozen=True)
class EarlyAuthorComment:
    """Updates the comment along with the question for the newest head. `is_waiting`: whether a task may be writing this comment."""

    publisher: AuthorCommentPublisher
    is_waiting: Callable[[PullRef], bool]

    def prepare(self, request: JudgeRequest, judged: JudgingCompleted) -> Callable[[], Sha | None] | None:
        """The update to run once this verdict is recorded, which returns the newest head.

        None: the comment stays as it is, or can't be changed this way, or the verdict is carried over and needs no such question.
        """
        job = comment_job_for(request, judged)
        if job is None or judged.verdict.carried_from is not None or self.is_waiting(job.pull):
            return None
        message = message_to_author(judged.verdict, is_overridden=job.is_overridden)
        if message is None or not self.publisher.can_find_head(job, message):
            return None
        return partial(self.publisher.publish_and_find_head, job)


def comment_job_for(request: JudgeRequest, outcome: JudgingOutcome) -> CommentJob | None:
    """The comment that follows this judging; None: there is nothing to tell, or comments are off.

    A reject or a red CI that blocks nothing is shown on the check alone.
    """
    if not isinstance(outcome, JudgingCompleted):
        return None
    verdict, dossier = outcome.verdict, outcome.dossier
    is_overridden = outcome.decisions.override is not None
    if outcome.decisions.is_deciding(verdict) and not is_overridden:
        return None  # a review decided, and the author was told that a person would
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


class SarifUploads(Protocol):
    """GitHub's code scanning. Raises SubjectGone and Unavailable."""

    def upload(self, pull: PullRef, repository: RepositoryName, head_sha: Sha, sarif: str) -> UploadRefusal | None:
        """Upload it, gzipped and in base64; why GitHub refused it, or None."""
        ...


class ScanNotes(Protocol):
    """The record of uploads. Idempotent; raises Unavailable."""

    def last_scan(self, pull: PullRef) -> UploadedSarif | None: ...

    def note(self, pull: PullRef, scanned: UploadedSarif, refusal: UploadRefusal | None) -> None: ...

    def refusal(self, pull: PullRef) -> UploadRefusal | None:
        """Why GitHub refused the last upload of this repository."""
        ...


@dataclass(frozen=True)
class SarifUploader:
    """`newest_head`: the head that was announced last."""

    uploads: SarifUploads
    notes: ScanNotes
    ledger: Ledger
    archive: DossierLookup
    newest_head: Callable[[PullRef], Sha | None]

    def upload(self, scan: SarifUpload) -> None:
        """Upload a verdict's SARIF. Idempotent; raises on GitHub's outages."""
        before = self.notes.last_scan(scan.pull)
        if self.newest_head(scan.pull) not in (None, scan.head_sha) or (before is not None and before.matches(scan)):
            return
        entry = next((entry for entry in self.ledger.entries(scan.pull) if entry.eval_id == scan.eval_id), None)
        if entry is None:  # deleted meanwhile
            return
        text = sarif_for_upload(entry.verdict, self.archive.find(scan.eval_id), sarif_rules(), version("assay"))
        packed, repository = gzip.compress(text.encode(), mtime=0), entry.verdict.subject.repository
        refusal: UploadRefusal | None = UploadRefusal.TOO_LARGE
        if len(packed) <= MOST_BYTES:
            refusal = self.uploads.upload(scan.pull, repository, scan.head_sha, base64.b64encode(packed).decode())
        if refusal is not None:
            LOG.warning("SARIF not uploaded: %s", refusal, extra={"number": scan.pull.number})
        self.notes.note(scan.pull, UploadedSarif(head_sha=scan.head_sha, origin=scan.origin), refusal)


def scan_job_for(request: JudgeRequest, outcome: JudgingOutcome) -> SarifUpload | None:
    """The upload that follows this judging; None: there is no verdict, or the repository does not enable SARIF."""
    if (
        not isinstance(outcome, JudgingCompleted)
        or isinstance(outcome.verdict, Abstain)
        or not config_of(outcome.dossier).sarif
    ):
        return None
    verdict = outcome.verdict
    return SarifUpload(
        pull=request.pull,
        head_sha=verdict.subject.head_sha,
        eval_id=verdict.eval_id,
        origin=verdict.carried_from or verdict.eval_id,
        delivery_id=request.delivery_id,
    )


def refusal_for(notes: ScanNotes, pull: PullRef, dossier: Dossier) -> UploadRefusal | None:
    """Why GitHub refused the last SARIF of this repository; None: it was uploaded, or SARIF is not enabled."""
    return notes.refusal(pull) if config_of(dossier).sarif else None


def sarif_rules() -> list[SarifRule]:
    """One rule per signal."""
    from worker.signals.heuristic_opinion import SIGNALS  # noqa: PLC0415 - most repositories upload none, and signals load grammars
    from worker.signals.signal import SignalKind  # noqa: PLC0415

    return [
        SarifRule(signal.name, signal.category, signal.kind is SignalKind.FACT, signal.description)
        for signal in SIGNALS
    ]
