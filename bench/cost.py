"""What a verdict costs before a model answers: processor time and tokens.

    python -m bench.cost cpu [--quick]         the heuristic tier on made changes, beside `git apply --numstat` of the same diff
    python -m bench.cost tokens FILE...        the question to a model about recorded dossiers, in tokens and dollars

`cpu`: for each language, with and without whole files: 10 files (goal 50 ms), 300 files (1 s), a diff of 5 MB (3 s, and ten times
the diff in memory), and how the time grows with the diff (exponent of a log-log fit, 1 where it is linear). CPU time of a process of
its own, least of five; imports and what a worker loads before its first job do not count.

`tokens`: estimated, a token for each --bytes bytes, since only a paid call counts them. Cost is that of the first question of a
repository, with the whole reserve for the reply. Goals: 12,000 tokens in and $0.003 at the median, $0.01 at p95.
"""

import argparse
import gc
import math
import multiprocessing
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import SecretStr

from tests.bench.generated import LANGUAGES, Size, generate_dossier
from worker.adapters.anthropic import max_output_tokens
from worker.domain.dossier import Dossier
from worker.domain.pattern import compile_patterns
from worker.domain.verdict.budget import BilledTokens, cost_of
from worker.dossier.assemble import complete_dossier
from worker.dossier.diff import DiffError, diff_of, parse_diff
from worker.evaluation.bench.rows import read_lines, read_row
from worker.judge.checks.ci_status import read_ci
from worker.judge.checks.evidence import Places, check_claims
from worker.judge.context import EvidenceBundle
from worker.judge.convergence import PreviousRounds
from worker.judge.llm.prompt import PromptQuestion, build_question
from worker.judge.rubric import load_prompt, load_rubric
from worker.process import collect_rarely
from worker.settings import ModelAccess
from worker.signals.heuristic_opinion import form_opinion

GOALS_S: Final = {"10 files": 0.05, "300 files": 1.0, "5 MB": 3.0}
MOST_MEMORY: Final = 10.0
REPEATED: Final = 5
"""The least of so many counts, since other work on the machine only makes a judging slower."""

LARGE: Final = Size(files=770, kept=8, added=20)
"""A diff of about 5 MB in any language."""

STEPS: Final = (10, 30, 100, 300, 1000)


class Cost(NamedTuple):
    """One judging: CPU seconds of the first, of a later one, of parsing alone and of git, and memory beside the dossier."""

    first: float
    again: float
    parsing: float
    git: float
    diff_bytes: int
    memory_bytes: int


def measure_cpu(language: str, size: Size, *, whole: bool, runs: int) -> Cost:
    """Measure in a process of its own, so that no other judging left anything behind."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measure_judging, (language, size), {"whole": whole, "runs": runs})


def measure_judging(language: str, size: Size, *, whole: bool, runs: int) -> Cost:
    rubric = load_rubric()
    compile_patterns()
    collect_rarely()
    dossier = generate_dossier([language], size, whole=whole)
    raw = dossier.diff.encode()

    def judge() -> None:
        diff_of.cache_clear()
        form_opinion(dossier, rubric)

    before = start_peak()
    first, *again = (cpu_seconds(judge) for _ in range(runs + 1))
    memory = max(0, memory_bytes("VmHWM") - before)
    parsing = min(cpu_seconds(lambda: parse_diff(raw)) for _ in range(runs + 1))
    applied, idle = (min(git_seconds(command, raw) for _ in range(REPEATED)) for command in ("apply", "version"))
    return Cost(first, min(again, default=first), parsing, max(applied - idle, 1e-4), len(raw), memory)


def cpu_seconds(run: Callable[[], object]) -> float:
    started = time.process_time()
    run()
    return time.process_time() - started


def git_seconds(command: str, raw: bytes = b"") -> float:
    """CPU time of one git process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    arguments = ["apply", "--numstat", "-"] if command == "apply" else [command]
    subprocess.run(["git", *arguments], check=True, input=raw, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def start_peak() -> int:
    """What the process holds. Its peak counts from here, so that the making of the dossier does not hide the judging."""
    gc.collect()
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return memory_bytes("VmRSS")


def memory_bytes(kind: str) -> int:
    """VmRSS, or the most of it (VmHWM); 0 where the system does not tell."""
    with suppress(OSError):
        return 1024 * int(Path("/proc/self/status").read_text("ascii").partition(f"{kind}:")[2].split()[0])
    return 0


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """The slope of the fitted line through the logarithms: 1 is linear, 2 quadratic."""
    xs, ys = zip(*((math.log(x), math.log(y)) for x, y in points), strict=True)
    return statistics.linear_regression(xs, ys).slope


def cpu(arguments: argparse.Namespace) -> int:
    missed = 0
    sizes = {"10 files": Size(files=10), "300 files": Size(files=300), "5 MB": LARGE}
    for language in arguments.language or LANGUAGES:
        for name, size in islice(sizes.items(), 2 if arguments.quick else 3):
            for whole in (True, False):
                cost = measure_cpu(language, size, whole=whole, runs=0 if size is LARGE else REPEATED)
                memory = cost.memory_bytes / cost.diff_bytes
                is_met = cost.again <= GOALS_S[name] and (size is not LARGE or memory <= MOST_MEMORY)
                missed += not is_met
                print(
                    f"{name:9} {language:10} {'whole files' if whole else 'diff alone':11} {cost.again * 1e3:6.0f} ms"
                    f" (first {cost.first * 1e3:.0f}), {cost.again / cost.git:.0f} times git apply --numstat, parsing"
                    f" {cost.parsing / cost.git:.1f} times;{f' memory {memory:.1f} times the diff;' if size is LARGE else ''}"
                    f" goal {GOALS_S[name] * 1e3:.0f} ms: {'met' if is_met else 'MISSED'}",
                    flush=True,
                )
        costs = [measure_cpu(language, Size(files=files), whole=True, runs=1) for files in STEPS]
        slope = exponent([(cost.diff_bytes, cost.again) for cost in costs])
        print(f"growth    {language:10} exponent {slope:.2f} up to {costs[-1].diff_bytes / 1e6:.1f} MB", flush=True)
    return int(missed > 0)


MODEL: Final = "claude-haiku-5-5"
ACCESS: Final = ModelAccess(SecretStr("x"), None, MODEL, 120, 3, 1, 8000)
MOST_IN, MOST_MEDIAN, MOST_P95 = 12_000, 0.003, 0.01


class Question(NamedTuple):
    """Bytes of the question and of its system part, the reserve for the reply in tokens, and whether all was shown."""

    size: int
    system: int
    reply: int
    is_whole: bool


def question_of(dossier: Dossier) -> PromptQuestion | None:
    """The real question about a dossier; None where not even the issue fits."""
    diff, places, rubric = diff_of(dossier.diff), Places(dossier), load_rubric()
    claims = check_claims(dossier, diff, places)
    bundle = EvidenceBundle(dossier, diff, places, form_opinion(dossier, rubric), read_ci(dossier.ci), claims)
    return build_question(bundle, PreviousRounds(), rubric, load_prompt(), "bench")


def questions_of(paths: Iterable[Path], most: int) -> Iterator[Question]:
    for path in paths:
        for raw in islice(read_lines(path), most):
            question = None
            with suppress(DiffError):
                question = question_of(complete_dossier(read_row(raw).dossier))
            if question is not None:
                system, reply = len(question.prompt.system.encode()), max_output_tokens(ACCESS, question.prompt)
                yield Question(question.prompt.size, system, reply, question.coverage.is_complete)


def tokens(arguments: argparse.Namespace) -> int:
    rows = list(questions_of(arguments.files, arguments.most))
    per_token: float = arguments.bytes

    def dollars(question: Question, *, is_cached: bool) -> float:
        system, rest = int(question.system / per_token), int((question.size - question.system) / per_token)
        written, read = (0, system) if is_cached else (system, 0)
        price = cost_of(MODEL, BilledTokens(rest, question.reply, written, 0, read))
        assert price is not None, f"{MODEL} has a price"
        return float(price)

    sizes = spread(question.size / per_token for question in rows)
    fresh, cached = (spread(dollars(question, is_cached=flag) for question in rows) for flag in (False, True))
    is_met = sizes[0] <= MOST_IN and fresh[0] <= MOST_MEDIAN and fresh[1] <= MOST_P95
    system, reply = (spread(getattr(question, name) for question in rows)[0] for name in ("system", "reply"))
    whole = sum(question.is_whole for question in rows) / len(rows)
    print(f"{len(rows)} questions, read whole: {whole:.1%}; reserved for the reply: {reply:,} tokens at the median")
    print(
        f"tokens in: {sizes[0]:,.0f} at the median, {sizes[1]:,.0f} at p95; {system / per_token:,.0f} of the system part"
    )
    print(f"dollars: {fresh[0]:.4f} at the median, {fresh[1]:.4f} at p95")
    print(
        f"with the system part from the cache: {cached[0]:.4f} and {cached[1]:.4f}, {cached[0] / fresh[0]:.2f} times that"
    )
    print(f"goals: {'met' if is_met else 'MISSED'}")
    return int(not is_met)


def spread(values: Iterable[float]) -> tuple[float, float]:
    """The median and p95."""
    ordered = sorted(values)
    return ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("cpu")
    command.set_defaults(run=cpu)
    command.add_argument("--language", action="append", choices=LANGUAGES)
    command.add_argument("--quick", action="store_true", help="leave out the diff of 5 MB")
    command = commands.add_parser("tokens")
    command.set_defaults(run=tokens)
    command.add_argument("files", nargs="+", type=Path, metavar="FILE.jsonl[.gz]")
    command.add_argument("--most", type=int, default=100_000, help="dossiers of each file")
    command.add_argument("--bytes", type=float, default=2.9, help="bytes of a token, to estimate by")
    parsed = parser.parse_args()
    return parsed.run(parsed)


if __name__ == "__main__":
    sys.exit(main())
