"""Tasks that run in several processes, and the forecast of their cost."""

import os
import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from tests.worker.evaluation.bench import samples
from tests.worker.evaluation.bench.samples import UNREACHABLE_MODEL, row
from tests.worker.judge.samples import ScriptedModel, judge_context
from worker.domain.ports import Prompt
from worker.domain.verdict.budget import worst_case
from worker.dossier.tree_sitter import SANDBOX
from worker.errors import InputError, Unavailable
from worker.evaluation.bench.runner import forecast_rows
from worker.evaluation.engine import Halt, HaltedError, TaskFailedError, run_in_processes, run_tasks
from worker.evaluation.forecast import SAMPLE, Forecast, forecast_text
from worker.judge.llm.opinions import with_retry_length
from worker.settings import Settings
from worker.wiring.judge import open_judge_context
from worker.wiring.rejudge import prompt_meter


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
def open_worker() -> Generator[Callable[[str], str | Halt]]:
    yield work


@pytest.mark.slow
def test_each_task_is_returned_with_its_answer() -> None:
    tasks = [f"task {number}" for number in range(20)]
    assert sorted(run_tasks(open_worker, tasks, 3)) == sorted((task, task.upper()) for task in tasks)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "error", "message"),
    [
        ("refused", InputError, r"It can't be used\."),
        ("bug", TaskFailedError, "^bug$"),
        ("killed", InputError, "The process that judged killed was ended from outside"),
    ],
)
def test_error_in_a_process_reaches_the_caller(task: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        list(run_tasks(open_worker, ["a", task, "b"], 2))


@pytest.mark.slow
def test_task_that_killed_its_process_is_retried_with_a_sandbox() -> None:
    tasks = ["a", "hostile", *(f"task {number}" for number in range(20)), "hostile", "b"]
    assert sorted(run_in_processes(open_worker, tasks, 2)) == sorted((task, task.upper()) for task in tasks)


@pytest.mark.slow
def test_single_job_runs_in_this_process_with_a_sandbox() -> None:
    assert list(run_tasks(open_worker, ["a", "hostile"], 1)) == [("a", "A"), ("hostile", "HOSTILE")]
    with pytest.raises(ZeroDivisionError):
        list(run_tasks(open_worker, ["bug"], 1))


@pytest.mark.slow
@pytest.mark.parametrize(("jobs", "is_isolated"), [(1, False), (1, True), (2, False)])
def test_halt_starts_no_task_and_lets_running_ones_end(jobs: int, *, is_isolated: bool) -> None:
    started, answers = list[str](), list[str]()

    def tasks() -> Iterator[str]:
        for task in ("a", "halting", *map(str, range(20_000))):
            started.append(task)
            yield task

    with pytest.raises(HaltedError, match=r"^Enough\.$"):
        answers += (answer for _, answer in run_tasks(open_worker, tasks(), jobs, is_isolated=is_isolated))
    assert len(started) < 20_002
    unanswered = set(started) - {answer.lower() for answer in answers}
    assert unanswered - {"halting"} <= set(started[-1:]), "the last task was read but not started"


@contextmanager
def open_crashing_worker() -> Generator[Callable[[int], int]]:
    yield lambda task: os.getpid() if task or SANDBOX.get() else os.kill(os.getpid(), signal.SIGKILL) or 0


@pytest.mark.slow
def test_lost_process_is_replaced() -> None:
    answers = dict(run_in_processes(open_crashing_worker, range(9), 1))
    assert len({answers[task] for task in range(1, 9)}) == 1
    assert answers[0] != answers[1], "the sandboxed process does one task"


@contextmanager
def open_pid_worker() -> Generator[Callable[[int], int]]:
    yield lambda _: os.getpid()


@pytest.mark.slow
def test_processes_are_replaced_after_many_tasks() -> None:
    answers = list(run_in_processes(open_pid_worker, range(9), 2, life=2))
    assert sorted(task for task, _ in answers) == list(range(9))
    assert len({process for _, process in answers[:4]}) <= 2
    assert {process for _, process in answers[:4]}.isdisjoint(process for _, process in answers[4:])
    assert list(run_in_processes(open_pid_worker, range(0), 2)) == []


def forecast(tmp_path: Path, rows: int, **access: str) -> Forecast:
    path = samples.write_rows(tmp_path / "rows.jsonl", *(row(f"r{number}") for number in range(rows)))
    settings = Settings(data_dir=tmp_path, model=replace(UNREACHABLE_MODEL, **access))
    with open_judge_context(settings, "hybrid") as context:
        return forecast_rows([path], rows, context, prompt_meter(replace(UNREACHABLE_MODEL, **access)))


def test_forecast_prices_questions_without_asking(tmp_path: Path) -> None:
    cost = forecast(tmp_path, 3)
    assert (cost.rows, cost.sampled, cost.asked) == (3, 3, 3)
    assert cost.expected_usd is not None
    assert cost.most_usd is not None
    assert Decimal(0) < cost.expected_usd < cost.most_usd


def test_prompt_costs_at_most_two_attempts() -> None:
    from worker.adapters.anthropic import max_output_tokens  # noqa: PLC0415 - loads the SDK

    prompt = Prompt(system="s", turns=("t",), schema={}, version="1", reply_tokens=100)
    meter, size = prompt_meter(UNREACHABLE_MODEL), prompt.size
    with pytest.raises(Unavailable):
        meter.ask(prompt)
    tries = [
        worst_case(UNREACHABLE_MODEL.name, size, max_output_tokens(UNREACHABLE_MODEL, each))
        for each in (prompt, with_retry_length(prompt))
    ]
    assert meter.most_usd == sum(filter(None, tries))
    assert (meter.asked, len(set(tries))) == (1, 2)


def test_forecast_extrapolates_from_a_sample(tmp_path: Path) -> None:
    few, many = forecast(tmp_path, 2), forecast(tmp_path, SAMPLE + 2)
    assert (many.sampled, many.asked) == (SAMPLE // 2 + 1, SAMPLE + 2)
    assert few.expected_usd is not None
    assert many.expected_usd == few.expected_usd * (SAMPLE + 2) / 2


def test_forecast_without_a_price_is_unknown(tmp_path: Path) -> None:
    cost = forecast(tmp_path, 1, name="unknown")
    assert cost.expected_usd is None
    assert "not known" in forecast_text(cost, Decimal(1), Decimal(0))


def test_forecast_does_not_ask_the_model_that_a_row_chooses(tmp_path: Path) -> None:
    chosen, second = ScriptedModel([], "claude-opus-5-5"), ScriptedModel([])
    dossier = samples.change_dossier(policy={"model": chosen.name}).model_dump(mode="json", exclude_unset=True)
    path = samples.write_rows(tmp_path / "rows.jsonl", row("r", dossier=dossier))
    context = replace(judge_context(ScriptedModel([])), second_model=second, choices={chosen.name: chosen})
    assert forecast_rows([path], 1, context, prompt_meter(UNREACHABLE_MODEL)).asked == 1
    assert chosen.prompts == second.prompts == []


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("5", "need the model: about $1.50, at the very most $6.00. The limit is $5, $0.2500 of it spent."),
        ("5", "About 4 of 9 dossiers (judged by 3 of them) need"),
        ("1", "It will stop at the limit before it is done."),
    ],
)  # fmt: skip
def test_forecast_text_says_whether_the_limit_suffices(limit: str, expected: str) -> None:
    cost = Forecast(rows=9, sampled=3, asked=4, expected_usd=Decimal("1.5"), most_usd=Decimal(6))
    assert expected in forecast_text(cost, Decimal(limit), Decimal("0.25"))
    assert forecast_text(cost, Decimal(limit), Decimal("0.25")).endswith("done.") is (limit == "1")
