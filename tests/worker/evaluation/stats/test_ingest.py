"""Entries of the product are parsed; others are skipped with a reason."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.evaluation.stats.history import (
    completed_event,
    event_body,
    failed_event,
    outcome_entry,
    started_event,
)
from worker.domain.verdict.events import EventKind, OutcomeKind
from worker.evaluation.stats.ingest import (
    EndedEntry,
    OutcomeEntry,
    SkippedEntry,
    SkipReason,
    StartedEntry,
    TroubleEntry,
    VerdictView,
    parse_entry,
)

UNREADABLE, BROKEN = SkippedEntry(SkipReason.UNREADABLE), SkippedEntry(SkipReason.BROKEN)
COMPLETED, OUTCOME = b"eval.completed", b"outcome.recorded"


def test_each_event_kind_is_parsed() -> None:
    assert isinstance(parse_entry(*started_event()[1:]), StartedEntry)
    assert isinstance(parse_entry(*completed_event()[1:]), EndedEntry)
    assert isinstance(parse_entry(*failed_event()[1:]), EndedEntry)
    assert isinstance(parse_entry(*failed_event(bare=True)[1:]), EndedEntry)
    assert isinstance(parse_entry(*outcome_entry(OutcomeKind.MERGED)[1:]), OutcomeEntry)
    assert isinstance(parse_entry(b"case_parse_error", b'{"v":1}'), TroubleEntry)
    assert isinstance(parse_entry(b"evaluator_parse_error", b'{"v":1}'), TroubleEntry)
    assert {kind.value for kind in EventKind} == {
        "eval.started", "eval.completed", "eval.failed", "outcome.recorded", "case_parse_error", "evaluator_parse_error",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "signals", "view"),
    [
        ("submission", {}, VerdictView.OPINIONS),
        ("merge_group", {}, VerdictView.VERDICTS),
        ("merge_group", {"opinion_of": "model"}, VerdictView.OPINIONS),
    ],
)
def test_merge_group_with_a_parent_is_not_an_opinion(kind: str, signals: dict[str, str], view: VerdictView) -> None:
    ended = parse_entry(*completed_event(parent_eval_id="e0", subject_kind=kind, signals=signals)[1:])
    assert isinstance(ended, EndedEntry)
    assert ended.view is view


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"\xff", b"[]", b"1", b'{"v":0}', b'{"v":2}', b'{"v":"1"}', b"{}", b"[" * 9999]
)
def test_body_of_another_version_is_unreadable(raw: bytes) -> None:
    assert parse_entry(COMPLETED, raw) == UNREADABLE


@pytest.mark.parametrize("kind", [b"", b"eval.resumed", b"\xff"])
def test_unknown_kind_is_unreadable(kind: bytes) -> None:
    assert parse_entry(kind, b'{"v":1}') == UNREADABLE


@pytest.mark.parametrize(
    "change",
    [
        {"score": 1.1}, {"score": -0.1}, {"score": "0.5"}, {"score": None}, {"score": True}, {"confidence": float("nan")},
        {"repository_id": "7"}, {"repository_id": -1}, {"repository_id": 2**63}, {"number": 1.5}, {"round": None}, {"facts": None}, {"facts": [1]},
        {"signals": []}, {"eval_id": ""}, {"eval_id": "x" * 201}, {"subject_kind": "turn"}, {"judge_cost_usd": 0.1},
        {"judge_cost_usd": "NaN"}, {"judge_cost_usd": "1e9"}, {"judge_cost_usd": "-1"}, {"author_agent": 5},
        {"decision": "maybe"}, {"decision": "n"}, {"decision": None}, {"decision": []}, {"facts": "stub_body"},
        {"facts": {"stub_body": 1}},
    ],
)  # fmt: skip
def test_event_with_an_invalid_field_is_broken(change: dict[str, Any]) -> None:
    assert parse_entry(COMPLETED, json.dumps({**event_body(), **change}).encode()) == BROKEN


@pytest.mark.parametrize("name", ["eval_id", "score", "signals", "rubric_id", "judge_cost_usd", "parent_eval_id"])
def test_event_with_a_missing_field_is_broken(name: str) -> None:
    body = {key: value for key, value in event_body().items() if key != name}
    assert parse_entry(COMPLETED, json.dumps(body).encode()) == BROKEN


@pytest.mark.parametrize(
    "change",
    [
        {"outcome": "liked"},
        {"strength": "loud"},
        {"number": None},
        {"eval_id": 5},
        {"at": "soon"},
        {"at": "2026-11-20T12:00"},
    ],
)
def test_outcome_with_an_invalid_field_is_broken(change: dict[str, Any]) -> None:
    body = {**json.loads(outcome_entry(OutcomeKind.MERGED)[2]), **change}
    assert parse_entry(OUTCOME, json.dumps(body).encode()) == BROKEN


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.sampled_from([kind.value.encode() for kind in EventKind]),
    st.dictionaries(st.sampled_from(sorted(event_body())), junk),
)
def test_arbitrary_bodies_are_parsed_without_an_error(kind: bytes, change: dict[str, Any]) -> None:
    parse_entry(kind, json.dumps({**event_body(), **change, "v": 1}).encode())


@given(st.binary(max_size=60), st.binary(max_size=200))
def test_arbitrary_bytes_are_skipped_without_an_error(kind: bytes, raw: bytes) -> None:
    assert parse_entry(kind, raw) in {UNREADABLE, BROKEN}
