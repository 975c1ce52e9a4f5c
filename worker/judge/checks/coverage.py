"""How much of the change was read: every changed file in full, in part, or not at all.

A file counts as read only where nothing of it was kept back, and everything left out is named.
"""

import re
from collections.abc import Iterable
from typing import Final

from worker.domain.dossier import Dossier, UnreadReason
from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Coverage
from worker.dossier.diff import ChangeKind, Diff, FileDiff

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
    """Coverage of *diff*; *cut* and *hidden*: paths that the reader was shown in part or not at all."""
    described = {file.path for file in diff.files if _has_no_lines(file) and is_fully_described(file, dossier)}
    left_out = [(file.path, file.reason) for file in dossier.files_unread]
    kept_back = {path for path, reason in left_out if reason is not UnreadReason.BINARY or path not in described}
    unread = {*hidden, *(path for path, reason in left_out if reason is UnreadReason.NEVER_SEND)}
    unread |= {file.path for file in diff.files if not is_fully_described(file, dossier)}
    partly = {*cut, *kept_back} - unread
    changed = list(dict.fromkeys(file.path for file in diff.files))
    return Coverage(
        read=tuple(path for path in changed if path not in partly | unread),
        partly=tuple(path for path in changed if path in partly),
        unread=(*(path for path in changed if path in unread), *sorted(kept_back.difference(changed))),
    )


def mentions_unread_as_missing(text: str, coverage: Coverage) -> bool:
    """Whether *text* misses something and names an unread file, where it may be.

    A name without its folder counts only where no file that was read has it.
    """
    if not coverage.unread or _SAYS_MISSING.search(text) is None:
        return False
    read = {_name(path) for path in (*coverage.read, *coverage.partly)}
    names = {name for path in coverage.unread for name in (path, _name(path)) if "." in name}
    return any(re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w/-]|\.\w)", text) for name in names - read)


def is_fully_described(file: FileDiff, dossier: Dossier) -> bool:
    """Whether diff and request show all that matters of a file.

    A diff shows neither new binary content nor a submodule's commit. A picture, font or sound is described where the issue or a
    criterion names the file or it lies beside documentation: nothing runs it. A submodule is described where they name its new
    commit, by seven digits at least. Other binary files (an archive, a library, a program) are not.
    """
    if file.change is ChangeKind.DELETED or not _has_no_lines(file):
        return True
    if file.is_submodule:
        bodies = (hunk.body.decode("utf-8", "replace") for hunk in file.hunks)
        commit = next(filter(None, map(_SUBMODULE_COMMIT.search, bodies)), None)
        return commit is not None and any(map(commit[1].startswith, _SHORT_SHA.findall(_requested_text(dossier))))
    if _ASSET.search(file.path) is None:
        return False
    is_named = rf"(?<![\w.-]){re.escape(_name(file.path))}(?![\w-])"
    return _DOCS.search(file.path) is not None or bool(re.search(is_named, _requested_text(dossier), re.IGNORECASE))


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _has_no_lines(file: FileDiff) -> bool:
    return file.is_binary or file.is_submodule


def _requested_text(dossier: Dossier) -> str:
    """The issues and the listed criteria: nothing of the change's author."""
    asked = (f"{issue.title}\n{issue.body}" for issue in dossier.issues)
    listed = (criterion.text for criterion in dossier.criteria or () if not criterion.inferred)
    return "\n".join([*asked, *listed])
