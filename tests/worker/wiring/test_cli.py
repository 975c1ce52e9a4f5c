"""Recorded dossiers as the input of a judging."""

from pathlib import Path

import pytest

from tests.worker.adapters.git.conftest import NOW, LocalRepository
from worker.adapters.redis.store import Store
from worker.domain.ports import PullSource
from worker.dossier.assemble import complete_dossier
from worker.errors import InputError
from worker.wiring.cli import StoreReport, examine_store, read_recorded


def test_recorded_dossier_is_judged_unchanged(tmp_path: Path) -> None:
    repository = LocalRepository(tmp_path / "widgets")
    repository.commit({"a.py": "one\n"})
    live = repository.dossier()
    recorded = read_recorded(live.model_dump_json(exclude_unset=True).encode(), "dossier.json")
    source: PullSource = recorded
    request = recorded.request(NOW)
    assert source.dossier(request) == live
    assert complete_dossier(source.dossier(request)) == complete_dossier(live)
    assert source.head_sha(request) == live.pull_request.head_sha
    assert (request.pull.installation_id, request.pull.number) == (0, live.pull_request.number)
    assert request.pull.repository_id < 2**48


def test_invalid_dossier_is_refused_with_file_and_field() -> None:
    with pytest.raises(InputError, match=r"^dossier\.json: Dossier refused at pull_request: "):
        read_recorded(b'{"diff": ""}', "dossier.json")


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
