"""The door's part of the store loads nothing that the door does not need, and writes what the judges read."""

import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

from tests.worker.adapters.redis.store_samples import HEAD, judge_request
from worker.adapters.redis import keys
from worker.adapters.redis.judging.intake import PULL_S
from worker.domain.judge_request import AuthorKind, FirstSeen

SHA, AT = "1" * 40, datetime(2026, 11, 21, 10, 0, 0, 5, tzinfo=UTC)
ALL: dict[str, Any] = {
    "outages": 2,
    "author": AuthorKind.AGENT,
    "draft": True,
    "arrived": FirstSeen(head_sha=SHA, at=AT),
    "base_sha": SHA,
}


def test_the_door_loads_neither_queue_nor_client_nor_cipher() -> None:
    wanted = ("redis", "rq", "cryptography", "asyncio")
    code = (
        f"import sys, worker.adapters.redis.judging.intake; print([name for name in {wanted} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_what_the_door_says_of_times_is_what_the_keys_say() -> None:
    place, head = judge_request().pull, HEAD
    heads = keys.heads(place.installation_id, place.repository_id, head)
    assert [keys.pull(place).seconds, heads.seconds] == [PULL_S, PULL_S]
