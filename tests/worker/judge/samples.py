"""Dossiers, model answers, models and verdicts for the judge's tests.

Tests refer to lines of `DIFF` by number.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from worker.domain.dossier import Ci, CiCheck, CiState, Criterion, Dossier, HeadFile, Issue, PullRequest
from worker.domain.model import EvalId, Fingerprint, InstallationId, RepositoryId
from worker.domain.ports import ModelReply, Prompt, StopReason
from worker.domain.verdict.ledger import Case, CoverageClaim, LedgerEntry
from worker.domain.verdict.verdict import (
    Abstain,
    Accept,
    Category,
    Finding,
    HeuristicOpinion,
    Reject,
    Subject,
    Tokens,
    Verdict,
)
from worker.dossier.diff import parse_diff
from worker.judge.checks.ci_status import read_ci
from worker.judge.checks.evidence import Places, check_claims
from worker.judge.context import EvaluationHeader, EvidenceBundle, JudgeContext
from worker.judge.convergence import PreviousRounds
from worker.judge.judge import judge
from worker.judge.llm.prompt import PromptQuestion, build_question
from worker.judge.rubric import load_prompt, load_rubric

HEAD, BASE = "a" * 40, "b" * 40
NOW = datetime(2026, 11, 20, 20, 5, tzinfo=UTC)
NEVER_ASK, ALWAYS_ASK = 0.0, 2.0
"""Thresholds of the heuristic confidence: none is below the first, each is below the second."""

DIFF = """\
diff --git a/upload.py b/upload.py
index 1111111..2222222 100644
--- a/upload.py
+++ b/upload.py
@@ -1,4 +1,9 @@
 def send(data):
-    return post(data)
+    for attempt in range(3):
+        reply = post(data)
+        if reply.status != 503:
+            return reply
+    return reply
\x20
+
 LIMIT = 10
diff --git a/tests/test_upload.py b/tests/test_upload.py
index 1111111..2222222 100644
--- a/tests/test_upload.py
+++ b/tests/test_upload.py
@@ -1,2 +1,6 @@
 def test_send():
     assert send(b"x")
+
+
+def test_503():
+    assert send(b"busy").status == 200
"""
HEAD_TEXTS = {
    "upload.py": """\
def send(data):
    for attempt in range(3):
        reply = post(data)
        if reply.status != 503:
            return reply
    return reply


LIMIT = 10
""",
    "tests/test_upload.py": """\
def test_send():
    assert send(b"x")


def test_503():
    assert send(b"busy").status == 200
""",
}


def pull_request(**changes: Any) -> PullRequest:
    fields = {
        "repository": "acme/widgets",
        "number": 12,
        "title": "Retry uploads on 503",
        "body": "Closes #7",
        "author": "copilot-swe-agent[bot]",
        "author_agent": "copilot",
        "base_sha": BASE,
        "head_sha": HEAD,
    }
    return PullRequest.model_validate({**fields, **changes})


def dossier(**changes: Any) -> Dossier:
    fields = {
        "pull_request": pull_request(),
        "issues": (Issue(number=7, title="Uploads fail on 503", body="The server is busy at times."),),
        "criteria": (
            Criterion(id="AC1", text="an upload is retried on 503"),
            Criterion(id="AC2", text="a test shows it"),
        ),
        "case": None,
        "diff": DIFF,
        "files": tuple(HeadFile(path=path, text=text) for path, text in HEAD_TEXTS.items()),
        "ci": Ci(state=CiState.SUCCESS, checks=(CiCheck(name="test", conclusion="success"),)),
    }
    return Dossier.model_validate({**fields, **changes})


def new_file(path: str, *lines: str, mode: str = "100644") -> str:
    body = "".join(f"+{line}\n" for line in lines)
    head = f"diff --git a/{path} b/{path}\nnew file mode {mode}\nindex 0000000..1111111\n"
    return f"{head}--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{len(lines)} @@\n{body}" if lines else head


DOCS_CHANGE: dict[str, Any] = {
    "diff": "diff --git a/docs/busy.md b/docs/busy.md\nindex 1111111..2222222 100644\n--- a/docs/busy.md\n+++ b/docs/busy.md\n"
    "@@ -1,3 +1,3 @@\n # A busy server\n \n-The sever is busy at noon.\n+The server is busy at noon.\n",
    "files": (HeadFile(path="docs/busy.md", text="# A busy server\n\nThe server is busy at noon.\n"),),
    "issues": (),
    "criteria": (Criterion(id="AC1", text="The docs say when the server is busy", inferred=True),),
}
"""A change that code may accept without a model."""


def fact(**changes: Any) -> Finding:
    fields = {
        "signal": "stub_body",
        "category": Category.HALF_FINISHED,
        "fact": True,
        "path": "upload.py",
        "line": 2,
        "weight": 0.8,
        "note": "the whole body is a stub",
        "step": "Write the body at upload.py:2.",
    }
    return Finding.model_validate({**fields, **changes})


def opinion(*findings: Finding, **changes: Any) -> HeuristicOpinion:
    certain = any(finding.fact for finding in findings) or changes.get("safe") is not None
    fields = {
        "score": 0.1 if findings else 0.55,
        "confidence": 0.95 if certain else 0.4,
        "findings": findings,
        "reason": "nothing settles it",
    }
    return HeuristicOpinion.model_validate({**fields, **changes})


def evidence_at(path: str = "upload.py", line: object = 2, **changes: Any) -> dict[str, Any]:
    """An evidence entry that quotes its line of `dossier()`, if there is one."""
    side = changes.get("side", "head")
    quote = quoted_line(path, line, side) if isinstance(line, int) else ""
    return {"path": path, "line": line, "end_line": None, "side": side, "quote": quote, "note": "here", **changes}


def quoted_line(path: str, line: int, side: str = "head") -> str:
    """The text of a line; the base has only the one that `DIFF` removes."""
    if side == "base":
        return "    return post(data)"
    lines = HEAD_TEXTS.get(path, "").split("\n")
    return lines[line - 1] if 0 < line <= len(lines) else ""


def scores(*numbers: int) -> list[dict[str, Any]]:
    ids = [criterion.id for criterion in load_rubric().criteria]
    each = numbers if len(numbers) == len(ids) else numbers * len(ids)
    texts = {"reasoning": "I looked.", "improvement": "None."}
    return [{"criterion": name, "score": score, **texts} for name, score in zip(ids, each, strict=True)]


def criteria(*states: str, evidence: Iterable[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
    evidence = [evidence_at()] if evidence is None else list(evidence)
    return [
        {"id": f"AC{number}", "status": state, "evidence": evidence if state == "met" else []}
        for number, state in enumerate(states, start=1)
    ]


def accept_answer(**changes: Any) -> dict[str, Any]:
    fields = {
        "criteria": criteria("met", "met"),
        "scores": scores(8),
        "concern": "It retries.",
        "evidence": [],
        "decision": "accept",
        "category": None,
        "next_step": None,
        "confidence": 0.9,
    }
    return {**fields, **changes}


def reject_answer(**changes: Any) -> dict[str, Any]:
    fields = {
        "criteria": criteria("met", "missing"),
        "scores": scores(8, 7, 2, 8),
        "concern": "The test proves nothing of what is made when send is busy.",
        "evidence": [evidence_at("tests/test_upload.py", 6)],
        "decision": "reject",
        "category": "weak_test",
        "next_step": "Assert the number of attempts.",
        "confidence": 0.8,
    }
    return {**fields, **changes}


def cannot_tell_answer(**changes: Any) -> dict[str, Any]:
    fields = {
        "criteria": criteria("met", "unverifiable"),
        "scores": scores(5),
        "concern": "The server's side is not shown.",
        "evidence": [],
        "decision": "cannot_tell",
        "category": None,
        "next_step": None,
        "confidence": 0.3,
    }
    return {**fields, **changes}


def reply(answer: dict[str, Any] | str, **changes: Any) -> ModelReply:
    fields: dict[str, Any] = {
        "text": answer if isinstance(answer, str) else json.dumps(answer),
        "stop": StopReason.END,
        "stop_detail": "",
        "tokens": Tokens(input=1_000, output=100, cache_read=10, cache_write=1),
        "cost_usd": Decimal("0.001"),
        "request_id": "req_1",
    }
    return ModelReply(**{**fields, **changes})


@dataclass
class ScriptedModel:
    """A Model that returns its answers in order, or raises them."""

    answers: list[ModelReply | Exception]
    name: str = "claude-haiku-5-5"
    pricing_version: str | None = "2026-11"
    prompts: list[Prompt] = field(default_factory=list[Prompt])

    def ask(self, prompt: Prompt) -> ModelReply:
        self.prompts.append(prompt)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def model_of(*answers: dict[str, Any] | str | ModelReply | Exception) -> ScriptedModel:
    return ScriptedModel([reply(answer) if isinstance(answer, (dict, str)) else answer for answer in answers])


def ledger_entry(verdict: Accept | Reject | Abstain, **changes: Any) -> LedgerEntry:
    fields = {
        "eval_id": verdict.eval_id,
        "created_at": NOW,
        "round": verdict.round,
        "fence": 1,
        "head_sha": HEAD,
        "fingerprint": verdict.fingerprint,
        "diff_summary": "2 files, +9 -1",
        "verdict": verdict,
        "open_conditions": verdict.closing_conditions,
    }
    return LedgerEntry.model_validate({**fields, **changes})


def judge_context(model: ScriptedModel | None = None, threshold: float = 0.7) -> JudgeContext:
    return JudgeContext(load_rubric(), load_prompt(), threshold, model)


SUBJECT = Subject(
    installation_id=InstallationId(100),
    repository_id=RepositoryId(7),
    repository="acme/widgets",
    number=12,
    head_sha=HEAD,
)


def evaluation_header(**changes: Any) -> EvaluationHeader:
    fields: dict[str, Any] = {
        "eval_id": EvalId("0193-eval"),
        "subject": SUBJECT,
        "created_at": NOW,
        "fingerprint": Fingerprint("sha256:now"),
        "monotonic_ms": iter(range(0, 10_000, 25)).__next__,
    }
    return EvaluationHeader(**{**fields, **changes})


def judge_dossier(model: ScriptedModel | None = None, threshold: float = 0.7, **changes: Any) -> Verdict:
    return judge(dossier(**changes), evaluation_header(), judge_context(model, threshold))


def decision_of(verdict: Verdict) -> str:
    """`accept`, `reject weak_test`, `abstain too_large`."""
    return f"{verdict.decision} {verdict.category or verdict.abstain_reason or ''}".strip()


def case_with_claims(*pairs: tuple[str, str], **changes: Any) -> Case:
    """A case that claims each criterion at a location."""
    return Case(
        summary="s", ac_coverage=tuple(CoverageClaim(criterion=c, addressed_by=at) for c, at in pairs), **changes
    )


def evidence_bundle(dossier: Dossier, tier: HeuristicOpinion | None = None) -> EvidenceBundle:
    """What the heuristics read of the dossier."""
    diff, places = parse_diff(dossier.diff.encode()), Places(dossier)
    return EvidenceBundle(
        dossier, diff, places, tier or opinion(), read_ci(dossier.ci), check_claims(dossier, diff, places)
    )


def prompt_question(dossier: Dossier, tier: HeuristicOpinion | None = None, seed: str = "eval-1") -> PromptQuestion:
    """The question about the dossier to a model."""
    asked = build_question(evidence_bundle(dossier, tier), PreviousRounds(), load_rubric(), load_prompt(), seed)
    assert asked is not None, "the dossier fits a prompt"
    return asked


# Verdicts of earlier rounds. Their numbers (0.137 ...) occur nowhere else, so a test can search for them.

VERDICT_FIELDS: dict[str, Any] = {
    "eval_id": "0193-earlier",
    "subject": SUBJECT,
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


def reject_verdict(**changes: Any) -> Reject:
    fields = {
        "category": "weak_test",
        "next_step": "Assert the attempts.",
        "evidence": [{"path": "tests/test_upload.py", "line": 6, "note": "asserts nothing new"}],
        "closing_conditions": [{"id": "c1", "text": "Assert the attempts."}],
        "scores": [{"criterion": "proof", "score": 2, "reasoning": "secret reasoning", "improvement": ""}],
        "composite": 2.0,
        "score": 0.137,
    }
    return Reject.model_validate({**VERDICT_FIELDS, **fields, **changes})


def accept_verdict(**changes: Any) -> Accept:
    return Accept.model_validate({**VERDICT_FIELDS, "score": 0.937, **changes})


def abstain_verdict(**changes: Any) -> Abstain:
    fields = {"abstain_reason": "judge_unavailable", "next_step": "Re-run it.", "score": 0.5}
    return Abstain.model_validate({**VERDICT_FIELDS, **fields, **changes})
