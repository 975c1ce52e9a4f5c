"""The folder of a run: never two runs in one, and whole whatever stopped it; one limit of money for all its processes."""

from concurrent.futures import ProcessPoolExecutor
from decimal import Decimal
from multiprocessing import get_context
from pathlib import Path

import pytest

from tests.worker.evaluation.bench.samples import PLAN, row, write_rows
from tests.worker.judge.samples import judge_context
from worker.domain.verdict.budget import Bill
from worker.errors import BudgetReached, InputError
from worker.evaluation.bench.run_folder import (
    BUDGET_FILE,
    RUN_ACCOUNT,
    RUN_FILE,
    TRAITS_FILE,
    VERDICTS_FILE,
    FileBudget,
    RunMoney,
    make_plan,
    open_run_files,
    prepare_folder,
    read_json_lines,
)


def test_a_plan_follows_from_the_rubric_the_code_and_the_files(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rows.jsonl", row("a"))
    plan = make_plan([path], judge_context(), "heuristic")
    assert plan == make_plan([path], judge_context(), "heuristic")
    write_rows(path, row("b"))
    other = make_plan([path], judge_context(), "hybrid")
    assert {name for name, now in other if getattr(plan, name) != now} == {"files", "tier"}
    heavier = judge_context().rubric.model_copy(update={"version": "another"})
    assert (
        make_plan([path], type(judge_context())(heavier, judge_context().prompt, 0.7), "heuristic").rubric
        != plan.rubric
    )


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.jsonl can't be read: No such file"):
        make_plan([tmp_path / "nothing.jsonl"], judge_context(), "heuristic")


def test_a_folder_is_made_and_goes_on_with_the_same_run(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "out"
    prepare_folder(folder, PLAN)
    prepare_folder(folder, PLAN)
    assert [path.name for path in folder.iterdir()] == [RUN_FILE]


def test_another_run_in_the_folder_is_refused_by_what_differs(tmp_path: Path) -> None:
    prepare_folder(tmp_path, PLAN)
    with pytest.raises(InputError, match=r"holds a run with another rubric and code\. Give another folder with --out"):
        prepare_folder(tmp_path, PLAN.model_copy(update={"rubric": "sha256:x", "code": "sha256:y"}))


@pytest.mark.parametrize("said", [None, "", '{"tier": "heuristic"}', "[]"])
def test_a_run_that_nobody_can_tell_is_refused(tmp_path: Path, said: str | None) -> None:
    (tmp_path / VERDICTS_FILE).write_text("{}\n")
    if said is not None:
        (tmp_path / RUN_FILE).write_text(said)
    with pytest.raises(InputError, match=r"holds a run that nobody can tell\."):
        prepare_folder(tmp_path, PLAN)


def test_a_folder_that_can_not_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"--out .*file/out can't be written: Not a directory"):
        prepare_folder(tmp_path / "file" / "out", PLAN)


@pytest.mark.parametrize(
    ("verdicts", "traits", "rows"),
    [
        (b"", b"", 0),
        (b'{"id": "a", "verd', b"", 0),
        (b"1\n2\n", b"1\n2\n", 2),
        (b"1\n2\n3", b"1\n2\n", 2),
        (b"1\n2\n", b"1\n2\n{half", 2),
        (b"1\n2\n3\n", b"1\n2\n", 2),
        (b"1\n2\n", b"1\n2\n3\n4\n", 2),
        (b"1\n2\n{", b"1\n2\n3\n", 2),
    ],
)
def test_whatever_stopped_a_run_both_files_hold_the_same_rows(
    tmp_path: Path, verdicts: bytes, traits: bytes, rows: int
) -> None:
    (tmp_path / VERDICTS_FILE).write_bytes(verdicts)
    (tmp_path / TRAITS_FILE).write_bytes(traits)
    with open_run_files(tmp_path) as files:
        assert files.truncate_partial() == rows
        files.append(b"5\n", b"6\n")
        lines = [list(read_json_lines(tmp_path / name)) for name in (VERDICTS_FILE, TRAITS_FILE)]
    before = [(number, number) for number in range(1, rows + 1)]
    assert lines == [[*before, (rows + 1, 5)], [*before, (rows + 1, 6)]], "what is written stays, at once"


def test_two_runs_never_write_into_one_folder(tmp_path: Path) -> None:
    with (
        open_run_files(tmp_path),
        pytest.raises(InputError, match=r"Another `assay bench` is writing to"),
        open_run_files(tmp_path),
    ):
        pass
    with open_run_files(tmp_path) as book:
        assert book.truncate_partial() == 0


def test_a_line_that_is_no_json_is_named(tmp_path: Path) -> None:
    (tmp_path / VERDICTS_FILE).write_bytes(b"{}\n{")
    with pytest.raises(InputError, match=r"verdicts\.jsonl:2 is no line of a finished run"):
        list(read_json_lines(tmp_path / VERDICTS_FILE))
    with pytest.raises(
        InputError, match=r"traits\.jsonl can't be read: No such file or directory\. Expected the --out"
    ):
        list(read_json_lines(tmp_path / TRAITS_FILE))


CENT = Decimal("0.01")


@pytest.fixture
def money(tmp_path: Path) -> RunMoney:
    return RunMoney(tmp_path / BUDGET_FILE, Decimal("0.10"))


def test_what_was_not_spent_comes_back_once(money: RunMoney) -> None:
    budget = FileBudget(money)
    held = budget.reserve("a", RUN_ACCOUNT, 5 * CENT)
    assert money.spent_usd == 5 * CENT
    for _ in range(2):
        budget.settle(held, Bill(CENT, "m", 100, 30))
        assert money.spent_usd == CENT


def test_the_same_reservation_again_changes_nothing(money: RunMoney) -> None:
    for _ in range(2):
        FileBudget(money).reserve("a", RUN_ACCOUNT, 8 * CENT)
    assert money.spent_usd == 8 * CENT


def test_what_nobody_knows_to_be_billed_stays_spent(money: RunMoney) -> None:
    budget = FileBudget(money)
    budget.settle(budget.reserve("a", RUN_ACCOUNT, 3 * CENT), Bill(None))
    assert money.spent_usd == 3 * CENT


def test_beyond_the_limit_nothing_is_reserved(money: RunMoney) -> None:
    budget = FileBudget(money)
    budget.reserve("a", RUN_ACCOUNT, 9 * CENT)
    with pytest.raises(BudgetReached) as caught:
        budget.reserve("b", RUN_ACCOUNT, 2 * CENT)
    assert (caught.value.level.used_usd, caught.value.asked_usd) == (9 * CENT, 2 * CENT)
    assert money.spent_usd == 9 * CENT
    assert FileBudget(money._replace(limit_usd=CENT * 11)).reserve("b", RUN_ACCOUNT, 2 * CENT).usd == 2 * CENT


def test_prompts_are_taken_to_be_as_dense_as_the_densest_so_far(money: RunMoney) -> None:
    budget = FileBudget(money)
    assert budget.density(RUN_ACCOUNT, "m").max_tokens(1000) == 1000
    for number in range(10):
        budget.settle(budget.reserve(f"{number}", RUN_ACCOUNT, CENT), Bill(Decimal(0), "m", 1000, 200 + number))
    assert budget.density(RUN_ACCOUNT, "m").max_tokens(10_000) == 2613


def test_a_book_that_became_shorter_is_still_a_book(money: RunMoney) -> None:
    budget = FileBudget(money)
    reservations = [budget.reserve(f"{'x' * 50}{number}", RUN_ACCOUNT, CENT) for number in range(10)]
    for reservation in reservations:
        budget.settle(reservation, Bill(Decimal(0)))
    assert money.spent_usd == 0


def wants(money: RunMoney) -> int:
    """How many of 25 reservations of a cent are granted to this process."""
    budget, granted = FileBudget(money), 0
    for number in range(25):
        try:
            budget.reserve(f"{id(budget)}-{number}-{granted}", RUN_ACCOUNT, CENT / 2)
        except BudgetReached:
            break
        granted += 1
    return granted


@pytest.mark.slow
def test_many_processes_never_exceed_the_limit(money: RunMoney) -> None:
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        granted = sum(pool.map(wants, [money] * 4))
    assert granted >= 20
    assert money.spent_usd == Decimal("0.10")
