"""What GitHub said of rate limits, shared by all processes."""

from datetime import UTC, datetime, timedelta

from worker.adapters.redis.store import Store
from worker.domain.ids import InstallationId
from worker.domain.ports import RateLimit

HERE, OTHER = InstallationId(100), InstallationId(200)
RESET = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)


def test_of_two_answers_about_the_same_hour_the_one_that_leaves_less_is_the_later(store: Store) -> None:
    store.rates.put(HERE, "core", RateLimit(40, RESET))
    store.rates.put(HERE, "core", RateLimit(41, RESET))
    assert store.rates.find_limits(HERE) == {"core": RateLimit(40, RESET)}
    store.rates.put(HERE, "core", RateLimit(39, RESET))
    store.rates.put(HERE, "graphql", RateLimit(7, RESET))
    assert store.rates.find_limits(HERE) == {"core": RateLimit(39, RESET), "graphql": RateLimit(7, RESET)}
    assert store.rates.find_limits(OTHER) == {}


def test_the_next_hour_takes_the_place_of_the_one_before_it(store: Store) -> None:
    later = RESET + timedelta(hours=1)
    store.rates.put(HERE, "core", RateLimit(3, RESET))
    store.rates.put(HERE, "core", RateLimit(1400, later))
    store.rates.put(HERE, "core", RateLimit(2, RESET))
    assert store.rates.find_limits(HERE) == {"core": RateLimit(1400, later)}
