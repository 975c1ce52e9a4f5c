"""Exports of verdicts as JSON lines, CSV and columns, and the list of a pull request's verdicts."""

import csv
import io
import json
from collections.abc import Iterable
from typing import Any

import pytest

from tests.worker.adapters.redis.store_samples import ledger_entry_of
from tests.worker.evaluation.stats import history
from tests.worker.evaluation.stats.history import NOON, milliseconds
from worker.domain.verdict.events import OutcomeKind, StreamEntry
from worker.evaluation.stats import export
from worker.evaluation.stats.answers import list_evaluations
from worker.evaluation.stats.export import (
    COLUMN_KINDS,
    COLUMNS,
    LINES_PER_CHUNK,
    TYPED_COLUMNS,
    SkippedCount,
    export_columns,
    export_csv,
    export_jsonl,
)
from worker.evaluation.stats.figures import LATEST_MS, format_time

MISSHAPEN = [b' {"v":1,"eval_id":"e"}', b'{"v":1,"eval_id":\n"e"}']
"""Valid JSON that is not formatted as one line."""

BROKEN = [
    b"{",
    b"[]",
    b'{"v":1,"eval_id":"\xff"}',
    b'{"v":1,"eval_id":"e"}{}',
    b'{"v":1}',
    b'{"v":1,"eval_id":"e","score":NaN}',
    b'{"v":1,"eval_id":"e","score":-Infinity}',
]
OTHERS = [b'{"eval_id":"e"}', *(b'{"v":%b,"eval_id":"e"}' % v for v in (b"0", b"2", b'"1"', b"true", b"1.0", b"null"))]
"""Events of another version, or of none."""

WRONG_KINDS: list[dict[str, Any]] = [
    {"score": "0.5"},
    {"score": (1 << 53) + 1},  # no float
    {"round": True},
    {"number": 1 << 63},
    {"facts": [1]},
    {"facts": "x"},
    {"escalated": "no"},
    {"category": 5},
]


def entries(*events: tuple[int, bytes, bytes]) -> list[StreamEntry]:
    return [StreamEntry(f"{at_ms}-0", kind, raw) for at_ms, kind, raw in events]


def ends(*raws: bytes) -> list[StreamEntry]:
    return entries(*((milliseconds(), b"eval.completed", raw) for raw in raws))


def lines(events: Iterable[StreamEntry]) -> tuple[list[dict[str, Any]], int]:
    """The rows of the JSON lines, and how many events were skipped."""
    skipped = SkippedCount()
    return [json.loads(line) for line in b"".join(export_jsonl(events, 100, skipped)).splitlines()], skipped.count


def table(events: Iterable[StreamEntry]) -> tuple[list[dict[str, Any]], int]:
    skipped = SkippedCount()
    return list(csv.DictReader(io.StringIO(b"".join(export_csv(events, 100, skipped)).decode()))), skipped.count


def columns(events: Iterable[StreamEntry]) -> tuple[list[dict[str, Any]], int]:
    skipped = SkippedCount()
    [group] = export_columns(events, 100, skipped)
    assert tuple(group) == TYPED_COLUMNS
    return [dict(zip(group, row, strict=True)) for row in zip(*group.values(), strict=True)], skipped.count


@pytest.mark.parametrize("form", [lines, table, columns])
def test_terminal_events_are_exported_with_their_time(form: Any) -> None:
    events = entries(
        history.started_event("e1"),
        history.completed_event("e1"),
        history.outcome_entry(OutcomeKind.MERGED),
        history.failed_event("e2", bare=True),
    )
    (first, second), skipped = form(events)
    assert [row["eval_id"] for row in (first, second)] == ["e1", "e2"]
    assert (second["event"], second["failure_mode"], skipped) == ("eval.failed", "judge_call_failed", 0)
    assert first["at"] == (milliseconds() if form is columns else NOON.isoformat(timespec="milliseconds"))


@pytest.mark.parametrize("form", [lines, table, columns])
@pytest.mark.parametrize("raws", [BROKEN, OTHERS], ids=["broken", "another version"])
def test_unreadable_events_are_skipped_and_counted(form: Any, raws: list[bytes]) -> None:
    rows, skipped = form([*entries(history.completed_event("e1")), *ends(*raws)])
    assert (len(rows), skipped) == (1, len(raws))


@pytest.mark.parametrize("form", [lines, table, columns])
def test_events_beyond_the_latest_time_are_skipped_and_counted(form: Any) -> None:
    times = LATEST_MS, LATEST_MS + 1, 2**64 - 1
    [row], skipped = form(entries(*((at_ms, *history.completed_event("e1")[1:]) for at_ms in times)))
    assert (row["at"], skipped) == (LATEST_MS if form is columns else "9999-01-01T00:00:00.000+00:00", 2)


def test_json_line_is_the_event_as_written() -> None:
    [line], _ = lines(entries(history.completed_event("e1")))
    frame = {"at": format_time(milliseconds()), "installation_id": 100, "event": "eval.completed"}
    assert line == {**frame, **history.event_body("e1")}
    assert lines(ends(*MISSHAPEN)) == ([], 2)
    assert len(table(ends(*MISSHAPEN))[0]) == len(columns(ends(*MISSHAPEN))[0]) == 2


@pytest.mark.parametrize("at_ms", [0, 1, 86_399_999, 86_400_000, 1_700_000_000_123, 4_102_444_799_999])
def test_json_line_has_the_time_of_its_entry(at_ms: int) -> None:
    [line], _ = lines(entries((at_ms, *history.completed_event()[1:])))
    assert line["at"] == format_time(at_ms)


def test_exports_are_chunked(monkeypatch: pytest.MonkeyPatch) -> None:
    events, n = entries(*(history.completed_event(f"e{n}") for n in range(LINES_PER_CHUNK * 2 + 1))), LINES_PER_CHUNK
    assert [part.count(b"\n") for part in export_jsonl(events, 1, SkippedCount())] == [n, n, 1]
    assert sum(part.count(b"\n") for part in export_csv(events, 1, SkippedCount())) == 2 * n + 2
    monkeypatch.setattr(export, "ROWS_PER_GROUP", 2)
    assert [len(group["at"]) for group in export_columns(events[:5], 1, SkippedCount())] == [2, 2, 1]


def test_csv_has_a_column_for_each_plain_field() -> None:
    [row], _ = table(entries(history.rejected_event("e1")))
    assert (row["category"], row["score"], row["escalated"]) == ("half_finished", "0.1", "false")
    assert set(history.event_body()) - {"v", "sensitivity", "facts", "signals"} < set(COLUMNS)
    [row], _ = table(entries(history.failed_event("e2", bare=True)))
    assert row["decision"] == ""


def test_columns_hold_typed_values() -> None:
    (first, second), _ = columns(entries(history.rejected_event("e1", score=1), history.failed_event("e2", bare=True)))
    assert (first["event"], first["score"], first["facts"]) == ("eval.completed", 1, ["stub_body"])
    assert (first["signals"], first["judge_cost_usd"], first["installation_id"]) == ("{}", "0", 100)
    assert (second["signals"], second["facts"]) == (None, None)
    assert set(COLUMN_KINDS) < set(TYPED_COLUMNS)


@pytest.mark.parametrize("change", WRONG_KINDS, ids=str)
def test_columns_skip_rows_with_a_field_of_another_type(change: dict[str, Any]) -> None:
    assert columns(ends(json.dumps({**history.event_body(), **change}).encode())) == ([], 1)


def test_listed_evaluation_has_its_ids_and_no_secrets() -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    made = ledger_entry_of("0190aaaa-bbbb-7ccc-8ddd-eeeeffff0000", 1)
    verdict = made.verdict.model_copy(update={"concern": f"the token {secret} is in the code"})
    [shown] = list_evaluations([made.model_copy(update={"verdict": verdict})])
    assert secret not in json.dumps(shown)
    assert "is in the code" in shown["concern"]
    assert {**verdict.model_dump(mode="json"), "concern": ""} == {**shown, "concern": ""}
