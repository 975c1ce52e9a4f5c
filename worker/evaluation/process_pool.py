"""Do tasks of one kind in several processes.

An interrupt ends all processes, and none outlives this one; finished tasks stay done. A task whose process was lost is
retried once, in a process that parses each text in a sandbox first.
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
from worker.process_limits import collect_rarely, die_with_parent, limit_memory

T = TypeVar("T")
A = TypeVar("A")

WorkerOpener = Callable[[], AbstractContextManager[Callable[[T], A]]]
"""Opens what does the tasks, in each process. It is sent there, so it has to be a value of a module."""


class TaskFailure(NamedTuple):
    """Instead of an answer: the error; `trace` where it is a bug."""

    message: str
    trace: str = ""


class _WorkerProcess(NamedTuple):
    process: BaseProcess
    connection: Connection


def run_tasks(opening: WorkerOpener[T, A], tasks: Iterable[T], jobs: int) -> Generator[tuple[T, A]]:
    """Do the tasks in so many processes; yields answers as they come. A single job runs in this process. Raises InputError."""
    if jobs == 1:
        with sandboxed_parsing(), opening() as work:
            for task in tasks:
                yield task, work(task)
        return
    yield from run_in_processes(opening, tasks, jobs)


TASKS_PER_PROCESS: Final = 1_000
"""Tasks that a process does on average before it is replaced: tree-sitter 0.26 leaks texts that are read in pieces."""


def run_in_processes(
    opening: WorkerOpener[T, A], tasks: Iterable[T], jobs: int, life: int = TASKS_PER_PROCESS
) -> Generator[tuple[T, A]]:
    """As run_tasks, but never in this process. Errors name a lost task by its `str`."""
    left = iter(tasks)
    for first in left:
        with _worker_processes(opening, jobs) as workers:
            yield from _answers(workers, opening, chain((first,), islice(left, jobs * life - 1)))


@contextmanager
def _worker_processes(
    opening: WorkerOpener[Any, Any], jobs: int, *, tries_first: bool = False
) -> Generator[list[_WorkerProcess]]:
    """Started processes; at the end those in the list are ended, added ones as well."""
    with _hold_interrupts():
        workers = [_start_process(opening, tries_first=tries_first) for _ in range(jobs)]
    try:
        yield workers
    except BaseException:
        for worker in workers:
            worker.process.terminate()
        raise
    finally:
        for worker in workers:
            worker.connection.close()
            worker.process.join()


@contextmanager
def _hold_interrupts() -> Generator[None]:
    """Hide Ctrl-C, which reaches all processes of a terminal, from those started here: their parent ends them."""
    ensure_running()  # else the first process starts it, which unblocks the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_process(opening: WorkerOpener[Any, Any], *, tries_first: bool = False) -> _WorkerProcess:
    """Spawn a process: a fork would inherit the locks of this one's threads."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve_tasks, args=(theirs, opening, os.getpid(), tries_first), daemon=True)
    process.start()
    theirs.close()
    return _WorkerProcess(process, ours)


def _answers(
    workers: list[_WorkerProcess], opening: WorkerOpener[Any, Any], tasks: Iterator[T]
) -> Iterator[tuple[T, Any]]:
    busy: dict[Connection, T] = {}
    free = [worker.connection for worker in workers]
    while True:
        for connection, task in zip(free, tasks, strict=False):
            _send_task(connection, task)
            busy[connection] = task
        if not busy:
            return
        free = [connection for connection in wait(list(busy)) if isinstance(connection, Connection)]
        for at, connection in enumerate(free):
            task = busy.pop(connection)
            answer = _receive_answer(connection)
            if answer is _NO_ANSWER:
                with _hold_interrupts():
                    workers.append(_start_process(opening))
                free[at] = workers[-1].connection
                answer = _retry_task(opening, task)
            yield task, answer


def _retry_task(opening: WorkerOpener[T, A], task: T) -> A:
    """The answer to a task whose process was lost, from a sandboxed one. Raises InputError if that is lost, too."""
    with _worker_processes(opening, 1, tries_first=True) as (worker,):
        _send_task(worker.connection, task)
        answer = _receive_answer(worker.connection)
    if answer is _NO_ANSWER:
        raise InputError(
            f"The process that judged {task} was ended from outside, perhaps for its memory. What was judged is kept: "
            "run the same command again, with fewer --jobs if it happens again."
        )
    return answer


_NO_ANSWER: Final = object()


def _send_task(connection: Connection, task: object) -> None:
    with suppress(OSError):  # a lost process is noticed when its answer is received
        connection.send(task)


def _receive_answer(connection: Connection) -> Any:
    """The answer of a process; _NO_ANSWER from a lost one. Raises what the process failed with."""
    try:
        answer: object = connection.recv()
    except (EOFError, OSError):
        return _NO_ANSWER
    if isinstance(answer, TaskFailure):
        failed = InputError(answer.message) if not answer.trace else RuntimeError(answer.message)
        failed.add_note(answer.trace)
        raise failed
    return answer


def _serve_tasks(connection: Connection, opening: WorkerOpener[Any, Any], parent: int, tries_first: bool) -> None:  # noqa: FBT001 - sent as it is
    """Serve tasks until the parent closes the connection."""
    die_with_parent(parent, signal.SIGKILL)
    limit_memory()
    collect_rarely()
    with suppress(EOFError, OSError), ExitStack() as stack:
        if tries_first:
            stack.enter_context(sandboxed_parsing())
        try:
            with opening() as work:
                while True:
                    connection.send(_run_task(work, connection.recv()))
        except AssayError as error:  # the opener failed
            connection.send(TaskFailure(str(error)))


def _run_task(work: Callable[[Any], Any], task: object) -> object:
    try:
        return work(task)
    except AssayError as error:
        return TaskFailure(str(error))
    except Exception as error:  # noqa: BLE001 - the parent raises it, as this process has no terminal
        return TaskFailure(f"{type(error).__name__} while a task was done", format_exc())
