"""Bulk reads of a stream: whole pages, filtered by kind, oldest first.

An entry that Assay did not write keeps its position, with an unreadable event.
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
"""Lines of an entry with our two fields, in Redis' protocol: lengths, the id, `k`, the kind, `j` and the event."""


class StreamPage(NamedTuple):
    """Raw entries: their ids, kinds and events."""

    names: Sequence[bytes]
    kinds: Sequence[bytes]
    events: Sequence[bytes]

    def entries(self, kinds: Collection[bytes]) -> Iterator[StreamEntry]:
        """Entries of these kinds; all if there are none."""
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
    """Entries after *after* (all if it is empty), up to *until_ms*; of all kinds if none is named."""
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
    """Read as `read_entries` does, and prefetch the next page during the current one."""
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
    """Parse a page, in a tenth of the time of a general parser; with an alien entry, by that parser."""
    parts = raw.removesuffix(b"\r\n").split(b"\r\n")
    count = len(parts) // PARTS
    shape = [parts[0], len(parts), *(set(parts[at::PARTS]) for at in (1, 4, 6, 10))]
    if shape == [b"*%d" % count, PARTS * count + 1, {b"*2"}, {b"*4"}, {b"k"}, {b"j"}]:
        return StreamPage(parts[3::PARTS], parts[8::PARTS], parts[12::PARTS])
    parsed = [parse_entry(entry) for entry in items(parse_reply(raw))]
    return StreamPage(
        [entry.id.encode() for entry in parsed], [entry.kind for entry in parsed], [entry.raw for entry in parsed]
    )
