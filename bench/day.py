"""A day's worth of events at a hundredth of all durations: what of memory and of keys is there at its start, middle and end.

    python bench/day.py [--minutes M] [--rate N] [--seed S]

One Redis, `assay serve`, `assay work`, a played GitHub and a scripted model. A day takes 14.4 minutes (`--minutes`, 3 by default,
runs a part of it). Meanwhile an agent and people do something every second or so (`--rate`), drawn by chance with a seed that is
printed: open pull requests, push, comment, command, press Re-run, edit, draft, report CI, queue, merge and close them; at most six
are open. At the middle and at the end all are closed and everything has settled.

Every duration of `Timing` is divided by 100, but for those that wait for a machine and not for the day: they have a floor
(`FLOORS`), since neither this processor nor that GitHub is a hundred times as fast. What keys live for is no setting
(`worker/adapters/redis/keys.py`), so nothing that stays for a day or more goes within one.

Prints the number of keys of each kind, the elements in them, their bytes, and at the end how long the one that stays longest still
does and how many have no end; Redis' memory, and that of `serve` (resident) and of `work` (proportional, all its processes). What
grows and is kept by design is named with its reason (`KEPT`). Missed: a kind that grew after the middle and is not among those, a
key of a pull request that has no end though all are closed, or a process that grew by more than a twentieth and 3 MiB.
"""

import argparse
import random
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.stage import first_shown, load, staged  # noqa: E402 - found from any working directory
from tests.world.anthropic import Asked, Reply  # noqa: E402 - as above
from tests.world.github_bench import Refused  # noqa: E402 - as above
from tests.world.leash import descendants  # noqa: E402 - as above
from tests.world.people import Person  # noqa: E402 - as above
from tests.world.pulls import Pull, Repository  # noqa: E402 - as above
from tests.world.replies import accept, reject  # noqa: E402 - as above
from tests.world.tester import World  # noqa: E402 - as above
from worker.settings import Timing  # noqa: E402 - as above

FASTER = 100.0
FLOORS = {
    "lease": 15.0,
    "hold": 5.0,
    "open_hold": 10.0,
    "leader": 3.0,
    "github_timeout": 4.0,
    "redis_timeout": 5.0,
    "stop_grace": 5.0,
    "sweep": 0.2,
    "tick": 0.02,
}
"""What is not shorter, in seconds: it waits for a machine."""
REPOSITORIES, MOST_OPEN, LEAST_OPEN = 3, 6, 2
CALM_S = 180.0
GROWTH, GROWTH_MIB = 0.05, 3.0
MIB = 1024 * 1024

KEPT: Mapping[str, str] = {
    "added": "30 days: lines of merged pull requests, for reverts",
    "again": "4 days: deliveries that were asked for again",
    "answered": "30 days: nobody is told the same twice",
    "asked": "3 days: a delivery's command counts once",
    "audit": "ASSAY_RETENTION_DAYS: how a verdict came about",
    "changed": "a day: who was reading an issue, or the rules at a base, as they changed",
    "check": "30 days: the check run of a head",
    "checks": "30 days: a pull request's check runs",
    "commit": "30 days: whose accepted head, or merge, a commit is",
    "decisions": "with its ledger: overrides and contests",
    "delivery": "3 days: a delivery counts once",
    "dossier": "ASSAY_RETENTION_DAYS: what a verdict was made from",
    "events": "ASSAY_EVENT_DAYS: the stream",
    "group": "3 days: what a merge group is",
    "grouped": "3 days: a delivery about a group counts once",
    "heads": "30 days: index of heads",
    "into": "30 days: which pull requests were judged for a base",
    "heard": "3 days: a delivery's happening counts once",
    "kept": "30 days: index of dossiers and audits",
    "ledger": "ASSAY_LEDGER_DAYS after its pull request was closed",
    "lookahead": "ASSAY_LOOKAHEAD: verdicts on whole pull requests to be made",
    "measures": "counts under names of closed sets",
    "measured": "a minute: numbers are added up once",
    "merges": "30 days: a repository's merged pull requests",
    "named": "until it is forgotten: which repository a name is",
    "note": "90 days: the comment to a pull request's author",
    "outcomes": "90 days: what came of a pull request",
    "pull": "30 days: the state of a pull request's judging",
    "purse": "8 days: money by day and repository",
    "rate": "an hour: what GitHub's rate limits leave",
    "reserved": "an hour: money set aside for a question is settled once",
    "resting": "30 days: heads whose check says that judging has not begun",
    "rolled": "with its figures: what they remember of each pull request",
    "rollup": "figures by hour and day",
    "scanned": "90 days: of which head and verdict SARIF was sent",
    "shown": "30 days: what the checks of a commit say",
    "solving": "90 days: which pull requests close an issue",
    "spent": "with its ledger: what a pull request cost",
    "told": "30 days: a happening is told once",
    "watch": "90 days: what goes on at a pull request",
}
"""What is stored by design, for how long, and what for."""
BY_PULL = ("ledger", "decisions", "spent", "pull", "watch", "outcomes", "note", "answered", "checks", "check")
"""What goes some time after its pull request was closed, and so has an end when all are."""


def settings() -> dict[str, str]:
    """Every duration of the product, a hundredth as long or at its floor."""
    timing = Timing()
    scaled = {name: max(getattr(timing, name) / FASTER, FLOORS.get(name, 0.0)) for name in Timing.__annotations__}
    return {f"ASSAY_{name.upper()}": f"{seconds:g}" for name, seconds in scaled.items()}


@dataclass
class Kind:
    """Keys of one kind."""

    keys: int = 0
    elements: int = 0
    size: int = 0
    longest_s: int = 0
    endless: int = 0

    @property
    def stays(self) -> str:
        """How long the one that stays longest still does, and how many stay for good."""
        days = self.longest_s / 86_400
        told = f"{days:.1f} d" if days >= 1 else f"{self.longest_s} s"
        return f"{told if self.longest_s else '':>8} {self.endless or '':>5}"


@dataclass(frozen=True)
class Look:
    """What was there at one moment."""

    name: str
    kinds: Mapping[str, Kind]
    redis_mib: float
    serve_mib: float
    work_mib: float
    processes: int
    acts: int


def kind_of(key: str) -> str:
    """`assay:<installation>:<what>:...` and `assay:<what>...`; what is RQ's begins with `rq`."""
    first, *rest = key.split(":")
    if first != "assay":
        return ":".join([first, *rest[:1]])
    named = [part for part in rest if not part.isdigit()]
    return named[0] if named else key


COUNTS = {"hash": "hlen", "zset": "zcard", "set": "scard", "list": "llen", "stream": "xlen"}


def kinds(world: World) -> dict[str, Kind]:
    found: dict[str, Kind] = defaultdict(Kind)
    with world.redis.client as client:
        redis: Any = client
        for key in redis.scan_iter(count=1000):
            kind, count = found[kind_of(key)], COUNTS.get(redis.type(key))
            kind.keys += 1
            kind.elements += getattr(redis, count)(key) if count else 1
            kind.size += redis.memory_usage(key) or 0
            kind.longest_s = max(kind.longest_s, left := redis.ttl(key))
            kind.endless += left == -1
    return dict(found)


def used_mib(world: World) -> float:
    with world.redis.client as client:
        told: Any = client.info("memory")  # pyright: ignore[reportUnknownMemberType] - redis has it so
    return int(told["used_memory"]) / MIB


def proportional_mib(pid: int) -> float:
    """A process's memory, what it shares divided among those who do; 0 for one that is gone."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def resident_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


def look(world: World, name: str, acts: int) -> Look:
    pids = {one.command: one.popen.pid for one in world.product.processes}
    family = [pids["work"], *descendants(pids["work"])]
    work = sum(map(proportional_mib, family))
    made = Look(name, kinds(world), used_mib(world), resident_mib(pids["serve"]), work, len(family), acts)
    keys, elements = (sum(getattr(one, what) for one in made.kinds.values()) for what in ("keys", "elements"))
    print(
        f"{name:<7} after {acts} acts: {keys} keys, {elements} elements; Redis {made.redis_mib:.1f} MiB, serve "
        f"{made.serve_mib:.0f} MiB, work {made.work_mib:.0f} MiB in {made.processes} processes; {load()}",
        flush=True,
    )
    return made


@dataclass
class Day:
    """What people do, by chance."""

    world: World
    chance: random.Random
    repositories: list[Repository]
    open: list[Pull] = field(default_factory=list[Pull])
    acts: int = 0
    refused: int = 0

    def __post_init__(self) -> None:
        self.world.model.decides(self.decide)

    def decide(self, asked: Asked) -> Reply:
        place = f"{first_shown(asked)}:2"
        if self.chance.random() < 0.6:
            return accept(place)
        return reject("weak_test", place, what_works="It counts.", what_does_not="Nothing tests it.")

    def lives(self, seconds: float, rate: float) -> None:
        """Something happens *rate* times a second; then all is closed and settles."""
        started, end, turn = time.monotonic(), time.monotonic() + seconds, 0
        while time.monotonic() < end:
            self.act()
            turn += 1
            time.sleep(max(0.0, started + turn / rate - time.monotonic()))
        for pull in self.open:
            self.person(pull.repository, "alice").closes(pull)
        self.open.clear()
        self.world.settles(CALM_S)

    def act(self) -> None:
        """One thing that somebody does. What GitHub refuses them is no matter."""
        self.acts += 1
        try:
            if len(self.open) < LEAST_OPEN or (len(self.open) < MOST_OPEN and self.chance.random() < 0.25):
                self.opens()
            else:
                self.does(self.chance.choice(self.open))
        except Refused:
            self.refused += 1

    def opens(self) -> None:
        here = self.chance.choice(self.repositories)
        agent = self.person(here, self.chance.choice(("copilot-swe-agent[bot]", "copilot-swe-agent[bot]", "bob")))
        draft, ci = (
            self.chance.random() < 0.1,
            {"test": self.chance.choice(("success", "success", "success", "failure"))},
        )
        self.open.append(
            agent.opens(self.module(), branch=f"fix-{self.acts}", draft=draft, ci=ci, title=f"Count {self.acts}")
        )

    def module(self) -> dict[str, str]:
        return {f"src/m{self.acts}.py": f"def number():\n    return {self.acts}\n"}

    def person(self, here: Repository, login: str) -> Person:
        return Person(login, self.world.github, here)

    def does(self, pull: Pull) -> None:
        here = pull.repository
        agent, bob, alice = (self.person(here, login) for login in ("copilot-swe-agent[bot]", "bob", "alice"))
        acts: list[tuple[int, Callable[[], object]]] = [
            (25, lambda: agent.pushes(pull, self.module())),
            (8, lambda: agent.pushes(pull, {})),
            (4, lambda: agent.force_pushes(pull, self.module())),
            (10, lambda: bob.comments(pull, f"Looks fine so far ({self.acts}).")),
            (6, lambda: bob.comments(pull, self.chance.choice(("/rejudge", "/contest It is right.", "/assay help")))),
            (6, lambda: pull.press_rerun() if pull.runs_of(pull.head) else None),
            (4, lambda: bob.edits(pull, title=f"Count {self.acts}")),
            (4, lambda: bob.edits(pull, body=f"It counts to {self.acts}.")),
            (4, lambda: bob.reviews(pull, "COMMENT", "A review.")),
            (4, lambda: alice.marks_ready(pull)),
            (8, lambda: here.reports_ci(pull.head, "test", self.chance.choice(("success", "failure")))),
            (4, lambda: here.queues(pull).ends("dequeued")),
            (7, lambda: self.ends(pull, alice.merges(pull).is_merged)),
            (5, lambda: self.ends(pull, alice.closes(pull) is None)),
        ]
        self.chance.choices([act for _, act in acts], [weight for weight, _ in acts])[0]()

    def ends(self, pull: Pull, is_over: bool) -> None:  # noqa: FBT001 - what was found out right there
        if is_over:
            self.open.remove(pull)


def elements_of(one: Look, name: str) -> int:
    return one.kinds.get(name, Kind()).elements


def told(looks: tuple[Look, Look, Look]) -> list[str]:
    """The table, and what grew that should not have."""
    start, middle, end = looks
    names = sorted({name for one in looks for name in one.kinds})
    print(f"\n{'kind':<11} {'keys':>14} {'elements':>15} {'KB':>12} {'stays':>8} {'(ever)':>5}  kept")
    for name in names:
        row = [one.kinds.get(name, Kind()) for one in looks]
        keys, elements = ("/".join(str(getattr(one, what)) for one in row) for what in ("keys", "elements"))
        sizes = "/".join(f"{one.size / 1024:.0f}" for one in row)
        print(f"{name:<11} {keys:>14} {elements:>15} {sizes:>12} {row[-1].stays}  {KEPT.get(name, '')}")
    stored = sum(
        end.kinds[name].size - middle.kinds.get(name, Kind()).size
        for name in names
        if name in KEPT and name in end.kinds
    )
    grown = [
        name
        for name in names
        if name not in KEPT and elements_of(end, name) > max(elements_of(start, name), elements_of(middle, name))
    ]
    endless = [f"{name} {end.kinds[name].endless}" for name in BY_PULL if name in end.kinds and end.kinds[name].endless]
    print(
        f"\nRedis grew by {end.redis_mib - start.redis_mib:.1f} MiB, {end.redis_mib - middle.redis_mib:.1f} of it after the middle, "
        f"where what is kept by design grew by {stored / MIB:.1f} MiB for {end.acts - middle.acts} acts"
    )
    print(f"grew after the middle and nobody keeps it by design: {', '.join(grown) or 'nothing'}")
    missed = [f"keys of kind {name}" for name in grown] + [f"an end of {one}" for one in endless]
    print(f"of closed pull requests, and without an end: {', '.join(endless) or 'nothing'}")
    for name, before, after in (("serve", middle.serve_mib, end.serve_mib), ("work", middle.work_mib, end.work_mib)):
        is_flat = after - before <= max(GROWTH_MIB, before * GROWTH)
        print(f"{name}: {after - before:+.1f} MiB after the middle: {'flat' if is_flat else 'GROWS'}")
        missed += [] if is_flat else [f"memory of {name}"]
    return missed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=3.0, help="of the 14.4 that a day takes")
    parser.add_argument("--rate", type=float, default=1.0, help="things that people do a second")
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    print(f"{arguments.minutes:g} of the 14.4 minutes of a day, seed {arguments.seed}; {load()}", flush=True)
    with staged(settings()) as world:
        day = Day(world, random.Random(arguments.seed), [world.repository() for _ in range(REPOSITORIES)])  # noqa: S311 - chance, no secret
        day.lives(10.0, arguments.rate)
        start = look(world, "start", day.acts)
        half = arguments.minutes * 30
        day.lives(half, arguments.rate)
        middle = look(world, "middle", day.acts)
        day.lives(half, arguments.rate)
        end = look(world, "end", day.acts)
        errors = world.product.log.loud(0)
    missed = told((start, middle, end))
    print(
        f"acts that GitHub refused: {day.refused}; loud lines in the product's log: {len(errors)}",
        *errors[:5],
        sep="\n  ",
    )
    print("Without growth." if not missed else f"Missed: {', '.join(missed)}")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
