"""Two rubrics side by side: what each says of a recorded change, and whether people's outcomes bear that out.

Does not judge. Invariant: two verdicts are compared only if the same judges made them; every share comes with its count.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from worker.domain.ids import EvalId
from worker.domain.value import Value
from worker.domain.verdict.verdict import Verdict
from worker.evaluation.supersession import OPINION, UNANSWERED


class Side(NamedTuple):
    """What one rubric says. `asks`: whether a model would be asked, where there is one."""

    words: str
    decision: str | None
    score: float
    asks: bool
    places: tuple[str, ...] = ()
    concern: str = ""


class Compared(NamedTuple):
    """A change by both rubrics. `model` made both verdicts; None: code alone did, now. `outcomes`: what came of it."""

    name: str
    eval_id: EvalId
    before: Side
    now: Side
    model: str | None
    outcomes: tuple[str, ...]

    @property
    def differs(self) -> bool:
        return self.before.words != self.now.words

    @property
    def is_asked_otherwise(self) -> bool:
        return not self.differs and self.before.asks != self.now.asks


class Heard(Value):
    """How many verdicts outcomes of one strength speak of, and how many of them they bear out."""

    strength: str
    before: tuple[int, int]
    now: tuple[int, int]


class Law(NamedTuple):
    """By what a verdict was made. `prompt` None: asked with whichever."""

    rubric_id: str
    rubric_version: str
    prompt: str | None = None

    def made(self, verdict: Verdict) -> bool:
        is_asked_so = self.prompt is None or self.prompt == verdict.prompt_version
        return is_asked_so and self[:2] == (verdict.rubric_id, verdict.rubric_version)


def said_by_both(verdicts: Iterable[Verdict], before: Law, now: Law) -> tuple[Verdict, Verdict] | None:
    """What one model said last by each, of all that was said of one head; None: there is no such pair.

    One that is nobody's last word, an opinion of several, counts for nothing; nor does one that was asked in vain.
    """
    last: dict[tuple[str, Law], Verdict] = {}
    for verdict in sorted(verdicts, key=lambda one: one.eval_id):
        is_heard = verdict.throttled_reason is None and verdict.abstain_reason not in UNANSWERED
        if verdict.judge_model is None or OPINION in verdict.signals or not is_heard:
            continue
        last |= {(verdict.judge_model, law): verdict for law in (before, now) if law.made(verdict)}
    for model in sorted({model for model, _ in last}):
        if (model, before) in last and (model, now) in last:
            return last[model, before], last[model, now]
    return None


def heard(
    rows: Iterable[Compared], strengths: Mapping[str, str], bore_out: Callable[[str, str], bool | None]
) -> tuple[Heard, ...]:
    """By strength of the outcome. *bore_out*: whether a verdict (its decision) was right, by an outcome."""
    counts: Counter[tuple[str, str, bool]] = Counter()
    for row in rows:
        for which, side in (("before", row.before), ("now", row.now)):
            means = ((strengths[one], bore_out(side.decision or "", one)) for one in row.outcomes if one in strengths)
            counts.update((strength, which, is_right) for strength, is_right in means if is_right is not None)
    return tuple(
        Heard(strength, *((counts[strength, which, True], _of(counts, strength, which)) for which in ("before", "now")))
        for strength in dict.fromkeys(strengths.values())
    )


def _of(counts: Counter[tuple[str, str, bool]], strength: str, which: str) -> int:
    return counts[strength, which, True] + counts[strength, which, False]
