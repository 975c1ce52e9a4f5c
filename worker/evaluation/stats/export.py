"""Verdicts for other programs: JSON lines, CSV, or columns for Parquet.

A line is one verdict or failure, with the time of its entry; malformed entries are left out and counted.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, cast

from pydantic_core import SchemaValidator, core_schema, from_json, to_json

from worker.domain.verdict.events import EVENT_VERSION, StreamEntry
from worker.evaluation.stats.figures import DAY_HOURS, EPOCH, HOUR_MS, LATEST_MS, format_time

COLUMNS: Final = (
    "at", "installation_id", "event", "eval_id", "subject_kind", "subject_id", "repository_id", "number", "decision",
    "category", "abstain_reason", "throttled_reason", "failure_mode", "score", "confidence", "round", "author_agent",
    "judge_kind", "judge_model", "judge_cost_usd", "judge_pricing_version", "judge_latency_ms", "tokens_in", "tokens_out",
    "escalated", "rubric_id", "rubric_version", "parent_eval_id", "carried_from", "trigger", "created_at",
)  # fmt: skip
COLUMN_KINDS: Final[Mapping[str, type]] = MappingProxyType(
    dict.fromkeys(
        ("installation_id", "repository_id", "number", "round", "judge_latency_ms", "tokens_in", "tokens_out"), int
    )
    | {"score": float, "confidence": float, "escalated": bool, "facts": list}
)
"""Columns that are no text, in formats that have types. Money stays text: a decimal of any length."""

TYPED_COLUMNS: Final = (*COLUMNS, "facts", "signals")
TERMINAL_EVENTS: Final = {b"eval.completed": "eval.completed", b"eval.failed": "eval.failed"}
LINES_PER_CHUNK: Final = 500
ROWS_PER_GROUP: Final = 20_000
LONG_LIMIT: Final = 1 << 63
EXACT_LIMIT: Final = 1 << 53
"""The largest whole number that is exact as a float."""

DAY_MS: Final = DAY_HOURS * HOUR_MS
VERDICT_SCHEMA: Final = SchemaValidator(
    core_schema.typed_dict_schema(
        {
            "v": core_schema.typed_dict_field(core_schema.int_schema(ge=EVENT_VERSION, le=EVENT_VERSION, strict=True)),
            "eval_id": core_schema.typed_dict_field(core_schema.any_schema()),
        }
    )
)
"""Validates a whole event of this version as `from_json` does, and keeps two fields of it: a third of the work."""


class SkippedCount:
    """How many entries were left out."""

    def __init__(self) -> None:
        self.count = 0


def export_jsonl(entries: Iterable[StreamEntry], installation_id: int, skipped: SkippedCount) -> Iterator[bytes]:
    """Many lines at a time: `at`, `installation_id`, `event`, and the event's own fields as they were written."""
    lines: list[bytes] = []
    middle = {kind: b'","installation_id":%d,"event":"%b",' % (installation_id, kind) for kind in TERMINAL_EVENTS}
    for entry in entries:
        if entry.kind not in TERMINAL_EVENTS:
            continue
        if entry.at_ms > LATEST_MS or not _is_whole(entry.raw):
            skipped.count += 1
            continue
        day, rest = divmod(entry.at_ms, DAY_MS)
        lines.append(
            b'{"at":"%bT%02d:%02d:%02d.%03d+00:00%b%b\n'
            % (
                _date(day),
                rest // HOUR_MS,
                rest // 60_000 % 60,
                rest // 1000 % 60,
                rest % 1000,
                middle[entry.kind],
                entry.raw[1:],
            )
        )
        if len(lines) == LINES_PER_CHUNK:
            yield b"".join(lines)
            lines.clear()
    yield b"".join(lines)


def _is_whole(raw: bytes) -> bool:
    """Whether it is one JSON object on one line, an event of this version."""
    try:
        VERDICT_SCHEMA.validate_json(raw)
        if b"NaN" in raw or b"Infinity" in raw:  # JSON has no such number, but `validate_json` accepts it
            from_json(raw, allow_inf_nan=False)
    except ValueError:
        return False
    return raw.startswith(b'{"') and b"\n" not in raw


def _read_bodies(
    entries: Iterable[StreamEntry], installation_id: int, skipped: SkippedCount
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The time of each verdict or failure of this version, and its fields with those of the line."""
    for entry in entries:
        if entry.kind not in TERMINAL_EVENTS:
            continue
        try:
            body: object = from_json(entry.raw, allow_inf_nan=False)
        except ValueError:
            body = None
        fields = cast("dict[str, Any]", body) if isinstance(body, dict) else {}
        is_ours = "eval_id" in fields and type(fields.get("v")) is int and fields["v"] == EVENT_VERSION
        if is_ours and entry.at_ms <= LATEST_MS:
            yield entry.at_ms, fields | {"installation_id": installation_id, "event": TERMINAL_EVENTS[entry.kind]}
        else:
            skipped.count += 1


def export_csv(entries: Iterable[StreamEntry], installation_id: int, skipped: SkippedCount) -> Iterator[bytes]:
    """CSV with a line of names, in the order of COLUMNS; nested fields (facts, signals) are in JSON lines only."""
    rows: list[Sequence[object]] = [COLUMNS]
    for at_ms, body in _read_bodies(entries, installation_id, skipped):
        body["at"] = format_time(at_ms)
        values = map(body.get, COLUMNS)
        rows.append([str(value).lower() if isinstance(value, bool) else value for value in values])
        if len(rows) == LINES_PER_CHUNK:
            yield _csv_lines(rows)
            rows.clear()
    yield _csv_lines(rows)


def export_columns(
    entries: Iterable[StreamEntry], installation_id: int, skipped: SkippedCount
) -> Iterator[dict[str, list[Any]]]:
    """Many rows at a time, by column, in the order of TYPED_COLUMNS, with the types of COLUMN_KINDS.

    `at` is in milliseconds since 1970, `signals` is JSON. A row with a field of another type is left out and counted.
    """
    group: dict[str, list[Any]] = {name: [] for name in TYPED_COLUMNS}
    for at_ms, body in _read_bodies(entries, installation_id, skipped):
        row = {name: body.get(name) for name in TYPED_COLUMNS if name != "at"}
        row["signals"] = None if row["signals"] is None else to_json(row["signals"]).decode()
        if not all(value is None or _fits(value, COLUMN_KINDS.get(name, str)) for name, value in row.items()):
            skipped.count += 1
            continue
        row["at"] = at_ms
        for name, column in group.items():
            column.append(row[name])
        if len(group["at"]) == ROWS_PER_GROUP:
            yield group
            group = {name: [] for name in TYPED_COLUMNS}
    yield group


def _fits(value: object, kind: type) -> bool:
    if kind is list:
        return isinstance(value, list) and all(isinstance(item, str) for item in cast("list[object]", value))
    if kind is float:
        return type(value) is float or (type(value) is int and -EXACT_LIMIT <= value <= EXACT_LIMIT)
    return type(value) is kind and (kind is not int or -LONG_LIMIT <= cast("int", value) < LONG_LIMIT)


def _csv_lines(rows: Iterable[Sequence[object]]) -> bytes:
    into = io.StringIO()
    csv.writer(into, lineterminator="\n").writerows(rows)
    return into.getvalue().encode()


@lru_cache(maxsize=64)
def _date(day: int) -> bytes:
    return f"{EPOCH + timedelta(days=day):%Y-%m-%d}".encode()
