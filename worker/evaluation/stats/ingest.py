"""Entries of a stream, in their order, into cells: what each of them adds, and to which hour.

A verdict and its outcomes count in the hour of the verdict's entry; outcomes of a pull request count in the hour of its
first verdict, so that every share is a part of what it is a share of.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple, assert_never

from worker.domain.verdict.outcomes import OutcomeKind
from worker.domain.verdict.verdict import SubjectKind
from worker.evaluation.stats import tables
from worker.evaluation.stats.counters import Counters, CountersByValue, get_or_add
from worker.evaluation.stats.ground_truth import is_borne_out
from worker.evaluation.stats.pulls import FirstVerdict, OutcomeRow, PullStats, VerdictRow, row_of
from worker.evaluation.stats.stream_entries import (
    CONFIDENCE_STEP,
    SCORE_STEP,
    EndedEntry,
    EntryOpinion,
    OutcomeEntry,
    ParsedEntry,
    SkippedEntry,
    SkipReason,
    StartedEntry,
    TroubleEntry,
    VerdictView,
)
from worker.evaluation.stats.windows import HOUR_MS

EXPLICIT_OUTCOMES: Final = frozenset({OutcomeKind.OVERRIDE, OutcomeKind.CONTEST, OutcomeKind.NOT_HELPFUL})
"""What people do about a reject that they believe to be wrong."""

OBJECTING_OUTCOMES: Final = EXPLICIT_OUTCOMES | {OutcomeKind.MERGED, OutcomeKind.CONTEST_UPHELD}
OVERTURNING_OUTCOMES: Final = frozenset({OutcomeKind.OVERRIDE, OutcomeKind.CONTEST_UPHELD})
"""What takes a reject back; a contest alone does not."""

INCOMPARABLE_SUBJECTS: Final = frozenset({SubjectKind.PULL_REQUEST, SubjectKind.BENCHMARK})
LANDING_OUTCOMES: Final = frozenset({OutcomeKind.MERGED, OutcomeKind.REVERTED, OutcomeKind.LATER_FIX})
"""Outcomes that imply a merge: a revert tells of it even if no merge was received."""


class OpenEvaluation(NamedTuple):
    """An evaluation without an end: since when, and of what."""

    at_ms: int
    subject: str


class EventAggregator:
    """Aggregates entries; `cells` by table and hour, and what later entries need.

    *pulls* has to hold the stored state of every pull request that the entries are about.
    """

    def __init__(self, pulls: Mapping[str, PullStats], opened: Mapping[str, OpenEvaluation]) -> None:
        self.pulls = dict(pulls)
        self.open_evaluations = dict(opened)
        self.cells: dict[tuple[str, int], CountersByValue] = {}

    def add(self, at_ms: int, entry: ParsedEntry) -> None:
        hour = _HourCounters(self.cells, at_ms)
        match entry:
            case StartedEntry():
                self._add_start(entry, hour)
            case EndedEntry():
                self._add_end(entry, hour)
            case OutcomeEntry():
                self._add_reaction(entry, hour)
            case TroubleEntry(kind):
                hour.count(tables.TROUBLES, kind)
            case SkippedEntry(reason):
                hour.count(tables.SKIPPED, reason.value)
            case _:
                assert_never(entry)

    def _add_start(self, entry: StartedEntry, hour: "_HourCounters") -> None:
        if entry.eval_id in self.open_evaluations:
            hour.count(tables.SKIPPED, SkipReason.DUPLICATE.value)
            return
        self.open_evaluations[entry.eval_id] = OpenEvaluation(hour.at_ms, entry.subject)
        hour.count(tables.FLOW, entry.subject, "started")

    def _add_end(self, entry: EndedEntry, hour: "_HourCounters") -> None:
        pull = self.pulls.setdefault(entry.pull, PullStats())
        opened = self.open_evaluations.pop(entry.eval_id, None)
        if opened is None and pull.has_verdict(entry.eval_id):
            hour.count(tables.SKIPPED, SkipReason.DUPLICATE.value)
            return
        if entry.view is not VerdictView.CANARIES:
            _count_flow(entry, hour, is_begun=opened is not None)
        elif opened is not None:  # only its end has its author, and a shadow evaluation is not waited for
            hour.at_hour(opened.at_ms).count(tables.FLOW, opened.subject, "started", -1)
        _count_ended(entry, pull, hour)

    def _add_reaction(self, entry: OutcomeEntry, hour: "_HourCounters") -> None:
        pull = self.pulls.setdefault(entry.pull, PullStats())
        row = pull.find_verdict(entry.eval_id, entry.head_sha)
        if not pull.add_outcome(
            OutcomeRow(entry.outcome, row.eval_id if row else entry.eval_id, hour.at_ms, entry.heard_ms)
        ):
            hour.count(tables.SKIPPED, SkipReason.DUPLICATE.value)
            return
        hour.count(tables.OUTCOMES, entry.outcome)
        if row is not None:
            _count_outcome(entry, row, pull, hour)


class _HourCounters:
    """The cells of one hour."""

    def __init__(self, into: dict[tuple[str, int], CountersByValue], at_ms: int) -> None:
        self.at_ms = at_ms
        self._into = into
        self._hour = at_ms // HOUR_MS

    def at_hour(self, at_ms: int) -> "_HourCounters":
        """The cells of an earlier hour."""
        return _HourCounters(self._into, at_ms)

    def cells(self, table: str) -> CountersByValue:
        key = (table, self._hour)
        cell = self._into.get(key)
        if cell is None:
            cell = self._into[key] = {}
        return cell

    def count(self, table: str, value: str, name: str = "n", by: int = 1) -> None:
        get_or_add(self.cells(table), value).count(name, by)


def _count_flow(entry: EndedEntry, hour: _HourCounters, *, is_begun: bool) -> None:
    if not is_begun:
        hour.count(tables.FLOW, entry.subject, "unstarted")
    if entry.failure:
        hour.count(tables.FLOW, entry.subject, "failed")
        hour.count(tables.FLOW, entry.subject, f"failed.{entry.failure}")
    else:
        hour.count(tables.FLOW, entry.subject, "completed")
    if entry.throttled:
        hour.count(tables.FLOW, entry.subject, f"throttled.{entry.throttled}")


def _count_ended(entry: EndedEntry, pull: PullStats, hour: _HourCounters) -> None:
    """Count a verdict, or what a failure has of one, under everything by which it may be grouped."""
    if entry.opinion is None:
        _count_verdict(entry, None, tables.dimension_values(None, entry.rubric, entry.repository_id), hour)
        return
    row = row_of(hour.at_ms, entry, entry.opinion)
    _count_verdict(entry, entry.opinion, tables.dimension_values(row, entry.rubric, entry.repository_id), hour)
    if not entry.failure:
        for other in pull.rows:
            _count_agreement(row, other, hour)
    if row.is_submission:
        _count_live(entry, entry.opinion, pull, hour)
    pull.add_verdict(row)


def _count_verdict(
    entry: EndedEntry, opinion: EntryOpinion | None, values: Mapping[str, str], hour: _HourCounters
) -> None:
    for dimension, value in values.items():
        mine = get_or_add(hour.cells(tables.quality_table(entry.subject, entry.view, dimension)), value)
        _count_cost(entry, mine)
        if opinion is None or entry.failure:
            mine.count("failed")
            continue
        mine.count("n")
        mine.count(opinion.decision)
        if opinion.is_rejudged:
            mine.count("anew")
            mine.count(f"anew.{opinion.decision}")
        mine.count("score", opinion.score)
        mine.count("square", opinion.score * opinion.score)
        mine.count("confidence", opinion.confidence)
        mine.add_pair(0, opinion.score // SCORE_STEP)
        by_confidence = opinion.confidence // CONFIDENCE_STEP
        spread = get_or_add(hour.cells(tables.spread_table(entry.subject, entry.view, dimension)), value)
        spread.count(f"score {by_confidence}", opinion.score)
        spread.count(f"square {by_confidence}", opinion.score * opinion.score)
        spread.count(f"confidence {by_confidence}", opinion.confidence)
        spread.add_pair(by_confidence, opinion.score // SCORE_STEP)


def _count_cost(entry: EndedEntry, mine: Counters) -> None:
    if entry.cost_nano is None:
        mine.count("unpriced")
    elif entry.cost_nano:
        mine.count("nano", entry.cost_nano)
        if entry.failure:
            mine.count("failed_nano", entry.cost_nano)


def _count_agreement(row: VerdictRow, other: VerdictRow, hour: _HourCounters) -> None:
    """Count a pair of verdicts on one subject under what differs: rubric, else tier, else model, prompt or time.

    A later verdict on a whole pull request is based on more than the earlier one, so such a pair is left out; so are
    benches, which have their own comparison.
    """
    if (row.subject, row.subject_key) != (other.subject, other.subject_key) or row.subject in INCOMPARABLE_SUBJECTS:
        return
    if VerdictView.OPINIONS in {row.view, other.view}:
        table, pair = tables.AGREE_OPINIONS, {row.judge_kind, other.judge_kind}
    elif row.rubric != other.rubric:
        table, pair = tables.AGREE_RUBRIC, {row.rubric, other.rubric}
    elif row.judge_kind != other.judge_kind:
        table, pair = tables.AGREE_TIER, {row.judge_kind, other.judge_kind}
    else:
        table, pair = tables.AGREE_SAME, {row.rubric}
    mine = get_or_add(hour.cells(table), " | ".join(sorted(pair)))
    mine.count("n")
    mine.add_pair(0, abs(row.score - other.score))
    if row.decision == other.decision:
        mine.count("same_decision")


def _count_live(entry: EndedEntry, opinion: EntryOpinion, pull: PullStats, hour: _HourCounters) -> None:
    """Count an agent's scorecard, and what may be overridden later."""
    mine = get_or_add(hour.cells(tables.AGENTS), opinion.agent)
    mine.count("nano", entry.cost_nano or 0)
    mine.count("verdicts")
    if entry.cost_nano is None:
        mine.count("unpriced")
    if opinion.decision == "abstain":
        return
    is_first = pull.first_verdict is None
    born = pull.first_verdict = pull.first_verdict or FirstVerdict(hour.at_ms, opinion.agent)
    cohort = get_or_add(hour.at_hour(born.at_ms).cells(tables.AGENTS), born.agent)
    cohort.count("judged", int(is_first))
    if opinion.decision == "accept" and pull.is_first("accepted"):
        cohort.count("accepted")
        cohort.count("first_round", int(opinion.round == 1))
        cohort.add_pair(0, min(opinion.round, tables.MOST_ROUNDS))
    if opinion.decision == "reject":
        mine.count(f"category.{opinion.category}")
        for table, value in tables.objection_tables(opinion.facts, opinion.category, entry.rubric):
            hour.count(table, value, "rejects")


def _count_outcome(entry: OutcomeEntry, row: VerdictRow, pull: PullStats, hour: _HourCounters) -> None:
    """Count an outcome: whether it bears the verdict out, and how its agent's change fared.

    An outcome that is repeated about one verdict counts once, but becomes the last one.
    """
    then = hour.at_hour(row.at_ms)
    if entry.outcome == OutcomeKind.NOT_HELPFUL and pull.is_first(f"down:{row.eval_id}"):
        for dimension, value in tables.dimension_values(row, row.rubric, entry.repository_id).items():
            then.count(tables.quality_table(row.subject, row.view, dimension), value, "down")
    if pull.first_verdict is not None and entry.outcome in LANDING_OUTCOMES and pull.is_first(entry.outcome):
        cohort = hour.at_hour(pull.first_verdict.at_ms)
        cohort.count(tables.AGENTS, pull.first_verdict.agent, entry.outcome)
        cohort.count(tables.AGENTS, pull.first_verdict.agent, "landed", int(pull.is_first("landed")))
    is_against = row.decision == "reject" and row.is_submission and entry.outcome in OBJECTING_OUTCOMES
    if is_against and pull.is_first(f"{entry.outcome}:{row.eval_id}"):
        is_first = entry.outcome in EXPLICIT_OUTCOMES and pull.is_first(f"against:{row.eval_id}")
        is_overturned = entry.outcome in OVERTURNING_OUTCOMES and pull.is_first(f"overturned:{row.eval_id}")
        for table, value in tables.objection_tables(row.facts, row.category, row.rubric):
            then.count(table, value, entry.outcome)
            then.count(table, value, "objected", int(is_first))
            then.count(table, value, "overturned", int(is_overturned))
    is_right = is_borne_out(row.decision, entry.outcome)
    if is_right is not None:
        _count_strength(
            is_right,
            entry.strength,
            row,
            pull,
            get_or_add(then.cells(tables.outcome_table(entry.strength)), row.judge_kind),
        )


def _count_strength(is_right: bool, strength: str, row: VerdictRow, pull: PullStats, into: Counters) -> None:  # noqa: FBT001 - the value that is counted
    """Count a verdict once per strength. The last outcome counts, as a merge that is reverted was no merge."""
    mark, borne_out = f"{strength}:{row.eval_id}", int(is_right)
    before = pull.marks.get(mark)
    if before == borne_out:
        return
    if before is None:
        into.count("n")
    else:
        into.add_pair(row.confidence, before, -1)
    into.count("agreed", borne_out - (before or 0))
    into.add_pair(row.confidence, borne_out)
    pull.marks[mark] = borne_out
