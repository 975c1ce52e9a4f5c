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
from worker.domain.ports import Purse
from worker.domain.verdict.verdict import VERDICT, Abstain, AbstainReason, Accept, Reject
from worker.evaluation.bench.judge_row import sit
from worker.evaluation.bench.rows import Raw, read_lines, read_row
from worker.evaluation.bench.run_budget import FilePurse, Money
from worker.evaluation.bench.run_folder import Pages, pages
from worker.evaluation.process_pool import spread
from worker.judge.context import Bench
from worker.settings import Settings

OpenRows = Callable[[Settings, str, Path | None, Purse | None], AbstractContextManager[Bench]]
"""Opens the judge of a tier by a rubric, paid out of a purse. Each process calls it, so it is a module's own function."""


class Row(NamedTuple):
    """A row, and which of all it is."""

    number: int
    raw: Raw

    def __str__(self) -> str:
        return self.raw.place


Lines = tuple[bytes, bytes]
"""A verdict and its traits, as they stand in the folder."""


class Halt(NamedTuple):
    """Instead of a row's answer: why it was not judged as it should be."""

    reason: str


class Broken(NamedTuple):
    """Instead of a row's answer: where the judge itself broke."""

    trace: str


class Opening(NamedTuple):
    """How each process opens its bench; a model is paid for out of `money`, if there is any."""

    settings: Settings
    tier: str
    rubric: Path | None
    open_judge: OpenRows
    money: Money | None = None

    @contextmanager
    def bench(self) -> Generator[Bench]:
        purse = None if self.money is None else FilePurse(self.money)
        with self.open_judge(self.settings, self.tier, self.rubric, purse) as bench:
            yield bench

    @contextmanager
    def __call__(self) -> Generator[Callable[[Row], Lines | Halt | Broken]]:
        """In whatever process: what judges a row."""
        with self.bench() as bench:
            yield partial(_judged, bench)


class HaltedError(Exception):
    """No row can be judged as it should be any more: its message says why. What was judged before stays."""


class RowFailedError(Exception):
    """A row that the judge itself broke on: a bug. *place* is its file and line."""

    def __init__(self, place: str, trace: str) -> None:
        super().__init__(f"{place} can't be judged")
        self.place = place
        self.add_note(trace)


LARGER: Final = "Give a larger --max-usd to go on."


def run(files: Sequence[Path], folder: Path, opening: Opening, jobs: int) -> Generator[int]:
    """Judge what is not judged yet; yields how many rows stand in the folder, at first and after each one.

    Raises InputError where it can't go on, HaltedError where no model can be asked, and RowFailedError. What was judged
    before stays.
    """
    with pages(folder) as book:
        done = book.mend()
        yield done
        rest = islice((raw for path in files for raw in read_lines(path)), done, None)
        if (first := next(rest, None)) is None:
            return
        rows = (Row(number, raw) for number, raw in enumerate(chain([first], rest), start=done))
        with closing(_answers(opening, jobs, rows)) as answers:
            yield from written(book, done, answers)


def written(book: Pages, done: int, answers: Iterator[tuple[int, Lines]]) -> Generator[int]:
    """Write down what comes, in the order of the rows; stopped in between, also what waits for its turn no longer."""
    ready: dict[int, Lines] = {}
    try:
        for number, lines in answers:
            ready[number] = lines
            while done in ready:
                book.add(*ready[done])
                del ready[done]
                done += 1
                yield done
    finally:  # an interrupt may have come at any of these lines
        done = book.mend()
        while done in ready:
            book.add(*ready[done])
            done += 1


def _answers(opening: Opening, jobs: int, rows: Iterator[Row]) -> Generator[tuple[int, Lines]]:
    """The rows with their answers, as they come."""
    halt: Halt | None = None
    with closing(spread(opening, takewhile(lambda _: halt is None, rows), jobs)) as answered:
        for row, answer in answered:
            if isinstance(answer, Broken):
                raise RowFailedError(row.raw.place, answer.trace)
            if isinstance(answer, Halt):
                halt = answer
            else:
                yield row.number, answer
    if halt:
        raise HaltedError(halt.reason)


def _judged(bench: Bench, row: Row) -> Lines | Halt | Broken:
    try:
        return lines(row.raw, bench)
    except Exception:  # noqa: BLE001 - the parent raises it: here nobody would see it
        return Broken(format_exc())


def lines(raw: Raw, bench: Bench) -> Lines | Halt:
    """Judge a row: what is written down of it."""
    row = read_row(raw)
    verdict, traits = sit(row, raw.path.name, bench, SystemClock())
    if bench.model is not None and (reason := _kept_from_asking(verdict)):
        return Halt(reason)
    said = b'{"id": %b, "verdict": %b}\n' % (json.dumps(row.id).encode(), VERDICT.dump_json(verdict))
    return said, f"{traits.model_dump_json()}\n".encode()


def _kept_from_asking(verdict: Accept | Reject | Abstain) -> str | None:
    """Why this verdict is not the one that the model would have had a part in; None if it is."""
    if verdict.throttled_reason is not None:
        return f"The limit is reached. {LARGER}"
    if isinstance(verdict, Abstain) and verdict.abstain_reason is AbstainReason.JUDGE_UNAVAILABLE:
        return verdict.concern
    return None
