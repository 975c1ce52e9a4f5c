"""The way of a change over the model: it is asked, and its opinion joined with what code knows.

Imported only when a model is asked: nothing here is needed to judge by code alone. Does not build the verdict's frame
(`worker.judge.judge` does). Invariant: a fact rejects whatever the model says; an accept needs every changed file
read; nothing that went wrong with the model is a reject or a pass.
"""

from itertools import count
from typing import assert_never

from worker.domain.ports import Model, ModelReply
from worker.domain.value import replace
from worker.domain.verdict.opinion import Breakdown, Leaning, ModelOpinion
from worker.domain.verdict.rubric import Rubric
from worker.domain.verdict.verdict import AbstainReason, Coverage, EvidencePointer
from worker.dossier.diff.parser import diff_of
from worker.judge import texts
from worker.judge.budget_rulings import cap_signals, rule_without_budget
from worker.judge.checks.claims import claimed_ids
from worker.judge.checks.coverage import coverage_of, mentions_unread_as_missing
from worker.judge.checks.evidence import Places
from worker.judge.context import EvaluationHeader, JudgeContext, JudgingResult, PanelMember
from worker.judge.llm.client import (
    AnsweredConsultation,
    InvalidConsultation,
    ReplyReader,
    ThrottledConsultation,
    UnreachableConsultation,
    consult_model,
)
from worker.judge.llm.fencing import shown_path
from worker.judge.llm.history import correction_text
from worker.judge.llm.prompt import PromptInput, PromptQuestion, build_question
from worker.judge.llm.prompt_budget import TokenBudget
from worker.judge.llm.reply import Attempt, ReplyError, ReplyFault, read_reply
from worker.judge.llm.reply_limits import WIDE_CHANGE_FILES
from worker.judge.llm.reply_schema import ReplyRequirements
from worker.judge.rounds.calibration import calibration_signals, first_scores
from worker.judge.rounds.convergence import find_refusal
from worker.judge.rounds.previous_rounds import read_previous_rounds
from worker.judge.rulings import EvidenceBundle, Ruling, RulingSignals, abstain, abstain_too_large, reject_on_facts
from worker.judge.trace import opinion_steps
from worker.judge.vetoes import apply_vetoes, find_question


def ask_model(
    hearing: EvidenceBundle, docket: EvaluationHeader, bench: JudgeContext, seat: PanelMember, reason: str
) -> JudgingResult:
    """Ask one model, and hold what follows; *reason* says why it is asked."""
    standing = read_previous_rounds(hearing, docket, bench.rubric.id)
    material = PromptInput(hearing.dossier, hearing.diff, hearing.opinion, hearing.claims, hearing.ci, standing)
    question = build_question(material, bench.rubric, bench.prompt, docket.eval_id, _token_budget(bench, seat))
    if question is None:
        return _abstain_too_long(hearing, reason)
    return _consult(hearing, _with_focus(question, seat.focus), bench, seat.model, reason)


def _token_budget(bench: JudgeContext, seat: PanelMember) -> TokenBudget:
    room = bench.token_budget_of(seat.model)
    return replace(room, question_bytes=room.question_bytes - len(seat.focus.encode()))


def _with_focus(question: PromptQuestion, focus: str) -> PromptQuestion:
    """The focus is told last, so that all before it is the same for every seat, and cached."""
    if not focus:
        return question
    *before, last = question.prompt.turns
    return replace(question, prompt=replace(question.prompt, turns=(*before, f"{last}\n\n{focus}")))


def _abstain_too_long(hearing: EvidenceBundle, reason: str) -> JudgingResult:
    coverage = coverage_of(hearing.dossier, hearing.diff, hidden=[file.path for file in hearing.diff.files])
    if hearing.opinion.facts:
        return JudgingResult(reject_on_facts(hearing), coverage, f"{reason}; the question does not fit any model")
    ruling = abstain(hearing, AbstainReason.TOO_LARGE, texts.too_long())
    return JudgingResult(ruling, coverage, f"{reason}; the question does not fit any model")


def _consult(
    hearing: EvidenceBundle, question: PromptQuestion, bench: JudgeContext, model: Model, reason: str
) -> JudgingResult:
    consultation = consult_model(
        model, question.prompt, _reader_of(hearing, question, _requirements(hearing, question, bench.rubric))
    )
    if isinstance(consultation, ThrottledConsultation):
        return replace(rule_without_budget(hearing, consultation, reason), redactions=question.redactions)
    ruling = _rule_with_model(hearing, consultation, question.coverage)
    _, first = first_scores(hearing.dossier, question.previous_rounds)
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


def _reader_of(hearing: EvidenceBundle, question: PromptQuestion, asked: ReplyRequirements) -> ReplyReader:
    """Read the replies; the first is asked for again where what it says could not stand, for all that is well-formed."""
    number = count()

    def read(reply: ModelReply) -> ModelOpinion | ReplyError:
        attempt = Attempt.LAST if next(number) else Attempt.FIRST
        opinion = read_reply(reply, asked, attempt)
        if attempt is Attempt.LAST or isinstance(opinion, ReplyError):
            return opinion
        if doubt := find_question(opinion, hearing, question.questions):
            return ReplyError(ReplyFault.EVIDENCE, (doubt,))
        ruling = _rule_by_opinion(opinion, question.coverage)
        refusal = find_refusal(ruling, opinion.conditions, hearing, question.previous_rounds)
        if refusal is None:
            return opinion
        return ReplyError(ReplyFault.CONVERGENCE, (correction_text(refusal, question.previous_rounds),))

    return read


def _requirements(hearing: EvidenceBundle, question: PromptQuestion, rubric: Rubric) -> ReplyRequirements:
    """What a reply is held against: the change as it was sent, so that no correction quotes what was kept back."""
    places, changed = Places(question.sent_dossier), diff_of(question.sent_dossier.diff).files
    opaque = (
        file.path
        for file in changed
        if file.is_binary or file.is_submodule or file.is_symlink or not (file.added_lines or file.removed_lines)
    )
    return ReplyRequirements(
        criteria=hearing.criteria,
        rubric=rubric,
        places=places,
        claimed_ids=claimed_ids(hearing.dossier.case, hearing.criteria),
        paths={shown_path(path): path for path in places.paths},
        bare_names=frozenset(opaque),
        conditions=question.conditions,
        is_wide=len({file.path for file in changed}) >= WIDE_CHANGE_FILES,
    )


def _rule_with_model(
    hearing: EvidenceBundle,
    consultation: AnsweredConsultation | InvalidConsultation | UnreachableConsultation,
    coverage: Coverage,
) -> Ruling:
    """What the model said, joined with what the heuristic tier knows."""
    if hearing.opinion.facts:
        return _rule_with_facts(hearing, consultation)
    match consultation:
        case AnsweredConsultation(opinion=opinion) if opinion.breakdown is Breakdown.INFRASTRUCTURE:
            return _rule_run_again(hearing, opinion)
        case AnsweredConsultation(opinion=opinion):
            return apply_vetoes(_rule_by_opinion(opinion, coverage), opinion, hearing)
        case InvalidConsultation(errors=errors):
            return _rule_unusable(hearing, errors[-1], coverage)
        case UnreachableConsultation(reason=reason):
            return abstain(hearing, AbstainReason.JUDGE_UNAVAILABLE, texts.judge_unavailable(reason))
        case _:
            assert_never(consultation)


def _rule_unusable(hearing: EvidenceBundle, error: ReplyError, coverage: Coverage) -> Ruling:
    """No reply could be used. Where not everything could be read, that is what stands in the way of a better one."""
    if error.fault is ReplyFault.TOO_LONG:
        return abstain(hearing, AbstainReason.TOO_LARGE, texts.too_long())
    ruling = abstain(hearing, AbstainReason.REPLY_INVALID, texts.reply_invalid(error.problems[0]))
    ruling = ruling if coverage.is_complete else abstain_too_large(hearing, coverage)
    return replace(ruling, signals={"parse_failed": True})


def _rule_with_facts(
    hearing: EvidenceBundle, consultation: AnsweredConsultation | InvalidConsultation | UnreachableConsultation
) -> Ruling:
    """Facts reject. A model that rejects for the same reason words it better and adds what it saw."""
    ruling = reject_on_facts(hearing)
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


def _rule_run_again(hearing: EvidenceBundle, opinion: ModelOpinion) -> Ruling:
    """What the evidence comes from is suspected: it is to be repeated, and nothing is scored."""
    ruling = abstain(hearing, AbstainReason.NEEDS_HUMAN, texts.run_again(opinion.concern, opinion.next_step))
    said = {"model_decision": opinion.decision.value, "breakdown": opinion.breakdown.value}
    return replace(ruling, confidence=opinion.confidence, evidence=opinion.evidence, signals=said)


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
    return tuple(dict.fromkeys(one.evidence[0] for one in opinion.criteria if one.evidence))


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
    said = {"what_works": opinion.what_works, "what_does_not": opinion.what_does_not}
    return {name: text for name, text in said.items() if text}


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
