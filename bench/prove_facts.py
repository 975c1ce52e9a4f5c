"""Prove every fact of a bench run again: `python bench/prove_facts.py OUT_DIR FILE.jsonl[.gz]...`.

OUT_DIR is what `assay bench FILE... --out OUT_DIR` left. Each fact of its verdicts is looked at by a check that shares no
code with the judge (`bench/proving`), and is proved, refuted, or can't be told; one whose signal has no check counts as not
proved. Prints the shares per signal with their 95 % intervals, and every fact that is not proved. Exits with 1 where fewer
than 97 % of the decidable ones are proved.
"""

import argparse
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.proving import assertions, half_finished, spec, strays, weak_test, wrong  # noqa: E402 - found from any working directory
from bench.proving.answer import Answer, Claim, Outcome, claim_of  # noqa: E402 - as above
from bench.proving.looking import Check  # noqa: E402 - as above
from bench.proving.shown import Matter  # noqa: E402 - as above
from bench.rows import read  # noqa: E402 - as above

GOAL: Final = 0.97
CHECKS: Final[dict[str, Check]] = {
    **half_finished.CHECKS,
    **assertions.CHECKS,
    **weak_test.CHECKS,
    **wrong.CHECKS,
    **spec.CHECKS,
    **strays.CHECKS,
}


class Proof(NamedTuple):
    """One fact of one dossier, and what its check says."""

    id: str
    claim: Claim
    answer: Answer


def prove(claim: Claim, matter: Matter) -> Answer:
    check = CHECKS.get(claim.signal)
    return Answer(Outcome.NO_CHECK, "not proved, no check") if check is None else check(claim, matter)


def facts_of(folder: Path) -> dict[str, list[Claim]]:
    """The facts of each verdict, by the dossier's id."""
    rows = read(folder / "verdicts.jsonl")
    stated = ((row["id"], [one for one in row["verdict"]["findings"] if one["fact"]]) for row in rows)
    return {name: [claim_of(one) for one in facts] for name, facts in stated if facts}


def proofs(folder: Path, files: Sequence[Path]) -> Iterator[Proof]:
    """Raises SystemExit where a fact's dossier is in none of the files."""
    waiting = facts_of(folder)
    for path in files:
        for row in read(path):
            for claim in waiting.get(row["id"], ()):
                yield Proof(row["id"], claim, prove(claim, Matter(row["dossier"])))
            waiting.pop(row["id"], None)
    if waiting:
        raise SystemExit(
            f"{len(waiting)} dossiers with facts are in none of the files, among them {next(iter(waiting))}."
        )


def interval(hits: int, of: int) -> tuple[float, float]:
    """Wilson's, 95 %."""
    if not of:
        return 0.0, 1.0
    z, rate = 1.96, hits / of
    middle, half = rate + z * z / (2 * of), z * math.sqrt(rate * (1 - rate) / of + z * z / (4 * of * of))
    return max(0.0, (middle - half) / (1 + z * z / of)), min(1.0, (middle + half) / (1 + z * z / of))


def share(counts: "Counter[Outcome]") -> tuple[int, int]:
    """The proved ones, and the decidable ones."""
    of = counts[Outcome.PROVED] + counts[Outcome.REFUTED] + counts[Outcome.NO_CHECK]
    return counts[Outcome.PROVED], of


def line_of(name: str, counts: "Counter[Outcome]") -> str:
    hits, of = share(counts)
    low, high = interval(hits, of)
    cells = "".join(f"{counts[one]:>12}" for one in Outcome)
    return f"{name:<28}{cells}   {hits / of if of else 0:>6.1%}  ({low:.1%} to {high:.1%})"


def report(found: Sequence[Proof]) -> bool:
    """Print all; say whether the goal is met."""
    by_signal: defaultdict[str, Counter[Outcome]] = defaultdict(Counter)
    for one in found:
        by_signal[one.claim.signal][one.answer.outcome] += 1
    total = sum(by_signal.values(), Counter[Outcome]())
    print(f"{'signal':<28}{''.join(f'{one:>12}' for one in Outcome)}   proved among decidable (95 %)")
    for name in sorted(by_signal):
        print(line_of(name, by_signal[name]))
    print(line_of("all", total))
    for outcome in (Outcome.REFUTED, Outcome.NO_CHECK, Outcome.CANNOT_TELL):
        for one in found:
            if one.answer.outcome is outcome:
                print(f"{outcome}: {one.id} {one.claim.signal} {one.claim.place}: {one.answer.why}")
    hits, of = share(total)
    return hits >= GOAL * of


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="OUT_DIR")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    arguments = parser.parse_args(given)
    return 0 if report(list(proofs(arguments.folder, arguments.files))) else 1


if __name__ == "__main__":
    sys.exit(main())
