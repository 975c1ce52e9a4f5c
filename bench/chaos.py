"""Chaos run of many pull requests: `python -m bench.chaos [--conversations 40] [--kills 10] [--seed 1]`.

The real product (`assay serve`, two `assay work`) with a private Redis that writes through to its file, the fake GitHub and a
model that answers by a rule. People push, force-push, command, run CI, queue, close and reopen; workers, jobs, the dispatcher,
the web server, machines and Redis get SIGKILL at a stage, jobs SIGSTOP past their lease, and GitHub answers 5xx, 403 and
nothing. Then the faults end, refused deliveries are redelivered, and the result is compared with what each head deserves.
`--broken-fence` runs a product whose leases admit every judge, which must be found. `--keep` keeps the product's log.

Prints the seed, a histogram of the kills by victim and stage, figures and each violation; exits 1 on any, 2 when it stopped
before its plan was done. The same seed makes the same plan of acts, kills and faults; the interleaving of processes differs.
Stops after --minutes, and ends only what it started.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import SecretStr

from bench.mutate import copied, read_stages
from bench.stage import staged
from bench.storm.blows import Blows, persist
from bench.storm.people import OTHERS, People, RuledModel, ruled
from bench.storm.plan import Blow, Fault, Move, Step, Victim, plan
from bench.storm.record import Books, Ending, Probes, cut_short, of_the_file, of_the_stream
from tests.worker.adapters.redis.store_samples import settings_for
from tests.worker.scheduling.two_machines import Fleet, free_port
from tests.world.product import ASSAY, STORE_KEY
from tests.world.world import pending_keys
from worker.adapters.redis import keys
from worker.adapters.redis.store import open_store

MACHINES = 2
LEASE_S = 3
SETTLE_S = 240.0
PROBE_EVERY, REPORTED_EVERY = 25, 250
PACE = {
    "ASSAY_WORKERS": "2",
    "ASSAY_LEASE": str(LEASE_S),
    "ASSAY_HOLD": "3",
    "ASSAY_LEADER": "2",
    "ASSAY_OPEN_HOLD": "6",
    "ASSAY_SWEEP": "0.3",
    "ASSAY_TICK": "0.05",
    "ASSAY_RETRY_DELAY": "0.1",
    "ASSAY_GITHUB_DELAY": "5",
    "ASSAY_OUTAGE_RETRIES": "9",
    "ASSAY_OUTAGE_DELAY": "1",
    "ASSAY_CATCH_UP": "5",
    "ASSAY_GROUP_WAIT": "30",
    "ASSAY_REDIS_TIMEOUT": "3",
    "ASSAY_GITHUB_TIMEOUT": "15",
    "ASSAY_ROUND_LIMIT": "99",
    "ASSAY_PR_MAX_USD": "100",
    "ASSAY_DAY_MAX_USD": "100000",
    "ASSAY_REPOSITORY_SHARE": "1",
}
"""Short enough for a storm, long enough for a slow machine."""


@dataclass
class Storm:
    """One run. `done`: how many moves of the plan."""

    fleet: Fleet
    model: RuledModel
    people: People
    blows: Blows
    probes: Probes
    done: int = 0
    acts: Counter[str] = field(default_factory=Counter[str])

    def run(self, moves: list[Move], until: float) -> None:
        for move in moves:
            if time.monotonic() > until:
                break
            match move:
                case Step():
                    self.people.act(move)
                    self.acts[move.act] += 1
                case Blow():
                    self.blows.strike(move)
                case Fault():
                    self.blows.apply_fault(move)
            self.done += 1
            if self.done % REPORTED_EVERY == 0:
                print(f"{self.done} of {len(moves)} moves, {self.blows.kills} kills", flush=True)
            if self.done % PROBE_EVERY == 0 and not self.blows.is_striking:
                self.probes.record()
        self.blows.resume_all()
        self.probes.record()

    def settle(self) -> list[str]:
        """End the faults and wait until no work is left; return the work left at the limit."""
        self.fleet.github.clear_faults()
        self.model.clear()
        self.people.end_ci()
        limit = time.monotonic() + SETTLE_S
        while left := self._left():
            if time.monotonic() > limit:
                return left
            time.sleep(1)
        return []

    def _left(self) -> list[str]:
        self.fleet.product.assert_alive()
        self.fleet.github.settle()  # first, since deliveries in flight may be refused
        if refused := self.fleet.github.redeliver_refused():
            return [f"{refused} deliveries were refused"]
        with self.fleet.redis.client as client:
            busy = [
                key
                for repository in self.people.repositories
                for key in pending_keys(client, repository, self.people.installation(repository))
            ]
            busy += [name for name in (keys.DISPATCHED.name, keys.DEADLINES.name) if client.exists(name)]
        return busy or [
            f"{repository.name}: {run['external_id']} {run['head_sha'][:7]} {run['output']['title']}"
            for repository in self.people.repositories
            for run in repository.open_checks
        ]


@contextmanager
def stage(options: argparse.Namespace) -> Generator[Storm]:
    """Start the storm's processes, and end them afterwards."""
    with ExitStack() as ends:
        program = ends.enter_context(broken_program()) if options.broken_fence else ASSAY
        changes = {**PACE, "ASSAY_PORT": str(free_port())}
        world = ends.enter_context(staged(changes, (str(program),), OTHERS, machines=MACHINES))
        model = RuledModel(world.model.server)
        model.reply_by(ruled)
        fleet = Fleet(world.github, world.redis, world.product)
        persist(fleet, options.fsync)
        dice = random.Random(f"{options.seed} victims")  # noqa: S311 - dice
        blows = Blows(fleet, model, dice, options.fsync)
        yield Storm(fleet, model, People(world.github), blows, Probes(world.redis))


@contextmanager
def broken_program() -> Generator[Path]:
    """Install a copy of the product whose leases admit every judge."""
    with copied() as copy:
        for fence in read_stages("fence"):
            file = copy / fence.path
            file.write_text(fence.rewrite(file.read_text("utf-8")), "utf-8")
        yield copy / ".venv" / "bin" / "assay"


def find_violations(storm: Storm, left: list[str]) -> Iterator[str]:
    """Yield every violation."""
    yield from (f"still to do after {SETTLE_S:.0f} s: {work}" for work in left)
    with open_store(settings_for(storm.fleet.redis.url, store_keys=(SecretStr(STORE_KEY),))) as store:
        ending = Ending.read(storm.people, store, cut_short(storm.fleet.log_entries('"judging ')))
    yield from ending.violations()
    yield from storm.probes.lost()
    yield from of_the_stream(storm.people, storm.fleet.redis)
    yield from Books.read(storm.fleet.redis).violations(storm.model)
    yield from of_the_file(ending, storm.fleet.redis, LEASE_S * 1000)


def histogram(blows: Blows) -> Iterator[str]:
    for victim in Victim:
        stages = {stage: count for (hit, stage), count in sorted(blows.done.items()) if hit == victim}
        if stages:
            yield f"{victim:>28} {sum(stages.values()):>4}"
        yield from (f"{stage:>36} {count:>4} {'#' * count}" for stage, count in stages.items())


def figures(storm: Storm, seconds: float) -> Iterator[str]:
    books = Books.read(storm.fleet.redis)
    heads = sum(len(conversation.heads) for conversation in storm.people.conversations.values())
    verdicts = sum(len(seen) for seen in storm.probes.seen.values())
    model = storm.model
    yield f"{len(storm.people.conversations)} pull requests, {heads} heads, {storm.acts.total()} acts, {verdicts} verdicts"
    yield "acts: " + ", ".join(f"{act} {count}" for act, count in sorted(storm.acts.items()))
    yield f"model: {len(model.requests)} questions, {model.billed} billed ({model.lost} lost), {model.free} refused; budget: {books.heard} heard, {books.bound} at their bound, {books.free} free"
    short = cut_short(storm.fleet.log_entries('"judging '))
    yield f"{len(short)} pull requests with more unfinished judgings than Assay tries"
    yield f"{storm.blows.kills} kills, {seconds:.0f} s, refused to people: {len(storm.people.refused)}"
    yield from (f"  {refusal}" for refusal in storm.people.refused[:5])


def run(options: argparse.Namespace) -> int:
    moves, began = plan(options.seed, options.conversations, options.kills), time.monotonic()
    until = began + options.minutes * 60
    fence = "broken" if options.broken_fence else "whole"
    print(
        f"seed {options.seed}: {options.conversations} pull requests, {options.kills} kills, fence {fence}", flush=True
    )
    with stage(options) as storm:
        try:
            storm.run(moves, until)
            print(f"{storm.done} of {len(moves)} moves after {time.monotonic() - began:.0f} s", flush=True)
            wrong = list(find_violations(storm, storm.settle()))
            storm.probes.record()
            print("\n".join([*figures(storm, time.monotonic() - began), *histogram(storm.blows)]))
        finally:
            if options.keep:
                with tempfile.NamedTemporaryFile("w", prefix="assay-chaos-", suffix=".log", delete=False) as kept:
                    kept.writelines(f"{line.source}: {line.text}\n" for line in storm.fleet.product.log.lines)
                print(f"log: {kept.name}")
    print(f"violations: {len(wrong)}")
    print("\n".join(f"  {violation}" for violation in wrong))
    if wrong:
        return 1
    return 0 if storm.done == len(moves) else 2


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--conversations", type=int, default=40)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--fsync", choices=("always", "everysec"), default="always")
    parser.add_argument("--broken-fence", action="store_true")
    parser.add_argument("--keep", action="store_true")
    return run(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
