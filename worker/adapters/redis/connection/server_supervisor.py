"""Supervisor of a private server: start it, restart it after a crash, and stop it after its last user.

A program of its own (`python -I -S server_supervisor.py ...`), standard library only, since it starts with every `assay
judge` that finds no server. It watches its parent process through a pidfd (elsewhere by polling): unlike a pipe, no
forked job holds it open, and unlike PR_SET_PDEATHSIG, the end of a thread has no effect. The server itself dies with
the supervisor (PR_SET_PDEATHSIG, Linux).

One server at a time has the folder: it inherits the lock's open file, so the lock is free exactly when neither runs. A
server is stopped only under the exclusive users' lock (`embedded_server.py`).

Writes one line to its output and closes it: `ready`, `locked`, or `failed` with a reason.
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
    """Arguments that the starting process passes to the supervisor."""

    parent: int
    lock: str
    users: str
    log: str
    socket: str
    command: Sequence[str]


def main(arguments: Sequence[str]) -> int:
    """Start the server, report it, and run until its end."""
    orders = SupervisorArguments(int(arguments[0]), *arguments[1:5], command=arguments[5:])
    if os.fork():
        return 0  # the caller reads our output, not our exit code
    try:
        return _keep(orders)
    except OSError as error:
        return _report(f"failed {error.strerror}")


def _keep(orders: SupervisorArguments) -> int:
    os.setsid()
    os.umask(0o077)
    lock = os.open(orders.lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return _report("locked")
    os.set_inheritable(lock, True)  # noqa: FBT003 - the standard library's signature
    with suppress(FileNotFoundError):
        os.unlink(orders.log)  # noqa: PTH108 - pathlib would double the time to start
    server = _start(orders)
    if not _is_ready(orders.socket, server):
        _stop(server)
        return _report("failed")
    _report("ready")
    _stay(orders, server)
    return 0


def _report(answer: str) -> int:
    with suppress(OSError):  # the caller was interrupted; `_stay` detects its end
        os.write(1, answer.encode())
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)
    return 0


def _start(orders: SupervisorArguments) -> int:
    """Fork the server; it writes to the log and dies with the supervisor."""
    supervisor = os.getpid()
    server = os.fork()
    if not server:
        _become_server(orders, supervisor)
    return server


def _become_server(orders: SupervisorArguments, supervisor: int) -> NoReturn:
    with suppress(OSError):  # no log, or no program: the parent reports a server that ended
        log = os.open(orders.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for stream in (1, 2):
            os.dup2(log, stream)
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != supervisor:
                os._exit(1)
        os.execv(orders.command[0], list(orders.command))  # noqa: S606 - a program and its arguments, without a shell
    os._exit(1)


def _is_ready(path: str, server: int) -> bool:
    limit = time.monotonic() + START_S
    while time.monotonic() < limit and not _is_over(server):
        if _answers(path):
            return True
        time.sleep(0.002)
    return False


def _stay(orders: SupervisorArguments, server: int) -> None:
    """Run until the server is stopped, or its parent is gone and it has no users."""
    parent = _Watch(orders.parent)
    watch = _Watch(server)
    users = os.open(orders.users, os.O_RDWR | os.O_CREAT, 0o600)
    while not (parent.is_gone() and _is_unused(users)):
        _wait(parent, watch)
        status = _exit_status(server)
        if status == 0:
            return
        if status is not None:  # it crashed: a new one reads its file
            time.sleep(LOOK_S)
            server = _start(orders)
            watch = _Watch(server)
    _stop(server)


def _is_unused(users: int) -> bool:
    """Take the users' lock until the supervisor's end, or wait a moment."""
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
        with suppress(AttributeError, OSError):  # macOS, an old kernel, or already ended
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
    """Wait until one of them ends; without pidfds, a moment."""
    handles = [watch.handle for watch in watches if watch.handle >= 0]
    select.select(handles, [], [], None if len(handles) == len(watches) else LOOK_S)


def _exit_status(server: int) -> int | None:
    """Exit status of the server, or None."""
    try:
        process, status = os.waitpid(server, os.WNOHANG)
    except ChildProcessError:
        return 0
    return status if process else None


def _is_over(server: int) -> bool:
    return _exit_status(server) is not None


def _stop(server: int) -> None:
    """Let the server write its file, then stop it."""
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
