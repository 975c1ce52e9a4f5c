"""A verdict that code alone made of others, made again by other weights: on a CI check, on a whole pull request.

Does not record anything, asks nobody and decides nothing about what stands. Invariant: it is made of what was known then, so
that it differs by its law alone: what came later is in a later verdict. It says which verdict it answers, and by what law.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, cast

from worker.domain.dossier.dossier import Dossier
from worker.domain.ids import EvalId, eval_id_after
from worker.domain.value import Value
from worker.domain.verdict.events import subject_id
from worker.domain.verdict.judge_digest import DIGEST_SIGNAL
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.outcome_rubric import CiCheckRubric, PullRequestRubric
from worker.domain.verdict.outcomes import Outcome
from worker.domain.verdict.verdict import Abstain, Accept, Reject, SubjectKind
from worker.judge.ci_checks import CheckVerdict, ci_check_verdicts
from worker.judge.outcome_scores import pull_request_verdict
from worker.judge.rubric import load_ci_check_rubric, load_pull_request_rubric

SCORED_KINDS: Final = frozenset({SubjectKind.CI_CHECK, SubjectKind.PULL_REQUEST})
"""About these no model is asked."""

CHILDREN_SIGNAL: Final = "child_eval_ids"
SUBMISSIONS_SIGNAL: Final = "submissions"
OUTCOMES_SIGNAL: Final = "outcomes"


def load_scoring_rubric(kind: SubjectKind, path: Path | None = None) -> CiCheckRubric | PullRequestRubric:
    """By what verdicts of a kind that is WEIGHED are made; without *path* what ships with Assay. Raises InputError."""
    return load_ci_check_rubric(path) if kind is SubjectKind.CI_CHECK else load_pull_request_rubric(path)


class Rescoring(Value):
    """What is weighed again, at what time, by which law. *entry*: the verdict that is answered.

    *entries*: all that is on record of its pull request. *rejudged*: who answered which of them, by the law that is tried.
    """

    entry: LedgerEntry
    entries: Sequence[LedgerEntry]
    rejudged: Mapping[EvalId, LedgerEntry]
    judge_digest: str
    now: datetime

    def submission(self) -> LedgerEntry | None:
        """The verdict that a check's verdict was made beside."""
        parent = self.entry.verdict.parent_eval_id
        return next((entry for entry in self.entries if entry.eval_id == parent), None)

    def rescore_check(self, told_as: str, dossier: Dossier, rubric: CiCheckRubric) -> CheckVerdict | None:
        """The verdict on the check that is *told_as* this subject; None: the dossier has no such check."""
        beside = self.submission()
        if beside is None or dossier.ci is None:
            return None
        for check in dossier.ci.checks:
            judged = self.rejudged.get(beside.eval_id, beside).verdict
            [made] = ci_check_verdicts(judged, [check], rubric)
            if subject_id(made.verdict.subject, made.part) == told_as:
                return CheckVerdict(made.part, self._as_answer(made.verdict))
        return None

    def rescore_pull_request(
        self, outcomes: Sequence[Outcome], rubric: PullRequestRubric
    ) -> Accept | Reject | Abstain | None:
        """The verdict on the pull request; None: not all that it was made of is kept."""
        signals = self.entry.verdict.signals
        listed = frozenset(cast("tuple[EvalId, ...]", signals.get(CHILDREN_SIGNAL, ())))
        counted = cast("int", signals.get(OUTCOMES_SIGNAL, 0))
        eval_ids = {entry.eval_id for entry in self.entries}
        if not listed or not listed <= eval_ids or len(outcomes) < counted:
            return None
        entries = tuple(self._listed_entries(listed))
        eval_id = self.entry.eval_id
        return self._as_answer(pull_request_verdict(eval_id, self.now, entries, outcomes[:counted], rubric))

    def _listed_entries(self, listed: frozenset[EvalId]) -> Iterator[LedgerEntry]:
        """What it was made of, in its order: of each head the verdict that it lists counts, or the answer to that.

        What else was said about those heads, people may have spoken of. It lists the last fifty: all before them count.
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
                if (answer := self.rejudged.get(entry.eval_id)) is not None:
                    yield _replacement(answer)

    def _as_answer(self, made: Accept | Reject | Abstain) -> Accept | Reject | Abstain:
        eval_ids = (entry.eval_id for entry in self.entries)
        return made.model_copy(
            update={
                "eval_id": eval_id_after(self.now, eval_ids),
                "parent_eval_id": self.entry.eval_id,
                "created_at": self.now,
                "signals": {**made.signals, DIGEST_SIGNAL: self.judge_digest},
            }
        )


def _replacement(answer: LedgerEntry) -> LedgerEntry:
    """An answer in the place of what it answers."""
    return answer.model_copy(update={"verdict": answer.verdict.model_copy(update={"parent_eval_id": None})})
