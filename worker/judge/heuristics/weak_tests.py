"""Tests that prove less than before: deleted, skipped, the only ones left to run, or without an assertion.

Does not run or understand tests. Invariant: all of it are suspicions, each at its line; what was only moved,
renamed, or went away together with the code under test is none.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from worker.domain.diff import ChangeKind, DiffLine, Hunk, LineKind
from worker.domain.verdict import Category, Finding, Side
from worker.judge.heuristics.change import Change, ChangedFile
from worker.judge.heuristics.functions import Function, Where, functions_of
from worker.judge.heuristics.paths import SCRIPTS, Language, Role, role_of
from worker.judge.heuristics.syntax import text_of

DELETED: Final = "test_deleted"
SKIPPED: Final = "test_skipped"
ONLY: Final = "test_only"
UNASSERTED: Final = "test_without_assertion"

_SCRIPT_TEST: Final = r"\s*(?:it|test)(?:\.\w+)*\(\s*(['\"`].+?['\"`])"
_DEFINES: Final = {
    Language.PYTHON: re.compile(r"\s*(?:async\s+)?def (test\w*)\("),
    Language.GO: re.compile(r"func (Test\w+|Fuzz\w+)\("),
    Language.RUST: re.compile(r"\s*(?:pub )?(?:async )?fn (\w+)\("),
    Language.JAVA: re.compile(r"\s*(?:public |protected |private )?(?:final )?void (\w+)\("),
    **dict.fromkeys(SCRIPTS, re.compile(_SCRIPT_TEST)),
}
_MARKED: Final = {
    Language.RUST: re.compile(r"#\[(\w+::)*test\b"),
    Language.JAVA: re.compile(r"@(Test|ParameterizedTest|RepeatedTest)\b"),
}
"""Where a name alone does not make a test."""
_MARK_DISTANCE: Final = 4

_SKIP_MARK: Final = {
    Language.PYTHON: re.compile(r"\s*@((pytest\.)?mark\.(skip|xfail)\b|(unittest\.)?skip\b)"),
    Language.RUST: re.compile(r"\s*#\[ignore\b"),
    Language.JAVA: re.compile(r"\s*@(Disabled|Ignore)\b"),
    **dict.fromkeys(SCRIPTS, re.compile(r"\s*((it|test|describe|suite)\.(skip|todo|fixme)|x(it|test|describe))\(")),
}
_SKIP_CALL: Final = {
    Language.PYTHON: re.compile(r"\s+(pytest\.(skip|xfail)|self\.skipTest|raise (unittest\.)?SkipTest)\b"),
    Language.GO: re.compile(r"\s+t\.Skip(f|Now)?\("),
}
_CONDITION: Final = re.compile(r"\s*(if|elif|else|except|case|for|with|\} else|#|//)\b|.*\bif\b.*[:{]$")
_ONLY: Final = re.compile(r"\s*((it|test|describe|suite)\.only|f(it|describe))\(")


def weak_tests(change: Change) -> Iterator[Finding]:
    """Find what was taken away from the tests."""
    files = [(file, file.language) for file in change.files if file.language and _may_hold_tests(file)]
    added = [name for file, language in files for name in _added_tests(file, language)]
    there = change.added_words | frozenset(added)
    for file, language in files:
        gone = [one for hunk in file.diff.hunks for one in _gone(hunk, language) if one[0] not in there]
        if gone and not _is_explained(file, change, gone, len(added)):
            yield _deleted(file, gone)
        yield from islice(_skipped(file, language, change), _MOST)
        yield from islice(_unasserted(file, change, language), _MOST)


_MOST: Final = 10
"""Findings of one kind that a file may have: enough to act upon."""

_Test = tuple[str, DiffLine]


def _may_hold_tests(file: ChangedFile) -> bool:
    return role_of(file.path) is Role.TEST or file.language is Language.RUST


def _added_tests(file: ChangedFile, language: Language) -> Iterator[str]:
    for hunk in file.diff.hunks:
        head = [line for line in hunk.lines if line.kind is not LineKind.REMOVED]
        yield from (name for name, _ in _tests(head, LineKind.ADDED, language))


def _is_explained(file: ChangedFile, change: Change, gone: list[_Test], added: int) -> bool:
    """Whether the tests were moved with their file, written anew in another one, or went with their code."""
    kind = file.diff.change
    if kind is ChangeKind.RENAMED or (kind is ChangeKind.DELETED and added >= len(gone)):
        return True
    names = {name for name, _ in gone}
    words = (word for line in file.diff.removed for word in re.findall(r"\w{4,}", line.text))
    return any(word in change.gone_code and word not in names for word in words)


def _deleted(file: ChangedFile, gone: list[_Test]) -> Finding:
    name, line = gone[0]
    more = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
    return Finding(
        signal=DELETED,
        category=Category.TESTS_PASS_BUT_WRONG,
        fact=False,
        path=file.path,
        line=line.base_line,
        side=Side.BASE,
        note=f"the test `{name}`{more} was deleted",
    )


def _gone(hunk: Hunk, language: Language) -> list[_Test]:
    """Tests that the hunk removes, unless it puts as many in their place."""
    base = [line for line in hunk.lines if line.kind is not LineKind.ADDED]
    head = [line for line in hunk.lines if line.kind is not LineKind.REMOVED]
    removed = list(_tests(base, LineKind.REMOVED, language))
    added = list(_tests(head, LineKind.ADDED, language))
    return removed if len(added) < len(removed) else []


def _tests(lines: list[DiffLine], kind: LineKind, language: Language) -> Iterator[_Test]:
    for at, line in enumerate(lines):
        found = _DEFINES[language].match(line.text) if line.kind is kind else None
        mark = _MARKED.get(language)
        if found and (
            mark is None or any(mark.search(above.text) for above in lines[max(0, at - _MARK_DISTANCE) : at])
        ):
            yield found[1].strip("'\"`"), line


def _skipped(file: ChangedFile, language: Language, change: Change) -> Iterator[Finding]:
    for hunk in file.diff.hunks:
        head = [line for line in hunk.lines if line.kind is not LineKind.REMOVED]
        for at, line in enumerate(head):
            if line.kind is not LineKind.ADDED or line.text.strip() in change.removed_texts or _is_text(file, line):
                continue
            if _ONLY.match(line.text) and language in SCRIPTS:
                yield _finding(ONLY, Category.TESTS_PASS_BUT_WRONG, file, line, "only this test is left to run")
            elif (new := _skips(language, head, at)) is not None:
                category = Category.WEAK_TEST if new else Category.TESTS_PASS_BUT_WRONG
                yield _finding(
                    SKIPPED, category, file, line, "a new test is skipped" if new else "a test is switched off"
                )


def _is_text(file: ChangedFile, line: DiffLine) -> bool:
    """A test of a test tool holds tests in strings."""
    return bool(_ANY_SKIP.search(line.text)) and line.head_line is not None and file.is_quoted(line.head_line)


_NEAR: Final = 60
"""Lines between a mark or a call and the test that it skips."""

_ANY_SKIP: Final = re.compile(r"skip|xfail|ignore|disabled|only|todo|fixme|\bx?f?(it|test|describe)\(", re.IGNORECASE)


def _skips(language: Language, head: list[DiffLine], at: int) -> bool | None:
    """None: the line skips nothing. Else whether the test that it skips is new."""
    mark, call = _SKIP_MARK.get(language), _SKIP_CALL.get(language)
    if mark is not None and mark.match(head[at].text):
        if language in SCRIPTS:
            return not any(line.kind is LineKind.CONTEXT for line in head[at + 1 : at + 3])
        below = next(
            (
                line
                for line in head[at + 1 : at + _NEAR]
                if _DEFINES[language].match(line.text) or "class " in line.text
            ),
            None,
        )
        return below is not None and below.kind is LineKind.ADDED
    if call is not None and call.match(head[at].text):
        before = [line for line in head[max(0, at - _NEAR) : at] if line.text.strip()]
        if before and _CONDITION.match(before[-1].text):
            return None
        above = next((line for line in reversed(before) if _DEFINES[language].match(line.text)), None)
        return above is not None and above.kind is LineKind.ADDED
    return None


def _finding(signal: str, category: Category, file: ChangedFile, line: DiffLine, note: str) -> Finding:
    return Finding(signal=signal, category=category, fact=False, path=file.path, line=line.head_line, note=note)


_ASSERTS: Final = re.compile(
    r"assert|expect|should|verif|check|raises|warns|fail|require|must|ensure|match|compar|equal|snapshot|golden|panic|throw"
    r"|\bt\.(Error|Fatal)|\(t\b|\bthen\w*\(|unwrap|\?;|\?$|trybuild|run_ui|compile|valid|same|contain|_eq|_ok\b|\bok\(|diff|wait_?for|reject|resolve|prove"
    r"|\btest_?\w+\(|\w+_test\(|run_?test|skip|todo|exit|\bstd(out|err)\b|parametrize|@given|benchmark|b\.(N|Loop)|xfail|#\[ignore",
    re.IGNORECASE,
)


def _unasserted(file: ChangedFile, change: Change, language: Language) -> Iterator[Finding]:
    """New tests that call something and hold nothing against it."""
    defines = _DEFINES[language]
    if file.diff.change is ChangeKind.RENAMED or not any(defines.match(one.text) for one in file.diff.added):
        return
    for source in file.sources if role_of(file.path) is Role.TEST else ():
        for function in functions_of(source):
            if _is_test(function) and _is_new(function, file, change) and _asserts_nothing(function):
                yield Finding(
                    signal=UNASSERTED,
                    category=Category.WEAK_TEST,
                    fact=False,
                    path=file.path,
                    line=function.first,
                    end_line=max(function.first, function.last),
                    note=f"the new test `{function.name}` asserts nothing",
                )


def _asserts_nothing(function: Function) -> bool:
    """It does something, and nothing of it reads like a check (its own name does not count)."""
    return bool(function.statements) and not _ASSERTS.search(function.attributes + text_of(function.body))


def _is_new(function: Function, file: ChangedFile, change: Change) -> bool:
    """Every line of it was added, and it was not merely moved here."""
    numbers = range(function.first, function.last + 1)
    texts = function.source.text.split("\n")[
        function.first - function.source.first : function.last + 1 - function.source.first
    ]
    was_there = change.removed_texts.issuperset({text.strip() for text in texts if text.strip(" \t})];,")})
    return all(number in file.added_lines for number in numbers[:-1] or numbers) and not was_there


def _is_test(function: Function) -> bool:
    language, name = function.source.language, function.name
    if language is Language.PYTHON:
        return name.startswith("test") and "fixture" not in function.attributes and function.where is not Where.FUNCTION
    if language is Language.GO:
        return re.match(r"Test[A-Z_]", name) is not None and name != "TestMain"
    if language in {Language.RUST, Language.JAVA}:
        return _MARKED[language].search(function.attributes) is not None and "expected" not in function.attributes
    return function.is_test_callback
