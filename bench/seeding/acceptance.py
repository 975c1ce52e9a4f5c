"""acceptance_gap: one thing that was asked for is not there, and the case still claims it.

Invariant: seed and twin are held to the same issue, criteria, case and rules.
"""

import re
from typing import Final

from bench.seeding import frames
from bench.seeding.code import Function, functions, tongue_of
from bench.seeding.defect import Case, Difficulty, Made, Variant
from bench.seeding.frames import NAMELESS, Claim, spoken, started
from bench.seeding.opened import Opened, is_test_path, new_functions, new_tests
from bench.seeding.sheet import Edit, Sheet
from worker.domain.verdict.verdict import Category

IMPORT: Final = re.compile(r"\s*(?:import|from|(?:pub )?use|const \{.*require)\b")
ALONE: Final = re.compile(r".*\bimport\s*|.*\{\s*\}.*|\s*import\s+(?:static\s+)?[\w.]*;|.*::;?")
DOCUMENT: Final = re.compile(r"\.(?:md|rst|adoc|mdx|txt)$")
ASKED_DOCS: Final = (
    "The documentation says so ({path})",
    "Document it in `{path}`",
    "`{path}` explains the new behaviour",
    "Docs are updated",
)
ASKED_TESTS: Final = (
    "There are tests for it",
    "Add tests",
    "The new behaviour is covered by a test",
    "Tests cover {words}",
)
ASKED_PLACE: Final = (
    "`{path}` is changed as well",
    "The same goes for {words}",
    "{words} takes part too",
    "Do not forget `{path}`",
)


def _made(case: Case, claim: Claim, seed: Opened | None) -> Made | None:
    """Frame both with *claim* among others; the seed lacks it."""
    if seed is None or not seed.files:
        return None
    kept = _still_true(case, seed)
    others = [one for one in frames.claims_of(case, 8) if one.text != claim.text and _in(kept, one)][
        : case.draw.randint(1, 3)
    ]
    if not others:
        return None
    claims = case.shuffled([claim, *others])
    frame = frames.framed(case, claims)
    missing = f"AC{claims.index(claim) + 1}"
    return Made(case.opened.framed(frame), seed.framed(frame), (), (missing,))


def _still_true(case: Case, seed: Opened) -> set[str]:
    """What a claim may name: paths and functions that the seed still has."""
    paths = {file.path for file in seed.files if file.path in case.opened.paths}
    return paths | {one.name for _, one in seed.code}


def _in(kept: set[str], claim: Claim) -> bool:
    pointers = [claim.addressed_by, *([claim.evidence] if claim.evidence else [])]
    parts = [part for pointer in pointers for part in re.split(r"::?", pointer, maxsplit=1) if part]
    return all(part in kept for part in parts)


def _users(opened: Opened, name: str) -> list[tuple[Sheet, Function]]:
    rule = re.compile(rf"\b{re.escape(name)}\b")
    return [
        (sheet, one)
        for sheet, one in opened.code
        if one.name != name and rule.search("\n".join(one.lines[one.first - 1 : one.last]))
    ]


def _without_function(opened: Opened, sheet: Sheet, function: Function) -> Opened | None:
    """The change without a function, and without the new tests that use it; None if production code does."""
    users = _users(opened, function.name)
    if any(not one.is_test or not other.is_added(one.first, one.last) for other, one in users):
        return None
    by_path: dict[str, list[Edit]] = {}
    for other, one in [(sheet, function), *users]:
        by_path.setdefault(other.path, []).append(Edit(one.first, _to_blank(other, one), ()))
    made = opened
    for path, edits in by_path.items():
        if any(edit.first <= other.first <= edit.last for edit in edits for other in edits if edit is not other):
            return None
        made = made.edited(path, edits)
    for path in by_path:
        if path in made.sheets and _has_no_test_left(made.sheets[path]):
            made = made.without(path)
    made = _without_imports(made, function.name)
    rule = re.compile(rf"\b{re.escape(function.name)}\b")
    return None if any(rule.search(one.text) for one in made.sheets.values()) else made


def _has_no_test_left(sheet: Sheet) -> bool:
    tongue = tongue_of(sheet.path)
    is_new_test = sheet.patch.is_new and is_test_path(sheet.path)
    return is_new_test and tongue is not None and not any(one.is_test for one in functions(sheet.text, tongue))


def _without_imports(opened: Opened, name: str) -> Opened:
    """Nobody imports *name* any more."""
    rule = re.compile(rf",\s*{re.escape(name)}\b|\b{re.escape(name)}\b\s*,?\s?")
    made = opened
    for path, sheet in opened.sheets.items():
        edits = [
            Edit(at, at, () if ALONE.fullmatch(rest) else (rest,))
            for at, line in enumerate(sheet.head, 1)
            if IMPORT.match(line) and (rest := rule.sub("", line, count=1)) != line
        ]
        made = made.edited(path, edits) if edits else made
    return made


def _to_blank(sheet: Sheet, function: Function) -> int:
    last = function.last
    return (
        last + 1
        if last < len(sheet.head) and not sheet.head[last].strip() and sheet.is_added(function.last, function.last)
        else last
    )


def function_named(case: Case) -> Made | None:
    return _function(case, frames.NAMED)


def function_in_prose(case: Case) -> Made | None:
    return _function(case, frames.PROSE)


def _function(case: Case, shapes: tuple[str, ...]) -> Made | None:
    for sheet, one in case.shuffled(new_functions(case.opened, 2)):
        if one.name in NAMELESS or (shapes == frames.PROSE and " " not in spoken(one.name)):
            continue
        text = case.pick(shapes).format(name=one.name, words=spoken(one.name))
        claim = Claim(started(text), f"{sheet.path}:{one.name}")
        made = _made(case, claim, _without_function(case.opened, sheet, one))
        if made is not None:
            return made
    return None


def tests_left_out(case: Case) -> Made | None:
    """Tests are asked for; the change brings none."""
    tests = [path for path in case.opened.paths if is_test_path(path)]
    first = new_tests(case.opened)
    if not first or len(tests) == len(case.opened.paths) or any(not is_test_path(sheet.path) for sheet, _ in first):
        return None
    seed = case.opened
    for path in tests:
        seed = seed.without(path)
    sheet, one = case.pick(first)
    text = case.pick(ASKED_TESTS).format(words=spoken(one.name))
    return _made(case, Claim(text, sheet.path, f"{sheet.path}::{one.name}"), seed)


def one_test_left_out(case: Case) -> Made | None:
    """A test for one thing is asked for and not there; others are."""
    tests = new_tests(case.opened)
    if len(tests) < 2:
        return None
    sheet, one = case.pick(tests)
    text = case.pick(frames.TESTED).format(name=one.name, words=spoken(one.name))
    seed = case.opened.edited(sheet.path, [Edit(one.first, _to_blank(sheet, one), ())])
    return _made(case, Claim(started(text), sheet.path, f"{sheet.path}::{one.name}"), seed)


def documentation_left_out(case: Case) -> Made | None:
    documents = [
        path
        for path in case.opened.sheets
        if DOCUMENT.search(path) and not frames.CHANGELOG.search(path) and "requirement" not in path
    ]
    if not documents or len(documents) == len(case.opened.paths):
        return None
    seed = case.opened
    for path in documents:
        seed = seed.without(path)
    return _made(case, Claim(case.pick(ASKED_DOCS).format(path=documents[0]), documents[0]), seed)


def file_left_out(case: Case) -> Made | None:
    """One of several production files, which a criterion names, is left out."""
    code = [path for path in case.opened.sheets if not is_test_path(path) and not DOCUMENT.search(path)]
    if len(code) < 2:
        return None
    path = case.pick(code)
    name = path.rpartition("/")[2].partition(".")[0]
    text = case.pick(ASKED_PLACE).format(path=path, words=spoken(name))
    return _made(case, Claim(started(text), path), case.opened.without(path))


def identifier_left_out(case: Case) -> Made | None:
    """A hunk that brings an identifier, which a criterion names, is left out."""
    for path in case.shuffled(list(case.opened.sheets)):
        sheet = case.opened.sheets[path]
        runs = [] if sheet.patch.is_new or is_test_path(path) else sheet.runs()
        for first, last in case.shuffled(runs) if len(runs) > 1 else []:
            seed = case.opened.with_sheet(sheet.reverted(first, last))
            brought = "\n".join(line.text for line in sheet.lines[first : last + 1] if line.mark == "+")
            names = [
                name
                for name in re.findall(r"(?<![\w\]%])[a-z]+(?:_[a-z]+|[A-Z][a-z]+)+\b", brought)
                if not _has(seed, name)
            ]
            if names:
                text = f"{case.pick(('`{}` is supported', 'It handles `{}`', '`{}` is taken into account'))}".format(
                    names[0]
                )
                return _made(case, Claim(text, f"{path}:{names[0]}"), seed)
    return None


def _has(opened: Opened, name: str) -> bool:
    return any(name in sheet.text for sheet in opened.sheets.values())


GAP, EASY, HARD = Category.ACCEPTANCE_GAP, Difficulty.EASY, Difficulty.HARD
HALF: Final = (Category.HALF_FINISHED,)
WEAK: Final = (Category.WEAK_TEST,)
VARIANTS: Final = (
    Variant("function_named", GAP, EASY, function_named, HALF),
    Variant("tests_left_out", GAP, EASY, tests_left_out, WEAK),
    Variant("documentation_left_out", GAP, EASY, documentation_left_out, HALF),
    Variant("function_in_prose", GAP, HARD, function_in_prose, HALF),
    Variant("one_test_left_out", GAP, HARD, one_test_left_out, WEAK),
    Variant("file_left_out", GAP, HARD, file_left_out, HALF),
    Variant("identifier_left_out", GAP, HARD, identifier_left_out, HALF),
)
