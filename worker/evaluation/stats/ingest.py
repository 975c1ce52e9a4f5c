"""Entries of a stream, in their order, into the tables of `figures.sql`.

A verdict and its outcomes count in the hour of the verdict's entry; outcomes of a pull request count in the hour of its
first verdict, so that every share is a part of what it is a share of. What can't be read is skipped and counted with its
reason. Scores and confidences are whole ten-thousandths, money is whole nanodollars.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Final, Literal, NamedTuple, assert_never, cast

from msgspec import UNSET, Meta, MsgspecError, Struct
from msgspec.json import Decoder
from pydantic_core import from_json, to_json

from worker.domain.verdict.budget import to_nano
from worker.domain.verdict.events import EVENT_VERSION, EvalTrigger, EventKind, OutcomeKind, StreamEntry, Strength
from worker.domain.verdict.verdict import SubjectKind
from worker.evaluation.stats.figures import HOUR_MS, LATEST_MS, SHARE_UNITS, VerdictView, to_milliseconds

STANDALONE_SUBJECTS: Final = frozenset({SubjectKind.SUBMISSION})

Version = Literal[1]
Word = Annotated[str, Meta(min_length=1, max_length=200)]
Number = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
Share = Annotated[float, Meta(ge=0, le=1)]
Money = Annotated[str, Meta(pattern=r"\A[0-9]{1,9}(\.[0-9]{1,30})?\Z")]


class SkipReason(StrEnum):
    """Why an entry is not counted. UNREADABLE: no event of this version; BROKEN: a field is missing or impossible."""

    UNREADABLE = "unreadable"
    BROKEN = "broken"
    DUPLICATE = "duplicate"


class StartedEntry(Struct, frozen=True):
    v: Version
    eval_id: Word
    subject_kind: SubjectKind


class EntrySignals(Struct, frozen=True):
    canary: object = None
    opinion_of: object = UNSET


class EndedEntry(Struct, frozen=True, kw_only=True):
    """The end of an evaluation. `judge_cost_usd` None: the price is not known."""

    v: Version
    eval_id: Word
    subject_kind: SubjectKind
    subject_id: Word
    repository_id: Number
    number: Number
    rubric_id: Word
    rubric_version: Word
    judge_cost_usd: Money | None
    throttled_reason: Word | None = None
    signals: EntrySignals

    @property
    def failure(self) -> str:
        """How it failed; empty: it did not."""
        return ""

    @property
    def rubric(self) -> str:
        return f"{self.rubric_id}@{self.rubric_version}"

    @property
    def cost_nano(self) -> int | None:
        return None if self.judge_cost_usd is None else _read_money(self.judge_cost_usd)

    @property
    def view(self) -> VerdictView:
        return VerdictView.CANARIES if self.signals.canary else VerdictView.VERDICTS


class FailedEntry(EndedEntry, frozen=True, kw_only=True):
    """A failure without an opinion, unless it has a `score`. Older ones and those of lost judges have no signals."""

    failure_mode: Word
    signals: EntrySignals = EntrySignals()
    score: object = UNSET

    @property
    def failure(self) -> str:
        return self.failure_mode


class VerdictEntry(EndedEntry, frozen=True, kw_only=True):
    """A verdict, or a failure that still has the opinion of code."""

    decision: Literal["accept", "reject", "abstain"]
    category: Word | None
    author_agent: Word | None
    judge_kind: Word
    score: Share
    confidence: Share
    round: Number
    facts: tuple[Word, ...]
    parent_eval_id: object
    trigger: object

    @property
    def is_rejudged(self) -> bool:
        """Whether a batch, a bench or feedback caused it, and no delivery."""
        return self.trigger != EvalTrigger.BUS

    @property
    def is_live(self) -> bool:
        """Whether it is a verdict on a head, and no re-evaluation; it was shown unless its view is another one."""
        return self.parent_eval_id is None and self.subject_kind in STANDALONE_SUBJECTS

    @property
    def view(self) -> VerdictView:
        """A re-evaluation by a batch or a bench is a verdict of its own rubric; a child of a live one is an opinion.

        A merge group's verdict is a child, too: of the one on its pull request, and no opinion on that.
        """
        if self.signals.canary:
            return VerdictView.CANARIES
        is_child = self.parent_eval_id is not None and self.subject_kind in STANDALONE_SUBJECTS
        if self.signals.opinion_of is not UNSET or (is_child and not self.is_rejudged):
            return VerdictView.OPINIONS
        return VerdictView.VERDICTS


class FailedVerdictEntry(VerdictEntry, frozen=True, kw_only=True):
    failure_mode: Word

    @property
    def failure(self) -> str:
        return self.failure_mode


class OutcomeEntry(Struct, frozen=True):
    """An outcome of a verdict, by people or the life of a pull request."""

    v: Version
    repository_id: Number
    number: Number
    outcome: OutcomeKind
    strength: Strength
    eval_id: Word | None
    head_sha: Word | None
    at: str

    def __post_init__(self) -> None:
        """Raises ValueError or TypeError for an impossible time, which makes the entry broken."""
        _ = self.recorded_ms

    @property
    def recorded_ms(self) -> int:
        """When it was received."""
        return to_milliseconds(datetime.fromisoformat(self.at))


class AnyEntry(Struct, frozen=True):
    v: Version


class TroubleEntry(NamedTuple):
    """Something that could not be read while judging."""

    kind: str


class SkippedEntry(NamedTuple):
    reason: SkipReason


ParsedEntry = StartedEntry | EndedEntry | OutcomeEntry | TroubleEntry | SkippedEntry
DECODERS: Final[Mapping[bytes, Decoder[StartedEntry | EndedEntry | OutcomeEntry | AnyEntry]]] = MappingProxyType(
    {
        kind.value.encode(): Decoder(entry)
        for kind, entry in (
            (EventKind.STARTED, StartedEntry),
            (EventKind.COMPLETED, VerdictEntry),
            (EventKind.FAILED, FailedEntry),
            (EventKind.OUTCOME, OutcomeEntry),
            (EventKind.CASE_PARSE_ERROR, AnyEntry),
            (EventKind.EVALUATOR_PARSE_ERROR, AnyEntry),
        )
    }
)
FAILED_VERDICT: Final = Decoder(FailedVerdictEntry)


def parse_entry(kind: bytes, raw: bytes) -> ParsedEntry:
    decoder = DECODERS.get(kind)
    if decoder is None:
        return SkippedEntry(SkipReason.UNREADABLE)
    try:
        entry = decoder.decode(raw)
        if isinstance(entry, FailedEntry) and entry.score is not UNSET:
            return FAILED_VERDICT.decode(raw)
    except (MsgspecError, ValueError, RecursionError):
        try:
            body: object = from_json(raw)
        except ValueError:
            body = None
        is_ours = isinstance(body, dict) and cast("dict[str, object]", body).get("v") == EVENT_VERSION
        return SkippedEntry(SkipReason.BROKEN if is_ours else SkipReason.UNREADABLE)
    return TroubleEntry(kind.decode()) if isinstance(entry, AnyEntry) else entry


@lru_cache(maxsize=4096)
def _read_money(usd: str) -> int:
    return to_nano(Decimal(usd))


SCHEMA: Final = (Path(__file__).parent / "figures.sql").read_text()
SCHEMA_VERSION: Final = 2
UNKNOWN_VALUE: Final = "?"
SHORT_KEY: Final = 12
"""The length of a head's name that distinguishes the heads of one pull request."""

LAST_SEQUENCE: Final = (1 << 63) - 1
LANDING_OUTCOMES: Final = frozenset({OutcomeKind.MERGED, OutcomeKind.REVERTED, OutcomeKind.LATER_FIX})
"""Outcomes that imply a merge: a revert tells of it even if no merge was received."""

MOST_COMPARED: Final = 40
"""With how many earlier verdicts on its subject a verdict is compared."""

CLASS_COLUMNS: Final = (
    "subject, view, rubric, decision, category, agent, judge_kind, is_failed, is_submission, is_rejudged, facts"
)
ADD_CLASS: Final = f"INSERT INTO classes ({CLASS_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id"
FIND_CLASS: Final = f"SELECT id FROM classes WHERE ({CLASS_COLUMNS}) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
KIND_COLUMNS: Final = "subject, view, decision, is_failed, is_rejudged"
ADD_KIND: Final = f"INSERT OR IGNORE INTO kinds ({KIND_COLUMNS}) SELECT {KIND_COLUMNS} FROM classes WHERE id = ?"
FIND_KIND: Final = """
SELECT kinds.id FROM classes JOIN kinds USING (subject, view, decision, is_failed, is_rejudged) WHERE classes.id = ?
"""
ADD_VERDICTS: Final = """
INSERT INTO verdicts (
  at_ms, seq, eval_id, class_id, kind_id, repository_id, number, subject_key, round, score, confidence, nano
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
ADD_REPOSITORIES: Final = "INSERT OR IGNORE INTO repositories VALUES (?)"
ADD_OUTCOME: Final = "INSERT OR IGNORE INTO outcomes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
ADD_COUNTS: Final = """
INSERT INTO counts VALUES (?, ?, ?, ?) ON CONFLICT (at_ms, name, value) DO UPDATE SET n = n + excluded.n
"""
ADD_PULLS: Final = """
INSERT OR IGNORE INTO pulls (repository_id, number, at_ms, seq, agent)
SELECT repository_id, number, at_ms, seq, agent FROM verdicts JOIN classes ON classes.id = class_id
WHERE (at_ms, seq) >= (?, ?) AND is_submission AND decision <> 'abstain' ORDER BY at_ms, seq
"""
ADD_ACCEPTS: Final = """
UPDATE pulls SET accepted_round = accepts.round
FROM (
  SELECT repository_id, number, round,
    row_number() OVER (PARTITION BY +repository_id, +number ORDER BY at_ms, seq) AS position
  FROM verdicts JOIN classes ON classes.id = class_id
  WHERE (at_ms, seq) >= (?, ?) AND is_submission AND decision = 'accept'
) AS accepts
WHERE position = 1 AND accepted_round IS NULL
  AND pulls.repository_id = accepts.repository_id AND pulls.number = accepts.number
"""
ADD_PAIRS: Final = f"""
WITH compared AS (
  SELECT later.at_ms, abs(later.score - earlier.score) AS distance, c.decision = d.decision AS is_same_decision,
    c.rubric, d.rubric AS other_rubric, c.judge_kind, d.judge_kind AS other_kind,
    CASE
      WHEN 'opinions' IN (c.view, d.view) THEN 'opinions'
      WHEN c.rubric <> d.rubric THEN 'rubric'
      WHEN c.judge_kind <> d.judge_kind THEN 'tier'
      ELSE 'same'
    END AS difference
  FROM verdicts AS later
  CROSS JOIN classes AS c ON c.id = later.class_id
  CROSS JOIN verdicts AS earlier ON earlier.eval_id IN (
    SELECT eval_id FROM verdicts AS older
    WHERE older.repository_id = later.repository_id AND older.number = later.number
      AND older.subject_key = later.subject_key AND (older.at_ms, older.seq) < (later.at_ms, later.seq)
    ORDER BY at_ms DESC, seq DESC LIMIT {MOST_COMPARED}
  )
  CROSS JOIN classes AS d ON d.id = earlier.class_id AND d.subject = c.subject AND d.decision <> ''
  WHERE (later.at_ms, later.seq) >= (?, ?) AND NOT c.is_failed AND c.subject NOT IN ('pull_request', 'benchmark')
),
named AS (
  SELECT *,
    iif(difference IN ('rubric', 'same'), rubric, judge_kind) AS x,
    iif(difference IN ('rubric', 'same'), other_rubric, other_kind) AS y
  FROM compared
)
INSERT INTO pairs (at_ms, difference, pair, distance, is_same_decision)
SELECT at_ms, difference, iif(x = y, x, min(x, y) || ' | ' || max(x, y)), distance, is_same_decision FROM named
"""
"""A later verdict on a whole pull request is based on more than the earlier one; benches have their own comparison."""

FIND_NAMED: Final = """
SELECT at_ms, seq, eval_id, decision FROM verdicts JOIN classes ON classes.id = class_id
WHERE eval_id = ? AND repository_id = ? AND number = ? AND decision <> '' AND (at_ms, seq) < (?, ?)
"""
FIND_LATEST: Final = """
SELECT at_ms, seq, eval_id, decision FROM verdicts JOIN classes ON classes.id = class_id
WHERE is_submission AND substr(subject_key, 1, length(?1)) = ?1 AND repository_id = ?2 AND number = ?3
  AND (at_ms, seq) < (?4, ?5)
ORDER BY eval_id DESC LIMIT 1
"""
ADD_LANDING: Final = """
UPDATE pulls SET is_landed = 1, is_reverted = is_reverted OR ?, is_fixed = is_fixed OR ?
WHERE repository_id = ? AND number = ? AND (at_ms, seq) < (?, ?)
"""
DISLIKE: Final = "UPDATE verdicts SET is_disliked = 1 WHERE eval_id = ?"

VerdictClass = tuple[str, str, str, str, str, str, str, bool, bool, bool, str]
"""What a verdict is grouped by: the CLASS_COLUMNS."""

NO_OPINION: Final = ("", UNKNOWN_VALUE, UNKNOWN_VALUE, UNKNOWN_VALUE, True, False, False, "[]")
"""What a failure without a verdict has instead: it has only a rubric and a repository."""


class EntryId(NamedTuple):
    at_ms: int
    seq: int


class VerdictRef(NamedTuple):
    """A verdict that an outcome is about."""

    at_ms: int
    seq: int
    eval_id: str
    decision: str


def ingest_entries(db: sqlite3.Connection, entries: Sequence[StreamEntry]) -> None:
    """Count these entries, the next ones of the stream. The caller commits."""
    parsed = [_parse_timed(entry) for entry in entries]
    batch = _Batch(db, (entry for _, entry in parsed))
    for entry_id, entry in parsed:
        batch.add(entry_id, entry)
    batch.write()
    db.execute("UPDATE progress SET entry_id = ?, until_ms = ?", (entries[-1].id, parsed[-1][0].at_ms))


def _parse_timed(entry: StreamEntry) -> tuple[EntryId, ParsedEntry]:
    """The id and content of an entry; one with an impossible id is skipped, and counted at the last time."""
    at_ms, _, seq = entry.id.partition("-")
    entry_id = EntryId(int(at_ms), int(seq))
    if entry_id.at_ms > LATEST_MS or entry_id.seq > LAST_SEQUENCE:
        return EntryId(min(entry_id.at_ms, LATEST_MS), 0), SkippedEntry(SkipReason.BROKEN)
    return entry_id, parse_entry(entry.kind, entry.raw)


class _Batch:
    """The rows of some entries. Each evaluation starts once and ends once: what repeats that is skipped."""

    def __init__(self, db: sqlite3.Connection, entries: Iterable[ParsedEntry]) -> None:
        eval_ids = to_json([entry.eval_id for entry in entries if isinstance(entry, (StartedEntry, EndedEntry))])
        listed = "eval_id IN (SELECT value FROM json_each(?))"
        self._db = db
        self._ended = {
            eval_id for (eval_id,) in db.execute(f"SELECT eval_id FROM verdicts WHERE {listed}", (eval_ids,))
        }
        stored = db.execute(f"SELECT eval_id, at_ms, subject FROM open_evaluations WHERE {listed}", (eval_ids,))
        self._open = {eval_id: (at_ms, subject) for eval_id, at_ms, subject in stored}
        self._was_open = set(self._open)
        self._classes: dict[VerdictClass, tuple[int, int]] = {}
        self._verdicts: list[tuple[object, ...]] = []
        self._repositories: set[int] = set()
        self._outcomes: list[tuple[EntryId, OutcomeEntry]] = []
        self._counts: Counter[tuple[int, str, str]] = Counter()

    def add(self, entry_id: EntryId, entry: ParsedEntry) -> None:
        match entry:
            case StartedEntry() | EndedEntry() if entry.eval_id in self._ended:
                self._count(entry_id.at_ms, "skipped", SkipReason.DUPLICATE)
            case StartedEntry():
                is_duplicate = entry.eval_id in self._open
                self._open.setdefault(entry.eval_id, (entry_id.at_ms, entry.subject_kind))
                name, value = ("skipped", SkipReason.DUPLICATE) if is_duplicate else ("started", entry.subject_kind)
                self._count(entry_id.at_ms, name, value)
            case EndedEntry():
                self._add_end(entry_id, entry)
            case OutcomeEntry():
                self._outcomes.append((entry_id, entry))  # its verdict may be in this batch
            case TroubleEntry(kind):
                self._count(entry_id.at_ms, "troubles", kind)
            case SkippedEntry(reason):
                self._count(entry_id.at_ms, "skipped", reason)
            case _:
                assert_never(entry)

    def write(self) -> None:
        """Write all rows, and what follows from them."""
        db = self._db
        db.executemany(
            "DELETE FROM open_evaluations WHERE eval_id = ?",
            ((eval_id,) for eval_id in self._was_open - self._open.keys()),
        )
        started = ((eval_id, *self._open[eval_id]) for eval_id in self._open.keys() - self._was_open)
        db.executemany("INSERT INTO open_evaluations VALUES (?, ?, ?)", started)
        if self._verdicts:
            db.executemany(ADD_VERDICTS, self._verdicts)
            db.executemany(ADD_REPOSITORIES, ((repository_id,) for repository_id in self._repositories))
            for derive in (ADD_PULLS, ADD_ACCEPTS, ADD_PAIRS):
                db.execute(derive, self._verdicts[0][:2])
        for entry_id, entry in self._outcomes:
            self._write_outcome(entry_id, entry)
        db.executemany(ADD_COUNTS, ((*key, n) for key, n in self._counts.items()))

    def _count(self, at_ms: int, name: str, value: str, by: int = 1) -> None:
        self._counts[at_ms // HOUR_MS * HOUR_MS, name, value] += by

    def _add_end(self, entry_id: EntryId, entry: EndedEntry) -> None:
        self._ended.add(entry.eval_id)
        started = self._open.pop(entry.eval_id, None)
        view = entry.view
        if view is not VerdictView.CANARIES:
            self._count_flow(entry_id.at_ms, entry, is_started=started is not None)
        elif started is not None:  # only its end has its author, and a shadow evaluation is not waited for
            self._count(started[0], "started", started[1], -1)
        # What follows the pull request's number in the subject's id, shortened
        _, _, rest = entry.subject_id.removeprefix(f"{entry.repository_id}/{entry.number}").partition("/")
        head, _, part = rest.partition("/")
        pull = (entry.repository_id, entry.number, head[:SHORT_KEY] + part[:SHORT_KEY])
        kind = (entry.subject_kind, view, entry.rubric)
        if isinstance(entry, VerdictEntry):
            named = (entry.decision, entry.category or "", entry.author_agent or "", entry.judge_kind)
            flags = (bool(entry.failure), entry.is_live and view is VerdictView.VERDICTS, entry.is_rejudged)
            ids = self._class_and_kind((*kind, *named, *flags, _dump_facts(entry.facts)))
            figures = entry.round, round(entry.score * SHARE_UNITS), round(entry.confidence * SHARE_UNITS)
        else:
            ids, figures = self._class_and_kind((*kind, *NO_OPINION)), (0, 0, 0)
        self._verdicts.append((*entry_id, entry.eval_id, *ids, *pull, *figures, entry.cost_nano))
        self._repositories.add(entry.repository_id)

    def _count_flow(self, at_ms: int, entry: EndedEntry, *, is_started: bool) -> None:
        if not is_started:
            self._count(at_ms, "unstarted", entry.subject_kind)
        self._count(at_ms, "failed" if entry.failure else "completed", entry.subject_kind)
        if entry.failure:
            self._count(at_ms, f"failed.{entry.failure}", entry.subject_kind)
        if entry.throttled_reason:
            self._count(at_ms, f"throttled.{entry.throttled_reason}", entry.subject_kind)

    def _class_and_kind(self, key: VerdictClass) -> tuple[int, int]:
        """The ids of a verdict's class and kind."""
        ids = self._classes.get(key)
        if ids is None:
            class_id = self._db.execute(FIND_CLASS, key).fetchone() or self._db.execute(ADD_CLASS, key).fetchone()
            self._db.execute(ADD_KIND, class_id)
            ids = self._classes[key] = (*class_id, *self._db.execute(FIND_KIND, class_id).fetchone())
        return ids

    def _write_outcome(self, entry_id: EntryId, entry: OutcomeEntry) -> None:
        pull = (entry.repository_id, entry.number)
        # The verdict that an outcome is about: the named one, or the latest on this head, or the latest of all
        name = entry.eval_id or (entry.head_sha or "")[:SHORT_KEY]
        find = FIND_NAMED if entry.eval_id else FIND_LATEST
        row = self._db.execute(find, (name, *pull, *entry_id)).fetchone()
        about = VerdictRef(*row) if row else None
        is_right = is_borne_out(about.decision, entry.outcome) if about else None
        eval_id = about.eval_id if about else entry.eval_id or ""
        what = (entry.outcome, entry.strength, eval_id, entry.recorded_ms)
        row = (*entry_id, *pull, *what, *(about[:2] if about else (None, None)), is_right)
        if not self._db.execute(ADD_OUTCOME, row).rowcount:
            self._count(entry_id.at_ms, "skipped", SkipReason.DUPLICATE)
            return
        self._count(entry_id.at_ms, "outcomes", entry.outcome)
        if about and entry.outcome == OutcomeKind.NOT_HELPFUL:
            self._db.execute(DISLIKE, (about.eval_id,))
        if about and entry.outcome in LANDING_OUTCOMES:
            kinds = (entry.outcome == OutcomeKind.REVERTED, entry.outcome == OutcomeKind.LATER_FIX)
            self._db.execute(ADD_LANDING, (*kinds, *pull, *entry_id))


@lru_cache(maxsize=1024)
def _dump_facts(facts: tuple[str, ...]) -> str:
    return to_json(facts).decode()


BEARS_OUT: Final[Mapping[str, tuple[bool | None, bool | None]]] = {
    OutcomeKind.MERGED: (True, False),
    OutcomeKind.CLOSED_UNMERGED: (False, True),
    OutcomeKind.REOPENED: (None, None),
    OutcomeKind.REVERTED: (False, True),
    OutcomeKind.LATER_FIX: (False, True),
    OutcomeKind.OVERRIDE: (None, False),
    OutcomeKind.OWN_OVERRIDE: (None, None),
    OutcomeKind.CONTEST: (False, False),
    OutcomeKind.CONTEST_UPHELD: (None, False),
    OutcomeKind.HELPFUL: (True, True),
    OutcomeKind.NOT_HELPFUL: (False, False),
    OutcomeKind.RETRY: (None, False),
    OutcomeKind.EDIT_FOLLOWUP: (False, True),
    OutcomeKind.MANUAL_SWAP: (False, True),
    OutcomeKind.CI_RED_LATER: (False, True),
}
"""By outcome: of an accept, of a reject."""


def is_borne_out(decision: str, outcome: str) -> bool | None:
    """Whether the verdict was right, by this outcome; None: it does not tell."""
    accept, reject = BEARS_OUT[outcome]
    match decision:
        case "accept":
            return accept
        case "reject":
            return reject
        case _:
            return None
