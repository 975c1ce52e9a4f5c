"""Entries of a stream, in their order, into cells: what each of them adds, and to which hour.

Does not read or store. Invariant: a verdict counts in the hour of its own entry; what becomes of it counts in that hour too,
and what becomes of a pull request in the hour of its first verdict, so that every share is a part of what it is a share of.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple, assert_never

from worker.domain.verdict.outcomes import OutcomeKind
from worker.domain.verdict.verdict import SubjectKind
from worker.evaluation.stats import tables
from worker.evaluation.stats.cells import Cell, Cells, cell
from worker.evaluation.stats.pulls import Born, Done, Pull, Row, row_of
from worker.evaluation.stats.reading import (
    CONFIDENCE_STEP,
    SCORE_STEP,
    Begun,
    Ended,
    Opinion,
    Reaction,
    Seen,
    Skip,
    SkipReason,
    Trouble,
    View,
)
from worker.evaluation.stats.truth import bore_out
from worker.evaluation.stats.windows import HOUR_MS

HEARTFELT: Final = frozenset({OutcomeKind.OVERRIDE, OutcomeKind.CONTEST, OutcomeKind.NOT_HELPFUL})
"""What people do about a reject that they hold for wrong."""

AGAINST: Final = HEARTFELT | {OutcomeKind.MERGED, OutcomeKind.CONTEST_UPHELD}
OVERTURNING: Final = frozenset({OutcomeKind.OVERRIDE, OutcomeKind.CONTEST_UPHELD})
"""What takes a reject back: a contest alone does not say that somebody was right."""

INCOMPARABLE: Final = frozenset({SubjectKind.PULL_REQUEST, SubjectKind.BENCHMARK})
LANDED: Final = frozenset({OutcomeKind.MERGED, OutcomeKind.REVERTED, OutcomeKind.LATER_FIX})
"""What says that a change was merged: who reverts it knows that, even where nobody told of the merge."""


class Opened(NamedTuple):
    """An evaluation that has begun and not ended: since when, and of what."""

    at_ms: int
    subject: str


class Fold:
    """Takes entries in; `cells` by table and hour, and what is to be remembered for the next ones.

    *pulls* has to hold what is remembered of every pull request that the entries are about.
    """

    def __init__(self, pulls: Mapping[str, Pull], opened: Mapping[str, Opened]) -> None:
        self.pulls = dict(pulls)
        self.opened = dict(opened)
        self.cells: dict[tuple[str, int], Cells] = {}

    def take(self, at_ms: int, one: Seen) -> None:
        hour = _Hour(self.cells, at_ms)
        match one:
            case Begun():
                self._begin(one, hour)
            case Ended():
                self._end(one, hour)
            case Reaction():
                self._react(one, hour)
            case Trouble(kind):
                hour.count(tables.TROUBLES, kind)
            case Skip(reason):
                hour.count(tables.SKIPPED, reason.value)
            case _:
                assert_never(one)

    def _begin(self, one: Begun, hour: "_Hour") -> None:
        if one.eval_id in self.opened:
            hour.count(tables.SKIPPED, SkipReason.DUPLICATE.value)
            return
        self.opened[one.eval_id] = Opened(hour.at_ms, one.subject)
        hour.count(tables.FLOW, one.subject, "started")

    def _end(self, one: Ended, hour: "_Hour") -> None:
        pull = self.pulls.setdefault(one.pull, Pull())
        opened = self.opened.pop(one.eval_id, None)
        if opened is None and pull.knows(one.eval_id):
            hour.count(tables.SKIPPED, SkipReason.DUPLICATE.value)
            return
        if one.view is not View.CANARIES:
            _flow(one, hour, is_begun=opened is not None)
        elif opened is not None:  # only its end tells whose it is, and nobody waits for a canary
            hour.of(opened.at_ms).count(tables.FLOW, opened.subject, "started", -1)
        _enter(one, pull, hour)

    def _react(self, one: Reaction, hour: "_Hour") -> None:
        pull = self.pulls.setdefault(one.pull, Pull())
        row = pull.meant(one.eval_id, one.head_sha)
        if not pull.heard(Done(one.outcome, row.eval_id if row else one.eval_id, hour.at_ms, one.said_ms)):
            hour.count(tables.SKIPPED, SkipReason.DUPLICATE.value)
            return
        hour.count(tables.OUTCOMES, one.outcome)
        if row is not None:
            _answered(one, row, pull, hour)


class _Hour:
    """Where one entry counts."""

    def __init__(self, into: dict[tuple[str, int], Cells], at_ms: int) -> None:
        self.at_ms = at_ms
        self._into = into
        self._hour = at_ms // HOUR_MS

    def of(self, at_ms: int) -> "_Hour":
        """The hour of something earlier."""
        return _Hour(self._into, at_ms)

    def cells(self, table: str) -> Cells:
        key = (table, self._hour)
        found = self._into.get(key)
        if found is None:
            found = self._into[key] = {}
        return found

    def count(self, table: str, value: str, name: str = "n", by: int = 1) -> None:
        cell(self.cells(table), value).count(name, by)


def _flow(one: Ended, hour: _Hour, *, is_begun: bool) -> None:
    if not is_begun:
        hour.count(tables.FLOW, one.subject, "unstarted")
    if one.failure:
        hour.count(tables.FLOW, one.subject, "failed")
        hour.count(tables.FLOW, one.subject, f"failed.{one.failure}")
    else:
        hour.count(tables.FLOW, one.subject, "completed")
    if one.throttled:
        hour.count(tables.FLOW, one.subject, f"throttled.{one.throttled}")


def _enter(one: Ended, pull: Pull, hour: _Hour) -> None:
    """A verdict, or what a failure has of one, counts under everything by which it may be grouped."""
    if one.opinion is None:
        _count(one, None, tables.values(None, one.rubric, one.repository_id), hour)
        return
    row = row_of(hour.at_ms, one, one.opinion)
    _count(one, one.opinion, tables.values(row, one.rubric, one.repository_id), hour)
    if not one.failure:
        for other in pull.rows:
            _compare(row, other, hour)
    if row.is_submission:
        _live(one, one.opinion, pull, hour)
    pull.enter(row)


def _count(one: Ended, opinion: Opinion | None, values: Mapping[str, str], hour: _Hour) -> None:
    for dimension, value in values.items():
        mine = cell(hour.cells(tables.quality(one.subject, one.view, dimension)), value)
        _paid(one, mine)
        if opinion is None or one.failure:
            mine.count("failed")
            continue
        mine.count("n")
        mine.count(opinion.decision)
        if opinion.is_anew:
            mine.count("anew")
            mine.count(f"anew.{opinion.decision}")
        mine.count("score", opinion.score)
        mine.count("square", opinion.score * opinion.score)
        mine.count("confidence", opinion.confidence)
        mine.see(0, opinion.score // SCORE_STEP)
        by_confidence = opinion.confidence // CONFIDENCE_STEP
        spread = cell(hour.cells(tables.spread(one.subject, one.view, dimension)), value)
        spread.count(f"score {by_confidence}", opinion.score)
        spread.count(f"square {by_confidence}", opinion.score * opinion.score)
        spread.count(f"confidence {by_confidence}", opinion.confidence)
        spread.see(by_confidence, opinion.score // SCORE_STEP)


def _paid(one: Ended, mine: Cell) -> None:
    if one.cost_nano is None:
        mine.count("unpriced")
    elif one.cost_nano:
        mine.count("nano", one.cost_nano)
        if one.failure:
            mine.count("failed_nano", one.cost_nano)


def _compare(row: Row, other: Row, hour: _Hour) -> None:
    """Two verdicts on one subject differ in their rubric, else in their tier, else in their model, prompt or moment alone.

    A later verdict on a whole pull request knows more than the one before: that is no disagreement. Benches have their own
    comparison, and are never mixed with what people proposed.
    """
    if (row.subject, row.subject_key) != (other.subject, other.subject_key) or row.subject in INCOMPARABLE:
        return
    if View.OPINIONS in {row.view, other.view}:
        table, pair = tables.AGREE_OPINIONS, {row.judge_kind, other.judge_kind}
    elif row.rubric != other.rubric:
        table, pair = tables.AGREE_RUBRIC, {row.rubric, other.rubric}
    elif row.judge_kind != other.judge_kind:
        table, pair = tables.AGREE_TIER, {row.judge_kind, other.judge_kind}
    else:
        table, pair = tables.AGREE_SAME, {row.rubric}
    mine = cell(hour.cells(table), " | ".join(sorted(pair)))
    mine.count("n")
    mine.see(0, abs(row.score - other.score))
    if row.decision == other.decision:
        mine.count("same_decision")


def _live(one: Ended, opinion: Opinion, pull: Pull, hour: _Hour) -> None:
    """An agent's scorecard, and what may be overridden later."""
    mine = cell(hour.cells(tables.AGENTS), opinion.agent)
    mine.count("nano", one.cost_nano or 0)
    mine.count("verdicts")
    if one.cost_nano is None:
        mine.count("unpriced")
    if opinion.decision == "abstain":
        return
    is_first = pull.born is None
    born = pull.born = pull.born or Born(hour.at_ms, opinion.agent)
    cohort = cell(hour.of(born.at_ms).cells(tables.AGENTS), born.agent)
    cohort.count("judged", int(is_first))
    if opinion.decision == "accept" and pull.is_first("accepted"):
        cohort.count("accepted")
        cohort.count("first_round", int(opinion.round == 1))
        cohort.see(0, min(opinion.round, tables.MOST_ROUNDS))
    if opinion.decision == "reject":
        mine.count(f"category.{opinion.category}")
        for table, value in tables.objected(opinion.facts, opinion.category, one.rubric):
            hour.count(table, value, "rejects")


def _answered(one: Reaction, row: Row, pull: Pull, hour: _Hour) -> None:
    """What became of a verdict: whether it was borne out, and how its agent's change fared.

    Who says the same again about one verdict counts once; only which word is the last may change.
    """
    then = hour.of(row.at_ms)
    if one.outcome == OutcomeKind.NOT_HELPFUL and pull.is_first(f"down:{row.eval_id}"):
        for dimension, value in tables.values(row, row.rubric, one.repository_id).items():
            then.count(tables.quality(row.subject, row.view, dimension), value, "down")
    if pull.born is not None and one.outcome in LANDED and pull.is_first(one.outcome):
        cohort = hour.of(pull.born.at_ms)
        cohort.count(tables.AGENTS, pull.born.agent, one.outcome)
        cohort.count(tables.AGENTS, pull.born.agent, "landed", int(pull.is_first("landed")))
    is_against = row.decision == "reject" and row.is_submission and one.outcome in AGAINST
    if is_against and pull.is_first(f"{one.outcome}:{row.eval_id}"):
        is_first = one.outcome in HEARTFELT and pull.is_first(f"against:{row.eval_id}")
        is_overturned = one.outcome in OVERTURNING and pull.is_first(f"overturned:{row.eval_id}")
        for table, value in tables.objected(row.facts, row.category, row.rubric):
            then.count(table, value, one.outcome)
            then.count(table, value, "objected", int(is_first))
            then.count(table, value, "overturned", int(is_overturned))
    is_right = bore_out(row.decision, one.outcome)
    if is_right is not None:
        _weigh(is_right, one.strength, row, pull, cell(then.cells(tables.people(one.strength)), row.judge_kind))


def _weigh(is_right: bool, strength: str, row: Row, pull: Pull, into: Cell) -> None:  # noqa: FBT001 - what is weighed
    """Count a verdict once a strength: the last word stands, as a merge that is reverted was no merge."""
    mark, said = f"{strength}:{row.eval_id}", int(is_right)
    before = pull.marks.get(mark)
    if before == said:
        return
    if before is None:
        into.count("n")
    else:
        into.see(row.confidence, before, -1)
    into.count("agreed", said - (before or 0))
    into.see(row.confidence, said)
    pull.marks[mark] = said
