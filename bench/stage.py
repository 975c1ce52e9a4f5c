"""The whole product beside a played GitHub, a scripted model and a Redis, as real processes; and figures of processes.

Everything is on loopback or on a unix socket, and ends with the block that started it.
"""

import logging
import os
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pytest_httpserver import HTTPServer

from tests.world.fake_anthropic import DIFF, FakeAnthropic, ModelRequest
from tests.world.fake_github import FakeGitHub
from tests.world.product import ASSAY, Product, build_environment
from tests.world.redis import RedisServer
from tests.world.world import World

AS_SHIPPED: Mapping[str, str] = dict.fromkeys(
    ("ASSAY_GATHER", "ASSAY_LEADER", "ASSAY_SWEEP", "ASSAY_TICK", "ASSAY_CI_POLL", "ASSAY_CI_WAIT"), ""
)
"""The durations that conversations shorten, as they are without a setting."""

RATE_LIMIT = 1_000_000


@contextmanager
def staged(
    changes: Mapping[str, str],
    program: Sequence[str] = (str(ASSAY),),
    others: Mapping[str, int] | None = None,
    machines: int = 1,
) -> Generator[World]:
    """A running product and the world around it.

    *changes* to its settings; *program* is run in place of `assay`; *others*: further owners that installed the App;
    *machines*: how many `assay work` there are.
    """
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # else a line for every question
    with ExitStack() as stack:
        github = FakeGitHub.start(others)
        stack.callback(github.stop)
        github.control("rate", remaining=RATE_LIMIT)
        server = stack.enter_context(HTTPServer(threaded=True))
        redis = RedisServer.launch()
        stack.callback(redis.end)
        model = FakeAnthropic(server)
        variables = build_environment(github.info, model.url, redis, changes)
        product = Product.launch(variables, ("serve", *["work"] * machines), program)
        stack.callback(product.stop)
        stack.callback(model.release)
        yield World(github, product, model, redis)


def first_shown(asked: ModelRequest) -> str:
    """The first file that a question shows."""
    match = DIFF.search(asked.text)
    assert match, "a question without a change"
    return match[1]


def at(values: Sequence[float], share: float) -> float:
    """The value below which this share of *values* lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def load() -> str:
    """How busy the machine is: every time is to be read beside it."""
    last_minute, five, _ = os.getloadavg()
    return f"load {last_minute:.1f} (5 min: {five:.1f}) on {os.cpu_count()} processors"


def cpu_seconds(processes: Iterable[int]) -> float:
    """CPU time of these processes with all their threads, and of their children that have ended."""
    ticks = 0
    for process in processes:
        try:
            stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
        except FileNotFoundError:
            continue  # a job that has ended since: its parent has its time
        ticks += sum(int(field) for field in stat.rpartition(")")[2].split()[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def memory_mib(process: int, kind: str) -> float:
    """Resident memory now (VmRSS) or at most (VmHWM)."""
    return int(Path(f"/proc/{process}/status").read_text("ascii").partition(f"{kind}:")[2].split()[0]) / 1024
