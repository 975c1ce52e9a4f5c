"""Runs the product as users do: `assay serve` and `assay work`, or `assay up`, as real processes."""

import gc
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Self

import httpx
import pytest

from app.cli.main import main
from tests.world.fake_github import ServerInfo
from tests.world.parent_death import ParentDeathSignal, descendants
from tests.world.redis import RedisServer

ASSAY = Path(sys.executable).parent / "assay"
AUTHORITY = Path(__file__).with_name("authority.pem")
"""The only trusted authority: loading the system's takes long, and no test speaks TLS to it."""

STORE_KEY = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
START_SECONDS = 30.0
STOP_SECONDS = 15.0
LOUD = ("error", "critical")
TROUBLE = re.compile(r"Traceback|\bERROR\b|\bCRITICAL\b")

FAST: Mapping[str, str] = {
    "ASSAY_QUIET_WINDOW": "0",
    "ASSAY_CATCH_UP": "0",
    "ASSAY_GATHER": "0.05",
    "ASSAY_PEOPLE": "judge",
    "ASSAY_LEADER": "2",
    "ASSAY_SWEEP": "0.5",
    "ASSAY_TICK": "0.05",
    "ASSAY_RETRIES": "2",
    "ASSAY_RETRY_DELAY": "0.2",
    "ASSAY_GITHUB_DELAY": "4",
    "ASSAY_OUTAGE_RETRIES": "0",
    "ASSAY_CI_POLL": "0.2",
    "ASSAY_CI_WAIT": "60",
    "ASSAY_MODEL_ATTEMPTS": "2",
    "ASSAY_MODEL_RETRY_DELAY": "0.05",
    "ASSAY_MODEL_TIMEOUT": "20",
}
"""Short where tests wait, long where a slow machine must not fail."""


@dataclass(frozen=True, slots=True)
class LogLine:
    source: str
    text: str

    @property
    def fields(self) -> Mapping[str, Any]:
        """The JSON of the line, or nothing."""
        try:
            read = json.loads(self.text)
        except ValueError:
            return {}
        return read if isinstance(read, dict) else {}  # pyright: ignore[reportUnknownVariableType] - JSON is what it is

    @property
    def is_warning(self) -> bool:
        fields = self.fields
        return str(fields.get("level", "")).lower() in LOUD if fields else bool(TROUBLE.search(self.text))


@dataclass
class Log:
    """The stderr of all processes, in order."""

    lines: list[LogLine] = field(default_factory=list[LogLine])

    def warnings(self, since: int) -> list[str]:
        return [f"{line.source}: {line.text}" for line in self.lines[since:] if line.is_warning]

    def tail(self, since: int = 0) -> str:
        """The last lines, without ignored deliveries."""
        lines = [line for line in self.lines[since:] if line.fields.get("outcome") != "ignored"]
        return "\n".join(f"{line.source}: {line.text[:600]}" for line in lines[-40:])

    def add(self, source: str, text: str) -> None:
        self.lines.append(LogLine(source, text.rstrip("\n")))


@dataclass
class Process:
    """One `assay` command."""

    command: str
    popen: subprocess.Popen[str]
    leash: ParentDeathSignal
    printed: list[str] = field(default_factory=list[str])
    _readers: list[threading.Thread] = field(default_factory=list[threading.Thread])

    @classmethod
    def start(
        cls, command: str, environment: Mapping[str, str], log: Log, program: Sequence[str] = (str(ASSAY),)
    ) -> Self:
        popen = subprocess.Popen(
            [*program, command],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        made = cls(command, popen, ParentDeathSignal.on(popen.pid, signal.SIGTERM))
        made._follow(popen.stdout, made.printed.append)
        made._follow(popen.stderr, lambda text: log.add(command, text))
        return made

    @property
    def url(self) -> str | None:
        """The address that it printed."""
        lines = [LogLine(self.command, text).fields for text in list(self.printed)]
        return next((str(fields["url"]) for fields in lines if fields.get("event") == "listening"), None)

    def kill(self) -> None:
        """SIGKILL the process and all its children."""
        family = [self.popen.pid, *descendants(self.popen.pid)]
        for pid in family:
            _signal(pid, signal.SIGKILL)
        self._wait()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Stop it as a platform does, SIGKILL what is left, and return the status."""
        family = descendants(self.popen.pid)
        self.popen.send_signal(number)
        try:
            self.popen.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.popen.kill()
        for pid in family:
            _signal(pid, signal.SIGKILL)
        return self._wait()

    def _wait(self) -> int:
        status = self.popen.wait(STOP_SECONDS)
        self.leash.release()
        for reader in self._readers:
            reader.join(STOP_SECONDS)
        return status

    def _follow(self, stream: IO[str] | None, take: Callable[[str], None]) -> None:
        """Read *stream* in a thread, so that the process never blocks on a full pipe."""
        assert stream is not None

        def read() -> None:
            with stream:
                for text in stream:
                    take(text)

        reader = threading.Thread(target=read, name=f"reads-{self.command}", daemon=True)
        self._readers.append(reader)
        reader.start()


def _signal(pid: int, number: signal.Signals) -> None:
    subprocess.run(["kill", f"-{number.value}", str(pid)], stderr=subprocess.DEVNULL, check=False)


@dataclass
class Product:
    """The running product: a web server and workers."""

    environment: Mapping[str, str]
    log: Log = field(default_factory=Log)
    processes: list[Process] = field(default_factory=list[Process])
    program: Sequence[str] = (str(ASSAY),)

    @classmethod
    def launch(
        cls,
        environment: Mapping[str, str],
        commands: Iterable[str] = ("serve", "work"),
        program: Sequence[str] = (str(ASSAY),),
    ) -> Self:
        made = cls(environment, program=program)
        try:
            for command in commands:
                made.start(command)
            made.wait_until_ready()
        except BaseException:
            made.stop()
            raise
        return made

    @property
    def url(self) -> str:
        url = next((process.url for process in self.processes if process.url), None)
        assert url, f"The product does not listen.\n{self.log.tail()}"
        return url

    @property
    def webhook_url(self) -> str:
        return f"{self.url}/github/webhooks"

    def start(self, command: str) -> Process:
        process = Process.start(command, self.environment, self.log, self.program)
        self.processes.append(process)
        return process

    def kill(self, *commands: str) -> None:
        """SIGKILL the processes of these commands."""
        for process in [process for process in self.processes if process.command in commands]:
            process.kill()
            self.processes.remove(process)

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.stop()
        self.processes.clear()

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self._is_ready():
            self.assert_alive()
            assert time.monotonic() < deadline, f"The product is not ready in time.\n{self.log.tail()}"
            time.sleep(0.02)

    def assert_alive(self) -> None:
        """Fail with the reason when a process has ended."""
        ended = [
            (process.command, status) for process in self.processes if (status := process.popen.poll()) is not None
        ]
        assert not ended, "\n".join([f"Ended: {ended}", self.log.tail(), *self.crashes()])

    def crashes(self) -> list[str]:
        """The tracebacks that the product wrote."""
        folder = Path(self.environment["ASSAY_DATA_DIR"]) / "logs"
        return [path.read_text(encoding="utf-8")[-4000:] for path in sorted(folder.glob("*.log"))]

    def _is_ready(self) -> bool:
        urls = [process.url for process in self.processes if process.url]
        try:
            return bool(urls) and httpx.get(f"{urls[0]}/readyz", timeout=5).is_success
        except httpx.HTTPError:
            return False


def run_assay(environment: Mapping[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run one `assay` command to its end."""
    command = [str(ASSAY), *arguments]
    return subprocess.run(command, env=dict(environment), capture_output=True, text=True, timeout=60, check=False)


def run_in_process(
    environment: Mapping[str, str], *arguments: str, cwd: Path | None = None, stdin: str | None = ""
) -> subprocess.CompletedProcess[str]:
    """Run one `assay` command in the tests' own process, which takes a tenth of the time. A *stdin* of None is a closed one."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    text_input = None if stdin is None else io.StringIO(stdin)
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:  # noqa: TID251 - it is put aside
            patch.delenv(name)
        for name, value in {**environment, "PYDANTIC_DISABLE_PLUGINS": "__all__"}.items():
            patch.setenv(name, value)
        patch.chdir(cwd or Path.cwd())
        for name, stream in (("stdin", text_input), ("stdout", out), ("stderr", err)):
            patch.setattr(sys, name, stream)
        try:
            code = main(arguments)
        except SystemExit as leaving:  # argparse's own
            code = int(leaving.code or 0)
        finally:
            gc.enable()  # `judge` turns it on once it has loaded what it needs
    printed = [stream.buffer.getvalue().decode() for stream in (out, err)]
    return subprocess.CompletedProcess(arguments, code, *printed)


def build_environment(
    ready: ServerInfo, model_url: str, redis: RedisServer, changes: Mapping[str, str]
) -> dict[str, str]:
    """The product's environment; an empty value in *changes* removes a variable."""
    variables = {
        "REDIS_URL": redis.url,
        "ASSAY_DATA_DIR": str(redis.folder / "data"),
        "ASSAY_APP_ID": str(ready.app_id),
        "ASSAY_APP_PRIVATE_KEY": ready.private_key,
        "ASSAY_WEBHOOK_SECRET": ready.webhook_secret,
        "ASSAY_GITHUB_API_URL": ready.url,
        "ANTHROPIC_BASE_URL": model_url,
        "ANTHROPIC_API_KEY": "sk-ant-bench",
        "ASSAY_STORE_KEYS": STORE_KEY,
        "ASSAY_PORT": "0",
        "SSL_CERT_FILE": str(AUTHORITY),
        **FAST,
        **changes,
    }
    return {name: value for name, value in variables.items() if value}
