"""How long a writer's pull request waits while a stranger's forks flood the repository, beside the same product without the flood.

    python bench/hostile.py [--hostile N] [--trusted N]

A played GitHub, a scripted model that always accepts, and the whole product with its shipped durations and no quiet window. First a
writer opens some pull requests, one after the other, each timed from its opening to its finished check run. Then a stranger opens
1,000 from a fork, all delivered at once, and the writer opens as many again while that flood is being judged. Prints both medians,
their ratio, how many of the flood still waited at the end, and what the model was asked about the stranger's. Goals: the writer
waits no longer than 1.5 times as long, with at least one hostile pull request still waiting; no question about a stranger's change.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.stage import AS_SHIPPED, first_shown, load, staged  # noqa: E402 - found from any working directory
from tests.world.people import Person  # noqa: E402 - as above
from tests.world.replies import accept  # noqa: E402 - as above
from tests.world.tester import World  # noqa: E402 - as above

MOST_RATIO = 1.5
PATIENCE_S = 120.0
POLL_S = 0.05
HOSTILE = "hostile"


def change(name: str, number: int) -> dict[str, str]:
    return {f"src/{name}{number}.py": f"def number():\n    return {number}\n"}


def verdict_s(world: World, writer: Person, name: str, number: int) -> float:
    """Open one pull request; the seconds from its opening to its finished check run."""
    started = time.monotonic()
    pull = writer.opens(change(name, number), branch=f"{name}-{number}")
    while time.monotonic() < started + PATIENCE_S:
        runs = pull.runs_of(pull.head)
        if runs and runs[-1]["status"] == "completed":
            return time.monotonic() - started
        time.sleep(POLL_S)
    raise TimeoutError(f"no verdict on {name}-{number} within {PATIENCE_S:.0f} s:\n{world.product.log.tail()}")


def flood(world: World, count: int) -> None:
    """Open pull requests from a stranger's fork, and deliver all of them at once."""
    world.github.verb("hooks", paused=True)
    for number in range(count):
        world.mallory.opens_from_a_fork(change(HOSTILE, number), branch=f"{HOSTILE}-{number}")
    world.github.verb("hooks", paused=False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hostile", type=int, default=1000, help="pull requests from the stranger's fork")
    parser.add_argument("--trusted", type=int, default=10, help="pull requests of the writer in each half")
    arguments = parser.parse_args()
    changes = {**AS_SHIPPED, "ASSAY_QUIET_WINDOW": "0", "ASSAY_DAY_MAX_USD": "100"}
    with staged(changes) as world:
        world.model.decides(lambda asked: accept(f"{first_shown(asked)}:2"))
        here = world.repository({"README.md": "# Widgets\n"}, protect=["Assay"])
        turns = range(arguments.trusted)
        alone = [verdict_s(world, world.bob, "alone", number) for number in turns]
        flood(world, arguments.hostile)
        beside = [verdict_s(world, world.bob, "beside", number) for number in turns]
        waiting = len(here.open_checks)
        spent = sum(f"src/{HOSTILE}" in asked.text for asked in world.model.asked)
    ratio = statistics.median(beside) / statistics.median(alone)
    print(f"{arguments.hostile} hostile pull requests, {arguments.trusted} of a writer in each half; {load()}")
    for name, times in (("alone", alone), ("beside the flood", beside)):
        print(f"{name}: median {statistics.median(times):.2f} s, longest {max(times):.2f}")
    print(f"ratio: {ratio:.2f}; hostile pull requests that still waited: {waiting}; questions about them: {spent}")
    is_met = ratio <= MOST_RATIO and waiting > 0 and spent == 0
    print(f"goals: {'met' if is_met else 'MISSED'}")
    return int(not is_met)


if __name__ == "__main__":
    sys.exit(main())
