"""Ends processes that a test started, even if the test itself is killed."""

import signal
import subprocess
from dataclasses import dataclass
from typing import Self

WATCH = 'read -r _; kill -"$1" "$2"'


@dataclass(frozen=True)
class ParentDeathSignal:
    """A watcher process that signals *pid* when this process is gone."""

    pid: int
    _watcher: subprocess.Popen[bytes]

    @classmethod
    def on(cls, pid: int, number: signal.Signals = signal.SIGKILL) -> Self:
        command = ["sh", "-c", WATCH, "leash", str(number.value), str(pid)]
        return cls(pid, subprocess.Popen(command, stdin=subprocess.PIPE))

    def release(self) -> None:
        """Stop watching, because the pid may be reused."""
        self._watcher.kill()
        self._watcher.communicate()


def descendants(pid: int) -> list[int]:
    """The pids of all processes below *pid*."""
    table = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    pairs = [tuple(map(int, line.split())) for line in table.splitlines()]
    pids, wave = list[int](), [pid]
    while wave:
        wave = [child for child, parent in pairs if parent in wave]
        pids += wave
    return pids
