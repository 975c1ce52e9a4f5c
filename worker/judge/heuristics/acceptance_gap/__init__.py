"""Signals for what a criterion asks for and the change does not show.

Does not understand a criterion: it looks for the names, paths and words of it. Invariant: only suspicions, and none about
prose that was taken as one criterion.
"""

from typing import Final

from worker.judge.heuristics.acceptance_gap import absent
from worker.signals.signal import Signal

SIGNALS: Final[tuple[Signal, ...]] = (
    absent.path_not_changed,
    absent.name_not_found,
    absent.test_not_found,
    absent.docs_not_changed,
    absent.claim_shows_nothing,
)
