"""The court: a dossier, a docket and a bench become one whole verdict.

Writes nothing and publishes nothing. Invariant: the same dossier, bench and replies give the same decision; a judge that
could not judge says so; nothing but a bug is raised.
"""

import hashlib
from typing import Final

from worker.domain.diff import Diff, DiffError, diff_of
from worker.domain.dossier import Criterion, Dossier
from worker.domain.fingerprint import fingerprint
from worker.domain.ids import Fingerprint, new_eval_id
from worker.domain.ledger import round_of
from worker.domain.opinion import HeuristicOpinion
from worker.domain.request import JudgeRequest
from worker.domain.verdict import KINDS, Abstain, AbstainReason, Accept, Coverage, JudgeKind, Reject, Subject
from worker.judge import words
from worker.judge.bench import Bench, Docket, Sitting
from worker.judge.claims import check_claims
from worker.judge.coverage import coverage_of
from worker.judge.escalation import AskModel, Matter, Skipped, Stop, route
from worker.judge.evidence import Places
from worker.judge.heuristics import consider
from worker.judge.rulings import (
    Hearing,
    Ruling,
    abstain,
    closing_conditions,
    too_large,
    without_model,
)
from worker.judge.scoring import composite
from worker.judge.validators import read_ci
from worker.ports import Clock

ALWAYS: Final = 1.0
"""Above this threshold the model is asked whatever the heuristic tier says: tier `llm`, not `hybrid`."""


def docket(request: JudgeRequest, dossier: Dossier, bench: Bench, clock: Clock) -> Docket:
    """Open a docket for this head. The dossier is complete."""
    now = clock.now()
    subject = Subject(
        installation_id=request.pull.installation_id,
        repository_id=request.pull.repository_id,
        repository=dossier.pull_request.repository,
        number=dossier.pull_request.number,
        head_sha=dossier.pull_request.head_sha,
    )
    return Docket(new_eval_id(now), subject, now, content_of(dossier, bench), clock.monotonic_ms)


def content_of(dossier: Dossier, bench: Bench) -> Fingerprint:
    """The fingerprint of the dossier under this bench; of a diff that can't be read, its bytes count."""
    try:
        return fingerprint(dossier, bench.rubric, bench.prompt.version, bench.judges)
    except DiffError:
        return Fingerprint(f"sha256:{hashlib.sha256(dossier.diff.encode()).hexdigest()}")


def judge(dossier: Dossier, docket: Docket, bench: Bench) -> Accept | Reject | Abstain:
    """Judge a complete dossier. Never raises but for a bug."""
    started = docket.monotonic_ms()
    dossier = _with_named_criteria(dossier)
    try:
        diff = diff_of(dossier.diff)
    except DiffError as error:
        hearing = _unread(dossier)
        sitting = _unreadable(hearing, str(error))
    else:
        opinion = consider(dossier, bench.rubric)
        places = Places(dossier)
        claims = check_claims(dossier, diff, places)
        hearing = Hearing(dossier, diff, places, opinion, read_ci(dossier.ci), claims)
        sitting = _sit(hearing, docket, bench)
    verdict = _verdict(hearing, sitting, docket, bench)
    return verdict.model_copy(update={"judge_latency_ms": max(0, docket.monotonic_ms() - started)})


def _with_named_criteria(dossier: Dossier) -> Dossier:
    """Criteria with ids that are words and occur once: a recorded dossier may hold anything."""
    taken: set[str] = set()
    named: list[Criterion] = []
    for position, one in enumerate(dossier.criteria or (), start=1):
        name = one.id.strip()
        if not name or name in taken:
            name = next(new for n in range(position, position + 10**6) if (new := f"AC{n}") not in taken)
        taken.add(name)
        named.append(one if name == one.id else one.model_copy(update={"id": name}))
    return dossier.model_copy(update={"criteria": tuple(named)})


def _unread(dossier: Dossier) -> Hearing:
    """A hearing without a diff: nobody knows what changed."""
    nothing = HeuristicOpinion(score=0.5, confidence=0.0, reason="the diff can't be read")
    bare = dossier.model_copy(update={"diff": ""})
    return Hearing(dossier, Diff(()), Places(bare), nothing, read_ci(dossier.ci), ())


def _unreadable(hearing: Hearing, problem: str) -> Sitting:
    ruling = abstain(hearing, AbstainReason.TOO_LARGE, words.unreadable(problem))
    coverage = Coverage(unread=tuple(file.path for file in hearing.dossier.files or ()))
    return Sitting(ruling, coverage, f"the model is not asked: {hearing.opinion.reason}")


def _sit(hearing: Hearing, docket: Docket, bench: Bench) -> Sitting:
    matter = Matter(hearing.ci, hearing.opinion, bench.threshold, bench.model is not None)
    chosen = route(matter)
    is_about_ci = isinstance(chosen, Stop) and chosen.skipped is Skipped.CI
    if not hearing.diff.files and hearing.dossier.files_unread and not is_about_ci:
        return _nothing_read(hearing)
    if isinstance(chosen, AskModel) and bench.model is not None:
        from worker.judge.asking import ask  # noqa: PLC0415 - a tenth of the time of a judging that asks nobody

        return ask(hearing, docket, bench, bench.model, chosen.reason)
    assert not isinstance(chosen, AskModel)  # noqa: S101 - the rules ask only where there is a model
    coverage = coverage_of(hearing.dossier, hearing.diff)
    return Sitting(without_model(hearing, chosen, coverage), coverage, chosen.reason)


def _nothing_read(hearing: Hearing) -> Sitting:
    """Something changed, and none of it could be read: nobody can judge that, and nobody is asked."""
    coverage = coverage_of(hearing.dossier, hearing.diff)
    return Sitting(too_large(hearing, coverage), coverage, "the model is not asked: no changed file could be read")


def _verdict(hearing: Hearing, sitting: Sitting, docket: Docket, bench: Bench) -> Accept | Reject | Abstain:
    """The whole verdict; what contradicts itself can't be built."""
    return KINDS[sitting.ruling.decision].model_validate(
        {
            **_ruled(sitting.ruling, hearing),
            **_by_whom(sitting, bench),
            "coverage": sitting.coverage,
            "claims": hearing.claims,
            "findings": hearing.opinion.findings,
            "eval_id": docket.eval_id,
            "subject": docket.subject,
            "author_agent": hearing.dossier.pull_request.author_agent,
            "round": round_of(hearing.dossier.ledger, docket.subject.head_sha, docket.fingerprint),
            "fingerprint": docket.fingerprint,
            "created_at": docket.created_at,
            "rubric_id": bench.rubric.id,
            "rubric_version": bench.rubric.version,
            "escalated": sitting.asked,
            "escalation_reason": sitting.reason,
        }
    )


def _ruled(ruling: Ruling, hearing: Hearing) -> dict[str, object]:
    tiers = {"heuristic_score": hearing.opinion.score, "heuristic_confidence": hearing.opinion.confidence}
    return {
        "decision": ruling.decision,
        "category": ruling.category,
        "abstain_reason": ruling.abstain_reason,
        "concern": ruling.concern,
        "next_step": ruling.next_step,
        "evidence": ruling.evidence,
        "criteria": ruling.criteria,
        "scores": ruling.scores,
        "composite": composite(ruling.scores) if ruling.scores else None,
        "score": ruling.score,
        "confidence": ruling.confidence,
        "closing_conditions": closing_conditions(ruling, hearing),
        "signals": {**tiers, **hearing.opinion.signals, **ruling.signals},
    }


def _by_whom(sitting: Sitting, bench: Bench) -> dict[str, object]:
    """Kind of judge, model and price. A heuristic verdict has none of the latter."""
    if not sitting.asked or bench.model is None:
        return {"judge_kind": JudgeKind.HEURISTIC}
    return {
        "judge_kind": JudgeKind.LLM if bench.threshold > ALWAYS else JudgeKind.HYBRID,
        "judge_model": bench.model.name,
        "judge_cost_usd": sitting.spent.cost_usd,
        "judge_pricing_version": bench.model.pricing_version,
        "tokens": sitting.spent.tokens,
        "prompt_version": bench.prompt.version,
    }
