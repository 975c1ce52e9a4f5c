"""The API over HTTP: the scope of a token, figures, verdicts on one commit, and refusals."""

import io
import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from threading import Timer
from typing import Any, cast

import httpx
import pytest
from litestar.routes import HTTPRoute

from app.web.server import create_app
from tests.app.web.web_server import WebServer, settings
from tests.worker.adapters.redis.store_samples import (
    HEAD,
    NEWER,
    REQUESTED_AT,
    close_pull_request,
    judge_request,
    ledger_entry_of,
    pull_ref,
    start_judging_new,
)
from tests.worker.evaluation.stats.history import INSTALLATION, NOON, completed_event, outcome_entry
from tests.worker.judge.samples import ledger_entry
from tests.worker.publishing.texts.samples import accepted, rejected
from worker.adapters.redis import keys
from worker.adapters.redis.encryption_and_tokens import RedisTokens
from worker.adapters.redis.store import Store
from worker.domain.judge_request import PullRef, Trigger
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import DispatchLimits
from worker.domain.model import InstallationId
from worker.domain.verdict.events import OutcomeKind
from worker.domain.verdict.verdict import Verdict

AROUND = {"from": "2026-11-20", "to": "2026-11-21"}
OTHER = InstallationId(200)


def write_events(store: Store, installation: InstallationId = INSTALLATION) -> None:
    for at_ms, kind, raw in (completed_event("e1"), outcome_entry(OutcomeKind.MERGED, "e1")):
        store.client.call("XADD", keys.events(installation).name, f"{at_ms}-*", "k", kind, "j", raw)


def create_token(store: Store, *installations: InstallationId, name: str = "test") -> str:
    token = RedisTokens(store.client).create(name, installations, datetime(2026, 11, 20, tzinfo=UTC))
    assert token is not None
    return token


def fetch(
    server: WebServer, path: str, params: Mapping[str, str] | None = None, token: str | None = None
) -> httpx.Response:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return server.http.get(path, params=params, headers=headers)


@pytest.mark.parametrize("topic", ["quality", "cost", "agreement", "backlog", "agents", "overrides"])
def test_every_topic_counts_the_installations_of_the_token(web_server: WebServer, store: Store, topic: str) -> None:
    write_events(store)
    write_events(store, OTHER)
    answer = fetch(web_server, f"/api/analytics/{topic}", AROUND, create_token(store, INSTALLATION))
    assert (answer.status_code, answer.json()["skipped"], answer.json()["is_behind"]) == (200, {}, False)
    assert answer.json()["window"] == {"from": "2026-11-20T00:00:00+00:00", "to": "2026-11-21T00:00:00+00:00"}
    assert answer.json()["counted_until"] == NOON.isoformat(timespec="milliseconds")


def test_installations_of_a_token_are_counted_together(web_server: WebServer, store: Store) -> None:
    write_events(store)
    write_events(store, OTHER)
    counts: list[int] = []
    for scope in ((), (INSTALLATION,), (INSTALLATION, OTHER)):
        quality = fetch(web_server, "/api/analytics/quality", AROUND, create_token(store, *scope)).json()
        counts.append(sum(row["verdict_count"] for row in quality["data"]))
        RedisTokens(store.client).revoke("test")
    assert counts == [0, 1, 2]


def test_invalid_parameter_is_refused_with_what_was_expected(web_server: WebServer, store: Store) -> None:
    token, expected = create_token(store, INSTALLATION), "a number from 0 to 1 with at most 2 digits"
    refused = fetch(web_server, "/api/analytics/quality", {"min_confidence": "high"}, token)
    assert (refused.status_code, refused.json()) == (
        400,
        {
            "error": f"min_confidence: expected {expected}, found 'high'.",
            "parameter": "min_confidence", "expected": expected, "found": "high",
        },
    )  # fmt: skip
    repeated = fetch(web_server, "/api/analytics/cost?subject=all&subject=ci_check", None, token)
    assert (repeated.status_code, repeated.json()["expected"]) == (400, "one value")


def test_unknown_topic_or_pull_request_is_not_found_and_a_wrong_number_refused(
    web_server: WebServer, store: Store
) -> None:
    token = create_token(store, INSTALLATION)
    unknown = fetch(web_server, "/api/analytics/savings", None, token)
    assert (unknown.status_code, "one of quality, cost" in unknown.json()["error"]) == (404, True)
    for number in (1, 1440016645):
        assert fetch(web_server, f"/api/pulls/acme/widgets/{number}", None, token).status_code == 404
    for number in ("x", 10**18):
        assert fetch(web_server, f"/api/pulls/acme/widgets/{number}", None, token).json()["parameter"] == "number"


def test_pull_request_verdicts_are_shown_without_secrets(web_server: WebServer, store: Store) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    entry = ledger_entry_of("0190aaaa-bbbb-7ccc-8ddd-eeeeffff0000", start_judging_new(store).lease.fence)
    quoting = entry.verdict.model_copy(update={"concern": f"{secret} stands in the code"})
    store.ledger.append(pull_ref(), entry.model_copy(update={"verdict": quoting}))
    _, kind, raw = outcome_entry(OutcomeKind.RETRY, entry.eval_id, number=1)
    store.client.call("XADD", keys.events(INSTALLATION).name, "*", "k", kind, "j", raw)
    response = fetch(web_server, "/api/pulls/Acme/Widgets/1", None, create_token(store, INSTALLATION))
    assert response.status_code == 200
    [shown] = response.json()["evaluations"]
    assert (shown["eval_id"], shown["decision"], shown["verdict_version"]) == (entry.eval_id, "reject", 1)
    assert secret not in response.text
    assert [outcome["outcome"] for outcome in response.json()["outcomes"]] == ["retry"]
    RedisTokens(store.client).revoke("test")
    assert fetch(web_server, "/api/pulls/acme/widgets/1", None, create_token(store, OTHER)).status_code == 404


def test_broken_stream_entries_are_skipped_and_reported(web_server: WebServer, store: Store) -> None:
    write_events(store)
    for raw in ("{", json.dumps({"v": 9}), json.dumps({"v": 1})):
        store.client.call(
            "XADD", keys.events(INSTALLATION).name, f"{completed_event()[0]}-*", "k", "eval.completed", "j", raw
        )
    quality = fetch(web_server, "/api/analytics/quality", AROUND, create_token(store, INSTALLATION)).json()
    assert quality["skipped"] == {"broken": 1, "unreadable": 2}
    assert quality["data"][0]["verdict_count"] == 1


def test_request_counts_a_limited_number_of_entries_and_a_process_the_rest(
    web_server: WebServer, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is the same for one installation and for many."""
    monkeypatch.setattr("app.web.api.MOST_ENTRIES", 3)
    write_events(store)
    write_events(store, OTHER)
    token = create_token(store, INSTALLATION, OTHER)
    first = fetch(web_server, "/api/analytics/overrides", AROUND, token).json()
    assert (first["is_behind"], first["outcomes"]) == (True, {"merged": 1})
    assert first["counted_until"] == NOON.isoformat(timespec="milliseconds")
    monkeypatch.setattr("app.web.api.MOST_ENTRIES", 0)
    until = time.monotonic() + 30
    while (last := fetch(web_server, "/api/analytics/overrides", AROUND, token).json())["is_behind"]:
        assert time.monotonic() < until
    assert last["outcomes"] == {"merged": 2}


def get_verdict(
    server: WebServer, store: Store, sha: str = HEAD, wait: str = "0", installations: tuple[int, ...] = (100,)
) -> httpx.Response:
    token = create_token(store, *map(InstallationId, installations), name=f"for-{sha}-{wait}")
    headers = {"Authorization": f"Bearer {token}"}
    return server.http.get(f"/api/verdicts/acme/widgets/{sha}", params={"wait": wait}, headers=headers, timeout=30)


def test_pain_06_waiting_on_a_commit_never_returns_another_commits_verdict(web_server: WebServer, store: Store) -> None:
    leased_job = start_judging_new(store)
    store.ledger.append(pull_ref(), ledger_entry_of("verdict-of-a", leased_job.lease.fence))
    store.pulls.finish(leased_job.lease, Finish.JUDGED)
    first = get_verdict(web_server, store).json()
    assert (first["state"], first["number"], first["verdict"]["eval_id"]) == ("done", 1, "verdict-of-a")

    store.pulls.request_judging(judge_request(head_sha=NEWER))
    waiting = get_verdict(web_server, store, NEWER).json()
    assert (waiting["state"], waiting["verdict"]) == ("pending", None)
    late = get_verdict(web_server, store, wait="0.1").json()
    assert (late["state"], late["verdict"], late["superseded_by"]) == ("superseded", None, NEWER)


def test_wait_returns_when_the_verdict_arrives(web_server: WebServer, store: Store) -> None:
    leased_job = start_judging_new(store)

    def finish() -> None:
        store.ledger.append(pull_ref(), ledger_entry_of("late", leased_job.lease.fence))
        store.pulls.finish(leased_job.lease, Finish.JUDGED)

    timer = Timer(0.2, finish)
    timer.start()
    answer = get_verdict(web_server, store, wait="20").json()
    timer.join()
    assert (answer["state"], answer["verdict"]["eval_id"]) == ("done", "late")


def judge_due(store: Store, ref: PullRef, verdict: Verdict) -> None:
    """Store *verdict* for the due judging of this pull request."""
    job = store.pulls.next_due(f"call-{ref.installation_id}-{ref.number}", DispatchLimits(1, 10))
    leased_job = job and store.pulls.take_lease(ref, job.fence)
    assert leased_job is not None
    store.ledger.append(ref, ledger_entry(verdict, fence=leased_job.lease.fence, head_sha=HEAD))
    store.pulls.finish(leased_job.lease, Finish.JUDGED)


def test_accept_is_withheld_while_another_open_pull_request_of_the_head_blocks(
    web_server: WebServer, store: Store
) -> None:
    store.pulls.request_judging(judge_request(number=2))
    judge_due(store, pull_ref(2), accepted())
    assert get_verdict(web_server, store).json()["verdict"]["decision"] == "accept"

    store.pulls.request_judging(judge_request())
    answer = get_verdict(web_server, store, wait="0.01").json()
    assert (answer["state"], answer["number"], answer["verdict"]) == ("pending", 1, None)
    judge_due(store, pull_ref(), rejected())
    answer = get_verdict(web_server, store, wait="0.02").json()
    assert (answer["state"], answer["number"], answer["verdict"]["decision"]) == ("done", 1, "reject")

    close_pull_request(store, pull_ref(), timedelta(days=1))
    answer = get_verdict(web_server, store, wait="0.03").json()
    assert (answer["number"], answer["verdict"]["decision"], answer["other_pull_requests"]) == (2, "accept", [1])


def test_verdict_of_a_newer_installation_replaces_an_older_one(web_server: WebServer, store: Store) -> None:
    store.pulls.request_judging(judge_request())
    judge_due(store, pull_ref(), rejected())
    store.pulls.request_judging(judge_request(installation=200))
    judge_due(store, pull_ref(installation=200), accepted())
    answer = get_verdict(web_server, store, installations=(100, 200)).json()
    assert (answer["verdict"]["decision"], answer["other_pull_requests"]) == ("accept", [])


def test_unknown_commit_is_none_after_the_wait(web_server: WebServer, store: Store) -> None:
    answer = get_verdict(web_server, store, "9" * 40, wait="0.6")
    assert (answer.status_code, answer.json()["state"], answer.json()["number"]) == (200, "none", None)
    assert answer.headers["Cache-Control"] == "no-store"


def test_draft_has_no_pending_verdict(web_server: WebServer, store: Store) -> None:
    store.pulls.request_judging(judge_request(trigger=Trigger.OPENED, draft=True))
    answer = get_verdict(web_server, store, wait="20").json()
    assert (answer["state"], answer["number"], "draft" in answer["why"]) == ("none", 1, True)


@pytest.mark.parametrize(
    ("sha", "wait", "parameter"),
    [
        ("abc", "0", "sha"),
        ("g" * 40, "0", "sha"),
        (HEAD, "61", "wait"),
        (HEAD, "-1", "wait"),
        (HEAD, "nan", "wait"),
        (HEAD, "٣", "wait"),
    ],
)
def test_invalid_sha_or_wait_is_refused(
    web_server: WebServer, store: Store, sha: str, wait: str, parameter: str
) -> None:
    refused = get_verdict(web_server, store, sha, wait)
    assert (refused.status_code, refused.json()["parameter"]) == (400, parameter)


def api_routes(store: Store) -> list[HTTPRoute]:
    app = create_app(settings(), store, io.StringIO())
    return [cast("HTTPRoute", route) for route in app.routes if route.path.startswith("/api")]


def example_paths(store: Store) -> list[str]:
    """The path of each API route with a value for each parameter."""
    paths: list[str] = []
    for route in api_routes(store):
        parts = cast("list[Any]", route.path_components)
        paths.append("/" + "/".join(part if isinstance(part, str) else "1" * 40 for part in parts))
    return paths


def test_api_routes_are_read_only(store: Store) -> None:
    assert len(api_routes(store)) >= 2
    assert {method for route in api_routes(store) for method in route.methods} <= {"GET", "OPTIONS", "HEAD"}


def test_api_refuses_missing_unknown_and_revoked_tokens(web_server: WebServer, store: Store) -> None:
    tokens = store.tokens()
    revoked = tokens.create("gone", [InstallationId(1)], REQUESTED_AT)
    tokens.revoke("gone")
    for claimed, problem in (
        (None, "found none"),
        ("Bearer", "another scheme"),
        ("Bearer made-up", "was revoked"),
        (f"Bearer {revoked}", "was revoked"),
        (f"Basic {revoked}", "another scheme"),
    ):
        headers = {"Authorization": claimed} if claimed else {}
        answers = {path: web_server.http.get(path, headers=headers) for path in example_paths(store)}
        assert {path: answer.status_code for path, answer in answers.items()} == dict.fromkeys(answers, 401)
        assert all(problem in answer.json()["error"] for answer in answers.values())
        assert {answer.headers["WWW-Authenticate"] for answer in answers.values()} == {'Bearer realm="assay"'}
        assert not [answer for answer in answers.values() if str(revoked) in answer.text]


def test_token_opens_neither_webhooks_nor_setup(web_server: WebServer, store: Store) -> None:
    token = store.tokens().create("mine", [InstallationId(1)], REQUESTED_AT)
    headers = {"Authorization": f"Bearer {token}"}
    for path in example_paths(store):
        assert web_server.http.get(path, headers=headers).status_code in (200, 400, 404), path
    assert web_server.http.post("/github/webhooks", content=b"{}", headers=headers).status_code == 401
    assert web_server.http.post("/setup", content=f"token={token}", headers=headers).status_code == 404
