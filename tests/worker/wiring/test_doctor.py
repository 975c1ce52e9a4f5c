"""The report on the store's server and its persistence."""

import pytest

from worker.adapters.redis.store import Store
from worker.wiring.doctor import StoreReport, examine_store


def examine_with(store: Store, **options: str) -> StoreReport:
    for name, value in options.items():
        store.client.call("CONFIG", "SET", name.replace("_", "-"), value)
    return examine_store(store)


def test_report_names_version_and_eviction_policy(store: Store) -> None:
    report = examine_with(store, maxmemory_policy="allkeys-lru")
    assert report.version.split(".")[0].isdigit()
    assert report.eviction == "allkeys-lru"
    assert examine_with(store, maxmemory_policy="noeviction").eviction == "noeviction"


@pytest.mark.parametrize(
    ("appendonly", "save", "persistence"),
    [("yes", "", "AOF"), ("no", "900 1", "RDB"), ("no", "", ""), ("yes", "60 1", "AOF")],
)
def test_report_names_persistence(store: Store, appendonly: str, save: str, persistence: str) -> None:
    assert examine_with(store, appendonly=appendonly, save=save).persistence == persistence


def test_hidden_configuration_is_reported_as_managed_by_the_host(store: Store) -> None:
    examine_with(store, appendonly="no", save="")
    store.client.call("ACL", "SETUSER", "default", "-config|get")
    report = examine_store(store)
    store.client.call("ACL", "SETUSER", "default", "+config|get")
    assert report.persistence == "by its host"
