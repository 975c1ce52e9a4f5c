"""Rows of bench files, invalid ones, and what found, named and marked mean."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.worker.evaluation.bench.samples import (
    ABSTAIN,
    ACCEPT,
    REJECT,
    WEAK_TEST,
    finding,
    row,
    row_outcome,
    traits,
    write_rows,
)
from tests.worker.judge.samples import abstain_verdict, reject_verdict
from worker.domain.verdict.verdict import VERDICT_ADAPTER, Category
from worker.errors import InputError
from worker.evaluation.bench.rows import (
    BenchRow,
    DefectPlace,
    ExpectedVerdict,
    RowSummary,
    read_lines,
    read_outcomes,
    survey_rows,
)
from worker.evaluation.bench.run_folder import TRAITS_FILE, VERDICTS_FILE
from worker.evaluation.evaluate_block import EvaluateBlock


def test_rows_are_read_from_plain_and_gzip_files(tmp_path: Path) -> None:
    plain = write_rows(tmp_path / "a.jsonl", row("one"), "", "  ", row("two", expect={"decision": "accept"}))
    packed = tmp_path / "b.jsonl.gz"
    packed.write_bytes(gzip.compress(json.dumps(row("three")).encode()))
    misnamed = tmp_path / "c.jsonl"
    misnamed.write_bytes(gzip.compress(json.dumps(row("four")).encode()))
    summaries = survey_rows([plain, packed, misnamed])
    assert [(summary.file, summary.id, summary.expect.decision) for summary in summaries] == [
        ("a.jsonl", "one", None),
        ("a.jsonl", "two", "accept"),
        ("b.jsonl.gz", "three", None),
        ("c.jsonl", "four", None),
    ]
    assert [line.number for line in read_lines(plain)] == [1, 4]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "the whole line: Invalid JSON"),
        ("[]", "the whole line: "),
        ({"dossier": {}}, "id: Field required"),
        (row(""), "id: "),
        ({**row("a"), "extra": 1}, "extra: unknown field"),
        (row("a", expect={"decision": "perhaps"}), "expect.decision: Input should be 'accept', 'reject' or"),
        (row("a", expect={"where": [{"path": "a.py", "line": 0}]}), "expect.where.0.line: "),
        (row("a", evaluate={"grounding": []}), "evaluate.grounding: unknown field"),
        ({**row("a"), "dossier": {**row("a")["dossier"], "dif": ""}}, "dossier.dif: unknown field"),
    ],
)
def test_invalid_row_is_refused_with_its_line_and_field(tmp_path: Path, line: object, problem: str) -> None:
    path = write_rows(tmp_path / "rows.jsonl", row("fine"), "", line, row("later"))
    with pytest.raises(InputError) as raised:
        survey_rows([path])
    assert str(raised.value).startswith(f"{path}:3: {problem}")
    assert str(raised.value).endswith("The format: docs/bench.md.")


def test_duplicate_id_across_files_is_refused(tmp_path: Path) -> None:
    first = write_rows(tmp_path / "a.jsonl", row("one"))
    second = write_rows(tmp_path / "b.jsonl", row("two"), row("one"))
    with pytest.raises(InputError) as raised:
        survey_rows([first, second])
    assert str(raised.value).startswith(f"{second}:2: id: one stands at {first}:1 too")


def test_files_without_any_row_are_refused(tmp_path: Path) -> None:
    empty, full = write_rows(tmp_path / "empty.jsonl"), write_rows(tmp_path / "full.jsonl", row("one"))
    assert len(survey_rows([empty, full])) == 1
    with pytest.raises(InputError, match=r"^There is no row in .*empty\.jsonl\. The format"):
        survey_rows([empty])


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"\x1f\x8bbroken", ".*Expected JSON lines"),
        (gzip.compress(b"{}" * 100, mtime=0)[:-9], ".*Expected JSON lines"),
        (None, ".*No such file"),
    ],
    ids=["no header", "cut off", "not there"],
)
def test_unreadable_file_is_an_input_error(tmp_path: Path, raw: bytes | None, problem: str) -> None:
    path = tmp_path / "rows.jsonl.gz"
    if raw is not None:
        path.write_bytes(raw)
    with pytest.raises(InputError, match=rf"rows\.jsonl\.gz can't be read: {problem}"):
        survey_rows([path])


def test_unknown_fields_of_an_expectation_are_ignored() -> None:
    expectation = {"decision": "reject", "lang": "go", "criteria": [1], "where": [{"path": "a.go", "why": "x"}]}
    assert ExpectedVerdict.model_validate(expectation).where[0].path == "a.go"


@pytest.mark.parametrize(
    ("expect", "good", "group"),
    [
        ({"decision": "accept", "why": "clean"}, True, "accept: clean"),
        ({"decision": "accept", "resolved": False}, True, "accept"),
        ({"decision": "reject", "category": "weak_test", "why": "seeded"}, False, "reject: weak_test"),
        ({"decision": "reject", "label": "weak"}, False, "reject: weak"),
        ({"decision": "reject", "outcome": "merged"}, False, "reject"),
        ({"decision": "not_accept"}, None, "not_accept"),
        ({"resolved": True}, True, "resolved"),
        ({"resolved": False}, False, "not resolved"),
        ({"resolved": False, "outcome": "merged"}, False, "merged"),
        ({"outcome": "merged"}, True, "merged"),
        ({"outcome": "not_merged"}, False, "not merged"),
        ({"outcome": "unclear"}, None, "unclear"),
        ({}, None, "unknown"),
    ],
)
def test_expectation_decides_whether_a_row_is_good_and_its_group(
    expect: dict[str, Any],
    good: bool | None,  # noqa: FBT001 - a parameter of the test
    group: str,
) -> None:
    expected = ExpectedVerdict.model_validate(expect)
    assert (expected.good, expected.group) == (good, group)


def test_bench_documentation_names_each_field() -> None:
    text = (Path(__file__).resolve().parents[4] / "docs" / "bench.md").read_text()
    models = (BenchRow, ExpectedVerdict, DefectPlace, EvaluateBlock)
    fields = [name for model in models for name in model.model_fields]
    assert not [name for name in fields if f"`{name}`" not in text and f'"{name}"' not in text]


AT_TEN: dict[str, Any] = {**WEAK_TEST, "where": [{"path": "tests/test_a.py", "line": 10}]}


@pytest.mark.parametrize(
    ("expect", "category", "is_right"),
    [
        (WEAK_TEST, "weak_test", True),
        (WEAK_TEST, "scope_creep", False),
        (WEAK_TEST, None, False),
        ({**WEAK_TEST, "also": ["half_finished"]}, "half_finished", True),
        ({**WEAK_TEST, "also": ["half_finished"]}, "scope_creep", False),
        ({"decision": "reject"}, "scope_creep", True),
        ({"decision": "accept"}, "weak_test", False),
    ],
)
def test_reject_is_right_with_allowed_category(expect: dict[str, Any], category: str | None, *, is_right: bool) -> None:
    verdict = ABSTAIN if category is None else reject_verdict(category=category)
    assert row_outcome(verdict, expect).is_rejected_rightly is is_right
    assert ExpectedVerdict.model_validate(expect).allows(None) is ("category" not in expect)


NOWHERE: dict[str, Any] = {"path": None, "line": None}
A_FILE: dict[str, Any] = {**WEAK_TEST, "where": [{"path": "tests/test_a.py"}]}


@pytest.mark.parametrize(
    ("expect", "changes", "is_found", "is_named"),
    [
        (AT_TEN, {"line": 10}, True, True),
        (AT_TEN, {"line": 7}, True, True),
        (AT_TEN, {"line": 13}, True, True),
        (AT_TEN, {"line": 6}, False, True),
        (AT_TEN, {"line": 14}, False, True),
        (AT_TEN, {"line": 2, "end_line": 7}, True, True),
        (AT_TEN, {"line": 2, "end_line": 6}, False, True),
        (AT_TEN, {"line": 2, "end_line": 99}, True, True),
        (AT_TEN, {"line": None}, False, True),
        (AT_TEN, {"path": "tests/test_b.py"}, False, False),
        (AT_TEN, {"category": "half_finished"}, False, False),
        (A_FILE, {"line": None}, True, True),
        (A_FILE, {"line": 999}, True, True),
        (WEAK_TEST, NOWHERE, True, False),
    ],
)
def test_defect_is_found_within_three_lines_and_named_within_its_file(
    expect: dict[str, Any], changes: dict[str, Any], *, is_found: bool, is_named: bool
) -> None:
    row = row_outcome(abstain_verdict(findings=[finding(**changes)]), expect)
    assert (row.is_found, row.is_named) == (is_found, is_named)
    assert not row_outcome(ABSTAIN, expect).is_found
    assert row_outcome(REJECT, expect).is_found, "a right reject counts wherever its findings are"


@pytest.mark.parametrize(
    ("states", "in_doubt", "is_marked"),
    [
        ("missing met met", "", True),
        ("partial missing met", "", True),
        ("missing missing partial", "", False),
        ("unverifiable met met", "", False),
        ("met missing met", "", False),
        ("unverifiable unverifiable unverifiable", "AC1, AC2", True),
        ("unverifiable unverifiable unverifiable", "AC2", False),
        ("unverifiable unverifiable unverifiable", "AC1, AC2, AC3", False),
    ],
)
def test_unmet_criterion_is_marked_if_missing_or_in_doubt(states: str, in_doubt: str, *, is_marked: bool) -> None:
    criteria = [{"id": f"AC{number}", "status": state} for number, state in enumerate(states.split(), start=1)]
    gap = {"decision": "reject", "category": "acceptance_gap", "missing": ["AC1"]}
    verdict = abstain_verdict(criteria=criteria, signals={"criteria_in_doubt": in_doubt} if in_doubt else {})
    assert row_outcome(verdict, gap).is_marked is is_marked


def test_finding_makes_its_category_suspected() -> None:
    seen = row_outcome(abstain_verdict(findings=[finding()]))
    assert seen.suspects(Category.WEAK_TEST)
    assert not seen.suspects(Category.SCOPE_CREEP)


MERGED = ExpectedVerdict(outcome="merged")
SUMMARIES = (RowSummary("rows.jsonl", "a", ExpectedVerdict()), RowSummary("rows.jsonl", "b", MERGED))


def write_run(folder: Path, *names: str) -> Path:
    lines = [{"id": name, "verdict": VERDICT_ADAPTER.dump_python(ACCEPT, mode="json")} for name in names]
    (folder / VERDICTS_FILE).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (folder / TRAITS_FILE).write_text("".join(f"{traits(name).model_dump_json()}\n" for name in names))
    return folder


def test_finished_run_is_read_with_its_expectations(tmp_path: Path) -> None:
    first, second = read_outcomes(SUMMARIES, write_run(tmp_path, "a", "b"))
    assert (first.verdict, first.traits) == (ACCEPT, traits("a"))
    assert second.expect.outcome == "merged"


@pytest.mark.parametrize("names", [("a",), ("a", "b", "c"), ("b", "a")])
def test_run_of_other_rows_is_refused(tmp_path: Path, names: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match=r"does not fit these files: .*Give another --out"):
        read_outcomes(SUMMARIES, write_run(tmp_path, *names))
