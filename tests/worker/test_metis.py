"""Metis' required tests (its specification, 14.1) of one evaluation, and its invariants (12): see tests/README.md.

The pipeline, Redis and the SDK are real; the model is scripted.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
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
from tests.worker.adapters.redis.store_samples import HEAD, NEWER, REQUESTED_AT, judge_request, pull_ref, settings_for
from tests.worker.judge.samples import dossier, ledger_entry
from tests.worker.publishing.texts.samples import abstained, accepted, rejected
from tests.world.fake_anthropic import MODEL, FakeAnthropic
from tests.world.redis import RedisServer
from tests.world.replies import accept
from worker.adapters.redis.connection.client import items
from worker.adapters.redis.store import Store, open_store
from worker.domain.dossier import Dossier
from worker.domain.judge_request import LOCAL_INSTALLATION
from worker.domain.lifecycle.judging import Finish
from worker.domain.model import DeliveryId, EvalId
from worker.domain.verdict.budget import Caps
from worker.domain.verdict.events import EvalTrigger, Event, started_event, terminal_event
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import Abstain, AbstainReason, Accept, JudgeKind, Reject
from worker.judge.rubric import load_rubric
from worker.scheduling.record import EventPublishing, evaluation_started
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
def local_judge(redis_server: RedisServer, server: HTTPServer) -> Iterator[LocalJudge]:
    model = FakeAnthropic(server)
    access = ModelAccess(SecretStr("k"), model.url, MODEL, 10.0, 1, 0.01, 8_000)
    settings = settings_for(redis_server.url, model=access)
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


# 1. Append-only


class Step(NamedTuple):
    """A new judging, a judging again of entry number *position*, or a second write of that entry.

    *opinions*: the number of children.
    """

    kind: str
    position: int
    score: float
    opinions: int


STEPS = st.builds(
    Step, st.sampled_from(["judge", "rejudge", "overwrite"]), st.integers(0, 30), st.floats(0, 0.49), st.integers(0, 2)
)


class History:
    """The ledger of a pull request and the stream of its installation."""

    def __init__(self, store: Store) -> None:
        store.client.call("FLUSHALL")
        self.store = store
        self.entries: list[LedgerEntry] = []

    def apply(self, step: Step) -> None:
        lease = self.store.pulls.take_local_lease(judge_request())
        earlier = self.entries[step.position % len(self.entries)] if self.entries else None
        if step.kind == "judge" or earlier is None:
            self._append(self._entry(lease.fence, step.score, None), step)
        elif step.kind == "rejudge":
            self._append(self._entry(earlier.fence, step.score, earlier.eval_id), step)
        else:  # the same id with other content
            verdict = rejected(eval_id=earlier.eval_id, score=step.score, concern="Something else.")
            changed = earlier.model_copy(update={"verdict": verdict, "head_sha": NEWER})
            self.store.ledger.append(pull_ref(), changed, (terminal_event(verdict, EvalTrigger.BATCH),))
        self.store.pulls.finish(lease, Finish.JUDGED)

    def _append(self, entry: LedgerEntry, step: Step) -> None:
        self.entries.append(entry)
        children = [self._entry(entry.fence, step.score, entry.eval_id, nth=nth) for nth in range(step.opinions)]
        if entry.verdict.parent_eval_id is None:
            self.store.events.record_started(
                pull_ref(), entry.fence, evaluation_started(entry.verdict, EventPublishing())
            )
        child_events = [(child, _events_of(child)) for child in children]
        self.store.ledger.append(
            pull_ref(), entry, _events_of(entry)[entry.verdict.parent_eval_id is None :], child_events
        )
        self.entries += children

    def _entry(self, fence: int, score: float, parent: EvalId | None, nth: int = 0) -> LedgerEntry:
        verdict = rejected(eval_id=EvalId(f"{len(self.entries) + nth:04}"), score=score, parent_eval_id=parent)
        return ledger_entry(verdict, created_at=verdict.created_at, fence=fence, head_sha=HEAD)

    def ledger(self) -> dict[str, str]:
        return {entry.eval_id: entry.model_dump_json() for entry in self.store.ledger.entries(pull_ref())}

    def events(self) -> list[str]:
        return [repr(item) for item in items(self.store.client.call("XRANGE", "assay:100:events", "-", "+"))]


def _events_of(entry: LedgerEntry) -> tuple[Event, Event]:
    return started_event(evaluation_started(entry.verdict, EventPublishing())), terminal_event(
        entry.verdict, EvalTrigger.BUS
    )


@tries(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, max_size=8))
def test_no_recorded_entry_or_event_ever_changes(store: Store, steps: list[Step]) -> None:
    history = History(store)
    for step in steps:
        entries, events = history.ledger(), history.events()
        history.apply(step)
        assert entries.items() <= history.ledger().items()
        assert history.events()[: len(events)] == events
    assert set(history.ledger()) == {entry.eval_id for entry in history.entries}
    completed = [event for event in history.events() if "eval.completed" in event]
    assert len(completed) == len(history.entries), "each verdict is published once"


# 2. One score field, 4. cost is recorded

UNIT = st.floats(0, 1)
COST = st.none() | st.decimals(0, 100, places=9)


class JudgeCost(NamedTuple):
    """The judge's kind and its cost; None: the model has no known price."""

    kind: JudgeKind
    cost: Decimal | None

    @property
    def fields(self) -> dict[str, Any]:
        is_code = self.kind is JudgeKind.HEURISTIC
        return {
            "judge_kind": self.kind,
            "judge_model": None if is_code else "claude-haiku-5-5",
            "judge_cost_usd": Decimal(0) if is_code else self.cost,
            "judge_pricing_version": None if is_code or self.cost is None else "2026-11",
        }


JUDGE_COSTS = st.builds(JudgeCost, st.sampled_from(JudgeKind), COST)
SIGNALS = st.dictionaries(
    st.from_regex(r"[a-z_]{1,12}", fullmatch=True), st.none() | st.booleans() | st.integers() | UNIT, max_size=4
)


@st.composite
def verdicts(draw: st.DrawFn) -> Accept | Reject | Abstain:
    score, money = draw(UNIT), draw(JUDGE_COSTS)
    fields = {**money.fields, "confidence": draw(UNIT), "signals": draw(SIGNALS), "composite": draw(st.floats(1, 10))}
    if draw(st.booleans()):
        return abstained(draw(st.sampled_from(AbstainReason)), score=score, **fields)
    return accepted(score=score, **fields) if score >= 0.5 else rejected(score=score, **fields)


@given(verdicts())
def test_event_has_one_score_from_0_to_1(
    verdict: Accept | Reject | Abstain,
) -> None:
    body = json.loads(terminal_event(verdict, EvalTrigger.BUS).dump())
    assert body["score"] == round(verdict.score, 4)
    assert 0 <= body["score"] <= 1
    assert [name for name in body if "score" in name or "composite" in name] == ["score"]
    assert not any(isinstance(value, float) for name, value in body.items() if name not in {"score", "confidence"})


@given(verdicts())
def test_event_states_cost_and_pricing_version(
    verdict: Accept | Reject | Abstain,
) -> None:
    body = json.loads(terminal_event(verdict, EvalTrigger.BUS).dump())
    cost = body["judge_cost_usd"]
    if verdict.judge_kind is JudgeKind.HEURISTIC:
        assert (cost, body["judge_pricing_version"]) == ("0", None)
    elif verdict.judge_cost_usd is None:
        assert (cost, body["judge_pricing_version"]) == (None, None), "unknown is not free"
    else:
        assert re.fullmatch(r"\d+(\.\d+)?", cost), "a decimal without an exponent"
        assert (Decimal(cost), body["judge_pricing_version"]) == (verdict.judge_cost_usd, "2026-11")


@given(st.decimals("0.000000001", 100, places=9))
def test_verdict_of_code_alone_costs_nothing(cost: Decimal) -> None:
    with pytest.raises(ValueError, match="no model and no price"):
        rejected(judge_cost_usd=cost)


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
def test_every_evaluation_begins_and_ends_once_with_a_score(
    redis_server: RedisServer, server: HTTPServer, case: Case
) -> None:
    model = FakeAnthropic(server)
    access = ModelAccess(SecretStr("k"), model.url, MODEL, 10.0, 1, 0.01, 8_000)
    settings = settings_for(redis_server.url, model=access)
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

WEIGHED = sorted(load_rubric().signals)


@tries(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(WEIGHED), st.floats(0, 1), min_size=1, max_size=4))
def test_rubric_version_stands_for_one_content(store: Store, weights: dict[str, float]) -> None:
    shipped = load_rubric()
    edited = shipped.model_copy(update={"signals": {**shipped.signals, **weights}})
    store.client.call("FLUSHALL")
    assert store.rubrics.refusal(shipped) is None
    is_same = edited.signals == shipped.signals
    assert (store.rubrics.refusal(edited) is None) == is_same
    assert store.rubrics.refusal(edited.model_copy(update={"version": "next"})) is None
    assert store.rubrics.refusal(shipped) is None, "the first version is kept"
