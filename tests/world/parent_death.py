"""Ends what a test started, whatever happens to the test.

Does not start anything itself. Invariant: only processes that were put on a leash, and their children, are
ended, by number.
"""

import signal
import subprocess
from dataclasses import dataclass
from typing import Self

WATCH = 'read -r _; kill -"$1" "$2"'


@dataclass(frozen=True)
class ParentDeathSignal:
    """A watcher that holds one end of a pipe and signals *pid* when the other end, ours, is gone."""

    pid: int
    _watcher: subprocess.Popen[bytes]

    @classmethod
    def on(cls, pid: int, number: signal.Signals = signal.SIGKILL) -> Self:
        command = ["sh", "-c", WATCH, "leash", str(number.value), str(pid)]
        return cls(pid, subprocess.Popen(command, stdin=subprocess.PIPE))

    def release(self) -> None:
        """Call it when the process is gone: its number may belong to another one soon."""
        self._watcher.kill()
        self._watcher.communicate()


def descendants(pid: int) -> list[int]:
    """Children of *pid*, their children and so on, as they are right now."""
    table = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    pairs = [tuple(map(int, line.split())) for line in table.splitlines()]
    found, wave = list[int](), [pid]
    while wave:
        wave = [child for child, parent in pairs if parent in wave]
        found += wave
    return found
