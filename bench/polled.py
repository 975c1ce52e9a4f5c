"""What conditional requests (ETags) save of what Assay asks GitHub again and again by REST.

    python bench/polled.py [--repositories 20]

An hour of looks at an installation against a played GitHub, every five minutes as a server makes them, by one token: its lists of
repositories, read as the sweep reads them. In that hour so many pull requests are opened, at random times in random repositories,
and each is judged. A list that is the same as in the look before is answered by a 304, which GitHub does not count. Beside that
stands what all of that hour takes of the installation's 5,000.

It is the most that is saved: the played GitHub changes a repository in that list when a pull request is opened, the real one
also by a push, a star or an issue. The lists of installations and of deliveries are no part of it: each look asks for them by a
new JWT, GitHub gives every credential ETags of its own, and they take nothing from an installation.
"""

import argparse
import random
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.github_requests import PROJECT, Ends, Heads, Memory, Progress, settings_of  # noqa: E402 - found from any working directory
from tests.world.github_bench import GitHub  # noqa: E402 - as above
from worker.adapters.github.check_runs import GitHubPublishedRuns  # noqa: E402 - as above
from worker.adapters.github.client import app_access  # noqa: E402 - as above
from worker.adapters.github.installations import GitHubRepositories  # noqa: E402 - as above
from worker.clock import SystemClock  # noqa: E402 - as above
from worker.domain.ids import InstallationId  # noqa: E402 - as above
from worker.scheduling.reconcile import OpenPullSweep, ReopenedCheckSweep  # noqa: E402 - as above
from worker.settings import Settings, Timing  # noqa: E402 - as above

HOUR_S, BUDGET, EACH = 3600, 5000, 5
"""The last: what a first verdict takes, as `bench/github_requests.py` counts it."""

OPENED = (0, 1, 3, 12, 60)
LIST, GRAPH = "GET /installation/repositories", "POST /graphql"


def hour(github: GitHub, settings: Settings, names: list[str], opened: int) -> tuple[int, int, int]:
    """How often the list was asked for, how often it was the same, and what else the looks asked."""
    looks, clock = round(HOUR_S / Timing().catch_up), SystemClock()
    chance = random.Random(opened)  # noqa: S311 - a seed, so that a second run shows the same
    at = [chance.randrange(looks) for _ in range(opened)]
    installation, heads = InstallationId(github.ready.installation_id), Heads()
    before, others = len(github.traffic(LIST)), len(github.traffic(GRAPH))
    with app_access(settings, Memory(), clock) as access:
        for look in range(looks):
            for _ in range(at.count(look)):
                opens(github, chance.choice(names))
            forgotten = ReopenedCheckSweep(GitHubPublishedRuns(access, settings.require_app().app_id), Ends())
            OpenPullSweep(GitHubRepositories(access), heads, Progress(), clock, forgotten).run(
                installation, clock.now()
            )
    lists = [one["status"] for one in github.traffic(LIST)[before:]]
    same = lists.count(304)
    return len(lists), same, len(github.traffic(GRAPH)) - others


def opens(github: GitHub, name: str) -> None:
    branch = f"fix-{uuid4().hex[:8]}"
    github.verb("push", repo=name, branch=branch, files={f"{branch}.py": "x = 1\n"})
    github.user("alice", "POST", f"/repos/{name}/pulls", title="Do", head=branch, base="main", body="")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repositories", type=int, default=20, help="of the installation; a hundred are one list")
    arguments = parser.parse_args()
    github = GitHub.start()
    try:
        github.verb("rate", remaining=100_000)
        names = [f"acme/polled-{number}-{uuid4().hex[:8]}" for number in range(arguments.repositories)]
        for name in names:
            github.verb("repo", name=name.partition("/")[2], files=PROJECT)
        with TemporaryDirectory() as folder:
            settings = settings_of(github, Path(folder))
            print("opened an hour | lists asked for | unchanged | other requests of looks | judging | saved of 5,000")
            for opened in OPENED:
                lists, same, others = hour(github, settings, names, opened)
                saved = f"{same / BUDGET:.2%}"
                print(f"{opened:14} | {lists:15} | {same:9} | {others:23} | {opened * EACH:7} | {saved:>14}")
    finally:
        github.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
