"""A run compared with an earlier one and with the $0 tier."""

import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from tests.worker.evaluation.bench.samples import ABSTAIN, ACCEPT, GOOD, MERGED, REJECT, WEAK_TEST, finding, row_outcome
from tests.worker.judge.samples import abstain_verdict, accept_verdict, reject_verdict
from worker.domain.verdict.verdict import VERDICT_ADAPTER
from worker.errors import InputError
from worker.evaluation.bench.compare import RowVerdict, SignalSwing, compare_runs, compare_tiers, read_earlier_run
from worker.evaluation.bench.report import tiers_section
from worker.evaluation.bench.rows import RowOutcome
from worker.evaluation.bench.runner import VERDICTS_FILE
from worker.evaluation.bench.statistics import Share


def save_run(folder: Path, *outcomes: RowOutcome) -> Mapping[str, RowVerdict]:
    verdicts = {outcome.traits.id: VERDICT_ADAPTER.dump_python(outcome.verdict, mode="json") for outcome in outcomes}
    lines = (json.dumps({"id": name, "verdict": verdict}) for name, verdict in verdicts.items())
    (folder / VERDICTS_FILE).write_text("\n".join(lines))
    return read_earlier_run(folder)


RIGHT, OTHER = REJECT, reject_verdict(category="scope_creep")


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
def test_changed_decision_is_better_or_worse_by_the_expectation(
    tmp_path: Path,
    expect: dict[str, Any],
    before: Any,
    now: Any,
    better: bool | None,  # noqa: FBT001 - a parameter of the test
) -> None:
    earlier = save_run(tmp_path, row_outcome(before, expect))
    (difference,) = compare_runs([row_outcome(now, expect)], earlier).differences
    assert difference.is_better is better


def test_changed_category_or_reason_is_a_changed_decision(tmp_path: Path) -> None:
    old = save_run(tmp_path, row_outcome(ABSTAIN, {}, "a"), row_outcome(RIGHT, {}, "b"), row_outcome(RIGHT, {}, "c"))
    unproven = abstain_verdict(abstain_reason="unproven")
    now = [row_outcome(unproven, {}, "a"), row_outcome(OTHER, {}, "b"), row_outcome(RIGHT, {}, "c")]
    comparison = compare_runs(now, old)
    assert [(difference.id, difference.before, difference.now) for difference in comparison.differences] == [
        ("a", "abstain judge_unavailable", "abstain unproven"),
        ("b", "reject weak_test", "reject scope_creep"),
    ]
    assert comparison.moved == ()


def test_moved_scores_are_listed_largest_change_first(tmp_path: Path) -> None:
    def at(*scores: float) -> list[RowOutcome]:
        expects: tuple[dict[str, Any], ...] = (GOOD, WEAK_TEST, {})
        return [row_outcome(abstain_verdict(score=score), expects[n], str(n)) for n, score in enumerate(scores)]

    comparison = compare_runs(at(0.5, 0.7, 0.6), save_run(tmp_path, *at(0.5, 0.5, 0.5)))
    assert [(change.id, change.before, change.now, change.is_better) for change in comparison.moved] == [
        ("1", 0.5, 0.7, False),
        ("2", 0.5, 0.6, None),
    ]
    assert compare_runs(at(0.6, 0.5, 0.5), read_earlier_run(tmp_path)).moved[0].is_better is True


def test_signal_changes_are_counted_by_row(tmp_path: Path) -> None:
    a, b = abstain_verdict(findings=[finding("a"), finding("a")]), abstain_verdict(findings=[finding("b")])
    old = save_run(tmp_path, row_outcome(a, GOOD, "1"), row_outcome(a, WEAK_TEST, "2"), row_outcome(a, WEAK_TEST, "3"))
    now = [row_outcome(b, GOOD, "1"), row_outcome(b, WEAK_TEST, "2"), row_outcome(a, WEAK_TEST, "3")]
    comparison = compare_runs(now, old)
    assert comparison.signals == {"a": SignalSwing(0, 1, 0, 1), "b": SignalSwing(1, 0, 1, 0)}


def test_only_common_rows_are_compared_and_others_counted(tmp_path: Path) -> None:
    old = save_run(tmp_path, *(row_outcome(RIGHT, GOOD, name) for name in ("both", "old", "older")))
    comparison = compare_runs([row_outcome(ABSTAIN, GOOD, "both"), row_outcome(RIGHT, GOOD, "new")], old)
    assert (comparison.rows, comparison.only_now, comparison.only_before) == (1, 1, 2)
    assert (comparison.before.false_rejects, comparison.now.false_rejects) == (Share(1, 1), Share(0, 1))


def test_both_runs_have_figures_over_the_same_rows(tmp_path: Path) -> None:
    def run(good: float, bad: Any) -> list[RowOutcome]:
        rows = [row_outcome(abstain_verdict(score=good), GOOD, "g"), row_outcome(bad, WEAK_TEST, "b")]
        return [*rows, row_outcome(ABSTAIN, GOOD, "x", file="x")]

    comparison = compare_runs(run(0.6, RIGHT), save_run(tmp_path, *run(0.4, abstain_verdict(score=0.5))))
    assert (comparison.before.rejected_rightly, comparison.now.rejected_rightly) == (Share(0, 1), Share(1, 1))
    before, now = comparison.before.areas, comparison.now.areas
    assert [area and area.value for area in before.values()] == [0.0, None]
    assert [area and area.value for area in now.values()] == [1.0, None]
    assert list(now) == ["rows.jsonl", "x"]


def test_earlier_run_of_another_version_is_read(tmp_path: Path) -> None:
    verdict = {"verdict_version": 9, "decision": "accept", "score": 0.8, "mood": "fine"}
    (tmp_path / VERDICTS_FILE).write_text(json.dumps({"id": "a", "verdict": verdict, "more": 1}))
    assert read_earlier_run(tmp_path)["a"] == RowVerdict(decision="accept", score=0.8)


def test_folder_without_a_run_is_refused(tmp_path: Path) -> None:
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
TIERS = compare_tiers(ZERO, MODEL, Decimal("0.012"), Decimal(2))


def test_tiers_are_compared_over_labelled_rows() -> None:
    zero, model = TIERS.zero, TIERS.model
    assert (zero.decided, zero.right, zero.accepts_right) == (Share(1, 3), Share(1, 1), Share(0, 0))
    assert (zero.good_accepted, zero.rejects_right, zero.bad_rejected) == (Share(0, 1), Share(1, 1), Share(1, 2))
    assert (model.decided, model.right, model.accepts_right) == (Share(3, 3), Share(2, 3), Share(1, 2))
    assert (model.good_accepted, model.rejects_right, model.bad_rejected) == (Share(1, 1), Share(1, 1), Share(1, 2))
    assert TIERS.agreement == Share(1, 5)


def test_tiers_section_shows_both_tiers_with_intervals() -> None:
    assert "\n".join(tiers_section(TIERS)) == snapshot("""\
## Beside the $0 tier

The model was asked about 0.0 % (0 of 5; 0.0 to 43.4 %) of the dossiers. Spent: $0.012 of $2,
including repeated judgings and requests that may have been billed.
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


def test_tiers_section_without_labelled_rows_says_none_there() -> None:
    text = "\n".join(tiers_section(compare_tiers(ZERO[3:4], MODEL[3:4], Decimal(0), Decimal(1))))
    assert "| calibration error (ECE) | none there | none there |" in text
