"""A run: all rows judged by several processes, written down as they come, and taken up again where it stopped.

Does not count. Invariant: rows are written in the order of the files, whoever is done first; however a run ends, no
process of it goes on.
"""

import json
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from itertools import chain, islice, takewhile
from pathlib import Path
from traceback import format_exc
from typing import Final, NamedTuple

from worker.clock import SystemClock
from worker.domain.ports import ModelBudget
from worker.domain.verdict.verdict import VERDICT_ADAPTER, Abstain, AbstainReason, Accept, Reject
from worker.evaluation.bench.judge_row import judge_row
from worker.evaluation.bench.rows import RawRow, read_lines, read_row
from worker.evaluation.bench.run_budget import FileBudget, RunMoney
from worker.evaluation.bench.run_folder import RunFiles, open_run_files
from worker.evaluation.process_pool import run_in_processes
from worker.judge.context import JudgeContext
from worker.settings import Settings

OpenRows = Callable[[Settings, str, Path | None, ModelBudget | None], AbstractContextManager[JudgeContext]]
"""Opens the judge of a tier by a rubric, paid out of a purse. Each process calls it, so it is a module's own function."""


class NumberedRow(NamedTuple):
    """A row, and which of all it is."""

    number: int
    raw: RawRow

    def __str__(self) -> str:
        return self.raw.place


RowLines = tuple[bytes, bytes]
"""A verdict and its traits, as they stand in the folder."""


class HaltedRow(NamedTuple):
    """Instead of a row's answer: why it was not judged as it should be."""

    reason: str


class FailedRow(NamedTuple):
    """Instead of a row's answer: where the judge itself broke."""

    trace: str


class BenchOpener(NamedTuple):
    """How each process opens its bench; a model is paid for out of `money`, if there is any."""

    settings: Settings
    tier: str
    rubric: Path | None
    open_judge: OpenRows
    money: RunMoney | None = None

    @contextmanager
    def open_context(self) -> Generator[JudgeContext]:
        purse = None if self.money is None else FileBudget(self.money)
        with self.open_judge(self.settings, self.tier, self.rubric, purse) as bench:
            yield bench

    @contextmanager
    def __call__(self) -> Generator[Callable[[NumberedRow], RowLines | HaltedRow | FailedRow]]:
        """In whatever process: what judges a row."""
        with self.open_context() as bench:
            yield partial(_judge_row, bench)


class HaltedError(Exception):
    """No row can be judged as it should be any more: its message says why. What was judged before stays."""


class RowFailedError(Exception):
    """A row that the judge itself broke on: a bug. *place* is its file and line."""

    def __init__(self, row_place: str, trace: str) -> None:
        super().__init__(f"{row_place} can't be judged")
        self.place = row_place
        self.add_note(trace)


RAISE_LIMIT_HINT: Final = "Give a larger --max-usd to go on."


def run_bench(files: Sequence[Path], folder: Path, opening: BenchOpener, jobs: int) -> Generator[int]:
    """Judge what is not judged yet; yields how many rows stand in the folder, at first and after each one.

    Raises InputError where it can't go on, HaltedError where no model can be asked, and RowFailedError. What was judged
    before stays.
    """
    with open_run_files(folder) as book:
        done = book.truncate_partial()
        yield done
        rest = islice((raw for path in files for raw in read_lines(path)), done, None)
        if (first := next(rest, None)) is None:
            return
        rows = (NumberedRow(number, raw) for number, raw in enumerate(chain([first], rest), start=done))
        with closing(_answers(opening, jobs, rows)) as answers:
            yield from write_answers(book, done, answers)


def write_answers(files: RunFiles, count: int, answers: Iterator[tuple[int, RowLines]]) -> Generator[int]:
    """Write down what comes, in the order of the rows; stopped in between, also what waits for its turn no longer."""
    ready: dict[int, RowLines] = {}
    try:
        for number, lines in answers:
            ready[number] = lines
            while count in ready:
                files.append(*ready[count])
                del ready[count]
                count += 1
                yield count
    finally:  # an interrupt may have come at any of these lines
        count = files.truncate_partial()
        while count in ready:
            files.append(*ready[count])
            count += 1


def _answers(opening: BenchOpener, jobs: int, rows: Iterator[NumberedRow]) -> Generator[tuple[int, RowLines]]:
    """The rows with their answers, as they come."""
    halt: HaltedRow | None = None
    with closing(run_in_processes(opening, takewhile(lambda _: halt is None, rows), jobs)) as answered:
        for row, answer in answered:
            if isinstance(answer, FailedRow):
                raise RowFailedError(row.raw.place, answer.trace)
            if isinstance(answer, HaltedRow):
                halt = answer
            else:
                yield row.number, answer
    if halt:
        raise HaltedError(halt.reason)


def _judge_row(bench: JudgeContext, row: NumberedRow) -> RowLines | HaltedRow | FailedRow:
    try:
        return judge_to_lines(row.raw, bench)
    except Exception:  # noqa: BLE001 - the parent raises it: here nobody would see it
        return FailedRow(format_exc())


def judge_to_lines(raw: RawRow, bench: JudgeContext) -> RowLines | HaltedRow:
    """Judge a row: what is written down of it."""
    row = read_row(raw)
    verdict, traits = judge_row(row, raw.path.name, bench, SystemClock())
    if bench.model is not None and (reason := _why_not_asked(verdict)):
        return HaltedRow(reason)
    answer = b'{"id": %b, "verdict": %b}\n' % (json.dumps(row.id).encode(), VERDICT_ADAPTER.dump_json(verdict))
    return answer, f"{traits.model_dump_json()}\n".encode()


def _why_not_asked(verdict: Accept | Reject | Abstain) -> str | None:
    """Why this verdict is not the one that the model would have had a part in; None if it is."""
    if verdict.throttled_reason is not None:
        return f"The limit is reached. {RAISE_LIMIT_HINT}"
    if isinstance(verdict, Abstain) and verdict.abstain_reason is AbstainReason.JUDGE_UNAVAILABLE:
        return verdict.concern
    return None
