"""Statements without effect."""

from collections.abc import Callable

import pytest

from worker.signals.analysis.stubs import is_constant, is_discard, is_empty_result, is_new_object


@pytest.mark.parametrize(
    ("is_idle", "statement", "expected"),
    [
        (is_constant, "pass", True),
        (is_constant, "...", True),
        (is_constant, "return None", True),
        (is_constant, "return 0, nil", True),
        (is_constant, "return [] as Row[];", True),
        (is_constant, "Ok(vec![])", True),
        (is_constant, "return Promise.resolve([]);", True),
        (is_constant, "return <></>;", True),
        (is_constant, "return 42", False),
        (is_constant, "return rows", False),
        (is_constant, "return read(path)", False),
        (is_constant, "x = None", False),
        (is_new_object, "return new Rows();", True),
        (is_new_object, "return new Rows(path);", False),
        (is_discard, "del path, limit", True),
        (is_discard, "_ = path", True),
        (is_discard, "let _ = (path, limit);", True),
        (is_discard, "void path;", True),
        (is_empty_result, ["rows = []", "return rows"], True),
        (is_empty_result, ["const rows: Row[] = [];", "return rows;"], True),
        (is_empty_result, ["let mut rows = Vec::new();", "rows"], True),
        (is_empty_result, ["rows := []", "return rows, nil"], True),
        (is_empty_result, ["var rows []Row", "return rows, nil"], True),
        (is_empty_result, ["List<Row> rows = new ArrayList<>();", "return rows;"], True),
        (is_empty_result, ["rows = []"], False),
        (is_empty_result, ["rows = read(path)", "return rows"], False),
        (is_empty_result, ["rows = []", "return columns"], False),
        (is_empty_result, ["rows = []", "return fill(rows)"], False),
        (is_empty_result, ["fill(rows)", "go(1)"], False),
    ],
)
def test_idle_statement_is_recognized(is_idle: Callable[[object], bool], statement: object, *, expected: bool) -> None:
    assert is_idle(statement) is expected
