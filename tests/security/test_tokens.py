"""The scope of an API token: its own installations, even where another one has the same repository."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.app.web.web_server import WebServer
from tests.worker.adapters.redis.store_samples import HEAD, REQUESTED_AT, judge_request, ledger_entry_of, pull_ref
from tests.worker.evaluation.stats.history import completed_event, outcome_entry
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import DispatchLimits
from worker.domain.model import EvalId, InstallationId
from worker.domain.verdict.events import OutcomeKind

OURS, THEIRS = 100, 200
SECRET = "what-the-other-installation-was-told"
TOPICS = ("quality", "cost", "agreement", "backlog", "agents", "overrides")
WINDOW = {"from": "2026-11-20", "to": "2026-11-21"}


def judge_pull_request(store: Store, installation: int, eval_id: str, concern: str) -> None:
    """Judge the pull request in one installation; repository, number and head are the same in all."""
    ref = pull_ref(installation=installation)
    store.pulls.request_judging(judge_request(installation=installation))
    job = store.pulls.next_due(judge_request().delivery_id, DispatchLimits(10, 10))
    assert job is not None
    leased_job = store.pulls.take_lease(ref, job.fence)
    assert leased_job is not None
    entry = ledger_entry_of(eval_id, leased_job.lease.fence)
    verdict = entry.verdict.model_copy(update={"concern": concern, "eval_id": EvalId(eval_id)})
    store.ledger.append(ref, entry.model_copy(update={"verdict": verdict}))
    store.pulls.finish(leased_job.lease, Finish.JUDGED)
    for at_ms, kind, raw in (
        completed_event(eval_id, author_agent=concern[:20]),
        outcome_entry(OutcomeKind.MERGED, eval_id),
    ):
        store.client.call("XADD", keys.events(InstallationId(installation)).name, f"{at_ms}-*", "k", kind, "j", raw)


@pytest.fixture
def server_with_both(store: Store, web_server: WebServer) -> WebServer:
    judge_pull_request(store, OURS, "ours", "ours")
    judge_pull_request(store, THEIRS, "theirs", SECRET)
    return web_server


def bearer(store: Store, *installations: int) -> Mapping[str, str]:
    token = store.tokens().create("it", [InstallationId(installation) for installation in installations], REQUESTED_AT)
    return {"Authorization": f"Bearer {token}"}


def fetch_everything(server: WebServer, headers: Mapping[str, str]) -> dict[str, Any]:
    """The text of every answer of the API."""
    requests = [(f"/api/analytics/{topic}", WINDOW) for topic in TOPICS]
    requests += [("/api/pulls/acme/widgets/1", {}), (f"/api/verdicts/acme/widgets/{HEAD}", {})]
    answers = {path: server.http.get(path, params=params, headers=dict(headers)) for path, params in requests}
    assert {answer.status_code for answer in answers.values()} <= {200, 404}
    return {path: answer.text for path, answer in answers.items()}


def test_token_never_shows_another_installations_data(server_with_both: WebServer, store: Store) -> None:
    texts = fetch_everything(server_with_both, bearer(store, OURS))
    assert '"ours"' in texts["/api/pulls/acme/widgets/1"]
    assert '"ours"' in texts[f"/api/verdicts/acme/widgets/{HEAD}"]
    assert [path for path, text in texts.items() if SECRET[:20] in text or "theirs" in text] == []


def test_token_of_the_other_installation_reads_its_own_data(server_with_both: WebServer, store: Store) -> None:
    texts = fetch_everything(server_with_both, bearer(store, THEIRS))
    assert [path for path, text in texts.items() if "ours" in text] == []
    assert SECRET in texts["/api/pulls/acme/widgets/1"]
    assert SECRET in texts[f"/api/verdicts/acme/widgets/{HEAD}"]


def test_token_without_installations_cannot_tell_hidden_from_missing(server_with_both: WebServer, store: Store) -> None:
    headers = dict(bearer(store))
    texts = fetch_everything(server_with_both, headers)
    assert [path for path, text in texts.items() if SECRET[:20] in text or '"ours"' in text] == []
    for path in ("/api/pulls/{}/1", "/api/verdicts/{}/" + HEAD):
        hidden, missing = (
            server_with_both.http.get(path.format(repository), headers=headers)
            for repository in ("acme/widgets", "acme/nothing")
        )
        assert hidden.status_code == missing.status_code
        assert hidden.text.replace("acme/widgets", "") == missing.text.replace("acme/nothing", "")


def test_answers_hold_no_secret(web_server: WebServer, store: Store) -> None:
    token = "ghp_" + "a1B2" * 9
    judge_pull_request(store, OURS, "ours", f"It prints {token}.")
    texts = fetch_everything(web_server, bearer(store, OURS))
    assert "It prints" in texts["/api/pulls/acme/widgets/1"]
    assert [path for path, text in texts.items() if token in text] == []


def test_redis_holds_only_token_hashes_and_a_hash_is_no_token(web_server: WebServer, store: Store) -> None:
    headers = bearer(store, OURS)
    token = headers["Authorization"].removeprefix("Bearer ")
    with web_server.redis.client as redis:
        stored = str(redis.hgetall(keys.TOKENS.name)) + str(redis.hgetall(keys.TOKEN_NAMES.name))
        [digest] = redis.hkeys(keys.TOKENS.name)
    assert token not in stored
    for claimed in (digest, token[:-1], token.upper(), "*", "assay_"):
        answer = web_server.http.get(
            "/api/analytics/quality", params=WINDOW, headers={"Authorization": f"Bearer {claimed}"}
        )
        assert answer.status_code == 401, claimed
        assert token not in answer.text
    assert token not in web_server.log.getvalue()
