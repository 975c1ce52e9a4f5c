"""Ask one model about a change, and join its opinion with what code knows. Loaded only when a model is asked.

The reply is checked, and the model asked once more naming the error: at most two questions, none after the judging's time limit. The
cost of every reply is counted, usable or not. A fact rejects whatever the model says, and an accept needs every changed file read. A
failure of the model is neither a reject nor a pass; at a budget cap a fact still rejects and a safe change is still accepted.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import Final, assert_never

from worker.domain.ports import Model, ModelReply, Prompt
from worker.domain.verdict.audit import Exchange
from worker.domain.verdict.budget import Cap, CapLevel
from worker.domain.verdict.rubric import Rubric
from worker.domain.verdict.verdict import (
    CERTAIN_CONFIDENCE,
    AbstainReason,
    Breakdown,
    Coverage,
    Leaning,
    ModelOpinion,
    ThrottledReason,
)
from worker.dossier.diff.parser import diff_of
from worker.errors import BudgetReached, Unavailable
from worker.judge import texts
from worker.judge.checks.claims import claimed_ids
from worker.judge.checks.coverage import coverage_of, mentions_unread_as_missing
from worker.judge.checks.evidence import Places
from worker.judge.checks.vetoes import apply_vetoes, find_question
from worker.judge.context import EvaluationHeader, JudgeContext, JudgingResult, PanelMember, ReplyCosts
from worker.judge.escalation import AcceptAsSafe
from worker.judge.llm.fencing import cut_text, escape_hidden, make_fence, read_fence, redact_text, shown_path
from worker.judge.llm.prompt import PromptInput, PromptQuestion, build_question, correction_text
from worker.judge.llm.reply import Attempt, ReplyError, ReplyFault, read_reply
from worker.judge.llm.reply_schema import RETRY_FACTOR, WIDE_CHANGE_FILES, ReplyRequirements
from worker.judge.rounds.convergence import find_refusal
from worker.judge.rounds.previous_rounds import calibration_signals, first_scores, read_previous_rounds
from worker.judge.rulings import (
    EvidenceBundle,
    Ruling,
    RulingSignals,
    abstain,
    abstain_too_large,
    reject_on_facts,
    rule_without_model,
)
from worker.judge.trace import answered_exchange, opinion_steps, sent_exchange, unanswered_exchange

ReplyReader = Callable[[ModelReply], ModelOpinion | ReplyError]

ECHO_BYTES: Final = 16_000
"""How much of an unusable reply is sent back to the model."""

_EMPTY_REPLY: Final = "(no text)"


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


def with_retry_length(prompt: Prompt) -> Prompt:
    """The same question with a longer limit for its answer, reserved like the first."""
    return prompt if prompt.reply_tokens is None else replace(prompt, reply_tokens=prompt.reply_tokens * RETRY_FACTOR)


def correct_prompt(prompt: Prompt, reply: ModelReply, error: ReplyError) -> Prompt:
    """The same question, its answer, and what is wrong with that.

    Problems quote names and lines of the change, so they are escaped; those of places stand in the request's fence.
    """
    answer = cut_text(reply.text.strip(), ECHO_BYTES) or _EMPTY_REPLY
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
    prompt_input = PromptInput(bundle.dossier, bundle.diff, bundle.opinion, bundle.claims, bundle.ci, previous)
    whole = context.token_budget_of(member.model)
    budget = replace(whole, question_bytes=whole.question_bytes - len(member.focus.encode()))
    question = build_question(prompt_input, context.rubric, context.prompt, header.eval_id, budget)
    if question is None:
        coverage = coverage_of(bundle.dossier, bundle.diff, hidden=[file.path for file in bundle.diff.files])
        too_long = abstain(bundle, AbstainReason.TOO_LARGE, texts.TOO_LONG)
        ruling = reject_on_facts(bundle) if bundle.opinion.facts else too_long
        return JudgingResult(ruling, coverage, f"{reason}; the question does not fit any model")
    if member.focus:  # it comes last, so that all before it is the same for every member, and cached
        *before, last = question.prompt.turns
        turns = (*before, f"{last}\n\n{member.focus}")
        question = replace(question, prompt=replace(question.prompt, turns=turns))
    return _consult(bundle, question, context, member.model, reason)


def _consult(
    bundle: EvidenceBundle, question: PromptQuestion, context: JudgeContext, model: Model, reason: str
) -> JudgingResult:
    requirements = _requirements(bundle, question, context.rubric)
    consultation = consult_model(model, question.prompt, _reader_of(bundle, question, requirements))
    outcome = consultation.outcome
    if isinstance(outcome, BudgetReached):
        return replace(rule_without_budget(bundle, outcome, consultation, reason), redactions=question.redactions)
    ruling = _rule_with_model(bundle, outcome, question.coverage)
    _, first = first_scores(bundle.dossier, question.previous_rounds)
    moves = calibration_signals(ruling.scores, first)
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


def _reader_of(bundle: EvidenceBundle, question: PromptQuestion, asked: ReplyRequirements) -> ReplyReader:
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
        refusal = find_refusal(ruling, opinion.conditions, bundle, question.previous_rounds)
        if refusal is None:
            return opinion
        return ReplyError(ReplyFault.CONVERGENCE, (correction_text(refusal, question.previous_rounds),))

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


SKIP_REASON: Final = "budget"


def throttled_reason(cap: Cap) -> ThrottledReason:
    """The reason that a verdict publishes; the caps of a day are one to it."""
    return ThrottledReason.PR_CAP if cap is Cap.PULL else ThrottledReason.DAILY_CAP


def rule_without_budget(
    bundle: EvidenceBundle, reached: BudgetReached, consultation: Consultation, reason: str
) -> JudgingResult:
    """Rule by code alone, as a cap keeps the model from being asked; *reason* says why it would have been."""
    coverage = coverage_of(bundle.dossier, bundle.diff)
    ruling = _rule_by_code(bundle, reached, coverage)
    return JudgingResult(
        replace(
            ruling,
            throttled_reason=throttled_reason(reached.level.cap),
            signals={**ruling.signals, "escalation_skipped": SKIP_REASON},
        ),
        coverage,
        f"{reason}; {texts.cap_reached(reached.level.cap)}",
        is_model_asked=consultation.costs.is_owed,
        costs=consultation.costs,
        exchanges=consultation.exchanges,
    )


def _rule_by_code(bundle: EvidenceBundle, reached: BudgetReached, coverage: Coverage) -> Ruling:
    opinion = bundle.opinion
    if opinion.facts:
        return reject_on_facts(bundle)
    if opinion.safe is not None and opinion.confidence >= CERTAIN_CONFIDENCE:
        return rule_without_model(bundle, AcceptAsSafe(opinion.reason), coverage)
    return abstain(bundle, AbstainReason.BUDGET, texts.budget(reached.level, reached.asked_usd))


def cap_signals(near: CapLevel | None) -> RulingSignals:
    """The signals of a cap that is almost reached."""
    if near is None:
        return {}
    return {
        "budget_cap": near.cap.value if near.cap is Cap.SHARE else throttled_reason(near.cap).value,
        "budget_used": texts.dollars(near.used_usd),
        "budget_limit": texts.dollars(near.cap_usd),
    }
