"""Two runs side by side, case by case.

Does not judge which is right beyond what was expected. Invariant: only rows that both runs hold are compared, and how
many they are is said. An earlier run may be of an older version: only what is compared is read of its verdicts.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from worker.domain.value import Value
from worker.domain.verdict.verdict import Unit
from worker.errors import InputError
from worker.evaluation.bench.expectations import RowOutcome
from worker.evaluation.bench.measures import RocArea, Share, roc_area
from worker.evaluation.bench.rows import ExpectedVerdict
from worker.evaluation.bench.run_folder import VERDICTS_FILE, read_json_lines
from worker.evaluation.bench.statistics import is_clean


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _FindingLine(_Lenient):
    signal: str


class RowVerdict(_Lenient):
    """What one run said about a row, as far as it is compared."""

    decision: Literal["accept", "reject", "abstain"]
    category: str | None = None
    abstain_reason: str | None = None
    score: Unit
    findings: tuple[_FindingLine, ...] = ()

    @property
    def summary(self) -> str:
        return " ".join(filter(None, (self.decision, self.category, self.abstain_reason)))

    @property
    def signals(self) -> frozenset[str]:
        return frozenset(finding.signal for finding in self.findings)


class _VerdictLine(_Lenient):
    id: str
    verdict: RowVerdict


class Difference(NamedTuple):
    """A row that is decided differently. *is_better* is None where the expectation does not tell."""

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
    """In how many rows a signal fires that did not before, and the other way round."""

    new_on_good: int
    gone_on_good: int
    new_elsewhere: int
    gone_elsewhere: int


class RunFigures(NamedTuple):
    """The figures of one of the two runs, over the rows that both hold."""

    false_rejects: Share
    rejected_rightly: Share
    areas: Mapping[str, RocArea | None]
    """Under the curve of the score, by file."""


class Comparison(Value):
    """Two runs."""

    rows: int
    only_now: int
    only_before: int
    before: RunFigures
    now: RunFigures
    differences: tuple[Difference, ...]
    moved: tuple[MovedScore, ...]
    """The farthest first."""
    signals: Mapping[str, SignalSwing]


class _RowPair(NamedTuple):
    expect: ExpectedVerdict
    id: str
    file: str
    is_clean: bool
    concern: str
    before: RowVerdict
    now: RowVerdict


def read_earlier_run(folder: Path) -> Mapping[str, RowVerdict]:
    """What a run in that folder said, by id. Raises InputError where there is none."""
    path = folder / VERDICTS_FILE
    return dict(_read_verdict(path, number, line) for number, line in read_json_lines(path))


def _read_verdict(path: Path, number: int, line: object) -> tuple[str, RowVerdict]:
    try:
        parsed = _VerdictLine.model_validate(line)
    except ValidationError as error:
        field = ".".join(map(str, error.errors()[0]["loc"]))
        raise InputError(
            f"{path}:{number}: {field} is not what a verdict has there. Expected a run's --out."
        ) from error
    return parsed.id, parsed.verdict


def compare_runs(outcomes: Sequence[RowOutcome], earlier: Mapping[str, RowVerdict]) -> Comparison:
    """What changed since."""
    common = [row for row in outcomes if row.traits.id in earlier]
    pairs = [_pair(row, earlier[row.traits.id]) for row in common]
    return Comparison(
        rows=len(pairs),
        only_now=len(outcomes) - len(pairs),
        only_before=len(earlier) - len(pairs),
        before=_run_figures(pairs, [pair.before for pair in pairs]),
        now=_run_figures(pairs, [pair.now for pair in pairs]),
        differences=tuple(_differences(pairs)),
        moved=tuple(sorted(_moved(pairs), key=lambda score: -abs(score.now - score.before))),
        signals=_signals(pairs),
    )


def _pair(outcome: RowOutcome, before: RowVerdict) -> _RowPair:
    verdict = outcome.verdict
    now = RowVerdict(
        decision=verdict.decision,
        category=verdict.category,
        abstain_reason=verdict.abstain_reason,
        score=verdict.score,
        findings=tuple(_FindingLine(signal=finding.signal) for finding in verdict.findings),
    )
    return _RowPair(
        outcome.expect, outcome.traits.id, outcome.traits.file, is_clean(outcome), verdict.concern, before, now
    )


def _run_figures(pairs: Sequence[_RowPair], verdicts: Sequence[RowVerdict]) -> RunFigures:
    both = list(zip(pairs, verdicts, strict=True))
    rated = [(pair, verdict.score) for pair, verdict in both if pair.expect.good is not None]
    clean = [verdict.decision == "reject" for pair, verdict in both if pair.is_clean]
    defects = [
        _verdict_rank(pair.expect, verdict) == _BEST_RANK for pair, verdict in both if pair.expect.decision == "reject"
    ]
    return RunFigures(
        Share(sum(clean), len(clean)),
        Share(sum(defects), len(defects)),
        {
            name: _area([held for held in rated if held[0].file == name])
            for name in sorted({pair.file for pair, _ in rated})
        },
    )


def _area(rows: Sequence[tuple[_RowPair, float]]) -> RocArea | None:
    return roc_area(
        [score for pair, score in rows if pair.expect.good], [score for pair, score in rows if not pair.expect.good]
    )


_BEST_RANK = 2


def _verdict_rank(expect: ExpectedVerdict, verdict: RowVerdict) -> int:
    """How good an answer is, by what was expected; the same for all answers where nobody knows."""
    ranks = {"accept": 0, "abstain": 1, "reject": 2 if expect.allows(verdict.category) else 1}
    if expect.decision == "not_accept":
        return min(ranks[verdict.decision], 1)
    if expect.good is None:
        return 0
    return {"accept": 2, "abstain": 1, "reject": 0}[verdict.decision] if expect.good else ranks[verdict.decision]


def _differences(pairs: Sequence[_RowPair]) -> Iterator[Difference]:
    for pair in pairs:
        if pair.before.summary != pair.now.summary:
            was, is_now = _verdict_rank(pair.expect, pair.before), _verdict_rank(pair.expect, pair.now)
            better = None if was == is_now else is_now > was
            yield Difference(pair.id, pair.expect.group, pair.before.summary, pair.now.summary, better, pair.concern)


def _moved(pairs: Sequence[_RowPair]) -> Iterator[MovedScore]:
    for pair in pairs:
        was, is_now = pair.before.score, pair.now.score
        if pair.before.summary == pair.now.summary and was != is_now:
            better = None if pair.expect.good is None else (is_now > was) is pair.expect.good
            yield MovedScore(pair.id, pair.expect.group, was, is_now, better)


def _signals(pairs: Sequence[_RowPair]) -> dict[str, SignalSwing]:
    counts: Counter[tuple[str, bool, bool]] = Counter()
    for pair in pairs:
        counts.update((name, True, pair.is_clean) for name in pair.now.signals - pair.before.signals)
        counts.update((name, False, pair.is_clean) for name in pair.before.signals - pair.now.signals)
    return {
        name: SignalSwing(*(counts[name, is_new, clean] for clean in (True, False) for is_new in (True, False)))
        for name in sorted({name for name, _, _ in counts})
    }
