"""Signals for work that nothing asked for: files unrelated to the rest, version bumps, stray files."""

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
