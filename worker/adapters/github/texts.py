"""Texts at the head commit of the changed files.

Does not decide what has to be read. Invariant: every changed file that has a text at the head ends either in
`files` or, with its reason, in `unread`; a file that GitHub cut short counts as unread.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from worker.adapters.github.responses import BlobResponse
from worker.domain.dossier.dossier import HeadFile, UnreadFile, UnreadReason
from worker.dossier.diff.parser import ChangeKind, Diff

MOST_FILES: Final = 1000
MOST_CHARACTERS: Final = 20_000_000
BATCH_SIZE: Final = 100
SMALL_BATCH: Final = 25
"""For a second try, where GitHub could not answer for a whole batch in time."""


@dataclass(frozen=True, slots=True)
class TextRequest:
    """Paths to ask for, and files known as unreadable from the diff alone."""

    paths: tuple[str, ...]
    unread: tuple[UnreadFile, ...]


def texts_to_read(diff: Diff, most: int = MOST_FILES) -> TextRequest:
    """What to read of a diff's files. A deleted file and a submodule have no text at the head."""
    there = [file for file in diff.files if file.change is not ChangeKind.DELETED and not file.is_submodule]
    binary = [file.path for file in there if file.is_binary]
    unnamed = [file.path for file in there if not file.is_binary and "\ufffd" in file.path]
    paths = [file.path for file in there if not file.is_binary and "\ufffd" not in file.path]
    unread = [
        *(UnreadFile(path=path, reason=UnreadReason.BINARY) for path in binary),
        *(UnreadFile(path=path, reason=UnreadReason.NOT_UTF8) for path in unnamed),
        *(UnreadFile(path=path, reason=UnreadReason.OVER_LIMIT) for path in paths[most:]),
    ]
    return TextRequest(tuple(paths[:most]), tuple(unread))


def to_head_file(path: str, blob: BlobResponse | None) -> HeadFile | UnreadFile:
    """What a blob tells of the file at *path*."""
    if blob is None:
        return UnreadFile(path=path, reason=UnreadReason.OVER_LIMIT)
    if blob.is_binary:
        return UnreadFile(path=path, reason=UnreadReason.BINARY)
    if blob.is_truncated or blob.text is None:
        return UnreadFile(path=path, reason=UnreadReason.TOO_LARGE)
    return HeadFile(path=path, text=blob.text)


def batches(paths: Sequence[str], size: int) -> list[Sequence[str]]:
    return [paths[start : start + size] for start in range(0, len(paths), size)]


@dataclass(slots=True)
class HeadTexts:
    """Files as they are read, until there is too much of them."""

    unread: list[UnreadFile]
    most_characters: int = MOST_CHARACTERS
    files: list[HeadFile] = field(default_factory=list[HeadFile])
    characters: int = 0

    @property
    def is_full(self) -> bool:
        return self.characters >= self.most_characters

    def put(self, paths: Sequence[str], blobs: Sequence[BlobResponse | None]) -> None:
        for path, blob in zip(paths, blobs, strict=True):
            file = to_head_file(path, blob)
            if isinstance(file, HeadFile):
                self.characters += len(file.text or "")
                self.files.append(file)
            else:
                self.unread.append(file)

    def mark_unread(self, paths: Sequence[str]) -> None:
        """These are not read any more."""
        self.unread += [UnreadFile(path=path, reason=UnreadReason.OVER_LIMIT) for path in paths]
