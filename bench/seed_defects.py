"""Inject one known defect each into clean dossiers: `python bench/seed_defects.py IN.jsonl[.gz]... OUT.jsonl.gz`.

Rows are `{"id", "dossier", "expect"}` (docs/dossier.md). A seed is `{"decision": "reject", "category", "difficulty",
"pair": its twin's id, "where", "variant", "also"}`; its twin is the same dossier without the defect. The same input
and --seed give the same output. Categories and variants are kept in balance.
"""

import argparse
import gzip
import io
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.seeding.seeds import Limits, seeded  # noqa: E402 - found from any working directory


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Rows; a row ends at a newline alone, for texts may hold other line ends."""
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return (json.loads(line) for line in raw.split(b"\n") if line)


def clean_rows(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """Each clean change once."""
    rows = [row for path in paths for row in read(path) if row["expect"].get("decision") == "accept"]
    return list({row["id"]: row for row in rows}.values())


def write(path: Path, rows: Iterable[dict[str, Any]]) -> Counter[str]:
    counts = Counter[str]()
    with path.open("wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
        text = io.TextIOWrapper(packed, encoding="utf-8", newline="\n")
        for row in rows:
            text.write(json.dumps(row, ensure_ascii=False) + "\n")
            expect = row["expect"]
            counts[
                f"{expect['category']} {expect['difficulty']} {expect['variant']}" if "category" in expect else "twins"
            ] += 1
        text.flush()
    return counts


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inputs", nargs="+", type=Path, metavar="IN")
    parser.add_argument("out", type=Path, metavar="OUT.jsonl.gz")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--per-change", type=int, default=1, metavar="N", help="at most N seeds of one change")
    parser.add_argument("--per-category", type=int, metavar="N", help="at most N seeds of one category")
    arguments = parser.parse_args(given)
    limits = Limits(arguments.per_change, arguments.per_category)
    counts = write(arguments.out, seeded(clean_rows(arguments.inputs), arguments.seed, limits))
    for name, count in sorted(counts.items()):
        print(f"{count:5} {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
