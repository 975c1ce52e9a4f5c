"""`assay pause`, `assay resume` and `assay move`."""

import os
import pwd
from collections.abc import Iterator
from datetime import timedelta

import pytest

from app.cli.parser import Exit
from tests.app.cli.assay_command import run_command
from tests.worker.adapters.redis.store_samples import judge_request, pull_ref
from tests.world.redis import RedisServer
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.domain.time_range import JudgingPause
from worker.errors import InputError
from worker.process import SystemClock

HERE = (pull_ref().installation_id, pull_ref().repository_id)


@pytest.fixture(autouse=True)
def known_store(records: Store) -> Store:
    """A store that knows acme/widgets."""
    records.pulls.request_judging(judge_request())
    return records


@pytest.mark.parametrize(
    "named", [("acme/widgets",), ("--repo", "acme/widgets"), ("acme/widgets", "--repo", "acme/widgets")]
)
def test_pause_of_a_repository_records_the_caller(known_store: Store, named: tuple[str, ...]) -> None:
    code, text = run_command("pause", *named, "--until", "2h", "--reason", " a \n storm ")
    assert (code, text.partition(":")[0]) == (Exit.ACCEPT, "Judging is paused in acme/widgets")
    stopped = known_store.pauses.find_pause(*HERE)
    assert stopped is not None
    suspension, now = stopped.suspension, SystemClock().now()
    assert (suspension.by, suspension.reason) == (pwd.getpwuid(os.getuid()).pw_name, "a storm")
    assert suspension.until is not None
    assert now + timedelta(minutes=119) < suspension.until <= now + timedelta(hours=2)
    assert run_command("resume", *named)[1].startswith("Judging goes on in acme/widgets")
    assert run_command("resume", *named)[1].startswith("Judging was not paused in acme/widgets")


def test_global_pause_needs_an_end_and_a_reason(known_store: Store) -> None:
    for arguments in ((), ("--until", "2h"), ("--reason", "x"), ("--until", "2h", "--reason", " ")):
        with pytest.raises(InputError, match="This would stop judging in all repositories"):
            run_command("pause", *arguments)
    assert not known_store.pauses.is_paused(*HERE)
    code, text = run_command("pause", "--until", "2h", "--reason", "a storm", "--by", "olga")
    assert (code, text.partition(":")[0]) == (Exit.ACCEPT, "Judging is paused everywhere")
    assert known_store.pauses.is_paused(*HERE)
    code, text = run_command("pause", "--list")
    assert text.startswith("Everywhere: paused since ")
    assert text.endswith("by olga: a storm\n")
    assert run_command("resume")[1].startswith("Judging goes on everywhere")
    assert run_command("resume")[1].startswith("No pause of all repositories is in force.")
    assert run_command("pause", "--list") == (Exit.ACCEPT, "Judging is paused nowhere.\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("acme/widgets", "--repo", "acme/gadgets"), "Two repositories are named: acme/widgets and acme/gadgets"),
        (("acme/widgets", "--until", "yesterday"), '--until: "yesterday" is no time'),
        (("acme/widgets", "--until", "2020-01-01"), "is over already"),
        (("acme/widgets", "--reason", "x" * 501), "The reason has 501 characters. Say it in 500"),
    ],
)
def test_contradictory_pause_is_refused(known_store: Store, arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        run_command("pause", *arguments)
    assert not known_store.pauses.is_paused(*HERE)


@pytest.mark.parametrize(
    ("command", "message"), [("pause", "GitHub can't be asked about it: ASSAY_APP_ID"), ("resume", "")]
)
def test_unknown_repository_is_neither_paused_nor_resumed(known_store: Store, command: str, message: str) -> None:
    code, text = run_command(command, "acme/gadgets")
    assert (code, text.partition(":")[0]) == (Exit.USAGE, "acme/gadgets is not known here")
    assert message in text
    assert known_store.pauses.list_pauses() == ()


def test_repository_known_by_its_pause_alone_can_be_resumed(known_store: Store) -> None:
    gadgets = pull_ref(repository=8)
    ids = (gadgets.installation_id, gadgets.repository_id)
    known_store.pauses.pause(*ids, JudgingPause(by="olga", repository="acme/gadgets"))
    assert run_command("pause", "Acme/Gadgets", "--reason", "longer")[0] is Exit.ACCEPT
    stopped = known_store.pauses.find_pause(*ids)
    assert stopped is not None
    assert stopped.suspension.reason == "longer"
    assert run_command("resume", "acme/gadgets")[1].startswith("Judging goes on in acme/gadgets")
    assert not known_store.pauses.is_paused(*ids)


def test_caller_without_an_account_name_is_the_operator(known_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000)
    run_command("pause", "acme/widgets")
    stopped = known_store.pauses.find_pause(*HERE)
    assert stopped is not None
    assert stopped.suspension.by == "the operator"


def test_doctor_shows_every_pause(known_store: Store) -> None:
    known_store.pauses.pause(*HERE, JudgingPause(by="olga", repository="acme/widgets", reason="a storm"))
    printed = " ".join(run_command("doctor").text.split())
    assert "acme/widgets: paused until it is resumed, by olga: a storm" in printed


@pytest.fixture
def west(known_store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[RedisServer]:
    assert known_store
    server = RedisServer.launch()
    monkeypatch.setenv("ASSAY_CELLS", f"west={server.url}")
    monkeypatch.setenv("ASSAY_REDIS_TIMEOUT", "2")
    monkeypatch.setenv("ASSAY_TICK", "0.05")
    yield server
    server.end()


def test_move_prints_each_step(west: RedisServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command("move", "100", "--to", "west") == (Exit.ACCEPT, "Installation 100 is now in the cell west.\n")
    steps = capsys.readouterr().err.splitlines()
    assert [step.split()[0] for step in steps] == ["west", "idle", "copied", "west", "west"]
    with west.client as client:
        assert client.exists(keys.pull(pull_ref()).name)
    assert run_command("move", "100", "--to", "west")[1] == "Installation 100 was already in the cell west.\n"


@pytest.mark.usefixtures("west")
def test_move_to_an_unknown_cell_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"There is no cell east\. Cells: main, west"):
        run_command("move", "100", "--to", "east")
    monkeypatch.delenv("ASSAY_CELLS")
    with pytest.raises(InputError, match="Cells: set ASSAY_CELLS"):
        run_command("move", "100", "--to", "west")
