"""GitHub's rate limits per installation, for all processes, each with its reset."""

from collections.abc import Mapping
from datetime import UTC, datetime

from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import field_values, text
from worker.adapters.redis.connection.transactions import Operation, RedisPart, Transaction, in_transaction
from worker.adapters.redis.judging.intake import lifetime_s
from worker.domain.ids import InstallationId
from worker.domain.ports import RateLimit


class RedisRates(RedisPart):
    """The RateLimits port."""

    def find_limits(self, installation: InstallationId) -> Mapping[str, RateLimit]:
        stored = field_values(self._wire.call("HGETALL", keys.rate(installation).name))
        return {resource: _parse(text(value)) for resource, value in stored.items()}

    @in_transaction
    def put(
        self, transaction: Transaction, installation: InstallationId, resource: str, limit: RateLimit
    ) -> Operation[None]:
        """Record a limit, unless an answer that is later than it was recorded."""
        key = keys.rate(installation)
        (stored,) = yield from transaction.read(("HGET", key.name, resource))
        if stored is None or is_later(limit, _parse(text(stored))):
            value = f"{limit.remaining} {int(limit.reset_at.timestamp())}"
            transaction.write("HSET", key.name, resource, value)
            transaction.write("EXPIRE", key.name, lifetime_s(key))


def is_later(limit: RateLimit, stored: RateLimit) -> bool:
    """Whether a limit is of a later answer: of the same period, it leaves as much or less."""
    period, stored_period = int(limit.reset_at.timestamp()), int(stored.reset_at.timestamp())
    return (period, -limit.remaining) >= (stored_period, -stored.remaining)


def _parse(text: str) -> RateLimit:
    remaining, reset = text.split()
    return RateLimit(int(remaining), datetime.fromtimestamp(int(reset), UTC))
