"""Where the earlier rounds left a pull request, seen from the content that is judged now.

Does not decide what follows (`worker.judge.rounds.convergence` does). Invariant: reads the ledger and the present change, and
nothing of a verdict that is still to come.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from worker.domain.dossier.author_text import author_text
from worker.domain.dossier.dossier import Dossier
from worker.domain.ids import EvalId, Fingerprint, Sha
from worker.domain.value import Value
from worker.domain.verdict.ledger import EDITED, LedgerEntry, conditions_of, round_of, text_turn
from worker.domain.verdict.verdict import (
    Abstain,
    Accept,
    Category,
    ClosingCondition,
    ConditionState,
    CriterionStatus,
    CriterionVerdict,
    EvidencePointer,
    Finding,
    JudgeKind,
    Reject,
)
from worker.dossier.diff.parser import Diff
from worker.judge.checks.evidence import Places
from worker.judge.context import Docket
from worker.judge.rounds.changed_lines import Since, lines_since
from worker.judge.rulings import Hearing, Ruling

UNMET = frozenset({CriterionStatus.MISSING, CriterionStatus.PARTIAL})


class Raised(Value):
    """A condition that is still open. `by` is the reject that froze it, `places` its evidence as it stands now."""

    condition: ClosingCondition
    by: Reject
    places: tuple[EvidencePointer, ...]

    @property
    def facts(self) -> frozenset[tuple[str, str | None]]:
        """What code saw when it was frozen, if facts carried that reject."""
        return frozenset(seen(one) for one in self.by.findings if one.fact)

    def part(self, pointer: EvidencePointer, lines: Places) -> EvidencePointer | None:
        """The part of a pointer that stands where the condition was raised; None if none of it does."""
        common = (_common(pointer, place) for place in self.places)
        found = next((one for one in common if one is not None), None)
        if found is None or found.line is None:
            return found
        return found.model_copy(update={"quote": lines.line(found.path, found.line, found.side)})


class Standing(Value):
    """`since` None: nothing is known to have been judged by a model, so that all of it may be objected to.

    `judged`: how the criteria stood when a model judged the last time. `round`: this one's number. `first`: the first verdict
    of a model by this law.
    """

    round: int = 1
    conditions: tuple[ClosingCondition, ...] = ()
    open: tuple[Raised, ...] = ()
    since: Since | None = None
    judged: Mapping[str, CriterionVerdict] = MappingProxyType({})
    rejects: tuple[Reject, ...] = ()
    first: EvalId | None = None

    def recurring(self, category: Category, surface: frozenset[str]) -> tuple[Reject, ...]:
        """The earlier rejects for this category on this surface."""
        return tuple(one for one in self.rejects if one.category is category and surface & surface_of(one))


def standing_of(hearing: Hearing, docket: Docket, rubric: str) -> Standing:
    """What the ledger says of the head that is judged, under the law of *rubric*.

    A reject of this very head, judged anew since CI moved or somebody asked, is none that its author could have answered.
    """
    ledger = hearing.dossier.ledger
    if not ledger:
        return Standing()
    last = _last_judged(ledger, rubric)
    conditions = conditions_of(ledger)
    return Standing(
        round=round_in(hearing.dossier, docket.subject.head_sha, docket.fingerprint),
        conditions=conditions,
        open=tuple(_raised(conditions, ledger, hearing.places)),
        since=_since(last, hearing.diff),
        judged={} if last is None else {one.id: one for one in last.verdict.criteria},
        rejects=tuple(rejects_of(one for one in ledger if one.head_sha != docket.subject.head_sha)),
        first=next(
            (one.eval_id for one in ledger if _is_judged(one.verdict) and one.verdict.rubric_id == rubric), None
        ),
    )


def round_in(dossier: Dossier, head_sha: Sha, content: Fingerprint) -> int:
    """The number of this round."""
    is_edit = text_turn(dossier.ledger, head_sha, author_text(dossier)) in EDITED
    return round_of(dossier.ledger, head_sha, content, dossier.pull_request.pushed_at, is_edit=is_edit)


def _last_judged(ledger: Sequence[LedgerEntry], rubric: str) -> LedgerEntry | None:
    """The newest content that a model judged by this law: where code alone spoke, or another law, all else is unsaid."""
    return next((one for one in reversed(ledger) if _is_judged(one.verdict) and one.verdict.rubric_id == rubric), None)


def _is_judged(verdict: Accept | Reject | Abstain) -> bool:
    by_facts = not verdict.scores and any(one.fact for one in verdict.findings)  # the model, asked too, did not answer
    return not isinstance(verdict, Abstain) and verdict.judge_kind is not JudgeKind.HEURISTIC and not by_facts


def _since(last: LedgerEntry | None, diff: Diff) -> Since | None:
    if last is None or not last.changed_lines:
        return None
    unread = {*last.verdict.coverage.partly, *last.verdict.coverage.unread}
    return lines_since({path: marks for path, marks in last.changed_lines.items() if path not in unread}, diff)


def _raised(conditions: Iterable[ClosingCondition], ledger: Sequence[LedgerEntry], places: Places) -> Iterable[Raised]:
    """The open conditions, each with the reject that opened it, if that is on record."""
    for condition in conditions:
        by = _opened_by(condition, ledger)
        if condition.state is ConditionState.OPEN and by is not None:
            found = (places.again(pointer) for pointer in by.evidence)
            yield Raised(condition, by, tuple(pointer for pointer in found if pointer is not None))


def _opened_by(condition: ClosingCondition, ledger: Iterable[LedgerEntry]) -> Reject | None:
    """The first of the last rejects in a row that have it open."""
    by = None
    for reject in rejects_of(ledger):
        is_open = any(_is_open_as(one, condition) for one in reject.closing_conditions)
        by = (by or reject) if is_open else None
    return by


def _is_open_as(one: ClosingCondition, condition: ClosingCondition) -> bool:
    return one.text == condition.text and one.state is ConditionState.OPEN


def rejects_of(ledger: Iterable[LedgerEntry]) -> Iterable[Reject]:
    """Those that were judged, oldest first."""
    verdicts = (entry.verdict for entry in ledger)
    return (one for one in verdicts if isinstance(one, Reject) and one.carried_from is None)


def seen(finding: Finding) -> tuple[str, str | None]:
    """What makes a fact the same when its line moves."""
    return finding.signal, finding.path


def surface_of(verdict: Reject | Ruling) -> frozenset[str]:
    """The files that a reject points at; where it points at none, the criteria that are not met."""
    paths = frozenset(pointer.path for pointer in verdict.evidence)
    return paths or frozenset(one.id for one in verdict.criteria if one.status in UNMET)


def _common(one: EvidencePointer, other: EvidencePointer) -> EvidencePointer | None:
    """The lines of *one* that *other* names too."""
    if one.line is None or other.line is None:
        return one if (one.path, one.line) == (other.path, other.line) else None
    first = max(one.line, other.line)
    last = min(one.end_line or one.line, other.end_line or other.line)
    if (one.path, one.side) != (other.path, other.side) or last < first:
        return None
    return one.model_copy(update={"line": first, "end_line": last if last > first else None})
