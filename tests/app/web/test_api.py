"""The records over HTTP: with a token, about the installations that it names, and with words for what is refused."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from tests.app.web.served import ServedDoor
from tests.worker.adapters.redis.played import pull
from tests.worker.adapters.redis.test_kept import entry, judging
from tests.worker.evaluation.stats.told import HERE, NOON, completed, outcome
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.adapters.redis.tokens import RedisTokens
from worker.domain.ids import InstallationId
from worker.domain.verdict.outcomes import OutcomeKind

AROUND = {"from": "2026-11-20", "to": "2026-11-21"}
OTHER = InstallationId(200)


def told(store: Store, installation: InstallationId = HERE) -> None:
    for at_ms, kind, raw in (completed("e1"), outcome(OutcomeKind.MERGED, "e1")):
        store.client.call("XADD", keys.events(installation).name, f"{at_ms}-*", "k", kind, "j", raw)


def token(store: Store, *installations: InstallationId) -> str:
    made = RedisTokens(store.client).create("test", installations, datetime(2026, 11, 20, tzinfo=UTC))
    assert made is not None
    return made


def get(
    door: ServedDoor, path: str, given: Mapping[str, str] | None = None, token: str | None = None
) -> httpx.Response:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return door.http.get(path, params=given, headers=headers)


@pytest.mark.parametrize("topic", ["quality", "cost", "agreement", "backlog", "agents", "overrides"])
def test_every_topic_is_answered_for_the_installations_of_the_token(door: ServedDoor, store: Store, topic: str) -> None:
    told(store)
    told(store, OTHER)
    one = get(door, f"/api/analytics/{topic}", AROUND, token(store, HERE))
    assert (one.status_code, one.json()["skipped"], one.json()["is_behind"]) == (200, {}, False)
    assert one.json()["window"] == {"from": "2026-11-20T00:00:00+00:00", "to": "2026-11-21T00:00:00+00:00"}
    assert one.json()["counted_until"] == NOON.isoformat(timespec="milliseconds")


def test_several_installations_are_counted_together_and_none_for_a_token_of_none(
    door: ServedDoor, store: Store
) -> None:
    told(store)
    told(store, OTHER)
    counts: list[int] = []
    for scope in ((), (HERE,), (HERE, OTHER)):
        found = get(door, "/api/analytics/quality", AROUND, token(store, *scope)).json()
        counts.append(sum(row["verdict_count"] for row in found["data"]))
        RedisTokens(store.client).revoke("test")
    assert counts == [0, 1, 2]


def test_without_a_token_that_is_known_nothing_is_answered(door: ServedDoor, store: Store) -> None:
    told(store)
    good = token(store, HERE)
    assert get(door, "/api/analytics/quality").status_code == 401
    wrong = get(door, "/api/analytics/quality", token=f"{good}x")
    assert (wrong.status_code, wrong.headers["WWW-Authenticate"]) == (401, 'Bearer realm="assay"')
    assert good not in wrong.text
    basic = door.http.get("/api/pulls/acme/widgets/1", headers={"Authorization": "Basic abc"})
    assert (basic.status_code, "another scheme" in basic.json()["error"]) == (401, True)
    RedisTokens(store.client).revoke("test")
    assert get(door, "/api/analytics/quality", token=good).status_code == 401


def test_a_parameter_that_can_not_be_used_is_told(door: ServedDoor, store: Store) -> None:
    refused = get(door, "/api/analytics/quality", {"min_confidence": "high"}, token(store, HERE))
    assert refused.status_code == 400
    assert refused.json() == {
        "error": "min_confidence: expected a number from 0 to 1 with at most 2 digits, found 'high'.",
        "parameter": "min_confidence",
        "expected": "a number from 0 to 1 with at most 2 digits",
        "found": "high",
    }


def test_a_parameter_that_is_given_twice_is_told(door: ServedDoor, store: Store) -> None:
    refused = get(door, "/api/analytics/cost?subject=all&subject=ci_check", None, token(store, HERE))
    assert (refused.status_code, refused.json()["expected"]) == (400, "one value")


def test_what_is_no_topic_and_what_is_not_on_record_are_not_found(door: ServedDoor, store: Store) -> None:
    made = token(store, HERE)
    nothing = get(door, "/api/analytics/savings", None, made)
    assert (nothing.status_code, "one of quality, cost" in nothing.json()["error"]) == (404, True)
    assert get(door, "/api/pulls/acme/widgets/1", None, made).status_code == 404
    assert get(door, "/api/pulls/acme/widgets/x", None, made).json()["parameter"] == "number"


def test_a_pull_requests_verdicts_are_shown_to_who_may_see_them_without_secrets(door: ServedDoor, store: Store) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    made = entry("0190aaaa-bbbb-7ccc-8ddd-eeeeffff0000", judging(store).lease.fence)
    quoting = made.verdict.model_copy(update={"concern": f"{secret} stands in the code"})
    store.ledger.append(pull(), made.model_copy(update={"verdict": quoting}))
    store.client.call("XADD", keys.events(HERE).name, "*", *_fields(outcome(OutcomeKind.RETRY, made.eval_id, number=1)))
    found = get(door, "/api/pulls/Acme/Widgets/1", None, token(store, HERE))
    assert found.status_code == 200
    [shown] = found.json()["evaluations"]
    assert (shown["eval_id"], shown["decision"], shown["verdict_version"]) == (made.eval_id, "reject", 1)
    assert secret not in found.text
    assert [one["outcome"] for one in found.json()["outcomes"]] == ["retry"]
    RedisTokens(store.client).revoke("test")
    assert get(door, "/api/pulls/acme/widgets/1", None, token(store, OTHER)).status_code == 404


def _fields(one: tuple[int, bytes, bytes]) -> list[Any]:
    return ["k", one[1], "j", one[2]]


def test_what_is_broken_in_a_stream_is_reported_and_not_fatal(door: ServedDoor, store: Store) -> None:
    told(store)
    for raw in ("{", json.dumps({"v": 9}), json.dumps({"v": 1})):
        store.client.call("XADD", keys.events(HERE).name, f"{completed()[0]}-*", "k", "eval.completed", "j", raw)
    found = get(door, "/api/analytics/quality", AROUND, token(store, HERE)).json()
    assert found["skipped"] == {"broken": 1, "unreadable": 2}
    assert found["data"][0]["verdict_count"] == 1


def test_a_laptops_pull_request_has_a_long_number(door: ServedDoor, store: Store) -> None:
    made = token(store, HERE)
    assert get(door, "/api/pulls/acme/widgets/1440016645", None, made).status_code == 404
    assert get(door, f"/api/pulls/acme/widgets/{10**18}", None, made).json()["parameter"] == "number"


def test_one_question_counts_no_more_for_many_installations_than_for_one(
    door: ServedDoor, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.web.api.MOST_ENTRIES", 3)
    told(store)
    told(store, OTHER)
    made = token(store, HERE, OTHER)
    first, second = (get(door, "/api/analytics/overrides", AROUND, made).json() for _ in range(2))
    assert (first["is_behind"], first["outcomes"]) == (True, {"merged": 1})
    assert (second["is_behind"], second["outcomes"]) == (False, {"merged": 2})
