"""The ledger, the archive and the vault in Redis, all encrypted.

An entry of the ledger is written once, under the fence of its judge (one transaction checks and writes), and never changed.
"""

import json
import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import RedisClient, blob, items, read_json, whole
from worker.adapters.redis.connection.encryption import Codec, SealedPart
from worker.adapters.redis.connection.transactions import Operation, Transaction, run
from worker.adapters.redis.judging.intake import remembered_keys
from worker.adapters.redis.judging.state import load
from worker.adapters.redis.records.event_stream import append_event, end_evaluation
from worker.domain.dossier import Dossier
from worker.domain.judge_request import PullRef
from worker.domain.lifecycle.state import Phase, PullRequestState
from worker.domain.model import EvalId
from worker.domain.ports import EntryWithEvents
from worker.domain.verdict.audit import AuditError, AuditRecord, dump_audit, read_audit
from worker.domain.verdict.events import Event
from worker.domain.verdict.ledger import LedgerEntry
from worker.errors import LeaseLost, Unreadable


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


LOG: Final = logging.getLogger(__name__)


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


class RedisVault(SealedPart):
    """Secrets that all workers share, such as installation tokens. An unreadable one counts as missing and is replaced."""

    def put(self, name: str, secret: bytes, ttl: timedelta) -> None:
        key = keys.vault(name)
        lifetime = max(1, int(ttl.total_seconds()))
        self._client.call("SET", key.name, self._codec.seal(secret, key.name), "EX", lifetime)

    def get(self, name: str) -> bytes | None:
        key = keys.vault(name)
        sealed = self._client.call("GET", key.name)
        try:
            return self._codec.open(blob(sealed), key.name) if sealed else None
        except Unreadable as error:
            LOG.warning("stored secret unreadable, requesting a new one: %s", error)
            return None

    def drop(self, name: str) -> None:
        self._client.call("DEL", keys.vault(name).name)
