"""Compare two rubrics on recorded changes: by verdicts of one model where both have them, else by code alone, at $0.

No model is asked and nothing is recorded. A change without a dossier is counted as left out.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, Self, cast

from worker.domain.model import EvalId, InstallationId
from worker.domain.verdict.events import EventKind, read_event
from worker.domain.verdict.verdict import AbstainReason, Rubric, SubjectKind, Verdict
from worker.evaluation.recorded_verdicts import (
    OPINION_SIGNAL,
    UNFINISHED_REASONS,
    UNREADABLE_ERRORS,
    RecordedVerdict,
    RecordStore,
    RejudgeSelection,
    Surveyor,
    summarize_decision,
)
from worker.evaluation.rejudge import find_entry, judge_recorded
from worker.evaluation.stats.figures import wilson_interval
from worker.judge.context import JudgeContext
from worker.judge.rubric import load_prompt

OUTCOME_EVENT: Final = EventKind.OUTCOME.encode()


class RubricOpinion(NamedTuple):
    """A verdict by one rubric. `asks`: whether a model would be asked, where there is one."""

    words: str
    decision: str | None
    score: float
    asks: bool
    places: tuple[str, ...] = ()
    concern: str = ""

    @classmethod
    def from_verdict(cls, verdict: Verdict, rubric: Rubric) -> Self:
        sure = cast("float", verdict.signals.get("heuristic_confidence", verdict.confidence))
        asks = verdict.abstain_reason is AbstainReason.UNPROVEN and sure < rubric.escalation_threshold
        places = tuple(pointer.location for pointer in verdict.evidence)
        return cls(summarize_decision(verdict), verdict.decision, verdict.score, asks, places, verdict.concern)


class ComparedChange(NamedTuple):
    """A change by both rubrics. `model` made both verdicts; None: code did, now. `outcomes`: what people did afterwards."""

    name: str
    eval_id: EvalId
    before: RubricOpinion
    now: RubricOpinion
    model: str | None
    outcomes: tuple[str, ...]

    @property
    def is_different(self) -> bool:
        return self.before.words != self.now.words

    @property
    def is_asked_otherwise(self) -> bool:
        return not self.is_different and self.before.asks != self.now.asks


class ShareWithInterval(NamedTuple):
    """How many of how many, with the interval; None for a share of nothing."""

    hits: int
    of: int
    interval: tuple[float, float] | None

    @property
    def text(self) -> str:
        if self.interval is None:
            return "nothing to go by"
        low, high = (f"{100 * end:.0f}" for end in self.interval)
        return f"{self.hits} of {self.of} (95 %: {low} to {high} %)"


class StrengthAgreement(NamedTuple):
    """Of each rubric's verdicts with an outcome of one strength: how many the outcomes bear out."""

    strength: str
    before: ShareWithInterval
    now: ShareWithInterval


@dataclass(frozen=True)
class RubricDifferences:
    """Two rubrics on the same recorded changes. `moved`: with the same decision and another score.

    `by_prompts`: only verdicts of a model that was asked with each of two prompts count.
    """

    before: str
    now: str
    compared: int
    by_record: int
    left_out: int
    changes: tuple[ComparedChange, ...]
    asked: tuple[ComparedChange, ...]
    moved: int
    agreement: tuple[StrengthAgreement, ...]
    unread: int = 0
    by_prompts: bool = False


class RubricIdentity(NamedTuple):
    """What a verdict was made by. `prompt` None: any."""

    rubric_id: str
    rubric_version: str
    prompt: str | None = None

    def is_maker_of(self, verdict: Verdict) -> bool:
        is_asked_so = self.prompt is None or self.prompt == verdict.prompt_version
        return is_asked_so and self[:2] == (verdict.rubric_id, verdict.rubric_version)


def find_common_verdicts(
    verdicts: Iterable[Verdict], before: RubricIdentity, now: RubricIdentity
) -> tuple[Verdict, Verdict] | None:
    """The last verdicts by each that one model has on a head, out of all verdicts on it; None without such a pair.

    Left out are opinions of a panel, which are no verdict of its own, and verdicts that the model did not finish.
    """
    last: dict[tuple[str, RubricIdentity], Verdict] = {}
    for verdict in sorted(verdicts, key=lambda verdict: verdict.eval_id):
        is_finished = verdict.throttled_reason is None and verdict.abstain_reason not in UNFINISHED_REASONS
        if verdict.judge_model is not None and OPINION_SIGNAL not in verdict.signals and is_finished:
            last |= {(verdict.judge_model, law): verdict for law in (before, now) if law.is_maker_of(verdict)}
    for model in sorted({model for model, _ in last}):
        if (model, before) in last and (model, now) in last:
            return last[model, before], last[model, now]
    return None


def count_agreement(
    rows: Iterable[ComparedChange], strengths: Mapping[str, str], bore_out: Callable[[str, str], bool | None]
) -> tuple[StrengthAgreement, ...]:
    """By strength of the outcome. *bore_out*: whether a verdict (its decision) was right, by an outcome."""

    def share(strength: str, which: str) -> ShareWithInterval:
        counts = right[strength, which], judged[strength, which]
        return ShareWithInterval(*counts, wilson_interval(*counts))

    right: Counter[tuple[str, str]] = Counter()
    judged: Counter[tuple[str, str]] = Counter()
    for row in rows:
        for which, side in (("before", row.before), ("now", row.now)):
            for outcome in row.outcomes:
                is_right = bore_out(side.decision or "", outcome) if outcome in strengths else None
                if is_right is not None:
                    judged[strengths[outcome], which] += 1
                    right[strengths[outcome], which] += is_right
    return tuple(
        StrengthAgreement(strength, share(strength, "before"), share(strength, "now"))
        for strength in dict.fromkeys(strengths.values())
    )


class RubricDiff:
    """What the streams and ledgers have for a comparison."""

    def __init__(
        self,
        store: RecordStore,
        wanted: RejudgeSelection,
        rubrics: tuple[Rubric, Rubric],
        prompts: tuple[str, str] | None = None,
    ) -> None:
        """*prompts*: the versions that the models of each side were asked with; then code's verdicts do not count."""
        self._store = store
        self._rubrics = rubrics
        self._counts_code = prompts is None
        self._laws = [
            RubricIdentity(rubric.id, rubric.version, prompt)
            for rubric, prompt in zip(rubrics, prompts or (None, None), strict=True)
        ]
        self._outcomes: dict[tuple[InstallationId, str, str | None], list[str]] = {}
        self.left_out = 0
        surveyor = Surveyor(store, wanted)
        self.survey = surveyor.survey
        for installation, entry in surveyor.read_entries():
            self.survey.add_entry(installation, entry.at_ms, entry.kind, entry.raw)
            if entry.kind == OUTCOME_EVENT:  # what can't be read of other kinds is counted by the survey
                try:
                    body = read_event(EventKind.OUTCOME.value, entry.raw).body
                    subject, eval_id, outcome = body["subject_id"], body.get("eval_id"), body["outcome"]
                except UNREADABLE_ERRORS:
                    subject = eval_id = outcome = None
                if isinstance(subject, str) and isinstance(eval_id, str | None) and isinstance(outcome, str):
                    self._outcomes.setdefault((installation, subject, eval_id), []).append(outcome)
                else:
                    self.survey.unread_count += 1

    def rows(self) -> Iterator[ComparedChange]:
        """Each change whose verdict is not superseded, by both rubrics."""
        for verdict in self.survey.current_verdicts:
            row = self._row(verdict)
            if row is None:
                self.left_out += 1
            else:
                yield row

    def _row(self, verdict: RecordedVerdict) -> ComparedChange | None:
        entries = self._store.ledger.entries(verdict.pull)
        parent = find_entry(entries, verdict.eval_id)
        if parent is None:
            return None
        on_head = [entry.verdict for entry in entries if entry.head_sha == parent.head_sha]
        pair = find_common_verdicts(
            (verdict for verdict in on_head if verdict.subject.kind is SubjectKind.SUBMISSION), *self._laws
        )
        if pair is None and self._counts_code and (dossier := self._store.archive.find(parent.eval_id)) is not None:
            contexts = (JudgeContext(rubric, load_prompt(), 0.0) for rubric in self._rubrics)
            before, now = (judge_recorded(parent, dossier, context).verdict for context in contexts)
            pair = before, now
        if pair is None:
            return None
        before, now = map(RubricOpinion.from_verdict, pair, self._rubrics)
        pull = f"{verdict.repository_id}/{verdict.number}"  # an outcome of a whole pull request names its last verdict
        outcomes = tuple(dict.fromkeys(self._outcomes.get((verdict.installation, pull, verdict.eval_id), [])))
        name = f"{parent.verdict.subject.repository}#{parent.verdict.subject.number}"
        return ComparedChange(name, verdict.eval_id, before, now, pair[0].judge_model, outcomes)
