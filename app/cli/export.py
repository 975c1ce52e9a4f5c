"""`assay export`: verdicts for other programs, as lines, a table or columns.

Does not word a line (`worker.evaluation.stats.export` does). Invariant: nothing is written but the export; what was left out is said.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from app.cli.exit_codes import CommandResult, Exit
from worker.adapters.redis.event_stream import StreamEntry
from worker.adapters.redis.store import Store, open_store
from worker.adapters.redis.stream_pages import read_entries_ahead
from worker.clock import SystemClock
from worker.domain.ids import InstallationId
from worker.errors import InputError
from worker.evaluation.stats.export import TERMINAL_EVENTS, SkippedCount, export_columns, export_csv, export_jsonl
from worker.evaluation.stats.stats_query import WEEK, ParameterError, StatsTopic, parse_moment, parse_query
from worker.evaluation.stats.windows import EPOCH, to_milliseconds
from worker.settings import load_settings

if TYPE_CHECKING:
    from app.cli.parquet import Parquet


class ExportSpan(NamedTuple):
    """Milliseconds since 1970: from the first, and before the last; None: all that is there, whatever clock wrote it."""

    since_ms: int
    until_ms: int | None


def export(arguments: argparse.Namespace) -> CommandResult:
    """Verdicts as lines, to a file or to standard output."""
    span, skipped = _span(arguments, SystemClock().now()), SkippedCount()
    parquet = _parquet(arguments.out) if arguments.format == "parquet" else None
    with open_store(load_settings()) as store:
        of = tuple(dict.fromkeys(arguments.installation or store.events.installations()))
        if parquet is not None:
            _save(arguments.out, lambda out: parquet.write(out, _column_groups(store, of, span, skipped)))
        else:
            _write(arguments.out, _parts(store, of, span, arguments.format, skipped))
    if skipped.count:
        what = "entry" if skipped.count == 1 else "entries"
        print(f"assay: left out, since it can't be read: {skipped.count} {what} of the stream.", file=sys.stderr)
    return CommandResult(Exit.ACCEPT)


def _span(arguments: argparse.Namespace, now: datetime) -> ExportSpan:
    """The times that are named, to the millisecond: so what is exported up to one moment, and from it on, is each there once."""
    times = {name: value for name, value in (("from", arguments.since), ("to", arguments.until)) if value}
    try:
        parse_query(times, StatsTopic.QUALITY, now)
    except ParameterError as error:
        option = {"from": "--since", "to": "--until"}[error.parameter]
        raise InputError(f"{option}: expected {error.expected}, found {error.received!r}.") from error
    until = parse_moment("to", arguments.until, now) if arguments.until else now
    since = parse_moment("from", arguments.since, now) if arguments.since else max(until - WEEK, EPOCH)
    return ExportSpan(to_milliseconds(since), to_milliseconds(until) if arguments.until else None)


def _parquet(out: str) -> "Parquet":
    """What writes it. Raises InputError where it can't."""
    from app.cli.parquet import Parquet

    if out == "-":
        raise InputError("--format parquet: name a file with --out. Such a file can't be written as it comes.")
    return Parquet()


def _terminal_entries(store: Store, installation: InstallationId, span: ExportSpan) -> Iterator[StreamEntry]:
    """The ends of its evaluations in that time."""
    kinds = tuple(TERMINAL_EVENTS.values())
    after = f"{span.since_ms - 1}-{2**64 - 1}" if span.since_ms else ""
    last_ms = None if span.until_ms is None else span.until_ms - 1
    return read_entries_ahead(store.client, installation, after, last_ms, kinds)


def _column_groups(
    store: Store, of: Iterable[InstallationId], span: ExportSpan, skipped: SkippedCount
) -> Iterator[dict[str, list[Any]]]:
    for installation in of:
        yield from export_columns(_terminal_entries(store, installation, span), installation, skipped)


def _parts(
    store: Store, of: Sequence[InstallationId], span: ExportSpan, format_: str, skipped: SkippedCount
) -> Iterator[bytes]:
    lines = {"jsonl": export_jsonl, "csv": export_csv}[format_]
    if not of:
        yield from lines((), 0, skipped)
    for number, installation in enumerate(of):
        parts = lines(_terminal_entries(store, installation, span), installation, skipped)
        if number and format_ == "csv":
            yield next(parts).partition(b"\n")[2]  # the names of the columns stand at the top alone
        yield from parts


def _write(out: str, parts: Iterable[bytes]) -> None:
    if out == "-":
        _write_parts(sys.stdout.buffer, parts)
        return
    _save(out, lambda path: _fill(path, parts))


def _save(out: str, write: Callable[[Path], None]) -> None:
    try:
        write(Path(out))
    except OSError as error:
        raise InputError(f"--out: {out} can't be written: {error.strerror}.") from error


def _fill(path: Path, parts: Iterable[bytes]) -> None:
    with path.open("wb") as file:
        _write_parts(file, parts)


def _write_parts(into: BinaryIO, parts: Iterable[bytes]) -> None:
    into.writelines(parts)
    into.flush()
