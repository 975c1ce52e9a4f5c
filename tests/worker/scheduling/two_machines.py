"""The product on two machines, and faults that kill or stop its processes.

One `assay serve` and two `assay work`, with the real judge. Invariant: every fault is counted, and every stopped process
is resumed.
"""

import random
import signal
import socket
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Self

from tests.worker.adapters.redis.store_samples import wait_until
from tests.worker.scheduling.worker_processes import children, send_signal
from tests.world.fake_github import FakeGitHub
from tests.world.product import Process, Product, build_environment
from tests.world.redis import RedisServer

MACHINES, WORKERS = 2, 2
EVENTS = ("pull_request", "issue_comment", "check_run")
LEASE_S = 1.0
PAUSE_S = 1.3
"""Longer than any lease, shorter than the claim of a check run (`ASSAY_OPEN_HOLD`)."""

IMPATIENT = {
    "ASSAY_WORKERS": str(WORKERS),
    "ASSAY_LEASE": str(LEASE_S),
    "ASSAY_HOLD": "1",
    "ASSAY_LEADER": "1",
    "ASSAY_OPEN_HOLD": "6",
    "ASSAY_SWEEP": "0.2",
    "ASSAY_RETRIES": "9",
    "ASSAY_RETRY_DELAY": "0.05",
    "ASSAY_REDIS_TIMEOUT": "1",
    "ASSAY_ROUND_LIMIT": "100",
    "ANTHROPIC_BASE_URL": "",
    "ANTHROPIC_API_KEY": "",
}
"""The round limit is out of reach, so that no head is left to a person."""

DECK = {
    "a judge killed": (5, "judges", signal.SIGKILL),
    "a judge stopped": (5, "judges", signal.SIGSTOP),
    "a worker killed": (1, "workers", signal.SIGKILL),
    "a worker stopped": (1, "workers", signal.SIGSTOP),
    "a dispatcher killed": (1, "dispatchers", signal.SIGKILL),
    "a dispatcher stopped": (1, "dispatchers", signal.SIGSTOP),
}
"""Drawn from until it is empty, then shuffled again, so that every fault occurs."""


@dataclass
class Fleet:
    """Web server, machines and Redis with one GitHub."""

    github: FakeGitHub
    redis: RedisServer
    product: Product
    _named: dict[object, str] = field(default_factory=dict[object, str])
    _read: int = 0

    @classmethod
    @contextmanager
    def on(cls, github: FakeGitHub, redis: RedisServer) -> Generator[Self]:
        changes = {**IMPATIENT, "ASSAY_PORT": str(free_port())}
        variables = build_environment(github.info, "", redis, changes)
        product = Product.launch(variables, ["serve", *["work"] * MACHINES])
        try:
            github.control("hooks", url=product.webhook_url, paused=False, copies=2, events=EVENTS)
            yield cls(github, redis, product)
        finally:
            product.stop()

    @property
    def machines(self) -> list[Process]:
        return [process for process in self.product.processes if process.command == "work"]

    @property
    def dispatchers(self) -> list[int]:
        return [child for child in self._worker_processes() if self._names().get(child) == "dispatcher"]

    @property
    def workers(self) -> list[int]:
        return [child for child in self._worker_processes() if self._names().get(child, "").startswith("worker ")]

    @property
    def judges(self) -> list[int]:
        return [judge for worker in self.workers for judge in children(worker)]

    def log_entries(self, text: str) -> list[dict[str, object]]:
        """Return the fields of log lines that contain *text*."""
        lines = list(self.product.log.lines)
        return [dict(line.fields) for line in lines if text in line.text]

    def replace_machine(self) -> None:
        machine = self.machines[0]
        machine.kill()
        self.product.processes.remove(machine)
        self.product.start("work")

    def replace_web_process(self) -> None:
        self.product.kill("serve")
        self.product.start("serve")

    def _worker_processes(self) -> list[int]:
        return [child for machine in self.machines for child in children(machine.popen.pid)]

    def _names(self) -> dict[object, str]:
        """Return the name of every child that was ever started, from the log."""
        lines = self.product.log.lines
        for line in lines[self._read : (upto := len(lines))]:
            if (name := line.fields.get("hand")) and (child := line.fields.get("child")):
                self._named[child] = str(name)
        self._read = upto
        return self._named


@dataclass
class Chaos:
    """Random faults. `done` counts them, so that a test without faults fails."""

    fleet: Fleet
    dice: random.Random
    done: Counter[str] = field(default_factory=Counter[str])
    _stopped: list[tuple[float, int]] = field(default_factory=list[tuple[float, int]])
    _deck: list[str] = field(default_factory=list[str])

    def strike(self) -> None:
        """Kill or stop one process if there is one to be hit."""
        self.resume(time.monotonic())
        fault = self._draw()
        _, victims, how = DECK[fault]
        if wait_until(lambda: getattr(self.fleet, victims), 1.0) and (processes := getattr(self.fleet, victims)):
            process = self.dice.choice(processes)
            send_signal(process, how)
            if how is signal.SIGSTOP:
                self._stopped.append((time.monotonic() + PAUSE_S, process))
            self.done[fault] += 1

    def _draw(self) -> str:
        if not self._deck:
            self._deck = [fault for fault, (count, _, _) in DECK.items() for _ in range(count)]
            self.dice.shuffle(self._deck)
        return self._deck.pop()

    def fail_answers(self) -> None:
        """Lose the answer of the next check run write, and delay that of another."""
        self.fleet.github.fault("^(POST|PATCH) .*/check-runs", kind="reset", after=True)
        self.fleet.github.fault("^PATCH .*/check-runs", kind="slow", ms=500)
        self.done["an answer lost"] += 1

    def kill_machine(self) -> None:
        self.fleet.replace_machine()
        self.done["a machine killed"] += 1

    def kill_web_process(self) -> None:
        self.fleet.replace_web_process()
        self.done["the web server killed"] += 1

    @contextmanager
    def without_redis(self) -> Generator[None]:
        self.fleet.redis.kill()
        yield
        self.fleet.redis.start()
        self.done["Redis killed"] += 1

    @contextmanager
    def with_redis_stopped(self) -> Generator[None]:
        with self.fleet.redis.freeze():
            yield
        self.done["Redis stopped"] += 1

    def resume(self, now: float = float("inf")) -> None:
        """Resume the processes that were stopped for long enough."""
        for until, process in [stopped for stopped in self._stopped if stopped[0] <= now]:
            send_signal(process, signal.SIGCONT)
            self._stopped.remove((until, process))


def free_port() -> int:
    """Return a free port outside the kernel's ephemeral range, to which a restarted web server can bind again."""
    for port in random.SystemRandom().sample(range(20_000, 32_000), 50):
        with socket.socket() as free, suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port
    raise AssertionError
