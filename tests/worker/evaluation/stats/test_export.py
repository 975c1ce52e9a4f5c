"""Verdicts as lines for other programs, and a pull request's verdicts to show."""

import csv
import io
import json

import pytest

from tests.worker.adapters.redis.test_kept import entry
from tests.worker.evaluation.stats.told import (
    NOON,
    Told,
    body,
    completed,
    failed,
    outcome,
    rejected,
    started,
)
from worker.domain.verdict.events import StreamEntry
from worker.domain.verdict.outcomes import OutcomeKind
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
    format_time,
)
from worker.evaluation.stats.figures import LATEST_MS

BROKEN = [
    b"{",
    b"[]",
    b'{"v":1,"eval_id":"\xff"}',
    b'{"v":1,"eval_id":"e"}{}',
    b'{"v":1}',
    b' {"v":1,"eval_id":"e"}',
    b'{"v":1,"eval_id":\n"e"}',
    b'{"v":1,"eval_id":"e","score":NaN}',
    b'{"v":1,"eval_id":"e","score":-Infinity}',
]
ELSEWHERE = [
    b'{"eval_id":"e"}',
    *(b'{"v":%b,"eval_id":"e"}' % v for v in (b"0", b"2", b'"1"', b"true", b"1.0", b"null")),
]
"""Events of an older or a newer version, or of none."""


def entry_at(at_ms: int, kind: bytes, raw: bytes) -> StreamEntry:
    return StreamEntry(f"{at_ms}-0", kind, raw)


def entries(*told: Told) -> list[StreamEntry]:
    return [entry_at(*one) for one in told]


def test_a_line_is_one_verdict_as_it_was_written_with_its_time() -> None:
    skipped = SkippedCount()
    told = entries(started("e1"), completed("e1"), outcome(OutcomeKind.MERGED), failed("e2"))
    lines = b"".join(export_jsonl(told, 100, skipped)).splitlines()
    first, second = (json.loads(line) for line in lines)
    assert first == {
        "at": "2026-11-20T12:00:00.000+00:00",
        "installation_id": 100,
        "event": "eval.completed",
        **body("e1"),
    }
    assert (second["event"], second["failure_mode"]) == ("eval.failed", "judge_call_failed")
    assert skipped.count == 0


def test_what_is_broken_is_left_out_of_lines_and_counted() -> None:
    skipped = SkippedCount()
    told = [*entries(completed("e1")), *(entry_at(0, b"eval.completed", raw) for raw in BROKEN)]
    assert b"".join(export_jsonl(told, 100, skipped)).count(b"\n") == 1
    assert skipped.count == len(BROKEN)


def test_an_event_of_no_time_that_can_be_written_is_in_no_export_and_counted() -> None:
    told = [entry_at(at_ms, *completed("e1")[1:]) for at_ms in (LATEST_MS, LATEST_MS + 1, 2**64 - 1)]
    for form in (export_jsonl, export_csv):
        skipped = SkippedCount()
        assert b"".join(form(told, 100, skipped)).count(b"9999-01-01T00:00:00.000+00:00") == 1
        assert skipped.count == 2
    skipped = SkippedCount()
    [group] = export_columns(told, 100, skipped)
    assert (group["at"], skipped.count) == ([LATEST_MS], 2)


def test_an_event_of_another_version_is_in_no_export_and_counted() -> None:
    told = [entry_at(0, b"eval.completed", raw) for raw in ELSEWHERE]
    for form, kept in ((export_jsonl, b""), (export_csv, b",".join(name.encode() for name in COLUMNS) + b"\n")):
        skipped = SkippedCount()
        assert (b"".join(form(told, 100, skipped)), skipped.count) == (kept, len(told))
    skipped = SkippedCount()
    [group] = export_columns(told, 100, skipped)
    assert (group["at"], skipped.count) == ([], len(told))


def test_the_time_of_a_line_is_that_of_its_entry() -> None:
    for at_ms in (0, 1, 86_399_999, 86_400_000, 1_700_000_000_123, 4_102_444_799_999):
        [line] = b"".join(export_jsonl([entry_at(at_ms, *completed()[1:])], 1, SkippedCount())).splitlines()
        assert json.loads(line)["at"] == format_time(at_ms)


def test_many_lines_come_in_parts() -> None:
    told = entries(*(completed(f"e{n}") for n in range(LINES_PER_CHUNK * 2 + 1)))
    assert [part.count(b"\n") for part in export_jsonl(told, 1, SkippedCount())] == [
        LINES_PER_CHUNK,
        LINES_PER_CHUNK,
        1,
    ]
    assert sum(part.count(b"\n") for part in export_csv(told, 1, SkippedCount())) == LINES_PER_CHUNK * 2 + 2


def test_a_table_has_a_column_for_every_plain_field() -> None:
    skipped = SkippedCount()
    told = [*entries(started("e1"), rejected("e1"), failed("e2", bare=True)), entry_at(0, b"eval.completed", b"{")]
    rows = list(csv.DictReader(io.StringIO(b"".join(export_csv(told, 100, skipped)).decode())))
    assert [row["eval_id"] for row in rows] == ["e1", "e2"]
    assert (rows[0]["at"], rows[0]["category"], rows[0]["score"]) == (
        NOON.isoformat(timespec="milliseconds"),
        "half_finished",
        "0.1",
    )
    assert (rows[1]["decision"], rows[1]["failure_mode"]) == ("", "judge_call_failed")
    assert rows[0]["escalated"] == "false"
    plain = set(body()) - {"v", "sensitivity", "facts", "signals"}
    assert plain < set(COLUMNS)
    assert skipped.count == 1


def test_columns_hold_what_they_say_and_a_row_that_does_not_is_left_out() -> None:
    skipped, wrong = (
        SkippedCount(),
        ({"score": "0.5"}, {"round": True}, {"number": 1 << 63}, {"facts": [1]}, {"facts": "x"}),
    )
    wrong += ({"score": (1 << 53) + 1},)  # no float
    told = [
        *entries(started("e1"), rejected("e1", score=1), failed("e2", bare=True)),
        entry_at(0, b"eval.completed", b"{"),
    ]
    told += entries(completed("e3", escalated="no"), completed("e3", category=5))
    told += [entry_at(0, b"eval.completed", json.dumps({**body("e4"), **one}).encode()) for one in wrong]
    [group] = export_columns(told, 100, skipped)
    assert tuple(group) == TYPED_COLUMNS
    first, second = (dict(zip(group, row, strict=True)) for row in zip(*group.values(), strict=True))
    assert (first["at"], first["event"], first["score"], first["facts"]) == (
        int(NOON.timestamp() * 1000),
        "eval.completed",
        1,
        ["stub_body"],
    )
    assert (first["signals"], first["judge_cost_usd"], first["installation_id"]) == ("{}", "0", 100)
    assert (second["signals"], second["facts"], second["failure_mode"]) == (None, None, "judge_call_failed")
    assert skipped.count == 3 + len(wrong)
    assert [
        len(one["at"]) for one in export_columns([entry_at(0, b"eval.failed", raw) for raw in BROKEN], 1, skipped)
    ] == [2]
    assert set(COLUMN_KINDS) < set(TYPED_COLUMNS)


def test_many_rows_come_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "ROWS_PER_GROUP", 2)
    told = entries(*(completed(f"e{n}") for n in range(5)))
    assert [len(group["at"]) for group in export_columns(told, 1, SkippedCount())] == [2, 2, 1]


def test_a_verdict_is_shown_without_secrets_and_with_its_ids() -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    made = entry("0190aaaa-bbbb-7ccc-8ddd-eeeeffff0000", 1)
    verdict = made.verdict.model_copy(update={"concern": f"the token {secret} is in the code"})
    [shown] = list_evaluations([made.model_copy(update={"verdict": verdict})])
    assert secret not in json.dumps(shown)
    assert "is in the code" in shown["concern"]
    same = (
        "eval_id",
        "fingerprint",
        "created_at",
        "score",
        "rubric_id",
        "subject",
        "findings",
        "judge_cost_usd",
        "tokens",
    )
    assert {name: shown[name] for name in same} == {name: verdict.model_dump(mode="json")[name] for name in same}
