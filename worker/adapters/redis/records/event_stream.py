"""Events on an installation's stream: evaluations start and end, people react to a verdict.

An entry that Assay did not write keeps its position, with an unreadable event.

A started evaluation ends exactly once: by its entry in the ledger, by `record_ended`, or by the watchdog after its
judge died. One transaction decides in each case.
"""

import secrets
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Final, NamedTuple

from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import (
    RedisClient,
    blob,
    find_server_time,
    items,
    pairs,
    parse_reply,
    scan_keys,
    text,
    whole,
)
from worker.adapters.redis.connection.transactions import (
    Operation,
    RedisPart,
    Transaction,
    in_transaction,
    read_due,
    run,
)
from worker.adapters.redis.judging.state import load, save
from worker.domain.judge_request import PullRef
from worker.domain.lifecycle.state import Phase
from worker.domain.model import InstallationId
from worker.domain.pattern import pattern
from worker.domain.verdict.events import (
    EvaluationStarted,
    Event,
    StreamEntry,
    StreamExtent,
    lost_event,
    started_event,
)
from worker.errors import LeaseLost

PAGE: Final = 1_000
"""Entries per read."""

PARTS: Final = 12
"""Lines of an entry with our two fields, in Redis' protocol: lengths, the id, `k`, the kind, `j` and the event."""

STREAM_NAME: Final = pattern(rb"assay:(0|[1-9][0-9]{0,18}):events")
"""Name of an installation's stream."""


class StreamPage(NamedTuple):
    """Raw entries: their ids, kinds and events."""

    names: Sequence[bytes]
    kinds: Sequence[bytes]
    events: Sequence[bytes]


MOST_ORPHANED: Final = 20
"""Evaluations whose judge is looked for at a time."""


def append_event(transaction: Transaction, stream: str, keep_ms: int, kind: str, event: str | bytes) -> None:
    """Append to an installation's stream and remove older entries than *keep_ms*; 0: none."""
    limit = ("MINID", "~", f"{max(0, transaction.now - keep_ms):.0f}") if keep_ms > 0 else ()
    transaction.write("XADD", stream, *limit, "*", "k", kind, "j", event)


def end_evaluation(transaction: Transaction, eval_id: str) -> Operation[bool]:
    """End an open evaluation. False: it had already ended."""
    (is_open,) = yield from transaction.read(("HEXISTS", keys.OPEN_EVALUATIONS.name, eval_id))
    transaction.write("ZREM", keys.EVALUATION_DEADLINES.name, eval_id)
    if is_open:
        transaction.write("HDEL", keys.OPEN_EVALUATIONS.name, eval_id)
    return bool(is_open)


def lose_evaluation(transaction: Transaction, eval_id: str) -> Operation[bool]:
    """End an open evaluation without a result, with the event that its start noted. False: it had already ended."""
    (note,) = yield from transaction.read(("HGET", keys.OPEN_EVALUATIONS.name, eval_id))
    transaction.write("ZREM", keys.EVALUATION_DEADLINES.name, eval_id)
    if note is None:
        return False
    transaction.write("HDEL", keys.OPEN_EVALUATIONS.name, eval_id)
    parts = blob(note).split(b"\n", 4)
    is_readable = len(parts) == len(("pull", "fence", "stream", "retention", "event"))
    if is_readable:
        append_event(transaction, parts[2].decode(), int(parts[3]), "eval.failed", parts[4])
    return is_readable


class RedisEvents(RedisPart):
    """The Events port, and the reader of streams. *retention*: of an entry (0: unlimited)."""

    def __init__(self, client: RedisClient, retention: timedelta, hold: timedelta) -> None:
        super().__init__(client)
        self._retention_ms = int(retention.total_seconds() * 1000)
        self._hold_ms = int(hold.total_seconds() * 1000)

    @in_transaction
    def record_started(
        self, transaction: Transaction, pull: PullRef, fence: int, evaluation: EvaluationStarted
    ) -> Operation[None]:
        """Record that an evaluation started under this fence. Idempotent. Raises LeaseLost."""
        stream = keys.events(pull.installation_id).name
        started, lost = started_event(evaluation).dump(), lost_event(evaluation).dump()
        note = f"{keys.pull(pull).name}\n{fence}\n{stream}\n{self._retention_ms}\n".encode() + lost
        state = yield from load(transaction, pull)
        if state.phase is not Phase.JUDGING or state.fence != fence or not state.has_lease(transaction.now):
            raise LeaseLost
        if state.eval_id == evaluation.eval_id:  # sent twice: it started, and may have ended
            return
        if state.eval_id is not None:
            yield from lose_evaluation(transaction, state.eval_id)
        save(transaction, pull, state, state._replace(eval_id=evaluation.eval_id))
        transaction.write("HSET", keys.OPEN_EVALUATIONS.name, evaluation.eval_id, note)
        deadline = transaction.now + self._hold_ms
        transaction.write("ZADD", keys.EVALUATION_DEADLINES.name, deadline, evaluation.eval_id)
        transaction.write("XADD", stream, "*", "k", "eval.started", "j", started)

    @in_transaction
    def record_ended(self, transaction: Transaction, pull: PullRef, event: Event) -> Operation[bool]:
        """End an evaluation without a recorded verdict. False: it had already ended."""
        eval_id, stream = str(event.body["eval_id"]), keys.events(pull.installation_id).name
        is_open = yield from end_evaluation(transaction, eval_id)
        if is_open:
            append_event(transaction, stream, self._retention_ms, event.kind, event.dump())
        return is_open

    def end_orphaned(self) -> int:
        """End the evaluations of dead judges; return their number."""
        overdue = run(self._client, partial(read_due, order=keys.EVALUATION_DEADLINES, count=MOST_ORPHANED))
        return sum(self._end_if_orphaned(eval_id) for eval_id in overdue)

    @in_transaction
    def _end_if_orphaned(self, transaction: Transaction, eval_id: str) -> Operation[bool]:
        (note,) = yield from transaction.read(("HGET", keys.OPEN_EVALUATIONS.name, eval_id))
        name, _, rest = text(note).partition("\n")
        fence, is_readable, _ = rest.partition("\n")
        if is_readable:
            state = yield from load(transaction, keys.parse_pull(name))
            is_judged = state.phase is Phase.JUDGING and str(state.fence) == fence
            if is_judged and state.has_lease(transaction.now):
                deadline = transaction.now + self._hold_ms
                transaction.write("ZADD", keys.EVALUATION_DEADLINES.name, deadline, eval_id)
                return False
        return (yield from lose_evaluation(transaction, eval_id))

    @in_transaction
    def publish(
        self, transaction: Transaction, installation: InstallationId, name: str, *events: Event
    ) -> Operation[bool]:
        """Publish events in one step, once under this *name*. False: already published."""
        is_first = yield from transaction.mark_once(keys.published_event(installation, name))
        for event in events if is_first else ():
            append_event(transaction, keys.events(installation).name, self._retention_ms, event.kind, event.dump())
        return is_first

    def read(
        self, installation: InstallationId, after: str = "", until_ms: int | None = None, kinds: Sequence[str] = ()
    ) -> Generator[StreamEntry]:
        """Entries after *after* (all if it is empty), up to *until_ms*, oldest first; of all kinds if none is named.

        The next page is under way while one is read.
        """
        page, wanted = partial(self._page, installation, until_ms), {kind.encode() for kind in kinds}
        with ThreadPoolExecutor(1) as beside:
            current = page(after)
            while current.names:
                following: Future[StreamPage] | None = None
                if len(current.names) == PAGE:
                    following = beside.submit(page, current.names[-1].decode())
                for name, kind, raw in zip(*current, strict=True):
                    if not wanted or kind in wanted:
                        yield StreamEntry(name.decode(), kind, raw)
                if following is None:
                    return
                current = following.result()

    def _page(self, installation: InstallationId, until_ms: int | None, after: str) -> StreamPage:
        start, end = f"({after}" if after else "-", "+" if until_ms is None else str(until_ms)
        return _parse_page(self._client.call_raw("XRANGE", keys.events(installation).name, start, end, "COUNT", PAGE))

    def extent(self, installation: InstallationId) -> StreamExtent | None:
        """Which entries the stream has; None: it has none."""
        stream, generation = keys.events(installation).name, keys.events_generation(installation).name
        first = items(self._client.call("XRANGE", stream, "-", "+", "COUNT", 1))
        last = items(self._client.call("XREVRANGE", stream, "+", "-", "COUNT", 1))
        if not first or not last:
            return None
        token = self._client.call("GET", generation)
        if token is None:
            self._client.call("SET", generation, secrets.token_hex(8), "NX")
            token = self._client.call("GET", generation)
        ids = (text(items(page[0])[0]) for page in (first, last))
        return StreamExtent(text(token), *ids)

    def has_entry(self, installation: InstallationId, entry_id: str) -> bool:
        return bool(items(self._client.call("XRANGE", keys.events(installation).name, entry_id, entry_id)))

    def trim(self, installation: InstallationId) -> int:
        """Remove entries older than the retention; return their number. Needed for a stream without new entries.

        Removes what earlier versions counted in Redis, too.
        """
        self._client.call("UNLINK", *(key.name for key in keys.retired_rollups(installation)))
        if not self._retention_ms:
            return 0
        first = max(
            0, int(find_server_time(self._client)) - self._retention_ms
        )  # ids of entries have the server's time
        return whole(self._client.call("XTRIM", keys.events(installation).name, "MINID", first))

    def installations(self) -> tuple[InstallationId, ...]:
        """Installations with a stream; an alien key with a similar name is skipped."""
        names = (name for batch in scan_keys(self._client, keys.EVERY_STREAM, PAGE, "TYPE", "stream") for name in batch)
        matches = map(STREAM_NAME.fullmatch, names)
        return tuple(sorted({InstallationId(int(match[1])) for match in matches if match}))


def _parse_page(raw: bytes) -> StreamPage:
    """Parse a page, in a tenth of the time of a general parser; with an alien entry, by that parser."""
    parts = raw.removesuffix(b"\r\n").split(b"\r\n")
    count = len(parts) // PARTS
    shape = [parts[0], len(parts), *(set(parts[at::PARTS]) for at in (1, 4, 6, 10))]
    if shape == [b"*%d" % count, PARTS * count + 1, {b"*2"}, {b"*4"}, {b"k"}, {b"j"}]:
        return StreamPage(parts[3::PARTS], parts[8::PARTS], parts[12::PARTS])
    names, kinds, events = list[bytes](), list[bytes](), list[bytes]()
    for name, fields in map(items, items(parse_reply(raw))):
        values = {blob(field): value for field, value in pairs(fields)}
        names.append(blob(name))
        kinds.append(blob(values.get(b"k", b"")))  # none in an alien entry: its reader skips and counts it
        events.append(blob(values.get(b"j", b"")))
    return StreamPage(names, kinds, events)
