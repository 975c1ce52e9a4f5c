"""Generated stream entries, in the format of the product's writers."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import islice
from typing import Any, Final

from tests.worker.adapters.redis.store_samples import pull_ref
from worker.domain.model import EvalId, InstallationId
from worker.domain.verdict.events import (
    FAILURE_MESSAGES,
    EventKind,
    FailureMode,
    Outcome,
    OutcomeKind,
    StreamEntry,
    outcome_event,
)
from worker.evaluation.stats.answers import answer_query
from worker.evaluation.stats.cache import open_figures
from worker.evaluation.stats.figures import CountedStream, StatsTopic, parse_query
from worker.evaluation.stats.ingest import ingest_entries

INSTALLATION: Final = InstallationId(100)
NOON: Final = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR: Final = timedelta(hours=1)
HEAD: Final = "a" * 40

RawEntry = tuple[int, bytes, bytes]
"""Milliseconds, kind, body."""


def milliseconds(when: datetime = NOON) -> int:
    return int(when.timestamp() * 1000)


def event_body(eval_id: str = "e1", **changes: Any) -> dict[str, Any]:
    """An `eval.completed`: code accepts a submission."""
    number, repository, head = changes.pop("number", 3), changes.pop("repository_id", 7), changes.pop("head", HEAD)
    kind = changes.get("subject_kind", "submission")
    subject = f"{repository}/{number}" if kind == "pull_request" else f"{repository}/{number}/{head}"
    standard: dict[str, Any] = {
        "v": 1, "eval_id": eval_id, "subject_kind": kind, "subject_id": subject, "repository_id": repository,
        "number": number, "sensitivity": "pseudonymous", "decision": "accept", "category": None, "abstain_reason": None,
        "throttled_reason": None, "score": 0.9, "confidence": 0.8, "round": 1, "author_agent": "copilot",
        "judge_kind": "heuristic", "judge_model": None, "judge_cost_usd": "0", "judge_pricing_version": None,
        "judge_latency_ms": 12, "tokens_in": 0, "tokens_out": 0, "escalated": False, "rubric_id": "default",
        "rubric_version": "1", "parent_eval_id": None, "carried_from": None, "facts": [], "signals": {},
        "created_at": "2026-11-20T12:00:00.000+00:00", "trigger": "bus",
    }  # fmt: skip
    return {**standard, **changes}


def reject_body(eval_id: str = "e1", **changes: Any) -> dict[str, Any]:
    standard = {"decision": "reject", "category": "half_finished", "score": 0.1, "facts": ["stub_body"]}
    return event_body(eval_id, **{**standard, **changes})


def raw_entry(kind: EventKind, body: dict[str, Any], when: datetime = NOON) -> RawEntry:
    return milliseconds(when), kind.value.encode(), json.dumps(body, separators=(",", ":")).encode()


def completed_event(eval_id: str = "e1", when: datetime = NOON, **changes: Any) -> RawEntry:
    return raw_entry(EventKind.COMPLETED, event_body(eval_id, **changes), when)


def rejected_event(eval_id: str = "e1", when: datetime = NOON, **changes: Any) -> RawEntry:
    return raw_entry(EventKind.COMPLETED, reject_body(eval_id, **changes), when)


def started_event(eval_id: str = "e1", when: datetime = NOON, **changes: Any) -> RawEntry:
    body = event_body(eval_id, **changes)
    frame = {name: body[name] for name in tuple(body)[:7]}
    rest = {name: body[name] for name in ("rubric_id", "rubric_version", "trigger")}
    return raw_entry(EventKind.STARTED, {**frame, **rest, "judge_kind_planned": "heuristic"}, when)


def failed_event(eval_id: str = "e1", when: datetime = NOON, *, bare: bool = False, **changes: Any) -> RawEntry:
    """An `eval.failed`, with an abstention or *bare*."""
    mode = FailureMode.JUDGE_CALL_FAILED
    body = event_body(eval_id, decision="abstain", abstain_reason="judge_unavailable", **changes)
    if bare:
        kept = (*tuple(body)[:7], "rubric_id", "rubric_version", "judge_latency_ms", "judge_cost_usd", *changes)
        body = {name: body[name] for name in kept}
    failure = {"failure_mode": mode.value, "error_message": FAILURE_MESSAGES[mode]}
    return raw_entry(EventKind.FAILED, {**body, **failure}, when)


def outcome_entry(kind: OutcomeKind, eval_id: str | None = "e1", when: datetime = NOON, **changes: Any) -> RawEntry:
    pull = pull_ref(changes.get("number", 3), repository=changes.get("repository_id", 7))
    about = EvalId(eval_id) if eval_id else None
    at = changes.get("at", when)
    event = outcome_event(pull, Outcome(kind=kind, eval_id=about, head_sha=changes.get("head_sha"), at=at))
    return raw_entry(event.kind, dict(event.body), when)


def entries(*history: RawEntry) -> list[StreamEntry]:
    ordered = sorted(history, key=lambda entry: entry[0])
    return [StreamEntry(f"{when}-{number}", kind, raw) for number, (when, kind, raw) in enumerate(ordered)]


@contextmanager
def count_figures(*history: RawEntry, until: datetime = NOON + 12 * HOUR) -> Generator[CountedStream]:
    """Count the entries in portions of two."""
    with open_figures(":memory:") as db:
        waiting = iter(entries(*history))
        while portion := list(islice(waiting, 2)):
            ingest_entries(db, portion)
        yield CountedStream(db, 0, milliseconds(until), is_behind=False)


def nano(usd: str) -> int:
    return int(Decimal(usd) * 10**9)


NOW = NOON + timedelta(hours=12)


def query_stats(topic: StatsTopic, history: tuple[RawEntry, ...], **parameters: str) -> dict[str, Any]:
    """The answer as it is sent, about the day around NOON; `since` stands for `from`."""
    since = parameters.pop("since", (NOON - timedelta(hours=12)).isoformat())
    question = parse_query({"from": since, **parameters}, topic, NOW)
    with count_figures(*history) as stream:
        return answer_query(topic, question, [stream])


def rows(topic: StatsTopic, *history: RawEntry, **parameters: str) -> list[dict[str, Any]]:
    return query_stats(topic, history, **parameters)["data"]


def row(topic: StatsTopic, *history: RawEntry, **parameters: str) -> dict[str, Any]:
    [only] = rows(topic, *history, **parameters)
    return only
