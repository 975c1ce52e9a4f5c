"""A blocking Redis client: connections, commands and replies.

It replaces redis-py (which RQ uses, in `worker.scheduling.queue`), whose cost `docs/design.md` states. Replies are bytes, never text. A failed
connection is dropped. A command may reach the server twice, so every write through here is idempotent.
"""

import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedIOBase, BytesIO
from typing import TYPE_CHECKING, Final, TypeVar, cast
from urllib.parse import parse_qs, unquote, urlsplit

from worker.errors import SettingError, Unavailable

if TYPE_CHECKING:
    from worker.domain.model import Frozen

T = TypeVar("T")
M = TypeVar("M", bound="Frozen")
Argument = str | bytes | int | float
Reply = bytes | int | list["Reply"] | None

ATTEMPTS: Final = 3
CHUNK: Final = 1 << 18
PAUSE_S: Final = 0.02
NOT_PRIMARY: Final = (b"READONLY", b"MASTERDOWN", b"NOREPLICAS")
"""Errors after a failover: a new connection finds the new primary."""
TOO_MANY_CLIENTS: Final = b"ERR max number of clients"
OUTAGE_REPLIES: Final = (*NOT_PRIMARY, TOO_MANY_CLIENTS, b"LOADING", b"OOM", b"MISCONF", b"BUSY", b"TRYAGAIN")
DENIED_REPLIES: Final = (b"NOAUTH", b"WRONGPASS", b"NOPERM")


class RedisRefused(Exception):
    """Redis refused a command: a bug of ours, or a key of another type."""

    def __init__(self, line: bytes) -> None:
        super().__init__(line.decode(errors="replace"))
        self.line = line


class TruncatedReply(ConnectionResetError):
    """A reply is truncated."""

    def __init__(self) -> None:
        super().__init__("the connection was closed")


@dataclass(frozen=True)
class RedisAddress:
    """Address of Redis: `path` of a unix socket, else `host` and `port`."""

    path: str | None
    host: str
    port: int
    is_encrypted: bool
    user: str | None
    password: str | None
    database: int

    def __str__(self) -> str:
        return self.path or f"{self.host}:{self.port}"

    def __repr__(self) -> str:
        return f"Address({self})"  # without the password


def parse_address(url: str) -> RedisAddress:
    """Parse a redis://, rediss:// or unix:// URL as redis-py does, so that RQ finds the same server."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise _misread("is no URL") from error
    query = parse_qs(parts.query)
    is_socket = parts.scheme == "unix"
    number = query.get("db", ["0" if is_socket else parts.path.strip("/") or "0"])[0]
    unknown = sorted(set(query) - {"db"})
    if unknown:
        raise _misread(f'has the option "{unknown[0]}"')
    if not number.isdecimal():
        raise _misread(f'has the database "{number}"')
    try:
        port = parts.port or 6379
    except ValueError as error:
        raise _misread("has a port that is none") from error
    return RedisAddress(
        path=unquote(parts.path) if is_socket else None,
        host=parts.hostname or "localhost",
        port=port,
        is_encrypted=parts.scheme == "rediss",
        user=unquote(parts.username) if parts.username else None,
        password=unquote(parts.password) if parts.password else None,
        database=int(number),
    )


def _misread(value: str) -> SettingError:
    return SettingError("REDIS_URL", value, "Expected: redis[s]://[user:password@]host:port/database, or unix://path")


class RedisConnection:
    """One socket, one command at a time."""

    def __init__(self, to: RedisAddress, timeout_s: float) -> None:
        self._socket = _connect(to, timeout_s)
        self._replies = self._socket.makefile("rb")
        try:
            for command in handshake_commands(to):
                self.call(*command)
        except BaseException:
            self.close()
            raise

    def call(self, *command: Argument) -> Reply:
        self._socket.sendall(encode_command(command))
        reply = next_reply(self._replies)
        if isinstance(reply, RedisRefused):
            raise reply
        return reply

    def pipeline(self, commands: Sequence[tuple[Argument, ...]]) -> list[Reply]:
        """Send commands together; their replies in order."""
        self._socket.sendall(b"".join(map(encode_command, commands)))
        replies = [next_reply(self._replies) for _ in commands]
        for reply in replies:
            if isinstance(reply, RedisRefused):
                raise reply
        return cast("list[Reply]", replies)

    def call_raw(self, *command: Argument) -> bytes:
        """The raw reply to a command, with one command in flight: the reply's end is where the next one starts."""
        mark = secrets.token_hex(16)
        self._socket.sendall(encode_command(command) + encode_command(("ECHO", mark)))
        end, came = b"$%d\r\n%b\r\n" % (len(mark), mark.encode()), bytearray()
        while not came.endswith(end):
            some = self._replies.read1(CHUNK)
            if not some:
                raise TruncatedReply
            came += some
        raw = bytes(came.removesuffix(end))
        if raw.startswith(b"-"):
            raise RedisRefused(raw[1:-2])
        return raw

    def close(self) -> None:
        self._replies.close()
        self._socket.close()


def handshake_commands(to: RedisAddress) -> list[tuple[Argument, ...]]:
    """Commands that open a connection."""
    commands: list[tuple[Argument, ...]] = []
    if to.password is not None:
        commands.append(("AUTH", *([to.user] if to.user else []), to.password))
    if to.database:
        commands.append(("SELECT", to.database))
    return commands


def encode_command(command: tuple[Argument, ...]) -> bytes:
    """Encode a command in Redis' protocol."""
    if bytes not in map(type, command):
        written = "".join([f"${len(part)}\r\n{part}\r\n" for part in map(str, command)])
        if written.isascii():  # then its characters are its bytes
            return f"*{len(command)}\r\n{written}".encode("ascii")
    raw = [argument if isinstance(argument, bytes) else str(argument).encode() for argument in command]
    return b"*%d\r\n%b" % (len(raw), b"".join([b"$%d\r\n%b\r\n" % (len(argument), argument) for argument in raw]))


def timeout_error(there: RedisAddress, timeout_s: float) -> Unavailable:
    return Unavailable("Redis", f"no answer from {there} in {timeout_s:g} s")


def connection_error(there: RedisAddress, error: OSError) -> Unavailable:
    return Unavailable("Redis", f"{error.strerror or error} at {there}")


def translate_refusal(refused: RedisRefused) -> RedisRefused | Unavailable:
    """Convert a refusal that may pass to Unavailable."""
    return Unavailable("Redis", str(refused)) if refused.line.startswith(OUTAGE_REPLIES + DENIED_REPLIES) else refused


class RedisClient:
    """Connections to one Redis, for all threads of a process; a forked child makes its own.

    *replicas*: how many of them must have a transaction before it counts.
    """

    def __init__(self, url: str, timeout_s: float, replicas: int = 0) -> None:
        self.replicas = replicas
        self._address = parse_address(url)
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._idle: list[RedisConnection] = []
        self._process = os.getpid()

    def call(self, *command: Argument) -> Reply:
        """Send a command and wait for its reply.

        Raises Unavailable, or RedisRefused for an error that a retry does not change.
        """
        return self._with_retries(lambda connection: connection.call(*command))

    def pipeline(self, commands: Sequence[tuple[Argument, ...]]) -> list[Reply]:
        """Send commands together; their replies in order. Raises as `call` does."""
        return self._with_retries(lambda connection: connection.pipeline(commands))

    def call_raw(self, *command: Argument) -> bytes:
        """The raw reply, for callers that parse many items of one shape; `parse_reply` parses any. Raises as `call` does."""
        return self._with_retries(lambda connection: connection.call_raw(*command))

    def _with_retries(self, work: Callable[[RedisConnection], T]) -> T:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                with self._connection() as connection:
                    return work(connection)
            except TimeoutError as error:
                raise timeout_error(self._address, self._timeout_s) from error
            except OSError as error:
                if attempt == ATTEMPTS:
                    raise connection_error(self._address, error) from error
                time.sleep(PAUSE_S * attempt)
            except RedisRefused as refused:
                if (translated := translate_refusal(refused)) is refused:
                    raise
                raise translated from refused
        raise AssertionError  # pragma: no cover - the last attempt returns or raises

    def close(self) -> None:
        """Close idle connections. A later call opens new ones."""
        for connection in self._take_idle(all_of_them=True):
            connection.close()

    @contextmanager
    def _connection(self) -> Generator[RedisConnection]:
        idle = self._take_idle()
        connection = idle[0] if idle else RedisConnection(self._address, self._timeout_s)
        try:
            yield connection
        except RedisRefused as refused:
            if refused.line.startswith(NOT_PRIMARY):
                connection.close()
            else:
                self._give_back(connection)
            raise
        except BaseException:
            connection.close()
            raise
        self._give_back(connection)

    def _take_idle(self, *, all_of_them: bool = False) -> list[RedisConnection]:
        with self._lock:
            if self._process != os.getpid():
                self._process = os.getpid()
                self._idle = []  # the parent's: using them would mix up its replies
            taken = self._idle if all_of_them else self._idle[-1:]
            self._idle = [] if all_of_them else self._idle[:-1]
        return taken

    def _give_back(self, connection: RedisConnection) -> None:
        with self._lock:
            self._idle.append(connection)


def _connect(to: RedisAddress, timeout_s: float) -> socket.socket:
    if to.path is None:
        raw = socket.create_connection((to.host, to.port), timeout=timeout_s)
    else:
        raw = socket.socket(socket.AF_UNIX)
    try:
        if to.path is not None:
            raw.settimeout(timeout_s)
            raw.connect(to.path)
            return raw
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not to.is_encrypted:
            return raw
        import ssl  # noqa: PLC0415 - 20 ms that only rediss:// needs

        return ssl.create_default_context().wrap_socket(raw, server_hostname=to.host)
    except BaseException:
        raw.close()
        raise


def parse_reply(raw: bytes) -> Reply:
    """Parse a raw reply."""
    return _item(BytesIO(raw))


def next_reply(replies: BufferedIOBase) -> Reply | RedisRefused:
    """Read the next reply. Raises TruncatedReply for an incomplete one, and ConnectionResetError for an invalid one."""
    line = replies.readline()
    if not line.endswith(b"\r\n"):
        raise TruncatedReply
    kind, rest = line[:1], line[1:-2]
    match kind:
        case b"+":
            return rest
        case b"-":
            return RedisRefused(rest)
        case b":":
            return int(rest)
        case b"$" | b"*" if rest.startswith(b"-"):
            return None
        case b"$":
            raw = replies.read(int(rest) + 2)
            if len(raw) != int(rest) + 2:
                raise TruncatedReply
            return raw[:-2]
        case b"*":
            return [_item(replies) for _ in range(int(rest))]
        case _:
            raise ConnectionResetError(f"not a reply of Redis: {line[:40]!r}")


def _item(replies: BufferedIOBase) -> Reply:
    item = next_reply(replies)
    if isinstance(item, RedisRefused):  # the rest of the list is in flight: the connection is unusable
        raise ConnectionResetError(str(item))
    return item


def text(reply: Reply) -> str:
    """A string reply; nil is the empty string."""
    if isinstance(reply, int):
        return str(reply)
    if reply is not None and not isinstance(reply, bytes):
        raise TypeError(f"Redis answered a list where a string was expected: {reply!r}")
    return (reply or b"").decode()


def whole(reply: Reply) -> int:
    """An integer reply; nil is 0."""
    return reply if isinstance(reply, int) else int(text(reply) or "0")


def items(reply: Reply) -> list[Reply]:
    """A list reply; nil is the empty list."""
    if reply is not None and not isinstance(reply, list):
        raise TypeError(f"Redis answered {reply!r} where a list was expected")
    return reply or []


def blob(reply: Reply) -> bytes:
    """A bytes reply."""
    if not isinstance(reply, bytes):
        raise TypeError(f"Redis answered {reply!r} where bytes were expected")
    return reply


def pairs(reply: Reply) -> list[tuple[Reply, Reply]]:
    """A list reply, two by two."""
    flat = items(reply)
    return list(zip(flat[::2], flat[1::2], strict=True))


def field_values(reply: Reply) -> dict[str, Reply]:
    """The reply of HGETALL, by field."""
    return {text(field): value for field, value in pairs(reply)}


def member_scores(reply: Reply) -> list[tuple[str, float]]:
    """The reply of ZRANGE WITHSCORES: each member with its score."""
    return [(text(member), float(text(score))) for member, score in pairs(reply)]


def read_json(kind: type[M], text: str | bytes) -> M:
    """Read a stored value. Two versions run side by side during an upgrade, so an unknown field is ignored."""
    return kind.model_validate_json(text, extra="ignore")


def read_json_or_none(kind: type[M], text: str | bytes) -> M | None:
    """Read a stored value; None for an enum value of a later version: it stays for a process that can read it."""
    from pydantic import ValidationError  # noqa: PLC0415 - the embedded server needs none

    try:
        return read_json(kind, text)
    except ValidationError as error:
        import logging  # noqa: PLC0415 - a laptop's judging logs nothing, and pays 2 ms for it

        where = ", ".join(".".join(map(str, detail["loc"])) for detail in error.errors(include_input=False))
        logging.getLogger(__name__).warning("left for a later version: %s in %s", kind.__name__, where)
        return None


def parse_time(reply: Reply) -> float:
    """The reply of TIME, in milliseconds."""
    seconds, microseconds = map(whole, items(reply))
    return seconds * 1000 + microseconds / 1000


def find_server_time(client: RedisClient) -> float:
    """Time of the server, in milliseconds: all that is due is due by its clock."""
    return parse_time(client.call("TIME"))


def find_server_run(client: RedisClient) -> str | None:
    """The run of this server, which a restart changes; None where this user of Redis may not ask."""
    try:
        lines = text(client.call("INFO", "server")).splitlines()
    except RedisRefused:
        return None
    return next((line.removeprefix("run_id:") for line in lines if line.startswith("run_id:")), None)


def scan_keys(client: RedisClient, pattern: str, count: int, *kind: str) -> Iterator[list[bytes]]:
    """Names of all keys that match, in batches, each at least once. *kind*: `TYPE`, and the one that is wanted."""
    cursor = "0"
    while True:
        after, batch = items(client.call("SCAN", cursor, "MATCH", pattern, "COUNT", count, *kind))
        if names := [blob(name) for name in items(batch)]:
            yield names
        if (cursor := text(after)) == "0":
            return
