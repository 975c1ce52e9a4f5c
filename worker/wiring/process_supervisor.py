"""A few processes that belong together: started by fork, restarted when they die, stopped as one.

Does not know what they do. The process that forks runs no thread, so that a fork copies a whole program; what it
loaded before, all of them share. Invariant: when the crew's run is over, none of its processes is left.
"""

import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import Final

from worker.process_limits import die_with_parent

LOG: Final = logging.getLogger(__name__)
POLL_INTERVAL_S: Final = 0.05
FIRST_PAUSE_S: Final = 0.2
LONGEST_PAUSE_S: Final = 10.0
HEALTHY_S: Final = 10.0
"""Whoever lived as long is restarted without delay."""

STOP_SEQUENCE: Final = ((signal.SIGTERM, 1.2), (signal.SIGTERM, 3.0))
"""Twice: RQ's worker takes what comes within a second of the first signal for the first one's echo."""

STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


@dataclass(slots=True)
class SupervisedProcess:
    """One process of the crew, through all its restarts."""

    name: str
    work: Callable[[], None]
    pid: int = 0
    started_at: float = 0.0
    not_before: float = 0.0
    failures: int = 0


@dataclass(slots=True)
class ProcessSupervisor:
    """Runs its hands until SIGINT or SIGTERM. `grace_s`: how long they may take to end what they are at."""

    processes: Sequence[SupervisedProcess]
    grace_s: float
    stop_requests: int = field(default=0, init=False)

    @property
    def is_stopping(self) -> bool:
        return self.stop_requests > 0

    def run(self) -> None:
        """Keep all hands running until told to stop."""
        before = {stop: signal.signal(stop, self._request_stop) for stop in STOP_SIGNALS}
        try:
            while not self.is_stopping:
                self._reap()
                self._start_missing()
                time.sleep(POLL_INTERVAL_S)
        finally:
            self._stop()
            for stop, handler in before.items():
                signal.signal(stop, handler)

    def _request_stop(self, _signal: int, _frame: FrameType | None) -> None:
        self.stop_requests += 1

    def _start_missing(self) -> None:
        for hand in self.processes:
            if not hand.pid and time.monotonic() >= hand.not_before:
                hand.started_at = time.monotonic()
                hand.pid = _fork(hand.work)
                LOG.info("started", extra={"hand": hand.name, "child": hand.pid})

    def _reap(self) -> None:
        for hand in self.processes:
            status = _status_of(hand.pid)
            if status is None:
                continue
            hand.pid = 0
            if self.is_stopping:
                continue
            hand.failures = 0 if time.monotonic() - hand.started_at > HEALTHY_S else hand.failures + 1
            pause = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2**hand.failures) if hand.failures else 0.0
            hand.not_before = time.monotonic() + pause
            LOG.warning("ended, is restarted", extra={"hand": hand.name, "status": status, "pause_s": pause})

    def _stop(self) -> None:
        """Ask, have them drop what they are at, then make them. Who asks us again shortens it."""
        self.stop_requests += 1
        terms = (signal.SIGTERM, self.grace_s), *STOP_SEQUENCE
        for how, patience_s in (*terms, (signal.SIGKILL, 5.0)):
            for hand in self.processes:
                if hand.pid:
                    with suppress(ProcessLookupError):
                        os.kill(hand.pid, how)
            self._wait(patience_s)

    def _wait(self, patience_s: float) -> None:
        limit, asked = time.monotonic() + patience_s, self.stop_requests
        while any(hand.pid for hand in self.processes) and time.monotonic() < limit and self.stop_requests == asked:
            self._reap()
            time.sleep(POLL_INTERVAL_S)


def _status_of(process: int) -> int | None:
    """How a child ended, or None while it runs."""
    if not process:
        return None
    try:
        ended, status = os.waitpid(process, os.WNOHANG)
    except ChildProcessError:
        return -1
    return status if ended else None


def _fork(work: Callable[[], None]) -> int:
    parent = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        return child
    try:
        os._exit(_run_child(work, parent))
    finally:
        os._exit(1)  # not even a failing log lets a child go on as its parent


def _run_child(work: Callable[[], None], parent: int) -> int:
    """The child's whole life; its exit status."""
    for stop in STOP_SIGNALS:
        signal.signal(stop, signal.SIG_DFL)
    die_with_parent(parent, signal.SIGKILL)  # nobody is left to wait for an orderly end
    try:
        work()
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 1
    except BaseException:
        LOG.exception("failed")
        raise
    return 0
