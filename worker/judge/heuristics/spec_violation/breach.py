"""A breach: where a change does what a rule of the repository forbids, or leaves out what it asks for.

Does not look for any. Invariant: the note quotes the rule with the place where it is written.
"""

from typing import Final

from worker.domain.rules.rule import Rule
from worker.domain.value import Value
from worker.domain.verdict import Side
from worker.judge.heuristics.signal import Place

UNSURE_STRENGTH: Final = 0.6


class Breach(Value):
    """`what` ends the sentence "the rule says ..., and ..."; `is_sure` allows a fact to be made of it."""

    rule: Rule
    what: str
    is_sure: bool
    path: str | None = None
    line: int | None = None
    side: Side = Side.HEAD

    @property
    def place(self) -> Place:
        origin = self.rule.origin
        note = f'{origin.path}:{origin.line} says "{origin.text}", and {self.what}'
        strength = 1.0 if self.is_sure else UNSURE_STRENGTH
        return Place(note, self.path, self.line, side=self.side, strength=strength)
