"""The process supervisor: children are restarted when they die and end with it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.worker.adapters.redis.store_samples import wait_until
from tests.worker.scheduling.worker_processes import is_alive

PROGRAM = """
import os, signal, sys, time
from pathlib import Path
from worker.wiring.process_supervisor import ProcessSupervisor, SupervisedProcess

folder = Path(sys.argv[1])

def steady():
    (folder / f"steady-{os.getpid()}").touch()
    time.sleep(100)

def deaf():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    (folder / f"deaf-{os.getpid()}").touch()
    while True:
        time.sleep(100)

def broken():
    (folder / f"broken-{os.getpid()}").touch()
    raise ZeroDivisionError

ProcessSupervisor([SupervisedProcess(name, globals()[name]) for name in sys.argv[2:]], grace_s=0.1).run()
print("over")
"""


class RunningSupervisor:
    def __init__(self, folder: Path, *names: str) -> None:
        self.folder = folder
        self.popen = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(folder), *names],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def pids(self, name: str) -> list[int]:
        return [int(path.name.partition("-")[2]) for path in self.folder.glob(f"{name}-*")]

    def end(self) -> tuple[str, str]:
        self.popen.send_signal(signal.SIGTERM)
        return self.popen.communicate(timeout=30)


@pytest.fixture
def supervisor(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[RunningSupervisor]:
    running = RunningSupervisor(tmp_path, *request.param)
    yield running
    running.popen.kill()
    running.popen.communicate()


@pytest.mark.parametrize("supervisor", [("steady",)], indirect=True)
def test_killed_child_is_replaced_and_all_children_end_together(supervisor: RunningSupervisor) -> None:
    assert wait_until(lambda: len(supervisor.pids("steady")) == 1)
    os.kill(supervisor.pids("steady")[0], signal.SIGKILL)
    assert wait_until(lambda: len(supervisor.pids("steady")) == 2)
    output, _ = supervisor.end()
    assert output == "over\n"
    assert not any(is_alive(pid) for pid in supervisor.pids("steady"))


@pytest.mark.parametrize("supervisor", [("broken", "steady")], indirect=True)
def test_failing_child_is_restarted_and_logs_its_error(supervisor: RunningSupervisor) -> None:
    assert wait_until(lambda: len(supervisor.pids("broken")) >= 2)
    assert len(supervisor.pids("steady")) == 1
    output, errors = supervisor.end()
    assert output == "over\n"
    assert "ZeroDivisionError" in errors


@pytest.mark.parametrize("supervisor", [("deaf",)], indirect=True)
@pytest.mark.slow
def test_child_that_ignores_sigterm_is_killed(supervisor: RunningSupervisor) -> None:
    assert wait_until(lambda: len(supervisor.pids("deaf")) == 1)
    supervisor.popen.send_signal(signal.SIGTERM)
    output, _ = supervisor.end()
    assert output == "over\n"
    assert not is_alive(supervisor.pids("deaf")[0])


@pytest.mark.parametrize("supervisor", [("steady",)], indirect=True)
def test_children_end_with_a_killed_supervisor(supervisor: RunningSupervisor) -> None:
    assert wait_until(lambda: len(supervisor.pids("steady")) == 1)
    supervisor.popen.kill()
    supervisor.popen.wait()
    assert wait_until(lambda: not is_alive(supervisor.pids("steady")[0]))
