"""Two rubrics held against what is on record: their verdicts where both judged, else code's opinion by each, at $0.

Asks no model and records nothing. Invariant: each recorded change is counted once; what has no dossier any more is counted
as left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.dossier.dossier import Dossier
from worker.domain.ids import InstallationId
from worker.domain.verdict.events import EventKind, read_event
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.rubric import Rubric
from worker.domain.verdict.verdict import Abstain, AbstainReason, Accept, Reject, SubjectKind
from worker.evaluation.differing import Compared, Law, Side, said_by_both
from worker.evaluation.supersession import UNREADABLE, Said, Survey, Wanted
from worker.evaluation.survey import before
from worker.judge.context import Bench
from worker.judge.judge import hear
from worker.judge.replay import docket_beside
from worker.judge.rubric import load_prompt

OUTCOME: Final = EventKind.OUTCOME.encode()
Both = tuple[Accept | Reject | Abstain, Accept | Reject | Abstain]


class Rubrics(NamedTuple):
    """The two, in the order in which they were named."""

    before: Rubric
    now: Rubric


class OnRecord:
    """What the streams tell for a comparison: what stands, what both rubrics said, and what came of the changes."""

    def __init__(self, store: Store, wanted: Wanted, rubrics: Rubrics, prompts: tuple[str, str] | None = None) -> None:
        """*prompts*: the versions of those that A's and B's judges were asked with; then code's word tells nothing."""
        self._store = store
        self._rubrics = rubrics
        self._counts_code = prompts is None
        before_, now = prompts or (None, None)
        self._laws = _law(rubrics.before, before_), _law(rubrics.now, now)
        self._outcomes: dict[tuple[InstallationId, str, str | None], list[str]] = {}
        self.survey = Survey(wanted)
        self.left_out = 0
        listed = wanted.repositories
        mine = store.events.installations() if listed is None else sorted({InstallationId(one) for one, _ in listed})
        for installation in mine:
            self._read(installation, before(wanted.window))

    def rows(self) -> Iterator[Compared]:
        """Each change that stands, by both."""
        for one in self.survey.standing:
            row = self._row(one)
            self.left_out += row is None
            if row is not None:
                yield row

    def _read(self, installation: InstallationId, after: str) -> None:
        for entry in self._store.events.read(installation, after):
            self.survey.see(installation, entry.at_ms, entry.kind, entry.raw)
            if entry.kind != OUTCOME:  # of all others the survey has counted what can't be read
                continue
            try:
                self._note(installation, read_event(EventKind.OUTCOME.value, entry.raw).body)
            except UNREADABLE:
                self.survey.unread += 1

    def _note(self, installation: InstallationId, body: Mapping[str, Any]) -> None:
        subject, eval_id, outcome = body["subject_id"], body.get("eval_id"), body["outcome"]
        if not (isinstance(subject, str) and isinstance(eval_id, str | None) and isinstance(outcome, str)):
            raise ValueError("not an outcome of ours")  # noqa: TRY004 - what any broken entry raises
        self._outcomes.setdefault((installation, subject, eval_id), []).append(outcome)

    def _row(self, one: Said) -> Compared | None:
        entries = self._store.ledger.entries(one.pull)
        parent = next((entry for entry in entries if entry.eval_id == one.eval_id), None)
        if parent is None:
            return None
        pair = self._on_record(parent, entries) or (self._by_code(parent) if self._counts_code else None)
        if pair is None:
            return None
        subject = parent.verdict.subject
        before, now = (_side(*one) for one in zip(pair, self._rubrics, strict=True))
        name = f"{subject.repository}#{subject.number}"
        return Compared(name, one.eval_id, before, now, pair[0].judge_model, self._came_of(one))

    def _on_record(self, parent: LedgerEntry, entries: Sequence[LedgerEntry]) -> Both | None:
        """What a model said of this head by both."""
        of_it = (one.verdict for one in entries if one.head_sha == parent.head_sha)
        return said_by_both((one for one in of_it if one.subject.kind is SubjectKind.SUBMISSION), *self._laws)

    def _by_code(self, parent: LedgerEntry) -> Both | None:
        dossier = self._store.archive.find(parent.eval_id)
        if dossier is None:
            return None
        return by_code(parent, dossier, self._rubrics.before), by_code(parent, dossier, self._rubrics.now)

    def _came_of(self, one: Said) -> tuple[str, ...]:
        """What is said of this verdict, each once; of a pull request as a whole it is said of its last verdict."""
        pull = f"{one.repository}/{one.number}"
        return tuple(dict.fromkeys(self._outcomes.get((one.installation, pull, one.eval_id), [])))


def _law(rubric: Rubric, prompt: str | None) -> Law:
    return Law(rubric.id, rubric.version, prompt)


def by_code(parent: LedgerEntry, dossier: Dossier, rubric: Rubric) -> Accept | Reject | Abstain:
    """What code alone says of a recorded change by this rubric."""
    bench = Bench(rubric, load_prompt(), 0.0)
    return hear(dossier, docket_beside(parent.verdict, dossier, bench, SystemClock()), bench).verdict


def _side(verdict: Accept | Reject | Abstain, rubric: Rubric) -> Side:
    sure = cast("float", verdict.signals.get("heuristic_confidence", verdict.confidence))
    is_open = verdict.abstain_reason is AbstainReason.UNPROVEN
    words = " ".join(filter(None, (verdict.decision, verdict.category, verdict.abstain_reason)))
    asks = is_open and sure < rubric.escalation_threshold
    places = tuple(one.place for one in verdict.evidence)
    return Side(words, verdict.decision, verdict.score, asks, places, verdict.concern)
