"""Comments that admit unfinished work."""

import pytest

from tests.worker.judge.heuristics.made import change_of
from worker.judge.heuristics.leftovers import UNFINISHED, leftovers


def lines(path: str, after: str, before: str = "a\n") -> list[int | None]:
    found = list(leftovers(change_of({path: before}, {path: after})))
    assert all(finding.signal == UNFINISHED and not finding.fact for finding in found)
    return [finding.line for finding in found]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("a.py", "# TODO: implement the retry"),
        ("a.py", "x = 1  # FIXME(bob): handle the remaining cases"),
        ("a.ts", "// TODO handle errors"),
        ("a.go", "\t// This is a placeholder for now"),
        ("A.java", "   * not implemented yet"),
        ("a.rs", "// dummy implementation"),
    ],
)
def test_a_comment_that_names_unfinished_work_is_suspected_at_its_line(path: str, line: str) -> None:
    assert lines(path, f"a\n{line}\n") == [2]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("a.py", "# TODO: nicer name"),
        ("a.py", "todo = implement()"),
        ("tests/a.py", "# TODO: implement"),
        ("a.md", "# TODO: implement"),
        ("a.rs", "#[todo(implement)] # TODO implement"),
        ("a.py", "x" * 2000 + "# TODO: implement"),
    ],
)
def test_other_notes_are_not_mentioned(path: str, line: str) -> None:
    assert lines(path, f"a\n{line}\n") == []


def test_a_note_that_was_only_moved_is_not_new() -> None:
    assert lines("a.py", "a\nb\n    # TODO: implement\n", "# TODO: implement\na\n") == []
