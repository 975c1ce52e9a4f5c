"""All signals, and the opinion of the heuristic tier that they form: deterministic, for $0, before any model.

A signal stands in a module of its category's folder and is a `Signal`. Policies, the rubric and the docs name exactly these.

The tier is sure only of facts and safe changes: a fact scores 0.05, a safe change 0.95. Without either the score is
`PRIOR_SCORE * product(1 - weight * strength)` over the signals that fired, each with its strongest match and the rubric's weight,
times `1 - TIES_WEIGHT * unrelatedness` and `1 - TIES_WEIGHT * shortfall`. The confidence is then
`0.5 + 0.15 * (1 - product(1 - weight * strength))`, less CONTRADICTED_SCORE for a strong suspicion against a change that shows
everything that was listed. A check's history that speaks against a green result takes DOUBTED_SCORE from the score, and no change
is safe then.

A repository's policy switches a signal off or demotes it to a suspicion. A suspicion of weight 0 stays in the findings and out
of the score. A fact stays a fact whatever its weight.
"""

from collections.abc import Iterator
from importlib import import_module
from itertools import groupby
from math import prod
from operator import attrgetter
from pkgutil import iter_modules
from typing import Final, Literal

from worker.domain.dossier import FAILED_CONCLUSIONS, Ci, Dossier, LookupRequest
from worker.domain.verdict.verdict import Category, Finding, HeuristicOpinion, Rubric
from worker.dossier.diff import DiffError
from worker.signals.acceptance_gap.criteria_not_met import (
    describe_gap,
    find_doubtful_gaps,
    find_unnamed_tests,
    judge_criteria,
    mean_gap,
    paths_to_look_up,
)
from worker.signals.analysis.change import CodeChange
from worker.signals.half_finished.function_uncalled import find_definitions_to_look_up
from worker.signals.scope_creep.unrelated_file import measure_unrelatedness
from worker.signals.signal import Signal, SignalKind, SignalScope, find_scopes

FACT_SCORE: Final = 0.05
FACT_CONFIDENCE: Final = 0.95
SAFE_SCORE: Final = 0.95
SAFE_CONFIDENCE: Final = 0.9
PRIOR_SCORE: Final = 0.6
UNSURE_CONFIDENCE: Final = 0.5
UNSURE_RANGE: Final = 0.15
TIES_WEIGHT: Final = 0.2
DOUBTED_SCORE: Final = 0.3
CONTRADICTED_SCORE: Final = 0.1
STRONG_WEIGHT: Final = 0.3
"""From this weight on a suspicion is a strong one."""

CRITERIA_IN_DOUBT: Final = "criteria_in_doubt"
"""The signal that names the criteria of which the change shows nothing, or only a part."""

_MOST_NAMED: Final = 2

SignalSwitch = Literal["off", "suspicion"]

CATEGORY_ORDER: Final = (
    Category.SPEC_VIOLATION,
    Category.ACCEPTANCE_GAP,
    Category.HALF_FINISHED,
    Category.TESTS_PASS_BUT_WRONG,
    Category.WEAK_TEST,
    Category.SCOPE_CREEP,
)


def _list_signals(category: Category) -> Iterator[Signal]:
    package = import_module(f"worker.signals.{category}")
    for module in iter_modules(package.__path__, f"{package.__name__}."):
        values = vars(import_module(module.name)).values()
        yield from (value for value in values if isinstance(value, Signal) and value.module == module.name)


SIGNALS: Final[tuple[Signal, ...]] = tuple(
    signal
    for category in CATEGORY_ORDER
    for signal in sorted(_list_signals(category), key=lambda signal: (signal.kind is not SignalKind.FACT, signal.name))
)
"""In the order of category, facts first, and name: of several findings at one line with the same weight, the first one is kept."""
REGISTERED_NAMES: Final = frozenset(signal.name for signal in SIGNALS)


def form_opinion(dossier: Dossier, rubric: Rubric) -> HeuristicOpinion:
    """Judge a dossier by signals alone. Raises DiffError for a diff that git did not print."""
    change = CodeChange(dossier)
    switches = dossier.policy.signals if dossier.policy is not None else {}
    findings = find_findings(change, switches)
    weights = ((finding, rubric.signals.get(finding.signal, 0.0) * finding.weight) for finding in findings)
    weighted = _order(finding.model_copy(update={"weight": weight}) for finding, weight in weights)
    return _OpinionBuilder(change, weighted, switches).build()


def find_lookups(dossier: Dossier) -> LookupRequest:
    """The new functions and the named files to look up in the head tree before a finding reports that they are missing."""
    try:
        change = CodeChange(dossier)
        has_code = SignalScope.PRODUCTION in find_scopes(change)
        return LookupRequest(find_definitions_to_look_up(change) if has_code else (), paths_to_look_up(change))
    except DiffError:
        return LookupRequest()


def find_findings(change: CodeChange, switches: dict[str, SignalSwitch]) -> Iterator[Finding]:
    """Every finding of every signal that is not switched off. Where not all code was parsed, none is a fact."""
    for _, family in groupby(SIGNALS, key=attrgetter("category")):
        for signal in family:
            switch = switches.get(signal.name, "suspicion" if change.unparsed_count else None)
            if switch != "off":
                findings = signal.findings(change)
                yield from (finding.model_copy(update={"fact": False}) for finding in findings) if switch else findings
        change.clear_family()


def _order(findings: Iterator[Finding]) -> tuple[Finding, ...]:
    """Facts first, then by weight; of several at one line, the first fact and the first of each category are kept."""
    taken: set[object] = set()
    kept: list[Finding] = []
    for finding in sorted(
        findings, key=lambda entry: (not entry.fact, -entry.weight, entry.path or "", entry.line or 0)
    ):
        keys: set[object] = {(finding.signal, finding.path, finding.note)}
        if finding.line is not None:
            location = (finding.path, finding.line, finding.side)
            keys = {(finding.category, location), *((location,) if finding.fact else ())}
        if taken.isdisjoint(keys):
            kept.append(finding)
        taken |= keys
    return tuple(kept)


class _OpinionBuilder:
    def __init__(self, change: CodeChange, findings: tuple[Finding, ...], switches: dict[str, SignalSwitch]) -> None:
        self._change = change
        self._findings = findings
        self._criteria = judge_criteria(change)
        self._in_doubt = find_doubtful_gaps(change)
        self._doubt = _find_ci_doubt(change.dossier.ci)
        self._signals: dict[str, str | int | float | bool | None] = {}
        if unknown := sorted(set(switches) - REGISTERED_NAMES):
            self._signals["policy_unknown_signals"] = ", ".join(unknown)
        if self._doubt is not None:
            self._signals["ci_doubt"] = self._doubt
        if self._in_doubt:
            self._signals[CRITERIA_IN_DOUBT] = ", ".join(gap.terms.criterion.id for gap in self._in_doubt)
        if change.unparsed_count:
            self._signals["files_not_parsed"] = change.unparsed_count

    def build(self) -> HeuristicOpinion:
        facts = [finding for finding in self._findings if finding.fact]
        if facts:
            return self._build_opinion(FACT_SCORE, FACT_CONFIDENCE, _summarize(facts, "a fact"))
        if self._findings or self._in_doubt or self._doubt is not None:
            return self._build_unsure()
        from worker.signals.documentation import SAFE_REASON, find_obstacle, is_documentation_only  # noqa: PLC0415 - most changes have a finding

        if not is_documentation_only(self._change):
            return self._build_unsure()
        obstacle = find_obstacle(self._change)
        if obstacle is None:
            return self._build_opinion(SAFE_SCORE, SAFE_CONFIDENCE, SAFE_REASON, safe=SAFE_REASON)
        return self._build_unsure(str(obstacle))

    def _build_opinion(
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
                    note=f"{gap.terms.criterion.id}: {describe_gap(gap)}",
                )
                for gap in find_unnamed_tests(self._change)
            ),
            criteria=self._criteria,
            signals=self._signals,
            safe=safe,
            obstacle=obstacle,
            reason=reason,
        )

    def _build_unsure(self, obstacle: str | None = None) -> HeuristicOpinion:
        weights: dict[str, float] = {}
        for finding in self._findings:
            weights[finding.signal] = max(weights.get(finding.signal, 0.0), finding.weight)
        left = prod(1 - weight for weight in weights.values())
        apart, short = measure_unrelatedness(self._change), mean_gap(self._change)
        self._signals |= {"unrelatedness": round(apart, 3), "shortfall": round(short, 3)}
        score = PRIOR_SCORE * left * (1 - TIES_WEIGHT * apart) * (1 - TIES_WEIGHT * short)
        confidence = UNSURE_CONFIDENCE + UNSURE_RANGE * (1 - left)
        listed = any(not criterion.inferred for criterion in self._change.dossier.criteria or ())
        if listed and not self._in_doubt and max(weights.values(), default=0.0) >= STRONG_WEIGHT:
            self._signals["contradiction"] = True
            confidence -= CONTRADICTED_SCORE
        score = max(0.0, score - DOUBTED_SCORE) if self._doubt else score
        return self._build_opinion(score, confidence, obstacle or self._reason(), obstacle=obstacle)

    def _reason(self) -> str:
        if self._findings:
            return _summarize(self._findings, "a suspicion")
        if self._in_doubt:
            return f"{self._in_doubt[0].terms.criterion.id}: {describe_gap(self._in_doubt[0])}"
        return self._doubt or "nothing was found against it, which does not prove it right"


def _find_ci_doubt(ci: Ci | None) -> str | None:
    """A clause about the first check that speaks against the change although CI is green; None without one."""
    for check in ci.checks if ci is not None else ():
        if check.required is False and check.conclusion in FAILED_CONCLUSIONS:
            return f"{check.name} failed, though it is not required"
        if check.required and check.conclusion == "success" and check.attempt > 1:
            return f"{check.name} passed only at attempt {check.attempt}"
    return None


def _summarize(findings: "list[Finding] | tuple[Finding, ...]", kind: str) -> str:
    """The notes and locations of the first findings."""
    shown: list[str] = []
    for finding in findings[:_MOST_NAMED]:
        location = finding.path if finding.line is None else f"{finding.path}:{finding.line}"
        shown.append(f"{finding.note} ({location})" if finding.path is not None else finding.note)
    more = f", and {len(findings) - _MOST_NAMED} more" if len(findings) > _MOST_NAMED else ""
    return f"{kind}: {'; '.join(shown)}{more}"
