"""The signals that are suspicions in an installation, and since when the rejects of each are counted.

Does not decide which (`worker.domain.verdict.demotion` does). Invariant: a signal is demoted once, until a person promotes it.
"""

from datetime import UTC, datetime

from worker.adapters.redis import keys
from worker.adapters.redis.client import RedisClient, blob, items, text, whole
from worker.adapters.redis.scripts import Script, run_script
from worker.adapters.redis.versioned_json import read_json
from worker.domain.ids import InstallationId
from worker.domain.verdict.demotion import Demotion


class RedisDemotions:
    """The demotions in Redis. All methods raise Unavailable, and all may be called twice."""

    def __init__(self, wire: RedisClient) -> None:
        self._wire = wire

    def list_demotions(self, installation: InstallationId) -> tuple[Demotion, ...]:
        """All that stand, by name."""
        flat = items(self._wire.call("HGETALL", keys.demotions(installation).name))
        return tuple(
            sorted((read_json(Demotion, blob(stored)) for stored in flat[1::2]), key=lambda demotion: demotion.signal)
        )

    def signals(self, installation: InstallationId) -> frozenset[str]:
        return frozenset(text(name) for name in items(self._wire.call("HKEYS", keys.demotions(installation).name)))

    def demote(self, installation: InstallationId, demotion: Demotion) -> bool:
        """False: it is a suspicion already."""
        note = demotion.model_dump_json()
        return whole(run_script(self._wire, Script.DEMOTE, [keys.demotions(installation)], demotion.signal, note)) == 1

    def promote(self, installation: InstallationId, signal: str) -> bool:
        """False: it was a fact already; its rejects are counted from now on all the same."""
        on = [keys.demotions(installation), keys.promotions(installation)]
        return whole(run_script(self._wire, Script.PROMOTE, on, signal)) == 1

    def promotion_times(self, installation: InstallationId) -> dict[str, datetime]:
        """When a person promoted which signal the last time."""
        flat = [text(part) for part in items(self._wire.call("HGETALL", keys.promotions(installation).name))]
        pairs = zip(flat[::2], flat[1::2], strict=True)
        return {signal: datetime.fromtimestamp(int(at) / 1000, UTC) for signal, at in pairs}
