"""A run of a bench: judge all rows in several processes, write them down in their order, resume where a run stopped.

However a run ends, none of its processes survives it. A finished run can be recorded on the event stream.
"""

import hashlib
import json
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from itertools import islice, takewhile
from pathlib import Path
from typing import Final, NamedTuple

from worker.clock import SystemClock
from worker.domain.ids import RepositoryId
from worker.domain.judge_request import LOCAL_INSTALLATION
from worker.domain.ports import ModelBudget
from worker.domain.verdict.events import EvalTrigger, started_event, terminal_event
from worker.domain.verdict.verdict import VERDICT_ADAPTER, Abstain, AbstainReason, Accept, Reject
from worker.errors import AssayError
from worker.evaluation.bench.judge_row import judge_row
from worker.evaluation.bench.rows import RawRow, RowOutcome, read_lines, read_row
from worker.evaluation.bench.run_folder import FileBudget, RunFiles, RunMoney, open_run_files
from worker.evaluation.engine import run_in_processes
from worker.evaluation.recorded_verdicts import EventPublisher
from worker.judge.context import JudgeContext
from worker.scheduling.record import EventPublishing, evaluation_started
from worker.settings import Settings

OpenRows = Callable[[Settings, str, Path | None, ModelBudget | None], AbstractContextManager[JudgeContext]]
"""Opens the judge of a tier by a rubric, paid from a budget. It is sent to processes, so it has to be a module's function."""

RAISE_LIMIT_HINT: Final = "Give a larger --max-usd to go on."
NO_REPOSITORY: Final = RepositoryId(0)
"""The repository of a bench's rows on the stream."""

NUMBER_BYTES: Final = 4
"""Bytes of the hash that is a row's pull request number on the stream."""


class NumberedRow(NamedTuple):
    """A row and its number in the run."""

    number: int
    raw: RawRow

    def __str__(self) -> str:
        return self.raw.place


RowLines = tuple[bytes, bytes]
"""A verdict and its traits, as lines of the folder's files."""


class HaltedRow(NamedTuple):
    """Instead of a row's answer: why the model could not be asked."""

    reason: str


class HaltedError(Exception):
    """The model can't be asked: its message says why. What was judged before stays."""


class BenchOpener(NamedTuple):
    """How each process opens its judge; a model is paid from `money`, if there is any."""

    settings: Settings
    tier: str
    rubric: Path | None
    open_judge: OpenRows
    money: RunMoney | None = None

    @contextmanager
    def open_context(self) -> Generator[JudgeContext]:
        budget = None if self.money is None else FileBudget(self.money)
        with self.open_judge(self.settings, self.tier, self.rubric, budget) as bench:
            yield bench

    @contextmanager
    def __call__(self) -> Generator[Callable[[NumberedRow], RowLines | HaltedRow]]:
        """In each process: what judges a row."""
        with self.open_context() as bench:
            yield partial(_judge_row, bench)


def run_bench(files: Sequence[Path], folder: Path, opening: BenchOpener, jobs: int) -> Generator[int]:
    """Judge what is not judged yet; yields how many rows the folder has, at first and after each one.

    Raises InputError where it can't go on, HaltedError where no model can be asked, and TaskFailedError. What was judged
    before stays.
    """
    with open_run_files(folder) as run_files:
        done = run_files.truncate_partial()
        yield done
        raws = islice((raw for path in files for raw in read_lines(path)), done, None)
        rows = (NumberedRow(number, raw) for number, raw in enumerate(raws, start=done))
        with closing(_answers(opening, jobs, rows)) as answers:
            yield from write_answers(run_files, done, answers)


def write_answers(files: RunFiles, count: int, answers: Iterator[tuple[int, RowLines]]) -> Generator[int]:
    """Write answers in the order of the rows, from row *count*; when stopped, also those that follow without a gap."""
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
    """The answers with their rows' numbers, as they come. After a halt no row is begun, and those in work end."""
    halt: HaltedRow | None = None
    with closing(run_in_processes(opening, takewhile(lambda _: halt is None, rows), jobs)) as answered:
        for row, answer in answered:
            if isinstance(answer, HaltedRow):
                halt = answer
            else:
                yield row.number, answer
    if halt:
        raise HaltedError(halt.reason)


def _judge_row(bench: JudgeContext, row: NumberedRow) -> RowLines | HaltedRow:
    try:
        return judge_to_lines(row.raw, bench)
    except AssayError as error:
        raise RuntimeError("a row that was read before can't be judged") from error


def judge_to_lines(raw: RawRow, bench: JudgeContext) -> RowLines | HaltedRow:
    """Judge a row: the lines to write."""
    row = read_row(raw)
    verdict, traits = judge_row(row, raw.path.name, bench, SystemClock())
    if bench.model is not None:
        if verdict.throttled_reason is not None:
            return HaltedRow(f"The limit is reached. {RAISE_LIMIT_HINT}")
        if isinstance(verdict, Abstain) and verdict.abstain_reason is AbstainReason.JUDGE_UNAVAILABLE:
            return HaltedRow(verdict.concern)
    line = b'{"id": %b, "verdict": %b}\n' % (json.dumps(row.id).encode(), VERDICT_ADAPTER.dump_json(verdict))
    return line, f"{traits.model_dump_json()}\n".encode()


def record_run(outcomes: Iterable[RowOutcome], stream: EventPublisher) -> int:
    """Publish each row's verdict as an evaluation of its own trigger, once; how many were new."""
    new = 0
    for outcome in outcomes:
        verdict = _with_unique_subject(outcome)
        begun = evaluation_started(verdict, EventPublishing(EvalTrigger.BENCHMARK))
        events = started_event(begun), terminal_event(verdict, EvalTrigger.BENCHMARK)
        new += stream.publish(LOCAL_INSTALLATION, f"bench:{verdict.eval_id}", *events)
    return new


def _with_unique_subject(outcome: RowOutcome) -> Accept | Reject | Abstain:
    """The verdict on a subject that no other row has, the same in each run: rows may share a commit, and ids are free text."""
    named = hashlib.sha256(f"{outcome.traits.file}\n{outcome.traits.id}".encode()).digest()
    fields = {
        "repository_id": NO_REPOSITORY,
        "number": int.from_bytes(named[:NUMBER_BYTES]),
        "installation_id": LOCAL_INSTALLATION,
    }
    return outcome.verdict.model_copy(update={"subject": outcome.verdict.subject.model_copy(update=fields)})
