"""The machine's clock.

Does not sleep. Invariant: times are UTC and carry their zone.
"""

import time
from datetime import UTC, datetime


class SystemClock:
    """The Clock of every process; the only reader of the machine's time."""

    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251 - this is the clock

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000
