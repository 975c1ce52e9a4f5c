"""The entries of a stream for who reads many of them: whole pages at a time, of the kinds that are wanted.

Does not know what they say. Invariant: oldest first, each once; an entry that Assay did not write keeps its place, with an
event that nobody can read.
"""

from collections.abc import Iterator
from typing import Final

from worker.domain import keys
from worker.domain.ids import InstallationId
from worker.store.lua import Script, run
from worker.store.stream import Entry
from worker.store.wire import Wire, blob, items, text

PAGE: Final = 2_000


def entries(
    wire: Wire, installation: InstallationId, after: str = "", until_ms: int | None = None, kinds: tuple[str, ...] = ()
) -> Iterator[Entry]:
    """Behind the one named *after* (all of them where it is empty), up to *until_ms*; all kinds where none is named."""
    end = "+" if until_ms is None else str(until_ms)
    while True:
        start = f"({after}" if after else "-"
        last, lines = items(run(wire, Script.PAGE, [keys.events(installation)], start, end, PAGE, *kinds))
        after = text(last)
        if not after:
            return
        for line in blob(lines).split(b"\n")[:-1]:
            name, kind, raw = line.split(b"\t", 2)
            yield Entry(name.decode(), kind, raw)
