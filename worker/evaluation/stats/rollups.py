"""Rollups in Redis: what the stream of an installation adds up to, carried on whenever somebody asks.

Does not know what is counted (`worker.evaluation.stats` does), and is never in the way of an entry. Invariant: what stands here is what
the stream says up to the entry that `mark` names: one script writes all of it or nothing, and only over what its writer had
read. All of it can be dropped and counted again.

Fields of the rollup's hash: `mark` (format, a token of this counting, the last entry), `open` (what has not ended), and one for
each bucket and table, packed. The pulls' hash remembers what later entries about a pull request need.
"""

import json
import secrets
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Final, NamedTuple, TypeVar

from worker.adapters.redis import keys
from worker.adapters.redis.client import Wire, blob, items, text
from worker.adapters.redis.event_stream import Entry
from worker.adapters.redis.pages import entries
from worker.adapters.redis.scripts import Script, run
from worker.adapters.redis.store import Store
from worker.domain.ids import InstallationId
from worker.domain.request.judge_request import PullRef
from worker.evaluation.stats import cells as tables_of_cells
from worker.evaluation.stats import pulls as pulls_of
from worker.evaluation.stats.cells import CellError, Cells, merged
from worker.evaluation.stats.ingest import Fold, Opened
from worker.evaluation.stats.pulls import Pull
from worker.evaluation.stats.queries import Found
from worker.evaluation.stats.reading import Ended, Reaction, Seen, Skip, SkipReason, seen
from worker.evaluation.stats.windows import (
    EPOCH,
    GRAINS,
    HOUR_MS,
    LATEST_MS,
    Bucket,
    Window,
    buckets,
    buckets_of,
    first_kept,
    is_part,
    ms,
)

T = TypeVar("T")
FORMAT: Final = "6"
PORTION: Final = 20_000
"""Entries that are written down at a time: more of them block Redis for longer."""

AT_MOST: Final = 5_000
"""Entries that one question counts first, a third of a second's worth: whoever has a token may ask."""

UNASKED: Final = 40_000
"""Entries that are counted at a time where nobody waits, some seconds' worth."""

ALL: Final = 10**12
"""For who waits until all is counted."""

FAR: Final = 10**9
"""An hour that never comes."""

NEVER: Final = float("inf")
LONG: Final = 20 * 366 * 24
"""Hours of a time that has more hours than buckets are there."""

FIELDS: Final = 2_000
WORDS: Final = (
    b'"merge_group""ci_check""pull_request""abstain""spec_violation""weak_test""scope_creep""acceptance_gap""half_finished"'
    b'"tests_pass_but_wrong""llm""opinions""canaries""override""contest""helpful""not_helpful""retry""reverted""later_fix"'
    b'"closed_unmerged""edit_followup","implicit:","explicit:","against:,{"accepted":1,"lifecycle:"landed":1,"merged":1}'
    b',"default@1","reject","","claude","codex","copilot","heuristic",[["01-7-8-9-","submission","accept","","hybrid",]],[],{},[]]'
)
"""What most memories of pull requests are made of: they are too small to be packed without it. A part of FORMAT."""

LEVEL: Final = 1


class Mark(NamedTuple):
    """How far was counted: `said` as it is stored, `last` the name of the entry."""

    said: str
    last: str


class Standing(NamedTuple):
    """How far was counted. `is_behind`: there is more; `counted`: entries that were counted just now."""

    last: str
    is_behind: bool
    counted: int = 0

    @property
    def until(self) -> datetime:
        return EPOCH + timedelta(milliseconds=min(int(self.last.partition("-")[0] or 0), LATEST_MS))


class Rollups:
    """Counts and finds."""

    def __init__(self, wire: Wire, told_for: timedelta) -> None:
        self._wire = wire
        self._kept_ms = int(told_for.total_seconds() * 1000)

    def catch_up(self, installation: InstallationId, at_most: int = UNASKED) -> Standing:
        """Count what has happened since, *at_most* so many entries."""
        left = at_most
        while left > 0:
            mark = self._mark(installation)
            portion = self._portion(installation, mark, min(left, PORTION))
            if not portion:
                return Standing(mark.last, is_behind=False, counted=at_most - left)
            self._carry_on(installation, mark, portion)
            left -= len(portion)
        mark = self._mark(installation)
        is_behind = next(entries(self._wire, installation, mark.last), None) is not None
        return Standing(mark.last, is_behind, at_most)

    def find(
        self, installation: InstallationId, names: Sequence[str], over: Window, now: datetime, *, at_most: int = AT_MOST
    ) -> Found:
        """Catch up, and add up these tables over the window's hours of which everything is still there."""
        over = over.not_before(first_kept(ms(now), self._kept_ms))
        return self._mended(installation, lambda: self._found(installation, names, over, at_most))

    def recall(self, ref: PullRef, at_most: int = AT_MOST) -> Pull | None:
        """Catch up, and say what is remembered of a pull request."""

        def caught_up() -> Pull | None:
            self.catch_up(ref.installation_id, at_most)
            return self.pull(ref)

        return self._mended(ref.installation_id, caught_up)

    def pull(self, ref: PullRef) -> Pull | None:
        """What is remembered of a pull request."""
        name = keys.rolled(ref.installation_id).name
        raw = self._wire.call("HGET", name, f"{ref.repository_id}/{ref.number}")
        return pulls_of.loaded(_unfolded(blob(raw))) if raw is not None else None

    def drop(self, installation: InstallationId) -> None:
        """Forget all that was counted; the next question counts it again."""
        self._wire.call("UNLINK", keys.rollup(installation).name, keys.rolled(installation).name)

    def rebuild(self, installation: InstallationId) -> Standing:
        """Count all again, from the first entry that is there."""
        self.drop(installation)
        return self.catch_up_with_all(installation)

    def catch_up_with_all(self, installation: InstallationId) -> Standing:
        """Count all that has happened since, however long that takes."""
        standing = self.catch_up(installation)
        while standing.is_behind:
            standing = self.catch_up(installation)
        return standing

    def trim(self, installation: InstallationId) -> int:
        """Drop the buckets of hours whose entries are gone, and pull requests of which nothing has been heard since.

        What is gone, the stream says: who asks may have a clock that is wrong by years. How many there were; none where
        somebody was counting meanwhile.
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
        name, cursor = keys.rolled(installation).name, "0"
        while True:
            after, found = items(self._wire.call("HSCAN", name, cursor, "COUNT", FIELDS))
            fields = items(found)
            for field, raw in zip(fields[::2], fields[1::2], strict=True):
                if pulls_of.loaded(_unfolded(blob(raw))).last_heard_ms < at_ms:
                    yield text(field)
            cursor = text(after)
            if cursor == "0":
                return

    def _first_hour(self, installation: InstallationId) -> int:
        """The hour of the first entry that is there; where none is, none was."""
        first = items(self._wire.call("XRANGE", keys.events(installation).name, "-", "+", "COUNT", 1))
        if not first:
            return FAR
        return int(text(items(first[0])[0]).partition("-")[0]) // HOUR_MS

    def _mended(self, installation: InstallationId, work: Callable[[], T]) -> T:
        """What *work* finds; where it can't be read, after all was counted again."""
        try:
            return work()
        except CellError:  # somebody else wrote there, or a newer Assay did
            self.drop(installation)
            return work()

    def _found(self, installation: InstallationId, names: Sequence[str], over: Window, at_most: int) -> Found:
        standing = self.catch_up(installation, at_most)
        if standing.until < over.until:  # nothing is counted behind that, and one day is read sooner than its hours
            over = over.not_after(ms(standing.until) // HOUR_MS + 1).to_midnight()
        over = over.not_before(self._first_hour(installation))
        fields = self._wanted(installation, names, over)
        found: dict[str, list[bytes]] = {}
        for field, raw in self._fields(keys.rollup(installation).name, fields).items():
            found.setdefault(field.partition(":")[2], []).append(_unpacked(raw))
        tables = {name: tables_of_cells.gathered(each) for name, each in found.items()}
        opened = tuple(self._opened(installation).values())
        return Found(tables, opened, standing.until, standing.is_behind, standing.counted)

    def _wanted(self, installation: InstallationId, names: Sequence[str], over: Window) -> list[str]:
        """The fields of these tables that cover it; of a time that is longer than any record, those that are there."""
        if over.end - over.start <= LONG:
            return [f"{bucket.name}:{name}" for name in names for bucket in buckets(over)]
        stored = map(text, items(self._wire.call("HKEYS", keys.rollup(installation).name)))
        known = ((field, *field.split(":", 1)) for field in stored if _ends(field) != NEVER)
        return [one for one, bucket, name in known if name in names and is_part(_bucket(bucket), over)]

    def _portion(self, installation: InstallationId, mark: Mark, most: int) -> list[Entry]:
        return list(islice(entries(self._wire, installation, mark.last), most))

    def _carry_on(self, installation: InstallationId, mark: Mark, portion: Sequence[Entry]) -> bool:
        """Count a portion, unless somebody else has meanwhile."""
        said = [_said(entry) for entry in portion]
        fold = Fold(self._pulls(installation, (one for _, one in said)), self._opened(installation))
        for at_ms, one in said:
            fold.take(at_ms, one)
        rollups = self._added(installation, fold.cells)
        rollups["open"] = json.dumps(fold.opened, separators=(",", ":")).encode()
        pulls = {name: _folded(pulls_of.dumped(pull)) for name, pull in fold.pulls.items()}
        return self._write(installation, mark, _next_mark(mark, portion[-1].id), rollups, pulls)

    def _write(
        self,
        installation: InstallationId,
        before: Mark,
        after: Mark,
        rollups: Mapping[str, bytes],
        pulls: Mapping[str, bytes],
    ) -> bool:
        on = [keys.rollup(installation), keys.rolled(installation)]
        fields = (part for each in (rollups, pulls) for pair in each.items() for part in pair)
        return run(self._wire, Script.ROLLUP, on, before.said, after.said, len(rollups), *fields) == 1

    def _added(self, installation: InstallationId, cells: Mapping[tuple[str, int], Cells]) -> dict[str, bytes]:
        """The buckets that these cells belong to, each with them added."""
        by_field: dict[str, list[Cells]] = {}
        for (table, hour), some in cells.items():
            for bucket in buckets_of(hour):
                by_field.setdefault(f"{bucket.name}:{table}", []).append(some)
        stored = self._fields(keys.rollup(installation).name, list(by_field))
        before = {field: tables_of_cells.loaded(_unpacked(raw)) for field, raw in stored.items()}
        return {field: _packed(merged(some, before.get(field))) for field, some in by_field.items()}

    def _pulls(self, installation: InstallationId, said: Iterable[Seen]) -> dict[str, Pull]:
        names = {one.pull for one in said if isinstance(one, (Ended, Reaction))}
        found = self._fields(keys.rolled(installation).name, sorted(names))
        return {name: pulls_of.loaded(_unfolded(raw)) for name, raw in found.items()}

    def _opened(self, installation: InstallationId) -> dict[str, Opened]:
        raw = self._wire.call("HGET", keys.rollup(installation).name, "open")
        if raw is None:
            return {}
        try:
            return {eval_id: Opened(*one) for eval_id, one in json.loads(blob(raw)).items()}
        except (ValueError, TypeError, AttributeError) as error:
            raise CellError(str(error)) from error

    def _fields(self, name: str, fields: Sequence[str]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for start in range(0, len(fields), FIELDS):
            some = fields[start : start + FIELDS]
            stored = items(self._wire.call("HMGET", name, *some))
            found.update((field, blob(raw)) for field, raw in zip(some, stored, strict=True) if raw is not None)
        return found

    def _mark(self, installation: InstallationId) -> Mark:
        said = text(self._wire.call("HGET", keys.rollup(installation).name, "mark"))
        written_in, _, rest = said.partition(" ")
        _, _, last = rest.partition(" ")
        if said and (written_in != FORMAT or not last):
            self.drop(installation)
            return Mark("", "")
        return Mark(said, last)


def open_rollups(store: Store) -> Rollups:
    """The rollups of a store."""
    return Rollups(store.wire, store.told_for)


def _said(entry: Entry) -> tuple[int, Seen]:
    """When it was told, and what it says; what is told at no time of ours is left out, and counted at the last."""
    if entry.at_ms > LATEST_MS:
        return LATEST_MS, Skip(SkipReason.BROKEN)
    return entry.at_ms, seen(entry.kind, entry.raw)


def _next_mark(mark: Mark, last: str) -> Mark:
    token = mark.said.split(" ")[1] if mark.said else secrets.token_hex(8)
    return Mark(f"{FORMAT} {token} {last}", last)


def _ends(field: str) -> float:
    """The hour before which a bucket ends; what is no bucket has no end."""
    name = field.partition(":")[0]
    if not name[1:].isdecimal():
        return NEVER
    return (int(name[1:]) + 1) * GRAINS[name[0]]


def _bucket(name: str) -> Bucket:
    return Bucket(name[0], int(name[1:]))


def _packed(cells: Cells) -> bytes:
    return zlib.compress(tables_of_cells.dumped(cells), LEVEL)


def _unpacked(raw: bytes) -> bytes:
    try:
        return zlib.decompress(raw)
    except zlib.error as error:
        raise CellError(str(error)) from error


def _folded(raw: bytes) -> bytes:
    packer = zlib.compressobj(6, wbits=-zlib.MAX_WBITS, memLevel=6, zdict=WORDS)
    return packer.compress(raw) + packer.flush()


def _unfolded(raw: bytes) -> bytes:
    try:
        return zlib.decompressobj(wbits=-zlib.MAX_WBITS, zdict=WORDS).decompress(raw)
    except zlib.error as error:
        raise CellError(str(error)) from error
