"""Counting decisions: every share over the rows that it is about, and no others."""

from tests.worker.evaluation.bench.made import GOOD, MERGED, WEAK_TEST, finding, judged
from tests.worker.judge.verdicts import accepted, rejected, unjudged
from worker.domain.verdict.verdict import Category
from worker.evaluation.bench.decisions import (
    DecisionShares,
    category_accuracy,
    decision_shares,
    defect_recalls,
    false_reject_shares,
    is_rejected,
    shares_without_each,
    signal_alarms,
)
from worker.evaluation.bench.measures import Share
from worker.signals.registry import SIGNALS
from worker.signals.signal import Signal, SignalScope


def test_decisions_are_shared_out_among_rows_of_one_expectation_and_of_one_kind() -> None:
    rows = [
        judged(accepted(), {**GOOD, "why": "safe", "kind": "docs"}),
        judged(unjudged(), {**GOOD, "why": "safe", "kind": "comments"}),
        judged(rejected(), WEAK_TEST),
    ]
    found = decision_shares(rows)
    assert list(found["expected"]) == ["accept: safe", "reject: weak_test"]
    assert found["expected"]["accept: safe"] == DecisionShares(2, Share(1, 2), Share(0, 2), Share(1, 2))
    assert list(found["kind"]) == ["accept: safe, comments", "accept: safe, docs"]


def test_false_rejects_are_told_apart_by_file_language_and_what_was_there_to_read() -> None:
    rows = [
        judged(rejected(), GOOD, file="a.jsonl", language="go"),
        judged(unjudged(), GOOD, file="a.jsonl", language="rust", whole_files=False),
        judged(unjudged(), MERGED, file="b.jsonl", language="go"),
    ]
    assert false_reject_shares(rows) == {
        "all": {"all": Share(1, 3)},
        "file": {"a.jsonl": Share(1, 2), "b.jsonl": Share(0, 1)},
        "language": {"go": Share(1, 2), "rust": Share(0, 1)},
        "texts": {"diff alone": Share(0, 1), "whole files": Share(1, 2)},
        "file and language": {"a.jsonl, go": Share(1, 1), "a.jsonl, rust": Share(0, 1), "b.jsonl, go": Share(0, 1)},
    }


def test_defects_are_counted_by_category_and_divided_within_it() -> None:
    where = [{"path": "tests/test_a.py", "line": 10}]
    gap = {"decision": "reject", "category": "acceptance_gap", "missing": ["AC1"]}
    rows = [
        judged(rejected(), {**WEAK_TEST, "where": where, "difficulty": "easy", "variant": "skip"}),
        judged(unjudged(findings=[finding()]), {**WEAK_TEST, "where": where, "difficulty": "hard"}),
        judged(unjudged(criteria=[{"id": "AC1", "status": "missing"}]), gap, language="go", whole_files=False),
        judged(rejected(), {"decision": "reject"}),
    ]
    found = defect_recalls(rows)
    tests, missing = found["category"]["weak_test"], found["category"]["acceptance_gap"]
    assert (tests.rows, tests.rejected, tests.found) == (2, Share(1, 2), Share(2, 2))
    assert (tests.named, tests.marked) == (Share(1, 2), None)
    assert (missing.named, missing.marked) == (None, Share(1, 1))
    assert (found["category"]["all defects"].rejected, found["category"]["all defects"].found) == (
        Share(1, 3),
        Share(2, 3),
    )
    assert {by: list(one) for by, one in found.items()} == {
        "category": ["acceptance_gap", "weak_test", "all defects"],
        "difficulty": ["weak_test, easy", "weak_test, hard"],
        "texts": ["acceptance_gap, diff alone", "weak_test, whole files"],
        "language": ["acceptance_gap, go", "weak_test, python"],
        "variant": ["weak_test: skip"],
    }


def test_precision_counts_only_rejects_of_rows_that_are_surely_good_or_bad() -> None:
    good = judged(rejected(), GOOD)
    defect = judged(rejected(), WEAK_TEST)
    near_miss = judged(rejected(), {"decision": "not_accept"})
    unknown = judged(rejected(), MERGED)
    other = judged(rejected(category="scope_creep"), WEAK_TEST)
    missed = judged(unjudged(), WEAK_TEST)
    strong = [good, defect, near_miss, unknown, other, missed]
    found = category_accuracy(Category.WEAK_TEST, strong, [good], [defect, other, missed])
    assert (found.precision, found.recall) == (Share(1, 2), Share(1, 3))


def test_suspected_is_a_good_row_with_a_finding_of_the_category() -> None:
    clean = [judged(unjudged(findings=[finding()]), GOOD), judged(unjudged(), GOOD)]
    assert category_accuracy(Category.WEAK_TEST, clean, clean, []).suspected == Share(1, 2)
    assert category_accuracy(Category.SCOPE_CREEP, clean, clean, []).suspected == Share(0, 2)


def test_each_repository_is_left_out_in_turn_and_one_alone_says_nothing() -> None:
    rows = [
        judged(rejected(), GOOD, repository="a/a"),
        judged(unjudged(), GOOD, repository="a/a"),
        judged(unjudged(), GOOD, repository="b/b"),
    ]
    assert shares_without_each(rows, is_rejected) == {"a/a": Share(0, 1), "b/b": Share(1, 2)}
    assert shares_without_each(rows[:2], is_rejected) == {}
    assert shares_without_each([], is_rejected) == {}


def signal_of(name: str) -> Signal:
    return next(one for one in SIGNALS if one.name == name)


def test_a_false_alarm_is_counted_among_the_rows_that_hold_what_the_signal_looks_at() -> None:
    fired = unjudged(findings=[finding(), finding()])
    clean = [
        judged(fired, GOOD),
        judged(unjudged(), GOOD),
        judged(unjudged(), GOOD, looks=(SignalScope.ANYTHING,)),
    ]
    defects = [judged(fired, WEAK_TEST), judged(fired, {"decision": "reject", "category": "scope_creep"})]
    found = signal_alarms(signal_of("test_without_assertion"), clean, defects)
    assert (found.kind, found.looks_at) == ("suspicion", "tests")
    assert (found.clean, found.defects) == (Share(1, 2), Share(1, 1))


def test_a_false_alarm_is_never_lost_to_a_missing_opportunity() -> None:
    clean = [judged(unjudged(findings=[finding()]), GOOD, looks=())]
    assert signal_alarms(signal_of("test_without_assertion"), clean, []).clean == Share(1, 1)
