"""The machine's clock: UTC times with their zone."""

import time
from datetime import UTC, datetime


class SystemClock:
    """The Clock of every process."""

    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251 - the only reader of the time

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000
