"""A few processes that do one kind of task."""

import os
import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager

import pytest

from worker.dossier.tree_sitter import SANDBOX
from worker.errors import InputError
from worker.evaluation.engine import Halt, HaltedError, TaskFailedError, run_in_processes, run_tasks

pytestmark = pytest.mark.slow  # each test starts processes of its own


def work(task: str) -> str | Halt:
    if task == "halting":
        return Halt("Enough.")
    if task == "refused":
        raise InputError("It can't be used.")
    if task == "bug":
        raise ZeroDivisionError(task)
    if task == "killed" or (task == "hostile" and SANDBOX.get() is None):
        os.kill(os.getpid(), signal.SIGKILL)
    return task.upper()


@contextmanager
def opening() -> Generator[Callable[[str], str | Halt]]:
    yield work


def test_each_task_comes_back_with_its_answer_whoever_did_it() -> None:
    tasks = [f"task {number}" for number in range(20)]
    assert sorted(run_tasks(opening, tasks, 3)) == sorted((one, one.upper()) for one in tasks)


@pytest.mark.parametrize(
    ("task", "error", "said"),
    [
        ("refused", InputError, r"It can't be used\."),
        ("bug", TaskFailedError, "^bug$"),
        ("killed", InputError, "The process that judged killed was ended from outside"),
    ],
)
def test_what_goes_wrong_in_a_process_reaches_this_one(task: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        list(run_tasks(opening, ["a", task, "b"], 2))


def test_a_task_that_a_process_was_lost_with_is_done_by_one_that_tries_every_text_first() -> None:
    tasks = ["a", "hostile", *(f"task {number}" for number in range(20)), "hostile", "b"]
    assert sorted(run_in_processes(opening, tasks, 2)) == sorted((one, one.upper()) for one in tasks)


def test_one_process_is_this_one_and_tries_every_text_first() -> None:
    assert list(run_tasks(opening, ["a", "hostile"], 1)) == [("a", "A"), ("hostile", "HOSTILE")]
    with pytest.raises(ZeroDivisionError):
        list(run_tasks(opening, ["bug"], 1))


@pytest.mark.parametrize(("jobs", "is_isolated"), [(1, False), (1, True), (2, False)])
def test_after_a_halt_no_task_is_begun_and_those_in_work_end(jobs: int, *, is_isolated: bool) -> None:
    begun, answers = list[str](), list[str]()

    def tasks() -> Iterator[str]:
        for task in ("a", "halting", *map(str, range(20_000))):
            begun.append(task)
            yield task

    with pytest.raises(HaltedError, match=r"^Enough\.$"):
        answers += (answer for _, answer in run_tasks(opening, tasks(), jobs, is_isolated=is_isolated))
    assert len(begun) < 20_002
    unanswered = set(begun) - {answer.lower() for answer in answers}
    assert unanswered - {"halting"} <= set(begun[-1:]), "the last one was looked at, and not begun"


@contextmanager
def losing() -> Generator[Callable[[int], int]]:
    yield lambda task: os.getpid() if task or SANDBOX.get() else os.kill(os.getpid(), signal.SIGKILL) or 0


def test_in_the_place_of_a_process_that_was_lost_another_goes_on() -> None:
    answers = dict(run_in_processes(losing, range(9), 1))
    assert len({answers[task] for task in range(1, 9)}) == 1
    assert answers[0] != answers[1], "whoever is careful does this one task"


@contextmanager
def telling() -> Generator[Callable[[int], int]]:
    yield lambda _: os.getpid()


def test_processes_that_did_many_tasks_make_room_for_new_ones() -> None:
    answers = list(run_in_processes(telling, range(9), 2, life=2))
    assert sorted(task for task, _ in answers) == list(range(9))
    assert len({process for _, process in answers[:4]}) <= 2
    assert {process for _, process in answers[:4]}.isdisjoint(process for _, process in answers[4:])
    assert list(run_in_processes(telling, range(0), 2)) == []
