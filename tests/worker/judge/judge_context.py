"""A judge context and dossiers for the judge's tests.

Does not judge. Invariant: the same docket for every test, so that verdicts can be compared.
"""

from typing import Any

from tests.worker.judge.making import HEAD, NOW, ScriptedModel
from worker.domain.ids import EvalId, Fingerprint, InstallationId, RepositoryId
from worker.domain.verdict.verdict import Subject
from worker.judge.context import EvaluationHeader, JudgeContext
from worker.judge.rubric import load_prompt, load_rubric


def bench(model: ScriptedModel | None = None, threshold: float = 0.7) -> JudgeContext:
    return JudgeContext(load_rubric(), load_prompt(), threshold, model)


def docket(**changes: Any) -> EvaluationHeader:
    fields: dict[str, Any] = {
        "eval_id": EvalId("0193-eval"),
        "subject": Subject(
            installation_id=InstallationId(100),
            repository_id=RepositoryId(7),
            repository="acme/widgets",
            number=12,
            head_sha=HEAD,
        ),
        "created_at": NOW,
        "fingerprint": Fingerprint("sha256:now"),
        "monotonic_ms": iter(range(0, 10_000, 25)).__next__,
    }
    return EvaluationHeader(**{**fields, **changes})
