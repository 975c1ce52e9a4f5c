"""Processes that belong together: forked, restarted when they die, stopped together.

The parent must run no thread. Children share what it loaded before, and none outlives `run`.
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

from worker.process import die_with_parent

LOG: Final = logging.getLogger(__name__)
POLL_INTERVAL_S: Final = 0.05
FIRST_PAUSE_S: Final = 0.2
LONGEST_PAUSE_S: Final = 10.0
HEALTHY_S: Final = 10.0
"""After such an uptime a process is restarted without delay."""

STOP_SEQUENCE: Final = ((signal.SIGTERM, 1.2), (signal.SIGTERM, 3.0))
"""Twice: RQ's worker ignores a second signal within a second of the first."""

STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


@dataclass(slots=True)
class SupervisedProcess:
    """One process, through all its restarts."""

    name: str
    work: Callable[[], None]
    pid: int = 0
    started_at: float = 0.0
    not_before: float = 0.0
    failures: int = 0


@dataclass(slots=True)
class ProcessSupervisor:
    """Runs processes until SIGINT or SIGTERM. `grace_s`: how long they may take to finish their work."""

    processes: Sequence[SupervisedProcess]
    grace_s: float
    stop_requests: int = field(default=0, init=False)

    @property
    def is_stopping(self) -> bool:
        return self.stop_requests > 0

    def run(self) -> None:
        """Keep all processes running until a signal."""
        before = {stop: signal.signal(stop, self._request_stop) for stop in STOP_SIGNALS}
        try:
            while not self.is_stopping:
                self._reap()
                for process in self.processes:
                    if not process.pid and time.monotonic() >= process.not_before:
                        process.started_at = time.monotonic()
                        process.pid = _fork(process.work)
                        LOG.info("process started", extra={"hand": process.name, "child": process.pid})
                time.sleep(POLL_INTERVAL_S)
        finally:
            self._stop()
            for stop, handler in before.items():
                signal.signal(stop, handler)

    def _request_stop(self, _signal: int, _frame: FrameType | None) -> None:
        self.stop_requests += 1

    def _reap(self) -> None:
        for process in self.processes:
            if not process.pid:
                continue
            try:
                ended, status = os.waitpid(process.pid, os.WNOHANG)
            except ChildProcessError:
                ended, status = process.pid, -1
            if not ended:
                continue
            process.pid = 0
            if self.is_stopping:
                continue
            process.failures = 0 if time.monotonic() - process.started_at > HEALTHY_S else process.failures + 1
            pause = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2**process.failures) if process.failures else 0.0
            process.not_before = time.monotonic() + pause
            LOG.warning("process ended, restarting", extra={"hand": process.name, "status": status, "pause_s": pause})

    def _stop(self) -> None:
        """Ask them to finish, then to abort, then kill them. Another signal to us starts the next step."""
        self.stop_requests += 1
        terms = (signal.SIGTERM, self.grace_s), *STOP_SEQUENCE
        for how, timeout_s in (*terms, (signal.SIGKILL, 5.0)):
            for process in self.processes:
                if process.pid:
                    with suppress(ProcessLookupError):
                        os.kill(process.pid, how)
            limit, asked = time.monotonic() + timeout_s, self.stop_requests
            while any(process.pid for process in self.processes) and time.monotonic() < limit:
                if self.stop_requests != asked:
                    break
                self._reap()
                time.sleep(POLL_INTERVAL_S)


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
        os._exit(1)  # a child must never continue as its parent, even if logging fails


def _run_child(work: Callable[[], None], parent: int) -> int:
    """Run the child's work. Returns its exit status."""
    for stop in STOP_SIGNALS:
        signal.signal(stop, signal.SIG_DFL)
    die_with_parent(parent, signal.SIGKILL)  # without a supervisor nothing waits for an orderly end
    try:
        work()
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 1
    except BaseException:
        LOG.exception("process failed")
        raise
    return 0
