"""The calibration seed: the first head that a model judged, and its scores, as a fixed mark for the rounds after it.

Does not score and decides nothing. Invariant: of the scores in a ledger, no others than these are ever told to a model; what
moved no more than the noise is no progress.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from worker.domain.dossier.dossier import Dossier
from worker.domain.verdict.verdict import Score
from worker.judge.llm.fencing import cut_text
from worker.judge.llm.history import PromptSection
from worker.judge.rounds.previous_rounds import PreviousRounds
from worker.judge.scoring import moved_scores

REASONING_BYTES: Final = 300


def first_scores(dossier: Dossier, previous: PreviousRounds) -> tuple[str, tuple[Score, ...]]:
    """What was judged first, in words, and its scores; none where nothing was, or all was by another law."""
    if dossier.seed is not None and dossier.seed.scores:
        return "the first head", dossier.seed.scores
    first = next((entry for entry in dossier.ledger if entry.eval_id == previous.first_eval_id), None)
    return (first.diff_summary, first.verdict.scores) if first else ("", ())


def calibration_sections(dossier: Dossier, previous: PreviousRounds) -> Iterator[PromptSection]:
    """*dossier* as it may leave."""
    what, scores = first_scores(dossier, previous)
    if scores:
        intro = (
            f"What was judged first ({what}) scored this. It is a fixed mark to measure by: score this head on its own "
            "merits, above it, equal or below."
        )
        lines = "\n".join(
            f"{score.criterion}: {score.score}/10. {cut_text(score.reasoning, REASONING_BYTES)}".rstrip()
            for score in scores
        )
        yield PromptSection("Calibration", intro, (("first scores", lines),))


def calibration_signals(now: Sequence[Score], first: Sequence[Score]) -> Mapping[str, str]:
    """What moved since then, for the verdict's signals; nothing where there is nothing to measure by."""
    if not now or not first:
        return {}
    moves = [f"{after.criterion} {before.score} to {after.score}" for before, after in moved_scores(first, now)]
    return {"progress_since_first": ", ".join(moves) or "none beyond noise"}
