"""A run: all rows judged by several processes, written down as they come, and taken up again where it stopped.

Does not count. Invariant: rows are written in the order of the files, whoever is done first; however a run ends, no
process of it goes on.
"""

import json
import os
import signal
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, islice
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from traceback import format_exc
from typing import Final, NamedTuple

from worker.bootstrap import Payer, open_bench
from worker.corpus.kept import Pages, pages
from worker.corpus.purse import ACCOUNT, FilePurse, Money
from worker.corpus.rows import Raw, read_lines, read_row
from worker.corpus.sitting import sit
from worker.crowd import interrupts_held_back
from worker.domain.verdict import VERDICT, Abstain, AbstainReason, Accept, Reject
from worker.errors import InputError
from worker.judge.bench import Bench
from worker.lifeline import die_with_parent
from worker.settings import Settings
from worker.system_clock import SystemClock


class Opening(NamedTuple):
    """How each process opens its bench; a model is paid for out of `money`, if there is any."""

    settings: Settings
    tier: str
    rubric: Path | None
    money: Money | None = None

    @contextmanager
    def bench(self) -> Generator[Bench]:
        payer = None if self.money is None else Payer(None, ACCOUNT, FilePurse(self.money))
        with open_bench(self.settings, self.tier, self.rubric, payer) as bench:
            yield bench


class HaltedError(Exception):
    """No row can be judged as it should be any more: its message says why. What was judged before stays."""


class Halt(NamedTuple):
    """Instead of a row's answer: why it was not judged as it should be."""

    reason: str


class RowFailedError(Exception):
    """A row that the judge itself broke on: a bug. *place* is its file and line."""

    def __init__(self, place: str, trace: str) -> None:
        super().__init__(f"{place} can't be judged")
        self.place = place
        self.add_note(trace)


LARGER: Final = "Give a larger --max-usd to go on."

Lines = tuple[bytes, bytes]
"""A verdict and its traits, as they stand in the folder."""


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
        rows = enumerate(chain([first], rest), start=done)
        with _judges(opening, jobs) as judges:
            yield from written(book, done, _answers(judges, rows))


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


class _Judge(NamedTuple):
    """A process that judges, one row at a time, and the way to it."""

    process: BaseProcess
    way: Connection


@contextmanager
def _judges(opening: Opening, jobs: int) -> Generator[list[_Judge]]:
    with interrupts_held_back():
        judges = [_started(opening) for _ in range(jobs)]
    try:
        yield judges
    except BaseException:
        for one in judges:
            one.process.terminate()
        raise
    finally:
        for one in judges:
            one.way.close()
            one.process.join()


def _started(opening: Opening) -> _Judge:
    """A new process and no fork, which would take along the locks of the threads of this one."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_sit, args=(theirs, opening, os.getpid()), daemon=True)
    process.start()
    theirs.close()
    return _Judge(process, ours)


def _answers(judges: Sequence[_Judge], rows: Iterator[tuple[int, Raw]]) -> Iterator[tuple[int, Lines]]:
    """The rows with their answers, as they come."""
    free = [one.way for one in judges]
    busy: dict[Connection, tuple[int, Raw]] = {}
    halt: Halt | None = None
    while True:
        for way, (number, raw) in zip(free, () if halt else rows, strict=False):
            _send(way, raw)
            busy[way] = number, raw
        if not busy:
            break
        free = [one for one in wait(list(busy)) if isinstance(one, Connection)]
        for way in free:
            number, raw = busy.pop(way)
            answer = _received(way, raw)
            if isinstance(answer, Halt):
                halt = answer
            else:
                yield number, answer
    if halt:
        raise HaltedError(halt.reason)


def _send(way: Connection, raw: Raw) -> None:
    try:
        way.send(raw)
    except OSError as error:
        raise _lost(raw) from error


def _received(way: Connection, raw: Raw) -> Lines | Halt:
    try:
        answer: Lines | Halt | str = way.recv()
    except (EOFError, OSError) as error:
        raise _lost(raw) from error
    if isinstance(answer, str):
        raise RowFailedError(raw.place, answer)
    return answer


def _lost(raw: Raw) -> InputError:
    return InputError(
        f"The process that judged {raw.place} was ended from outside, perhaps for its memory. What was judged is kept: "
        f"run the same command again, with fewer --jobs if it happens again."
    )


def _sit(way: Connection, opening: Opening, parent: int) -> None:
    """What a process does until nobody asks any more."""
    die_with_parent(parent, signal.SIGKILL)
    with suppress(EOFError, OSError), opening.bench() as bench:
        while True:
            raw: Raw = way.recv()
            way.send(_judged(raw, bench))


def _judged(raw: Raw, bench: Bench) -> Lines | Halt | str:
    try:
        return lines(raw, bench)
    except Exception:  # noqa: BLE001 - the parent raises it: here nobody would see it
        return format_exc()


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
