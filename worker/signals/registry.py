"""All signals, by family. Policies, the rubric and the docs name exactly these."""

from typing import Final

from worker.signals import acceptance_gap, half_finished, scope_creep, spec_violation, tests_pass_but_wrong, weak_test
from worker.signals.acceptance_gap import empty_diff
from worker.signals.signal import Signal

SIGNALS: Final[tuple[Signal, ...]] = (
    empty_diff.empty_diff,
    *spec_violation.SIGNALS,
    *acceptance_gap.SIGNALS,
    *half_finished.SIGNALS,
    *tests_pass_but_wrong.SIGNALS,
    *weak_test.SIGNALS,
    *scope_creep.SIGNALS,
)
REGISTERED_NAMES: Final = frozenset(signal.name for signal in SIGNALS)
