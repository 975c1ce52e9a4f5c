"""The plan of the storm: people's acts, blows and faults in their order, from one seed.

Invariant: the same seed, sizes and weights give the same plan, and every act is possible at its time.
"""

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import cycle, islice

ACTIVE = 12
"""How many conversations run at a time."""

MOST_ACTS = 4
STOPS = 3
"""How many kills there are per stop of a judge past its lease."""


class Act(StrEnum):
    """What a person does at a pull request."""

    OPENS = "opens"
    DRAFTS = "opens a draft"
    READY = "makes it ready"
    PUSHES = "pushes"
    EMPTY = "pushes nothing"
    FORCES = "force-pushes"
    RETURNS = "force-pushes what was there"
    REJUDGE = "/rejudge"
    OVERRIDE = "/override"
    REFUSED = "/override, and may not"
    CI_STARTS = "CI starts"
    CI_FAILS = "CI fails"
    CI_PASSES = "CI passes"
    QUEUES = "is queued for merging"
    RESOLVES = "is queued with resolved conflicts"
    DEQUEUES = "leaves the merge queue"
    CLOSES = "closes"
    REOPENS = "reopens"


class Content(StrEnum):
    """The content of a head, from which follows what it deserves."""

    STUB = "stub"
    GOOD = "good"
    BAD = "bad"
    WORDS = "words"


class Victim(StrEnum):
    JOB = "job"
    WORKER = "worker"
    DISPATCHER = "dispatcher"
    WEB = "web"
    REDIS = "Redis"
    MACHINE = "machine"
    STOPPED = "job, stopped past its lease"


class Stage(StrEnum):
    """What the product does when the blow falls."""

    ANY = "at any moment"
    READS = "reads the pull request"
    NEWEST = "asks for the newest head"
    ASKS = "asks the model"
    WRITES = "writes a check"
    WROTE = "wrote a check, unanswered"
    OPENS = "opens a check"
    OPENED = "opened a check, unanswered"
    REACTS = "answers a command"
    DELIVERED = "deliveries come in"


@dataclass(frozen=True, slots=True)
class Step:
    """*conversation* counts from 0."""

    conversation: int
    act: Act
    content: Content


@dataclass(frozen=True, slots=True)
class Blow:
    victim: Victim
    stage: Stage


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of the next answers of GitHub or the model. `order`: arguments for the fake GitHub."""

    match: str
    kind: str
    order: tuple[tuple[str, int | bool], ...] = ()


Move = Step | Blow | Fault

AT_WORK = (Stage.READS, Stage.NEWEST, Stage.ASKS, Stage.WRITES, Stage.WROTE)
ERRANDS = (Stage.OPENS, Stage.OPENED, Stage.REACTS, Stage.NEWEST, Stage.ANY)
TARGETS: Mapping[Victim, tuple[int, tuple[Stage, ...]]] = {
    Victim.JOB: (38, AT_WORK),
    Victim.WORKER: (18, (*AT_WORK, Stage.ANY)),
    Victim.DISPATCHER: (17, ERRANDS),
    Victim.WEB: (10, (Stage.DELIVERED, Stage.ANY)),
    Victim.REDIS: (14, (*AT_WORK, Stage.OPENED, Stage.REACTS, Stage.DELIVERED, Stage.ANY)),
    Victim.MACHINE: (3, (Stage.ANY, Stage.ASKS)),
    Victim.STOPPED: (0, (Stage.NEWEST, Stage.ASKS, Stage.WRITES)),
}
"""Shares of a hundred kills, and the stages at which each is hit. A stop is no kill."""

CHECKS = "^(POST|PATCH) .*/check-runs"
FAULTS = (
    Fault(CHECKS, "reset", (("after", True),)),
    Fault(CHECKS, "status", (("status", 502), ("after", True))),
    Fault(CHECKS, "secondary", (("retry_after", 1),)),
    Fault("^POST /graphql Assay(Head|Tell)", "status", (("status", 502),)),
    Fault("^POST /graphql", "reset", (("count", 2),)),
    Fault("^POST /graphql", "secondary", (("retry_after", 1),)),
    Fault("^GET /repos", "status", (("status", 503), ("count", 2))),
    Fault("^GET /repos", "reset"),
    Fault("/reactions$", "reset", (("after", True),)),
    Fault("/issues/.*/comments$", "status", (("status", 500), ("after", True))),
    Fault("/access_tokens$", "status", (("status", 500),)),
    Fault(CHECKS, "slow", (("ms", 700),)),
    Fault("model", "500"),
    Fault("model", "lost"),
    Fault("model", "529"),
)


POSSIBLE: Mapping[str, Mapping[Act, int]] = {
    "new": {Act.OPENS: 6, Act.DRAFTS: 1},
    "draft": {Act.READY: 4, Act.PUSHES: 1, Act.REJUDGE: 1, Act.CLOSES: 1},
    "open": {
        Act.PUSHES: 6, Act.EMPTY: 2, Act.FORCES: 3, Act.REJUDGE: 3, Act.OVERRIDE: 1, Act.REFUSED: 1, Act.CLOSES: 2,
    },
    "closed": {Act.REOPENS: 4, Act.REJUDGE: 1},
}  # fmt: skip
"""The weight of each act by the state of a pull request; an open one allows more, depending on earlier acts."""

AFTER: Mapping[Act, Mapping[str, str | bool]] = {
    Act.OPENS: {"state": "open"},
    Act.REOPENS: {"state": "open"},
    Act.READY: {"state": "open"},
    Act.DRAFTS: {"state": "draft"},
    Act.CLOSES: {"state": "closed", "ci": False, "queued": False},
    Act.CI_STARTS: {"ci": True},
    Act.CI_FAILS: {"ci": False},
    Act.CI_PASSES: {"ci": False},
    Act.QUEUES: {"queued": True},
    Act.RESOLVES: {"queued": True},
    Act.DEQUEUES: {"queued": False},
}


@dataclass
class _Thread:
    """One conversation while it is planned."""

    number: int
    dice: random.Random
    left: int
    state: str = "new"
    ci: bool = False
    queued: bool = False
    contents: list[Content] = field(default_factory=list[Content])

    def next(self) -> Step:
        self.left -= 1
        weights = self._possible()
        act = self.dice.choices(list(weights), list(weights.values()))[0]
        if act in {Act.OPENS, Act.DRAFTS, Act.PUSHES, Act.FORCES}:
            self.contents.append(self.dice.choice(self._contents()))
        elif act is Act.RETURNS:
            self.contents.append(self.contents[-2] if self.contents[-2] in self._contents() else Content.GOOD)
        for name, value in AFTER.get(act, {}).items():
            setattr(self, name, value)
        return Step(self.number, act, self.contents[-1])

    def _contents(self) -> list[Content]:
        """After a reject of the model, neither an equal reject nor documentation alone, which are left to a person."""
        return [Content.STUB, Content.GOOD] if Content.BAD in self.contents else list(Content)

    def _possible(self) -> Mapping[Act, int]:
        acts = dict(POSSIBLE[self.state])
        if self.state != "open":
            return acts
        acts |= {Act.RETURNS: 2} if len(self.contents) > 1 else {}
        acts |= {Act.CI_FAILS: 1, Act.CI_PASSES: 3} if self.ci else {Act.CI_STARTS: 3}
        return acts | ({Act.DEQUEUES: 3} if self.queued else {Act.QUEUES: 2, Act.RESOLVES: 1})


def plan(seed: int, conversations: int, kills: int) -> list[Move]:
    """The whole storm."""
    dice = random.Random(seed)  # noqa: S311 - dice
    steps = list(_steps(dice, conversations))
    blows = _blows(dice, kills)
    faults = list(islice(cycle(FAULTS), kills))
    dice.shuffle(faults)
    troubles: list[Move] = [move for pair in zip(blows, cycle(faults), strict=False) for move in pair]
    at = sorted(dice.randrange(min(ACTIVE, len(steps)), len(steps) + 1) for _ in troubles)
    woven: list[Move] = []
    for number, step in enumerate([*steps, None]):
        while at and at[0] <= number:
            at.pop(0)
            woven.append(troubles.pop(0))
        woven += [step] if step else []
    return woven


def _steps(dice: random.Random, conversations: int) -> Iterator[Step]:
    waiting = [_Thread(number, dice, dice.randint(1, MOST_ACTS)) for number in range(conversations)]
    active: list[_Thread] = []
    while waiting or active:
        while waiting and len(active) < ACTIVE:
            active.append(waiting.pop(0))
        thread = dice.choice(active)
        yield thread.next()
        if thread.left == 0:
            active.remove(thread)


def _blows(dice: random.Random, kills: int) -> list[Blow]:
    """Return the blows: each victim by its share, its stages in turn, and the stops."""
    counts = Counter({victim: kills * share // 100 for victim, (share, _) in TARGETS.items()})
    counts[Victim.JOB] += kills - counts.total()
    counts[Victim.STOPPED] = kills // STOPS
    blows = [
        Blow(victim, stage)
        for victim, (_, stages) in TARGETS.items()
        for stage in islice(cycle(stages), counts[victim])
    ]
    dice.shuffle(blows)
    return blows
