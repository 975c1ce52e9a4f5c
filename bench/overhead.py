"""What a judging costs beside its model's time: `python bench/overhead.py FILE.jsonl[.gz] ... [--per-file N] [--profile]`.

Judges recorded dossiers twice: at tier heuristic, and at tier llm with a model that answers at once over a real socket, with
money reserved and settled in a real store. Prints, at the median and at p95, what each takes, and the second in terms of the
first. From the wall clock the model's own time is taken off; CPU time is that of the judging's thread alone, and says the same
on a machine that has other things to do. Goal: 60 ms at the median. The first judging of a process is told apart: it loads what
all others find loaded. What GitHub and the record take is not in it.
"""

import argparse
import cProfile
import pstats
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.scripted.models import Label  # noqa: E402 - found from any working directory
from bench.scripted.requests import Json  # noqa: E402 - as above
from bench.scripted.serving import Played, played  # noqa: E402 - as above
from bench.scripted_judges import chosen, settings_for  # noqa: E402 - as above
from worker.adapters.redis.store import open_store  # noqa: E402 - as above
from worker.clock import SystemClock  # noqa: E402 - as above
from worker.domain.dossier.dossier import Dossier  # noqa: E402 - as above
from worker.domain.value import replace  # noqa: E402 - as above
from worker.domain.verdict.budget import Caps  # noqa: E402 - as above
from worker.dossier.assemble import complete_dossier  # noqa: E402 - as above
from worker.dossier.diff.parser import diff_of  # noqa: E402 - as above
from worker.evaluation.bench.judge_row import request_of  # noqa: E402 - as above
from worker.evaluation.bench.rows import read_row  # noqa: E402 - as above
from worker.judge.context import JudgeContext  # noqa: E402 - as above
from worker.judge.judge import create_header, judge  # noqa: E402 - as above
from worker.wiring.judge import BudgetAccount, open_judge_context  # noqa: E402 - as above

PER_FILE, GOAL_MS, SHOWN = 25, 60.0, 40
ROW = "row"


class Took(NamedTuple):
    """Milliseconds of the wall clock without the model's, and of CPU."""

    wall: float
    cpu: float
    questions: int


class Timed:
    """How long the model thought, and how often, since it was asked for last."""

    def __init__(self, server: Played) -> None:
        self.seconds, self.times = 0.0, 0
        self._answer: Callable[[str, Json], Json] = server.answer
        server.answer = self.answer

    def answer(self, key: str, body: Json) -> Json:
        """Answer, and count."""
        started = time.perf_counter()
        said = self._answer(key, body)
        self.seconds, self.times = self.seconds + time.perf_counter() - started, self.times + 1
        return said


def main() -> int:
    arguments = parsed()
    rows = [
        complete_dossier(read_row(raw).dossier)
        for name in arguments.files
        for raw in chosen(Path(name), arguments.per_file)
    ]
    with ExitStack() as stack:
        server = stack.enter_context(played({ROW: Label(ROW, is_good=True, category="")}))
        server.now = f"accepts {ROW}"
        timed = Timed(server)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        settings = replace(settings_for(server, folder), caps=Caps(Decimal(10**6), Decimal(10**6)))
        store = stack.enter_context(open_store(settings))
        pull = request_of(rows[0], SystemClock()).pull
        code = stack.enter_context(open_judge_context(settings, "heuristic"))
        asking = stack.enter_context(open_judge_context(settings, "llm", payer=BudgetAccount(store, pull)))
        first = took(rows[0], asking, timed)
        alone = [took(fresh(one), code, timed) for one in rows]
        profile = cProfile.Profile()
        if arguments.profile:
            profile.enable()
        asked = [took(fresh(one), asking, timed) for one in rows]
        profile.disable()
    print(f"{len(rows)} dossiers; the first judging of a process with a model: {first.wall:.0f} ms")
    report("code alone", alone)
    with_model = [one for one in asked if one.questions]
    report(f"with a model, {len(with_model)} asked", with_model)
    middle = [statistics.median(one.cpu for one in ones) for ones in (alone, with_model)]
    print(f"ratio of the medians, CPU: {middle[1] / middle[0]:.1f}")
    p50 = statistics.median(one.cpu for one in with_model)
    print(f"goal: {GOAL_MS:.0f} ms of CPU at the median: {'met' if p50 <= GOAL_MS else 'MISSED'}")
    if arguments.profile:
        pstats.Stats(profile).sort_stats("cumtime").print_stats(SHOWN)
    return int(p50 > GOAL_MS)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--per-file", type=int, default=PER_FILE, metavar="N", help=f"rows of each file ({PER_FILE})")
    parser.add_argument("--profile", action="store_true", help="also say where the time goes")
    return parser.parse_args()


def fresh(dossier: Dossier) -> Dossier:
    """The same dossier with nothing found out about it yet, as a job reads it."""
    diff_of.cache_clear()
    return Dossier.model_validate_json(dossier.model_dump_json())


def took(dossier: Dossier, bench: JudgeContext, timed: Timed) -> Took:
    clock = SystemClock()
    request = request_of(dossier, clock)
    thought, asked = timed.seconds, timed.times
    started, cpu = time.perf_counter(), time.thread_time()
    judge(dossier, create_header(request, dossier, bench, clock), bench)
    wall, cpu = time.perf_counter() - started, time.thread_time() - cpu
    return Took((wall - timed.seconds + thought) * 1000, cpu * 1000, timed.times - asked)


def report(name: str, rows: Sequence[Took]) -> None:
    told = (f"{what} {at(values, 0.5):.0f} ms, p95 {at(values, 0.95):.0f}" for what, values in columns(rows))
    print(f"{name}: {'; '.join(told)}")


def columns(rows: Sequence[Took]) -> Iterator[tuple[str, list[float]]]:
    yield "wall clock", sorted(one.wall for one in rows)
    yield "CPU", sorted(one.cpu for one in rows)


def at(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(len(values) * share))]


if __name__ == "__main__":
    sys.exit(main())
