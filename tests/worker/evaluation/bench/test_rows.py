"""Rows of bench files, invalid ones, and what found, named and marked mean."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

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
    CreditMap,
    DefectPlace,
    EvaluateBlock,
    ExpectedVerdict,
    PartialCredit,
    RowSummary,
    count_passed,
    evaluate_response,
    read_lines,
    survey_rows,
)
from worker.evaluation.bench.runner import TRAITS_FILE, VERDICTS_FILE, read_outcomes


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


BACKOFF = {"expect_substring_in_final_response": "backoff"}
ENGINE = {"grounding_tokens": ("Engine",), "forbidden_grounding": ("Chain",)}
UNGROUNDED = {
    "workload_grounding_score": 0.0, "grounding_tokens_missing": "Engine", "forbidden_grounding_present": "Chain",
}  # fmt: skip
LINEAR, STEPPED = PartialCredit(map=CreditMap.LINEAR), PartialCredit(map=CreditMap.STEPPED)


@pytest.mark.parametrize(
    ("base", "asked", "response", "score", "signals"),
    [
        (0.8, {}, "Retries uploads.", 0.8, {"evaluate_base_score": 0.8, "evaluate_score": 0.8}),
        (0.5, BACKOFF, "Added backoff.", 0.75, {"expected_substring_found": True}),
        (0.5, BACKOFF, "Done.", 0.25, {"expected_substring_found": False}),
        (1.0, ENGINE, "The Engine takes policy=.", 1.0, {"workload_grounding_score": 1.0}),
        (1.0, ENGINE, "The Chain does it.", 0.5, UNGROUNDED),
        (1.0, {"forbidden_grounding": ("Chain", "Selector")}, "The Chain does it.", 0.75, {}),
        (1.0, {"partial_credit": LINEAR}, "12/16 cases pass", 0.875, {"partial_credit_ratio": 0.75}),
        (1.0, {"partial_credit": STEPPED}, "12/16 cases pass", 0.75, {}),
        (1.0, {"partial_credit": STEPPED}, "Tests: 16 of 16", 1.0, {}),
        (1.0, {"partial_credit": STEPPED}, "3 passed, 13 failed", 0.5, {}),
        (1.0, {"partial_credit": LINEAR}, "nothing is counted", 0.5, {"partial_credit_test_signal_found": False}),
        (0.6, {"partial_credit": PartialCredit(enabled=False)}, "1/2 tests", 0.6, {}),
        (0.8, {}, "I'm unable to help with this.", 0.4, {"workload_assistant_refusal_detected": True}),
        (0.8, {}, "x" * 160 + " I cannot help", 0.8, {}),
        (0.5, {}, "  \n", 0.2, {"workload_empty_assistant_response": True}),
        (0.5, {}, None, 0.5, {}),
    ],
)
def test_score_is_composed_of_the_base_and_the_evaluate_block(
    base: float, asked: dict[str, Any], response: str | None, score: float, signals: dict[str, Any]
) -> None:
    """A refusal that is quoted later or a response that is not recorded lowers no score."""
    for block, summary in (
        (EvaluateBlock(**asked), response),
        (EvaluateBlock(**asked, final_response=response), "the summary is not read: Engine" if response else None),
    ):
        result = evaluate_response(base, block, summary)
        assert result["evaluate_score"] == pytest.approx(score)
        assert {**signals, "evaluate_base_score": base}.items() <= result.items()


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("first 1/4 tests, at the end 4/4 tests", (4, 4)),
        ("2 errors, 3 passed", (3, 5)),
        ("passed: 7 of 9", (7, 9)),
        ("9 of 7 tests", None),
        ("0 passed", None),
        ("version 3/4", None),
        ("All 12 tests pass.", (12, 12)),
        ("10 tests passed, 2 failed", (10, 12)),
        ("8 succeeded, 2 failed", (8, 10)),
        ("1,200 passed, 300 failed", (1200, 1500)),
        ("before: 3 failed, 9 passed; now: 12 passed", (12, 12)),
        ("2 of 5 checks ran on each push. 40 passed", (40, 40)),
        ("12 of 16 tests passed, 4 failed", (12, 16)),
        ("7 of the 9 tests pass", (7, 9)),
        ("ok. 10 passed; 0 failed\nDoc-tests\nok. 0 passed; 0 failed", (10, 10)),
        ("8 passing\n2 failing", (8, 10)),
        ("the 2 failed requests are tried again", None),
        ("none of the 12 tests pass", None),
        ("not all of the 12 tests pass", None),
    ],
)
def test_count_passed_reads_the_last_test_count(text: str, counts: tuple[int, int] | None) -> None:
    assert count_passed(text) == counts


@pytest.mark.parametrize(
    ("response", "is_refusal"),
    [
        ("I cannot help with that.", True),
        ("I can't do this.", True),
        ("I can\u2019t do this.", True),
        ("  Sorry, but I won't write that.", True),
        ("I'm sorry, I am not able to continue.", True),
        ("Unfortunately we are unable to finish.", True),
        ("Thanks for asking. As an AI, there is nothing to do.", True),
        ("I have to decline.", True),
        ("I\u2019m afraid I can\u2019t do that.", True),
        ("Retries the upload, so that we cannot lose data.", False),
        ("Fixes the crash when I cannot connect.", False),
        ("The server says that it can't. Now it can.", False),
        ("I can now upload.", False),
    ],
)
def test_refusal_is_recognised_in_its_usual_phrases(response: str, *, is_refusal: bool) -> None:
    composed = evaluate_response(1.0, EvaluateBlock(final_response=response), None)
    assert composed["evaluate_score"] == (0.5 if is_refusal else 1.0)


def test_unknown_field_is_refused_with_its_path() -> None:
    with pytest.raises(ValidationError, match=r"partial_credit\.ratio"):
        EvaluateBlock.model_validate({"partial_credit": {"ratio": 1}})


def test_metis_evaluate_block_is_accepted() -> None:
    block = {"rubric": "heuristic", "llm_judge_model": "anthropic:a", "weight_per_turn": 1.0, "grounding_tokens": ["x"]}
    assert EvaluateBlock.model_validate(block).grounding_tokens == ("x",)
