"""The heuristic tier: $0, deterministic, always asked first.

Each family of signals is a folder, each signal a pure function from the change to its places (`signal.py`); the registry
lists them. Does not know whether a change is *right*, and says so: it is sure only of narrow facts. Invariant: the
confidence reaches CERTAIN only through a fact or a safe change.

The score starts at PRIOR, and every signal that fired takes its share once, with its strongest place:
`score = PRIOR * product(1 - weight * strength)`, weights from the rubric, then `1 - TIES * unrelatedness` and
`1 - TIES * shortfall` for what no single place shows. A fact settles it at 0.05, a safe change at 0.95. Without either
the confidence is `0.5 + 0.15 * (1 - product(1 - weight * strength))`: the more was seen, the surer that it is not fine,
yet never enough to stand alone. What contradicts itself (a strong suspicion against a change that shows everything that
was listed) takes CONTRADICTED from it. A validator's history that speaks against a green result (`analysis/lifecycle.py`) takes
DOUBTED from the score, and no change is safe then.

A repository's policy switches a signal off or demotes it to a suspicion; a weight of 0 leaves a suspicion in the findings
and out of the score. A fact stays a fact whatever its weight.
"""

from collections.abc import Iterator
from itertools import groupby
from math import prod
from operator import attrgetter
from typing import Final, Literal

from worker.domain.dossier.dossier import Dossier
from worker.domain.dossier.lookups import Sought
from worker.domain.verdict.opinion import HeuristicOpinion
from worker.domain.verdict.rubric import Rubric
from worker.domain.verdict.verdict import Category, Finding
from worker.dossier.diff.parser import DiffError
from worker.signals.acceptance_gap.shortfall import (
    in_doubt,
    note_of,
    paths_to_look_up,
    seen_of,
    shortfall,
    untold_tests,
)
from worker.signals.analysis.change import Change
from worker.signals.analysis.lifecycle import doubt_of
from worker.signals.half_finished.uncalled_function import definitions_to_look_up
from worker.signals.registry import NAMES, SIGNALS
from worker.signals.scope_creep.unrelated_file import unrelatedness

FACT_SCORE: Final = 0.05
FACT_CONFIDENCE: Final = 0.95
SAFE_SCORE: Final = 0.95
SAFE_CONFIDENCE: Final = 0.9
PRIOR: Final = 0.6
UNSURE: Final = 0.5
UNSURE_RANGE: Final = 0.15
TIES: Final = 0.2
DOUBTED: Final = 0.3
CONTRADICTED: Final = 0.1
STRONG: Final = 0.3
"""From this weight on a suspicion is a strong one."""

CRITERIA_IN_DOUBT: Final = "criteria_in_doubt"
"""The signal that names the criteria of which the change shows nothing, or only a part."""

_MOST_NAMED: Final = 2

Switch = Literal["off", "suspicion"]


def consider(dossier: Dossier, rubric: Rubric) -> HeuristicOpinion:
    """Say what can be said without a model. Raises DiffError for a diff that git did not print."""
    change = Change(dossier)
    switches = dossier.policy.signals if dossier.policy is not None else {}
    findings = _ordered(_weighed(finding, rubric) for finding in found_in(change, switches))
    return _Opinion(change, findings, switches).formed()


def sought_in(dossier: Dossier) -> Sought:
    """The new functions and the named files to look up in the head tree before a finding says that nothing is there."""
    try:
        change = Change(dossier)
        return Sought(definitions_to_look_up(change), paths_to_look_up(change))
    except DiffError:
        return Sought()


def found_in(change: Change, switches: dict[str, Switch]) -> Iterator[Finding]:
    """Every finding of every signal that is not switched off. Where not all code was looked at, none is a fact."""
    for _, family in groupby(SIGNALS, key=attrgetter("category")):
        for signal in family:
            switch = switches.get(signal.name, "suspicion" if change.unparsed else None)
            if switch != "off":
                found = signal.findings(change)
                yield from (one.model_copy(update={"fact": False}) for one in found) if switch else found
        change.forget()


def _weighed(finding: Finding, rubric: Rubric) -> Finding:
    """The signal's weight times the strength of this place."""
    return finding.model_copy(update={"weight": rubric.signals.get(finding.signal, 0.0) * finding.weight})


def _ordered(findings: Iterator[Finding]) -> tuple[Finding, ...]:
    """Facts first, then by weight; of several that name one place, the first fact and the first of each category are kept."""
    order = sorted(findings, key=lambda one: (not one.fact, -one.weight, one.path or "", one.line or 0))
    told: set[object] = set()
    kept: list[Finding] = []
    for one in order:
        place = (one.path, one.line, one.side)
        keys = {(one.category, place) if one.line is not None else (one.signal, one.path, one.note)}
        keys |= {place} if one.fact and one.line is not None else set()
        if told.isdisjoint(keys):
            kept.append(one)
        told |= keys
    return tuple(kept)


class _Opinion:
    """What follows from the findings."""

    def __init__(self, change: Change, findings: tuple[Finding, ...], switches: dict[str, Switch]) -> None:
        self._change = change
        self._findings = findings
        self._criteria = seen_of(change)
        self._in_doubt = in_doubt(change)
        self._doubt = doubt_of(change.dossier.ci)
        self._signals: dict[str, str | int | float | bool | None] = {}
        if unknown := sorted(set(switches) - NAMES):
            self._signals["policy_unknown_signals"] = ", ".join(unknown)
        if self._doubt is not None:
            self._signals["ci_doubt"] = self._doubt
        if self._in_doubt:
            self._signals[CRITERIA_IN_DOUBT] = ", ".join(gap.wish.criterion.id for gap in self._in_doubt)
        if change.unparsed:
            self._signals["files_not_parsed"] = change.unparsed

    def formed(self) -> HeuristicOpinion:
        facts = [one for one in self._findings if one.fact]
        if facts:
            return self._said(FACT_SCORE, FACT_CONFIDENCE, _named(facts, "a fact"))
        if self._findings or self._in_doubt or self._doubt is not None:
            return self._unsure()
        from worker.signals.safe_change import (  # noqa: PLC0415 - with a finding nobody needs it
            SAFE,
            is_documentation_only,
            obstacle_to_accepting,
        )

        if not is_documentation_only(self._change):
            return self._unsure()
        obstacle = obstacle_to_accepting(self._change)
        if obstacle is None:
            return self._said(SAFE_SCORE, SAFE_CONFIDENCE, SAFE, safe=SAFE)
        return self._unsure(str(obstacle))

    def _said(
        self, score: float, confidence: float, reason: str, safe: str | None = None, obstacle: str | None = None
    ) -> HeuristicOpinion:
        return HeuristicOpinion(
            score=score,
            confidence=confidence,
            findings=self._findings,
            doubts=tuple(
                Finding(
                    signal="test_not_found",
                    category=Category.ACCEPTANCE_GAP,
                    fact=False,
                    note=f"{gap.wish.criterion.id}: {note_of(gap)}",
                )
                for gap in untold_tests(self._change)
            ),
            criteria=self._criteria,
            signals=self._signals,
            safe=safe,
            obstacle=obstacle,
            reason=reason,
        )

    def _unsure(self, obstacle: str | None = None) -> HeuristicOpinion:
        weights: dict[str, float] = {}
        for one in self._findings:
            weights[one.signal] = max(weights.get(one.signal, 0.0), one.weight)
        left = prod(1 - weight for weight in weights.values())
        apart, short = unrelatedness(self._change), shortfall(self._change)
        self._signals |= {"unrelatedness": round(apart, 3), "shortfall": round(short, 3)}
        score = PRIOR * left * (1 - TIES * apart) * (1 - TIES * short)
        confidence = UNSURE + UNSURE_RANGE * (1 - left)
        if self._contradicts_itself(weights):
            self._signals["contradiction"] = True
            confidence -= CONTRADICTED
        score = max(0.0, score - DOUBTED) if self._doubt else score
        return self._said(score, confidence, obstacle or self._reason(), obstacle=obstacle)

    def _contradicts_itself(self, weights: dict[str, float]) -> bool:
        listed = any(not one.inferred for one in self._change.dossier.criteria or ())
        return listed and not self._in_doubt and max(weights.values(), default=0.0) >= STRONG

    def _reason(self) -> str:
        if self._findings:
            return _named(self._findings, "a suspicion")
        if self._in_doubt:
            return f"{self._in_doubt[0].wish.criterion.id}: {note_of(self._in_doubt[0])}"
        return self._doubt or "nothing was found against it, which does not prove it right"


def _named(findings: "list[Finding] | tuple[Finding, ...]", kind: str) -> str:
    """The first findings in words, with their places."""
    shown = [f"{finding.note}{_place(finding)}" for finding in findings[:_MOST_NAMED]]
    more = f", and {len(findings) - _MOST_NAMED} more" if len(findings) > _MOST_NAMED else ""
    return f"{kind}: {'; '.join(shown)}{more}"


def _place(finding: Finding) -> str:
    if finding.path is None:
        return ""
    return f" ({finding.path})" if finding.line is None else f" ({finding.path}:{finding.line})"
