"""Rows judged in processes, in order and resumable, and a finished run published on the stream."""

import json
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from decimal import Decimal
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any

import pytest

from tests.worker.evaluation.bench import samples
from tests.worker.evaluation.bench.samples import (
    BROKEN_DIFF,
    GOOD,
    PLAN,
    STUB,
    UNREACHABLE_MODEL,
    change_dossier,
    row,
    row_outcome,
    write_rows,
)
from tests.worker.judge.samples import ScriptedModel, accept_verdict, judge_context
from tests.worker.signals.samples import plain_dossier
from worker.domain.dossier import Dossier
from worker.domain.model import InstallationId
from worker.domain.verdict.budget import Bill
from worker.domain.verdict.events import Event
from worker.domain.verdict.verdict import SubjectKind
from worker.errors import BudgetReached, InputError, Unavailable
from worker.evaluation.bench.rows import BenchRow, RawRow, RowOutcome, read_lines
from worker.evaluation.bench.runner import (
    BUDGET_FILE,
    OTHER_LANGUAGE,
    RUN_ACCOUNT,
    RUN_FILE,
    TRAITS_FILE,
    VERDICTS_FILE,
    FileBudget,
    NumberedRow,
    RunMoney,
    judge_row,
    judge_to_lines,
    make_plan,
    open_run_files,
    prepare_folder,
    read_json_lines,
    record_run,
    run_bench,
    write_answers,
)
from worker.evaluation.engine import Halt, HaltedError, TaskFailedError
from worker.judge.context import JudgeContext
from worker.process import SystemClock
from worker.settings import Settings
from worker.wiring.rejudge import BenchOpener

ROWS = 12


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    first = samples.write_rows(tmp_path / "a.jsonl", *(row(f"a{number}", STUB) for number in range(ROWS - 4)))
    return [first, samples.write_rows(tmp_path / "b.jsonl", *(row(f"b{number}") for number in range(4)))]


@pytest.fixture
def opening(tmp_path: Path) -> BenchOpener:
    return BenchOpener(Settings(data_dir=tmp_path / "state"), "heuristic", None)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


IDS = [*(f"a{number}" for number in range(ROWS - 4)), *(f"b{number}" for number in range(4))]


def ids(folder: Path, name: str = VERDICTS_FILE) -> list[str]:
    return [json.loads(line)["id"] for line in (folder / name).read_bytes().splitlines()]


def test_rows_are_written_in_the_order_of_the_files(files: list[Path], out: Path, opening: BenchOpener) -> None:
    assert list(run_bench(files, out, opening, 2)) == list(range(ROWS + 1))
    assert ids(out) == ids(out, TRAITS_FILE) == IDS
    decisions = [line["verdict"]["decision"] for _, line in read_json_lines(out / VERDICTS_FILE)]  # type: ignore[index] - a row of ours
    assert decisions == ["reject"] * (ROWS - 4) + ["abstain"] * 4
    assert not active_children()


def test_interrupted_run_resumes_where_it_stopped(files: list[Path], out: Path, opening: BenchOpener) -> None:
    stopped = run_bench(files, out, opening, 1)
    while next(stopped) < 3:
        pass
    stopped.close()
    assert not active_children()
    before = (out / VERDICTS_FILE).read_bytes()
    assert ids(out) == IDS[:3]
    resumed = run_bench(files, out, opening, 1)
    assert next(resumed) == 3
    list(resumed)
    assert ids(out) == ids(out, TRAITS_FILE) == IDS
    whole = (out / VERDICTS_FILE).read_bytes()
    assert whole.startswith(before), "what was judged is not judged again"
    assert list(run_bench(files, out, opening, 2)) == [ROWS], "nor is a finished run"
    assert (out / VERDICTS_FILE).read_bytes() == whole


def test_row_of_a_killed_process_is_judged_by_another(files: list[Path], out: Path, opening: BenchOpener) -> None:
    run = run_bench(files, out, opening, 1)
    while next(run) < 2:
        pass
    (child,) = active_children()
    assert child.pid is not None
    os.kill(child.pid, signal.SIGKILL)
    list(run)
    assert ids(out) == ids(out, TRAITS_FILE) == IDS
    assert not active_children()


def test_failing_row_is_named_with_its_cause(out: Path, opening: BenchOpener, tmp_path: Path) -> None:
    path = samples.write_rows(tmp_path / "rows.jsonl", row("fine"), "{}", row("later"))
    with pytest.raises(TaskFailedError) as raised:
        list(run_bench([path], out, opening, 1))
    assert str(raised.value) == f"{path}:2"
    assert "RuntimeError: a row that was read before" in str(raised.value.__cause__)
    assert "InputError" in str(raised.value.__cause__)
    assert ids(out) == ["fine"]


def test_row_is_written_as_its_id_and_verdict(tmp_path: Path) -> None:
    raw, broken = read_lines(samples.write_rows(tmp_path / "rows.jsonl", row("ä", STUB), "{}"))
    lines = judge_to_lines(judge_context(threshold=0.0), NumberedRow(0, raw))
    assert not isinstance(lines, Halt)
    with pytest.raises(RuntimeError, match="a row that was read before"):
        judge_to_lines(judge_context(threshold=0.0), NumberedRow(1, broken))
    assert str(NumberedRow(0, raw)) == f"{tmp_path / 'rows.jsonl'}:1"
    verdict, traits = lines
    assert list(json.loads(verdict)) == ["id", "verdict"]
    assert (json.loads(verdict)["id"], json.loads(traits)["id"]) == ("ä", "ä")
    assert verdict.endswith(b"\n")
    assert b"\n" not in verdict[:-1] + traits[:-1]


def test_row_that_needs_an_unavailable_model_halts(tmp_path: Path) -> None:
    fact, unproven = read_lines(samples.write_rows(tmp_path / "rows.jsonl", row("fact", STUB), row("open")))
    down = judge_context(ScriptedModel([Unavailable("The model", "down")] * 2), threshold=1.0)
    assert not isinstance(judge_to_lines(down, NumberedRow(0, fact)), Halt)
    halted = judge_to_lines(down, NumberedRow(1, unproven))
    assert isinstance(halted, Halt)
    assert "down" in halted.reason


@pytest.mark.parametrize(
    ("limit", "problem"),
    [
        ("0", "The limit is reached. Give a larger --max-usd"),
        pytest.param("1", "the connection failed", marks=pytest.mark.slow),
    ],
)
def test_run_without_its_model_halts_and_keeps_rows_that_needed_none(
    out: Path, opening: BenchOpener, tmp_path: Path, limit: str, problem: str
) -> None:
    path = samples.write_rows(tmp_path / "rows.jsonl", row("fact", STUB), row("open"), row("later", STUB))
    settings = replace(opening.settings, model=UNREACHABLE_MODEL)
    paid = BenchOpener(settings, "hybrid", None, RunMoney(out / BUDGET_FILE, Decimal(limit)))
    with pytest.raises(HaltedError, match=problem):
        list(run_bench([path], out, paid, 1))
    assert ids(out) == ids(out, TRAITS_FILE) == ["fact"]
    assert not active_children()
    with paid.open_context() as judges:
        halt = judge_to_lines(judges, NumberedRow(1, list(read_lines(path))[1]))
    assert isinstance(halt, Halt)
    assert problem in halt.reason


def test_stopped_run_writes_rows_up_to_the_first_gap(out: Path) -> None:
    raw = RawRow(out, 1, b"")

    def answers() -> Iterator[tuple[NumberedRow, tuple[bytes, bytes]]]:
        for number in (7, 6, 9, 5):
            yield NumberedRow(number, raw), (b"%d\n" % number, b"%d\n" % -number)

    with open_run_files(out) as run_files:
        for number in range(5):
            run_files.append(b"%d\n" % number, b"%d\n" % -number)
        run = write_answers(run_files, 5, answers())
        assert next(run) == 6
        run.close()
    assert [line for _, line in read_json_lines(out / VERDICTS_FILE)] == [0, 1, 2, 3, 4, 5, 6, 7]
    assert [line for _, line in read_json_lines(out / TRAITS_FILE)] == [0, -1, -2, -3, -4, -5, -6, -7]


class Stream:
    """Publishes once per name."""

    def __init__(self) -> None:
        self.published: dict[str, tuple[Event, ...]] = {}

    def publish(self, installation: InstallationId, name: str, *events: Event) -> bool:
        assert installation == 0
        return self.published.setdefault(name, events) is events

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [dict(event.body) for events in self.published.values() for event in events]


def as_benchmark(outcome: RowOutcome, eval_id: str) -> RowOutcome:
    subject = outcome.verdict.subject.model_copy(update={"kind": SubjectKind.BENCHMARK})
    return outcome._replace(verdict=outcome.verdict.model_copy(update={"eval_id": eval_id, "subject": subject}))


RECORDED = (
    as_benchmark(row_outcome(accept_verdict(score=0.7), GOOD, "a"), "e1"),
    as_benchmark(row_outcome(accept_verdict(score=0.9), GOOD, "b"), "e2"),
)


def test_run_publishes_started_and_completed_once_per_verdict() -> None:
    stream = Stream()
    assert (record_run(RECORDED, stream), record_run(RECORDED, stream)) == (2, 0)
    kinds = [event.kind for events in stream.published.values() for event in events]
    assert kinds == ["eval.started", "eval.completed"] * 2
    assert {(body["trigger"], body["subject_kind"]) for body in stream.bodies} == {("benchmark", "benchmark")}


def test_row_has_its_own_subject_id_in_each_run() -> None:
    stream, again = Stream(), as_benchmark(row_outcome(accept_verdict(), GOOD, "a"), "e3")
    record_run((*RECORDED, again), stream)
    first, _, other, _, same, _ = (body["subject_id"] for body in stream.bodies)
    assert first == same != other
    assert '"a"' not in str(stream.bodies)
    elsewhere = as_benchmark(row_outcome(accept_verdict(), GOOD, "a", file="other.jsonl"), "e4")
    record_run([elsewhere], stream)
    assert stream.bodies[-1]["subject_id"] not in {first, other}


def context() -> JudgeContext:
    return judge_context(threshold=0.0)


def row_of(**fields: object) -> BenchRow:
    return BenchRow.model_validate({**row("a", STUB), **fields})


def test_row_is_judged_by_its_dossier() -> None:
    verdict, _ = judge_row(row_of(), "rows.jsonl", context(), SystemClock())
    assert (verdict.decision, verdict.category) == ("reject", "half_finished")
    assert verdict.subject.kind is SubjectKind.BENCHMARK
    assert "evaluate_score" not in verdict.signals


@pytest.mark.parametrize(
    ("dossier", "block"),
    [
        (change_dossier(STUB), {"grounding_tokens": ["Engine"], "final_response": "The Engine."}),
        (change_dossier(STUB, case={"summary": "The Engine."}), {"grounding_tokens": ["Engine"]}),
    ],
    ids=["a recorded response", "the summary of the case"],
)
def test_evaluate_block_adds_signals_and_keeps_the_verdict(dossier: Dossier, block: dict[str, Any]) -> None:
    fields = {"dossier": dossier.model_dump(mode="json", exclude_unset=True)}
    plain, _ = judge_row(row_of(**fields), "rows.jsonl", context(), SystemClock())
    verdict, _ = judge_row(row_of(**fields, evaluate=block), "rows.jsonl", context(), SystemClock())
    assert (verdict.score, verdict.decision) == (plain.score, plain.decision)
    assert verdict.signals["workload_grounding_score"] == 1.0
    assert verdict.signals["evaluate_score"] == pytest.approx((plain.score + 1) / 2)


def test_row_traits_hold_language_size_and_pointers() -> None:
    _, traits = judge_row(row_of(), "rows.jsonl", context(), SystemClock())
    assert (traits.id, traits.file, traits.repository) == ("a", "rows.jsonl", "acme/widgets")
    assert (traits.language, traits.whole_files, traits.lines) == ("python", True, 2)
    assert traits.bytes == len(row_of().dossier.diff.encode())
    assert set(traits.looks) == {"anything", "production code"}
    assert traits.pointers > 0
    assert traits.pointers_wrong == ()
    assert traits.ms > 0


@pytest.mark.parametrize(
    ("path", "language"), [("a.tsx", "typescript"), ("a.js", "typescript"), ("a.md", OTHER_LANGUAGE)]
)
def test_related_languages_are_reported_as_one(path: str, language: str) -> None:
    diff = f"diff --git a/{path} b/{path}\nindex 1..2 100644\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n"
    dossier = plain_dossier(diff).model_dump(mode="json", exclude_unset=True)
    _, traits = judge_row(row_of(dossier=dossier), "rows.jsonl", context(), SystemClock())
    assert (traits.language, traits.whole_files) == (language, False)


def test_malformed_diff_is_judged() -> None:
    dossier = plain_dossier(BROKEN_DIFF).model_dump(mode="json", exclude_unset=True)
    verdict, traits = judge_row(row_of(dossier=dossier), "rows.jsonl", context(), SystemClock())
    assert verdict.decision == "abstain"
    assert (traits.language, traits.lines) == (OTHER_LANGUAGE, 0)


def test_finding_without_a_path_adds_no_pointer() -> None:
    dossier = plain_dossier("").model_dump(mode="json", exclude_unset=True)
    verdict, traits = judge_row(row_of(dossier=dossier), "rows.jsonl", context(), SystemClock())
    assert [finding.path for finding in verdict.findings] == [None]
    assert traits.pointers == len(verdict.evidence) + sum(len(criterion.evidence) for criterion in verdict.criteria)


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
