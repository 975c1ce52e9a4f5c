"""A lease that goes on while its judge thinks."""

import threading

import pytest
from structlog.contextvars import get_contextvars

from tests.worker.adapters.redis.played import becomes, lease_runs_out, pull, settings, wish
from tests.world.redis import Redis
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import text
from worker.adapters.redis.store import Store, open_store
from worker.errors import LeaseLost
from worker.log import bind_log_fields
from worker.scheduling.leases import renewing_lease
from worker.settings import Timing


def beats() -> bool:
    return any(thread.name == "heartbeat" for thread in threading.enumerate())


def test_a_lease_is_prolonged_until_the_block_ends(store: Store) -> None:
    lease = store.pulls.take_local_lease(wish())
    end = [keys.DISPATCHED.name, keys.pull(pull()).name]
    first = float(text(store.client.call("ZSCORE", *end)))
    with renewing_lease(lease, lease_s=0.02):
        assert becomes(lambda: float(text(store.client.call("ZSCORE", *end))) > first)
    assert not beats()


def test_a_lease_that_was_lost_is_not_taken_back(store: Store) -> None:
    lease = store.pulls.take_local_lease(wish())
    lease_runs_out(store, pull())
    with renewing_lease(lease, lease_s=0.02):
        assert becomes(lambda: not beats())
    with pytest.raises(LeaseLost):
        lease.renew()


def test_an_outage_does_not_end_the_heartbeat(caplog: pytest.LogCaptureFixture) -> None:
    redis = Redis.started()
    try:
        with open_store(settings(redis.url, Timing(lease=600))) as store:
            lease = store.pulls.take_local_lease(wish())
            with renewing_lease(lease, lease_s=0.02):
                redis.kill()
                assert becomes(lambda: "the lease was not prolonged: Redis is unavailable" in caplog.text)
                redis.start()
                assert beats()
            lease.renew()
    finally:
        redis.end()


class Listening:
    """A lease that notes down what a line of the log would carry here."""

    fence = 1

    def __init__(self) -> None:
        self.carried: list[dict[str, object]] = []

    def renew(self) -> None:
        self.carried.append(dict(get_contextvars()))


def test_what_a_judging_s_lines_carry_its_heartbeat_s_carry_too() -> None:
    lease = Listening()
    with bind_log_fields({"delivery_id": "guid-1"}), renewing_lease(lease, lease_s=0.02):
        assert becomes(lambda: lease.carried)
    assert lease.carried[0] == {"delivery_id": "guid-1"}
