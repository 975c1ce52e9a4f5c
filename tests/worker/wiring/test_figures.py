"""Figures that are counted in the background, in a process beside the one that answers."""

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
from worker.domain.ids import InstallationId
from worker.settings import Settings, child_environment
from worker.wiring.figures import FiguresBuilder, open_figures_cache

OTHER = InstallationId(200)


@pytest.fixture
def here(redis_server: RedisServer, tmp_path: Path) -> Settings:
    return settings_for(redis_server.url, data_dir=tmp_path)


@pytest.fixture
def builder(here: Settings, store: Store) -> Iterator[FiguresBuilder]:
    for installation in (INSTALLATION, OTHER):
        for at_ms, kind, raw in (
            started_event("e1"),
            completed_event("e1"),
            completed_event("e2", NOON + HOUR, number=4),
        ):
            store.client.call("XADD", keys.events(installation).name, f"{at_ms}-*", "k", kind, "j", raw)
    made = FiguresBuilder(here, store, open_figures_cache(here, store))
    yield made
    made.stop()


def test_a_process_beside_counts_all_of_the_installations_that_are_named(
    here: Settings, store: Store, builder: FiguresBuilder
) -> None:
    builder.start([INSTALLATION])
    assert builder.child is not None
    assert builder.child.wait() == 0
    figures = open_figures_cache(here, store)
    assert figures.cached_installations() == (INSTALLATION,)
    assert (figures.catch_up(INSTALLATION, 0).is_behind, figures.catch_up(OTHER, 0).is_behind) == (False, True)
    first = builder.child
    builder.start([INSTALLATION, OTHER])
    assert builder.child is not first
    assert builder.child.wait() == 0
    assert not figures.catch_up(OTHER, 0).is_behind


def test_one_process_counts_at_a_time(builder: FiguresBuilder) -> None:
    builder.start([INSTALLATION])
    assert builder.child is not None
    first = builder.child
    os.kill(first.pid, signal.SIGSTOP)
    builder.start([OTHER])
    assert builder.child is first
    os.kill(first.pid, signal.SIGCONT)
    builder.stop()
    assert first.returncode is not None


def test_what_is_counted_here_follows_the_streams_and_nothing_else_is_counted(
    here: Settings, store: Store, builder: FiguresBuilder
) -> None:
    builder.refresh()
    assert builder.child is None
    figures = open_figures_cache(here, store)
    figures.catch_up(INSTALLATION, 1)
    builder.refresh()
    assert builder.child is not None
    assert builder.child.wait() == 0
    assert figures.cached_installations() == (INSTALLATION,)
    assert not figures.catch_up(INSTALLATION, 0).is_behind
    builder.run([OTHER])
    assert figures.cached_installations() == (INSTALLATION, OTHER)


@pytest.mark.usefixtures("builder")
def test_a_process_whose_parent_ended_counts_no_more(here: Settings, store: Store) -> None:
    command = [sys.executable, "-m", "worker.wiring.figures", "1", str(here.figures_folder), str(INSTALLATION)]
    subprocess.run(command, env=child_environment(here), check=True)
    assert open_figures_cache(here, store).cached_installations() == ()
