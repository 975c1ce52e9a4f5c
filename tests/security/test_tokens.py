"""What a token of the API opens: the installations that it names, and of the same repository's name elsewhere not one word."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.app.web.web_server import WebServer
from tests.worker.adapters.redis.store_samples import HEAD, REQUESTED_AT, judge_request, pull_ref
from tests.worker.adapters.redis.test_lease_writes import ledger_entry_of
from tests.worker.evaluation.stats.history import completed_event, outcome_entry
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.domain.ids import EvalId, InstallationId
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import DispatchLimits
from worker.domain.verdict.outcomes import OutcomeKind

OURS, THEIRS = 100, 200
SECRET = "what-the-other-installation-was-told"
TOPICS = ("quality", "cost", "agreement", "backlog", "agents", "overrides")
WINDOW = {"from": "2026-11-20", "to": "2026-11-21"}


def judged(store: Store, installation: int, eval_id: str, concern: str) -> None:
    """A pull request of the same repository's name, number and head, in this installation."""
    ref = pull_ref(installation=installation)
    store.pulls.request_judging(judge_request(installation=installation))
    job = store.pulls.next_due(judge_request().delivery_id, DispatchLimits(10, 10))
    assert job is not None
    taken = store.pulls.take_lease(ref, job.fence)
    assert taken is not None
    made = ledger_entry_of(eval_id, taken.lease.fence)
    verdict = made.verdict.model_copy(update={"concern": concern, "eval_id": EvalId(eval_id)})
    store.ledger.append(ref, made.model_copy(update={"verdict": verdict}))
    store.pulls.finish(taken.lease, Finish.JUDGED)
    for at_ms, kind, raw in (
        completed_event(eval_id, author_agent=concern[:20]),
        outcome_entry(OutcomeKind.MERGED, eval_id),
    ):
        store.client.call("XADD", keys.events(InstallationId(installation)).name, f"{at_ms}-*", "k", kind, "j", raw)


@pytest.fixture
def both(store: Store, web_server: WebServer) -> WebServer:
    judged(store, OURS, "ours", "ours")
    judged(store, THEIRS, "theirs", SECRET)
    return web_server


def bearer(store: Store, *installations: int) -> Mapping[str, str]:
    token = store.tokens().create("it", [InstallationId(one) for one in installations], REQUESTED_AT)
    return {"Authorization": f"Bearer {token}"}


def everything(door: WebServer, headers: Mapping[str, str]) -> dict[str, Any]:
    """All that there is to ask, as text."""
    asked = [(f"/api/analytics/{topic}", WINDOW) for topic in TOPICS]
    asked += [("/api/pulls/acme/widgets/1", {}), (f"/api/verdicts/acme/widgets/{HEAD}", {})]
    answers = {path: door.http.get(path, params=given, headers=dict(headers)) for path, given in asked}
    assert {one.status_code for one in answers.values()} <= {200, 404}
    return {path: one.text for path, one in answers.items()}


def test_another_installations_data_are_never_shown(both: WebServer, store: Store) -> None:
    told = everything(both, bearer(store, OURS))
    assert '"ours"' in told["/api/pulls/acme/widgets/1"]
    assert '"ours"' in told[f"/api/verdicts/acme/widgets/{HEAD}"]
    assert [path for path, said in told.items() if SECRET[:20] in said or "theirs" in said] == []


def test_who_may_read_theirs_does(both: WebServer, store: Store) -> None:
    told = everything(both, bearer(store, THEIRS))
    assert [path for path, said in told.items() if "ours" in said] == []
    assert SECRET in told["/api/pulls/acme/widgets/1"]
    assert SECRET in told[f"/api/verdicts/acme/widgets/{HEAD}"]


def test_a_token_of_no_installation_reads_nothing_and_what_is_not_there_looks_like_what_it_may_not_see(
    both: WebServer, store: Store
) -> None:
    headers = dict(bearer(store))
    told = everything(both, headers)
    assert [path for path, said in told.items() if SECRET[:20] in said or '"ours"' in said] == []
    for path in ("/api/pulls/{}/1", "/api/verdicts/{}/" + HEAD):
        known, unknown = (both.http.get(path.format(one), headers=headers) for one in ("acme/widgets", "acme/nothing"))
        assert known.status_code == unknown.status_code
        assert known.text.replace("acme/widgets", "") == unknown.text.replace("acme/nothing", "")


def test_what_is_told_has_no_secret_in_it(web_server: WebServer, store: Store) -> None:
    token = "ghp_" + "a1B2" * 9
    judged(store, OURS, "ours", f"It prints {token}.")
    told = everything(web_server, bearer(store, OURS))
    assert "It prints" in told["/api/pulls/acme/widgets/1"]
    assert [path for path, said in told.items() if token in said] == []


def test_redis_knows_no_token_and_its_hash_opens_nothing(web_server: WebServer, store: Store) -> None:
    headers = bearer(store, OURS)
    token = headers["Authorization"].removeprefix("Bearer ")
    with web_server.redis.client as redis:
        kept = str(redis.hgetall(keys.TOKENS.name)) + str(redis.hgetall(keys.TOKEN_NAMES.name))
        [digest] = redis.hkeys(keys.TOKENS.name)
    assert token not in kept
    for claimed in (digest, token[:-1], token.upper(), "*", "assay_"):
        answer = web_server.http.get(
            "/api/analytics/quality", params=WINDOW, headers={"Authorization": f"Bearer {claimed}"}
        )
        assert answer.status_code == 401, claimed
        assert token not in answer.text
    assert token not in web_server.log.getvalue()
