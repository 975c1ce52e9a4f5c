"""Each CI check's life on a head as a verdict of its own: passed at once, when run again, never, or after it was loosened.

By code alone, at $0. Does not record anything and never speaks about the submission: its score is not averaged into that
one's. Invariant: as everywhere, a failed validator is no reject; the only reject is of a check that this very change made
unable to fail, and it points at the place.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any, Final

from worker.domain.dossier.dossier import FAILED_CONCLUSIONS, CiCheck
from worker.domain.ids import new_eval_id
from worker.domain.value import Value
from worker.domain.verdict.outcomes import CiCheckRubric
from worker.domain.verdict.verdict import (
    Abstain,
    AbstainReason,
    Accept,
    EvidencePointer,
    Finding,
    JudgeKind,
    Reject,
    SubjectKind,
)

UNSURE_CONFIDENCE: Final = 0.6
"""Confidence where which check a finding is about can't be told, or nothing was proved."""

SURE_CONFIDENCE: Final = 0.95
MOST_EVIDENCE: Final = 5
PARENT_OFFSET: Final = timedelta(milliseconds=1)
"""So that a child stands behind its parent wherever they are sorted."""


class CheckVerdict(Value):
    """The verdict on one check; *part* tells it from the other checks of its head."""

    part: str
    verdict: Accept | Reject | Abstain


def ci_check_verdicts(
    parent: Accept | Reject | Abstain, checks: Sequence[CiCheck], rubric: CiCheckRubric
) -> tuple[CheckVerdict, ...]:
    """One verdict for each check of the head that *parent* judged, the worst first, as many as the rubric wants."""
    loosening = tuple(finding for finding in parent.findings if finding.signal in rubric.loosening)
    worst = sorted(checks, key=lambda check: (score_check(check, loosening, rubric), check.name))[: rubric.most]
    return tuple(
        CheckVerdict(f"{check.app or ''}/{check.name}", _verdict(check, parent, loosening, rubric)) for check in worst
    )


def score_check(check: CiCheck, loosening: Sequence[Finding], rubric: CiCheckRubric) -> float:
    """In [0, 1]: what its result is worth, less what the change took from it."""
    score = _result_value(check, rubric)
    for signal in {finding.signal for finding in loosening}:
        score *= 1 - rubric.loosening[signal]
    return round(score, 4)


def _result_value(check: CiCheck, rubric: CiCheckRubric) -> float:
    if check.conclusion in FAILED_CONCLUSIONS:
        return rubric.failed
    if check.conclusion != "success":
        return rubric.unproved
    if _is_flaky(check):
        return max(rubric.flaky_least, rubric.passed - rubric.rerun * (check.attempt - 1))
    return rubric.passed


def _is_flaky(check: CiCheck) -> bool:
    """The same commit, and another result."""
    return check.conclusion == "success" and check.attempt > 1


def _verdict(
    check: CiCheck, parent: Accept | Reject | Abstain, loosening: Sequence[Finding], rubric: CiCheckRubric
) -> Accept | Reject | Abstain:
    score = score_check(check, loosening, rubric)
    fields: dict[str, Any] = {**_fields(check, parent, loosening, rubric), "score": score}
    if check.conclusion in FAILED_CONCLUSIONS:
        return _abstain(AbstainReason.CI_FAILED, f"{check.name} failed.", f"Make {check.name} pass.", fields)
    if check.conclusion is None:
        return _abstain(AbstainReason.CI_PENDING, f"{check.name} did not finish.", "Wait for it.", fields)
    if check.conclusion != "success":
        problem = f"{check.name} ended as {check.conclusion}: it proved nothing."
        return _abstain(AbstainReason.UNPROVEN, problem, "Run it on this head, if it is to count.", fields)
    facts = [finding for finding in loosening if finding.fact and finding.path]
    if facts and score < 0.5:  # noqa: PLR2004 - the side of a reject
        return _reject(check, facts, fields)
    if loosening:
        problem = f"{check.name} passed, and this change may have loosened it."
        return _abstain(AbstainReason.NEEDS_HUMAN, problem, "Look at what was changed in the checks.", fields)
    concern = f"{check.name} passed, when it was run again." if _is_flaky(check) else f"{check.name} passed."
    return Accept(**fields, concern=concern, confidence=SURE_CONFIDENCE)


def _abstain(reason: AbstainReason, concern: str, next_step: str, fields: dict[str, Any]) -> Abstain:
    sure = SURE_CONFIDENCE if reason is AbstainReason.CI_FAILED else UNSURE_CONFIDENCE
    return Abstain(**fields, abstain_reason=reason, concern=concern, next_step=next_step, confidence=sure)


def _reject(check: CiCheck, facts: Sequence[Finding], fields: dict[str, Any]) -> Reject:
    return Reject(
        **fields,
        category=facts[0].category,
        concern=f"{check.name} passed, and this change took from its checks what could fail.",
        evidence=tuple(_pointers(facts)),
        next_step=f"Take back what loosens the checks at {facts[0].path}.",
        confidence=UNSURE_CONFIDENCE,
    )


def _pointers(facts: Sequence[Finding]) -> Iterator[EvidencePointer]:
    for fact in facts[:MOST_EVIDENCE]:
        yield EvidencePointer(
            path=fact.path or "", line=fact.line, end_line=fact.end_line, side=fact.side, note=fact.note
        )


def _fields(
    check: CiCheck, parent: Accept | Reject | Abstain, loosening: Sequence[Finding], rubric: CiCheckRubric
) -> dict[str, Any]:
    """What is the same whatever is decided. No name of a check among the signals: those are told."""
    return {
        "eval_id": new_eval_id(parent.created_at + PARENT_OFFSET),
        "parent_eval_id": parent.eval_id,
        "subject": parent.subject.model_copy(update={"kind": SubjectKind.CI_CHECK}),
        "author_agent": parent.author_agent,
        "round": parent.round,
        "judge_kind": JudgeKind.HEURISTIC,
        "escalated": False,
        "escalation_reason": "no model is asked about a check",
        "rubric_id": rubric.id,
        "rubric_version": rubric.version,
        "fingerprint": parent.fingerprint,
        "created_at": parent.created_at,
        "signals": {
            "conclusion": check.conclusion,
            "reruns": check.attempt - 1,
            "is_flaky": _is_flaky(check),
            "is_required": check.required,
            "loosened_by": tuple(sorted({finding.signal for finding in loosening})),
        },
    }
