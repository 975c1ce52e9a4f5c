"""The court: a dossier, a docket and a bench become one whole verdict.

Writes nothing and publishes nothing. Invariant: the same dossier, bench and replies give the same decision; a judge that
could not judge says so; nothing but a bug is raised.
"""

import hashlib

from worker.domain.dossier.dossier import Criterion, Dossier
from worker.domain.dossier.never_send import is_withheld
from worker.domain.ids import Fingerprint, eval_id_after, new_eval_id
from worker.domain.ports import Clock
from worker.domain.request.judge_request import LOCAL_INSTALLATION, JudgeRequest
from worker.domain.request.pause import JudgingPause, pause_to_signals
from worker.domain.value import replace
from worker.domain.verdict.audit import EvaluatedVerdict, Stage, Step
from worker.domain.verdict.ledger import conditions_of
from worker.domain.verdict.opinion import HeuristicOpinion
from worker.domain.verdict.verdict import (
    VERDICT_MODELS,
    Abstain,
    AbstainReason,
    Accept,
    Coverage,
    JudgeKind,
    Reject,
    Subject,
)
from worker.dossier.diff.parser import Diff, DiffError, diff_of
from worker.judge import texts
from worker.judge.checks.ci_status import read_ci
from worker.judge.checks.claims import check_claims
from worker.judge.checks.coverage import coverage_of
from worker.judge.checks.evidence import Places
from worker.judge.context import ALWAYS, EvaluationHeader, JudgeContext, JudgingResult, PanelOpinion, ReplyCosts
from worker.judge.escalation import (
    AcceptAsSafe,
    AskModel,
    EscalationInput,
    ModelSkipReason,
    Pause,
    Route,
    StopJudging,
    choose_route,
)
from worker.judge.rounds.convergence import converge, unsettled_conditions
from worker.judge.rounds.fingerprint import fingerprint
from worker.judge.rounds.previous_rounds import PreviousRounds, read_previous_rounds, round_number
from worker.judge.rulings import (
    EvidenceBundle,
    Ruling,
    abstain,
    abstain_too_large,
    rule_without_model,
)
from worker.judge.scoring import composite
from worker.judge.trace import audit_record
from worker.signals.heuristic_opinion import form_opinion

NOTHING_READ = "no changed file could be read"


def create_header(request: JudgeRequest, dossier: Dossier, bench: JudgeContext, clock: Clock) -> EvaluationHeader:
    """Open a docket for this head. The dossier is complete."""
    now = clock.now()
    subject = Subject(
        installation_id=request.pull.installation_id,
        repository_id=request.pull.repository_id,
        repository=dossier.pull_request.repository,
        number=dossier.pull_request.number,
        head_sha=dossier.pull_request.head_sha,
    )
    return EvaluationHeader(
        eval_id_after(now, (one.eval_id for one in dossier.ledger)),
        subject,
        now,
        fingerprint_of(dossier, bench),
        clock.monotonic_ms,
    )


def fingerprint_of(dossier: Dossier, bench: JudgeContext) -> Fingerprint:
    """The fingerprint of the dossier under this bench; of a diff that can't be read, its bytes count."""
    try:
        return fingerprint(dossier, bench.rubric, bench.prompt.version, bench.with_chosen_model(dossier.policy).judges)
    except DiffError:
        return Fingerprint(f"sha256:{hashlib.sha256(dossier.diff.encode()).hexdigest()}")


def judge(dossier: Dossier, docket: EvaluationHeader, bench: JudgeContext) -> Accept | Reject | Abstain:
    """Judge a complete dossier. Never raises but for a bug."""
    return judge_with_record(dossier, docket, bench).verdict


def judge_with_record(dossier: Dossier, docket: EvaluationHeader, bench: JudgeContext) -> EvaluatedVerdict:
    """Judge a complete dossier, and keep the record of how. Never raises but for a bug."""
    started = docket.monotonic_ms()
    dossier, bench = _with_named_criteria(dossier), bench.with_chosen_model(dossier.policy)
    hearing, sitting = (
        _abstain_paused(dossier, bench.pause, bench.suspension)
        if bench.pause
        else _judge_evidence(dossier, docket, bench)
    )
    verdict = _verdict(hearing, sitting, docket, bench)
    verdict = verdict.model_copy(update={"judge_latency_ms": max(0, docket.monotonic_ms() - started)})
    opinions = tuple(
        _judge_opinion(hearing, one, replace(docket, parent_eval_id=docket.eval_id), bench) for one in sitting.opinions
    )
    return EvaluatedVerdict(verdict, audit_record(hearing, sitting, verdict, bench), opinions)


def _judge_opinion(
    hearing: EvidenceBundle, voice: PanelOpinion, docket: EvaluationHeader, bench: JudgeContext
) -> EvaluatedVerdict:
    """One seat's own verdict, as the child of the one that it led to. No earlier round binds it."""
    docket = replace(docket, eval_id=new_eval_id(docket.created_at))
    room = bench.token_budget_of(voice.member.model)
    bench = replace(bench, model=voice.member.model, second_model=None, is_panel=False, token_budget=room)
    ruling = voice.result.ruling
    sitting = replace(voice.result, ruling=replace(ruling, signals={**ruling.signals, "opinion_of": voice.member.name}))
    verdict = _verdict(hearing, sitting, docket, bench)
    return EvaluatedVerdict(verdict, audit_record(hearing, sitting, verdict, bench))


def _judge_evidence(
    dossier: Dossier, docket: EvaluationHeader, bench: JudgeContext
) -> tuple[EvidenceBundle, JudgingResult]:
    try:
        diff = diff_of(dossier.diff)
    except DiffError as error:
        hearing = _unread_evidence(dossier, "the diff can't be read")
        return hearing, _abstain_unreadable(hearing, str(error))
    opinion = form_opinion(dossier, bench.rubric)
    places = Places(dossier)
    claims = check_claims(dossier, diff, places, opinion.findings)
    on_laptop = docket.subject.installation_id == LOCAL_INSTALLATION
    hearing = EvidenceBundle(dossier, diff, places, opinion, read_ci(dossier.ci), claims, on_laptop)
    standing = read_previous_rounds(hearing, docket, bench.rubric.id)
    return hearing, _apply_convergence(_judge_by_route(hearing, docket, bench, standing), hearing, standing, bench)


def _apply_convergence(
    sitting: JudgingResult, hearing: EvidenceBundle, standing: PreviousRounds, bench: JudgeContext
) -> JudgingResult:
    """The same sitting, its ruling held against what earlier rounds asked for."""
    held = converge(sitting.ruling, sitting.answers, hearing, standing, bench.round_limit)
    refused = (Step(stage=Stage.VETOES, outcome="convergence", reason=held.refusal),) if held.refusal else ()
    return replace(sitting, ruling=held.ruling, conditions=held.conditions, steps=(*sitting.steps, *refused))


def _abstain_paused(
    dossier: Dossier, pause: Pause, suspension: JudgingPause | None
) -> tuple[EvidenceBundle, JudgingResult]:
    """Nothing is looked at, not even by code."""
    hearing = _unread_evidence(dossier, "judging is paused")
    ruling = abstain(hearing, AbstainReason.PAUSED, texts.paused(pause, suspension))
    known = pause_to_signals(suspension) if suspension else {}
    ruling = replace(ruling, signals={**ruling.signals, "paused_by": pause.value, **known})
    return hearing, _result_without_model(ruling, hearing)


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


def _unread_evidence(dossier: Dossier, reason: str) -> EvidenceBundle:
    """A hearing without a diff: nobody knows what changed."""
    nothing = HeuristicOpinion(score=0.5, confidence=0.0, reason=reason)
    bare = dossier.model_copy(update={"diff": ""})
    return EvidenceBundle(dossier, Diff(()), Places(bare), nothing, read_ci(dossier.ci), ())


def _abstain_unreadable(hearing: EvidenceBundle, problem: str) -> JudgingResult:
    return _result_without_model(abstain(hearing, AbstainReason.TOO_LARGE, texts.unreadable(problem)), hearing)


def _result_without_model(ruling: Ruling, hearing: EvidenceBundle) -> JudgingResult:
    coverage = Coverage(unread=tuple(file.path for file in hearing.dossier.files or ()))
    return JudgingResult(ruling, coverage, hearing.opinion.reason, conditions=conditions_of(hearing.dossier.ledger))


def _judge_by_route(
    hearing: EvidenceBundle, docket: EvaluationHeader, bench: JudgeContext, standing: PreviousRounds
) -> JudgingResult:
    lacks_issue = hearing.dossier.policy is not None and hearing.dossier.policy.require_issue
    lacks_issue = lacks_issue and not hearing.dossier.issues
    no_model = ModelSkipReason.WITHHELD if bench.model is not None and _is_all_withheld(hearing) else bench.no_model
    has_model = bench.model is not None and no_model is not ModelSkipReason.WITHHELD
    matter = EscalationInput(hearing.ci, hearing.opinion, bench.threshold, has_model, no_model, lacks_issue)
    chosen = _with_conditions(choose_route(matter), hearing, standing, bench)
    is_about_ci = isinstance(chosen, StopJudging) and chosen.skipped is ModelSkipReason.CI
    coverage = coverage_of(hearing.dossier, hearing.diff)
    if coverage.unread and not (coverage.read or coverage.partly or is_about_ci or hearing.opinion.facts):
        return JudgingResult(abstain_too_large(hearing, coverage), coverage, NOTHING_READ)  # no judge could do better
    if isinstance(chosen, AskModel) and bench.model is not None:
        from worker.judge.llm.time_limit import with_time_limit  # noqa: PLC0415 - as above
        from worker.judge.opinions import ask_models  # noqa: PLC0415 - a tenth of the time of a judging that asks nobody

        timed = with_time_limit(bench, docket.monotonic_ms)
        return ask_models(hearing, docket, timed, timed.model or bench.model, chosen.reason)
    assert not isinstance(chosen, AskModel)  # noqa: S101 - the rules ask only where there is a model
    return JudgingResult(rule_without_model(hearing, chosen, coverage), coverage, chosen.reason)


def _is_all_withheld(hearing: EvidenceBundle) -> bool:
    """Whether `never_send` names every changed file, so that a question would show nothing of the change."""
    globs = hearing.dossier.policy.never_send if hearing.dossier.policy else ()
    return bool(globs) and all(is_withheld(file.path, globs) for file in hearing.diff.files)


def _with_conditions(chosen: Route, hearing: EvidenceBundle, standing: PreviousRounds, bench: JudgeContext) -> Route:
    """A safe change does not settle what a model asked for in an earlier round: it is asked whether that is done."""
    left = (
        unsettled_conditions(hearing, standing) if isinstance(chosen, AcceptAsSafe) and bench.model is not None else ()
    )
    names = ", ".join(one.id for one in left)
    return AskModel(f"{chosen.reason}; still open: {names}") if left else chosen


def _verdict(
    hearing: EvidenceBundle, sitting: JudgingResult, docket: EvaluationHeader, bench: JudgeContext
) -> Accept | Reject | Abstain:
    """The whole verdict; what contradicts itself can't be built."""
    return VERDICT_MODELS[sitting.ruling.decision].model_validate(
        {
            **_ruling_fields(sitting, hearing, bench),
            **_judge_fields(sitting, bench),
            "coverage": sitting.coverage,
            "closing_conditions": sitting.conditions,
            "claims": hearing.claims,
            "case_error": hearing.dossier.case_error,
            "findings": tuple(
                one.model_copy(update={"instead_of": None, "step": ""}) for one in hearing.opinion.findings
            ),
            "eval_id": docket.eval_id,
            "parent_eval_id": docket.parent_eval_id,
            "subject": docket.subject,
            "author_agent": hearing.dossier.pull_request.author_agent,
            "round": round_number(hearing.dossier, docket.subject.head_sha, docket.fingerprint),
            "fingerprint": docket.fingerprint,
            "created_at": docket.created_at,
            "rubric_id": bench.rubric.id,
            "rubric_version": bench.rubric.version,
            "escalated": sitting.is_model_asked,
            "escalation_reason": sitting.reason,
        }
    )


def _refused_choice(hearing: EvidenceBundle, bench: JudgeContext) -> dict[str, str]:
    """The model that the repository would have chosen, where it may not."""
    name = hearing.dossier.policy.model if hearing.dossier.policy else None
    seated = {bench.model.name} if bench.model else {name}
    return {} if name is None or name in seated else {"model_not_allowed": name}


def _lost_cost(spent: ReplyCosts) -> dict[str, str]:
    """The part of the cost that is an upper bound: of questions whose answers never came."""
    return {"unheard_usd": f"{spent.lost_usd:f}"} if spent.lost_usd else {}


def _ruling_fields(sitting: JudgingResult, hearing: EvidenceBundle, bench: JudgeContext) -> dict[str, object]:
    ruling = sitting.ruling
    failure = {} if ruling.ci_failure is None else {"ci_failure": ruling.ci_failure}
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
        "throttled_reason": ruling.throttled_reason,
        **failure,
        "composite": composite(ruling.scores) if ruling.scores else None,
        "score": ruling.score,
        "confidence": ruling.confidence,
        "signals": {
            **tiers,
            **hearing.opinion.signals,
            **_refused_choice(hearing, bench),
            **_lost_cost(sitting.costs),
            **ruling.signals,
        },
    }


def _models(sitting: JudgingResult) -> str:
    """All that were asked, in that order."""
    return ", ".join(dict.fromkeys(one.model for one in sitting.exchanges if one.model))


def _judge_fields(sitting: JudgingResult, bench: JudgeContext) -> dict[str, object]:
    """Kind of judge, model and price. A heuristic verdict has none of the latter."""
    if not sitting.costs.is_owed or bench.model is None:
        return {"judge_kind": JudgeKind.HEURISTIC}
    return {
        "judge_kind": JudgeKind.LLM if bench.threshold > ALWAYS else JudgeKind.HYBRID,
        "judge_model": _models(sitting) or bench.model.name,
        "judge_cost_usd": sitting.costs.most_usd,
        "judge_pricing_version": bench.model.pricing_version,
        "tokens": sitting.costs.tokens,
        "prompt_version": bench.prompt.version,
    }
