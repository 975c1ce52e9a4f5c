"""What a report counts, and over which rows."""

from collections.abc import Mapping
from decimal import Decimal
from itertools import pairwise
from math import sqrt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.evaluation.bench.samples import (
    ABSTAIN,
    ACCEPT,
    GOOD,
    MERGED,
    REJECT,
    WEAK_TEST,
    finding,
    row_outcome,
    scored_outcome,
)
from tests.worker.judge.samples import abstain_verdict, reject_verdict
from worker.domain.verdict.verdict import Category
from worker.evaluation.bench import statistics
from worker.evaluation.bench.rows import RowOutcome
from worker.evaluation.bench.statistics import (
    CalibrationBin,
    CurvePoint,
    RankedRow,
    Share,
    calibration_bins,
    calibration_error,
    pairs_lift,
    pairs_won,
    roc_area,
    roc_curve,
)
from worker.signals.heuristic_opinion import SIGNALS
from worker.signals.signal import SignalScope

WEAK = {"decision": "reject", "label": "weak"}
SCOPE_CREEP = {"decision": "reject", "category": "scope_creep"}
WITHOUT_ASSERTION = next(signal for signal in SIGNALS if signal.name == "test_without_assertion")


def test_weakly_labelled_rows_count_only_in_score_comparisons() -> None:
    weak = row_outcome(abstain_verdict(score=0.1), WEAK, "w")
    report = statistics.compute_report([scored_outcome(0.9, good=True, name="a"), weak])
    assert list(report.decided["expected"]) == ["accept"]
    assert report.recalls["category"] == {}
    assert [part.good.of for part in report.calibration] == [1]
    assert list(report.rankings) == ["rows.jsonl, weak"]
    assert report.rows == 2


def test_row_is_good_if_an_accept_is_expected_or_it_was_merged() -> None:
    rows = [
        row_outcome(REJECT, GOOD, "a"),
        row_outcome(ABSTAIN, MERGED, "b"),
        row_outcome(REJECT, {"outcome": "merged", "decision": "reject"}, "c"),
        row_outcome(REJECT, {"resolved": True}, "d"),
    ]
    assert statistics.compute_report(rows).false_rejects["all"] == {"all": Share(1, 2)}


def test_report_has_medians_slowest_rows_and_wrong_pointers() -> None:
    rows = [
        row_outcome(
            abstain_verdict(findings=[finding()] * (number % 3)), {}, f"r{number}", ms=number, pointers=2,
            pointers_wrong=["x.py:9"] if number == 5 else [],
        )
        for number in range(12)
    ]  # fmt: skip
    report = statistics.compute_report(rows)
    assert (report.ms, report.findings) == (5.5, 1.0)
    assert [row.id for row in report.slowest] == [f"r{number}" for number in range(11, 11 - statistics.MOST_SLOW, -1)]
    assert (report.slowest[0].lines, report.slowest[0].bytes) == (10, 1000)
    assert (report.pointers, report.pointers_wrong) == (Share(23, 24), (("r5", "x.py:9"),))


@pytest.mark.parametrize(("costs", "total"), [(["0.10", "0.02"], Decimal("0.12")), (["0.10", None], None)])
def test_total_cost_is_unknown_if_one_price_is(costs: list[str | None], total: Decimal | None) -> None:
    rows = [row_outcome(abstain_verdict(judge_kind="hybrid", judge_model="m", judge_cost_usd=cost)) for cost in costs]
    assert statistics.compute_report(rows).cost_usd == total


@pytest.mark.parametrize(("scores", "mean"), [([0.5, 1], (2, 0.75)), ([], None)])
def test_composed_scores_have_their_own_mean(scores: list[float], mean: tuple[int, float] | None) -> None:
    rows = [row_outcome(abstain_verdict(signals={"evaluate_score": score}), {}, str(score)) for score in scores]
    assert statistics.compute_report([*rows, row_outcome(ABSTAIN)]).evaluated == mean


@pytest.mark.parametrize(
    ("expect", "wrong"),
    [
        (GOOD, ["reject weak_test"]),
        (MERGED, ["reject weak_test"]),
        (SCOPE_CREEP, ["accept", "reject weak_test"]),
        (WEAK_TEST, ["accept"]),
        ({"decision": "not_accept"}, ["accept"]),
        ({"resolved": False}, ["accept"]),
        ({"resolved": True}, []),
        ({"outcome": "not_merged"}, []),
        ({}, []),
    ],
)
def test_decisions_against_the_expectation_are_listed(expect: dict[str, object], wrong: list[str]) -> None:
    rows = [row_outcome(ACCEPT, expect, "a"), row_outcome(REJECT, expect, "r"), row_outcome(ABSTAIN, expect, "u")]
    report = statistics.compute_report(rows)
    assert [(row.decided, row.concern) for row in report.wrong] == [(decided, "It was looked at.") for decided in wrong]


def test_criteria_of_good_changes_called_unmet_are_counted() -> None:
    states = [{"id": "AC1", "status": "missing"}, {"id": "AC2", "status": "unverifiable"}]
    listed = row_outcome(abstain_verdict(criteria=states), GOOD, looks=(SignalScope.ISSUE,))
    report = statistics.compute_report([listed, row_outcome(abstain_verdict(criteria=states), GOOD)])
    assert (report.criteria, report.unmet) == (Share(1, 2), Share(1, 2))


def test_decision_shares_are_grouped_by_expectation_and_kind() -> None:
    rows = [
        row_outcome(ACCEPT, {**GOOD, "why": "safe", "kind": "docs"}),
        row_outcome(ABSTAIN, {**GOOD, "why": "safe", "kind": "comments"}),
        row_outcome(REJECT, WEAK_TEST),
    ]
    shares = statistics.decision_shares(rows)
    assert list(shares["expected"]) == ["accept: safe", "reject: weak_test"]
    assert shares["expected"]["accept: safe"] == statistics.DecisionShares(2, Share(1, 2), Share(0, 2), Share(1, 2))
    assert list(shares["kind"]) == ["accept: safe, comments", "accept: safe, docs"]


def test_false_rejects_are_grouped_by_file_language_and_texts() -> None:
    rows = [
        row_outcome(REJECT, GOOD, file="a.jsonl", language="go"),
        row_outcome(ABSTAIN, GOOD, file="a.jsonl", language="rust", whole_files=False),
        row_outcome(ABSTAIN, MERGED, file="b.jsonl", language="go"),
    ]
    assert statistics.false_reject_shares(rows) == {
        "all": {"all": Share(1, 3)},
        "file": {"a.jsonl": Share(1, 2), "b.jsonl": Share(0, 1)},
        "language": {"go": Share(1, 2), "rust": Share(0, 1)},
        "texts": {"diff alone": Share(0, 1), "whole files": Share(1, 2)},
        "file and language": {"a.jsonl, go": Share(1, 1), "a.jsonl, rust": Share(0, 1), "b.jsonl, go": Share(0, 1)},
    }


def test_defect_recalls_are_grouped_by_category_and_within_it() -> None:
    where = [{"path": "tests/test_a.py", "line": 10}]
    gap = {"decision": "reject", "category": "acceptance_gap", "missing": ["AC1"]}
    rows = [
        row_outcome(REJECT, {**WEAK_TEST, "where": where, "difficulty": "easy", "variant": "skip"}),
        row_outcome(abstain_verdict(findings=[finding()]), {**WEAK_TEST, "where": where, "difficulty": "hard"}),
        row_outcome(
            abstain_verdict(criteria=[{"id": "AC1", "status": "missing"}]), gap, language="go", whole_files=False
        ),
        row_outcome(REJECT, {"decision": "reject"}),
    ]
    recalls = statistics.defect_recalls(rows)
    assert {name: tuple(recall) for name, recall in recalls["category"].items()} == {
        "acceptance_gap": (1, Share(0, 1), Share(0, 1), None, Share(1, 1)),
        "weak_test": (2, Share(1, 2), Share(2, 2), Share(1, 2), None),
        "all defects": (3, Share(1, 3), Share(2, 3), Share(1, 2), Share(1, 1)),
    }
    assert {by: list(names) for by, names in recalls.items()} == {
        "category": ["acceptance_gap", "weak_test", "all defects"],
        "difficulty": ["weak_test, easy", "weak_test, hard"],
        "texts": ["acceptance_gap, diff alone", "weak_test, whole files"],
        "language": ["acceptance_gap, go", "weak_test, python"],
        "variant": ["weak_test: skip"],
    }


def test_precision_counts_only_rows_with_a_certain_label() -> None:
    clean = [row_outcome(REJECT, GOOD), row_outcome(abstain_verdict(findings=[finding()]), GOOD)]
    defects = [
        row_outcome(REJECT, WEAK_TEST),
        row_outcome(reject_verdict(category="scope_creep"), WEAK_TEST),
        row_outcome(ABSTAIN, WEAK_TEST),
    ]
    unsure = [row_outcome(REJECT, {"decision": "not_accept"}), row_outcome(REJECT, MERGED)]
    accuracy = statistics.category_accuracy(Category.WEAK_TEST, [*clean, *defects, *unsure], clean, defects)
    assert accuracy == (Share(1, 2), Share(1, 3), Share(1, 2)), "precision, recall, good ones suspected"
    assert statistics.category_accuracy(Category.SCOPE_CREEP, clean, clean, []).suspected == Share(0, 2)


def test_each_repository_is_left_out_in_turn_unless_it_is_the_only_one() -> None:
    rows = [
        row_outcome(REJECT, GOOD, repository="a/a"),
        row_outcome(ABSTAIN, GOOD, repository="a/a"),
        row_outcome(ABSTAIN, GOOD, repository="b/b"),
    ]
    assert statistics.shares_without_each(rows, statistics.is_rejected) == {"a/a": Share(0, 1), "b/b": Share(1, 2)}
    assert (
        statistics.shares_without_each(rows[:2], statistics.is_rejected)
        == statistics.shares_without_each([], statistics.is_rejected)
        == {}
    )


@pytest.mark.parametrize(
    ("looks", "alarms"), [((SignalScope.ANYTHING,), Share(1, 2)), ((SignalScope.TESTS,), Share(1, 3))]
)
def test_false_alarms_are_counted_over_rows_in_the_signals_scope(looks: tuple[SignalScope, ...], alarms: Share) -> None:
    fired, unfired = abstain_verdict(findings=[finding(), finding()]), ABSTAIN
    clean = [row_outcome(fired, GOOD), row_outcome(unfired, GOOD), row_outcome(unfired, GOOD, looks=looks)]
    defects = [row_outcome(fired, WEAK_TEST), row_outcome(fired, SCOPE_CREEP)]
    assert statistics.signal_alarms(WITHOUT_ASSERTION, clean, defects) == ("suspicion", "tests", alarms, Share(1, 1))
    out_of_scope = [row_outcome(fired, GOOD, looks=())]
    alarms_out_of_scope = statistics.signal_alarms(WITHOUT_ASSERTION, out_of_scope, [])
    assert alarms_out_of_scope.clean == Share(1, 1), "a finding is an opportunity"


def test_ranking_compares_the_score_with_size_and_a_constant() -> None:
    rows = [scored_outcome(0.9, good=True, name="a", lines=50), scored_outcome(0.2, good=False, name="b", lines=10)]
    ranking = statistics.rank_files(rows)["rows.jsonl"]
    assert (ranking.ours.value, ranking.size.value, ranking.constant) == (1.0, 0.0, 0.5)
    assert ranking.lift is not None
    assert ranking.lift.rate == 1.0
    assert ranking.curve == ((0, 0), (0, 1), (1, 1))
    assert ranking.size_curve == ((0, 0), (1, 0), (1, 1))


ONE_OF_EACH = (scored_outcome(0.5, good=True, name="a"), scored_outcome(0.1, good=False, name="b"))


@pytest.mark.parametrize(
    ("rows", "areas"),
    [
        ([scored_outcome(0.9, good=True, name="c", file="a.jsonl"), *ONE_OF_EACH], {"rows.jsonl": (1.0, 1)}),
        (
            [*ONE_OF_EACH, row_outcome(abstain_verdict(score=0.9), WEAK, "w")],
            {"rows.jsonl": (1.0, 1), "rows.jsonl, weak": (0.0, 1)},
        ),
        ([row_outcome(ABSTAIN, {}), row_outcome(ABSTAIN, {"decision": "not_accept"}, "b")], {}),
    ],
    ids=["files apart", "weak labels apart", "unknown left out"],
)
def test_rows_are_ranked_within_their_file(rows: list[RowOutcome], areas: Mapping[str, tuple[float, int]]) -> None:
    rankings = statistics.rank_files(rows)
    assert {name: (ranking.ours.value, ranking.ours.bad) for name, ranking in rankings.items()} == areas


def test_rows_are_ranked_within_their_task_or_repository() -> None:
    answers = ((0.9, "a", "t1", True), (0.1, "b", "t1", False), (0.0, "c", "t2", True))
    tasks = [
        row_outcome(abstain_verdict(score=score), {"resolved": is_resolved, "instance": task}, name)
        for score, name, task, is_resolved in answers
    ]
    ranking = statistics.rank_files(tasks)["rows.jsonl"]
    assert ranking.within is not None
    assert ranking.within_size is not None
    assert (ranking.within.rate, ranking.within.pairs) == (1.0, 1)
    assert (ranking.ours.value, ranking.within_size.rate) == (0.5, 0.5)
    first = scored_outcome(0.9, good=True, name="a", repository="a/a")
    second = scored_outcome(0.1, good=False, name="b", repository="b/b")
    assert statistics.rank_files([first, second])["rows.jsonl"].within is None


@pytest.mark.parametrize(("twin", "rate"), [(0.6, 1.0), (0.3, 0.5), (0.1, 0.0)])
def test_defect_is_paired_with_its_clean_twin(twin: float, rate: float) -> None:
    rows: list[tuple[float, dict[str, Any], str, int]] = [
        (0.3, {**WEAK_TEST, "pair": "t"}, "s", 10),
        (twin, GOOD, "t", 30),
        (0.5, {**WEAK_TEST, "pair": "gone"}, "x", 10),
        (0.5, {"decision": "reject", "pair": "t"}, "without category", 10),
    ]
    outcomes = [
        row_outcome(abstain_verdict(score=score), expect, name, lines=lines) for score, expect, name, lines in rows
    ]
    (pairs,) = statistics.rank_pairs(outcomes).values()
    assert pairs.ours is not None
    assert pairs.size is not None
    assert (pairs.ours.rate, pairs.ours.pairs, pairs.size.rate) == (rate, 1, 0.0)


SCORES = st.lists(st.floats(0, 1), max_size=30)
Groups = list[tuple[str, list[float], list[float]]]
"""Names, scores of good rows and scores of bad ones."""


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [
        (0, 10, 0.0, 0.277533),
        (10, 10, 0.722467, 1.0),
        (1, 10, 0.017876, 0.404150),
        (81, 263, 0.255308, 0.366216),  # Newcombe 1998, table I
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.161125),
        (0, 0, 0.0, 1.0),
    ],
)
def test_share_has_a_wilson_interval(hits: int, of: int, low: float, high: float) -> None:
    share = Share(hits, of)
    assert (share.rate, share.low, share.high) == pytest.approx((hits / of if of else 0.0, low, high), abs=5e-5)


@given(st.integers(0, 10_000), st.integers(1, 10_000))
def test_share_interval_contains_its_rate(hits: int, more: int) -> None:
    share = Share(hits, hits + more)
    assert 0 <= share.low <= share.rate <= share.high <= 1


@given(SCORES, SCORES)
def test_roc_area_is_the_share_of_won_pairs_and_the_area_under_the_curve(good: list[float], bad: list[float]) -> None:
    area, points = roc_area(good, bad), roc_curve(good, bad)
    if area is None:
        assert not good or not bad
        return
    pairs = [1.0 if score > other else 0.5 if score == other else 0.0 for score in good for other in bad]
    assert area.value == pytest.approx(sum(pairs) / len(pairs))
    assert 0 <= area.low <= area.value <= area.high <= 1
    assert (area.good, area.bad) == (len(good), len(bad))
    assert sum((b.x - a.x) * (a.y + b.y) / 2 for a, b in pairwise(points)) == pytest.approx(area.value)


@pytest.mark.parametrize(("good", "bad"), [(60, 60), (200, 20), (20, 200)])
def test_roc_area_has_a_hanley_mcneil_interval(good: int, bad: int) -> None:
    area = roc_area([number / good + 0.4 for number in range(good)], [number / bad for number in range(bad)])
    assert area is not None
    value = area.value
    first, second = value / (2 - value), 2 * value**2 / (1 + value)
    squared = value * (1 - value) + (good - 1) * (first - value**2) + (bad - 1) * (second - value**2)
    assert (value - area.low) / 1.959964 == pytest.approx(sqrt(squared / (good * bad)), rel=0.01)


@pytest.mark.parametrize(("rows", "least", "most"), [(2, 0.0, 0.7), (200, 0.99, 0.9999)])
def test_perfect_ranking_of_few_rows_has_a_wide_interval(rows: int, least: float, most: float) -> None:
    area = roc_area([0.9] * rows, [0.1] * rows)
    assert area is not None
    assert least < area.low < most
    assert area.high == 1.0


@pytest.mark.parametrize(
    ("good", "bad", "points"),
    [
        ([0.9, 0.5], [0.5, 0.1], [(0, 0), (0, 0.5), (0.5, 1), (1, 1)]),
        ([0.5], [], [(0, 0), (0, 1)]),
        ([], [0.5], [(0, 0), (1, 0)]),
    ],
)
def test_roc_curve_passes_each_score(good: list[float], bad: list[float], points: list[tuple[float, float]]) -> None:
    assert roc_curve(good, bad) == tuple(CurvePoint(*point) for point in points)


def ranked(groups: Groups) -> list[RankedRow]:
    return [
        RankedRow(name, is_good, score)
        for name, good, bad in groups
        for is_good, scores in ((True, good), (False, bad))
        for score in scores
    ]


GROUPS: list[tuple[Groups, tuple[float, int, int] | None]] = [
    ([("a", [0.3], [0.2]), ("b", [0.9], [0.8]), ("good", [0.0], []), ("bad", [], [1.0])], (1.0, 2, 2)),
    ([("a", [0.9, 0.9, 0.9], [0.1]), ("b", [0.1], [0.9])], (0.75, 4, 2)),
    ([("a", [0.9], []), ("b", [], [0.1])], None),
    ([], None),
]


@pytest.mark.parametrize(
    ("groups", "won"), GROUPS, ids=["pairs of one group", "a group counts by its pairs", "no group with both", "no row"]
)
def test_only_rows_of_the_same_group_are_paired(groups: Groups, won: tuple[float, int, int] | None) -> None:
    share = pairs_won(ranked(groups))
    assert (share and (share.rate, share.pairs, share.groups)) == won


def test_pairs_interval_is_bootstrapped_over_groups_deterministically() -> None:
    rows = ranked([(f"g{number}", [0.9], [0.1 if number % 4 else 0.95]) for number in range(40)])
    won = pairs_won(rows)
    assert won is not None
    assert won.rate == 0.75
    assert 0.5 < won.low < 0.7
    assert 0.8 < won.high < 0.95
    assert pairs_won(list(reversed(rows))) == won


@pytest.mark.parametrize(("groups", "lost"), [(10, 0), (9, 1)], ids=["all agree", "few"])
def test_pairs_interval_of_uniform_groups_is_wilson(groups: int, lost: int) -> None:
    won = pairs_won(ranked([(f"g{number}", [0.9], [0.95 if number < lost else 0.1]) for number in range(groups)]))
    share = Share(groups - lost, groups)
    assert won is not None
    assert (won.low, won.high) == pytest.approx((share.low, share.high))


@pytest.mark.parametrize(
    ("rows", "rate", "low", "high"),
    [
        ([("a", 0.9, 1.0, 0.1, 2.0), ("b", 0.9, 2.0, 0.1, 0.0)], 0.5, (-1, 0.5), (0.5, 1)),
        ([("a", 0.9, 0.9, 0.1, 0.1)], 0.0, (-1, -0.7), (0.7, 1)),
        ([("a", 0.1, 0.9, 0.9, 0.1)], -1.0, (-1, -1), (-1, 1)),
    ],
    ids=["one of two", "alike, on either side", "losing"],
)
def test_lift_is_the_gain_over_the_baseline(
    rows: list[tuple[str, float, float, float, float]], rate: float, low: tuple[float, float], high: tuple[float, float]
) -> None:
    lift = pairs_lift(
        row
        for name, good, good_baseline, bad, bad_baseline in rows
        for row in (RankedRow(name, True, good, good_baseline), RankedRow(name, False, bad, bad_baseline))  # noqa: FBT003 - a row
    )
    assert lift is not None
    assert (lift.rate, lift.pairs) == (rate, len(rows))
    assert low[0] <= lift.low <= low[1]
    assert high[0] <= lift.high <= high[1]
    assert pairs_lift([]) is None


def test_calibration_bins_hold_mean_score_and_share_of_good_rows() -> None:
    rows = [(0.72, True), (0.78, False), (1.0, True), (0.0, False)]
    assert calibration_bins(rows) == (
        CalibrationBin(0.0, 0.1, 0.0, Share(0, 1)),
        CalibrationBin(0.7, 0.8, 0.75, Share(1, 2)),
        CalibrationBin(0.9, 1.0, 1.0, Share(1, 1)),
    )


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ([(0.0, False)] * 10 + [(1.0, True)] * 10, 0.0),
        ([(1.0, False)] * 20, 1.0),
        ([(0.75, True)] * 15 + [(0.75, False)] * 5, 0.0),
        ([(0.95, True)] * 10 + [(0.95, False)] * 10, 0.45),
    ],
)
def test_calibration_error_is_the_gap_between_score_and_share(rows: list[tuple[float, bool]], error: float) -> None:
    measured = calibration_error(rows)
    assert measured is not None
    assert measured.value == pytest.approx(error, abs=1e-9)
    assert measured.low <= measured.high
    assert calibration_error([]) is None
