"""What GitHub said last of each installation's rate limits, for all processes.

Does not ask GitHub. Invariant: what is known goes with the reset that it is about.
"""

from collections.abc import Mapping
from datetime import UTC, datetime

from worker.domain import keys
from worker.domain.ids import InstallationId
from worker.domain.ports import Left
from worker.store.door import lifetime_s
from worker.store.lua import Script, run
from worker.store.wire import Wire, items, text


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
