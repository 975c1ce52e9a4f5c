"""What a report counts, over which rows and no others."""

from decimal import Decimal

import pytest

from tests.worker.evaluation.bench.made import GOOD, MERGED, WEAK_TEST, finding, judged, scored
from tests.worker.judge.verdicts import accepted, rejected, unjudged
from worker.domain.verdict.verdict import Category
from worker.evaluation.bench.measures import Share
from worker.evaluation.bench.rows import RowOutcome
from worker.evaluation.bench.statistics import (
    MOST_SLOW,
    DecisionShares,
    category_accuracy,
    compute_report,
    decision_shares,
    defect_recalls,
    false_reject_shares,
    is_rejected,
    rank_files,
    rank_pairs,
    shares_without_each,
    signal_alarms,
)
from worker.signals.registry import SIGNALS
from worker.signals.signal import Signal, SignalScope

WEAK = {"decision": "reject", "label": "weak"}


def test_rows_with_a_weak_label_count_only_where_scores_are_compared() -> None:
    report = compute_report([scored(0.9, good=True, name="a"), judged(unjudged(score=0.1), WEAK, "w")])
    assert list(report.decided["expected"]) == ["accept"]
    assert report.recalls["category"] == {}
    assert [one.good.of for one in report.calibration] == [1]
    assert list(report.rankings) == ["rows.jsonl, weak"]
    assert report.rows == 2


def test_good_is_what_was_expected_to_be_accepted_or_was_merged() -> None:
    rows = [
        judged(rejected(), GOOD, "a"),
        judged(unjudged(), MERGED, "b"),
        judged(rejected(), {"outcome": "merged", "decision": "reject"}, "c"),
        judged(rejected(), {"resolved": True}, "d"),
    ]
    assert compute_report(rows).false_rejects["all"] == {"all": Share(1, 2)}


def test_medians_and_the_slowest_are_named() -> None:
    rows = [judged(unjudged(findings=[finding()] * (one % 3)), {}, f"r{one}", ms=one) for one in range(12)]
    report = compute_report(rows)
    assert (report.ms, report.findings) == (5.5, 1.0)
    assert [one.id for one in report.slowest] == [f"r{one}" for one in range(11, 11 - MOST_SLOW, -1)]
    assert (report.slowest[0].lines, report.slowest[0].bytes) == (10, 1000)


def test_pointers_that_do_not_stand_are_listed() -> None:
    rows = [judged(unjudged(), {}, "a", pointers=3), judged(unjudged(), {}, "b", pointers=2, pointers_wrong=["x.py:9"])]
    report = compute_report(rows)
    assert report.pointers == Share(4, 5)
    assert report.pointers_wrong == (("b", "x.py:9"),)


def test_costs_add_up_and_one_unknown_price_makes_the_sum_unknown() -> None:
    def costing(cost: str | None) -> RowOutcome:
        return judged(unjudged(judge_kind="hybrid", judge_model="m", judge_cost_usd=cost))

    assert compute_report([costing("0.10"), costing("0.02")]).cost_usd == Decimal("0.12")
    assert compute_report([costing("0.10"), costing(None)]).cost_usd is None


def test_composed_scores_have_their_own_mean() -> None:
    rows = [judged(unjudged(signals={"evaluate_score": one}), {}, str(one)) for one in (0.5, 1)]
    assert compute_report([*rows, judged(unjudged())]).evaluated == (2, 0.75)
    assert compute_report([judged(unjudged())]).evaluated is None


@pytest.mark.parametrize(
    ("expect", "wrong"),
    [
        (GOOD, ["reject weak_test"]),
        (MERGED, ["reject weak_test"]),
        ({"decision": "reject", "category": "scope_creep"}, ["accept", "reject weak_test"]),
        (WEAK_TEST, ["accept"]),
        ({"decision": "not_accept"}, ["accept"]),
        ({"resolved": False}, ["accept"]),
        ({"resolved": True}, []),
        ({"outcome": "not_merged"}, []),
        ({}, []),
    ],
)
def test_what_is_decided_against_the_expectation_is_listed(expect: dict[str, object], wrong: list[str]) -> None:
    rows = [judged(accepted(), expect, "a"), judged(rejected(), expect, "r"), judged(unjudged(), expect, "u")]
    report = compute_report(rows)
    assert [one.decided for one in report.wrong] == wrong
    assert all(one.concern == "It was looked at." for one in report.wrong)


def test_listed_criteria_are_counted_and_those_of_good_changes_that_are_called_unmet() -> None:
    states = [{"id": "AC1", "status": "missing"}, {"id": "AC2", "status": "unverifiable"}]
    listed = judged(unjudged(criteria=states), {"decision": "accept"}, looks=(SignalScope.ISSUE,))
    bare = judged(unjudged(criteria=states), {"decision": "accept"})
    report = compute_report([listed, bare])
    assert (report.criteria, report.unmet) == (Share(1, 2), Share(1, 2))


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


def test_the_score_stands_beside_the_size_and_the_constant() -> None:
    rows = [scored(0.9, good=True, name="a", lines=50), scored(0.2, good=False, name="b", lines=10)]
    found = rank_files(rows)["rows.jsonl"]
    assert (found.ours.value, found.size.value, found.constant) == (1.0, 0.0, 0.5)
    assert found.lift is not None
    assert found.lift.rate == 1.0
    assert [(one.x, one.y) for one in found.curve] == [(0, 0), (0, 1), (1, 1)]
    assert [(one.x, one.y) for one in found.size_curve] == [(0, 0), (1, 0), (1, 1)]


def test_files_are_never_compared_with_each_other() -> None:
    rows = [
        scored(0.9, good=True, name="a", file="a.jsonl"),
        scored(0.1, good=False, name="b", file="b.jsonl"),
        scored(0.5, good=True, name="c", file="b.jsonl"),
    ]
    assert list(rank_files(rows)) == ["b.jsonl"]


def test_what_is_only_known_to_have_been_a_fault_stands_apart() -> None:
    weak = judged(unjudged(score=0.9), {"decision": "reject", "label": "weak"}, "w")
    rows = [scored(0.5, good=True, name="a"), scored(0.1, good=False, name="b"), weak]
    found = rank_files(rows)
    assert {name: (one.ours.value, one.ours.bad) for name, one in found.items()} == {
        "rows.jsonl": (1.0, 1),
        "rows.jsonl, weak": (0.0, 1),
    }


def test_rows_that_answer_one_task_are_compared_within_it_else_those_of_a_repository() -> None:
    def answer(score: float, name: str, task: str, *, resolved: bool) -> RowOutcome:
        return judged(unjudged(score=score), {"resolved": resolved, "instance": task}, name)

    tasks = [
        answer(0.9, "a", "t1", resolved=True),
        answer(0.1, "b", "t1", resolved=False),
        answer(0.0, "c", "t2", resolved=True),
    ]
    found = rank_files(tasks)["rows.jsonl"]
    assert found.within is not None
    assert found.within_size is not None
    assert (found.ours.value, found.within.rate, found.within.pairs, found.within_size.rate) == (0.5, 1.0, 1, 0.5)
    apart = [scored(0.9, good=True, name="a", repository="a/a"), scored(0.1, good=False, name="b", repository="b/b")]
    assert rank_files(apart)["rows.jsonl"].within is None


def test_rows_whose_truth_is_not_known_are_left_out() -> None:
    assert rank_files([judged(unjudged(), {}), judged(unjudged(), {"decision": "not_accept"}, "b")]) == {}


@pytest.mark.parametrize(("twin", "rate"), [(0.6, 1.0), (0.3, 0.5), (0.1, 0.0)])
def test_a_defect_is_compared_with_the_row_like_it(twin: float, rate: float) -> None:
    seed = judged(unjudged(score=0.3), {**WEAK_TEST, "pair": "t"}, "s", lines=10)
    other = judged(unjudged(score=twin), GOOD, "t", lines=30)
    alone = judged(unjudged(), {**WEAK_TEST, "pair": "gone"}, "x")
    without_category = judged(unjudged(), {"decision": "reject", "pair": "t"}, "y")
    (found,) = rank_pairs([seed, other, alone, without_category]).values()
    assert found.ours is not None
    assert found.size is not None
    assert (found.ours.rate, found.ours.pairs, found.size.rate) == (rate, 1, 0.0)
