"""Fuzz the reading of a case's pointers: each is a place, or none."""

import sys
from pathlib import Path
from random import Random
from typing import Final

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.fuzz.mutations import spoiled  # noqa: E402 - found from any working directory
from bench.fuzz.running import Target, run_as_script  # noqa: E402 - as above
from worker.dossier.claim_pointer import read_pointer  # noqa: E402 - as above

POINTERS: Final = (
    b"src/convert.py:12-14",
    b"tests/test_convert.py::TestA::test_b[1-x]",
    b"`a b/c.go` lines 3 to 9",
    b"[x](src/a.ts#L3-L9)",
    b"https://github.com/a/b/blob/main/src/a.rs#L10",
    b"src\\win\\a.cs(12,3)",
    b"see a.py, line 4, and b.py",
)
WORDS: Final = (
    b":",
    b"::",
    b"#L1",
    b"-",
    b"/",
    b"\\",
    b".",
    b"`",
    b"(",
    b")",
    b"line 3",
    b"99999999999999999999",
    b"~",
)


def make(random: Random) -> bytes:
    return spoiled(random.choice(POINTERS), random, WORDS)


def run(raw: bytes) -> None:
    read_pointer(raw.decode("utf-8", "replace"))


TARGET: Final = Target("pointers", make, run)
run_as_script(__name__, TARGET)
