"""The API over HTTP: scopes of a token, the verdict on one commit, and the words of a refusal."""

import io
import json
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from threading import Timer
from typing import Any, cast

import httpx
import pytest
from litestar.routes import HTTPRoute

from app.web.asgi import create_app
from tests.app.web.web_server import WebServer, settings
from tests.worker.adapters.redis.store_samples import (
    HEAD,
    NEWER,
    REQUESTED_AT,
    close_pull_request,
    judge_request,
    pull_ref,
)
from tests.worker.adapters.redis.test_lease_writes import ledger_entry_of, start_judging_new
from tests.worker.evaluation.stats.history import INSTALLATION, NOON, completed_event, outcome_entry
from tests.worker.judge.samples import ledger_entry
from tests.worker.publishing.texts.samples import accepted, rejected
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.adapters.redis.tokens import RedisTokens
from worker.domain.ids import InstallationId
from worker.domain.judge_request import PullRef, Trigger
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import DispatchLimits
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.outcomes import OutcomeKind

AROUND = {"from": "2026-11-20", "to": "2026-11-21"}
OTHER = InstallationId(200)


def told(store: Store, installation: InstallationId = INSTALLATION) -> None:
    for at_ms, kind, raw in (completed_event("e1"), outcome_entry(OutcomeKind.MERGED, "e1")):
        store.client.call("XADD", keys.events(installation).name, f"{at_ms}-*", "k", kind, "j", raw)


def token(store: Store, *installations: InstallationId) -> str:
    made = RedisTokens(store.client).create("test", installations, datetime(2026, 11, 20, tzinfo=UTC))
    assert made is not None
    return made


def get(door: WebServer, path: str, given: Mapping[str, str] | None = None, token: str | None = None) -> httpx.Response:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return door.http.get(path, params=given, headers=headers)


@pytest.mark.parametrize("topic", ["quality", "cost", "agreement", "backlog", "agents", "overrides"])
def test_every_topic_is_answered_for_the_installations_of_the_token(
    web_server: WebServer, store: Store, topic: str
) -> None:
    told(store)
    told(store, OTHER)
    one = get(web_server, f"/api/analytics/{topic}", AROUND, token(store, INSTALLATION))
    assert (one.status_code, one.json()["skipped"], one.json()["is_behind"]) == (200, {}, False)
    assert one.json()["window"] == {"from": "2026-11-20T00:00:00+00:00", "to": "2026-11-21T00:00:00+00:00"}
    assert one.json()["counted_until"] == NOON.isoformat(timespec="milliseconds")


def test_several_installations_are_counted_together_and_none_for_a_token_of_none(
    web_server: WebServer, store: Store
) -> None:
    told(store)
    told(store, OTHER)
    counts: list[int] = []
    for scope in ((), (INSTALLATION,), (INSTALLATION, OTHER)):
        found = get(web_server, "/api/analytics/quality", AROUND, token(store, *scope)).json()
        counts.append(sum(row["verdict_count"] for row in found["data"]))
        RedisTokens(store.client).revoke("test")
    assert counts == [0, 1, 2]


def test_a_parameter_that_can_not_be_used_is_told(web_server: WebServer, store: Store) -> None:
    refused = get(web_server, "/api/analytics/quality", {"min_confidence": "high"}, token(store, INSTALLATION))
    assert refused.status_code == 400
    assert refused.json() == {
        "error": "min_confidence: expected a number from 0 to 1 with at most 2 digits, found 'high'.",
        "parameter": "min_confidence",
        "expected": "a number from 0 to 1 with at most 2 digits",
        "found": "high",
    }


def test_a_parameter_that_is_given_twice_is_told(web_server: WebServer, store: Store) -> None:
    refused = get(web_server, "/api/analytics/cost?subject=all&subject=ci_check", None, token(store, INSTALLATION))
    assert (refused.status_code, refused.json()["expected"]) == (400, "one value")


def test_what_is_no_topic_and_what_is_not_on_record_are_not_found(web_server: WebServer, store: Store) -> None:
    made = token(store, INSTALLATION)
    nothing = get(web_server, "/api/analytics/savings", None, made)
    assert (nothing.status_code, "one of quality, cost" in nothing.json()["error"]) == (404, True)
    assert get(web_server, "/api/pulls/acme/widgets/1", None, made).status_code == 404
    assert get(web_server, "/api/pulls/acme/widgets/x", None, made).json()["parameter"] == "number"


def test_a_pull_requests_verdicts_are_shown_to_who_may_see_them_without_secrets(
    web_server: WebServer, store: Store
) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    made = ledger_entry_of("0190aaaa-bbbb-7ccc-8ddd-eeeeffff0000", start_judging_new(store).lease.fence)
    quoting = made.verdict.model_copy(update={"concern": f"{secret} stands in the code"})
    store.ledger.append(pull_ref(), made.model_copy(update={"verdict": quoting}))
    store.client.call(
        "XADD", keys.events(INSTALLATION).name, "*", *_fields(outcome_entry(OutcomeKind.RETRY, made.eval_id, number=1))
    )
    found = get(web_server, "/api/pulls/Acme/Widgets/1", None, token(store, INSTALLATION))
    assert found.status_code == 200
    [shown] = found.json()["evaluations"]
    assert (shown["eval_id"], shown["decision"], shown["verdict_version"]) == (made.eval_id, "reject", 1)
    assert secret not in found.text
    assert [one["outcome"] for one in found.json()["outcomes"]] == ["retry"]
    RedisTokens(store.client).revoke("test")
    assert get(web_server, "/api/pulls/acme/widgets/1", None, token(store, OTHER)).status_code == 404


def _fields(one: tuple[int, bytes, bytes]) -> list[Any]:
    return ["k", one[1], "j", one[2]]


def test_what_is_broken_in_a_stream_is_reported_and_not_fatal(web_server: WebServer, store: Store) -> None:
    told(store)
    for raw in ("{", json.dumps({"v": 9}), json.dumps({"v": 1})):
        store.client.call(
            "XADD", keys.events(INSTALLATION).name, f"{completed_event()[0]}-*", "k", "eval.completed", "j", raw
        )
    found = get(web_server, "/api/analytics/quality", AROUND, token(store, INSTALLATION)).json()
    assert found["skipped"] == {"broken": 1, "unreadable": 2}
    assert found["data"][0]["verdict_count"] == 1


def test_a_laptops_pull_request_has_a_long_number(web_server: WebServer, store: Store) -> None:
    made = token(store, INSTALLATION)
    assert get(web_server, "/api/pulls/acme/widgets/1440016645", None, made).status_code == 404
    assert get(web_server, f"/api/pulls/acme/widgets/{10**18}", None, made).json()["parameter"] == "number"


def test_one_question_counts_so_much_and_a_process_beside_counts_the_rest(
    web_server: WebServer, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of many installations no more than of one."""
    monkeypatch.setattr("app.web.api.MOST_ENTRIES", 3)
    told(store)
    told(store, OTHER)
    made = token(store, INSTALLATION, OTHER)
    first = get(web_server, "/api/analytics/overrides", AROUND, made).json()
    assert (first["is_behind"], first["outcomes"]) == (True, {"merged": 1})
    assert first["counted_until"] == NOON.isoformat(timespec="milliseconds")
    monkeypatch.setattr("app.web.api.MOST_ENTRIES", 0)
    until = time.monotonic() + 30
    while (last := get(web_server, "/api/analytics/overrides", AROUND, made).json())["is_behind"]:
        assert time.monotonic() < until
    assert last["outcomes"] == {"merged": 2}


def ask(door: WebServer, store: Store, sha: str = HEAD, wait: str = "0", of: int = 100) -> httpx.Response:
    made = RedisTokens(store.client).create(
        f"for-{of}-{sha}-{wait}", [InstallationId(of)], datetime(2026, 11, 20, tzinfo=UTC)
    )
    assert made is not None
    headers = {"Authorization": f"Bearer {made}"}
    return door.http.get(f"/api/verdicts/acme/widgets/{sha}", params={"wait": wait}, headers=headers, timeout=30)


def judged(store: Store) -> None:
    """The first head of the pull request gets its verdict."""
    taken = start_judging_new(store)
    store.ledger.append(pull_ref(), ledger_entry_of("verdict-of-a", taken.lease.fence))
    store.pulls.finish(taken.lease, Finish.JUDGED)


def test_pain_06_an_agent_that_waits_on_its_commit_never_gets_another_ones_verdict(
    web_server: WebServer, store: Store
) -> None:
    judged(store)
    found = ask(web_server, store).json()
    assert (found["state"], found["number"], found["verdict"]["eval_id"]) == ("done", 1, "verdict-of-a")

    store.pulls.request_judging(judge_request(head_sha=NEWER))
    waiting = ask(web_server, store, NEWER).json()
    assert (waiting["state"], waiting["verdict"]) == ("pending", None)
    late = ask(web_server, store, wait="0.1").json()
    assert (late["state"], late["verdict"], late["superseded_by"]) == ("superseded", None, NEWER)


def test_who_waits_is_answered_when_the_verdict_is_there(web_server: WebServer, store: Store) -> None:
    taken = start_judging_new(store)

    def finish() -> None:
        store.ledger.append(pull_ref(), ledger_entry_of("late", taken.lease.fence))
        store.pulls.finish(taken.lease, Finish.JUDGED)

    timer = Timer(0.2, finish)
    timer.start()
    found = ask(web_server, store, wait="20").json()
    timer.join()
    assert (found["state"], found["verdict"]["eval_id"]) == ("done", "late")


def decided(store: Store, ref: PullRef, entry_of: Callable[[int], LedgerEntry]) -> None:
    """Somebody judges what is due of this pull request."""
    job = store.pulls.next_due(f"call-{ref.installation_id}-{ref.number}", DispatchLimits(1, 10))
    taken = job and store.pulls.take_lease(ref, job.fence)
    assert taken is not None
    store.ledger.append(ref, entry_of(taken.lease.fence))
    store.pulls.finish(taken.lease, Finish.JUDGED)


def green(fence: int) -> LedgerEntry:
    return ledger_entry(accepted(), fence=fence, head_sha=HEAD)


def red(fence: int) -> LedgerEntry:
    return ledger_entry(rejected(), fence=fence, head_sha=HEAD)


def test_an_accept_is_not_told_while_another_open_pull_request_of_the_commit_is_judged_or_rejected(
    web_server: WebServer, store: Store
) -> None:
    store.pulls.request_judging(judge_request(number=2))
    decided(store, pull_ref(2), green)
    assert ask(web_server, store).json()["verdict"]["decision"] == "accept"

    store.pulls.request_judging(judge_request())
    found = ask(web_server, store, wait="0.01").json()
    assert (found["state"], found["number"], found["verdict"]) == ("pending", 1, None)
    decided(store, pull_ref(), red)
    found = ask(web_server, store, wait="0.02").json()
    assert (found["state"], found["number"], found["verdict"]["decision"]) == ("done", 1, "reject")

    close_pull_request(store, pull_ref(), timedelta(days=1))
    found = ask(web_server, store, wait="0.03").json()
    assert (found["number"], found["verdict"]["decision"], found["other_pull_requests"]) == (2, "accept", [1])


def test_what_an_installation_that_is_gone_said_of_a_commit_gives_way_to_the_one_that_came_after(
    web_server: WebServer, store: Store
) -> None:
    store.pulls.request_judging(judge_request())
    decided(store, pull_ref(), red)
    store.pulls.request_judging(judge_request(installation=200))
    decided(store, pull_ref(installation=200), green)
    both = [InstallationId(100), InstallationId(200)]
    made = RedisTokens(store.client).create("both", both, datetime(2026, 11, 20, tzinfo=UTC))
    found = web_server.http.get(
        f"/api/verdicts/acme/widgets/{HEAD}", headers={"Authorization": f"Bearer {made}"}
    ).json()
    assert (found["verdict"]["decision"], found["other_pull_requests"]) == ("accept", [])


def test_a_commit_that_is_not_known_is_waited_for_and_then_said(web_server: WebServer, store: Store) -> None:
    found = ask(web_server, store, "9" * 40, wait="0.6")
    assert (found.status_code, found.json()["state"], found.json()["number"]) == (200, "none", None)
    assert found.headers["Cache-Control"] == "no-store"


def test_a_draft_has_no_verdict_coming(web_server: WebServer, store: Store) -> None:
    store.pulls.request_judging(judge_request(trigger=Trigger.OPENED, draft=True))
    found = ask(web_server, store, wait="20").json()
    assert (found["state"], found["number"], "draft" in found["why"]) == ("none", 1, True)


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
def test_what_can_not_be_used_is_told(web_server: WebServer, store: Store, sha: str, wait: str, parameter: str) -> None:
    refused = ask(web_server, store, sha, wait)
    assert (refused.status_code, refused.json()["parameter"]) == (400, parameter)


def routes(store: Store) -> list[HTTPRoute]:
    app = create_app(settings(), store, io.StringIO())
    return [cast("HTTPRoute", route) for route in app.routes if route.path.startswith("/api")]


def paths(store: Store) -> list[str]:
    """Each with something in the place of its parameters."""
    made: list[str] = []
    for route in routes(store):
        parts = cast("list[Any]", route.path_components)
        made.append("/" + "/".join(part if isinstance(part, str) else "1" * 40 for part in parts))
    return made


def test_the_api_only_reads(store: Store) -> None:
    assert len(routes(store)) >= 2
    assert {method for route in routes(store) for method in route.methods} <= {"GET", "OPTIONS", "HEAD"}


def test_no_route_of_the_api_answers_without_a_token_or_with_one_that_was_revoked(
    web_server: WebServer, store: Store
) -> None:
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
        answers = {path: web_server.http.get(path, headers=headers) for path in paths(store)}
        assert {path: answer.status_code for path, answer in answers.items()} == dict.fromkeys(answers, 401)
        assert all(problem in answer.json()["error"] for answer in answers.values())
        assert {answer.headers["WWW-Authenticate"] for answer in answers.values()} == {'Bearer realm="assay"'}
        assert not [answer for answer in answers.values() if str(revoked) in answer.text]


def test_a_token_of_one_installation_opens_nothing_else_and_no_delivery(web_server: WebServer, store: Store) -> None:
    token = store.tokens().create("mine", [InstallationId(1)], REQUESTED_AT)
    headers = {"Authorization": f"Bearer {token}"}
    for path in paths(store):
        assert web_server.http.get(path, headers=headers).status_code in (200, 400, 404), path
    assert web_server.http.post("/github/webhooks", content=b"{}", headers=headers).status_code == 401
    assert web_server.http.post("/setup", content=f"token={token}", headers=headers).status_code == 404
