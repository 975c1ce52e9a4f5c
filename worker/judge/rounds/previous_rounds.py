"""Where the earlier rounds left a pull request, seen from the content that is judged now.

Does not decide what follows (`worker.judge.rounds.convergence` does). Invariant: reads the ledger and the present change, and
nothing of a verdict that is still to come.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from worker.domain.dossier.dossier import Dossier, author_text
from worker.domain.ids import EvalId, Fingerprint, Sha
from worker.domain.value import Value
from worker.domain.verdict.ledger import EDIT_CHANGES, LedgerEntry, classify_text, conditions_of, round_of
from worker.domain.verdict.verdict import (
    Abstain,
    Accept,
    Category,
    ClosingCondition,
    ConditionState,
    CriterionVerdict,
    EvidencePointer,
    Finding,
    JudgeKind,
    Reject,
)
from worker.dossier.diff.parser import Diff
from worker.judge.checks.evidence import Places
from worker.judge.context import EvaluationHeader
from worker.judge.rounds.changed_lines import ChangedLines, find_changed_lines
from worker.judge.rulings import UNMET, EvidenceBundle, Ruling


class OpenCondition(Value):
    """A condition that is still open. `reject` is the reject that froze it, `places` its evidence as it stands now."""

    condition: ClosingCondition
    reject: Reject
    places: tuple[EvidencePointer, ...]

    @property
    def facts(self) -> frozenset[tuple[str, str | None]]:
        """What code saw when it was frozen, if facts carried that reject."""
        return frozenset(finding_key(finding) for finding in self.reject.findings if finding.fact)

    def part_at(self, pointer: EvidencePointer, lines: Places) -> EvidencePointer | None:
        """The part of a pointer that stands where the condition was raised; None if none of it does."""
        common = (_common_lines(pointer, location) for location in self.places)
        part = next((part for part in common if part is not None), None)
        if part is None or part.line is None:
            return part
        return part.model_copy(update={"quote": lines.line(part.path, part.line, part.side)})


class PreviousRounds(Value):
    """`changed_lines` None: nothing is known to have been judged by a model, so that all of it may be objected to.

    `judged_criteria`: how the criteria stood when a model judged the last time. `round`: this one's number. `first_eval_id`: the first verdict
    of a model by this law.
    """

    round: int = 1
    conditions: tuple[ClosingCondition, ...] = ()
    open_conditions: tuple[OpenCondition, ...] = ()
    changed_lines: ChangedLines | None = None
    judged_criteria: Mapping[str, CriterionVerdict] = MappingProxyType({})
    rejects: tuple[Reject, ...] = ()
    first_eval_id: EvalId | None = None

    def recurring_rejects(self, category: Category, surface: frozenset[str]) -> tuple[Reject, ...]:
        """The earlier rejects for this category on this surface."""
        return tuple(reject for reject in self.rejects if reject.category is category and surface & surface_of(reject))


def read_previous_rounds(bundle: EvidenceBundle, header: EvaluationHeader, rubric: str) -> PreviousRounds:
    """What the ledger says of the head that is judged, under the law of *rubric*.

    A reject of this very head, judged anew since CI moved or somebody asked, is none that its author could have answered.
    """
    ledger = bundle.dossier.ledger
    if not ledger:
        return PreviousRounds()
    last = _last_judged(ledger, rubric)
    conditions = conditions_of(ledger)
    return PreviousRounds(
        round=round_number(bundle.dossier, header.subject.head_sha, header.fingerprint),
        conditions=conditions,
        open_conditions=tuple(_open_conditions(conditions, ledger, bundle.places)),
        changed_lines=_changed_lines(last, bundle.diff),
        judged_criteria={} if last is None else {criterion.id: criterion for criterion in last.verdict.criteria},
        rejects=tuple(rejects_of(entry for entry in ledger if entry.head_sha != header.subject.head_sha)),
        first_eval_id=next(
            (entry.eval_id for entry in ledger if _is_judged(entry.verdict) and entry.verdict.rubric_id == rubric), None
        ),
    )


def round_number(dossier: Dossier, head_sha: Sha, content: Fingerprint) -> int:
    """The number of this round."""
    is_edit = classify_text(dossier.ledger, head_sha, author_text(dossier)) in EDIT_CHANGES
    return round_of(dossier.ledger, head_sha, content, dossier.pull_request.pushed_at, is_edit=is_edit)


def _last_judged(ledger: Sequence[LedgerEntry], rubric: str) -> LedgerEntry | None:
    """The newest content that a model judged by this law: where code alone spoke, or another law, all else is unsaid."""
    return next(
        (entry for entry in reversed(ledger) if _is_judged(entry.verdict) and entry.verdict.rubric_id == rubric), None
    )


def _is_judged(verdict: Accept | Reject | Abstain) -> bool:
    by_facts = not verdict.scores and any(
        finding.fact for finding in verdict.findings
    )  # the model, asked too, did not answer
    return not isinstance(verdict, Abstain) and verdict.judge_kind is not JudgeKind.HEURISTIC and not by_facts


def _changed_lines(last: LedgerEntry | None, diff: Diff) -> ChangedLines | None:
    if last is None or not last.changed_lines:
        return None
    unread = {*last.verdict.coverage.partly, *last.verdict.coverage.unread}
    return find_changed_lines({path: marks for path, marks in last.changed_lines.items() if path not in unread}, diff)


def _open_conditions(
    conditions: Iterable[ClosingCondition], ledger: Sequence[LedgerEntry], places: Places
) -> Iterable[OpenCondition]:
    """The open conditions, each with the reject that opened it, if that is on record."""
    for condition in conditions:
        by = _opened_by(condition, ledger)
        if condition.state is ConditionState.OPEN and by is not None:
            relocated = (places.relocate(pointer) for pointer in by.evidence)
            yield OpenCondition(condition, by, tuple(pointer for pointer in relocated if pointer is not None))


def _opened_by(condition: ClosingCondition, ledger: Iterable[LedgerEntry]) -> Reject | None:
    """The first of the last rejects in a row that have it open."""
    by = None
    for reject in rejects_of(ledger):
        is_open = any(_is_open_as(earlier, condition) for earlier in reject.closing_conditions)
        by = (by or reject) if is_open else None
    return by


def _is_open_as(earlier: ClosingCondition, condition: ClosingCondition) -> bool:
    return earlier.text == condition.text and earlier.state is ConditionState.OPEN


def rejects_of(ledger: Iterable[LedgerEntry]) -> Iterable[Reject]:
    """Those that were judged, oldest first."""
    verdicts = (entry.verdict for entry in ledger)
    return (verdict for verdict in verdicts if isinstance(verdict, Reject) and verdict.carried_from is None)


def finding_key(finding: Finding) -> tuple[str, str | None]:
    """What makes a fact the same when its line moves."""
    return finding.signal, finding.path


def surface_of(verdict: Reject | Ruling) -> frozenset[str]:
    """The files that a reject points at; where it points at none, the criteria that are not met."""
    paths = frozenset(pointer.path for pointer in verdict.evidence)
    return paths or frozenset(criterion.id for criterion in verdict.criteria if criterion.status in UNMET)


def _common_lines(pointer: EvidencePointer, other: EvidencePointer) -> EvidencePointer | None:
    """The lines of *pointer* that *other* names too."""
    if pointer.line is None or other.line is None:
        return pointer if (pointer.path, pointer.line) == (other.path, other.line) else None
    first = max(pointer.line, other.line)
    last = min(pointer.end_line or pointer.line, other.end_line or other.line)
    if (pointer.path, pointer.side) != (other.path, other.side) or last < first:
        return None
    return pointer.model_copy(update={"line": first, "end_line": last if last > first else None})
