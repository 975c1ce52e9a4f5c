"""Metis' required tests (its specification, 14.1) that hold for one evaluation, with our names: see tests/README.md.

The real pipeline, Redis and SDK; only the model's words are a script.
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
from worker.domain.ids import DeliveryId
from worker.domain.judge_request import LOCAL_INSTALLATION
from worker.domain.verdict.budget import Caps
from worker.domain.verdict.verdict import Abstain, Accept, Reject
from worker.settings import ModelAccess, Settings
from worker.wiring.cli import RecordedSource, judge_locally, rejudge_recorded

PLACE = "upload.py:2"
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


class Bench(NamedTuple):
    """One judge with its store and its model."""

    settings: Settings
    store: Store
    model: FakeAnthropic

    def judges(self, given: Dossier, tier: str = "hybrid") -> Accept | Reject | Abstain:
        source = RecordedSource(given)
        return judge_locally(
            replace(self.settings, tier=tier), self.store, source, source.request(REQUESTED_AT)
        ).verdict

    def told(self, kind: str = "") -> list[dict[str, Any]]:
        """The bodies of all events of a kind, oldest first."""
        entries = self.store.events.read(LOCAL_INSTALLATION)
        return [json.loads(entry.raw) for entry in entries if entry.kind.decode().endswith(kind)]

    def kinds(self) -> list[str]:
        return [one.kind.decode() for one in self.store.events.read(LOCAL_INSTALLATION)]

    def under(self, **changes: Any) -> "Bench":
        return self._replace(settings=replace(self.settings, **changes))


@pytest.fixture(scope="module")
def server() -> Iterator[HTTPServer]:
    with HTTPServer(threaded=True) as opened:
        yield opened


@pytest.fixture
def bench(redis: RedisServer, server: HTTPServer) -> Iterator[Bench]:
    model = FakeAnthropic(server)
    access = ModelAccess(SecretStr("k"), model.url, MODEL, 10.0, 1, 0.01, 8_000)
    told = settings_for(redis.url, model=access)
    with open_store(told) as store:
        store.client.call("FLUSHALL")
        yield Bench(told, store, model)
    model.assert_script_done()


def test_1_heuristic_verdict_shape(bench: Bench) -> None:
    bench.judges(dossier(diff=STUB, files=()), tier="heuristic")
    (body,) = bench.told("eval.completed")
    assert (body["judge_kind"], Decimal(body["judge_cost_usd"])) == ("heuristic", Decimal(0))
    assert (body["judge_model"], body["judge_pricing_version"]) == (None, None)
    assert 0 <= body["score"] <= 1
    assert bench.told("eval.started")[0]["judge_kind_planned"] == "heuristic"


def test_2_hybrid_escalation_threshold(bench: Bench) -> None:
    bench.model.reply_with(accept(PLACE, criteria=2))
    bench.judges(dossier())
    (body,) = bench.told("eval.completed")
    assert (body["judge_kind"], body["escalated"]) == ("hybrid", True)
    assert Decimal(body["judge_cost_usd"]) > 0
    assert body["signals"]["heuristic_confidence"] < 0.7


def test_3_hybrid_no_escalation(bench: Bench) -> None:
    bench.judges(dossier(diff=STUB, files=()))
    (body,) = bench.told("eval.completed")
    assert (body["judge_kind"], body["escalated"], body["decision"]) == ("heuristic", False, "reject")
    assert body["confidence"] >= 0.7
    assert bench.model.requests == []


def test_4_per_session_cap_downgrade(bench: Bench) -> None:
    code_judges_and_says_which(bench, Caps(pull_usd=Decimal(0)), "pr_cap")


def test_5_per_day_cap_downgrade(bench: Bench) -> None:
    code_judges_and_says_which(bench, Caps(day_usd=Decimal(0)), "daily_cap")


def code_judges_and_says_which(bench: Bench, caps: Caps, reason: str) -> None:
    bench.under(caps=caps).judges(dossier())
    (body,) = bench.told("eval.completed")
    assert (body["judge_kind"], body["throttled_reason"]) == ("heuristic", reason)
    assert bench.told("eval.started")[0]["judge_kind_planned"] == "hybrid"
    assert bench.model.requests == []


def test_6_re_evaluation_produces_a_new_event(bench: Bench) -> None:
    bench.model.reply_with(accept(PLACE, criteria=2)).reply_with(accept(PLACE, criteria=2, confidence=0.8))
    verdict = bench.judges(dossier())
    (before,) = bench.told("eval.completed")
    recorded = bench.store.records().find_entry(verdict.eval_id)
    assert recorded is not None
    rejudge_recorded(bench.settings, bench.store, recorded, dossier(), None)

    old, new = bench.told("eval.completed")
    assert old == before, "what stands there is never edited"
    assert (new["subject_id"], new["parent_eval_id"], new["trigger"]) == (old["subject_id"], old["eval_id"], "batch")
    assert max((old, new), key=lambda one: one["eval_id"]) == new, "the latest is the one with the greatest id"
    assert bench.kinds() == ["eval.started", "eval.completed"] * 2


def test_9_invalid_llm_judge_response(bench: Bench) -> None:
    bench.model.reply_with("no JSON").reply_with("again none")
    verdict = bench.judges(dossier())
    (body,) = bench.told("eval.failed")
    assert (body["failure_mode"], bench.told("eval.completed")) == ("judge_output_invalid", [])
    assert 0 <= body["signals"]["heuristic_score"] <= 1
    assert Decimal(body["judge_cost_usd"]) > 0
    assert [one["attempt"] for one in bench.told("evaluator_parse_error")] == [1, 2]
    audit = bench.store.archive.audit(verdict.eval_id)
    assert audit is not None
    assert [exchange.reply and exchange.reply.text for exchange in audit.exchanges] == ["no JSON", "again none"]


def test_a_model_that_can_not_be_reached_is_a_failure_that_carries_what_code_thought(bench: Bench) -> None:
    bench.model.fail_from_now_on()
    bench.judges(dossier())
    (body,) = bench.told("eval.failed")
    assert (body["failure_mode"], body["abstain_reason"]) == ("judge_call_failed", "judge_unavailable")
    assert 0 <= body["score"] <= 1


def test_a_case_that_can_not_be_read_is_told(bench: Bench) -> None:
    bench.judges(dossier(case_error="line 1: expected a mapping"), tier="heuristic")
    assert bench.kinds() == ["eval.started", "eval.completed", "case_parse_error"]


def test_13_sensitivity_uplift(bench: Bench) -> None:
    bench.model.reply_with(accept(PLACE, criteria=2, concern="It keeps AKIAIOSFODNN7EXAMPLZ in the code."))
    bench.under(has_event_words=True).judges(dossier())
    (body,) = bench.told("eval.completed")
    assert body["sensitivity"] == "user_controlled"
    assert body["signals"]["rationale_redacted"].startswith("It keeps ")
    assert "AKIAIOSFODNN7EXAMPLZ" not in json.dumps(body)
    assert {one["sensitivity"] for one in bench.told("eval.started")} == {"pseudonymous"}


def test_13_without_being_asked_for_no_words_are_told(bench: Bench) -> None:
    bench.judges(dossier(), tier="heuristic")
    (body,) = bench.told("eval.completed")
    assert body["sensitivity"] == "pseudonymous"
    assert "rationale_redacted" not in body["signals"]


def test_15_no_mid_turn_fire() -> None:
    """Nothing that is under way is judged: no delivery about a running check is translated into a judging."""
    running = {"check_run.created", "check_suite.requested", "workflow_run.in_progress", "workflow_job.queued"}
    assert not running & {".".join(one) for one in DELIVERY_RULES if one != ("check_run", "created")}
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
