"""Ask one model, a panel, or a stronger model after them, and join their opinions with each other and with what code knows.

Each reply is checked, and its model asked once more naming the error: at most two questions, none after the judging's time limit. The
cost of every reply is counted, usable or not. A fact rejects whatever a model says, and an accept needs every changed file read. A
failure of the model is neither a reject nor a pass; at a budget cap a fact still rejects and a safe change is still accepted.

Opposite decisions are a person's to decide. Where both decide the same, the second speaks; where one can't tell, the other counts at
half its confidence; an opinion that could not be had changes nothing. Loaded only when a model is asked.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from itertools import count
from typing import Final, assert_never

from worker.domain.ports import Model, ModelReply, Prompt
from worker.domain.verdict.audit import Exchange, OverBudget, RecordedReply, Stage, Step
from worker.domain.verdict.budget import Cap, CapLevel
from worker.domain.verdict.verdict import (
    CERTAIN_CONFIDENCE,
    AbstainReason,
    Breakdown,
    Coverage,
    Leaning,
    Lens,
    ModelOpinion,
    Rubric,
    ThrottledReason,
    Tokens,
)
from worker.dossier.diff import diff_of
from worker.errors import BudgetReached, Unavailable
from worker.judge import texts
from worker.judge.checks.coverage import coverage_of, mentions_unread_as_missing
from worker.judge.checks.evidence import Places, claimed_ids
from worker.judge.checks.vetoes import SUSPICIONS_SIGNAL, apply_vetoes, find_question
from worker.judge.context import (
    EvaluationHeader,
    EvidenceBundle,
    JudgeContext,
    JudgingResult,
    PanelMember,
    PanelOpinion,
    ReplyCosts,
    Ruling,
    RulingSignals,
)
from worker.judge.convergence import (
    PreviousRounds,
    calibration_signals,
    find_refusal,
    first_scores,
    read_previous_rounds,
)
from worker.judge.fingerprint import hash_text
from worker.judge.llm.prompt import PromptQuestion, build_question, correction_text
from worker.judge.llm.reply import (
    RETRY_FACTOR,
    WIDE_CHANGE_FILES,
    Attempt,
    ReplyError,
    ReplyFault,
    ReplyRequirements,
    read_reply,
)
from worker.judge.llm.sanitize import cut_text, escape_hidden, make_fence, read_fence, redact_text, shown_path
from worker.judge.rulings import (
    AcceptAsSafe,
    abstain,
    abstain_too_large,
    leave_to_person,
    reject_on_facts,
    rule_without_model,
)

ReplyReader = Callable[[ModelReply], ModelOpinion | ReplyError]

ECHO_BYTES: Final = 16_000
"""How much of an unusable reply is sent back to the model."""


@dataclass(frozen=True)
class Consultation:
    """`outcome`: the opinion, what was wrong with the last reply, or what kept the model from answering.

    `exchanges`: every question with its outcome, in order.
    """

    outcome: ModelOpinion | ReplyError | Unavailable | BudgetReached
    costs: ReplyCosts
    exchanges: tuple[Exchange, ...] = ()


def consult_model(model: Model, prompt: Prompt, read: ReplyReader) -> Consultation:
    """Ask, and once more if the reply can't be used. Failures of the model or its server are returned, not raised."""
    spent, past = ReplyCosts(), ()
    outcome: ModelOpinion | ReplyError | None = None
    for _ in range(2):
        sent = sent_exchange(model.name, prompt)
        try:
            reply = model.ask(prompt)
        except (Unavailable, BudgetReached) as failure:
            return Consultation(failure, spent.with_lost(failure.lost_usd), (*past, unanswered_exchange(sent, failure)))
        spent, outcome = spent.with_reply(reply), read(reply)
        if isinstance(outcome, ModelOpinion):
            return Consultation(outcome, spent, (*past, answered_exchange(sent, reply)))
        past = (*past, answered_exchange(sent, reply, outcome.fault, outcome.problems))
        if outcome.fault is ReplyFault.TOO_LONG:
            break
        longer = with_retry_length(prompt) if outcome.fault is ReplyFault.TRUNCATED else prompt
        prompt = correct_prompt(longer, reply, outcome)
    assert outcome is not None  # noqa: S101 - each round sets it
    return Consultation(outcome, spent, past)


def sent_exchange(model: str, prompt: Prompt) -> Exchange:
    """A question, without its outcome yet."""
    form = hash_text(json.dumps(prompt.schema, sort_keys=True))
    return Exchange(system=hash_text(prompt.system), form=form, turns=prompt.turns, model=model)


def answered_exchange(
    sent: Exchange, reply: ModelReply, fault: str | None = None, problems: tuple[str, ...] = ()
) -> Exchange:
    """An answered question. *fault*, *problems*: why its reply is unusable."""
    recorded = RecordedReply(
        text=reply.text,
        stop=reply.stop.value,
        stop_detail=reply.stop_detail,
        tokens=reply.tokens,
        cost_usd=reply.cost_usd,
        request_id=reply.request_id,
    )
    return replace(sent, reply=recorded, fault=fault, problems=problems)


def unanswered_exchange(sent: Exchange, failure: Unavailable | BudgetReached) -> Exchange:
    """A question without a reply, or one that a budget cap kept from being sent."""
    if isinstance(failure, Unavailable):
        return replace(sent, failure=failure.reason)
    level = failure.level
    over = OverBudget(cap=level.cap, used_usd=level.used_usd, cap_usd=level.cap_usd, asked_usd=failure.asked_usd)
    return replace(sent, failure=str(failure), over=over)


def with_retry_length(prompt: Prompt) -> Prompt:
    """The same question with a longer limit for its answer, reserved like the first."""
    return prompt if prompt.reply_tokens is None else replace(prompt, reply_tokens=prompt.reply_tokens * RETRY_FACTOR)


def correct_prompt(prompt: Prompt, reply: ModelReply, error: ReplyError) -> Prompt:
    """The same question, its answer, and what is wrong with that.

    Problems quote names and lines of the change, so they are escaped; those of places stand in the request's fence.
    """
    answer = cut_text(reply.text.strip(), ECHO_BYTES) or "(no text)"
    escaped = (redact_text(escape_hidden(problem)).replace("\n", " ") for problem in error.problems)
    problems = "\n".join(f"{number}. {cut_text(problem, 1_000)}" for number, problem in enumerate(escaped, start=1))
    if error.fault is ReplyFault.POINTER:
        question = prompt.turns[0]
        fence = read_fence(question) or make_fence(question, (question, problems))
        problems = fence.enclose("places that do not hold", problems.replace(fence.word, "MARK"))
    correction = (
        f"Your answer can't be used:\n{problems}\n"
        "Judge again and answer with one whole JSON object in the schema. "
        "Correct what is named here; keep what was right."
    )
    return replace(prompt, turns=(*prompt.turns, answer, correction))


class TimeLimitedModel:
    """A Model that is unavailable once the time is up."""

    def __init__(self, model: Model, now_ms: Callable[[], int], end_ms: int) -> None:
        self._model = model
        self.name, self.pricing_version = model.name, model.pricing_version
        self._now_ms = now_ms
        self._end_ms = end_ms

    def ask(self, prompt: Prompt) -> ModelReply:
        """Raises Unavailable, also after the time limit."""
        if self._now_ms() >= self._end_ms:
            raise Unavailable(self.name, "its answers took so long that no more were waited for (ASSAY_ASKING)")
        return self._model.ask(prompt)


def with_time_limit(context: JudgeContext, now_ms: Callable[[], int]) -> JudgeContext:
    """The same context with one time limit for all its models, counted from now. A running question is not cut off."""
    end_ms = now_ms() + context.asking_ms
    model, second = (
        TimeLimitedModel(model, now_ms, end_ms) if model else None for model in (context.model, context.second_model)
    )
    return replace(context, model=model, second_model=second)


def ask_model(
    bundle: EvidenceBundle, header: EvaluationHeader, context: JudgeContext, member: PanelMember, reason: str
) -> JudgingResult:
    """Ask one model and rule; *reason* says why it is asked."""
    previous = read_previous_rounds(bundle, header, context.rubric.id)
    whole = context.token_budget_of(member.model)
    budget = replace(whole, question_bytes=whole.question_bytes - len(member.focus.encode()))
    question = build_question(bundle, previous, context.rubric, context.prompt, header.eval_id, budget)
    if question is None:
        coverage = coverage_of(bundle.dossier, bundle.diff, hidden=[file.path for file in bundle.diff.files])
        too_long = abstain(bundle, AbstainReason.TOO_LARGE, texts.TOO_LONG)
        ruling = reject_on_facts(bundle) if bundle.opinion.facts else too_long
        return JudgingResult(ruling, coverage, f"{reason}; the question does not fit any model")
    if member.focus:  # it comes last, so that all before it is the same for every member, and cached
        *before, last = question.prompt.turns
        turns = (*before, f"{last}\n\n{member.focus}")
        question = replace(question, prompt=replace(question.prompt, turns=turns))
    read = _reader_of(bundle, question, previous, _requirements(bundle, question, context.rubric))
    consultation = consult_model(member.model, question.prompt, read)
    outcome = consultation.outcome
    if isinstance(outcome, BudgetReached):
        return replace(rule_without_budget(bundle, outcome, consultation, reason), redactions=question.redactions)
    ruling = _rule_with_model(bundle, outcome, question.coverage)
    moves = calibration_signals(ruling.scores, first_scores(bundle.dossier, previous)[1])
    ruling = replace(ruling, signals={**ruling.signals, **cap_signals(consultation.costs.near), **moves})
    opinion = outcome if isinstance(outcome, ModelOpinion) else None
    return JudgingResult(
        ruling,
        question.coverage,
        reason,
        is_model_asked=True,
        answers=opinion.conditions if opinion else (),
        costs=consultation.costs,
        exchanges=consultation.exchanges,
        steps=opinion_steps(opinion, ruling),
        redactions=question.redactions,
    )


def opinion_steps(opinion: ModelOpinion | None, ruling: Ruling) -> tuple[Step, ...]:
    """The steps of a readable opinion: its places, and whether a veto stopped it."""
    if opinion is None:
        return ()
    places = [*opinion.evidence, *(pointer for criterion in opinion.criteria for pointer in criterion.evidence)]
    counted = f"{len(places)} {'place' if len(places) == 1 else 'places'}, each found"
    counted += f"; left out: {len(opinion.dropped)}" if opinion.dropped else ""
    leaned = {Leaning.CANNOT_TELL: "abstain"}.get(opinion.decision, opinion.decision.value)
    vetoed = leaned != ruling.decision or (opinion.category is not None and opinion.category is not ruling.category)
    wanted = f"the model's {opinion.decision} does not stand" if vetoed else "none"
    named = ", ".join(dict.fromkeys(pointer.location for pointer in places))
    return (
        Step(stage=Stage.EVIDENCE, outcome=counted, reason=named),
        Step(stage=Stage.VETOES, outcome=wanted, reason=ruling.concern if vetoed else ""),
    )


def _reader_of(
    bundle: EvidenceBundle, question: PromptQuestion, previous: PreviousRounds, asked: ReplyRequirements
) -> ReplyReader:
    """Read the replies. The first is corrected also where it is well-formed and its decision could not stand."""
    number = count()

    def read(reply: ModelReply) -> ModelOpinion | ReplyError:
        attempt = Attempt.LAST if next(number) else Attempt.FIRST
        opinion = read_reply(reply, asked, attempt)
        if attempt is Attempt.LAST or isinstance(opinion, ReplyError):
            return opinion
        if doubt := find_question(opinion, bundle, question.questions):
            return ReplyError(ReplyFault.EVIDENCE, (doubt,))
        ruling = _rule_by_opinion(opinion, question.coverage)
        refusal = find_refusal(ruling, opinion.conditions, bundle, previous)
        if refusal is None:
            return opinion
        return ReplyError(ReplyFault.CONVERGENCE, (correction_text(refusal, previous),))

    return read


def _requirements(bundle: EvidenceBundle, question: PromptQuestion, rubric: Rubric) -> ReplyRequirements:
    """What a reply is checked against: the change as it was sent, so that no correction quotes what was withheld."""
    places, changed = Places(question.sent_dossier), diff_of(question.sent_dossier.diff).files
    opaque = (
        file.path
        for file in changed
        if file.is_binary or file.is_submodule or file.is_symlink or not (file.added_lines or file.removed_lines)
    )
    return ReplyRequirements(
        criteria=bundle.criteria,
        rubric=rubric,
        places=places,
        claimed_ids=claimed_ids(bundle.dossier.case, bundle.criteria),
        paths={shown_path(path): path for path in places.paths},
        bare_names=frozenset(opaque),
        conditions=question.conditions,
        is_wide=len({file.path for file in changed}) >= WIDE_CHANGE_FILES,
    )


def _rule_with_model(
    bundle: EvidenceBundle, outcome: ModelOpinion | ReplyError | Unavailable, coverage: Coverage
) -> Ruling:
    """Join the model's answer with what code knows."""
    if bundle.opinion.facts:
        return _rule_with_facts(bundle, outcome)
    match outcome:
        case ModelOpinion(breakdown=Breakdown.INFRASTRUCTURE):
            ruling = abstain(bundle, AbstainReason.NEEDS_HUMAN, texts.run_again(outcome.concern, outcome.next_step))
            signals = {"model_decision": outcome.decision.value, "breakdown": outcome.breakdown.value}
            return replace(ruling, confidence=outcome.confidence, evidence=outcome.evidence, signals=signals)
        case ModelOpinion():
            return apply_vetoes(_rule_by_opinion(outcome, coverage), outcome, bundle)
        case ReplyError(fault=ReplyFault.TOO_LONG):
            return abstain(bundle, AbstainReason.TOO_LARGE, texts.TOO_LONG)
        case ReplyError(problems=problems):
            invalid = abstain(bundle, AbstainReason.REPLY_INVALID, texts.reply_invalid(problems[0]))
            # an incomplete reading is what keeps a better reply away
            ruling = invalid if coverage.is_complete else abstain_too_large(bundle, coverage)
            return replace(ruling, signals={"parse_failed": True})
        case Unavailable():
            return abstain(bundle, AbstainReason.JUDGE_UNAVAILABLE, texts.judge_unavailable(outcome.reason))
        case _:
            assert_never(outcome)


def _rule_with_facts(bundle: EvidenceBundle, opinion: ModelOpinion | ReplyError | Unavailable) -> Ruling:
    """Reject on facts; a model that rejects for the same category gives its words and places."""
    ruling = reject_on_facts(bundle)
    if not isinstance(opinion, ModelOpinion):
        return ruling
    agrees = opinion.decision is Leaning.REJECT and opinion.category is ruling.category
    return Ruling(
        concern=opinion.concern if agrees else texts.model_overruled(ruling.concern, opinion),
        next_step=(opinion.next_step if agrees else None) or ruling.next_step,
        score=min(ruling.score, opinion.score),
        confidence=max(ruling.confidence, opinion.confidence) if agrees else ruling.confidence,
        category=ruling.category,
        evidence=tuple(dict.fromkeys((*ruling.evidence, *(opinion.evidence if agrees else ())))),
        criteria=opinion.criteria if agrees else ruling.criteria,
        scores=opinion.scores,
        signals={"model_decision": opinion.decision.value},
    )


def _rule_by_opinion(opinion: ModelOpinion, coverage: Coverage) -> Ruling:
    """The model's decision, or an abstain where what was not read could change it."""
    is_reject = opinion.decision is Leaning.REJECT
    if opinion.decision is Leaning.CANNOT_TELL:
        wording = (opinion.concern, texts.cannot_tell(opinion.next_step))
        return _rule_undecided(opinion, AbstainReason.NEEDS_HUMAN, wording)
    text = f"{opinion.concern}\n{opinion.next_step}"
    may_be_unread = not is_reject or not opinion.evidence or mentions_unread_as_missing(text, coverage)
    if not coverage.is_complete and may_be_unread:
        unread = texts.too_large([*coverage.unread, *coverage.partly])
        return _rule_undecided(opinion, AbstainReason.TOO_LARGE, unread)
    first_places = dict.fromkeys(criterion.evidence[0] for criterion in opinion.criteria if criterion.evidence)
    sides = {"what_works": opinion.what_works, "what_does_not": opinion.what_does_not} if is_reject else {}
    signals = {name: text for name, text in sides.items() if text}
    ruling = replace(_ruling_of(opinion, opinion.concern, opinion.next_step, signals), category=opinion.category)
    return ruling if is_reject or opinion.evidence else replace(ruling, evidence=tuple(first_places))


def _rule_undecided(opinion: ModelOpinion, reason: AbstainReason, wording: tuple[str, str]) -> Ruling:
    """An abstain; the model's scores and places stay on record."""
    return replace(_ruling_of(opinion, *wording, {"model_decision": opinion.decision.value}), abstain_reason=reason)


def _ruling_of(opinion: ModelOpinion, concern: str, next_step: str | None, signals: RulingSignals) -> Ruling:
    return Ruling(
        concern=concern,
        next_step=next_step,
        score=opinion.score,
        confidence=opinion.confidence,
        evidence=opinion.evidence,
        criteria=opinion.criteria,
        scores=opinion.scores,
        signals=signals,
    )


def throttled_reason(cap: Cap) -> ThrottledReason:
    """The reason that a verdict publishes; the caps of a day are one to it."""
    return ThrottledReason.PR_CAP if cap is Cap.PULL else ThrottledReason.DAILY_CAP


def rule_without_budget(
    bundle: EvidenceBundle, reached: BudgetReached, consultation: Consultation, reason: str
) -> JudgingResult:
    """Rule by code alone, as a cap keeps the model from being asked; *reason* says why it would have been."""
    coverage, opinion = coverage_of(bundle.dossier, bundle.diff), bundle.opinion
    if opinion.facts:
        ruling = reject_on_facts(bundle)
    elif opinion.safe is not None and opinion.confidence >= CERTAIN_CONFIDENCE:
        ruling = rule_without_model(bundle, AcceptAsSafe(opinion.reason), coverage)
    else:
        ruling = abstain(bundle, AbstainReason.BUDGET, texts.budget(reached.level, reached.asked_usd))
    return JudgingResult(
        replace(
            ruling,
            throttled_reason=throttled_reason(reached.level.cap),
            signals={**ruling.signals, "escalation_skipped": "budget"},
        ),
        coverage,
        f"{reason}; {texts.cap_reached(reached.level.cap)}",
        is_model_asked=consultation.costs.is_owed,
        costs=consultation.costs,
        exchanges=consultation.exchanges,
    )


def cap_signals(near: CapLevel | None) -> RulingSignals:
    """The signals of a cap that is almost reached."""
    if near is None:
        return {}
    return {
        "budget_cap": near.cap.value if near.cap is Cap.SHARE else throttled_reason(near.cap).value,
        "budget_used": texts.dollars(near.used_usd),
        "budget_limit": texts.dollars(near.cap_usd),
    }


NO_OPINION_REASONS: Final = frozenset(
    {AbstainReason.JUDGE_UNAVAILABLE, AbstainReason.REPLY_INVALID, AbstainReason.BUDGET, AbstainReason.PAUSED}
)
"""Abstains without an opinion."""


class PanelAgreement(StrEnum):
    """How the opinions compare. ALONE: the others could not be had."""

    AGREE = "they agree"
    DIFFER = "they differ"
    ALONE = "one alone was had"


@dataclass(frozen=True)
class PanelRuling:
    """The joint ruling. `speaker`: the position of the opinion whose words and answers it has."""

    ruling: Ruling
    speaker: int
    agreement: PanelAgreement


def is_model_ruling(ruling: Ruling) -> bool:
    """Whether a model gave it: at a budget cap code alone rules, and may accept a safe change."""
    return ruling.abstain_reason not in NO_OPINION_REASONS and ruling.throttled_reason is None


def intended_decision(ruling: Ruling) -> str:
    """The decision before code's vetoes."""
    if not is_model_ruling(ruling):
        return "no answer"
    return ruling.decision if ruling.decision != "abstain" else str(ruling.signals.get("model_decision", "cannot_tell"))


@dataclass(frozen=True)
class LensRuling:
    """The ruling through a lens."""

    lens: Lens
    ruling: Ruling


def rule_of_panel(seen: Sequence[LensRuling]) -> PanelRuling:
    """Join the rulings of the lenses, the most important first.

    A reject in a category of its own lens rejects, and so do two rejects in any category. Where a lens gave no opinion, nothing
    else is ruled, except an accept as safe at a budget cap that no other lens doubts. One reject outside its lens, or a lens that
    can't tell, is a person's to decide. Accepts alone accept, in the words of the weakest.
    """
    rejecting = [lens for lens in seen if lens.ruling.decision == "reject"]
    own = [lens for lens in rejecting if lens.ruling.category in lens.lens.categories]
    if own or len(rejecting) > 1:
        speaker = (own or rejecting)[0]
        confidence = speaker.ruling.confidence * (len(rejecting) / len(seen))
        agreement = PanelAgreement.AGREE if len(rejecting) == len(seen) else PanelAgreement.DIFFER
        return PanelRuling(_with_places(speaker.ruling, rejecting, confidence), seen.index(speaker), agreement)
    missing = [lens for lens in seen if not is_model_ruling(lens.ruling)]
    doubting = [lens for lens in seen if lens.ruling.decision != "accept"]
    if absent := [lens for lens in missing if lens in doubting] or (not doubting and missing):
        return PanelRuling(absent[0].ruling, seen.index(absent[0]), PanelAgreement.ALONE)
    if not doubting:
        speaker = min(seen, key=lambda lens: lens.ruling.score)
        confidence = min(lens.ruling.confidence for lens in seen)
        return PanelRuling(_with_places(speaker.ruling, seen, confidence), seen.index(speaker), PanelAgreement.AGREE)
    speaker = (rejecting or doubting)[0]
    if len(doubting) == len(seen) and not rejecting:
        return PanelRuling(speaker.ruling, seen.index(speaker), PanelAgreement.AGREE)
    opinions = [(lens.lens.id, intended_decision(lens.ruling), lens.ruling.concern) for lens in seen]
    ruling = leave_to_person(speaker.ruling, texts.opinions_differ(opinions), intended_decision(speaker.ruling))
    return PanelRuling(ruling, seen.index(speaker), PanelAgreement.DIFFER)


def _with_places(speaker: Ruling, agreeing: Sequence[LensRuling], confidence: float) -> Ruling:
    """The speaker's ruling with the places of all that agree, its own first."""
    rulings = (speaker, *(lens.ruling for lens in agreeing))
    places = dict.fromkeys(pointer for ruling in rulings for pointer in ruling.evidence)
    return replace(speaker, evidence=tuple(places), confidence=confidence)


def second_opinion_reason(first: Ruling, bundle: EvidenceBundle) -> str | None:
    """Why a second opinion is needed; None where it is not. A fact needs none."""
    if bundle.opinion.facts or not is_model_ruling(first):
        return None
    if bundle.dossier.contest:
        return "the verdict is contested"
    if first.signals.get("vetoed_by") == SUSPICIONS_SIGNAL:
        return "an accept that leaves suspicions open"
    return "a reject on suspicion" if first.decision == "reject" else None


def rule_of_two(first: Ruling, second: Ruling) -> PanelRuling:
    """Join two rulings; the second is of the stronger model."""
    if not is_model_ruling(second):
        return PanelRuling(first, 0, PanelAgreement.ALONE)
    meant = (intended_decision(first), intended_decision(second))
    if set(meant) == {"accept", "reject"}:
        opinions = (("first", meant[0], first.concern), ("second", meant[1], second.concern))
        doubtful = replace(second, confidence=min(first.confidence, second.confidence) / 2)
        ruling = leave_to_person(doubtful, texts.opinions_differ(opinions), meant[1])
        return PanelRuling(ruling, 1, PanelAgreement.DIFFER)
    if first.decision == second.decision:
        is_same = first.category is second.category
        confidence = (max if is_same else min)(first.confidence, second.confidence)
        places = tuple(dict.fromkeys((*second.evidence, *first.evidence)))
        ruling = replace(second, evidence=places, confidence=confidence)
        return PanelRuling(ruling, 1, PanelAgreement.AGREE if is_same else PanelAgreement.DIFFER)
    decided = 0 if second.decision == "abstain" else 1
    ruling = (first, second)[decided]
    return PanelRuling(replace(ruling, confidence=ruling.confidence / 2), decided, PanelAgreement.DIFFER)


def ask_models(
    bundle: EvidenceBundle, header: EvaluationHeader, context: JudgeContext, model: Model, reason: str
) -> JudgingResult:
    """Ask the context's models, and rule."""
    first = _ask_first(bundle, header, context, model, reason)
    why = second_opinion_reason(first.ruling, bundle)
    if context.second_model is None or why is None or not first.is_model_asked:
        return first
    member = PanelMember("second", context.second_model)
    second = ask_model(bundle, header, context, member, why)
    opinions = (*(first.opinions or (PanelOpinion(PanelMember("first", model), first),)), PanelOpinion(member, second))
    reason = texts.second_opinion_asked(first.reason, context.second_model.name, why)
    return _combine_results((first, second), rule_of_two(first.ruling, second.ruling), opinions, reason)


def _ask_first(
    bundle: EvidenceBundle, header: EvaluationHeader, context: JudgeContext, model: Model, reason: str
) -> JudgingResult:
    """Ask one model, or the panel; a fact needs no panel."""
    if not context.is_panel or bundle.opinion.facts:
        return ask_model(bundle, header, context, PanelMember("first", model), reason)
    lenses = context.rubric.panel_lenses
    members = [PanelMember(lens.id, model, lens.focus) for lens in lenses]
    results = [ask_model(bundle, header, context, member, reason) for member in members]
    seen = [LensRuling(lens, result.ruling) for lens, result in zip(lenses, results, strict=True)]
    opinions = tuple(PanelOpinion(member, result) for member, result in zip(members, results, strict=True))
    return _combine_results(results, rule_of_panel(seen), opinions, texts.panel_asked(reason, len(lenses)))


def _combine_results(
    results: Sequence[JudgingResult], joined: PanelRuling, opinions: tuple[PanelOpinion, ...], reason: str
) -> JudgingResult:
    """One result of several: the answers are the speaker's, exchanges and costs are of all."""
    speaker = results[joined.speaker]
    descriptions: list[str] = []
    for opinion in opinions:
        ruling = opinion.result.ruling
        decision, why = intended_decision(ruling).replace("_", " "), ruling.category or ruling.abstain_reason
        described = f"{opinion.member.name} ({opinion.member.model.name}): {decision}{f', {why}' if why else ''}"
        descriptions.append(f"{described}, {ruling.confidence:.2f}")
    summary = "; ".join(descriptions)
    signals = {**joined.ruling.signals, "opinions": summary, "opinions_agree": joined.agreement is PanelAgreement.AGREE}
    ruled = Step(stage=Stage.OPINIONS, outcome=joined.agreement.value, reason=summary)
    return replace(
        speaker,
        ruling=replace(joined.ruling, signals=signals),
        reason=reason,
        is_model_asked=any(result.is_model_asked for result in results),
        costs=_add_costs([result.costs for result in results]),
        exchanges=tuple(exchange for result in results for exchange in result.exchanges),
        steps=(*(step for result in results for step in result.steps), ruled),
        opinions=opinions,
    )


def _add_costs(each: Sequence[ReplyCosts]) -> ReplyCosts:
    amounts = [costs.cost_usd for costs in each if costs.cost_usd is not None]
    return ReplyCosts(
        tokens=sum((costs.tokens for costs in each), Tokens()),
        cost_usd=sum(amounts, Decimal(0)) if len(amounts) == len(each) else None,
        replies=sum(costs.replies for costs in each),
        lost_usd=sum((costs.lost_usd for costs in each), Decimal(0)),
        near=next((costs.near for costs in reversed(each) if costs.near is not None), None),
    )
