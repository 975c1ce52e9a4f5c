"""What a private Redis was told to write, in order, over all its restarts: its append-only file, read.

Does not interpret. Invariant: what a script changed is here as the plain commands that changed it, and what is here was
written before anybody was answered.
"""

from collections.abc import Iterator
from pathlib import Path

Command = tuple[str, ...]


def read_commands(folder: Path) -> Iterator[Command]:
    """Every write command that took effect, oldest first. *folder* is the server's own."""
    parts = sorted((folder / "appendonlydir").glob("*.incr.aof"), key=lambda path: int(path.name.split(".")[-3]))
    for part in parts:
        yield from _read(part.read_bytes())


def _read(written: bytes) -> Iterator[Command]:
    at = 0
    while at < len(written):
        count, at = _number(written, at)
        words: list[str] = []
        for _ in range(count):
            size, at = _number(written, at)
            words.append(written[at : at + size].decode("latin-1"))
            at += size + 2
        yield tuple(words)


def _number(written: bytes, at: int) -> tuple[int, int]:
    """The number in the line at *at*, behind its `*` or `$`, and where the next line begins."""
    end = written.index(b"\r\n", at)
    return int(written[at + 1 : end]), end + 2
