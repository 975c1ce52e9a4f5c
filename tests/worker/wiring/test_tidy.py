"""What the court does every hour: it forgets who left, and keeps what is counted no longer than what it is counted of."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from pydantic import SecretStr

from tests.worker.adapters.redis.played import pull, settings
from tests.worker.adapters.redis.test_kept import entry, judging
from tests.worker.evaluation.stats.told import HERE, HOUR, NOON, completed
from tests.world.redis import Redis
from worker.adapters.redis import keys
from worker.adapters.redis.client import items, text
from worker.adapters.redis.records import RedisUninstallations
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.ids import EvalId, InstallationId
from worker.settings import AppCredentials
from worker.wiring.app import AppContext, open_app

GONE, STAYS = pull().installation_id, InstallationId(200)
OLD, NEW = NOON - 50 * HOUR, NOON


@pytest.fixture
def court(store: Store, redis_server: Redis) -> Iterator[AppContext]:
    app = AppCredentials(1, (SecretStr("no key"),), (SecretStr("no secret"),))
    with open_app(settings(redis_server.url, app=app), replace(store, event_retention=timedelta(0))) as opened:
        yield opened


def tell(store: Store, installation: InstallationId, *eval_ids: str) -> None:
    for eval_id, when in zip(eval_ids, (OLD, NEW), strict=False):
        at_ms, kind, raw = completed(eval_id, when)
        store.client.call("XADD", keys.events(installation).name, f"{at_ms}-*", "k", kind, "j", raw)


def hours(store: Store, installation: InstallationId) -> set[str]:
    fields = map(text, items(store.client.call("HKEYS", keys.rollup(installation).name)))
    return {field.partition(":")[0] for field in fields if field.startswith("h")}


def test_whoever_left_is_forgotten_once_the_grace_is_over_and_nobody_else(store: Store, court: AppContext) -> None:
    taken = judging(store)
    store.ledger.append(pull(), entry("e", taken.lease.fence))
    store.uninstallations().record_uninstalled(GONE)
    court.clean_up()
    assert store.records().find_entry(EvalId("e")) is not None, "its grace is not over"
    store.uninstallations().record_installed(GONE)
    RedisUninstallations(store.client, timedelta(0)).record_uninstalled(GONE)
    tell(store, STAYS, "e1")
    for _ in range(2):
        court.clean_up()
    assert store.records().find_entry(EvalId("e")) is None
    assert store.uninstallations().list_due() == ()
    assert (STAYS in store.records().installations(), GONE in store.records().installations()) == (True, False)


def test_events_that_are_too_old_go_though_nothing_new_is_told(store: Store, court: AppContext) -> None:
    stream, new = keys.events(HERE).name, SystemClock().now()
    old = new - timedelta(days=366)
    for eval_id, when in (("e1", old), ("e2", old + timedelta(days=2)), ("e3", new)):
        at_ms, kind, raw = completed(eval_id, when)
        store.client.call("XADD", stream, f"{at_ms}-*", "k", kind, "j", raw)
    for told_for, left in ((timedelta(0), 3), (timedelta(days=365), 2)):
        replace(court, store=replace(store, event_retention=told_for)).clean_up()
        assert store.client.call("XLEN", stream) == left
    assert len({hour for hour in hours(store, HERE) if hour.startswith("h")}) == 2, "nor is it counted"


def test_what_is_counted_of_events_that_are_gone_is_dropped_and_what_came_since_is_counted(
    store: Store, court: AppContext
) -> None:
    tell(store, HERE, "e1", "e2")
    court.clean_up()
    both = hours(store, HERE)
    assert len(both) == 2
    store.client.call("XTRIM", keys.events(HERE).name, "MAXLEN", 1)
    court.clean_up()
    assert len(hours(store, HERE)) == 1
    assert hours(store, HERE) < both
