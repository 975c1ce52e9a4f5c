"""What parsing a diff costs beside `git apply --numstat` and the package unidiff: `python bench/parser.py [DIFF]...`.

All in one run and in turn, the least CPU time of each: git's with its start, less the start of a `git` that does nothing.
Without a DIFF it makes its own: long runs of added lines, short hunks, and a mixture. Says so where unidiff is not
installed (`pip install unidiff`), and compares with git alone.
"""

import argparse
import importlib
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.bench.made import LANGUAGES, Size, made_dossier  # noqa: E402 - found from any working directory
from worker.dossier.diff.parser import parse_diff  # noqa: E402 - as above

GOAL_GIT, GOAL_UNIDIFF = 5.0, 6.0
SHAPES = {
    "new code": Size(files=40, kept=0, added=250),
    "small hunks": Size(files=40, kept=800, added=0),
    "mixed": Size(files=160, kept=80, added=30),
}


class Timed(NamedTuple):
    """Least CPU seconds of each."""

    ours: float
    git: float
    unidiff: float | None


def own_seconds(run: Callable[[], object]) -> float:
    started = time.process_time()
    run()
    return time.process_time() - started


def git_seconds(*arguments: str) -> float:
    """CPU time of one git process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["git", *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def unidiff_of() -> Any:
    try:
        return importlib.import_module("unidiff")
    except ImportError:
        return None


def timed(raw: bytes, runs: int) -> Timed:
    unidiff = unidiff_of()
    text = raw.decode("utf-8", "replace")
    with tempfile.NamedTemporaryFile(suffix=".diff") as kept:
        kept.write(raw)
        kept.flush()
        rounds = [
            (
                own_seconds(lambda: parse_diff(raw)),
                git_seconds("apply", "--numstat", kept.name),
                git_seconds("version"),
                own_seconds(lambda: unidiff.PatchSet(text)) if unidiff else None,
            )
            for _ in range(runs)
        ]
    git = min(one for _, one, _, _ in rounds) - min(one for _, _, one, _ in rounds)
    theirs = min((one for _, _, _, one in rounds if one is not None), default=None)
    return Timed(min(one for one, _, _, _ in rounds), max(git, 1e-4), theirs)


def told(name: str, raw: bytes, times: Timed) -> str:
    lines = raw.count(b"\n")
    text = (
        f"{name}: {len(raw) / 1e6:.1f} MB, {lines} lines: {times.ours * 1e3:.0f} ms, {times.ours / lines * 1e9:.0f} ns a line;"
        f" git apply --numstat {times.git * 1e3:.0f} ms: {times.ours / times.git:.1f}x (goal: at most {GOAL_GIT:.0f}x)"
    )
    if times.unidiff is None:
        return f"{text}; unidiff is not installed, so nothing is said about it"
    return f"{text}; unidiff {times.unidiff * 1e3:.0f} ms: {times.unidiff / times.ours:.1f}x faster (goal: {GOAL_UNIDIFF:.0f}x)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("diffs", nargs="*", type=Path, metavar="DIFF")
    parser.add_argument("--runs", type=int, default=25)
    arguments = parser.parse_args()
    given = {path.name: path.read_bytes() for path in arguments.diffs}
    made = (
        {}
        if given
        else {name: made_dossier(LANGUAGES, size, whole=False).diff.encode() for name, size in SHAPES.items()}
    )
    for name, raw in (given or made).items():
        print(told(name, raw, timed(raw, arguments.runs)))


if __name__ == "__main__":
    main()
