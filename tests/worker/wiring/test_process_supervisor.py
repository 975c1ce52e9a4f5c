"""A crew of real processes: restarted when they die, gone when the crew is over."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.worker.adapters.redis.store_samples import wait_until

CREW = """
import os, signal, sys, time
from pathlib import Path
from worker.wiring.process_supervisor import ProcessSupervisor, SupervisedProcess

place = Path(sys.argv[1])

def steady():
    (place / f"steady-{os.getpid()}").touch()
    time.sleep(100)

def deaf():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    (place / f"deaf-{os.getpid()}").touch()
    while True:
        time.sleep(100)

def broken():
    (place / f"broken-{os.getpid()}").touch()
    raise ZeroDivisionError

ProcessSupervisor([SupervisedProcess(name, globals()[name]) for name in sys.argv[2:]], grace_s=0.1).run()
print("over")
"""


class Running:
    def __init__(self, place: Path, *hands: str) -> None:
        self.place = place
        self.popen = subprocess.Popen(
            [sys.executable, "-c", CREW, str(place), *hands], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def seen(self, hand: str) -> list[int]:
        return [int(path.name.partition("-")[2]) for path in self.place.glob(f"{hand}-*")]

    def end(self) -> tuple[str, str]:
        self.popen.send_signal(signal.SIGTERM)
        return self.popen.communicate(timeout=30)


@pytest.fixture
def crew(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Running]:
    running = Running(tmp_path, *request.param)
    yield running
    running.popen.kill()
    running.popen.communicate()


def is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"


@pytest.mark.parametrize("crew", [("steady",)], indirect=True)
def test_a_hand_that_was_killed_is_replaced_and_all_end_together(crew: Running) -> None:
    assert wait_until(lambda: len(crew.seen("steady")) == 1)
    os.kill(crew.seen("steady")[0], signal.SIGKILL)
    assert wait_until(lambda: len(crew.seen("steady")) == 2)
    said, _ = crew.end()
    assert said == "over\n"
    assert all(is_gone(one) for one in crew.seen("steady"))


@pytest.mark.parametrize("crew", [("broken", "steady")], indirect=True)
def test_a_hand_that_fails_is_tried_again_after_a_pause_and_tells_why(crew: Running) -> None:
    assert wait_until(lambda: len(crew.seen("broken")) >= 2)
    assert len(crew.seen("steady")) == 1
    said, complained = crew.end()
    assert said == "over\n"
    assert "ZeroDivisionError" in complained


@pytest.mark.parametrize("crew", [("deaf",)], indirect=True)
@pytest.mark.slow
def test_a_hand_that_does_not_listen_is_made_to_go(crew: Running) -> None:
    assert wait_until(lambda: len(crew.seen("deaf")) == 1)
    crew.popen.send_signal(signal.SIGTERM)
    said, _ = crew.end()
    assert said == "over\n"
    assert is_gone(crew.seen("deaf")[0])


@pytest.mark.parametrize("crew", [("steady",)], indirect=True)
def test_no_hand_outlives_a_crew_that_was_killed(crew: Running) -> None:
    assert wait_until(lambda: len(crew.seen("steady")) == 1)
    crew.popen.kill()
    crew.popen.wait()
    assert wait_until(lambda: is_gone(crew.seen("steady")[0]))
