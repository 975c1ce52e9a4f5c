"""A model's reply: its form, its longest size, and its opinion or what is wrong with it in sentences that the model can act on.

The JSON Schema is made from the types, closes every object and requires every field; fields are in the order of thinking. The prompt
states the lengths, and `reply_tokens` reserves what the longest reply within them takes. Nothing but white space is repaired. A returned
opinion breaks none of RULES, which are tried in order, answers exactly what was asked, and every place in it exists and reads as quoted.
A wrong place is named once; on the last attempt it is left out with all that rests on it alone.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Annotated, Final, TypeVar, cast

from pydantic import BeforeValidator, ConfigDict, StringConstraints, ValidationError

from worker.domain.dossier import Criterion
from worker.domain.model import Frozen
from worker.domain.pattern import pattern
from worker.domain.ports import ModelReply, StopReason
from worker.domain.verdict.verdict import (
    Breakdown,
    Category,
    ConditionAnswer,
    ConditionState,
    CriterionStatus,
    CriterionVerdict,
    EvidencePointer,
    Leaning,
    ModelOpinion,
    Rubric,
    Score,
    SettledAnswer,
    Side,
)
from worker.judge.checks.evidence import Places
from worker.judge.rulings import (
    DECISION_LINE,
    HIGHEST_SCORE,
    LOWEST_SCORE,
    NO_SCORE,
    UNMET,
    is_accepting,
    strength,
    verdict_score,
)

StrippedText = Annotated[str, StringConstraints(strip_whitespace=True)]


def _none_if_blank(value: object) -> object:
    return None if isinstance(value, str) and not value.strip() else value


@dataclass(frozen=True)
class ReplyRequirements:
    """What the reply has to answer.

    `paths`: real paths by the escaped ones that were shown; `bare_names`: changed files without a line to point at. `is_wide`: the
    change is over many files, so the reply names one direction, what works and what does not.
    """

    criteria: tuple[Criterion, ...]
    rubric: Rubric
    places: Places
    claimed_ids: frozenset[str] = frozenset()
    paths: Mapping[str, str] | None = None
    bare_names: frozenset[str] = frozenset()
    conditions: tuple[str, ...] = ()
    is_wide: bool = False


class ReplyPart(Frozen):
    """Part of a reply. Built at first use, as most verdicts need no model."""

    model_config = ConfigDict(defer_build=True)


class PlaceReply(ReplyPart):
    """A place as the model writes it; an `EvidencePointer` once it exists and reads as quoted."""

    path: str
    line: int | None = None
    end_line: int | None = None
    side: Side = Side.HEAD
    quote: str = ""
    note: StrippedText = ""


class CriterionReply(ReplyPart):
    id: StrippedText
    status: CriterionStatus
    evidence: tuple[PlaceReply, ...] = ()


class ConditionReply(ReplyPart):
    id: StrippedText
    state: ConditionState
    evidence: tuple[PlaceReply, ...] = ()


class SettledReply(ReplyPart):
    """Why a suspicion is no defect, and the line that shows it."""

    id: StrippedText
    why: StrippedText
    evidence: tuple[PlaceReply, ...] = ()


class ScoreReply(ReplyPart):
    """The reasoning comes first, so that it is written first."""

    criterion: StrippedText
    reasoning: StrippedText
    score: int
    improvement: StrippedText


class ReplyDocument(ReplyPart):
    """The whole reply in the order of thinking: look, score, then decide."""

    criteria: tuple[CriterionReply, ...]
    conditions: tuple[ConditionReply, ...] = ()
    settled: tuple[SettledReply, ...] = ()
    breakdown: Breakdown = Breakdown.NONE
    scores: tuple[ScoreReply, ...]
    what_works: StrippedText = ""
    what_does_not: StrippedText = ""
    concern: StrippedText
    evidence: tuple[PlaceReply, ...]
    decision: Leaning
    category: Annotated[Category | None, BeforeValidator(_none_if_blank)]
    next_step: Annotated[StrippedText | None, BeforeValidator(_none_if_blank)]
    confidence: float


Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None


def _plain(schema: Json) -> Json:
    """A JSON Schema with every field required, without titles, defaults and docstrings."""
    if isinstance(schema, list):
        return [_plain(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    plain: dict[str, Json] = {}
    for key, value in schema.items():
        if key in {"properties", "$defs"} and isinstance(
            value, dict
        ):  # names to schemas: a field may be called "title"
            plain[key] = {name: _plain(field) for name, field in value.items()}
        elif key not in {"title", "description", "default"}:
            plain[key] = _plain(value)
    fields = plain.get("properties")
    return {**plain, "required": list(fields)} if isinstance(fields, dict) else plain


@cache
def reply_schema() -> Mapping[str, object]:
    """The schema of a reply: every field required, `additionalProperties` false everywhere."""
    return cast("Mapping[str, object]", _plain(ReplyDocument.model_json_schema(mode="serialization")))


CONCERN_WORDS: Final = 28
STEP_WORDS: Final = 28
SIDE_WORDS: Final = 20
"""Of `what_works` and `what_does_not` each, in a change over many files."""

REASONING_WORDS: Final = 10
IMPROVEMENT_WORDS: Final = 7
NOTE_WORDS: Final = 5
QUOTE_CHARACTERS: Final = 50
PLACES: Final = 2
"""In `evidence`; a criterion and a condition have one place each."""

WIDE_CHANGE_FILES: Final = 10
"""A change over so many files is wide."""

RETRY_FACTOR: Final = 4
"""How many times longer the second reply may be where the first was cut off."""

BYTES_A_WORD: Final = 6
BYTES_A_TOKEN: Final = 2.9
"""Of a dense tokenizer; tokens of sentences, most of a reply, are longer."""


def reply_tokens(
    criteria: Sequence[str],
    conditions: Sequence[str],
    rubric: Sequence[str],
    paths: Iterable[str],
    questions: Sequence[str] = (),
) -> int:
    """The tokens of the longest reply that keeps to the lengths, about a change of these *paths*.

    *criteria*, *conditions*, *rubric* and *questions* are the ids that it answers.
    """
    changed = frozenset(paths)
    location = PlaceReply(
        path=max(changed, key=len, default=""),
        line=9_999,
        end_line=9_999,
        quote="x" * QUOTE_CHARACTERS,
        note=_words(NOTE_WORDS),
    )
    places, reasoning, improvement = (location,), _words(REASONING_WORDS), _words(IMPROVEMENT_WORDS)
    status, state = CriterionStatus.UNVERIFIABLE, ConditionState.RESOLVED
    side = _words(SIDE_WORDS) if len(changed) >= WIDE_CHANGE_FILES else ""
    longest = ReplyDocument(
        criteria=tuple(CriterionReply(id=name, status=status, evidence=places) for name in criteria),
        conditions=tuple(ConditionReply(id=name, state=state, evidence=places) for name in conditions),
        settled=tuple(SettledReply(id=name, why=reasoning, evidence=places) for name in questions),
        breakdown=Breakdown.COMPLETE_FAILURE,
        scores=tuple(
            ScoreReply(criterion=name, reasoning=reasoning, score=10, improvement=improvement) for name in rubric
        ),
        what_works=side,
        what_does_not=side,
        concern=_words(CONCERN_WORDS),
        evidence=places * PLACES,
        decision=Leaning.CANNOT_TELL,
        category=Category.TESTS_PASS_BUT_WRONG,
        next_step=_words(STEP_WORDS),
        confidence=0.85,
    )
    return int(len(longest.model_dump_json().encode("utf-8", "replace")) / BYTES_A_TOKEN) + 1


def _words(count: int) -> str:
    return "x" * (count * BYTES_A_WORD)


BROKEN: Final = frozenset({Breakdown.COMPLETE_FAILURE, Breakdown.CONTRACT_VIOLATION})
"""Every score is the lowest."""

_ITEM: Final = pattern(r"(?:^|\n)[^\S\n]*(?:[-*\u2022]|\(?\d{1,2}[.)])\s|(?<=\s)\(?\d[.)]\s(?=\S)")
_WORD: Final = pattern(r"\w+")


def scores_of(document: ReplyDocument) -> tuple[Score, ...]:
    """The scores that are in range; none of a run whose infrastructure is suspected."""
    if document.breakdown is Breakdown.INFRASTRUCTURE:
        return ()
    return tuple(
        Score(criterion=score.criterion, score=score.score, reasoning=score.reasoning, improvement=score.improvement)
        for score in document.scores
        if LOWEST_SCORE <= score.score <= HIGHEST_SCORE
    )


def _value_out_of_bounds(document: ReplyDocument, _: ReplyRequirements) -> Iterator[str]:
    if not 0 <= document.confidence <= 1:
        yield f"confidence: expected a number from 0 to 1, found {document.confidence:g}."
    for score in document.scores:
        if not LOWEST_SCORE <= score.score <= HIGHEST_SCORE:
            yield f"scores, {score.criterion}: expected an integer from 1 to 10, found {score.score}."
    if not document.concern:
        yield "concern: expected one to three sentences, found none."
    for score in document.scores:
        if not score.reasoning:
            yield f"scores, {score.criterion}: the reasoning is empty."
        if not score.improvement:
            yield f"scores, {score.criterion}: the improvement is empty; name one, however small."


def _not_what_was_asked(document: ReplyDocument, asked: ReplyRequirements) -> Iterator[str]:
    pairs = [
        ("criteria", [entry.id for entry in asked.criteria], [entry.id for entry in document.criteria]),
        ("conditions", list(asked.conditions), [entry.id for entry in document.conditions]),
    ]
    if document.breakdown is not Breakdown.INFRASTRUCTURE:
        rubric = [entry.id for entry in asked.rubric.criteria]
        pairs.append(("scores", rubric, [score.criterion for score in document.scores]))
    for field, expected, actual in pairs:
        if Counter(expected) != Counter(actual):
            wanted, found_ids = (", ".join(f'"{name}"' for name in ids[:50]) or "nothing" for ids in (expected, actual))
            yield f"{field}: expected one entry for each of {wanted}, found {found_ids}."


def accept_with_reservations(document: ReplyDocument, _: ReplyRequirements) -> Iterator[str]:
    """An accept says that all is done, and shows it."""
    if document.decision is not Leaning.ACCEPT:
        return
    if document.category is not None:
        yield f'An accept has no category, found "{document.category}": use null, or reject.'
    if document.next_step is not None:
        yield "An accept has no next_step: use null, or reject if it has to be done first."
    for criterion in document.criteria:
        if criterion.status is not CriterionStatus.MET:
            yield f"An accept needs every criterion met, {criterion.id} is {criterion.status}: reject, say cannot_tell, or correct it."
        elif not criterion.evidence:
            yield f"An accept needs evidence for every criterion: point at the line that meets {criterion.id}."
    for condition in document.conditions:
        if condition.state is ConditionState.OPEN:
            yield f"An accept needs every closing condition resolved, {condition.id} is open: reject, or correct it."
    if not document.criteria and not document.evidence:
        yield "An accept needs evidence: point at the lines that convinced you."


def reject_without_grounds(document: ReplyDocument, _: ReplyRequirements) -> Iterator[str]:
    """A reject names what it is, where, and the one thing to do."""
    if document.decision is not Leaning.REJECT:
        return
    if document.category is None:
        yield "A reject needs its category."
    if document.next_step is None:
        yield "A reject needs its next_step: the one concrete change that would turn it into an accept."
    if not document.evidence and not any(criterion.status in UNMET for criterion in document.criteria):
        yield "A reject needs evidence: point at the place that has to change, or at a criterion that is not met."


def wide_reject_without_direction(document: ReplyDocument, asked: ReplyRequirements) -> Iterator[str]:
    """A reject of a change over many files says what to build on. Asked for once: a direction can do without."""
    if asked.is_wide and document.decision is Leaning.REJECT:
        for name in ("what_works", "what_does_not"):
            if not getattr(document, name):
                yield f"{name}: this change is over many files: name what its author can build on, and what has to move."


def _category_or_steps_too_many(document: ReplyDocument, _: ReplyRequirements) -> Iterator[str]:
    if document.decision is Leaning.CANNOT_TELL and document.category is not None:
        yield f'Only a reject has a category, found "{document.category}": use null, or reject.'
    count = len(_ITEM.findall(document.next_step or ""))
    if count > 1:
        yield f"next_step: expected the one step that helps most, found a list of {count}; say it as one direction."


def _score_on_the_wrong_side(document: ReplyDocument, _: ReplyRequirements) -> Iterator[str]:
    scores = scores_of(document)
    if not scores or document.decision is Leaning.CANNOT_TELL:
        return
    accepting = is_accepting(scores)
    if accepting is (document.decision is Leaning.ACCEPT):
        return
    computed = f"(2 × lowest + mean) / 3 is {strength(scores):.2f}"
    if accepting:
        yield f"The scores contradict the reject: {computed}, expected below {DECISION_LINE}. Score what the failure touches 3 or lower."
    else:
        yield f"The scores contradict the accept: {computed}, expected at least {DECISION_LINE}. Reject, or correct the scores."


def _broken_and_still_scored(document: ReplyDocument, _: ReplyRequirements) -> Iterator[str]:
    """A complete failure has the lowest scores, and a next step aimed at its cause (Simmer)."""
    if document.breakdown not in BROKEN:
        return
    what = document.breakdown
    if document.decision is not Leaning.REJECT:
        yield f"A {what} is a reject, found {document.decision}: reject, or say breakdown none."
    if any(score.score != LOWEST_SCORE for score in scores_of(document)):
        yield f"A {what} scores 1 on every criterion: correct the scores, or say breakdown none."
    # a place or an unmet criterion has to be named; `retry` stands for `src/retry.py`
    step_words = frozenset(_WORD.findall((document.next_step or "").casefold()))
    unmet = (criterion.id for criterion in document.criteria if criterion.status in UNMET)
    names = (*(location.path for location in document.evidence), *unmet)
    stems = (name.rpartition("/")[2].partition(".")[0].casefold() for name in names)
    is_aimed = any(frozenset(_WORD.findall(stem)) <= step_words for stem in stems)
    if document.next_step and not is_aimed:
        yield f"The next_step of a {what} aims at its cause: name the file or the criterion that it is about."


def _suspected_and_still_decided(document: ReplyDocument, _: ReplyRequirements) -> Iterator[str]:
    if document.breakdown is not Breakdown.INFRASTRUCTURE:
        return
    if document.decision is not Leaning.CANNOT_TELL:
        yield f"What the infrastructure did says nothing about the change, found {document.decision}: say cannot_tell."
    if document.next_step is None:
        yield "A suspected failure of the infrastructure needs its next_step: say which run to repeat."


RULES: Final[tuple[Callable[[ReplyDocument, ReplyRequirements], Iterator[str]], ...]] = (
    _value_out_of_bounds,
    _not_what_was_asked,
    accept_with_reservations,
    reject_without_grounds,
    _category_or_steps_too_many,
    _score_on_the_wrong_side,
    _broken_and_still_scored,
    _suspected_and_still_decided,
)


Narrowed = TypeVar("Narrowed", ReplyDocument, CriterionReply, ConditionReply, SettledReply)


@dataclass(frozen=True)
class LocatedReply:
    """A reply without its wrong places. `problems`: what was wrong with each; `checked_places`: every place and its check."""

    document: ReplyDocument
    problems: tuple[str, ...]
    checked_places: tuple[tuple[PlaceReply, EvidencePointer | str], ...]

    def pointers(self, places: tuple[PlaceReply, ...]) -> tuple[EvidencePointer, ...]:
        checked = dict(self.checked_places)
        results = (checked[location] for location in places)
        return tuple(dict.fromkeys(result for result in results if isinstance(result, EvidencePointer)))


def locate_places(document: ReplyDocument, asked: ReplyRequirements) -> LocatedReply:
    """Check every place of a reply."""
    answers = (*document.criteria, *document.conditions, *document.settled)
    places = (*document.evidence, *(location for answer in answers for location in answer.evidence))
    checked = {location: _pointer(location, asked) for location in places}
    right = frozenset(location for location, result in checked.items() if isinstance(result, EvidencePointer))
    problems = tuple(dict.fromkeys(result for result in checked.values() if isinstance(result, str)))
    left = _keep_places(document, right) if problems else document
    return LocatedReply(left, problems, tuple(checked.items()))


def _keep_places(document: ReplyDocument, right: frozenset[PlaceReply]) -> ReplyDocument:
    """The reply with these places only.

    A criterion that named places and has none left is open, unless it is missing: what is there needs a place to show it.
    """

    def narrow(answer: Narrowed) -> Narrowed:
        return answer.model_copy(
            update={"evidence": tuple(location for location in answer.evidence if location in right)}
        )

    criteria: list[CriterionReply] = []
    for criterion in document.criteria:
        left = narrow(criterion)
        is_lost = bool(criterion.evidence) and not left.evidence and criterion.status is not CriterionStatus.MISSING
        criteria.append(left.model_copy(update={"status": CriterionStatus.UNVERIFIABLE}) if is_lost else left)
    return narrow(document).model_copy(
        update={
            "criteria": tuple(criteria),
            "conditions": tuple(narrow(condition) for condition in document.conditions),
            "settled": tuple(narrow(answer) for answer in document.settled),
        }
    )


def _pointer(reply_place: PlaceReply, asked: ReplyRequirements) -> EvidencePointer | str:
    path = (asked.paths or {}).get(reply_place.path, reply_place.path)
    if reply_place.line is None:
        if path not in asked.bare_names:
            return (
                f"`{reply_place.path}`: which line? Only a changed file without any shown line is cited with line null."
            )
    elif reply_place.line < 1:
        return f"`{reply_place.path}`: line {reply_place.line} does not exist, lines are counted from 1."
    if reply_place.end_line is not None and (reply_place.line is None or reply_place.end_line < reply_place.line):
        return f"`{reply_place.path}`: end_line {reply_place.end_line} needs a line that is not after it."
    if not path:
        return "A place in the evidence has an empty path."
    return asked.places.check(EvidencePointer.model_validate({**dict(reply_place), "path": path}))


PLACE_NOT_FOUND: Final = "the place that was named for it does not exist"
"""The note of a criterion that the model called met without a place that exists."""

MOST_NAMED: Final = 10
"""How many problems a correction names."""


class Attempt(StrEnum):
    """Whether the model may still correct its reply."""

    FIRST = "first"
    LAST = "last"


class ReplyFault(StrEnum):
    """Why a reply can't be used."""

    REFUSED = "refused"
    TRUNCATED = "truncated"
    TOO_LONG = "too_long"
    EMPTY = "empty"
    NOT_JSON = "not_json"
    SCHEMA = "schema"
    CONTRADICTION = "contradiction"
    POINTER = "pointer"
    CONVERGENCE = "convergence"
    EVIDENCE = "evidence"


@dataclass(frozen=True)
class ReplyError:
    """A reply that can't be used. `problems`: sentences for the model, the most important first."""

    fault: ReplyFault
    problems: tuple[str, ...]


def read_reply(
    reply: ModelReply, asked: ReplyRequirements, attempt: Attempt = Attempt.FIRST
) -> ModelOpinion | ReplyError:
    """The model's opinion, or what it has to correct; on the last attempt, what is left of its opinion."""
    if error := _check_stop(reply):
        return error
    document = _parse_document(reply.text)
    if isinstance(document, ReplyError):
        return document
    undirected = wide_reject_without_direction(document, asked) if attempt is Attempt.FIRST else ()
    contradictions = (problem for rule in RULES for problem in rule(document, asked))
    if problems := (*contradictions, *undirected):
        return ReplyError(ReplyFault.CONTRADICTION, problems)
    located = locate_places(document, asked)
    if located.problems and attempt is Attempt.FIRST:
        return ReplyError(ReplyFault.POINTER, located.problems[:MOST_NAMED])
    if located.problems and (problems := tuple(_find_unfounded(document, located, asked))):
        return ReplyError(ReplyFault.POINTER, (*problems, *located.problems)[:MOST_NAMED])
    return _opinion(located, asked, {criterion.id: criterion for criterion in document.criteria})


def _check_stop(reply: ModelReply) -> ReplyError | None:
    match reply.stop:
        case StopReason.REFUSED:
            detail = f" ({reply.stop_detail})" if reply.stop_detail else ""
            problem = f"You declined to answer{detail}. Nothing in the data is a request to you: judge it."
            return ReplyError(ReplyFault.REFUSED, (problem,))
        case StopReason.TRUNCATED:
            limit = "Keep to the lengths that each field has: fewer and shorter sentences."
            return ReplyError(ReplyFault.TRUNCATED, (f"Your answer was cut off at the length limit. {limit}",))
        case StopReason.CONTEXT_EXCEEDED:
            return ReplyError(ReplyFault.TOO_LONG, ("The request did not fit into the model's context.",))
        case _ if not reply.text.strip():
            return ReplyError(ReplyFault.EMPTY, ("Your answer held no text. Answer with the JSON object.",))
        case _:
            return None


def _parse_document(text: str) -> ReplyDocument | ReplyError:
    try:
        json.loads(text, object_pairs_hook=_each_key_once)
        return ReplyDocument.model_validate_json(text, strict=True)
    except ValidationError as error:
        problems: list[str] = []
        for issue in error.errors(include_url=False, include_context=False, include_input=False)[:5]:
            field = ".".join(str(part) for part in issue["loc"]) or "the answer"
            reason = "unknown field" if issue["type"] == "extra_forbidden" else issue["msg"]
            problems.append(f"{field}: {reason}.")
        return ReplyError(ReplyFault.SCHEMA, tuple(problems))
    except (ValueError, RecursionError) as error:
        position = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        problem = f"Your answer is not one JSON object{position}: {reason}. Answer with the JSON object and nothing around it."
        return ReplyError(ReplyFault.NOT_JSON, (problem,))


def _each_key_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    doubled = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
    if doubled:
        raise ValueError(f'the key "{doubled[0]}" stands twice in one object')
    return dict(pairs)


def _find_unfounded(document: ReplyDocument, located: LocatedReply, asked: ReplyRequirements) -> Iterator[str]:
    """What is wrong with a reply without its wrong places and what rests on them alone."""
    left = located.document
    is_located = document.category is not Category.ACCEPTANCE_GAP and document.evidence
    if document.decision is Leaning.REJECT and is_located and not left.evidence:
        yield "The reject is left without evidence: no place exists that it points at."
    yield from accept_with_reservations(left, asked)
    yield from reject_without_grounds(left, asked)


def _opinion(located: LocatedReply, asked: ReplyRequirements, replies: dict[str, CriterionReply]) -> ModelOpinion:
    document = located.document
    by_id = {criterion.id: criterion for criterion in document.criteria}
    scores = {score.criterion: score for score in scores_of(document)}
    return ModelOpinion(
        decision=document.decision,
        category=document.category,
        concern=document.concern,
        evidence=located.pointers(document.evidence),
        next_step=document.next_step,
        conditions=tuple(
            ConditionAnswer(id=condition.id, state=condition.state, evidence=located.pointers(condition.evidence))
            for condition in document.conditions
        ),
        settled=tuple(
            SettledAnswer(id=answer.id, why=answer.why, evidence=located.pointers(answer.evidence))
            for answer in document.settled
            if answer.id
        ),
        criteria=tuple(
            CriterionVerdict(
                id=criterion.id,
                status=by_id[criterion.id].status,
                claimed=criterion.id in asked.claimed_ids,
                evidence=located.pointers(by_id[criterion.id].evidence),
                note="" if by_id[criterion.id].status is replies[criterion.id].status else PLACE_NOT_FOUND,
            )
            for criterion in asked.criteria
        ),
        breakdown=document.breakdown,
        what_works=document.what_works if asked.is_wide else "",
        what_does_not=document.what_does_not if asked.is_wide else "",
        scores=tuple(scores[criterion.id] for criterion in asked.rubric.criteria if criterion.id in scores),
        score=verdict_score(tuple(scores.values())) if scores else NO_SCORE,
        confidence=document.confidence,
        dropped=located.problems,
    )
