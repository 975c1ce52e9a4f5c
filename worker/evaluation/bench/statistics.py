"""Counting: from judged rows to every figure of a report.

Does not word or draw anything. Invariant: rows with the label `weak` count only where scores are compared.
"""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from statistics import median
from typing import Final, NamedTuple

from worker.domain.value import Value
from worker.domain.verdict.verdict import Category
from worker.evaluation.bench.decisions import (
    CategoryAccuracy,
    DecisionShares,
    DefectRecall,
    SignalAlarms,
    category_accuracy,
    decision_shares,
    defect_recalls,
    false_reject_shares,
    is_rejected,
    shares_without_each,
    signal_alarms,
)
from worker.evaluation.bench.expectations import UNMET, RowOutcome
from worker.evaluation.bench.measures import CalibrationBin, Share, calibration_bins
from worker.evaluation.bench.ranking import WEAK_LABEL, PairRanking, ScoreRanking, rank_files, rank_pairs
from worker.signals.registry import SIGNALS
from worker.signals.signal import SignalScope

MOST_SLOW: Final = 10


class WrongRow(NamedTuple):
    """A row decided against what was expected."""

    id: str
    expected: str
    decided: str
    concern: str


class SlowRow(NamedTuple):
    """A row, how long judging it took, and how large its diff is."""

    id: str
    ms: float
    lines: int
    bytes: int


class BenchReport(Value):
    """Everything that is counted of one run."""

    rows: int
    criteria: Share
    """Rows with a criterion that somebody listed, which code can hold a change against."""
    unmet: Share
    """Listed criteria of good rows that the verdict calls missing or partly met."""
    decided: Mapping[str, Mapping[str, DecisionShares]]
    false_rejects: Mapping[str, Mapping[str, Share]]
    """On good rows: all, then by file, language, with and without whole files."""
    recalls: Mapping[str, Mapping[str, DefectRecall]]
    """By category, then within it."""
    categories: Mapping[str, CategoryAccuracy]
    pairs: Mapping[str, PairRanking]
    without: Mapping[str, Mapping[str, Share]]
    """With one repository left out."""
    rankings: Mapping[str, ScoreRanking]
    calibration: tuple[CalibrationBin, ...]
    alarms: Mapping[str, SignalAlarms]
    pointers: Share
    pointers_wrong: tuple[tuple[str, str], ...]
    findings: float
    """At the median, as *ms* is."""
    ms: float
    slowest: tuple[SlowRow, ...]
    cost_usd: Decimal | None
    evaluated: tuple[int, float] | None
    """How many rows carry an `evaluate` block, and the mean of their composed scores."""
    wrong: tuple[WrongRow, ...]


def is_clean(outcome: RowOutcome) -> bool:
    """Must not be rejected."""
    return outcome.expect.decision == "accept" or (
        outcome.expect.decision is None and outcome.expect.outcome == "merged"
    )


def compute_report(outcomes: Sequence[RowOutcome]) -> BenchReport:
    """Count a run."""
    strong = [row for row in outcomes if row.expect.label != WEAK_LABEL]
    clean = [row for row in strong if is_clean(row)]
    defects = [row for row in strong if row.expect.decision == "reject"]
    return BenchReport(
        rows=len(outcomes),
        criteria=Share(sum(SignalScope.ISSUE in row.traits.looks for row in outcomes), len(outcomes)),
        unmet=_unmet(clean),
        decided=decision_shares(strong),
        false_rejects=false_reject_shares(clean),
        recalls=defect_recalls(defects),
        categories={category.value: category_accuracy(category, strong, clean, defects) for category in Category},
        pairs=rank_pairs(strong),
        without={
            "rejected": shares_without_each(clean, is_rejected),
            "found": shares_without_each(defects, lambda row: row.is_found),
        },
        rankings=rank_files(outcomes),
        calibration=calibration_bins(
            (row.verdict.score, row.expect.good) for row in strong if row.expect.good is not None
        ),
        alarms={signal.name: signal_alarms(signal, clean, defects) for signal in SIGNALS},
        pointers=_pointers(outcomes),
        pointers_wrong=tuple((row.traits.id, pointer) for row in outcomes for pointer in row.traits.pointers_wrong),
        findings=median([len(row.verdict.findings) for row in outcomes]),
        ms=median([row.traits.ms for row in outcomes]),
        slowest=_slowest(outcomes),
        cost_usd=_cost(outcomes),
        evaluated=_evaluated(outcomes),
        wrong=tuple(_wrong(strong)),
    )


def _unmet(clean: Sequence[RowOutcome]) -> Share:
    states = [
        criterion.status for row in clean if SignalScope.ISSUE in row.traits.looks for criterion in row.verdict.criteria
    ]
    return Share(sum(state in UNMET for state in states), len(states))


def _pointers(outcomes: Sequence[RowOutcome]) -> Share:
    shown = sum(row.traits.pointers for row in outcomes)
    return Share(shown - sum(len(row.traits.pointers_wrong) for row in outcomes), shown)


def _slowest(outcomes: Sequence[RowOutcome]) -> tuple[SlowRow, ...]:
    traits = sorted((row.traits for row in outcomes), key=lambda traits: -traits.ms)
    return tuple(SlowRow(row.id, row.ms, row.lines, row.bytes) for row in traits[:MOST_SLOW])


def _cost(outcomes: Sequence[RowOutcome]) -> Decimal | None:
    """What the models cost; None where the price of one reply is not known."""
    costs = [row.verdict.judge_cost_usd for row in outcomes]
    return None if None in costs else sum((cost for cost in costs if cost is not None), Decimal(0))


def _evaluated(outcomes: Sequence[RowOutcome]) -> tuple[int, float] | None:
    scores = [row.verdict.signals.get("evaluate_score") for row in outcomes]
    numbers = [float(score) for score in scores if isinstance(score, int | float)]
    return (len(numbers), sum(numbers) / len(numbers)) if numbers else None


def _wrong(strong: Sequence[RowOutcome]) -> Iterator[WrongRow]:
    for row in strong:
        if _is_wrong(row):
            decided = " ".join(filter(None, (row.verdict.decision, row.verdict.category)))
            yield WrongRow(row.traits.id, row.expect.group, decided, row.verdict.concern)


def _is_wrong(outcome: RowOutcome) -> bool:
    """To abstain is never wrong; whether a bad row is rejected for the right reason counts."""
    match outcome.verdict.decision:
        case "reject":
            return is_clean(outcome) or (outcome.expect.decision == "reject" and not outcome.is_rejected_rightly)
        case "accept":
            return outcome.expect.decision in {"not_accept", "reject"} or outcome.expect.resolved is False
        case _:
            return False
