"""scope_creep: something that the change did not come for.

Foreign work is taken from other changes of the same repository. Invariant: what the change came for stays whole.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from bench.seeding import words
from bench.seeding.code import Function, Tongue
from bench.seeding.defect import Case, Difficulty, Made, Place, Variant
from bench.seeding.opened import Opened, open_dossier
from bench.seeding.patch import FilePatch, Hunk, Line
from bench.seeding.sheet import Edit, Sheet
from worker.domain.verdict.verdict import Category

MANIFEST: Final = re.compile(
    r"(?:^|/)(?:package\.json|pyproject\.toml|setup\.(?:py|cfg)|go\.mod|Cargo\.toml|pom\.xml|build\.gradle(?:\.kts)?|requirements[\w-]*\.txt)$"
)
VERSION: Final = re.compile(r"\d+\.\d+")
WORD: Final = re.compile(r"[A-Za-z]{4,}")
LEAST, MOST, NEAR = 4, 220, 40
STRAYS: Final = (
    ("notes.txt", ("things to try", "- ask about the timeout", "- look at the other branch")),
    ("scratch/try.{end}", ("{comment} quick try, throw away", "")),
    ("tmp/output.log", ("12:01:44 start", "12:01:45 retry 1", "12:01:52 done in 7.9s")),
    ("plan.md", ("# Plan", "", "1. read the code", "2. change it", "3. run it")),
    ("out.json", ('{"ok": true, "took": 812}',)),
    (".env.local", ("DEBUG=1", "PORT=3999")),
    (".vscode/settings.json", ("{", '  "editor.formatOnSave": false', "}")),
    ("old/{stem}.bak", ("kept for now",)),
    ("debug_{stem}.{end}", ("{comment} prints what comes in", "")),
    ("SUMMARY_OF_CHANGES.md", ("# What I did", "", "I changed the code and ran the tests. All good.")),
    ("core.12874.txt", ("Segmentation fault (core dumped)",)),
    ("run_all.sh", ("#!/bin/sh", "set -x", "echo trying again")),
)


def _neighbours(case: Case) -> Iterator[Opened]:
    """Other changes of the repository that share no file and no word of the title."""
    own = set(case.opened.paths)
    title = {word.lower() for word in WORD.findall(case.opened.title)}
    for row in case.shuffled(case.neighbours[:NEAR]):
        other = open_dossier(row["dossier"])
        if not own & set(other.paths) and not title & {word.lower() for word in WORD.findall(other.title)}:
            yield other


def _is_usable(file: FilePatch) -> bool:
    size = len(file.added()) + len(file.removed())
    return (
        bool(file.hunks) and not file.is_deleted and file.base_path in {None, file.head_path} and LEAST <= size <= MOST
    )


def _with(case: Case, other: Opened, files: Sequence[FilePatch]) -> Made:
    seed = case.opened
    places: list[Place] = []
    for file in files:
        text = other.sheets[file.path].text if file.path in other.sheets else None
        seed = seed.with_file(file, text)
        places.append(_first_change(file))
    return Made(case.opened, seed, tuple(places))


def _first_change(file: FilePatch) -> Place:
    hunk = file.hunks[0]
    before = next((at for at, line in enumerate(hunk.lines) if line.mark != " "), 0)
    if hunk.lines[before].mark == "+":
        return Place(file.path, hunk.head_start + before)
    return Place(file.path, hunk.base_start + before, "base")


def foreign_change(case: Case) -> Made | None:
    """All of another change."""
    for other in _neighbours(case):
        if len(other.files) <= 6 and all(_is_usable(file) for file in other.files):
            return _with(case, other, other.files)
    return None


def foreign_file(case: Case) -> Made | None:
    """One file of another change, from a folder where this one has nothing to do."""
    return _one_file(case, is_near=False)


def foreign_file_nearby(case: Case) -> Made | None:
    """One file of another change, from a folder of this one."""
    return _one_file(case, is_near=True)


def _one_file(case: Case, *, is_near: bool) -> Made | None:
    folders = {path.rpartition("/")[0] for path in case.opened.paths}
    for other in _neighbours(case):
        fitting = [
            file
            for file in other.files
            if _is_usable(file)
            and (file.path.rpartition("/")[0] in folders) == is_near
            and not MANIFEST.search(file.path)
        ]
        if fitting:
            return _with(case, other, [case.pick(fitting)])
    return None


def dependency_moved(case: Case) -> Made | None:
    """Another change's edit of a manifest, where versions stand."""
    for other in _neighbours(case):
        for file in other.files:
            small = 1 <= len(file.added()) <= 30 and bool(file.hunks)
            if small and MANIFEST.search(file.path) and any(VERSION.search(line) for line in file.added()):
                return _with(case, other, [file])
    return None


def stray_file(case: Case) -> Made | None:
    """A file that somebody forgot to delete."""
    stem = (case.opened.paths[0].rpartition("/")[2].partition(".")[0] if case.opened.paths else "") or "try"
    end = case.opened.paths[0].rpartition(".")[2]
    name, content = case.pick(STRAYS)
    path = name.format(stem=stem, end=end)
    if path in case.opened.paths:
        return None
    mark = "#" if end == "py" else "//"
    lines = [line.replace("{comment}", mark) for line in content]
    patch = new_file(path, lines)
    return Made(case.opened, case.opened.with_file(patch, "".join(f"{line}\n" for line in lines)), (Place(path, 1),))


def new_file(path: str, lines: Sequence[str]) -> FilePatch:
    header = (
        f"diff --git a/{path} b/{path}",
        "new file mode 100644",
        "index 0000000..1111111",
        "--- /dev/null",
        f"+++ b/{path}",
    )
    return FilePatch(header, None, path, (Hunk(0, 1, "", tuple(Line("+", line) for line in lines)),))


def _old_functions(case: Case, least: int) -> list[tuple[Sheet, Function]]:
    return case.shuffled(
        [(sheet, one) for sheet, one in case.opened.code if one.length >= least and sheet.is_old(one.first, one.last)]
    )


def quotes_swapped(case: Case) -> Made | None:
    """An old function that nobody asked about gets other quotes."""
    for sheet, one in _old_functions(case, 5):
        if one.tongue is not Tongue.PYTHON and not one.tongue.is_script:
            continue
        edits: list[Edit] = []
        for at in range(one.inner_first, one.inner_last + 1):
            old = sheet.head[at - 1]
            new = _swapped(old)
            if new != old:
                edits.append(Edit(at, at, (new,)))
        if len(edits) >= 3:
            places = tuple(Place(sheet.path, edit.first) for edit in edits)
            return Made(case.opened, case.opened.edited(sheet.path, edits), places)
    return None


def _swapped(line: str) -> str:
    if "'" in line and '"' not in line and "\\" not in line and line.count("'") % 2 == 0 and "`" not in line:
        return line.replace("'", '"')
    if (
        '"' in line
        and "'" not in line
        and "\\" not in line
        and line.count('"') % 2 == 0
        and '"""' not in line
        and "`" not in line
    ):
        return line.replace('"', "'")
    return line


LOCAL: Final = {
    Tongue.PYTHON: re.compile(r"([a-z]\w{2,}) = "),
    Tongue.JAVASCRIPT: re.compile(r"(?:const|let|var) ([a-z]\w{2,}) ="),
    Tongue.GO: re.compile(r"([a-z]\w{2,}) :="),
    Tongue.RUST: re.compile(r"let (?:mut )?([a-z]\w{2,})(?::| =)"),
    Tongue.JAVA: re.compile(r"[A-Za-z][\w<>\[\]., ]* ([a-z]\w{2,}) ="),
}
PREFIXES: Final = ("the_{}", "{}_value", "my_{}", "{}_2", "local_{}", "current_{}")
CAMELS: Final = ("the{}", "my{}", "current{}", "local{}")


def renamed_in_passing(case: Case) -> Made | None:
    """A local name of an old function changes for no reason."""
    for sheet, one in _old_functions(case, 4):
        for statement in case.shuffled(one.body):
            found = LOCAL[words.family(one.tongue)].match(statement.text)
            edits = _renamed(one, found[1], _new_name(case, found[1], one.tongue)) if found else []
            if len(edits) >= 3:
                places = tuple(Place(sheet.path, edit.first) for edit in edits)
                return Made(case.opened, case.opened.edited(sheet.path, edits), places)
    return None


def _new_name(case: Case, name: str, tongue: Tongue) -> str:
    if tongue in {Tongue.PYTHON, Tongue.RUST}:
        return case.pick(PREFIXES).format(name)
    return case.pick(CAMELS).format(name[:1].upper() + name[1:])


def _renamed(function: Function, name: str, new: str) -> list[Edit]:
    """Every use of *name*; none where one of them may be more than a local name (a key, a keyword, a string)."""
    text = "\n".join(function.lines[function.first - 1 : function.last])
    plain = re.compile(rf"(?<![\w.\"'`$@]){name}(?![\w\"'`]|\s*=[^=>]|\s*:(?!\s*$))", re.MULTILINE)
    every = re.compile(rf"\b{name}\b")
    if new in text or len(every.findall(text)) != len(plain.findall(text)) + 1:
        return []
    lines = [(at, function.lines[at - 1]) for at in range(function.first, function.last + 1)]
    return [Edit(at, at, (every.sub(new, line),)) for at, line in lines if every.search(line)]


CREEP, EASY, HARD = Category.SCOPE_CREEP, Difficulty.EASY, Difficulty.HARD
RULES: Final = (Category.SPEC_VIOLATION,)
VARIANTS: Final = (
    Variant("foreign_change", CREEP, EASY, foreign_change),
    Variant("foreign_file", CREEP, EASY, foreign_file),
    Variant("dependency_moved", CREEP, EASY, dependency_moved, RULES),
    Variant("stray_file", CREEP, EASY, stray_file, is_code=False),
    Variant("foreign_file_nearby", CREEP, HARD, foreign_file_nearby),
    Variant("quotes_swapped", CREEP, HARD, quotes_swapped),
    Variant("renamed_in_passing", CREEP, HARD, renamed_in_passing),
)
