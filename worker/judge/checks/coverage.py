"""What was read of the change: every changed file is in full, in part, or not at all.

What a diff shows no lines of is read only where the words of the change tell what it is (`is_told`). Does not read.
Invariant: a file is never counted as read when any of it was kept back, and nothing that was left out is left unnamed.
"""

import re
from collections.abc import Iterable
from typing import Final

from worker.domain.dossier.dossier import Dossier, UnreadReason
from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Coverage
from worker.dossier.diff.parser import ChangeKind, Diff, FileDiff

_ASSET: Final = pattern(
    r"\.(?:png|jpe?g|gif|webp|avif|ico|bmp|woff2?|ttf|otf|eot|mp3|mp4|webm|ogg|wav)$", re.IGNORECASE
)
_DOCS: Final = pattern(r"(?:^|/)(?:docs?|documentation|screenshots?|website)/", re.IGNORECASE)
_SUBMODULE_COMMIT: Final = pattern(r"\+Subproject commit ([0-9a-f]{40})\b")
_SHORT_SHA: Final = pattern(r"\b[0-9a-f]{7,40}\b")
_SAYS_MISSING: Final = pattern(
    r"\b(?:absent|missing|lack(?:s|ed|ing)?|nowhere|(?:not|never) (?:there|included|present|added|defined|implemented|found)"
    r"|(?:(?:does|do) not|doesn't|don't) (?:exist|contain|include|define|implement))\b",
    re.IGNORECASE,
)


def coverage_of(dossier: Dossier, diff: Diff, cut: Iterable[str] = (), hidden: Iterable[str] = ()) -> Coverage:
    """Coverage of *diff*; *cut* and *hidden* are the paths that the reader was shown in part or not at all."""
    described = {file.path for file in diff.files if _has_no_lines(file) and is_fully_described(file, dossier)}
    kept_back = {
        file.path
        for file in dossier.files_unread
        if file.reason is not UnreadReason.BINARY or file.path not in described
    }
    never_sent = {file.path for file in dossier.files_unread if file.reason is UnreadReason.NEVER_SEND}
    hidden_paths = (
        set(hidden) | never_sent | {file.path for file in diff.files if not is_fully_described(file, dossier)}
    )
    partly_paths = (set(cut) | kept_back) - hidden_paths
    changed = list(dict.fromkeys(file.path for file in diff.files))
    outside = sorted(kept_back.difference(changed))
    return Coverage(
        read=tuple(path for path in changed if path not in partly_paths | hidden_paths),
        partly=tuple(path for path in changed if path in partly_paths),
        unread=(*(path for path in changed if path in hidden_paths), *outside),
    )


def mentions_unread_as_missing(text: str, coverage: Coverage) -> bool:
    """Whether these words miss something and name a file of which nobody read a line: it may stand there.

    A name without its folder tells of a file only where no file that was read is called so.
    """
    if not coverage.unread or _SAYS_MISSING.search(text) is None:
        return False
    read = {_name(path) for path in (*coverage.read, *coverage.partly)}
    names = {name for path in coverage.unread for name in (path, _name(path)) if "." in name}
    return any(re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w/-]|\.\w)", text) for name in names - read)


def is_fully_described(file: FileDiff, dossier: Dossier) -> bool:
    """Whether the change tells all that matters of a file.

    The diff does, but for new binary content and a submodule's new commit. Of these, a picture, a font or a sound is told
    where the issue or a criterion names the file or where it lies beside documentation: nothing runs it. A submodule is told
    where they name its new commit. Everything else that has no lines (an archive, a library, a program) nobody here can read.
    """
    if file.change is ChangeKind.DELETED or not _has_no_lines(file):
        return True
    if file.is_submodule:
        return _is_named_commit(file, dossier)
    return _ASSET.search(file.path) is not None and (_DOCS.search(file.path) is not None or _is_named(file, dossier))


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _has_no_lines(file: FileDiff) -> bool:
    return file.is_binary or file.is_submodule


def _is_named(file: FileDiff, dossier: Dossier) -> bool:
    name = re.escape(_name(file.path))
    return re.search(rf"(?<![\w.-]){name}(?![\w-])", _requested_text(dossier), re.IGNORECASE) is not None


def _is_named_commit(file: FileDiff, dossier: Dossier) -> bool:
    """Whether what was asked for names the new commit, by seven digits at least."""
    commit = next(
        (match for hunk in file.hunks if (match := _SUBMODULE_COMMIT.search(hunk.body.decode("utf-8", "replace")))),
        None,
    )
    return commit is not None and any(commit[1].startswith(sha) for sha in _SHORT_SHA.findall(_requested_text(dossier)))


def _requested_text(dossier: Dossier) -> str:
    """What others than the change's author asked for."""
    asked = (f"{issue.title}\n{issue.body}" for issue in dossier.issues)
    listed = (criterion.text for criterion in dossier.criteria or () if not criterion.inferred)
    return "\n".join([*asked, *listed])
