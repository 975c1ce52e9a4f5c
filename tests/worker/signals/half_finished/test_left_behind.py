"""Code that was put into comments."""

import pytest

from worker.signals.analysis.file_roles import Language
from worker.signals.half_finished.left_behind import is_commented_code


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
