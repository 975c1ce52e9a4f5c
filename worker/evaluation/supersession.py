"""Which verdicts are not superseded, and which of them were re-evaluated, read off the installations' streams.

Of a subject the verdict with the greatest eval id stands; a re-evaluation, which has a law's mark, answers its parent and
never stands. Malformed entries are counted and left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple, cast

from worker.adapters.redis.store import Store
from worker.domain.ids import EvalId, InstallationId, RepositoryId
from worker.domain.pattern import pattern
from worker.domain.request.judge_request import PullRef
from worker.domain.verdict.audit import DIGEST_SIGNAL
from worker.domain.verdict.events import EvalTrigger, EventError, EventKind, FailureMode, StreamEntry, read_event
from worker.domain.verdict.verdict import AbstainReason, SubjectKind
from worker.domain.window import Window

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


class RecordedVerdict(NamedTuple):
    """A verdict as its event has it. `failure`: why there is none, or not the one that was asked for.

    `judge_digest`: the mark of a re-evaluation. `is_carried_over`: the recorded verdict of the same content.
    """

    eval_id: EvalId
    parent: EvalId | None
    installation: InstallationId
    repository: RepositoryId
    number: int
    subject: str
    kind: SubjectKind
    decision: str | None
    category: str | None
    abstain_reason: str | None
    failure: str | None
    is_throttled: bool
    cost_usd: Decimal | None
    judge_digest: str | None
    rubric: str
    model: str | None
    is_opinion: bool
    trigger: str | None = None
    is_carried_over: bool = False
    score: float | None = None

    @property
    def pull(self) -> PullRef:
        return PullRef(installation_id=self.installation, repository_id=self.repository, number=self.number)

    @property
    def summary(self) -> str:
        """`reject weak_test`; of a failure, its mode."""
        return " ".join(filter(None, (self.decision, self.category, self.abstain_reason))) or f"{self.failure}"

    @property
    def is_primary(self) -> bool:
        """Whether it is a live verdict, and neither a re-evaluation nor a panel's single opinion."""
        if self.judge_digest is not None or self.is_opinion or not self.decision:
            return False
        if self.parent is None:
            return True
        is_judged = not (self.is_carried_over and self.kind is SubjectKind.MERGE_GROUP)
        return self.kind in DERIVED_SUBJECTS and self.trigger in LIVE_TRIGGERS and is_judged

    @property
    def is_final(self) -> bool:
        """Whether it need not be judged again: it was judged, or nothing is left to judge."""
        if self.failure is not None:
            return self.failure == FailureMode.SUBJECT_NOT_FOUND
        return not self.is_throttled and self.abstain_reason not in UNJUDGED_REASONS


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
        self._standing: dict[tuple[int, str], RecordedVerdict] = {}

    @property
    def standing(self) -> tuple[RecordedVerdict, ...]:
        """The latest verdict of each subject in the window, oldest first."""
        return tuple(sorted(self._standing.values(), key=lambda verdict: verdict.eval_id))

    @property
    def unanswered(self) -> tuple[RecordedVerdict, ...]:
        """Those without a final re-evaluation by this law."""
        return tuple(verdict for verdict in self.standing if not self.is_answered(verdict.eval_id))

    @property
    def answered_pairs(self) -> tuple[tuple[RecordedVerdict, RecordedVerdict], ...]:
        """Each verdict that stands, with the last answer to it."""
        pairs = ((verdict, self.answers.get(verdict.eval_id)) for verdict in self.standing)
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
            verdict = parse_verdict(read_event(kind.decode(), raw).body, installation)
        except UNREADABLE_ERRORS:
            self.unread_count += 1
            return None
        wanted = self._wanted
        if wanted.repositories is not None and (installation, verdict.repository) not in wanted.repositories:
            return None
        if verdict.judge_digest is not None:
            is_by_law = verdict.judge_digest == wanted.judge_digest
            if verdict.parent is None or not is_by_law or self.is_answered(verdict.parent):
                return None
            self.answers[verdict.parent] = verdict
            return verdict
        if verdict.is_primary and verdict.kind is wanted.kind and wanted.window.contains(at_ms):
            key = installation, verdict.subject
            self._standing[key] = max(self._standing.get(key, verdict), verdict, key=lambda entry: entry.eval_id)
        return None


class Surveyor:
    """Reads the installations' streams into a survey, each entry once: first from the window's begin, then what is new."""

    def __init__(self, store: Store, wanted: RejudgeSelection) -> None:
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


def parse_verdict(body: Mapping[str, Any], installation: InstallationId) -> RecordedVerdict:
    """The verdict in the body of a terminal event, its types read strictly. Raises KeyError, ValueError or ArithmeticError."""
    signals = _signals(body.get("signals"))
    kind = SubjectKind(_text(body["subject_kind"]))
    repository, number = _whole(body["repository_id"]), _whole(body["number"])
    return RecordedVerdict(
        eval_id=EvalId(_text(body["eval_id"])),
        parent=None if (parent := _word(body, "parent_eval_id")) is None else EvalId(parent),
        installation=installation,
        repository=RepositoryId(repository),
        number=number,
        subject=_subject(body["subject_id"], kind, repository, number),
        kind=kind,
        decision=_word(body, "decision"),
        category=_word(body, "category"),
        abstain_reason=_word(body, "abstain_reason"),
        failure=_word(body, "failure_mode"),
        is_throttled=_word(body, "throttled_reason") is not None,
        cost_usd=None if (cost := _word(body, "judge_cost_usd")) is None else _money(cost),
        judge_digest=_word(signals, DIGEST_SIGNAL),
        rubric=f"{_word(body, 'rubric_id')} {_word(body, 'rubric_version')}",
        model=_word(body, "judge_model"),
        is_opinion=OPINION_SIGNAL in signals,
        trigger=_word(body, "trigger"),
        is_carried_over=_word(body, "carried_from") is not None,
        score=None if (score := body.get("score")) is None else _share(score),
    )


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.isascii():
        raise ValueError("not a word of ours")
    return value


def _subject(value: object, kind: SubjectKind, repository: int, number: int) -> str:
    """As `events.subject_id` has it. A verdict without a head can be neither judged nor published."""
    subject, pull = _text(value), f"{repository}/{number}"
    head = subject.removeprefix(pull)
    is_ours = head == "" if kind is SubjectKind.PULL_REQUEST else HEAD_PATTERN.fullmatch(head) is not None
    if not is_ours or not subject.startswith(pull):
        raise ValueError("not a subject of ours")
    return subject


def _word(body: Mapping[str, Any], name: str) -> str | None:
    value = body.get(name)
    return None if value is None else _text(value)


def _whole(value: object) -> int:
    if type(value) is not int or value < 0:  # True is no number
        raise ValueError("not a number of ours")
    return value


def _share(value: object) -> float:
    if type(value) not in {int, float} or not 0 <= cast("float", value) <= 1:  # no NaN either
        raise ValueError("not a share of ours")
    return cast("float", value)


def _money(text: str) -> Decimal:
    amount = Decimal(text)
    if not amount.is_finite():
        raise ValueError("not an amount")
    return amount


def _signals(value: object) -> Mapping[str, Any]:
    if value is not None and not isinstance(value, dict):
        raise ValueError("signals are named")
    return cast("Mapping[str, Any]", value or {})
