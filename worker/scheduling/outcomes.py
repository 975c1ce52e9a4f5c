"""What follows from a happening: which outcome of which verdict it is, found out in the ledgers.

Does not ask GitHub anything. Invariant: looking into the same happening again tells nothing new, since every outcome has a
name; an outcome is of a pull request that was judged, and says which of its verdicts it is about; and what a verdict on the
whole counts is what was told, whoever told it when.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Final, Protocol, assert_never

from worker.domain.check.author_comment import submission_entries
from worker.domain.dossier.dossier import Dossier
from worker.domain.ids import EvalId, InstallationId, RepositoryId, RepositoryName, Sha
from worker.domain.ports import Clock, CommentRecords, Ledger
from worker.domain.request.judge_request import PullRef
from worker.domain.request.pull_request_events import PullRequestEvent, PullRequestEventKind
from worker.domain.value import Value
from worker.domain.verdict.events import EvalTrigger, EvaluationStarted, Event, started_event, terminal_event
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.outcome_rubric import PullRequestRubric
from worker.domain.verdict.outcomes import Outcome, OutcomeKind
from worker.domain.verdict.reactions import CLOSING_KINDS, THUMB_OUTCOMES, Reaction, last_thumbs
from worker.domain.verdict.verdict import Abstain, Accept, JudgeKind, Reject
from worker.dossier.diff.line_hashes import hash_line
from worker.dossier.diff.parser import DiffError, LineKind, diff_of
from worker.errors import Forbidden, SubjectGone
from worker.judge.outcome_scores import next_eval_id, pull_request_verdict, submissions_of

MIN_LINE_LENGTH: Final = 8
"""Characters besides white space from which on a line is not to be found just anywhere."""


class WholePullRequest(Protocol):
    """A pull request whose verdict on the whole is to be made. `is_reevaluation`: one was made since its last submission."""

    @property
    def pull(self) -> PullRef: ...

    @property
    def is_reevaluation(self) -> bool: ...


class OutcomePublisher(Protocol):
    """Tells of an outcome once under its name, or of something that people did and that is none."""

    def publish(self, pull: PullRef, name: str, outcome: Outcome | None, *, is_event: bool) -> None: ...


class OutcomeStore(OutcomePublisher, Protocol):
    """What is known of outcomes, and of what tells of one (`worker.adapters.redis.outcomes`). All of it may be called twice."""

    def outcomes_of(self, pull: PullRef) -> tuple[Outcome, ...]: ...

    def pull_of(self, installation: InstallationId, repository: RepositoryId, sha: Sha) -> PullRef | None: ...

    def add_merge(self, pull: PullRef, merge_sha: Sha | None, lines: Mapping[str, tuple[str, ...]]) -> None: ...

    def merged_lines(self, pull: PullRef) -> dict[str, frozenset[str]] | None: ...

    def earlier_merges(self, pull: PullRef) -> tuple[PullRef, ...]: ...

    def competing_pulls(self, pull: PullRef, issue: str) -> tuple[PullRef, ...]: ...

    def newest_head(self, pull: PullRef) -> Sha | None: ...


class OutcomeClaims(Protocol):
    """What has come of a pull request, and whose turn it is to weigh it."""

    def outcomes_of(self, pull: PullRef) -> tuple[Outcome, ...]: ...

    def claim(self, pull: PullRef, eval_id: EvalId, outcomes: int) -> EvalId | None: ...


class OutcomeDossiers(Protocol):
    """The way back to what a verdict was made from."""

    def find(self, eval_id: EvalId) -> Dossier | None: ...


class FoundOutcome(Value):
    """An outcome of a pull request. *entry*: the verdict that it is about. *name*: what makes telling it twice tell it once."""

    pull: PullRef
    kind: OutcomeKind
    entry: LedgerEntry | None
    name: str


class OutcomeRecorder(Value):
    """Looks into what happened."""

    store: OutcomeStore
    ledger: Ledger
    dossiers: OutcomeDossiers

    def record(self, event: PullRequestEvent) -> None:
        """Tell of every outcome that this happening is."""
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
        pull = event.pull
        match event.what:
            case PullRequestEventKind.CI_FAILED:
                yield from self._ci_failure(event)
            case PullRequestEventKind.REVERTED:
                yield from self._reverts(event)
            case _ if pull is not None:
                yield from self._outcomes_of_pull(pull, event)
            case _:
                return

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
            ):
                yield from self._stated(pull, event)
            case PullRequestEventKind.OVERRIDDEN | PullRequestEventKind.OVERRIDDEN_OWN | PullRequestEventKind.CONTESTED:
                yield from self._stated(pull, event)
            case PullRequestEventKind.CONTEST_UPHELD:
                yield from self._upheld_contest(pull, event)
            case PullRequestEventKind.PUSHED_BY_ANOTHER:
                yield from self._foreign_push(pull, event)
            case PullRequestEventKind.ASKED_AGAIN:
                yield from self._retry(pull, event)
            case PullRequestEventKind.SPOKE | PullRequestEventKind.CI_FAILED | PullRequestEventKind.REVERTED:
                return
            case _:
                assert_never(event.what)

    def _stated(self, pull: PullRef, event: PullRequestEvent) -> Iterator[FoundOutcome]:
        """Closed, reopened, helpful, overridden ...: the delivery says all of it. A word is about the head that it was said at."""
        kind = {
            PullRequestEventKind.CLOSED: OutcomeKind.CLOSED_UNMERGED,
            PullRequestEventKind.REOPENED: OutcomeKind.REOPENED,
            PullRequestEventKind.HELPFUL: OutcomeKind.HELPFUL,
            PullRequestEventKind.NOT_HELPFUL: OutcomeKind.NOT_HELPFUL,
            PullRequestEventKind.OVERRIDDEN: OutcomeKind.OVERRIDE,
            PullRequestEventKind.OVERRIDDEN_OWN: OutcomeKind.OWN_OVERRIDE,
            PullRequestEventKind.CONTESTED: OutcomeKind.CONTEST,
        }[event.what]
        submissions = self._submissions(pull)
        entry = _entry_at(submissions, event.head_sha) or _newest(submissions)
        if entry is not None:
            yield FoundOutcome(pull, kind, entry, event.delivery_id)

    def _upheld_contest(self, pull: PullRef, event: PullRequestEvent) -> Iterator[FoundOutcome]:
        """It is about the reject that was contested, not about what came of that."""
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
        """Earlier merges, lines of which this fix removes. Needs the dossier of the fix: hashes don't give back a line."""
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
        """A merge can be reverted once: by a push, by GitHub's button, or told of by both."""
        if self.store.merged_lines(pull) is not None:
            yield FoundOutcome(pull, OutcomeKind.REVERTED, _newest(self._submissions(pull)), "")

    def _ci_failure(self, event: PullRequestEvent) -> Iterator[FoundOutcome]:
        sha = event.head_sha or ""
        pull = self.store.pull_of(event.installation_id, event.repository_id, sha)
        submissions = self._submissions(pull) if pull is not None else ()
        entry = _entry_at(submissions, sha) or _newest(submissions)
        if pull is not None and entry is not None and isinstance(entry.verdict, Accept):
            yield FoundOutcome(pull, OutcomeKind.CI_RED_LATER, entry, sha)

    def _foreign_push(self, pull: PullRef, event: PullRequestEvent) -> Iterator[FoundOutcome]:
        """Somebody else's commit on an agent's branch, upon the one that our verdict is about. It may be told after newer verdicts."""
        before = None if event.before_sha is None else _entry_at(self._submissions(pull), event.before_sha)
        if before is not None and before.verdict.author_agent is not None:
            yield FoundOutcome(pull, OutcomeKind.EDIT_FOLLOWUP, before, event.delivery_id)

    def _retry(self, pull: PullRef, event: PullRequestEvent) -> Iterator[FoundOutcome]:
        """A judging is asked for, and there is nothing new to judge."""
        entry = _newest(self._submissions(pull))
        if entry is not None and self.store.newest_head(pull) in (None, entry.head_sha):
            yield FoundOutcome(pull, OutcomeKind.RETRY, entry, event.delivery_id)

    def _manual_swaps(self, pull: PullRef, event: PullRequestEvent) -> Iterator[FoundOutcome]:
        """Others that close the same issue, were judged before, and did not make it."""
        rivals = {rival.number for issue in event.issues for rival in self.store.competing_pulls(pull, issue)}
        for rival in map(event.pull_with_number, sorted(rivals)):
            entry = _newest(self._submissions(rival))
            made_it = any(outcome.kind is OutcomeKind.MERGED for outcome in self.store.outcomes_of(rival))
            if entry is not None and not made_it:
                yield FoundOutcome(rival, OutcomeKind.MANUAL_SWAP, entry, f"{pull.number}")

    def _submissions(self, pull: PullRef) -> tuple[LedgerEntry, ...]:
        return submissions_of(self.ledger.entries(pull))


class WholePullRequestJudge(Value):
    """Makes verdicts on whole pull requests."""

    ledger: Ledger
    claims: OutcomeClaims
    rubric: PullRequestRubric
    clock: Clock

    def judge(self, whole: WholePullRequest) -> None:
        """Record the verdict on a pull request as it stands now, once for what has come of it. Raises LeaseLost."""
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
    """The entry of a verdict that was made from its parent's: it has no lines and no case of its own."""
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
    """What is told of a verdict that code makes from its parent's: its beginning and its end at once."""
    verdict = entry.verdict
    rubric = (verdict.rubric_id, verdict.rubric_version)
    started = EvaluationStarted(verdict.eval_id, verdict.subject, *rubric, JudgeKind.HEURISTIC, trigger, part)
    return started_event(started), terminal_event(verdict, trigger, part=part)


def removed_lines(diff: str) -> dict[str, frozenset[str]]:
    """Per path, hashes of the lines that a diff takes away, as the ledger has them of whoever added them."""
    try:
        files = diff_of(diff).files
    except DiffError:
        return {}
    by_path: dict[str, set[str]] = {}
    for file in files:
        removed = {
            hash_line(LineKind.ADDED, line.text)
            for line in file.removed_lines
            if len("".join(line.text.split())) >= MIN_LINE_LENGTH
        }
        by_path.setdefault(file.old_path or file.path, set()).update(removed)
    return {path: frozenset(hashes) for path, hashes in by_path.items() if hashes}


def outcome_name(pull: PullRef, kind: OutcomeKind, name: str) -> str:
    """Under which name an outcome is told, so that telling it twice tells it once."""
    return f"outcome:{pull.repository_id}/{pull.number}:{kind}:{name}"


def _newest(entries: Sequence[LedgerEntry]) -> LedgerEntry | None:
    return entries[-1] if entries else None


def _entry_at(entries: Sequence[LedgerEntry], sha: Sha | None) -> LedgerEntry | None:
    return next((entry for entry in reversed(entries) if entry.head_sha == sha), None)


LOG: Final = logging.getLogger(__name__)
SECOND: Final = timedelta(seconds=1)
"""GitHub tells whole ones."""


class CommentReactions(Protocol):
    """The reactions at one comment. Raises as PullSource does."""

    def reactions_to(self, pull: PullRef, repository: RepositoryName, comment_id: int) -> tuple[Reaction, ...]: ...


class ReactionRecorder(Value):
    """Looks at the comment of a pull request that is over."""

    reactions: CommentReactions
    notes: CommentRecords
    ledger: Ledger
    publisher: OutcomePublisher

    def record(self, event: PullRequestEvent) -> None:
        """Tell of every thumb, if this ended a pull request. May be called again; raises what GitHub's outages raise."""
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
            LOG.info("reactions can't be read: %s", refused, extra={"number": pull.number})
            return
        for thumb in last_thumbs(reactions):
            self._publish(pull, thumb, _entry_at_thumb(entries, thumb))

    def _publish(self, pull: PullRef, thumb: Reaction, entry: LedgerEntry) -> None:
        kind = THUMB_OUTCOMES[thumb.content]
        outcome = Outcome(kind=kind, eval_id=entry.eval_id, head_sha=entry.head_sha, at=thumb.at)
        self.publisher.publish(pull, outcome_name(pull, kind, f"reaction-{thumb.id}"), outcome, is_event=False)


def _entry_at_thumb(entries: Sequence[LedgerEntry], thumb: Reaction) -> LedgerEntry:
    """The verdict that the comment told of when the thumb was given."""
    return next((entry for entry in reversed(entries) if entry.created_at < thumb.at + SECOND), entries[0])
