"""What figures have to remember of one pull request: its verdicts, and what was done about them.

Does not count. Invariant: what was written reads back as it was; it holds numbers and words of closed sets, and no more than
MOST verdicts and outcomes.
"""

import json
from typing import Any, Final, NamedTuple

from worker.domain.verdict.verdict import SubjectKind
from worker.evaluation.stats.cells import CellError
from worker.evaluation.stats.reading import Ended, Opinion, View

MOST: Final = 40
FRONT: Final = 11
"""How many fields of a row are always written."""

SHORT: Final = 12
"""How much of a head's name tells the heads of one pull request apart."""


class Row(NamedTuple):
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
    view: View
    is_live: bool

    @property
    def is_submission(self) -> bool:
        """Whether people saw it: a verdict on a head, not one that was made anew."""
        return self.is_live and self.view is View.VERDICTS and self.subject == SubjectKind.SUBMISSION


class Done(NamedTuple):
    """Something was done about a verdict (or about no verdict, where `eval_id` is empty).

    `at_ms`: when it was told; `said_ms`: when it was said, which is the same however often it is told.
    """

    outcome: str
    eval_id: str
    at_ms: int
    said_ms: int


class Born(NamedTuple):
    """When code or a model first had a verdict on a pull request, and whose it was."""

    at_ms: int
    agent: str


class Pull:
    """`marks`: what is counted once for a pull request, and what it said."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.done: list[Done] = []
        self.marks: dict[str, int] = {}
        self.born: Born | None = None

    @property
    def last_heard_ms(self) -> int:
        return max((one.at_ms for one in (*self.rows, *self.done)), default=0)

    def knows(self, eval_id: str) -> bool:
        return any(row.eval_id == eval_id for row in self.rows)

    def enter(self, row: Row) -> None:
        """Where there are too many, what people saw is forgotten last: outcomes are about those."""
        self.rows = [*self.rows, row]
        if len(self.rows) > MOST:
            unseen = (at for at, one in enumerate(self.rows[:-1]) if not one.is_submission)
            del self.rows[next(unseen, 0)]

    def heard(self, done: Done) -> bool:
        """Whether it is new: the same that is told twice counts once, the same that is said again is another word."""
        said = (done.outcome, done.eval_id, done.said_ms)
        if any((one.outcome, one.eval_id, one.said_ms) == said for one in self.done):
            return False
        self.done = [*self.done, done][-MOST:]
        return True

    def is_first(self, mark: str) -> bool:
        """Whether this is counted for the first time."""
        if mark in self.marks:
            return False
        self.marks[mark] = 1
        return True

    def meant(self, eval_id: str, head_sha: str) -> Row | None:
        """The verdict that something is about: the named one, or the latest on this head, or the latest of all."""
        if eval_id:
            return next((row for row in self.rows if row.eval_id == eval_id), None)
        live = [row for row in self.rows if row.is_submission]
        if head_sha:
            live = [row for row in live if row.subject_key.startswith(head_sha[:SHORT])]
        return max(live, key=lambda row: row.eval_id, default=None)


def row_of(at_ms: int, ended: Ended, opinion: Opinion) -> Row:
    """What is remembered of a verdict. The key of its subject is what follows the pull request's number, shortened."""
    _, _, rest = ended.subject_id.removeprefix(ended.pull).partition("/")
    head, _, part = rest.partition("/")
    return Row(
        ended.eval_id,
        at_ms,
        ended.subject,
        head[:SHORT] + part[:SHORT],
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


def dumped(pull: Pull) -> bytes:
    done = [list(one) for one in pull.done]
    written = [[_written(row) for row in pull.rows], done, dict(sorted(pull.marks.items())), pull.born]
    return json.dumps(written, separators=(",", ":")).encode()


def _written(row: Row) -> list[Any]:
    """An empty tail is left out, as most have no facts and are live verdicts."""
    fields = [*row[:FRONT], list(row.facts), row.view.value, int(row.is_live)]
    if fields[FRONT:] == [[], View.VERDICTS.value, 1]:
        return fields[:FRONT]
    return fields


def loaded(raw: bytes) -> Pull:
    """What `dumped` wrote. Raises CellError."""
    pull = Pull()
    try:
        rows, done, marks, born = json.loads(raw)
        pull.rows = [_row(one) for one in rows]
        pull.done = [Done(*one) for one in done]
        pull.marks = dict(marks)
        pull.born = Born(*born) if born else None
    except (ValueError, TypeError) as error:
        raise CellError(str(error)) from error
    return pull


def _row(fields: list[Any]) -> Row:
    facts, view, is_live = fields[FRONT:] or [[], View.VERDICTS.value, 1]
    return Row._make([*fields[:FRONT], tuple(facts), View(view), bool(is_live)])
