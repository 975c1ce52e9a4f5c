"""The context of the App: its clean-up, and what it loads before jobs are forked."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from tests.worker.adapters.redis.store_samples import ledger_entry_of, pull_ref, settings_for, start_judging_new
from tests.worker.evaluation.stats.history import HOUR, INSTALLATION, NOON, completed_event
from tests.world.redis import RedisServer
from worker.adapters.redis import keys
from worker.adapters.redis.records import RedisUninstallations
from worker.adapters.redis.store import Store
from worker.domain.model import EvalId, InstallationId
from worker.process import SystemClock
from worker.settings import AppCredentials
from worker.wiring.app import AppContext, open_app
from worker.wiring.store import FiguresBuilder, open_figures_cache

GONE, STAYS = pull_ref().installation_id, InstallationId(200)
OLD, NEW = NOON - 50 * HOUR, NOON


@pytest.fixture
def context(
    store: Store, redis_server: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[AppContext]:
    """A context that counts figures without a child process."""
    app = AppCredentials(1, (SecretStr("no key"),), (SecretStr("no secret"),))
    settings = settings_for(redis_server.url, app=app, data_dir=tmp_path)
    figures = open_figures_cache(settings, store)

    def count(_: FiguresBuilder, installations: Iterable[InstallationId]) -> None:
        for installation in installations:
            assert not figures.catch_up(installation, waits=True).is_behind

    monkeypatch.setattr(FiguresBuilder, "start", count)
    with open_app(settings, replace(store, event_retention=timedelta(0))) as opened:
        yield opened


def add_events(store: Store, installation: InstallationId, **times: datetime) -> None:
    for eval_id, when in times.items():
        at_ms, kind, raw = completed_event(eval_id, when)
        store.client.call("XADD", keys.events(installation).name, f"{at_ms}-*", "k", kind, "j", raw)


def counted_verdicts(folder: Path, installation: InstallationId) -> list[str]:
    """Verdicts in the figures file of an installation."""
    [path] = (folder / "figures").glob(f"{installation}-*.sqlite3")
    with closing(sqlite3.connect(path)) as db:
        return [eval_id for (eval_id,) in db.execute("SELECT eval_id FROM verdicts ORDER BY at_ms")]


def test_clean_up_deletes_an_uninstalled_installation_after_its_grace(
    store: Store, context: AppContext, tmp_path: Path
) -> None:
    leased_job = start_judging_new(store)
    store.ledger.append(pull_ref(), ledger_entry_of("e", leased_job.lease.fence))
    store.uninstallations().record_uninstalled(GONE)
    context.clean_up()
    assert store.records().find_entry(EvalId("e")) is not None, "its grace is not over"
    add_events(store, GONE, e0=OLD)
    context.clean_up()
    assert counted_verdicts(tmp_path, GONE) == ["e0"]
    store.uninstallations().record_installed(GONE)
    RedisUninstallations(store.client, timedelta(0)).record_uninstalled(GONE)
    add_events(store, STAYS, e1=OLD)
    for _ in range(2):
        context.clean_up()
    assert store.records().find_entry(EvalId("e")) is None
    assert store.uninstallations().list_due() == ()
    assert (STAYS in store.records().installations(), GONE in store.records().installations()) == (True, False)
    assert counted_verdicts(tmp_path, STAYS) == ["e1"]
    assert not list((tmp_path / "figures").glob(f"{GONE}-*"))


def test_clean_up_trims_events_past_their_retention(store: Store, context: AppContext, tmp_path: Path) -> None:
    stream, new = keys.events(INSTALLATION).name, SystemClock().now()
    add_events(store, INSTALLATION, e1=new - timedelta(days=366), e2=new - timedelta(days=364), e3=new)
    for retention, left in ((timedelta(0), 3), (timedelta(days=365), 2)):
        replace(context, store=replace(store, event_retention=retention)).clean_up()
        assert store.client.call("XLEN", stream) == left
    assert counted_verdicts(tmp_path, INSTALLATION) == ["e2", "e3"]


def test_clean_up_drops_figures_of_trimmed_events(store: Store, context: AppContext, tmp_path: Path) -> None:
    add_events(store, INSTALLATION, e1=OLD, e2=NEW)
    context.clean_up()
    assert counted_verdicts(tmp_path, INSTALLATION) == ["e1", "e2"]
    store.client.call("XTRIM", keys.events(INSTALLATION).name, "MAXLEN", 1)
    context.clean_up()
    assert counted_verdicts(tmp_path, INSTALLATION) == ["e2"]


def test_clean_up_deletes_rollups_of_an_earlier_version_and_keeps_figures(
    store: Store, context: AppContext, tmp_path: Path
) -> None:
    add_events(store, INSTALLATION, e1=OLD, e2=NEW)
    earlier = ("assay:100:rollup", "assay:100:rolled")
    for name in earlier:
        store.client.call("HSET", name, "mark", "6 0123456789abcdef 5-5")
    context.clean_up()
    assert store.client.call("EXISTS", *earlier) == 0
    assert counted_verdicts(tmp_path, INSTALLATION) == ["e1", "e2"]


OPENED = """
import sys
from pathlib import Path
from pydantic import SecretStr
from worker.wiring.app import open_app
from worker.domain.model import Frozen
from worker.settings import AppCredentials, Settings
from worker.adapters.redis.store import open_store

def models(base):
    return [each for model in base.__subclasses__() for each in (model, *models(model))]

app = AppCredentials(1, (SecretStr("no key"),), (SecretStr("no secret"),))
settings = Settings(data_dir=Path(sys.argv[1]), app=app)
with open_store(settings) as store, open_app(settings, store):
    pass
expected = ("worker.judge.llm.opinions", "worker.publishing.check_runs")
print([model.__name__ for model in models(Frozen) if not model.__pydantic_complete__])
print([module for module in expected if module not in sys.modules])
"""


def test_opened_context_has_loaded_all_modules_and_built_all_models(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", OPENED, str(tmp_path)], capture_output=True, text=True, check=True, env={}
    )
    assert done.stdout.splitlines() == ["[]", "[]"]
