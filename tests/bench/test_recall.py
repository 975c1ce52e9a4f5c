"""In which order signals are told of, and what counts as theirs."""

from typing import Any

from bench.recall import Step, finders, steps, suspects
from tests.worker.evaluation.bench.made import WEAK_TEST, finding, judged
from tests.worker.judge.verdicts import rejected, unjudged
from worker.evaluation.bench.measures import Share
from worker.evaluation.bench.rows import RowOutcome

AT_TEN: dict[str, Any] = {**WEAK_TEST, "where": [{"path": "tests/test_a.py", "line": 10}]}


def hits(*rows: str) -> list[frozenset[str]]:
    return [frozenset(row.split()) for row in rows]


def defect(*findings: dict[str, Any]) -> RowOutcome:
    return judged(unjudged(findings=list(findings)), AT_TEN)


def test_the_signal_that_finds_most_for_what_it_suspects_comes_first() -> None:
    found = steps(hits("dear", "dear", "dear", "cheap", "cheap dear"), hits("dear", "dear", "", "cheap dear"))
    assert list(found) == [
        Step("cheap", Share(2, 5), Share(1, 4)),
        Step("dear", Share(5, 5), Share(3, 4)),
    ]


def test_a_signal_that_finds_nothing_more_is_left_out() -> None:
    assert [step.signal for step in steps(hits("a", "a b"), hits("", "b"))] == ["a"]
    assert list(steps(hits("", ""), hits("a"))) == []


def test_a_defect_is_found_by_what_stands_there_and_by_nothing_else() -> None:
    assert finders(defect(finding("here"), finding("far", line=99), finding("other", "half_finished"))) == {"here"}
    assert finders(defect()) == frozenset()


def test_a_right_reject_that_names_another_place_was_found_by_its_facts() -> None:
    verdict = rejected(findings=[finding("sure", line=99, fact=True), finding("doubt", line=98)])
    assert finders(judged(verdict, AT_TEN)) == {"sure"}


def test_a_clean_change_is_suspected_by_the_signals_of_the_category() -> None:
    assert suspects(defect(finding("one", line=99), finding("two", "half_finished")), "weak_test") == {"one"}
