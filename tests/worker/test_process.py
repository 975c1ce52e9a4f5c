"""The memory limit of a process, its end with its parent, and its rare garbage collection."""

import os
import select
import signal
import subprocess
import sys

import pytest

from worker.process import limit_memory

TAKES = """
import resource, sys
from worker.process import limit_memory

for most in map(int, sys.argv[1:]):
    limit_memory(most)
kept = bytearray(1 << 24)
print("kept", flush=True)
bytearray(1 << 27)
"""


def run_limited(*most: int, preexec: str = "") -> tuple[str, str]:
    command = [sys.executable, "-c", preexec + TAKES, *map(str, most)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    return ended.stdout, (ended.stderr.splitlines() or [""])[-1]


def test_process_cannot_exceed_its_memory_limit() -> None:
    assert run_limited(1 << 26) == ("kept\n", "MemoryError")
    assert run_limited(1 << 28) == ("kept\n", "")


def test_existing_memory_limit_is_not_widened() -> None:
    hard = "import resource; resource.setrlimit(resource.RLIMIT_DATA, (1 << 27, 1 << 27))\n"
    assert run_limited(1 << 30, preexec=hard) == ("kept\n", "MemoryError")
    assert run_limited(1 << 26, preexec=hard.replace("27", "30")) == ("kept\n", "MemoryError"), "the narrower of both"


def test_memory_is_not_limited_on_an_unsupported_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    limit_memory(0)
    assert len(bytearray(1 << 24)) == 1 << 24


SCRIPT = """
import gc
gc.disable()
from worker.process import COLLECTOR_THRESHOLDS, collect_rarely

old = [[] for _ in range(100)]
collect_rarely()
print(gc.isenabled(), gc.get_threshold() == COLLECTOR_THRESHOLDS, any(item is old for item in gc.get_objects()))
looks = []
gc.callbacks.append(lambda phase, _: looks.append(phase))
for _ in range(3 * COLLECTOR_THRESHOLDS[0]):
    cycle = []
    cycle.append(cycle)
print(looks.count("start"))
"""


def test_collector_skips_old_objects_and_runs_rarely() -> None:
    printed = subprocess.run([sys.executable, "-c", SCRIPT], check=True, capture_output=True, text=True).stdout
    assert printed.split() == ["True", "True", "False", printed.split()[-1]]
    assert 2 <= int(printed.split()[-1]) <= 4


PARENT = """
import os, signal, sys, time
from worker.process import die_with_parent

parent = int(sys.argv[1]) or os.getpid()
child = os.fork()
if not child:
    die_with_parent(parent, signal.SIGKILL)
    print(os.getpid(), flush=True)
    time.sleep(100)
if sys.argv[1] != "0":
    print(os.waitpid(child, 0)[1], flush=True)
sys.stdin.read()
"""


def start_parent(*, known_parent: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", PARENT, str(known_parent)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_child_ends_with_its_parent() -> None:
    parent = start_parent(known_parent=0)
    assert parent.stdout is not None
    child = os.pidfd_open(int(parent.stdout.readline()))
    parent.send_signal(signal.SIGKILL)
    parent.communicate()
    assert select.select([child], [], [], 20)[0]
    os.close(child)


def test_child_without_a_parent_ends_immediately() -> None:
    parent = start_parent(known_parent=1)
    printed, _ = parent.communicate()
    assert printed == f"{signal.SIGKILL.value}\n"
