"""The form of a reply: its fields, the JSON Schema that asks for them, and how long it may be.

The schema is made from the types, closes every object and requires every field; fields are in the order of thinking. The prompt
states the lengths, and `reply_tokens` reserves what the longest reply within them takes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Final, cast

from pydantic import BeforeValidator, ConfigDict, StringConstraints

from worker.domain.dossier import Criterion
from worker.domain.model import Frozen
from worker.domain.verdict.verdict import Breakdown, Category, ConditionState, CriterionStatus, Leaning, Rubric, Side
from worker.judge.checks.evidence import Places

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
        if key in _NAMES and isinstance(value, dict):  # names to schemas: a field may be called "title"
            plain[key] = {name: _plain(field) for name, field in value.items()}
        elif key not in _ANNOTATIONS:
            plain[key] = _plain(value)
    fields = plain.get("properties")
    return {**plain, "required": list(fields)} if isinstance(fields, dict) else plain


_NAMES: Final = frozenset({"properties", "$defs"})
_ANNOTATIONS: Final = frozenset({"title", "description", "default"})


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

_LINE: Final = 9_999


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
        line=_LINE,
        end_line=_LINE,
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
