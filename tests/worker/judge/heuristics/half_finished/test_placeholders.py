"""Values that hold the place of real ones."""

import pytest

from tests.worker.judge.heuristics.made import change_of
from worker.judge.heuristics.half_finished.placeholders import placeholder_value


def found(path: str, code: str, before: str | None = None) -> list[int | None]:
    change = change_of({} if before is None else {path: before}, {path: code})
    return [one.line for one in placeholder_value.findings(change)]


HELD = [
    ("a.py", 'KEY = "CHANGEME"\n'),
    ("a.py", 'def name():\n    return "TODO"\n'),
    ("a.py", "LIMIT = 42  # placeholder\n"),
    ("a.py", 'x = {"status": "ok"}  # dummy\n'),
    ("a.ts", "const token = 'YOUR_API_TOKEN_HERE';\n"),
    ("a.ts", "const rate = 0.5; // TODO: replace with the measured one\n"),
    ("a.tsx", "export const A = () => <p>TODO</p>\n"),
    ("a.go", 'package a\n\nvar text = "lorem ipsum dolor"\n'),
    ("a.rs", "const LIMIT: u32 = 10; // hard-coded for now\n"),
    ("A.java", "class A {\n  int limit = 3; // real value later\n}\n"),
]


@pytest.mark.parametrize(("path", "code"), HELD)
def test_a_value_that_says_it_is_none_is_suspected_where_it_is_new(path: str, code: str) -> None:
    assert len(found(path, code)) == 1
    assert found(path, code + "\n", code) == []
    assert found(f"tests/{path}", code) == []


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("a.py", 'if word == "TODO":\n    pass\n'),
        ("a.ts", 'const a = <input placeholder="Name" />\n'),
        ("a.py", "limit = 42  # seconds\n"),
        ("a.py", "# a placeholder is replaced later\nx = fill(text)\n"),
        ("a.yml", "key: 'CHANGEME'\n"),
    ],
)
def test_a_program_about_placeholders_is_not_mentioned(path: str, code: str) -> None:
    assert found(path, code) == []


def test_a_value_that_was_only_moved_is_not_new() -> None:
    change = change_of({"a.py": 'KEY = "CHANGEME"\n'}, {"b.py": 'KEY = "CHANGEME"\n'})
    assert list(placeholder_value.findings(change)) == []
