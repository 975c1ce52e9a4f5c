"""Signals for work that nobody asked for: files that have nothing to do with the rest, bumps, strays.

Does not know what a maintainer would let pass. Invariant: only suspicions, each at a file, for what is unrelated is a
matter of degree.
"""

from typing import Final

from worker.signals.scope_creep import stray_file, unrelated_file, unrequested_bump
from worker.signals.signal import Signal

SIGNALS: Final[tuple[Signal, ...]] = (
    unrelated_file.unrelated_file,
    unrequested_bump.unasked_bump,
    unrequested_bump.lock_file_alone,
    stray_file.scratch_file,
    stray_file.stray_file,
    stray_file.foreign_code_edited,
)
