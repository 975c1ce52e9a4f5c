"""Whole verdicts of earlier rounds, for the judge's tests.

Does not judge. Invariant: the numbers in them (0.137 ...) stand nowhere else, so that a test can look for them.
"""

from typing import Any

from tests.worker.judge.making import HEAD, NOW
from worker.domain.verdict.verdict import Abstain, Accept, Reject

FRAME: dict[str, Any] = {
    "eval_id": "0193-earlier",
    "subject": {
        "installation_id": 100,
        "repository_id": 7,
        "repository": "acme/widgets",
        "number": 12,
        "head_sha": HEAD,
    },
    "author_agent": "copilot",
    "round": 1,
    "concern": "It was looked at.",
    "confidence": 0.137,
    "judge_kind": "heuristic",
    "escalated": False,
    "escalation_reason": "none",
    "rubric_id": "default",
    "rubric_version": "1",
    "fingerprint": "sha256:earlier",
    "created_at": NOW,
}


def rejected(**changes: Any) -> Reject:
    fields = {
        "category": "weak_test",
        "next_step": "Assert the attempts.",
        "evidence": [{"path": "tests/test_upload.py", "line": 6, "note": "asserts nothing new"}],
        "closing_conditions": [{"id": "c1", "text": "Assert the attempts."}],
        "scores": [{"criterion": "proof", "score": 2, "reasoning": "secret reasoning", "improvement": ""}],
        "composite": 2.0,
        "score": 0.137,
    }
    return Reject.model_validate({**FRAME, **fields, **changes})


def accepted(**changes: Any) -> Accept:
    return Accept.model_validate({**FRAME, "score": 0.937, **changes})


def unjudged(**changes: Any) -> Abstain:
    fields = {"abstain_reason": "judge_unavailable", "next_step": "Re-run it.", "score": 0.5}
    return Abstain.model_validate({**FRAME, **fields, **changes})
