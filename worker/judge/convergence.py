"""The convergence contract: what earlier rounds left, what a later one may reject for, and how closing conditions change.

After the first round a reject rests on a fact, an open condition, or lines that changed since a model last judged; after the last
round a person decides. A resolved condition stays so unless changed lines break it again. An accept leaves none open.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from worker.domain.dossier import Dossier, author_text
from worker.domain.model import EvalId, Fingerprint, Sha
from worker.domain.pattern import pattern
from worker.domain.verdict.ledger import EDIT_CHANGES, LedgerEntry, classify_text, conditions_of, round_of, with_free_id
from worker.domain.verdict.verdict import (
    Abstain,
    ClosingCondition,
    ConditionAnswer,
    ConditionState,
    CriterionStatus,
    CriterionVerdict,
    EvidencePointer,
    Finding,
    JudgeKind,
    Reject,
    Score,
    Side,
)
from worker.dossier.diff import Diff, DiffLine, FileDiff, LineKind, hash_file, hash_line
from worker.judge import texts
from worker.judge.checks.evidence import Places
from worker.judge.context import EvaluationHeader, EvidenceBundle, Ruling
from worker.judge.rulings import UNMET, closing_conditions, leave_to_person, moved_scores

LineKey = tuple[str, Side, int]
ChangedLine = tuple[FileDiff, DiffLine | None, str]


@dataclass(frozen=True)
class ChangedLines:
    """`new_lines`: the text of each new line; `files`: changed ones without lines; `lost_hashes`: of lines gone from each path."""

    new_lines: Mapping[LineKey, str]
    files: frozenset[str]
    lost_hashes: Mapping[str, frozenset[str]]

    def new_part(self, pointer: EvidencePointer) -> EvidencePointer | None:
        """The first consecutive new lines of a pointer; None if none is new."""
        if pointer.line is None:
            return pointer if pointer.path in self.files else None
        numbers = range(pointer.line, (pointer.end_line or pointer.line) + 1)
        is_new = [(pointer.path, pointer.side, number) in self.new_lines for number in numbers]
        if True not in is_new or all(is_new):
            return pointer if True in is_new else None
        start = is_new.index(True)
        count = [*is_new[start:], False].index(False)
        quote = self.new_lines[pointer.path, pointer.side, numbers[start]]
        end = numbers[start + count - 1] if count > 1 else None
        return pointer.model_copy(update={"line": numbers[start], "end_line": end, "quote": quote})

    def is_lost(self, pointer: EvidencePointer) -> bool:
        """Whether the changed line that an earlier pointer names is gone."""
        marks = (hash_line(kind, pointer.quote or "") for kind in (LineKind.ADDED, LineKind.REMOVED))
        return any(mark in self.lost_hashes.get(pointer.path, ()) for mark in marks)

    def ranges(self) -> dict[tuple[str, Side], tuple[str, ...]]:
        """The new lines per file and side, as `3-7` and `12`."""
        numbers: dict[tuple[str, Side], dict[int, None]] = {}
        for path, side, number in sorted(self.new_lines):
            numbers.setdefault((path, side), {})[number] = None
        texts_by_key: dict[tuple[str, Side], tuple[str, ...]] = {}
        for key, lines in numbers.items():
            starts = [number for number in lines if number - 1 not in lines]
            ends = [number for number in lines if number + 1 not in lines]
            pairs = zip(starts, ends, strict=True)
            texts_by_key[key] = tuple(str(start) if start == end else f"{start}-{end}" for start, end in pairs)
        return texts_by_key


def find_changed_lines(before: Mapping[str, Sequence[str]], diff: Diff) -> ChangedLines:
    """Compare the diff with *before*: per path, the hashes of the lines that were changed then, in the order of the ledger.

    A line that moved, within its file or to another, is not new, and neither is a line that a rebase changed around. Of equal
    lines, those in the old order are the old ones.
    """
    now: dict[str, list[ChangedLine]] = {}
    for file in diff.files:
        now.setdefault(file.path, []).extend((file, line, mark) for line, mark in hash_file(file))
    missing = {path: Counter(marks) - Counter(mark for *_, mark in now.get(path, ())) for path, marks in before.items()}
    gone = sum(missing.values(), Counter[str]())
    new_lines: dict[LineKey, str] = {}
    files: set[str] = set()
    for file, line, mark in (new for path, lines in now.items() for new in _new_lines(before.get(path, ()), lines)):
        if gone[mark] > 0:  # it moved here from another file
            gone[mark] -= 1
        elif line is None:
            files.add(file.path)
        elif line.head_line is not None:
            new_lines[file.path, Side.HEAD, line.head_line] = line.text
        else:
            for path in {file.path, file.old_path or file.path}:
                new_lines[path, Side.BASE, line.base_line or 0] = line.text
    lost = {path: frozenset(mark for mark in marks if gone[mark]) for path, marks in missing.items()}
    return ChangedLines(new_lines, frozenset(files), lost)


def _new_lines(before: Sequence[str], lines: list[ChangedLine]) -> Iterable[ChangedLine]:
    """The lines whose text occurs more often than before; of equal ones, those out of the old order."""
    marks = [mark for *_, mark in lines]
    had, has = Counter(before), Counter(marks)
    grown = {mark for mark in has if has[mark] > had[mark]}
    aligned: set[int] = set()
    if any(had[mark] for mark in grown):
        from difflib import SequenceMatcher  # noqa: PLC0415 - 1 ms that only a second round with repeated lines needs

        for block in SequenceMatcher(None, before, marks).get_matching_blocks():
            aligned.update(range(block.b, block.b + block.size))
    return (line for at, line in enumerate(lines) if line[2] in grown and at not in aligned)


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


def read_previous_rounds(bundle: EvidenceBundle, header: EvaluationHeader, rubric: str) -> PreviousRounds:
    """Read the ledger for the head that is judged by *rubric*.

    Only a model's verdicts by the same rubric count as judged. A reject of this very head, which is being judged again, is none
    that its author could have answered.
    """
    ledger = bundle.dossier.ledger
    if not ledger:
        return PreviousRounds()
    judged: list[LedgerEntry] = []
    for entry in ledger:
        verdict = entry.verdict
        # without scores a fact decided, and the model, asked too, did not answer
        by_facts = not verdict.scores and any(finding.fact for finding in verdict.findings)
        by_code = verdict.judge_kind is JudgeKind.HEURISTIC or by_facts
        if verdict.rubric_id == rubric and not by_code and not isinstance(verdict, Abstain):
            judged.append(entry)
    last, changed_lines = judged[-1] if judged else None, None
    if last is not None and last.changed_lines:
        unread = {*last.verdict.coverage.partly, *last.verdict.coverage.unread}
        before = {path: marks for path, marks in last.changed_lines.items() if path not in unread}
        changed_lines = find_changed_lines(before, bundle.diff)
    conditions = conditions_of(ledger)
    return PreviousRounds(
        round=round_number(bundle.dossier, header.subject.head_sha, header.fingerprint),
        conditions=conditions,
        open_conditions=tuple(_open_conditions(conditions, ledger, bundle.places)),
        changed_lines=changed_lines,
        judged_criteria={criterion.id: criterion for criterion in last.verdict.criteria} if last else {},
        rejects=tuple(rejects_of(entry for entry in ledger if entry.head_sha != header.subject.head_sha)),
        first_eval_id=judged[0].eval_id if judged else None,
    )


def round_number(dossier: Dossier, head_sha: Sha, content: Fingerprint) -> int:
    """The number of the round that judges *content* on this head."""
    is_edit = classify_text(dossier.ledger, head_sha, author_text(dossier)) in EDIT_CHANGES
    return round_of(dossier.ledger, head_sha, content, dossier.pull_request.pushed_at, is_edit=is_edit)


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


ConditionAnswers = tuple[ConditionAnswer, ...]


@dataclass(frozen=True)
class ConvergedRuling:
    """The final ruling and conditions. `refusal`: what was refused of the ruling, for the record."""

    ruling: Ruling
    conditions: tuple[ClosingCondition, ...]
    refusal: str = ""


@dataclass(frozen=True)
class RejectGrounds:
    """What may carry a reject: places and criteria ids, new ones and those of open conditions."""

    new_places: tuple[EvidencePointer, ...] = ()
    known_places: tuple[EvidencePointer, ...] = ()
    new_criteria: frozenset[str] = frozenset()
    known_criteria: frozenset[str] = frozenset()

    @property
    def is_empty(self) -> bool:
        return not (self.new_places or self.known_places or self.new_criteria or self.known_criteria)


def converge(
    ruling: Ruling, answers: ConditionAnswers, bundle: EvidenceBundle, previous: PreviousRounds, limit: int
) -> ConvergedRuling:
    """Hold a ruling to the earlier rounds. *answers*: the model's on the open conditions."""
    previous = _update_conditions(ruling, answers, bundle, previous)
    match ruling.decision:
        case "reject":
            return _converge_reject(ruling, answers, bundle, previous, limit)
        case "accept" if left := open_conditions(previous.conditions):
            return _refuse(ruling, texts.conditions_open(left), previous, "conditions are open")
        case _:
            return ConvergedRuling(ruling, previous.conditions)


class RejectRefusal(StrEnum):
    """Why a model's reject can't stand."""

    NOT_NEW = "what it objects to did not change since"
    REPEATED = "the next step was asked for before"


def find_refusal(
    ruling: Ruling, answers: ConditionAnswers, bundle: EvidenceBundle, previous: PreviousRounds
) -> RejectRefusal | None:
    """Why a model's reject would be refused, where the model can still correct it; else None."""
    if ruling.decision != "reject" or bundle.opinion.facts:
        return None
    previous = _update_conditions(ruling, answers, bundle, previous)
    if find_grounds(ruling, answers, bundle, previous).is_empty:
        return None if _find_proven(answers, bundle, previous) else RejectRefusal.NOT_NEW
    return RejectRefusal.REPEATED if is_repeated(ruling, previous) else None


def open_conditions(conditions: Iterable[ClosingCondition]) -> tuple[ClosingCondition, ...]:
    return tuple(condition for condition in conditions if condition.state is ConditionState.OPEN)


def unsettled_conditions(bundle: EvidenceBundle, previous: PreviousRounds) -> tuple[ClosingCondition, ...]:
    """The open conditions that code alone can't resolve."""
    return open_conditions(_update_conditions(Ruling("", None, 1.0, 1.0), (), bundle, previous).conditions)


def _update_conditions(
    ruling: Ruling, answers: ConditionAnswers, bundle: EvidenceBundle, previous: PreviousRounds
) -> PreviousRounds:
    """*previous* with the state of each condition after this ruling.

    A fact that is still there keeps its condition open; else the model's answer counts, then code's criteria. Facts concern the
    condition that is their reject's step: the others are criteria.
    """
    raised = {entry.condition: entry for entry in reversed(previous.open_conditions)}
    states = {answer.id: answer.state for answer in reversed(answers)}
    facts = {finding_key(fact) for fact in bundle.opinion.facts}
    met = {_condition_of(entry, bundle) for entry in ruling.criteria if entry.status is CriterionStatus.MET}
    conditions: list[ClosingCondition] = []
    for condition in previous.conditions:
        if condition.state is ConditionState.RESOLVED:
            conditions.append(condition)
            continue
        by, state = raised.get(condition), states.get(condition.id)
        if by and by.facts and condition.text == by.reject.next_step:
            is_there = not by.facts.isdisjoint(facts)
            state = ConditionState.OPEN if is_there else state or ConditionState.RESOLVED
        state = state or (ConditionState.RESOLVED if condition.text in met else ConditionState.OPEN)
        conditions.append(condition.model_copy(update={"state": state}))
    return replace(previous, conditions=tuple(conditions))


def _condition_of(criterion: CriterionVerdict, bundle: EvidenceBundle) -> str | None:
    """The text of the closing condition that a criterion is."""
    return next((texts.criterion_met(entry) for entry in bundle.criteria if entry.id == criterion.id), None)


def _converge_reject(
    ruling: Ruling, answers: ConditionAnswers, bundle: EvidenceBundle, previous: PreviousRounds, limit: int
) -> ConvergedRuling:
    if previous.round > limit:
        return _refuse(ruling, texts.round_limit(limit, ruling.concern), previous, "the round limit is reached")
    if bundle.opinion.facts:
        return _converge_facts(ruling, bundle, previous)
    grounds = find_grounds(ruling, answers, bundle, previous)
    if grounds.is_empty:
        return _converge_on_conditions(ruling, answers, bundle, previous)
    if is_repeated(ruling, previous):
        times = len(_earlier_rejects(ruling, previous)) + 1
        return _refuse(ruling, texts.step_repeated(times, ruling.concern), previous, RejectRefusal.REPEATED)
    carried = replace(
        ruling, evidence=(*grounds.new_places, *grounds.known_places), criteria=_criteria(ruling, grounds, previous)
    )
    is_known = any(
        condition.reject.category is ruling.category and surface_of(carried) & surface_of(condition.reject)
        for condition in _still_open(previous)
    )
    with_step = bool(grounds.new_places or grounds.new_criteria) and not is_known
    conditions = _freeze_conditions(carried, bundle, previous, with_step=with_step)
    count = len(ruling.evidence)
    dropped = count - len(carried.evidence)
    refusal = f"{dropped} of {count} places did not change since" if dropped else ""
    return ConvergedRuling(carried, conditions, refusal)


def _refuse(ruling: Ruling, concern_and_step: tuple[str, str], previous: PreviousRounds, why: str) -> ConvergedRuling:
    return ConvergedRuling(leave_to_person(ruling, concern_and_step, ruling.decision), previous.conditions, why)


def find_grounds(
    ruling: Ruling, answers: ConditionAnswers, bundle: EvidenceBundle, previous: PreviousRounds
) -> RejectGrounds:
    """What of a model's reject may carry it."""
    changed = previous.changed_lines
    if changed is None:
        unmet = frozenset(criterion.id for criterion in ruling.criteria if criterion.status in UNMET)
        return RejectGrounds(new_places=ruling.evidence, new_criteria=unmet)
    raised = [entry for entry in _conditions_kept_open(previous, answers) if entry.reject.category is ruling.category]
    new_places: list[EvidencePointer] = []
    known_places: list[EvidencePointer] = []
    for pointer in ruling.evidence:
        if new := changed.new_part(pointer):
            new_places.append(new)
        elif part := next(filter(None, (entry.part_at(pointer, bundle.places) for entry in raised)), None):
            known_places.append(part)
    criteria = dict(_carrying_criteria(ruling, bundle, previous, changed))
    return RejectGrounds(
        new_places=tuple(new_places),
        known_places=tuple(known_places),
        new_criteria=frozenset(name for name, is_new in criteria.items() if is_new),
        known_criteria=frozenset(name for name, is_new in criteria.items() if not is_new),
    )


def _conditions_kept_open(previous: PreviousRounds, answers: ConditionAnswers) -> list[OpenCondition]:
    """The conditions that the model calls open."""
    open_ids = {answer.id for answer in answers if answer.state is ConditionState.OPEN}
    return [condition for condition in previous.open_conditions if condition.condition.id in open_ids]


def _carrying_criteria(
    ruling: Ruling, bundle: EvidenceBundle, previous: PreviousRounds, changed: ChangedLines
) -> Iterator[tuple[str, bool]]:
    """Each unmet criterion that may carry a reject, and whether that is new.

    One that was met before is broken if a line that showed it is gone, or a new line stands against it.
    """
    asked = {condition.text for condition in open_conditions(previous.conditions)}
    for criterion in ruling.criteria:
        if criterion.status not in UNMET:
            continue
        before = previous.judged_criteria.get(criterion.id)
        if _condition_of(criterion, bundle) in asked or (before is not None and before.status in UNMET):
            yield criterion.id, False
            continue
        was_shown = before.evidence if before is not None and before.status is CriterionStatus.MET else ()
        is_broken = any(map(changed.is_lost, was_shown)) or any(map(changed.new_part, criterion.evidence))
        if before is None or is_broken:
            yield criterion.id, True


def _criteria(ruling: Ruling, grounds: RejectGrounds, previous: PreviousRounds) -> tuple[CriterionVerdict, ...]:
    """The criteria; an unmet one that may not carry a reject is unverifiable."""
    if previous.changed_lines is None:
        return ruling.criteria
    criteria: list[CriterionVerdict] = []
    for criterion in ruling.criteria:
        if criterion.status not in UNMET or criterion.id in grounds.known_criteria:
            criteria.append(criterion)
        elif criterion.id not in grounds.new_criteria:
            criteria.append(criterion.model_copy(update=_UNVERIFIABLE))
        else:
            parts = tuple(filter(None, map(previous.changed_lines.new_part, criterion.evidence)))
            criteria.append(criterion.model_copy(update={"evidence": parts}))
    return tuple(criteria)


_WORD: Final = pattern(r"\w+")
_UNVERIFIABLE: Final = {"status": CriterionStatus.UNVERIFIABLE, "note": texts.UNCHANGED_SINCE_JUDGED}


def _converge_facts(ruling: Ruling, bundle: EvidenceBundle, previous: PreviousRounds) -> ConvergedRuling:
    """A fact holds wherever it is; what a model adds to it needs grounds like any other objection."""
    keys = frozenset(finding_key(fact) for fact in bundle.opinion.facts)
    is_known = any(not condition.facts.isdisjoint(keys) for condition in _still_open(previous))
    carried = _repeat_fact(ruling, previous)
    if previous.changed_lines is not None:
        at = {(fact.path, line) for fact in bundle.opinion.facts for line in (fact.line, None)}
        facts = tuple(pointer for pointer in ruling.evidence if (pointer.path, pointer.line) in at)
        grounds = find_grounds(ruling, (), bundle, previous)
        carried = replace(carried, evidence=tuple(dict.fromkeys((*facts, *grounds.new_places))))
        if facts:
            carried = replace(carried, criteria=_criteria(ruling, grounds, previous))
        if facts and not is_known and not any(map(previous.changed_lines.new_part, facts)):
            carried = replace(carried, concern=texts.late_fact(carried.concern))
    return ConvergedRuling(carried, _freeze_conditions(carried, bundle, previous, with_step=not is_known))


def _still_open(previous: PreviousRounds) -> list[OpenCondition]:
    """The conditions that were open before this round and still are."""
    asked = {condition.id for condition in open_conditions(previous.conditions)}
    return [condition for condition in previous.open_conditions if condition.condition.id in asked]


def _repeat_fact(ruling: Ruling, previous: PreviousRounds) -> Ruling:
    """A fact that was rejected for before: its principle in the concern, its line in the step."""
    earlier = _earlier_rejects(ruling, previous)
    if not earlier:
        return ruling
    quote = next((pointer.quote for pointer in ruling.evidence if pointer.quote), None)
    step = texts.fact_step_again(ruling.next_step or "", quote, len(earlier) + 1)
    return replace(ruling, concern=texts.recurring_fact(ruling.concern, earlier[0].category), next_step=step)


def _converge_on_conditions(
    ruling: Ruling, answers: ConditionAnswers, bundle: EvidenceBundle, previous: PreviousRounds
) -> ConvergedRuling:
    """Reject for an open condition that is shown to be open; else a person decides, as the objection carries nothing."""
    proven = _find_proven(answers, bundle, previous)
    if proven is None:
        left = open_conditions(previous.conditions)
        places = tuple(pointer.location for pointer in ruling.evidence)
        bare = replace(ruling, evidence=(), criteria=_criteria(ruling, RejectGrounds(), previous))
        return _refuse(bare, texts.nothing_new(left, ruling.concern, places), previous, RejectRefusal.NOT_NEW)
    raised, places = proven
    concern, next_step = texts.still_open(raised.condition, raised.reject.round)
    criteria = _criteria(ruling, RejectGrounds(), previous)
    carried = replace(ruling, concern=concern, next_step=next_step, evidence=places, criteria=criteria)
    return ConvergedRuling(
        replace(carried, category=raised.reject.category), previous.conditions, RejectRefusal.NOT_NEW
    )


def _find_proven(
    answers: ConditionAnswers, bundle: EvidenceBundle, previous: PreviousRounds
) -> tuple[OpenCondition, tuple[EvidencePointer, ...]] | None:
    """The first condition that the model calls open with a place that shows it."""
    changed = previous.changed_lines
    proofs = {answer.id: answer.evidence for answer in answers}
    for raised in _conditions_kept_open(previous, answers):
        parts = (
            (pointer if changed is None else changed.new_part(pointer)) or raised.part_at(pointer, bundle.places)
            for pointer in proofs[raised.condition.id]
        )
        if places := tuple(filter(None, parts)):
            return raised, places
    return None


def is_repeated(ruling: Ruling, previous: PreviousRounds) -> bool:
    """Whether an earlier reject for the same category on the same surface has every word of the next step."""
    step = frozenset(_WORD.findall((ruling.next_step or "").casefold()))
    earlier = (reject.next_step.casefold() for reject in _earlier_rejects(ruling, previous))
    return any(step.issubset(_WORD.findall(text)) for text in earlier)


def _earlier_rejects(ruling: Ruling, previous: PreviousRounds) -> tuple[Reject, ...]:
    """The earlier rejects for the same category on the same surface."""
    surface = surface_of(ruling)
    alike = (reject for reject in previous.rejects if reject.category is ruling.category)
    return tuple(reject for reject in alike if surface & surface_of(reject))


def _freeze_conditions(
    ruling: Ruling, bundle: EvidenceBundle, previous: PreviousRounds, *, with_step: bool
) -> tuple[ClosingCondition, ...]:
    """The conditions with those that this reject freezes or opens again.

    *with_step* false: an open condition asks for its step already. At least one condition is open afterwards.
    """
    step, *asked = closing_conditions(ruling, bundle)
    conditions = _join_conditions(previous.conditions, [step, *asked] if with_step else asked)
    return conditions if open_conditions(conditions) else _join_conditions(conditions, [step])


def _join_conditions(
    earlier: Iterable[ClosingCondition], asked: Iterable[ClosingCondition]
) -> tuple[ClosingCondition, ...]:
    conditions = {condition.text: condition for condition in earlier}
    for condition in asked:
        before = conditions.get(condition.text)
        named = with_free_id(before or condition, [] if before else conditions.values())
        conditions[condition.text] = named.model_copy(update={"state": ConditionState.OPEN})
    return tuple(conditions.values())
