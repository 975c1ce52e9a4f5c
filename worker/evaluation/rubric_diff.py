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
from worker.evaluation.rubric_comparison import ComparedChange, RubricIdentity, RubricOpinion, find_common_verdicts
from worker.evaluation.supersession import UNREADABLE_ERRORS, RecordedVerdict, RejudgeSelection, VerdictSurvey
from worker.evaluation.survey import last_entry_before
from worker.judge.context import JudgeContext
from worker.judge.judge import judge_with_record
from worker.judge.replay import create_child_header
from worker.judge.rubric import load_prompt

OUTCOME_EVENT: Final = EventKind.OUTCOME.encode()
VerdictPair = tuple[Accept | Reject | Abstain, Accept | Reject | Abstain]


class RubricPair(NamedTuple):
    """The two, in the order in which they were named."""

    before: Rubric
    now: Rubric


class RubricDiff:
    """What the streams tell for a comparison: what stands, what both rubrics said, and what came of the changes."""

    def __init__(
        self, store: Store, wanted: RejudgeSelection, rubrics: RubricPair, prompts: tuple[str, str] | None = None
    ) -> None:
        """*prompts*: the versions of those that A's and B's judges were asked with; then code's word tells nothing."""
        self._store = store
        self._rubrics = rubrics
        self._counts_code = prompts is None
        before_, now = prompts or (None, None)
        self._laws = _rubric_identity(rubrics.before, before_), _rubric_identity(rubrics.now, now)
        self._outcomes: dict[tuple[InstallationId, str, str | None], list[str]] = {}
        self.survey = VerdictSurvey(wanted)
        self.left_out = 0
        listed = wanted.repositories
        mine = (
            store.events.installations()
            if listed is None
            else sorted({InstallationId(installation) for installation, _ in listed})
        )
        for installation in mine:
            self._read(installation, last_entry_before(wanted.window))

    def rows(self) -> Iterator[ComparedChange]:
        """Each change that stands, by both."""
        for verdict in self.survey.standing:
            row = self._row(verdict)
            self.left_out += row is None
            if row is not None:
                yield row

    def _read(self, installation: InstallationId, after: str) -> None:
        for entry in self._store.events.read(installation, after):
            self.survey.add_entry(installation, entry.at_ms, entry.kind, entry.raw)
            if entry.kind != OUTCOME_EVENT:  # of all others the survey has counted what can't be read
                continue
            try:
                self._note_outcome(installation, read_event(EventKind.OUTCOME.value, entry.raw).body)
            except UNREADABLE_ERRORS:
                self.survey.unread_count += 1

    def _note_outcome(self, installation: InstallationId, body: Mapping[str, Any]) -> None:
        subject, eval_id, outcome = body["subject_id"], body.get("eval_id"), body["outcome"]
        if not (isinstance(subject, str) and isinstance(eval_id, str | None) and isinstance(outcome, str)):
            raise ValueError("not an outcome of ours")  # noqa: TRY004 - what any broken entry raises
        self._outcomes.setdefault((installation, subject, eval_id), []).append(outcome)

    def _row(self, verdict: RecordedVerdict) -> ComparedChange | None:
        entries = self._store.ledger.entries(verdict.pull)
        parent = next((entry for entry in entries if entry.eval_id == verdict.eval_id), None)
        if parent is None:
            return None
        pair = self._recorded_pair(parent, entries) or (self._code_pair(parent) if self._counts_code else None)
        if pair is None:
            return None
        subject = parent.verdict.subject
        before, now = (_rubric_opinion(*judged) for judged in zip(pair, self._rubrics, strict=True))
        name = f"{subject.repository}#{subject.number}"
        return ComparedChange(name, verdict.eval_id, before, now, pair[0].judge_model, self._outcomes_of(verdict))

    def _recorded_pair(self, parent: LedgerEntry, entries: Sequence[LedgerEntry]) -> VerdictPair | None:
        """What a model said of this head by both."""
        of_it = (entry.verdict for entry in entries if entry.head_sha == parent.head_sha)
        return find_common_verdicts(
            (verdict for verdict in of_it if verdict.subject.kind is SubjectKind.SUBMISSION), *self._laws
        )

    def _code_pair(self, parent: LedgerEntry) -> VerdictPair | None:
        dossier = self._store.archive.find(parent.eval_id)
        if dossier is None:
            return None
        return judge_by_code(parent, dossier, self._rubrics.before), judge_by_code(parent, dossier, self._rubrics.now)

    def _outcomes_of(self, verdict: RecordedVerdict) -> tuple[str, ...]:
        """What is said of this verdict, each once; of a pull request as a whole it is said of its last verdict."""
        pull = f"{verdict.repository}/{verdict.number}"
        return tuple(dict.fromkeys(self._outcomes.get((verdict.installation, pull, verdict.eval_id), [])))


def _rubric_identity(rubric: Rubric, prompt: str | None) -> RubricIdentity:
    return RubricIdentity(rubric.id, rubric.version, prompt)


def judge_by_code(parent: LedgerEntry, dossier: Dossier, rubric: Rubric) -> Accept | Reject | Abstain:
    """What code alone says of a recorded change by this rubric."""
    bench = JudgeContext(rubric, load_prompt(), 0.0)
    return judge_with_record(dossier, create_child_header(parent.verdict, dossier, bench, SystemClock()), bench).verdict


def _rubric_opinion(verdict: Accept | Reject | Abstain, rubric: Rubric) -> RubricOpinion:
    sure = cast("float", verdict.signals.get("heuristic_confidence", verdict.confidence))
    is_open = verdict.abstain_reason is AbstainReason.UNPROVEN
    summary = " ".join(filter(None, (verdict.decision, verdict.category, verdict.abstain_reason)))
    asks = is_open and sure < rubric.escalation_threshold
    places = tuple(pointer.location for pointer in verdict.evidence)
    return RubricOpinion(summary, verdict.decision, verdict.score, asks, places, verdict.concern)
