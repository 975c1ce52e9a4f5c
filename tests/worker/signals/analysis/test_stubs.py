"""Statements that do no work."""

import pytest

from worker.signals.analysis.stubs import is_constant, is_discard, is_empty_result, is_new_object


@pytest.mark.parametrize(
    "words",
    ["pass", "...", "return None", "return 0, nil", "return [] as Row[];", "Ok(vec![])", "return Promise.resolve([]);", "return <></>;"],
)  # fmt: skip
def test_a_constant_is_no_work(words: str) -> None:
    assert is_constant(words)


@pytest.mark.parametrize("words", ["return 42", "return rows", "return read(path)", "x = None"])
def test_what_is_computed_is_no_constant(words: str) -> None:
    assert not is_constant(words)


def test_a_new_object_is_fresh_and_a_filled_one_is_not() -> None:
    assert is_new_object("return new Rows();")
    assert not is_new_object("return new Rows(path);")


@pytest.mark.parametrize("words", ["del path, limit", "_ = path", "let _ = (path, limit);", "void path;"])
def test_a_discard_looks_at_nothing(words: str) -> None:
    assert is_discard(words)


@pytest.mark.parametrize(
    "statements",
    [
        ["rows = []", "return rows"],
        ["const rows: Row[] = [];", "return rows;"],
        ["let mut rows = Vec::new();", "rows"],
        ["rows := []", "return rows, nil"],
        ["var rows []Row", "return rows, nil"],
        ["List<Row> rows = new ArrayList<>();", "return rows;"],
    ],
)
def test_an_empty_thing_that_is_made_and_handed_back_is_no_work(statements: list[str]) -> None:
    assert is_empty_result(statements)


@pytest.mark.parametrize(
    "statements",
    [
        ["rows = []"],
        ["rows = read(path)", "return rows"],
        ["rows = []", "return columns"],
        ["rows = []", "return fill(rows)"],
        ["fill(rows)", "go(1)"],
    ],
)
def test_what_was_filled_is_work(statements: list[str]) -> None:
    assert not is_empty_result(statements)
