"""Verdict -> ledger entry, archived dossier, and the record of how it came about.

Does not decide and does not publish. Invariant: what is written can never be edited, and writing the
same verdict twice leaves one entry.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Protocol

from worker.domain.dossier.author_text import author_text
from worker.domain.dossier.dossier import Ci, Dossier
from worker.domain.ids import BaseMark, base_mark
from worker.domain.ports import Archive, Events, Lease, Ledger, Written
from worker.domain.request.judge_request import PullRef
from worker.domain.value import Value, replace
from worker.domain.verdict.audit import Heard
from worker.domain.verdict.events import Begun, EvalTrigger, Event, FailureMode, failed, started, terminal, troubles
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import Abstain, Accept, ConditionState, Reject
from worker.dossier.diff.line_hashes import hash_changed_lines
from worker.dossier.diff.parser import Diff, DiffError, diff_of
from worker.settings import Settings

CHILDREN: Final = "child_eval_ids"


class Telling(Value):
    """What evaluations came of. `without_secrets`: an opinion's words are told, too, as this leaves them; None: they are not."""

    trigger: EvalTrigger = EvalTrigger.BUS
    without_secrets: Callable[[str], str] | None = None


def telling_of(settings: Settings, trigger: EvalTrigger = EvalTrigger.BUS) -> Telling:
    """What is told of verdicts: their words, too, where the operator asks for it."""
    if not settings.has_event_words:
        return Telling(trigger)
    from worker.judge.llm.fencing import redacted  # noqa: PLC0415 - only where the operator wants the words

    return Telling(trigger, redacted)


class Watch(Protocol):
    """Who looks at what happens to what was judged. Its methods may be called twice, and raise Unavailable."""

    def begins(self, pull: PullRef, author: str, base: BaseMark, issues: tuple[tuple[str, int], ...]) -> bool:
        """A submission is about to be judged by the rules of this base and by these issues: their edits are about it from now on.

        What a model costs for it is its author's.

        False: one came while they were read, and was about nobody.
        """
        ...

    def judged(self, pull: PullRef, entry: LedgerEntry, issues: tuple[tuple[str, int], ...]) -> None:
        """A verdict on a submission, which closes these issues, is about to be recorded."""
        ...


class Keepers(Value):
    """Where a verdict is kept, how it is told of, and the right to do so."""

    ledger: Ledger
    archive: Archive
    events: Events
    lease: Lease
    telling: Telling | None = Telling()
    """None: no figure counts it."""
    watch: Watch | None = None
    """None on a laptop: nobody does anything about its verdicts."""

    def begin(self, pull: PullRef, begun: Begun, dossier: Dossier) -> bool:
        """Tell that this evaluation begins, and have whoever changes what it is judged by heard until it ends.

        False: it does not begin, since what was read may be older than what it is to be judged by.
        """
        proposed = dossier.pull_request
        if self.watch is not None and not self.watch.begins(
            pull, proposed.author, base_mark(proposed.base_ref), _closes(dossier)
        ):
            return False
        if self.telling is not None:
            self.events.begin(pull, self.lease.fence, begun)
        return True

    def give_up(self, pull: PullRef, begun: Begun, mode: FailureMode, message: str, cost_usd: str) -> None:
        """Tell that it comes to nothing, and what it has cost."""
        if self.telling is not None:
            self.events.end(pull, failed(begun, mode, message, cost_usd))


def record(pull: PullRef, heard: Heard, dossier: Dossier, keepers: "Keepers") -> LedgerEntry:
    """Append the verdict to the ledger, with the opinions that led to it and a verdict on each check of its head, all at once.

    What it was made from is kept before. Raises LeaseLost.
    """
    made = entry(heard.verdict, dossier, keepers.lease.fence)
    keepers.lease.keep()
    keepers.archive.keep(pull, made, dossier, heard.audit)
    if keepers.watch is not None:
        keepers.watch.judged(pull, made, _closes(dossier))
    opinions = tuple(_opinions(heard, dossier, made.fence))
    for child, opinion in opinions:
        keepers.archive.keep(pull, child, dossier, opinion.audit)
    beside = [_written(child, opinion, keepers.telling) for child, opinion in opinions]
    if keepers.watch is not None and keepers.telling is not None and dossier.ci is not None and dossier.ci.checks:
        beside += _on_ci_checks(made, dossier.ci, keepers.telling)
    made = _naming(made, beside)
    whole = replace(heard, verdict=made.verdict)
    events = told(whole, dossier.case_error, keepers.telling) if keepers.telling else ()
    keepers.ledger.append(pull, made, events, beside)
    return made


def _naming(made: LedgerEntry, beside: Sequence[Written]) -> LedgerEntry:
    """The entry whose verdict names its children, and nobody else's: one that is carried over has none of the first's."""
    signals = {name: value for name, value in made.verdict.signals.items() if name != CHILDREN}
    if beside:
        signals[CHILDREN] = tuple(child.eval_id for child, _ in beside)
    return made.model_copy(update={"verdict": made.verdict.model_copy(update={"signals": signals})})


def _opinions(heard: Heard, dossier: Dossier, fence: int) -> Iterator[tuple[LedgerEntry, Heard]]:
    """Each that led to this verdict, with its entry."""
    for opinion in heard.opinions:
        yield entry(opinion.verdict, dossier, fence), opinion
        yield from _opinions(opinion, dossier, fence)


def _written(made: LedgerEntry, heard: Heard, telling: Telling | None) -> Written:
    """A verdict beside another one: told from its beginning to its end."""
    if telling is None:
        return made, ()
    return made, (started(begun_of(heard.verdict, telling)), *told(heard, None, telling))


def _closes(dossier: Dossier) -> tuple[tuple[str, int], ...]:
    return tuple((one.repository or dossier.pull_request.repository, one.number) for one in dossier.issues)


def _on_ci_checks(made: LedgerEntry, ci: Ci, telling: Telling) -> Iterator[Written]:
    """Each check of this head beside the verdict on it. They were made from the same dossier: none is kept for them."""
    from worker.judge.ci_checks import ci_check_verdicts  # noqa: PLC0415 - a laptop needs none of it
    from worker.judge.rubric import load_ci_check_rubric  # noqa: PLC0415
    from worker.scheduling.outcomes import beside, told_whole  # noqa: PLC0415

    for one in ci_check_verdicts(made.verdict, ci.checks, load_ci_check_rubric()):
        child = beside(made, one.verdict)
        yield child, told_whole(child, telling.trigger, one.part)


class Shelves(Value):
    """Where a judging anew is kept."""

    ledger: Ledger
    archive: Archive


def record_beside(
    parent: LedgerEntry, heard: Heard, dossier: Dossier, shelves: Shelves, telling: Telling
) -> LedgerEntry:
    """Record a judging anew beside the verdict that it judges again. Raises LeaseLost where that is gone."""
    subject = parent.verdict.subject
    pull = PullRef(installation_id=subject.installation_id, repository_id=subject.repository_id, number=subject.number)
    made = entry(heard.verdict, dossier, parent.fence)
    shelves.archive.keep(pull, made, dossier, heard.audit)
    opinions = tuple(_opinions(heard, dossier, made.fence))
    children = [_written(child, opinion, telling) for child, opinion in opinions]
    made = _naming(made, children)
    shelves.ledger.append(pull, *_written(made, replace(heard, verdict=made.verdict), telling), children)
    for child, opinion in opinions:  # beside what is on record
        shelves.archive.keep(pull, child, dossier, opinion.audit)
    return made


def told(heard: Heard, case_error: str | None, telling: Telling) -> tuple[Event, ...]:
    """What is told of a verdict: its end first, then what could not be read on the way to it."""
    words = telling.without_secrets(heard.verdict.concern) if telling.without_secrets else ""
    return (terminal(heard.verdict, telling.trigger, words=words), *troubles(heard, case_error))


def begun_of(verdict: Accept | Reject | Abstain, telling: Telling) -> Begun:
    """How the evaluation began that led to this verdict."""
    who = verdict.judge_kind
    return Begun(verdict.eval_id, verdict.subject, verdict.rubric_id, verdict.rubric_version, who, telling.trigger)


def entry(verdict: Accept | Reject | Abstain, dossier: Dossier, fence: int) -> LedgerEntry:
    """The ledger entry of a verdict: what was judged as hashes and counts, never as text."""
    diff, text = _diff(dossier), author_text(dossier)
    return LedgerEntry(
        eval_id=verdict.eval_id,
        created_at=verdict.created_at,
        round=verdict.round,
        fence=fence,
        head_sha=verdict.subject.head_sha,
        fingerprint=verdict.fingerprint,
        pushed_at=dossier.pull_request.pushed_at,
        diff_summary=summary(diff),
        changed_lines=hash_changed_lines(diff),
        case=text.case,
        description=text.description,
        links=text.links,
        verdict=verdict,
        open_conditions=tuple(one for one in verdict.closing_conditions if one.state is ConditionState.OPEN),
    )


def summary(diff: Diff) -> str:
    """`3 files, +40 -2`."""
    added = sum(len(file.added) for file in diff.files)
    removed = sum(len(file.removed) for file in diff.files)
    files = len(diff.files)
    return f"{files} {'file' if files == 1 else 'files'}, +{added} -{removed}"


def _diff(dossier: Dossier) -> Diff:
    try:
        return diff_of(dossier.diff)
    except DiffError:  # the court has said so in its verdict; the entry still has to be written
        return Diff(())
