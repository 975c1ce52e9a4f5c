"""Blows at the product's processes, each at a stage: during a certain request, or while deliveries come in.

Invariant: the victim is the sender of the request, by its connection; only processes of this product are hit; every blow is
counted under the stage that was reached.
"""

import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench.storm.people import RuledModel
from bench.storm.plan import Blow, Fault, Stage, Victim
from tests.worker.scheduling.two_machines import Fleet
from tests.worker.scheduling.worker_processes import children, send_signal
from tests.world.parent_death import descendants

PATIENCE_S: Final = 4.0
"""How long to wait for a process to reach a stage."""

MOST_WAITING: Final = 3
STOPPED_S: Final = 5.0
"""Longer than any lease."""

OUTAGE_S: Final = 0.5
REQUESTS: Mapping[Stage, tuple[str, bool]] = {
    Stage.READS: ("^POST .*graphql Assay(Pull|Texts)", False),
    Stage.NEWEST: ("^POST .*graphql Assay(Head|Tell)", True),
    Stage.WRITES: ("^PATCH .*/check-runs", False),
    Stage.WROTE: ("^PATCH .*/check-runs", True),
    Stage.OPENS: ("^POST .*/check-runs$", False),
    Stage.OPENED: ("^POST .*/check-runs$", True),
    Stage.REACTS: ("^(GET .*/permission|POST .*/reactions)$", True),
}
"""The request to GitHub at a stage, and whether GitHub has executed it by then."""


@dataclass
class Blows:
    """`done` counts by victim and stage."""

    fleet: Fleet
    model: RuledModel
    dice: random.Random
    fsync: str
    done: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    _under_way: list[threading.Thread] = field(default_factory=list[threading.Thread])
    _one_at_a_time: threading.Lock = field(default_factory=threading.Lock)
    _stopped: list[tuple[float, int]] = field(default_factory=list[tuple[float, int]])

    @property
    def kills(self) -> int:
        return sum(count for (victim, _), count in self.done.items() if victim != Victim.STOPPED)

    @property
    def is_striking(self) -> bool:
        """Whether a blow is under way, so that Redis may be unreachable."""
        return any(thread.is_alive() for thread in self._under_way)

    def strike(self, blow: Blow) -> None:
        """Wait for the stage in a thread, and hit there; blows fall one after the other."""
        self._wait_for_blows(MOST_WAITING)
        self._under_way.append(threading.Thread(target=self._strike, args=[blow], name="blow", daemon=True))
        self._under_way[-1].start()
        self._resume(time.monotonic())

    def _wait_for_blows(self, most: int) -> None:
        """Wait until at most this many blows are pending."""
        while len(self._under_way) > most:
            self._under_way.pop(0).join()

    def apply_fault(self, fault: Fault) -> None:
        if fault.match == "model":
            self.model.add_fault(fault.kind)
        else:
            self.fleet.github.fault(fault.match, kind=fault.kind, **dict(fault.order))

    def resume_all(self) -> None:
        self._wait_for_blows(0)
        self._resume(float("inf"))

    def _strike(self, blow: Blow) -> None:
        with self._one_at_a_time:
            caught, stage = self._catch(blow)
            victim = self._victim(blow.victim, caught)
            if victim is not None:
                self._hit(blow.victim, victim)
                self.done[blow.victim, stage] += 1

    def _catch(self, blow: Blow) -> tuple[int | None, Stage]:
        """Return the process that reached the stage; None, and any moment, if none did."""
        if blow.stage is Stage.DELIVERED:
            time.sleep(self.dice.random() * 0.2)
            return None, Stage.DELIVERED
        limit = time.monotonic() + PATIENCE_S
        while blow.stage is not Stage.ANY and (left := limit - time.monotonic()) > 0:
            port = self._wait_for_request(blow.stage, left)
            process = None if port is None else self._sender(port)
            if process is not None and self._fits(blow.victim, process):
                return process, blow.stage
        return None, Stage.ANY

    def _wait_for_request(self, stage: Stage, wait_s: float) -> int | None:
        """Return the port from which the request of this stage came."""
        if stage is Stage.ASKS:
            trap = self.model.trap()
            trap.sprung.wait(wait_s)
            return trap.port
        match, after = REQUESTS[stage]
        return self.fleet.github.control("trap", match=match, after=after, wait=int(wait_s * 1000), hold=1500)["port"]

    def _fits(self, victim: Victim, process: int) -> bool:
        """Return whether the process is of the kind to be hit."""
        if victim is Victim.DISPATCHER:
            return process in self.fleet.dispatchers
        return victim not in {Victim.JOB, Victim.WORKER, Victim.STOPPED} or process in self.fleet.judges

    def _victim(self, victim: Victim, caught: int | None) -> int | None:
        """Return the process to hit; 0 where the victim is unique."""
        match victim:
            case Victim.JOB | Victim.STOPPED:
                return caught or self._any(self.fleet.judges)
            case Victim.WORKER:
                over = [worker for worker in self.fleet.workers if caught in children(worker)]
                return self._any(over or self.fleet.workers)
            case Victim.DISPATCHER:
                return caught or self._any(self.fleet.dispatchers)
            case _:
                return 0

    def _any(self, among: list[int]) -> int | None:
        return self.dice.choice(among) if among else None

    def _hit(self, victim: Victim, process: int) -> None:
        match victim:
            case Victim.REDIS:
                self.fleet.redis.kill()
                time.sleep(self.dice.random() * OUTAGE_S)
                self.fleet.redis.start()
                persist(self.fleet, self.fsync)
            case Victim.WEB:
                self.fleet.replace_web_process()
            case Victim.MACHINE:
                self.fleet.replace_machine()
            case Victim.STOPPED:
                send_signal(process, signal.SIGSTOP)
                self._stopped.append((time.monotonic() + STOPPED_S, process))
            case _:
                send_signal(process, signal.SIGKILL)

    def _resume(self, now: float) -> None:
        for until, process in [stopped for stopped in self._stopped if stopped[0] <= now]:
            send_signal(process, signal.SIGCONT)
            self._stopped.remove((until, process))

    def _sender(self, port: int) -> int | None:
        """Return the product's process that has this connection: the youngest, where a child inherited it."""
        inode = _inode_of(port)
        if inode is None:
            return None
        machines = [machine.popen.pid for machine in self.fleet.machines]
        ours = [process for machine in machines for process in (machine, *descendants(machine))]
        return next((process for process in reversed(ours) if inode in _sockets(process)), None)


def persist(fleet: Fleet, fsync: str) -> None:
    """Let Redis write through to its file, and never rewrite it, since it is read at the end."""
    with fleet.redis.client as client:
        client.config_set("appendfsync", fsync)  # pyright: ignore[reportUnknownMemberType] - redis has it so
        client.config_set("auto-aof-rewrite-percentage", "0")  # pyright: ignore[reportUnknownMemberType] - as above


def _inode_of(port: int) -> str | None:
    """Return the inode of the socket that connects from this port."""
    local = f":{port:04X}"
    lines = Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]
    rows = [line.split() for line in lines if f"{local} " in line]
    return next((row[9] for row in rows if row[1].endswith(local) and row[9] != "0"), None)


def _sockets(process: int) -> set[str]:
    sockets: set[str] = set()
    with suppress(OSError):
        for entry in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):
                name = str(entry.readlink())
                sockets |= {name[len("socket:[") : -1]} if name.startswith("socket:[") else set()
    return sockets
