"""A dossier open for edits: its diff, whole texts and words, and back to a dossier.

Invariant: where a dossier carries `files`, they agree with its diff after any edit.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

from bench.seeding.code import Function, functions, is_sound, tongue_of
from bench.seeding.patch import FilePatch, parse, print_diff
from bench.seeding.sheet import Edit, Sheet, open_sheet

Row = dict[str, Any]
TEST_PLACES: Final = ("test", "tests", "testing", "__tests__", "spec")


@dataclass(frozen=True, slots=True)
class Frame:
    """What a change is held to: fields of the dossier (issues, criteria, case, guidance) that stand in for its own."""

    fields: dict[str, Any]
    cited: tuple[str, ...] = ()
    """Paths that the case names and that are not there."""


@dataclass(frozen=True)
class Opened:
    """`files` are the parts of the diff in order; `sheets` those whose whole text is known, by path."""

    dossier: dict[str, Any] = field(repr=False)
    files: tuple[FilePatch, ...]
    sheets: MappingProxyType[str, Sheet]
    texts: MappingProxyType[str, str]
    frame: Frame | None = None

    @property
    def repository(self) -> str:
        return str(self.dossier["pull_request"]["repository"])

    @property
    def title(self) -> str:
        return str(self.dossier["pull_request"]["title"])

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(file.path for file in self.files)

    @cached_property
    def code(self) -> tuple[tuple[Sheet, Function], ...]:
        """All functions of the sheets, old and new."""
        found: list[tuple[Sheet, Function]] = []
        for sheet in self.sheets.values():
            tongue = tongue_of(sheet.path)
            if tongue is not None:
                found += [(sheet, function) for function in functions(sheet.text, tongue)]
        return tuple(found)

    def edited(self, path: str, edits: Iterable[Edit]) -> "Opened":
        return self.with_sheet(self.sheets[path].edited(edits))

    def with_sheet(self, sheet: Sheet) -> "Opened":
        return replace(self, sheets=MappingProxyType({**self.sheets, sheet.path: sheet}))

    def without(self, path: str) -> "Opened":
        """As if the change had not touched *path*."""
        return replace(
            self,
            files=tuple(file for file in self.files if file.path != path),
            sheets=MappingProxyType({name: sheet for name, sheet in self.sheets.items() if name != path}),
            texts=MappingProxyType({name: text for name, text in self.texts.items() if name != path}),
        )

    def with_file(self, patch: FilePatch, text: str | None) -> "Opened":
        """The change touches one more file, in git's order."""
        files = sorted((*self.files, patch), key=lambda file: file.path.encode())
        texts = {**self.texts, patch.path: text} if text is not None else self.texts
        sheet = open_sheet(patch, text)
        sheets = {**self.sheets, patch.path: sheet} if sheet else self.sheets
        return replace(self, files=tuple(files), sheets=MappingProxyType(sheets), texts=MappingProxyType(dict(texts)))

    def framed(self, frame: Frame) -> "Opened":
        return replace(self, frame=frame)

    def printed(self) -> dict[str, Any]:
        """The dossier as it is now."""
        made = {**self.dossier, **(self.frame.fields if self.frame else {})}
        made["diff"] = print_diff(self._files())
        if self.dossier.get("files") is not None:
            made["files"] = [*self._texts(), *({"path": path, "exists": False} for path in self._absent())]
        return made

    def _absent(self) -> Iterator[str]:
        known = {file["path"] for file in self.dossier["files"] if not file.get("exists", True)}
        yield from sorted(known | set(self.frame.cited if self.frame else ()))

    def _files(self) -> Iterator[FilePatch]:
        for file in self.files:
            sheet = self.sheets.get(file.path)
            made = sheet.printed() if sheet is not None else file
            if made is not None:
                yield made

    def _texts(self) -> Iterator[dict[str, Any]]:
        left = {file.path for file in self._files()}
        gone = {file.path for file in self.files} - left
        for path, text in self.texts.items():
            if path not in gone:
                yield {"path": path, "text": self.sheets[path].text if path in self.sheets else text}


def open_dossier(dossier: dict[str, Any]) -> Opened:
    files = parse(dossier["diff"])
    texts = {file["path"]: file["text"] for file in dossier.get("files") or () if file.get("text") is not None}
    found = ((file.path, open_sheet(file, texts.get(file.path))) for file in files)
    sheets = {path: sheet for path, sheet in found if sheet is not None}
    return Opened(dossier, files, MappingProxyType(sheets), MappingProxyType(texts))


def is_test_path(path: str) -> bool:
    folders, _, name = path.rpartition("/")
    words = name.lower().replace("-", "_").replace(".", "_").split("_")
    return (
        bool({"test", "tests", "spec"} & set(words))
        or _in_test_folder(folders)
        or name.endswith(("Test.java", "Tests.java"))
    )


def _in_test_folder(folders: str) -> bool:
    return any(folder.lower() in TEST_PLACES for folder in folders.split("/"))


def new_functions(opened: Opened, least: int = 1) -> list[tuple[Sheet, Function]]:
    """Whole new functions that are no tests and stand in no test file, with at least *least* lines of body."""
    return [
        (sheet, one)
        for sheet, one in opened.code
        if one.length >= least
        and not one.is_test
        and not is_test_path(sheet.path)
        and sheet.is_added(one.line, one.last)
        if not _in_a_test_module(sheet, one)
    ]


def new_tests(opened: Opened) -> list[tuple[Sheet, Function]]:
    return [(sheet, one) for sheet, one in opened.code if one.is_test and sheet.is_added(one.line, one.last)]


def old_tests(opened: Opened) -> list[tuple[Sheet, Function]]:
    """Tests that the change leaves as they are, in files that it touches."""
    return [(sheet, one) for sheet, one in opened.code if one.is_test and sheet.is_old(one.first, one.last)]


def is_sound_everywhere(before: Opened, after: Opened) -> bool:
    """No edited code file has an error of syntax that it did not have before."""
    for path, sheet in after.sheets.items():
        tongue = tongue_of(path)
        if tongue is None or not sheet.is_edited:
            continue
        earlier = before.sheets.get(path)
        if (earlier is None or is_sound(earlier.text, tongue)) and not is_sound(sheet.text, tongue):
            return False
    return True


def _in_a_test_module(sheet: Sheet, function: Function) -> bool:
    """Rust keeps unit tests at the end of the file they test."""
    return sheet.path.endswith(".rs") and "#[cfg(test)]" in "\n".join(sheet.head[: function.line])


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
