"""Record outcomes: what events of a pull request, and reactions to Assay's comment, mean for which of its verdicts.

An outcome belongs to a judged pull request and names the verdict that it is about. Each has a name, so that recording an event again
publishes nothing new. GitHub is asked for reactions only, once per closed pull request with a comment, since it sends no event for them.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Protocol, assert_never

from worker.domain.check.author_comment import submission_entries
from worker.domain.github_events import PullRequestEvent, PullRequestEventKind
from worker.domain.judge_request import PullRef
from worker.domain.lifecycle.work import DuePullRequest
from worker.domain.model import EvalId, InstallationId, RepositoryId, RepositoryName, Sha
from worker.domain.ports import Clock, CommentRecords, DossierLookup, Ledger
from worker.domain.verdict.events import (
    CLOSING_KINDS,
    THUMB_OUTCOMES,
    EvalTrigger,
    EvaluationStarted,
    Event,
    Outcome,
    OutcomeKind,
    PullRequestRubric,
    Reaction,
    last_thumbs,
    started_event,
    terminal_event,
)
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import Abstain, Accept, JudgeKind, Reject
from worker.dossier.diff import LineKind, diff_or_empty, hash_line
from worker.errors import Forbidden, SubjectGone
from worker.judge.outcome_scores import next_eval_id, pull_request_verdict, submissions_of

LOG: Final = logging.getLogger(__name__)
SECOND: Final = timedelta(seconds=1)
"""The resolution of GitHub's times."""

MIN_LINE_LENGTH: Final = 8
"""Characters besides white space of a line that is unlikely to occur elsewhere."""


STATED_OUTCOMES: Final = {
    PullRequestEventKind.CLOSED: OutcomeKind.CLOSED_UNMERGED,
    PullRequestEventKind.REOPENED: OutcomeKind.REOPENED,
    PullRequestEventKind.HELPFUL: OutcomeKind.HELPFUL,
    PullRequestEventKind.NOT_HELPFUL: OutcomeKind.NOT_HELPFUL,
    PullRequestEventKind.OVERRIDDEN: OutcomeKind.OVERRIDE,
    PullRequestEventKind.OVERRIDDEN_OWN: OutcomeKind.OWN_OVERRIDE,
    PullRequestEventKind.CONTESTED: OutcomeKind.CONTEST,
}


class OutcomePublisher(Protocol):
    """Publishes an outcome once under its name, or an event of people that is none."""

    def publish(self, pull: PullRef, name: str, outcome: Outcome | None, *, is_event: bool) -> None: ...


class OutcomeStore(OutcomePublisher, Protocol):
    """Outcomes and what they are found by (`worker.adapters.redis.outcomes`). Idempotent."""

    def outcomes_of(self, pull: PullRef) -> tuple[Outcome, ...]: ...

    def pull_of(self, installation: InstallationId, repository: RepositoryId, sha: Sha) -> PullRef | None: ...

    def add_merge(self, pull: PullRef, merge_sha: Sha | None, lines: Mapping[str, tuple[str, ...]]) -> None: ...

    def merged_lines(self, pull: PullRef) -> dict[str, frozenset[str]] | None: ...

    def earlier_merges(self, pull: PullRef) -> tuple[PullRef, ...]: ...

    def competing_pulls(self, pull: PullRef, issue: str) -> tuple[PullRef, ...]: ...

    def newest_head(self, pull: PullRef) -> Sha | None: ...


class OutcomeClaims(Protocol):
    """The outcomes of a pull request, and claims on its overall verdict."""

    def outcomes_of(self, pull: PullRef) -> tuple[Outcome, ...]: ...

    def claim(self, pull: PullRef, eval_id: EvalId, outcomes: int) -> EvalId | None: ...


@dataclass(frozen=True)
class FoundOutcome:
    """An outcome of a pull request. *entry*: the verdict that it is about. *name*: its idempotency key."""

    pull: PullRef
    kind: OutcomeKind
    entry: LedgerEntry | None
    name: str


@dataclass(frozen=True)
class OutcomeRecorder:
    """Records the outcomes of events."""

    store: OutcomeStore
    ledger: Ledger
    dossiers: DossierLookup

    def record(self, event: PullRequestEvent) -> None:
        """Publish every outcome of an event."""
        for found_outcome in self._outcomes(event):
            entry = found_outcome.entry
            outcome = Outcome(
                kind=found_outcome.kind,
                eval_id=entry and entry.eval_id,
                head_sha=event.head_sha or (entry and entry.head_sha),
                at=event.at,
            )
            self.store.publish(
                found_outcome.pull,
                outcome_name(found_outcome.pull, found_outcome.kind, found_outcome.name),
                outcome,
                is_event=False,
            )
        if event.by_person and event.pull is not None:
            self.store.publish(event.pull, f"event:{event.delivery_id}", None, is_event=True)

    def _outcomes(self, event: PullRequestEvent) -> Iterator[FoundOutcome]:
        if event.what is PullRequestEventKind.CI_FAILED:
            return self._ci_failure(event)
        if event.what is PullRequestEventKind.REVERTED:
            return self._reverts(event)
        return iter(()) if event.pull is None else self._outcomes_of_pull(event.pull, event)

    def _outcomes_of_pull(self, pull: PullRef, event: PullRequestEvent) -> Iterator[FoundOutcome]:
        match event.what:
            case PullRequestEventKind.JUDGED:
                yield from self._manual_swaps(pull, event)
            case PullRequestEventKind.MERGED:
                yield from self._merge(pull, event)
            case (
                PullRequestEventKind.CLOSED
                | PullRequestEventKind.REOPENED
                | PullRequestEventKind.HELPFUL
                | PullRequestEventKind.NOT_HELPFUL
                | PullRequestEventKind.OVERRIDDEN
                | PullRequestEventKind.OVERRIDDEN_OWN
                | PullRequestEventKind.CONTESTED
            ):
                yield from self._find_stated_outcomes(pull, event)
            case PullRequestEventKind.CONTEST_UPHELD:
                yield from self._upheld_contest(pull, event)
            case PullRequestEventKind.PUSHED_BY_ANOTHER:  # it may be reported after newer verdicts
                before = None if event.before_sha is None else _entry_at(self._submissions(pull), event.before_sha)
                if before is not None and before.verdict.author_agent is not None:
                    yield FoundOutcome(pull, OutcomeKind.EDIT_FOLLOWUP, before, event.delivery_id)
            case PullRequestEventKind.ASKED_AGAIN:
                entry = _newest(self._submissions(pull))
                if entry is not None and self.store.newest_head(pull) in (None, entry.head_sha):
                    yield FoundOutcome(pull, OutcomeKind.RETRY, entry, event.delivery_id)
            case PullRequestEventKind.SPOKE | PullRequestEventKind.CI_FAILED | PullRequestEventKind.REVERTED:
                return
            case _:
                assert_never(event.what)

    def _find_stated_outcomes(self, pull: PullRef, event: PullRequestEvent) -> Iterator[FoundOutcome]:
        """An outcome that the delivery states, about the head that it names: closed, reopened, helpful, overridden."""
        submissions = self._submissions(pull)
        entry = _entry_at(submissions, event.head_sha) or _newest(submissions)
        if entry is not None:
            yield FoundOutcome(pull, STATED_OUTCOMES[event.what], entry, event.delivery_id)

    def _upheld_contest(self, pull: PullRef, event: PullRequestEvent) -> Iterator[FoundOutcome]:
        """An upheld contest, about the contested reject instead of its successor."""
        own = [entry for entry in self.ledger.entries(pull) if entry.verdict.parent_eval_id is None]
        about = _entry_at([entry for entry in own if isinstance(entry.verdict, Reject)], event.head_sha)
        if about is not None:
            yield FoundOutcome(pull, OutcomeKind.CONTEST_UPHELD, about, about.eval_id)

    def _merge(self, pull: PullRef, event: PullRequestEvent) -> Iterator[FoundOutcome]:
        submissions = self._submissions(pull)
        entry = _entry_at(submissions, event.head_sha) or _newest(submissions)
        if entry is not None:
            judged = entry.changed_lines if entry.head_sha == event.head_sha else {}
            self.store.add_merge(pull, event.merge_sha, judged)
            yield FoundOutcome(pull, OutcomeKind.MERGED, entry, "")
        taken_back = [event.pull_with_number(number) for number in event.reverts]
        for reverted in taken_back:
            yield from self._revert(reverted)
        if event.mends and entry is not None and entry.head_sha == event.head_sha:
            yield from self._later_fixes(pull, entry, taken_back)

    def _later_fixes(self, pull: PullRef, fix: LedgerEntry, taken_back: Sequence[PullRef]) -> Iterator[FoundOutcome]:
        """Earlier merges whose lines this fix removes. Needs the dossier of the fix, since the ledger holds hashes only."""
        dossier = self.dossiers.find(fix.eval_id)
        removed = removed_lines(dossier.diff) if dossier is not None else {}
        if not removed:
            return
        for earlier in self.store.earlier_merges(pull):
            added = self.store.merged_lines(earlier) if earlier not in taken_back else None
            if added and any(hashes & added.get(path, frozenset()) for path, hashes in removed.items()):
                yield FoundOutcome(
                    earlier, OutcomeKind.LATER_FIX, _newest(self._submissions(earlier)), f"{pull.number}"
                )

    def _reverts(self, event: PullRequestEvent) -> Iterator[FoundOutcome]:
        for sha in event.reverted_shas:
            pull = self.store.pull_of(event.installation_id, event.repository_id, sha)
            if pull is not None:
                yield from self._revert(pull)

    def _revert(self, pull: PullRef) -> Iterator[FoundOutcome]:
        """A revert of a merge, once, whether a push or GitHub's button reports it."""
        if self.store.merged_lines(pull) is not None:
            yield FoundOutcome(pull, OutcomeKind.REVERTED, _newest(self._submissions(pull)), "")

    def _ci_failure(self, event: PullRequestEvent) -> Iterator[FoundOutcome]:
        sha = event.head_sha or ""
        pull = self.store.pull_of(event.installation_id, event.repository_id, sha)
        submissions = self._submissions(pull) if pull is not None else ()
        entry = _entry_at(submissions, sha) or _newest(submissions)
        if pull is not None and entry is not None and isinstance(entry.verdict, Accept):
            yield FoundOutcome(pull, OutcomeKind.CI_RED_LATER, entry, sha)

    def _manual_swaps(self, pull: PullRef, event: PullRequestEvent) -> Iterator[FoundOutcome]:
        """Earlier judged pull requests for the same issue that were not merged."""
        rivals = {rival.number for issue in event.issues for rival in self.store.competing_pulls(pull, issue)}
        for rival in map(event.pull_with_number, sorted(rivals)):
            entry = _newest(self._submissions(rival))
            made_it = any(outcome.kind is OutcomeKind.MERGED for outcome in self.store.outcomes_of(rival))
            if entry is not None and not made_it:
                yield FoundOutcome(rival, OutcomeKind.MANUAL_SWAP, entry, f"{pull.number}")

    def _submissions(self, pull: PullRef) -> tuple[LedgerEntry, ...]:
        return submissions_of(self.ledger.entries(pull))


@dataclass(frozen=True)
class WholePullRequestJudge:
    """Makes overall verdicts on pull requests."""

    ledger: Ledger
    claims: OutcomeClaims
    rubric: PullRequestRubric
    clock: Clock

    def judge(self, whole: DuePullRequest) -> None:
        """Record the overall verdict on a pull request, once per number of outcomes. Raises LeaseLost."""
        outcomes, entries = self.claims.outcomes_of(whole.pull), self.ledger.entries(whole.pull)
        submissions, now = submissions_of(entries), self.clock.now()
        if not submissions:
            return
        eval_id = self.claims.claim(whole.pull, next_eval_id(now, entries), len(outcomes))
        if eval_id is None:
            return
        verdict = pull_request_verdict(eval_id, now, entries, outcomes, self.rubric)
        trigger = EvalTrigger.FEEDBACK_ARRIVED if whole.is_reevaluation else EvalTrigger.BUS
        entry = derived_entry(submissions[-1], verdict)
        self.ledger.append(whole.pull, entry, whole_evaluation_events(entry, trigger))


def derived_entry(parent: LedgerEntry, verdict: Accept | Reject | Abstain) -> LedgerEntry:
    """The entry of a verdict that is derived from its parent, without lines and case of its own."""
    return LedgerEntry(
        eval_id=verdict.eval_id,
        created_at=verdict.created_at,
        round=verdict.round,
        fence=parent.fence,
        head_sha=parent.head_sha,
        fingerprint=parent.fingerprint,
        diff_summary=parent.diff_summary,
        verdict=verdict,
    )


def whole_evaluation_events(entry: LedgerEntry, trigger: EvalTrigger, part: str = "") -> tuple[Event, Event]:
    """The start and end events of a verdict that code derives from its parent."""
    verdict = entry.verdict
    rubric = (verdict.rubric_id, verdict.rubric_version)
    started = EvaluationStarted(verdict.eval_id, verdict.subject, *rubric, JudgeKind.HEURISTIC, trigger, part)
    return started_event(started), terminal_event(verdict, trigger, part=part)


def removed_lines(diff: str) -> dict[str, frozenset[str]]:
    """Hashes of the lines that a diff removes, per path, equal to those that the ledger has for added lines."""
    by_path: dict[str, set[str]] = {}
    for file in diff_or_empty(diff).files:
        removed = {
            hash_line(LineKind.ADDED, line.text)
            for line in file.removed_lines
            if len("".join(line.text.split())) >= MIN_LINE_LENGTH
        }
        by_path.setdefault(file.old_path or file.path, set()).update(removed)
    return {path: frozenset(hashes) for path, hashes in by_path.items() if hashes}


def outcome_name(pull: PullRef, kind: OutcomeKind, name: str) -> str:
    """The idempotency key of an outcome."""
    return f"outcome:{pull.repository_id}/{pull.number}:{kind}:{name}"


def _newest(entries: Sequence[LedgerEntry]) -> LedgerEntry | None:
    return entries[-1] if entries else None


def _entry_at(entries: Sequence[LedgerEntry], sha: Sha | None) -> LedgerEntry | None:
    return next((entry for entry in reversed(entries) if entry.head_sha == sha), None)


class CommentReactions(Protocol):
    """The reactions at one comment. Raises as PullSource does."""

    def reactions_to(self, pull: PullRef, repository: RepositoryName, comment_id: int) -> tuple[Reaction, ...]: ...


@dataclass(frozen=True)
class ReactionRecorder:
    """Records the thumbs at Assay's comment once its pull request is closed."""

    reactions: CommentReactions
    notes: CommentRecords
    ledger: Ledger
    publisher: OutcomePublisher

    def record(self, event: PullRequestEvent) -> None:
        """Publish every thumb if this event closed a pull request. Idempotent; raises on GitHub's outages."""
        pull = event.pull
        if pull is None or event.what not in CLOSING_KINDS:
            return
        note = self.notes.find_record(pull)
        entries = submission_entries(self.ledger.entries(pull))
        if note is None or note.comment_id is None or not entries:
            return
        try:
            reactions = self.reactions.reactions_to(pull, entries[-1].verdict.subject.repository, note.comment_id)
        except (Forbidden, SubjectGone) as refused:
            LOG.info("reactions not read: %s", refused, extra={"number": pull.number})
            return
        for thumb in last_thumbs(reactions):  # each is about the verdict in the comment at its time
            shown = (entry for entry in reversed(entries) if entry.created_at < thumb.at + SECOND)
            entry, kind = next(shown, entries[0]), THUMB_OUTCOMES[thumb.content]
            outcome = Outcome(kind=kind, eval_id=entry.eval_id, head_sha=entry.head_sha, at=thumb.at)
            self.publisher.publish(pull, outcome_name(pull, kind, f"reaction-{thumb.id}"), outcome, is_event=False)
