"""`assay export`: verdicts for other programs, as lines, a table or columns.

Does not word a line (`worker.analytics.exports` does). Invariant: nothing is written but the export; what was left out is said.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from app.exits import Answer, Exit
from worker.analytics.asking import AskError, Topic, asked
from worker.analytics.exports import TERMINAL, Skipped, columns, jsonl, table
from worker.analytics.windows import Window
from worker.domain.ids import InstallationId
from worker.errors import InputError
from worker.settings import from_environment
from worker.store.connection import Store, open_store
from worker.store.pages import entries_ahead
from worker.store.stream import Entry
from worker.system_clock import SystemClock

if TYPE_CHECKING:
    from app.commands_parquet import Parquet


def export(arguments: argparse.Namespace) -> Answer:
    """Verdicts as lines, to a file or to standard output."""
    now = SystemClock().now()
    try:
        window = {name: value for name, value in (("from", arguments.since), ("to", arguments.until)) if value}
        over = asked(window, Topic.QUALITY, now).over
    except AskError as error:
        option = {"from": "--since", "to": "--until"}[error.parameter]
        raise InputError(f"{option}: expected {error.expected}, found {error.found!r}.") from error
    skipped = Skipped()
    parquet = _parquet(arguments.out) if arguments.format == "parquet" else None
    with open_store(from_environment()) as store:
        of = arguments.installation or store.events.installations()
        if parquet is not None:
            _saved(arguments.out, lambda out: parquet.write(out, _groups(store, of, over, skipped)))
        else:
            _write(arguments.out, _parts(store, of, over, arguments.format, skipped))
    if skipped.count:
        what = "entry" if skipped.count == 1 else "entries"
        print(f"assay: left out, since it can't be read: {skipped.count} {what} of the stream.", file=sys.stderr)
    return Answer(Exit.ACCEPT)


def _parquet(out: str) -> "Parquet":
    """What writes it. Raises InputError where it can't."""
    from app.commands_parquet import Parquet

    if out == "-":
        raise InputError("--format parquet: name a file with --out. Such a file can't be written as it comes.")
    return Parquet()


def _told(store: Store, installation: InstallationId, over: Window) -> Iterator[Entry]:
    """The ends of its evaluations in that time."""
    kinds = tuple(TERMINAL.values())
    after = f"{over.start_ms - 1}-{2**64 - 1}" if over.start_ms else ""
    return entries_ahead(store.wire, installation, after, over.end_ms - 1, kinds)


def _groups(
    store: Store, of: Iterable[InstallationId], over: Window, skipped: Skipped
) -> Iterator[dict[str, list[Any]]]:
    for installation in of:
        yield from columns(_told(store, installation, over), installation, skipped)


def _parts(store: Store, of: Iterable[InstallationId], over: Window, format_: str, skipped: Skipped) -> Iterator[bytes]:
    lines = {"jsonl": jsonl, "csv": table}[format_]
    for number, installation in enumerate(of):
        parts = lines(_told(store, installation, over), installation, skipped)
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
