"""Verdict -> ledger entry and archived dossier.

Does not decide and does not publish. Invariant: what is written can never be edited, and writing the
same verdict twice leaves one entry.
"""

import hashlib

from worker.domain.diff import Diff, DiffError, FileDiff, diff_of
from worker.domain.dossier import Dossier
from worker.domain.ledger import LedgerEntry
from worker.domain.request import PullRef
from worker.domain.verdict import Abstain, Accept, Reject
from worker.ports import Archive, Lease, Ledger

HASHED_LINES = 5_000
"""Most changed lines of one head whose hashes are kept; a bigger change keeps none (it is one surface)."""


def record(pull: PullRef, verdict: Accept | Reject | Abstain, dossier: Dossier, keepers: "Keepers") -> LedgerEntry:
    """Append the verdict to the ledger and keep the dossier it was made from. Raises LeaseLost."""
    made = entry(verdict, dossier, keepers.lease.fence)
    keepers.lease.keep()
    keepers.archive.keep(verdict.eval_id, dossier)
    keepers.ledger.append(pull, made)
    return made


class Keepers:
    """Where a verdict is kept, and the right to do so."""

    def __init__(self, ledger: Ledger, archive: Archive, lease: Lease) -> None:
        self.ledger = ledger
        self.archive = archive
        self.lease = lease


def entry(verdict: Accept | Reject | Abstain, dossier: Dossier, fence: int) -> LedgerEntry:
    """The ledger entry of a verdict: what was judged as hashes and counts, never as text."""
    diff = _diff(dossier)
    return LedgerEntry(
        eval_id=verdict.eval_id,
        created_at=verdict.created_at,
        round=verdict.round,
        fence=fence,
        head_sha=verdict.subject.head_sha,
        fingerprint=verdict.fingerprint,
        diff_summary=summary(diff),
        changed_lines=changed_lines(diff),
        case=dossier.case,
        verdict=verdict,
        open_conditions=tuple(one for one in verdict.closing_conditions if one.state == "open"),
    )


def summary(diff: Diff) -> str:
    """`3 files, +40 -2`."""
    added = sum(len(file.added) for file in diff.files)
    removed = sum(len(file.removed) for file in diff.files)
    files = len(diff.files)
    return f"{files} {'file' if files == 1 else 'files'}, +{added} -{removed}"


def changed_lines(diff: Diff) -> dict[str, tuple[str, ...]]:
    """Per path, a hash of each added or removed line; empty for a change of more than HASHED_LINES lines."""
    if sum(len(file.added) + len(file.removed) for file in diff.files) > HASHED_LINES:
        return {}
    return {file.path: _hashes(file) for file in diff.files}


def _hashes(file: FileDiff) -> tuple[str, ...]:
    return tuple(
        hashlib.sha256(f"{line.kind}{line.text}".encode()).hexdigest()[:16] for line in (*file.added, *file.removed)
    )


def _diff(dossier: Dossier) -> Diff:
    try:
        return diff_of(dossier.diff)
    except DiffError:  # the court has said so in its verdict; the entry still has to be written
        return Diff(())
