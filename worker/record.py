"""Verdict -> ledger entry, archived dossier, and the record of how it came about.

Does not decide and does not publish. Invariant: what is written can never be edited, and writing the
same verdict twice leaves one entry.
"""

from worker.domain.audit import Heard
from worker.domain.diff import Diff, DiffError, diff_of
from worker.domain.dossier import Dossier
from worker.domain.ledger import LedgerEntry, changed_lines
from worker.domain.request import PullRef
from worker.domain.verdict import Abstain, Accept, ConditionState, Reject
from worker.ports import Archive, Lease, Ledger


def record(pull: PullRef, heard: Heard, dossier: Dossier, keepers: "Keepers") -> LedgerEntry:
    """Append the verdict to the ledger, and the opinions that led to it; keep what it was made from. Raises LeaseLost."""
    made = entry(heard.verdict, dossier, keepers.lease.fence)
    keepers.lease.keep()
    keepers.archive.keep(pull, made, dossier, heard.audit)
    keepers.ledger.append(pull, made)
    for opinion in heard.opinions:
        record_beside(made, opinion, dossier, keepers.ledger, keepers.archive)
    return made


def record_beside(parent: LedgerEntry, heard: Heard, dossier: Dossier, ledger: Ledger, archive: Archive) -> None:
    """Record a judging anew beside the verdict that it judges again. Raises LeaseLost where that is gone."""
    subject = parent.verdict.subject
    pull = PullRef(installation_id=subject.installation_id, repository_id=subject.repository_id, number=subject.number)
    made = entry(heard.verdict, dossier, parent.fence)
    archive.keep(pull, made, dossier, heard.audit)
    ledger.append(pull, made)
    for opinion in heard.opinions:
        record_beside(made, opinion, dossier, ledger, archive)


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
        pushed_at=dossier.pull_request.pushed_at,
        diff_summary=summary(diff),
        changed_lines=changed_lines(diff),
        case=dossier.case,
        verdict=verdict,
        open_conditions=tuple(one for one in verdict.closing_conditions if one.state is ConditionState.OPEN),
    )


def summary(diff: Diff) -> str:
    """`3 files, +40 -2`."""
    added = sum(len(file.added) for file in diff.files)
    removed = sum(len(file.removed) for file in diff.files)
    files = len(diff.files)
    return f"{files} {'file' if files == 1 else 'files'}, +{added} -{removed}"


def _diff(dossier: Dossier) -> Diff:
    try:
        return diff_of(dossier.diff)
    except DiffError:  # the court has said so in its verdict; the entry still has to be written
        return Diff(())
