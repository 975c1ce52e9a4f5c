"""A process that ends itself before it takes the memory of those beside it.

Does not free or measure anything: the kernel counts (Linux, RLIMIT_DATA). Elsewhere nothing is bounded. Invariant: to be called by
the process itself, whose children have the same bound.
"""

import os
import resource
import sys
from pathlib import Path
from typing import Final

MAX_EXTRA_BYTES: Final = min(1 << 31, resource.getpagesize() * os.sysconf("SC_PHYS_PAGES") // 2)
"""What a process that judges may take more than it has: half of the machine's. A change of 5 MB mostly takes 50 MiB, at worst 350
for each megabyte of signs in a row.
"""

_STATM: Final = Path("/proc/self/statm")
_DATA: Final = 5


def limit_memory(most_bytes: int = MAX_EXTRA_BYTES) -> None:
    """From so many bytes more on, memory is refused: Python raises MemoryError, and what is written in C mostly ends the process."""
    if sys.platform != "linux":
        return
    at_most = int(_STATM.read_bytes().split()[_DATA]) * resource.getpagesize() + most_bytes
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    soft = at_most if hard == resource.RLIM_INFINITY else min(at_most, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
