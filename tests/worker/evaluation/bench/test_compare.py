"""A run beside an earlier one, and beside the same rows at the $0 tier."""

import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from tests.worker.evaluation.bench.samples import GOOD, MERGED, WEAK_TEST, finding, row_outcome
from tests.worker.judge.samples import abstain_verdict, accept_verdict, reject_verdict
from worker.domain.verdict.verdict import VERDICT_ADAPTER
from worker.errors import InputError
from worker.evaluation.bench.compare import RowVerdict, SignalSwing, compare_runs, compare_tiers, read_earlier_run
from worker.evaluation.bench.measures import Share
from worker.evaluation.bench.report import tiers_section
from worker.evaluation.bench.rows import RowOutcome
from worker.evaluation.bench.run_folder import VERDICTS_FILE


def earlier(folder: Path, *outcomes: RowOutcome) -> Mapping[str, RowVerdict]:
    lines = (
        {"id": one.traits.id, "verdict": VERDICT_ADAPTER.dump_python(one.verdict, mode="json")} for one in outcomes
    )
    (folder / VERDICTS_FILE).write_text("".join(f"{json.dumps(one)}\n" for one in lines))
    return read_earlier_run(folder)


ACCEPT, ABSTAIN, RIGHT, OTHER = (
    accept_verdict(),
    abstain_verdict(),
    reject_verdict(),
    reject_verdict(category="scope_creep"),
)


@pytest.mark.parametrize(
    ("expect", "before", "now", "better"),
    [
        (GOOD, RIGHT, ABSTAIN, True),
        (GOOD, ABSTAIN, ACCEPT, True),
        (GOOD, ACCEPT, RIGHT, False),
        (MERGED, ABSTAIN, RIGHT, False),
        (WEAK_TEST, ABSTAIN, RIGHT, True),
        (WEAK_TEST, RIGHT, OTHER, False),
        (WEAK_TEST, ABSTAIN, OTHER, None),
        (WEAK_TEST, ABSTAIN, ACCEPT, False),
        ({"decision": "not_accept"}, ACCEPT, ABSTAIN, True),
        ({"decision": "not_accept"}, ABSTAIN, RIGHT, None),
        ({"resolved": False}, ACCEPT, ABSTAIN, True),
        ({}, ACCEPT, RIGHT, None),
    ],
)
def test_a_row_decided_differently_is_better_or_worse_by_what_was_expected(
    tmp_path: Path,
    expect: dict[str, Any],
    before: Any,
    now: Any,
    better: bool | None,  # noqa: FBT001 - a parameter of the test
) -> None:
    (found,) = compare_runs([row_outcome(now, expect)], earlier(tmp_path, row_outcome(before, expect))).differences
    assert found.is_better is better


def test_another_category_or_reason_is_another_decision(tmp_path: Path) -> None:
    old = earlier(tmp_path, row_outcome(ABSTAIN, {}, "a"), row_outcome(RIGHT, {}, "b"), row_outcome(RIGHT, {}, "c"))
    now = [
        row_outcome(abstain_verdict(abstain_reason="unproven"), {}, "a"),
        row_outcome(OTHER, {}, "b"),
        row_outcome(RIGHT, {}, "c"),
    ]
    found = compare_runs(now, old)
    assert [(one.id, one.before, one.now) for one in found.differences] == [
        ("a", "abstain judge_unavailable", "abstain unproven"),
        ("b", "reject weak_test", "reject scope_creep"),
    ]
    assert found.moved == ()


def test_a_score_that_moved_under_the_same_decision_is_listed_the_farthest_first(tmp_path: Path) -> None:
    def at(*scores: float) -> list[RowOutcome]:
        expects: tuple[dict[str, Any], ...] = (GOOD, WEAK_TEST, {})
        return [row_outcome(abstain_verdict(score=one), expects[n], str(n)) for n, one in enumerate(scores)]

    found = compare_runs(at(0.5, 0.7, 0.6), earlier(tmp_path, *at(0.5, 0.5, 0.5)))
    assert [(one.id, one.before, one.now, one.is_better) for one in found.moved] == [
        ("1", 0.5, 0.7, False),
        ("2", 0.5, 0.6, None),
    ]
    assert compare_runs(at(0.6, 0.5, 0.5), read_earlier_run(tmp_path)).moved[0].is_better is True


def test_signals_that_came_and_went_are_counted_by_rows(tmp_path: Path) -> None:
    a, b = abstain_verdict(findings=[finding("a"), finding("a")]), abstain_verdict(findings=[finding("b")])
    old = earlier(tmp_path, row_outcome(a, GOOD, "1"), row_outcome(a, WEAK_TEST, "2"), row_outcome(a, WEAK_TEST, "3"))
    found = compare_runs(
        [row_outcome(b, GOOD, "1"), row_outcome(b, WEAK_TEST, "2"), row_outcome(a, WEAK_TEST, "3")], old
    )
    assert found.signals == {"a": SignalSwing(0, 1, 0, 1), "b": SignalSwing(1, 0, 1, 0)}


def test_only_rows_of_both_runs_are_compared_and_the_others_counted(tmp_path: Path) -> None:
    old = earlier(
        tmp_path, row_outcome(RIGHT, GOOD, "both"), row_outcome(RIGHT, GOOD, "old"), row_outcome(RIGHT, GOOD, "older")
    )
    found = compare_runs([row_outcome(ABSTAIN, GOOD, "both"), row_outcome(RIGHT, GOOD, "new")], old)
    assert (found.rows, found.only_now, found.only_before) == (1, 1, 2)
    assert (found.before.false_rejects, found.now.false_rejects) == (Share(1, 1), Share(0, 1))


def test_both_runs_have_their_figures_over_the_same_rows(tmp_path: Path) -> None:
    def run(good: float, bad: Any) -> list[RowOutcome]:
        return [
            row_outcome(abstain_verdict(score=good), GOOD, "g"),
            row_outcome(bad, WEAK_TEST, "b"),
            row_outcome(ABSTAIN, GOOD, "x", file="x"),
        ]

    found = compare_runs(run(0.6, RIGHT), earlier(tmp_path, *run(0.4, abstain_verdict(score=0.5))))
    assert (found.before.rejected_rightly, found.now.rejected_rightly) == (Share(0, 1), Share(1, 1))
    before, now = found.before.areas, found.now.areas
    assert [one and one.value for one in before.values()] == [0.0, None]
    assert [one and one.value for one in now.values()] == [1.0, None]
    assert list(now) == ["rows.jsonl", "x"]


def test_a_run_of_another_version_is_read_as_far_as_it_is_compared(tmp_path: Path) -> None:
    verdict = {"verdict_version": 9, "decision": "accept", "score": 0.8, "mood": "fine"}
    (tmp_path / VERDICTS_FILE).write_text(json.dumps({"id": "a", "verdict": verdict, "more": 1}))
    assert read_earlier_run(tmp_path)["a"] == RowVerdict(decision="accept", score=0.8)


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"verdicts\.jsonl can't be read"):
        read_earlier_run(tmp_path)
    (tmp_path / VERDICTS_FILE).write_text('{"id": "a", "verdict": {"decision": "perhaps", "score": 1}}\n')
    with pytest.raises(InputError, match=r"verdicts\.jsonl:1: verdict\.decision is not what a verdict has there"):
        read_earlier_run(tmp_path)


ZERO = [
    row_outcome(abstain_verdict(score=0.6), GOOD, "a"),
    row_outcome(abstain_verdict(score=0.6), WEAK_TEST, "b"),
    row_outcome(reject_verdict(score=0.1), WEAK_TEST, "c"),
    row_outcome(abstain_verdict(score=0.5), {}, "unknown"),
    row_outcome(abstain_verdict(score=0.5), {**WEAK_TEST, "label": "weak"}, "weak"),
]
MODEL = [
    row_outcome(accept_verdict(score=0.9), GOOD, "a"),
    row_outcome(accept_verdict(score=0.8), WEAK_TEST, "b"),
    row_outcome(reject_verdict(score=0.1), WEAK_TEST, "c"),
    row_outcome(reject_verdict(score=0.2), {}, "unknown"),
    row_outcome(reject_verdict(score=0.2), {**WEAK_TEST, "label": "weak"}, "weak"),
]
BESIDE = compare_tiers(ZERO, MODEL, Decimal("0.012"), Decimal(2))


def test_both_tiers_are_counted_over_the_rows_whose_truth_is_known() -> None:
    zero, model = BESIDE.zero, BESIDE.model
    assert (zero.decided, zero.right, zero.accepts_right) == (Share(1, 3), Share(1, 1), Share(0, 0))
    assert (zero.good_accepted, zero.rejects_right, zero.bad_rejected) == (Share(0, 1), Share(1, 1), Share(1, 2))
    assert (model.decided, model.right, model.accepts_right) == (Share(3, 3), Share(2, 3), Share(1, 2))
    assert (model.good_accepted, model.rejects_right, model.bad_rejected) == (Share(1, 1), Share(1, 1), Share(1, 2))
    assert BESIDE.agreement == Share(1, 5)


def test_the_report_says_both_with_their_intervals() -> None:
    assert "\n".join(tiers_section(BESIDE)) == snapshot("""\
## Beside the $0 tier

The model was asked about 0.0 % (0 of 5; 0.0 to 43.4 %) of the dossiers. Spent: $0.012 of $2,
with what was judged again and what nobody knows to be billed.
Decided alike by both: 20.0 % (1 of 5; 3.6 to 62.4 %).

| of dossiers known to be good or bad | $0 tier | with the model |
|---|---|---|
| decided | 33.3 % (1 of 3; 6.1 to 79.2 %) | 100.0 % (3 of 3; 43.9 to 100.0 %) |
| agreement: decided rightly | 100.0 % (1 of 1; 20.7 to 100.0 %) | 66.7 % (2 of 3; 20.8 to 93.9 %) |
| accepts that were right (precision) | none there | 50.0 % (1 of 2; 9.5 to 90.5 %) |
| good ones accepted (recall) | 0.0 % (0 of 1; 0.0 to 79.3 %) | 100.0 % (1 of 1; 20.7 to 100.0 %) |
| rejects that were right (precision) | 100.0 % (1 of 1; 20.7 to 100.0 %) | 100.0 % (1 of 1; 20.7 to 100.0 %) |
| bad ones rejected (recall) | 50.0 % (1 of 2; 9.5 to 90.5 %) | 50.0 % (1 of 2; 9.5 to 90.5 %) |
| calibration error (ECE) | 0.100 (0.067 to 0.600) | 0.333 (0.100 to 0.800) |

*Calibration error*: by how much the score differs from the share of good ones, over ten bins; the interval from drawing
the dossiers again.
""")
    assert list(tiers_section(None)) == []


def test_an_empty_side_is_none_there() -> None:
    text = "\n".join(tiers_section(compare_tiers(ZERO[3:4], MODEL[3:4], Decimal(0), Decimal(1))))
    assert "| calibration error (ECE) | none there | none there |" in text
