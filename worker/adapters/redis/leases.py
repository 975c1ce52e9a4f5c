"""A lease that is prolonged while its judge thinks.

Does not tell the judge that it lost its lease: its next write does. Invariant: the thread ends with the block.
"""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import copy_context
from typing import Final

from worker.domain.ports import Lease
from worker.errors import LeaseLost, Unavailable

RENEWALS_PER_LEASE: Final = 4
"""How often in one lease."""


@contextmanager
def renewing_lease(lease: Lease, lease_s: float) -> Generator[None]:
    """Prolong *lease* in the background. Not across a fork: to be used inside the job."""
    stop = threading.Event()
    carried = copy_context()  # what this judging's lines carry, its heartbeat's carry, too
    heart = threading.Thread(
        target=carried.run,
        args=(_renew_lease, lease, lease_s / RENEWALS_PER_LEASE, stop),
        name="heartbeat",
        daemon=True,
    )
    heart.start()
    try:
        yield
    finally:
        stop.set()
        heart.join()


def _renew_lease(lease: Lease, every_s: float, stop: threading.Event) -> None:
    while not stop.wait(every_s):
        try:
            lease.renew()
        except Unavailable as error:
            _warn(error)
        except LeaseLost:
            return


def _warn(error: Unavailable) -> None:
    import logging  # noqa: PLC0415 - 2 ms of every judging on a laptop, which logs nothing else

    logging.getLogger(__name__).warning("the lease was not prolonged: %s", error)
