"""What was read of the change: every changed file is in full, in part, or not at all.

Does not read. Invariant: a file is never counted as read when any of it was kept back, and nothing that was left
out is left unnamed.
"""

from collections.abc import Iterable

from worker.domain.diff import ChangeKind, Diff, FileDiff
from worker.domain.dossier import Dossier
from worker.domain.verdict import Coverage


def coverage_of(dossier: Dossier, diff: Diff, cut: Iterable[str] = (), hidden: Iterable[str] = ()) -> Coverage:
    """Coverage of *diff*; *cut* and *hidden* are the paths that the reader was shown in part or not at all."""
    kept_back = {file.path for file in dossier.files_unread}
    hidden_paths = set(hidden) | {file.path for file in diff.files if not is_told(file)}
    partly_paths = (set(cut) | kept_back) - hidden_paths
    changed = list(dict.fromkeys(file.path for file in diff.files))
    outside = sorted(kept_back.difference(changed))
    return Coverage(
        read=tuple(path for path in changed if path not in partly_paths | hidden_paths),
        partly=tuple(path for path in changed if path in partly_paths),
        unread=(*(path for path in changed if path in hidden_paths), *outside),
    )


def is_told(file: FileDiff) -> bool:
    """Whether the diff tells all that changed: not for new binary content, nor for a submodule's new commit."""
    return file.change is ChangeKind.DELETED or not (file.is_binary or file.is_submodule)
