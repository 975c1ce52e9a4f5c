"""Hands the SARIF of a verdict to GitHub's code scanning, where the repository wants it.

Does not word it (`worker.publishing.texts.sarif` does) and is no part of judging: an errand that follows the verdict. Invariant: one
request for each head and verdict, unless its answer is lost; a head that was superseded is left out; what GitHub refuses is
not asked for again before the next verdict, and is noted for the check that shows that one.
"""

import base64
import gzip
import logging
from collections.abc import Callable
from importlib.metadata import version
from typing import Final, Protocol

from worker.domain.check.code_scanning import MOST_BYTES, SarifUpload, UploadedSarif, UploadRefusal
from worker.domain.dossier.dossier import Dossier
from worker.domain.ids import EvalId, RepositoryName, Sha
from worker.domain.judging import JudgingCompleted, JudgingOutcome
from worker.domain.ports import Ledger
from worker.domain.request.judge_request import JudgeRequest, PullRef
from worker.domain.value import Value
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import Abstain
from worker.dossier.config import config_of
from worker.publishing.texts.sarif import SarifRule
from worker.signals.registry import SIGNALS
from worker.signals.signal import SignalKind

LOG: Final = logging.getLogger(__name__)


class SarifUploads(Protocol):
    """GitHub's code scanning. Raises Gone and Unavailable."""

    def upload(self, pull: PullRef, repository: RepositoryName, head_sha: Sha, sarif: str) -> UploadRefusal | None:
        """Hand it over, gzipped and in base64; why it was not taken, or None."""
        ...


class ScanNotes(Protocol):
    """What is known of SARIF that was sent. May be called twice; raises Unavailable."""

    def last_scan(self, pull: PullRef) -> UploadedSarif | None: ...

    def note(self, pull: PullRef, scanned: UploadedSarif, refusal: UploadRefusal | None) -> None: ...

    def refusal(self, pull: PullRef) -> UploadRefusal | None:
        """Why the last of this repository was not taken."""
        ...


class ScannedDossiers(Protocol):
    """What verdicts were made from, as long as that is kept."""

    def find(self, eval_id: EvalId) -> Dossier | None: ...


class SarifUploader(Value):
    """`newest_head`: the head that was announced last."""

    uploads: SarifUploads
    notes: ScanNotes
    ledger: Ledger
    archive: ScannedDossiers
    newest_head: Callable[[PullRef], Sha | None]

    def upload(self, scan: SarifUpload) -> None:
        """May be called again. Raises what GitHub's outages raise."""
        before = self.notes.last_scan(scan.pull)
        if self.newest_head(scan.pull) not in (None, scan.head_sha) or (before is not None and before.matches(scan)):
            return
        entry = next((entry for entry in self.ledger.entries(scan.pull) if entry.eval_id == scan.eval_id), None)
        if entry is None:  # forgotten meanwhile
            return
        refusal = self._upload(scan, entry)
        if refusal is not None:
            LOG.warning("SARIF was not uploaded: %s", refusal, extra={"number": scan.pull.number})
        self.notes.note(scan.pull, UploadedSarif(head_sha=scan.head_sha, origin=scan.origin), refusal)

    def _upload(self, scan: SarifUpload, entry: LedgerEntry) -> UploadRefusal | None:
        from worker.publishing.texts.sarif import sarif_for_upload  # noqa: PLC0415 - most repositories want none

        text = sarif_for_upload(entry.verdict, self.archive.find(scan.eval_id), sarif_rules(), version("assay"))
        packed = gzip.compress(text.encode(), mtime=0)
        if len(packed) > MOST_BYTES:
            return UploadRefusal.TOO_LARGE
        repository = entry.verdict.subject.repository
        return self.uploads.upload(scan.pull, repository, scan.head_sha, base64.b64encode(packed).decode())


def scan_job_for(request: JudgeRequest, outcome: JudgingOutcome) -> SarifUpload | None:
    """What is due after this judging; None: nobody judged, or the repository wants no SARIF."""
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
    """Why the SARIF of this repository was not taken when it was last tried; None: it was, or is not wanted."""
    return notes.refusal(pull) if config_of(dossier).sarif else None


def sarif_rules() -> list[SarifRule]:
    return [
        SarifRule(signal.name, signal.category, signal.kind is SignalKind.FACT, signal.description)
        for signal in SIGNALS
    ]
