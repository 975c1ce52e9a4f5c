"""Renewal of a lease in the background."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import copy_context
from typing import Final

from worker.domain.ports import Lease
from worker.errors import LeaseLost, Unavailable

RENEWALS_PER_LEASE: Final = 4
"""Renewals within one lease."""


@contextmanager
def renewing_lease(lease: Lease, lease_s: float) -> Generator[None]:
    """Renew *lease* until the block ends. Not across a fork: enter it inside the job. A lost lease shows at the next write."""
    stop = threading.Event()
    carried = copy_context()  # log context of the judging, for the renewal thread
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
