"""Many pull requests while everything that can die dies: the coalescing rules on real processes.

Judges are killed, and paused past their lease; workers, dispatchers and whole machines are killed; every request is sent
twice. Then it gets quiet, and we count.
"""

import random
import signal
import time
from collections import defaultdict
from contextlib import ExitStack

import pytest

from tests.worker.processes.crowd import Working, harm
from tests.worker.processes.scripted_court import GIVEN_UP, World
from tests.worker.store.played import becomes, pull, settings, wish
from tests.world.redis import Redis
from worker.domain import keys
from worker.domain.ids import InstallationId
from worker.domain.request import JudgeRequest, PullRef, Trigger
from worker.store.connection import Store, open_store
from worker.store.door import Outcome
from worker.store.wire import items, whole

pytestmark = pytest.mark.slow

INSTALLATIONS, PULLS = 12, 60
PUSHES = 700
SECONDS = 25.0
HARM = ("judges killed", "judges paused", "hands killed", "machines killed")
DEADLY = pull(number=99, installation=5)


def refs() -> list[PullRef]:
    return [pull(number, installation=number % INSTALLATIONS + 1) for number in range(PULLS)]


class Author:
    """Pushes and commands, each delivery sent twice."""

    def __init__(self, store: Store, world: World, dice: random.Random) -> None:
        self._store, self._world, self._dice = store, world, dice
        self.newest: dict[PullRef, str] = {}
        self.last_event: dict[PullRef, int] = {}
        self.commands: dict[PullRef, int] = {}

    def acts(self) -> None:
        ref = self._dice.choice(refs())
        if ref in self.newest and self._dice.random() < 0.1:
            self.commands[ref] = len(self._world.story("began"))
            self.sends(wish(pull=ref, head_sha=None, trigger=Trigger.COMMAND))
            return
        head_sha = f"{self._dice.getrandbits(160):040x}"
        self.newest[ref] = head_sha
        self._world.push(ref, head_sha)
        self.sends(wish(pull=ref, head_sha=head_sha))

    def sends(self, request: JudgeRequest) -> None:
        self.last_event[request.pull] = self._store.pulls.want(request).seq
        assert self._store.pulls.want(request).outcome is Outcome.DUPLICATE


class Chaos:
    """Harm, by dice; what it did is counted, so that a test that harmed nothing fails."""

    def __init__(self, url: str, stack: ExitStack, dice: random.Random) -> None:
        self._url, self._stack, self._dice = url, stack, dice
        self.machines = [self._machine() for _ in range(2)]
        self.done: dict[str, int] = defaultdict(int)
        self._paused: list[tuple[float, int]] = []

    def _machine(self) -> Working:
        return self._stack.enter_context(Working.on(self._url, workers=2))

    def strikes(self) -> None:
        self._let_go_on(time.monotonic())
        machine = self._dice.choice(self.machines)
        roll = self._dice.random()
        if roll < 0.5 and (horses := machine.horses):
            self._count("judges killed", self._dice.choice(horses), signal.SIGKILL)
        elif roll < 0.8 and (horses := machine.horses):
            horse = self._dice.choice(horses)
            self._count("judges paused", horse, signal.SIGSTOP)
            self._paused.append((time.monotonic() + 1.5, horse))
        elif roll < 0.9 and (hands := machine.hands):
            self._count("hands killed", self._dice.choice(hands), signal.SIGKILL)

    def kills_a_machine(self) -> None:
        machine = self.machines.pop(0)
        machine.kill()
        self.machines.append(self._machine())
        self.done["machines killed"] += 1

    def ends(self) -> None:
        self._let_go_on(float("inf"))

    def _count(self, what: str, process: int, how: signal.Signals) -> None:
        harm(process, how)
        self.done[what] += 1

    def _let_go_on(self, now: float) -> None:
        for at, horse in list(self._paused):
            if at <= now:
                harm(horse, signal.SIGCONT)
                self._paused.remove((at, horse))


def is_quiet(store: Store) -> bool:
    busy = whole(store.wire.call("ZCARD", keys.OUT.name))
    for number in range(1, INSTALLATIONS + 1):
        installation = InstallationId(number)
        for key in (keys.due(installation), keys.opening(installation)):
            busy += whole(store.wire.call("ZCARD", key.name))
    return not busy


@pytest.mark.timeout(300)
def test_whatever_dies_every_event_is_judged_by_one_judge_and_the_newest_head_last(
    redis_server: Redis, store: Store, world: World
) -> None:
    dice = random.Random(3)  # noqa: S311 - dice
    author = Author(store, world, dice)
    world.order(DEADLY, *["crash"] * 50)
    with ExitStack() as stack:
        chaos = Chaos(redis_server.url, stack, dice)
        author.sends(wish(pull=DEADLY))
        end = time.monotonic() + SECONDS
        for n in range(PUSHES):
            author.acts()
            if n % 8 == 0:
                chaos.strikes()
            if n == PUSHES // 2:
                chaos.kills_a_machine()
            time.sleep(max(0.0, (end - time.monotonic()) / (PUSHES - n)))
        chaos.ends()
        assert becomes(lambda: is_quiet(store), 120), chaos.machines[0].log[-3000:]
    assert min(chaos.done[what] for what in HARM) > 0
    newest_heads_are_judged(author, world)
    commands_are_judged(author, world)
    one_judge_at_a_time(store, world)
    one_check_run_per_head(world)
    assert world.checks()[f"5/99 {wish().head_sha}"].startswith(f"action_required: {GIVEN_UP}")


def newest_heads_are_judged(author: Author, world: World) -> None:
    checks = world.checks()
    for ref, head_sha in author.newest.items():
        name = f"{ref.installation_id}/{ref.number}"
        assert checks[f"{name} {head_sha}"] == "failure: judged", name
        older = [said for check, said in checks.items() if check.startswith(f"{name} ") and head_sha not in check]
        assert not [said for said in older if said.startswith("in_progress")], name


def commands_are_judged(author: Author, world: World) -> None:
    """Each command is followed by a judging that knows of it."""
    began = world.story("began")
    for ref, position in author.commands.items():
        name = f"{ref.installation_id}/{ref.number}"
        later = [line for line in began[position:] if line["pull"] == name]
        assert any(line["trigger"] == Trigger.COMMAND for line in later), name


def one_judge_at_a_time(store: Store, world: World) -> None:
    """No two entries under one fence, and none from a judge that was not begun."""
    begun = {(line["pull"], line["fence"]) for line in world.story("began")}
    written = 0
    for ref in refs():
        fences = [entry.fence for entry in store.ledger.entries(ref)]
        assert len(fences) == len(set(fences))
        assert {(f"{ref.installation_id}/{ref.number}", fence) for fence in fences} <= begun
        written += len(fences)
    assert written >= PULLS


def one_check_run_per_head(world: World) -> None:
    created = [line["check"] for line in world.story("created")]
    assert len(created) == len(set(created))


def test_a_flood_in_one_installation_does_not_starve_a_small_one(
    redis_server: Redis, store: Store, world: World
) -> None:
    for number in range(150):
        world.order(pull(number, installation=1), "think 0.05")
        store.pulls.want(wish(number, installation=1))
    with Working.on(redis_server.url, workers=2), open_store(settings(redis_server.url)) as other:
        assert becomes(lambda: len(world.story("ended")) > 5, 60)
        other.pulls.want(wish(1, installation=2))
        assert becomes(lambda: any(line["pull"] == "2/1" for line in world.story("ended")))
        ended = [line["pull"] for line in world.story("ended")]
        assert ended.index("2/1") < 60, "long before the flood is over"
        assert not items(store.wire.call("ZRANGE", keys.due(InstallationId(2)).name, 0, -1))
