"""A record goes into JSON and comes back whole; one that a newer version wrote is refused."""

import json
from decimal import Decimal
from typing import Any

import pytest

from worker.domain.ids import EvalId
from worker.domain.verdict.audit import (
    AuditError,
    AuditRecord,
    Exchange,
    JudgeSettings,
    OverBudget,
    RecordedRedaction,
    RecordedReply,
    Stage,
    Step,
    dump_audit,
    read_audit,
)
from worker.domain.verdict.verdict import Tokens

LAW = JudgeSettings("default 1", "sha256:r", "sha256:p", 0.7, "claude-haiku-5-5", "2026-11")
SAID = RecordedReply("{}", "end_turn", "", Tokens(input=7, output=1), Decimal("0.00010"), "req_1")
RECORD = AuditRecord(
    EvalId("e"),
    LAW,
    steps=(Step(Stage.LAW, "rubric default 1"), Step(Stage.REPLY, "schema", "score: expected an integer")),
    exchanges=(
        Exchange("sha256:s", "sha256:f", ("question",), reply=SAID, fault="schema", problems=("score: a number",)),
        Exchange(
            "sha256:s",
            "sha256:f",
            ("question", "{}", "correction"),
            reply=RecordedReply("{}", "refusal", "x", Tokens(), None, None),
        ),
        Exchange("sha256:s", "sha256:f", ("question",), failure="status 529"),
        Exchange(
            "sha256:s",
            "sha256:f",
            ("question",),
            failure="day cap",
            over=OverBudget("day", Decimal("0.99"), Decimal("1.00"), Decimal("0.02")),
        ),
    ),
    redactions=(RecordedRedaction("jwt", "issues[7].body", 2),),
)


def test_what_was_written_is_read_again() -> None:
    assert read_audit(json.loads(json.dumps(dump_audit(RECORD)))) == RECORD


def test_a_record_of_a_newer_version_is_refused_and_not_guessed_at() -> None:
    with pytest.raises(AuditError, match="was written in version 2; this Assay reads version 1"):
        read_audit({**dump_audit(RECORD), "audit_version": 2})


def test_what_a_law_no_longer_has_is_left_out() -> None:
    fields: Any = dump_audit(RECORD)
    fields["law"]["questions"] = 6
    assert read_audit(fields) == RECORD
