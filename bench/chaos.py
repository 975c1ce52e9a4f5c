"""Pull requests by the hundred while everything dies: `python -m bench.chaos [--conversations 40] [--kills 10] [--seed 1]`.

The real product (`assay serve`, two `assay work`), a private Redis that writes through to its file, the played GitHub, and a
model that answers by a rule. People push, force-push, command, run CI, queue, close and reopen; workers, jobs, the dispatcher,
the door, whole machines and Redis get SIGKILL at a stage, jobs SIGSTOP past their lease, and GitHub answers 5xx, 403 and
nothing. Then all that ends, deliveries that were refused are redelivered, and what is left is held against what each head
deserves. `--broken-fence` does it with a product whose leases admit every judge, which must be found. `--keep` leaves the
product's log there.

Prints the seed, a histogram of the kills by victim and stage, the world's figures and each violation; exits 1 on any, 2 when
it had to stop before its plan was done. The same seed makes the same plan of acts, kills and faults; how real processes
interleave with it is different each time. Stops by itself after --minutes, and ends only what it started.
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
from bench.storm.blows import Blows, keeps
from bench.storm.people import OTHERS, Crowd, RuledModel, ruled
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
"""Short enough for a storm, long enough that a slow machine is no dead one."""


@dataclass
class Storm:
    """One run. `done`: how much of the plan."""

    fleet: Fleet
    model: RuledModel
    crowd: Crowd
    blows: Blows
    probes: Probes
    done: int = 0
    acts: Counter[str] = field(default_factory=Counter[str])

    def rages(self, moves: list[Move], until: float) -> None:
        for move in moves:
            if time.monotonic() > until:
                break
            match move:
                case Step():
                    self.crowd.does(move)
                    self.acts[move.act] += 1
                case Blow():
                    self.blows.strikes(move)
                case Fault():
                    self.blows.troubles(move)
            self.done += 1
            if self.done % REPORTED_EVERY == 0:
                print(f"{self.done} of {len(moves)} moves, {self.blows.kills} kills", flush=True)
            if self.done % PROBE_EVERY == 0 and not self.blows.is_busy:
                self.probes.look()
        self.blows.lets_all_go_on()
        self.probes.look()

    def calms(self) -> list[str]:
        """No more faults; wait until nobody has anything to do. What was left to do in the end."""
        self.fleet.github.clear_faults()
        self.model.clear()
        self.crowd.ends_ci()
        limit = time.monotonic() + SETTLE_S
        while left := self._left():
            if time.monotonic() > limit:
                return left
            time.sleep(1)
        return []

    def _left(self) -> list[str]:
        self.fleet.product.assert_alive()
        self.fleet.github.settle()  # first: what is still on its way may be refused
        if refused := self.fleet.github.redeliver_refused():
            return [f"{refused} deliveries were refused"]
        with self.fleet.redis.client as client:
            busy = [
                one
                for place in self.crowd.repositories
                for one in pending_keys(client, place, self.crowd.installation(place))
            ]
            busy += [name for name in (keys.DISPATCHED.name, keys.DEADLINES.name) if client.exists(name)]
        return busy or [
            f"{place.name}: {run['external_id']} {run['head_sha'][:7]} {run['output']['title']}"
            for place in self.crowd.repositories
            for run in place.open_checks
        ]


@contextmanager
def stage(options: argparse.Namespace) -> Generator[Storm]:
    """Everything up and running; gone afterwards."""
    with ExitStack() as ends:
        program = ends.enter_context(broken_program()) if options.broken_fence else ASSAY
        changes = {**PACE, "ASSAY_PORT": str(free_port())}
        world = ends.enter_context(staged(changes, (str(program),), OTHERS, machines=MACHINES))
        model = RuledModel(world.model.server)
        model.reply_by(ruled)
        fleet = Fleet(world.github, world.redis, world.product)
        keeps(fleet, options.fsync)
        dice = random.Random(f"{options.seed} victims")  # noqa: S311 - dice
        blows = Blows(fleet, model, dice, options.fsync)
        yield Storm(fleet, model, Crowd(world.github), blows, Probes(world.redis))


@contextmanager
def broken_program() -> Generator[Path]:
    """An installed copy of the product whose leases admit every judge."""
    with copied() as copy:
        for fence in read_stages("fence"):
            file = copy / fence.path
            file.write_text(fence.rewrite(file.read_text("utf-8")), "utf-8")
        yield copy / ".venv" / "bin" / "assay"


def judged(storm: Storm, left: list[str]) -> Iterator[str]:
    """Everything that is wrong."""
    yield from (f"still to do after {SETTLE_S:.0f} s: {one}" for one in left)
    with open_store(settings_for(storm.fleet.redis.url, store_keys=(SecretStr(STORE_KEY),))) as store:
        ending = Ending.read(storm.crowd, store, cut_short(storm.fleet.log_entries('"judging ')))
    yield from ending.violations()
    yield from storm.probes.lost()
    yield from of_the_stream(storm.crowd, storm.fleet.redis)
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
    heads = sum(len(one.heads) for one in storm.crowd.conversations.values())
    verdicts = sum(len(found) for found in storm.probes.seen.values())
    model = storm.model
    yield f"{len(storm.crowd.conversations)} pull requests, {heads} heads, {storm.acts.total()} acts, {verdicts} verdicts"
    yield "acts: " + ", ".join(f"{act} {count}" for act, count in sorted(storm.acts.items()))
    yield f"model: {len(model.requests)} questions, {model.billed} billed ({model.lost} lost), {model.free} refused; purse: {books.heard} heard, {books.bound} at their bound, {books.free} free"
    short = cut_short(storm.fleet.log_entries('"judging '))
    yield f"{len(short)} pull requests whose judges came to no end more often than Assay tries"
    yield f"{storm.blows.kills} kills, {seconds:.0f} s, refused to people: {len(storm.crowd.refused)}"
    yield from (f"  {one}" for one in storm.crowd.refused[:5])


def run(options: argparse.Namespace) -> int:
    moves, began = plan(options.seed, options.conversations, options.kills), time.monotonic()
    until = began + options.minutes * 60
    fence = "broken" if options.broken_fence else "whole"
    print(
        f"seed {options.seed}: {options.conversations} pull requests, {options.kills} kills, fence {fence}", flush=True
    )
    with stage(options) as storm:
        try:
            storm.rages(moves, until)
            print(f"{storm.done} of {len(moves)} moves after {time.monotonic() - began:.0f} s", flush=True)
            wrong = list(judged(storm, storm.calms()))
            storm.probes.look()
            print("\n".join([*figures(storm, time.monotonic() - began), *histogram(storm.blows)]))
        finally:
            if options.keep:
                with tempfile.NamedTemporaryFile("w", prefix="assay-chaos-", suffix=".log", delete=False) as kept:
                    kept.writelines(f"{line.source}: {line.text}\n" for line in storm.fleet.product.log.lines)
                print(f"log: {kept.name}")
    print(f"violations: {len(wrong)}")
    print("\n".join(f"  {one}" for one in wrong))
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
