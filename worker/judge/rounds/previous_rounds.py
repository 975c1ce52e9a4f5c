"""What the earlier rounds in the ledger left for the content that is judged now."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from worker.domain.dossier import Dossier, author_text
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
    Side,
)
from worker.dossier.diff.parser import Diff, DiffLine, FileDiff, LineKind, hash_file, hash_line
from worker.judge.checks.evidence import Places
from worker.judge.context import EvaluationHeader
from worker.judge.rulings import UNMET, EvidenceBundle, Ruling, moved_scores

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
        numbers: dict[tuple[str, Side], list[int]] = {}
        for path, side, number in sorted(self.new_lines):
            numbers.setdefault((path, side), []).append(number)
        return {key: _ranges(lines) for key, lines in numbers.items()}


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


def _ranges(numbers: list[int]) -> tuple[str, ...]:
    unique = set(numbers)
    starts = [number for number in numbers if number - 1 not in unique]
    ends = [number for number in numbers if number + 1 not in unique]
    return tuple(str(start) if start == end else f"{start}-{end}" for start, end in zip(starts, ends, strict=True))


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
