"""`assay move`, called as the command line calls it."""

from collections.abc import Iterator

import pytest

from app.cli.parser import Exit
from tests.app.cli.assay_command import run_command
from tests.worker.adapters.redis.played import KEY, pull, wish
from tests.world.redis import Redis
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.errors import InputError


@pytest.fixture
def west(store: Store, redis_server: Redis, monkeypatch: pytest.MonkeyPatch) -> Iterator[Redis]:
    server = Redis.started()
    monkeypatch.setenv("REDIS_URL", redis_server.url)
    monkeypatch.setenv("ASSAY_CELLS", f"west={server.url}")
    monkeypatch.setenv("ASSAY_STORE_KEYS", KEY.get_secret_value())
    monkeypatch.setenv("ASSAY_REDIS_TIMEOUT", "2")
    monkeypatch.setenv("ASSAY_TICK", "0.05")
    store.client.call("FLUSHALL")
    store.pulls.request_judging(wish())
    yield server
    server.end()


def test_an_installation_is_moved_and_each_step_is_told(west: Redis, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command("move", "100", "--to", "west") == (Exit.ACCEPT, "Installation 100 is now in the cell west.\n")
    steps = capsys.readouterr().err.splitlines()
    assert [step.split()[0] for step in steps] == ["west", "idle", "copied", "west", "west"]
    with west.client as client:
        assert client.exists(keys.pull(pull()).name)
    assert run_command("move", "100", "--to", "west")[1] == "Installation 100 was already in the cell west.\n"


@pytest.mark.usefixtures("west")
def test_a_cell_that_there_is_not_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"There is no cell east\. Cells: main, west"):
        run_command("move", "100", "--to", "east")
    monkeypatch.delenv("ASSAY_CELLS")
    with pytest.raises(InputError, match="Cells: set ASSAY_CELLS"):
        run_command("move", "100", "--to", "west")
