"""How much one web server, one Redis and a few workers carry, and what runs out first.

    python -m bench.load intake [--rounds N]        deliveries a second, beside a bare server that does the least
    python -m bench.load verdicts [--workers 1 2 4] verdicts a second by code alone and with a model of 20 s, and Redis' memory
    python -m bench.load flood [--hostile N]        how long a writer waits while a stranger's forks flood the repository

Real processes on loopback. `intake`: ours verifies the signature of a body of 36 KB, reads it, writes the request into a Redis (append-only
file) and logs a line. The bare server is an ASGI app on uvicorn with the same settings that does an HMAC, a slim parse and one LPUSH.
They take turns, a second at 16 at a time and half of one alone.

`verdicts`: a played GitHub has an agent's pull requests of six files, whose deliveries are held back, then posted 16 at a time. CPU time of
each part is that of its processes; the played GitHub is not part of the product, and shares the processors with it.
"""

import argparse
import json
import statistics
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any, Final, NamedTuple, cast

from bench.intake import BODY_BYTES, TOGETHER, intake, report
from bench.stage import AS_SHIPPED, at, cpu_seconds, first_shown, load, staged
from tests.world.parent_death import descendants
from tests.world.people import Person
from tests.world.pull_requests import Repository
from tests.world.replies import accept
from tests.world.sender import WebhookSender
from tests.world.world import World

MODEL_S: Final = 20.0
PATIENCE_S: Final = 300.0
FILES: Final = 6
OTHERS: Final = {"globex": 200, "initech": 300}
"""Further owners with their installations: one installation never gets all workers."""

BASE: Final = {"AGENTS.md": "Test first.\n"}
SETTINGS: Final = {
    **AS_SHIPPED, "ASSAY_QUIET_WINDOW": "0", "ASSAY_DAY_MAX_USD": "1000", "ASSAY_REPOSITORY_SHARE": "1", "ASSAY_MODEL_TIMEOUT": "120",
}  # fmt: skip
CREATING_AN_HOUR: Final = 500
"""Check runs and comments that GitHub lets an installation make; a head takes up to three (docs/operating.md)."""

TERMS: Final = {7 * 86_400: "a week", 31 * 86_400: "a month", 92 * 86_400: "a quarter"}
"""Seconds that a key lives at most."""


OpenPull = Callable[[Repository, int], None]


class Held(NamedTuple):
    """A pull request, and the delivery that announces it."""

    repository: str
    number: int
    body: bytes


class Spent(NamedTuple):
    """CPU seconds by part of the product, and of the played GitHub."""

    web: float
    workers: float
    redis: float
    github: float

    @classmethod
    def now(cls, world: World) -> "Spent":
        pids = {process.command: process.popen.pid for process in world.product.processes}
        with world.redis.client as client:
            redis = int(cast("Any", client).info("server")["process_id"])
        web, workers = ([pids[command], *descendants(pids[command])] for command in ("serve", "work"))
        groups = (web, workers, [redis], [world.github.process.pid])
        return cls(*map(cpu_seconds, groups))

    def since(self, before: "Spent") -> "Spent":
        return Spent(*(mine - its for mine, its in zip(self, before, strict=True)))


def change(number: int) -> dict[str, str]:
    """Six files with 9 KB of diff that no rule of code decides on; no two numbers have the same content."""
    drawn = Random(number)  # noqa: S311 - texts, not secrets
    syllables = [first + second for first in "bdfgklmnprst" for second in "aeiou"]

    def module(value: int) -> str:
        text = " ".join("".join(drawn.choices(syllables, k=drawn.randint(1, 4))) for _ in range(280))
        prose = textwrap.fill(text.capitalize() + ".", 100, initial_indent="# ", subsequent_indent="# ")
        return f"def number_of_module():\n    return {value}\n\n\n# The number of this module.\n{prose}\n"

    test = (
        f"from src.m0 import number_of_module\n\n\ndef test_number():\n    assert number_of_module() == {number + 1}\n"
    )
    return {"tests/test_m0.py": test, **{f"src/m{at}.py": module(number + at + 1) for at in range(FILES - 1)}}


def open_held(world: World, repositories: Sequence[Repository], open_pull: OpenPull, count: int) -> list[Held]:
    """Open pull requests in one repository after the other, and return their deliveries, which are held back."""
    world.github.control("hooks", paused=True)
    for turn in range(count):
        open_pull(repositories[turn % len(repositories)], turn)
    held = [
        Held(
            repository.name,
            json.loads(delivery["body"])["pull_request"]["number"],
            delivery["body"].encode().ljust(BODY_BYTES),
        )
        for repository in repositories
        for delivery in world.github.state(repository.name)["deliveries"]
        if (delivery["event"], delivery["action"]) == ("pull_request", "opened")
    ]
    world.github.control("hooks", paused=False, drop=True)
    return sorted(held, key=lambda delivery: delivery.number)


def post_all(world: World, held: Sequence[Held]) -> dict[str, float]:
    """Post them 16 at a time; when each left, in seconds."""
    sender, left = WebhookSender.to(world.product.url, world.github.info.webhook_secret), dict[str, float]()

    def post(delivery: Held) -> None:
        left[f"{delivery.repository} {delivery.number}"] = time.time()
        sender.send_bytes("pull_request", delivery.body).raise_for_status()

    with ThreadPoolExecutor(TOGETHER) as threads:
        list(threads.map(post, held))
    sender.client.close()
    return left


def count_verdicts(world: World) -> int:
    """By the product's log, which costs none of its processes anything."""
    return sum(line.fields.get("how") == "judged" for line in list(world.product.log.lines) if "judged" in line.text)


def wait_for_verdicts(world: World, wanted: int) -> float:
    """Wait until so many pull requests were judged; when."""
    deadline = time.monotonic() + PATIENCE_S
    while count_verdicts(world) < wanted:
        world.product.assert_alive()
        assert time.monotonic() < deadline, f"{count_verdicts(world)} of {wanted} verdicts\n{world.product.log.tail()}"
        time.sleep(0.1)
    return time.time()


def first_states(world: World, left: Mapping[str, float]) -> list[float]:
    """Seconds from each post to the check run that GitHub created."""
    created = dict[str, float]()
    for request in world.github.traffic("^POST .*/check-runs$"):
        number = json.loads(request["sent"])["external_id"].partition(":")[2]
        repository = request["path"].removeprefix("/repos/").removesuffix("/check-runs")
        created.setdefault(f"{repository} {number}", request["at"] / 1000)
    return [created[name] - moment for name, moment in left.items()]


def bare_post(repository: Repository) -> float:
    """Seconds that this GitHub takes to create a check run for a bare client, at the median: the baseline of a first state."""
    branch, took = f"/repos/{repository.name}/branches/main", list[float]()
    head = repository.github.request_as("alice", "GET", branch)["commit"]["sha"]
    for number in range(20):
        began = time.monotonic()
        repository.report_ci(head, f"bare {number}", "success")
        took.append(time.monotonic() - began)
    return statistics.median(took)


def stored_bytes(world: World) -> Counter[str]:
    """What Redis holds by how long it stays, and its whole memory."""
    sizes = Counter[str]()
    with world.redis.client as typed:
        client = cast("Any", typed)
        for name in client.scan_iter(match="*", count=1000):
            ttl = client.ttl(name)
            term = next((text for most, text in TERMS.items() if 0 <= ttl <= most), "for good")
            term = "events" if name.endswith(":events") else term
            sizes[term] += client.memory_usage(name, samples=0) or 0
    return sizes


class Figures(NamedTuple):
    """One run: rates per second, CPU time and questions a verdict, seconds to the first state at p50 and p95, and of a bare post."""

    deliveries: float
    verdicts: float
    spent: Spent
    first: tuple[float, float]
    bare: float
    questions: float


Stored = dict[str, Counter[str]]


def measure_verdicts(workers: int, pulls: int, *, has_model: bool) -> tuple[Figures, Stored]:
    """Judge held deliveries of three installations; what Redis stores before, with open and with closed pull requests."""
    tier = {} if has_model else {"ASSAY_TIER": "heuristic", "ANTHROPIC_API_KEY": ""}
    with staged({**SETTINGS, **tier, "ASSAY_WORKERS": str(workers)}, others=OTHERS) as world:
        world.model.reply_by(lambda _: accept("src/m0.py:2"))
        owners = [(None, None), *OTHERS.items()] * 2
        repositories = [
            world.create_repository(BASE, home, **({"owner": owner} if owner else {})) for owner, home in owners
        ]

        def open_pull(here: Repository, turn: int) -> None:
            agent = Person("copilot-swe-agent[bot]", world.github, here)
            agent.open_pull_request(change(turn), title="Add the number of each module", branch=f"fix-{turn}")

        opened = open_held(world, repositories, open_pull, len(repositories) + pulls)
        warming, held = opened[: len(repositories)], opened[len(repositories) :]
        post_all(world, warming)
        wait_for_verdicts(world, len(warming))
        world.wait_until_idle(PATIENCE_S)
        stored = {"before": stored_bytes(world)}
        asked = len(world.model.requests)
        world.model.reply_by(lambda _: time.sleep(MODEL_S) or accept("src/m0.py:2"))
        before, began = Spent.now(world), time.time()
        left = post_all(world, held)
        delivered = time.time() - began
        ended = wait_for_verdicts(world, len(warming) + pulls)
        spent = Spent(*(seconds / pulls for seconds in Spent.now(world).since(before)))
        world.wait_until_idle(PATIENCE_S)
        questions = (len(world.model.requests) - asked) / pulls
        first = first_states(world, left)
        stored["open"] = stored_bytes(world)
        for delivery in held:
            world.github.request_as(
                "alice", "PATCH", f"/repos/{delivery.repository}/pulls/{delivery.number}", state="closed"
            )
        world.wait_until_idle(PATIENCE_S)
        stored["closed"] = stored_bytes(world)
        states = (at(first, 0.5), at(first, 0.95))
        return Figures(
            pulls / delivered, pulls / (ended - began), spent, states, bare_post(repositories[0]), questions
        ), stored


def verdicts(arguments: argparse.Namespace) -> int:
    print(f"{FILES} files and 9 KB of diff a pull request, three installations; {load()}", flush=True)
    scarcest = Spent(0, 0, 0, 0)
    for has_model in (False, True):
        base = 0.0
        for workers in arguments.workers:
            pulls = workers * arguments.questions if has_model else arguments.pulls
            figures, stored = measure_verdicts(workers, pulls, has_model=has_model)
            base = base or figures.verdicts
            shares = ", ".join(f"{name} {seconds * 1000:.0f}" for name, seconds in figures.spent._asdict().items())
            p50, p95 = figures.first
            print(
                f"{f'model of {MODEL_S:.0f} s' if has_model else 'code alone'}, {workers} workers, {pulls} pull requests:"
                f" {figures.deliveries:.0f} deliveries/s, {figures.verdicts:.2f} verdicts/s,"
                f" {figures.verdicts / base:.2f} times that of {arguments.workers[0]}\n  first state p50 {p50:.2f} s, p95 {p95:.2f},"
                f" {p50 / figures.bare:.0f} times a bare check run\n  {figures.questions:.2f} questions a verdict, CPU ms: {shares}",
                flush=True,
            )
            if not has_model:
                scarcest = max(scarcest, figures.spent, key=lambda spent: spent.workers)
                report_memory(stored, pulls)
    report_limits(scarcest)
    return 0


def report_memory(stored: Stored, pulls: int) -> None:
    for state in ("open", "closed"):
        grown = {term: (size - stored["before"][term]) / pulls for term, size in stored[state].items()}
        parts = ", ".join(f"{term} {size / 1024:.1f}" for term, size in grown.items() if abs(size) >= 64)
        print(f"  Redis, KiB of a pull request that is {state}: {sum(grown.values()) / 1024:.1f} ({parts})", flush=True)


def report_limits(spent: Spent) -> None:
    """Verdicts a second that each part carries alone, the scarcest first."""
    limits = {
        f"one worker beside a model of {MODEL_S:.0f} s": 1 / (MODEL_S + spent.workers),
        "one processor of workers, code alone": 1 / spent.workers,
        "one processor of the web server": 1 / spent.web,
        "Redis' one thread": 1 / spent.redis,
        "GitHub's check runs of one installation": CREATING_AN_HOUR / 3 / 3600,
    }
    print("verdicts a second, what runs out first:")
    for name, rate in sorted(limits.items(), key=lambda item: item[1]):
        print(f"  {name}: {rate:.2f} ({rate * 86_400:,.0f} a day)")


MOST_RATIO, MOST_STATE_S = 1.5, 2.0


class Waited(NamedTuple):
    """Seconds from the opening of a pull request to its check run, and to the end of it."""

    state: float
    verdict: float


def open_and_wait(world: World, here: Repository, name: str) -> Waited:
    """Look at the check runs of this head alone: all those of a flood take the played GitHub long."""
    started = time.monotonic()
    pull = Person("bob", world.github, here).open_pull_request(
        {f"src/{name}.py": "def number():\n    return 1\n"}, branch=name
    )
    path, state = f"/repos/{here.name}/commits/{pull.head}/check-runs", 0.0
    while (waited := time.monotonic() - started) < PATIENCE_S:
        runs = world.github.request_as("bob", "GET", path)["check_runs"]
        state = state or (waited if runs else 0.0)
        if runs and runs[-1]["status"] == "completed":
            return Waited(state, waited)
        time.sleep(0.05)
    raise TimeoutError(f"no verdict on {name} within {PATIENCE_S:.0f} s\n{world.product.log.tail()}")


def flood(arguments: argparse.Namespace) -> int:
    """Compare a writer's pull requests before and while a stranger's forks are judged."""
    with staged({**SETTINGS, "ASSAY_RETRY_DELAY": "", "ASSAY_WORKERS": "1"}) as world:
        world.model.reply_by(lambda asked: accept(f"{first_shown(asked)}:2"))
        here = world.create_repository(BASE)

        def open_fork(_: Repository, turn: int) -> None:
            world.mallory.open_from_fork({f"src/hostile{turn}.py": f"A = {turn}\n"}, branch=f"h-{turn}")

        held = open_held(world, [here], open_fork, arguments.hostile)
        alone = [open_and_wait(world, here, f"alone-{turn}") for turn in range(arguments.trusted)]
        post_all(world, held)
        beside = [open_and_wait(world, here, f"beside-{turn}") for turn in range(arguments.trusted)]
        waiting = arguments.hostile + 2 * arguments.trusted - count_verdicts(world)
        questions = sum("src/hostile" in asked.text for asked in world.model.requests)
    before, meanwhile = (statistics.median(waited.verdict for waited in half) for half in (alone, beside))
    state, ratio = max(waited.state for waited in beside), meanwhile / before
    print(f"{arguments.hostile} hostile pull requests, {arguments.trusted} of a writer in each half; {load()}")
    print(f"a writer waits {before:.2f} s alone, {meanwhile:.2f} s beside the flood, of which {waiting} still wait")
    return report(
        (f"{ratio:.2f} times as long, at most {MOST_RATIO}", ratio <= MOST_RATIO and waiting > 0),
        (f"longest wait for a first state {state:.2f} s, at most {MOST_STATE_S:.0f}", state <= MOST_STATE_S),
        (f"{questions} questions about hostile changes, at most 0", questions == 0),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    options: dict[Callable[[argparse.Namespace], int], dict[str, int]] = {
        intake: {"rounds": 8},
        verdicts: {"pulls": 40, "questions": 2},
        flood: {"hostile": 1000, "trusted": 5},
    }
    for run, defaults in options.items():
        command = commands.add_parser(run.__name__)
        command.set_defaults(run=run)
        for name, default in defaults.items():
            command.add_argument(f"--{name}", type=int, default=default, metavar="N")
        if run is verdicts:
            command.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4], metavar="N")
    parsed = parser.parse_args()
    return parsed.run(parsed)


if __name__ == "__main__":
    sys.exit(main())
