"""What one process needs to act as the App: what its first opening leaves for forked jobs, and what it does every hour."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from tests.worker.adapters.redis.store_samples import pull_ref, settings_for
from tests.worker.adapters.redis.test_lease_writes import ledger_entry_of, start_judging_new
from tests.worker.evaluation.stats.history import HOUR, INSTALLATION, NOON, completed_event
from tests.world.redis import RedisServer
from worker.adapters.redis import keys
from worker.adapters.redis.records.records import RedisUninstallations
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.ids import EvalId, InstallationId
from worker.settings import AppCredentials
from worker.wiring.app import AppContext, open_app

GONE, STAYS = pull_ref().installation_id, InstallationId(200)
OLD, NEW = NOON - 50 * HOUR, NOON


@pytest.fixture
def context(store: Store, redis_server: RedisServer, tmp_path: Path) -> Iterator[AppContext]:
    app = AppCredentials(1, (SecretStr("no key"),), (SecretStr("no secret"),))
    with open_app(
        settings_for(redis_server.url, app=app, data_dir=tmp_path), replace(store, event_retention=timedelta(0))
    ) as opened:
        yield opened


def tell(store: Store, installation: InstallationId, *eval_ids: str) -> None:
    for eval_id, when in zip(eval_ids, (OLD, NEW), strict=False):
        at_ms, kind, raw = completed_event(eval_id, when)
        store.client.call("XADD", keys.events(installation).name, f"{at_ms}-*", "k", kind, "j", raw)


def counted(folder: Path, installation: InstallationId) -> list[str]:
    """The verdicts in the file of an installation."""
    [path] = (folder / "figures").glob(f"{installation}-*.sqlite3")
    with closing(sqlite3.connect(path)) as db:
        return [eval_id for (eval_id,) in db.execute("SELECT eval_id FROM verdicts ORDER BY at_ms")]


def test_whoever_left_is_forgotten_once_the_grace_is_over_and_nobody_else(
    store: Store, context: AppContext, tmp_path: Path
) -> None:
    taken = start_judging_new(store)
    store.ledger.append(pull_ref(), ledger_entry_of("e", taken.lease.fence))
    store.uninstallations().record_uninstalled(GONE)
    context.clean_up()
    assert store.records().find_entry(EvalId("e")) is not None, "its grace is not over"
    tell(store, GONE, "e0")
    context.clean_up()
    assert counted(tmp_path, GONE) == ["e0"]
    store.uninstallations().record_installed(GONE)
    RedisUninstallations(store.client, timedelta(0)).record_uninstalled(GONE)
    tell(store, STAYS, "e1")
    for _ in range(2):
        context.clean_up()
    assert store.records().find_entry(EvalId("e")) is None
    assert store.uninstallations().list_due() == ()
    assert (STAYS in store.records().installations(), GONE in store.records().installations()) == (True, False)
    assert counted(tmp_path, STAYS) == ["e1"]
    assert not list((tmp_path / "figures").glob(f"{GONE}-*"))


def test_events_that_are_too_old_go_though_nothing_new_is_told(
    store: Store, context: AppContext, tmp_path: Path
) -> None:
    stream, new = keys.events(INSTALLATION).name, SystemClock().now()
    old = new - timedelta(days=366)
    for eval_id, when in (("e1", old), ("e2", old + timedelta(days=2)), ("e3", new)):
        at_ms, kind, raw = completed_event(eval_id, when)
        store.client.call("XADD", stream, f"{at_ms}-*", "k", kind, "j", raw)
    for told_for, left in ((timedelta(0), 3), (timedelta(days=365), 2)):
        replace(context, store=replace(store, event_retention=told_for)).clean_up()
        assert store.client.call("XLEN", stream) == left
    assert counted(tmp_path, INSTALLATION) == ["e2", "e3"]


def test_what_is_counted_of_events_that_are_gone_is_dropped_and_what_came_since_is_counted(
    store: Store, context: AppContext, tmp_path: Path
) -> None:
    tell(store, INSTALLATION, "e1", "e2")
    context.clean_up()
    assert counted(tmp_path, INSTALLATION) == ["e1", "e2"]
    store.client.call("XTRIM", keys.events(INSTALLATION).name, "MAXLEN", 1)
    context.clean_up()
    assert counted(tmp_path, INSTALLATION) == ["e2"]


def test_a_store_of_an_earlier_version_loses_its_rollups_and_no_figure(
    store: Store, context: AppContext, tmp_path: Path
) -> None:
    """Rollups never reached further back than the stream, from which they were counted."""
    tell(store, INSTALLATION, "e1", "e2")
    earlier = ("assay:100:rollup", "assay:100:rolled")
    for name in earlier:
        store.client.call("HSET", name, "mark", "6 0123456789abcdef 5-5")
    context.clean_up()
    assert store.client.call("EXISTS", *earlier) == 0
    assert counted(tmp_path, INSTALLATION) == ["e1", "e2"]


OPENED = """
import sys
from pathlib import Path
from pydantic import SecretStr
from worker.wiring.app import open_app
from worker.domain.model import Frozen
from worker.settings import AppCredentials, Settings
from worker.adapters.redis.store import open_store

def models(base):
    return [one for model in base.__subclasses__() for one in (model, *models(model))]

app = AppCredentials(1, (SecretStr("no key"),), (SecretStr("no secret"),))
settings = Settings(data_dir=Path(sys.argv[1]), app=app)
with open_store(settings) as store, open_app(settings, store):
    pass
print([one.__name__ for one in models(Frozen) if not one.__pydantic_complete__])
print([one for one in ("worker.judge.llm.model_judge", "worker.publishing.check_runs", "worker.dossier.criteria") if one not in sys.modules])
"""


def test_a_context_once_opened_leaves_no_job_a_module_to_load_or_a_model_to_build(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", OPENED, str(tmp_path)], capture_output=True, text=True, check=True, env={}
    )
    assert done.stdout.splitlines() == ["[]", "[]"]
