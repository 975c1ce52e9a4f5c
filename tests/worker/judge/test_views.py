"""Whole tests are shown as far as there is room."""

from tests.worker.judge.making import dossier
from worker.domain.diff import parse_diff
from worker.judge.views import changed_tests


def test_a_test_that_finds_no_room_is_left_to_the_diff() -> None:
    of = dossier()
    diff = parse_diff(of.diff.encode())
    [(label, text)] = changed_tests(diff, of, 100_000)
    assert "tests/test_upload.py" in label
    assert "def test_503" in text
    assert changed_tests(diff, of, 10) == ()
