"""Verdicts as lines for other programs: JSON lines, or a table in CSV.

Does not read or write files. Invariant: a line is one verdict or failure, with the time of its entry; what can't be read is
left out and counted.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Any, Final, Protocol, cast

from pydantic_core import from_json

from worker.analytics.windows import EPOCH

COLUMNS: Final = (
    "at", "installation_id", "event", "eval_id", "subject_kind", "subject_id", "repository_id", "number", "decision",
    "category", "abstain_reason", "throttled_reason", "failure_mode", "score", "confidence", "round", "author_agent",
    "judge_kind", "judge_model", "judge_cost_usd", "judge_pricing_version", "judge_latency_ms", "tokens_in", "tokens_out",
    "escalated", "rubric_id", "rubric_version", "parent_eval_id", "carried_from", "trigger", "created_at",
)  # fmt: skip
TERMINAL: Final = {b"eval.completed": "eval.completed", b"eval.failed": "eval.failed"}
CHUNK: Final = 500


class Entry(Protocol):
    """An entry of a stream, as `worker.store.stream` reads it."""

    @property
    def kind(self) -> bytes: ...
    @property
    def raw(self) -> bytes: ...
    @property
    def at_ms(self) -> int: ...


class Skipped:
    """How many entries were left out."""

    def __init__(self) -> None:
        self.count = 0


def jsonl(entries: Iterable[Entry], installation_id: int, skipped: Skipped) -> Iterator[bytes]:
    """Many lines at a time: `at`, `installation_id`, `event`, and the event's own fields as they were written."""
    lines: list[bytes] = []
    middle = {kind: b'","installation_id":%d,"event":"%b",' % (installation_id, kind) for kind in TERMINAL}
    for one in entries:
        if one.kind not in TERMINAL:
            continue
        if not _is_whole(one.raw):
            skipped.count += 1
            continue
        lines.append(b'{"at":"%b%b%b\n' % (stamped(one.at_ms).encode(), middle[one.kind], one.raw[1:]))
        if len(lines) == CHUNK:
            yield b"".join(lines)
            lines.clear()
    yield b"".join(lines)


def _is_whole(raw: bytes) -> bool:
    """Whether it is one JSON object on one line, with something in it."""
    return _body(raw) is not None and raw.startswith(b'{"') and b"\n" not in raw


def _body(raw: bytes) -> dict[str, Any] | None:
    try:
        body: object = from_json(raw)
    except ValueError:
        return None
    if not isinstance(body, dict) or "eval_id" not in body:
        return None
    return cast("dict[str, Any]", body)


def table(entries: Iterable[Entry], installation_id: int, skipped: Skipped) -> Iterator[bytes]:
    """CSV with a line of names, in the order of COLUMNS; what has more inside (facts, signals) is for JSON lines."""
    rows: list[Sequence[object]] = [COLUMNS]
    for one in entries:
        if one.kind not in TERMINAL:
            continue
        body = _body(one.raw)
        if body is None:
            skipped.count += 1
            continue
        body |= {"at": stamped(one.at_ms), "installation_id": installation_id, "event": TERMINAL[one.kind]}
        rows.append([_plain(body.get(name)) for name in COLUMNS])
        if len(rows) == CHUNK:
            yield _lines(rows)
            rows.clear()
    yield _lines(rows)


def _plain(value: object) -> object:
    """Yes and no as JSON has them."""
    return str(value).lower() if isinstance(value, bool) else value


def _lines(rows: Iterable[Sequence[object]]) -> bytes:
    into = io.StringIO()
    csv.writer(into, lineterminator="\n").writerows(rows)
    return into.getvalue().encode()


def stamped(at_ms: int) -> str:
    return (EPOCH + timedelta(milliseconds=at_ms)).isoformat(timespec="milliseconds")
