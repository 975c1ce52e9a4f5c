"""`assay up` as a real process: what it starts ends with it."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from app.cli.serve import MIN_UPTIME_S, parse_listening_url
from tests.app.cli.assay_command import ASSAY, environment, run_assay

STARTS_S = 60.0
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc")


@pytest.fixture(scope="module")
def key() -> str:
    made = rsa.generate_private_key(65537, 2048)
    return made.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()


class Up:
    """One `assay up`, from its start to the line that says that it listens."""

    def __init__(self, data_dir: Path, key: str, **more: str) -> None:
        self.data_dir = data_dir
        app = {"ASSAY_APP_ID": "1", "ASSAY_APP_PRIVATE_KEY": key, "ASSAY_WEBHOOK_SECRET": "s", "ASSAY_PORT": "0"}
        self.errors = (data_dir / "stderr").open("w+")
        self.process = subprocess.Popen(
            [str(ASSAY), "up"], env=environment(data_dir, **{**app, **more}), stdout=subprocess.PIPE, stderr=self.errors,
        )  # fmt: skip

    def listens(self) -> str:
        assert self.process.stdout
        return str(json.loads(self.process.stdout.readline())["url"])

    def is_working(self) -> bool:
        return '"hand": "worker 1"' in self.said()

    def said(self) -> str:
        return (self.data_dir / "stderr").read_text()

    def family(self) -> list[int]:
        """All processes that have this data folder in their environment."""
        numbers = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
        return [number for number in numbers if self._is_ours(number)]

    def _is_ours(self, number: int) -> bool:
        try:
            raw = Path(f"/proc/{number}/environ").read_bytes()
        except OSError:
            return False
        return f"ASSAY_DATA_DIR={self.data_dir}\0".encode() in raw

    def part(self, name: str) -> int:
        """The process of `assay serve`, or the first of `assay work`."""
        return next(number for number in sorted(self.family()) if f"\0{name}\0" in self._command(number))

    def _command(self, number: int) -> str:
        return Path(f"/proc/{number}/cmdline").read_text()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        assert self.process.stdout
        self.process.stdout.close()
        self.errors.close()


@pytest.fixture
def up(tmp_path: Path, key: str) -> Iterator[Up]:
    started = Up(tmp_path, key)
    yield started
    started.close()


def becomes(true: Callable[[], object], what: str) -> None:
    limit = time.monotonic() + STARTS_S
    while not true():
        assert time.monotonic() < limit, what
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_one_signal_stops_all_of_it(up: Up, sent: signal.Signals, code: int) -> None:
    assert up.listens().startswith("http://127.0.0.1:")
    becomes(up.is_working, "the worker starts")
    up.process.send_signal(sent)
    assert up.process.wait(30) == code
    said = up.said()
    assert said.index("Stopping `assay serve`") < said.index("Stopping `assay work`")
    becomes(lambda: not up.family(), "nothing is left")


@pytest.mark.slow
def test_its_parts_die_with_it_killed_or_not(up: Up) -> None:
    up.listens()
    becomes(up.is_working, "the worker starts")
    assert len(up.family()) >= 5
    up.process.kill()
    becomes(lambda: not up.family(), "nothing is left")


@pytest.mark.slow
def test_a_part_that_dies_later_is_started_again(up: Up) -> None:
    up.listens()
    began = time.monotonic()
    becomes(lambda: time.monotonic() > began + MIN_UPTIME_S, "it has been running for a while")
    os.kill(up.part("serve"), signal.SIGKILL)
    assert up.listens().startswith("http://127.0.0.1:")
    assert "`assay serve` ended (exit code -9) and is started again." in up.said()


@pytest.mark.slow
def test_a_part_that_ends_at_its_start_ends_all_of_it(tmp_path: Path, key: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        up = Up(tmp_path, key, ASSAY_PORT=str(taken.getsockname()[1]))
        assert up.process.wait(STARTS_S) == 2
    said = up.said()
    up.close()
    assert "ASSAY_PORT is" in said
    assert "`assay serve` ended at its start (exit code 2)" in said
    becomes(lambda: not up.family(), "nothing is left")


@pytest.mark.slow
def test_a_second_one_in_the_same_folder_is_refused(up: Up, key: str) -> None:
    up.listens()
    again = run_assay(
        "up",
        environ=environment(
            up.data_dir, ASSAY_APP_ID="1", ASSAY_APP_PRIVATE_KEY=key, ASSAY_WEBHOOK_SECRET="s", ASSAY_PORT="0"
        ),
    )
    assert again.returncode == 2
    assert "is in use by another `assay up`" in again.stderr


@pytest.mark.slow
def test_without_an_app_there_is_only_the_page_that_creates_one(tmp_path: Path) -> None:
    up = Up(tmp_path, "", ASSAY_APP_ID="", ASSAY_WEBHOOK_SECRET="")
    try:
        url = up.listens()
        becomes(lambda: f"Open {url}/setup and enter the token above." in up.said(), "it says what to do")
        assert len(up.said().split("this one-time token")[1].split()) > 5
        assert not [one for one in up.family() if "\0work\0" in Path(f"/proc/{one}/cmdline").read_text()]
        up.process.send_signal(signal.SIGINT)
        assert up.process.wait(30) == 130
    finally:
        up.close()


def test_only_the_doors_own_line_says_that_it_listens() -> None:
    assert parse_listening_url(b'{"event": "listening", "url": "http://x"}') == "http://x"
    assert parse_listening_url(b'{"event": "other", "url": "http://x"}') is None
    assert parse_listening_url(b"[1]") is None
    assert parse_listening_url(b"listening") is None
