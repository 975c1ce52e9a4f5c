"""Two rubrics side by side: what each says of a recorded change, and whether people's outcomes bear that out.

Does not judge. Invariant: two verdicts are compared only if the same judges made them; every share comes with its count.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from worker.domain.anew import Said
from worker.domain.ids import EvalId
from worker.domain.value import Value


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


class Pairs:
    """Verdicts on record by two rubrics, by subject."""

    def __init__(self, before: str, now: str) -> None:
        self._wanted = before, now
        self._found: dict[tuple[int, str, str, str | None], Said] = {}

    def add(self, said: Said) -> None:
        """Take in a verdict. One that is nobody's last word, an opinion of several, counts for nothing."""
        if said.rubric in self._wanted and said.failure is None and said.is_final and not said.is_opinion:
            key = said.installation, said.subject, said.rubric, said.model
            self._found[key] = max(self._found.get(key, said), said, key=lambda one: one.eval_id)

    def of(self, one: Said) -> tuple[Said, Said] | None:
        """The last verdicts of both rubrics on this subject, by one model; None: there is no such pair."""
        before, now = self._wanted
        models = {key[3] for key in self._found if key[:2] == (one.installation, one.subject)} - {None}
        for model in sorted(filter(None, models)):
            pair = [self._found.get((one.installation, one.subject, rubric, model)) for rubric in (before, now)]
            if pair[0] is not None and pair[1] is not None:
                return pair[0], pair[1]
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
