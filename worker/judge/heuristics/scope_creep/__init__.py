"""Signals for work that nobody asked for: files that have nothing to do with the rest, bumps, strays.

Does not know what a maintainer would let pass. Invariant: only suspicions, each at a file, for what is unrelated is a
matter of degree.
"""

from typing import Final

from worker.judge.heuristics.scope_creep import dependencies, strays, unrelated
from worker.signals.signal import Signal

SIGNALS: Final[tuple[Signal, ...]] = (
    unrelated.unrelated_file,
    dependencies.unasked_bump,
    dependencies.lock_file_alone,
    strays.scratch_file,
    strays.stray_file,
    strays.foreign_code_edited,
)
