"""Reads the commands that a Redis server wrote to its append-only file, over all restarts."""

from collections.abc import Iterator
from pathlib import Path

Command = tuple[str, ...]


def read_commands(folder: Path) -> Iterator[Command]:
    """Write commands, oldest first; *folder* is the server's own."""
    parts = sorted((folder / "appendonlydir").glob("*.incr.aof"), key=lambda path: int(path.name.split(".")[-3]))
    for part in parts:
        yield from _read(part.read_bytes())


def _read(content: bytes) -> Iterator[Command]:
    at = 0
    while at < len(content):
        count, at = _number(content, at)
        arguments: list[str] = []
        for _ in range(count):
            size, at = _number(content, at)
            arguments.append(content[at : at + size].decode("latin-1"))
            at += size + 2
        yield tuple(arguments)


def _number(content: bytes, at: int) -> tuple[int, int]:
    """The number at *at*, behind its `*` or `$`, and the position of the next line."""
    end = content.index(b"\r\n", at)
    return int(content[at + 1 : end]), end + 2
