"""`assay export`: verdicts for other programs, as lines, a table or columns.

Does not word a line (`worker.evaluation.stats.export` does). Invariant: nothing is written but the export; what was left out is said.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from app.cli.exit_codes import Answer, Exit
from worker.adapters.redis.event_stream import Entry
from worker.adapters.redis.pages import entries_ahead
from worker.adapters.redis.store import Store, open_store
from worker.clock import SystemClock
from worker.domain.ids import InstallationId
from worker.errors import InputError
from worker.evaluation.stats.asking import WEEK, AskError, Topic, asked, moment
from worker.evaluation.stats.export import TERMINAL, Skipped, columns, jsonl, table
from worker.evaluation.stats.windows import EPOCH, ms
from worker.settings import from_environment

if TYPE_CHECKING:
    from app.cli.parquet import Parquet


class Span(NamedTuple):
    """Milliseconds since 1970: from the first, and before the last; None: all that is there, whatever clock wrote it."""

    since_ms: int
    until_ms: int | None


def export(arguments: argparse.Namespace) -> Answer:
    """Verdicts as lines, to a file or to standard output."""
    span, skipped = _span(arguments, SystemClock().now()), Skipped()
    parquet = _parquet(arguments.out) if arguments.format == "parquet" else None
    with open_store(from_environment()) as store:
        of = tuple(dict.fromkeys(arguments.installation or store.events.installations()))
        if parquet is not None:
            _saved(arguments.out, lambda out: parquet.write(out, _groups(store, of, span, skipped)))
        else:
            _write(arguments.out, _parts(store, of, span, arguments.format, skipped))
    if skipped.count:
        what = "entry" if skipped.count == 1 else "entries"
        print(f"assay: left out, since it can't be read: {skipped.count} {what} of the stream.", file=sys.stderr)
    return Answer(Exit.ACCEPT)


def _span(arguments: argparse.Namespace, now: datetime) -> Span:
    """The times that are named, to the millisecond: so what is exported up to one moment, and from it on, is each there once."""
    given = {name: value for name, value in (("from", arguments.since), ("to", arguments.until)) if value}
    try:
        asked(given, Topic.QUALITY, now)
    except AskError as error:
        option = {"from": "--since", "to": "--until"}[error.parameter]
        raise InputError(f"{option}: expected {error.expected}, found {error.found!r}.") from error
    until = moment("to", arguments.until, now) if arguments.until else now
    since = moment("from", arguments.since, now) if arguments.since else max(until - WEEK, EPOCH)
    return Span(ms(since), ms(until) if arguments.until else None)


def _parquet(out: str) -> "Parquet":
    """What writes it. Raises InputError where it can't."""
    from app.cli.parquet import Parquet

    if out == "-":
        raise InputError("--format parquet: name a file with --out. Such a file can't be written as it comes.")
    return Parquet()


def _told(store: Store, installation: InstallationId, span: Span) -> Iterator[Entry]:
    """The ends of its evaluations in that time."""
    kinds = tuple(TERMINAL.values())
    after = f"{span.since_ms - 1}-{2**64 - 1}" if span.since_ms else ""
    last_ms = None if span.until_ms is None else span.until_ms - 1
    return entries_ahead(store.wire, installation, after, last_ms, kinds)


def _groups(store: Store, of: Iterable[InstallationId], span: Span, skipped: Skipped) -> Iterator[dict[str, list[Any]]]:
    for installation in of:
        yield from columns(_told(store, installation, span), installation, skipped)


def _parts(store: Store, of: Sequence[InstallationId], span: Span, format_: str, skipped: Skipped) -> Iterator[bytes]:
    lines = {"jsonl": jsonl, "csv": table}[format_]
    if not of:
        yield from lines((), 0, skipped)
    for number, installation in enumerate(of):
        parts = lines(_told(store, installation, span), installation, skipped)
        if number and format_ == "csv":
            yield next(parts).partition(b"\n")[2]  # the names of the columns stand at the top alone
        yield from parts


def _write(out: str, parts: Iterable[bytes]) -> None:
    if out == "-":
        _written(sys.stdout.buffer, parts)
        return
    _saved(out, lambda path: _filled(path, parts))


def _saved(out: str, write: Callable[[Path], None]) -> None:
    try:
        write(Path(out))
    except OSError as error:
        raise InputError(f"--out: {out} can't be written: {error.strerror}.") from error


def _filled(path: Path, parts: Iterable[bytes]) -> None:
    with path.open("wb") as file:
        _written(file, parts)


def _written(into: BinaryIO, parts: Iterable[bytes]) -> None:
    into.writelines(parts)
    into.flush()
