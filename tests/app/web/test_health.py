"""Alive, ready, and what came. Invariant: a delivery that could not be written down stays redeliverable."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from inline_snapshot import snapshot

from app.web.health import DeliveryCounters, DeliveryOutcome
from tests.app.web.served import PATH, SHA, ServedDoor, payload, served, standard_headers
from tests.world.redis import Redis
from worker.adapters.redis import keys
from worker.domain.ids import InstallationId, RepositoryId
from worker.domain.judge_request import PullRef
from worker.domain.lifecycle.intake import IntakeOutcome

PULL = PullRef(installation_id=InstallationId(1), repository_id=RepositoryId(7), number=3)


@pytest.fixture
def fragile() -> Iterator[ServedDoor]:
    """A door with a Redis of its own, for breaking."""
    redis = Redis.started()
    with served(redis) as door:
        yield door
    redis.end()


def test_a_door_with_its_redis_is_live_and_ready(door: ServedDoor) -> None:
    live, ready = door.http.get("/livez"), door.http.get("/readyz")
    assert (live.status_code, live.json()) == (200, {"status": "live"})
    assert (ready.status_code, ready.json()) == (200, {"status": "ready"})


def test_while_redis_is_gone_deliveries_are_503_and_taken_again_afterwards(fragile: ServedDoor) -> None:
    fragile.redis.kill()
    refused = fragile.deliver("pull_request", payload(), {"X-GitHub-Delivery": "d-1"})
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "30")
    assert "Redis is unavailable" in refused.json()["error"]
    assert [(line["outcome"], line["status"]) for line in fragile.lines] == [("unavailable", 503)]
    ready = fragile.http.get("/readyz")
    assert (ready.status_code, ready.json()["status"]) == (503, "not ready")
    assert "Redis is unavailable" in ready.json()["reason"]
    assert fragile.http.get("/livez").status_code == 200
    assert fragile.deliver("ping", {}).json() == {"ignored": "unhandled:ping"}

    fragile.redis.start()
    again = fragile.deliver("pull_request", payload(), {"X-GitHub-Delivery": "d-1"})
    assert (again.status_code, again.json()) == (202, {"outcome": "queued"})
    assert fragile.http.get("/readyz").status_code == 200


def test_a_store_key_that_is_missing_is_told_and_deliveries_are_taken(fragile: ServedDoor) -> None:
    key_id, now = "0a1b2c3d", int(time.time())
    fragile.at_redis.hset(keys.ENCRYPTION_KEYS.name, key_id, now)
    ready = fragile.http.get("/readyz")
    assert (ready.status_code, ready.json()) == snapshot(
        (
            200,
            {
                "status": "ready",
                "problem": "ASSAY_STORE_KEYS (embedded Redis: store.key) lacks a key that encrypts what is stored. See assay doctor.",
            },
        )
    )
    assert fragile.deliver("pull_request", payload()).status_code == 202
    fragile.at_redis.hset(keys.ENCRYPTION_KEYS.name, key_id, now - 91 * 24 * 3600)
    assert fragile.http.get("/readyz").json() == {"status": "ready"}, "nothing of it is kept so long"


def test_a_redis_whose_memory_is_full_is_503_and_nothing_is_lost(fragile: ServedDoor) -> None:
    with fragile.redis.client as redis:
        client: Any = redis
        client.config_set("maxmemory", 1)
        full = fragile.deliver("pull_request", payload(), {"X-GitHub-Delivery": "d-1"})
        assert (full.status_code, full.headers["Retry-After"]) == (503, "30")
        assert "OOM command not allowed" in full.json()["error"]
        assert fragile.http.get("/livez").status_code == 200
        client.config_set("maxmemory", 0)
    again = fragile.deliver("pull_request", payload(), {"X-GitHub-Delivery": "d-1"})
    assert (again.status_code, again.json()) == (202, {"outcome": "queued"})


def test_a_redis_that_hangs_is_503_within_its_timeout_and_nothing_is_lost(fragile: ServedDoor) -> None:
    with fragile.redis.frozen():
        assert fragile.deliver("pull_request", payload(), {"X-GitHub-Delivery": "d-1"}).status_code == 503
        assert fragile.http.get("/readyz").status_code == 503
        assert fragile.http.get("/livez").status_code == 200
    again = fragile.deliver("pull_request", payload(), {"X-GitHub-Delivery": "d-1"})
    assert again.json()["outcome"] in {"queued", "duplicate"}  # the first may have been heard, its answer not
    assert fragile.apply() == [IntakeOutcome.QUEUED]
    with fragile.redis.client as redis:
        assert redis.hget(keys.pull(PULL).name, "head") == SHA


@pytest.mark.parametrize("path", [PATH, f"{PATH}/"], ids=["shortcut", "through-the-framework"])
def test_a_bug_is_500_without_a_traceback_and_in_the_log_with_one(
    door: ServedDoor, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    with door.redis.client as redis:
        redis.set(keys.INBOX.name, "not a list")
    body = json.dumps(payload()).encode()
    headers = {**standard_headers("pull_request", body), "X-GitHub-Delivery": "d-1"}
    response = door.http.post(path, content=body, headers=headers)
    assert (response.status_code, response.json()) == (500, {"error": "Assay itself failed. Its log says where."})
    [line] = door.lines
    assert (line["event"], line["level"], line["delivery_id"]) == ("failed", "error", "d-1")
    assert "Traceback" in line["exception"]
    assert SHA not in line["exception"]
    assert door.http.get("/livez").status_code == 200
    assert not [record for record in caplog.records if record.name.startswith("uvicorn")], "and nowhere else"


def test_nobody_who_can_deliver_is_told_how_we_fare(door: ServedDoor) -> None:
    assert door.http.get("/metrics").status_code == 404


def test_a_tally_begins_at_zero_and_names_each_outcome() -> None:
    assert DeliveryCounters().counts == dict.fromkeys(DeliveryOutcome, 0)
    tally = DeliveryCounters()
    tally.count(DeliveryOutcome.QUEUED)
    assert tally.counts["queued"] == 1
