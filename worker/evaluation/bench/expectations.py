"""What was expected of a row beside what was said about it.

Does not judge or count. Invariant: *found*, *named* and *marked* mean what docs/bench.md says, here and nowhere else.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple, cast

from worker.domain.verdict.verdict import VERDICT_ADAPTER, Abstain, Accept, Category, CriterionStatus, Finding, Reject
from worker.errors import InputError
from worker.evaluation.bench.judge_row import RowTraits
from worker.evaluation.bench.rows import DefectPlace, ExpectedVerdict, RowSummary
from worker.evaluation.bench.run_folder import TRAITS_FILE, VERDICTS_FILE, read_json_lines
from worker.signals.heuristic_opinion import CRITERIA_IN_DOUBT

NEARBY_LINES: Final = 3
"""Lines between a defect and a finding that still names it."""

UNMET: Final = frozenset({CriterionStatus.MISSING, CriterionStatus.PARTIAL})
MOST_OTHERS: Final = 1
"""How many other criteria a judge may call unmet beside the one that is."""


class RowOutcome(NamedTuple):
    """One judged row."""

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
        """Rejected rightly, or a finding of the category stands at the defect; without a place: anywhere."""
        return self.is_rejected_rightly or any(map(self.is_found_by, self.verdict.findings))

    def is_found_by(self, finding: Finding) -> bool:
        """Whether it is of the category and stands at the defect; without a place: anywhere."""
        return finding.category == self.expect.category and _is_at(finding, self.expect.where)

    @property
    def is_named(self) -> bool:
        """A finding of the category names the file of the defect."""
        paths = {where.path for where in self.expect.where}
        return any(
            finding.category == self.expect.category and finding.path in paths for finding in self.verdict.findings
        )

    @property
    def is_marked(self) -> bool:
        """The unmet criteria are called so, or in doubt, and at most OTHERS beside them."""
        marked = {criterion.id for criterion in self.verdict.criteria if criterion.status in UNMET}
        marked.update(str(self.verdict.signals.get(CRITERIA_IN_DOUBT, "")).split(", "))
        missing = set(self.expect.missing)
        return missing <= marked and len(marked - missing - {""}) <= MOST_OTHERS

    def suspects(self, category: Category) -> bool:
        return any(finding.category == category for finding in self.verdict.findings)


def _is_at(finding: Finding, places: Sequence[DefectPlace]) -> bool:
    return not places or any(_is_near(finding, defect) for defect in places)


def _is_near(finding: Finding, defect: DefectPlace) -> bool:
    """In the same file and, where the place has a line, with a line not far from it, on whichever side."""
    if finding.path != defect.path or defect.line is None:
        return finding.path == defect.path
    if finding.line is None:
        return False
    return finding.line - NEARBY_LINES <= defect.line <= (finding.end_line or finding.line) + NEARBY_LINES


def read_outcomes(rows: Sequence[RowSummary], folder: Path) -> tuple[RowOutcome, ...]:
    """A finished run and what its rows expected. Raises InputError where the two do not fit together."""
    verdicts = read_json_lines(folder / VERDICTS_FILE)
    traits = read_json_lines(folder / TRAITS_FILE)
    try:
        return tuple(
            _outcome(row, verdict, measured)
            for row, (_, verdict), (_, measured) in zip(rows, verdicts, traits, strict=True)
        )
    except ValueError as error:
        raise InputError(f"{folder} does not fit these files: {error}. Give another --out, or delete it.") from error


def _outcome(row: RowSummary, fields: object, measured: object) -> RowOutcome:
    line = cast("dict[str, object]", fields)
    traits = RowTraits.model_validate(measured, strict=False)
    if not row.id == traits.id == line["id"]:
        msg = f"where {row.id} is expected, {traits.id} stands"
        raise ValueError(msg)
    return RowOutcome(row.expect, traits, VERDICT_ADAPTER.validate_python(line["verdict"]))
