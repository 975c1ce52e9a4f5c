"""The words of a run with a model beside the $0 tier.

Does not count. Invariant: no rate is printed without its numbers and its interval.
"""

from collections.abc import Iterator

from worker.evaluation.bench.measures import Share
from worker.evaluation.bench.tiers import CalibrationError, TierComparison, TierFigures


def tiers_section(comparison: TierComparison | None) -> Iterator[str]:
    """Nothing where there was no model."""
    if comparison is None:
        return
    yield "## Beside the $0 tier"
    yield ""
    yield f"The model was asked about {_share(comparison.asked)} of the dossiers. Spent: ${comparison.spent_usd:f} of ${comparison.limit_usd:f},"
    yield "with what was judged again and what nobody knows to be billed."
    yield f"Decided alike by both: {_share(comparison.agreement)}."
    yield ""
    yield "| of dossiers known to be good or bad | $0 tier | with the model |"
    yield "|---|---|---|"
    for name, zero, model in _rows(comparison.zero, comparison.model):
        yield f"| {name} | {zero} | {model} |"
    yield ""
    yield "*Calibration error*: by how much the score differs from the share of good ones, over ten bins; the interval from drawing"
    yield "the dossiers again."
    yield ""


def _rows(zero: TierFigures, model: TierFigures) -> Iterator[tuple[str, str, str]]:
    for name, ours in (
        ("decided", "decided"),
        ("agreement: decided rightly", "right"),
        ("accepts that were right (precision)", "accepts_right"),
        ("good ones accepted (recall)", "good_accepted"),
        ("rejects that were right (precision)", "rejects_right"),
        ("bad ones rejected (recall)", "bad_rejected"),
    ):
        yield name, _share(getattr(zero, ours)), _share(getattr(model, ours))
    yield "calibration error (ECE)", _error(zero.calibration_error), _error(model.calibration_error)


def _share(share: Share) -> str:
    if not share.of:
        return "none there"
    return f"{share.rate * 100:.1f} % ({share.hits} of {share.of}; {share.low * 100:.1f} to {share.high * 100:.1f} %)"


def _error(error: CalibrationError | None) -> str:
    return "none there" if error is None else f"{error.value:.3f} ({error.low:.3f} to {error.high:.3f})"
