"""Blobs, encrypted: dossiers and audits for as long as the operator says, secrets for as long as they are good.

Does not know what is in a secret. Invariant: Redis never sees a byte of either in the clear; what is kept of a verdict is
listed under its repository, so that it can be forgotten.
"""

import json
import logging
from datetime import timedelta
from typing import Final

from worker.adapters.redis import keys
from worker.adapters.redis.client import RedisClient, blob, text, whole
from worker.adapters.redis.encryption import Codec
from worker.adapters.redis.scripts import Script, run_script
from worker.adapters.redis.versioned_json import read_json
from worker.domain.dossier.dossier import Dossier
from worker.domain.ids import EvalId
from worker.domain.request.judge_request import PullRef
from worker.domain.verdict.audit import AuditError, AuditRecord, dump_audit, read_audit
from worker.domain.verdict.ledger import LedgerEntry
from worker.errors import LeaseLost, Unreadable

LOG: Final = logging.getLogger(__name__)


class RedisArchive:
    """The Archive port, and the way back. *retention* 0: nothing is kept."""

    def __init__(self, wire: RedisClient, codec: Codec, retention: timedelta) -> None:
        self._wire = wire
        self._codec = codec
        self._retention_s = int(retention.total_seconds())

    def store(self, pull: PullRef, entry: LedgerEntry, dossier: Dossier, audit: AuditRecord) -> None:
        """Keep both under the fence that the entry names; those of a child beside its parent. Raises LeaseLost."""
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
        """How long the dossier stays; None: it is not kept."""
        seconds = whole(self._wire.call("TTL", keys.dossier(eval_id).name))
        return timedelta(seconds=seconds) if seconds >= 0 else None

    def _plain(self, key: keys.Key) -> bytes | None:
        sealed = self._wire.call("GET", key.name)
        return self._codec.open(blob(sealed), key.name) if sealed else None


class RedisVault:
    """Secrets that all workers share, such as installation tokens. One that can't be read is as good as none: it is asked for again."""

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
