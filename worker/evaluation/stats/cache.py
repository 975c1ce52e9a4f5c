"""Files of figures: each host counts the installations' streams into SQLite, and can drop what it has at any time.

A file holds one installation, under the generation of its stream. One process at a time writes it, under a lock; the others
read what is there. A file that is damaged, of another version or of another stream is dropped and counted again.
"""

import hashlib
import logging
import shutil
import sqlite3
import tempfile
import weakref
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime, timedelta
from fcntl import LOCK_EX, LOCK_NB, flock
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple, TypeVar
from urllib.parse import quote

from worker.domain.model import InstallationId
from worker.domain.ports import EventStreams
from worker.domain.verdict.events import StreamExtent
from worker.errors import Unavailable
from worker.evaluation.stats.figures import HOUR_MS, LATEST_MS, CountedStream, first_kept_hour, to_milliseconds
from worker.evaluation.stats.ingest import SCHEMA, SCHEMA_VERSION, ingest_entries

T = TypeVar("T")
LOG: Final = logging.getLogger(__name__)
PORTION: Final = 5_000
"""Entries that are read at a time, so that few are in memory."""

PORTIONS_PER_COMMIT: Final = 8
"""Entries of a stream touch the same pages again and again: each commit writes all that were touched since the last one."""

MOST_ENTRIES: Final = 5_000
"""Entries that one question counts first, a fifth of a second's worth, as any token holder may ask."""

SCHEDULED_PORTION: Final = 40_000
"""Entries that are counted at a time in the background, some seconds' worth."""

NO_LIMIT: Final = 10**12
"""For a caller that waits until all is counted."""

SETUP: Final = "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -8000;"
"""What a crash of the machine damages is counted again. 8 MB of pages at most are in memory."""

TRIMMED_TABLES: Final = ("verdicts", "outcomes", "pairs", "counts", "open_evaluations")
TRIM_PULLS: Final = """
DELETE FROM pulls WHERE at_ms < ? AND NOT EXISTS (
  SELECT 1 FROM verdicts WHERE verdicts.repository_id = pulls.repository_id AND verdicts.number = pulls.number
)
"""


class CountingProgress(NamedTuple):
    """From when and how far was counted. `is_behind`: there is more; `counted`: entries that were counted just now."""

    first_ms: int
    until_ms: int
    is_behind: bool
    counted: int = 0


class FiguresCache:
    """Counts streams, and answers from what is counted. *kept*: how long the streams keep their entries (0: for good)."""

    def __init__(self, folder: Path, streams: EventStreams, kept: timedelta) -> None:
        self._wanted_folder = folder
        self._streams = streams
        self._kept_ms = int(kept.total_seconds() * 1000)

    @cached_property
    def folder(self) -> Path:
        """The folder; where it can't be written to, a temporary one of this process."""
        try:
            self._wanted_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self._wanted_folder):
                return self._wanted_folder
        except OSError as error:
            LOG.warning(
                "figures folder not writable, using a temporary one: %s (%s)", self._wanted_folder, error.strerror
            )
        try:
            temporary = tempfile.mkdtemp(prefix="assay-figures-")
        except OSError as error:
            raise Unavailable("the folder for figures", str(error)) from error
        weakref.finalize(self, shutil.rmtree, temporary, ignore_errors=True)
        return Path(temporary)

    def cached_installations(self) -> tuple[InstallationId, ...]:
        """Installations with a file here."""
        names = (path.name.partition("-")[0] for path in self.folder.glob("*-*.sqlite3"))
        return tuple(sorted({InstallationId(int(name)) for name in names}))

    def catch_up(
        self, installation: InstallationId, at_most: int = SCHEDULED_PORTION, *, waits: bool = False
    ) -> CountingProgress:
        """Count new entries, at most *at_most*; none while another process counts, unless this one *waits* for it."""
        extent = self._streams.extent(installation)
        with self._lock(installation, waits=waits) as is_ours:
            if is_ours:
                counted = _try_twice(
                    lambda: self._count(installation, extent, at_most),
                    lambda: self._remove_files(installation),
                    installation=installation,
                )
                return self._progress(installation, extent, counted)
        try:
            return self._progress(installation, extent)
        except sqlite3.DatabaseError:  # the process that counts will replace the file
            return CountingProgress(0, 0, is_behind=True)

    def query(
        self,
        installations: Iterable[InstallationId],
        now: datetime,
        answer: Callable[[Sequence[CountedStream]], T],
        at_most: int = MOST_ENTRIES,
    ) -> T:
        """Catch up, together at most *at_most* entries, and answer. A damaged file is dropped and counted again first."""
        of = sorted(set(installations))

        def drop() -> None:
            for installation in of:
                self.drop(installation)

        return _try_twice(lambda: self._query(of, now, answer, at_most), drop)

    def drop(self, installation: InstallationId) -> None:
        """Drop all that was counted here, unless another process is counting; the next question counts it again."""
        with self._lock(installation) as is_ours:
            if is_ours:
                self._remove_files(installation)

    def _query(
        self,
        installations: Sequence[InstallationId],
        now: datetime,
        answer: Callable[[Sequence[CountedStream]], T],
        at_most: int,
    ) -> T:
        since_ms = first_kept_hour(to_milliseconds(now), self._kept_ms) * HOUR_MS
        with ExitStack() as opened:
            streams: list[CountedStream] = []
            for installation in installations:
                progress = self.catch_up(installation, max(0, at_most))
                at_most -= progress.counted
                db = opened.enter_context(self._open_counted(installation))
                first_ms = max(since_ms, progress.first_ms)
                streams.append(CountedStream(db, first_ms, progress.until_ms, progress.is_behind))
            return answer(streams)

    def _count(self, installation: InstallationId, extent: StreamExtent | None, at_most: int) -> int:
        """Count new entries under the lock; return their number."""
        generation = hashlib.sha256((extent.generation if extent else "").encode()).hexdigest()[:16]
        path = self.folder / f"{installation}-{generation}.sqlite3"
        self._remove_files(installation, but=path)
        if extent is None:
            return 0
        with ExitStack() as opened:
            db = opened.enter_context(open_figures(path))
            last: str = db.execute("SELECT entry_id FROM progress").fetchone()[0]
            # A last entry that is gone was trimmed with all before it, or the stream is another one.
            if last and not self._streams.has_entry(installation, last):
                opened.close()
                self._remove_files(installation)
                db = opened.enter_context(open_figures(path))
                last = ""
            _trim(db, extent)
            entries, counted = self._streams.read(installation, last), 0
            while True:
                with db:
                    for _ in range(PORTIONS_PER_COMMIT):
                        portion = list(islice(entries, min(PORTION, at_most - counted)))
                        if not portion:
                            return counted
                        ingest_entries(db, portion)
                        counted += len(portion)

    def _progress(
        self, installation: InstallationId, extent: StreamExtent | None, counted: int = 0
    ) -> CountingProgress:
        if extent is None:
            return CountingProgress(0, 0, is_behind=False)
        with self._open_counted(installation) as db:
            entry_id, first_ms, until_ms = db.execute("SELECT entry_id, first_ms, until_ms FROM progress").fetchone()
        return CountingProgress(first_ms, until_ms, _parts(entry_id) < _parts(extent.last), counted)

    @contextmanager
    def _open_counted(self, installation: InstallationId) -> Generator[sqlite3.Connection]:
        """What is counted now; an empty database if there is nothing yet."""
        path = next(iter(sorted(self.folder.glob(f"{installation}-*.sqlite3"))), None)
        if path is None:
            with open_figures(":memory:") as db:
                yield db
            return
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=rw", uri=True)) as db:
            yield db

    @contextmanager
    def _lock(self, installation: InstallationId, *, waits: bool = False) -> Generator[bool]:
        """Whether this process may write the installation's file."""
        with (self.folder / f"{installation}.lock").open("w") as file:
            try:
                flock(file, LOCK_EX if waits else LOCK_EX | LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True

    def _remove_files(self, installation: InstallationId, but: Path | None = None) -> None:
        for path in self.folder.glob(f"{installation}-*"):
            if but is None or not path.name.startswith(but.name):
                path.unlink(missing_ok=True)


@contextmanager
def open_figures(path: Path | str) -> Generator[sqlite3.Connection]:
    """Open a file of figures to write it, empty if it is new. Raises DatabaseError if it is damaged or of another version."""
    with closing(sqlite3.connect(path)) as db:
        db.executescript(SETUP)
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            db.executescript(f"BEGIN; {SCHEMA} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;")
        elif version != SCHEMA_VERSION:
            raise sqlite3.DatabaseError(f"version {version}")
        yield db


def _try_twice(attempt: Callable[[], T], drop: Callable[[], None], **fields: object) -> T:
    """The result of an attempt on a file, which is dropped after one that fails. Raises Unavailable after the second."""
    try:
        return attempt()
    except sqlite3.DatabaseError as error:
        LOG.warning("figures dropped: %s", error, extra=fields)
    drop()
    try:
        return attempt()
    except sqlite3.DatabaseError as error:
        raise Unavailable("the file of figures", str(error)) from error


def _trim(db: sqlite3.Connection, extent: StreamExtent) -> None:
    """Drop hours whose entries are gone. The stream decides, as the caller's clock may be wrong by years."""
    first_ms = min(_parts(extent.first)[0] // HOUR_MS * HOUR_MS, LATEST_MS)
    if first_ms <= db.execute("SELECT first_ms FROM progress").fetchone()[0]:
        return
    with db:
        for table in TRIMMED_TABLES:
            db.execute(f"DELETE FROM {table} WHERE at_ms < ?", (first_ms,))
        db.execute(TRIM_PULLS, (first_ms,))
        db.execute("UPDATE progress SET first_ms = ?", (first_ms,))


def _parts(entry_id: str) -> tuple[int, int]:
    """An entry's id as Redis orders it."""
    at_ms, _, seq = entry_id.partition("-")
    return int(at_ms or 0), int(seq or 0)
