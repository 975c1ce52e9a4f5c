"""Metis' invariants about judging (its specification, 12): whatever comes, however the model fares: see tests/README.md."""

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
from tests.worker.test_metis import PLACE, STUB, Bench
from tests.world.fake_anthropic import MODEL, FakeAnthropic
from tests.world.redis import RedisServer
from tests.world.replies import accept
from worker.adapters.redis.store import open_store
from worker.domain.ids import DeliveryId
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
    """What is left to spend, who is to judge, how the model behaves, and what is judged (None: a change without a fact)."""

    pull: Decimal
    day: Decimal
    tier: str
    road: str
    diff: str | None


CASES = st.builds(
    Case, CAP, CAP, st.sampled_from(["heuristic", "hybrid", "llm"]), st.sampled_from(["accept", "garbage", "down"]),
    st.sampled_from([STUB, None]),
)  # fmt: skip


# 3. Heuristic always available: whatever caps, tier and model, each evaluation begins and ends once, with code's opinion


@tries(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CASES)
def test_whatever_caps_and_whatever_the_model_does_code_has_its_word_and_nothing_is_dropped(
    redis: RedisServer, server: HTTPServer, case: Case
) -> None:
    model = FakeAnthropic(server)
    access = ModelAccess(SecretStr("k"), model.url, MODEL, 10.0, 1, 0.01, 8_000)
    told = settings_for(redis.url, model=access)
    with open_store(told) as store:
        store.client.call("FLUSHALL")
        bench = Bench(told, store, model).under(caps=Caps(pull_usd=case.pull, day_usd=case.day))
        if case.road == "down":
            model.fail_from_now_on()
        else:
            for _ in range(4):
                model.reply_with(accept(PLACE, criteria=2) if case.road == "accept" else "no JSON")
        bench.judges(dossier(diff=case.diff, files=()) if case.diff else dossier(), tier=case.tier)
        (begun,) = bench.told("eval.started")
        (ended,) = [*bench.told("eval.completed"), *bench.told("eval.failed")]
    assert begun["eval_id"] == ended["eval_id"]
    assert 0 <= ended["signals"]["heuristic_score"] <= 1
    assert 0 <= ended["score"] <= 1
    if ended["throttled_reason"] is not None:
        assert (ended["judge_kind"], "failure_mode" in ended) == ("heuristic", False), (
            "a cap downgrades, and fails nothing"
        )


# 6. No mid-turn execution: no delivery about something that runs is translated into a judging

RUNNING = st.sampled_from(["check_run", "check_suite", "workflow_run", "workflow_job", "deployment", "status"])
UNDER_WAY = st.sampled_from(["created", "requested", "in_progress", "queued", "waiting", "pending"])
OURS = 5


@given(RUNNING, UNDER_WAY, st.sampled_from([OURS, 6]))
def test_nothing_that_is_under_way_is_judged(event: str, action: str, app: int) -> None:
    said = None if event == "status" else action  # a status has none
    head = {"sha": HEAD, "head_sha": HEAD, "state": "pending", "status": "in_progress", "conclusion": None}
    body: dict[str, Any] = {
        "action": said,
        "installation": {"id": 1},
        "repository": {"id": 7, "full_name": "acme/widgets"},
        **head,
        event: {"app": {"id": app}, "external_id": None, "pull_requests": [], **head},
    }
    envelope = Envelope.model_validate({"action": said, "installation": {"id": 1}})
    told = Delivery(DeliveryId("d"), event, OURS, envelope, json.dumps(body).encode())
    assert isinstance(translate(told), Ignored)


# 7. Rubric is versioned: an edit under its old version is refused, under a new one it is another rubric

SIGNALS = sorted(load_rubric().signals)


@tries(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(SIGNALS), st.floats(0, 1), min_size=1, max_size=4))
def test_whatever_is_edited_a_version_stands_for_one_content(redis: RedisServer, weights: dict[str, float]) -> None:
    shipped = load_rubric()
    edited = shipped.model_copy(update={"signals": {**shipped.signals, **weights}})
    with open_store(settings_for(redis.url)) as store:
        store.client.call("FLUSHALL")
        assert store.rubrics.refusal(shipped) is None
        is_same = edited.signals == shipped.signals
        assert (store.rubrics.refusal(edited) is None) == is_same
        assert store.rubrics.refusal(edited.model_copy(update={"version": "next"})) is None
        assert store.rubrics.refusal(shipped) is None, "and the first still stands"
