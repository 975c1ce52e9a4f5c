"""`python -m worker` with real child processes. Invariant: all of them are gone when the block ends."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from tests.worker.adapters.redis.store_samples import KEY, wait_until
from worker.domain.lifecycle.work import workers_for_strangers

HANDLERS = "tests.worker.scheduling.scripted_judging:open_scripted_handlers"
FAST: Mapping[str, str] = {
    "ASSAY_LEASE": "1",
    "ASSAY_HOLD": "1",
    "ASSAY_OPEN_HOLD": "1",
    "ASSAY_LEADER": "1",
    "ASSAY_SWEEP": "0.2",
    "ASSAY_TICK": "0.02",
    "ASSAY_RETRY_DELAY": "0.05",
    "ASSAY_STOP_GRACE": "5",
    "ASSAY_LOG_LEVEL": "INFO",
}


class WorkerProcess:
    """One `python -m worker` with its dispatcher, workers and jobs."""

    def __init__(self, url: str, workers: int, **changes: str) -> None:
        self._log = tempfile.NamedTemporaryFile(prefix="assay-work-", suffix=".log", delete=False)  # noqa: SIM115 - kept
        environment = {
            "PATH": os.defpath,
            "REDIS_URL": url,
            "ASSAY_STORE_KEYS": KEY.get_secret_value(),
            "ASSAY_WORKERS": str(workers),
            **FAST,
            **changes,
        }
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "worker", "--app", HANDLERS, "--with-parent"], env=environment, stderr=self._log
        )
        self._workers = workers

    @property
    def processes(self) -> list[int]:
        """The dispatcher, the workers, those for outside contributors and the evaluators."""
        return children(self.popen.pid)

    @property
    def jobs(self) -> list[int]:
        """The processes that are judging."""
        return [job for process in self.processes for job in children(process)]

    @property
    def log(self) -> str:
        return Path(self._log.name).read_text(encoding="utf-8")

    def is_up(self) -> bool:
        assert self.popen.poll() is None, self.log
        return len(self.processes) == 2 * self._workers + 1 + workers_for_strangers(self._workers)

    def stop(self) -> int:
        self.popen.send_signal(signal.SIGTERM)
        return self.popen.wait(30)

    def kill(self) -> None:
        """Kill the parent; its children end with it."""
        family = [*self.processes, *self.jobs]
        self.popen.kill()
        self.popen.wait()
        assert wait_until(lambda: not any(is_alive(process) for process in family))

    def forget(self) -> None:
        if self.popen.poll() is None:
            self.kill()
        self._log.close()
        Path(self._log.name).unlink()

    @classmethod
    @contextmanager
    def on(cls, url: str, workers: int = 1, **changes: str) -> Generator[Self]:
        working = cls(url, workers, **changes)
        try:
            assert wait_until(working.is_up, 60)
            yield working
        finally:
            working.forget()


def children(process: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text("ascii").split()]
    except OSError:
        return []


def is_alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def send_signal(process: int, how: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, how)
