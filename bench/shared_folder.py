"""Runs several `assay` together on one data folder, and counts those that lost its Redis.

    .venv/bin/python bench/shared_folder.py [runs] [--together 4]

Each run is `assay stats` in a process of its own. A server is started and stopped again and again, since a run that is alone for a
moment stops it. Prints `lost: N of RUNS`, and what each lost run said; exits 1 where one was lost.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

STATS = (str(Path(sys.executable).with_name("assay")), "stats")


def lost_runs(folder: Path, runs: int, together: int, command: Sequence[str] = STATS) -> list[str]:
    """What those said that did not end as they should."""
    environ = {**os.environ, "REDIS_URL": "", "ASSAY_DATA_DIR": str(folder)}  # noqa: TID251 - the caller's, but for these

    def run(_: int) -> str:
        done = subprocess.run(command, env=environ, check=False, capture_output=True, text=True)
        return f"exit {done.returncode}: {done.stderr.strip()}" if done.returncode else ""

    with ThreadPoolExecutor(together) as threads:
        return [words for words in threads.map(run, range(runs)) if words]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="?", type=int, default=100)
    parser.add_argument("--together", type=int, default=4)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        lost = lost_runs(Path(folder) / "data", arguments.runs, arguments.together)
    print("\n".join([*lost, f"lost: {len(lost)} of {arguments.runs}"]))
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
