"""The 329 webhook payloads that octokit publishes as examples."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from tests.world.node import GITHUB

PUBLISHED = GITHUB / "node_modules" / "@octokit" / "webhooks-examples" / "api.github.com" / "index.json"


@dataclass(frozen=True, slots=True)
class Example:
    """One payload; `name` is its X-GitHub-Event."""

    name: str
    position: int
    payload: dict[str, Any]

    @property
    def id(self) -> str:
        action = self.payload.get("action")
        return f"{self.name}.{action}-{self.position}" if action else f"{self.name}-{self.position}"


@cache
def load_examples() -> tuple[Example, ...]:
    return tuple(_read())


def _read() -> Iterator[Example]:
    for event in json.loads(PUBLISHED.read_text(encoding="utf-8")):
        for position, payload in enumerate(event["examples"]):
            yield Example(event["name"], position, payload)
