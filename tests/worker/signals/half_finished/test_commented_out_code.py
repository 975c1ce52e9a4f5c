"""Code that was put into comments."""

import pytest

from tests.worker.signals.made import change_of
from worker.signals.analysis.file_roles import Language
from worker.signals.half_finished.commented_out_code import commented_out_code, is_commented_code

CODE = {
    "py": ("a.py", "# x = read(path)\n# if x:\n#     return x\n"),
    "ts": ("a.ts", "// const x = read(path);\n// go(x);\n// return x;\n"),
    "go": ("a.go", "\t// x := read(p)\n\t// if x != nil {\n\t// }\n"),
}


def lines(path: str, code: str, before: str = "a\n") -> list[tuple[int | None, int | None]]:
    return [
        (finding.line, finding.end_line)
        for finding in commented_out_code.findings(change_of({path: before}, {path: before + code}))
    ]


@pytest.mark.parametrize(("path", "code"), CODE.values(), ids=CODE.keys())
def test_three_lines_of_code_in_comments_are_suspected(path: str, code: str) -> None:
    assert lines(path, code) == [(2, 4)]
    assert lines(path, code + "b\n" + code) == [(2, 4), (6, 8)]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("a.py", "# x = 1\n# y = 2\n"),
        ("a.py", "# Read the path and give its text.\n# Then look at it (or not).\n# x = 1\n"),
        ("a.ts", "/// x = 1;\n/// y = 2;\n/// z = 3;\n"),
        ("a.py", "#: x = 1\n#!x = 2\n#: y = 3\n"),
        ("docs/a.py", "# x = 1\n# y = 2\n# z = 3\n"),
    ],
)
def test_words_documentation_and_single_lines_are_not(path: str, code: str) -> None:
    assert lines(path, code) == []


def test_comments_that_were_there_before_are_not_new() -> None:
    path, code = CODE["py"]
    assert list(commented_out_code.findings(change_of({path: code}, {"b.py": code}))) == []


@pytest.mark.parametrize(
    ("language", "notes"),
    [
        (Language.PYTHON, ["# try:", "#     return x", "# except E:", "#     go()"]),
        (Language.RUST, ["// Self {", "//     x: 1,", "// }"]),
        (Language.JAVA, ["/* int x = 1; */"]),
        (Language.TSX, ["// const x = await y()"]),
    ],
)
def test_comments_that_are_a_program_without_their_marks_are_code(language: Language, notes: list[str]) -> None:
    assert is_commented_code(notes, language)


def test_words_may_stand_before_commented_code_of_some_lines() -> None:
    code = ["# x = read(y)", "# check(x)", "# return x"]
    assert is_commented_code(["# First of all, the text.", *code], Language.PYTHON)
    assert not is_commented_code(["# First of all, the text.", *code[:2]], Language.PYTHON)
    assert not is_commented_code(["# First of all, the text.", *code, "# and so on, you see"], Language.PYTHON)


@pytest.mark.parametrize("notes", [["# only words here"], ["# memory"], ["# see (there) for more = less"]])
def test_words_are_no_program(notes: list[str]) -> None:
    assert not is_commented_code(notes, Language.PYTHON)
