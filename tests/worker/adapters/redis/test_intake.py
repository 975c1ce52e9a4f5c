"""The door's part of the store loads nothing that the door does not need, and writes what the judges read."""

import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.worker.adapters.redis.played import HEAD, wish
from worker.adapters.redis import keys
from worker.adapters.redis.judging.intake import DELIVERY_S, PULL_S, lifetime_s, request_json
from worker.domain.ids import DeliveryId, InstallationId, RepositoryId
from worker.domain.judge_request import AuthorKind, FirstSeen, JudgeRequest, PullRef, Trigger

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


@pytest.mark.parametrize("more", [{}, ALL, {"head_sha": None}, {"requested_at": AT.replace(microsecond=0)}])
@pytest.mark.parametrize("repository", ["acme/widgets", 'ä"\\/\x7f\U0001f4a1'])
def test_a_request_is_written_as_its_model_says_it(more: dict[str, Any], repository: str) -> None:
    pull = PullRef(installation_id=InstallationId(1), repository_id=RepositoryId(2**63 - 1), number=3)
    said: dict[str, Any] = {"pull": pull, "repository": repository, "head_sha": SHA, "trigger": Trigger.PUSHED}
    said |= {"delivery_id": DeliveryId("d-1"), "requested_at": AT, **more}
    request = JudgeRequest(**said)
    assert request_json(request) == request.model_dump_json()
    assert JudgeRequest.model_validate_json(request_json(request)) == request


def test_what_the_door_says_of_times_is_what_the_keys_say() -> None:
    place, head = wish().pull, HEAD
    heads = keys.heads(place.installation_id, place.repository_id, head)
    assert [lifetime_s(keys.pull(place)), lifetime_s(heads)] == [PULL_S, PULL_S]
    assert lifetime_s(keys.delivery(wish().delivery_id)) == DELIVERY_S
