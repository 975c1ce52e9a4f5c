"""What helpers that check something are called."""

import pytest

from worker.judge.heuristics.sounding import sounds_like_a_check


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
    assert sounds_like_a_check(name) is sounds
