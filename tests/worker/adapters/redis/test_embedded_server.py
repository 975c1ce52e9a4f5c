"""The private server: who starts it, who stops it, and what survives. Real processes, since processes are the point."""

import fcntl
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from pydantic import SecretStr

from tests.worker.adapters.redis.store_samples import wait_until
from worker.adapters.redis.connection import server_supervisor
from worker.adapters.redis.connection.client import RedisConnection, parse_address
from worker.adapters.redis.connection.embedded_server import (
    FolderRole,
    find_server,
    open_embedded_server,
    server_command,
    socket_path,
    users_lock,
)
from worker.adapters.redis.store import open_store, with_store_url
from worker.errors import InputError, SettingError, Unavailable
from worker.settings import Settings

ENDS_IN_S = 15.0

USER = """
import signal, sys, threading
from pathlib import Path
from worker.adapters.redis.connection.client import RedisClient
from worker.adapters.redis.connection.embedded_server import FolderRole, open_embedded_server

folder, role, how = Path(sys.argv[1]), FolderRole(sys.argv[2]), sys.argv[3]
if how == "deaf to Ctrl-C":
    signal.signal(signal.SIGINT, lambda *_: None)
    print("deaf", flush=True)
if how == "in a thread that ends":
    thread = threading.Thread(target=open_embedded_server(folder, role).__enter__)
    thread.start()
    thread.join()
with open_embedded_server(folder, role) as url:
    client = RedisClient(url, 5)
    if how != "without a connection":
        client.call("SET", "kept", "yes")
    print("open", flush=True)
    if how != "shortly":
        sys.stdin.read()
    client.call("SET", "kept", "yes")
"""
"""A command with nothing of the store but its server, since it starts much faster so."""


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="assay-") as made:
        yield Path(made) / "data"


class Process:
    """Another process that uses the store until its input ends. It has the server already."""

    def __init__(self, folder: Path, role: FolderRole, how: str = "", first: str = "open\n") -> None:
        self.popen = subprocess.Popen(
            [sys.executable, "-c", USER, str(folder), role, how],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        if first:
            assert self.next_line() == first

    def next_line(self) -> str:
        assert self.popen.stdout is not None
        return self.popen.stdout.readline()

    def end(self) -> str:
        return self.popen.communicate(timeout=30)[1]

    def kill(self) -> None:
        self.popen.kill()
        self.end()


def server_process(folder: Path) -> int:
    """The server of this folder."""
    with closing(RedisConnection(parse_address(f"unix://{socket_path(folder)}"), 5)) as connection:
        found = connection.call("INFO", "server")
    assert isinstance(found, bytes)
    return int(found.split(b"process_id:")[1].split()[0])


def ends(process: int) -> bool:
    """Whether the process ends within the time; waits on its end, not on the clock."""
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    ready, _, _ = select.select([handle], [], [], ENDS_IN_S)
    os.close(handle)
    return bool(ready)


def is_kept(folder: Path) -> bool:
    with open_store(Settings(data_dir=folder)) as store:
        return store.client.call("GET", "kept") == b"yes"


def test_what_was_written_survives_and_nothing_stays_running(folder: Path) -> None:
    with open_store(Settings(data_dir=folder)) as store:
        store.client.call("SET", "kept", "yes")
        server = server_process(folder)
    assert ends(server)
    assert is_kept(folder)


@pytest.mark.parametrize("role", list(FolderRole))
def test_the_server_ends_with_a_parent_that_is_killed_and_the_data_survive(folder: Path, role: FolderRole) -> None:
    user = Process(folder, role)
    server = server_process(folder)
    user.kill()
    assert ends(server)
    assert is_kept(folder)


def test_the_server_outlives_the_thread_that_started_it(folder: Path) -> None:
    assert Process(folder, FolderRole.GUEST, "in a thread that ends").end() == ""


@pytest.mark.parametrize("role", list(FolderRole))
def test_ctrl_c_while_the_server_starts_is_for_the_process_that_started_it(folder: Path, role: FolderRole) -> None:
    user = Process(folder, role, "deaf to Ctrl-C", "deaf\n")
    assert user.popen.stdout is not None
    while not select.select([user.popen.stdout], [], [], 0.002)[0]:
        os.killpg(user.popen.pid, signal.SIGINT)
    assert user.next_line() == "open\n"
    server = server_process(folder)
    user.kill()
    assert ends(server)


def test_a_keeper_whose_caller_was_interrupted_says_nothing(folder: Path) -> None:
    folder.mkdir()
    reader, writer = os.pipe()
    os.close(reader)
    with (folder / "server.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        orders = [str(os.getpid()), lock.name, str(users_lock(folder)), str(folder / "log"), str(folder / "s"), "none"]
        done = subprocess.run(
            [sys.executable, server_supervisor.__file__, *orders], stdout=writer, stderr=subprocess.PIPE, check=False
        )
    os.close(writer)
    assert done.stderr == b""


def test_the_server_dies_with_its_keeper(folder: Path) -> None:
    user = Process(folder, FolderRole.OWNER)
    server = server_process(folder)
    status = Path(f"/proc/{server}/stat").read_text(encoding="utf-8")
    os.kill(int(status.rpartition(")")[2].split()[1]), signal.SIGKILL)
    assert ends(server)
    user.end()


def test_a_server_that_crashes_comes_back_with_its_data(folder: Path) -> None:
    with open_store(Settings(data_dir=folder), FolderRole.OWNER) as store:
        store.client.call("SET", "kept", "yes")
        # A slow disk delays the write itself, not only the fsync, for up to two seconds.
        assert store.client.call("WAITAOF", "1", "0", "0") == [1, 0]
        os.kill(server_process(folder), signal.SIGKILL)

        def is_back() -> bool:
            try:
                return store.client.call("GET", "kept") == b"yes"
            except Unavailable:
                return False

        assert wait_until(is_back)


def test_a_second_owner_is_refused_and_a_guest_is_not(folder: Path) -> None:
    owner = Process(folder, FolderRole.OWNER)
    second = Process(folder, FolderRole.OWNER, first="")
    assert f"is in use by another `assay up` (process {owner.popen.pid})" in second.end()
    assert second.popen.returncode != 0
    assert Process(folder, FolderRole.GUEST).end() == ""
    assert owner.popen.poll() is None
    server = server_process(folder)
    assert owner.end() == ""
    assert ends(server)


@pytest.mark.parametrize("role", list(FolderRole))
@pytest.mark.parametrize("leave", [Process.end, Process.kill])
def test_a_server_is_not_taken_from_a_guest_that_has_no_connection_at_the_moment(
    folder: Path, role: FolderRole, leave: Callable[[Process], object]
) -> None:
    first = Process(folder, role)
    server = server_process(folder)
    second = Process(folder, FolderRole.GUEST, "without a connection")
    leave(first)
    assert server_process(folder) == server
    assert second.end() == ""
    assert ends(server)


def test_of_guests_that_come_together_one_starts_the_server(folder: Path) -> None:
    both = [Process(folder, FolderRole.GUEST, first="") for _ in range(2)]
    assert [guest.next_line() for guest in both] == ["open\n"] * 2
    server = server_process(folder)
    assert [guest.end() for guest in both] == ["", ""]
    assert ends(server)


def test_commands_that_run_together_on_one_folder_never_lose_its_server(folder: Path) -> None:
    def run(_: int) -> tuple[str, str]:
        return Process(folder, FolderRole.GUEST, "shortly", "").popen.communicate(timeout=60)

    with ThreadPoolExecutor(3) as threads:
        assert set(threads.map(run, range(24))) == {("open\n", "")}


def test_a_disk_that_takes_no_more_is_told_and_the_server_goes_on_when_it_does(folder: Path) -> None:
    with open_store(Settings(data_dir=folder)) as store:
        server = server_process(folder)

        def refusal() -> str:
            try:
                store.client.call("SET", "kept", "yes")
            except Unavailable as error:
                return str(error)
            return ""

        resource.prlimit(server, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        assert wait_until(refusal)
        assert "MISCONF Errors writing to the AOF file" in refusal()
        resource.prlimit(server, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert wait_until(lambda: not refusal())


def test_a_folder_whose_path_is_too_long_gets_its_socket_elsewhere(folder: Path) -> None:
    deep = folder / ("x" * 100)
    assert not socket_path(deep).is_relative_to(folder)
    with open_store(Settings(data_dir=deep)) as store:
        store.ping()
        assert socket_path(deep).is_socket()
    socket_path(deep).parent.chmod(0o755)
    with pytest.raises(InputError, match="Set ASSAY_DATA_DIR to a short path"):
        socket_path(deep)
    assert socket_path(folder).parent == folder


def test_a_server_that_does_not_start_says_why(folder: Path) -> None:
    (folder / "appendonlydir").mkdir(parents=True)
    (folder / "appendonlydir" / "appendonly.aof.manifest").write_text("nonsense\n", encoding="ascii")
    with (
        pytest.raises(InputError, match=r"The embedded Redis does not start in .*manifest"),
        open_embedded_server(folder, FolderRole.GUEST),
    ):
        pass


def test_the_folder_is_for_its_owner_only(folder: Path) -> None:
    with open_store(Settings(data_dir=folder)):
        assert folder.stat().st_mode & 0o777 == 0o700
        files = [path for path in folder.rglob("*") if path.is_file()]
        assert files
        assert not [path for path in files if path.stat().st_mode & 0o077]


def test_the_processes_below_find_the_store_that_is_open_here(folder: Path) -> None:
    settings = Settings(data_dir=folder)
    with open_store(settings) as store:
        sealed = store.codec.seal(b"x", "place")
        with open_store(with_store_url(settings, store)) as below:
            assert below.codec.open(sealed, "place") == b"x"
            below.ping()


def test_a_redis_of_ones_own_needs_keys_of_ones_own() -> None:
    settings = Settings(data_dir=Path("/nowhere"), redis_url=SecretStr("redis://127.0.0.1:1/0"))
    with pytest.raises(SettingError, match="ASSAY_STORE_KEYS is not set"), open_store(settings):
        pass


def test_an_eviction_never_costs_an_event(folder: Path) -> None:
    command = server_command(find_server(), folder, folder / "s")
    assert command[command.index("--maxmemory-policy") + 1] == "noeviction"
    assert command[command.index("--appendonly") + 1] == "yes"


def test_a_data_folder_that_can_not_be_made_is_a_setting_to_change(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(
        SettingError, match=r"^ASSAY_DATA_DIR is .+/file/data, which can't be used \(Not a directory\)\."
    ):
        open_embedded_server(tmp_path / "file/data", FolderRole.GUEST).__enter__()
