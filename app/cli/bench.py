"""`assay bench`: judge recorded dossiers, and report how right that was.

The same command continues a stopped run. No report mixes rubrics, tiers, files or versions of the judge.
"""

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from app.cli.judge import require_key
from app.cli.parser import CommandResult, Exit
from app.cli.terminal import show_count
from worker.dossier.tree_sitter import sandboxed_parsing
from worker.errors import InputError
from worker.evaluation.bench.compare import compare_runs, compare_tiers, read_earlier_run
from worker.evaluation.bench.plots import draw_plots
from worker.evaluation.bench.report import report_json, report_page, report_summary
from worker.evaluation.bench.rows import RowOutcome, RowSummary, survey_rows
from worker.evaluation.bench.runner import (
    BUDGET_FILE,
    RunMoney,
    forecast_rows,
    make_plan,
    prepare_folder,
    read_outcomes,
    run_bench,
)
from worker.evaluation.bench.statistics import compute_report
from worker.evaluation.engine import HaltedError, TaskFailedError
from worker.evaluation.forecast import forecast_text
from worker.settings import Settings, load_settings
from worker.wiring.rejudge import BenchOpener, prompt_meter

ZERO_TIER_FOLDER: Final = "zero"
"""The subfolder of a run for its rows at the $0 tier."""


def bench(arguments: argparse.Namespace) -> CommandResult:
    """Judge the files' dossiers, and write verdicts.jsonl, report.json and report.md with its plots.

    Raises InputError for a wrong call before anything is judged.
    """
    gc.enable()
    files, folder = [Path(name) for name in arguments.files], Path(arguments.out)
    names = [path.name for path in files]
    if doubled := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"Two files are called {doubled}; the report tells files by their names. Rename one.")
    if arguments.against and Path(arguments.against).resolve() == folder.resolve():
        raise InputError(f"--against and --out are both {folder}. Give the folder of an earlier run, and another one.")
    earlier = read_earlier_run(Path(arguments.against)) if arguments.against else None
    settings = load_settings()
    require_key(settings, arguments.tier)
    if arguments.record:
        _record(settings, ())
    rubric = Path(arguments.rubric) if arguments.rubric else None
    opening = BenchOpener(settings, arguments.tier or settings.tier, rubric)
    with opening.open_context() as judges:
        plan, asks = make_plan(files, judges, opening.tier), judges.model is not None
    if not asks and arguments.max_usd is not None:
        raise InputError("--max-usd: no model would be asked. Set ANTHROPIC_API_KEY and give --tier hybrid or llm.")
    if asks and arguments.max_usd is None:
        raise InputError("This run asks a model. Say with --max-usd what it may cost, or give --tier heuristic.")
    money = None if arguments.max_usd is None else RunMoney(folder / BUDGET_FILE, arguments.max_usd)
    rows = survey_rows(files)
    prepare_folder(folder, plan)
    jobs = arguments.jobs or os.cpu_count() or 1
    zero = _run_zero_tier(files, folder, opening, jobs, rows) if money else ()
    opening = opening._replace(money=money)
    _print_forecast(files, len(rows), opening)
    _run(files, folder, opening, (jobs, len(rows)))
    outcomes = read_outcomes(rows, folder)
    report = compute_report(outcomes)
    beside = compare_tiers(zero, outcomes, money.spent_usd, money.limit_usd) if money else None
    if arguments.record:
        _record(settings, outcomes)
    compared = None if earlier is None else compare_runs(outcomes, earlier)
    (folder / "report.json").write_text(report_json(report, plan, compared, beside), encoding="utf-8")
    page = report_page(report, plan, draw_plots(report, folder), compared, beside)
    (folder / "report.md").write_text(page, encoding="utf-8")
    return CommandResult(Exit.ACCEPT, report_summary(report, str(folder / "report.md")))


def _record(settings: Settings, outcomes: Sequence[RowOutcome]) -> None:
    """Record the outcomes on the event stream; without any, check before judging that Redis answers."""
    from worker.evaluation.bench.runner import record_run
    from worker.wiring.store import open_store

    with open_store(settings) as store:
        record_run(outcomes, store.events)


def _run_zero_tier(
    files: Sequence[Path], folder: Path, opening: BenchOpener, jobs: int, rows: Sequence[RowSummary]
) -> tuple[RowOutcome, ...]:
    """Judge the same rows at the $0 tier, to compare with, in a folder of their own."""
    opening = opening._replace(tier="heuristic")
    with opening.open_context() as judges:
        plan = make_plan(files, judges, opening.tier)
    prepare_folder(folder / ZERO_TIER_FOLDER, plan)
    _run(files, folder / ZERO_TIER_FOLDER, opening, (jobs, len(rows)))
    return read_outcomes(rows, folder / ZERO_TIER_FOLDER)


def _print_forecast(files: Sequence[Path], total: int, opening: BenchOpener) -> None:
    """Print on standard error what the run will cost."""
    model, money = opening.settings.model, opening.money
    if model is None or money is None:
        return
    with sandboxed_parsing(), opening.open_context() as context:
        forecast = forecast_rows(files, total, context, prompt_meter(model))
    print(forecast_text(forecast, money.limit_usd, money.spent_usd), file=sys.stderr)


def _run(files: Sequence[Path], folder: Path, opening: BenchOpener, size: tuple[int, int]) -> None:
    jobs, total = size
    done = 0
    try:
        with show_count(total, "dossier") as show:
            for done in run_bench(files, folder, opening, min(jobs, total)):
                show(done)
    except HaltedError as error:
        message = f"{error} {done} of {total} are judged; the same command goes on from there."
        raise InputError(message) from error
    except TaskFailedError as error:
        print(f"The judge itself failed on {error}.", file=sys.stderr)
        raise
