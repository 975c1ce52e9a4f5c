"""How much faster `assay bench` is with two processes than with one: `python bench/bench_scaling.py FILE.jsonl[.gz]...`.

Runs the real command over the same files, a few times by turns, and prints the best wall time of each and their ratio.
Goal on two cores: 1.8 or more. Starting and reporting are part of it, so give it files that take half a minute. Where the
machine is busy with other things the wall time says little; so the ratio that the processors' time alone would give is
printed too: what is done once (measured on a run that is finished already), and the rest halved.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ASSAY = Path(sys.executable).with_name("assay")

BUSY = 0.9
"""The share of a core that one process gets at least where nothing else runs."""


class Run(NamedTuple):
    wall: float
    cpu: float


def measured(files: list[str], folder: str, jobs: int) -> Run:
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [ASSAY, "bench", *files, "--tier", "heuristic", "--out", folder, "--jobs", str(jobs)]
    subprocess.run(command, check=True, capture_output=True)
    spent, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Run(spent, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def best_of(runs: list[Run]) -> Run:
    return Run(min(one.wall for one in runs), min(one.cpu for one in runs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    arguments = parser.parse_args()
    runs: dict[str, list[Run]] = {"1 process": [], "2 processes": [], "nothing to judge": []}
    for _ in range(arguments.rounds):
        for jobs, name in ((1, "1 process"), (2, "2 processes")):
            with tempfile.TemporaryDirectory() as folder:
                runs[name].append(measured(arguments.files, folder, jobs))
                runs["nothing to judge"].append(measured(arguments.files, folder, jobs))
    one, two, none = (best_of(kept) for kept in runs.values())
    for name, best in zip(runs, (one, two, none), strict=True):
        print(f"{name}: {best.wall:.1f} s, {best.cpu:.1f} s of processors")
    print(f"ratio: {one.wall / two.wall:.2f} (goal: 1.80 or more on 2 cores; here {os.cpu_count()})")
    print(f"ratio by processors' time: {one.cpu / (none.cpu + (two.cpu - none.cpu) / 2):.2f}")
    if one.cpu < BUSY * one.wall:
        print("One process did not get a core for itself: the machine is busy, and the first ratio says little.")


if __name__ == "__main__":
    main()
