"""What helpers that check something are called."""

import pytest

from worker.signals.analysis.change import Source
from worker.signals.analysis.check_names import can_assert, is_check_name
from worker.signals.analysis.file_roles import Language


@pytest.mark.parametrize(
    ("name", "sounds"),
    [
        ("assert_clean", True),
        ("assertClean", True),
        ("fnmatch_lines", True),
        ("toMatchSnapshot", True),
        ("getByText", True),
        ("diff", True),
        ("is_ok", True),
        ("run_tests", True),
        ("setup_checks", False),
        ("get_matches", False),
        ("added_diff_lines", False),
        ("run", False),
        ("_", False),
        ("thenReturn", False),
        ("required", False),
        ("require", True),
        ("willThrow", False),
        ("then", True),
        ("throws", True),
        ("assert" * 20, False),
    ],
)
def test_a_name_sounds_like_a_check_or_not(name: str, *, sounds: bool) -> None:
    assert is_check_name(name) is sounds


@pytest.mark.parametrize(
    ("language", "text", "may"),
    [
        (Language.PYTHON, "run()", True),
        (Language.RUST, "fn this() { run(self.is).unwrap() }", False),
        (Language.RUST, "fn a() { assert_eq!(b(), 1) }", True),
        (Language.RUST, "fn a() { self.assert_ok(b()).unwrap() }", True),
        (Language.RUST, "fn a() { b().unwrap_err(); }", True),
        (Language.RUST, "fn a() { is.equal(b()).unwrap(); }", True),
        (Language.RUST, "fn a() { require.equal(b()).unwrap(); }", True),
    ],
)
def test_code_of_rust_without_an_asserting_word_asserts_nothing(language: Language, text: str, *, may: bool) -> None:
    assert can_assert(Source(text, 1, is_whole=True, language=language)) is may
