"""The way of a change over the model: it is asked, and its opinion joined with what code knows.

Imported only when a model is asked: nothing here is needed to judge by code alone. Does not build the verdict's frame
(`worker.judge.judge` does). Invariant: a fact rejects whatever the model says; an accept needs every changed file
read; nothing that went wrong with the model is a reject or a pass.
"""

from itertools import count
from types import MappingProxyType
from typing import Final, assert_never

from worker.domain.ports import Model, ModelReply
from worker.domain.value import replace
from worker.domain.verdict.budget import Cap, CapLevel
from worker.domain.verdict.opinion import CERTAIN_CONFIDENCE, Breakdown, Leaning, ModelOpinion
from worker.domain.verdict.rubric import Rubric
from worker.domain.verdict.verdict import AbstainReason, Coverage, EvidencePointer, ThrottledReason
from worker.dossier.diff.parser import diff_of
from worker.errors import BudgetReached
from worker.judge import texts
from worker.judge.checks.claims import claimed_ids
from worker.judge.checks.coverage import coverage_of, mentions_unread_as_missing
from worker.judge.checks.evidence import Places
from worker.judge.context import EvaluationHeader, JudgeContext, JudgingResult, PanelMember
from worker.judge.escalation import AcceptAsSafe
from worker.judge.llm.client import (
    AnsweredConsultation,
    InvalidConsultation,
    ReplyReader,
    ThrottledConsultation,
    UnreachableConsultation,
    consult_model,
)
from worker.judge.llm.fencing import shown_path
from worker.judge.llm.prompt import PromptInput, PromptQuestion, build_question
from worker.judge.llm.prompt_budget import TokenBudget
from worker.judge.llm.reply import Attempt, ReplyError, ReplyFault, read_reply
from worker.judge.llm.reply_schema import WIDE_CHANGE_FILES, ReplyRequirements
from worker.judge.llm.sections import correction_text
from worker.judge.rounds.calibration import calibration_signals, first_scores
from worker.judge.rounds.convergence import find_refusal
from worker.judge.rounds.previous_rounds import read_previous_rounds
from worker.judge.rulings import (
    EvidenceBundle,
    Ruling,
    RulingSignals,
    abstain,
    abstain_too_large,
    reject_on_facts,
    rule_without_model,
)
from worker.judge.trace import opinion_steps
from worker.judge.vetoes import apply_vetoes, find_question


def ask_model(
    bundle: EvidenceBundle, header: EvaluationHeader, context: JudgeContext, member: PanelMember, reason: str
) -> JudgingResult:
    """Ask one model, and hold what follows; *reason* says why it is asked."""
    previous = read_previous_rounds(bundle, header, context.rubric.id)
    prompt_input = PromptInput(bundle.dossier, bundle.diff, bundle.opinion, bundle.claims, bundle.ci, previous)
    question = build_question(
        prompt_input, context.rubric, context.prompt, header.eval_id, _token_budget(context, member)
    )
    if question is None:
        return _abstain_too_long(bundle, reason)
    return _consult(bundle, _with_focus(question, member.focus), context, member.model, reason)


def _token_budget(context: JudgeContext, member: PanelMember) -> TokenBudget:
    budget = context.token_budget_of(member.model)
    return replace(budget, question_bytes=budget.question_bytes - len(member.focus.encode()))


def _with_focus(question: PromptQuestion, focus: str) -> PromptQuestion:
    """The focus is told last, so that all before it is the same for every seat, and cached."""
    if not focus:
        return question
    *before, last = question.prompt.turns
    return replace(question, prompt=replace(question.prompt, turns=(*before, f"{last}\n\n{focus}")))


def _abstain_too_long(bundle: EvidenceBundle, reason: str) -> JudgingResult:
    coverage = coverage_of(bundle.dossier, bundle.diff, hidden=[file.path for file in bundle.diff.files])
    if bundle.opinion.facts:
        return JudgingResult(reject_on_facts(bundle), coverage, f"{reason}; the question does not fit any model")
    ruling = abstain(bundle, AbstainReason.TOO_LARGE, texts.too_long())
    return JudgingResult(ruling, coverage, f"{reason}; the question does not fit any model")


def _consult(
    bundle: EvidenceBundle, question: PromptQuestion, context: JudgeContext, model: Model, reason: str
) -> JudgingResult:
    consultation = consult_model(
        model, question.prompt, _reader_of(bundle, question, _requirements(bundle, question, context.rubric))
    )
    if isinstance(consultation, ThrottledConsultation):
        return replace(rule_without_budget(bundle, consultation, reason), redactions=question.redactions)
    ruling = _rule_with_model(bundle, consultation, question.coverage)
    _, first = first_scores(bundle.dossier, question.previous_rounds)
    moves = calibration_signals(ruling.scores, first)
    ruling = replace(ruling, signals={**ruling.signals, **cap_signals(consultation.costs.near), **moves})
    opinion = consultation.opinion if isinstance(consultation, AnsweredConsultation) else None
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
    """Read the replies; the first is asked for again where what it says could not stand, for all that is well-formed."""
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
    """What a reply is held against: the change as it was sent, so that no correction quotes what was kept back."""
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
    bundle: EvidenceBundle,
    consultation: AnsweredConsultation | InvalidConsultation | UnreachableConsultation,
    coverage: Coverage,
) -> Ruling:
    """What the model said, joined with what the heuristic tier knows."""
    if bundle.opinion.facts:
        return _rule_with_facts(bundle, consultation)
    match consultation:
        case AnsweredConsultation(opinion=opinion) if opinion.breakdown is Breakdown.INFRASTRUCTURE:
            return _rule_run_again(bundle, opinion)
        case AnsweredConsultation(opinion=opinion):
            return apply_vetoes(_rule_by_opinion(opinion, coverage), opinion, bundle)
        case InvalidConsultation(errors=errors):
            return _rule_unusable(bundle, errors[-1], coverage)
        case UnreachableConsultation(reason=reason):
            return abstain(bundle, AbstainReason.JUDGE_UNAVAILABLE, texts.judge_unavailable(reason))
        case _:
            assert_never(consultation)


def _rule_unusable(bundle: EvidenceBundle, error: ReplyError, coverage: Coverage) -> Ruling:
    """No reply could be used. Where not everything could be read, that is what stands in the way of a better one."""
    if error.fault is ReplyFault.TOO_LONG:
        return abstain(bundle, AbstainReason.TOO_LARGE, texts.too_long())
    ruling = abstain(bundle, AbstainReason.REPLY_INVALID, texts.reply_invalid(error.problems[0]))
    ruling = ruling if coverage.is_complete else abstain_too_large(bundle, coverage)
    return replace(ruling, signals={"parse_failed": True})


def _rule_with_facts(
    bundle: EvidenceBundle, consultation: AnsweredConsultation | InvalidConsultation | UnreachableConsultation
) -> Ruling:
    """Facts reject. A model that rejects for the same reason words it better and adds what it saw."""
    ruling = reject_on_facts(bundle)
    if not isinstance(consultation, AnsweredConsultation):
        return ruling
    opinion = consultation.opinion
    agrees = opinion.decision is Leaning.REJECT and opinion.category is ruling.category
    return Ruling(
        concern=opinion.concern if agrees else texts.overruled(ruling.concern, opinion),
        next_step=(opinion.next_step if agrees else None) or ruling.next_step,
        score=min(ruling.score, opinion.score),
        confidence=max(ruling.confidence, opinion.confidence) if agrees else ruling.confidence,
        category=ruling.category,
        evidence=tuple(dict.fromkeys((*ruling.evidence, *(opinion.evidence if agrees else ())))),
        criteria=opinion.criteria if agrees else ruling.criteria,
        scores=opinion.scores,
        signals={"model_decision": opinion.decision.value},
    )


def _rule_run_again(bundle: EvidenceBundle, opinion: ModelOpinion) -> Ruling:
    """What the evidence comes from is suspected: it is to be repeated, and nothing is scored."""
    ruling = abstain(bundle, AbstainReason.NEEDS_HUMAN, texts.run_again(opinion.concern, opinion.next_step))
    signals = {"model_decision": opinion.decision.value, "breakdown": opinion.breakdown.value}
    return replace(ruling, confidence=opinion.confidence, evidence=opinion.evidence, signals=signals)


def _rule_by_opinion(opinion: ModelOpinion, coverage: Coverage) -> Ruling:
    match opinion.decision:
        case Leaning.ACCEPT if not coverage.is_complete:
            unread = texts.too_large([*coverage.unread, *coverage.partly])
            return _rule_undecided(opinion, AbstainReason.TOO_LARGE, unread)
        case Leaning.ACCEPT:
            return _model_ruling(opinion, evidence=opinion.evidence or _first_places(opinion))
        case Leaning.REJECT if not coverage.is_complete and (
            not opinion.evidence or mentions_unread_as_missing(f"{opinion.concern}\n{opinion.next_step}", coverage)
        ):
            # what is missed may stand in what was not shown
            unread = texts.too_large([*coverage.unread, *coverage.partly])
            return _rule_undecided(opinion, AbstainReason.TOO_LARGE, unread)
        case Leaning.REJECT:
            return _model_ruling(opinion, evidence=opinion.evidence)
        case Leaning.CANNOT_TELL:
            return _rule_undecided(
                opinion, AbstainReason.NEEDS_HUMAN, (opinion.concern, texts.cannot_tell(opinion.next_step))
            )
        case _:
            assert_never(opinion.decision)


def _first_places(opinion: ModelOpinion) -> tuple[EvidencePointer, ...]:
    return tuple(dict.fromkeys(criterion.evidence[0] for criterion in opinion.criteria if criterion.evidence))


def _model_ruling(opinion: ModelOpinion, evidence: tuple[EvidencePointer, ...]) -> Ruling:
    return Ruling(
        concern=opinion.concern,
        next_step=opinion.next_step,
        score=opinion.score,
        confidence=opinion.confidence,
        category=opinion.category,
        evidence=evidence,
        criteria=opinion.criteria,
        scores=opinion.scores,
        signals=_direction_signals(opinion),
    )


def _direction_signals(opinion: ModelOpinion) -> RulingSignals:
    """What a reject of a change over many files says to build on, and what to move."""
    if opinion.decision is not Leaning.REJECT:
        return {}
    sides = {"what_works": opinion.what_works, "what_does_not": opinion.what_does_not}
    return {name: text for name, text in sides.items() if text}


def _rule_undecided(opinion: ModelOpinion, reason: AbstainReason, texts: tuple[str, str]) -> Ruling:
    """The model's scores and places stay on record; they decide nothing."""
    concern, next_step = texts
    return Ruling(
        concern=concern,
        next_step=next_step,
        score=opinion.score,
        confidence=opinion.confidence,
        abstain_reason=reason,
        evidence=opinion.evidence,
        criteria=opinion.criteria,
        scores=opinion.scores,
        signals={"model_decision": opinion.decision.value},
    )


SKIP_REASON: Final = "budget"

THROTTLED_REASONS: Final = MappingProxyType(
    {
        Cap.PULL: ThrottledReason.PR_CAP,
        Cap.DAY: ThrottledReason.DAILY_CAP,
        Cap.SHARE: ThrottledReason.DAILY_CAP,
        Cap.AUTHOR: ThrottledReason.DAILY_CAP,
    }
)


def rule_without_budget(bundle: EvidenceBundle, stopped: ThrottledConsultation, reason: str) -> JudgingResult:
    """Rule by code alone; *reason* says why a model would have been asked."""
    coverage = coverage_of(bundle.dossier, bundle.diff)
    ruling = _rule_by_code(bundle, stopped.reached, coverage)
    return JudgingResult(
        replace(
            ruling,
            throttled_reason=THROTTLED_REASONS[stopped.reached.level.cap],
            signals={**ruling.signals, "escalation_skipped": SKIP_REASON},
        ),
        coverage,
        f"{reason}; {texts.cap_reached(stopped.reached.level.cap)}",
        is_model_asked=stopped.costs.is_owed,
        costs=stopped.costs,
        exchanges=stopped.exchanges,
    )


def _rule_by_code(bundle: EvidenceBundle, reached: BudgetReached, coverage: Coverage) -> Ruling:
    opinion = bundle.opinion
    if opinion.facts:
        return reject_on_facts(bundle)
    if opinion.safe is not None and opinion.confidence >= CERTAIN_CONFIDENCE:
        return rule_without_model(bundle, AcceptAsSafe(opinion.reason), coverage)
    return abstain(bundle, AbstainReason.BUDGET, texts.budget(reached.level, reached.asked_usd))


def cap_signals(near: CapLevel | None) -> RulingSignals:
    """A cap that is almost reached, for the record and for whoever reads the check."""
    if near is None:
        return {}
    return {
        "budget_cap": near.cap.value if near.cap is Cap.SHARE else THROTTLED_REASONS[near.cap].value,
        "budget_used": texts.dollars(near.used_usd),
        "budget_limit": texts.dollars(near.cap_usd),
    }
