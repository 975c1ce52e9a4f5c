"""Judge many recorded dossiers in several processes: the rows of files, or the verdicts of ledgers. Both are tasks here.

An interrupt ends all processes, and none outlives this one; finished tasks stay done. Tasks in work when a process was lost
are retried once, each in a process that parses each text in a sandbox first. A task can end the run by its answer.
"""

import os
import signal
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from contextvars import ContextVar
from functools import partial
from itertools import chain, islice, takewhile
from multiprocessing import active_children, get_context
from multiprocessing.resource_tracker import ensure_running
from typing import Any, Final, NamedTuple, TypeVar

from worker.dossier.tree_sitter import sandboxed_parsing
from worker.errors import AssayError, InputError
from worker.process import collect_rarely, die_with_parent, limit_memory

T = TypeVar("T")
A = TypeVar("A")

WorkerOpener = Callable[[], AbstractContextManager[Callable[[T], A]]]
"""Opens what does the tasks, in each process. It is sent there, so it has to be a value of a module."""

TASKS_PER_PROCESS: Final = 1_000
"""Tasks that a process does on average before it is replaced: tree-sitter 0.26 leaks texts that are read in pieces."""


class Halt(NamedTuple):
    """Instead of an answer: why no task can be done any longer."""

    reason: str


class HaltedError(Exception):
    """No task can be done any longer: the message says why. What was done before stays."""


class TaskFailedError(Exception):
    """A bug in a process, which is its cause. The message is the task's `str`."""


class _Worker(NamedTuple):
    """What a process does its tasks with, and what ends with the process."""

    work: Callable[[Any], Any]
    opened: ExitStack


_WORKER: Final[ContextVar[_Worker]] = ContextVar("worker")


def run_tasks(
    opening: WorkerOpener[T, A | Halt], tasks: Iterable[T], jobs: int, *, is_isolated: bool = False
) -> Generator[tuple[T, A]]:
    """Do the tasks in so many processes; yields answers as they come. A single job runs in this process, unless it is isolated.

    After a Halt no task is begun, and those in work end. Raises HaltedError then, InputError, and TaskFailedError for a bug in
    another process.
    """
    halt: Halt | None = None
    allowed = takewhile(lambda _: halt is None, tasks)
    run = run_in_processes if jobs > 1 or is_isolated else _run_here
    with closing(run(opening, allowed, jobs)) as answers:
        for task, answer in answers:
            if isinstance(answer, Halt):
                halt = answer
            else:
                yield task, answer
    if halt is not None:
        raise HaltedError(halt.reason)


def _run_here(opening: WorkerOpener[T, A], tasks: Iterable[T], _: int) -> Generator[tuple[T, A]]:
    with _open_sandboxed(opening) as work:
        for task in tasks:
            yield task, work(task)


def run_in_processes(
    opening: WorkerOpener[T, A], tasks: Iterable[T], jobs: int, life: int = TASKS_PER_PROCESS
) -> Generator[tuple[T, A]]:
    """Do the tasks in other processes, of which each is replaced after so many. Raises as run_tasks."""
    left = iter(tasks)
    for first in left:
        lost: list[T] = []
        yield from _answers(opening, chain((first,), islice(left, jobs * life - 1)), jobs, lost)
        for task in lost:
            answers = list(_answers(partial(_open_sandboxed, opening), iter((task,)), 1, []))
            if not answers:
                raise InputError(
                    f"The process that judged {task} was ended from outside, perhaps for its memory. What was judged is "
                    "kept: run the same command again, with fewer --jobs if it happens again."
                )
            yield from answers


def _answers(opening: WorkerOpener[T, A], tasks: Iterator[T], jobs: int, lost: list[T]) -> Generator[tuple[T, A]]:
    """When a process is lost, the tasks in work without an answer are added to *lost*, and no other task is begun."""
    running: dict[Future[A], T] = {}
    with _open_pool(jobs) as pool:
        while True:
            for task in islice(tasks, 0 if lost else jobs - len(running)):
                try:
                    with _hold_interrupts():
                        running[pool.submit(_do_task, opening, task)] = task
                except BrokenProcessPool:
                    lost.append(task)
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                task = running.pop(future)
                try:
                    answer = future.result()
                except BrokenProcessPool:
                    lost.append(task)
                else:
                    yield task, answer


@contextmanager
def _open_pool(jobs: int) -> Generator[ProcessPoolExecutor]:
    """Processes that are spawned, as a fork would inherit the locks of this one's threads."""
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), _limit_process, (os.getpid(),))
    try:
        yield pool
    except BaseException:
        for process in active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown()


@contextmanager
def _hold_interrupts() -> Generator[None]:
    """Hide Ctrl-C, which reaches all processes of a terminal, from those started here: their parent ends them."""
    ensure_running()  # else the first process starts it, which unblocks the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _limit_process(parent: int) -> None:
    die_with_parent(parent, signal.SIGKILL)
    limit_memory()
    collect_rarely()


def _do_task(opening: WorkerOpener[T, A], task: T) -> A:
    """Errors travel by their messages, since not every one can be sent."""
    try:
        if (worker := _WORKER.get(None)) is None:
            opened = ExitStack()
            worker = _Worker(opened.enter_context(opening()), opened)
            _WORKER.set(worker)
        return worker.work(task)
    except AssayError as error:
        raise InputError(str(error)) from error
    except Exception as error:
        raise TaskFailedError(str(task)) from error


@contextmanager
def _open_sandboxed(opening: WorkerOpener[T, A]) -> Generator[Callable[[T], A]]:
    with sandboxed_parsing(), opening() as work:
        yield work
