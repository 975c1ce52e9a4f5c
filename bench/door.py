"""How many deliveries a second the door takes in, as a ratio against a bare uvicorn app in the same run.

    .venv/bin/python bench/door.py [rounds]

Ours verifies the signature of a 38 KB body, reads it, writes the request into a real Redis and logs a line;
the bare app reads the same body and answers 202. Both run in a process of their own, with httptools and uvloop,
on loopback. Prints the medians of alternating rounds of a second each, and the web process's resident memory.
"""

import asyncio
import hmac
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import uvloop

from worker.store.embedded import Role, embedded

ROOT = Path(__file__).resolve().parent.parent
SECRET = "bench"  # noqa: S105 - played
BODY_BYTES, PULLS, CONNECTIONS, ROUND_S = 38_000, 200, 16, 1.0
LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)

OURS = """
import json, sys
from app.asgi import run_web
from worker.settings import read_settings
run_web(read_settings(json.loads(sys.argv[1])))
"""
BARE = """
import json, sys, uvicorn
from app.asgi import Server, listen

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        return
    more = True
    while more:
        more = (await receive()).get("more_body", False)
    await send({"type": "http.response.start", "status": 202, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"{}"})

config = uvicorn.Config(app, http="httptools", loop="uvloop", lifespan="off", log_config=None, access_log=False)
Server(config).run(sockets=[listen("127.0.0.1", 0)])
"""


def body(number: int) -> bytes:
    """A delivery as big as GitHub's usual one: mostly addresses that nobody reads."""
    pull = {"number": number, "draft": False, "head": {"sha": f"{number:040x}"}}
    read = {"action": "synchronize", "installation": {"id": 1}, "repository": {"id": 7, "full_name": "acme/widgets"}}
    links = {f"link_{at}_url": f"https://api.github.com/repos/acme/widgets/link{{/{at}}}" for at in range(560)}
    return json.dumps({**read, "pull_request": {**pull, "links": links}}).encode().ljust(BODY_BYTES)


def requests() -> Iterator[bytes]:
    """Signed deliveries without end, each with an id of its own."""
    bodies = [body(number) for number in range(1, PULLS + 1)]
    signed = [(one, hmac.new(SECRET.encode(), one, "sha256").hexdigest()) for one in bodies]
    for at in count():
        content, digest = signed[at % PULLS]
        head = (
            "POST /github/webhooks HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
            f"X-GitHub-Event: pull_request\r\nX-GitHub-Delivery: bench-{time.time_ns()}-{at}\r\n"
            f"X-Hub-Signature-256: sha256={digest}\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        yield head.encode() + content


class Sender(asyncio.Protocol):
    """One connection: the next request goes out when the answer to the last one came."""

    def __init__(self, feed: Iterator[bytes]) -> None:
        self.feed = feed
        self.answered = 0
        self.read = b""
        self.failure: bytes | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # uvloop's own has all of its methods
        self.transport.write(next(self.feed))

    def data_received(self, data: bytes) -> None:
        self.read += data
        head, ended, content = self.read.partition(b"\r\n\r\n")
        length = LENGTH.search(head)
        if not ended or length is None or len(content) < int(length[1]):
            return
        if not head.startswith(b"HTTP/1.1 202"):
            self.failure = self.read
            return
        self.read = b""
        self.answered += 1
        self.transport.write(next(self.feed))


async def load(url: str, feed: Iterator[bytes]) -> float:
    """Deliveries a second over one round."""
    loop, place = asyncio.get_running_loop(), urlsplit(url)
    host, port = place.hostname or "", place.port or 0
    senders = [Sender(feed) for _ in range(CONNECTIONS)]
    for sender in senders:
        await loop.create_connection(lambda made=sender: made, host, port)
    started = loop.time()
    await asyncio.sleep(ROUND_S)
    answered, seconds = sum(sender.answered for sender in senders), loop.time() - started
    for sender in senders:
        sender.transport.abort()
        assert sender.answered, sender.failure
        assert sender.failure is None, sender.failure
    return answered / seconds


@contextmanager
def server(program: str, *arguments: str) -> Generator[tuple[subprocess.Popen[bytes], str]]:
    command = [sys.executable, "-c", program, *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        try:
            yield process, json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()


def resident_mib(process: subprocess.Popen[bytes]) -> float:
    return int(subprocess.check_output(["ps", "-o", "rss=", "-p", str(process.pid)])) / 1024


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="assay-door-")))
        redis_url = stack.enter_context(embedded(folder, Role.OWNER))
        environ = {
            "ASSAY_APP_ID": "1",
            "ASSAY_APP_PRIVATE_KEY": "-----BEGIN PRIVATE KEY-----\nnone\n-----END PRIVATE KEY-----",
            "ASSAY_WEBHOOK_SECRET": SECRET,
            "ASSAY_STORE_KEYS": "a2" * 20 + "a2s=",
            "ASSAY_PORT": "0",
            "REDIS_URL": redis_url,
        }
        bare, bare_url = stack.enter_context(server(BARE))
        ours, ours_url = stack.enter_context(server(OURS, json.dumps(environ)))
        before = resident_mib(ours)
        rates = uvloop.run(measure(ours_url, bare_url, rounds))
        our_rate, bare_rate = (statistics.median(side) for side in zip(*rates, strict=True))
        print(f"door: {our_rate:,.0f} deliveries/s against {bare_rate:,.0f} bare: {our_rate / bare_rate:.2f}")
        print(
            f"web process: {before:.0f} MiB at rest, {resident_mib(ours):.0f} MiB after (bare {resident_mib(bare):.0f})"
        )


async def measure(ours: str, bare: str, rounds: int) -> list[tuple[float, float]]:
    """Alternate the two, so that a busy moment hits both. The first round warms up."""
    feed = requests()
    rates = [(await load(ours, feed), await load(bare, feed)) for _ in range(rounds + 1)]
    return rates[1:]


if __name__ == "__main__":
    main()
