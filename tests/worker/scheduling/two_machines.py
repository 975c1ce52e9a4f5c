"""The product as it runs in production, on two machines, and ways to do it harm.

The door is one `assay serve`, each machine one `assay work`; the judge is the real one. Does not judge and does not look
at results. Invariant: every blow is counted, and what was stopped goes on again.
"""

import random
import signal
import socket
import time
from collections import Counter
from collections.abc import Generator, Iterable
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
"""Longer than any lease, shorter than the place of a check run is kept (`ASSAY_OPEN_HOLD`)."""

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
"""No round is the last one: at the limit, a head would be left to a person, as it should, and not get what it deserves."""

DECK = {
    "a judge killed": 5,
    "a judge stopped": 5,
    "a worker killed": 1,
    "a worker stopped": 1,
    "a dispatcher killed": 1,
    "a dispatcher stopped": 1,
}
"""Drawn from until it is empty, then shuffled anew: no blow is left out."""


@dataclass
class Fleet:
    """Door, machines and Redis before one GitHub."""

    github: FakeGitHub
    redis: RedisServer
    product: Product
    _named: dict[object, str] = field(default_factory=dict[object, str])
    _read: int = 0

    @classmethod
    @contextmanager
    def on(cls, github: FakeGitHub, redis: RedisServer) -> Generator[Self]:
        changes = {**IMPATIENT, "ASSAY_PORT": str(free_port())}
        told = build_environment(github.info, "", redis, changes)
        product = Product.launch(told, ["serve", *["work"] * MACHINES])
        try:
            github.control("hooks", url=product.webhook_url, paused=False, copies=2, events=EVENTS)
            yield cls(github, redis, product)
        finally:
            product.stop()

    @property
    def machines(self) -> list[Process]:
        return [one for one in self.product.processes if one.command == "work"]

    @property
    def dispatchers(self) -> list[int]:
        return [hand for hand in self._worker_processes() if self._names().get(hand) == "dispatcher"]

    @property
    def workers(self) -> list[int]:
        return [hand for hand in self._worker_processes() if self._names().get(hand, "").startswith("worker ")]

    @property
    def judges(self) -> list[int]:
        return [judge for worker in self.workers for judge in children(worker)]

    def log_entries(self, words: str) -> list[dict[str, object]]:
        """The lines of the log with these words."""
        lines = list(self.product.log.lines)
        return [dict(line.fields) for line in lines if words in line.text]

    def replace_machine(self) -> None:
        machine = self.machines[0]
        machine.kill()
        self.product.processes.remove(machine)
        self.product.start("work")

    def replace_web_process(self) -> None:
        self.product.kill("serve")
        self.product.start("serve")

    def _worker_processes(self) -> list[int]:
        return [hand for machine in self.machines for hand in children(machine.popen.pid)]

    def _names(self) -> dict[object, str]:
        """What every hand that was ever started is, as the log tells; read on where it was read to."""
        lines = self.product.log.lines
        for line in lines[self._read : (upto := len(lines))]:
            if (name := line.fields.get("hand")) and (child := line.fields.get("child")):
                self._named[child] = str(name)
        self._read = upto
        return self._named


@dataclass
class Chaos:
    """Harm, by dice; what it did is counted, so that a test that harmed nothing fails."""

    fleet: Fleet
    dice: random.Random
    done: Counter[str] = field(default_factory=Counter[str])
    _stopped: list[tuple[float, int]] = field(default_factory=list[tuple[float, int]])
    _deck: list[str] = field(default_factory=list[str])

    def strike(self) -> None:
        """One blow at one process, when there is one to be hit."""
        self.resume(time.monotonic())
        what = self._draw()
        victims, how = {
            "a judge killed": (lambda: self.fleet.judges, signal.SIGKILL),
            "a judge stopped": (lambda: self.fleet.judges, signal.SIGSTOP),
            "a worker killed": (lambda: self.fleet.workers, signal.SIGKILL),
            "a worker stopped": (lambda: self.fleet.workers, signal.SIGSTOP),
            "a dispatcher killed": (lambda: self.fleet.dispatchers, signal.SIGKILL),
            "a dispatcher stopped": (lambda: self.fleet.dispatchers, signal.SIGSTOP),
        }[what]
        if wait_until(victims, 1.0) and (found := victims()):
            self._signal(self.dice.choice(found), how)
            self.done[what] += 1

    def _draw(self) -> str:
        if not self._deck:
            self._deck = [what for what, count in DECK.items() for _ in range(count)]
            self.dice.shuffle(self._deck)
        return self._deck.pop()

    def fail_answers(self) -> None:
        """One check run is written and nobody hears of it; about another one they hear late."""
        self.fleet.github.fault("^(POST|PATCH) .*/check-runs", kind="reset", after=True)
        self.fleet.github.fault("^PATCH .*/check-runs", kind="slow", ms=500)
        self.done["an answer lost"] += 1

    def kill_machine(self) -> None:
        self.fleet.replace_machine()
        self.done["a machine killed"] += 1

    def kill_web_process(self) -> None:
        self.fleet.replace_web_process()
        self.done["the door killed"] += 1

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
        """What was stopped long enough goes on."""
        self._resume_expired(one for one in self._stopped if one[0] <= now)

    def _signal(self, process: int, how: signal.Signals) -> None:
        send_signal(process, how)
        if how is signal.SIGSTOP:
            self._stopped.append((time.monotonic() + PAUSE_S, process))

    def _resume_expired(self, over: Iterable[tuple[float, int]]) -> None:
        for one in list(over):
            send_signal(one[1], signal.SIGCONT)
            self._stopped.remove(one)


def free_port() -> int:
    """One that the kernel gives to nobody who asks for any: the door comes back to it."""
    for port in random.SystemRandom().sample(range(20_000, 32_000), 50):
        with socket.socket() as free, suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port
    raise AssertionError
