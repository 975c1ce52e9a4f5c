"""`assay stats`, `assay history` and `assay export`: figures, a pull request's verdicts, and verdicts for other programs."""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

from app.cli.parser import CommandResult, Exit
from app.cli.terminal import terminal_page
from worker.clock import SystemClock
from worker.domain.check.overrides import HumanDecisions, dump_decisions
from worker.domain.ids import InstallationId, Sha
from worker.domain.judge_request import PullRef
from worker.domain.verdict.events import StreamEntry
from worker.errors import InputError
from worker.evaluation.stats.answers import answer_query, list_evaluations
from worker.evaluation.stats.cache import NO_LIMIT, FiguresCache
from worker.evaluation.stats.export import (
    COLUMN_KINDS,
    TERMINAL_EVENTS,
    TYPED_COLUMNS,
    SkippedCount,
    export_columns,
    export_csv,
    export_jsonl,
)
from worker.evaluation.stats.figures import DAY_HOURS, EPOCH, HOUR_MS, HourWindow, to_milliseconds
from worker.evaluation.stats.stats_query import WEEK, ParameterError, StatsQuery, StatsTopic, parse_moment, parse_query
from worker.evaluation.texts.stats import (
    StatsPage,
    history_text,
    overrides_text,
    scorecards_text,
    stats_page,
    would_block_text,
)
from worker.settings import load_settings
from worker.wiring.figures import open_figures_cache, read_history
from worker.wiring.store import Store, open_store

OPTIONS: Final = {
    "since": "from", "until": "to", "subject": "subject", "group_by": "group_by", "min_confidence": "min_confidence",
    "view": "view", "agreement_window": "agreement_window",
}  # fmt: skip
MOST_DAYS: Final = 62


class StatsReader:
    """Answers queries about some installations, after all of their events are counted."""

    def __init__(self, store: Store, figures: FiguresCache, of: Sequence[InstallationId], now: datetime) -> None:
        self._figures = figures
        self._demotions = store.demotions
        self._installations = of
        self._now = now
        states = [figures.catch_up(installation, NO_LIMIT, waits=True) for installation in of]
        self._last_ms = max((state.until_ms for state in states), default=0)

    def extend_to_latest(self, question: StatsQuery) -> StatsQuery:
        """The query up to the newest entry, whatever clock wrote it."""
        window = question.window
        return replace(question, window=HourWindow(window.start, max(window.end, self._last_ms // HOUR_MS + 1)))

    def answer(self, topic: StatsTopic, question: StatsQuery) -> dict[str, Any]:
        return self._figures.query(
            self._installations, self._now, lambda streams: answer_query(topic, question, streams)
        )

    def demotion_notices(self) -> tuple[str, ...]:
        """For each demoted signal why, and how to promote it."""
        return tuple(
            demotion.notice(installation)
            for installation in self._installations
            for demotion in self._demotions.list_demotions(installation)
        )


def stats(arguments: argparse.Namespace) -> CommandResult:
    """Quality, cost, agreement and backlog; or what would be blocked, was overridden, or how agents fare."""
    parameters = {name: getattr(arguments, option) for option, name in OPTIONS.items() if getattr(arguments, option)}
    now = SystemClock().now()
    try:
        questions = {topic: parse_query(parameters, topic, now) for topic in StatsTopic}
    except ParameterError as error:
        raise InputError(
            f"--{error.parameter.replace('_', '-')}: expected {error.expected}, found {error.received!r}."
        ) from error
    questions[StatsTopic.COST] = replace(questions[StatsTopic.COST], include_eval=True)
    settings = load_settings()
    with open_store(settings) as store:
        of = tuple(dict.fromkeys(arguments.installation or store.events.installations()))
        reader = StatsReader(store, open_figures_cache(settings, store), of, now)
        if "to" not in parameters:
            questions = {topic: reader.extend_to_latest(question) for topic, question in questions.items()}
        answers = {topic: reader.answer(topic, questions[topic]) for topic in _topics(arguments)}
        has_days = StatsTopic.BACKLOG in answers and not arguments.json
        days = list(_days(reader, questions[StatsTopic.QUALITY])) if has_days else []
        if StatsTopic.OVERRIDES in answers:
            answers[StatsTopic.OVERRIDES] |= {"demotions": reader.demotion_notices()}
    if arguments.json:
        return CommandResult(Exit.ACCEPT, f"{json.dumps(answers, indent=2)}\n")
    return CommandResult(Exit.ACCEPT, _render(answers, days))


def _topics(arguments: argparse.Namespace) -> tuple[StatsTopic, ...]:
    if arguments.would_block:
        return StatsTopic.QUALITY, StatsTopic.OVERRIDES
    if arguments.overrides:
        return (StatsTopic.OVERRIDES,)
    if arguments.agents:
        return (StatsTopic.AGENTS,)
    return StatsTopic.QUALITY, StatsTopic.COST, StatsTopic.AGREEMENT, StatsTopic.BACKLOG


def _render(answers: dict[StatsTopic, dict[str, Any]], days: list[tuple[int, float | None]]) -> str:
    match tuple(answers):
        case (StatsTopic.QUALITY, StatsTopic.OVERRIDES):
            return would_block_text(answers[StatsTopic.QUALITY], answers[StatsTopic.OVERRIDES], terminal_page())
        case (StatsTopic.OVERRIDES,):
            overrides = answers[StatsTopic.OVERRIDES]
            return overrides_text(overrides, overrides["demotions"], terminal_page())
        case (StatsTopic.AGENTS,):
            return scorecards_text(answers[StatsTopic.AGENTS], terminal_page())
        case _:
            return stats_page(StatsPage(*(answers[topic] for topic in answers), days=days), terminal_page())


def _days(reader: StatsReader, question: StatsQuery) -> Iterator[tuple[int, float | None]]:
    """Verdicts and mean score of each day, if the days fit on a line."""
    starts = range(question.window.start, question.window.end, DAY_HOURS)
    if len(starts) > MOST_DAYS:
        return
    for start in starts:
        day = HourWindow(start, min(start + DAY_HOURS, question.window.end))
        [row] = reader.answer(StatsTopic.QUALITY, replace(question, window=day, group_by=None))["data"]
        yield row["verdict_count"], row["mean_score"]


def history(arguments: argparse.Namespace) -> CommandResult:
    """A pull request's verdicts, with people's decisions and outcomes."""
    name, _, number = arguments.pull.partition("#")
    settings = load_settings()
    with open_store(settings) as store:
        figures = open_figures_cache(settings, store)
        pull_history = read_history(store, figures, name, int(number), at_most=NO_LIMIT)
        by_head: dict[Sha, HumanDecisions] = {}
        for entry in pull_history.entries:
            of = entry.verdict.subject
            pull = PullRef(installation_id=of.installation_id, repository_id=of.repository_id, number=of.number)
            by_head[entry.head_sha] = store.decisions.find_decisions(pull, entry.head_sha)
    if not pull_history.entries:
        raise InputError(
            f"Nothing is on record of {arguments.pull} here. REDIS_URL or ASSAY_DATA_DIR say where to look."
        )
    evaluations, outcomes = list_evaluations(pull_history.entries), pull_history.outcomes
    if not arguments.json:
        text = history_text(arguments.pull, evaluations, outcomes, terminal_page(), by_head)
        return CommandResult(Exit.ACCEPT, text)
    decided = {head_sha: dumped for head_sha, decisions in by_head.items() if (dumped := dump_decisions(decisions))}
    fields = {"evaluations": evaluations, "outcomes": outcomes, "said": decided}
    return CommandResult(Exit.ACCEPT, f"{json.dumps(fields, indent=2)}\n")


MISSING_PACKAGE: Final = "--format parquet needs pyarrow. Install the extra: pip install 'assay[parquet]'."


class ExportSpan(NamedTuple):
    """Milliseconds since 1970: from the first, and before the last; None: to the newest, whatever clock wrote it."""

    since_ms: int
    until_ms: int | None


def export(arguments: argparse.Namespace) -> CommandResult:
    """Write the export alone to a file or standard output; report skipped entries on standard error."""
    span, skipped = _span(arguments, SystemClock().now()), SkippedCount()
    is_parquet = arguments.format == "parquet"
    if is_parquet and arguments.out == "-":
        raise InputError("--format parquet: name a file with --out. Such a file can't be written as it comes.")
    write_parquet = open_parquet() if is_parquet else None
    with open_store(load_settings()) as store:
        of = tuple(dict.fromkeys(arguments.installation or store.events.installations()))
        if write_parquet is not None:
            groups = (
                group
                for installation in of
                for group in export_columns(_terminal_entries(store, installation, span), installation, skipped)
            )
            _save(arguments.out, lambda path: write_parquet(path, groups))
        else:
            _write(arguments.out, _parts(store, of, span, arguments.format, skipped))
    if skipped.count:
        unit = "entry" if skipped.count == 1 else "entries"
        print(f"assay: left out, since it can't be read: {skipped.count} {unit} of the stream.", file=sys.stderr)
    return CommandResult(Exit.ACCEPT)


def _span(arguments: argparse.Namespace, now: datetime) -> ExportSpan:
    """The span to the millisecond, so that two exports that meet at one moment share no entry and miss none."""
    times = {name: value for name, value in (("from", arguments.since), ("to", arguments.until)) if value}
    try:
        parse_query(times, StatsTopic.QUALITY, now)
    except ParameterError as error:
        option = {"from": "--since", "to": "--until"}[error.parameter]
        raise InputError(f"{option}: expected {error.expected}, found {error.received!r}.") from error
    until = parse_moment("to", arguments.until, now) if arguments.until else now
    since = parse_moment("from", arguments.since, now) if arguments.since else max(until - WEEK, EPOCH)
    return ExportSpan(to_milliseconds(since), to_milliseconds(until) if arguments.until else None)


def _terminal_entries(store: Store, installation: InstallationId, span: ExportSpan) -> Iterator[StreamEntry]:
    """The ends of the installation's evaluations in that span."""
    kinds = tuple(TERMINAL_EVENTS.values())
    after = f"{span.since_ms - 1}-{2**64 - 1}" if span.since_ms else ""
    last_ms = None if span.until_ms is None else span.until_ms - 1
    return store.events.read(installation, after, last_ms, kinds)


def _parts(
    store: Store, of: Sequence[InstallationId], span: ExportSpan, format_: str, skipped: SkippedCount
) -> Iterator[bytes]:
    lines = {"jsonl": export_jsonl, "csv": export_csv}[format_]
    if not of:
        yield from lines((), 0, skipped)
    for number, installation in enumerate(of):
        parts = lines(_terminal_entries(store, installation, span), installation, skipped)
        if number and format_ == "csv":
            yield next(parts).partition(b"\n")[2]  # one header, at the top
        yield from parts


def _write(out: str, parts: Iterable[bytes]) -> None:
    if out == "-":
        sys.stdout.buffer.writelines(parts)
        sys.stdout.buffer.flush()
        return

    def fill(path: Path) -> None:
        with path.open("wb") as file:
            file.writelines(parts)

    _save(out, fill)


def _save(out: str, write: Callable[[Path], None]) -> None:
    try:
        write(Path(out))
    except OSError as error:
        raise InputError(f"--out: {out} can't be written: {error.strerror}.") from error


def open_parquet() -> Callable[[Path, Iterable[Mapping[str, list[Any]]]], None]:
    """What writes each group of rows as one compressed row group; without groups a file with columns alone.

    Raises InputError where pyarrow, an extra, is not installed, and OSError as it writes.
    """
    try:
        arrow: Any = import_module("pyarrow")
        parquet: Any = import_module("pyarrow.parquet")
    except ImportError as error:
        raise InputError(MISSING_PACKAGE) from error
    of = {int: arrow.int64(), float: arrow.float64(), bool: arrow.bool_(), list: arrow.list_(arrow.string())}
    kinds = {name: of[COLUMN_KINDS[name]] if name in COLUMN_KINDS else arrow.string() for name in TYPED_COLUMNS}
    schema = arrow.schema(list((kinds | {"at": arrow.timestamp("ms", tz="UTC")}).items()))

    def write(to: Path, groups: Iterable[Mapping[str, list[Any]]]) -> None:
        with to.open("wb") as file, parquet.ParquetWriter(file, schema, compression="zstd") as writer:
            for group in groups:
                writer.write_table(arrow.table(dict(group), schema=schema))

    return write
