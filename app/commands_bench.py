"""`assay bench`: judges recorded dossiers by the hundred, and reports how right that was.

Does not judge or count itself (`worker.corpus` does). Invariant: a run that was stopped is taken up where it stopped,
and no report mixes two rubrics, tiers, files or versions of the judge.
"""

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from app.exits import Answer, Exit
from worker.bootstrap import open_bench
from worker.corpus.compare import Comparison, compare, read_earlier
from worker.corpus.figures import figures
from worker.corpus.kept import Plan, plan_of, prepare
from worker.corpus.outcomes import read_outcomes
from worker.corpus.page import page, summary
from worker.corpus.plots import draw
from worker.corpus.rows import survey
from worker.corpus.running import Opening, RowFailedError, run
from worker.corpus.tally import Report, tally
from worker.errors import InputError
from worker.settings import from_environment


def bench(arguments: argparse.Namespace) -> Answer:
    """Judge the files' dossiers, and write verdicts.jsonl, report.json and report.md with its plots.

    What can be wrong with the call is found before anything is judged.
    """
    gc.enable()
    files, folder = [Path(name) for name in arguments.files], Path(arguments.out)
    _check_names(files)
    earlier = read_earlier(_other(arguments.against, folder)) if arguments.against else None
    settings = from_environment()
    opening = Opening(settings, arguments.tier or settings.tier, Path(arguments.rubric) if arguments.rubric else None)
    with open_bench(*opening) as judges:
        plan = plan_of(files, judges, opening.tier)
    rows = survey(files)
    prepare(folder, plan)
    _run(files, folder, opening, (arguments.jobs or os.cpu_count() or 1, len(rows)))
    outcomes = read_outcomes(rows, folder)
    report = tally(outcomes)
    _write(folder, report, plan, None if earlier is None else compare(outcomes, earlier))
    return Answer(Exit.ACCEPT, summary(report, str(folder / "report.md")))


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
    with tqdm(total=total, unit="dossier", file=sys.stderr, disable=None, mininterval=0.5) as bar:
        try:
            for done in run(files, folder, opening, min(jobs, total)):
                bar.update(done - bar.n)
        except KeyboardInterrupt:
            bar.close()
            print(f"{done} of {total} are judged; the same command goes on from there.", file=sys.stderr)
            raise
        except RowFailedError as error:
            bar.close()
            print(f"The judge itself failed on {error.place}.", file=sys.stderr)
            raise


def _write(folder: Path, report: Report, plan: Plan, compared: Comparison | None) -> None:
    (folder / "report.json").write_text(figures(report, plan, compared), encoding="utf-8")
    plots = draw(report, folder)
    (folder / "report.md").write_text(page(report, plan, plots, compared), encoding="utf-8")
