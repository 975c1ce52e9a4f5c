"""The way of a change over the model: it is asked, and its opinion joined with what code knows.

Imported only when a model is asked: nothing here is needed to judge by code alone. Does not build the verdict's frame
(`worker.judge.court` does). Invariant: a fact rejects whatever the model says; an accept needs every changed file
read; nothing that went wrong with the model is a reject or a pass.
"""

from typing import assert_never

from worker.domain.opinion import Leaning, ModelOpinion
from worker.domain.rubric import Rubric
from worker.domain.value import replace
from worker.domain.verdict import AbstainReason, Coverage, EvidencePointer
from worker.judge import words
from worker.judge.bench import Bench, Docket, Sitting
from worker.judge.claims import claimed_ids
from worker.judge.coverage import coverage_of
from worker.judge.llm import Answered, Consultation, ReplyInvalid, Unreachable, consult
from worker.judge.prompt import Material, Question, ask_about
from worker.judge.reply import Asked, ReplyFault, read_reply
from worker.judge.rulings import Hearing, Ruling, abstain, reject_on_facts
from worker.judge.untrusted import shown_path
from worker.ports import Model


def ask(hearing: Hearing, docket: Docket, bench: Bench, model: Model, reason: str) -> Sitting:
    """Ask the model, and hold what follows; *reason* says why it is asked."""
    material = Material(hearing.dossier, hearing.diff, hearing.opinion, hearing.claims, hearing.ci)
    question = ask_about(material, bench.rubric, bench.prompt, docket.eval_id)
    if question is None:
        return _too_long(hearing, reason)
    return _consult(hearing, question, bench, model, reason)


def _too_long(hearing: Hearing, reason: str) -> Sitting:
    coverage = coverage_of(hearing.dossier, hearing.diff, hidden=[file.path for file in hearing.diff.files])
    if hearing.opinion.facts:
        return Sitting(reject_on_facts(hearing), coverage, f"{reason}; the question does not fit any model")
    ruling = abstain(hearing, AbstainReason.TOO_LARGE, words.too_long())
    return Sitting(ruling, coverage, f"{reason}; the question does not fit any model")


def _consult(hearing: Hearing, question: Question, bench: Bench, model: Model, reason: str) -> Sitting:
    asked = _asked(hearing, bench.rubric)
    consultation = consult(model, question.prompt, lambda reply: read_reply(reply, asked))
    ruling = _with_model(hearing, consultation, question.coverage)
    return Sitting(ruling, question.coverage, reason, asked=True, spent=consultation.spent)


def _asked(hearing: Hearing, rubric: Rubric) -> Asked:
    opaque = (
        file.path
        for file in hearing.diff.files
        if file.is_binary or file.is_submodule or file.is_symlink or not (file.added or file.removed)
    )
    return Asked(
        criteria=hearing.criteria,
        rubric=rubric,
        places=hearing.places,
        claimed=claimed_ids(hearing.dossier.case, hearing.criteria),
        paths={shown_path(path): path for path in hearing.places.paths},
        bare=frozenset(opaque),
    )


def _with_model(hearing: Hearing, consultation: Consultation, coverage: Coverage) -> Ruling:
    """What the model said, joined with what the heuristic tier knows."""
    if hearing.opinion.facts:
        return _joined_with_facts(hearing, consultation)
    match consultation:
        case Answered(opinion=opinion):
            return _by_opinion(opinion, coverage)
        case ReplyInvalid(errors=errors) if errors[-1].fault is ReplyFault.TOO_LONG:
            return abstain(hearing, AbstainReason.TOO_LARGE, words.too_long())
        case ReplyInvalid(errors=errors):
            ruling = abstain(hearing, AbstainReason.REPLY_INVALID, words.reply_invalid(errors[-1].problems[0]))
            return replace(ruling, signals={"parse_failed": True})
        case Unreachable(reason=reason):
            return abstain(hearing, AbstainReason.JUDGE_UNAVAILABLE, words.judge_unavailable(reason))
        case _:
            assert_never(consultation)


def _joined_with_facts(hearing: Hearing, consultation: Consultation) -> Ruling:
    """Facts reject. A model that rejects for the same reason words it better and adds what it saw."""
    ruling = reject_on_facts(hearing)
    if not isinstance(consultation, Answered):
        return ruling
    opinion = consultation.opinion
    agrees = opinion.decision is Leaning.REJECT and opinion.category is ruling.category
    return Ruling(
        concern=opinion.concern if agrees else words.overruled(ruling.concern, opinion),
        next_step=(opinion.next_step if agrees else None) or ruling.next_step,
        score=min(ruling.score, opinion.score),
        confidence=max(ruling.confidence, opinion.confidence) if agrees else ruling.confidence,
        category=ruling.category,
        evidence=tuple(dict.fromkeys((*ruling.evidence, *(opinion.evidence if agrees else ())))),
        criteria=opinion.criteria if agrees else ruling.criteria,
        scores=opinion.scores,
        signals={"model_decision": opinion.decision.value},
    )


def _by_opinion(opinion: ModelOpinion, coverage: Coverage) -> Ruling:
    match opinion.decision:
        case Leaning.ACCEPT if not coverage.is_complete:
            unread = words.too_large([*coverage.unread, *coverage.partly])
            return _undecided(opinion, AbstainReason.TOO_LARGE, unread)
        case Leaning.ACCEPT:
            return _of_model(opinion, evidence=opinion.evidence or _first_of_each(opinion))
        case Leaning.REJECT if not coverage.is_complete and not opinion.evidence:
            # what is missed may stand in what was not shown
            unread = words.too_large([*coverage.unread, *coverage.partly])
            return _undecided(opinion, AbstainReason.TOO_LARGE, unread)
        case Leaning.REJECT:
            return _of_model(opinion, evidence=opinion.evidence)
        case Leaning.CANNOT_TELL:
            return _undecided(
                opinion, AbstainReason.NEEDS_HUMAN, (opinion.concern, words.cannot_tell(opinion.next_step))
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
    )


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
