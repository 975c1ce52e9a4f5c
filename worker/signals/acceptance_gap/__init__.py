"""Signals for what a criterion asks for and the change does not show."""

from typing import Final

from worker.signals.acceptance_gap import criteria_not_met
from worker.signals.signal import Signal

SIGNALS: Final[tuple[Signal, ...]] = (
    criteria_not_met.path_not_changed,
    criteria_not_met.name_not_found,
    criteria_not_met.test_not_found,
    criteria_not_met.docs_not_changed,
    criteria_not_met.claim_shows_nothing,
)
