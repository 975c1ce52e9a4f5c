"""A run with a model beside the same rows at the $0 tier: agreement, precision, recall, calibration, each with its interval.

Does not judge or word anything. Invariant: both tiers are counted over the same rows, those whose truth is known.
"""

from collections.abc import Sequence
from decimal import Decimal
from random import Random
from typing import NamedTuple

from worker.domain.value import Value
from worker.domain.verdict.verdict import Abstain, Accept, Reject
from worker.evaluation.bench.expectations import RowOutcome
from worker.evaluation.bench.measures import RESAMPLES, TAIL_DRAWS, Share, calibration_bins
from worker.evaluation.bench.ranking import WEAK_LABEL

Scored = tuple[float, bool]


class CalibrationError(NamedTuple):
    """The expected calibration error of the score, and the middle 95 % of draws of the rows."""

    value: float
    low: float
    high: float


class TierFigures(Value):
    """One tier over the rows that are known to be good or bad."""

    decided: Share
    right: Share
    """Of those decided: a good row accepted, a bad one rejected."""
    accepts_right: Share
    good_accepted: Share
    rejects_right: Share
    bad_rejected: Share
    calibration_error: CalibrationError | None
    cost_usd: Decimal | None


class TierComparison(Value):
    """`agreement`: rows that both decide alike. `asked`: rows about which the model was asked."""

    zero: TierFigures
    model: TierFigures
    agreement: Share
    asked: Share
    spent_usd: Decimal
    limit_usd: Decimal


def compare_tiers(
    zero: Sequence[RowOutcome], model: Sequence[RowOutcome], spent_usd: Decimal, limit_usd: Decimal
) -> TierComparison:
    """Both runs are of the same rows, in the same order."""
    pairs = [(row.verdict.decision, other.verdict.decision) for row, other in zip(zero, model, strict=True)]
    return TierComparison(
        zero=_tier(zero),
        model=_tier(model),
        agreement=Share(sum(ours == other for ours, other in pairs), len(pairs)),
        asked=Share(sum(row.verdict.escalated for row in model), len(model)),
        spent_usd=spent_usd,
        limit_usd=limit_usd,
    )


def _tier(outcomes: Sequence[RowOutcome]) -> TierFigures:
    rated = [row for row in outcomes if row.expect.good is not None and row.expect.label != WEAK_LABEL]
    good, bad = [row for row in rated if row.expect.good], [row for row in rated if not row.expect.good]
    accepts = [row for row in rated if isinstance(row.verdict, Accept)]
    rejects = [row for row in rated if isinstance(row.verdict, Reject)]
    accepts_right, rejects_right = (
        sum(bool(row.expect.good) for row in accepts),
        sum(not row.expect.good for row in rejects),
    )
    decided = [row for row in rated if not isinstance(row.verdict, Abstain)]
    return TierFigures(
        decided=Share(len(decided), len(rated)),
        right=Share(accepts_right + rejects_right, len(decided)),
        accepts_right=Share(accepts_right, len(accepts)),
        good_accepted=Share(accepts_right, len(good)),
        rejects_right=Share(rejects_right, len(rejects)),
        bad_rejected=Share(rejects_right, len(bad)),
        calibration_error=calibration_error([(row.verdict.score, bool(row.expect.good)) for row in rated]),
        cost_usd=_cost(outcomes),
    )


def _cost(outcomes: Sequence[RowOutcome]) -> Decimal | None:
    costs = [row.verdict.judge_cost_usd for row in outcomes]
    return None if None in costs else sum((cost for cost in costs if cost is not None), Decimal(0))


def calibration_error(rows: Sequence[Scored]) -> CalibrationError | None:
    """By how much the score differs from the share of good rows, over ten bins, weighted. None without rows."""
    if not rows:
        return None
    random = Random(0)  # noqa: S311 - the same rows give the same interval; nothing is secret here
    drawn = sorted(_gap(random.choices(rows, k=len(rows))) for _ in range(RESAMPLES))
    return CalibrationError(_gap(rows), drawn[TAIL_DRAWS], drawn[-TAIL_DRAWS - 1])


def _gap(rows: Sequence[Scored]) -> float:
    return sum(bin_.good.of * abs(bin_.mean - bin_.good.rate) for bin_ in calibration_bins(rows)) / len(rows)
