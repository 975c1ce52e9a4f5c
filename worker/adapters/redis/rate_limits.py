"""GitHub's rate limits per installation, for all processes, each with its reset."""

from collections.abc import Mapping
from datetime import UTC, datetime

from worker.adapters.redis import keys
from worker.adapters.redis.client import RedisClient, items, text
from worker.adapters.redis.intake import lifetime_s
from worker.adapters.redis.scripts import Script, run_script
from worker.domain.ids import InstallationId
from worker.domain.ports import RateLimit


class RedisRates:
    """The RateLimits port."""

    def __init__(self, wire: RedisClient) -> None:
        self._wire = wire

    def find_limits(self, installation: InstallationId) -> Mapping[str, RateLimit]:
        flat = [text(part) for part in items(self._wire.call("HGETALL", keys.rate(installation).name))]
        return {resource: _left(value) for resource, value in zip(flat[::2], flat[1::2], strict=True)}

    def put(self, installation: InstallationId, resource: str, limit: RateLimit) -> None:
        key = keys.rate(installation)
        run_script(
            self._wire, Script.RATE, [key], resource, limit.remaining, int(limit.reset_at.timestamp()), lifetime_s(key)
        )


def _left(text: str) -> RateLimit:
    remaining, reset = text.split()
    return RateLimit(int(remaining), datetime.fromtimestamp(int(reset), UTC))
