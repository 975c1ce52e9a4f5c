"""A run beside another, row by row: beside an earlier run, and with a model beside the same rows at the $0 tier.

Only rows that both runs have are compared. An earlier run may be of an older version: only what is compared is read of it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from worker.domain.verdict.verdict import Abstain, Accept, Reject, Unit
from worker.errors import InputError
from worker.evaluation.bench.rows import ExpectedVerdict, RowOutcome
from worker.evaluation.bench.runner import VERDICTS_FILE, read_json_lines
from worker.evaluation.bench.statistics import (
    WEAK_LABEL,
    CalibrationError,
    RocArea,
    Share,
    calibration_error,
    is_clean,
    roc_area,
    share_of,
    total_cost,
)
from worker.evaluation.recorded_verdicts import summarize_decision


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, from_attributes=True)


class _FindingLine(_Lenient):
    signal: str


class RowVerdict(_Lenient):
    """The part of a verdict that is compared."""

    decision: Literal["accept", "reject", "abstain"]
    category: str | None = None
    abstain_reason: str | None = None
    score: Unit
    findings: tuple[_FindingLine, ...] = ()

    @property
    def signals(self) -> frozenset[str]:
        return frozenset(finding.signal for finding in self.findings)


class _VerdictLine(_Lenient):
    id: str
    verdict: RowVerdict


class Difference(NamedTuple):
    """A row that is decided differently. `is_better` is None where what was expected does not tell."""

    id: str
    expected: str
    before: str
    now: str
    is_better: bool | None
    concern: str


class MovedScore(NamedTuple):
    """A row that is decided alike, with another score."""

    id: str
    expected: str
    before: float
    now: float
    is_better: bool | None


class SignalSwing(NamedTuple):
    """In how many rows a signal fires that did not before, and the reverse."""

    new_on_good: int
    gone_on_good: int
    new_elsewhere: int
    gone_elsewhere: int


class RunFigures(NamedTuple):
    """The figures of one of the two runs, over the rows that both have."""

    false_rejects: Share
    rejected_rightly: Share
    areas: Mapping[str, RocArea | None]
    """Under the curve of the score, by file."""


@dataclass(frozen=True)
class Comparison:
    """Two runs over the rows that both have."""

    rows: int
    only_now: int
    only_before: int
    before: RunFigures
    now: RunFigures
    differences: tuple[Difference, ...]
    moved: tuple[MovedScore, ...]
    """The farthest first."""
    signals: Mapping[str, SignalSwing]


def read_earlier_run(folder: Path) -> Mapping[str, RowVerdict]:
    """The verdicts of the run in that folder, by row id. Raises InputError where there is none."""
    path = folder / VERDICTS_FILE
    verdicts: dict[str, RowVerdict] = {}
    for number, line in read_json_lines(path):
        try:
            parsed = _VerdictLine.model_validate(line)
        except ValidationError as error:
            field = ".".join(map(str, error.errors()[0]["loc"]))
            raise InputError(
                f"{path}:{number}: {field} is not what a verdict has there. Expected a run's --out."
            ) from error
        verdicts[parsed.id] = parsed.verdict
    return verdicts


def compare_runs(outcomes: Sequence[RowOutcome], earlier: Mapping[str, RowVerdict]) -> Comparison:
    """What changed since the earlier run."""
    pairs = [
        (row, earlier[row.traits.id], RowVerdict.model_validate(row.verdict))
        for row in outcomes
        if row.traits.id in earlier
    ]
    differences, moved = list[Difference](), list[MovedScore]()
    counts: Counter[tuple[str, bool, bool]] = Counter()
    for row, before, now in pairs:
        expect, decisions = row.expect, (summarize_decision(before), summarize_decision(now))
        if decisions[0] != decisions[1]:
            was, is_now = (_verdict_rank(expect, verdict) for verdict in (before, now))
            better = None if was == is_now else is_now > was
            differences.append(Difference(row.traits.id, expect.group, *decisions, better, row.verdict.concern))
        elif before.score != now.score:
            better = None if expect.good is None else (now.score > before.score) is expect.good
            moved.append(MovedScore(row.traits.id, expect.group, before.score, now.score, better))
        counts.update((name, True, is_clean(row)) for name in now.signals - before.signals)
        counts.update((name, False, is_clean(row)) for name in before.signals - now.signals)
    return Comparison(
        rows=len(pairs),
        only_now=len(outcomes) - len(pairs),
        only_before=len(earlier) - len(pairs),
        before=_run_figures([(row, before) for row, before, _ in pairs]),
        now=_run_figures([(row, now) for row, _, now in pairs]),
        differences=tuple(differences),
        moved=tuple(sorted(moved, key=lambda score: -abs(score.now - score.before))),
        signals={
            name: SignalSwing(*(counts[name, is_new, clean] for clean in (True, False) for is_new in (True, False)))
            for name in sorted({name for name, _, _ in counts})
        },
    )


def _run_figures(judged: Sequence[tuple[RowOutcome, RowVerdict]]) -> RunFigures:
    clean = [verdict.decision == "reject" for row, verdict in judged if is_clean(row)]
    defects = [(row.expect, verdict) for row, verdict in judged if row.expect.decision == "reject"]
    rightly = [_verdict_rank(expect, verdict) == BEST_RANK for expect, verdict in defects]
    scores: dict[str, dict[bool, list[float]]] = {}
    for row, verdict in judged:
        if row.expect.good is not None:
            scores.setdefault(row.traits.file, {True: [], False: []})[row.expect.good].append(verdict.score)
    return RunFigures(
        Share(sum(clean), len(clean)),
        Share(sum(rightly), len(rightly)),
        {file: roc_area(scores[file][True], scores[file][False]) for file in sorted(scores)},
    )


BEST_RANK: Final = 2


def _verdict_rank(expect: ExpectedVerdict, verdict: RowVerdict) -> int:
    """How good an answer is, by what was expected; the same for all answers where that is unknown."""
    ranks = {"accept": 0, "abstain": 1, "reject": 2 if expect.allows(verdict.category) else 1}
    if expect.decision == "not_accept":
        return min(ranks[verdict.decision], 1)
    if expect.good is None:
        return 0
    return {"accept": 2, "abstain": 1, "reject": 0}[verdict.decision] if expect.good else ranks[verdict.decision]


@dataclass(frozen=True)
class TierFigures:
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


@dataclass(frozen=True)
class TierComparison:
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
    """Compare two runs of the same rows, in the same order."""
    alike = [ours.verdict.decision == other.verdict.decision for ours, other in zip(zero, model, strict=True)]
    return TierComparison(
        zero=_tier(zero),
        model=_tier(model),
        agreement=Share(sum(alike), len(alike)),
        asked=share_of(model, lambda row: row.verdict.escalated),
        spent_usd=spent_usd,
        limit_usd=limit_usd,
    )


def _tier(outcomes: Sequence[RowOutcome]) -> TierFigures:
    rated = [row for row in outcomes if row.expect.good is not None and row.expect.label != WEAK_LABEL]
    good, bad = ([row for row in rated if row.expect.good is is_good] for is_good in (True, False))
    accepts = [row for row in rated if isinstance(row.verdict, Accept)]
    rejects = [row for row in rated if isinstance(row.verdict, Reject)]
    decided = [row for row in rated if not isinstance(row.verdict, Abstain)]
    accepts_right = sum(row.expect.good is True for row in accepts)
    rejects_right = sum(row.expect.good is False for row in rejects)
    return TierFigures(
        decided=Share(len(decided), len(rated)),
        right=Share(accepts_right + rejects_right, len(decided)),
        accepts_right=Share(accepts_right, len(accepts)),
        good_accepted=Share(accepts_right, len(good)),
        rejects_right=Share(rejects_right, len(rejects)),
        bad_rejected=Share(rejects_right, len(bad)),
        calibration_error=calibration_error([(row.verdict.score, row.expect.good is True) for row in rated]),
        cost_usd=total_cost(outcomes),
    )
