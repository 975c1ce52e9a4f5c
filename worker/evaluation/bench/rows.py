"""Rows of a bench: an id, a dossier and what is expected of it, as a file has them; and what a run made of each.

*found*, *named* and *marked* mean what docs/bench.md says. A row's `evaluate` block composes the verdict's score with what it asks
of the final response; the decision stays. Each primitive leaves its parts in the signals, under metis' names. Source: metis 5.4.
Grounding is averaged with the base, partial credit too, in this order; then the content penalties multiply (5.1).
"""

import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from worker.domain.dossier import Dossier
from worker.domain.model import Frozen
from worker.domain.verdict.verdict import (
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


class CreditMap(StrEnum):
    """How the share of passed tests becomes a score."""

    LINEAR = "linear"
    """The share itself."""
    STEPPED = "stepped"
    """1 for all, 0.5 for at least half, else 0."""


class PartialCredit(Frozen):
    """Credit for a part of the tests: `(base + credit) / 2`."""

    enabled: bool = True
    criterion: Literal["test_pass_count_ratio"] = "test_pass_count_ratio"
    map: CreditMap = CreditMap.LINEAR


class EvaluateBlock(Frozen):
    """What a row asks of the final response. Without one recorded, the case's summary is read.

    `rubric`, `llm_judge_model` and `weight_per_turn` are accepted so that a block of metis' fits, and not used: the run's tier
    judges, and a dossier is one turn.
    """

    rubric: Literal["heuristic", "llm", "hybrid"] | None = None
    llm_judge_model: str | None = None
    weight_per_turn: float | None = None
    expect_substring_in_final_response: Text | None = None
    grounding_tokens: tuple[Text, ...] = ()
    forbidden_grounding: tuple[Text, ...] = ()
    partial_credit: PartialCredit | None = None
    final_response: str | None = None


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


REFUSAL_PENALTY: Final = 0.5
EMPTY_PENALTY: Final = 0.4
REFUSAL_CHARACTERS: Final = 160
"""Characters of the stripped response in which a refusal counts; a later one is quoted."""

HALF_CREDIT: Final = 0.5

EvaluationSignals = dict[str, str | int | float | bool | None]

_REFUSAL: Final = re.compile(
    r"(?:^|[.!?:]\s|\n)[\s\"'*_]*"  # where a sentence begins: what "fails when we cannot connect" says is no refusal
    r"(?:(?:sorry|apologies|unfortunately|regrettably|i(?:['\u2019]m| am) (?:very )?(?:sorry|afraid)|i apologi[sz]e)\b[,.:]? ?(?:but )?)?"
    r"(?:as an ai\b|(?:I|we)(?:['\u2019](?:m|re)| am| are)? "
    r"(?:can(?:no|['\u2019])t|can not|unable to|not able to|won['\u2019]t|will not|must decline|have to decline|refuse to)\b)",
    re.IGNORECASE,
)
_SHARE: Final = r"\b(\d{1,7}) ?(?:/|of|out of) ?(?:the )?(\d{1,7})\b"
_PASSED_PATTERNS: Final = (
    re.compile(rf"{_SHARE}(?: \w{{1,20}}){{0,3}} ?(?:tests?|cases?|checks?|pass\w*)", re.IGNORECASE),
    re.compile(rf"\b(?:tests?|cases?|checks?|pass\w*)\b[^\n\d]{{0,40}}{_SHARE}", re.IGNORECASE),
)
_COUNT_PATTERN: Final = re.compile(
    r"(\b(?:not all|none|neither) (?:of )?)?(?:the )?(?<![\d.,/])(\d{1,3}(?:,\d{3}){1,2}|\d{1,7}) "
    r"(?:(?:tests?|cases?|checks?) )?"
    r"(pass|succeed|fail|error)(?:e[ds]|ing|s)?\b",
    re.IGNORECASE,
)


def evaluate_response(base: float, requested: EvaluateBlock, summary: str | None) -> EvaluationSignals:
    """Compose the verdict's score *base* with the primitives that the row asks for: `evaluate_score`, and its parts."""
    response = requested.final_response if requested.final_response is not None else summary
    score, signals = base, EvaluationSignals()
    for part, part_signals in _parts(requested, response or ""):
        score = (score + part) / 2
        signals.update(part_signals)
    content = None if response is None else response.strip()  # None: not recorded
    if content == "":
        score *= EMPTY_PENALTY
        signals["workload_empty_assistant_response"] = True
    elif content and _REFUSAL.search(content[:REFUSAL_CHARACTERS]):
        score *= REFUSAL_PENALTY
        signals["workload_assistant_refusal_detected"] = True
    return {**signals, "evaluate_base_score": base, "evaluate_score": score}


def _parts(requested: EvaluateBlock, text: str) -> Iterator[tuple[float, EvaluationSignals]]:
    if requested.expect_substring_in_final_response is not None:
        is_present = requested.expect_substring_in_final_response in text
        yield float(is_present), {"expected_substring_found": is_present}
    tokens, forbidden = requested.grounding_tokens, requested.forbidden_grounding
    if tokens or forbidden:  # the share of the tokens that occur, less the share of the forbidden ones that do
        present = [token for token in tokens if token in text]
        present_forbidden = [token for token in forbidden if token in text]
        share = len(present) / len(tokens) if tokens else 1.0
        score = max(0.0, share - (len(present_forbidden) / len(forbidden) if forbidden else 0.0))
        yield (
            score,
            {
                "workload_grounding_score": score,
                "grounding_tokens_present": ", ".join(present),
                "grounding_tokens_missing": ", ".join(token for token in tokens if token not in text),
                "forbidden_grounding_present": ", ".join(present_forbidden),
            },
        )
    credit = requested.partial_credit
    if credit is not None and credit.enabled:
        counts = count_passed(text)
        if counts is None:
            yield 0.0, {"partial_credit_test_signal_found": False, "partial_credit_score": 0.0}
            return
        passed, total = counts
        score = ratio = passed / total
        if credit.map is CreditMap.STEPPED:
            score = 1.0 if ratio == 1 else HALF_CREDIT * (ratio >= HALF_CREDIT)
        yield (
            score,
            {
                "partial_credit_test_signal_found": True,
                "partial_credit_score": score,
                "partial_credit_ratio": ratio,
                "partial_credit_passed": passed,
                "partial_credit_total": total,
                "partial_credit_criterion": credit.criterion,
                "partial_credit_map": credit.map.value,
            },
        )


def count_passed(text: str) -> tuple[int, int] | None:
    """How many tests passed, of how many, by the last such count in the text; None without one."""
    matches = (match for pattern in _PASSED_PATTERNS for match in pattern.finditer(text))
    shares = [(match.start(), int(match[1]), int(match[2])) for match in matches]
    tallies = [(at, tally["pass"], sum(tally.values())) for at, tally in _tallies(text) if "pass" in tally]
    counts = (count for count in (*shares, *tallies) if count[1] <= count[2] and count[2])
    last = max(counts, default=None)
    return None if last is None else last[1:]


def _tallies(text: str) -> Iterator[tuple[int, dict[str, int]]]:
    """Rows of counts that are no shares, and where each begins; a word that the row has already begins the next."""
    for pattern in _PASSED_PATTERNS:
        text = pattern.sub(lambda match: " " * len(match[0]), text)
    start, tally = 0, dict[str, int]()
    for match in _COUNT_PATTERN.finditer(text):
        word = match[3].casefold().replace("succeed", "pass")
        if match[1] or word in tally:
            yield start, tally
            tally = {}
        if not match[1]:
            start = start if tally else match.start()
            tally[word] = int(match[2].replace(",", ""))
    yield start, tally
