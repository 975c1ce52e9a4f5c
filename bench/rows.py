"""JSON lines, packed with gzip or not, for the small benches."""

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any


def read(path: Path) -> Iterator[dict[str, Any]]:
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return (json.loads(line) for line in raw.split(b"\n") if line)


def write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    raw = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows).encode()
    path.write_bytes(gzip.compress(raw, mtime=0) if path.suffix == ".gz" else raw)
