"""From the scores by the rubric to the one number of a verdict.

The weakest criterion counts most, since three strengths don't make up for one fatal flaw. 0.5 is the line between what a maintainer
would take and what not.
"""

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

from worker.domain.verdict.verdict import Score

DECISION_LINE: Final = Decimal("5.5")
"""The middle of 1 to 10; from here on a strength is on the accepting side."""

LOWEST_SCORE: Final = 1
HIGHEST_SCORE: Final = 10

NO_SCORE: Final = 0.5
"""The verdict's score without scores, on neither side."""

NOISE: Final = 1
"""Points between two readings of the same thing that are no change (Simmer)."""

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
    """`strength` on [0, 1]: 1 becomes 0, DECISION_LINE 0.5, 10 becomes 1."""
    return float(((strength(scores) - 1) / 9).quantize(_THOUSANDTH, ROUND_HALF_UP))


def is_accepting(scores: Sequence[Score]) -> bool:
    return verdict_score(scores) >= 0.5  # noqa: PLR2004 - DECISION_LINE, on [0, 1]


def moved_scores(first: Sequence[Score], now: Sequence[Score]) -> tuple[tuple[Score, Score], ...]:
    """The scores that moved by more than the noise: first and now."""
    then = {score.criterion: score for score in first}
    pairs = ((then[score.criterion], score) for score in now if score.criterion in then)
    return tuple((before, after) for before, after in pairs if abs(before.score - after.score) > NOISE)


def _mean(scores: Sequence[Score]) -> Decimal:
    total = Decimal(sum(score.score for score in scores))
    return (total / len(scores)).quantize(_TENTH, ROUND_HALF_UP)
