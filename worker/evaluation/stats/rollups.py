"""Rollups in Redis: the aggregate of an installation's stream, brought up to date when a question is asked.

They hold exactly what the stream has up to the entry that `mark` names: one script writes all of it or nothing, and only
over what its writer had read. All can be dropped and counted again.

Fields of the rollup's hash: `mark` (format, a token of this counting, the last entry), `open` (evaluations without an end),
and one for each bucket and table, packed. The pulls' hash holds what later entries about a pull request need.
"""

import json
import secrets
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Final, NamedTuple, TypeVar

from worker.adapters.redis import keys
from worker.adapters.redis.client import RedisClient, blob, items, text
from worker.adapters.redis.event_stream import StreamEntry
from worker.adapters.redis.scripts import Script, run_script
from worker.adapters.redis.store import Store
from worker.adapters.redis.stream_pages import read_entries
from worker.domain.ids import InstallationId
from worker.domain.request.judge_request import PullRef
from worker.evaluation.stats import counters as tables_of_cells
from worker.evaluation.stats import pulls as pulls_of
from worker.evaluation.stats.counters import CountersByValue, CountersError, merge_counters
from worker.evaluation.stats.ingest import EventAggregator, OpenEvaluation
from worker.evaluation.stats.pulls import PullStats
from worker.evaluation.stats.queries import CountedTables
from worker.evaluation.stats.stream_entries import (
    EndedEntry,
    OutcomeEntry,
    ParsedEntry,
    SkippedEntry,
    SkipReason,
    parse_entry,
)
from worker.evaluation.stats.windows import (
    EPOCH,
    GRAINS,
    HOUR_MS,
    LATEST_MS,
    HourWindow,
    TimeBucket,
    buckets_covering,
    buckets_of,
    first_kept_hour,
    is_covering_bucket,
    to_milliseconds,
)

T = TypeVar("T")
FORMAT: Final = "6"
PORTION: Final = 20_000
"""Entries that are written at a time: more of them block Redis for longer."""

MOST_ENTRIES: Final = 5_000
"""Entries that one question counts first, a third of a second's worth, as any token holder may ask."""

SCHEDULED_PORTION: Final = 40_000
"""Entries that are counted at a time in the background, some seconds' worth."""

NO_LIMIT: Final = 10**12
"""For a caller that waits until all is counted."""

FAR_HOUR: Final = 10**9
"""An hour beyond every window."""

NEVER: Final = float("inf")
LONG_WINDOW_HOURS: Final = 20 * 366 * 24
"""Hours of a window that has more hours than there can be buckets."""

FIELDS: Final = 2_000
COMPRESSION_WORDS: Final = (
    b'"merge_group""ci_check""pull_request""abstain""spec_violation""weak_test""scope_creep""acceptance_gap""half_finished"'
    b'"tests_pass_but_wrong""llm""opinions""canaries""override""contest""helpful""not_helpful""retry""reverted""later_fix"'
    b'"closed_unmerged""edit_followup","implicit:","explicit:","against:,{"accepted":1,"lifecycle:"landed":1,"merged":1}'
    b',"default@1","reject","","claude","codex","copilot","heuristic",[["01-7-8-9-","submission","accept","","hybrid",]],[],{},[]]'
)
"""The compression dictionary of pull requests, which are too small to be packed without it. A part of FORMAT."""

COMPRESSION_LEVEL: Final = 1


class RollupMark(NamedTuple):
    """How far was counted: `stored` as it is stored, `entry_id` the name of the entry."""

    stored: str
    entry_id: str


class RollupProgress(NamedTuple):
    """How far was counted. `is_behind`: there is more; `counted`: entries that were counted just now."""

    entry_id: str
    is_behind: bool
    counted: int = 0

    @property
    def until(self) -> datetime:
        return EPOCH + timedelta(milliseconds=min(int(self.entry_id.partition("-")[0] or 0), LATEST_MS))


class Rollups:
    """Counts an installation's stream, and finds tables."""

    def __init__(self, wire: RedisClient, told_for: timedelta) -> None:
        self._wire = wire
        self._kept_ms = int(told_for.total_seconds() * 1000)

    def catch_up(self, installation: InstallationId, at_most: int = SCHEDULED_PORTION) -> RollupProgress:
        """Count new entries, at most *at_most*."""
        left = at_most
        while left > 0:
            mark = self._mark(installation)
            portion = self._portion(installation, mark, min(left, PORTION))
            if not portion:
                return RollupProgress(mark.entry_id, is_behind=False, counted=at_most - left)
            self._count_portion(installation, mark, portion)
            left -= len(portion)
        mark = self._mark(installation)
        is_behind = next(read_entries(self._wire, installation, mark.entry_id), None) is not None
        return RollupProgress(mark.entry_id, is_behind, at_most)

    def find(
        self,
        installation: InstallationId,
        names: Sequence[str],
        over: HourWindow,
        now: datetime,
        *,
        at_most: int = MOST_ENTRIES,
    ) -> CountedTables:
        """Catch up, and add up these tables over the window's hours whose entries are all kept."""
        over = over.not_before(first_kept_hour(to_milliseconds(now), self._kept_ms))
        return self._or_rebuilt(installation, lambda: self._find_tables(installation, names, over, at_most))

    def catch_up_pull(self, ref: PullRef, at_most: int = MOST_ENTRIES) -> PullStats | None:
        """Catch up, and read a pull request."""

        def caught_up() -> PullStats | None:
            self.catch_up(ref.installation_id, at_most)
            return self.pull(ref)

        return self._or_rebuilt(ref.installation_id, caught_up)

    def pull(self, ref: PullRef) -> PullStats | None:
        """Read a pull request."""
        name = keys.pull_rollups(ref.installation_id).name
        raw = self._wire.call("HGET", name, f"{ref.repository_id}/{ref.number}")
        return pulls_of.load_pull(_decompress_pull(blob(raw))) if raw is not None else None

    def drop(self, installation: InstallationId) -> None:
        """Drop all that was counted; the next question counts it again."""
        self._wire.call("UNLINK", keys.rollup(installation).name, keys.pull_rollups(installation).name)

    def rebuild(self, installation: InstallationId) -> RollupProgress:
        """Count all again, from the first entry that is kept."""
        self.drop(installation)
        return self.catch_up_with_all(installation)

    def catch_up_with_all(self, installation: InstallationId) -> RollupProgress:
        """Count all new entries, however long that takes."""
        standing = self.catch_up(installation)
        while standing.is_behind:
            standing = self.catch_up(installation)
        return standing

    def trim(self, installation: InstallationId) -> int:
        """Drop the buckets of hours whose entries are gone, and pull requests without an entry since; returns their number.

        The stream decides what is gone, as the caller's clock may be wrong by years. 0 if another process was counting
        meanwhile.
        """
        mark = self._mark(installation)
        first = self._first_hour(installation)
        stored = [text(field) for field in items(self._wire.call("HKEYS", keys.rollup(installation).name))]
        buckets = [field for field in stored if _ends(field) <= first]
        pulls = list(self._silent_since(installation, first * HOUR_MS))
        for start in range(0, max(len(buckets), len(pulls)), FIELDS):
            some, others = buckets[start : start + FIELDS], pulls[start : start + FIELDS]
            if not self._write(installation, mark, mark, dict.fromkeys(some, b""), dict.fromkeys(others, b"")):
                return 0
        return len(buckets) + len(pulls)

    def _silent_since(self, installation: InstallationId, at_ms: int) -> Iterator[str]:
        name, cursor = keys.pull_rollups(installation).name, "0"
        while True:
            after, scanned = items(self._wire.call("HSCAN", name, cursor, "COUNT", FIELDS))
            fields = items(scanned)
            for field, raw in zip(fields[::2], fields[1::2], strict=True):
                if pulls_of.load_pull(_decompress_pull(blob(raw))).last_heard_ms < at_ms:
                    yield text(field)
            cursor = text(after)
            if cursor == "0":
                return

    def _first_hour(self, installation: InstallationId) -> int:
        """The hour of the first entry that is kept; FAR_HOUR if there is none."""
        first = items(self._wire.call("XRANGE", keys.events(installation).name, "-", "+", "COUNT", 1))
        if not first:
            return FAR_HOUR
        return int(text(items(first[0])[0]).partition("-")[0]) // HOUR_MS

    def _or_rebuilt(self, installation: InstallationId, work: Callable[[], T]) -> T:
        """The result of *work*; if a rollup can't be read, after counting all again."""
        try:
            return work()
        except CountersError:  # written by another program, or by a newer Assay
            self.drop(installation)
            return work()

    def _find_tables(
        self, installation: InstallationId, names: Sequence[str], over: HourWindow, at_most: int
    ) -> CountedTables:
        standing = self.catch_up(installation, at_most)
        if standing.until < over.until:  # nothing later is counted, and one day is read faster than its hours
            over = over.not_after(to_milliseconds(standing.until) // HOUR_MS + 1).to_midnight()
        over = over.not_before(self._first_hour(installation))
        fields = self._fields_of(installation, names, over)
        entries: dict[str, list[bytes]] = {}
        for field, raw in self._fields(keys.rollup(installation).name, fields).items():
            entries.setdefault(field.partition(":")[2], []).append(_unpack(raw))
        tables = {name: tables_of_cells.load_and_add(each) for name, each in entries.items()}
        opened = tuple(self._open_evaluations(installation).values())
        return CountedTables(tables, opened, standing.until, standing.is_behind, standing.counted)

    def _fields_of(self, installation: InstallationId, names: Sequence[str], over: HourWindow) -> list[str]:
        """The fields of these tables that cover the window; of a window longer than any record, those that exist."""
        if over.end - over.start <= LONG_WINDOW_HOURS:
            return [f"{bucket.name}:{name}" for name in names for bucket in buckets_covering(over)]
        stored = map(text, items(self._wire.call("HKEYS", keys.rollup(installation).name)))
        parsed = ((field, *field.split(":", 1)) for field in stored if _ends(field) != NEVER)
        return [field for field, bucket, name in parsed if name in names and is_covering_bucket(_bucket(bucket), over)]

    def _portion(self, installation: InstallationId, mark: RollupMark, most: int) -> list[StreamEntry]:
        return list(islice(read_entries(self._wire, installation, mark.entry_id), most))

    def _count_portion(self, installation: InstallationId, mark: RollupMark, portion: Sequence[StreamEntry]) -> bool:
        """Count a portion, unless another process has meanwhile."""
        timed = [_parse_timed(entry) for entry in portion]
        fold = EventAggregator(
            self._pulls(installation, (entry for _, entry in timed)), self._open_evaluations(installation)
        )
        for at_ms, parsed in timed:
            fold.add(at_ms, parsed)
        rollups = self._updated_buckets(installation, fold.cells)
        rollups["open"] = json.dumps(fold.open_evaluations, separators=(",", ":")).encode()
        pulls = {name: _compress_pull(pulls_of.dump_pull(pull)) for name, pull in fold.pulls.items()}
        return self._write(installation, mark, _next_mark(mark, portion[-1].id), rollups, pulls)

    def _write(
        self,
        installation: InstallationId,
        before: RollupMark,
        after: RollupMark,
        rollups: Mapping[str, bytes],
        pulls: Mapping[str, bytes],
    ) -> bool:
        on = [keys.rollup(installation), keys.pull_rollups(installation)]
        fields = (part for each in (rollups, pulls) for pair in each.items() for part in pair)
        return run_script(self._wire, Script.ROLLUP, on, before.stored, after.stored, len(rollups), *fields) == 1

    def _updated_buckets(
        self, installation: InstallationId, cells: Mapping[tuple[str, int], CountersByValue]
    ) -> dict[str, bytes]:
        """The buckets that these cells belong to, each with them added."""
        by_field: dict[str, list[CountersByValue]] = {}
        for (table, hour), some in cells.items():
            for bucket in buckets_of(hour):
                by_field.setdefault(f"{bucket.name}:{table}", []).append(some)
        stored = self._fields(keys.rollup(installation).name, list(by_field))
        before = {field: tables_of_cells.load_counters(_unpack(raw)) for field, raw in stored.items()}
        return {field: _pack_counters(merge_counters(some, before.get(field))) for field, some in by_field.items()}

    def _pulls(self, installation: InstallationId, entries: Iterable[ParsedEntry]) -> dict[str, PullStats]:
        names = {entry.pull for entry in entries if isinstance(entry, (EndedEntry, OutcomeEntry))}
        stored = self._fields(keys.pull_rollups(installation).name, sorted(names))
        return {name: pulls_of.load_pull(_decompress_pull(raw)) for name, raw in stored.items()}

    def _open_evaluations(self, installation: InstallationId) -> dict[str, OpenEvaluation]:
        raw = self._wire.call("HGET", keys.rollup(installation).name, "open")
        if raw is None:
            return {}
        try:
            return {eval_id: OpenEvaluation(*fields) for eval_id, fields in json.loads(blob(raw)).items()}
        except (ValueError, TypeError, AttributeError) as error:
            raise CountersError(str(error)) from error

    def _fields(self, name: str, fields: Sequence[str]) -> dict[str, bytes]:
        values: dict[str, bytes] = {}
        for start in range(0, len(fields), FIELDS):
            some = fields[start : start + FIELDS]
            stored = items(self._wire.call("HMGET", name, *some))
            values.update((field, blob(raw)) for field, raw in zip(some, stored, strict=True) if raw is not None)
        return values

    def _mark(self, installation: InstallationId) -> RollupMark:
        mark = text(self._wire.call("HGET", keys.rollup(installation).name, "mark"))
        written_in, _, rest = mark.partition(" ")
        _, _, last = rest.partition(" ")
        if mark and (written_in != FORMAT or not last):
            self.drop(installation)
            return RollupMark("", "")
        return RollupMark(mark, last)


def open_rollups(store: Store) -> Rollups:
    """The rollups of a store."""
    return Rollups(store.client, store.event_retention)


def _parse_timed(entry: StreamEntry) -> tuple[int, ParsedEntry]:
    """The time and content of an entry; one with an impossible time is skipped, and counted at the last."""
    if entry.at_ms > LATEST_MS:
        return LATEST_MS, SkippedEntry(SkipReason.BROKEN)
    return entry.at_ms, parse_entry(entry.kind, entry.raw)


def _next_mark(mark: RollupMark, last: str) -> RollupMark:
    token = mark.stored.split(" ")[1] if mark.stored else secrets.token_hex(8)
    return RollupMark(f"{FORMAT} {token} {last}", last)


def _ends(field: str) -> float:
    """The hour before which a bucket ends; a field that is no bucket has no end."""
    name = field.partition(":")[0]
    if not name[1:].isdecimal():
        return NEVER
    return (int(name[1:]) + 1) * GRAINS[name[0]]


def _bucket(name: str) -> TimeBucket:
    return TimeBucket(name[0], int(name[1:]))


def _pack_counters(cells: CountersByValue) -> bytes:
    return zlib.compress(tables_of_cells.dump_counters(cells), COMPRESSION_LEVEL)


def _unpack(raw: bytes) -> bytes:
    try:
        return zlib.decompress(raw)
    except zlib.error as error:
        raise CountersError(str(error)) from error


def _compress_pull(raw: bytes) -> bytes:
    packer = zlib.compressobj(6, wbits=-zlib.MAX_WBITS, memLevel=6, zdict=COMPRESSION_WORDS)
    return packer.compress(raw) + packer.flush()


def _decompress_pull(raw: bytes) -> bytes:
    try:
        return zlib.decompressobj(wbits=-zlib.MAX_WBITS, zdict=COMPRESSION_WORDS).decompress(raw)
    except zlib.error as error:
        raise CountersError(str(error)) from error
