"""Hold the heuristic tier against recorded dossiers: `python bench/corpus.py FILE.jsonl[.gz]...`.

Each line of a file is `{"id", "dossier", "expect"}` (docs/dossier.md); `expect.decision` is accept, reject,
not_accept or null. Prints counts and rates for each file, and every error by its id. Asks no model.
"""

import argparse
import gzip
import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from worker.assemble import complete  # noqa: E402 - found from any working directory
from worker.domain.dossier import Dossier  # noqa: E402 - as above
from worker.domain.opinion import HeuristicOpinion  # noqa: E402 - as above
from worker.domain.rubric import Rubric  # noqa: E402 - as above
from worker.judge.heuristics import consider  # noqa: E402 - as above
from worker.rulebook import load_rubric  # noqa: E402 - as above


@dataclass
class Tally:
    """What one file gave: rows and outcomes by group, the errors, and milliseconds a dossier."""

    rows: Counter[str] = field(default_factory=Counter[str])
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    errors: list[str] = field(default_factory=list[str])
    milliseconds: list[float] = field(default_factory=list[float])
    findings: list[int] = field(default_factory=list[int])


def rows(path: Path) -> Iterator[dict[str, Any]]:
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return (json.loads(line) for line in raw.split(b"\n") if line)


def outcome(opinion: HeuristicOpinion) -> str:
    if opinion.facts:
        return "rejected"
    return "unsure" if opinion.safe is None else "accepted"


def groups(expect: dict[str, Any], *, with_files: bool) -> Iterator[str]:
    decision = expect.get("decision") or "open"
    what = expect.get("category") or expect.get("why") or expect.get("outcome") or ""
    yield f"{decision} {what}".strip()
    yield f"{decision} {what} {'with files' if with_files else 'diff only'}"
    for name in ("difficulty", "kind", "variant"):
        if expect.get(name):
            yield f"{decision} {what} {name}={expect[name]}"


def measure(path: Path, rubric: Rubric) -> Tally:
    tally = Tally()
    for row in rows(path):
        dossier = complete(Dossier.model_validate(row["dossier"]))
        start = time.perf_counter()
        opinion = consider(dossier, rubric)
        tally.milliseconds.append((time.perf_counter() - start) * 1000)
        tally.findings.append(len(opinion.findings))
        expect, found = row["expect"], outcome(opinion)
        suspected = {f"suspects {finding.category}" for finding in opinion.findings if not finding.fact}
        for group in groups(expect, with_files=dossier.files is not None):
            tally.rows[group] += 1
            tally.outcomes.update((group, one) for one in (found, *suspected))
        if (expect.get("decision"), found) in {
            ("accept", "rejected"),
            ("not_accept", "accepted"),
            ("reject", "accepted"),
        }:
            tally.errors.append(f"{row['id']}: {found}, expected {expect['decision']}: {opinion.reason}")
    return tally


def show(path: Path, tally: Tally) -> None:
    spent = sorted(tally.milliseconds)
    print(f"\n{path.name}: {len(spent)} dossiers, median {statistics.median(spent):.1f} ms,", end=" ")
    print(f"95 % {spent[int(len(spent) * 0.95)]:.0f} ms, longest {spent[-1]:.0f} ms,", end=" ")
    print(f"findings at the median {statistics.median(tally.findings):.0f}, at most {max(tally.findings)}")
    for group, count in sorted(tally.rows.items()):
        parts = [f"{name} {n} ({n / count:.1%})" for (of, name), n in sorted(tally.outcomes.items()) if of == group]
        print(f"  {group}: {count}: {', '.join(parts)}")
    for error in tally.errors:
        print(f"  WRONG {error}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    rubric = load_rubric()
    tallies = [(path, measure(path, rubric)) for path in arguments.files]
    for path, tally in tallies:
        show(path, tally)
    return 1 if any(tally.errors for _, tally in tallies) else 0


if __name__ == "__main__":
    sys.exit(main())
