"""What found, named and marked mean, and how a finished run is read back."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.worker.evaluation.bench.made import WEAK_TEST, finding, judged, traits
from tests.worker.judge.verdicts import accepted, rejected, unjudged
from worker.domain.verdict.verdict import VERDICT_ADAPTER, Category
from worker.errors import InputError
from worker.evaluation.bench.expectations import read_outcomes
from worker.evaluation.bench.rows import ExpectedVerdict, RowSummary
from worker.evaluation.bench.run_folder import TRAITS_FILE, VERDICTS_FILE

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
