"""What a report counts, over which rows and no others."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from tests.worker.evaluation.bench.samples import GOOD, MERGED, WEAK_TEST, finding, row_outcome, scored_outcome
from tests.worker.judge.samples import abstain_verdict, accept_verdict, reject_verdict
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
    is_blocking_allowed,
    is_rejected,
    measured_line,
    rank_files,
    rank_pairs,
    read_measured,
    shares_without_each,
    signal_alarms,
)
from worker.signals.registry import SIGNALS
from worker.signals.signal import Signal, SignalKind, SignalScope

WEAK = {"decision": "reject", "label": "weak"}
SCOPE_CREEP = {"decision": "reject", "category": "scope_creep"}
WITHOUT_ASSERTION = next(signal for signal in SIGNALS if signal.name == "test_without_assertion")


def test_rows_with_a_weak_label_count_only_where_scores_are_compared() -> None:
    report = compute_report(
        [scored_outcome(0.9, good=True, name="a"), row_outcome(abstain_verdict(score=0.1), WEAK, "w")]
    )
    assert list(report.decided["expected"]) == ["accept"]
    assert report.recalls["category"] == {}
    assert [part.good.of for part in report.calibration] == [1]
    assert list(report.rankings) == ["rows.jsonl, weak"]
    assert report.rows == 2


def test_good_is_what_was_expected_to_be_accepted_or_was_merged() -> None:
    rows = [
        row_outcome(reject_verdict(), GOOD, "a"),
        row_outcome(abstain_verdict(), MERGED, "b"),
        row_outcome(reject_verdict(), {"outcome": "merged", "decision": "reject"}, "c"),
        row_outcome(reject_verdict(), {"resolved": True}, "d"),
    ]
    assert compute_report(rows).false_rejects["all"] == {"all": Share(1, 2)}


def test_a_report_names_medians_the_slowest_rows_and_places_that_do_not_exist() -> None:
    rows = [
        row_outcome(
            abstain_verdict(findings=[finding()] * (number % 3)), {}, f"r{number}", ms=number, pointers=2,
            pointers_wrong=["x.py:9"] if number == 5 else [],
        )
        for number in range(12)
    ]  # fmt: skip
    report = compute_report(rows)
    assert (report.ms, report.findings) == (5.5, 1.0)
    assert [row.id for row in report.slowest] == [f"r{number}" for number in range(11, 11 - MOST_SLOW, -1)]
    assert (report.slowest[0].lines, report.slowest[0].bytes) == (10, 1000)
    assert (report.pointers, report.pointers_wrong) == (Share(23, 24), (("r5", "x.py:9"),))


@pytest.mark.parametrize(("costs", "total"), [(["0.10", "0.02"], Decimal("0.12")), (["0.10", None], None)])
def test_costs_add_up_and_one_unknown_price_makes_the_sum_unknown(
    costs: list[str | None], total: Decimal | None
) -> None:
    rows = [row_outcome(abstain_verdict(judge_kind="hybrid", judge_model="m", judge_cost_usd=cost)) for cost in costs]
    assert compute_report(rows).cost_usd == total


@pytest.mark.parametrize(("scores", "mean"), [([0.5, 1], (2, 0.75)), ([], None)])
def test_composed_scores_have_their_own_mean(scores: list[float], mean: tuple[int, float] | None) -> None:
    rows = [row_outcome(abstain_verdict(signals={"evaluate_score": score}), {}, str(score)) for score in scores]
    assert compute_report([*rows, row_outcome(abstain_verdict())]).evaluated == mean


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
def test_what_is_decided_against_the_expectation_is_listed(expect: dict[str, object], wrong: list[str]) -> None:
    rows = [
        row_outcome(accept_verdict(), expect, "a"),
        row_outcome(reject_verdict(), expect, "r"),
        row_outcome(abstain_verdict(), expect, "u"),
    ]
    report = compute_report(rows)
    assert [(row.decided, row.concern) for row in report.wrong] == [(decided, "It was looked at.") for decided in wrong]


def test_listed_criteria_are_counted_and_those_of_good_changes_that_are_called_unmet() -> None:
    states = [{"id": "AC1", "status": "missing"}, {"id": "AC2", "status": "unverifiable"}]
    listed = row_outcome(abstain_verdict(criteria=states), GOOD, looks=(SignalScope.ISSUE,))
    report = compute_report([listed, row_outcome(abstain_verdict(criteria=states), GOOD)])
    assert (report.criteria, report.unmet) == (Share(1, 2), Share(1, 2))


def test_decisions_are_shared_out_among_rows_of_one_expectation_and_of_one_kind() -> None:
    rows = [
        row_outcome(accept_verdict(), {**GOOD, "why": "safe", "kind": "docs"}),
        row_outcome(abstain_verdict(), {**GOOD, "why": "safe", "kind": "comments"}),
        row_outcome(reject_verdict(), WEAK_TEST),
    ]
    shares = decision_shares(rows)
    assert list(shares["expected"]) == ["accept: safe", "reject: weak_test"]
    assert shares["expected"]["accept: safe"] == DecisionShares(2, Share(1, 2), Share(0, 2), Share(1, 2))
    assert list(shares["kind"]) == ["accept: safe, comments", "accept: safe, docs"]


def test_false_rejects_are_told_apart_by_file_language_and_what_was_there_to_read() -> None:
    rows = [
        row_outcome(reject_verdict(), GOOD, file="a.jsonl", language="go"),
        row_outcome(abstain_verdict(), GOOD, file="a.jsonl", language="rust", whole_files=False),
        row_outcome(abstain_verdict(), MERGED, file="b.jsonl", language="go"),
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
        row_outcome(reject_verdict(), {**WEAK_TEST, "where": where, "difficulty": "easy", "variant": "skip"}),
        row_outcome(abstain_verdict(findings=[finding()]), {**WEAK_TEST, "where": where, "difficulty": "hard"}),
        row_outcome(
            abstain_verdict(criteria=[{"id": "AC1", "status": "missing"}]), gap, language="go", whole_files=False
        ),
        row_outcome(reject_verdict(), {"decision": "reject"}),
    ]
    recalls = defect_recalls(rows)
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


def test_precision_counts_only_rejects_of_rows_that_are_surely_good_or_bad() -> None:
    clean = [row_outcome(reject_verdict(), GOOD), row_outcome(abstain_verdict(findings=[finding()]), GOOD)]
    defects = [
        row_outcome(reject_verdict(), WEAK_TEST),
        row_outcome(reject_verdict(category="scope_creep"), WEAK_TEST),
        row_outcome(abstain_verdict(), WEAK_TEST),
    ]
    unsure = [row_outcome(reject_verdict(), {"decision": "not_accept"}), row_outcome(reject_verdict(), MERGED)]
    accuracy = category_accuracy(Category.WEAK_TEST, [*clean, *defects, *unsure], clean, defects)
    assert accuracy == (Share(1, 2), Share(1, 3), Share(1, 2)), "precision, recall, good ones suspected"
    assert category_accuracy(Category.SCOPE_CREEP, clean, clean, []).suspected == Share(0, 2)


def test_each_repository_is_left_out_in_turn_and_one_alone_says_nothing() -> None:
    rows = [
        row_outcome(reject_verdict(), GOOD, repository="a/a"),
        row_outcome(abstain_verdict(), GOOD, repository="a/a"),
        row_outcome(abstain_verdict(), GOOD, repository="b/b"),
    ]
    assert shares_without_each(rows, is_rejected) == {"a/a": Share(0, 1), "b/b": Share(1, 2)}
    assert shares_without_each(rows[:2], is_rejected) == shares_without_each([], is_rejected) == {}


@pytest.mark.parametrize(
    ("looks", "alarms"), [((SignalScope.ANYTHING,), Share(1, 2)), ((SignalScope.TESTS,), Share(1, 3))]
)
def test_a_false_alarm_is_counted_among_the_rows_that_hold_what_the_signal_looks_at(
    looks: tuple[SignalScope, ...], alarms: Share
) -> None:
    fired = abstain_verdict(findings=[finding(), finding()])
    clean = [
        row_outcome(fired, GOOD),
        row_outcome(abstain_verdict(), GOOD),
        row_outcome(abstain_verdict(), GOOD, looks=looks),
    ]
    defects = [row_outcome(fired, WEAK_TEST), row_outcome(fired, SCOPE_CREEP)]
    assert signal_alarms(WITHOUT_ASSERTION, clean, defects) == ("suspicion", "tests", alarms, Share(1, 1))
    seen = [row_outcome(fired, GOOD, looks=())]
    assert signal_alarms(WITHOUT_ASSERTION, seen, []).clean == Share(1, 1), "though it is no opportunity by our count"


def test_the_score_stands_beside_the_size_and_the_constant() -> None:
    rows = [scored_outcome(0.9, good=True, name="a", lines=50), scored_outcome(0.2, good=False, name="b", lines=10)]
    ranking = rank_files(rows)["rows.jsonl"]
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
        ([row_outcome(abstain_verdict(), {}), row_outcome(abstain_verdict(), {"decision": "not_accept"}, "b")], {}),
    ],
    ids=["files apart", "weak labels apart", "unknown left out"],
)
def test_rows_are_ranked_within_their_file_by_what_is_surely_known(
    rows: list[RowOutcome], areas: Mapping[str, tuple[float, int]]
) -> None:
    assert {name: (ranking.ours.value, ranking.ours.bad) for name, ranking in rank_files(rows).items()} == areas


def test_rows_that_answer_one_task_are_compared_within_it_else_those_of_a_repository() -> None:
    def answer(score: float, name: str, task: str, *, resolved: bool) -> RowOutcome:
        return row_outcome(abstain_verdict(score=score), {"resolved": resolved, "instance": task}, name)

    tasks = [
        answer(0.9, "a", "t1", resolved=True),
        answer(0.1, "b", "t1", resolved=False),
        answer(0.0, "c", "t2", resolved=True),
    ]
    ranking = rank_files(tasks)["rows.jsonl"]
    assert ranking.within is not None
    assert ranking.within_size is not None
    assert (ranking.ours.value, ranking.within.rate, ranking.within.pairs, ranking.within_size.rate) == (
        0.5,
        1.0,
        1,
        0.5,
    )
    apart = [
        scored_outcome(0.9, good=True, name="a", repository="a/a"),
        scored_outcome(0.1, good=False, name="b", repository="b/b"),
    ]
    assert rank_files(apart)["rows.jsonl"].within is None


@pytest.mark.parametrize(("twin", "rate"), [(0.6, 1.0), (0.3, 0.5), (0.1, 0.0)])
def test_a_defect_is_compared_with_the_row_like_it(twin: float, rate: float) -> None:
    rows: list[tuple[float, dict[str, Any], str, int]] = [
        (0.3, {**WEAK_TEST, "pair": "t"}, "s", 10),
        (twin, GOOD, "t", 30),
        (0.5, {**WEAK_TEST, "pair": "gone"}, "x", 10),
        (0.5, {"decision": "reject", "pair": "t"}, "without category", 10),
    ]
    outcomes = [
        row_outcome(abstain_verdict(score=score), expect, name, lines=lines) for score, expect, name, lines in rows
    ]
    (pairs,) = rank_pairs(outcomes).values()
    assert pairs.ours is not None
    assert pairs.size is not None
    assert (pairs.ours.rate, pairs.ours.pairs, pairs.size.rate) == (rate, 1, 0.0)


BY_NAME = {one.name: one for one in SIGNALS}


@pytest.mark.parametrize("name", BY_NAME)
def test_every_signal_says_how_often_it_misfired(name: str) -> None:
    share = read_measured(BY_NAME[name])
    assert share is not None
    assert measured_line(share, BY_NAME[name].scope) in " ".join(BY_NAME[name].description.split())


@pytest.mark.parametrize("name", [one.name for one in SIGNALS if one.kind is SignalKind.FACT])
def test_a_signal_that_states_facts_may_block_by_its_measured_rate(name: str) -> None:
    share = read_measured(BY_NAME[name])
    assert share is not None
    assert is_blocking_allowed(share), "make it a suspicion, or measure it on more clean changes"


@pytest.mark.parametrize(
    ("share", "allowed"),
    [(Share(0, 299), False), (Share(0, 765), True), (Share(0, 700), False), (Share(5, 765), False)],
)
def test_too_few_changes_or_too_many_alarms_forbid_to_block(share: Share, *, allowed: bool) -> None:
    assert is_blocking_allowed(share) is allowed


def test_a_signal_that_nobody_measured_says_nothing() -> None:
    def silent(_: object) -> None:
        """Something | else."""

    one = Signal("silent", Category.WEAK_TEST, SignalKind.SUSPICION, SignalScope.TESTS, silent)  # pyright: ignore[reportArgumentType] - never called
    assert read_measured(one) is None
