"""An entry of the stream, as far as figures need it.

What can't be read is a Skip with its reason, never an error. Scores and confidences are whole ten-thousandths, money is
whole nanodollars.
"""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Annotated, Final, Literal, NamedTuple, cast

from msgspec import UNSET, Meta, MsgspecError, Struct
from msgspec.json import Decoder
from pydantic_core import from_json

from worker.domain.verdict.budget import to_nano
from worker.domain.verdict.events import EVENT_VERSION, EvalTrigger, EventKind
from worker.domain.verdict.outcomes import OutcomeKind, Strength
from worker.domain.verdict.verdict import SubjectKind
from worker.evaluation.stats.figures import to_milliseconds

SHARE_UNITS: Final = 10_000
"""A score of 1; events hold four digits."""

SCORE_STEP: Final = 10
"""Percentiles are of scores with three digits, cut and not rounded."""

STANDALONE_SUBJECTS: Final = frozenset({SubjectKind.SUBMISSION})

Version = Literal[1]
Word = Annotated[str, Meta(min_length=1, max_length=200)]
Number = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
Share = Annotated[float, Meta(ge=0, le=1)]
Money = Annotated[str, Meta(pattern=r"\A[0-9]{1,9}(\.[0-9]{1,30})?\Z")]


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


class StartedEntry(Struct, frozen=True):
    v: Version
    eval_id: Word
    subject_kind: SubjectKind


class EntrySignals(Struct, frozen=True):
    canary: object = None
    opinion_of: object = UNSET


class EndedEntry(Struct, frozen=True, kw_only=True):
    """The end of an evaluation. `judge_cost_usd` None: the price is not known."""

    v: Version
    eval_id: Word
    subject_kind: SubjectKind
    subject_id: Word
    repository_id: Number
    number: Number
    rubric_id: Word
    rubric_version: Word
    judge_cost_usd: Money | None
    throttled_reason: Word | None = None
    signals: EntrySignals

    @property
    def failure(self) -> str:
        """How it failed; empty: it did not."""
        return ""

    @property
    def rubric(self) -> str:
        return f"{self.rubric_id}@{self.rubric_version}"

    @property
    def cost_nano(self) -> int | None:
        return None if self.judge_cost_usd is None else _read_money(self.judge_cost_usd)

    @property
    def view(self) -> VerdictView:
        return VerdictView.CANARIES if self.signals.canary else VerdictView.VERDICTS


class FailedEntry(EndedEntry, frozen=True, kw_only=True):
    """A failure without an opinion, unless it has a `score`. Older ones and those of lost judges have no signals."""

    failure_mode: Word
    signals: EntrySignals = EntrySignals()
    score: object = UNSET

    @property
    def failure(self) -> str:
        return self.failure_mode


class VerdictEntry(EndedEntry, frozen=True, kw_only=True):
    """A verdict, or a failure that still has the opinion of code."""

    decision: Literal["accept", "reject", "abstain"]
    category: Word | None
    author_agent: Word | None
    judge_kind: Word
    score: Share
    confidence: Share
    round: Number
    facts: tuple[Word, ...]
    parent_eval_id: object
    trigger: object

    @property
    def is_rejudged(self) -> bool:
        """Whether a batch, a bench or feedback caused it, and no delivery."""
        return self.trigger != EvalTrigger.BUS

    @property
    def is_live(self) -> bool:
        """Whether it is a verdict on a head, and no re-evaluation; it was shown unless its view is another one."""
        return self.parent_eval_id is None and self.subject_kind in STANDALONE_SUBJECTS

    @property
    def view(self) -> VerdictView:
        """A re-evaluation by a batch or a bench is a verdict of its own rubric; a child of a live one is an opinion.

        A merge group's verdict is a child, too: of the one on its pull request, and no opinion on that.
        """
        if self.signals.canary:
            return VerdictView.CANARIES
        is_child = self.parent_eval_id is not None and self.subject_kind in STANDALONE_SUBJECTS
        if self.signals.opinion_of is not UNSET or (is_child and not self.is_rejudged):
            return VerdictView.OPINIONS
        return VerdictView.VERDICTS


class FailedVerdictEntry(VerdictEntry, frozen=True, kw_only=True):
    failure_mode: Word

    @property
    def failure(self) -> str:
        return self.failure_mode


class OutcomeEntry(Struct, frozen=True):
    """An outcome of a verdict, by people or the life of a pull request."""

    v: Version
    repository_id: Number
    number: Number
    outcome: OutcomeKind
    strength: Strength
    eval_id: Word | None
    head_sha: Word | None
    at: str

    def __post_init__(self) -> None:
        """Raises ValueError or TypeError for an impossible time, which makes the entry broken."""
        _ = self.recorded_ms

    @property
    def recorded_ms(self) -> int:
        """When it was received."""
        return to_milliseconds(datetime.fromisoformat(self.at))


class AnyEntry(Struct, frozen=True):
    v: Version


class TroubleEntry(NamedTuple):
    """Something that could not be read while judging."""

    kind: str


class SkippedEntry(NamedTuple):
    reason: SkipReason


ParsedEntry = StartedEntry | EndedEntry | OutcomeEntry | TroubleEntry | SkippedEntry
DECODERS: Final[Mapping[bytes, Decoder[StartedEntry | EndedEntry | OutcomeEntry | AnyEntry]]] = MappingProxyType(
    {
        kind.value.encode(): Decoder(entry)
        for kind, entry in (
            (EventKind.STARTED, StartedEntry),
            (EventKind.COMPLETED, VerdictEntry),
            (EventKind.FAILED, FailedEntry),
            (EventKind.OUTCOME, OutcomeEntry),
            (EventKind.CASE_PARSE_ERROR, AnyEntry),
            (EventKind.EVALUATOR_PARSE_ERROR, AnyEntry),
        )
    }
)
FAILED_VERDICT: Final = Decoder(FailedVerdictEntry)


def parse_entry(kind: bytes, raw: bytes) -> ParsedEntry:
    decoder = DECODERS.get(kind)
    if decoder is None:
        return SkippedEntry(SkipReason.UNREADABLE)
    try:
        entry = decoder.decode(raw)
        if isinstance(entry, FailedEntry) and entry.score is not UNSET:
            return FAILED_VERDICT.decode(raw)
    except (MsgspecError, ValueError, RecursionError):
        return SkippedEntry(_skip_reason(raw))
    return TroubleEntry(kind.decode()) if isinstance(entry, AnyEntry) else entry


def _skip_reason(raw: bytes) -> SkipReason:
    try:
        body: object = from_json(raw)
    except ValueError:
        return SkipReason.UNREADABLE
    is_ours = isinstance(body, dict) and cast("dict[str, object]", body).get("v") == EVENT_VERSION
    return SkipReason.BROKEN if is_ours else SkipReason.UNREADABLE


@lru_cache(maxsize=4096)
def _read_money(usd: str) -> int:
    return to_nano(Decimal(usd))
