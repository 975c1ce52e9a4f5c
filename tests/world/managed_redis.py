"""A Redis as managed services run it: one TLS address in front of a primary and a replica."""

import asyncio
import ssl
import threading
import time
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from shutil import which
from socket import create_server
from tempfile import mkdtemp
from typing import Any, Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.world.redis import START_SECONDS, RedisServer, wheel_binary

LOOPBACK = "127.0.0.1"
SERVERS = tuple(name for name in ("redis-server", "valkey-server") if which(name)) or (wheel_binary(),)


@dataclass(frozen=True)
class Certificate:
    """A self-signed certificate of localhost."""

    chain: Path
    key: Path

    @classmethod
    def create(cls, folder: Path) -> Self:
        key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
        names = x509.SubjectAlternativeName([x509.DNSName("localhost")])
        begins, ends = datetime(2026, 1, 1, tzinfo=UTC), datetime(2126, 1, 1, tzinfo=UTC)
        builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), begins, ends)
        signed = builder.add_extension(names, critical=True).sign(key, hashes.SHA256())
        certificate = cls(folder / "server.pem", folder / "server.key")
        certificate.chain.write_bytes(signed.public_bytes(Encoding.PEM))
        certificate.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return certificate

    @property
    def context(self) -> ssl.SSLContext:
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.load_cert_chain(self.chain, self.key)
        return made


class Endpoint:
    """An address whose new connections lead to the current server; open ones stay with the earlier one."""

    def __init__(self, to: int, context: ssl.SSLContext | None) -> None:
        self.to: int | None = to
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="endpoint", daemon=True)
        self._thread.start()
        self._tasks = set[asyncio.Task[None]]()
        self._server = self._run(asyncio.start_server(self._serve, LOOPBACK, 0, ssl=context))
        self.port: int = self._server.sockets[0].getsockname()[1]

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _serve(self, near: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if self.to is not None:
                far, ask = await asyncio.open_connection(LOOPBACK, self.to)
                await _first_of(_copy(near, ask), _copy(far, answer))
                ask.close()
        except OSError:
            pass
        except asyncio.CancelledError:
            pass  # asyncio's server would log it
        finally:
            self._tasks.discard(task)
            answer.close()

    def close(self) -> None:
        async def end() -> None:
            self._server.close()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

        self._run(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


async def _first_of(*ways: Coroutine[Any, Any, None]) -> None:
    tasks = [asyncio.ensure_future(way) for way in ways]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _copy(source: asyncio.StreamReader, into: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while some := await source.read(1 << 16):
            into.write(some)
            await into.drain()


@dataclass
class ManagedRedis:
    """A primary and a replica of it behind one endpoint."""

    binary: str
    folder: Path = field(default_factory=lambda: Path(mkdtemp(prefix="assay-managed-")))
    spare: RedisServer | None = None

    def __post_init__(self) -> None:
        self.certificate = Certificate.create(self.folder)
        self._has_tls = self.binary != wheel_binary()
        self.primary, port = self._server()
        self.replica, self._replica_port = self._server("--replicaof", "localhost", str(port))
        self.endpoint = Endpoint(port, None if self._has_tls else self.certificate.context)
        _wait_until_replicating(self.replica)

    @property
    def url(self) -> str:
        return f"rediss://localhost:{self.endpoint.port}/0"

    def _server(self, *options: str) -> tuple[RedisServer, int]:
        with create_server((LOOPBACK, 0)) as free:
            port = free.getsockname()[1]
        files = self.certificate
        tls = ["--port", "0", "--tls-port", str(port), "--tls-cert-file", str(files.chain)]
        tls += ["--tls-key-file", str(files.key)]
        tls += ["--tls-ca-cert-file", str(files.chain), "--tls-auth-clients", "no", "--tls-replication", "yes"]
        server = RedisServer(binary=self.binary, options=(*(tls if self._has_tls else ["--port", str(port)]), *options))
        server.start()
        return server, port

    def wait_for_replica(self) -> None:
        """Wait until the replica has all writes."""
        assert self.primary.execute("WAIT", 1, 10_000) == 1

    def cut_off_replica(self) -> None:
        """Stop the replication."""
        self.replica.execute("REPLICAOF", "NO", "ONE")

    def fail_over(self) -> None:
        """Promote the replica, and lead the endpoint to it."""
        self.cut_off_replica()
        self.endpoint.to = self._replica_port

    def replace_replica(self) -> None:
        """Start a replica of the promoted server."""
        self.spare, _ = self._server("--replicaof", "localhost", str(self._replica_port))
        _wait_until_replicating(self.spare)

    def demote(self) -> None:
        """Swap the roles; connections to the earlier primary stay open."""
        self.fail_over()
        self.primary.execute("REPLICAOF", "localhost", self._replica_port)

    def end(self) -> None:
        self.endpoint.close()
        self.primary.end()
        self.replica.end()
        if self.spare is not None:
            self.spare.end()
        for path in self.folder.iterdir():
            path.unlink()
        self.folder.rmdir()


def _wait_until_replicating(replica: RedisServer) -> None:
    deadline = time.monotonic() + START_SECONDS
    while replica.execute("INFO", "replication").get("master_link_status") != "up":
        assert time.monotonic() < deadline, "The replica does not follow its primary."
        time.sleep(0.02)
