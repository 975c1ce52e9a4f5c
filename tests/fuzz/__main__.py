"""Fuzz one parser for a while: `python -m tests.fuzz NAME SECONDS [--seed S] [--only NUMBER]`. Findings are kept in files."""

import argparse
import secrets
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.fuzzing import Outcome, Target, try_input
from tests.fuzz.targets import TARGETS
from worker.dossier.tree_sitter import sandboxed_parsing


def fuzz(target: Target, seed: int, seconds: float) -> int:
    """Try inputs until the CPU time is spent."""
    end = time.process_time() + seconds
    number = wrong = total = 0
    slowest = Outcome(b"", 0.0, None)
    while time.process_time() < end:
        outcome = try_input(target, seed, number)
        slowest = max(slowest, outcome, key=lambda outcome: outcome.seconds)
        total += len(outcome.raw)
        if outcome.wrong is not None:
            wrong += 1
            kept = Path(tempfile.gettempdir()) / f"fuzz-{target.name}-{seed}-{number}"
            kept.write_bytes(outcome.raw)
            print(f"FOUND --seed {seed} --only {number}, kept as {kept}\n{outcome.wrong}")
        number += 1
    print(
        f"{target.name}: {number} inputs, {total / 1e6:.1f} MB, {wrong} found;"
        f" slowest {slowest.seconds:.2f} s for {len(slowest.raw)} bytes"
    )
    return int(wrong > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=TARGETS)
    parser.add_argument("seconds", type=float, help="of CPU time, so that a busy machine tries no fewer inputs")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    parser.add_argument("--only", type=int, metavar="NUMBER", help="this one input again")
    arguments = parser.parse_args()
    target = TARGETS[arguments.name]
    print(f"{target.name}: seed {arguments.seed}", flush=True)
    with sandboxed_parsing():  # as a rejudging does: some texts take a parser gigabytes
        if arguments.only is None:
            return fuzz(target, arguments.seed, arguments.seconds)
        outcome = try_input(target, arguments.seed, arguments.only)
    print(outcome.wrong or f"nothing, in {outcome.seconds:.3f} s")
    return int(outcome.wrong is not None)


if __name__ == "__main__":
    sys.exit(main())
