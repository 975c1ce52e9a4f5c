"""Rows of a bench: an id, a dossier and what is expected of it, as a file has them; and what a run made of each.

*found*, *named* and *marked* mean what docs/bench.md says.
"""

import gzip
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from worker.domain.dossier import Dossier
from worker.domain.model import Frozen
from worker.domain.verdict.verdict import (
    VERDICT_ADAPTER,
    Abstain,
    Accept,
    Category,
    CriterionStatus,
    Finding,
    Line,
    Reject,
    Side,
    Text,
)
from worker.errors import InputError
from worker.evaluation.bench.run_folder import TRAITS_FILE, VERDICTS_FILE, read_json_lines
from worker.evaluation.evaluate_block import EvaluateBlock
from worker.signals.heuristic_opinion import CRITERIA_IN_DOUBT
from worker.signals.signal import SignalScope

GZIP: Final = b"\x1f\x8b"
NEARBY_LINES: Final = 3
"""Lines between a defect and a finding that still names it."""

UNMET: Final = frozenset({CriterionStatus.MISSING, CriterionStatus.PARTIAL})
MOST_OTHERS: Final = 1
"""How many other criteria a judge may call unmet beside the one that is."""


class DefectPlace(BaseModel):
    """Where the defect is."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    path: Annotated[str, Field(min_length=1)]
    line: Line | None = None
    side: Side = Side.HEAD

    def is_near(self, finding: Finding) -> bool:
        """Whether a finding is in the same file and, if the defect has a line, within NEARBY_LINES of it on either side."""
        if finding.path != self.path or self.line is None:
            return finding.path == self.path
        if finding.line is None:
            return False
        return finding.line - NEARBY_LINES <= self.line <= (finding.end_line or finding.line) + NEARBY_LINES


class ExpectedVerdict(BaseModel):
    """What is known about the row, other fields ignored. All is optional: a bare row counts only among the shares."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    decision: Literal["accept", "reject", "not_accept"] | None = None
    category: Category | None = None
    also: tuple[Category, ...] = ()
    """Categories that a fair judge could name instead."""
    where: tuple[DefectPlace, ...] = ()
    missing: tuple[str, ...] = ()
    """Ids of the criteria that the change does not meet."""
    pair: str | None = None
    """The row like this one but for the defect."""
    difficulty: str = ""
    kind: str = ""
    variant: str = ""
    why: str = ""
    label: str = ""
    """`weak`: known to have been a fault, not to be visible."""
    outcome: str = ""
    resolved: bool | None = None
    instance: str = ""
    """The task, where several rows answer the same one."""

    @property
    def good(self) -> bool | None:
        """Whether the change was good, by the strongest evidence; None if unknown."""
        if self.decision in {"accept", "reject"}:
            return self.decision == "accept"
        if self.resolved is not None:
            return self.resolved
        return {"merged": True, "not_merged": False}.get(self.outcome)

    @property
    def group(self) -> str:
        """What the row is counted with."""
        if self.decision is None:
            outcome = self.outcome or {True: "resolved", False: "not resolved", None: ""}[self.resolved]
            return outcome.replace("_", " ") or "unknown"
        reason = self.category or self.why or self.label
        return f"{self.decision}: {reason}" if reason else self.decision

    def allows(self, category: str | None) -> bool:
        """Whether a reject with this category says what is wrong; without an expected one, any does."""
        fair = {*self.also, self.category} - {None}
        return not fair or category in fair


class BenchRow(BaseModel):
    """One line of a file."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    id: Text
    dossier: Dossier
    expect: Annotated[ExpectedVerdict, Field(default_factory=ExpectedVerdict)]
    evaluate: EvaluateBlock | None = None


class RawRow(NamedTuple):
    """A line that is not parsed yet, and where it is."""

    path: Path
    number: int
    line: bytes

    @property
    def place(self) -> str:
        return f"{self.path}:{self.number}"


class RowSummary(NamedTuple):
    """What is kept of a row without its dossier."""

    file: str
    id: str
    expect: ExpectedVerdict


class RowTraits(Frozen):
    """What the report counts a row by. `bytes` and `lines` are the diff's size; `ms` what judging it took.

    `looks`: the opportunities that its change gives the signals. `pointers_wrong`: locations that the verdict names and
    that do not exist, or read otherwise than quoted.
    """

    id: str
    file: str
    repository: str
    language: str
    whole_files: bool
    bytes: int
    lines: int
    ms: float
    looks: tuple[SignalScope, ...] = ()
    pointers: int = 0
    pointers_wrong: tuple[str, ...] = ()


class RowOutcome(NamedTuple):
    """One judged row, beside what was expected of it."""

    expect: ExpectedVerdict
    traits: RowTraits
    verdict: Accept | Reject | Abstain

    @property
    def is_rejected_rightly(self) -> bool:
        """Rejected as expected, with the expected category or one that a fair judge could name."""
        is_expected = self.expect.decision == "reject" and self.expect.allows(self.verdict.category)
        return is_expected and isinstance(self.verdict, Reject)

    @property
    def is_found(self) -> bool:
        """Rejected rightly, or found by a finding."""
        return self.is_rejected_rightly or any(map(self.is_found_by, self.verdict.findings))

    def is_found_by(self, finding: Finding) -> bool:
        """Whether it is of the category and at the defect; where no place is expected: anywhere."""
        if finding.category != self.expect.category:
            return False
        return not self.expect.where or any(defect.is_near(finding) for defect in self.expect.where)

    @property
    def is_named(self) -> bool:
        """A finding of the category names the file of the defect."""
        paths = {defect.path for defect in self.expect.where}
        return any(
            finding.category == self.expect.category and finding.path in paths for finding in self.verdict.findings
        )

    @property
    def is_marked(self) -> bool:
        """The unmet criteria are called so, or in doubt, and at most MOST_OTHERS beside them."""
        marked = {criterion.id for criterion in self.verdict.criteria if criterion.status in UNMET}
        marked.update(str(self.verdict.signals.get(CRITERIA_IN_DOUBT, "")).split(", "))
        missing = set(self.expect.missing)
        return missing <= marked and len(marked - missing - {""}) <= MOST_OTHERS

    def suspects(self, category: Category) -> bool:
        return any(finding.category == category for finding in self.verdict.findings)


def read_lines(path: Path) -> Iterator[RawRow]:
    """The lines of a file, packed with gzip or not, without the empty ones. Raises InputError."""
    try:
        with path.open("rb") as opened:
            is_packed = opened.read(2) == GZIP
        with gzip.open(path, "rb") if is_packed else path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield RawRow(path, number, line)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} can't be read: {error}. Expected JSON lines, packed with gzip or not.") from error


def survey_rows(paths: Sequence[Path]) -> tuple[RowSummary, ...]:
    """Read every row, before any is judged. Raises InputError for the first that is malformed or repeats an id."""
    places: dict[str, str] = {}
    rows: list[RowSummary] = []
    for raw in (raw for path in paths for raw in read_lines(path)):
        row = read_row(raw)
        if row.id in places:
            raise _row_error(raw, "id", f"{row.id} stands at {places[row.id]} too, and every row needs its own")
        places[row.id] = raw.place
        rows.append(RowSummary(raw.path.name, row.id, row.expect))
    if not rows:
        raise InputError(f"There is no row in {', '.join(map(str, paths))}. The format: docs/bench.md.")
    return tuple(rows)


def read_row(raw: RawRow) -> BenchRow:
    """Parse a line. Raises InputError naming the file, the line and the first field that is wrong."""
    try:
        return BenchRow.model_validate_json(raw.line)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"])) or "the whole line"
        raise _row_error(raw, field, "unknown field" if first["type"] == "extra_forbidden" else first["msg"]) from error


def _row_error(raw: RawRow, field: str, problem: str) -> InputError:
    return InputError(f"{raw.place}: {field}: {problem}. The format: docs/bench.md.")


def read_outcomes(rows: Sequence[RowSummary], folder: Path) -> tuple[RowOutcome, ...]:
    """A finished run and what its rows expected. Raises InputError where the two do not fit together."""
    verdicts, traits = read_json_lines(folder / VERDICTS_FILE), read_json_lines(folder / TRAITS_FILE)
    outcomes = list[RowOutcome]()
    try:
        for row, (_, judged), (_, measured) in zip(rows, verdicts, traits, strict=True):
            line, measures = cast("dict[str, object]", judged), RowTraits.model_validate(measured, strict=False)
            if not row.id == measures.id == line["id"]:
                raise ValueError(f"where {row.id} is expected, {measures.id} stands")  # noqa: TRY301 - named with the folder
            outcomes.append(RowOutcome(row.expect, measures, VERDICT_ADAPTER.validate_python(line["verdict"])))
    except ValueError as error:
        raise InputError(f"{folder} does not fit these files: {error}. Give another --out, or delete it.") from error
    return tuple(outcomes)
