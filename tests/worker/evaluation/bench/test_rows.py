"""Bench files: what a row is, how a line that is none is refused, what found, named and marked mean."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.worker.evaluation.bench.made import WEAK_TEST, finding, judged, row, traits, written
from tests.worker.judge.verdicts import accepted, rejected, unjudged
from worker.domain.dossier.evaluate_block import EvaluateBlock
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


def test_rows_are_read_packed_or_not_and_empty_lines_are_left_out(tmp_path: Path) -> None:
    plain = written(tmp_path / "a.jsonl", row("one"), "", "  ", row("two", expect={"decision": "accept"}))
    packed = tmp_path / "b.jsonl.gz"
    packed.write_bytes(gzip.compress(json.dumps(row("three")).encode()))
    known = survey_rows([plain, packed])
    assert [(one.file, one.id, one.expect.decision) for one in known] == [
        ("a.jsonl", "one", None),
        ("a.jsonl", "two", "accept"),
        ("b.jsonl.gz", "three", None),
    ]
    assert [one.number for one in read_lines(plain)] == [1, 4]


def test_packed_is_what_begins_like_it_whatever_its_name(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(gzip.compress(f"{json.dumps(row('one'))}\n".encode()))
    assert [one.id for one in survey_rows([path])] == ["one"]


@pytest.mark.parametrize(
    ("line", "said"),
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
def test_a_line_that_is_no_row_is_named_with_its_field(tmp_path: Path, line: object, said: str) -> None:
    path = written(tmp_path / "rows.jsonl", row("fine"), "", line, row("later"))
    with pytest.raises(InputError) as raised:
        survey_rows([path])
    assert str(raised.value).startswith(f"{path}:3: {said}")
    assert str(raised.value).endswith("The format: docs/bench.md.")


def test_an_id_stands_once_in_all_files(tmp_path: Path) -> None:
    first, second = written(tmp_path / "a.jsonl", row("one")), written(tmp_path / "b.jsonl", row("two"), row("one"))
    with pytest.raises(InputError) as raised:
        survey_rows([first, second])
    assert str(raised.value).startswith(f"{second}:2: id: one stands at {first}:1 too")


def test_files_without_a_row_are_refused_but_not_one_beside_another(tmp_path: Path) -> None:
    empty, full = written(tmp_path / "empty.jsonl"), written(tmp_path / "full.jsonl", row("one"))
    assert len(survey_rows([empty, full])) == 1
    with pytest.raises(InputError, match=r"^There is no row in .*empty\.jsonl\. The format"):
        survey_rows([empty])


@pytest.mark.parametrize(
    "raw", [b"\x1f\x8bbroken", gzip.compress(b"{}" * 100, mtime=0)[:-9]], ids=["no header", "cut off"]
)
def test_a_packed_file_that_is_damaged_is_the_callers_to_mend(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(raw)
    with pytest.raises(InputError, match=r"rows\.jsonl\.gz can't be read: .*Expected JSON lines"):
        survey_rows([path])


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.jsonl can't be read"):
        survey_rows([tmp_path / "nothing.jsonl"])


def test_what_else_an_expectation_says_is_left_alone() -> None:
    said = {"decision": "reject", "lang": "go", "criteria": [1], "where": [{"path": "a.go", "why": "x"}]}
    assert ExpectedVerdict.model_validate(said).where[0].path == "a.go"


@pytest.mark.parametrize(
    ("said", "good"),
    [
        ({"decision": "accept", "resolved": False}, True),
        ({"decision": "reject", "outcome": "merged"}, False),
        ({"decision": "not_accept"}, None),
        ({"resolved": True}, True),
        ({"resolved": False, "outcome": "merged"}, False),
        ({"outcome": "merged"}, True),
        ({"outcome": "not_merged"}, False),
        ({"outcome": "unclear"}, None),
        ({}, None),
    ],
)
def test_what_is_known_of_a_row_says_whether_it_is_good(said: dict[str, Any], good: bool | None) -> None:  # noqa: FBT001 - a parameter of the test
    assert ExpectedVerdict.model_validate(said).good is good


@pytest.mark.parametrize(
    ("said", "group"),
    [
        ({"decision": "accept", "why": "clean"}, "accept: clean"),
        ({"decision": "accept"}, "accept"),
        ({"decision": "reject", "category": "weak_test", "why": "seeded"}, "reject: weak_test"),
        ({"decision": "reject", "label": "weak"}, "reject: weak"),
        ({"outcome": "not_merged"}, "not merged"),
        ({"resolved": True}, "resolved"),
        ({"resolved": False}, "not resolved"),
        ({}, "unknown"),
    ],
)
def test_a_row_is_counted_with_those_of_the_same_truth(said: dict[str, Any], group: str) -> None:
    assert ExpectedVerdict.model_validate(said).group == group


def test_a_reject_is_held_to_the_category_only_where_one_is_expected() -> None:
    exact = ExpectedVerdict(category=Category.WEAK_TEST, also=(Category.HALF_FINISHED,))
    assert [exact.allows(one) for one in ("weak_test", "half_finished", "scope_creep", None)] == [
        True,
        True,
        False,
        False,
    ]
    assert ExpectedVerdict().allows("scope_creep")


def test_the_documents_name_every_field_that_is_read() -> None:
    text = (Path(__file__).resolve().parents[4] / "docs" / "bench.md").read_text()
    fields = [
        *BenchRow.model_fields,
        *ExpectedVerdict.model_fields,
        *DefectPlace.model_fields,
        *EvaluateBlock.model_fields,
    ]
    assert not [name for name in fields if f"`{name}`" not in text and f'"{name}"' not in text]


AT_TEN: dict[str, Any] = {**WEAK_TEST, "where": [{"path": "tests/test_a.py", "line": 10}]}


def test_a_reject_is_right_with_the_expected_category_or_a_fair_one() -> None:
    fair = {**WEAK_TEST, "also": ["half_finished"]}
    assert judged(rejected(), WEAK_TEST).is_rejected_rightly
    assert judged(rejected(category="half_finished"), fair).is_rejected_rightly
    assert not judged(rejected(category="scope_creep"), fair).is_rejected_rightly
    assert not judged(unjudged(), WEAK_TEST).is_rejected_rightly
    assert judged(rejected(category="scope_creep"), {"decision": "reject"}).is_rejected_rightly
    assert not judged(rejected(), {"decision": "accept"}).is_rejected_rightly


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"line": 10}, True),
        ({"line": 7}, True),
        ({"line": 13}, True),
        ({"line": 6}, False),
        ({"line": 14}, False),
        ({"line": 2, "end_line": 7}, True),
        ({"line": 2, "end_line": 6}, False),
        ({"line": 2, "end_line": 99}, True),
        ({"line": None}, False),
        ({"path": "tests/test_b.py"}, False),
        ({"category": "half_finished"}, False),
    ],
)
def test_found_is_a_finding_of_the_category_within_three_lines(changes: dict[str, Any], found: bool) -> None:  # noqa: FBT001 - a parameter of the test
    assert judged(unjudged(findings=[finding(**changes)]), AT_TEN).is_found is found


def test_a_right_reject_is_found_wherever_its_findings_stand() -> None:
    assert judged(rejected(), AT_TEN).is_found


def test_what_is_missing_has_no_place_and_is_found_by_any_finding_of_its_category() -> None:
    assert judged(unjudged(findings=[finding(path=None, line=None)]), WEAK_TEST).is_found
    assert not judged(unjudged(), WEAK_TEST).is_found


def test_a_file_as_a_place_is_found_at_any_of_its_lines() -> None:
    where = {**WEAK_TEST, "where": [{"path": "tests/test_a.py"}]}
    assert judged(unjudged(findings=[finding(line=None)]), where).is_found
    assert judged(unjudged(findings=[finding(line=999)]), where).is_found


def test_named_is_a_finding_of_the_category_in_the_file() -> None:
    assert judged(unjudged(findings=[finding(line=999)]), AT_TEN).is_named
    assert not judged(unjudged(findings=[finding(path="b.py")]), AT_TEN).is_named
    assert not judged(unjudged(findings=[finding(category="half_finished")]), AT_TEN).is_named


@pytest.mark.parametrize(
    ("states", "marked"),
    [
        (("missing", "met", "met"), True),
        (("partial", "missing", "met"), True),
        (("missing", "missing", "partial"), False),
        (("unverifiable", "met", "met"), False),
        (("met", "missing", "met"), False),
    ],
)
def test_marked_is_the_unmet_criterion_with_at_most_one_other(states: tuple[str, ...], marked: bool) -> None:  # noqa: FBT001 - a parameter of the test
    criteria = [{"id": f"AC{number}", "status": state} for number, state in enumerate(states, start=1)]
    gap = {"decision": "reject", "category": "acceptance_gap", "missing": ["AC1"]}
    assert judged(unjudged(criteria=criteria), gap).is_marked is marked


def test_a_category_is_suspected_by_any_of_its_findings() -> None:
    seen = judged(unjudged(findings=[finding()]))
    assert seen.suspects(Category.WEAK_TEST)
    assert not seen.suspects(Category.SCOPE_CREEP)


KNOWN = (
    RowSummary("rows.jsonl", "a", ExpectedVerdict()),
    RowSummary("rows.jsonl", "b", ExpectedVerdict(outcome="merged")),
)


def kept(folder: Path, *names: str) -> Path:
    (folder / VERDICTS_FILE).write_text(
        "".join(
            json.dumps({"id": one, "verdict": VERDICT_ADAPTER.dump_python(accepted(), mode="json")}) + "\n"
            for one in names
        )
    )
    (folder / TRAITS_FILE).write_text("".join(f"{traits(one).model_dump_json()}\n" for one in names))
    return folder


def test_a_finished_run_is_read_with_what_its_rows_expect(tmp_path: Path) -> None:
    first, second = read_outcomes(KNOWN, kept(tmp_path, "a", "b"))
    assert (first.verdict, first.traits) == (accepted(), traits("a"))
    assert second.expect.outcome == "merged"


@pytest.mark.parametrize("names", [("a",), ("a", "b", "c"), ("b", "a")])
def test_a_run_of_other_rows_is_refused(tmp_path: Path, names: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match=r"does not fit these files: .*Give another --out"):
        read_outcomes(KNOWN, kept(tmp_path, *names))


def test_what_code_holds_in_doubt_is_marked_without_being_called_unmet() -> None:
    criteria = [{"id": name, "status": "unverifiable"} for name in ("AC1", "AC2", "AC3")]
    gap = {"decision": "reject", "category": "acceptance_gap", "missing": ["AC1"]}
    for named, marked in (("AC1, AC2", True), ("AC2", False), ("AC1, AC2, AC3", False)):
        assert judged(unjudged(criteria=criteria, signals={"criteria_in_doubt": named}), gap).is_marked is marked
