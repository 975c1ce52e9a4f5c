"""What a dossier shows of a changed file: its lines before and after, from its diff and, if it is there, its text.

The text before comes from `git apply -R`. Invariant: a line that is not shown is not in `head` or `base`.
"""

import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

_RANGE: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass
class Run:
    """Changed lines without a break."""

    removed: list[int] = field(default_factory=list[int])
    added: list[int] = field(default_factory=list[int])


@dataclass
class Shown:
    """One file of the diff. `head` and `base` map line numbers to lines."""

    path: str
    old_path: str
    patch: str
    text: str | None
    head: dict[int, str] = field(default_factory=dict[int, str])
    hunk_base: dict[int, str] = field(default_factory=dict[int, str])
    added: set[int] = field(default_factory=set[int])
    removed: set[int] = field(default_factory=set[int])
    runs: list[Run] = field(default_factory=list[Run])

    @property
    def is_new(self) -> bool:
        return "\nnew file mode " in self.patch.split("\n@@ ")[0]

    @property
    def is_deleted(self) -> bool:
        return "\ndeleted file mode " in self.patch.split("\n@@ ")[0]

    @cached_property
    def base_text(self) -> str | None:
        """The whole text before, if the whole text after is known."""
        if self.is_new:
            return ""
        if self.text is None:
            return None
        return taken_back(self)

    @cached_property
    def base(self) -> dict[int, str]:
        return self.hunk_base if self.base_text is None else numbered(self.base_text)

    def added_lines(self) -> list[str]:
        return [self.head[line] for line in sorted(self.added)]

    def removed_lines(self) -> list[str]:
        return [self.hunk_base[line] for line in sorted(self.removed)]

    def run_at(self, line: int, *, of_base: bool) -> Run | None:
        return next((run for run in self.runs if line in (run.removed if of_base else run.added)), None)


def numbered(text: str) -> dict[int, str]:
    return dict(enumerate(text.removesuffix("\n").split("\n"), 1)) if text else {}


def taken_back(shown: Shown) -> str | None:
    """The text before, as git finds it; None where the diff does not fit."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, shown.path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes((shown.text or "").encode("utf-8", "surrogatepass"))
        command = ["git", "apply", "-R", "--whitespace=nowarn", "-"]
        done = subprocess.run(
            command, cwd=folder, input=shown.patch.encode("utf-8", "surrogatepass"), capture_output=True, check=False
        )
        before = Path(folder, shown.old_path)
        if done.returncode or not before.is_file():
            return None
        return before.read_bytes().decode("utf-8", "replace")


def read(diff: str, texts: dict[str, str]) -> list[Shown]:
    """The files of a diff."""
    lines = diff.split("\n")
    starts = [number for number, line in enumerate(lines) if line.startswith("diff --git ")]
    return [_file(lines[start:end], texts) for start, end in pairwise([*starts, len(lines)])]


def _file(lines: list[str], texts: dict[str, str]) -> Shown:
    old, new = _names(lines)
    body = lines[:-1] if lines and not lines[-1] else lines
    shown = Shown(new, old, "".join(f"{line}\n" for line in body), texts.get(new))
    _fill(shown, iter(body))
    if shown.is_new and shown.text is None and shown.head:
        shown.text = "".join(f"{line}\n" for line in shown.head.values())
    if shown.text is not None and not shown.is_deleted:
        shown.head = numbered(shown.text)
    return shown


def _names(lines: list[str]) -> tuple[str, str]:
    both = lines[0].removeprefix("diff --git a/")
    old = new = both[: len(both) // 2 - 1] if " b/" in both else both
    for line in lines[1:]:
        if line.startswith("@@ "):
            break
        for mark, is_old in (("--- a/", True), ("rename from ", True), ("+++ b/", False), ("rename to ", False)):
            if line.startswith(mark):
                name = line.removeprefix(mark).removesuffix("\t")
                old, new = (name, new) if is_old else (old, name)
    return old, new


def _fill(shown: Shown, lines: Iterator[str]) -> None:
    base = head = left_base = left_head = 0
    run: Run | None = None
    for line in lines:
        found = _RANGE.match(line)
        if found is not None and not (left_base or left_head):
            base, head = int(found[1]), int(found[3])
            left_base, left_head = int(found[2] or 1), int(found[4] or 1)
            run = None
            continue
        if not (left_base or left_head) or line.startswith("\\"):
            continue
        mark, text = line[:1], line[1:]
        run = None if mark in {" ", ""} else run or _begun(shown)
        if mark != "+":
            shown.hunk_base[base] = text
            if run is not None:
                shown.removed.add(base)
                run.removed.append(base)
            base, left_base = base + 1, left_base - 1
        if mark != "-":
            shown.head[head] = text
            if run is not None:
                shown.added.add(head)
                run.added.append(head)
            head, left_head = head + 1, left_head - 1


def _begun(shown: Shown) -> Run:
    shown.runs.append(Run())
    return shown.runs[-1]


class Matter:
    """A dossier as a proof needs it."""

    def __init__(self, dossier: dict[str, Any]) -> None:
        self.dossier = dossier
        listed: list[dict[str, Any]] = dossier.get("files") or []
        self.texts: dict[str, str] = {one["path"]: one["text"] for one in listed if one.get("text") is not None}
        self.absent: set[str] = {one["path"] for one in listed if one.get("exists") is False}
        self.files = read(dossier["diff"], self.texts)

    def file(self, path: str | None) -> Shown | None:
        found = (one for one in self.files if path in {one.path, one.old_path})
        return next(found, None)

    def lines_after(self) -> Iterator[tuple[str, int, str]]:
        """Every line that is known to be there after the change: path, number, text."""
        changed = {one.path for one in self.files}
        for one in self.files:
            yield from ((one.path, number, text) for number, text in one.head.items() if not one.is_deleted)
        for path, text in self.texts.items():
            if path not in changed:
                yield from ((path, number, line) for number, line in numbered(text).items())
