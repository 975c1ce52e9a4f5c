"""The last `.github/assay.yml` of a repository, at each base, and of its owner's default, that could be used.

Does not read them. Invariant: texts are stored encrypted, what was good last is what comes back, and what was good at one base
never does at another: whoever may push to any branch could write the rules of all others.
"""

import hashlib
import logging
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from worker.adapters.redis import keys
from worker.adapters.redis.client import Argument, RedisClient, Reply, blob, items, text
from worker.adapters.redis.encryption import Codec
from worker.adapters.redis.intake import lifetime_s, set_window
from worker.adapters.redis.scripts import Script, run_script
from worker.domain.dossier.dossier import ConfigOrigin
from worker.domain.ids import BaseHash
from worker.domain.request.judge_request import PullRef
from worker.errors import Unreadable

LOG: Final = logging.getLogger(__name__)
KEEP, FORGET, ASK = "keep", "forget", "ask"
NOTHING: Final = ("", "")


class RedisConfigs:
    """The Configs port. All methods raise Unavailable, and all may be called twice."""

    def __init__(self, wire: RedisClient, codec: Codec) -> None:
        self._wire = wire
        self._codec = codec

    def exchange(
        self, pull: PullRef, base: BaseHash, good: Mapping[ConfigOrigin, str], broken: Collection[ConfigOrigin]
    ) -> Mapping[ConfigOrigin, str]:
        """Keep these, forget what is no more, and get the last good ones of the broken, as far as there are any."""
        places = {origin: _place(pull, base, origin) for origin in ConfigOrigin}
        orders = [part for origin, key in places.items() for part in self._order(key, origin, good, broken)]
        on = [*places.values()]
        return self._opened(places, run_script(self._wire, Script.CONFIG, on, lifetime_s(on[0]), *orders))

    def store_quiet_window(self, pull: PullRef, base: BaseHash, quiet_window: float | None) -> None:
        """The door reads no configuration."""
        set_window(self._wire, pull.installation_id, pull.repository_id, base, quiet_window)

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

    def _opened(self, places: Mapping[ConfigOrigin, keys.Key], flat: Reply) -> Mapping[ConfigOrigin, str]:
        pairs = items(flat)
        configs = {ConfigOrigin(text(name)): blob(kept) for name, kept in zip(pairs[::2], pairs[1::2], strict=True)}
        opened: dict[ConfigOrigin, str] = {}
        for origin, kept in configs.items():
            try:
                opened[origin] = self._codec.open(kept, places[origin].name).decode()
            except Unreadable as error:  # as where none was kept: the defaults hold, and the check says so
                LOG.warning("the last configuration that could be used is not known: %s", error)
        return opened


def _place(pull: PullRef, base: BaseHash, origin: ConfigOrigin) -> keys.Key:
    """The owner's default is one file, whatever branch a pull request is to be merged into."""
    at = base if origin is ConfigOrigin.REPOSITORY else None
    return keys.config(pull.installation_id, pull.repository_id, at)
