import pytest

from worker.adapters.redis.store import Store
from worker.wiring.doctor import StoreReport, examine_store


def configured(store: Store, **options: str) -> StoreReport:
    for name, value in options.items():
        store.client.call("CONFIG", "SET", name.replace("_", "-"), value)
    return examine_store(store)


def test_the_version_and_the_eviction_policy_are_the_servers_own(store: Store) -> None:
    found = configured(store, maxmemory_policy="allkeys-lru")
    assert found.version.split(".")[0].isdigit()
    assert found.eviction == "allkeys-lru"
    assert configured(store, maxmemory_policy="noeviction").eviction == "noeviction"


@pytest.mark.parametrize(
    ("appendonly", "save", "keeps"),
    [("yes", "", "AOF"), ("no", "900 1", "RDB"), ("no", "", ""), ("yes", "60 1", "AOF")],
)
def test_what_is_kept_over_a_restart_is_told(store: Store, appendonly: str, save: str, keeps: str) -> None:
    assert configured(store, appendonly=appendonly, save=save).persistence == keeps


def test_a_host_that_hides_its_configuration_looks_after_it_itself(store: Store) -> None:
    configured(store, appendonly="no", save="")
    store.client.call("ACL", "SETUSER", "default", "-config|get")
    found = examine_store(store)
    store.client.call("ACL", "SETUSER", "default", "+config|get")
    assert found.persistence == "by its host"
