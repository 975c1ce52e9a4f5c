"""How files are shown to a model: the diff with its line numbers on both sides, and whole texts.

Does not fence (`worker.judge.prompt` does) and does not decide what matters. Invariant: every number shown is the number
of that line in the file, nothing is shown in part without saying so, and the whole stays within its room.
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from worker.domain.diff import ChangeKind, Diff, DiffLine, FileDiff, text_lines
from worker.domain.dossier import Dossier
from worker.domain.pattern import pattern
from worker.domain.value import Value
from worker.judge.coverage import is_told
from worker.judge.untrusted import cut, redacted, shown_path, visible

MANIFEST_BYTES: Final = 24_000
WORTH_SHOWING: Final = 4_000
"""A file that does not fit is shown in part only if this much of it can be."""

_FENCE: Final = 60
_NUMBERS: Final = 16
_TEST_FOLDERS: Final = frozenset({"test", "tests", "__tests__", "spec", "specs", "testing"})
_TEST_NAME: Final = pattern(r"(?:^test_|_test\.|\.test\.|\.spec\.|_spec\.|(?:Test|Tests|IT)\.\w+$|^conftest\.py$)")
_LATER: Final = pattern(
    r"(?:\.(?:md|rst|txt|json|ya?ml|toml|cfg|ini|csv|svg|xml)|(?:^|[./-])lock(?:\.\w+)?)$", re.IGNORECASE
)


class Shown(Value):
    """The change as the model sees it; `cut` and `hidden` are the paths shown in part and not at all."""

    manifest: str
    texts: tuple[tuple[str, str], ...]
    cut: tuple[str, ...]
    hidden: tuple[str, ...]

    @property
    def size(self) -> int:
        return len(self.manifest.encode()) + sum(_weight(label, text) for label, text in self.texts)


def show_changes(diff: Diff, dossier: Dossier, room: int) -> Shown:
    """Show the diff in at most *room* bytes: code before data, whole files before parts."""
    left = room - min(MANIFEST_BYTES, sum(len(file.path.encode()) + 80 for file in diff.files))
    shown: dict[int, tuple[str, str]] = {}  # by position: a file that became a link stands in a diff twice
    cut_paths: list[str] = []
    hidden: list[str] = []
    for position, file in sorted(enumerate(diff.files), key=lambda one: _LATER.search(one[1].path) is not None):
        label = f'diff of "{shown_path(file.path)}"'
        text, complete = numbered_diff(file, left - len(label.encode()) - _FENCE)
        if complete or len(text) >= WORTH_SHOWING:
            shown[position] = (label, text)
            left -= _weight(label, text)
        if not complete:
            (cut_paths if position in shown else hidden).append(file.path)
    manifest = cut("\n".join(_listing(diff, dossier, cut_paths, hidden)), MANIFEST_BYTES)
    return Shown(manifest, tuple(text for _, text in sorted(shown.items())), tuple(cut_paths), tuple(hidden))


def _weight(label: str, text: str) -> int:
    return len(label.encode()) + len(text.encode()) + _FENCE


def _listing(diff: Diff, dossier: Dossier, cut_paths: list[str], hidden: list[str]) -> Iterator[str]:
    reasons = {file.path: file.reason.replace("_", " ") for file in dossier.files_unread}
    cut_set, hidden_set = frozenset(cut_paths), frozenset(hidden)
    for file in diff.files:
        moved = f', was "{shown_path(file.old_path)}"' if file.old_path else ""
        state = "not read" if file.path in hidden_set else "shown in part" if file.path in cut_set else "shown"
        if not is_told(file):
            state = "not read: its content is not text"
        why = f" (whole text not read: {reasons.pop(file.path)})" if file.path in reasons else ""
        counts = f"+{len(file.added)} -{len(file.removed)}"
        yield f'"{shown_path(file.path)}": {file.change}{moved}, {counts}, {state}{why}'
    for path, reason in reasons.items():
        yield f'"{shown_path(path)}": not read ({reason})'


def numbered_diff(file: FileDiff, limit: int) -> tuple[str, bool]:
    """The file's hunks with both line numbers, and whether that is all of them. Never more than *limit* bytes."""
    lines = tuple(_within(file, limit))
    clean = visible(redacted("\n".join(line.text for line in lines))).split("\n")
    text = "\n".join(_rows(file, dict(zip(map(id, lines), clean, strict=False))))
    complete = len(lines) == sum(len(hunk.lines) for hunk in file.hunks)
    if complete and len(text.encode()) <= limit:
        return text, True
    return _cut_off(text, limit), False


def _within(file: FileDiff, limit: int) -> Iterator[DiffLine]:
    """The first lines of the file, as far as they can fit at all."""
    size = 0
    for line in file.lines():
        size += len(line.text) + _NUMBERS
        if size > limit:
            return
        yield line


def _rows(file: FileDiff, texts: dict[int, str]) -> Iterator[str]:
    if file.old_mode != file.new_mode and file.old_mode and file.new_mode:
        yield f"mode {file.old_mode} -> {file.new_mode}"
    if not file.hunks:
        yield "(no line is shown)"
    for hunk in file.hunks:
        yield f"@@ {visible(redacted(hunk.section))}".rstrip()
        for line in hunk.lines:
            if id(line) not in texts:
                return
            yield _row(line, texts[id(line)])


def _row(line: DiffLine, text: str) -> str:
    base = "" if line.base_line is None else line.base_line
    head = "" if line.head_line is None else line.head_line
    end = "" if line.has_newline else "  [no newline at the end of the file]"
    return f"{base:>6} {head:>6} {line.kind.value}{text}{end}"


def _cut_off(text: str, limit: int) -> str:
    """What fits, ending with a whole line and the note that it is not all."""
    note = "\n[cut here: the rest of this file is not shown]"
    kept = text.encode()[: max(0, limit - len(note))].decode("utf-8", "ignore").rpartition("\n")[0]
    return f"{kept}{note}" if kept else ""


def changed_tests(diff: Diff, dossier: Dossier, room: int) -> tuple[tuple[str, str], ...]:
    """The whole text of every changed test that the diff does not show whole already, as far as there is room."""
    texts = {file.path: file.text for file in dossier.files or () if file.text is not None}
    shown: list[tuple[str, str]] = []
    for file in diff.files:
        text = texts.get(file.path)
        if text is None or file.change is ChangeKind.ADDED or not is_test(file.path):
            continue
        label = f'whole text of "{shown_path(file.path)}"'
        numbered = visible(redacted("\n".join(f"{n:>6} {line}" for n, line in enumerate(text_lines(text), start=1))))
        if _weight(label, numbered) <= room:
            shown.append((label, numbered))
            room -= _weight(label, numbered)
    return tuple(shown)


def is_test(path: str) -> bool:
    """Whether the usual conventions call this a test: decides only what is shown, never what is found."""
    pure = PurePosixPath(path)
    return bool(_TEST_NAME.search(pure.name)) or any(part in _TEST_FOLDERS for part in pure.parts[:-1])
