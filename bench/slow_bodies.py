"""How much memory the door takes while many send it bodies that never end, under wrong signatures; and whether it serves GitHub meanwhile.

    .venv/bin/python bench/slow_bodies.py [connections] [--kilobytes 100]

The door is a process of its own with a real Redis. Each connection sends a head that announces one byte more than it sends. Signed
deliveries of 36 KB come in between. Prints the most resident memory, what that is over the memory at rest, and how the deliveries
went; exits 1 where memory grew by more than GROWS_MIB, a delivery was refused, or the door died.
"""

import argparse
import asyncio
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.door import OURS, SECRET, is_whole, requests, server  # noqa: E402 - found from any working directory
from bench.stage import at, load  # noqa: E402 - as above
from worker.adapters.redis.embedded_server import FolderRole, open_embedded_server  # noqa: E402 - as above

GROWS_MIB = 40
SENT_IN_S = 10.0
READ_AHEAD = 4096
TOGETHER = 100
"""How many connect at a time."""
PEAK = re.compile(r"VmHWM:\s+(\d+) kB")


def peak_mib(process: int) -> float:
    """The most resident memory that a process has had."""
    found = PEAK.search(Path(f"/proc/{process}/status").read_text(encoding="ascii"))
    assert found, "the door died"
    return int(found[1]) / 1024


def unfinished(kilobytes: int) -> bytes:
    size = kilobytes * 1024
    head = (
        "POST /github/webhooks HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nX-GitHub-Event: push\r\n"
        f"X-GitHub-Delivery: slow\r\nX-Hub-Signature-256: sha256={'0' * 64}\r\nContent-Length: {size + 1}\r\n\r\n"
    )
    return head.encode() + b"x" * size


async def hold(place: tuple[str, int], sent: bytes, turns: asyncio.Semaphore, is_over: asyncio.Event) -> None:
    """Send all but the end of a body, and keep the connection until the door ends it or all is over."""
    try:
        async with turns:
            reader, writer = await asyncio.open_connection(*place, limit=READ_AHEAD)
            writer.transport.set_write_buffer_limits(0)
            writer.write(sent)
            await asyncio.wait_for(writer.drain(), SENT_IN_S)
        waits = [asyncio.ensure_future(reader.read()), asyncio.ensure_future(is_over.wait())]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        writer.close()
    except (OSError, TimeoutError):
        return  # the door ended it or reads no more of it, which it may


async def deliver(place: tuple[str, int], feed: Iterator[bytes], until: asyncio.Event) -> tuple[list[float], list[str]]:
    """Signed deliveries, one after the other. What each took in ms, and the answers of those that were refused."""
    took, refused = list[float](), list[str]()
    while not until.is_set():
        began = time.perf_counter()
        reader, writer = await asyncio.open_connection(*place)
        writer.write(next(feed))
        answer = b""
        while not is_whole(answer) and (part := await reader.read(65536)):
            answer += part
        writer.close()
        if answer.startswith(b"HTTP/1.1 202"):
            took.append((time.perf_counter() - began) * 1000)
        else:
            refused.append(answer.decode(errors="replace") or "the connection was closed")
        await asyncio.sleep(0.05)
    return took, refused


async def attack(url: str, connections: int, kilobytes: int) -> tuple[list[float], list[str]]:
    """All connections, and the deliveries in between."""
    parts = urlsplit(url)
    place = (parts.hostname or "", parts.port or 0)
    is_over, turns = asyncio.Event(), asyncio.Semaphore(TOGETHER)
    delivering = asyncio.create_task(deliver(place, requests(), is_over))
    sent = unfinished(kilobytes)
    holding = [asyncio.create_task(hold(place, sent, turns, is_over)) for _ in range(connections)]
    await asyncio.sleep(0)
    await turns.acquire()  # behind all others: they have sent what they send
    is_over.set()
    await asyncio.gather(*holding)
    return await delivering


def measure(connections: int, kilobytes: int) -> tuple[float, float, list[float], list[str]]:
    """Memory at rest and at most, in MiB, and how the deliveries went."""
    with (
        tempfile.TemporaryDirectory(prefix="assay-slow-") as folder,
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
        with server(sys.executable, "-c", OURS, json.dumps(environ)) as (door, url):
            before = peak_mib(door.pid)
            took, refused = asyncio.run(attack(url, connections, kilobytes))
            return before, peak_mib(door.pid), took, refused


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("connections", type=int, nargs="?", default=5000)
    parser.add_argument("--kilobytes", type=int, default=100)
    arguments = parser.parse_args()
    before, most, took, refused = measure(arguments.connections, arguments.kilobytes)
    print(f"{arguments.connections} unfinished bodies of {arguments.kilobytes} KB; {load()}")
    print(f"memory: {before:.0f} MiB at rest, {most:.0f} MiB at most: {most - before:.0f} MiB more (goal: {GROWS_MIB})")
    print(
        f"signed deliveries: {len(took)} taken, p50 {at(took, 0.5):.0f} ms, p99 {at(took, 0.99):.0f} ms; {len(refused)} refused"
    )
    print("\n".join(sorted(set(refused))))
    return int(most - before > GROWS_MIB or bool(refused) or not took)


if __name__ == "__main__":
    sys.exit(main())
