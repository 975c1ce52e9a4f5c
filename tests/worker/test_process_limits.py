"""A process that may take no more than so much memory."""

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
