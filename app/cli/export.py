"""`assay export`: write verdicts for other programs, as JSON lines, CSV or Parquet."""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

from app.cli.parser import CommandResult, Exit
from worker.domain.model import InstallationId
from worker.domain.verdict.events import StreamEntry
from worker.errors import InputError
from worker.evaluation.stats.export import (
    COLUMN_KINDS,
    TERMINAL_EVENTS,
    TYPED_COLUMNS,
    SkippedCount,
    export_columns,
    export_csv,
    export_jsonl,
)
from worker.evaluation.stats.figures import (
    EPOCH,
    WEEK,
    ParameterError,
    StatsTopic,
    parse_moment,
    parse_query,
    to_milliseconds,
)
from worker.process import SystemClock
from worker.settings import load_settings
from worker.wiring.store import Store, open_store

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
