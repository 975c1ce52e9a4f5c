"""The heuristic tier: $0, deterministic, always asked first.

Each family of signals is a module, each signal a pure function from the change to its findings. Does not know
whether a change is *right*, and says so: it is sure only of narrow facts. Invariant: the confidence reaches
CERTAIN only through a fact or a safe change.

The score starts at PRIOR, and every kind of suspicion takes its share: `score = PRIOR * product(1 - weight)`
over the signals that fired, each once, weights from the rubric. A fact settles it at 0.05, a safe change at
0.95. Without either the confidence is `0.5 + 0.15 * (1 - product(1 - weight))`: the more was seen, the surer
that it is not fine, yet never enough to stand alone.

The rubric lists every signal of SIGNALS (`worker.rulebook` holds it to that); a weight of 0 leaves a suspicion
in the findings and out of the score. A fact stays a fact whatever its weight.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from math import prod
from typing import Final

from worker.domain.dossier import Dossier
from worker.domain.opinion import HeuristicOpinion
from worker.domain.rubric import Rubric
from worker.domain.verdict import Finding
from worker.judge.heuristics import conflicts, emptiness, leftovers, stubs, weak_tests
from worker.judge.heuristics.change import Change
from worker.judge.heuristics.safe import why_safe

Signal = Callable[[Change], Iterator[Finding]]

FAMILIES: Final[tuple[Signal, ...]] = (
    emptiness.emptiness,
    conflicts.conflicts,
    stubs.stubs,
    leftovers.leftovers,
    weak_tests.weak_tests,
)

SIGNALS: Final = (
    emptiness.EMPTY,
    conflicts.MARKER,
    conflicts.SUSPECT,
    stubs.STUB,
    stubs.SUSPECT,
    leftovers.UNFINISHED,
    weak_tests.DELETED,
    weak_tests.SKIPPED,
    weak_tests.ONLY,
    weak_tests.UNASSERTED,
)
"""Every signal name that a finding of this tier may carry. The rubric weighs each."""

FACT_SCORE: Final = 0.05
FACT_CONFIDENCE: Final = 0.95
SAFE_SCORE: Final = 0.95
SAFE_CONFIDENCE: Final = 0.9
PRIOR: Final = 0.6
UNSURE: Final = 0.5
UNSURE_RANGE: Final = 0.15

_MOST: Final = 50
"""Findings of one family: who reads more?"""

_MOST_NAMED: Final = 2


def consider(dossier: Dossier, rubric: Rubric) -> HeuristicOpinion:
    """Say what can be said without a model. Raises DiffError for a diff that git did not print."""
    change = Change(dossier)
    findings = tuple(_weighed(finding, rubric) for family in FAMILIES for finding in islice(family(change), _MOST))
    facts = [finding for finding in findings if finding.fact]
    if facts:
        return HeuristicOpinion(
            score=FACT_SCORE, confidence=FACT_CONFIDENCE, findings=findings, reason=_named(facts, "a fact")
        )
    safe = None if findings else why_safe(change)
    if safe is not None:
        return HeuristicOpinion(score=SAFE_SCORE, confidence=SAFE_CONFIDENCE, safe=safe, reason=safe)
    return _unsure(findings)


def _unsure(findings: tuple[Finding, ...]) -> HeuristicOpinion:
    weights = {finding.signal: finding.weight for finding in findings}
    left = prod(1 - weight for weight in weights.values())
    return HeuristicOpinion(
        score=PRIOR * left,
        confidence=UNSURE + UNSURE_RANGE * (1 - left),
        findings=findings,
        reason=_named(findings, "a suspicion")
        if findings
        else "nothing was found against it, which does not prove it right",
    )


def _weighed(finding: Finding, rubric: Rubric) -> Finding:
    return finding.model_copy(update={"weight": rubric.signals.get(finding.signal, 0.0)})


def _named(findings: "list[Finding] | tuple[Finding, ...]", kind: str) -> str:
    """The first findings in words, with their places."""
    shown = [f"{finding.note}{_place(finding)}" for finding in findings[:_MOST_NAMED]]
    more = f", and {len(findings) - _MOST_NAMED} more" if len(findings) > _MOST_NAMED else ""
    return f"{kind}: {'; '.join(shown)}{more}"


def _place(finding: Finding) -> str:
    if finding.path is None:
        return ""
    return f" ({finding.path})" if finding.line is None else f" ({finding.path}:{finding.line})"
