"""The entries of a stream for who reads many of them: whole pages at a time, of the kinds that are wanted.

Does not know what they say. Invariant: oldest first, each once; an entry that Assay did not write keeps its place, with an
event that nobody can read.
"""

from collections.abc import Collection, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Final, NamedTuple

from worker.adapters.redis import keys
from worker.adapters.redis.client import RedisClient, items, parse_reply
from worker.adapters.redis.event_stream import StreamEntry, parse_entry
from worker.domain.ids import InstallationId

PAGE: Final = 1_000
PARTS: Final = 12
"""Of an entry with our two fields, in Redis' protocol: lengths, the name, `k`, the kind, `j` and the event, a line each."""


class StreamPage(NamedTuple):
    """Entries as they came: their names, kinds and events."""

    names: Sequence[bytes]
    kinds: Sequence[bytes]
    events: Sequence[bytes]

    def entries(self, kinds: Collection[bytes]) -> Iterator[StreamEntry]:
        """Of these kinds; all where there are none."""
        for name, kind, raw in zip(self.names, self.kinds, self.events, strict=True):
            if not kinds or kind in kinds:
                yield StreamEntry(name.decode(), kind, raw)


def read_entries(
    wire: RedisClient,
    installation: InstallationId,
    after: str = "",
    until_ms: int | None = None,
    kinds: tuple[str, ...] = (),
) -> Iterator[StreamEntry]:
    """Behind the one named *after* (all of them where it is empty), up to *until_ms*; all kinds where none is named."""
    page, wanted = partial(_page, wire, installation, until_ms), {kind.encode() for kind in kinds}
    while (current := page(after)).names:
        yield from current.entries(wanted)
        after = current.names[-1].decode()


def read_entries_ahead(
    wire: RedisClient,
    installation: InstallationId,
    after: str = "",
    until_ms: int | None = None,
    kinds: tuple[str, ...] = (),
) -> Generator[StreamEntry]:
    """The same for who will read all of them: the next page is under way while one is looked at."""
    page, wanted = partial(_page, wire, installation, until_ms), {kind.encode() for kind in kinds}
    with ThreadPoolExecutor(1) as beside:
        coming: Future[StreamPage] = beside.submit(page, after)
        while (current := coming.result()).names:
            coming = beside.submit(page, current.names[-1].decode())
            yield from current.entries(wanted)


def _page(wire: RedisClient, installation: InstallationId, until_ms: int | None, after: str) -> StreamPage:
    start, end = f"({after}" if after else "-", "+" if until_ms is None else str(until_ms)
    return _read(wire.call_raw("XRANGE", keys.events(installation).name, start, end, "COUNT", PAGE))


def _read(raw: bytes) -> StreamPage:
    """A tenth of the work of reading it as lists; where somebody else wrote among the entries, as lists."""
    parts = raw.removesuffix(b"\r\n").split(b"\r\n")
    count = len(parts) // PARTS
    shape = [parts[0], len(parts), *(set(parts[at::PARTS]) for at in (1, 4, 6, 10))]
    if shape == [b"*%d" % count, PARTS * count + 1, {b"*2"}, {b"*4"}, {b"k"}, {b"j"}]:
        return StreamPage(parts[3::PARTS], parts[8::PARTS], parts[12::PARTS])
    parsed = [parse_entry(entry) for entry in items(parse_reply(raw))]
    return StreamPage(
        [entry.id.encode() for entry in parsed], [entry.kind for entry in parsed], [entry.raw for entry in parsed]
    )
