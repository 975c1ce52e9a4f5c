"""A diff put together from the list of changed files, for pull requests whose diff GitHub does not show.

Does not fetch. Invariant: what comes out parses as what git prints, and a change whose lines GitHub left out
is named.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from worker.adapters.github.responses import ChangedFileResponse
from worker.domain.dossier.dossier import UnreadFile, UnreadReason

ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\t": "\\t", "\n": "\\n", "\r": "\\r"}
SPECIAL: Final = re.compile(r'[\\"\x00-\x1f\x7f]')


@dataclass(frozen=True, slots=True)
class PatchedDiff:
    """`unread` names the files whose lines are missing from `diff`."""

    diff: str
    unread: tuple[UnreadFile, ...]


def join_patches(files: Sequence[ChangedFileResponse], total: int) -> PatchedDiff:
    """Put the patches of *files* together; *total* is how many files the pull request really changes."""
    unread = [UnreadFile(path=file.filename, reason=UnreadReason.TOO_LARGE) for file in files if _lacks_lines(file)]
    if total > len(files):
        rest = f"({total - len(files)} more files that GitHub does not list)"
        unread.append(UnreadFile(path=rest, reason=UnreadReason.OVER_LIMIT))
    return PatchedDiff("".join(_section(file) for file in files), tuple(unread))


def _lacks_lines(file: ChangedFileResponse) -> bool:
    return file.patch is None and file.changes > 0


def _section(file: ChangedFileResponse) -> str:
    old, new = file.previous_filename or file.filename, file.filename
    if file.status not in {"renamed", "copied"}:
        old = new
    lines = [f"diff --git {_name('a/', old)} {_name('b/', new)}", *_header(file, old)]
    if file.patch is not None:
        lines.append(f"--- {'/dev/null' if file.status == 'added' else _marked_name('a/', old)}")
        lines.append(f"+++ {'/dev/null' if file.status == 'removed' else _marked_name('b/', new)}")
        lines.append(file.patch.removesuffix("\n"))
    return "\n".join(lines) + "\n"


def _header(file: ChangedFileResponse, old: str) -> list[str]:
    match file.status:
        case "added":
            return ["new file mode 100644"]
        case "removed":
            return ["deleted file mode 100644"]
        case "renamed" | "copied":
            word = "rename" if file.status == "renamed" else "copy"
            return [f"{word} from {_name('', old)}", f"{word} to {_name('', file.filename)}"]
        case _:
            return []


def _name(side: str, path: str) -> str:
    """A path as git writes it: quoted when a character in it would mean something."""
    text = side + path
    return f'"{SPECIAL.sub(_escape, text)}"' if SPECIAL.search(text) else text


def _marked_name(side: str, path: str) -> str:
    name = _name(side, path)
    return f"{name}\t" if " " in name and not name.startswith('"') else name


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return ESCAPES.get(character, f"\\{ord(character):03o}")
