"""The whole product on a stage of its own: a played GitHub, a scripted model, a Redis, `assay serve` and `assay work`.

Measures nothing. Invariant: everything is on loopback or on a unix socket, and what was started is ended with the block.
"""

import logging
import os
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pytest_httpserver import HTTPServer  # noqa: E402 - found from any working directory

from tests.world.anthropic import DIFF, Anthropic, Asked  # noqa: E402 - as above
from tests.world.github_bench import Exchange, GitHub  # noqa: E402 - as above
from tests.world.product import ASSAY, Product, environment  # noqa: E402 - as above
from tests.world.redis import Redis  # noqa: E402 - as above
from tests.world.tester import World  # noqa: E402 - as above

AS_SHIPPED: Mapping[str, str] = dict.fromkeys(
    ("ASSAY_GATHER", "ASSAY_LEADER", "ASSAY_SWEEP", "ASSAY_TICK", "ASSAY_CI_POLL", "ASSAY_CI_WAIT"), ""
)
"""Durations that conversations shorten: here they are those of a product that nobody set up."""
PLENTY = 1_000_000


@contextmanager
def staged(changes: Mapping[str, str], program: Sequence[str] = (str(ASSAY),)) -> Generator[World]:
    """A running product, with *changes* to the settings that conversations run it by, and the world around it.

    *program* is run in place of `assay`.
    """
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # else a line for every question
    github = GitHub.start()
    try:
        github.verb("rate", remaining=PLENTY)
        with HTTPServer(threaded=True) as server, _redis() as redis:
            model = Anthropic(server)
            product = Product.started(environment(github.ready, model.url, redis, changes), program=program)
            try:
                yield World(github, product, model, redis)
            finally:
                model.release()
                product.stop()
    finally:
        github.stop()


@contextmanager
def _redis() -> Generator[Redis]:
    redis = Redis.started()
    try:
        yield redis
    finally:
        redis.end()


class Traffic:
    """What GitHub was asked under the App's credentials since the last look."""

    def __init__(self, github: GitHub) -> None:
        self._github = github
        self._names = (f"app:{github.ready.app_id}", f"installation:{github.ready.installation_id}")
        self._seen = dict.fromkeys(self._names, 0)

    def since(self) -> list[Exchange]:
        """As the App and as its installation, each in the order in which it was asked."""
        found: list[Exchange] = []
        for name in self._names:
            asked = self._github.requests(None, name)
            found += asked[self._seen[name] :]
            self._seen[name] = len(asked)
        return found


def first_shown(asked: Asked) -> str:
    """The first file that a question shows."""
    found = DIFF.search(asked.text)
    assert found, "a question without a change"
    return found[1]


def at(values: Sequence[float], share: float) -> float:
    """The value below which this share of *values* lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def load() -> str:
    """How busy the machine is: every time is to be read beside it."""
    one, five, _ = os.getloadavg()
    return f"load {one:.1f} (5 min: {five:.1f}) on {os.cpu_count()} processors"


__all__ = ["AS_SHIPPED", "Traffic", "at", "first_shown", "load", "staged"]
