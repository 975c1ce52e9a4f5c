"""The lines of a bench file: an id, a dossier, and what a good judge would say about it.

Does not judge. Invariant: a line that is no row is refused by its file, line and field; what `expect` carries beside
the fields read here is left alone, so that everybody's corpora fit.
"""

import gzip
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from worker.domain.dossier.dossier import Dossier
from worker.domain.dossier.evaluate_block import EvaluateBlock
from worker.domain.verdict.verdict import Category, Line, Side, Text
from worker.errors import InputError

GZIP = b"\x1f\x8b"


class DefectPlace(BaseModel):
    """A place of the defect."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    path: Annotated[str, Field(min_length=1)]
    line: Line | None = None
    side: Side = Side.HEAD


class ExpectedVerdict(BaseModel):
    """What is known about the row. Nothing at all is fine: then it only counts among the shares."""

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
        """Whether the change was good, by the strongest thing that is known; None where nobody knows."""
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
    """One line."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    id: Text
    dossier: Dossier
    expect: Annotated[ExpectedVerdict, Field(default_factory=ExpectedVerdict)]
    evaluate: EvaluateBlock | None = None


class RawRow(NamedTuple):
    """A line that was not looked at yet, and where it stands."""

    path: Path
    number: int
    line: bytes

    @property
    def place(self) -> str:
        return f"{self.path}:{self.number}"


class RowSummary(NamedTuple):
    """What is left of a row when its dossier is put aside."""

    file: str
    id: str
    expect: ExpectedVerdict


def read_lines(path: Path) -> Iterator[RawRow]:
    """The lines of a file, packed with gzip or not; empty ones are left out. Raises InputError."""
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
    """Read every row once, before any is judged. Raises InputError for the first that is none, or whose id is not new."""
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
    """Parse a line. Raises InputError naming the first field that is wrong."""
    try:
        return BenchRow.model_validate_json(raw.line)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"])) or "the whole line"
        problem = "unknown field" if first["type"] == "extra_forbidden" else first["msg"]
        raise _row_error(raw, field, problem) from error


def _row_error(raw: RawRow, field: str, problem: str) -> InputError:
    return InputError(f"{raw.place}: {field}: {problem}. The format: docs/bench.md.")
