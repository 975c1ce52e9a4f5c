"""What figures need of one pull request: its verdicts and outcomes, as numbers and words of closed sets.

At most MOST verdicts and outcomes are kept.
"""

import json
from typing import Any, Final, NamedTuple

from worker.domain.verdict.verdict import SubjectKind
from worker.evaluation.stats.counters import CountersError
from worker.evaluation.stats.stream_entries import EndedEntry, EntryOpinion, VerdictView

MOST_VERDICTS: Final = 40
FIXED_FIELDS: Final = 11
"""How many fields of a row are always written."""

SHORT_KEY: Final = 12
"""The length of a head's name that distinguishes the heads of one pull request."""


class VerdictRow(NamedTuple):
    """One verdict, with all by which it is grouped."""

    eval_id: str
    at_ms: int
    subject: str
    subject_key: str
    rubric: str
    decision: str
    category: str
    agent: str
    judge_kind: str
    score: int
    confidence: int
    facts: tuple[str, ...]
    view: VerdictView
    is_live: bool

    @property
    def is_submission(self) -> bool:
        """Whether it was shown: a verdict on a head, and no re-evaluation."""
        return self.is_live and self.view is VerdictView.VERDICTS and self.subject == SubjectKind.SUBMISSION


class OutcomeRow(NamedTuple):
    """An outcome of a verdict (or of no verdict, where `eval_id` is empty).

    `at_ms`: when it was published; `heard_ms`: when it happened, which is the same however often it is published.
    """

    outcome: str
    eval_id: str
    at_ms: int
    heard_ms: int


class FirstVerdict(NamedTuple):
    """The time of a pull request's first verdict by code or a model, and its author agent."""

    at_ms: int
    agent: str


class PullStats:
    """`marks`: what is counted once for a pull request, and its value."""

    def __init__(self) -> None:
        self.rows: list[VerdictRow] = []
        self.outcomes: list[OutcomeRow] = []
        self.marks: dict[str, int] = {}
        self.first_verdict: FirstVerdict | None = None

    @property
    def last_heard_ms(self) -> int:
        return max((row.at_ms for row in (*self.rows, *self.outcomes)), default=0)

    def has_verdict(self, eval_id: str) -> bool:
        return any(row.eval_id == eval_id for row in self.rows)

    def add_verdict(self, row: VerdictRow) -> None:
        """Add a verdict. Beyond MOST, verdicts that were not shown are dropped first: outcomes are about the others."""
        self.rows = [*self.rows, row]
        if len(self.rows) > MOST_VERDICTS:
            unseen = (at for at, row in enumerate(self.rows[:-1]) if not row.is_submission)
            del self.rows[next(unseen, 0)]

    def add_outcome(self, done: OutcomeRow) -> bool:
        """Add an outcome; whether it is new. A republished one is not, the same outcome at a later time is."""
        identity = (done.outcome, done.eval_id, done.heard_ms)
        if any((outcome.outcome, outcome.eval_id, outcome.heard_ms) == identity for outcome in self.outcomes):
            return False
        self.outcomes = [*self.outcomes, done][-MOST_VERDICTS:]
        return True

    def is_first(self, mark: str) -> bool:
        """Mark it as counted; whether it was not before."""
        if mark in self.marks:
            return False
        self.marks[mark] = 1
        return True

    def find_verdict(self, eval_id: str, head_sha: str) -> VerdictRow | None:
        """The verdict that an outcome is about: the named one, or the latest on this head, or the latest of all."""
        if eval_id:
            return next((row for row in self.rows if row.eval_id == eval_id), None)
        live = [row for row in self.rows if row.is_submission]
        if head_sha:
            live = [row for row in live if row.subject_key.startswith(head_sha[:SHORT_KEY])]
        return max(live, key=lambda row: row.eval_id, default=None)


def row_of(at_ms: int, ended: EndedEntry, opinion: EntryOpinion) -> VerdictRow:
    """The row of a verdict. The key of its subject is what follows the pull request's number, shortened."""
    _, _, rest = ended.subject_id.removeprefix(ended.pull).partition("/")
    head, _, part = rest.partition("/")
    return VerdictRow(
        ended.eval_id,
        at_ms,
        ended.subject,
        head[:SHORT_KEY] + part[:SHORT_KEY],
        ended.rubric,
        opinion.decision,
        opinion.category,
        opinion.agent,
        opinion.judge_kind,
        opinion.score,
        opinion.confidence,
        opinion.facts,
        ended.view,
        opinion.is_live,
    )


def dump_pull(pull: PullStats) -> bytes:
    done = [list(outcome) for outcome in pull.outcomes]
    written = [[_row_fields(row) for row in pull.rows], done, dict(sorted(pull.marks.items())), pull.first_verdict]
    return json.dumps(written, separators=(",", ":")).encode()


def _row_fields(row: VerdictRow) -> list[Any]:
    """The fields without an empty tail, as most verdicts have no facts and are live."""
    fields = [*row[:FIXED_FIELDS], list(row.facts), row.view.value, int(row.is_live)]
    if fields[FIXED_FIELDS:] == [[], VerdictView.VERDICTS.value, 1]:
        return fields[:FIXED_FIELDS]
    return fields


def load_pull(raw: bytes) -> PullStats:
    """Read what `dump_pull` wrote. Raises CountersError."""
    pull = PullStats()
    try:
        rows, done, marks, born = json.loads(raw)
        pull.rows = [_row(row) for row in rows]
        pull.outcomes = [OutcomeRow(*fields) for fields in done]
        pull.marks = dict(marks)
        pull.first_verdict = FirstVerdict(*born) if born else None
    except (ValueError, TypeError) as error:
        raise CountersError(str(error)) from error
    return pull


def _row(fields: list[Any]) -> VerdictRow:
    facts, view, is_live = fields[FIXED_FIELDS:] or [[], VerdictView.VERDICTS.value, 1]
    return VerdictRow._make([*fields[:FIXED_FIELDS], tuple(facts), VerdictView(view), bool(is_live)])
