"""Several opinions on one change, ruled together: what comes out of it, and what it means that one could not be had.

Does not rule (`second_opinion` and `panel` do) and asks nobody. Invariant: what several rule together names whose words stand.
"""

from enum import StrEnum
from typing import Final

from worker.domain.value import Value
from worker.domain.verdict.verdict import AbstainReason
from worker.judge.rulings import Ruling

NO_OPINION_REASONS: Final = frozenset(
    {AbstainReason.JUDGE_UNAVAILABLE, AbstainReason.REPLY_INVALID, AbstainReason.BUDGET, AbstainReason.PAUSED}
)
"""Nobody thought anything."""


class PanelAgreement(StrEnum):
    """How the opinions go together; ALONE: there is only one, since the others could not be had."""

    AGREE = "they agree"
    DIFFER = "they differ"
    ALONE = "one alone was had"


class PanelRuling(Value):
    """What several rule together. `speaker`: whose words and answers stand, by position."""

    ruling: Ruling
    speaker: int
    agreement: PanelAgreement


def is_model_ruling(ruling: Ruling) -> bool:
    """Whether a model said it: at a cap code alone rules, and may even accept what is safe."""
    return ruling.abstain_reason not in NO_OPINION_REASONS and ruling.throttled_reason is None


def intended_decision(ruling: Ruling) -> str:
    """What was meant: also where code did not let it stand."""
    if not is_model_ruling(ruling):
        return "no answer"
    return ruling.decision if ruling.decision != "abstain" else str(ruling.signals.get("model_decision", "cannot_tell"))
