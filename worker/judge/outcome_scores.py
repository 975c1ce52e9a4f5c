"""Verdicts by code alone, at $0: on a pull request as a whole, and on each CI check of a head.

Explicit outcomes move a pull request's score after implicit ones, and further, and those after the lifecycle. Accept and reject are
those of the last submission; where outcomes contradict it, a person decides. A check's only reject is of one that this change kept
from failing; its score never enters the submission's.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import itemgetter
from statistics import fmean
from typing import Any, Final

from worker.domain.dossier import FAILED_CONCLUSIONS, CiCheck
from worker.domain.model import EvalId, eval_id_after, new_eval_id
from worker.domain.verdict.events import CiCheckRubric, Outcome, OutcomeKind, PullRequestRubric, Strength
from worker.domain.verdict.ledger import LedgerEntry
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

MIDDLE_SCORE: Final = 0.5
MOST_CHILDREN: Final = 50
WEAKEST_FIRST: Final = (Strength.LIFECYCLE, Strength.IMPLICIT, Strength.EXPLICIT)


@dataclass(frozen=True)
class OutcomeScore:
    """A score, its confidence, and the score that outcomes of each strength moved it towards."""

    score: float
    confidence: float
    targets: Mapping[Strength, float]


def submissions_of(entries: Sequence[LedgerEntry]) -> tuple[LedgerEntry, ...]:
    """The newest verdict on each head, oldest head first; children of other verdicts are left out."""
    newest: dict[str, LedgerEntry] = {}
    for entry in entries:
        if entry.verdict.parent_eval_id is None and entry.verdict.subject.kind is SubjectKind.SUBMISSION:
            newest.pop(entry.head_sha, None)
            newest[entry.head_sha] = entry
    return tuple(newest.values())


def next_eval_id(now: datetime, entries: Sequence[LedgerEntry]) -> EvalId:
    """A new id after all recorded ones, whatever the clocks of other machines."""
    return eval_id_after(now, (entry.eval_id for entry in entries))


def score_pull_request(
    entries: Sequence[LedgerEntry], outcomes: Sequence[Outcome], rubric: PullRequestRubric
) -> OutcomeScore:
    """Score a pull request by its whole record, which has at least one submission."""
    submissions = submissions_of(entries)
    last, scores = submissions[-1].verdict, [submission.verdict.score for submission in submissions]
    score = rubric.last * last.score + (1 - rubric.last) * fmean(scores)
    targets = _targets(entries, outcomes, rubric)
    for strength in WEAKEST_FIRST:
        if strength in targets:
            score += rubric.pull[strength] * (targets[strength] - score)
    confidence = min(last.confidence, rubric.without_outcomes)
    if targets:
        sides = {target >= MIDDLE_SCORE for target in targets.values()}
        confidence = max(rubric.confidence[strength] for strength in targets)
        confidence *= rubric.contradicted if len(sides) > 1 else 1
    return OutcomeScore(round(score, 4), round(confidence, 4), targets)


def _targets(
    entries: Sequence[LedgerEntry], outcomes: Sequence[Outcome], rubric: PullRequestRubric
) -> dict[Strength, float]:
    """Where outcomes of each strength move the score: the last of the lifecycle, the worst implicit one, the explicit mean.

    A reaction may be about a verdict that was judged again since.
    """
    decided = {entry.eval_id: entry.verdict for entry in entries}
    scores: dict[Strength, list[float]] = {}
    for outcome in outcomes:
        target = _target(outcome, decided, rubric)
        if target is not None:
            scores.setdefault(outcome.strength, []).append(target)
        elif outcome.kind is OutcomeKind.REOPENED:
            scores.pop(Strength.LIFECYCLE, None)
    joins = {Strength.LIFECYCLE: itemgetter(-1), Strength.IMPLICIT: min, Strength.EXPLICIT: fmean}
    return {strength: joins[strength](targets) for strength, targets in scores.items()}


def _target(
    outcome: Outcome, decided: Mapping[EvalId, Accept | Reject | Abstain], rubric: PullRequestRubric
) -> float | None:
    if outcome.kind not in {OutcomeKind.HELPFUL, OutcomeKind.NOT_HELPFUL}:
        return rubric.speaks_for.get(outcome.kind)
    verdict = decided.get(outcome.eval_id) if outcome.eval_id else None
    if verdict is None or isinstance(verdict, Abstain):
        return None  # what was not decided can't be wrong
    return 1.0 if isinstance(verdict, Accept) == (outcome.kind is OutcomeKind.HELPFUL) else 0.0


def pull_request_verdict(
    eval_id: EvalId,
    now: datetime,
    entries: Sequence[LedgerEntry],
    outcomes: Sequence[Outcome],
    rubric: PullRequestRubric,
) -> Accept | Reject | Abstain:
    """The verdict on the whole, a child of that on the last submission."""
    submissions = submissions_of(entries)
    last, weighed = submissions[-1].verdict, score_pull_request(entries, outcomes, rubric)
    fields: dict[str, Any] = {
        **_fields(last, SubjectKind.PULL_REQUEST, rubric),
        "escalation_reason": "no model is asked about a whole pull request",
        "eval_id": eval_id,
        "created_at": now,
        "score": weighed.score,
        "confidence": weighed.confidence,
        "signals": _signals(submissions, outcomes, weighed),
    }
    match last:
        case Accept() if weighed.score >= MIDDLE_SCORE:
            fields |= {"coverage": last.coverage, "criteria": last.criteria, "evidence": last.evidence}
            return Accept(**fields, concern=last.concern)
        case Reject() if weighed.score < MIDDLE_SCORE:
            fields |= {"criteria": last.criteria, "evidence": last.evidence, "next_step": last.next_step}
            return Reject(**fields, category=last.category, concern=last.concern)
        case Abstain():
            fields |= {"abstain_reason": last.abstain_reason, "next_step": last.next_step}
            return Abstain(**fields, concern=last.concern)
        case _:
            kinds = dict.fromkeys(outcome.kind.value.replace("_", " ") for outcome in outcomes)
            done = ", ".join(kinds) or "earlier submissions"
            concern = (
                f"The last submission was decided as {last.decision}, and what came of it speaks against that: {done}."
            )
            step = "Look at the verdict again, with what is known now."
            return Abstain(**fields, abstain_reason=AbstainReason.NEEDS_HUMAN, concern=concern, next_step=step)


def _fields(
    parent: Accept | Reject | Abstain, kind: SubjectKind, rubric: PullRequestRubric | CiCheckRubric
) -> dict[str, Any]:
    """The fields of a verdict by code that is a child of *parent*."""
    return {
        "parent_eval_id": parent.eval_id,
        "subject": parent.subject.model_copy(update={"kind": kind}),
        "author_agent": parent.author_agent,
        "round": parent.round,
        "judge_kind": JudgeKind.HEURISTIC,
        "escalated": False,
        "rubric_id": rubric.id,
        "rubric_version": rubric.version,
        "fingerprint": parent.fingerprint,
    }


def _signals(
    submissions: Sequence[LedgerEntry], outcomes: Sequence[Outcome], weighed: OutcomeScore
) -> dict[str, object]:
    scores = [submission.verdict.score for submission in submissions]
    counts = Counter(outcome.kind for outcome in outcomes)
    strongest = next((strength for strength in Strength if strength in weighed.targets), None)
    return {
        "child_eval_ids": tuple(submission.eval_id for submission in submissions[-MOST_CHILDREN:]),
        "submissions": len(submissions),
        "last_decision": submissions[-1].verdict.decision,
        "last_score": round(scores[-1], 4),
        "mean_score": round(fmean(scores), 4),
        "least_score": round(min(scores), 4),
        "outcomes": len(outcomes),
        **{f"outcome_{kind.value}": counts[kind] for kind in OutcomeKind if counts[kind]},
        **{f"said_{strength.value}": round(target, 4) for strength, target in weighed.targets.items()},
        "strongest": strongest and strongest.value,
    }


UNSURE_CONFIDENCE: Final = 0.6
"""Confidence where nothing was proved, or it is unknown which check a finding is about."""

SURE_CONFIDENCE: Final = 0.95
MOST_EVIDENCE: Final = 5
PARENT_OFFSET: Final = timedelta(milliseconds=1)
"""Sorts a child behind its parent."""


@dataclass(frozen=True)
class CheckVerdict:
    """The verdict on one check; `part` names it among the checks of its head."""

    part: str
    verdict: Accept | Reject | Abstain


def ci_check_verdicts(
    parent: Accept | Reject | Abstain, checks: Sequence[CiCheck], rubric: CiCheckRubric
) -> tuple[CheckVerdict, ...]:
    """One verdict for each check of the head that *parent* judged, the worst first, at most `rubric.most`."""
    loosening = tuple(finding for finding in parent.findings if finding.signal in rubric.loosening)
    worst = sorted(checks, key=lambda check: (score_check(check, loosening, rubric), check.name))[: rubric.most]
    return tuple(
        CheckVerdict(f"{check.app or ''}/{check.name}", _verdict(check, parent, loosening, rubric)) for check in worst
    )


def score_check(check: CiCheck, loosening: Sequence[Finding], rubric: CiCheckRubric) -> float:
    """The worth of a check's result in [0, 1], less what the change took from it."""
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
    """Whether it passed when it was run again on the same commit."""
    return check.conclusion == "success" and check.attempt > 1


def _verdict(
    check: CiCheck, parent: Accept | Reject | Abstain, loosening: Sequence[Finding], rubric: CiCheckRubric
) -> Accept | Reject | Abstain:
    score = score_check(check, loosening, rubric)
    fields: dict[str, Any] = {**_check_fields(check, parent, loosening, rubric), "score": score}
    if check.conclusion in FAILED_CONCLUSIONS:
        return _abstain(AbstainReason.CI_FAILED, f"{check.name} failed.", f"Make {check.name} pass.", fields)
    if check.conclusion is None:
        return _abstain(AbstainReason.CI_PENDING, f"{check.name} did not finish.", "Wait for it.", fields)
    if check.conclusion != "success":
        problem = f"{check.name} ended as {check.conclusion}: it proved nothing."
        return _abstain(AbstainReason.UNPROVEN, problem, "Run it on this head, if it is to count.", fields)
    facts = [finding for finding in loosening if finding.fact and finding.path]
    if facts and score < MIDDLE_SCORE:
        return Reject(
            **fields,
            category=facts[0].category,
            concern=f"{check.name} passed, and this change took from its checks what could fail.",
            evidence=tuple(
                EvidencePointer(path=path, line=fact.line, end_line=fact.end_line, side=fact.side, note=fact.note)
                for fact in facts[:MOST_EVIDENCE]
                if (path := fact.path)
            ),
            next_step=f"Take back what loosens the checks at {facts[0].path}.",
            confidence=UNSURE_CONFIDENCE,
        )
    if loosening:
        problem = f"{check.name} passed, and this change may have loosened it."
        return _abstain(AbstainReason.NEEDS_HUMAN, problem, "Look at what was changed in the checks.", fields)
    concern = f"{check.name} passed, when it was run again." if _is_flaky(check) else f"{check.name} passed."
    return Accept(**fields, concern=concern, confidence=SURE_CONFIDENCE)


def _abstain(reason: AbstainReason, concern: str, next_step: str, fields: dict[str, Any]) -> Abstain:
    sure = SURE_CONFIDENCE if reason is AbstainReason.CI_FAILED else UNSURE_CONFIDENCE
    return Abstain(**fields, abstain_reason=reason, concern=concern, next_step=next_step, confidence=sure)


def _check_fields(
    check: CiCheck, parent: Accept | Reject | Abstain, loosening: Sequence[Finding], rubric: CiCheckRubric
) -> dict[str, Any]:
    """The fields that no decision changes. Signals are published, so none names a check."""
    return {
        **_fields(parent, SubjectKind.CI_CHECK, rubric),
        "eval_id": new_eval_id(parent.created_at + PARENT_OFFSET),
        "escalation_reason": "no model is asked about a check",
        "created_at": parent.created_at,
        "signals": {
            "conclusion": check.conclusion,
            "reruns": check.attempt - 1,
            "is_flaky": _is_flaky(check),
            "is_required": check.required,
            "loosened_by": tuple(sorted({finding.signal for finding in loosening})),
        },
    }
