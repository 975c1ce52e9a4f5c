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
    pairs = [(one.verdict.decision, other.verdict.decision) for one, other in zip(zero, model, strict=True)]
    return TierComparison(
        zero=_tier(zero),
        model=_tier(model),
        agreement=Share(sum(one == other for one, other in pairs), len(pairs)),
        asked=Share(sum(one.verdict.escalated for one in model), len(model)),
        spent_usd=spent_usd,
        limit_usd=limit_usd,
    )


def _tier(outcomes: Sequence[RowOutcome]) -> TierFigures:
    known = [one for one in outcomes if one.expect.good is not None and one.expect.label != WEAK_LABEL]
    good, bad = [one for one in known if one.expect.good], [one for one in known if not one.expect.good]
    accepts = [one for one in known if isinstance(one.verdict, Accept)]
    rejects = [one for one in known if isinstance(one.verdict, Reject)]
    accepts_right, rejects_right = (
        sum(bool(one.expect.good) for one in accepts),
        sum(not one.expect.good for one in rejects),
    )
    decided = [one for one in known if not isinstance(one.verdict, Abstain)]
    return TierFigures(
        decided=Share(len(decided), len(known)),
        right=Share(accepts_right + rejects_right, len(decided)),
        accepts_right=Share(accepts_right, len(accepts)),
        good_accepted=Share(accepts_right, len(good)),
        rejects_right=Share(rejects_right, len(rejects)),
        bad_rejected=Share(rejects_right, len(bad)),
        calibration_error=calibration_error([(one.verdict.score, bool(one.expect.good)) for one in known]),
        cost_usd=_cost(outcomes),
    )


def _cost(outcomes: Sequence[RowOutcome]) -> Decimal | None:
    costs = [one.verdict.judge_cost_usd for one in outcomes]
    return None if None in costs else sum((cost for cost in costs if cost is not None), Decimal(0))


def calibration_error(rows: Sequence[Scored]) -> CalibrationError | None:
    """By how much the score differs from the share of good rows, over ten bins, weighted. None without rows."""
    if not rows:
        return None
    random = Random(0)  # noqa: S311 - the same rows give the same interval; nothing is secret here
    drawn = sorted(_gap(random.choices(rows, k=len(rows))) for _ in range(RESAMPLES))
    return CalibrationError(_gap(rows), drawn[TAIL_DRAWS], drawn[-TAIL_DRAWS - 1])


def _gap(rows: Sequence[Scored]) -> float:
    return sum(one.good.of * abs(one.mean - one.good.rate) for one in calibration_bins(rows)) / len(rows)
