"""Audit records as JSON, and digests of rubrics and judges."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest

from worker.domain.model import EvalId
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
    judge_digest,
    read_audit,
    rubric_digest,
    scoring_digest,
)
from worker.domain.verdict.verdict import Tokens
from worker.judge.rubric import load_ci_check_rubric, load_rubric, read_rubric

SETTINGS = JudgeSettings("default 1", "sha256:r", "sha256:p", 0.7, "claude-haiku-5-5", "2026-11")
REPLY = RecordedReply("{}", "end_turn", "", Tokens(input=7, output=1), Decimal("0.00010"), "req_1")
RECORD = AuditRecord(
    EvalId("e"),
    SETTINGS,
    steps=(Step(Stage.LAW, "rubric default 1"), Step(Stage.REPLY, "schema", "score: expected an integer")),
    exchanges=(
        Exchange("sha256:s", "sha256:f", ("question",), reply=REPLY, fault="schema", problems=("score: a number",)),
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


def test_audit_record_survives_being_written_and_read() -> None:
    assert read_audit(json.loads(json.dumps(dump_audit(RECORD)))) == RECORD


def test_audit_record_of_a_newer_version_is_refused() -> None:
    with pytest.raises(AuditError, match="was written in version 2; this Assay reads version 1"):
        read_audit({**dump_audit(RECORD), "audit_version": 2})


def test_unknown_judge_setting_is_left_out() -> None:
    fields: Any = dump_audit(RECORD)
    fields["law"]["questions"] = 6
    assert read_audit(fields) == RECORD


SHIPPED: Final = Path(__file__).resolve().parents[4] / "rubrics" / "default.yml"


def test_rubric_digest_ignores_formatting() -> None:
    text = SHIPPED.read_text()
    assert rubric_digest(read_rubric(f"# a comment\n\n{text}\n")) == rubric_digest(read_rubric(text))


def test_rubric_digest_covers_its_content() -> None:
    rubric = load_rubric()
    assert rubric_digest(rubric.model_copy(update={"escalation_threshold": 0.1})) != rubric_digest(rubric)


def test_judge_digest_covers_rubric_prompt_and_judges() -> None:
    rubric = load_rubric()
    other = rubric.model_copy(update={"version": "x"})
    judges = ((rubric, "p", "j"), (rubric, "q", "j"), (rubric, "p", "k"), (other, "p", "j"))
    digests = {judge_digest(*judge) for judge in judges}
    assert len(digests) == 4
    assert judge_digest(rubric, "p", "j") in digests


def test_scoring_digest_covers_weights_and_judge_digest() -> None:
    weights = load_ci_check_rubric()
    other = weights.model_copy(update={"passed": 0.9})
    digests = {scoring_digest(*scoring) for scoring in ((weights, "p"), (weights, "q"), (other, "p"))}
    digests.add(judge_digest(load_rubric(), "p", "j"))
    assert len(digests) == 4
    assert scoring_digest(weights, "p") in digests
