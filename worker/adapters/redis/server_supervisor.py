"""The process beside a private server: starts it, restarts it if it crashes, stops it when its users are gone.

A program of its own (`python -I -S server_supervisor.py ...`), standard library only, since it starts with every `assay judge`
that finds no server. It watches its parent *process* through a pidfd (elsewhere by asking often): unlike a
pipe no forked job can hold it open, and unlike PR_SET_PDEATHSIG a thread that ends does not count. The server itself
dies with the keeper (PR_SET_PDEATHSIG, Linux). Does not read anything in the server.
Invariant: one server at a time has the folder: the lock's open file is inherited by the server, so it is free
exactly when neither lives. A server is stopped only under the exclusive users' lock (`embedded_server.py`).

Says one word on its output and lets go of it: `ready`, `locked`, or `failed` with a reason.
"""

import ctypes
import fcntl
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NamedTuple, NoReturn

START_S: Final = 30.0
STOP_S: Final = 10.0
LOOK_S: Final = 0.2
PR_SET_PDEATHSIG: Final = 1


class SupervisorArguments(NamedTuple):
    """What the process that starts a server passes to its keeper."""

    parent: int
    lock: str
    users: str
    log: str
    socket: str
    command: Sequence[str]


def main(arguments: Sequence[str]) -> int:
    """Start the server, say so, and stay until it is over."""
    orders = SupervisorArguments(int(arguments[0]), *arguments[1:5], command=arguments[5:])
    if os.fork():
        return 0  # whoever called us reads our word, not our exit
    try:
        return _keep(orders)
    except OSError as error:
        return _say(f"failed {error.strerror}")


def _keep(orders: SupervisorArguments) -> int:
    os.setsid()
    os.umask(0o077)
    lock = os.open(orders.lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return _say("locked")
    os.set_inheritable(lock, True)  # noqa: FBT003 - the standard library's signature
    with suppress(FileNotFoundError):
        os.unlink(orders.log)  # noqa: PTH108 - pathlib would double the time to start
    server = _start(orders)
    if not _is_ready(orders.socket, server):
        _stop(server)
        return _say("failed")
    _say("ready")
    _stay(orders, server)
    return 0


def _say(word: str) -> int:
    with suppress(OSError):  # whoever called us was interrupted; `_stay` sees whether it ended
        os.write(1, word.encode())
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)
    return 0


def _start(orders: SupervisorArguments) -> int:
    """Fork the server; it writes to the log and dies with us."""
    keeper = os.getpid()
    server = os.fork()
    if not server:
        _become_server(orders, keeper)
    return server


def _become_server(orders: SupervisorArguments, keeper: int) -> NoReturn:
    with suppress(OSError):  # no log, or no program: a server that has ended is told by who waits for it
        _run_server(orders, keeper)
    os._exit(1)


def _run_server(orders: SupervisorArguments, keeper: int) -> None:
    log = os.open(orders.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(log, stream)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != keeper:
            os._exit(1)
    os.execv(orders.command[0], list(orders.command))  # noqa: S606 - a program and its arguments, no shell wanted


def _is_ready(path: str, server: int) -> bool:
    limit = time.monotonic() + START_S
    while time.monotonic() < limit and not _is_over(server):
        if _answers(path):
            return True
        time.sleep(0.002)
    return False


def _stay(orders: SupervisorArguments, server: int) -> None:
    """Until the server was told to end, or its parent is gone and nobody uses it."""
    parent = _Watch(orders.parent)
    watch = _Watch(server)
    users = os.open(orders.users, os.O_RDWR | os.O_CREAT, 0o600)
    while not (parent.is_gone() and _is_unused(users)):
        _wait(parent, watch)
        status = _ended(server)
        if status == 0:
            return
        if status is not None:  # it crashed: another one reads its file
            time.sleep(LOOK_S)
            server = _start(orders)
            watch = _Watch(server)
    _stop(server)


def _is_unused(users: int) -> bool:
    """Take the users' lock, which stays taken until the keeper ends; or wait a moment."""
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        time.sleep(LOOK_S)
        return False
    return True


class _Watch:
    """A process to wait for."""

    def __init__(self, process: int) -> None:
        self._process = process
        self.handle = -1
        with suppress(AttributeError, OSError):  # macOS, an old kernel, or gone already
            self.handle = os.pidfd_open(process)

    def is_gone(self) -> bool:
        if self.handle >= 0:
            return bool(select.select([self.handle], [], [], 0)[0])
        try:
            os.kill(self._process, 0)
        except ProcessLookupError:
            return True
        return False


def _wait(*watches: _Watch) -> None:
    """Until one of them ends; without pidfds, a moment."""
    handles = [watch.handle for watch in watches if watch.handle >= 0]
    select.select(handles, [], [], None if len(handles) == len(watches) else LOOK_S)


def _ended(server: int) -> int | None:
    """How the server ended, or None."""
    try:
        process, status = os.waitpid(server, os.WNOHANG)
    except ChildProcessError:
        return 0
    return status if process else None


def _is_over(server: int) -> bool:
    return _ended(server) is not None


def _stop(server: int) -> None:
    """Let it write its file, then make it go."""
    limit = time.monotonic() + STOP_S
    with suppress(ProcessLookupError):
        os.kill(server, signal.SIGTERM)
        while not _is_over(server) and time.monotonic() < limit:
            time.sleep(0.01)
        os.kill(server, signal.SIGKILL)


def _answers(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(1)
        try:
            line.connect(path)
            line.sendall(b"PING\r\n")
            return line.recv(1 << 10).startswith(b"+PONG")
        except OSError:
            return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
