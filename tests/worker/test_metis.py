"""Metis' required tests (its specification, 14.1) of one evaluation: see tests/README.md.

The pipeline, Redis and the SDK are real; the model is scripted.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from pydantic import SecretStr
from pytest_httpserver import HTTPServer

from app.ingest.events import DELIVERY_RULES, Ignored, translate
from app.ingest.payloads import Delivery, Envelope
from tests.worker.adapters.redis.store_samples import REQUESTED_AT, settings_for
from tests.worker.judge.samples import dossier
from tests.world.fake_anthropic import MODEL, FakeAnthropic
from tests.world.redis import RedisServer
from tests.world.replies import accept
from worker.adapters.redis.store import Store, open_store
from worker.domain.dossier import Dossier
from worker.domain.judge_request import LOCAL_INSTALLATION
from worker.domain.model import DeliveryId
from worker.domain.verdict.budget import Caps
from worker.domain.verdict.verdict import Abstain, Accept, Reject
from worker.settings import ModelAccess, Settings
from worker.wiring.cli import RecordedSource, judge_locally, rejudge_recorded

EVIDENCE = "upload.py:2"
STUB = """\
diff --git a/upload.py b/upload.py
new file mode 100644
--- /dev/null
+++ b/upload.py
@@ -0,0 +1,2 @@
+def send(data):
+    raise NotImplementedError
"""


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    server = RedisServer.launch()
    yield server
    server.end()


class LocalJudge(NamedTuple):
    """A judge with its store and its model."""

    settings: Settings
    store: Store
    model: FakeAnthropic

    def judge(self, judged: Dossier, tier: str = "hybrid") -> Accept | Reject | Abstain:
        source = RecordedSource(judged)
        return judge_locally(
            replace(self.settings, tier=tier), self.store, source, source.request(REQUESTED_AT)
        ).verdict

    def event_bodies(self, kind: str = "") -> list[dict[str, Any]]:
        """The bodies of the events of a kind, oldest first."""
        entries = self.store.events.read(LOCAL_INSTALLATION)
        return [json.loads(entry.raw) for entry in entries if entry.kind.decode().endswith(kind)]

    def event_kinds(self) -> list[str]:
        return [event.kind.decode() for event in self.store.events.read(LOCAL_INSTALLATION)]

    def with_settings(self, **changes: Any) -> "LocalJudge":
        return self._replace(settings=replace(self.settings, **changes))


@pytest.fixture(scope="module")
def server() -> Iterator[HTTPServer]:
    with HTTPServer(threaded=True) as opened:
        yield opened


@pytest.fixture
def local_judge(redis: RedisServer, server: HTTPServer) -> Iterator[LocalJudge]:
    model = FakeAnthropic(server)
    access = ModelAccess(SecretStr("k"), model.url, MODEL, 10.0, 1, 0.01, 8_000)
    settings = settings_for(redis.url, model=access)
    with open_store(settings) as store:
        store.client.call("FLUSHALL")
        yield LocalJudge(settings, store, model)
    model.assert_script_done()


def test_1_heuristic_verdict_shape(local_judge: LocalJudge) -> None:
    local_judge.judge(dossier(diff=STUB, files=()), tier="heuristic")
    (body,) = local_judge.event_bodies("eval.completed")
    assert (body["judge_kind"], Decimal(body["judge_cost_usd"])) == ("heuristic", Decimal(0))
    assert (body["judge_model"], body["judge_pricing_version"]) == (None, None)
    assert 0 <= body["score"] <= 1
    assert local_judge.event_bodies("eval.started")[0]["judge_kind_planned"] == "heuristic"


def test_2_hybrid_escalation_threshold(local_judge: LocalJudge) -> None:
    local_judge.model.reply_with(accept(EVIDENCE, criteria=2))
    local_judge.judge(dossier())
    (body,) = local_judge.event_bodies("eval.completed")
    assert (body["judge_kind"], body["escalated"]) == ("hybrid", True)
    assert Decimal(body["judge_cost_usd"]) > 0
    assert body["signals"]["heuristic_confidence"] < 0.7


def test_3_hybrid_no_escalation(local_judge: LocalJudge) -> None:
    local_judge.judge(dossier(diff=STUB, files=()))
    (body,) = local_judge.event_bodies("eval.completed")
    assert (body["judge_kind"], body["escalated"], body["decision"]) == ("heuristic", False, "reject")
    assert body["confidence"] >= 0.7
    assert local_judge.model.requests == []


def test_4_per_session_cap_downgrade(local_judge: LocalJudge) -> None:
    assert_downgraded(local_judge, Caps(pull_usd=Decimal(0)), "pr_cap")


def test_5_per_day_cap_downgrade(local_judge: LocalJudge) -> None:
    assert_downgraded(local_judge, Caps(day_usd=Decimal(0)), "daily_cap")


def assert_downgraded(local_judge: LocalJudge, caps: Caps, reason: str) -> None:
    local_judge.with_settings(caps=caps).judge(dossier())
    (body,) = local_judge.event_bodies("eval.completed")
    assert (body["judge_kind"], body["throttled_reason"]) == ("heuristic", reason)
    assert local_judge.event_bodies("eval.started")[0]["judge_kind_planned"] == "hybrid"
    assert local_judge.model.requests == []


def test_6_re_evaluation_produces_a_new_event(local_judge: LocalJudge) -> None:
    local_judge.model.reply_with(accept(EVIDENCE, criteria=2)).reply_with(accept(EVIDENCE, criteria=2, confidence=0.8))
    verdict = local_judge.judge(dossier())
    (before,) = local_judge.event_bodies("eval.completed")
    recorded = local_judge.store.records().find_entry(verdict.eval_id)
    assert recorded is not None
    rejudge_recorded(local_judge.settings, local_judge.store, recorded, dossier(), None)

    old, new = local_judge.event_bodies("eval.completed")
    assert old == before, "a published event is never edited"
    assert (new["subject_id"], new["parent_eval_id"], new["trigger"]) == (old["subject_id"], old["eval_id"], "batch")
    assert max((old, new), key=lambda event: event["eval_id"]) == new, "the newest event has the greatest id"
    assert local_judge.event_kinds() == ["eval.started", "eval.completed"] * 2


def test_9_invalid_llm_judge_response(local_judge: LocalJudge) -> None:
    local_judge.model.reply_with("no JSON").reply_with("again none")
    verdict = local_judge.judge(dossier())
    (body,) = local_judge.event_bodies("eval.failed")
    assert (body["failure_mode"], local_judge.event_bodies("eval.completed")) == ("judge_output_invalid", [])
    assert 0 <= body["signals"]["heuristic_score"] <= 1
    assert Decimal(body["judge_cost_usd"]) > 0
    assert [event["attempt"] for event in local_judge.event_bodies("evaluator_parse_error")] == [1, 2]
    audit = local_judge.store.archive.audit(verdict.eval_id)
    assert audit is not None
    assert [exchange.reply and exchange.reply.text for exchange in audit.exchanges] == ["no JSON", "again none"]


def test_unreachable_model_fails_with_the_heuristic_score(local_judge: LocalJudge) -> None:
    local_judge.model.fail_from_now_on()
    local_judge.judge(dossier())
    (body,) = local_judge.event_bodies("eval.failed")
    assert (body["failure_mode"], body["abstain_reason"]) == ("judge_call_failed", "judge_unavailable")
    assert 0 <= body["score"] <= 1


def test_unreadable_case_emits_an_event(local_judge: LocalJudge) -> None:
    local_judge.judge(dossier(case_error="line 1: expected a mapping"), tier="heuristic")
    assert local_judge.event_kinds() == ["eval.started", "eval.completed", "case_parse_error"]


def test_13_sensitivity_uplift(local_judge: LocalJudge) -> None:
    local_judge.model.reply_with(accept(EVIDENCE, criteria=2, concern="It keeps AKIAIOSFODNN7EXAMPLZ in the code."))
    local_judge.with_settings(has_event_words=True).judge(dossier())
    (body,) = local_judge.event_bodies("eval.completed")
    assert body["sensitivity"] == "user_controlled"
    assert body["signals"]["rationale_redacted"].startswith("It keeps ")
    assert "AKIAIOSFODNN7EXAMPLZ" not in json.dumps(body)
    assert {event["sensitivity"] for event in local_judge.event_bodies("eval.started")} == {"pseudonymous"}


def test_13_event_has_no_rationale_by_default(local_judge: LocalJudge) -> None:
    local_judge.judge(dossier(), tier="heuristic")
    (body,) = local_judge.event_bodies("eval.completed")
    assert body["sensitivity"] == "pseudonymous"
    assert "rationale_redacted" not in body["signals"]


def test_15_no_mid_turn_fire() -> None:
    running = {"check_run.created", "check_suite.requested", "workflow_run.in_progress", "workflow_job.queued"}
    assert not running & {".".join(rule) for rule in DELIVERY_RULES if rule != ("check_run", "created")}
    body: dict[str, Any] = {
        "action": "created",
        "installation": {"id": 1},
        "repository": {"id": 7, "full_name": "acme/widgets"},
        "check_run": {"app": {"id": 5}, "external_id": None, "pull_requests": []},
    }
    delivery = Delivery(
        DeliveryId("d"), "check_run", 5, Envelope(action="created", installation={"id": 1}), json.dumps(body).encode()
    )
    assert isinstance(translate(delivery), Ignored)
