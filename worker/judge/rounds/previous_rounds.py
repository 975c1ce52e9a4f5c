"""What the earlier rounds in the ledger left for the content that is judged now."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from worker.domain.dossier.dossier import Dossier, author_text
from worker.domain.ids import EvalId, Fingerprint, Sha
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
    Score,
)
from worker.dossier.diff.parser import Diff
from worker.judge.checks.evidence import Places
from worker.judge.context import EvaluationHeader
from worker.judge.rounds.changed_lines import ChangedLines, find_changed_lines
from worker.judge.rulings import UNMET, EvidenceBundle, Ruling
from worker.judge.scoring import moved_scores


@dataclass(frozen=True)
class OpenCondition:
    """An open condition. `reject`: the one that froze it; `places`: its evidence, moved to this head."""

    condition: ClosingCondition
    reject: Reject
    places: tuple[EvidencePointer, ...]

    @property
    def facts(self) -> frozenset[tuple[str, str | None]]:
        """The facts of that reject."""
        return frozenset(finding_key(finding) for finding in self.reject.findings if finding.fact)

    def part_at(self, pointer: EvidencePointer, lines: Places) -> EvidencePointer | None:
        """The part of a pointer on the lines where the condition was raised; None if there is none."""
        part = next(filter(None, (_common_lines(pointer, location) for location in self.places)), None)
        if part is None or part.line is None:
            return part
        return part.model_copy(update={"quote": lines.line(part.path, part.line, part.side)})


@dataclass(frozen=True)
class PreviousRounds:
    """`round`: the number of this one. `changed_lines`: new since a model last judged; None: it judged nothing yet.

    `judged_criteria`: as a model last judged them. `first_eval_id`: a model's first verdict by this rubric.
    """

    round: int = 1
    conditions: tuple[ClosingCondition, ...] = ()
    open_conditions: tuple[OpenCondition, ...] = ()
    changed_lines: ChangedLines | None = None
    judged_criteria: Mapping[str, CriterionVerdict] = field(default_factory=dict[str, CriterionVerdict])
    rejects: tuple[Reject, ...] = ()
    first_eval_id: EvalId | None = None

    def recurring_rejects(self, category: Category, surface: frozenset[str]) -> tuple[Reject, ...]:
        """The earlier rejects for this category on this surface."""
        return tuple(reject for reject in self.rejects if reject.category is category and surface & surface_of(reject))


def read_previous_rounds(bundle: EvidenceBundle, header: EvaluationHeader, rubric: str) -> PreviousRounds:
    """Read the ledger for the head that is judged by *rubric*.

    Only a model's verdicts by the same rubric count as judged. A reject of this very head, which is being judged again, is none
    that its author could have answered.
    """
    ledger = bundle.dossier.ledger
    if not ledger:
        return PreviousRounds()
    judged = [entry for entry in ledger if _is_judged(entry.verdict) and entry.verdict.rubric_id == rubric]
    last = judged[-1] if judged else None
    conditions = conditions_of(ledger)
    return PreviousRounds(
        round=round_number(bundle.dossier, header.subject.head_sha, header.fingerprint),
        conditions=conditions,
        open_conditions=tuple(_open_conditions(conditions, ledger, bundle.places)),
        changed_lines=_changed_lines(last, bundle.diff),
        judged_criteria={criterion.id: criterion for criterion in last.verdict.criteria} if last else {},
        rejects=tuple(rejects_of(entry for entry in ledger if entry.head_sha != header.subject.head_sha)),
        first_eval_id=judged[0].eval_id if judged else None,
    )


def round_number(dossier: Dossier, head_sha: Sha, content: Fingerprint) -> int:
    """The number of the round that judges *content* on this head."""
    is_edit = classify_text(dossier.ledger, head_sha, author_text(dossier)) in EDIT_CHANGES
    return round_of(dossier.ledger, head_sha, content, dossier.pull_request.pushed_at, is_edit=is_edit)


def _is_judged(verdict: Accept | Reject | Abstain) -> bool:
    """Whether a model decided; without scores a fact did, and the model, asked too, did not answer."""
    by_facts = not verdict.scores and any(finding.fact for finding in verdict.findings)
    return not isinstance(verdict, Abstain) and verdict.judge_kind is not JudgeKind.HEURISTIC and not by_facts


def _changed_lines(last: LedgerEntry | None, diff: Diff) -> ChangedLines | None:
    if last is None or not last.changed_lines:
        return None
    unread = {*last.verdict.coverage.partly, *last.verdict.coverage.unread}
    return find_changed_lines({path: marks for path, marks in last.changed_lines.items() if path not in unread}, diff)


def _open_conditions(
    conditions: Iterable[ClosingCondition], ledger: Sequence[LedgerEntry], places: Places
) -> Iterable[OpenCondition]:
    """The open conditions whose reject is on record: the first of the last rejects in a row that have it open."""
    for condition in conditions:
        by = None
        for reject in rejects_of(ledger):
            open_texts = {earlier.text for earlier in reject.closing_conditions if earlier.state is ConditionState.OPEN}
            by = (by or reject) if condition.text in open_texts else None
        if condition.state is ConditionState.OPEN and by is not None:
            yield OpenCondition(condition, by, tuple(filter(None, map(places.relocate, by.evidence))))


def rejects_of(ledger: Iterable[LedgerEntry]) -> Iterable[Reject]:
    """The rejects that were not carried over, oldest first."""
    verdicts = (entry.verdict for entry in ledger)
    return (verdict for verdict in verdicts if isinstance(verdict, Reject) and verdict.carried_from is None)


def finding_key(finding: Finding) -> tuple[str, str | None]:
    """What identifies a fact when its line moves."""
    return finding.signal, finding.path


def surface_of(verdict: Reject | Ruling) -> frozenset[str]:
    """The files that a reject points at, or else its unmet criteria."""
    paths = frozenset(pointer.path for pointer in verdict.evidence)
    return paths or frozenset(criterion.id for criterion in verdict.criteria if criterion.status in UNMET)


def _common_lines(pointer: EvidencePointer, other: EvidencePointer) -> EvidencePointer | None:
    """The lines that both pointers name."""
    if pointer.line is None or other.line is None:
        return pointer if (pointer.path, pointer.line) == (other.path, other.line) else None
    first = max(pointer.line, other.line)
    last = min(pointer.end_line or pointer.line, other.end_line or other.line)
    if (pointer.path, pointer.side) != (other.path, other.side) or last < first:
        return None
    return pointer.model_copy(update={"line": first, "end_line": last if last > first else None})


def first_scores(dossier: Dossier, previous: PreviousRounds) -> tuple[str, tuple[Score, ...]]:
    """A description of the first judged head, and its scores; none where no model judged it by this rubric."""
    if dossier.seed is not None and dossier.seed.scores:
        return "the first head", dossier.seed.scores
    first = next((entry for entry in dossier.ledger if entry.eval_id == previous.first_eval_id), None)
    return (first.diff_summary, first.verdict.scores) if first else ("", ())


def calibration_signals(now: Sequence[Score], first: Sequence[Score]) -> Mapping[str, str]:
    """Which scores moved since the first head, as a signal of the verdict; empty without scores to compare."""
    if not now or not first:
        return {}
    moves = [f"{after.criterion} {before.score} to {after.score}" for before, after in moved_scores(first, now)]
    return {"progress_since_first": ", ".join(moves) or "none beyond noise"}
