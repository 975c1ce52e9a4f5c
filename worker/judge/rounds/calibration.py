"""The first head that a model judged: its scores are the fixed mark that later rounds are measured by.

No other score of the ledger is shown to a model, and a move within the noise is no progress.
"""

from collections.abc import Mapping, Sequence

from worker.domain.dossier.dossier import Dossier
from worker.domain.verdict.verdict import Score
from worker.judge.rounds.previous_rounds import PreviousRounds
from worker.judge.scoring import moved_scores


def first_scores(dossier: Dossier, previous: PreviousRounds) -> tuple[str, tuple[Score, ...]]:
    """A description of the first judged head, and its scores; none where no model judged it by this rubric."""
    if dossier.seed is not None and dossier.seed.scores:
        return "the first head", dossier.seed.scores
    first = next((entry for entry in dossier.ledger if entry.eval_id == previous.first_eval_id), None)
    return (first.diff_summary, first.verdict.scores) if first else ("", ())


def calibration_signals(now: Sequence[Score], first: Sequence[Score]) -> Mapping[str, str]:
    """Which scores moved since the first head, as a signal of the verdict; empty without scores to compare."""
    if not now or not first:
        return {}
    moves = [f"{after.criterion} {before.score} to {after.score}" for before, after in moved_scores(first, now)]
    return {"progress_since_first": ", ".join(moves) or "none beyond noise"}
