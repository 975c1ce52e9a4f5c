"""An entry of the stream, as far as figures need it.

Does not count. Invariant: what can't be read is a Skip with its reason and never an error: an older or newer version, a
broken body, a kind that nobody knows here. Scores and confidences are whole ten-thousandths, money is whole nanodollars.
"""

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, NamedTuple, assert_never, cast

from pydantic_core import from_json

from worker.domain.pattern import pattern
from worker.domain.verdict.budget import nano_of
from worker.domain.verdict.events import VERSION, EvalTrigger, EventKind
from worker.domain.verdict.outcomes import OutcomeKind, Strength
from worker.domain.verdict.verdict import SubjectKind
from worker.evaluation.stats.windows import ms

WHOLE: Final = 10_000
"""A score of 1; events hold four digits."""

CONFIDENCE_STEP: Final = 100
SCORE_STEP: Final = 10
"""Percentiles are of scores with three digits; what is confident enough is told by two. Both are cut, not rounded."""

MONEY: Final = pattern(r"[0-9]{1,9}(\.[0-9]{1,30})?")
LONGEST_WORD: Final = 200
KINDS: Final = {one.value.encode(): one for one in EventKind}
JUDGED_ALONE: Final = frozenset({SubjectKind.SUBMISSION})
DECISIONS: Final = frozenset({"accept", "reject", "abstain"})


class View(StrEnum):
    """Which of the verdicts on a subject. An opinion is a part of a verdict, a canary posts nothing."""

    VERDICTS = "verdicts"
    OPINIONS = "opinions"
    CANARIES = "canaries"


class SkipReason(StrEnum):
    """Why an entry is not counted. UNREADABLE: no event of this version; BROKEN: a field is missing or impossible."""

    UNREADABLE = "unreadable"
    BROKEN = "broken"
    DUPLICATE = "duplicate"


class Begun(NamedTuple):
    eval_id: str
    subject: str


class Opinion(NamedTuple):
    """What a verdict says, and a failure that still has the opinion of code.

    `is_live`: it has no parent; `is_anew`: a batch, a bench or feedback led to it, and no delivery.
    """

    decision: str
    category: str
    agent: str
    judge_kind: str
    score: int
    confidence: int
    round: int
    facts: tuple[str, ...]
    is_live: bool
    is_anew: bool


class Ended(NamedTuple):
    """A terminal event. `cost_nano` None: the price is not known. `opinion` None: there was no verdict at all."""

    eval_id: str
    subject: str
    subject_id: str
    repository_id: int
    number: int
    rubric: str
    cost_nano: int | None
    failure: str
    throttled: str
    view: View
    opinion: Opinion | None

    @property
    def pull(self) -> str:
        return f"{self.repository_id}/{self.number}"


class Reaction(NamedTuple):
    """What people, or the life of a pull request, said about a verdict; `said_ms`: when, by the clock of who heard it."""

    repository_id: int
    number: int
    outcome: str
    strength: str
    eval_id: str
    head_sha: str
    said_ms: int

    @property
    def pull(self) -> str:
        return f"{self.repository_id}/{self.number}"


class Trouble(NamedTuple):
    """Something that could not be read while judging."""

    kind: str


class Skip(NamedTuple):
    reason: SkipReason


Seen = Begun | Ended | Reaction | Trouble | Skip


def seen(kind: bytes, raw: bytes) -> Seen:
    """What an entry says."""
    try:
        body: object = from_json(raw, cache_strings="keys")
    except ValueError:
        return Skip(SkipReason.UNREADABLE)
    known = KINDS.get(kind)
    if known is None or not isinstance(body, dict) or cast("dict[str, Any]", body).get("v") != VERSION:
        return Skip(SkipReason.UNREADABLE)
    try:
        return _seen(known, cast("dict[str, Any]", body))
    except (KeyError, TypeError, ValueError, AttributeError):
        return Skip(SkipReason.BROKEN)


def _seen(kind: EventKind, body: dict[str, Any]) -> Seen:
    match kind:
        case EventKind.STARTED:
            return Begun(_word(body["eval_id"]), SubjectKind(body["subject_kind"]).value)
        case EventKind.COMPLETED | EventKind.FAILED:
            return _ended(body, kind)
        case EventKind.OUTCOME:
            return Reaction(
                _number(body["repository_id"]),
                _number(body["number"]),
                OutcomeKind(body["outcome"]).value,
                Strength(body["strength"]).value,
                _maybe(body["eval_id"]),
                _maybe(body["head_sha"]),
                ms(datetime.fromisoformat(body["at"])),
            )
        case EventKind.CASE_PARSE_ERROR | EventKind.EVALUATOR_PARSE_ERROR:
            return Trouble(kind.value)
        case _:
            assert_never(kind)


def _ended(body: dict[str, Any], kind: EventKind) -> Ended:
    has_opinion = kind is EventKind.COMPLETED or "score" in body
    return Ended(
        _word(body["eval_id"]),
        SubjectKind(body["subject_kind"]).value,
        _word(body["subject_id"]),
        _number(body["repository_id"]),
        _number(body["number"]),
        f"{_word(body['rubric_id'])}@{_word(body['rubric_version'])}",
        _nano(body["judge_cost_usd"]),
        _word(body["failure_mode"]) if kind is EventKind.FAILED else "",
        _maybe(body.get("throttled_reason")),
        _view(body) if has_opinion else _bare_view(body),
        _opinion(body) if has_opinion else None,
    )


def _opinion(body: dict[str, Any]) -> Opinion:
    decision, facts = body["decision"], body["facts"]
    if decision not in DECISIONS or not isinstance(facts, list):
        raise TypeError
    return Opinion(
        decision,
        _maybe(body["category"]),
        _maybe(body["author_agent"]),
        _word(body["judge_kind"]),
        _parts(body["score"]),
        _parts(body["confidence"]),
        _number(body["round"]),
        tuple([_word(one) for one in cast("list[object]", facts)]),
        body["parent_eval_id"] is None,
        body["trigger"] != EvalTrigger.BUS,
    )


def _view(body: dict[str, Any]) -> View:
    """A judging anew by a batch or a bench is a verdict of its own rubric; a child of a live one is an opinion.

    A merge group's verdict is a child, too: of the one on its pull request, and no opinion on that.
    """
    signals = body["signals"]
    if signals.get("canary"):
        return View.CANARIES
    is_child = body["parent_eval_id"] is not None and body["subject_kind"] in JUDGED_ALONE
    if "opinion_of" in signals or (is_child and body["trigger"] == EvalTrigger.BUS):
        return View.OPINIONS
    return View.VERDICTS


def _bare_view(body: dict[str, Any]) -> View:
    """Of a failure that has no opinion: older ones and those of lost judges have no signals."""
    return View.CANARIES if body.get("signals", {}).get("canary") else View.VERDICTS


def _word(value: object) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_WORD:
        raise TypeError
    return value


def _maybe(value: object) -> str:
    return "" if value is None else _word(value)


def _number(value: object) -> int:
    if type(value) is not int or value < 0:
        raise TypeError
    return value


def _parts(value: object) -> int:
    if type(value) not in {int, float} or not 0 <= cast("float", value) <= 1:
        raise TypeError
    return round(cast("float", value) * WHOLE)


@lru_cache(maxsize=4096)
def _nano(value: object) -> int | None:
    if value is None:
        return None
    if not isinstance(value, str) or not MONEY.fullmatch(value):
        raise TypeError
    return nano_of(Decimal(value))
