"""The last `.github/assay.yml` of a repository, and of its owner's default, that could be used.

Does not read them. Invariant: texts are stored encrypted, and what was good last is what comes back.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from worker.domain import keys
from worker.domain.dossier import ConfigOrigin
from worker.domain.request import PullRef
from worker.store.codec import Codec
from worker.store.door import set_window
from worker.store.lua import Script, run
from worker.store.wire import Argument, Reply, Wire, blob, items, text

KEEP, FORGET, ASK = "keep", "forget", "ask"
NOTHING: Final = ("", "")


class RedisConfigs:
    """The Configs port. All methods raise Unavailable, and all may be called twice."""

    def __init__(self, wire: Wire, codec: Codec) -> None:
        self._wire = wire
        self._codec = codec

    def settle(
        self, pull: PullRef, good: Mapping[ConfigOrigin, str], broken: Collection[ConfigOrigin]
    ) -> Mapping[ConfigOrigin, str]:
        """Keep these, forget what is no more, and get the last good ones of the broken, as far as there are any."""
        key = keys.config(pull.installation_id, pull.repository_id)
        orders = [part for origin in ConfigOrigin for part in self._order(key, origin, good, broken)]
        lifetime = int(key.ttl.total_seconds()) if key.ttl else 0
        return self._opened(key, run(self._wire, Script.CONFIG, [key], lifetime, *orders))

    def tell_the_door(self, pull: PullRef, quiet_window: float | None) -> None:
        """The door reads no configuration."""
        set_window(self._wire, pull.installation_id, pull.repository_id, quiet_window)

    def known(self, pull: PullRef) -> Mapping[ConfigOrigin, str]:
        """The last good ones, for whoever acts before anything is read."""
        return self.settle(pull, {}, frozenset(ConfigOrigin))

    def _order(
        self, key: keys.Key, origin: ConfigOrigin, good: Mapping[ConfigOrigin, str], broken: Collection[ConfigOrigin]
    ) -> Iterator[Argument]:
        yield str(origin)
        kept = good.get(origin)
        if kept is not None:
            plain = kept.encode()
            yield from (KEEP, hashlib.sha256(plain).hexdigest(), self._codec.seal(plain, key.name))
        else:
            yield from (ASK if origin in broken else FORGET, *NOTHING)

    def _opened(self, key: keys.Key, flat: Reply) -> Mapping[ConfigOrigin, str]:
        pairs = items(flat)
        found = zip(pairs[::2], pairs[1::2], strict=True)
        return {ConfigOrigin(text(name)): self._codec.open(blob(sealed), key.name).decode() for name, sealed in found}
