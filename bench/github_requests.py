"""How many requests GitHub sees for one verdict, as its own log counts them, in the real flow of real processes.

    python bench/github_requests.py [--quick] [--only verdicts|sweep]

`assay serve` and `assay work` against a played GitHub and a scripted model: an agent opens pull requests of 1, 10 and 100 files,
pushes, commits nothing, is rejected (and told so in a comment), a person presses Re-run, the merge queue tries what was accepted;
once without a quiet window and once with one of 3 s, which is told of as a state of its own. Each count stands beside its goal,
and `asked` says what was asked for. A Re-run and a merge group bring a recorded verdict back, so they are held to what is carried
over. All that the App sends counts, 304s too; its token is asked for once an hour, so the first line alone has it. `same
repository` shows a pull request in a repository that is known. Then the sweep over the open pull requests of ten repositories, 100
in each (`--quick`: 20), where no head is known, where every one is, and where
Redis was started anew since.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pydantic import SecretStr  # noqa: E402 - found from any working directory

from bench.stage import AS_SHIPPED, Traffic, load, staged  # noqa: E402 - as above
from tests.world.contract import violations  # noqa: E402 - as above
from tests.world.github_bench import Exchange, GitHub  # noqa: E402 - as above
from tests.world.people import Files  # noqa: E402 - as above
from tests.world.pulls import Pull  # noqa: E402 - as above
from tests.world.replies import accept, reject  # noqa: E402 - as above
from tests.world.tester import World  # noqa: E402 - as above
from worker.adapters.github.check_runs import GitHubPublishedRuns  # noqa: E402 - as above
from worker.adapters.github.client import app_access  # noqa: E402 - as above
from worker.adapters.github.installations import GitHubRepositories  # noqa: E402 - as above
from worker.clock import SystemClock  # noqa: E402 - as above
from worker.domain.ids import BaseHash, CheckRunId, InstallationId, RepositoryId, Sha  # noqa: E402 - as above
from worker.domain.request.judge_request import JudgeRequest, PullRef  # noqa: E402 - as above
from worker.domain.request.pull_request_events import Repository  # noqa: E402 - as above
from worker.scheduling.reconcile import (  # noqa: E402 - as above
    MAX_HEADS,
    OpenPullSweep,
    ReopenedCheckSweep,
)
from worker.settings import AppCredentials, Settings  # noqa: E402 - as above

FIRST, NEXT, CARRIED, SWEEP, PR_AGENT = 7, 5, 4, 60, 46
QUIET = ("0", "3")
"""Seconds. A window of less than `worker.publishing.initial_status.MIN_ANNOUNCED_WAIT` is not told of."""
SIZES = (1, 10, 100)
REPOSITORIES, PULLS, FEW = 10, 100, 20
AT = "src/m0.py:2"
PROJECT = {"AGENTS.md": "Test first.\n", "src/__init__.py": ""}
BODY = "- [ ] each module tells its own number\n"
LARGE: dict[str, Any] = {
    "what_works": "Each module has a number.",
    "what_does_not": "Nothing but the first is tested.",
    "concern": "The number that it returns is not tested.",
    "next_step": "Test the number that it returns.",
}
"""What a reject of a change over many files has to say, of the line that it points at."""
EARLIER = timedelta(hours=1)


def files(count: int, start: int = 1) -> dict[str, str]:
    """A change that no rule of code decides on: *count* modules, of which the last is a test."""
    made = {f"src/m{at}.py": f"def number():\n    return {at + start}\n" for at in range(count - 1)}
    test = "from src.m0 import number\n\n\ndef test_number():\n    assert number() == " + f"{start}\n"
    alone = {"src/m0.py": f"# The number of this module.\nNUMBER = {start + 1}\n"}
    return alone if count == 1 else {**made, "tests/test_m0.py": test}


def word(one: Exchange) -> str:
    """What was asked: a query's name, or a path without what only names a thing."""
    if one["operation"]:
        return one["operation"]
    path = re.sub(r"^/repos/[^/]+/[^/]+/|^/", "", one["path"])
    path = re.sub(r"[0-9a-f]{40}", "SHA", re.sub(r"(?<=/)[0-9]+(?=/|$)", "N", path))
    written = (one["sent"] or "") if path.startswith("check-runs") else ""
    state = re.search(r'"conclusion": ?"(\w+)"', written) or re.search(r'"status": ?"(\w+)"', written)
    told = [state[1]] if state else ["diff"] * ("diff" in (one["type"] or ""))
    return " ".join([one["method"], path, *told])


@dataclass
class Counting:
    """One line for each thing that people did."""

    world: World
    missed: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.traffic = Traffic(self.world.github)

    def of(self, what: str, goal: int | None, act: Callable[[], object]) -> None:
        """Let *act* happen, wait until nothing is left to do, and print what GitHub was asked."""
        self.traffic.since()
        act()
        self.world.settles(120)
        asked = self.traffic.since()
        assert violations(asked) == []
        self.line(what, goal, asked)

    def line(self, what: str, goal: int | None, asked: Sequence[Exchange]) -> None:
        names = ", ".join(
            f"{name} x{count}" if count > 1 else name for name, count in Counter(map(word, asked)).items()
        )
        is_met = goal is None or len(asked) <= goal
        if not is_met:
            self.missed.append(what)
        said = "-" if goal is None else f"{len(asked) / goal:.2f}x {'met' if is_met else 'MISSED'}"
        same = sum(one["status"] == 304 for one in asked)
        print(f"{what:<44} {len(asked):>4} {same:>4} {goal or '-':>5} {said:<13} {names}", flush=True)


def verdicts(quiet: str) -> list[str]:
    """What each kind of verdict costs; the names of those that miss their goal."""
    told = {**AS_SHIPPED, "ASSAY_QUIET_WINDOW": quiet}
    print(f"\nquiet window {quiet} s; {load()}\n{'what':<44} {'all':>4} {'304':>4} {'goal':>5} {'':<13} asked")
    with staged(told) as world:
        world.model.decides(lambda _: accept(AT))
        counting = Counting(world)
        of_sizes(counting)
        of_one_pull(counting)
        of_a_reject(counting)
        of_a_lookup(counting)
        world.ends()
    return [f"{one} (quiet window {quiet} s)" for one in counting.missed]


def opens(world: World, changed: Files, branch: str = "fix", asked: str = BODY) -> Pull:
    issue = world.alice.writes_issue("Numbers", asked)
    return world.agent.opens(changed, body=f"Closes #{issue.number}", branch=branch, ci={"test": "success"})


def ends_as(conclusion: str, pull: Pull) -> None:
    assert pull.check.conclusion == conclusion, pull.check


def of_sizes(counting: Counting) -> None:
    world = counting.world
    world.repository(PROJECT)
    counting.of("the hour's very first: token, rules, one file", None, lambda: opens(world, files(1)))
    for size in SIZES:
        stage(world)
        made: list[Pull] = []
        counting.of(
            f"first verdict, files: {size}", FIRST, lambda size=size, made=made: made.append(opens(world, files(size)))
        )
        ends_as("success", made[0])
    other = files(10, 40)
    counting.of("same repository, another pull request", FIRST, lambda: opens(world, other, "other"))


def stage(world: World) -> None:
    """A new repository: the people of the last one go with it."""
    world.repository(PROJECT)
    for name in ("agent", "alice", "bob"):
        world.__dict__.pop(name, None)


def of_one_pull(counting: Counting) -> None:
    world = counting.world
    stage(world)
    pull = opens(world, files(10))
    world.settles()
    counting.of("next verdict, files: 10", NEXT, lambda: world.agent.pushes(pull, files(10, 7)))
    ends_as("success", pull)
    more = {"src/m9.py": "def number():\n    return 16\n"}
    counting.of("next verdict, a file more", NEXT, lambda: world.agent.pushes(pull, more))
    ends_as("success", pull)
    counting.of("carried over (an empty commit)", CARRIED, lambda: world.agent.pushes(pull, {}))
    ends_as("success", pull)
    moves_on(world)
    rebased = {**files(10, 7), **more}
    counting.of("carried over (rebased onto a newer base)", CARRIED, lambda: world.agent.force_pushes(pull, rebased))
    ends_as("success", pull)
    assert pull.verdict["carried_from"], "a rebase changes nothing"
    counting.of("Re-run", CARRIED, pull.press_rerun)
    counting.of("Re-run of all", CARRIED, pull.press_rerun_all)
    counting.of("/rejudge, answered by a reaction", None, lambda: world.bob.comments(pull, "/rejudge"))
    counting.of("merge group, carried over", CARRIED, lambda: answered(world, pull))
    counting.of(
        "another check of the head ends green", None, lambda: world.here.reports_ci(pull.head, "lint", "success")
    )


def moves_on(world: World) -> None:
    """The base branch gets a commit of somebody else's."""
    world.github.verb("push", repo=world.here.name, branch="main", files={"other.py": "OTHER = 1\n"})
    world.settles()


def answered(world: World, pull: Pull) -> None:
    group = world.here.queues(pull)
    world.until(lambda: any(one.status == "completed" for one in group.checks), "the merge group is answered")
    assert group.check.conclusion == "success", group.check


def of_a_reject(counting: Counting) -> None:
    world = counting.world
    stage(world)
    world.model.decides(lambda _: reject("weak_test", AT, **LARGE))
    made: list[Pull] = []
    counting.of("first verdict, a reject with its comment", FIRST, lambda: made.append(opens(world, files(10))))
    ends_as("failure", made[0])
    world.model.decides(lambda _: accept(AT))
    counting.of("next verdict, its comment edited", NEXT, lambda: world.agent.pushes(made[0], files(10, 7)))
    counting.of("closed", None, lambda: world.agent.closes(made[0]))


def of_a_lookup(counting: Counting) -> None:
    """A criterion names a file that the change leaves alone: it is looked up in the head tree before it is called missing."""
    world = counting.world
    stage(world)
    world.model.decides(lambda _: accept(AT))
    asked = f"{BODY}- [ ] `docs/numbers.md` lists them\n"
    counting.of("first verdict, a file is looked up", FIRST, lambda: opens(world, files(10), asked=asked))


class Heads:
    """What is known of heads, in memory. Judges nothing."""

    def __init__(self) -> None:
        self.known: set[tuple[PullRef, Sha]] = set()
        self.bases: dict[PullRef, BaseHash] = {}

    def has_state(self, pull: PullRef, head_sha: Sha) -> bool:
        return (pull, head_sha) in self.known

    def recorded_base(self, pull: PullRef, base: BaseHash) -> BaseHash:
        return self.bases.setdefault(pull, base)

    def is_known_head(self, pull: PullRef, head_sha: Sha) -> bool:
        del head_sha
        return any(one == pull for one, _ in self.known)

    def new_repositories(self, installation: InstallationId) -> Collection[RepositoryId]:
        del installation
        return ()

    def visible_since(
        self, installation: InstallationId, repositories: Sequence[Repository], installed_at: datetime
    ) -> Mapping[RepositoryId, datetime]:
        del installation
        return {one.id: installed_at for one in repositories}

    def request_judging(self, request: JudgeRequest) -> None:
        assert request.head_sha
        assert request.base
        self.known.add((request.pull, request.head_sha))
        self.bases[request.pull] = request.base

    def show_preexisting(self, request: JudgeRequest, head_sha: Sha) -> None:
        self.known.add((request.pull, head_sha))


class Ends:
    """Which checks Redis may have forgotten something of, in memory: all, once *restored*, until GitHub was asked."""

    def __init__(self) -> None:
        self.restored = False
        self.asked: set[PullRef] = set()

    def find_doubt(self, pull: PullRef, head_sha: Sha) -> str:
        del head_sha
        return "restored" if self.restored and pull not in self.asked else ""

    def confirm_ended(self, pull: PullRef, head_sha: Sha, doubt: str) -> None:
        del head_sha, doubt
        self.asked.add(pull)

    def requeue(self, request: JudgeRequest, check: CheckRunId, doubt: str) -> bool:
        raise AssertionError(f"nobody opened a check: {request}, {check}, {doubt}")


class Progress:
    """How far a sweep came, in memory."""

    def __init__(self) -> None:
        self.number = 1

    def next_page(self, installation: InstallationId) -> int:
        del installation
        return self.number

    def set_next_page(self, installation: InstallationId, page: int) -> None:
        del installation
        self.number = page


class Memory:
    """A Vault of this process."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def get(self, name: str) -> bytes | None:
        return self._kept.get(name)

    def put(self, name: str, secret: bytes, ttl: timedelta) -> None:
        self._kept[name] = secret if ttl else b""


def crowded(github: GitHub, pulls: int) -> None:
    """Ten repositories with this many open pull requests each, whose branches are refs to one commit."""
    for repository in range(REPOSITORIES):
        name = f"acme/swept-{repository}-{uuid4().hex[:8]}"
        github.verb("repo", name=name.partition("/")[2], files=PROJECT)
        sha = github.verb("push", repo=name, branch="fix", files=files(1))["sha"]
        for number in range(pulls):
            branch = f"fix-{number}"
            github.user("alice", "POST", f"/repos/{name}/git/refs", ref=f"refs/heads/{branch}", sha=sha)
            github.user("alice", "POST", f"/repos/{name}/pulls", title="Do", head=branch, base="main", body="")


def settings_of(github: GitHub, folder: Path) -> Settings:
    ready = github.ready
    keys, secrets = (SecretStr(ready.private_key),), (SecretStr(ready.webhook_secret),)
    return Settings(data_dir=folder, app=AppCredentials(ready.app_id, keys, secrets), github_api_url=ready.url)


def sweep(pulls: int) -> list[str]:
    """What a look over everything costs; the names of those that miss their goal."""
    github = GitHub.start()
    try:
        github.verb("rate", remaining=100_000)
        started = datetime.now(UTC)  # noqa: TID251 - a bench has no clock of its own
        crowded(github, pulls)
        took = (datetime.now(UTC) - started).total_seconds()  # noqa: TID251 - as above
        print(
            f"\nsweep over {REPOSITORIES} repositories with {pulls} open pull requests each (made in {took:.0f} s); {load()}"
        )
        with TemporaryDirectory() as folder:
            return list(swept(github, settings_of(github, Path(folder)), pulls))
    finally:
        github.stop()


def swept(github: GitHub, settings: Settings, pulls: int) -> Iterator[str]:
    clock, heads, ends, traffic = SystemClock(), Heads(), Ends(), Traffic(github)
    installation, everything = InstallationId(github.ready.installation_id), REPOSITORIES * pulls
    with app_access(settings, Memory(), clock) as access:
        forgotten = ReopenedCheckSweep(GitHubPublishedRuns(access, github.ready.app_id), ends)
        sweeping = OpenPullSweep(GitHubRepositories(access), heads, Progress(), clock, forgotten)
        rounds = 0
        while len(heads.known) < everything:
            rounds += 1
            traffic.since()
            taken = sweeping.run(installation, clock.now() - EARLIER)
            assert 0 < taken <= MAX_HEADS, taken
            if rounds == 1:
                yield from said("no head is known, a token too", traffic.since(), taken)
        traffic.since()
        taken = sweeping.run(installation, clock.now() - EARLIER)
        assert taken == 0, taken
        yield from said(f"every head is known (taken up in {rounds} sweeps)", traffic.since(), taken)
        ends.restored = True
        taken = sweeping.run(installation, clock.now() - EARLIER)
        assert (taken, len(ends.asked)) == (0, everything), (taken, len(ends.asked))
        yield from said("every head is known, the first look after Redis was started again", traffic.since(), taken)


def said(what: str, asked: Sequence[Exchange], taken: int) -> Iterator[str]:
    names = ", ".join(f"{name} x{count}" for name, count in Counter(map(word, asked)).items())
    is_met = len(asked) <= SWEEP
    print(f"{what}: {len(asked)} requests of {SWEEP}, {'met' if is_met else 'MISSED'}; taken up: {taken}; {names}")
    if not is_met:
        yield f"sweep: {what}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"sweep over {FEW} pull requests in each repository")
    parser.add_argument("--only", choices=("verdicts", "sweep"), help="one half of it")
    arguments = parser.parse_args()
    missed: list[str] = []
    print(
        f"Goals: first {FIRST}, next {NEXT}, carried over {CARRIED}, flat in the number of files; PR-Agent asks {PR_AGENT} at ten."
    )
    if arguments.only != "sweep":
        missed += [one for quiet in QUIET for one in verdicts(quiet)]
    if arguments.only != "verdicts":
        missed += sweep(FEW if arguments.quick else PULLS)
    print("\nEvery goal is met." if not missed else "\nMissed: " + "; ".join(missed))
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
