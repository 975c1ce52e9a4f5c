"""`assay bench`: judges recorded dossiers by the hundred, and reports how right that was.

Does not judge or count itself (`worker.evaluation.bench` does). Invariant: a run that was stopped is taken up where it stopped,
and no report mixes two rubrics, tiers, files or versions of the judge.
"""

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Final

from app.cli.exit_codes import Answer, Exit
from app.cli.judge import require_key
from app.cli.progress import counted
from worker.dossier.parser_sandbox import tasting
from worker.errors import InputError
from worker.evaluation.bench.compare import Comparison, compare, read_earlier
from worker.evaluation.bench.expectations import Outcome, read_outcomes
from worker.evaluation.bench.figures import figures
from worker.evaluation.bench.plots import draw
from worker.evaluation.bench.report import page, summary
from worker.evaluation.bench.rows import Known, read_lines, survey
from worker.evaluation.bench.run_budget import MONEY, Money
from worker.evaluation.bench.run_folder import Plan, plan_of, prepare
from worker.evaluation.bench.runner import HaltedError, Opening, RowFailedError, run
from worker.evaluation.bench.statistics import Report, tally
from worker.evaluation.bench.tiers import Tiers, tiers
from worker.settings import Settings, from_environment
from worker.wiring.rejudge import open_rows

ZERO: Final = "zero"
"""Where in a run's folder its rows at the $0 tier stand."""


def bench(arguments: argparse.Namespace) -> Answer:
    """Judge the files' dossiers, and write verdicts.jsonl, report.json and report.md with its plots.

    What can be wrong with the call is found before anything is judged.
    """
    gc.enable()
    files, folder = [Path(name) for name in arguments.files], Path(arguments.out)
    _check_names(files)
    earlier = read_earlier(_other(arguments.against, folder)) if arguments.against else None
    settings = from_environment()
    require_key(settings, arguments.tier)
    if arguments.record:
        _record(settings, ())
    rubric = Path(arguments.rubric) if arguments.rubric else None
    opening = Opening(settings, arguments.tier or settings.tier, rubric, open_rows)
    with opening.bench() as judges:
        plan, asks = plan_of(files, judges, opening.tier), judges.model is not None
    money = _money(arguments.max_usd, folder, asks=asks)
    rows = survey(files)
    prepare(folder, plan)
    jobs = arguments.jobs or os.cpu_count() or 1
    zero = _zero(files, folder, opening, jobs, rows) if money else ()
    opening = opening._replace(money=money)
    _foretell(files, len(rows), opening)
    _run(files, folder, opening, (jobs, len(rows)))
    outcomes = read_outcomes(rows, folder)
    report = tally(outcomes)
    beside = tiers(zero, outcomes, money.spent_usd, money.limit_usd) if money else None
    if arguments.record:
        _record(settings, outcomes)
    _write(folder, (report, plan, None if earlier is None else compare(outcomes, earlier), beside))
    return Answer(Exit.ACCEPT, summary(report, str(folder / "report.md")))


def _record(settings: Settings, outcomes: Sequence[Outcome]) -> None:
    """Tell of the verdicts where Redis is; of none: find out before anything is judged whether it is there."""
    from worker.adapters.redis.store import open_store
    from worker.evaluation.bench.recording import record

    with open_store(settings) as store:
        record(outcomes, store.events)


def _money(max_usd: Decimal | None, folder: Path, *, asks: bool) -> Money | None:
    """What this run may cost. Raises InputError where a model would be asked and nobody said."""
    if not asks and max_usd is not None:
        raise InputError("--max-usd: no model would be asked. Set ANTHROPIC_API_KEY and give --tier hybrid or llm.")
    if asks and max_usd is None:
        raise InputError("This run asks a model. Say with --max-usd what it may cost, or give --tier heuristic.")
    return None if max_usd is None else Money(folder / MONEY, max_usd)


def _zero(
    files: Sequence[Path], folder: Path, opening: Opening, jobs: int, rows: Sequence[Known]
) -> tuple[Outcome, ...]:
    """The same rows at the $0 tier, to compare with; in a folder of their own."""
    opening = opening._replace(tier="heuristic")
    with opening.bench() as judges:
        plan = plan_of(files, judges, opening.tier)
    prepare(folder / ZERO, plan)
    _run(files, folder / ZERO, opening, (jobs, len(rows)))
    return read_outcomes(rows, folder / ZERO)


def _foretell(files: Sequence[Path], total: int, opening: Opening) -> None:
    """Say what it will cost, before it starts."""
    model, money = opening.settings.model, opening.money
    if model is None or money is None:
        return
    from worker.evaluation.bench.cost import forecast, told

    with tasting(), opening.bench() as judges:
        raws = (raw for path in files for raw in read_lines(path))
        known = forecast(raws, total, judges, model)
    print(told(known, money.limit_usd, money.spent_usd), file=sys.stderr)


def _check_names(files: Sequence[Path]) -> None:
    names = [path.name for path in files]
    if doubled := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"Two files are called {doubled}; the report tells files by their names. Rename one.")


def _other(against: str, folder: Path) -> Path:
    earlier = Path(against)
    if earlier.resolve() == folder.resolve():
        raise InputError(f"--against and --out are both {folder}. Give the folder of an earlier run, and another one.")
    return earlier


def _run(files: Sequence[Path], folder: Path, opening: Opening, size: tuple[int, int]) -> None:
    jobs, total = size
    done = 0
    try:
        with counted(total, "dossier") as tell:
            for done in run(files, folder, opening, min(jobs, total)):
                tell(done)
    except KeyboardInterrupt:
        print(f"{done} of {total} are judged; the same command goes on from there.", file=sys.stderr)
        raise
    except HaltedError as error:
        said = f"{error} {done} of {total} are judged; the same command goes on from there."
        raise InputError(said) from error
    except RowFailedError as error:
        print(f"The judge itself failed on {error.place}.", file=sys.stderr)
        raise


def _write(folder: Path, told: tuple[Report, Plan, Comparison | None, Tiers | None]) -> None:
    report, plan, compared, beside = told
    (folder / "report.json").write_text(figures(report, plan, compared, beside), encoding="utf-8")
    plots = draw(report, folder)
    (folder / "report.md").write_text(page(report, plan, plots, compared, beside), encoding="utf-8")
