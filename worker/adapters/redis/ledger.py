"""The ledger, the archive and the vault in Redis, all encrypted.

An entry of the ledger is written once, under the fence of its judge (one script checks and writes), and never changed.
"""

import json
import logging
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from worker.adapters.redis import keys
from worker.adapters.redis.client import Argument, RedisClient, blob, items, text, whole
from worker.adapters.redis.encryption import Codec
from worker.adapters.redis.scripts import Script, run_script
from worker.adapters.redis.versioned_json import read_json
from worker.domain.dossier.dossier import Dossier
from worker.domain.ids import EvalId
from worker.domain.ports import EntryWithEvents
from worker.domain.request.judge_request import PullRef
from worker.domain.verdict.audit import AuditError, AuditRecord, dump_audit, read_audit
from worker.domain.verdict.events import Event
from worker.domain.verdict.ledger import LedgerEntry
from worker.errors import LeaseLost, Unreadable


class RedisLedger:
    """The Ledger port."""

    def __init__(self, wire: RedisClient, codec: Codec, told_for: timedelta) -> None:
        self._wire = wire
        self._codec = codec
        self._told_ms = int(told_for.total_seconds() * 1000)

    def entries(self, pull: PullRef) -> tuple[LedgerEntry, ...]:
        key = keys.ledger(pull)
        sealed = items(self._wire.call("HVALS", key.name))
        opened = [read_json(LedgerEntry, self._codec.open(blob(entry), key.name)) for entry in sealed]
        return tuple(sorted(opened, key=lambda entry: (entry.fence, entry.created_at, entry.eval_id)))

    def append(
        self,
        pull: PullRef,
        entry: LedgerEntry,
        events: Sequence[Event] = (),
        child_entries: Sequence[EntryWithEvents] = (),
    ) -> None:
        """Append under the entry's fence, together with the entries of shadow evaluations."""
        key = keys.ledger(pull)
        named, stream = keys.repository_numbers(entry.verdict.subject.repository), keys.events(pull.installation_id)
        on = [keys.pull(pull), key, named, stream, keys.decisions(pull), keys.pull_request_cost(pull)]
        parent, numbers = entry.verdict.parent_eval_id or "", f"{pull.installation_id}:{pull.repository_id}"
        what = (
            entry.fence,
            parent,
            entry.eval_id,
            self._sealed(entry, key),
            numbers,
            self._told_ms,
            *_event_arguments(events),
        )
        children = (
            part
            for child, events in child_entries
            for part in (child.eval_id, self._sealed(child, key), *_event_arguments(events))
        )
        answer = run_script(self._wire, Script.APPEND, on, *what, *children)
        if text(answer) == "lost":
            raise LeaseLost

    def _sealed(self, entry: LedgerEntry, key: keys.Key) -> bytes:
        return self._codec.seal(entry.model_dump_json().encode(), key.name)


def _event_arguments(events: Sequence[Event]) -> Iterator[Argument]:
    """Arguments of `lua/append.lua`: the number of events, then each."""
    yield len(events)
    for event in events:
        yield event.kind
        yield event.dump()


LOG: Final = logging.getLogger(__name__)


class RedisArchive:
    """The Archive port and its reader. *retention* 0: nothing is stored."""

    def __init__(self, wire: RedisClient, codec: Codec, retention: timedelta) -> None:
        self._wire = wire
        self._codec = codec
        self._retention_s = int(retention.total_seconds())

    def store(self, pull: PullRef, entry: LedgerEntry, dossier: Dossier, audit: AuditRecord) -> None:
        """Store both under the entry's fence; those of a child beside its parent. Raises LeaseLost."""
        if not self._retention_s:
            return
        on = [
            keys.pull(pull),
            keys.ledger(pull),
            dossier_key := keys.dossier(entry.eval_id),
            audit_key := keys.audit(entry.eval_id),
            keys.archived_evals(pull.installation_id, pull.repository_id),
            keys.dossier(entry.verdict.parent_eval_id or entry.eval_id),
        ]
        answer = run_script(
            self._wire,
            Script.ARCHIVE,
            on,
            entry.fence,
            entry.verdict.parent_eval_id or "",
            entry.eval_id,
            self._retention_s,
            self._codec.seal(dossier.model_dump_json(exclude_unset=True).encode(), dossier_key.name),
            self._codec.seal(json.dumps(dump_audit(audit)).encode(), audit_key.name),
        )
        if text(answer) == "lost":
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
        seconds = whole(self._wire.call("TTL", keys.dossier(eval_id).name))
        return timedelta(seconds=seconds) if seconds >= 0 else None

    def _plain(self, key: keys.Key) -> bytes | None:
        sealed = self._wire.call("GET", key.name)
        return self._codec.open(blob(sealed), key.name) if sealed else None


class RedisVault:
    """Secrets that all workers share, such as installation tokens. An unreadable one counts as missing and is replaced."""

    def __init__(self, wire: RedisClient, codec: Codec) -> None:
        self._wire = wire
        self._codec = codec

    def put(self, name: str, secret: bytes, ttl: timedelta) -> None:
        key = keys.vault(name)
        lifetime = max(1, int(ttl.total_seconds()))
        self._wire.call("SET", key.name, self._codec.seal(secret, key.name), "EX", lifetime)

    def get(self, name: str) -> bytes | None:
        key = keys.vault(name)
        sealed = self._wire.call("GET", key.name)
        try:
            return self._codec.open(blob(sealed), key.name) if sealed else None
        except Unreadable as error:
            LOG.warning("a stored secret is asked for again: %s", error)
            return None

    def drop(self, name: str) -> None:
        self._wire.call("DEL", keys.vault(name).name)
