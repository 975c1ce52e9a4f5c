"""How soon a head has its first state on GitHub, beside a bare loop of check-run posts against the same GitHub.

    python bench/first_state.py [--seconds N] [--rate N] [--quiet S]

Ten repositories of a played GitHub with an agent's open pull requests. Their own deliveries, held back until then and padded to
36 KB, are posted to `assay serve` at a rate (10 a second), in turns with posts of check runs at the same rate without anything
around them. Each time runs from right before a post leaves here until that GitHub has answered the request that creates the check
run. Judging goes on meanwhile: the quiet window (1 s) is shorter than a turn; `--quiet 45` is what is shipped, and leaves it for
later. Prints both at the median and at p95, their ratio, and how many verdicts came meanwhile. Goal: p95 within 2 s.
"""

import argparse
import itertools
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import httpx  # noqa: E402 - found from any working directory
import jwt  # noqa: E402 - as above

from bench.stage import AS_SHIPPED, Traffic, at, first_shown, load, staged  # noqa: E402 - as above
from tests.world.github_bench import Exchange, GitHub  # noqa: E402 - as above
from tests.world.replies import accept  # noqa: E402 - as above
from tests.world.sender import Sender  # noqa: E402 - as above
from tests.world.tester import World  # noqa: E402 - as above

REPOSITORIES, BODY_BYTES, TURNS, GOAL_S = 10, 36 * 1024, 3, 2.0
PATIENCE_S = 90.0
HANDS = 16
MODULE = "src/m{number}.py"


@dataclass(frozen=True, slots=True)
class Opened:
    """A pull request, and the delivery that tells of it."""

    repository: str
    number: int
    head_sha: str
    body: bytes

    @property
    def name(self) -> str:
        return f"{self.repository} pull:{self.number}"


def opened(world: World, count: int) -> list[Opened]:
    """That many pull requests over ten repositories, of which nobody was told yet; one of each in turn."""
    github = world.github
    repositories = [world.repository({"AGENTS.md": "Test first.\n"}) for _ in range(REPOSITORIES)]
    github.verb("hooks", paused=True)
    for number in range(count):
        name = repositories[number % REPOSITORIES].name
        changed = {MODULE.format(number=number): f"def number():\n    return {number + 1}\n"}
        order = {"repo": name, "branch": f"fix-{number}", "files": changed, "as": "copilot-swe-agent[bot]"}
        github.verb("push", **order)
        body = {"title": "Count", "head": f"fix-{number}", "base": "main", "body": ""}
        github.user("copilot-swe-agent[bot]", "POST", f"/repos/{name}/pulls", **body)
    told = [list(deliveries(github, one.name)) for one in repositories]
    github.verb("hooks", paused=False, drop=True)
    return [one for row in itertools.zip_longest(*told) for one in row if one]


def deliveries(github: GitHub, name: str) -> Iterator[Opened]:
    for one in github.state(name)["deliveries"]:
        if (one["event"], one["action"]) == ("pull_request", "opened"):
            pull = json.loads(one["body"])["pull_request"]
            yield Opened(name, pull["number"], pull["head"]["sha"], one["body"].encode().ljust(BODY_BYTES))


def token(github: GitHub) -> str:
    """An installation's token, as any App gets one."""
    ready, now = github.ready, int(time.time())
    signed = jwt.encode({"iat": now - 30, "exp": now + 300, "iss": str(ready.app_id)}, ready.private_key, "RS256")
    path = f"/app/installations/{ready.installation_id}/access_tokens"
    answer = httpx.post(github.url + path, headers={"Authorization": f"Bearer {signed}"})
    return str(answer.raise_for_status().json()["token"])


@dataclass(frozen=True)
class Paced:
    """Posts at a rate, whatever the answers take; when each left, by its name, in milliseconds."""

    rate: float
    hands: ThreadPoolExecutor

    def post(self, wanted: Sequence[Opened], act: Callable[[Opened], httpx.Response]) -> dict[str, float]:
        left: dict[str, float] = {}

        def one(about: Opened) -> None:
            left[about.name] = time.time() * 1000
            act(about).raise_for_status()

        started, running = time.monotonic(), list[object]()
        for turn, about in enumerate(wanted):
            time.sleep(max(0.0, started + turn / self.rate - time.monotonic()))
            running.append(self.hands.submit(one, about))
        time.sleep(1 / self.rate)
        return left


def bare(client: httpx.Client, credential: str, about: Opened) -> httpx.Response:
    body = {"name": "Bare", "head_sha": about.head_sha, "status": "queued", "external_id": f"bare:{about.number}"}
    headers = {"Authorization": f"token {credential}"}
    return client.post(f"/repos/{about.repository}/check-runs", json=body, headers=headers)


def created(asked: Sequence[Exchange]) -> Iterator[tuple[str, str, int]]:
    """Of each check run that was created: the check's name, the pull request's, and when."""
    for one in asked:
        if one["method"] == "POST" and one["path"].endswith("/check-runs") and one["status"] == 201:
            sent = json.loads(one["sent"])
            number = sent["external_id"].partition(":")[2]
            yield (
                sent["name"],
                f"{one['path'].removeprefix('/repos/').removesuffix('/check-runs')} pull:{number}",
                one["at"],
            )


def took_s(left: Mapping[str, float], seen: Mapping[str, int]) -> list[float]:
    return [(seen[name] - moment) / 1000 for name, moment in left.items() if name in seen]


def measured(world: World, wanted: Sequence[Opened], rate: float) -> bool:
    """Take turns with the bare loop, and print what came of it; whether the goal is met."""
    github, credential = world.github, token(world.github)
    sender = Sender.to(world.product.url, github.ready.webhook_secret)
    traffic = Traffic(github)
    ours: dict[str, float] = {}
    loop: dict[str, float] = {}
    size = -(-len(wanted) // TURNS)
    with ThreadPoolExecutor(HANDS) as hands, httpx.Client(base_url=github.url, timeout=PATIENCE_S) as client:
        paced = Paced(rate, hands)
        for start in range(0, len(wanted), size):
            turn = wanted[start : start + size]
            loop |= paced.post(turn, lambda about: bare(client, credential, about))
            ours |= paced.post(turn, lambda about: sender.sends_bytes("pull_request", about.body))
    asked, deadline = traffic.since(), time.monotonic() + PATIENCE_S
    while sum(name == "Assay" for name, *_ in created(asked)) < len(wanted) and time.monotonic() < deadline:
        time.sleep(0.5)
        asked += traffic.since()
    sender.client.close()
    verdicts = sum(one["method"] == "PATCH" and '"conclusion"' in one["sent"] for one in asked)
    seen = {kind: {name: moment for one, name, moment in created(asked) if one == kind} for kind in ("Assay", "Bare")}
    return told(took_s(ours, seen["Assay"]), took_s(loop, seen["Bare"]), len(wanted), verdicts)


def told(ours: Sequence[float], loop: Sequence[float], wanted: int, verdicts: int) -> bool:
    for name, times in (("first state", ours), ("bare loop", loop)):
        print(
            f"{name}: p50 {at(times, 0.5):.3f} s, p95 {at(times, 0.95):.3f}, longest {max(times):.3f} ({len(times)} of {wanted})"
        )
    worst = at(ours, 0.95)
    is_met = worst <= GOAL_S and len(ours) == wanted
    print(
        f"ratio: p50 {at(ours, 0.5) / at(loop, 0.5):.1f}, p95 {worst / at(loop, 0.95):.1f}; verdicts meanwhile: {verdicts}"
    )
    print(f"goal: p95 within {GOAL_S:.0f} s: {'met' if is_met else 'MISSED'}")
    return is_met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=15, help="of deliveries, in all turns together")
    parser.add_argument("--rate", type=float, default=10.0, help="deliveries a second")
    parser.add_argument("--quiet", default="1", help="ASSAY_QUIET_WINDOW")
    arguments = parser.parse_args()
    with staged({**AS_SHIPPED, "ASSAY_QUIET_WINDOW": arguments.quiet}) as world:
        world.model.decides(lambda asked: accept(f"{first_shown(asked)}:2"))
        wanted = opened(world, int(arguments.seconds * arguments.rate))
        print(
            f"{len(wanted)} deliveries at {arguments.rate:g} a second, quiet window {arguments.quiet} s; {load()}",
            flush=True,
        )
        return int(not measured(world, wanted, arguments.rate))


if __name__ == "__main__":
    sys.exit(main())
