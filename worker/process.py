"""What each process has of the machine: its clock, and after a fork a memory limit, the end with its parent, rare garbage collection.

Memory limit and parent-death signal exist on Linux only. Elsewhere an orphan works until its lease ends, and memory is unlimited.
"""

import ctypes
import gc
import os
import resource
import signal
import sys
import time
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Final

MAX_EXTRA_BYTES: Final = min(1 << 31, resource.getpagesize() * os.sysconf("SC_PHYS_PAGES") // 2)
"""How much more memory than now a judging process may take: half of the machine's. A change of 5 MB mostly takes 50 MiB, at worst
350 for each megabyte of punctuation in a row.
"""

COLLECTOR_THRESHOLDS: Final = (20_000, 50, 100)
"""A judging creates many small values and next to no cycles: Python's own threshold of 700 costs it a sixth of its time."""

PR_SET_PDEATHSIG: Final = 1
_STATM: Final = Path("/proc/self/statm")
_DATA: Final = 5


def limit_memory(most_bytes: int = MAX_EXTRA_BYTES) -> None:
    """Let this process and its children grow by at most *most_bytes*: beyond, Python raises MemoryError and C code mostly dies."""
    if sys.platform != "linux":
        return
    at_most = int(_STATM.read_bytes().split()[_DATA]) * resource.getpagesize() + most_bytes
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    soft = at_most if hard == resource.RLIM_INFINITY else min(at_most, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def die_with_parent(parent: int, how: signal.Signals) -> None:
    """Get the signal *how* when the parent ends; immediately if it has ended already. To be called by the child."""
    if sys.platform != "linux":
        return
    _libc().prctl(PR_SET_PDEATHSIG, how)
    if os.getppid() != parent:
        os.kill(os.getpid(), how)


def collect_rarely() -> None:
    """Collect garbage rarely, and never what exists now, so that a fork does not copy it."""
    gc.freeze()
    gc.set_threshold(*COLLECTOR_THRESHOLDS)
    gc.enable()


class SystemClock:
    """The Clock of every process."""

    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251 - the only reader of the time

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000
