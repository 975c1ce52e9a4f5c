"""Verdicts on record: which of them are not superseded, and which were re-evaluated, read off the installations' streams.

Of a subject the verdict with the greatest eval id stands; a re-evaluation, which has a law's mark, answers its parent and
never stands. Malformed entries are counted and left out.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Annotated, Final, NamedTuple, Protocol, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from worker.domain.judge_request import PullRef
from worker.domain.model import EvalId, InstallationId, RepositoryId
from worker.domain.pattern import pattern
from worker.domain.ports import Archive, DossierLookup, EventStreams, Ledger
from worker.domain.time_range import Window
from worker.domain.verdict.audit import DIGEST_SIGNAL
from worker.domain.verdict.events import (
    EvalTrigger,
    Event,
    EventError,
    EventKind,
    FailureMode,
    Outcome,
    StreamEntry,
    read_event,
)
from worker.domain.verdict.verdict import AbstainReason, SubjectKind, VersionedRubric

UNREADABLE_ERRORS: Final = (EventError, KeyError, ValueError, ArithmeticError, RecursionError)
"""What reading a foreign or malformed entry raises."""

UNJUDGED_REASONS: Final = frozenset({AbstainReason.BUDGET, AbstainReason.PAUSED})
"""An abstention for one of these may become a decision when judged again."""

UNFINISHED_REASONS: Final = UNJUDGED_REASONS | {AbstainReason.JUDGE_UNAVAILABLE, AbstainReason.REPLY_INVALID}
"""And for one of these, the model's answer could not be used."""

OPINION_SIGNAL: Final = "opinion_of"
"""The signal of a panel's single opinion."""

DERIVED_SUBJECTS: Final = frozenset({SubjectKind.MERGE_GROUP, SubjectKind.CI_CHECK, SubjectKind.PULL_REQUEST})
"""Subjects whose live verdicts have a parent, too: the one on the submission."""

LIVE_TRIGGERS: Final = frozenset({EvalTrigger.BUS.value, EvalTrigger.FEEDBACK_ARRIVED.value})

TERMINAL_EVENTS: Final = frozenset({EventKind.COMPLETED.encode(), EventKind.FAILED.encode()})
"""The kinds of entries that end an evaluation."""

HEAD_PATTERN: Final = pattern(r"/[0-9a-f]{40}(/[0-9a-f]{16})?")
"""What a subject's id has after its pull request: a commit, and a part of it."""

LAST_SEQUENCE: Final = 2**64 - 1
"""The greatest number that Redis gives to an entry of one millisecond."""


class EventPublisher(Protocol):
    def publish(self, installation: InstallationId, name: str, *events: Event) -> bool:
        """Publish events once under a name. False: they have been published."""
        ...


class RecordedStreams(EventStreams, EventPublisher, Protocol):
    """The streams of all installations."""

    def installations(self) -> Sequence[InstallationId]: ...


class DossierArchive(Archive, DossierLookup, Protocol): ...


class OutcomeRecords(Protocol):
    def outcomes_of(self, pull: PullRef) -> tuple[Outcome, ...]: ...


class RubricRegistry(Protocol):
    def refusal(self, rubric: VersionedRubric, name: str = "") -> str | None:
        """Record the content of this version. Why it can't be used, in a sentence, or None."""
        ...


class RunBudget(Protocol):
    @property
    def is_full(self) -> bool: ...
    def close(self) -> None: ...


class RecordStore(Protocol):
    """What is on record of pull requests, and the budgets of runs."""

    @property
    def ledger(self) -> Ledger: ...
    @property
    def archive(self) -> DossierArchive: ...
    @property
    def events(self) -> RecordedStreams: ...
    @property
    def outcomes(self) -> OutcomeRecords: ...
    @property
    def rubrics(self) -> RubricRegistry: ...
    def run_budget(self, name: str, limit: Decimal, /) -> RunBudget: ...


def _read_amount(value: object) -> Decimal:
    """Raises ValueError or ArithmeticError."""
    if not isinstance(value, str):
        raise ValueError("not an amount")  # noqa: TRY004 - what pydantic expects
    return Decimal(value)


Word = Annotated[str, Field(pattern=r"^[\x00-\x7f]*$")]
Score = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Whole = Annotated[int, Field(ge=0)]
EVENT_CONFIG: Final = ConfigDict(frozen=True, extra="ignore", strict=True, hide_input_in_errors=True)


class EventSignals(BaseModel):
    """The signals that tell what kind of verdict it is. `judge_digest`: the mark of a re-evaluation."""

    model_config = EVENT_CONFIG

    judge_digest: Annotated[Word | None, Field(alias=DIGEST_SIGNAL)] = None
    opinion: Annotated[object, Field(alias=OPINION_SIGNAL)] = None


class RecordedVerdict(BaseModel):
    """A verdict as its event has it. `failure_mode`: why there is none, or not the one that was asked for.

    `carried_from`: the recorded verdict of the same content.
    """

    model_config = EVENT_CONFIG

    installation: InstallationId
    eval_id: Annotated[EvalId, Field(pattern=r"^[\x00-\x7f]*$")]
    parent_eval_id: Annotated[EvalId, Field(pattern=r"^[\x00-\x7f]*$")] | None = None
    repository_id: Annotated[RepositoryId, Field(ge=0)]
    number: Whole
    subject_id: Word
    subject_kind: Annotated[SubjectKind, Field(strict=False)]
    decision: Word | None = None
    category: Word | None = None
    abstain_reason: Word | None = None
    failure_mode: Word | None = None
    throttled_reason: Word | None = None
    judge_cost_usd: Annotated[Decimal, BeforeValidator(_read_amount)] | None = None
    trigger: Word | None = None
    carried_from: Word | None = None
    score: Score | None = None
    signals: EventSignals | None = None

    @model_validator(mode="after")
    def _check_subject(self) -> Self:
        """As `events.subject_id` has it. A verdict without a head can be neither judged nor published."""
        pull = f"{self.repository_id}/{self.number}"
        head = self.subject_id.removeprefix(pull)
        is_whole = self.subject_kind is SubjectKind.PULL_REQUEST
        is_ours = head == "" if is_whole else HEAD_PATTERN.fullmatch(head) is not None
        if not is_ours or not self.subject_id.startswith(pull):
            raise ValueError("not a subject of ours")
        return self

    @property
    def pull(self) -> PullRef:
        return PullRef(installation_id=self.installation, repository_id=self.repository_id, number=self.number)

    @property
    def judge_digest(self) -> str | None:
        return self.signals.judge_digest if self.signals is not None else None

    @property
    def summary(self) -> str:
        """`reject weak_test`; of a failure, its mode."""
        return summarize_decision(self) or f"{self.failure_mode}"

    @property
    def is_primary(self) -> bool:
        """Whether it is a live verdict, and neither a re-evaluation nor a panel's single opinion."""
        is_opinion = self.signals is not None and "opinion" in self.signals.model_fields_set
        if self.judge_digest is not None or is_opinion or not self.decision:
            return False
        if self.parent_eval_id is None:
            return True
        is_judged = self.carried_from is None or self.subject_kind is not SubjectKind.MERGE_GROUP
        return self.subject_kind in DERIVED_SUBJECTS and self.trigger in LIVE_TRIGGERS and is_judged

    @property
    def is_final(self) -> bool:
        """Whether it need not be judged again: it was judged, or nothing is left to judge."""
        if self.failure_mode is not None:
            return self.failure_mode == FailureMode.SUBJECT_NOT_FOUND
        return self.throttled_reason is None and self.abstain_reason not in UNJUDGED_REASONS


class Decided(Protocol):
    """A verdict, as far as it is compared."""

    @property
    def decision(self) -> str | None: ...
    @property
    def category(self) -> str | None: ...
    @property
    def abstain_reason(self) -> str | None: ...


def summarize_decision(verdict: Decided) -> str:
    """`reject weak_test`."""
    return " ".join(filter(None, (verdict.decision, verdict.category, verdict.abstain_reason)))


def read_verdict(installation: InstallationId, kind: bytes, raw: bytes) -> RecordedVerdict:
    """The verdict of a terminal event. Raises one of UNREADABLE_ERRORS."""
    return RecordedVerdict.model_validate({**read_event(kind.decode(), raw).body, "installation": installation})


class RejudgeSelection(NamedTuple):
    """What is re-evaluated, by which law. `repositories`: (installation, repository) pairs; None: all."""

    kind: SubjectKind
    window: Window
    judge_digest: str
    repositories: frozenset[tuple[int, int]] | None = None


class VerdictSurvey:
    """What the streams have so far. Entries may be added in any order of installations, each stream oldest first."""

    def __init__(self, wanted: RejudgeSelection) -> None:
        self.unread_count = 0
        self.answers: dict[EvalId, RecordedVerdict] = {}
        self._wanted = wanted
        self._current: dict[tuple[int, str], RecordedVerdict] = {}

    @property
    def current_verdicts(self) -> tuple[RecordedVerdict, ...]:
        """The latest verdict of each subject in the window, oldest first."""
        return tuple(sorted(self._current.values(), key=lambda verdict: verdict.eval_id))

    @property
    def unanswered_verdicts(self) -> tuple[RecordedVerdict, ...]:
        """Those without a final re-evaluation by this law."""
        return tuple(verdict for verdict in self.current_verdicts if not self.is_answered(verdict.eval_id))

    @property
    def answered_pairs(self) -> tuple[tuple[RecordedVerdict, RecordedVerdict], ...]:
        """Each verdict that stands, with the last answer to it."""
        pairs = ((verdict, self.answers.get(verdict.eval_id)) for verdict in self.current_verdicts)
        return tuple((verdict, answer) for verdict, answer in pairs if answer is not None)

    def is_answered(self, eval_id: EvalId) -> bool:
        answer = self.answers.get(eval_id)
        return answer is not None and answer.is_final

    def add_entry(self, installation: InstallationId, at_ms: int, kind: bytes, raw: bytes) -> RecordedVerdict | None:
        """Add an entry. An answer to a verdict by this law is also returned."""
        if kind not in TERMINAL_EVENTS:
            self.unread_count += not kind
            return None
        try:
            verdict = read_verdict(installation, kind, raw)
        except UNREADABLE_ERRORS:
            self.unread_count += 1
            return None
        wanted = self._wanted
        if wanted.repositories is not None and (installation, verdict.repository_id) not in wanted.repositories:
            return None
        if verdict.judge_digest is not None:
            is_by_digest = verdict.judge_digest == wanted.judge_digest
            if verdict.parent_eval_id is None or not is_by_digest or self.is_answered(verdict.parent_eval_id):
                return None
            self.answers[verdict.parent_eval_id] = verdict
            return verdict
        if verdict.is_primary and verdict.subject_kind is wanted.kind and wanted.window.contains(at_ms):
            key = installation, verdict.subject_id
            self._current[key] = max(self._current.get(key, verdict), verdict, key=lambda entry: entry.eval_id)
        return None


class Surveyor:
    """Reads the installations' streams into a survey, each entry once: first from the window's begin, then what is new."""

    def __init__(self, store: RecordStore, wanted: RejudgeSelection) -> None:
        self.survey = VerdictSurvey(wanted)
        self._store = store
        self._begin = f"{max(wanted.window.since_ms - 1, 0)}-{LAST_SEQUENCE}"
        self._read: dict[InstallationId, str] = {}
        self._installations: Sequence[InstallationId] | None = None
        if wanted.repositories is not None:
            self._installations = sorted({InstallationId(installation) for installation, _ in wanted.repositories})

    def read_entries(self) -> Iterator[tuple[InstallationId, StreamEntry]]:
        """The entries that were not read yet."""
        if self._installations is None:
            self._installations = list(self._store.events.installations())  # scans all keys, so once
        for installation in self._installations:
            for entry in self._store.events.read(installation, self._read.get(installation, self._begin)):
                self._read[installation] = entry.id
                yield installation, entry

    def read_new(self) -> Iterator[RecordedVerdict]:
        """Add what was not read yet to the survey; yields the answers in it."""
        for installation, entry in self.read_entries():
            if answer := self.survey.add_entry(installation, entry.at_ms, entry.kind, entry.raw):
                yield answer
