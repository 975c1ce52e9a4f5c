"""Print what each category finds against what it suspects: `python bench/recall.py --defects DIR FILE... --clean DIR FILE...`.

DIR is what `assay bench` wrote with `--out` over these FILEs; each option may be given several times. For each category that the
defects have, signals are taken in the order of how many more defects they find for how many more clean changes they suspect: a
row of the table is what all signals up to it find, and suspect. Where a row costs more than it brings, a repository may switch
that signal off. *Found* is what docs/bench.md says; a reject with a fair category of its own counts to the signals of its facts.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from worker.domain.verdict.verdict import Category  # noqa: E402 - as above
from worker.evaluation.bench.measures import Share  # noqa: E402 - found from any working directory
from worker.evaluation.bench.rows import RowOutcome, read_outcomes, survey_rows  # noqa: E402 - as above

Hits = Sequence[frozenset[str]]
"""Of each row the signals that hit it."""


class Step(NamedTuple):
    """What all signals up to this one find among defects, and suspect among clean changes."""

    signal: str
    found: Share
    suspected: Share


def steps(defects: Hits, clean: Hits) -> Iterator[Step]:
    """The signals that find something, the best first."""
    taken, left = frozenset[str](), {name for row in defects for name in row}
    while left:
        more = {name: _hit(taken | {name}, defects) - _hit(taken, defects) for name in sorted(left)}
        cost = {name: _hit(taken | {name}, clean) - _hit(taken, clean) for name in left}
        best = max(more, key=lambda name: more[name] / (1 + cost[name]))
        if not more[best]:
            return
        taken, left = taken | {best}, left - {best}
        yield Step(best, Share(_hit(taken, defects), len(defects)), Share(_hit(taken, clean), len(clean)))


def _hit(names: frozenset[str], rows: Hits) -> int:
    return sum(not row.isdisjoint(names) for row in rows)


def finders(one: RowOutcome) -> frozenset[str]:
    """The signals without which this defect would not be found."""
    places = frozenset(found.signal for found in one.verdict.findings if one.is_found_by(found))
    if places or not one.is_rejected_rightly:
        return places
    return frozenset(found.signal for found in one.verdict.findings if found.fact)


def suspects(one: RowOutcome, category: str) -> frozenset[str]:
    return frozenset(found.signal for found in one.verdict.findings if found.category == category)


def _read(runs: Sequence[Sequence[str]]) -> list[RowOutcome]:
    return [
        one
        for folder, *files in runs
        for one in read_outcomes(survey_rows([Path(name) for name in files]), Path(folder))
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--defects", "--clean"):
        parser.add_argument(name, nargs="+", action="append", required=True, metavar="DIR FILE")
    said = parser.parse_args()
    defects = [one for one in _read(said.defects) if one.expect.decision == "reject"]
    clean = [one for one in _read(said.clean) if one.expect.good]
    for category in Category:
        bad = [finders(one) for one in defects if one.expect.category == category]
        if bad:
            print(
                f"\n{category}: {len(bad)} defects, {len(clean)} clean changes\n\n| with | found | suspected |\n|---|---|---|"
            )
            for step in steps(bad, [suspects(one, category) for one in clean]):
                print(f"| `{step.signal}` | {step.found.rate:.1%} | {step.suspected.rate:.2%} |")


if __name__ == "__main__":
    main()
