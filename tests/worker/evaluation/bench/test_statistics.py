"""What a report counts, over which rows."""

from decimal import Decimal

import pytest

from tests.worker.evaluation.bench.made import GOOD, MERGED, WEAK_TEST, finding, judged, scored
from tests.worker.judge.verdicts import accepted, rejected, unjudged
from worker.evaluation.bench.expectations import RowOutcome
from worker.evaluation.bench.measures import Share
from worker.evaluation.bench.statistics import MOST_SLOW, compute_report
from worker.signals.signal import SignalScope

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
