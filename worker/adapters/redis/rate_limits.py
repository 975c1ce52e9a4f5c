"""What GitHub said last of each installation's rate limits, for all processes.

Does not ask GitHub. Invariant: what is known goes with the reset that it is about.
"""

from collections.abc import Mapping
from datetime import UTC, datetime

from worker.adapters.redis import keys
from worker.adapters.redis.client import Wire, items, text
from worker.adapters.redis.intake import lifetime_s
from worker.adapters.redis.scripts import Script, run
from worker.domain.ids import InstallationId
from worker.domain.ports import Left


class RedisRates:
    """The RateBook port."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def left(self, installation: InstallationId) -> Mapping[str, Left]:
        flat = [text(one) for one in items(self._wire.call("HGETALL", keys.rate(installation).name))]
        return {resource: _left(said) for resource, said in zip(flat[::2], flat[1::2], strict=True)}

    def put(self, installation: InstallationId, resource: str, left: Left) -> None:
        key = keys.rate(installation)
        run(self._wire, Script.RATE, [key], resource, left.remaining, int(left.reset.timestamp()), lifetime_s(key))


def _left(said: str) -> Left:
    remaining, reset = said.split()
    return Left(int(remaining), datetime.fromtimestamp(int(reset), UTC))
