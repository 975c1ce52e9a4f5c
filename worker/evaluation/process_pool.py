"""A few processes that do one kind of task, and this one, which gives them out and hears what came of each.

Does not know the task. Invariant: an interrupt stops all of them at once, and none outlives this process; what a task did
before is not undone. One that a process was lost with is done once more, by one that tries every text before it parses it.
"""

import os
import signal
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from itertools import chain, islice
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.resource_tracker import ensure_running
from traceback import format_exc
from typing import Any, Final, NamedTuple, TypeVar

from worker.dossier.parser_sandbox import sandboxed_parsing
from worker.errors import AssayError, InputError
from worker.garbage_collection import collect_rarely
from worker.parent_death_signal import die_with_parent
from worker.process_limits import limit_memory

T = TypeVar("T")
A = TypeVar("A")

WorkerOpener = Callable[[], AbstractContextManager[Callable[[T], A]]]
"""Opens what does the tasks, in the process that will. It is sent there, so it has to be a value of a module."""


class TaskFailure(NamedTuple):
    """Instead of an answer: what went wrong; `trace` where that is a bug."""

    message: str
    trace: str = ""


class _WorkerProcess(NamedTuple):
    process: BaseProcess
    connection: Connection


def run_tasks(opening: WorkerOpener[T, A], tasks: Iterable[T], jobs: int) -> Generator[tuple[T, A]]:
    """Do the tasks in so many processes, the first of them as they come; one process is this one. Raises InputError."""
    if jobs == 1:
        with sandboxed_parsing(), opening() as work:
            for task in tasks:
                yield task, work(task)
        return
    yield from run_in_processes(opening, tasks, jobs)


TASKS_PER_PROCESS: Final = 1_000
"""Tasks that a process does on average. The parser of tree-sitter 0.26 keeps every text that it read piece by piece."""


def run_in_processes(
    opening: WorkerOpener[T, A], tasks: Iterable[T], jobs: int, life: int = TASKS_PER_PROCESS
) -> Generator[tuple[T, A]]:
    """The same, and none of it in this process. A task that a process was lost with is named as `str` has it."""
    left = iter(tasks)
    for first in left:
        with _worker_processes(opening, jobs) as hands:
            yield from _answers(hands, opening, chain((first,), islice(left, jobs * life - 1)))


@contextmanager
def _worker_processes(
    opening: WorkerOpener[Any, Any], jobs: int, *, tries_first: bool = False
) -> Generator[list[_WorkerProcess]]:
    """They are ended at last, and so is whoever was added to them."""
    with _hold_interrupts():
        hands = [_start_process(opening, tries_first=tries_first) for _ in range(jobs)]
    try:
        yield hands
    except BaseException:
        for hand in hands:
            hand.process.terminate()
        raise
    finally:
        for hand in hands:
            hand.connection.close()
            hand.process.join()


@contextmanager
def _hold_interrupts() -> Generator[None]:
    """Ctrl-C reaches all processes of a terminal; those started here never see it, their parent ends them."""
    ensure_running()  # it would let them through again, were it started by the first process below
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_process(opening: WorkerOpener[Any, Any], *, tries_first: bool = False) -> _WorkerProcess:
    """A new process and no fork, which would take along the locks of the threads of this one."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve_tasks, args=(theirs, opening, os.getpid(), tries_first), daemon=True)
    process.start()
    theirs.close()
    return _WorkerProcess(process, ours)


def _answers(
    hands: list[_WorkerProcess], opening: WorkerOpener[Any, Any], tasks: Iterator[T]
) -> Iterator[tuple[T, Any]]:
    busy: dict[Connection, T] = {}
    free = [hand.connection for hand in hands]
    while True:
        for way, task in zip(free, tasks, strict=False):
            _send_task(way, task)
            busy[way] = task
        if not busy:
            return
        free = [way for way in wait(list(busy)) if isinstance(way, Connection)]
        for at, way in enumerate(free):
            task = busy.pop(way)
            answer = _receive_answer(way)
            if answer is _NO_ANSWER:
                with _hold_interrupts():
                    hands.append(_start_process(opening))
                free[at] = hands[-1].connection
                answer = _retry_task(opening, task)
            yield task, answer


def _retry_task(opening: WorkerOpener[T, A], task: T) -> A:
    """The answer to a task that a process was lost with, of another that is careful. Raises InputError if that is lost, too."""
    with _worker_processes(opening, 1, tries_first=True) as (hand,):
        _send_task(hand.connection, task)
        answer = _receive_answer(hand.connection)
    if answer is _NO_ANSWER:
        raise InputError(
            f"The process that judged {task} was ended from outside, perhaps for its memory. What was judged is kept: "
            "run the same command again, with fewer --jobs if it happens again."
        )
    return answer


_NO_ANSWER: Final = object()


def _send_task(way: Connection, task: object) -> None:
    with suppress(OSError):  # whoever is gone is never heard of
        way.send(task)


def _receive_answer(way: Connection) -> Any:
    """The answer of a process, or NOTHING from one that is gone."""
    try:
        answer: object = way.recv()
    except (EOFError, OSError):
        return _NO_ANSWER
    if isinstance(answer, TaskFailure):
        failed = InputError(answer.message) if not answer.trace else RuntimeError(answer.message)
        failed.add_note(answer.trace)
        raise failed
    return answer


def _serve_tasks(way: Connection, opening: WorkerOpener[Any, Any], parent: int, tries_first: bool) -> None:  # noqa: FBT001 - sent as it is
    """What a process does until nobody asks any more."""
    die_with_parent(parent, signal.SIGKILL)
    limit_memory()
    collect_rarely()
    with suppress(EOFError, OSError), ExitStack() as stack:
        if tries_first:
            stack.enter_context(sandboxed_parsing())
        try:
            with opening() as work:
                while True:
                    way.send(_run_task(work, way.recv()))
        except AssayError as error:  # it could not even be opened
            way.send(TaskFailure(str(error)))


def _run_task(work: Callable[[Any], Any], task: object) -> object:
    try:
        return work(task)
    except AssayError as error:
        return TaskFailure(str(error))
    except Exception as error:  # noqa: BLE001 - the parent raises it: here nobody would see it
        return TaskFailure(f"{type(error).__name__} while a task was done", format_exc())
