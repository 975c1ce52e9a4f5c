"""How many deliveries a second the door takes in, and how soon, as ratios against others in the same run.

    python bench/door.py [rounds]

Ours verifies the signature of a body of 36 KB, reads it, writes the request into a real Redis (append-only file, synced every
second) and logs a line. The limit is a bare ASGI app on uvicorn with the same settings that does an HMAC, a slim parse and one
LPUSH into the same Redis, each with the fastest means that ours has. Each is a process of its own on
loopback; they take turns, a second at 16 at a time and half of one alone. Prints the medians of the rates, the goals (at least
half of the limit: medians of the turns' own ratios; p99 within 15 ms at 16 at a time and 5 ms alone), what CPU
time a delivery takes, which says nearly the same on a machine that has other things to do, how busy each was and whoever sends (a
limit is one only where that one waits), and the web process's resident memory.
"""

import argparse
import asyncio
import hmac
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import uvloop

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.stage import at, load  # noqa: E402 - found from any working directory
from worker.adapters.redis import keys  # noqa: E402 - as above
from worker.adapters.redis.client import RedisClient, whole  # noqa: E402 - as above
from worker.adapters.redis.embedded_server import FolderRole, open_embedded_server  # noqa: E402 - as above
from worker.domain.ids import InstallationId  # noqa: E402 - as above

SECRET = "bench"  # noqa: S105 - played
BODY_BYTES, PULLS, TOGETHER = 36 * 1024, 200, 16
ROUND_S, ALONE_S = 1.0, 0.5
TICKS_S = os.sysconf("SC_CLK_TCK")
OF_LIMIT, P99_MS, P99_ALONE_MS = 0.5, 15.0, 5.0
LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)

OURS = """
import json, sys
from app.web.asgi import run_web
from worker.settings import read_settings
run_web(read_settings(json.loads(sys.argv[1])))
"""
BARE = """
import asyncio, collections, hmac, sys, typing, uvicorn
from msgspec import json
from app.web.asgi import Server, listen

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
Server(config).run(sockets=[listen("127.0.0.1", 0)])
"""


def body(number: int) -> bytes:
    """A delivery as big as GitHub's usual one: mostly addresses that nobody reads."""
    head, author = {"sha": f"{number:040x}", "ref": "copilot/fix-uploads"}, {"login": "Copilot", "type": "Bot"}
    said = {"title": "Fix uploads", "body": "Closes #7.\n\n" + "It retries what failed. " * 40, "state": "open"}
    pull = {"number": number, "draft": False, "head": head, "user": author, **said}
    about = {"installation": {"id": 1}, "repository": {"id": 7, "full_name": "acme/widgets"}, "sender": author}
    read = {"action": "synchronize", **about}
    links = {f"link_{at}_url": f"https://api.github.com/repos/acme/widgets/link{{/{at}}}" for at in range(490)}
    return json.dumps({**read, "pull_request": {**pull, "links": links}}).encode().ljust(BODY_BYTES)


def requests() -> Iterator[bytes]:
    """Signed deliveries without end, each with an id of its own."""
    bodies = [body(number) for number in range(1, PULLS + 1)]
    signed = [(one, hmac.new(SECRET.encode(), one, "sha256").hexdigest()) for one in bodies]
    for turn in count():
        content, digest = signed[turn % PULLS]
        head = (
            "POST /github/webhooks HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
            f"X-GitHub-Event: pull_request\r\nX-GitHub-Delivery: bench-{time.time_ns()}-{turn}\r\n"
            f"X-Hub-Signature-256: sha256={digest}\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        yield head.encode() + content


class Sender(asyncio.Protocol):
    """One connection: the next request goes out when the answer to the last one came."""

    def __init__(self, feed: Iterator[bytes]) -> None:
        self.feed = feed
        self.took_ms: list[float] = []
        self.read = b""
        self.failure: bytes | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # uvloop's own has all of its methods
        self._send()

    def data_received(self, data: bytes) -> None:
        self.read += data
        if not is_whole(self.read):
            return
        if not self.read.startswith(b"HTTP/1.1 20"):
            self.failure = self.read
            return
        self.took_ms.append((time.perf_counter() - self.sent_at) * 1000)
        self.read = b""
        self._send()

    def _send(self) -> None:
        request = next(self.feed)
        self.sent_at = time.perf_counter()
        self.transport.write(request)


def is_whole(answer: bytes) -> bool:
    """Whether all of an answer is there."""
    head, ended, content = answer.partition(b"\r\n\r\n")
    length = LENGTH.search(head)
    return bool(ended) and (content.endswith(b"0\r\n\r\n") if length is None else len(content) >= int(length[1]))


@dataclass
class Side:
    """One of those that take turns: deliveries a second of each round, and what each delivery took."""

    name: str
    process: int
    url: str
    cpu_s: float = 0.0
    clients_s: float = 0.0
    took_s: float = 0.0
    rates: list[float] = field(default_factory=list[float])
    together_ms: list[float] = field(default_factory=list[float])
    alone_ms: list[float] = field(default_factory=list[float])

    @property
    def rate(self) -> float:
        return statistics.median(self.rates)

    async def turn(self, feed: Iterator[bytes]) -> None:
        """Some time at 16 at a time, then some alone."""
        before, client, begun = cpu_s(self.process), time.process_time(), time.perf_counter()
        took = await load_of(self.url, feed, TOGETHER, ROUND_S)
        self.cpu_s += cpu_s(self.process) - before
        self.clients_s += time.process_time() - client
        self.took_s += time.perf_counter() - begun
        self.rates.append(len(took) / ROUND_S)
        self.together_ms += took
        self.alone_ms += await load_of(self.url, feed, 1, ALONE_S)

    @property
    def cpu_ms(self) -> float:
        """Of a delivery."""
        return self.cpu_s * 1000 / len(self.together_ms)

    def ratio(self, other: "Side") -> float:
        """Of the rates, turn by turn."""
        return statistics.median(mine / its for mine, its in zip(self.rates, other.rates, strict=True))

    def __str__(self) -> str:
        together, alone = self.together_ms, self.alone_ms
        return (
            f"{self.name:<20} {self.rate:>7,.0f} deliveries/s; at {TOGETHER} at a time p50 {at(together, 0.5):.1f} ms, "
            f"p99 {at(together, 0.99):.1f}; alone p50 {at(alone, 0.5):.1f}, p99 {at(alone, 0.99):.1f}; "
            f"CPU {self.cpu_ms:.2f} ms each; {self.cpu_s / self.took_s:.0%} busy, whoever sends {self.clients_s / self.took_s:.0%}"
        )


def cpu_s(process: int) -> float:
    """CPU time of a process, of all its threads."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return sum(int(ticks) for ticks in fields[11:13]) / TICKS_S


async def load_of(url: str, feed: Iterator[bytes], connections: int, seconds: float) -> list[float]:
    """What each delivery of one round took, in milliseconds."""
    loop, place = asyncio.get_running_loop(), urlsplit(url)
    host, port = place.hostname or "", place.port or 0
    senders = [Sender(feed) for _ in range(connections)]
    for sender in senders:
        await loop.create_connection(lambda made=sender: made, host, port)
    await asyncio.sleep(seconds)
    for sender in senders:
        sender.transport.abort()
        assert sender.failure is None, sender.failure
    took = [took for sender in senders for took in sender.took_ms]
    assert took, f"nothing was answered within {seconds} s"
    return took


@contextmanager
def server(
    *command: str, folder: Path = ROOT, environ: dict[str, str] | None = None
) -> Generator[tuple[subprocess.Popen[bytes], str]]:
    """A server that says where it listens on the first line of its output that is JSON."""
    with subprocess.Popen(
        command, cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        try:
            line = next((line for line in process.stdout if line.startswith(b'{"') and b'"url"' in line), None)
            assert line, f"{command[0]} ended at once"
            yield process, json.loads(line)["url"]
        finally:
            process.terminate()


def resident_mib(process: subprocess.Popen[bytes]) -> float:
    return int(subprocess.check_output(["ps", "-o", "rss=", "-p", str(process.pid)])) / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rounds", type=int, nargs="?", default=8)
    arguments = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="assay-door-")))
        redis_url = stack.enter_context(open_embedded_server(folder, FolderRole.OWNER))
        environ = {
            "ASSAY_APP_ID": "1",
            "ASSAY_APP_PRIVATE_KEY": "-----BEGIN PRIVATE KEY-----\nnone\n-----END PRIVATE KEY-----",
            "ASSAY_WEBHOOK_SECRET": SECRET,
            "ASSAY_STORE_KEYS": "a2" * 20 + "a2s=",
            "ASSAY_PORT": "0",
            "REDIS_URL": redis_url,
        }
        run = (sys.executable, "-c")
        bare, bare_url = stack.enter_context(server(*run, BARE, SECRET, urlsplit(redis_url).path))
        ours, ours_url = stack.enter_context(server(*run, OURS, json.dumps(environ)))
        sides = [Side("door", ours.pid, ours_url), Side("bare limit", bare.pid, bare_url)]
        before = resident_mib(ours)
        uvloop.run(measure(sides, arguments.rounds))
        taken = whole(RedisClient(redis_url, 5.0).call("ZCARD", keys.due(InstallationId(1)).name))
        assert taken == PULLS, f"{taken} of {PULLS} pull requests are in the store: not every delivery was ours"
        weight = f"web process: {before:.0f} MiB at rest, {resident_mib(ours):.0f} MiB after"
    return told(sides, weight)


async def measure(sides: list[Side], rounds: int) -> None:
    """They take turns, so that a busy moment hits all. The first round warms up."""
    feed = requests()
    for number in range(rounds + 1):
        for side in sides:
            await side.turn(feed)
            if number == 0:
                side.rates, side.together_ms, side.alone_ms = [], [], []
                side.cpu_s = side.clients_s = side.took_s = 0.0


def told(sides: list[Side], weight: str) -> int:
    ours, bare = sides
    print(f"{BODY_BYTES / 1024:.0f} KB, signed; {load()}")
    print("\n".join(map(str, sides)), weight, sep="\n")
    ratio = ours.ratio(bare)
    text = f"{ratio:.2f} of the limit (by CPU time alone {bare.cpu_ms / ours.cpu_ms:.2f})"
    goals = [(text, f"at least {OF_LIMIT}", ratio >= OF_LIMIT)]
    for name, took, limit, most in (
        (f"p99 at {TOGETHER} at a time", at(ours.together_ms, 0.99), at(bare.together_ms, 0.99), P99_MS),
        ("p99 alone", at(ours.alone_ms, 0.99), at(bare.alone_ms, 0.99), P99_ALONE_MS),
    ):
        text = f"{name}: {took:.1f} ms, {took / limit:.1f} times the limit's"
        goals.append((text, f"at most {most:.0f} ms", took <= most))
    for name, goal, is_met in goals:
        print(f"{name} ({goal}): {'met' if is_met else 'MISSED'}")
    return int(not all(is_met for *_, is_met in goals))


if __name__ == "__main__":
    sys.exit(main())
