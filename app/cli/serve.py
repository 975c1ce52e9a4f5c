"""`assay serve`, `assay work` and `assay up`: the web process, the judging processes, or both with an embedded Redis.

`up` starts nothing before all settings are read, and stops in order: the web process, then the workers, which finish their
judgings, then Redis.
"""

import argparse
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import IO, Any, Final, cast

from app.cli.parser import CommandResult, Exit
from worker.process import die_with_parent
from worker.settings import Settings, child_environment, load_settings, malformed_setting
from worker.wiring.store import FolderRole, open_store, with_store_url

MIN_UPTIME_S: Final = 10.0
"""A part that ends sooner after its start is not restarted."""
WEB_STOP_S: Final = 15.0
"""How long the web process may take to answer open requests."""
WORK_MARGIN_S: Final = 15.0
"""How much longer than their judgings the workers may take to stop."""
FORCED_STOP_S: Final = 5.0
STOP_SIGNALS: Final = {int(signal.SIGINT), int(signal.SIGTERM)}


def serve(arguments: argparse.Namespace) -> CommandResult:
    """Run the web process until a signal. Without an App, it serves the page that creates one."""
    settings = _prepare(arguments.end_with)
    require_usable_app(settings, is_needed=False)
    from app.web.server import run_web

    run_web(settings)
    return CommandResult(Exit.ACCEPT)


def work(arguments: argparse.Namespace) -> CommandResult:
    """Run dispatcher and workers until a signal."""
    settings = _prepare(arguments.end_with)
    require_usable_app(settings)
    from worker.__main__ import run_work

    run_work(settings)
    return CommandResult(Exit.ACCEPT)


def _prepare(end_with: int | None) -> Settings:
    """Read the settings before anything is started or loaded, and end with the parent if one is named. Raises SettingError."""
    if end_with is not None:
        die_with_parent(end_with, signal.SIGTERM)
    return load_settings()


def require_usable_app(settings: Settings, *, is_needed: bool = True) -> None:
    """Raises SettingError where a needed App is not set, or has a damaged key."""
    if settings.app is None and not is_needed:
        return
    app = settings.require_app()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    for position, key in enumerate(app.private_keys, start=1):
        try:
            load_pem_private_key(key.get_secret_value().encode(), password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            problem = f"holds a key (number {position}) that is damaged"
            raise malformed_setting("ASSAY_APP_PRIVATE_KEY", problem) from error


def up(_: argparse.Namespace) -> CommandResult:
    """Run until Ctrl-C (exit code 130) or SIGTERM (0). Without an App only the web process runs, which creates one."""
    settings = load_settings()
    require_usable_app(settings, is_needed=False)
    with open_signal_pipe() as inbox, open_store(settings, FolderRole.OWNER) as store:
        return CommandResult(Supervisor(with_store_url(settings, store), inbox).run())


@contextmanager
def open_signal_pipe() -> Generator[int]:
    """A pipe that gets one byte, the signal's number, for each SIGINT, SIGTERM and SIGCHLD."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    watched = (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)
    before = {number: signal.signal(number, _wake) for number in watched}
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield reader
    finally:
        signal.set_wakeup_fd(-1)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(reader)
        os.close(writer)


def _wake(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: the byte in the pipe wakes the supervisor."""


@dataclass
class ChildProcess:
    """`assay serve` or `assay work`."""

    name: str
    environ: Mapping[str, str]
    stop_timeout_s: float
    output: int | None
    process: "subprocess.Popen[bytes]" = field(init=False)
    started_at: float = field(init=False)

    def start(self) -> None:
        """Start it in a session of its own, so that Ctrl-C reaches it in order, through the supervisor."""
        command = [sys.executable, "-I", "-m", "app.cli.main", self.name, "--end-with", str(os.getpid())]
        self.process = subprocess.Popen(  # noqa: S603 - our own program
            command, stdin=subprocess.DEVNULL, stdout=self.output, env=self.environ, start_new_session=True
        )
        self.started_at = time.monotonic()

    def has_ended(self) -> bool:
        return self.process.poll() is not None


class Supervisor:
    """Keeps both processes running, passes on the web process's output, stops them in order."""

    def __init__(self, settings: Settings, inbox: int) -> None:
        environ = child_environment(settings)
        self._web = ChildProcess("serve", environ, WEB_STOP_S, subprocess.PIPE)
        self._work = ChildProcess("work", environ, settings.timing.stop_grace + WORK_MARGIN_S, None)
        self._parts = (self._web,) if settings.app is None else (self._web, self._work)
        self._inbox = inbox
        self._partial_line = b""

    def run(self) -> int:
        """Supervise until a signal, or until a part can't be kept running. Returns the exit code."""
        for part in self._parts:
            part.start()
        try:
            while True:
                signals = self._listen(None)
                if signal.SIGINT in signals:
                    return Exit.INTERRUPTED
                if signal.SIGTERM in signals:
                    return Exit.ACCEPT
                for part in self._parts:
                    if part.has_ended() and (code := self._restart(part)) is not None:
                        return code
        finally:
            for part in self._parts:
                self._stop(part)

    def _restart(self, part: ChildProcess) -> int | None:
        """Restart an ended part. Returns the exit code instead where it ended right after its start."""
        code = part.process.returncode
        if time.monotonic() - part.started_at < MIN_UPTIME_S:
            _report(f"`assay {part.name}` ended at its start (exit code {code}); what it says above has to be changed.")
            return Exit.USAGE if code == Exit.USAGE else Exit.FAILED
        _report(f"`assay {part.name}` ended (exit code {code}) and is started again.")
        part.start()
        return None

    def _stop(self, part: ChildProcess) -> None:
        """Terminate it, again with each signal, and kill it at the timeout."""
        if part.has_ended():
            return
        _report(f"Stopping `assay {part.name}`. Ctrl-C again to stop it immediately.")
        part.process.terminate()
        limit = time.monotonic() + part.stop_timeout_s
        while not part.has_ended() and (left := limit - time.monotonic()) > 0:
            if STOP_SIGNALS & set(self._listen(left)):
                part.process.terminate()
                limit = min(limit, time.monotonic() + FORCED_STOP_S)
        if not part.has_ended():
            part.process.kill()
            part.process.wait()

    def _listen(self, timeout_s: float | None) -> bytes:
        """Wait for signals or output of the web process, and pass the output on. Returns the signals' numbers."""
        output = self._web.process.stdout
        sources = [self._inbox, output] if output and not output.closed else [self._inbox]
        ready, _, _ = select.select(sources, [], [], timeout_s)
        if output in ready:
            self._pass_on(output)
        return os.read(self._inbox, 64) if self._inbox in ready else b""

    def _pass_on(self, output: "IO[bytes]") -> None:
        chunk = os.read(output.fileno(), 65_536)
        if not chunk:
            output.close()
            return
        sys.stdout.buffer.write(chunk)
        sys.stdout.flush()
        *lines, self._partial_line = (self._partial_line + chunk).split(b"\n")
        for line in lines:
            if url := parse_listening_url(line):
                hint = f"Deliveries go to {url}/github/webhooks."
                if len(self._parts) == 1:
                    hint = f"Open {url}/setup and enter the token above. Then start Assay again, with what that page gives you."
                _report(f"{hint} Ctrl-C stops Assay.")


def parse_listening_url(line: bytes) -> str | None:
    """The address in the line that the web process prints once it listens."""
    try:
        parsed = json.loads(line)
    except ValueError:
        return None
    if not isinstance(parsed, dict):
        return None
    fields = cast("dict[str, Any]", parsed)
    return str(fields.get("url")) if fields.get("event") == "listening" else None


def _report(message: str) -> None:
    print(f"assay: {message}", file=sys.stderr, flush=True)
