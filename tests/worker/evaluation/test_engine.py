"""A few processes that do one kind of task, and what a run of them would cost."""

import os
import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import SecretStr

from tests.worker.evaluation.bench import samples
from tests.worker.evaluation.bench.samples import row
from tests.worker.judge.samples import ScriptedModel, judge_context
from worker.adapters.anthropic.prices import prompt_bytes, worst_case
from worker.domain.ports import Prompt
from worker.dossier.tree_sitter import SANDBOX
from worker.errors import InputError, Unavailable
from worker.evaluation.bench.runner import forecast_rows
from worker.evaluation.engine import Halt, HaltedError, TaskFailedError, run_in_processes, run_tasks
from worker.evaluation.forecast import SAMPLE, Forecast, forecast_text
from worker.judge.llm.model_judge import with_retry_length
from worker.settings import ModelAccess, Settings
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
def opening() -> Generator[Callable[[str], str | Halt]]:
    yield work


@pytest.mark.slow
def test_each_task_comes_back_with_its_answer_whoever_did_it() -> None:
    tasks = [f"task {number}" for number in range(20)]
    assert sorted(run_tasks(opening, tasks, 3)) == sorted((one, one.upper()) for one in tasks)


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_task_that_a_process_was_lost_with_is_done_by_one_that_tries_every_text_first() -> None:
    tasks = ["a", "hostile", *(f"task {number}" for number in range(20)), "hostile", "b"]
    assert sorted(run_in_processes(opening, tasks, 2)) == sorted((one, one.upper()) for one in tasks)


@pytest.mark.slow
def test_one_process_is_this_one_and_tries_every_text_first() -> None:
    assert list(run_tasks(opening, ["a", "hostile"], 1)) == [("a", "A"), ("hostile", "HOSTILE")]
    with pytest.raises(ZeroDivisionError):
        list(run_tasks(opening, ["bug"], 1))


@pytest.mark.slow
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


@pytest.mark.slow
def test_in_the_place_of_a_process_that_was_lost_another_goes_on() -> None:
    answers = dict(run_in_processes(losing, range(9), 1))
    assert len({answers[task] for task in range(1, 9)}) == 1
    assert answers[0] != answers[1], "whoever is careful does this one task"


@contextmanager
def telling() -> Generator[Callable[[int], int]]:
    yield lambda _: os.getpid()


@pytest.mark.slow
def test_processes_that_did_many_tasks_make_room_for_new_ones() -> None:
    answers = list(run_in_processes(telling, range(9), 2, life=2))
    assert sorted(task for task, _ in answers) == list(range(9))
    assert len({process for _, process in answers[:4]}) <= 2
    assert {process for _, process in answers[:4]}.isdisjoint(process for _, process in answers[4:])
    assert list(run_in_processes(telling, range(0), 2)) == []


NOWHERE = ModelAccess(
    api_key=SecretStr("k"), base_url="http://127.0.0.1:9", name="claude-haiku-5-5", timeout_s=1, attempts=1,
    retry_delay_s=0, max_output_tokens=4000,
)  # fmt: skip


def foretold(tmp_path: Path, rows: int, **access: str) -> Forecast:
    path = samples.write_rows(tmp_path / "rows.jsonl", *(row(f"r{number}") for number in range(rows)))
    settings = Settings(data_dir=tmp_path, model=replace(NOWHERE, **access))
    with open_judge_context(settings, "hybrid") as context:
        return forecast_rows([path], rows, context, prompt_meter(replace(NOWHERE, **access)))


def test_questions_are_weighed_and_nobody_is_asked(tmp_path: Path) -> None:
    known = foretold(tmp_path, 3)
    assert (known.rows, known.sampled, known.asked) == (3, 3, 3)
    assert known.expected_usd is not None
    assert known.most_usd is not None
    assert Decimal(0) < known.expected_usd < known.most_usd


def test_a_prompt_costs_at_most_its_two_tries() -> None:
    from worker.adapters.anthropic.model import max_output_tokens  # noqa: PLC0415 - loads the SDK

    prompt = Prompt(system="s", turns=("t",), schema={}, version="1", reply_tokens=100)
    meter, size = prompt_meter(NOWHERE), prompt_bytes(prompt)
    with pytest.raises(Unavailable):
        meter.ask(prompt)
    tries = [
        worst_case(NOWHERE.name, size, max_output_tokens(NOWHERE, each)) for each in (prompt, with_retry_length(prompt))
    ]
    assert meter.most_usd == sum(filter(None, tries))
    assert (meter.asked, len(set(tries))) == (1, 2)


def test_of_many_rows_some_are_weighed_for_all(tmp_path: Path) -> None:
    few, many = foretold(tmp_path, 2), foretold(tmp_path, SAMPLE + 2)
    assert (many.sampled, many.asked) == (SAMPLE // 2 + 1, SAMPLE + 2)
    assert few.expected_usd is not None
    assert many.expected_usd == few.expected_usd * (SAMPLE + 2) / 2


def test_without_a_price_nothing_is_promised(tmp_path: Path) -> None:
    known = foretold(tmp_path, 1, name="nobody-knows")
    assert known.expected_usd is None
    assert "not known" in forecast_text(known, Decimal(1), Decimal(0))


def test_a_model_that_a_row_chooses_is_not_asked_either(tmp_path: Path) -> None:
    chosen, second = ScriptedModel([], "claude-opus-5-5"), ScriptedModel([])
    path = samples.write_rows(
        tmp_path / "rows.jsonl",
        {
            "id": "r",
            "dossier": samples.change_dossier(policy={"model": chosen.name}).model_dump(
                mode="json", exclude_unset=True
            ),
        },
    )
    context = replace(judge_context(ScriptedModel([])), second_model=second, choices={chosen.name: chosen})
    assert forecast_rows([path], 1, context, prompt_meter(NOWHERE)).asked == 1
    assert chosen.prompts == second.prompts == []


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("5", "need the model: about $1.50, at the very most $6.00. The limit is $5, $0.2500 of it spent."),
        ("5", "About 4 of 9 dossiers (judged by 3 of them) need"),
        ("1", "It will stop at the limit before it is done."),
    ],
)  # fmt: skip
def test_the_forecast_says_whether_the_limit_is_enough(limit: str, said: str) -> None:
    known = Forecast(rows=9, sampled=3, asked=4, expected_usd=Decimal("1.5"), most_usd=Decimal(6))
    assert said in forecast_text(known, Decimal(limit), Decimal("0.25"))
    assert forecast_text(known, Decimal(limit), Decimal("0.25")).endswith("done.") is (limit == "1")
