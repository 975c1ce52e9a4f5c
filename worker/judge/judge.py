"""Judge: a dossier and a context become one verdict, with a record of each stage, its outcome and its reason.

The same dossier, context and replies give the same decision and the same record, so two records differ first where the judging did. A
judging that could not be made says so, and only a bug is raised. The same content keeps its verdict: an accept or reject is carried over
to a head with the same fingerprint, at no cost, unless the line of a pointer is gone. A round is never taken back.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from types import MappingProxyType
from typing import Final

from worker.domain.dossier import Criterion, Dossier, is_withheld
from worker.domain.judge_request import LOCAL_INSTALLATION, JudgeRequest
from worker.domain.model import eval_id_after, new_eval_id
from worker.domain.ports import Clock
from worker.domain.time_range import pause_to_signals
from worker.domain.verdict.audit import (
    AuditRecord,
    EvaluatedVerdict,
    Exchange,
    JudgeSettings,
    RecordedRedaction,
    Stage,
    Step,
)
from worker.domain.verdict.ledger import conditions_of
from worker.domain.verdict.verdict import (
    VERDICT_MODELS,
    Abstain,
    AbstainReason,
    Accept,
    ConditionState,
    Coverage,
    CriterionVerdict,
    EvidencePointer,
    HeuristicOpinion,
    JudgeKind,
    Reject,
    Subject,
    Tokens,
)
from worker.dossier.diff import Diff, DiffError, diff_of
from worker.judge import texts
from worker.judge.checks.ci_status import read_ci
from worker.judge.checks.coverage import coverage_of
from worker.judge.checks.evidence import Places, check_claims
from worker.judge.context import (
    ALWAYS,
    EvaluationHeader,
    EvidenceBundle,
    JudgeContext,
    JudgingResult,
    ModelSkipReason,
    PanelOpinion,
    RulingSignals,
)
from worker.judge.convergence import PreviousRounds, converge, read_previous_rounds, round_number, unsettled_conditions
from worker.judge.fingerprint import fingerprint_of, hash_text
from worker.judge.rulings import (
    AcceptAsSafe,
    AskModel,
    EscalationInput,
    StopJudging,
    abstain,
    abstain_too_large,
    choose_route,
    composite,
    rule_without_model,
)
from worker.signals.heuristic_opinion import form_opinion

NOTHING_READ = "no changed file could be read"


def create_header(request: JudgeRequest, dossier: Dossier, context: JudgeContext, clock: Clock) -> EvaluationHeader:
    """The header of an evaluation of this head. The dossier is complete."""
    now = clock.now()
    subject = Subject(
        installation_id=request.pull.installation_id,
        repository_id=request.pull.repository_id,
        repository=dossier.pull_request.repository,
        number=dossier.pull_request.number,
        head_sha=dossier.pull_request.head_sha,
    )
    return EvaluationHeader(
        eval_id_after(now, (entry.eval_id for entry in dossier.ledger)),
        subject,
        now,
        fingerprint_of(dossier, context),
        clock.monotonic_ms,
    )


def judge(dossier: Dossier, header: EvaluationHeader, context: JudgeContext) -> Accept | Reject | Abstain:
    """Judge a complete dossier."""
    return judge_with_record(dossier, header, context).verdict


def judge_with_record(dossier: Dossier, header: EvaluationHeader, context: JudgeContext) -> EvaluatedVerdict:
    """Judge a complete dossier, and record how."""
    started = header.monotonic_ms()
    dossier, context = _with_named_criteria(dossier), context.with_chosen_model(dossier.policy)
    if context.pause:
        suspension = context.suspension
        wording = texts.judging_paused(context.pause, suspension)
        signals = {"paused_by": context.pause.value, **(pause_to_signals(suspension) if suspension else {})}
        bundle, result = _abstain_unread(dossier, "judging is paused", AbstainReason.PAUSED, wording, signals)
    else:
        bundle, result = _judge_evidence(dossier, header, context)
    verdict = _verdict(bundle, result, header, context)
    verdict = verdict.model_copy(update={"judge_latency_ms": max(0, header.monotonic_ms() - started)})
    opinions = tuple(
        _judge_opinion(bundle, opinion, replace(header, parent_eval_id=header.eval_id), context)
        for opinion in result.opinions
    )
    return EvaluatedVerdict(verdict, audit_record(bundle, result, verdict, context), opinions)


def _judge_opinion(
    bundle: EvidenceBundle, opinion: PanelOpinion, header: EvaluationHeader, context: JudgeContext
) -> EvaluatedVerdict:
    """One panel member's own verdict, the child of the joint one. Earlier rounds don't bind it."""
    header = replace(header, eval_id=new_eval_id(header.created_at))
    budget = context.token_budget_of(opinion.member.model)
    context = replace(context, model=opinion.member.model, second_model=None, is_panel=False, token_budget=budget)
    ruling = opinion.result.ruling
    result = replace(
        opinion.result, ruling=replace(ruling, signals={**ruling.signals, "opinion_of": opinion.member.name})
    )
    verdict = _verdict(bundle, result, header, context)
    return EvaluatedVerdict(verdict, audit_record(bundle, result, verdict, context))


def _judge_evidence(
    dossier: Dossier, header: EvaluationHeader, context: JudgeContext
) -> tuple[EvidenceBundle, JudgingResult]:
    """Judge by code or model, then by what earlier rounds asked for."""
    try:
        diff = diff_of(dossier.diff)
    except DiffError as error:
        wording = texts.unreadable(str(error))
        return _abstain_unread(dossier, "the diff can't be read", AbstainReason.TOO_LARGE, wording)
    opinion = form_opinion(dossier, context.rubric)
    places = Places(dossier)
    claims = check_claims(dossier, diff, places, opinion.findings)
    on_laptop = header.subject.installation_id == LOCAL_INSTALLATION
    bundle = EvidenceBundle(dossier, diff, places, opinion, read_ci(dossier.ci), claims, on_laptop)
    previous = read_previous_rounds(bundle, header, context.rubric.id)
    result = _judge_by_route(bundle, header, context, previous)
    converged = converge(result.ruling, result.answers, bundle, previous, context.round_limit)
    refused = (Step(stage=Stage.VETOES, outcome="convergence", reason=converged.refusal),) if converged.refusal else ()
    steps = (*result.steps, *refused)
    return bundle, replace(result, ruling=converged.ruling, conditions=converged.conditions, steps=steps)


def _abstain_unread(
    dossier: Dossier,
    reason: str,
    abstain_reason: AbstainReason,
    wording: tuple[str, str],
    signals: RulingSignals = MappingProxyType({}),
) -> tuple[EvidenceBundle, JudgingResult]:
    """Abstain without a diff; *reason* says why none is read."""
    nothing = HeuristicOpinion(score=0.5, confidence=0.0, reason=reason)
    places = Places(dossier.model_copy(update={"diff": ""}))
    bundle = EvidenceBundle(dossier, Diff(()), places, nothing, read_ci(dossier.ci), ())
    ruling = abstain(bundle, abstain_reason, wording)
    coverage = Coverage(unread=tuple(file.path for file in dossier.files or ()))
    conditions = conditions_of(dossier.ledger)
    return bundle, JudgingResult(replace(ruling, signals=signals), coverage, reason, conditions=conditions)


def _with_named_criteria(dossier: Dossier) -> Dossier:
    """Give each criterion an id that is not blank and occurs once: a recorded dossier may contain anything."""
    taken: set[str] = set()
    named: list[Criterion] = []
    for position, criterion in enumerate(dossier.criteria or (), start=1):
        name = criterion.id.strip()
        if not name or name in taken:
            name = next(new for n in range(position, position + 10**6) if (new := f"AC{n}") not in taken)
        taken.add(name)
        named.append(criterion if name == criterion.id else criterion.model_copy(update={"id": name}))
    return dossier.model_copy(update={"criteria": tuple(named)})


def _judge_by_route(
    bundle: EvidenceBundle, header: EvaluationHeader, context: JudgeContext, previous: PreviousRounds
) -> JudgingResult:
    policy, model, no_model = bundle.dossier.policy, context.model, context.no_model
    globs = policy.never_send if policy else ()
    if model is not None and globs and all(is_withheld(file.path, globs) for file in bundle.diff.files):
        model, no_model = None, ModelSkipReason.WITHHELD  # a question would show nothing of the change
    lacks_issue = policy is not None and policy.require_issue and not bundle.dossier.issues
    route = choose_route(
        EscalationInput(bundle.ci, bundle.opinion, context.threshold, model is not None, no_model, lacks_issue)
    )
    if (
        isinstance(route, AcceptAsSafe)
        and context.model is not None
        and (left := unsettled_conditions(bundle, previous))
    ):
        # a safe change does not settle what a model asked for
        route = AskModel(f"{route.reason}; still open: {', '.join(condition.id for condition in left)}")
    is_about_ci = isinstance(route, StopJudging) and route.skipped is ModelSkipReason.CI
    coverage = coverage_of(bundle.dossier, bundle.diff)
    if coverage.unread and not (coverage.read or coverage.partly or is_about_ci or bundle.opinion.facts):
        return JudgingResult(abstain_too_large(bundle, coverage), coverage, NOTHING_READ)
    if isinstance(route, AskModel) and context.model is not None:
        # loading these takes a tenth of the time of a judging by code alone
        from worker.judge.llm.opinions import ask_models, with_time_limit  # noqa: PLC0415 - as above

        timed = with_time_limit(context, header.monotonic_ms)
        return ask_models(bundle, header, timed, timed.model or context.model, route.reason)
    assert not isinstance(route, AskModel)  # noqa: S101 - the rules ask only where there is a model
    return JudgingResult(rule_without_model(bundle, route, coverage), coverage, route.reason)


def _verdict(
    bundle: EvidenceBundle, result: JudgingResult, header: EvaluationHeader, context: JudgeContext
) -> Accept | Reject | Abstain:
    """The whole verdict; a contradictory one can't be built."""
    return VERDICT_MODELS[result.ruling.decision].model_validate(
        {
            **_ruling_fields(result, bundle, context),
            **_judge_fields(result, context),
            "coverage": result.coverage,
            "closing_conditions": result.conditions,
            "claims": bundle.claims,
            "case_error": bundle.dossier.case_error,
            "findings": tuple(
                finding.model_copy(update={"instead_of": None, "step": ""}) for finding in bundle.opinion.findings
            ),
            "eval_id": header.eval_id,
            "parent_eval_id": header.parent_eval_id,
            "subject": header.subject,
            "author_agent": bundle.dossier.pull_request.author_agent,
            "round": round_number(bundle.dossier, header.subject.head_sha, header.fingerprint),
            "fingerprint": header.fingerprint,
            "created_at": header.created_at,
            "rubric_id": context.rubric.id,
            "rubric_version": context.rubric.version,
            "escalated": result.is_model_asked,
            "escalation_reason": result.reason,
        }
    )


def _ruling_fields(result: JudgingResult, bundle: EvidenceBundle, context: JudgeContext) -> dict[str, object]:
    ruling, lost_usd = result.ruling, result.costs.lost_usd
    chosen = bundle.dossier.policy.model if bundle.dossier.policy else None
    is_refused = context.model is not None and chosen not in {None, context.model.name}
    return {
        **{name: value for name, value in vars(ruling).items() if name != "ci_failure" or value is not None},
        "decision": ruling.decision,
        "composite": composite(ruling.scores) if ruling.scores else None,
        "signals": {
            "heuristic_score": bundle.opinion.score,
            "heuristic_confidence": bundle.opinion.confidence,
            **bundle.opinion.signals,
            **({"model_not_allowed": chosen} if is_refused else {}),
            **({"unheard_usd": f"{lost_usd:f}"} if lost_usd else {}),
            **ruling.signals,
        },
    }


def _judge_fields(result: JudgingResult, context: JudgeContext) -> dict[str, object]:
    """The kind of judge, with models and price where a model was asked."""
    if not result.costs.is_owed or context.model is None:
        return {"judge_kind": JudgeKind.HEURISTIC}
    models = dict.fromkeys(exchange.model for exchange in result.exchanges if exchange.model)
    return {
        "judge_kind": JudgeKind.LLM if context.threshold > ALWAYS else JudgeKind.HYBRID,
        "judge_model": ", ".join(models) or context.model.name,
        "judge_cost_usd": result.costs.most_usd,
        "judge_pricing_version": context.model.pricing_version,
        "tokens": result.costs.tokens,
        "prompt_version": context.prompt.version,
    }


def carry_over_verdict(dossier: Dossier, header: EvaluationHeader, context: JudgeContext) -> Accept | Reject | None:
    """The newest recorded accept or reject of this content, moved to this head; None if there is none."""
    verdicts = [entry.verdict for entry in dossier.ledger]
    recorded = (entry.verdict for entry in reversed(dossier.ledger) if entry.fingerprint == header.fingerprint)
    earlier = next((verdict for verdict in recorded if not isinstance(verdict, Abstain)), None)
    if earlier is None:
        return None
    try:
        places = Places(dossier)
    except DiffError:
        return None
    evidence = _relocate_pointers(earlier.evidence, places)
    criteria: list[CriterionVerdict] = []
    for criterion in earlier.criteria:
        if (moved := _relocate_pointers(criterion.evidence, places)) is None:
            return None
        criteria.append(criterion.model_copy(update={"evidence": tuple(moved)}))
    if evidence is None:
        return None
    states = {condition.text: condition.state for condition in earlier.closing_conditions}
    unknown = (
        ConditionState.RESOLVED if isinstance(earlier, Accept) else None
    )  # an accept resolves those frozen after it
    conditions = (
        condition.model_copy(update={"state": states.get(condition.text, unknown or condition.state)})
        for condition in conditions_of(dossier.ledger)
    )
    return type(earlier).model_validate(
        {
            **dict(earlier),
            "eval_id": header.eval_id,
            "carried_from": earlier.carried_from or earlier.eval_id,
            "subject": header.subject,
            "round": max([earlier.round, *(verdict.round for verdict in verdicts if isinstance(verdict, Reject))]),
            "case_error": dossier.case_error,
            "created_at": header.created_at,
            "evidence": evidence,
            "criteria": criteria,
            "closing_conditions": tuple(conditions),
            "findings": form_opinion(dossier, context.rubric).findings,
            "judge_cost_usd": None if earlier.judge_cost_usd is None else Decimal(0),
            "judge_latency_ms": 0,
            "tokens": Tokens(),
        }
    )


def _relocate_pointers(pointers: Iterable[EvidencePointer], places: Places) -> list[EvidencePointer] | None:
    located = [places.relocate(pointer) for pointer in pointers]
    return None if None in located else [pointer for pointer in located if pointer is not None]


USABLE_OUTCOME: Final = "usable"
NO_REPLY_OUTCOME: Final = "none came"


def audit_record(
    bundle: EvidenceBundle, result: JudgingResult, verdict: Accept | Reject | Abstain, context: JudgeContext
) -> AuditRecord:
    """The whole record of a finished judging."""
    digest, ruling, opinion = judge_digest_of(context), result.ruling, bundle.opinion
    checks = [f"failed: {check.name}" for check in bundle.ci.failed]
    checks += [f"not finished: {check.name}" for check in bundle.ci.unfinished]
    certainty = f"score {opinion.score:.2f}, confidence {opinion.confidence:.2f}"
    seen = (
        f"{'fact' if finding.fact else 'suspicion'} {finding.signal}{f' at {finding.location}' if finding.location else ''}"
        for finding in opinion.findings
    )
    route = "the model is asked" if result.is_model_asked else "code alone"
    why = ruling.category or ruling.abstain_reason
    steps = (
        _digest_step(digest, len(context.rubric.panel_lenses)),
        Step(stage=Stage.VALIDATORS, outcome=bundle.ci.state.value, reason=", ".join(checks)),
        Step(stage=Stage.HEURISTICS, outcome=certainty, reason="; ".join(seen) or opinion.safe or opinion.reason),
        Step(stage=Stage.ROUTE, outcome=route, reason=result.reason),
        *_asking_steps(result.exchanges, result.coverage),
        *result.steps,
        Step(
            stage=Stage.RULING, outcome=f"{ruling.decision}, {why}" if why else ruling.decision, reason=ruling.concern
        ),
        _verdict_step(verdict),
    )
    redactions = tuple(RecordedRedaction(entry.kind.value, entry.where, entry.line) for entry in result.redactions)
    return AuditRecord(
        eval_id=verdict.eval_id, law=digest, steps=steps, exchanges=result.exchanges, redactions=redactions
    )


def carry_over_record(verdict: Accept | Reject, context: JudgeContext) -> AuditRecord:
    """The record of a verdict that was carried over."""
    digest, source = judge_digest_of(context), f"from {verdict.carried_from}"
    same = Step(stage=Stage.CARRIED, outcome=source, reason="the same content was judged before")
    return AuditRecord(
        eval_id=verdict.eval_id,
        law=digest,
        steps=(_digest_step(digest, len(context.rubric.panel_lenses)), same, _verdict_step(verdict)),
    )


def judge_digest_of(context: JudgeContext) -> JudgeSettings:
    model, second = context.model, context.second_model
    return JudgeSettings(
        rubric=f"{context.rubric.id} {context.rubric.version}",
        rubric_hash=hash_text(context.rubric.model_dump_json()),
        prompt_version=context.prompt.version,
        threshold=context.threshold,
        model=model.name if model else None,
        pricing_version=model.pricing_version if model else None,
        round_limit=context.round_limit,
        question_bytes=context.token_budget.question_bytes,
        pause=context.pause.value if context.pause else None,
        second=second.name if second else None,
        second_bytes=context.token_budget_of(second).question_bytes if second else None,
        second_pricing_version=second.pricing_version if second else None,
        board=context.is_panel,
    )


def _digest_step(digest: JudgeSettings, lenses: int) -> Step:
    asked = f"model {digest.model}" if digest.model else "no model"
    asked += f", a board of {texts.count_word(lenses)}" if digest.board else ""
    asked += f", second opinion of {digest.second}" if digest.second else ""
    asked += f", paused by the {digest.pause}" if digest.pause else ""
    limits = f"threshold {digest.threshold:g}, {digest.round_limit} rounds"
    reason = f"prompt {digest.prompt_version[:19]}, {limits}, {asked}"
    return Step(stage=Stage.LAW, outcome=f"rubric {digest.rubric} ({digest.rubric_hash[:19]})", reason=reason)


def _asking_steps(exchanges: Iterable[Exchange], coverage: Coverage) -> Iterator[Step]:
    read = f"{len(coverage.read)} files shown, {len(coverage.partly)} in part, {len(coverage.unread)} not"
    for exchange in exchanges:
        asked = "".join(exchange.turns[-1:])
        outcome = f"{len(asked.encode('utf-8', 'surrogatepass'))} bytes, {hash_text(asked)[:19]}"
        stage, reason = (Stage.CORRECTION, "") if exchange.is_correction else (Stage.QUESTION, read)
        yield Step(stage=stage, outcome=outcome, reason=reason)
        if exchange.reply is None:
            yield Step(stage=Stage.REPLY, outcome=NO_REPLY_OUTCOME, reason=exchange.failure or "")
        else:
            yield Step(stage=Stage.REPLY, outcome=exchange.fault or USABLE_OUTCOME, reason=" ".join(exchange.problems))


def _verdict_step(verdict: Accept | Reject | Abstain) -> Step:
    reason = f"score {verdict.score:.2f}, round {verdict.round}, {len(verdict.closing_conditions)} closing conditions"
    return Step(stage=Stage.VERDICT, outcome=verdict.decision, reason=reason)
