from decimal import Decimal

import pytest
from inline_snapshot import snapshot

from tests.worker.evaluation.bench.made import GOOD, WEAK_TEST, judged
from tests.worker.judge.verdicts import accepted, rejected, unjudged
from worker.evaluation.bench.measures import Share
from worker.evaluation.bench.tiers import calibration_error, compare_tiers
from worker.evaluation.bench.tiers_report import tiers_section

ZERO = [
    judged(unjudged(score=0.6), GOOD, "a"),
    judged(unjudged(score=0.6), WEAK_TEST, "b"),
    judged(rejected(score=0.1), WEAK_TEST, "c"),
    judged(unjudged(score=0.5), {}, "unknown"),
    judged(unjudged(score=0.5), {**WEAK_TEST, "label": "weak"}, "weak"),
]
MODEL = [
    judged(accepted(score=0.9), GOOD, "a"),
    judged(accepted(score=0.8), WEAK_TEST, "b"),
    judged(rejected(score=0.1), WEAK_TEST, "c"),
    judged(rejected(score=0.2), {}, "unknown"),
    judged(rejected(score=0.2), {**WEAK_TEST, "label": "weak"}, "weak"),
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


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ([(0.0, False)] * 10 + [(1.0, True)] * 10, 0.0),
        ([(1.0, False)] * 20, 1.0),
        ([(0.75, True)] * 15 + [(0.75, False)] * 5, 0.0),
        ([(0.95, True)] * 10 + [(0.95, False)] * 10, 0.45),
    ],
)
def test_the_calibration_error_is_the_gap_between_score_and_share(rows: list[tuple[float, bool]], error: float) -> None:
    found = calibration_error(rows)
    assert found is not None
    assert found.value == pytest.approx(error, abs=1e-9)
    assert found.low <= found.high
    assert calibration_error([]) is None
