"""How long a writer's pull request waits while a stranger's forks flood the repository, beside the same product without the flood.

    python bench/hostile.py [--hostile N] [--trusted N]

A played GitHub, a scripted model that always accepts, and the whole product with its shipped durations, one worker and no quiet
window. A stranger opens 1,000 pull requests from a fork, of which nothing is delivered yet: the played GitHub takes longer for
everything in a repository with that many. A writer opens some, one after the other, each timed from its opening to its finished
check run. Then the flood is delivered, and the writer opens as many again while it is being judged. GitHub delivers many at a time,
the played one one after the other: so the flood is posted from here, 16 at a time. Prints both medians, when a worker begins, their
ratio, the longest wait of a writer for a first state, how many of the flood still waited at the end, and what the model was asked
about the stranger's. Goals: the writer waits no longer than 1.5 times as long, and 2 s for the first state, with at least one hostile
pull request still waiting; no question about a stranger's change.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.first_state import GOAL_S, HANDS, deliveries  # noqa: E402 - found from any working directory
from bench.stage import AS_SHIPPED, first_shown, load, staged  # noqa: E402 - as above
from tests.world.people import Person  # noqa: E402 - as above
from tests.world.pulls import Repository  # noqa: E402 - as above
from tests.world.replies import accept  # noqa: E402 - as above
from tests.world.sender import Sender  # noqa: E402 - as above
from tests.world.tester import World  # noqa: E402 - as above

MOST_RATIO = 1.5
PATIENCE_S = 120.0
POLL_S = 0.05
HOSTILE = "hostile"


def change(name: str, number: int) -> dict[str, str]:
    return {f"src/{name}{number}.py": f"def number():\n    return {number}\n"}


@dataclass(frozen=True, slots=True)
class Waited:
    """Seconds from the opening of a pull request: to its check run, to a worker that judges it, and to the end of its check run."""

    state_s: float
    begun_s: float
    verdict_s: float


def waited(world: World, writer: Person, name: str, number: int) -> Waited:
    """Open one pull request, and ask for the check runs of its head alone: all those of a flood take GitHub long to put together."""
    started, at = time.monotonic(), time.time()
    pull = writer.opens(change(name, number), branch=f"{name}-{number}")
    path = f"/repos/{pull.repository.name}/commits/{pull.head}/check-runs"
    state_s = 0.0
    while (now := time.monotonic()) < started + PATIENCE_S:
        runs = world.github.user(writer.login, "GET", path)["check_runs"]
        state_s = state_s or (now - started if runs else 0.0)
        if runs and runs[-1]["status"] == "completed":
            return Waited(state_s, begun(world, pull.head) - at, now - started)
        time.sleep(POLL_S)
    raise TimeoutError(f"no verdict on {name}-{number} within {PATIENCE_S:.0f} s:\n{world.product.log.tail()}")


def begun(world: World, head: str) -> float:
    """When a worker began to judge it, by the log: the rest of the time is the judging, on processors that the played GitHub needs too."""
    told = (line.fields for line in list(world.product.log.lines))
    found = next(one for one in told if one.get("event") == "judging begins" and one.get("head_sha") == head)
    return datetime.fromisoformat(found["timestamp"]).timestamp()


def opened(world: World, here: Repository, count: int) -> list[bytes]:
    """Pull requests from a stranger's fork; the deliveries that tell of them, held back."""
    world.github.verb("hooks", paused=True)
    for number in range(count):
        world.mallory.opens_from_a_fork(change(HOSTILE, number), branch=f"{HOSTILE}-{number}")
    told = [one.body for one in deliveries(world.github, here.name)]
    world.github.verb("hooks", paused=False, drop=True)
    assert len(told) == count
    return told


def deliver(world: World, bodies: Sequence[bytes]) -> None:
    sender = Sender.to(world.product.url, world.github.ready.webhook_secret)
    with ThreadPoolExecutor(HANDS) as hands:
        for answer in hands.map(partial(sender.sends_bytes, "pull_request"), bodies):
            answer.raise_for_status()
    sender.client.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hostile", type=int, default=1000, help="pull requests from the stranger's fork")
    parser.add_argument("--trusted", type=int, default=10, help="pull requests of the writer in each half")
    arguments = parser.parse_args()
    changes = {**AS_SHIPPED, "ASSAY_RETRY_DELAY": "", "ASSAY_QUIET_WINDOW": "0", "ASSAY_DAY_MAX_USD": "100"}
    with staged(changes) as world:
        world.model.decides(lambda asked: accept(f"{first_shown(asked)}:2"))
        here = world.repository({"README.md": "# Widgets\n"}, protect=["Assay"])
        flood = opened(world, here, arguments.hostile)
        turns = range(arguments.trusted)
        alone = [waited(world, world.bob, "alone", number) for number in turns]
        deliver(world, flood)
        beside = [waited(world, world.bob, "beside", number) for number in turns]
        done = sum(one["status"] == "completed" for one in here.checks)
        waiting = len(alone) + len(beside) + arguments.hostile - done
        spent = sum(f"src/{HOSTILE}" in asked.text for asked in world.model.asked)
    print(f"{arguments.hostile} hostile pull requests, {arguments.trusted} of a writer in each half; {load()}")
    return int(not told(alone, beside, waiting, spent))


def told(alone: Sequence[Waited], beside: Sequence[Waited], waiting: int, spent: int) -> bool:
    for name, half in (("alone", alone), ("beside the flood", beside)):
        times, states = [one.verdict_s for one in half], [one.state_s for one in half]
        print(f"{name}: median {statistics.median(times):.2f} s, longest {max(times):.2f}")
        print(
            f"  a worker begins: median {statistics.median(one.begun_s for one in half):.2f} s; first state {max(states):.2f} at the most"
        )
    ratio = statistics.median(one.verdict_s for one in beside) / statistics.median(one.verdict_s for one in alone)
    print(f"ratio: {ratio:.2f}; hostile pull requests that still waited: {waiting}; questions about them: {spent}")
    is_soon = max(one.state_s for one in beside) <= GOAL_S
    is_met = ratio <= MOST_RATIO and is_soon and waiting > 0 and spent == 0
    print(f"goals: {'met' if is_met else 'MISSED'}")
    return is_met


if __name__ == "__main__":
    sys.exit(main())
