"""An entry of the stream, as far as figures need it.

What can't be read is a Skip with its reason, never an error. Scores and confidences are whole ten-thousandths, money is
whole nanodollars.
"""

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, NamedTuple, assert_never, cast

from pydantic_core import from_json

from worker.domain.pattern import pattern
from worker.domain.verdict.budget import to_nano
from worker.domain.verdict.events import EVENT_VERSION, EvalTrigger, EventKind
from worker.domain.verdict.outcomes import OutcomeKind, Strength
from worker.domain.verdict.verdict import SubjectKind
from worker.evaluation.stats.windows import to_milliseconds

SHARE_UNITS: Final = 10_000
"""A score of 1; events hold four digits."""

CONFIDENCE_STEP: Final = 100
SCORE_STEP: Final = 10
"""Percentiles are of scores with three digits; the confidence limit applies to two. Both are cut, not rounded."""

MONEY_PATTERN: Final = pattern(r"[0-9]{1,9}(\.[0-9]{1,30})?")
LONGEST_WORD: Final = 200
EVENT_KINDS: Final = {kind.value.encode(): kind for kind in EventKind}
STANDALONE_SUBJECTS: Final = frozenset({SubjectKind.SUBMISSION})
DECISION_NAMES: Final = frozenset({"accept", "reject", "abstain"})


class VerdictView(StrEnum):
    """Which of the verdicts on a subject. An opinion is a part of a verdict, a shadow evaluation posts nothing."""

    VERDICTS = "verdicts"
    OPINIONS = "opinions"
    CANARIES = "canaries"


class SkipReason(StrEnum):
    """Why an entry is not counted. UNREADABLE: no event of this version; BROKEN: a field is missing or impossible."""

    UNREADABLE = "unreadable"
    BROKEN = "broken"
    DUPLICATE = "duplicate"


class StartedEntry(NamedTuple):
    eval_id: str
    subject: str


class EntryOpinion(NamedTuple):
    """A verdict, or a failure that still has the opinion of code.

    `is_live`: it has no parent; `is_rejudged`: its trigger is a batch, a bench or feedback, and no delivery.
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
    is_rejudged: bool


class EndedEntry(NamedTuple):
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
    view: VerdictView
    opinion: EntryOpinion | None

    @property
    def pull(self) -> str:
        return f"{self.repository_id}/{self.number}"


class OutcomeEntry(NamedTuple):
    """An outcome of a verdict, by people or the life of a pull request; `heard_ms`: when it was received."""

    repository_id: int
    number: int
    outcome: str
    strength: str
    eval_id: str
    head_sha: str
    heard_ms: int

    @property
    def pull(self) -> str:
        return f"{self.repository_id}/{self.number}"


class TroubleEntry(NamedTuple):
    """Something that could not be read while judging."""

    kind: str


class SkippedEntry(NamedTuple):
    reason: SkipReason


ParsedEntry = StartedEntry | EndedEntry | OutcomeEntry | TroubleEntry | SkippedEntry


def parse_entry(kind: bytes, raw: bytes) -> ParsedEntry:
    """Parse an entry."""
    try:
        body: object = from_json(raw, cache_strings="keys")
    except ValueError:
        return SkippedEntry(SkipReason.UNREADABLE)
    event_kind = EVENT_KINDS.get(kind)
    if event_kind is None or not isinstance(body, dict) or cast("dict[str, Any]", body).get("v") != EVENT_VERSION:
        return SkippedEntry(SkipReason.UNREADABLE)
    try:
        return _parse_entry(event_kind, cast("dict[str, Any]", body))
    except (KeyError, TypeError, ValueError, AttributeError):
        return SkippedEntry(SkipReason.BROKEN)


def _parse_entry(kind: EventKind, body: dict[str, Any]) -> ParsedEntry:
    match kind:
        case EventKind.STARTED:
            return StartedEntry(_read_word(body["eval_id"]), SubjectKind(body["subject_kind"]).value)
        case EventKind.COMPLETED | EventKind.FAILED:
            return _parse_ended(body, kind)
        case EventKind.OUTCOME:
            return OutcomeEntry(
                _read_number(body["repository_id"]),
                _read_number(body["number"]),
                OutcomeKind(body["outcome"]).value,
                Strength(body["strength"]).value,
                _read_optional(body["eval_id"]),
                _read_optional(body["head_sha"]),
                to_milliseconds(datetime.fromisoformat(body["at"])),
            )
        case EventKind.CASE_PARSE_ERROR | EventKind.EVALUATOR_PARSE_ERROR:
            return TroubleEntry(kind.value)
        case _:
            assert_never(kind)


def _parse_ended(body: dict[str, Any], kind: EventKind) -> EndedEntry:
    has_opinion = kind is EventKind.COMPLETED or "score" in body
    return EndedEntry(
        _read_word(body["eval_id"]),
        SubjectKind(body["subject_kind"]).value,
        _read_word(body["subject_id"]),
        _read_number(body["repository_id"]),
        _read_number(body["number"]),
        f"{_read_word(body['rubric_id'])}@{_read_word(body['rubric_version'])}",
        _read_money(body["judge_cost_usd"]),
        _read_word(body["failure_mode"]) if kind is EventKind.FAILED else "",
        _read_optional(body.get("throttled_reason")),
        _verdict_view(body) if has_opinion else _view_without_opinion(body),
        _parse_opinion(body) if has_opinion else None,
    )


def _parse_opinion(body: dict[str, Any]) -> EntryOpinion:
    decision, facts = body["decision"], body["facts"]
    if decision not in DECISION_NAMES or not isinstance(facts, list):
        raise TypeError
    return EntryOpinion(
        decision,
        _read_optional(body["category"]),
        _read_optional(body["author_agent"]),
        _read_word(body["judge_kind"]),
        _read_share(body["score"]),
        _read_share(body["confidence"]),
        _read_number(body["round"]),
        tuple([_read_word(fact) for fact in cast("list[object]", facts)]),
        body["parent_eval_id"] is None,
        body["trigger"] != EvalTrigger.BUS,
    )


def _verdict_view(body: dict[str, Any]) -> VerdictView:
    """A re-evaluation by a batch or a bench is a verdict of its own rubric; a child of a live one is an opinion.

    A merge group's verdict is a child, too: of the one on its pull request, and no opinion on that.
    """
    signals = body["signals"]
    if signals.get("canary"):
        return VerdictView.CANARIES
    is_child = body["parent_eval_id"] is not None and body["subject_kind"] in STANDALONE_SUBJECTS
    if "opinion_of" in signals or (is_child and body["trigger"] == EvalTrigger.BUS):
        return VerdictView.OPINIONS
    return VerdictView.VERDICTS


def _view_without_opinion(body: dict[str, Any]) -> VerdictView:
    """The view of a failure without an opinion: older ones and those of lost judges have no signals."""
    return VerdictView.CANARIES if body.get("signals", {}).get("canary") else VerdictView.VERDICTS


def _read_word(value: object) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_WORD:
        raise TypeError
    return value


def _read_optional(value: object) -> str:
    return "" if value is None else _read_word(value)


def _read_number(value: object) -> int:
    if type(value) is not int or value < 0:
        raise TypeError
    return value


def _read_share(value: object) -> int:
    if type(value) not in {int, float} or not 0 <= cast("float", value) <= 1:
        raise TypeError
    return round(cast("float", value) * SHARE_UNITS)


@lru_cache(maxsize=4096)
def _read_money(value: object) -> int | None:
    if value is None:
        return None
    if not isinstance(value, str) or not MONEY_PATTERN.fullmatch(value):
        raise TypeError
    return to_nano(Decimal(value))
