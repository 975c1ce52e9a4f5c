"""Unfinished bodies, sent to a web process with a real Redis, and signed deliveries in between."""

import asyncio
import time
from typing import Final
from urllib.parse import urlsplit

from bench.intake import is_whole, memory_mib, signed_requests, web_server_alone

GROWS_MIB: Final = 40
SENT_IN_S: Final = 10.0
CONNECTING: Final = 100
"""Concurrent attempts to connect."""


async def hold_open(address: tuple[str, int], sent: bytes, turns: asyncio.Semaphore, is_over: asyncio.Event) -> None:
    """Send all but the end of a body, and keep the connection until the server closes it or the attack is over."""
    try:
        async with turns:
            reader, writer = await asyncio.open_connection(*address, limit=4096)
            writer.transport.set_write_buffer_limits(0)
            writer.write(sent)
            await asyncio.wait_for(writer.drain(), SENT_IN_S)
        waits = [asyncio.ensure_future(reader.read()), asyncio.ensure_future(is_over.wait())]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        writer.close()
    except (OSError, TimeoutError):
        return  # the server may close it or stop reading


async def deliver_meanwhile(address: tuple[str, int], is_over: asyncio.Event) -> tuple[list[float], list[str]]:
    """The times of consecutive signed deliveries in ms, and the answers to refused ones."""
    took, refused, feed = list[float](), list[str](), signed_requests()
    while not is_over.is_set():
        began = time.perf_counter()
        reader, writer = await asyncio.open_connection(*address)
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
    """Hold all connections open, and deliver in between."""
    size = kilobytes * 1024
    head = (
        "POST /github/webhooks HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nX-GitHub-Event: push\r\n"
        f"X-GitHub-Delivery: slow\r\nX-Hub-Signature-256: sha256={'0' * 64}\r\nContent-Length: {size + 1}\r\n\r\n"
    )
    address = (urlsplit(url).hostname or "", urlsplit(url).port or 0)
    is_over, turns = asyncio.Event(), asyncio.Semaphore(CONNECTING)
    delivering = asyncio.create_task(deliver_meanwhile(address, is_over))
    sent = head.encode() + b"x" * size
    holding = [asyncio.create_task(hold_open(address, sent, turns, is_over)) for _ in range(connections)]
    await asyncio.sleep(0)
    await turns.acquire()  # after all others, which have sent by then
    is_over.set()
    await asyncio.gather(*holding)
    return await delivering


def measure_slow(connections: int, kilobytes: int) -> tuple[float, float, list[float], list[str]]:
    """Memory at rest and at its peak in MiB, and what `deliver_meanwhile` returns."""
    with web_server_alone() as (ours, _):
        at_rest = memory_mib(ours.process.pid, "VmHWM")
        took, refused = asyncio.run(attack(ours.url, connections, kilobytes))
        return at_rest, memory_mib(ours.process.pid, "VmHWM"), took, refused
