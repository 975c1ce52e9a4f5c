"""A breach: where a change does what a rule of the repository forbids, or leaves out what it asks for.

Does not look for any. Invariant: the note quotes the rule with the place where it is written.
"""

from typing import Final, assert_never

from worker.domain.value import Value
from worker.domain.verdict.verdict import Side
from worker.dossier.repo_rules.rule import RepoRule, RuleKind
from worker.signals.signal import SignalMatch

UNSURE_STRENGTH: Final = 0.6


class RuleViolation(Value):
    """`problem` ends the sentence "the rule says ..., and ..."; `is_sure` allows a fact to be made of it."""

    rule: RepoRule
    problem: str
    is_sure: bool
    path: str | None = None
    line: int | None = None
    side: Side = Side.HEAD
    target: str = ""
    """The code or the package that the rule forbids."""

    @property
    def match(self) -> SignalMatch:
        origin = self.rule.origin
        note = f'{origin.path}:{origin.line} says "{origin.text}", and {self.problem}'
        strength = 1.0 if self.is_sure else UNSURE_STRENGTH
        return SignalMatch(note, self.path, self.line, side=self.side, strength=strength, step=self._next_step)

    @property
    def _next_step(self) -> str:
        """What keeps the rule."""
        written = f"{self.rule.origin.path}:{self.rule.origin.line}"
        match self.rule.kind:
            case RuleKind.FORBIDDEN_CODE:
                step = f"Replace `{self.target}` at {{place}}: {written} forbids it."
            case RuleKind.DEPENDENCIES:
                step = f"Take the new dependency `{self.target}` out ({{place}}): {written} allows none."
            case RuleKind.FORBIDDEN_PATH if self.rule.is_by_hand:
                step = f"Undo the edit of {self.path} by hand, and let its generator write it, as {written} asks."
            case RuleKind.FORBIDDEN_PATH:
                step = f"Undo what this change does to {self.path}: {written} wants it left alone."
            case RuleKind.OWN_PULL_REQUEST:
                step = f"Move the change of {self.path} into a pull request of its own, as {written} asks."
            case RuleKind.CHANGELOG:
                log = self.rule.targets[0] if self.rule.targets else "the changelog"
                where = f"under {log}" if log.endswith("/") else f"to {log}"
                step = f"Add an entry about this change {where}, as {written} asks."
            case RuleKind.DOCSTRING:
                step = f"Write the documentation of the function at {{place}}, as {written} asks."
            case RuleKind.TESTS | RuleKind.FILE_NAMES | RuleKind.LICENCE:
                step = ""  # of these no breach is sure
            case _:
                assert_never(self.rule.kind)
        return step
