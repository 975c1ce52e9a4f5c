"""`assay up` as a process: it starts, restarts and ends its child processes."""

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
    private_key = rsa.generate_private_key(65537, 2048)
    return private_key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()


def app_settings(key: str) -> dict[str, str]:
    return {"ASSAY_APP_ID": "1", "ASSAY_APP_PRIVATE_KEY": key, "ASSAY_WEBHOOK_SECRET": "s", "ASSAY_PORT": "0"}


class Up:
    """One `assay up`."""

    def __init__(self, data_dir: Path, key: str, **more: str) -> None:
        self.data_dir = data_dir
        self.errors = (data_dir / "stderr").open("w+")
        self.process = subprocess.Popen(
            [str(ASSAY), "up"], env=environment(data_dir, **{**app_settings(key), **more}), stdout=subprocess.PIPE, stderr=self.errors,
        )  # fmt: skip

    def read_url(self) -> str:
        assert self.process.stdout
        return str(json.loads(self.process.stdout.readline())["url"])

    def is_working(self) -> bool:
        return '"hand": "worker 1"' in self.read_log()

    def read_log(self) -> str:
        return (self.data_dir / "stderr").read_text()

    def find_processes(self) -> list[int]:
        """All processes that have this data folder in their environment."""
        numbers = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
        return [number for number in numbers if self._is_ours(number)]

    def _is_ours(self, number: int) -> bool:
        try:
            raw = Path(f"/proc/{number}/environ").read_bytes()
        except OSError:
            return False
        return f"ASSAY_DATA_DIR={self.data_dir}\0".encode() in raw

    def find_child(self, name: str) -> int:
        """The process of `assay serve`, or the first of `assay work`."""
        return next(number for number in sorted(self.find_processes()) if f"\0{name}\0" in self._command(number))

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


def wait_until(condition: Callable[[], object], what: str) -> None:
    limit = time.monotonic() + STARTS_S
    while not condition():
        assert time.monotonic() < limit, what
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_signal_stops_every_process(up: Up, sent: signal.Signals, code: int) -> None:
    assert up.read_url().startswith("http://127.0.0.1:")
    wait_until(up.is_working, "the worker starts")
    up.process.send_signal(sent)
    assert up.process.wait(30) == code
    log = up.read_log()
    assert log.index("Stopping `assay serve`") < log.index("Stopping `assay work`")
    wait_until(lambda: not up.find_processes(), "nothing is left")


@pytest.mark.slow
def test_child_processes_end_when_it_is_killed(up: Up) -> None:
    up.read_url()
    wait_until(up.is_working, "the worker starts")
    assert len(up.find_processes()) >= 5
    up.process.kill()
    wait_until(lambda: not up.find_processes(), "nothing is left")


@pytest.mark.slow
def test_child_that_dies_later_is_restarted(up: Up) -> None:
    up.read_url()
    began = time.monotonic()
    wait_until(lambda: time.monotonic() > began + MIN_UPTIME_S, "it has been running for a while")
    os.kill(up.find_child("serve"), signal.SIGKILL)
    assert up.read_url().startswith("http://127.0.0.1:")
    assert "`assay serve` ended (exit code -9) and is started again." in up.read_log()


@pytest.mark.slow
def test_child_that_fails_at_start_ends_every_process(tmp_path: Path, key: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as used_socket:
        up = Up(tmp_path, key, ASSAY_PORT=str(used_socket.getsockname()[1]))
        assert up.process.wait(STARTS_S) == 2
    log = up.read_log()
    up.close()
    assert "ASSAY_PORT is" in log
    assert "`assay serve` ended at its start (exit code 2)" in log
    wait_until(lambda: not up.find_processes(), "nothing is left")


@pytest.mark.slow
def test_second_process_in_the_same_folder_is_refused(up: Up, key: str) -> None:
    up.read_url()
    second = run_assay("up", environ=environment(up.data_dir, **app_settings(key)))
    assert second.returncode == 2
    assert "is in use by another `assay up`" in second.stderr


@pytest.mark.slow
def test_up_without_an_app_serves_only_the_setup_page(tmp_path: Path) -> None:
    up = Up(tmp_path, "", ASSAY_APP_ID="", ASSAY_WEBHOOK_SECRET="")
    try:
        url = up.read_url()
        wait_until(lambda: f"Open {url}/setup and enter the token above." in up.read_log(), "it says what to do")
        assert len(up.read_log().split("this one-time token")[1].split()) > 5
        assert not [pid for pid in up.find_processes() if "\0work\0" in Path(f"/proc/{pid}/cmdline").read_text()]
        up.process.send_signal(signal.SIGINT)
        assert up.process.wait(30) == 130
    finally:
        up.close()


def test_listening_url_is_read_only_from_its_event() -> None:
    assert parse_listening_url(b'{"event": "listening", "url": "http://x"}') == "http://x"
    assert parse_listening_url(b'{"event": "other", "url": "http://x"}') is None
    assert parse_listening_url(b"[1]") is None
    assert parse_listening_url(b"listening") is None
