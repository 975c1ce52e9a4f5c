"""Derive verdicts on CI checks and whole pull requests again by other weights. Code alone derives them from others.

Only what was known at the time of the verdict counts, so that the answer differs by its law alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, cast

from worker.domain.dossier import Dossier
from worker.domain.model import EvalId, eval_id_after
from worker.domain.verdict.audit import DIGEST_SIGNAL
from worker.domain.verdict.events import subject_id
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.outcomes import CiCheckRubric, Outcome, PullRequestRubric
from worker.domain.verdict.verdict import Abstain, Accept, Reject, SubjectKind
from worker.judge.outcome_scores import CheckVerdict, ci_check_verdicts, pull_request_verdict
from worker.judge.rubric import load_ci_check_rubric, load_pull_request_rubric

SCORED_KINDS: Final = frozenset({SubjectKind.CI_CHECK, SubjectKind.PULL_REQUEST})
"""Subjects whose verdicts code derives from others, without a model."""

CHILDREN_SIGNAL: Final = "child_eval_ids"
SUBMISSIONS_SIGNAL: Final = "submissions"
OUTCOMES_SIGNAL: Final = "outcomes"


def load_scoring_rubric(kind: SubjectKind, path: Path | None = None) -> CiCheckRubric | PullRequestRubric:
    """The weights for verdicts of a kind in SCORED_KINDS; without *path* the ones that ship. Raises InputError."""
    return load_ci_check_rubric(path) if kind is SubjectKind.CI_CHECK else load_pull_request_rubric(path)


def find_entry(entries: Sequence[LedgerEntry], eval_id: EvalId | None) -> LedgerEntry | None:
    """The entry of this evaluation."""
    return next((entry for entry in entries if entry.eval_id == eval_id), None)


@dataclass(frozen=True)
class Rescoring:
    """What is derived again, when and by which law. *entry*: the verdict that is answered.

    *entries*: the ledger of its pull request. *rejudged*: the answers to some of them by the law that is tried.
    """

    entry: LedgerEntry
    entries: Sequence[LedgerEntry]
    rejudged: Mapping[EvalId, LedgerEntry]
    judge_digest: str
    now: datetime

    def submission(self) -> LedgerEntry | None:
        """The verdict that a check's verdict was made beside."""
        return find_entry(self.entries, self.entry.verdict.parent_eval_id)

    def rescore_check(self, recorded_as: str, dossier: Dossier, rubric: CiCheckRubric) -> CheckVerdict | None:
        """The verdict on the check that events name *recorded_as*; None: the dossier has no such check."""
        beside = self.submission()
        if beside is None or dossier.ci is None:
            return None
        judged = self.rejudged.get(beside.eval_id, beside).verdict
        for check in dossier.ci.checks:
            [made] = ci_check_verdicts(judged, [check], rubric)
            if subject_id(made.verdict.subject, made.part) == recorded_as:
                return CheckVerdict(made.part, self._as_answer(made.verdict))
        return None

    def rescore_pull_request(
        self, outcomes: Sequence[Outcome], rubric: PullRequestRubric
    ) -> Accept | Reject | Abstain | None:
        """The verdict on the pull request; None: not all that it was derived from is kept."""
        signals = self.entry.verdict.signals
        listed = frozenset(cast("tuple[EvalId, ...]", signals.get(CHILDREN_SIGNAL, ())))
        counted = cast("int", signals.get(OUTCOMES_SIGNAL, 0))
        if not listed or not listed <= {entry.eval_id for entry in self.entries} or len(outcomes) < counted:
            return None
        entries = tuple(self._listed_entries(listed))
        verdict = pull_request_verdict(self.entry.eval_id, self.now, entries, outcomes[:counted], rubric)
        return self._as_answer(verdict)

    def _listed_entries(self, listed: frozenset[EvalId]) -> Iterator[LedgerEntry]:
        """What the verdict was derived from, in its order: of each head the verdict that it lists, or the answer to that.

        Other verdicts on these heads count, as people may have reacted to them. It lists the last fifty: all before count.
        """
        heads = {entry.head_sha for entry in self.entries if entry.eval_id in listed}
        submissions = cast("int", self.entry.verdict.signals.get(SUBMISSIONS_SIGNAL, 0))
        first = min(listed) if submissions > len(listed) else ""
        for entry in self.entries:
            if entry.eval_id not in listed and (entry.head_sha in heads or entry.eval_id < first):
                yield entry
        for entry in self.entries:
            if entry.eval_id in listed:
                yield entry
                if (answer := self.rejudged.get(entry.eval_id)) is not None:  # in the place of what it answers
                    yield answer.model_copy(
                        update={"verdict": answer.verdict.model_copy(update={"parent_eval_id": None})}
                    )

    def _as_answer(self, made: Accept | Reject | Abstain) -> Accept | Reject | Abstain:
        return made.model_copy(
            update={
                "eval_id": eval_id_after(self.now, (entry.eval_id for entry in self.entries)),
                "parent_eval_id": self.entry.eval_id,
                "created_at": self.now,
                "signals": {**made.signals, DIGEST_SIGNAL: self.judge_digest},
            }
        )
