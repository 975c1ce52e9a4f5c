"""What the heuristic tier costs on made changes of any size: `python bench/cost.py [--quick] [--plot FILE.png]`.

For each language, with and without whole files: 10 files (goal 50 ms), 300 files (1 s), a diff of 5 MB (3 s, and ten times
the diff in memory), and how the time grows with the diff: the exponent of a log-log fit, 1 where it is linear. CPU time,
imports and what a worker loads before its first job not counted; the first judging of a process is told apart, and of those after it
the least counts.
`--profile [FILE.jsonl[.gz] ...]` says instead which signal and which shared analysis costs what, on recorded dossiers or
on a made change.
"""

import argparse
import functools
import gc
import gzip
import importlib
import json
import math
import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.bench.made import LANGUAGES, Size, made_dossier  # noqa: E402 - found from any working directory
from worker.domain.dossier.dossier import Dossier  # noqa: E402 - as above
from worker.domain.pattern import compile_patterns  # noqa: E402 - as above
from worker.domain.verdict.verdict import Finding  # noqa: E402 - as above
from worker.dossier.assemble import complete_dossier  # noqa: E402 - as above
from worker.dossier.diff.parser import diff_of  # noqa: E402 - as above
from worker.judge.rubric import load_rubric  # noqa: E402 - as above
from worker.process_limits import collect_rarely  # noqa: E402 - as above
from worker.signals.analysis import syntax  # noqa: E402 - as above
from worker.signals.analysis.change import CodeChange, Memoized  # noqa: E402 - as above
from worker.signals.analysis.file_roles import Language  # noqa: E402 - as above
from worker.signals.heuristic_opinion import form_opinion  # noqa: E402 - as above
from worker.signals.signal import Signal  # noqa: E402 - as above

FEW, MANY = Size(files=10), Size(files=300)
GOALS = {"10 files": 0.05, "300 files": 1.0, "5 MB": 3.0}
MEMORY_GOAL = 10.0
REPEATED = 5
"""The least of so many counts: whoever else is on the machine only ever makes a judging slower."""
LARGE = 5_000_000
STEPS = (10, 30, 100, 300, 1000)


class Cost(NamedTuple):
    """Of one judging: CPU seconds at first and again, and the memory it needed beside the dossier."""

    first: float
    again: float
    diff_bytes: int
    memory_bytes: int


class Row(NamedTuple):
    name: str
    language: str
    whole: bool
    cost: Cost


def large(language: str) -> Size:
    """As many files as make a diff of 5 MB."""
    few = made_dossier([language], Size(files=10, kept=8, added=20), whole=False)
    return Size(files=math.ceil(LARGE / len(few.diff) * 10), kept=8, added=20)


def cost_of(language: str, size: Size, *, whole: bool, runs: int) -> Cost:
    """Measured in a process of its own, so that no other judging left anything behind."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(_measured, (language, size, whole, runs))


def _measured(language: str, size: Size, whole: bool, runs: int) -> Cost:  # noqa: FBT001 - called through a pool
    rubric = load_rubric()
    compile_patterns()
    collect_rarely()
    dossier = made_dossier([language], size, whole=whole)
    before = _held_now()
    first, *again = [_timed(dossier, rubric) for _ in range(runs + 1)]
    return Cost(first, min(again, default=first), len(dossier.diff), max(0, _memory("VmHWM") - before))


def _timed(dossier: Dossier, rubric: Any) -> float:
    diff_of.cache_clear()
    started = time.process_time()
    form_opinion(dossier, rubric)
    return time.process_time() - started


def _held_now() -> int:
    """What the process holds; its peak counts from here, so that the making of the dossier does not hide the judging."""
    gc.collect()
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _memory("VmRSS")


def _memory(kind: str) -> int:
    """VmRSS, or the most of it (VmHWM), in bytes; 0 where the system does not tell."""
    with suppress(OSError):
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return 1024 * int(status.partition(f"{kind}:")[2].split()[0])
    return 0


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """The slope of the fitted line through the logarithms: 1 is linear, 2 quadratic."""
    logs = [(math.log(x), math.log(y)) for x, y in points]
    return statistics.linear_regression([x for x, _ in logs], [y for _, y in logs]).slope


def measured_sizes(languages: Sequence[str], *, quick: bool) -> Iterator[Row]:
    for language in languages:
        for whole in (True, False):
            yield Row("10 files", language, whole, cost_of(language, FEW, whole=whole, runs=REPEATED))
            yield Row("300 files", language, whole, cost_of(language, MANY, whole=whole, runs=REPEATED))
            if not quick:
                yield Row("5 MB", language, whole, cost_of(language, large(language), whole=whole, runs=0))


def told(row: Row) -> str:
    cost, goal = row.cost, GOALS[row.name]
    texts = "whole files" if row.whole else "diff alone"
    line = f"{row.name:9} {row.language:10} {texts:11} {cost.again * 1e3:6.0f} ms (first {cost.first * 1e3:.0f} ms)"
    line += f", goal {goal * 1e3:.0f} ms: {'met' if cost.again <= goal else 'MISSED'}"
    if row.name == "5 MB":
        times = cost.memory_bytes / cost.diff_bytes
        line += (
            f"; {cost.memory_bytes / 1e6:.0f} MB, {times:.1f}x the diff: {'met' if times <= MEMORY_GOAL else 'MISSED'}"
        )
    return line


def growth(languages: Sequence[str]) -> dict[str, list[tuple[float, float]]]:
    """CPU seconds by size of the diff, for each language with whole files."""
    found: dict[str, list[tuple[float, float]]] = {}
    for language in languages:
        for files in STEPS:
            cost = cost_of(language, Size(files=files), whole=True, runs=1)
            found.setdefault(language, []).append((cost.diff_bytes, cost.again))
    return found


def plotted(points: dict[str, list[tuple[float, float]]], path: Path) -> None:
    try:
        plt: Any = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        print(f"{path} is not drawn: matplotlib is not installed")
        return
    figure, axes = plt.subplots(figsize=(7, 4))
    for language, line in points.items():
        axes.loglog([x for x, _ in line], [y for _, y in line], marker="o", label=language)
    axes.set_xlabel("diff, bytes")
    axes.set_ylabel("CPU time, seconds")
    axes.legend()
    figure.savefig(path)
    print(f"drawn: {path}")


class Clock:
    """Own time of whatever runs inside of whatever: what a part spends in other parts is not its own."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self._stack: list[tuple[str, float]] = []

    def timed(self, name: str, run: Callable[[], Any]) -> Any:
        now = time.process_time()
        if self._stack:
            self._charge(now)
        self._stack.append((name, now))
        try:
            return run()
        finally:
            now = time.process_time()
            self._charge(now)
            self._stack.pop()
            if self._stack:
                self._stack[-1] = (self._stack[-1][0], now)

    def _charge(self, now: float) -> None:
        name, since = self._stack[-1]
        self.spent[name] = self.spent.get(name, 0.0) + now - since


def profiled(dossiers: Sequence[Dossier], top: int) -> None:
    """Own CPU time of each signal and of each analysis that signals share, over all dossiers."""
    clock = Clock()
    rubric = load_rubric()
    compile_patterns()
    with watched(clock):
        for dossier in dossiers:
            diff_of.cache_clear()
            clock.timed("(reading the diff, weighing, what is safe)", functools.partial(form_opinion, dossier, rubric))
    total = sum(clock.spent.values())
    print(f"{len(dossiers)} dossiers, {total:.2f} s, {total / len(dossiers) * 1e3:.1f} ms each; own time:")
    for name, spent in sorted(clock.spent.items(), key=lambda one: -one[1])[:top]:
        print(f"  {spent / total:6.1%} {spent / len(dossiers) * 1e3:8.3f} ms  {name}")


@contextmanager
def watched(clock: Clock) -> Generator[None]:
    """While it is open, each signal, each analysis that is shared and each parsing is timed by its name."""
    findings, parse = Signal.findings, syntax.parse

    def timed_look(remember: Callable[[Any, Any], Any]) -> Callable[[Any, Callable[[Any], Any]], Any]:
        def timed(self: Memoized, look: Callable[[Any], Any]) -> Any:
            module = look.__module__.rpartition("heuristics.")[2]
            return clock.timed(f"shared {module}.{look.__name__}", lambda: remember(self, look))

        return timed

    def timed_findings(self: Signal, change: CodeChange) -> Iterator[Finding]:
        return iter(clock.timed(f"signal {self.name}", lambda: list(findings(self, change))))

    def timed_parse(text: str, language: Language) -> Any:
        return clock.timed(f"parsing {language}", lambda: parse(text, language))

    with ExitStack() as stack:
        for owner, name, timed in (
            (Memoized, "once", timed_look(Memoized.cached)),
            (CodeChange, "meanwhile", timed_look(CodeChange.cached_for_family)),
            (Signal, "findings", timed_findings),
            (syntax, "parse", timed_parse),
        ):
            stack.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, timed)
        yield


def recorded(paths: Sequence[Path], most: int) -> list[Dossier]:
    rows = (line for path in paths for line in islice(_lines(path), most))
    return [complete_dossier(Dossier.model_validate(json.loads(row)["dossier"])) for row in rows]


def _lines(path: Path) -> Iterator[bytes]:
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return (line for line in raw.split(b"\n") if line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--language", action="append", choices=LANGUAGES)
    parser.add_argument("--quick", action="store_true", help="leave out the diff of 5 MB")
    parser.add_argument("--plot", type=Path, metavar="FILE.png")
    parser.add_argument("--profile", nargs="*", type=Path, metavar="FILE.jsonl[.gz]")
    parser.add_argument("--most", type=int, default=200, help="dossiers of each file that --profile looks at")
    parser.add_argument("--top", type=int, default=40)
    arguments = parser.parse_args()
    languages = arguments.language or LANGUAGES
    if arguments.profile is not None:
        made = [made_dossier(languages, Size(files=60), whole=True)]
        profiled(recorded(arguments.profile, arguments.most) or made, arguments.top)
        return
    for row in measured_sizes(languages, quick=arguments.quick):
        print(told(row), flush=True)
    points = growth(languages)
    for language, line in points.items():
        print(
            f"growth {language:10} exponent {exponent(line):.2f} over {len(line)} sizes up to {line[-1][0] / 1e6:.1f} MB"
        )
    if arguments.plot is not None:
        plotted(points, arguments.plot)


if __name__ == "__main__":
    main()
