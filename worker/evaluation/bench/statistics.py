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
    Alarm,
    Recall,
    Right,
    Shares,
    alarm,
    decided,
    false_rejects,
    is_rejected,
    recalls,
    right,
    without,
)
from worker.evaluation.bench.expectations import UNMET, Outcome
from worker.evaluation.bench.measures import Bin, Share, calibration
from worker.evaluation.bench.ranking import WEAK, Pairs, Ranking, pairs, rankings
from worker.signals.registry import SIGNALS
from worker.signals.signal import Looks

SLOWEST: Final = 10


class Wrong(NamedTuple):
    """A row decided against what was expected."""

    id: str
    expected: str
    decided: str
    concern: str


class Slow(NamedTuple):
    """A row, how long judging it took, and how large its diff is."""

    id: str
    ms: float
    lines: int
    bytes: int


class Report(Value):
    """Everything that is counted of one run."""

    rows: int
    criteria: Share
    """Rows with a criterion that somebody listed, which code can hold a change against."""
    unmet: Share
    """Listed criteria of good rows that the verdict calls missing or partly met."""
    decided: Mapping[str, Mapping[str, Shares]]
    false_rejects: Mapping[str, Mapping[str, Share]]
    """On good rows: all, then by file, language, with and without whole files."""
    recalls: Mapping[str, Mapping[str, Recall]]
    """By category, then within it."""
    categories: Mapping[str, Right]
    pairs: Mapping[str, Pairs]
    without: Mapping[str, Mapping[str, Share]]
    """With one repository left out."""
    rankings: Mapping[str, Ranking]
    calibration: tuple[Bin, ...]
    alarms: Mapping[str, Alarm]
    pointers: Share
    pointers_wrong: tuple[tuple[str, str], ...]
    findings: float
    """At the median, as *ms* is."""
    ms: float
    slowest: tuple[Slow, ...]
    cost_usd: Decimal | None
    evaluated: tuple[int, float] | None
    """How many rows carry an `evaluate` block, and the mean of their composed scores."""
    wrong: tuple[Wrong, ...]


def is_clean(one: Outcome) -> bool:
    """Must not be rejected."""
    return one.expect.decision == "accept" or (one.expect.decision is None and one.expect.outcome == "merged")


def tally(outcomes: Sequence[Outcome]) -> Report:
    """Count a run."""
    strong = [one for one in outcomes if one.expect.label != WEAK]
    clean = [one for one in strong if is_clean(one)]
    defects = [one for one in strong if one.expect.decision == "reject"]
    return Report(
        rows=len(outcomes),
        criteria=Share(sum(Looks.ISSUE in one.traits.looks for one in outcomes), len(outcomes)),
        unmet=_unmet(clean),
        decided=decided(strong),
        false_rejects=false_rejects(clean),
        recalls=recalls(defects),
        categories={category.value: right(category, strong, clean, defects) for category in Category},
        pairs=pairs(strong),
        without={"rejected": without(clean, is_rejected), "found": without(defects, lambda one: one.is_found)},
        rankings=rankings(outcomes),
        calibration=calibration((one.verdict.score, one.expect.good) for one in strong if one.expect.good is not None),
        alarms={signal.name: alarm(signal, clean, defects) for signal in SIGNALS},
        pointers=_pointers(outcomes),
        pointers_wrong=tuple((one.traits.id, place) for one in outcomes for place in one.traits.pointers_wrong),
        findings=median([len(one.verdict.findings) for one in outcomes]),
        ms=median([one.traits.ms for one in outcomes]),
        slowest=_slowest(outcomes),
        cost_usd=_cost(outcomes),
        evaluated=_evaluated(outcomes),
        wrong=tuple(_wrong(strong)),
    )


def _unmet(clean: Sequence[Outcome]) -> Share:
    states = [one.status for row in clean if Looks.ISSUE in row.traits.looks for one in row.verdict.criteria]
    return Share(sum(state in UNMET for state in states), len(states))


def _pointers(outcomes: Sequence[Outcome]) -> Share:
    shown = sum(one.traits.pointers for one in outcomes)
    return Share(shown - sum(len(one.traits.pointers_wrong) for one in outcomes), shown)


def _slowest(outcomes: Sequence[Outcome]) -> tuple[Slow, ...]:
    traits = sorted((one.traits for one in outcomes), key=lambda one: -one.ms)
    return tuple(Slow(one.id, one.ms, one.lines, one.bytes) for one in traits[:SLOWEST])


def _cost(outcomes: Sequence[Outcome]) -> Decimal | None:
    """What the models cost; None where the price of one reply is not known."""
    costs = [one.verdict.judge_cost_usd for one in outcomes]
    return None if None in costs else sum((cost for cost in costs if cost is not None), Decimal(0))


def _evaluated(outcomes: Sequence[Outcome]) -> tuple[int, float] | None:
    scores = [one.verdict.signals.get("evaluate_score") for one in outcomes]
    numbers = [float(score) for score in scores if isinstance(score, int | float)]
    return (len(numbers), sum(numbers) / len(numbers)) if numbers else None


def _wrong(strong: Sequence[Outcome]) -> Iterator[Wrong]:
    for one in strong:
        if _is_wrong(one):
            said = " ".join(filter(None, (one.verdict.decision, one.verdict.category)))
            yield Wrong(one.traits.id, one.expect.group, said, one.verdict.concern)


def _is_wrong(one: Outcome) -> bool:
    """To abstain is never wrong; whether a bad row is rejected for the right reason counts."""
    match one.verdict.decision:
        case "reject":
            return is_clean(one) or (one.expect.decision == "reject" and not one.is_rejected_rightly)
        case "accept":
            return one.expect.decision in {"not_accept", "reject"} or one.expect.resolved is False
        case _:
            return False
