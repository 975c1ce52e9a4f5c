"""What a report counts, and over which rows."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

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
from worker.evaluation.bench.measures import Share
from worker.evaluation.bench.rows import RowOutcome
from worker.signals.heuristic_opinion import SIGNALS
from worker.signals.signal import Signal, SignalKind, SignalScope

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


BY_NAME = {signal.name: signal for signal in SIGNALS}


@pytest.mark.parametrize("name", BY_NAME)
def test_signal_documents_its_false_alarm_rate(name: str) -> None:
    share = statistics.read_measured(BY_NAME[name])
    assert share is not None
    assert statistics.measured_line(share, BY_NAME[name].scope) in " ".join(BY_NAME[name].description.split())


@pytest.mark.parametrize("name", [signal.name for signal in SIGNALS if signal.kind is SignalKind.FACT])
def test_fact_signal_may_block_by_its_measured_rate(name: str) -> None:
    share = statistics.read_measured(BY_NAME[name])
    assert share is not None
    assert statistics.is_blocking_allowed(share), "make it a suspicion, or measure it on more clean changes"


@pytest.mark.parametrize(
    ("share", "allowed"),
    [(Share(0, 299), False), (Share(0, 765), True), (Share(0, 700), False), (Share(5, 765), False)],
)
def test_too_few_changes_or_too_many_alarms_forbid_blocking(share: Share, *, allowed: bool) -> None:
    assert statistics.is_blocking_allowed(share) is allowed


def test_unmeasured_signal_has_no_rate() -> None:
    def silent(_: object) -> None:
        """Something | else."""

    signal = Signal("silent", Category.WEAK_TEST, SignalKind.SUSPICION, SignalScope.TESTS, silent)  # pyright: ignore[reportArgumentType] - never called
    assert statistics.read_measured(signal) is None
