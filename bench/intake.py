"""Measure the web server alone: deliveries a second beside a bare server (`bench/load.py`)."""

import argparse
import asyncio
import hmac
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Final, cast
from urllib.parse import urlsplit

import uvloop

from bench.stage import at, cpu_seconds, load, memory_mib
from worker.adapters.redis.connection.embedded_server import FolderRole, open_embedded_server

TOGETHER: Final = 16
"""Deliveries under way at a time."""

SECRET: Final = "bench"  # noqa: S105 - played
BODY_BYTES, PULLS = 36 * 1024, 200
ROUND_S, ALONE_S = 1.0, 0.5
LEAST_OF_BARE, MOST_P99_MS, MOST_ALONE_MS = 0.5, 15.0, 5.0
LENGTH: Final = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
OURS: Final = """
import json, sys
from app.web.server import run_web
from worker.settings import read_settings
run_web(read_settings(json.loads(sys.argv[1])))
"""
BARE: Final = """
import asyncio, collections, hmac, sys, typing, uvicorn
from msgspec import json
from app.web.server import Server, listen

Head = typing.TypedDict("Head", {"sha": str})
Pull = typing.TypedDict("Pull", {"number": int, "draft": bool, "head": Head})
Numbered = typing.TypedDict("Numbered", {"id": int})
Body = typing.TypedDict(
    "Body", {"action": str, "installation": Numbered, "repository": Numbered, "pull_request": Pull}
)
slim = json.Decoder(Body)

class Redis(asyncio.Protocol):
    def __init__(self):
        self.waiting = collections.deque()

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        assert not data.startswith(b"-"), data
        for _ in range(data.count(b"\\n")):
            self.waiting.popleft().set_result(None)

    async def lpush(self, value):
        answered = asyncio.get_running_loop().create_future()
        self.waiting.append(answered)
        self.transport.write(b"*3\\r\\n$5\\r\\nLPUSH\\r\\n$4\\r\\nbare\\r\\n$%d\\r\\n%s\\r\\n" % (len(value), value))
        await answered

redis = None

async def app(scope, receive, send):
    global redis
    if redis is None:
        _, redis = await asyncio.get_running_loop().create_unix_connection(Redis, sys.argv[2])
    chunks, more = [], True
    while more:
        message = await receive()
        chunks.append(message.get("body", b""))
        more = message.get("more_body", False)
    body = b"".join(chunks)
    signed = b"sha256=" + hmac.digest(sys.argv[1].encode(), body, "sha256").hex().encode()
    assert hmac.compare_digest(dict(scope["headers"])[b"x-hub-signature-256"], signed)
    await redis.lpush(json.encode(slim.decode(body)))
    await send({"type": "http.response.start", "status": 202, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"{}"})

config = uvicorn.Config(
    app, http="httptools", loop="uvloop", ws="none", lifespan="off", log_config=None, access_log=False, server_header=False,
    proxy_headers=False,
)
Server(config, None).run(sockets=[listen("127.0.0.1", 0)])
"""


def delivery(number: int) -> bytes:
    """A body as big as GitHub's usual one: mostly addresses that no part of the product reads."""
    head, author = {"sha": f"{number:040x}", "ref": "copilot/fix-uploads"}, {"login": "Copilot", "type": "Bot"}
    text = {"title": "Fix uploads", "body": "Closes #7.\n\n" + "It retries what failed. " * 40, "state": "open"}
    links = {f"link_{at}_url": f"https://api.github.com/repos/acme/widgets/link{{/{at}}}" for at in range(490)}
    pull = {"number": number, "draft": False, "head": head, "user": author, **text, "links": links}
    about = {"installation": {"id": 1}, "repository": {"id": 7, "full_name": "acme/widgets"}, "sender": author}
    return json.dumps({"action": "synchronize", **about, "pull_request": pull}).encode().ljust(BODY_BYTES)


def signed_requests() -> Iterator[bytes]:
    """Signed deliveries without end, each with an id of its own."""
    bodies = [delivery(number) for number in range(1, PULLS + 1)]
    signed = [(body, hmac.new(SECRET.encode(), body, "sha256").hexdigest()) for body in bodies]
    for turn in count():
        content, digest = signed[turn % PULLS]
        head = (
            "POST /github/webhooks HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
            f"X-GitHub-Event: pull_request\r\nX-GitHub-Delivery: bench-{time.time_ns()}-{turn}\r\n"
            f"X-Hub-Signature-256: sha256={digest}\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        yield head.encode() + content


def is_whole(answer: bytes) -> bool:
    """Whether all of an answer has come."""
    head, ended, content = answer.partition(b"\r\n\r\n")
    length = LENGTH.search(head)
    return bool(ended) and (content.endswith(b"0\r\n\r\n") if length is None else len(content) >= int(length[1]))


class Connection(asyncio.Protocol):
    """One connection: the next request leaves when the answer to the last one has come."""

    def __init__(self, feed: Iterator[bytes]) -> None:
        self.feed = feed
        self.took_ms: list[float] = []
        self.read = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # uvloop's own has all of its methods
        self._send()

    def data_received(self, data: bytes) -> None:
        self.read += data
        if is_whole(self.read) and self.read.startswith(b"HTTP/1.1 20"):
            self.took_ms.append((time.perf_counter() - self.sent_at) * 1000)
            self.read = b""
            self._send()

    def _send(self) -> None:
        request = next(self.feed)
        self.sent_at = time.perf_counter()
        self.transport.write(request)


@dataclass
class Side:
    """One of the servers that take turns: deliveries a second of each round, and the time of each delivery."""

    process: subprocess.Popen[bytes]
    url: str
    cpu_s: float = 0.0
    rates: list[float] = field(default_factory=list[float])
    together_ms: list[float] = field(default_factory=list[float])
    alone_ms: list[float] = field(default_factory=list[float])

    async def turn(self, feed: Iterator[bytes]) -> None:
        before = cpu_seconds([self.process.pid])
        took = await post_for(self.url, feed, TOGETHER, ROUND_S)
        self.cpu_s += cpu_seconds([self.process.pid]) - before
        self.rates.append(len(took) / ROUND_S)
        self.together_ms += took
        self.alone_ms += await post_for(self.url, feed, 1, ALONE_S)

    @property
    def cpu_ms(self) -> float:
        """CPU time of a delivery."""
        return self.cpu_s * 1000 / len(self.together_ms)

    def __str__(self) -> str:
        (t50, t99), (a50, a99) = ((at(took, 0.5), at(took, 0.99)) for took in (self.together_ms, self.alone_ms))
        return (
            f"{statistics.median(self.rates):>7,.0f} deliveries/s; at {TOGETHER} at a time p50 {t50:.1f} ms, p99 {t99:.1f};"
            f" alone p50 {a50:.1f}, p99 {a99:.1f}; CPU {self.cpu_ms:.2f} ms each"
        )


async def post_for(url: str, feed: Iterator[bytes], connections: int, seconds: float) -> list[float]:
    """The time of each delivery of one round, in milliseconds."""
    loop, address = asyncio.get_running_loop(), urlsplit(url)
    made = [Connection(feed) for _ in range(connections)]
    for connection in made:
        await loop.create_connection(lambda protocol=connection: protocol, address.hostname or "", address.port or 0)
    await asyncio.sleep(seconds)
    for connection in made:
        connection.transport.abort()
        assert not is_whole(connection.read), connection.read
    took = [ms for connection in made for ms in connection.took_ms]
    assert took, f"nothing was answered within {seconds} s"
    return took


@contextmanager
def serving(*command: str) -> Generator[Side]:
    """A server that says where it listens on the first line of its output that is JSON."""
    arguments = (sys.executable, "-c", *command)
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        try:
            line = next((line for line in process.stdout if line.startswith(b'{"') and b'"url"' in line), None)
            assert line, "the server ended before it listened"
            yield Side(process, json.loads(line)["url"])
        finally:
            process.terminate()


@contextmanager
def web_server_alone() -> Generator[tuple[Side, str]]:
    """The product's web process with a Redis of its own, and that Redis' address."""
    with (
        tempfile.TemporaryDirectory(prefix="assay-intake-") as folder,
        open_embedded_server(Path(folder), FolderRole.OWNER) as redis_url,
    ):
        environ = {
            "ASSAY_APP_ID": "1",
            "ASSAY_APP_PRIVATE_KEY": "-----BEGIN PRIVATE KEY-----\nnone\n-----END PRIVATE KEY-----",
            "ASSAY_WEBHOOK_SECRET": SECRET,
            "ASSAY_STORE_KEYS": "a2" * 20 + "a2s=",
            "ASSAY_PORT": "0",
            "REDIS_URL": redis_url,
        }
        with serving(OURS, json.dumps(environ)) as ours:
            yield ours, redis_url


def intake(arguments: argparse.Namespace) -> int:
    with web_server_alone() as (ours, redis_url), serving(BARE, SECRET, urlsplit(redis_url).path) as bare:
        at_rest = memory_mib(ours.process.pid, "VmRSS")
        uvloop.run(take_turns([ours, bare], arguments.rounds))
        memory = f"web process: {at_rest:.0f} MiB at rest, {memory_mib(ours.process.pid, 'VmRSS'):.0f} MiB after"
    print(f"{BODY_BYTES / 1024:.0f} KB, signed; {load()}\nours {ours}\nbare {bare}\n{memory}")
    ratio = statistics.median(mine / its for mine, its in zip(ours.rates, bare.rates, strict=True))
    together, alone = (at(took, 0.99) for took in (ours.together_ms, ours.alone_ms))
    by_cpu = bare.cpu_ms / ours.cpu_ms
    return report(
        (
            f"{ratio:.2f} of the bare server (by CPU time {by_cpu:.2f}), at least {LEAST_OF_BARE}",
            ratio >= LEAST_OF_BARE,
        ),
        (f"p99 at {TOGETHER} at a time {together:.1f} ms, at most {MOST_P99_MS:.0f}", together <= MOST_P99_MS),
        (f"p99 alone {alone:.1f} ms, at most {MOST_ALONE_MS:.0f}", alone <= MOST_ALONE_MS),
    )


async def take_turns(sides: Sequence[Side], rounds: int) -> None:
    """Alternate, so that a busy moment hits all. The first round warms up."""
    feed = signed_requests()
    for number in range(rounds + 1):
        for side in sides:
            await side.turn(feed)
            if number == 0:
                side.rates, side.together_ms, side.alone_ms, side.cpu_s = [], [], [], 0.0


def report(*goals: tuple[str, bool]) -> int:
    for text, is_met in goals:
        print(f"{text}: {'met' if is_met else 'MISSED'}")
    return int(not all(is_met for _, is_met in goals))
