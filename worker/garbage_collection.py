"""How often a short process looks for garbage: a judging makes many small values and next to none that hold each other.

Does not turn anything off: what runs for long is looked through all the same. Invariant: what was there before is never
looked through again, so that a forked process does not copy it.
"""

import gc
from typing import Final

COLLECTOR_THRESHOLDS: Final = (20_000, 50, 100)
"""New values between two looks, and looks between two deeper ones. Python's own 700 cost a sixth of a judging."""


def collect_rarely() -> None:
    gc.freeze()
    gc.set_threshold(*COLLECTOR_THRESHOLDS)
    gc.enable()
