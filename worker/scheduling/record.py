"""Record a verdict: ledger entry, archived dossier, audit record and events. Entries are immutable, and recording twice leaves one."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from pydantic import ValidationError

from worker.domain.dossier import Ci, Dossier, author_text
from worker.domain.judge_request import PullRef
from worker.domain.model import BaseHash, hash_base
from worker.domain.ports import Archive, DossierLookup, EntryWithEvents, EvaluationEvents, Lease, Ledger
from worker.domain.verdict.audit import EvaluatedVerdict
from worker.domain.verdict.events import (
    EvalTrigger,
    EvaluationStarted,
    Event,
    FailureMode,
    failed_event,
    problem_events,
    started_event,
    terminal_event,
)
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import Abstain, Accept, ConditionState, Reject
from worker.dossier.diff import Diff, diff_or_empty, hash_changed_lines
from worker.errors import Unreadable
from worker.settings import Settings

CHILDREN: Final = "child_eval_ids"


@dataclass(frozen=True)
class EventPublishing:
    """The trigger in published events. `redact`: redaction of the opinion texts in them; None: events have no texts."""

    trigger: EvalTrigger = EvalTrigger.BUS
    redact: Callable[[str], str] | None = None


def event_publishing(settings: Settings, trigger: EvalTrigger = EvalTrigger.BUS) -> EventPublishing:
    """The events of verdicts, with texts where the operator enables them."""
    if not settings.has_event_words:
        return EventPublishing(trigger)
    from worker.judge.llm.sanitize import redact_text  # noqa: PLC0415 - only where the operator enables texts

    return EventPublishing(trigger, redact_text)


class SubmissionWatch(Protocol):
    """Watches submissions for outcomes. Idempotent; raises Unavailable."""

    def begin_submission(self, pull: PullRef, author: str, base: BaseHash, issues: tuple[tuple[str, int], ...]) -> bool:
        """Watch the base's rules and the issues of a submission that is about to be judged, and charge its author.

        False: one of them was edited while it was read, before it was watched.
        """
        ...

    def add_verdict(self, pull: PullRef, entry: LedgerEntry, issues: tuple[tuple[str, int], ...]) -> None:
        """Note a verdict that is about to be recorded, on a submission that closes these issues."""
        ...


@dataclass(frozen=True)
class VerdictRecorder:
    """The stores of a verdict, its events, and the lease that permits both."""

    ledger: Ledger
    archive: Archive
    events: EvaluationEvents
    lease: Lease
    publishing: EventPublishing | None = EventPublishing()
    """None: no events, so no figure counts it."""
    submissions: SubmissionWatch | None = None
    """None on a laptop."""

    def begin(self, pull: PullRef, started: EvaluationStarted, dossier: Dossier) -> bool:
        """Publish that this evaluation starts, and watch what it depends on until it ends.

        False: it does not start, since something that was read is stale.
        """
        proposed = dossier.pull_request
        if self.submissions is not None and not self.submissions.begin_submission(
            pull, proposed.author, hash_base(proposed.base_ref), _closed_issues(dossier)
        ):
            return False
        if self.publishing is not None:
            self.events.record_started(pull, self.lease.fence, started)
        return True

    def end_without_verdict(
        self, pull: PullRef, started: EvaluationStarted, mode: FailureMode, message: str, cost_usd: str
    ) -> None:
        """Publish that it ended without a verdict, with its cost."""
        if self.publishing is not None:
            self.events.record_ended(pull, failed_event(started, mode, message, cost_usd))


def record(pull: PullRef, evaluated: EvaluatedVerdict, dossier: Dossier, recorder: "VerdictRecorder") -> LedgerEntry:
    """Append the verdict, its opinions and a verdict on each CI check to the ledger in one write, after archiving the dossier.

    Raises LeaseLost.
    """
    entry = ledger_entry(evaluated.verdict, dossier, recorder.lease.fence)
    recorder.lease.renew()
    recorder.archive.store(pull, entry, dossier, evaluated.audit)
    if recorder.submissions is not None:
        recorder.submissions.add_verdict(pull, entry, _closed_issues(dossier))
    opinions = tuple(_opinion_entries(evaluated, dossier, entry.fence))
    for child, opinion in opinions:
        recorder.archive.store(pull, child, dossier, opinion.audit)
    beside = [_child_events(child, opinion, recorder.publishing) for child, opinion in opinions]
    if (
        recorder.submissions is not None
        and recorder.publishing is not None
        and dossier.ci is not None
        and dossier.ci.checks
    ):
        beside += _ci_check_entries(entry, dossier.ci, recorder.publishing)
    entry = _with_children(entry, beside)
    whole = replace(evaluated, verdict=entry.verdict)
    events = verdict_events(whole, dossier.case_error, recorder.publishing) if recorder.publishing else ()
    recorder.ledger.append(pull, entry, events, beside)
    return entry


def _with_children(entry: LedgerEntry, beside: Sequence[EntryWithEvents]) -> LedgerEntry:
    """The entry with the ids of its own children; those of the verdict that it carries over are dropped."""
    signals = {name: value for name, value in entry.verdict.signals.items() if name != CHILDREN}
    if beside:
        signals[CHILDREN] = tuple(child.eval_id for child, _ in beside)
    return entry.model_copy(update={"verdict": entry.verdict.model_copy(update={"signals": signals})})


def _opinion_entries(
    evaluated: EvaluatedVerdict, dossier: Dossier, fence: int
) -> Iterator[tuple[LedgerEntry, EvaluatedVerdict]]:
    """Each opinion behind this verdict with its entry."""
    for opinion in evaluated.opinions:
        yield ledger_entry(opinion.verdict, dossier, fence), opinion
        yield from _opinion_entries(opinion, dossier, fence)


def _child_events(
    entry: LedgerEntry, evaluated: EvaluatedVerdict, publishing: EventPublishing | None
) -> EntryWithEvents:
    """A child entry with the events of its whole evaluation."""
    if publishing is None:
        return entry, ()
    return entry, (
        started_event(evaluation_started(evaluated.verdict, publishing)),
        *verdict_events(evaluated, None, publishing),
    )


def _closed_issues(dossier: Dossier) -> tuple[tuple[str, int], ...]:
    return tuple((issue.repository or dossier.pull_request.repository, issue.number) for issue in dossier.issues)


def _ci_check_entries(entry: LedgerEntry, ci: Ci, publishing: EventPublishing) -> Iterator[EntryWithEvents]:
    """An entry per CI check of the head, beside its verdict and from the same dossier."""
    from worker.judge.outcome_scores import ci_check_verdicts  # noqa: PLC0415 - a laptop needs none of it
    from worker.judge.rubric import load_ci_check_rubric  # noqa: PLC0415
    from worker.scheduling.outcomes import derived_entry, whole_evaluation_events  # noqa: PLC0415

    for child_verdict in ci_check_verdicts(entry.verdict, ci.checks, load_ci_check_rubric()):
        child = derived_entry(entry, child_verdict.verdict)
        yield child, whole_evaluation_events(child, publishing.trigger, child_verdict.part)


@dataclass(frozen=True)
class VerdictStores:
    """The stores of a re-evaluation."""

    ledger: Ledger
    archive: Archive


def record_beside(
    parent: LedgerEntry,
    evaluated: EvaluatedVerdict,
    dossier: Dossier,
    stores: VerdictStores,
    publishing: EventPublishing,
) -> LedgerEntry:
    """Record a re-evaluation beside its parent verdict. Raises LeaseLost if that is gone."""
    subject = parent.verdict.subject
    pull = PullRef(installation_id=subject.installation_id, repository_id=subject.repository_id, number=subject.number)
    entry = ledger_entry(evaluated.verdict, dossier, parent.fence)
    stores.archive.store(pull, entry, dossier, evaluated.audit)
    opinions = tuple(_opinion_entries(evaluated, dossier, entry.fence))
    children = [_child_events(child, opinion, publishing) for child, opinion in opinions]
    entry = _with_children(entry, children)
    stores.ledger.append(pull, *_child_events(entry, replace(evaluated, verdict=entry.verdict), publishing), children)
    for child, opinion in opinions:  # beside what is on record
        stores.archive.store(pull, child, dossier, opinion.audit)
    return entry


def verdict_events(
    evaluated: EvaluatedVerdict, case_error: str | None, publishing: EventPublishing
) -> tuple[Event, ...]:
    """The events of a verdict: its end, then the problems on the way."""
    text = publishing.redact(evaluated.verdict.concern) if publishing.redact else ""
    return (
        terminal_event(evaluated.verdict, publishing.trigger, opinion_text=text),
        *problem_events(evaluated, case_error),
    )


def evaluation_started(verdict: Accept | Reject | Abstain, publishing: EventPublishing) -> EvaluationStarted:
    """The start of the evaluation behind this verdict."""
    who = verdict.judge_kind
    return EvaluationStarted(
        verdict.eval_id, verdict.subject, verdict.rubric_id, verdict.rubric_version, who, publishing.trigger
    )


def ledger_entry(verdict: Accept | Reject | Abstain, dossier: Dossier, fence: int) -> LedgerEntry:
    """The ledger entry of a verdict, with the change as hashes and counts instead of text."""
    text, diff = author_text(dossier), diff_or_empty(dossier.diff)
    return LedgerEntry(
        eval_id=verdict.eval_id,
        created_at=verdict.created_at,
        round=verdict.round,
        fence=fence,
        head_sha=verdict.subject.head_sha,
        fingerprint=verdict.fingerprint,
        pushed_at=dossier.pull_request.pushed_at,
        diff_summary=summarize_diff(diff),
        changed_lines=hash_changed_lines(diff),
        case=text.case,
        description=text.description,
        links=text.links,
        verdict=verdict,
        open_conditions=tuple(
            condition for condition in verdict.closing_conditions if condition.state is ConditionState.OPEN
        ),
    )


def summarize_diff(diff: Diff) -> str:
    """`3 files, +40 -2`."""
    added = sum(len(file.added_lines) for file in diff.files)
    removed = sum(len(file.removed_lines) for file in diff.files)
    files = len(diff.files)
    return f"{files} {'file' if files == 1 else 'files'}, +{added} -{removed}"


@dataclass(frozen=True)
class PreviousDossier:
    """The dossier of the newest verdict on a pull request itself."""

    ledger: Ledger
    dossiers: DossierLookup

    def __call__(self, pull: PullRef) -> Dossier | None:
        own = (entry.eval_id for entry in reversed(self.ledger.entries(pull)) if entry.verdict.parent_eval_id is None)
        newest = next(own, None)
        try:
            return self.dossiers.find(newest) if newest else None
        except (Unreadable, ValidationError):
            return None
