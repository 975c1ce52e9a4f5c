"""JSON lines, packed with gzip or not, for the small benches."""

import argparse
import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any


def read(path: Path) -> Iterator[dict[str, Any]]:
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return (json.loads(line) for line in raw.split(b"\n") if line)


def two_files(about: str | None, argv: Sequence[str] | None) -> tuple[Path, Path]:
    """What a command line names that is only IN and OUT."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, metavar="IN")
    parser.add_argument("target", type=Path, metavar="OUT")
    arguments = parser.parse_args(argv)
    return arguments.source, arguments.target


def write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    raw = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows).encode()
    path.write_bytes(gzip.compress(raw, mtime=0) if path.suffix == ".gz" else raw)
