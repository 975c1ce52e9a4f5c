"""Verdicts and dossiers that the tests of texts share."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from worker.domain.config.config import CONFIG_PATH
from worker.domain.dossier import (
    Ci,
    CiCheck,
    CiState,
    ConfigOrigin,
    ConfigText,
    Criterion,
    Dossier,
    HeadFile,
    Issue,
    LateEdit,
    PullRequest,
    UnreadFile,
    UnreadReason,
)
from worker.domain.model import EvalId, Fingerprint, InstallationId, RepositoryId
from worker.domain.verdict.verdict import (
    Abstain,
    AbstainReason,
    Accept,
    Category,
    Coverage,
    CriterionStatus,
    CriterionVerdict,
    EvidencePointer,
    Finding,
    JudgeKind,
    Reject,
    Subject,
    Tokens,
)

HEAD, BASE = "a" * 40, "b" * 40
HOSTILE = (
    "@acme/team #7 acme/x#8 <img src=x onerror=y> ![p](http://evil.example/p.png) [l](http://evil.example) "
    "http://evil.example www.evil.example a@evil.example ``` ` | * _ ~~s~~ $x$ :tada: \x1b[2J\u202e \\"
)

ISSUE = Issue(
    repository="acme/widgets", number=7, title="Retry uploads on 503", body="- retries", linked_by="Closes #7"
)
STUB = EvidencePointer(
    path="upload.py", line=17, quote="    raise NotImplementedError", note="The whole body of `retry` is a stub."
)
PASSED = Ci(state=CiState.SUCCESS, checks=(CiCheck(name="test", conclusion="success", required=True),))


def dossier(**changes: Any) -> Dossier:
    fields: dict[str, Any] = {
        "pull_request": PullRequest(
            repository="acme/widgets", number=12, title="Retry uploads", body="Closes #7",
            author="copilot-swe-agent[bot]", base_sha=BASE, head_sha=HEAD,
        ),
        "issues": (ISSUE,),
        "criteria": (Criterion(id="AC1", text="Uploads are retried three times on 503"),),
        "diff": "",
        "ci": PASSED,
    }  # fmt: skip
    return Dossier(**fields | changes)


def _verdict_fields(changes: dict[str, Any]) -> dict[str, Any]:
    return {
        "eval_id": EvalId("0199aaaa-0000-7000-8000-000000000001"),
        "subject": Subject(
            installation_id=InstallationId(100), repository_id=RepositoryId(7),
            repository="acme/widgets", number=12, head_sha=HEAD,
        ),
        "author_agent": "copilot",
        "round": 1,
        "coverage": Coverage(read=("upload.py", "tests/test_upload.py")),
        "confidence": 0.9,
        "judge_kind": JudgeKind.HEURISTIC,
        "judge_latency_ms": 12,
        "escalated": False,
        "escalation_reason": "a stub in production code is a fact",
        "rubric_id": "default",
        "rubric_version": "1",
        "fingerprint": Fingerprint("sha256:f"),
        "created_at": datetime(2026, 11, 20, 20, 5, tzinfo=UTC),
    } | changes  # fmt: skip


def rejected(**changes: Any) -> Reject:
    fields: dict[str, Any] = {
        "category": Category.HALF_FINISHED,
        "concern": "`retry` is added and never implemented.",
        "evidence": (STUB,),
        "next_step": "Implement `retry` in upload.py: three tries on 503.",
        "score": 0.1,
        "criteria": (CriterionVerdict(id="AC1", status=CriterionStatus.MISSING, claimed=True),),
        "findings": (
            Finding(signal="stub_body", category=Category.HALF_FINISHED, fact=True, path="upload.py", line=17),
            Finding(
                signal="no_assertions", category=Category.WEAK_TEST, fact=False,
                path="tests/test_upload.py", line=4, note="only calls `retry`",
            ),
        ),
    }  # fmt: skip
    return Reject(**_verdict_fields(fields | changes))


def accepted(**changes: Any) -> Accept:
    pointer = EvidencePointer(path="upload.py", line=17, end_line=20, quote="    for attempt in range(3):")
    fields: dict[str, Any] = {
        "concern": "Uploads are retried three times on 503, and a test proves it.",
        "evidence": (pointer,),
        "score": 0.9,
        "criteria": (CriterionVerdict(id="AC1", status=CriterionStatus.MET, claimed=True, evidence=(pointer,)),),
        "judge_kind": JudgeKind.HYBRID,
        "judge_model": "claude-haiku-5-5",
        "judge_cost_usd": Decimal("0.001742"),
        "judge_pricing_version": "2026-11",
        "judge_latency_ms": 5210,
        "tokens": Tokens(input=8123, output=402, cache_read=5120),
        "escalated": True,
        "escalation_reason": "confidence 0.58 < 0.70: no fact and no safe change",
        "prompt_version": "sha256:0123",
    }
    return Accept(**_verdict_fields(fields | changes))


def abstained(reason: AbstainReason, **changes: Any) -> Abstain:
    fields: dict[str, Any] = {
        "abstain_reason": reason,
        "concern": "Nothing was found against this change.",
        "next_step": "Have a person review it, or configure a model.",
        "score": 0.5,
        "escalation_reason": "no model is configured",
    }
    return Abstain(**_verdict_fields(fields | changes))


def config_edit(path: str) -> str:
    """A diff that edits this file."""
    return f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-x\n+y\n"


def config_texts(own: str | None, last_good: str | None = None, default: str | None = None) -> tuple[ConfigText, ...]:
    repository = ConfigText(origin=ConfigOrigin.REPOSITORY, text=own, last_good=last_good)
    return (repository, *([] if default is None else [ConfigText(origin=ConfigOrigin.ORGANISATION, text=default)]))


def dossier_editing_config(head: str, base: str) -> Dossier:
    """A pull request that replaces the configuration *base* by *head*."""
    files = (HeadFile(path=CONFIG_PATH, text=head),)
    return dossier(diff=config_edit(CONFIG_PATH), files=files, config=config_texts(base))


LATE = LateEdit(by="copilot-swe-agent[bot]", at=datetime(2026, 11, 20, 20, tzinfo=UTC))
UNREAD = (UnreadFile(path="logo.png", reason=UnreadReason.BINARY),)
RED = CiCheck(name="test", conclusion="failure", required=True, summary="1 failed", log_tail="E assert 1 == 2\n")
FAILED_CI = Ci(state=CiState.FAILURE, checks=(RED, CiCheck(name="lint", conclusion="success")))
