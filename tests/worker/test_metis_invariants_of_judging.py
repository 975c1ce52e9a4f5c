"""Metis' invariants about judging (its specification, 12): see tests/README.md."""

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as tries
from hypothesis import strategies as st
from pydantic import SecretStr
from pytest_httpserver import HTTPServer

from app.ingest.events import Ignored, translate
from app.ingest.payloads import Delivery, Envelope
from tests.worker.adapters.redis.store_samples import HEAD, settings_for
from tests.worker.judge.samples import dossier
from tests.worker.test_metis import EVIDENCE, STUB, LocalJudge
from tests.world.fake_anthropic import MODEL, FakeAnthropic
from tests.world.redis import RedisServer
from tests.world.replies import accept
from worker.adapters.redis.store import open_store
from worker.domain.model import DeliveryId
from worker.domain.verdict.budget import Caps
from worker.judge.rubric import load_rubric
from worker.settings import ModelAccess


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    server = RedisServer.launch()
    yield server
    server.end()


@pytest.fixture(scope="module")
def server() -> Iterator[HTTPServer]:
    with HTTPServer(threaded=True) as opened:
        yield opened


CAP = st.sampled_from([Decimal(0), Decimal("0.000001"), Decimal("0.001"), Decimal(1)])


class Case(NamedTuple):
    """The caps, the tier, the model's behaviour and the diff (None: a change without a fact)."""

    pull: Decimal
    day: Decimal
    tier: str
    model: str
    diff: str | None


CASES = st.builds(
    Case, CAP, CAP, st.sampled_from(["heuristic", "hybrid", "llm"]), st.sampled_from(["accept", "garbage", "down"]),
    st.sampled_from([STUB, None]),
)  # fmt: skip


# 3. Heuristic always available


@tries(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CASES)
def test_every_evaluation_begins_and_ends_once_with_a_score(redis: RedisServer, server: HTTPServer, case: Case) -> None:
    model = FakeAnthropic(server)
    access = ModelAccess(SecretStr("k"), model.url, MODEL, 10.0, 1, 0.01, 8_000)
    settings = settings_for(redis.url, model=access)
    with open_store(settings) as store:
        store.client.call("FLUSHALL")
        local_judge = LocalJudge(settings, store, model).with_settings(caps=Caps(pull_usd=case.pull, day_usd=case.day))
        if case.model == "down":
            model.fail_from_now_on()
        else:
            for _ in range(4):
                model.reply_with(accept(EVIDENCE, criteria=2) if case.model == "accept" else "no JSON")
        local_judge.judge(dossier(diff=case.diff, files=()) if case.diff else dossier(), tier=case.tier)
        (started,) = local_judge.event_bodies("eval.started")
        (finished,) = [*local_judge.event_bodies("eval.completed"), *local_judge.event_bodies("eval.failed")]
    assert started["eval_id"] == finished["eval_id"]
    assert 0 <= finished["signals"]["heuristic_score"] <= 1
    assert 0 <= finished["score"] <= 1
    if finished["throttled_reason"] is not None:
        assert (finished["judge_kind"], "failure_mode" in finished) == ("heuristic", False), (
            "a cap downgrades and does not fail"
        )


# 6. No mid-turn execution

CI_EVENTS = st.sampled_from(["check_run", "check_suite", "workflow_run", "workflow_job", "deployment", "status"])
RUNNING_ACTIONS = st.sampled_from(["created", "requested", "in_progress", "queued", "waiting", "pending"])
OURS = 5


@given(CI_EVENTS, RUNNING_ACTIONS, st.sampled_from([OURS, 6]))
def test_delivery_about_a_running_check_is_ignored(event: str, action: str, app: int) -> None:
    sent_action = None if event == "status" else action  # a status has none
    head = {"sha": HEAD, "head_sha": HEAD, "state": "pending", "status": "in_progress", "conclusion": None}
    body: dict[str, Any] = {
        "action": sent_action,
        "installation": {"id": 1},
        "repository": {"id": 7, "full_name": "acme/widgets"},
        **head,
        event: {"app": {"id": app}, "external_id": None, "pull_requests": [], **head},
    }
    envelope = Envelope.model_validate({"action": sent_action, "installation": {"id": 1}})
    delivery = Delivery(DeliveryId("d"), event, OURS, envelope, json.dumps(body).encode())
    assert isinstance(translate(delivery), Ignored)


# 7. Rubric is versioned

SIGNALS = sorted(load_rubric().signals)


@tries(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(SIGNALS), st.floats(0, 1), min_size=1, max_size=4))
def test_rubric_version_stands_for_one_content(redis: RedisServer, weights: dict[str, float]) -> None:
    shipped = load_rubric()
    edited = shipped.model_copy(update={"signals": {**shipped.signals, **weights}})
    with open_store(settings_for(redis.url)) as store:
        store.client.call("FLUSHALL")
        assert store.rubrics.refusal(shipped) is None
        is_same = edited.signals == shipped.signals
        assert (store.rubrics.refusal(edited) is None) == is_same
        assert store.rubrics.refusal(edited.model_copy(update={"version": "next"})) is None
        assert store.rubrics.refusal(shipped) is None, "the first version is kept"
