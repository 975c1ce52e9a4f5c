"""What follows from a happening: which outcome of which verdict it is, found out in the ledgers.

Does not ask GitHub anything. Invariant: looking into the same happening again tells nothing new, since every outcome has a
name; an outcome is of a pull request that was judged, and says which of its verdicts it is about; and what a verdict on the
whole counts is what was told, whoever told it when.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Protocol, assert_never

from worker.domain.dossier.dossier import Dossier
from worker.domain.ids import EvalId, InstallationId, RepositoryId, Sha
from worker.domain.ports import Clock, Ledger
from worker.domain.request.judge_request import PullRef
from worker.domain.request.pull_request_events import Happened, Happening
from worker.domain.value import Value
from worker.domain.verdict.aftermath import PullRequestRubric
from worker.domain.verdict.events import Begun, EvalTrigger, Event, started, terminal
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.outcomes import Outcome, OutcomeKind
from worker.domain.verdict.verdict import Abstain, Accept, JudgeKind, Reject
from worker.dossier.diff.line_hashes import hash_line
from worker.dossier.diff.parser import DiffError, LineKind, diff_of
from worker.judge.outcome_scores import next_eval_id, pull_request_verdict, submissions_of

TELLING: Final = 8
"""Characters besides white space from which on a line is not to be found just anywhere."""


class Whole(Protocol):
    """A pull request whose verdict on the whole is to be made. `is_anew`: one was made since its last submission."""

    @property
    def pull(self) -> PullRef: ...

    @property
    def is_anew(self) -> bool: ...


class Teller(Protocol):
    """Tells of an outcome once under its name, or of something that people did and that is none."""

    def tell(self, pull: PullRef, name: str, outcome: Outcome | None, *, is_event: bool) -> None: ...


class Book(Teller, Protocol):
    """What is known of outcomes, and of what tells of one (`worker.adapters.redis.outcomes`). All of it may be called twice."""

    def of(self, pull: PullRef) -> tuple[Outcome, ...]: ...

    def pull_of(self, installation: InstallationId, repository: RepositoryId, sha: Sha) -> PullRef | None: ...

    def merged(self, pull: PullRef, merge_sha: Sha | None, lines: Mapping[str, tuple[str, ...]]) -> None: ...

    def lines(self, pull: PullRef) -> dict[str, frozenset[str]] | None: ...

    def earlier_merges(self, pull: PullRef) -> tuple[PullRef, ...]: ...

    def rivals(self, pull: PullRef, issue: str) -> tuple[PullRef, ...]: ...

    def newest_head(self, pull: PullRef) -> Sha | None: ...


class Claims(Protocol):
    """What has come of a pull request, and whose turn it is to weigh it."""

    def of(self, pull: PullRef) -> tuple[Outcome, ...]: ...

    def claim(self, pull: PullRef, eval_id: EvalId, outcomes: int) -> EvalId | None: ...


class Dossiers(Protocol):
    """The way back to what a verdict was made from."""

    def find(self, eval_id: EvalId) -> Dossier | None: ...


class Found(Value):
    """An outcome of a pull request. *about*: the verdict that it is about. *name*: what makes telling it twice tell it once."""

    pull: PullRef
    kind: OutcomeKind
    about: LedgerEntry | None
    name: str


class Follower(Value):
    """Looks into what happened."""

    book: Book
    ledger: Ledger
    dossiers: Dossiers

    def follow(self, happening: Happening) -> None:
        """Tell of every outcome that this happening is."""
        for one in self._found(happening):
            entry = one.about
            outcome = Outcome(
                kind=one.kind,
                eval_id=entry and entry.eval_id,
                head_sha=happening.head_sha or (entry and entry.head_sha),
                at=happening.at,
            )
            self.book.tell(one.pull, told_as(one.pull, one.kind, one.name), outcome, is_event=False)
        if happening.by_person and happening.pull is not None:
            self.book.tell(happening.pull, f"event:{happening.delivery_id}", None, is_event=True)

    def _found(self, happening: Happening) -> Iterator[Found]:
        pull = happening.pull
        match happening.what:
            case Happened.CI_FAILED:
                yield from self._red_later(happening)
            case Happened.REVERTED:
                yield from self._reverted(happening)
            case _ if pull is not None:
                yield from self._of_pull(pull, happening)
            case _:
                return

    def _of_pull(self, pull: PullRef, happening: Happening) -> Iterator[Found]:
        match happening.what:
            case Happened.JUDGED:
                yield from self._swapped(pull, happening)
            case Happened.MERGED:
                yield from self._merged(pull, happening)
            case Happened.CLOSED | Happened.REOPENED | Happened.HELPFUL | Happened.NOT_HELPFUL:
                yield from self._said(pull, happening)
            case Happened.OVERRIDDEN | Happened.OVERRIDDEN_OWN | Happened.CONTESTED:
                yield from self._said(pull, happening)
            case Happened.CONTEST_UPHELD:
                yield from self._upheld(pull, happening)
            case Happened.PUSHED_BY_ANOTHER:
                yield from self._pushed(pull, happening)
            case Happened.ASKED_AGAIN:
                yield from self._asked_again(pull, happening)
            case Happened.SPOKE | Happened.CI_FAILED | Happened.REVERTED:
                return
            case _:
                assert_never(happening.what)

    def _said(self, pull: PullRef, happening: Happening) -> Iterator[Found]:
        """Closed, reopened, helpful, overridden ...: the delivery says all of it. A word is about the head that it was said at."""
        kind = {
            Happened.CLOSED: OutcomeKind.CLOSED_UNMERGED,
            Happened.REOPENED: OutcomeKind.REOPENED,
            Happened.HELPFUL: OutcomeKind.HELPFUL,
            Happened.NOT_HELPFUL: OutcomeKind.NOT_HELPFUL,
            Happened.OVERRIDDEN: OutcomeKind.OVERRIDE,
            Happened.OVERRIDDEN_OWN: OutcomeKind.OWN_OVERRIDE,
            Happened.CONTESTED: OutcomeKind.CONTEST,
        }[happening.what]
        heard = self._heard(pull)
        about = _at(heard, happening.head_sha) or _newest(heard)
        if about is not None:
            yield Found(pull, kind, about, happening.delivery_id)

    def _upheld(self, pull: PullRef, happening: Happening) -> Iterator[Found]:
        """It is about the reject that was contested, not about what came of that."""
        own = [one for one in self.ledger.entries(pull) if one.verdict.parent_eval_id is None]
        about = _at([one for one in own if isinstance(one.verdict, Reject)], happening.head_sha)
        if about is not None:
            yield Found(pull, OutcomeKind.CONTEST_UPHELD, about, about.eval_id)

    def _merged(self, pull: PullRef, happening: Happening) -> Iterator[Found]:
        heard = self._heard(pull)
        about = _at(heard, happening.head_sha) or _newest(heard)
        if about is not None:
            judged = about.changed_lines if about.head_sha == happening.head_sha else {}
            self.book.merged(pull, happening.merge_sha, judged)
            yield Found(pull, OutcomeKind.MERGED, about, "")
        taken_back = [happening.beside(number) for number in happening.reverts]
        for one in taken_back:
            yield from self._taken_back(one)
        if happening.mends and about is not None and about.head_sha == happening.head_sha:
            yield from self._mended(pull, about, taken_back)

    def _mended(self, pull: PullRef, fix: LedgerEntry, taken_back: Sequence[PullRef]) -> Iterator[Found]:
        """Earlier merges, lines of which this fix removes. Needs the dossier of the fix: hashes don't give back a line."""
        dossier = self.dossiers.find(fix.eval_id)
        removed = removed_lines(dossier.diff) if dossier is not None else {}
        if not removed:
            return
        for earlier in self.book.earlier_merges(pull):
            added = self.book.lines(earlier) if earlier not in taken_back else None
            if added and any(hashes & added.get(path, frozenset()) for path, hashes in removed.items()):
                yield Found(earlier, OutcomeKind.LATER_FIX, _newest(self._heard(earlier)), f"{pull.number}")

    def _reverted(self, happening: Happening) -> Iterator[Found]:
        for sha in happening.reverted_shas:
            pull = self.book.pull_of(happening.installation_id, happening.repository_id, sha)
            if pull is not None:
                yield from self._taken_back(pull)

    def _taken_back(self, pull: PullRef) -> Iterator[Found]:
        """A merge can be reverted once: by a push, by GitHub's button, or told of by both."""
        if self.book.lines(pull) is not None:
            yield Found(pull, OutcomeKind.REVERTED, _newest(self._heard(pull)), "")

    def _red_later(self, happening: Happening) -> Iterator[Found]:
        sha = happening.head_sha or ""
        pull = self.book.pull_of(happening.installation_id, happening.repository_id, sha)
        heard = self._heard(pull) if pull is not None else ()
        about = _at(heard, sha) or _newest(heard)
        if pull is not None and about is not None and isinstance(about.verdict, Accept):
            yield Found(pull, OutcomeKind.CI_RED_LATER, about, sha)

    def _pushed(self, pull: PullRef, happening: Happening) -> Iterator[Found]:
        """Somebody else's commit on an agent's branch, upon the one that our verdict is about. It may be told after newer verdicts."""
        before = None if happening.before_sha is None else _at(self._heard(pull), happening.before_sha)
        if before is not None and before.verdict.author_agent is not None:
            yield Found(pull, OutcomeKind.EDIT_FOLLOWUP, before, happening.delivery_id)

    def _asked_again(self, pull: PullRef, happening: Happening) -> Iterator[Found]:
        """A judging is asked for, and there is nothing new to judge."""
        about = _newest(self._heard(pull))
        if about is not None and self.book.newest_head(pull) in (None, about.head_sha):
            yield Found(pull, OutcomeKind.RETRY, about, happening.delivery_id)

    def _swapped(self, pull: PullRef, happening: Happening) -> Iterator[Found]:
        """Others that close the same issue, were judged before, and did not make it."""
        rivals = {one.number for issue in happening.issues for one in self.book.rivals(pull, issue)}
        for rival in map(happening.beside, sorted(rivals)):
            about = _newest(self._heard(rival))
            made_it = any(one.kind is OutcomeKind.MERGED for one in self.book.of(rival))
            if about is not None and not made_it:
                yield Found(rival, OutcomeKind.MANUAL_SWAP, about, f"{pull.number}")

    def _heard(self, pull: PullRef) -> tuple[LedgerEntry, ...]:
        return submissions_of(self.ledger.entries(pull))


class Concluding(Value):
    """Makes verdicts on whole pull requests."""

    ledger: Ledger
    book: Claims
    rubric: PullRequestRubric
    clock: Clock

    def conclude(self, whole: Whole) -> None:
        """Record the verdict on a pull request as it stands now, once for what has come of it. Raises LeaseLost."""
        outcomes, entries = self.book.of(whole.pull), self.ledger.entries(whole.pull)
        submissions, now = submissions_of(entries), self.clock.now()
        if not submissions:
            return
        eval_id = self.book.claim(whole.pull, next_eval_id(now, entries), len(outcomes))
        if eval_id is None:
            return
        verdict = pull_request_verdict(eval_id, now, entries, outcomes, self.rubric)
        trigger = EvalTrigger.FEEDBACK_ARRIVED if whole.is_anew else EvalTrigger.BUS
        made = beside(submissions[-1], verdict)
        self.ledger.append(whole.pull, made, told_whole(made, trigger))


def beside(parent: LedgerEntry, verdict: Accept | Reject | Abstain) -> LedgerEntry:
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


def told_whole(entry: LedgerEntry, trigger: EvalTrigger, part: str = "") -> tuple[Event, Event]:
    """What is told of a verdict that code makes from its parent's: its beginning and its end at once."""
    verdict = entry.verdict
    law = (verdict.rubric_id, verdict.rubric_version)
    begun = Begun(verdict.eval_id, verdict.subject, *law, JudgeKind.HEURISTIC, trigger, part)
    return started(begun), terminal(verdict, trigger, part=part)


def removed_lines(diff: str) -> dict[str, frozenset[str]]:
    """Per path, hashes of the lines that a diff takes away, as the ledger has them of whoever added them."""
    try:
        files = diff_of(diff).files
    except DiffError:
        return {}
    found: dict[str, set[str]] = {}
    for file in files:
        told = {
            hash_line(LineKind.ADDED, line.text) for line in file.removed if len("".join(line.text.split())) >= TELLING
        }
        found.setdefault(file.old_path or file.path, set()).update(told)
    return {path: frozenset(hashes) for path, hashes in found.items() if hashes}


def told_as(pull: PullRef, kind: OutcomeKind, name: str) -> str:
    """Under which name an outcome is told, so that telling it twice tells it once."""
    return f"outcome:{pull.repository_id}/{pull.number}:{kind}:{name}"


def _newest(entries: Sequence[LedgerEntry]) -> LedgerEntry | None:
    return entries[-1] if entries else None


def _at(entries: Sequence[LedgerEntry], sha: Sha | None) -> LedgerEntry | None:
    return next((one for one in reversed(entries) if one.head_sha == sha), None)
