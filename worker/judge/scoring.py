"""From scores against the rubric to the one number of the verdict.

Does not score. Invariant: the number is decided by the weakest criterion first, since one fatal flaw is not made
good by three strengths; 0.5 is the line between what a maintainer would take and what not.
"""

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

from worker.domain.verdict.verdict import Score

DECISION_LINE: Final = Decimal("5.5")
"""The middle of 1 to 10: what is at or above it is on the accepting side."""

LOWEST_SCORE: Final = 1
HIGHEST_SCORE: Final = 10

NO_SCORE: Final = 0.5
"""On neither side: what was not scored at all."""

NOISE: Final = 1
"""Simmer: so many points between two readings of the same thing are no change."""

_TENTH: Final = Decimal("0.1")
_THOUSANDTH: Final = Decimal("0.001")


def composite(scores: Sequence[Score]) -> float:
    """The mean with one decimal (Simmer)."""
    return float(_mean(scores))


def strength(scores: Sequence[Score]) -> Decimal:
    """(2 × lowest + composite) / 3, from 1 to 10."""
    lowest = min(score.score for score in scores)
    return (2 * lowest + _mean(scores)) / 3


def verdict_score(scores: Sequence[Score]) -> float:
    """`strength` on [0, 1]: 1 becomes 0, LINE becomes 0.5, 10 becomes 1."""
    return float(((strength(scores) - 1) / 9).quantize(_THOUSANDTH, ROUND_HALF_UP))


def is_accepting(scores: Sequence[Score]) -> bool:
    return verdict_score(scores) >= 0.5  # noqa: PLR2004 - LINE, on [0, 1]


def moved_scores(first: Sequence[Score], now: Sequence[Score]) -> tuple[tuple[Score, Score], ...]:
    """The criteria whose score moved by more than the noise, as it was first and as it is now."""
    then = {score.criterion: score for score in first}
    pairs = ((then[score.criterion], score) for score in now if score.criterion in then)
    return tuple((before, after) for before, after in pairs if abs(before.score - after.score) > NOISE)


def _mean(scores: Sequence[Score]) -> Decimal:
    total = Decimal(sum(score.score for score in scores))
    return (total / len(scores)).quantize(_TENTH, ROUND_HALF_UP)
