"""Two rubrics side by side: what each says of a recorded change, and whether people's outcomes bear that out.

Does not judge. Invariant: two verdicts are compared only if the same judges made them; every share comes with its count.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from worker.domain.ids import EvalId
from worker.domain.value import Value
from worker.domain.verdict.verdict import Verdict
from worker.evaluation.supersession import OPINION_SIGNAL, UNFINISHED_REASONS


class RubricOpinion(NamedTuple):
    """What one rubric says. `asks`: whether a model would be asked, where there is one."""

    words: str
    decision: str | None
    score: float
    asks: bool
    places: tuple[str, ...] = ()
    concern: str = ""


class ComparedChange(NamedTuple):
    """A change by both rubrics. `model` made both verdicts; None: code alone did, now. `outcomes`: what came of it."""

    name: str
    eval_id: EvalId
    before: RubricOpinion
    now: RubricOpinion
    model: str | None
    outcomes: tuple[str, ...]

    @property
    def is_different(self) -> bool:
        return self.before.words != self.now.words

    @property
    def is_asked_otherwise(self) -> bool:
        return not self.is_different and self.before.asks != self.now.asks


class OutcomeAgreement(Value):
    """How many verdicts outcomes of one strength speak of, and how many of them they bear out."""

    strength: str
    before: tuple[int, int]
    now: tuple[int, int]


class RubricIdentity(NamedTuple):
    """By what a verdict was made. `prompt` None: asked with whichever."""

    rubric_id: str
    rubric_version: str
    prompt: str | None = None

    def is_maker_of(self, verdict: Verdict) -> bool:
        is_asked_so = self.prompt is None or self.prompt == verdict.prompt_version
        return is_asked_so and self[:2] == (verdict.rubric_id, verdict.rubric_version)


def find_common_verdicts(
    verdicts: Iterable[Verdict], before: RubricIdentity, now: RubricIdentity
) -> tuple[Verdict, Verdict] | None:
    """What one model said last by each, of all that was said of one head; None: there is no such pair.

    One that is nobody's last word, an opinion of several, counts for nothing; nor does one that was asked in vain.
    """
    last: dict[tuple[str, RubricIdentity], Verdict] = {}
    for verdict in sorted(verdicts, key=lambda verdict: verdict.eval_id):
        is_heard = verdict.throttled_reason is None and verdict.abstain_reason not in UNFINISHED_REASONS
        if verdict.judge_model is None or OPINION_SIGNAL in verdict.signals or not is_heard:
            continue
        last |= {(verdict.judge_model, law): verdict for law in (before, now) if law.is_maker_of(verdict)}
    for model in sorted({model for model, _ in last}):
        if (model, before) in last and (model, now) in last:
            return last[model, before], last[model, now]
    return None


def count_agreement(
    rows: Iterable[ComparedChange], strengths: Mapping[str, str], bore_out: Callable[[str, str], bool | None]
) -> tuple[OutcomeAgreement, ...]:
    """By strength of the outcome. *bore_out*: whether a verdict (its decision) was right, by an outcome."""
    counts: Counter[tuple[str, str, bool]] = Counter()
    for row in rows:
        for which, side in (("before", row.before), ("now", row.now)):
            means = (
                (strengths[outcome], bore_out(side.decision or "", outcome))
                for outcome in row.outcomes
                if outcome in strengths
            )
            counts.update((strength, which, is_right) for strength, is_right in means if is_right is not None)
    return tuple(
        OutcomeAgreement(
            strength,
            *((counts[strength, which, True], _count_of(counts, strength, which)) for which in ("before", "now")),
        )
        for strength in dict.fromkeys(strengths.values())
    )


def _count_of(counts: Counter[tuple[str, str, bool]], strength: str, which: str) -> int:
    return counts[strength, which, True] + counts[strength, which, False]
