"""Blobs, encrypted: dossiers for a month, secrets for as long as they are good.

Does not know what is in a secret. Invariant: Redis never sees a byte of either in the clear.
"""

from datetime import timedelta

from worker.domain import keys
from worker.domain.dossier import Dossier
from worker.domain.ids import EvalId
from worker.store.codec import Codec
from worker.store.door import lifetime_s
from worker.store.wire import Wire, blob


class RedisArchive:
    """The Archive port, and the way back."""

    def __init__(self, wire: Wire, codec: Codec) -> None:
        self._wire = wire
        self._codec = codec

    def keep(self, eval_id: EvalId, dossier: Dossier) -> None:
        key = keys.dossier(eval_id)
        plain = dossier.model_dump_json(exclude_unset=True).encode()
        self._wire.call("SET", key.name, self._codec.seal(plain, key.name), "EX", lifetime_s(key))

    def find(self, eval_id: EvalId) -> Dossier | None:
        key = keys.dossier(eval_id)
        sealed = self._wire.call("GET", key.name)
        return Dossier.model_validate_json(self._codec.open(blob(sealed), key.name)) if sealed else None


class Vault:
    """Secrets that all workers share, such as installation tokens."""

    def __init__(self, wire: Wire, codec: Codec) -> None:
        self._wire = wire
        self._codec = codec

    def put(self, name: str, secret: bytes, ttl: timedelta) -> None:
        key = keys.vault(name)
        lifetime = max(1, int(ttl.total_seconds()))
        self._wire.call("SET", key.name, self._codec.seal(secret, key.name), "EX", lifetime)

    def get(self, name: str) -> bytes | None:
        key = keys.vault(name)
        sealed = self._wire.call("GET", key.name)
        return self._codec.open(blob(sealed), key.name) if sealed else None

    def drop(self, name: str) -> None:
        """Forget a secret that turned out to be good no more."""
        self._wire.call("DEL", keys.vault(name).name)
