"""The way of a change over the model: it is asked, and its opinion joined with what code knows.

Imported only when a model is asked: nothing here is needed to judge by code alone. Does not build the verdict's frame
(`worker.judge.judge` does). Invariant: a fact rejects whatever the model says; an accept needs every changed file
read; nothing that went wrong with the model is a reject or a pass.
"""

from itertools import count
from typing import assert_never

from worker.domain.ports import Model, Reply
from worker.domain.value import replace
from worker.domain.verdict.opinion import Breakdown, Leaning, ModelOpinion
from worker.domain.verdict.rubric import Rubric
from worker.domain.verdict.verdict import AbstainReason, Coverage, EvidencePointer
from worker.dossier.diff.parser import diff_of
from worker.judge import texts
from worker.judge.budget_rulings import nearly_used_up, throttled
from worker.judge.checks.claims import claimed_ids
from worker.judge.checks.coverage import coverage_of, misses_unread
from worker.judge.checks.evidence import Places
from worker.judge.context import Bench, Docket, Seat, Sitting
from worker.judge.llm.client import Answered, Read, ReplyInvalid, Throttled, Unreachable, consult
from worker.judge.llm.fencing import shown_path
from worker.judge.llm.history import correction
from worker.judge.llm.prompt import Material, Question, ask_about
from worker.judge.llm.prompt_budget import Room
from worker.judge.llm.reply import Attempt, ReplyError, ReplyFault, read_reply
from worker.judge.llm.reply_limits import MANY_FILES
from worker.judge.llm.reply_schema import Asked
from worker.judge.rounds.calibration import first_scores, progress
from worker.judge.rounds.convergence import refusal_of
from worker.judge.rounds.previous_rounds import standing_of
from worker.judge.rulings import Hearing, Ruling, Signals, abstain, reject_on_facts, too_large
from worker.judge.trace import after_reading
from worker.judge.vetoes import question_of, vetoed


def ask(hearing: Hearing, docket: Docket, bench: Bench, seat: Seat, reason: str) -> Sitting:
    """Ask one model, and hold what follows; *reason* says why it is asked."""
    standing = standing_of(hearing, docket, bench.rubric.id)
    material = Material(hearing.dossier, hearing.diff, hearing.opinion, hearing.claims, hearing.ci, standing)
    question = ask_about(material, bench.rubric, bench.prompt, docket.eval_id, _room(bench, seat))
    if question is None:
        return _too_long(hearing, reason)
    return _consult(hearing, _focused(question, seat.focus), bench, seat.model, reason)


def _room(bench: Bench, seat: Seat) -> Room:
    room = bench.room_of(seat.model)
    return replace(room, question_bytes=room.question_bytes - len(seat.focus.encode()))


def _focused(question: Question, focus: str) -> Question:
    """The focus is told last, so that all before it is the same for every seat, and cached."""
    if not focus:
        return question
    *before, last = question.prompt.turns
    return replace(question, prompt=replace(question.prompt, turns=(*before, f"{last}\n\n{focus}")))


def _too_long(hearing: Hearing, reason: str) -> Sitting:
    coverage = coverage_of(hearing.dossier, hearing.diff, hidden=[file.path for file in hearing.diff.files])
    if hearing.opinion.facts:
        return Sitting(reject_on_facts(hearing), coverage, f"{reason}; the question does not fit any model")
    ruling = abstain(hearing, AbstainReason.TOO_LARGE, texts.too_long())
    return Sitting(ruling, coverage, f"{reason}; the question does not fit any model")


def _consult(hearing: Hearing, question: Question, bench: Bench, model: Model, reason: str) -> Sitting:
    consultation = consult(model, question.prompt, _reading(hearing, question, _asked(hearing, question, bench.rubric)))
    if isinstance(consultation, Throttled):
        return replace(throttled(hearing, consultation, reason), redactions=question.redactions)
    ruling = _with_model(hearing, consultation, question.coverage)
    _, first = first_scores(hearing.dossier, question.standing)
    moves = progress(ruling.scores, first)
    ruling = replace(ruling, signals={**ruling.signals, **nearly_used_up(consultation.spent.near), **moves})
    opinion = consultation.opinion if isinstance(consultation, Answered) else None
    return Sitting(
        ruling,
        question.coverage,
        reason,
        asked=True,
        answers=opinion.conditions if opinion else (),
        spent=consultation.spent,
        exchanges=consultation.exchanges,
        steps=after_reading(opinion, ruling),
        redactions=question.redactions,
    )


def _reading(hearing: Hearing, question: Question, asked: Asked) -> Read:
    """Read the replies; the first is asked for again where what it says could not stand, for all that is well-formed."""
    number = count()

    def read(reply: Reply) -> ModelOpinion | ReplyError:
        attempt = Attempt.LAST if next(number) else Attempt.FIRST
        opinion = read_reply(reply, asked, attempt)
        if attempt is Attempt.LAST or isinstance(opinion, ReplyError):
            return opinion
        if doubt := question_of(opinion, hearing, question.questions):
            return ReplyError(ReplyFault.EVIDENCE, (doubt,))
        ruling = _by_opinion(opinion, question.coverage)
        refusal = refusal_of(ruling, opinion.conditions, hearing, question.standing)
        if refusal is None:
            return opinion
        return ReplyError(ReplyFault.CONVERGENCE, (correction(refusal, question.standing),))

    return read


def _asked(hearing: Hearing, question: Question, rubric: Rubric) -> Asked:
    """What a reply is held against: the change as it was sent, so that no correction quotes what was kept back."""
    places, changed = Places(question.sent), diff_of(question.sent.diff).files
    opaque = (
        file.path
        for file in changed
        if file.is_binary or file.is_submodule or file.is_symlink or not (file.added or file.removed)
    )
    return Asked(
        criteria=hearing.criteria,
        rubric=rubric,
        places=places,
        claimed=claimed_ids(hearing.dossier.case, hearing.criteria),
        paths={shown_path(path): path for path in places.paths},
        bare=frozenset(opaque),
        conditions=question.conditions,
        is_wide=len({file.path for file in changed}) >= MANY_FILES,
    )


def _with_model(hearing: Hearing, consultation: Answered | ReplyInvalid | Unreachable, coverage: Coverage) -> Ruling:
    """What the model said, joined with what the heuristic tier knows."""
    if hearing.opinion.facts:
        return _joined_with_facts(hearing, consultation)
    match consultation:
        case Answered(opinion=opinion) if opinion.breakdown is Breakdown.INFRASTRUCTURE:
            return _run_again(hearing, opinion)
        case Answered(opinion=opinion):
            return vetoed(_by_opinion(opinion, coverage), opinion, hearing)
        case ReplyInvalid(errors=errors):
            return _not_usable(hearing, errors[-1], coverage)
        case Unreachable(reason=reason):
            return abstain(hearing, AbstainReason.JUDGE_UNAVAILABLE, texts.judge_unavailable(reason))
        case _:
            assert_never(consultation)


def _not_usable(hearing: Hearing, error: ReplyError, coverage: Coverage) -> Ruling:
    """No reply could be used. Where not everything could be read, that is what stands in the way of a better one."""
    if error.fault is ReplyFault.TOO_LONG:
        return abstain(hearing, AbstainReason.TOO_LARGE, texts.too_long())
    ruling = abstain(hearing, AbstainReason.REPLY_INVALID, texts.reply_invalid(error.problems[0]))
    ruling = ruling if coverage.is_complete else too_large(hearing, coverage)
    return replace(ruling, signals={"parse_failed": True})


def _joined_with_facts(hearing: Hearing, consultation: Answered | ReplyInvalid | Unreachable) -> Ruling:
    """Facts reject. A model that rejects for the same reason words it better and adds what it saw."""
    ruling = reject_on_facts(hearing)
    if not isinstance(consultation, Answered):
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


def _run_again(hearing: Hearing, opinion: ModelOpinion) -> Ruling:
    """What the evidence comes from is suspected: it is to be repeated, and nothing is scored."""
    ruling = abstain(hearing, AbstainReason.NEEDS_HUMAN, texts.run_again(opinion.concern, opinion.next_step))
    said = {"model_decision": opinion.decision.value, "breakdown": opinion.breakdown.value}
    return replace(ruling, confidence=opinion.confidence, evidence=opinion.evidence, signals=said)


def _by_opinion(opinion: ModelOpinion, coverage: Coverage) -> Ruling:
    match opinion.decision:
        case Leaning.ACCEPT if not coverage.is_complete:
            unread = texts.too_large([*coverage.unread, *coverage.partly])
            return _undecided(opinion, AbstainReason.TOO_LARGE, unread)
        case Leaning.ACCEPT:
            return _of_model(opinion, evidence=opinion.evidence or _first_of_each(opinion))
        case Leaning.REJECT if not coverage.is_complete and (
            not opinion.evidence or misses_unread(f"{opinion.concern}\n{opinion.next_step}", coverage)
        ):
            # what is missed may stand in what was not shown
            unread = texts.too_large([*coverage.unread, *coverage.partly])
            return _undecided(opinion, AbstainReason.TOO_LARGE, unread)
        case Leaning.REJECT:
            return _of_model(opinion, evidence=opinion.evidence)
        case Leaning.CANNOT_TELL:
            return _undecided(
                opinion, AbstainReason.NEEDS_HUMAN, (opinion.concern, texts.cannot_tell(opinion.next_step))
            )
        case _:
            assert_never(opinion.decision)


def _first_of_each(opinion: ModelOpinion) -> tuple[EvidencePointer, ...]:
    return tuple(dict.fromkeys(one.evidence[0] for one in opinion.criteria if one.evidence))


def _of_model(opinion: ModelOpinion, evidence: tuple[EvidencePointer, ...]) -> Ruling:
    return Ruling(
        concern=opinion.concern,
        next_step=opinion.next_step,
        score=opinion.score,
        confidence=opinion.confidence,
        category=opinion.category,
        evidence=evidence,
        criteria=opinion.criteria,
        scores=opinion.scores,
        signals=_direction(opinion),
    )


def _direction(opinion: ModelOpinion) -> Signals:
    """What a reject of a change over many files says to build on, and what to move."""
    if opinion.decision is not Leaning.REJECT:
        return {}
    said = {"what_works": opinion.what_works, "what_does_not": opinion.what_does_not}
    return {name: text for name, text in said.items() if text}


def _undecided(opinion: ModelOpinion, reason: AbstainReason, said: tuple[str, str]) -> Ruling:
    """The model's scores and places stay on record; they decide nothing."""
    concern, next_step = said
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
