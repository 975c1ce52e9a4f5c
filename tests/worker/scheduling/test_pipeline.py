"""Whose pull requests a model is asked about."""

import threading

import pytest
from structlog.contextvars import get_contextvars

from tests.worker.adapters.redis.played import becomes, lease_runs_out, pull, settings, wish
from tests.worker.publishing.texts.samples import dossier
from tests.world.redis import Redis
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import text
from worker.adapters.redis.store import Store, open_store
from worker.domain.dossier import ConfigOrigin, ConfigText, Dossier
from worker.domain.judge_request import MANUAL_TRIGGERS, JudgeRequest, Trigger
from worker.errors import LeaseLost
from worker.log import bind_log_fields
from worker.scheduling.pipeline import SpendingPolicy, renewing_lease
from worker.settings import Timing

EVERYONE = (ConfigText(origin=ConfigOrigin.REPOSITORY, text="ask_model_for: everyone\n"),)


def by(author: str, *, is_from_fork: bool | None, config: tuple[ConfigText, ...] = ()) -> Dossier:
    raw = dossier(config=config)
    changes = {"author": author, "is_from_fork": is_from_fork}
    return raw.model_copy(update={"pull_request": raw.pull_request.model_copy(update=changes)})


def spending(store: Store, *writers: str) -> SpendingPolicy:
    def may_write(request: JudgeRequest, login: str) -> bool:
        assert request.pull == pull()
        return login in writers

    return SpendingPolicy(store.decisions, may_write)


@pytest.mark.parametrize(
    ("read", "is_allowed"),
    [
        (by("mallory", is_from_fork=False), True),
        (by("mallory", is_from_fork=None), True),
        (by("mallory", is_from_fork=True), False),
        (by("bob", is_from_fork=True), True),
        (by("mallory", is_from_fork=True, config=EVERYONE), True),
    ],
    ids=["own branch", "not known", "a stranger's fork", "a writer's fork", "for everyone"],
)
def test_a_strangers_fork_may_not_spend(store: Store, read: Dossier, *, is_allowed: bool) -> None:
    store.pulls.request_judging(wish())
    assert spending(store, "bob").is_allowed(wish(), read) is is_allowed


@pytest.mark.parametrize("trigger", sorted(MANUAL_TRIGGERS))
def test_once_an_account_with_write_access_asked_it_may_from_then_on(store: Store, trigger: Trigger) -> None:
    store.pulls.request_judging(wish())
    who, read = spending(store), by("mallory", is_from_fork=True)
    assert not who.is_allowed(wish(), read)
    assert who.is_allowed(wish(trigger=trigger), read)
    assert who.is_allowed(wish(trigger=Trigger.PUSHED), read)


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
