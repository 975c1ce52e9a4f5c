"""What every fuzz target runs in: inputs from a seed, one after the other, until so much CPU time is spent.

Does not know any target. Invariant: the same seed and number give the same input, so that what was found is found again;
an input that takes longer than LIMIT of CPU time is a finding like an exception.
"""

import argparse
import secrets
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

LIMIT: Final = 5.0
"""Seconds of CPU time for one input, none of which is larger than a few hundred kilobytes."""


@dataclass(frozen=True, slots=True)
class Target:
    """A parser, and how to make texts for it. `run` returns for every text, or raises what is `refused` by right."""

    name: str
    make: Callable[[Random], bytes]
    run: Callable[[bytes], object]
    refused: tuple[type[Exception], ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one input did: CPU seconds, and what was wrong with it."""

    raw: bytes
    seconds: float
    wrong: str | None


class TooSlow(BaseException):
    """Raised out of the middle of whatever takes too long; no parser may catch it."""


def tried(target: Target, seed: int, number: int) -> Outcome:
    """The outcome of one input."""
    raw = target.make(Random(f"{seed}:{number}"))  # noqa: S311 - the same inputs again, not secrets
    started = time.process_time()
    wrong = None
    try:
        with _limited():
            target.run(raw)
    except target.refused:
        pass
    except TooSlow:
        wrong = f"took longer than {LIMIT:.0f} s:\n{traceback.format_exc(limit=-6)}"
    except Exception:  # noqa: BLE001 - whatever it is, it was found
        wrong = traceback.format_exc(limit=-6)
    return Outcome(raw, time.process_time() - started, wrong)


@contextmanager
def _limited() -> Generator[None]:
    def stop(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def main(target: Target) -> int:
    """Run from the command line: `python bench/fuzz/NAME.py SECONDS [--seed S] [--only NUMBER]`."""
    parser = argparse.ArgumentParser(description=f"Fuzz {target.name}; prints the seed, and keeps what it finds.")
    parser.add_argument(
        "seconds", type=float, help="of CPU time: a busy machine tries no fewer inputs, it takes longer"
    )
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", type=int, help="this one input again")
    arguments = parser.parse_args()
    seed = secrets.randbelow(10**6) if arguments.seed is None else arguments.seed
    print(f"{target.name}: seed {seed}", flush=True)
    if arguments.only is not None:
        found = tried(target, seed, arguments.only)
        print(found.wrong or f"nothing, in {found.seconds:.3f} s")
        return int(found.wrong is not None)
    return _run(target, seed, arguments.seconds)


def _run(target: Target, seed: int, seconds: float) -> int:
    end = time.process_time() + seconds
    number = wrong = total = 0
    slowest = Outcome(b"", 0.0, None)
    while time.process_time() < end:
        outcome = tried(target, seed, number)
        slowest = max(slowest, outcome, key=lambda one: one.seconds)
        total += len(outcome.raw)
        if outcome.wrong is not None:
            wrong += 1
            print(
                f"FOUND --seed {seed} --only {number}, kept as {_kept(target, seed, number, outcome)}\n{outcome.wrong}"
            )
        number += 1
    print(
        f"{target.name}: {number} inputs, {total / 1e6:.1f} MB, {wrong} found;"
        f" slowest {slowest.seconds:.2f} s for {len(slowest.raw)} bytes"
    )
    return int(wrong > 0)


def _kept(target: Target, seed: int, number: int, outcome: Outcome) -> Path:
    path = Path(tempfile.gettempdir()) / f"fuzz-{target.name}-{seed}-{number}"
    path.write_bytes(outcome.raw)
    return path


def run_as_script(name: str, target: Target) -> None:
    if name == "__main__":
        sys.exit(main(target))
