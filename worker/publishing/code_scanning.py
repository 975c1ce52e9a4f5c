"""Upload the SARIF of a verdict to GitHub's code scanning, where the repository enables it: a background task after the verdict.

One request per head and verdict, unless its answer is lost; superseded heads are left out. A refusal is recorded, shown on the check of
the next verdict, and not retried before that.
"""

import base64
import gzip
import logging
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final, Protocol

from worker.domain.check.check_run import MOST_BYTES, SarifUpload, UploadedSarif, UploadRefusal
from worker.domain.dossier import Dossier
from worker.domain.judge_request import JudgeRequest, PullRef
from worker.domain.lifecycle.judging import JudgingCompleted, JudgingOutcome
from worker.domain.model import RepositoryName, Sha
from worker.domain.ports import DossierLookup, Ledger
from worker.domain.verdict.verdict import Abstain
from worker.dossier.config import config_of
from worker.publishing.texts.sarif import SarifRule, sarif_for_upload

LOG: Final = logging.getLogger(__name__)


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
