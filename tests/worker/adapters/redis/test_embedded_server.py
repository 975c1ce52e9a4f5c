"""The embedded Redis server: its start, its end and its data, with real processes."""

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
from worker.adapters.redis.connection.client import RedisConnection, parse_address, text
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
from contextlib import closing
from pathlib import Path
from worker.adapters.redis.connection.client import RedisClient
from worker.adapters.redis.connection.embedded_server import FolderRole, open_embedded_server

folder, role, how = Path(sys.argv[1]), FolderRole(sys.argv[2]), sys.argv[3]
if how == "ignore Ctrl-C":
    signal.signal(signal.SIGINT, lambda *_: None)
    print("ignoring", flush=True)
if how == "in a thread that ends":
    thread = threading.Thread(target=open_embedded_server(folder, role).__enter__)
    thread.start()
    thread.join()
for _ in range(8 if how == "eight times" else 1):
    with open_embedded_server(folder, role) as url, closing(RedisClient(url, 5)) as client:
        if how != "without a connection":
            client.call("SET", "kept", "yes")
        print("open", flush=True)
        if how not in {"eight times", "shortly"}:
            sys.stdin.read()
        client.call("SET", "kept", "yes")
"""
"""A process that loads the embedded server only, since that starts faster."""


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="assay-") as path:
        yield Path(path) / "data"


class Process:
    """Another process that uses the server until its input ends."""

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


def server_pid(folder: Path) -> int:
    with closing(RedisConnection(parse_address(f"unix://{socket_path(folder)}"), 5)) as connection:
        info = connection.call("INFO", "server")
    return int(text(info).split("process_id:")[1].split()[0])


def is_ended(process: int) -> bool:
    """Whether the process ends in time."""
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    ready, _, _ = select.select([handle], [], [], ENDS_IN_S)
    os.close(handle)
    return bool(ready)


def is_data_kept(folder: Path) -> bool:
    with open_store(Settings(data_dir=folder)) as store:
        return store.client.call("GET", "kept") == b"yes"


def test_data_survive_and_the_server_ends_when_the_store_closes(folder: Path) -> None:
    with open_store(Settings(data_dir=folder)) as store:
        store.client.call("SET", "kept", "yes")
        server = server_pid(folder)
    assert is_ended(server)
    assert is_data_kept(folder)


@pytest.mark.parametrize("role", list(FolderRole))
def test_server_ends_with_its_killed_parent_and_keeps_the_data(folder: Path, role: FolderRole) -> None:
    user = Process(folder, role)
    server = server_pid(folder)
    user.kill()
    assert is_ended(server)
    assert is_data_kept(folder)


def test_server_outlives_the_thread_that_started_it(folder: Path) -> None:
    assert Process(folder, FolderRole.GUEST, "in a thread that ends").end() == ""


@pytest.mark.parametrize("role", list(FolderRole))
def test_interrupt_during_start_does_not_stop_the_server(folder: Path, role: FolderRole) -> None:
    user = Process(folder, role, "ignore Ctrl-C", "ignoring\n")
    assert user.popen.stdout is not None
    while not select.select([user.popen.stdout], [], [], 0.002)[0]:
        os.killpg(user.popen.pid, signal.SIGINT)
    assert user.next_line() == "open\n"
    server = server_pid(folder)
    user.kill()
    assert is_ended(server)


def test_supervisor_of_an_interrupted_caller_prints_nothing(folder: Path) -> None:
    folder.mkdir()
    reader, writer = os.pipe()
    os.close(reader)
    with (folder / "server.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        arguments = [
            str(os.getpid()),
            lock.name,
            str(users_lock(folder)),
            str(folder / "log"),
            str(folder / "s"),
            "none",
        ]
        done = subprocess.run(
            [sys.executable, server_supervisor.__file__, *arguments], stdout=writer, stderr=subprocess.PIPE, check=False
        )
    os.close(writer)
    assert done.stderr == b""


def test_server_ends_with_its_killed_supervisor(folder: Path) -> None:
    user = Process(folder, FolderRole.OWNER)
    server = server_pid(folder)
    status = Path(f"/proc/{server}/stat").read_text(encoding="utf-8")
    os.kill(int(status.rpartition(")")[2].split()[1]), signal.SIGKILL)
    assert is_ended(server)
    user.end()


def test_crashed_server_is_restarted_with_its_data(folder: Path) -> None:
    with open_store(Settings(data_dir=folder), FolderRole.OWNER) as store:
        store.client.call("SET", "kept", "yes")
        # A slow disk delays the write itself, not only the fsync, for up to two seconds.
        assert store.client.call("WAITAOF", "1", "0", "0") == [1, 0]
        os.kill(server_pid(folder), signal.SIGKILL)

        def is_back() -> bool:
            try:
                return store.client.call("GET", "kept") == b"yes"
            except Unavailable:
                return False

        assert wait_until(is_back)


def test_second_owner_is_refused_but_a_guest_is_not(folder: Path) -> None:
    owner = Process(folder, FolderRole.OWNER)
    second = Process(folder, FolderRole.OWNER, first="")
    assert f"is in use by another `assay up` (process {owner.popen.pid})" in second.end()
    assert second.popen.returncode != 0
    assert Process(folder, FolderRole.GUEST).end() == ""
    assert owner.popen.poll() is None
    server = server_pid(folder)
    assert owner.end() == ""
    assert is_ended(server)


@pytest.mark.parametrize("role", list(FolderRole))
@pytest.mark.parametrize("leave", [Process.end, Process.kill])
def test_server_stays_for_a_guest_without_a_connection(
    folder: Path, role: FolderRole, leave: Callable[[Process], object]
) -> None:
    first = Process(folder, role)
    server = server_pid(folder)
    second = Process(folder, FolderRole.GUEST, "without a connection")
    leave(first)
    assert server_pid(folder) == server
    assert second.end() == ""
    assert is_ended(server)


def test_one_of_two_concurrent_guests_starts_the_server(folder: Path) -> None:
    guests = [Process(folder, FolderRole.GUEST, first="") for _ in range(2)]
    assert [guest.next_line() for guest in guests] == ["open\n"] * 2
    server = server_pid(folder)
    assert [guest.end() for guest in guests] == ["", ""]
    assert is_ended(server)


@pytest.mark.slow
def test_concurrent_processes_never_lose_the_server(folder: Path) -> None:
    def run(_: int) -> tuple[str, str]:
        return Process(folder, FolderRole.GUEST, "shortly", "").popen.communicate(timeout=60)

    with ThreadPoolExecutor(3) as threads:
        assert set(threads.map(run, range(24))) == {("open\n", "")}


def test_concurrent_users_never_lose_the_server(folder: Path) -> None:
    guests = [Process(folder, FolderRole.GUEST, "eight times", first="") for _ in range(3)]
    assert [guest.popen.communicate(timeout=60) for guest in guests] == [("open\n" * 8, "")] * 3


def test_full_disk_raises_unavailable_until_there_is_room(folder: Path) -> None:
    with open_store(Settings(data_dir=folder)) as store:
        server = server_pid(folder)

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


def test_socket_is_elsewhere_when_the_path_is_too_long(folder: Path) -> None:
    long_path = folder / ("x" * 100)
    assert not socket_path(long_path).is_relative_to(folder)
    with open_store(Settings(data_dir=long_path)) as store:
        store.ping()
        assert socket_path(long_path).is_socket()
    socket_path(long_path).parent.chmod(0o755)
    with pytest.raises(InputError, match="Set ASSAY_DATA_DIR to a short path"):
        socket_path(long_path)
    assert socket_path(folder).parent == folder


def test_failed_start_names_the_reason(folder: Path) -> None:
    (folder / "appendonlydir").mkdir(parents=True)
    (folder / "appendonlydir" / "appendonly.aof.manifest").write_text("nonsense\n", encoding="ascii")
    with (
        pytest.raises(InputError, match=r"The embedded Redis does not start in .*manifest"),
        open_embedded_server(folder, FolderRole.GUEST),
    ):
        pass


def test_folder_is_readable_by_its_owner_only(folder: Path) -> None:
    with open_store(Settings(data_dir=folder)):
        assert folder.stat().st_mode & 0o777 == 0o700
        files = [path for path in folder.rglob("*") if path.is_file()]
        assert files
        assert not [path for path in files if path.stat().st_mode & 0o077]


def test_child_settings_open_the_same_store(folder: Path) -> None:
    settings = Settings(data_dir=folder)
    with open_store(settings) as store:
        sealed = store.codec.seal(b"x", "key")
        with open_store(with_store_url(settings, store)) as child:
            assert child.codec.open(sealed, "key") == b"x"
            child.ping()


def test_external_redis_needs_encryption_keys() -> None:
    settings = Settings(data_dir=Path("/nowhere"), redis_url=SecretStr("redis://127.0.0.1:1/0"))
    with pytest.raises(SettingError, match="ASSAY_STORE_KEYS is not set"), open_store(settings):
        pass


def test_server_appends_to_a_file_and_evicts_nothing(folder: Path) -> None:
    command = server_command(find_server(), folder, folder / "s")
    assert command[command.index("--maxmemory-policy") + 1] == "noeviction"
    assert command[command.index("--appendonly") + 1] == "yes"


def test_impossible_data_folder_names_the_setting(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(
        SettingError, match=r"^ASSAY_DATA_DIR is .+/file/data, which can't be used \(Not a directory\)\."
    ):
        open_embedded_server(tmp_path / "file/data", FolderRole.GUEST).__enter__()
