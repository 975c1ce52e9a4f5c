"""The ledger and the archive in Redis, both encrypted, and the events on an installation's stream.

An entry of the ledger is written once, under the fence of its judge (one transaction checks and writes), and never changed. An entry of the
stream that Assay did not write keeps its position, with an unreadable event.

A started evaluation ends exactly once: by its entry in the ledger, by `record_ended`, or by the watchdog after its
judge died. One transaction decides in each case.
"""

import json
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
    read_json,
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
from worker.adapters.redis.encryption_and_tokens import Codec, SealedPart
from worker.adapters.redis.judging.intake import remembered_keys
from worker.adapters.redis.judging.state import load, save
from worker.domain.dossier import Dossier
from worker.domain.judge_request import PullRef
from worker.domain.lifecycle.state import Phase, PullRequestState
from worker.domain.model import EvalId, InstallationId
from worker.domain.pattern import pattern
from worker.domain.ports import EntryWithEvents
from worker.domain.verdict.audit import AuditError, AuditRecord, dump_audit, read_audit
from worker.domain.verdict.events import EvaluationStarted, Event, StreamEntry, StreamExtent, lost_event, started_event
from worker.domain.verdict.ledger import LedgerEntry
from worker.errors import LeaseLost, Unreadable

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


MOST_ORPHANED_EVALUATIONS: Final = 20
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
        overdue = run(self._client, partial(read_due, order=keys.EVALUATION_DEADLINES, count=MOST_ORPHANED_EVALUATIONS))
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


class RedisLedger(SealedPart):
    """The Ledger port."""

    def __init__(self, client: RedisClient, codec: Codec, event_retention: timedelta) -> None:
        super().__init__(client, codec)
        self._event_retention_ms = int(event_retention.total_seconds() * 1000)

    def entries(self, pull: PullRef) -> tuple[LedgerEntry, ...]:
        key = keys.ledger(pull)
        sealed = items(self._client.call("HVALS", key.name))
        opened = [self._open(LedgerEntry, entry, key.name) for entry in sealed]
        return tuple(sorted(opened, key=lambda entry: (entry.fence, entry.created_at, entry.eval_id)))

    def append(
        self,
        pull: PullRef,
        entry: LedgerEntry,
        events: Sequence[Event] = (),
        child_entries: Sequence[EntryWithEvents] = (),
    ) -> None:
        """Append under the entry's fence, together with the entries of shadow evaluations."""
        key, stream = keys.ledger(pull).name, keys.events(pull.installation_id).name
        parent, sealed = entry.verdict.parent_eval_id, self._seal(entry, key)
        rows = [(child.eval_id, self._seal(child, key), child_events) for child, child_events in child_entries]
        named = keys.repository_numbers(entry.verdict.subject.repository).name

        def append(transaction: Transaction) -> Operation[bool]:
            (is_written,) = yield from transaction.read(("HEXISTS", key, entry.eval_id))
            if is_written:
                return True
            state = yield from load(transaction, pull)
            if not (yield from may_record(transaction, key, state, entry.fence, parent)):
                return False
            if events and parent is None and not (yield from end_evaluation(transaction, entry.eval_id)):
                return False  # it was given up as lost
            for eval_id, row, row_events in ((entry.eval_id, sealed, events), *rows):
                transaction.write("HSET", key, eval_id, row)
                for event in row_events:
                    append_event(transaction, stream, self._event_retention_ms, event.kind, event.dump())
            if parent is None:  # what is judged is open, unless it was closed meanwhile
                keep_ledger(transaction, pull, state)
            transaction.write("SADD", named, f"{pull.installation_id}:{pull.repository_id}")
            return True

        if not run(self._client, append):
            raise LeaseLost


def may_record(
    transaction: Transaction, ledger: str, state: PullRequestState, fence: int, parent: EvalId | None
) -> Operation[bool]:
    """Whether a verdict may be recorded: by the judge with the lease, or beside the *parent* that it re-evaluates."""
    if parent is None:
        return state.phase is Phase.JUDGING and state.fence == fence and state.has_lease(transaction.now)
    (has_parent,) = yield from transaction.read(("HEXISTS", ledger, parent))
    return bool(has_parent)


def keep_ledger(transaction: Transaction, pull: PullRef, state: PullRequestState) -> None:
    """Keep the ledger of an open pull request, and what expires with it."""
    for key in remembered_keys(pull):
        if state.ends_at is not None:
            transaction.write("PEXPIREAT", key.name, f"{state.ends_at:.0f}")
        else:
            transaction.write("PERSIST", key.name)


class RedisArchive(SealedPart):
    """The Archive port and its reader. *retention* 0: nothing is stored."""

    def __init__(self, client: RedisClient, codec: Codec, retention: timedelta) -> None:
        super().__init__(client, codec)
        self._retention_s = int(retention.total_seconds())

    def store(self, pull: PullRef, entry: LedgerEntry, dossier: Dossier, audit: AuditRecord) -> None:
        """Store both under the entry's fence; those of a child beside its parent. Raises LeaseLost."""
        if not self._retention_s:
            return
        parent, ledger = entry.verdict.parent_eval_id, keys.ledger(pull).name
        dossier_key, audit_key = keys.dossier(entry.eval_id).name, keys.audit(entry.eval_id).name
        listed = keys.archived_evals(pull.installation_id, pull.repository_id).name
        sealed_dossier = self._codec.seal(dossier.model_dump_json(exclude_unset=True).encode(), dossier_key)
        sealed_audit = self._codec.seal(json.dumps(dump_audit(audit)).encode(), audit_key)

        def store(transaction: Transaction) -> Operation[bool]:
            state = yield from load(transaction, pull)
            is_allowed = (yield from may_record(transaction, ledger, state, entry.fence, parent)) or (
                yield from may_record(transaction, ledger, state, entry.fence, None)
            )
            if not is_allowed:
                return False
            keep_s = self._retention_s
            if parent is not None:  # no longer than what it re-evaluates
                (left_s,) = yield from transaction.peek(("TTL", keys.dossier(parent).name))
                keep_s = max(1, whole(left_s))
            transaction.write("SET", dossier_key, sealed_dossier, "EX", keep_s)
            transaction.write("SET", audit_key, sealed_audit, "EX", keep_s)
            transaction.write("ZREMRANGEBYSCORE", listed, "-inf", transaction.now)
            transaction.write("ZADD", listed, transaction.now + keep_s * 1000, entry.eval_id)
            transaction.write("EXPIRE", listed, keep_s, "NX")
            transaction.write("EXPIRE", listed, keep_s, "GT")
            return True

        if not run(self._client, store):
            raise LeaseLost

    def find(self, eval_id: EvalId) -> Dossier | None:
        plain = self._plain(keys.dossier(eval_id))
        return read_json(Dossier, plain) if plain is not None else None

    def audit(self, eval_id: EvalId) -> AuditRecord | None:
        plain = self._plain(keys.audit(eval_id))
        try:
            return read_audit(json.loads(plain)) if plain is not None else None
        except AuditError as error:
            raise Unreadable(f"{error} Run the newer Assay that wrote it.") from error

    def time_left(self, eval_id: EvalId) -> timedelta | None:
        """Remaining lifetime of the dossier; None: not stored."""
        seconds = whole(self._client.call("TTL", keys.dossier(eval_id).name))
        return timedelta(seconds=seconds) if seconds >= 0 else None

    def _plain(self, key: keys.Key) -> bytes | None:
        sealed = self._client.call("GET", key.name)
        return self._codec.open(blob(sealed), key.name) if sealed else None
