"""Blows at the product's processes, each at a stage: while it is at a certain request, or when deliveries come in.

Does not look at results. Invariant: who is hit is found out by the connection that the request came on; only processes of
this product are hit; every blow is counted under what really happened, also where nobody came to the stage in time.
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
"""How long to wait for somebody to come to a stage."""

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
"""What is asked of GitHub at a stage; whether it has been done by then."""


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
    def is_busy(self) -> bool:
        """Whether a blow is under way; Redis may be away then."""
        return any(one.is_alive() for one in self._under_way)

    def strikes(self, blow: Blow) -> None:
        """Begin to wait for the stage, and hit there, one after the other; whoever acts goes on acting meanwhile."""
        self._waits_until(MOST_WAITING)
        self._under_way.append(threading.Thread(target=self._strikes, args=[blow], name="blow", daemon=True))
        self._under_way[-1].start()
        self._lets_go_on(time.monotonic())

    def _waits_until(self, most: int) -> None:
        """Wait until no more blows than so many are to fall."""
        while len(self._under_way) > most:
            self._under_way.pop(0).join()

    def troubles(self, fault: Fault) -> None:
        if fault.match == "model":
            self.model.meets(fault.kind)
        else:
            self.fleet.github.fault(fault.match, kind=fault.kind, **dict(fault.order))

    def lets_all_go_on(self) -> None:
        self._waits_until(0)
        self._lets_go_on(float("inf"))

    def _strikes(self, blow: Blow) -> None:
        with self._one_at_a_time:
            caught, stage = self._catches(blow)
            victim = self._victim(blow.victim, caught)
            if victim is not None:
                self._hits(blow.victim, victim)
                self.done[blow.victim, stage] += 1

    def _catches(self, blow: Blow) -> tuple[int | None, Stage]:
        """The process that came to the stage; None, and any moment, if none did."""
        if blow.stage is Stage.DELIVERED:
            time.sleep(self.dice.random() * 0.2)
            return None, Stage.DELIVERED
        limit = time.monotonic() + PATIENCE_S
        while blow.stage is not Stage.ANY and (left := limit - time.monotonic()) > 0:
            port = self._asks(blow.stage, left)
            process = None if port is None else self._sender(port)
            if process is not None and self._fits(blow.victim, process):
                return process, blow.stage
        return None, Stage.ANY

    def _asks(self, stage: Stage, wait_s: float) -> int | None:
        """The port that the request of this stage came from, of those to the model or to GitHub."""
        if stage is Stage.ASKS:
            trap = self.model.trap()
            trap.sprung.wait(wait_s)
            return trap.port
        match, after = REQUESTS[stage]
        return self.fleet.github.control("trap", match=match, after=after, wait=int(wait_s * 1000), hold=1500)["port"]

    def _fits(self, victim: Victim, process: int) -> bool:
        """Whether it was the right kind of process that came."""
        if victim is Victim.DISPATCHER:
            return process in self.fleet.dispatchers
        return victim not in {Victim.JOB, Victim.WORKER, Victim.STOPPED} or process in self.fleet.judges

    def _victim(self, victim: Victim, caught: int | None) -> int | None:
        """Whom to hit; 0 where that needs no choice."""
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

    def _hits(self, victim: Victim, process: int) -> None:
        match victim:
            case Victim.REDIS:
                self.fleet.redis.kill()
                time.sleep(self.dice.random() * OUTAGE_S)
                self.fleet.redis.start()
                keeps(self.fleet, self.fsync)
            case Victim.WEB:
                self.fleet.replace_web_process()
            case Victim.MACHINE:
                self.fleet.replace_machine()
            case Victim.STOPPED:
                send_signal(process, signal.SIGSTOP)
                self._stopped.append((time.monotonic() + STOPPED_S, process))
            case _:
                send_signal(process, signal.SIGKILL)

    def _lets_go_on(self, now: float) -> None:
        for one in [one for one in self._stopped if one[0] <= now]:
            send_signal(one[1], signal.SIGCONT)
            self._stopped.remove(one)

    def _sender(self, port: int) -> int | None:
        """The process of ours that this connection belongs to: the youngest, where a child inherited it."""
        inode = _inode_of(port)
        if inode is None:
            return None
        machines = [machine.popen.pid for machine in self.fleet.machines]
        ours = [process for machine in machines for process in (machine, *descendants(machine))]
        return next((process for process in reversed(ours) if inode in _sockets(process)), None)


def keeps(fleet: Fleet, fsync: str) -> None:
    """Keep what Redis answered; its file is never rewritten, since it is read at the end."""
    with fleet.redis.client as client:
        client.config_set("appendfsync", fsync)  # pyright: ignore[reportUnknownMemberType] - redis has it so
        client.config_set("auto-aof-rewrite-percentage", "0")  # pyright: ignore[reportUnknownMemberType] - as above


def _inode_of(port: int) -> str | None:
    """The kernel's number for the socket that connects from this port."""
    local = f":{port:04X}"
    lines = Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]
    rows = [line.split() for line in lines if f"{local} " in line]
    return next((row[9] for row in rows if row[1].endswith(local) and row[9] != "0"), None)


def _sockets(process: int) -> set[str]:
    found: set[str] = set()
    with suppress(OSError):
        for entry in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):
                name = str(entry.readlink())
                found |= {name[len("socket:[") : -1]} if name.startswith("socket:[") else set()
    return found
