"""Titles of tests, held against the strings of a file."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.signals.spec_violation.case_citations import FileStrings

TEXT = """
describe('keys', () => {
  it('rejects empty keys', () => {})
  it("can't be read", () => {})
  it(`says ${word} twice`, () => {})
  it.each(names)('sorts %s before %s', () => {})
  it(`${all}`, () => {})
})
const letters = ['a', 'ab']
"""


@pytest.mark.parametrize(
    "title",
    [
        "rejects empty keys",
        "rejects empty",
        "rejects   empty keys (new)",
        "rejects empty keys, which is new",
        "rejects empty keys ...",
        "empty keys rejects",
        "rejects empty keys(new)",
        "keys rejects empty keys",
        "keys > rejects empty keys",
        "can\\'t be read",
        "says it twice",
        "sorts one before two",
    ],
)
def test_a_title_is_there_whole_shortened_joined_or_made(title: str) -> None:
    assert FileStrings.from_text(TEXT).contains_title(title)


@pytest.mark.parametrize(
    "title",
    [
        "rejects empty keys twice",
        "rejects broken keys",
        "rejects empty() keys twice",
        "keys rejectsempty keys",
        "keys keys nothing",
        "says it",
        "(new)",
        "a b " * 30,
        "keys " * 30 + "x",
    ],
)
def test_a_title_with_other_words_is_not(title: str) -> None:
    assert not FileStrings.from_text(TEXT).contains_title(title)


def test_a_longer_title_begins_with_one_that_is_there() -> None:
    assert FileStrings.from_text(TEXT).text_behind("rejects empty keys twice") == "twice"
    assert not FileStrings.from_text(TEXT).text_behind("rejects empty keystones")
    assert not FileStrings.from_text(TEXT).text_behind("keys are rejected")


@given(st.text("ab '\"`$%{}\\\\s(),", max_size=200), st.text("ab '$%s(", max_size=60))
@settings(max_examples=settings().max_examples * 20 // 10, deadline=None)
def test_no_text_and_no_title_break_it(text: str, title: str) -> None:
    assert FileStrings.from_text(text).contains_title(title) in {True, False}
