"""Bench files: what a row is, and how a line that is none is refused."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.worker.evaluation.bench.made import row, written
from worker.domain.dossier.evaluate_block import EvaluateBlock
from worker.domain.verdict.verdict import Category
from worker.errors import InputError
from worker.evaluation.bench.rows import BenchRow, DefectPlace, ExpectedVerdict, read_lines, survey_rows


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
