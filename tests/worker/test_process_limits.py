"""The memory limit of a process, its end with its parent, and its rare garbage collection."""

import os
import select
import signal
import subprocess
import sys

import pytest

from worker.process_limits import limit_memory

TAKES = """
import resource, sys
from worker.process_limits import limit_memory

for most in map(int, sys.argv[1:]):
    limit_memory(most)
kept = bytearray(1 << 24)
print("kept", flush=True)
bytearray(1 << 27)
"""


def taking(*most: int, preexec: str = "") -> tuple[str, str]:
    command = [sys.executable, "-c", preexec + TAKES, *map(str, most)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    return ended.stdout, (ended.stderr.splitlines() or [""])[-1]


def test_a_process_gets_what_it_may_have_and_no_more() -> None:
    assert taking(1 << 26) == ("kept\n", "MemoryError")
    assert taking(1 << 28) == ("kept\n", "")


def test_what_somebody_else_bounded_is_not_widened() -> None:
    hard = "import resource; resource.setrlimit(resource.RLIMIT_DATA, (1 << 27, 1 << 27))\n"
    assert taking(1 << 30, preexec=hard) == ("kept\n", "MemoryError")
    assert taking(1 << 26, preexec=hard.replace("27", "30")) == ("kept\n", "MemoryError"), "the narrower of both"


def test_where_the_kernel_does_not_count_nothing_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    limit_memory(0)
    assert len(bytearray(1 << 24)) == 1 << 24


SCRIPT = """
import gc
gc.disable()
from worker.process_limits import COLLECTOR_THRESHOLDS, collect_rarely

old = [[] for _ in range(100)]
collect_rarely()
print(gc.isenabled(), gc.get_threshold() == COLLECTOR_THRESHOLDS, any(one is old for one in gc.get_objects()))
looks = []
gc.callbacks.append(lambda phase, _: looks.append(phase))
for _ in range(3 * COLLECTOR_THRESHOLDS[0]):
    one = []
    one.append(one)
print(looks.count("start"))
"""


def test_what_was_there_is_left_alone_and_new_circles_are_found_now_and_then() -> None:
    told = subprocess.run([sys.executable, "-c", SCRIPT], check=True, capture_output=True, text=True).stdout
    assert told.split() == ["True", "True", "False", told.split()[-1]]
    assert 2 <= int(told.split()[-1]) <= 4


PARENT = """
import os, signal, sys, time
from worker.process_limits import die_with_parent

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


def parent_of_one(*, that_thinks_its_parent_is: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", PARENT, str(that_thinks_its_parent_is)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_a_child_ends_with_its_parent_however_that_ended() -> None:
    parent = parent_of_one(that_thinks_its_parent_is=0)
    assert parent.stdout is not None
    child = os.pidfd_open(int(parent.stdout.readline()))
    parent.send_signal(signal.SIGKILL)
    parent.communicate()
    assert select.select([child], [], [], 20)[0]
    os.close(child)


def test_a_child_whose_parent_is_gone_already_ends_at_once() -> None:
    parent = parent_of_one(that_thinks_its_parent_is=1)
    said, _ = parent.communicate()
    assert said == f"{signal.SIGKILL.value}\n"
