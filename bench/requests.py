"""Count the requests that GitHub receives for one verdict, by its own log: `python -m bench.requests`.

`assay serve` and `assay work` run against a played GitHub and a scripted model. An agent opens pull requests of 1, 10 and 100
files, pushes, commits nothing and is rejected, a person presses Re-run, the merge queue tries what was accepted; once without a quiet
window and once with one of 3 s, which is announced as a state of its own. Each count stands beside its goal. A Re-run and a merge
group bring a recorded verdict back, so they have the goal of what is carried over. Everything that the App sends counts, 304s too; its
token is requested once an hour, so the first line alone has it.
"""

import re
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from bench.stage import AS_SHIPPED, load, staged
from tests.world.contract import find_violations
from tests.world.fake_github import Exchange
from tests.world.people import Files
from tests.world.pull_requests import PullRequest
from tests.world.replies import accept, reject
from tests.world.world import World

FIRST, NEXT, CARRIED = 7, 5, 4
QUIET = ("0", "3")
"""Seconds. A window of less than `worker.publishing.initial_status.MIN_ANNOUNCED_WAIT` is not announced."""
SIZES = (1, 10, 100)
T = TypeVar("T")
AT = "src/m0.py:2"
PROJECT = {"AGENTS.md": "Test first.\n", "src/__init__.py": ""}
BODY = "- [ ] each module tells its own number\n"
LARGE: dict[str, Any] = {
    "what_works": "Each module has a number.",
    "what_does_not": "Nothing but the first is tested.",
    "concern": "The number that it returns is not tested.",
    "next_step": "Test the number that it returns.",
}
"""The texts that a reject of many files needs, about the line that it points at."""


def files(count: int, start: int = 1) -> dict[str, str]:
    """A change that no rule of code decides on: *count* modules, of which the last is a test."""
    made = {f"src/m{at}.py": f"def number():\n    return {at + start}\n" for at in range(count - 1)}
    test = "from src.m0 import number\n\n\ndef test_number():\n    assert number() == " + f"{start}\n"
    alone = {"src/m0.py": f"# The number of this module.\nNUMBER = {start + 1}\n"}
    return alone if count == 1 else {**made, "tests/test_m0.py": test}


def name_of(exchange: Exchange) -> str:
    """The kind of a request: a query's name, or a path without what only names a thing."""
    if exchange["operation"]:
        return exchange["operation"]
    path = re.sub(r"^/repos/[^/]+/[^/]+/|^/", "", exchange["path"])
    path = re.sub(r"[0-9a-f]{40}", "SHA", re.sub(r"(?<=/)[0-9]+(?=/|$)", "N", path))
    written = (exchange["sent"] or "") if path.startswith("check-runs") else ""
    state = re.search(r'"conclusion": ?"(\w+)"', written) or re.search(r'"status": ?"(\w+)"', written)
    detail = [state[1]] if state else ["diff"] * ("diff" in (exchange["type"] or ""))
    return " ".join([exchange["method"], path, *detail])


@dataclass
class Counting:
    """One line for each thing that people do."""

    world: World
    missed: list[str] = field(default_factory=list[str])
    seen: Counter[str] = field(default_factory=Counter[str])

    def new_requests(self) -> list[Exchange]:
        """What GitHub received since the last look, as the App and as its installation, each in the order in which they came."""
        github, exchanges = self.world.github, list[Exchange]()
        for name in (f"app:{github.info.app_id}", f"installation:{github.info.installation_id}"):
            requests = github.requests(None, name)
            exchanges += requests[self.seen[name] :]
            self.seen[name] = len(requests)
        return exchanges

    def count(self, what: str, goal: int | None, act: Callable[[], T], conclusion: str = "") -> T:
        """Let *act* happen, wait until nothing is left to do, and print what GitHub was asked."""
        self.new_requests()
        result = act()
        self.world.wait_until_idle(120)
        asked = self.new_requests()
        assert find_violations(asked) == []
        names = Counter(map(name_of, asked))
        listed = ", ".join(f"{name} x{count}" if count > 1 else name for name, count in names.items())
        is_met = goal is None or len(asked) <= goal
        self.missed += [] if is_met else [what]
        ratio = "-" if goal is None else f"{len(asked) / goal:.2f}x {'met' if is_met else 'MISSED'}"
        same = sum(exchange["status"] == 304 for exchange in asked)
        print(f"{what:<44} {len(asked):>4} {same:>4} {goal or '-':>5} {ratio:<13} {listed}", flush=True)
        if conclusion and isinstance(result, PullRequest):
            assert result.check.conclusion == conclusion, result.check
        return result

    def open(self, changed: Files, branch: str = "fix", criteria: str = BODY) -> PullRequest:
        issue = self.world.alice.write_issue("Numbers", criteria)
        body, ci = f"Closes #{issue.number}", {"test": "success"}
        return self.world.agent.open_pull_request(changed, body=body, branch=branch, ci=ci)

    def renew_repository(self) -> None:
        """Make a new repository. The people of the last one go with it."""
        self.world.create_repository(PROJECT)
        for name in ("agent", "alice", "bob"):
            self.world.__dict__.pop(name, None)


def count_requests(quiet: str) -> list[str]:
    """Count for each kind of verdict; the names of those that miss their goal."""
    print(f"\nquiet window {quiet} s; {load()}\n{'what':<44} {'all':>4} {'304':>4} {'goal':>5} {'':<13} asked")
    with staged({**AS_SHIPPED, "ASSAY_QUIET_WINDOW": quiet}) as world:
        world.model.reply_by(lambda _: accept(AT))
        counting = Counting(world)
        count_sizes(counting)
        count_one_pull(counting)
        count_special(counting)
        world.assert_clean()
    return [f"{what} (quiet window {quiet} s)" for what in counting.missed]


def count_sizes(counting: Counting) -> None:
    counting.renew_repository()
    counting.count("the hour's very first: token, rules, one file", None, lambda: counting.open(files(1)))
    for size in SIZES:
        counting.renew_repository()
        what, changed = f"first verdict, files: {size}", files(size)
        counting.count(what, FIRST, lambda changed=changed: counting.open(changed), "success")
    counting.count("same repository, another pull request", FIRST, lambda: counting.open(files(10, 40), "other"))


def count_one_pull(counting: Counting) -> None:
    counting.renew_repository()
    world, count = counting.world, counting.count
    pull = counting.open(files(10))
    world.wait_until_idle()
    more = {"src/m9.py": "def number():\n    return 16\n"}
    rebased = {**files(10, 7), **more}

    def push(changed: Files) -> PullRequest:
        world.agent.push(pull, changed)
        return pull

    def answer_group() -> None:
        group = world.repository.add_to_merge_queue(pull)
        world.wait_until(lambda: "completed" in {check.status for check in group.checks}, "the group is answered")
        assert group.check.conclusion == "success", group.check

    count("next verdict, files: 10", NEXT, lambda: push(files(10, 7)), "success")
    count("next verdict, a file more", NEXT, lambda: push(more), "success")
    count("carried over (an empty commit)", CARRIED, lambda: push({}), "success")
    world.github.control("push", repo=world.repository.name, branch="main", files={"other.py": "OTHER = 1\n"})
    world.wait_until_idle()
    count("carried over (rebased onto a newer base)", CARRIED, lambda: world.agent.force_push(pull, rebased))
    assert pull.check.conclusion == "success", pull.check
    assert pull.verdict["carried_from"], "a rebase changes nothing"
    count("Re-run", CARRIED, pull.press_rerun)
    count("Re-run of all", CARRIED, pull.press_rerun_all)
    count("/rejudge, answered by a reaction", None, lambda: world.bob.comment(pull, "/rejudge"))
    count("merge group, carried over", CARRIED, answer_group)
    count("another check ends green", None, lambda: world.repository.report_ci(pull.head, "lint", "success"))


def count_special(counting: Counting) -> None:
    """A reject with its comment, and a named file that is looked up before it is called missing."""
    world, count = counting.world, counting.count
    counting.renew_repository()
    world.model.reply_by(lambda _: reject("weak_test", AT, **LARGE))
    what = "first verdict, a reject with its comment"
    pull = count(what, FIRST, lambda: counting.open(files(10)), "failure")
    world.model.reply_by(lambda _: accept(AT))
    count("next verdict, its comment edited", NEXT, lambda: world.agent.push(pull, files(10, 7)))
    count("closed", None, lambda: world.agent.close(pull))
    counting.renew_repository()
    criteria = f"{BODY}- [ ] `docs/numbers.md` lists them\n"
    count("first verdict, a file is looked up", FIRST, lambda: counting.open(files(10), criteria=criteria))


def main() -> int:
    print(
        f"Goals: first {FIRST}, next {NEXT}, carried over {CARRIED}, for any number of files. PR-Agent asks 46 times at ten."
    )
    missed = [what for quiet in QUIET for what in count_requests(quiet)]
    print("\nEvery goal is met." if not missed else "\nMissed: " + "; ".join(missed))
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
