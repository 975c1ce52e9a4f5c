"""Events of an installation's stream (docs/events.md): evaluations started and ended, and what people did afterwards.

An event holds numbers, names of closed sets and hashes, never a text, a login or a path. The one exception, an opinion's words,
is asked for by the operator and declared in its sensitivity. Outcomes, what happened to a pull request after its verdict, hold
closed sets, numbers and times only; here is also how they are weighed, and which signals they demote.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Any, Final, NamedTuple, assert_never, cast

from pydantic import Field, model_validator
from pydantic_core import to_json

from worker.domain.github_events import PullRequestEventKind
from worker.domain.judge_request import PullRef
from worker.domain.model import EvalId, Frozen, InstallationId, Sha
from worker.domain.pattern import pattern
from worker.domain.verdict.audit import EvaluatedVerdict
from worker.domain.verdict.verdict import (
    Abstain,
    AbstainReason,
    Accept,
    JudgeKind,
    Reject,
    Subject,
    SubjectKind,
    Unit,
    VersionedRubric,
)

EVENT_VERSION: Final = 1
NAME_PATTERN: Final = pattern(r"[A-Za-z0-9][A-Za-z0-9_.:+=-]{0,79}")
"""A word of a closed set; anything else might be a person's text."""

CLOSED_SIGNALS: Final = frozenset(
    {"escalation_skipped", "model_decision", "vetoed_by", "opinion_of", "paused_by", "law", "unheard_usd"}
    | {"child_eval_ids", "last_decision", "strongest", "conclusion", "loosened_by"}
)
"""The signals with words of ours. Words of others may be a person's: a policy names models and signals as it likes."""

MODEL_PATTERN: Final = pattern(r"[A-Za-z0-9][A-Za-z0-9_.:/@+-]{0,119}")
"""A model's name, as the operator sets it."""

MOST_FACTS: Final = 20
"""How many signals an event names."""


class EventKind(StrEnum):
    STARTED = "eval.started"
    COMPLETED = "eval.completed"
    FAILED = "eval.failed"
    OUTCOME = "outcome.recorded"
    CASE_PARSE_ERROR = "case_parse_error"
    EVALUATOR_PARSE_ERROR = "evaluator_parse_error"


class Sensitivity(StrEnum):
    """PSEUDONYMOUS: numbers that only GitHub can resolve. USER_CONTROLLED: also text about a person's work."""

    PSEUDONYMOUS = "pseudonymous"
    USER_CONTROLLED = "user_controlled"


class EvalTrigger(StrEnum):
    """The cause of an evaluation: a delivery, a batch, something that people did about a verdict, a bench."""

    BUS = "bus"
    BATCH = "batch"
    FEEDBACK_ARRIVED = "feedback_arrived"
    BENCHMARK = "benchmark"


class FailureMode(StrEnum):
    JUDGE_OUTPUT_INVALID = "judge_output_invalid"
    JUDGE_CALL_FAILED = "judge_call_failed"
    THROTTLED_NO_HEURISTIC = "throttled_no_heuristic"
    SUBJECT_NOT_FOUND = "subject_not_found"
    RUBRIC_INVALID = "rubric_invalid"


FAILURE_MODES: Final[Mapping[AbstainReason, FailureMode]] = {
    AbstainReason.REPLY_INVALID: FailureMode.JUDGE_OUTPUT_INVALID,
    AbstainReason.JUDGE_UNAVAILABLE: FailureMode.JUDGE_CALL_FAILED,
}
"""The abstentions that are failures of the judge; all others are verdicts about the change."""

FAILURE_MESSAGES: Final[Mapping[FailureMode, str]] = {
    FailureMode.JUDGE_OUTPUT_INVALID: "the model's replies could not be used",
    FailureMode.JUDGE_CALL_FAILED: "the model could not be reached",
    FailureMode.THROTTLED_NO_HEURISTIC: "a cap stood before the model, and code had no opinion",
    FailureMode.SUBJECT_NOT_FOUND: "what was to be judged no longer exists",
    FailureMode.RUBRIC_INVALID: "the rubric can't be used",
}
LOST_MESSAGE: Final = "the judging process ended without a word"
SUPERSEDED_MESSAGE: Final = "a newer commit came while it was judged"


class StreamEntry(NamedTuple):
    """One stored entry: `id` starts with the server's time in milliseconds."""

    id: str
    kind: bytes
    raw: bytes

    @property
    def at_ms(self) -> int:
        return int(self.id.partition("-")[0])


class StreamExtent(NamedTuple):
    """The ids of a stream's first and last entry. `generation`: another one after entries in between were deleted."""

    generation: str
    first: str
    last: str


@dataclass(frozen=True)
class Event:
    """One entry of a stream. `body` is JSON: numbers, words, lists of words, and mappings of them."""

    kind: EventKind
    body: Mapping[str, Any]

    def dump(self) -> bytes:
        return to_json(self.body)


@dataclass(frozen=True)
class EvaluationStarted:
    """An evaluation that is about to start. `part`: see `subject_id`."""

    eval_id: str
    subject: Subject
    rubric_id: str
    rubric_version: str
    planned_judge: JudgeKind
    trigger: EvalTrigger = EvalTrigger.BUS
    part: str = ""


class EventError(ValueError):
    """An entry that can't be read: broken, or of a newer version."""


def subject_id(subject: Subject, part: str = "") -> str:
    """The id of all verdicts on one subject; *part* tells the parts of one head apart (a CI check's name)."""
    pull = f"{subject.repository_id}/{subject.number}"
    match subject.kind:
        case SubjectKind.PULL_REQUEST:
            return pull
        case SubjectKind.CI_CHECK:
            return f"{pull}/{subject.head_sha}/{hashlib.sha256(part.encode()).hexdigest()[:16]}"
        case SubjectKind.SUBMISSION | SubjectKind.MERGE_GROUP | SubjectKind.BENCHMARK:
            return f"{pull}/{subject.head_sha}"
        case _:
            assert_never(subject.kind)


def started_event(evaluation: EvaluationStarted) -> Event:
    """`eval.started`."""
    return Event(
        EventKind.STARTED,
        {
            **_subject_fields(evaluation.eval_id, evaluation.subject, evaluation.part),
            "rubric_id": evaluation.rubric_id,
            "rubric_version": evaluation.rubric_version,
            "judge_kind_planned": evaluation.planned_judge.value,
            "trigger": evaluation.trigger.value,
        },
    )


def lost_event(evaluation: EvaluationStarted) -> Event:
    """`eval.failed` for a judge that dies. It may have asked a model before."""
    cost = "0" if evaluation.planned_judge is JudgeKind.HEURISTIC else None
    return failed_event(evaluation, FailureMode.JUDGE_CALL_FAILED, LOST_MESSAGE, cost)


def failed_event(
    evaluation: EvaluationStarted, mode: FailureMode, message: str = "", cost_usd: str | None = "0", **more: object
) -> Event:
    """`eval.failed` of an evaluation without a verdict."""
    return Event(
        EventKind.FAILED,
        {
            **_subject_fields(evaluation.eval_id, evaluation.subject, evaluation.part),
            **_no_verdict_fields(evaluation.rubric_id, evaluation.rubric_version, mode),
            **({"error_message": message} if message else {}),
            "judge_cost_usd": cost_usd,
            **more,
        },
    )


def _no_verdict_fields(rubric_id: str, version: str, mode: FailureMode) -> dict[str, Any]:
    return {
        "failure_mode": mode.value,
        "error_message": FAILURE_MESSAGES[mode],
        "judge_latency_ms": 0,
        "judge_cost_usd": "0",
        "rubric_id": rubric_id,
        "rubric_version": version,
    }


def terminal_event(
    verdict: Accept | Reject | Abstain, trigger: EvalTrigger, *, part: str = "", opinion_text: str = ""
) -> Event:
    """The one event that ends this verdict's evaluation. *opinion_text*: the opinion's, without secrets, where asked for."""
    body = {
        **_subject_fields(verdict.eval_id, verdict.subject, part),
        **_verdict_fields(verdict),
        "trigger": trigger.value,
    }
    mode = FAILURE_MODES.get(verdict.abstain_reason) if isinstance(verdict, Abstain) else None
    if mode is not None:
        return Event(EventKind.FAILED, {**body, "failure_mode": mode.value, "error_message": FAILURE_MESSAGES[mode]})
    if opinion_text:
        body["signals"] = {**_signal_fields(verdict.signals), "rationale_redacted": opinion_text}
        body["sensitivity"] = Sensitivity.USER_CONTROLLED.value
    return Event(EventKind.COMPLETED, body)


def problem_events(evaluated: EvaluatedVerdict, case_error: str | None) -> Iterator[Event]:
    """Events of what could not be read: the author's case, and each reply. The replies themselves are in the audit."""
    subject = evaluated.verdict.subject
    if case_error is not None:
        yield Event(EventKind.CASE_PARSE_ERROR, _subject_fields(evaluated.verdict.eval_id, subject))
    unusable = [exchange for exchange in evaluated.audit.exchanges if exchange.fault is not None]
    for attempt, exchange in enumerate(unusable, start=1):
        fault, model = _closed_word(exchange.fault), _model_names(exchange.model)
        fields = {"attempt": attempt, "fault": fault, "judge_model": model, "payload": "audit"}
        yield Event(EventKind.EVALUATOR_PARSE_ERROR, {**_subject_fields(evaluated.verdict.eval_id, subject), **fields})


def read_event(kind: str, raw: bytes) -> Event:
    """An entry as it was written. Raises EventError."""
    try:
        body = json.loads(raw)
        event_kind = EventKind(kind)
    except ValueError as error:
        raise EventError(f"not an event of version {EVENT_VERSION}: {kind[:40]!r}") from error
    if not isinstance(body, dict) or cast("dict[str, Any]", body).get("v") != EVENT_VERSION:
        raise EventError(f"{event_kind} is not of version {EVENT_VERSION}")
    return Event(event_kind, cast("dict[str, Any]", body))


def _subject_fields(eval_id: str, subject: Subject, part: str = "") -> dict[str, Any]:
    return {
        "v": EVENT_VERSION,
        "eval_id": eval_id,
        "subject_kind": subject.kind.value,
        "subject_id": subject_id(subject, part),
        "repository_id": subject.repository_id,
        "number": subject.number,
        "sensitivity": Sensitivity.PSEUDONYMOUS.value,
    }


def _verdict_fields(verdict: Accept | Reject | Abstain) -> dict[str, Any]:
    cost = verdict.judge_cost_usd
    return {
        "decision": verdict.decision,
        "category": verdict.category and verdict.category.value,
        "abstain_reason": verdict.abstain_reason and verdict.abstain_reason.value,
        "throttled_reason": verdict.throttled_reason and verdict.throttled_reason.value,
        "score": round(verdict.score, 4),
        "confidence": round(verdict.confidence, 4),
        "round": verdict.round,
        "author_agent": _closed_word(verdict.author_agent),
        "judge_kind": verdict.judge_kind.value,
        "judge_model": _model_names(verdict.judge_model),
        "judge_cost_usd": None if cost is None else format(cost, "f"),
        "judge_pricing_version": _closed_word(verdict.judge_pricing_version),
        "judge_latency_ms": verdict.judge_latency_ms,
        "tokens_in": verdict.tokens.prompt,
        "tokens_out": verdict.tokens.output,
        "escalated": verdict.escalated,
        "rubric_id": verdict.rubric_id,
        "rubric_version": verdict.rubric_version,
        "parent_eval_id": verdict.parent_eval_id,
        "carried_from": verdict.carried_from,
        "facts": sorted({finding.signal for finding in verdict.findings if finding.fact})[:MOST_FACTS],
        "signals": _signal_fields(verdict.signals),
        "created_at": format_timestamp(verdict.created_at),
    }


def _signal_fields(signals: Mapping[str, object]) -> dict[str, object]:
    """Numbers, and words of closed sets; a list keeps its words."""
    kept: dict[str, object] = {}
    for name, value in signals.items():
        if value is None or isinstance(value, (bool, int, float)):
            kept[name] = value
        elif name in CLOSED_SIGNALS and isinstance(value, tuple):
            kept[name] = [word for word in cast("tuple[object, ...]", value) if _closed_word(word) is not None]
        elif name in CLOSED_SIGNALS and _closed_word(value) is not None:
            kept[name] = value
    return kept


def _closed_word(value: object) -> str | None:
    return value if isinstance(value, str) and NAME_PATTERN.fullmatch(value) else None


def _model_names(names: str | None) -> str | None:
    """Several models share one field, with commas between them."""
    return ", ".join(name for name in (names or "").split(", ") if MODEL_PATTERN.fullmatch(name)) or None


def format_timestamp(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds")


class OutcomeKind(StrEnum):
    """What happened. `contest_upheld`: a contested reject was rejudged, and is none now. `own_override`: by the author."""

    MERGED = "merged"
    CLOSED_UNMERGED = "closed_unmerged"
    REOPENED = "reopened"
    REVERTED = "reverted"
    LATER_FIX = "later_fix"
    OVERRIDE = "override"
    OWN_OVERRIDE = "own_override"
    CONTEST = "contest"
    CONTEST_UPHELD = "contest_upheld"
    HELPFUL = "helpful"
    NOT_HELPFUL = "not_helpful"
    RETRY = "retry"
    EDIT_FOLLOWUP = "edit_followup"
    MANUAL_SWAP = "manual_swap"
    CI_RED_LATER = "ci_red_later"


class Strength(StrEnum):
    """How much an outcome proves about the verdict, the strongest first.

    EXPLICIT: a person's opinion of the verdict. IMPLICIT: an action that implies one. LIFECYCLE: the usual course of events.
    """

    EXPLICIT = "explicit"
    IMPLICIT = "implicit"
    LIFECYCLE = "lifecycle"


STRENGTHS: Final[Mapping[OutcomeKind, Strength]] = MappingProxyType(
    {
        OutcomeKind.MERGED: Strength.LIFECYCLE,
        OutcomeKind.CLOSED_UNMERGED: Strength.LIFECYCLE,
        OutcomeKind.REOPENED: Strength.LIFECYCLE,
        OutcomeKind.REVERTED: Strength.IMPLICIT,
        OutcomeKind.LATER_FIX: Strength.IMPLICIT,
        OutcomeKind.RETRY: Strength.IMPLICIT,
        OutcomeKind.EDIT_FOLLOWUP: Strength.IMPLICIT,
        OutcomeKind.MANUAL_SWAP: Strength.IMPLICIT,
        OutcomeKind.CI_RED_LATER: Strength.IMPLICIT,
        OutcomeKind.CONTEST_UPHELD: Strength.IMPLICIT,
        OutcomeKind.OVERRIDE: Strength.EXPLICIT,
        OutcomeKind.OWN_OVERRIDE: Strength.EXPLICIT,
        OutcomeKind.CONTEST: Strength.EXPLICIT,
        OutcomeKind.HELPFUL: Strength.EXPLICIT,
        OutcomeKind.NOT_HELPFUL: Strength.EXPLICIT,
    }
)


class Outcome(Frozen):
    """One outcome. `eval_id`: the latest verdict on a submission that it is about; `at`: when it was received."""

    kind: OutcomeKind
    eval_id: EvalId | None = None
    head_sha: Sha | None = None
    at: datetime

    @property
    def strength(self) -> Strength:
        return STRENGTHS[self.kind]


def outcome_event(pull: PullRef, outcome: Outcome) -> Event:
    """`outcome.recorded`."""
    return Event(
        EventKind.OUTCOME,
        {
            "v": EVENT_VERSION,
            "subject_kind": SubjectKind.PULL_REQUEST.value,
            "subject_id": f"{pull.repository_id}/{pull.number}",
            "repository_id": pull.repository_id,
            "number": pull.number,
            "sensitivity": Sensitivity.PSEUDONYMOUS.value,
            "outcome": outcome.kind.value,
            "strength": outcome.strength.value,
            "eval_id": outcome.eval_id,
            "head_sha": outcome.head_sha,
            "at": format_timestamp(outcome.at),
        },
    )


class CiCheckRubric(VersionedRubric):
    """How one CI check's runs on a head are scored. `loosening`: the part of its score that each signal takes."""

    most: Annotated[int, Field(ge=1, le=100)]
    """How many checks of a head are recorded, the worst first."""
    passed: Unit
    rerun: Unit
    """The part that each run before the passing one takes."""
    flaky_least: Unit
    failed: Unit
    unproved: Unit
    """Of a check that did not finish, or was skipped."""
    loosening: dict[str, Unit]


class PullRequestRubric(VersionedRubric):
    """How outcomes move the score of a pull request's submissions.

    `last`: the weight of its last submission in the first score; the rest is the mean of all. `speaks_for`: the score that an
    outcome moves it to. `pull`: how far outcomes of a strength move it, the stronger after the weaker.
    """

    last: Unit
    speaks_for: dict[OutcomeKind, Unit]
    pull: dict[Strength, Unit]
    confidence: dict[Strength, Unit]
    without_outcomes: Unit
    """The most confidence that a pull request without any outcome gets."""
    contradicted: Unit
    """The part of the confidence that remains where outcomes of two strengths disagree."""

    @model_validator(mode="after")
    def _the_stronger_outweighs_the_weaker(self) -> "PullRequestRubric":
        explicit, implicit, lifecycle = (self.pull.get(strength, 0.0) for strength in Strength)
        if not explicit > implicit > lifecycle > 0 or implicit <= 0.5:  # noqa: PLR2004 - less would not turn a score
            msg = "pull: explicit has to be more than implicit, implicit more than lifecycle and more than 0.5"
            raise ValueError(msg)
        return self


THUMB_OUTCOMES: Final[Mapping[str, OutcomeKind]] = MappingProxyType(
    {"+1": OutcomeKind.HELPFUL, "-1": OutcomeKind.NOT_HELPFUL}
)
"""The outcomes of reactions at our comment; GitHub's other six are about no verdict."""

CLOSING_KINDS: Final = frozenset({PullRequestEventKind.MERGED, PullRequestEventKind.CLOSED})
"""The events after which reactions are read."""


@dataclass(frozen=True)
class Reaction:
    """One reaction, by GitHub's numbers: its own `id`, which is greater for a later one, and the `account` of its author."""

    id: int
    account: int
    is_bot: bool
    content: str
    at: datetime


def last_thumbs(reactions: Iterable[Reaction]) -> tuple[Reaction, ...]:
    """The last thumb of each person, oldest first. Reactions of bots do not count."""
    last: dict[int, Reaction] = {}
    for reaction in sorted(reactions, key=lambda reaction: reaction.id):
        if reaction.content in THUMB_OUTCOMES and not reaction.is_bot:
            last.pop(reaction.account, None)
            last[reaction.account] = reaction
    return tuple(last.values())


LEAST_REJECTS: Final = 40
MOST_PERCENT: Final = 5


class RejectCounts(Frozen):
    """The rejects that name a signal as a fact in one installation, and how many of them people overrode."""

    rejects: Annotated[int, Field(ge=0)]
    overturned: Annotated[int, Field(ge=0)]

    @property
    def is_over_limit(self) -> bool:
        return self.rejects >= LEAST_REJECTS and 100 * self.overturned > MOST_PERCENT * self.rejects


class Demotion(Frozen):
    """A signal that is only a suspicion in one installation, why, and since when."""

    signal: Annotated[str, Field(min_length=1)]
    tally: RejectCounts
    at: datetime

    @property
    def summary(self) -> str:
        """The notice."""
        tally = self.tally
        return (
            f"{self.signal} is a suspicion since {self.at:%Y-%m-%d}: {tally.overturned} of its {tally.rejects} rejects were "
            f"overridden, more than {MOST_PERCENT} %"
        )

    def notice(self, installation: InstallationId) -> str:
        """With what takes it back: for the log, `assay doctor` and `assay stats`."""
        how = f"`assay rubric promote {self.signal} --installation {installation}`"
        return f"{self.summary} (installation {installation}). {how} takes it back."
