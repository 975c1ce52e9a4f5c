"""Committed merge conflicts, and what only looks like one."""

import pytest

from tests.worker.signals.made import change_of
from worker.domain.verdict.verdict import Finding
from worker.signals.analysis.change import CodeChange
from worker.signals.half_finished.conflict_marker import conflict_marker

TRIO = "<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> branch\n"


def told(change: CodeChange) -> list[Finding]:
    return list(conflict_marker.findings(change))


def found(path: str, after: str, before: str | None = "a = 1\n", *, texts: bool = True) -> list[Finding]:
    base = {} if before is None else {path: before}
    return told(change_of(base, {path: after}, texts=texts))


@pytest.mark.parametrize("texts", [True, False])
@pytest.mark.parametrize(
    "path",
    ["a.py", "src/a.ts", "a.go", "a.rs", "A.java", "config.yml", "package.json", "style.css", "Makefile", "main.c"],
)
def test_the_three_markers_in_code_or_configuration_are_a_fact(path: str, texts: bool) -> None:  # noqa: FBT001 - a parameter of the table
    (finding,) = found(path, "a = 1\n" + TRIO, texts=texts)
    assert (finding.signal, finding.fact, finding.path, finding.line, finding.end_line) == (
        "conflict_marker",
        True,
        path,
        2,
        6,
    )


def test_a_conflict_with_the_ancestor_shown_is_one() -> None:
    (finding,) = found("a.py", "<<<<<<< ours\nx = 1\n||||||| base\nx = 0\n=======\nx = 2\n>>>>>>> theirs\n")
    assert finding.fact


def test_the_step_names_the_place_of_every_conflict_of_a_file() -> None:
    (finding,) = found("a.py", "a = 1\n" + TRIO)
    assert finding.step.startswith("Resolve the merge conflict at a.py:2: ")
    (two,) = found("a.py", "a = 1\n" + TRIO + "b = 1\n" + TRIO)
    assert (two.line, two.end_line) == (2, 6)
    assert two.note == "2 merge conflicts were committed, at lines 2 and 8"
    assert two.step.startswith("Resolve all 2 merge conflicts in a.py, at lines 2 and 8: ")
    (three,) = found("a.py", TRIO * 3)
    assert "all 3 merge conflicts in a.py, at lines 1, 6 and 11" in three.step


def test_windows_line_ends_do_not_hide_it() -> None:
    (finding,) = found("a.py", TRIO.replace("\n", "\r\n"))
    assert finding.fact


@pytest.mark.parametrize(
    "text",
    [
        "Title\n=======\n",
        ">>>>>>> quoted\n=======\n",
        "<<<<<<< HEAD\nx\n",
        "=======\nx\n>>>>>>> b\n",
        ">>>>>>> b\n=======\n<<<<<<< a\n",
        "    <<<<<<< HEAD\n    =======\n    >>>>>>> b\n",
        "x <<<<<<< 1\n=======\ny >>>>>>> 2\n",
        "<<<<<<<<\n========\n>>>>>>>>\n",
    ],
)
def test_underlines_and_single_markers_are_nothing(text: str) -> None:
    assert found("a.css", text) == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("docs/merge.py", TRIO),
        ("README.md", TRIO),
        ("guide.rst", TRIO),
        ("tests/fixtures/a.py", TRIO),
        ("vendor/a.py", TRIO),
        ("tests/a.rb.txt", TRIO),
        ("fixtures/a.json", TRIO),
        ("a.patch", TRIO),
        ("src/conflict_parser.rb", TRIO),
        ("a.py", 'S = """\n' + TRIO + '"""\n'),
        ("a.ts", "const s = `\n" + TRIO + "`\n"),
        ("a.go", "package a\n\nvar s = `\n" + TRIO + "`\n"),
        ("a.ts", "/*\n" + TRIO + "*/\n"),
        ("a.swift", "// shows a conflict\n" + TRIO),
    ],
)
def test_in_texts_tests_and_strings_it_may_be_an_example(path: str, text: str) -> None:
    assert found(path, text, None) == []


def test_one_that_stood_there_before_is_not_new() -> None:
    assert found("a.py", "a = 1\nb = 2\n" + TRIO, "a = 1\n" + TRIO) == []
    moved = change_of({"a.css": TRIO}, {"b.css": TRIO})
    assert told(moved) == []


def test_only_the_first_of_a_file_is_told() -> None:
    assert len(found("a.py", TRIO + TRIO)) == 1


@pytest.mark.parametrize("path", ["tests/test_a.py", "examples/a.py", "benches/a.py"])
def test_in_the_code_of_tests_and_examples_it_is_one_as_well(path: str) -> None:
    (finding,) = found(path, "a = 1\n" + TRIO, None)
    assert finding.fact
    change = change_of({path: "a = 1\n" * 30}, {path: "a = 1\n" * 30 + TRIO}, texts=False)
    assert told(change) == []
