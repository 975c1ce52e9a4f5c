"""A child process that does not outlive its parent.

Does not watch: the kernel does (Linux, PR_SET_PDEATHSIG). Elsewhere an orphan goes on until its lease is over, which is
what keeps it harmless everywhere. Invariant: to be called by the child itself, right after the fork.
"""

import ctypes
import os
import signal
import sys
from functools import cache
from typing import Final

PR_SET_PDEATHSIG: Final = 1


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def die_with_parent(parent: int, how: signal.Signals) -> None:
    """Ask the kernel for the signal *how* when the parent ends; at once, if it ended already."""
    if sys.platform != "linux":
        return
    _libc().prctl(PR_SET_PDEATHSIG, how)
    if os.getppid() != parent:
        os.kill(os.getpid(), how)
