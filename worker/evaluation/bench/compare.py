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
from worker.evaluation.bench.expectations import Outcome
from worker.evaluation.bench.measures import Area, Share, area
from worker.evaluation.bench.rows import Expect
from worker.evaluation.bench.run_folder import VERDICTS, lines_of
from worker.evaluation.bench.statistics import is_clean


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Seen(_Lenient):
    signal: str


class Said(_Lenient):
    """What one run said about a row, as far as it is compared."""

    decision: Literal["accept", "reject", "abstain"]
    category: str | None = None
    abstain_reason: str | None = None
    score: Unit
    findings: tuple[_Seen, ...] = ()

    @property
    def words(self) -> str:
        return " ".join(filter(None, (self.decision, self.category, self.abstain_reason)))

    @property
    def signals(self) -> frozenset[str]:
        return frozenset(one.signal for one in self.findings)


class _Line(_Lenient):
    id: str
    verdict: Said


class Difference(NamedTuple):
    """A row that is decided differently. *is_better* is None where the expectation does not tell."""

    id: str
    expected: str
    before: str
    now: str
    is_better: bool | None
    concern: str


class Moved(NamedTuple):
    """A row that is decided alike, with another score."""

    id: str
    expected: str
    before: float
    now: float
    is_better: bool | None


class Swing(NamedTuple):
    """In how many rows a signal fires that did not before, and the other way round."""

    new_on_good: int
    gone_on_good: int
    new_elsewhere: int
    gone_elsewhere: int


class Sums(NamedTuple):
    """The figures of one of the two runs, over the rows that both hold."""

    false_rejects: Share
    rejected_rightly: Share
    areas: Mapping[str, Area | None]
    """Under the curve of the score, by file."""


class Comparison(Value):
    """Two runs."""

    rows: int
    only_now: int
    only_before: int
    before: Sums
    now: Sums
    differences: tuple[Difference, ...]
    moved: tuple[Moved, ...]
    """The farthest first."""
    signals: Mapping[str, Swing]


class _Pair(NamedTuple):
    expect: Expect
    id: str
    file: str
    is_clean: bool
    concern: str
    before: Said
    now: Said


def read_earlier(folder: Path) -> Mapping[str, Said]:
    """What a run in that folder said, by id. Raises InputError where there is none."""
    path = folder / VERDICTS
    return dict(_said(path, number, line) for number, line in lines_of(path))


def _said(path: Path, number: int, line: object) -> tuple[str, Said]:
    try:
        found = _Line.model_validate(line)
    except ValidationError as error:
        field = ".".join(map(str, error.errors()[0]["loc"]))
        raise InputError(
            f"{path}:{number}: {field} is not what a verdict has there. Expected a run's --out."
        ) from error
    return found.id, found.verdict


def compare(outcomes: Sequence[Outcome], earlier: Mapping[str, Said]) -> Comparison:
    """What changed since."""
    common = [one for one in outcomes if one.traits.id in earlier]
    pairs = [_pair(one, earlier[one.traits.id]) for one in common]
    return Comparison(
        rows=len(pairs),
        only_now=len(outcomes) - len(pairs),
        only_before=len(earlier) - len(pairs),
        before=_sums(pairs, [one.before for one in pairs]),
        now=_sums(pairs, [one.now for one in pairs]),
        differences=tuple(_differences(pairs)),
        moved=tuple(sorted(_moved(pairs), key=lambda one: -abs(one.now - one.before))),
        signals=_signals(pairs),
    )


def _pair(one: Outcome, before: Said) -> _Pair:
    verdict = one.verdict
    now = Said(
        decision=verdict.decision,
        category=verdict.category,
        abstain_reason=verdict.abstain_reason,
        score=verdict.score,
        findings=tuple(_Seen(signal=finding.signal) for finding in verdict.findings),
    )
    return _Pair(one.expect, one.traits.id, one.traits.file, is_clean(one), verdict.concern, before, now)


def _sums(pairs: Sequence[_Pair], said: Sequence[Said]) -> Sums:
    both = list(zip(pairs, said, strict=True))
    known = [(one, words.score) for one, words in both if one.expect.good is not None]
    clean = [words.decision == "reject" for one, words in both if one.is_clean]
    defects = [_worth(one.expect, words) == _BEST for one, words in both if one.expect.decision == "reject"]
    return Sums(
        Share(sum(clean), len(clean)),
        Share(sum(defects), len(defects)),
        {
            name: _area([held for held in known if held[0].file == name])
            for name in sorted({one.file for one, _ in known})
        },
    )


def _area(rows: Sequence[tuple[_Pair, float]]) -> Area | None:
    return area(
        [score for one, score in rows if one.expect.good], [score for one, score in rows if not one.expect.good]
    )


_BEST = 2


def _worth(expect: Expect, said: Said) -> int:
    """How good an answer is, by what was expected; the same for all answers where nobody knows."""
    ranks = {"accept": 0, "abstain": 1, "reject": 2 if expect.allows(said.category) else 1}
    if expect.decision == "not_accept":
        return min(ranks[said.decision], 1)
    if expect.good is None:
        return 0
    return {"accept": 2, "abstain": 1, "reject": 0}[said.decision] if expect.good else ranks[said.decision]


def _differences(pairs: Sequence[_Pair]) -> Iterator[Difference]:
    for one in pairs:
        if one.before.words != one.now.words:
            was, is_now = _worth(one.expect, one.before), _worth(one.expect, one.now)
            better = None if was == is_now else is_now > was
            yield Difference(one.id, one.expect.group, one.before.words, one.now.words, better, one.concern)


def _moved(pairs: Sequence[_Pair]) -> Iterator[Moved]:
    for one in pairs:
        was, is_now = one.before.score, one.now.score
        if one.before.words == one.now.words and was != is_now:
            better = None if one.expect.good is None else (is_now > was) is one.expect.good
            yield Moved(one.id, one.expect.group, was, is_now, better)


def _signals(pairs: Sequence[_Pair]) -> dict[str, Swing]:
    counts: Counter[tuple[str, bool, bool]] = Counter()
    for one in pairs:
        counts.update((name, True, one.is_clean) for name in one.now.signals - one.before.signals)
        counts.update((name, False, one.is_clean) for name in one.before.signals - one.now.signals)
    return {
        name: Swing(*(counts[name, is_new, clean] for clean in (True, False) for is_new in (True, False)))
        for name in sorted({name for name, _, _ in counts})
    }
