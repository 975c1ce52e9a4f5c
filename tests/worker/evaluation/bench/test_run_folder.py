"""The folder of a run: its lock, its plan, its truncation, and the budget that its processes share."""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
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


def test_plan_depends_on_rubric_tier_and_files(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rows.jsonl", row("a"))
    plan = make_plan([path], judge_context(), "heuristic")
    assert plan == make_plan([path], judge_context(), "heuristic")
    write_rows(path, row("b"))
    other = make_plan([path], judge_context(), "hybrid")
    assert {name for name, now in other if getattr(plan, name) != now} == {"files", "tier"}
    rubric = judge_context().rubric.model_copy(update={"version": "another"})
    assert make_plan([path], replace(judge_context(), rubric=rubric), "heuristic").rubric != plan.rubric


def test_plan_names_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.jsonl can't be read: No such file"):
        make_plan([tmp_path / "nothing.jsonl"], judge_context(), "heuristic")


def test_folder_is_created_and_accepts_the_same_run(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "out"
    prepare_folder(folder, PLAN)
    prepare_folder(folder, PLAN)
    assert [path.name for path in folder.iterdir()] == [RUN_FILE]


def test_folder_refuses_another_run_and_names_the_differences(tmp_path: Path) -> None:
    prepare_folder(tmp_path, PLAN)
    with pytest.raises(InputError, match=r"holds a run with another rubric and code\. Give another folder with --out"):
        prepare_folder(tmp_path, PLAN.model_copy(update={"rubric": "sha256:x", "code": "sha256:y"}))


@pytest.mark.parametrize("plan", [None, "", '{"tier": "heuristic"}', "[]"])
def test_folder_with_an_unreadable_plan_is_refused(tmp_path: Path, plan: str | None) -> None:
    (tmp_path / VERDICTS_FILE).write_text("{}\n")
    if plan is not None:
        (tmp_path / RUN_FILE).write_text(plan)
    with pytest.raises(InputError, match=r"holds a run without a record of its options\."):
        prepare_folder(tmp_path, PLAN)


def test_folder_that_cannot_be_written_is_an_input_error(tmp_path: Path) -> None:
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
def test_partial_files_are_cut_to_the_same_rows(tmp_path: Path, verdicts: bytes, traits: bytes, rows: int) -> None:
    (tmp_path / VERDICTS_FILE).write_bytes(verdicts)
    (tmp_path / TRAITS_FILE).write_bytes(traits)
    with open_run_files(tmp_path) as files:
        assert files.truncate_partial() == rows
        files.append(b"5\n", b"6\n")
        lines = [list(read_json_lines(tmp_path / name)) for name in (VERDICTS_FILE, TRAITS_FILE)]
    before = [(number, number) for number in range(1, rows + 1)]
    assert lines == [[*before, (rows + 1, 5)], [*before, (rows + 1, 6)]], "each append is flushed"


def test_folder_is_locked_against_a_second_run(tmp_path: Path) -> None:
    with (
        open_run_files(tmp_path),
        pytest.raises(InputError, match=r"Another `assay bench` is writing to"),
        open_run_files(tmp_path),
    ):
        pass
    with open_run_files(tmp_path) as files:
        assert files.truncate_partial() == 0


def test_invalid_json_line_is_named(tmp_path: Path) -> None:
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


def test_settling_releases_the_unspent_amount_once(money: RunMoney) -> None:
    budget = FileBudget(money)
    reservation = budget.reserve("a", RUN_ACCOUNT, 5 * CENT)
    assert money.spent_usd == 5 * CENT
    for _ in range(2):
        budget.settle(reservation, Bill(CENT, "m", 100, 30))
        assert money.spent_usd == CENT


def test_repeated_reservation_counts_once(money: RunMoney) -> None:
    for _ in range(2):
        FileBudget(money).reserve("a", RUN_ACCOUNT, 8 * CENT)
    assert money.spent_usd == 8 * CENT


def test_reservation_with_unknown_cost_stays_spent(money: RunMoney) -> None:
    budget = FileBudget(money)
    budget.settle(budget.reserve("a", RUN_ACCOUNT, 3 * CENT), Bill(None))
    assert money.spent_usd == 3 * CENT


def test_nothing_is_reserved_beyond_the_limit(money: RunMoney) -> None:
    budget = FileBudget(money)
    budget.reserve("a", RUN_ACCOUNT, 9 * CENT)
    with pytest.raises(BudgetReached) as caught:
        budget.reserve("b", RUN_ACCOUNT, 2 * CENT)
    assert (caught.value.level.used_usd, caught.value.asked_usd) == (9 * CENT, 2 * CENT)
    assert money.spent_usd == 9 * CENT
    assert FileBudget(money._replace(limit_usd=CENT * 11)).reserve("b", RUN_ACCOUNT, 2 * CENT).usd == 2 * CENT


def test_density_bound_follows_the_densest_prompt(money: RunMoney) -> None:
    budget = FileBudget(money)
    assert budget.density(RUN_ACCOUNT, "m").max_tokens(1000) == 1000
    for number in range(10):
        budget.settle(budget.reserve(f"{number}", RUN_ACCOUNT, CENT), Bill(Decimal(0), "m", 1000, 200 + number))
    assert budget.density(RUN_ACCOUNT, "m").max_tokens(10_000) == 2613


def test_budget_file_stays_valid_when_it_shrinks(money: RunMoney) -> None:
    budget = FileBudget(money)
    reservations = [budget.reserve(f"{'x' * 50}{number}", RUN_ACCOUNT, CENT) for number in range(10)]
    for reservation in reservations:
        budget.settle(reservation, Bill(Decimal(0)))
    assert money.spent_usd == 0


def reserve_until_limit(money: RunMoney) -> int:
    """How many of 25 reservations are granted to this process."""
    budget, granted = FileBudget(money), 0
    for number in range(25):
        try:
            budget.reserve(f"{id(budget)}-{number}-{granted}", RUN_ACCOUNT, CENT / 2)
        except BudgetReached:
            break
        granted += 1
    return granted


@pytest.mark.slow
def test_processes_together_never_exceed_the_limit(money: RunMoney) -> None:
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        granted = sum(pool.map(reserve_until_limit, [money] * 4))
    assert granted >= 20
    assert money.spent_usd == Decimal("0.10")
