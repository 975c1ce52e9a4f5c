"""A child that ends with its parent."""

import os
import select
import signal
import subprocess
import sys

PARENT = """
import os, signal, sys, time
from worker.parent_death_signal import die_with_parent

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
