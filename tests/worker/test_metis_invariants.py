"""Metis' invariants (its specification, 12) about entries and events: see tests/README.md."""

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as tries
from hypothesis import strategies as st

from tests.worker.adapters.redis.store_samples import HEAD, NEWER, judge_request, pull_ref, settings_for
from tests.worker.judge.samples import ledger_entry
from tests.worker.publishing.texts.samples import abstained, accepted, rejected
from tests.world.redis import RedisServer
from worker.adapters.redis.connection.client import items
from worker.adapters.redis.store import Store, open_store
from worker.domain.lifecycle.judging import Finish
from worker.domain.model import EvalId
from worker.domain.verdict.events import EvalTrigger, Event, started_event, terminal_event
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import Abstain, AbstainReason, Accept, JudgeKind, Reject
from worker.scheduling.record import EventPublishing, evaluation_started

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


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    server = RedisServer.launch()
    with open_store(settings_for(server.url)) as opened:
        yield opened
    server.end()


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
