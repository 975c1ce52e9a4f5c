"""Count a run: every figure of a report out of judged rows; and shares with intervals, areas under curves, calibration.

Rows with the label `weak` count only where scores are compared. Rows of different files are never compared, since what
made their truth known differs.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from math import sqrt
from random import Random
from statistics import median
from typing import Final, NamedTuple, TypeVar

from worker.domain.verdict.verdict import Abstain, Accept, Category, Reject
from worker.evaluation.bench.rows import UNMET, RowOutcome
from worker.signals.heuristic_opinion import SIGNALS
from worker.signals.signal import Signal, SignalKind, SignalScope

T = TypeVar("T")

Z: Final = 1.959964
"""Two-sided 95 %."""


class Share(NamedTuple):
    """*hits* of *of*, and the 95 % interval after Wilson (1927)."""

    hits: int
    of: int

    @property
    def rate(self) -> float:
        return self.hits / self.of if self.of else 0.0

    @property
    def low(self) -> float:
        return wilson_interval(self.rate, self.of)[0]

    @property
    def high(self) -> float:
        return wilson_interval(self.rate, self.of)[1]


def wilson_interval(rate: float, of: int) -> tuple[float, float]:
    """The 95 % interval of a rate of *of*; 0 to 1 where *of* is 0."""
    if not of:
        return 0.0, 1.0
    centre = rate + Z * Z / (2 * of)
    half = Z * sqrt(rate * (1 - rate) / of + Z * Z / (4 * of * of))
    whole = 1 + Z * Z / of
    return (rate and (centre - half) / whole, 1.0 if rate == 1 else (centre + half) / whole)


class RocArea(NamedTuple):
    """The area under a ROC curve with its 95 % interval after Hanley and McNeil (1982); 0.5 is chance."""

    value: float
    low: float
    high: float
    good: int
    bad: int


def roc_area(good: Sequence[float], bad: Sequence[float]) -> RocArea | None:
    """How often a good score exceeds a bad one; ties count half. None where one side is empty."""
    if not good or not bad:
        return None
    order, pairs = sorted(bad), len(good) * len(bad)
    wins = sum(bisect_left(order, score) + bisect_right(order, score) for score in good) / 2
    value, half = wins / pairs, Z * _standard_error(wins, len(good), len(bad))
    return RocArea(value, max(0.0, value - half), min(1.0, value + half), len(good), len(bad))


def _standard_error(wins: float, good: int, bad: int) -> float:
    """Standard error of the area. Half a pair is moved towards chance: else a perfect score would have an error of 0."""
    value = (wins + 0.5) / (good * bad + 1)
    above, twice = value / (2 - value), 2 * value * value / (1 + value)
    squared = value * (1 - value) + (good - 1) * (above - value * value) + (bad - 1) * (twice - value * value)
    return sqrt(squared / (good * bad))


class CurvePoint(NamedTuple):
    """A point of a curve."""

    x: float
    y: float


def roc_curve(good: Sequence[float], bad: Sequence[float]) -> tuple[CurvePoint, ...]:
    """The share of good scores (y) and of bad ones (x) at or above each score, from none to all."""
    ups, downs = sorted(good), sorted(bad)
    points = (
        CurvePoint(_share_from(downs, score), _share_from(ups, score)) for score in sorted({*good, *bad}, reverse=True)
    )
    return (CurvePoint(0.0, 0.0), *points)


def _share_from(order: list[float], score: float) -> float:
    return (len(order) - bisect_left(order, score)) / len(order) if order else 0.0


class RankedRow(NamedTuple):
    """A row to compare with those of its group, by *score* and by the *baseline*'s score."""

    group: str
    good: bool
    score: float
    baseline: float = 0.0


class PairsWon(NamedTuple):
    """Of *pairs* of a good and a bad row of one group, the share in which the good one scored higher (a tie: half).

    The interval is the middle 95 % of RESAMPLES draws of whole groups, since pairs of one group are not independent.
    Where all groups have the same share or are fewer than FEWEST_GROUPS, draws vary too little: Wilson's over groups.
    """

    rate: float
    low: float
    high: float
    pairs: int
    groups: int


RESAMPLES: Final = 500
TAIL_DRAWS: Final = RESAMPLES // 40
"""Draws beyond each end of a 95 % interval."""

FEWEST_GROUPS: Final = 10

WonOfPairs = tuple[float, int]
"""Pairs won in a group, of how many."""


def pairs_won(rows: Iterable[RankedRow]) -> PairsWon | None:
    """Pairs won by score. None where no group has good and bad rows."""
    return _pairs_interval([(ours, pairs) for ours, _, pairs in _groups(rows)], floor=0.0)


def pairs_lift(rows: Iterable[RankedRow]) -> PairsWon | None:
    """Pairs won by score less pairs won by the baseline, from -1 to 1. None where no group has good and bad rows."""
    return _pairs_interval([(ours - rival, pairs) for ours, rival, pairs in _groups(rows)], floor=-1.0)


def _groups(rows: Iterable[RankedRow]) -> Iterator[tuple[float, float, int]]:
    """Pairs won by score and by baseline, and how many pairs there are, of each group with good and bad rows."""
    for _, members in groupby(sorted(rows), key=lambda row: row.group):
        sides: tuple[list[RankedRow], list[RankedRow]] = ([], [])
        for row in members:
            sides[row.good].append(row)
        bad, good = sides
        ours = roc_area([row.score for row in good], [row.score for row in bad])
        rival = roc_area([row.baseline for row in good], [row.baseline for row in bad])
        if ours is not None and rival is not None:
            yield ours.value * ours.good * ours.bad, rival.value * rival.good * rival.bad, len(good) * len(bad)


def _pairs_interval(groups: list[WonOfPairs], floor: float) -> PairsWon | None:
    if not groups:
        return None
    rate = _pairs_rate(groups)
    low, high = _resampled_interval(groups, _pairs_rate)
    if low == high or len(groups) < FEWEST_GROUPS:
        low, high = (floor + (1 - floor) * end for end in wilson_interval((rate - floor) / (1 - floor), len(groups)))
    return PairsWon(rate, low, high, sum(pairs for _, pairs in groups), len(groups))


def _pairs_rate(groups: Sequence[WonOfPairs]) -> float:
    return sum(won for won, _ in groups) / sum(pairs for _, pairs in groups)


def _resampled_interval(rows: Sequence[T], figure: Callable[[Sequence[T]], float]) -> tuple[float, float]:
    """The middle 95 % of a figure over draws of the rows."""
    random = Random(0)  # noqa: S311 - the same rows give the same interval; nothing is secret here
    drawn = sorted(figure(random.choices(rows, k=len(rows))) for _ in range(RESAMPLES))
    return drawn[TAIL_DRAWS], drawn[-TAIL_DRAWS - 1]


class CalibrationBin(NamedTuple):
    """Rows whose score lies in [low, high), and how many of them were good."""

    low: float
    high: float
    mean: float
    good: Share


ScoredRow = tuple[float, bool]
"""A row's score, and whether the row is good."""


def calibration_bins(rows: Iterable[ScoredRow], bins: int = 10) -> tuple[CalibrationBin, ...]:
    """Ten bins of the score without the empty ones: a calibrated score of 0.7 is good in 70 %."""
    held: list[list[ScoredRow]] = [[] for _ in range(bins)]
    for score, good in rows:
        held[min(bins - 1, int(score * bins))].append((score, good))
    return tuple(
        CalibrationBin(
            at / bins,
            (at + 1) / bins,
            sum(score for score, _ in part) / len(part),
            Share(sum(good for _, good in part), len(part)),
        )
        for at, part in enumerate(held)
        if part
    )


class CalibrationError(NamedTuple):
    """The expected calibration error of the score, and the middle 95 % of draws of the rows."""

    value: float
    low: float
    high: float


def calibration_error(rows: Sequence[ScoredRow]) -> CalibrationError | None:
    """By how much the score differs from the share of good rows, over ten bins, weighted. None without rows."""
    return CalibrationError(_gap(rows), *_resampled_interval(rows, _gap)) if rows else None


def _gap(rows: Sequence[ScoredRow]) -> float:
    return sum(part.good.of * abs(part.mean - part.good.rate) for part in calibration_bins(rows)) / len(rows)


Rows = Sequence[RowOutcome]
Key = Callable[[RowOutcome], str]

MOST_SLOW: Final = 10
WEAK_LABEL: Final = "weak"
CONSTANT_SCORE: Final = 0.5
"""The area under the curve of a score that is always the same."""

ALL_DEFECTS: Final = "all defects"


class DecisionShares(NamedTuple):
    """What was decided about a group of rows."""

    rows: int
    accepted: Share
    rejected: Share
    abstained: Share


class DefectRecall(NamedTuple):
    """How many of the rows with one kind of defect were recognised, and how exactly."""

    rows: int
    rejected: Share
    found: Share
    named: Share | None
    marked: Share | None


class CategoryAccuracy(NamedTuple):
    """One category: the share of its rejects that are right, of its defects rejected, and of good rows suspected."""

    precision: Share
    recall: Share
    suspected: Share


class SignalAlarms(NamedTuple):
    """One signal on good changes, and on defects of its category."""

    kind: SignalKind
    looks_at: SignalScope
    clean: Share
    defects: Share


class ScoreRanking(NamedTuple):
    """The score against the size of the change, the baseline that costs nothing (smaller is better), and a constant.

    `within`, `within_size` and `lift` compare within a task or repository; None where none has good and bad rows.
    """

    ours: RocArea
    size: RocArea
    constant: float
    within: PairsWon | None
    within_size: PairsWon | None
    lift: PairsWon | None
    curve: tuple[CurvePoint, ...]
    size_curve: tuple[CurvePoint, ...]


class PairRanking(NamedTuple):
    """Defects against the row that is like each but for the defect."""

    ours: PairsWon | None
    size: PairsWon | None


class WrongRow(NamedTuple):
    """A row decided against what was expected."""

    id: str
    expected: str
    decided: str
    concern: str


class SlowRow(NamedTuple):
    """A row, the milliseconds that judging it took, and the size of its diff."""

    id: str
    ms: float
    lines: int
    bytes: int


@dataclass(frozen=True)
class BenchReport:
    """Everything that is counted of one run."""

    rows: int
    criteria: Share
    """Rows with a criterion that a person listed, which code can check a change against."""
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


def compute_report(outcomes: Rows) -> BenchReport:
    """Count a run."""
    strong = [row for row in outcomes if row.expect.label != WEAK_LABEL]
    clean = [row for row in strong if is_clean(row)]
    defects = [row for row in strong if row.expect.decision == "reject"]
    shown = sum(row.traits.pointers for row in outcomes)
    pointers_wrong = tuple((row.traits.id, pointer) for row in outcomes for pointer in row.traits.pointers_wrong)
    slowest = sorted((row.traits for row in outcomes), key=lambda traits: -traits.ms)[:MOST_SLOW]
    states = [criterion.status for row in clean if _has_criteria(row) for criterion in row.verdict.criteria]
    scores = [row.verdict.signals.get("evaluate_score") for row in outcomes]
    composed = [float(score) for score in scores if isinstance(score, int | float)]
    return BenchReport(
        rows=len(outcomes),
        criteria=share_of(outcomes, _has_criteria),
        unmet=Share(sum(state in UNMET for state in states), len(states)),
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
        pointers=Share(shown - len(pointers_wrong), shown),
        pointers_wrong=pointers_wrong,
        findings=median([len(row.verdict.findings) for row in outcomes]),
        ms=median([row.traits.ms for row in outcomes]),
        slowest=tuple(SlowRow(traits.id, traits.ms, traits.lines, traits.bytes) for traits in slowest),
        cost_usd=total_cost(outcomes),
        evaluated=(len(composed), sum(composed) / len(composed)) if composed else None,
        wrong=tuple(_find_wrong_rows(strong)),
    )


def is_clean(row: RowOutcome) -> bool:
    """Whether the row must not be rejected."""
    return row.expect.decision == "accept" or (row.expect.decision is None and row.expect.outcome == "merged")


def is_rejected(row: RowOutcome) -> bool:
    return isinstance(row.verdict, Reject)


def _is_rejected_rightly(row: RowOutcome) -> bool:
    return row.is_rejected_rightly


def _has_criteria(row: RowOutcome) -> bool:
    return SignalScope.ISSUE in row.traits.looks


def share_of(rows: Rows, holds: Callable[[RowOutcome], bool]) -> Share:
    """The share of the rows for which something holds."""
    return Share(sum(map(holds, rows)), len(rows))


def count_by(rows: Iterable[RowOutcome], key: Key, count: Callable[[Rows], T]) -> dict[str, T]:
    """What is counted of the rows of each *key*; rows with an empty key are left out."""
    held: dict[str, list[RowOutcome]] = {}
    for row in rows:
        held.setdefault(key(row), []).append(row)
    return {name: count(held[name]) for name in sorted(held) if name}


def _category(row: RowOutcome) -> str:
    return str(row.expect.category)


def _texts(row: RowOutcome) -> str:
    return "whole files" if row.traits.whole_files else "diff alone"


def decision_shares(rows: Rows) -> dict[str, dict[str, DecisionShares]]:
    """By what was expected, and by the kind within it."""

    def shares(group: Rows) -> DecisionShares:
        return DecisionShares(
            len(group),
            accepted=share_of(group, lambda row: isinstance(row.verdict, Accept)),
            rejected=share_of(group, is_rejected),
            abstained=share_of(group, lambda row: isinstance(row.verdict, Abstain)),
        )

    return {
        "expected": count_by(rows, lambda row: row.expect.group, shares),
        "kind": count_by(rows, lambda row: row.expect.kind and f"{row.expect.group}, {row.expect.kind}", shares),
    }


def false_reject_shares(clean: Rows) -> dict[str, dict[str, Share]]:
    """Good rows that were rejected: all, then divided."""
    keys: dict[str, Key] = {
        "all": lambda _: "all",
        "file": lambda row: row.traits.file,
        "language": lambda row: row.traits.language,
        "texts": _texts,
        "file and language": lambda row: f"{row.traits.file}, {row.traits.language}",
    }
    return {name: count_by(clean, key, lambda group: share_of(group, is_rejected)) for name, key in keys.items()}


def defect_recalls(defects: Rows) -> dict[str, dict[str, DefectRecall]]:
    """Defects of a known category: by it and all together, then divided within it."""
    keys: dict[str, Key] = {
        "category": _category,
        "difficulty": lambda row: row.expect.difficulty and f"{_category(row)}, {row.expect.difficulty}",
        "texts": lambda row: f"{_category(row)}, {_texts(row)}",
        "language": lambda row: f"{_category(row)}, {row.traits.language}",
        "variant": lambda row: row.expect.variant and f"{_category(row)}: {row.expect.variant}",
    }
    of_category = [row for row in defects if row.expect.category]
    recalls = {name: count_by(of_category, key, _recall) for name, key in keys.items()}
    if len(recalls["category"]) > 1:
        recalls["category"][ALL_DEFECTS] = _recall(of_category)
    return recalls


def _recall(rows: Rows) -> DefectRecall:
    placed = [row for row in rows if row.expect.where]
    missing = [row for row in rows if row.expect.missing]
    return DefectRecall(
        len(rows),
        rejected=share_of(rows, _is_rejected_rightly),
        found=share_of(rows, lambda row: row.is_found),
        named=share_of(placed, lambda row: row.is_named) if placed else None,
        marked=share_of(missing, lambda row: row.is_marked) if missing else None,
    )


def category_accuracy(category: Category, strong: Rows, clean: Rows, defects: Rows) -> CategoryAccuracy:
    """Of all rejects with this category where good or bad is certain, the right ones; of all its defects, the same."""
    certain = [row for row in strong if row.expect.decision in {"accept", "reject"}]
    return CategoryAccuracy(
        precision=share_of([row for row in certain if row.verdict.category == category], _is_rejected_rightly),
        recall=share_of([row for row in defects if row.expect.category == category], _is_rejected_rightly),
        suspected=share_of(clean, lambda row: row.suspects(category)),
    )


def shares_without_each(rows: Rows, holds: Callable[[RowOutcome], bool]) -> Mapping[str, Share]:
    """The share with each repository left out in turn: whether one of them carries it. Empty for a single repository."""
    count = Counter(row.traits.repository for row in rows)
    hits = Counter(row.traits.repository for row in rows if holds(row))
    if len(count) == 1:
        return {}
    return {name: Share(hits.total() - hits[name], count.total() - count[name]) for name in sorted(count)}


def signal_alarms(signal: Signal, clean: Rows, defects: Rows) -> SignalAlarms:
    """Its alarms; a row on which it fired counts among its opportunities, even if it is none by our own count."""

    def has_fired(row: RowOutcome) -> bool:
        return any(finding.signal == signal.name for finding in row.verdict.findings)

    return SignalAlarms(
        signal.kind,
        signal.scope,
        clean=share_of([row for row in clean if signal.scope in row.traits.looks or has_fired(row)], has_fired),
        defects=share_of([row for row in defects if row.expect.category == signal.category], has_fired),
    )


def rank_files(outcomes: Rows) -> dict[str, ScoreRanking]:
    """By file with good and bad rows; a file's good rows also against its bad ones of the label `weak`."""
    rated = [row for row in outcomes if row.expect.good is not None]
    groups: dict[str, Rows] = {}
    for name, rows in count_by(rated, lambda row: row.traits.file, list).items():
        groups[name] = [row for row in rows if row.expect.label != WEAK_LABEL]
        groups[f"{name}, weak"] = [row for row in rows if (row.expect.label == WEAK_LABEL) is not row.expect.good]
    rankings = {name: _rank_scores(rows) for name, rows in groups.items()}
    return {name: ranking for name, ranking in rankings.items() if ranking is not None}


def _rank_scores(rows: Rows) -> ScoreRanking | None:
    good, bad = ([row for row in rows if row.expect.good is is_good] for is_good in (True, False))
    scores = [row.verdict.score for row in good], [row.verdict.score for row in bad]
    sizes = [_smallness(row) for row in good], [_smallness(row) for row in bad]
    ours, size = roc_area(*scores), roc_area(*sizes)
    if ours is None or size is None:
        return None
    entries = [
        RankedRow(
            row.expect.instance or row.traits.repository, bool(row.expect.good), row.verdict.score, _smallness(row)
        )
        for row in rows
    ]
    return ScoreRanking(
        ours,
        size,
        CONSTANT_SCORE,
        pairs_won(entries),
        pairs_won(_by_baseline(entries)),
        pairs_lift(entries),
        curve=roc_curve(*scores),
        size_curve=roc_curve(*sizes),
    )


def _smallness(row: RowOutcome) -> float:
    return -float(row.traits.lines)


def _by_baseline(entries: Sequence[RankedRow]) -> list[RankedRow]:
    return [entry._replace(score=entry.baseline) for entry in entries]


def rank_pairs(strong: Rows) -> dict[str, PairRanking]:
    """By the category of the defects whose other row was judged, too."""
    twins = {row.traits.id: row for row in strong}
    paired = [row for row in strong if row.expect.category and row.expect.pair in twins]

    def rank(defects: Rows) -> PairRanking:
        entries = [
            RankedRow(defect.traits.id, side is not defect, side.verdict.score, _smallness(side))
            for defect in defects
            for side in (defect, twins[defect.expect.pair or ""])
        ]
        return PairRanking(pairs_won(entries), pairs_won(_by_baseline(entries)))

    return count_by(paired, _category, rank)


def total_cost(outcomes: Rows) -> Decimal | None:
    """What the models cost; None where the price of one reply is not known."""
    costs = [row.verdict.judge_cost_usd for row in outcomes]
    return None if None in costs else sum((cost for cost in costs if cost is not None), Decimal(0))


def _find_wrong_rows(strong: Rows) -> Iterator[WrongRow]:
    """The rows decided wrongly: an abstention never is; a bad row rejected for a wrong reason is."""
    for row in strong:
        if is_rejected(row):
            is_wrong = is_clean(row) or (row.expect.decision == "reject" and not row.is_rejected_rightly)
        else:
            is_against = row.expect.decision in {"not_accept", "reject"} or row.expect.resolved is False
            is_wrong = isinstance(row.verdict, Accept) and is_against
        if is_wrong:
            decided = " ".join(filter(None, (row.verdict.decision, row.verdict.category)))
            yield WrongRow(row.traits.id, row.expect.group, decided, row.verdict.concern)
