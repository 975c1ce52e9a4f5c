"""Checks that something is there, of which one that stays asks more."""

import pytest

from worker.signals.analysis.assertions import Assertion, find_assertions
from worker.signals.analysis.change import Source
from worker.signals.analysis.file_roles import Language
from worker.signals.weak_test.assertion_strength import assertion_words, is_opposite, is_weaker


def oracle(text: str) -> Assertion:
    (found,) = find_assertions(Source(text, 1, is_whole=True, language=Language.PYTHON))
    return found


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ("assert x is not None", "assert x == 1", True),
        ("assert x == 1", "assert x is not None", False),
        ("assert y is not None", "assert x == 1", False),
        ("assert x is not None", "assert x is None", False),
    ],
    ids=["less", "more", "of something else", "the opposite"],
)
def test_what_only_asks_that_something_is_there_asks_less_of_the_same(new: str, old: str, *, expected: bool) -> None:
    assert is_weaker(oracle(new), oracle(old)) is expected


def test_what_was_absent_and_is_there_now_is_the_opposite() -> None:
    assert is_opposite(oracle("assert x is not None"), oracle("assert x is None"))
    assert not is_opposite(oracle("assert x is not None"), oracle("assert x == 1"))


def test_a_check_names_what_it_asks_about_and_not_its_own_words() -> None:
    assert assertion_words(oracle("assert len(rows) == total and 'name' in rows[0].names")) == {"rows", "total"}
