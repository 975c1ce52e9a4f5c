"""Figures that a child process counts in the background."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.worker.adapters.redis.store_samples import settings_for
from tests.worker.evaluation.stats.history import HOUR, INSTALLATION, NOON, completed_event, started_event
from tests.world.redis import RedisServer
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.domain.model import InstallationId
from worker.settings import Settings, child_environment
from worker.wiring.store import FiguresBuilder, open_figures_cache

OTHER = InstallationId(200)


@pytest.fixture
def settings(redis_server: RedisServer, tmp_path: Path) -> Settings:
    return settings_for(redis_server.url, data_dir=tmp_path)


@pytest.fixture
def builder(settings: Settings, store: Store) -> Iterator[FiguresBuilder]:
    for installation in (INSTALLATION, OTHER):
        events = (started_event("e1"), completed_event("e1"), completed_event("e2", NOON + HOUR, number=4))
        for at_ms, kind, raw in events:
            store.client.call("XADD", keys.events(installation).name, f"{at_ms}-*", "k", kind, "j", raw)
    builder = FiguresBuilder(settings, store, open_figures_cache(settings, store))
    yield builder
    builder.stop()


def test_child_process_counts_the_named_installations(
    settings: Settings, store: Store, builder: FiguresBuilder
) -> None:
    builder.start([INSTALLATION])
    assert builder.child is not None
    assert builder.child.wait() == 0
    figures = open_figures_cache(settings, store)
    assert figures.cached_installations() == (INSTALLATION,)
    assert (figures.catch_up(INSTALLATION, 0).is_behind, figures.catch_up(OTHER, 0).is_behind) == (False, True)
    first = builder.child
    builder.start([INSTALLATION, OTHER])
    assert builder.child is not first
    assert builder.child.wait() == 0
    assert not figures.catch_up(OTHER, 0).is_behind


def test_one_child_process_counts_at_a_time(builder: FiguresBuilder) -> None:
    builder.start([INSTALLATION])
    assert builder.child is not None
    first = builder.child
    os.kill(first.pid, signal.SIGSTOP)
    builder.start([OTHER])
    assert builder.child is first
    os.kill(first.pid, signal.SIGCONT)
    builder.stop()
    assert first.returncode is not None


def test_refresh_counts_cached_installations_only(settings: Settings, store: Store, builder: FiguresBuilder) -> None:
    builder.refresh()
    assert builder.child is None
    figures = open_figures_cache(settings, store)
    figures.catch_up(INSTALLATION, 1)
    builder.refresh()
    assert builder.child is not None
    assert builder.child.wait() == 0
    assert figures.cached_installations() == (INSTALLATION,)
    assert not figures.catch_up(INSTALLATION, 0).is_behind
    builder.run([OTHER])
    assert figures.cached_installations() == (INSTALLATION, OTHER)


@pytest.mark.usefixtures("builder")
def test_child_process_stops_after_its_parent_ended(settings: Settings, store: Store) -> None:
    command = [sys.executable, "-m", "worker.wiring.store", "1", str(settings.figures_folder), str(INSTALLATION)]
    subprocess.run(command, env=child_environment(settings), check=True)
    assert open_figures_cache(settings, store).cached_installations() == ()
