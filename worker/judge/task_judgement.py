"""Judge the output of a delegated task: PASS, FAIL or UNAVAILABLE for each criterion and in all.

Only an accept is a PASS and only a reject a FAIL; what was not judged is UNAVAILABLE, with the reason.
"""

import hashlib
from collections.abc import Sequence
from decimal import Decimal
from enum import StrEnum
from typing import Final

from worker.domain.dossier import Criterion, Dossier, HeadFile, Policy, PullRequest
from worker.domain.model import Frozen
from worker.domain.verdict.verdict import (
    Abstain,
    AbstainReason,
    CriterionStatus,
    CriterionVerdict,
    EvidencePointer,
    Verdict,
)
from worker.dossier.issues import MOST_CRITERIA, listed_criteria

OUTPUT: Final = "output.txt"
"""The new file that the judge reads the output as."""

EMPTY: Final = "The output is empty."
NOT_ASKED: Final = "No acceptance criteria were given, so nothing was judged."
HEADING: Final = "## Acceptance criteria"

Criteria = str | Sequence[str] | None


class TaskRuling(StrEnum):
    PASS = "PASS"  # noqa: S105 - a ruling, not a password
    FAIL = "FAIL"
    UNAVAILABLE = "UNAVAILABLE"


class CriterionJudgement(Frozen):
    """The judgement on one criterion. `evidence`: lines of the output."""

    id: str
    text: str
    verdict: TaskRuling
    reasoning: str
    evidence: tuple[EvidencePointer, ...] = ()


class TaskJudgement(Frozen):
    """`reason`: why it was not judged; `judged` is False without criteria; `cost_usd` None: unknown."""

    verdict: TaskRuling
    reasoning: str
    criteria: tuple[CriterionJudgement, ...] = ()
    next_step: str | None = None
    reason: AbstainReason | None = None
    judged: bool = True
    cost_usd: Decimal | None = Decimal(0)
    eval_id: str | None = None


def criteria_from(criteria: Criteria) -> tuple[Criterion, ...]:
    """The criteria: the list items of Markdown, else the whole text. Raises ValueError for more than fit one question."""
    if isinstance(criteria, str):
        text = criteria.strip()
        texts = (listed_criteria(f"{HEADING}\n\n{criteria}") or (text,)) if text else ()
    else:
        texts = tuple(text for text in criteria or () if text.strip())
    if len(texts) >= MOST_CRITERIA:
        msg = f"at most {MOST_CRITERIA - 1} criteria can be judged together"
        raise ValueError(msg)
    return tuple(
        Criterion(id=f"AC{number}", text=_escape_surrogates(text)) for number, text in enumerate(texts, start=1)
    )


def dossier_of(output: str, criteria: tuple[Criterion, ...], signals: Sequence[str]) -> Dossier:
    """The output as a change that adds one file. *signals* are about code, so they are switched off."""
    output = _escape_surrogates(output)
    lines = output.removesuffix("\n").split("\n")
    body = "".join(f"+{line}\n" for line in lines)
    end = "" if output.endswith("\n") else "\\ No newline at end of file\n"
    diff = (
        f"diff --git a/{OUTPUT} b/{OUTPUT}\nnew file mode 100644\n--- /dev/null\n+++ b/{OUTPUT}\n"
        f"@@ -0,0 +1,{len(lines)} @@\n{body}{end}"
    )
    asked = "\0".join(f"{criterion.id} {criterion.text}" for criterion in criteria)
    digest = hashlib.sha256(f"{asked}\0\0{output}".encode()).hexdigest()
    return Dossier(
        pull_request=PullRequest(
            repository="delegate/output",
            number=int(digest[:12], 16),
            title="",
            body="",
            author="delegate",
            author_agent=None,
            base_sha="0" * 40,
            head_sha=digest[:40],
        ),
        criteria=criteria,
        case=None,
        diff=diff,
        files=(HeadFile(path=OUTPUT, text=output),),
        policy=Policy(signals=dict.fromkeys(signals, "off")),
    )


def _escape_surrogates(text: str) -> str:
    """Escape half of a surrogate pair, which no file can contain."""
    return text.encode("utf-8", "backslashreplace").decode()


_UNVERIFIABLE: Final = {"status": CriterionStatus.UNVERIFIABLE, "note": "", "evidence": ()}


def judgement_of(verdict: Verdict, criteria: Sequence[Criterion]) -> TaskJudgement:
    """The judgement on an output from the verdict on its dossier. Where only code judged, criteria are unavailable."""
    text_by_id = {criterion.id: criterion.text for criterion in criteria}
    concern, next_step, judged = verdict.concern, verdict.next_step, verdict.criteria
    if isinstance(verdict, Abstain) and not verdict.scores:
        for of_change, of_output in _REWORDINGS:
            concern = concern.replace(of_change, of_output)
        next_step = _ASK_AGAIN.get(verdict.abstain_reason, _LOOK_YOURSELF)
        judged = tuple(criterion.model_copy(update=_UNVERIFIABLE) for criterion in judged)
    return TaskJudgement(
        verdict=_RULINGS[verdict.decision],
        reasoning=concern,
        criteria=tuple(_criterion(criterion, text_by_id[criterion.id]) for criterion in judged),
        next_step=next_step,
        reason=verdict.abstain_reason,
        cost_usd=verdict.judge_cost_usd,
        eval_id=verdict.eval_id,
    )


_RULINGS: Final = {"accept": TaskRuling.PASS, "reject": TaskRuling.FAIL, "abstain": TaskRuling.UNAVAILABLE}


def _criterion(criterion: CriterionVerdict, text: str) -> CriterionJudgement:
    notes = [note for note in (criterion.note, *(pointer.note for pointer in criterion.evidence)) if note]
    return CriterionJudgement(
        id=criterion.id,
        text=text,
        verdict=STATES[criterion.status],
        reasoning=f"{criterion.status}: {'; '.join(notes)}" if notes else criterion.status.value,
        evidence=criterion.evidence,
    )


_REWORDINGS: Final = (
    ("this change", "this output"),
    ("This change", "This output"),
    ("The issue, its criteria and the rules alone", "The criteria alone"),
    ("whether it does what it should", "whether it meets its criteria"),
    ("of this pull request", "of this output under these criteria"),
    ("of this repository's share of today", "of outputs' share of today"),
)
_LOOK_YOURSELF: Final = "Look at the output yourself, or ask again."
_ASK_AGAIN: Final = {
    AbstainReason.JUDGE_UNAVAILABLE: "Ask again when the model can be reached; nothing has to change in the output.",
    AbstainReason.REPLY_INVALID: "Ask again, or look at the output yourself; nothing has to change in it.",
    AbstainReason.BUDGET: "Ask again after midnight UTC, or with a larger ASSAY_DAY_MAX_USD or ASSAY_PR_MAX_USD.",
    AbstainReason.UNPROVEN: "Set ANTHROPIC_API_KEY so that a model can be asked, or look at the output yourself.",
    AbstainReason.PAUSED: "Ask again once judging is no longer paused, or look at the output yourself.",
}
"""Next steps of an output: there is no check to re-run, and no author to wait for."""


STATES: Final = {
    CriterionStatus.MET: TaskRuling.PASS,
    CriterionStatus.PARTIAL: TaskRuling.FAIL,
    CriterionStatus.MISSING: TaskRuling.FAIL,
    CriterionStatus.UNVERIFIABLE: TaskRuling.UNAVAILABLE,
}


def judge_without_criteria() -> TaskJudgement:
    """The judgement without criteria: nothing speaks against the output."""
    return TaskJudgement(verdict=TaskRuling.PASS, reasoning=NOT_ASKED, judged=False)


def judge_empty_output(criteria: Sequence[Criterion]) -> TaskJudgement:
    """The judgement on an empty output, which meets no criterion."""
    missing = (
        CriterionJudgement(id=criterion.id, text=criterion.text, verdict=TaskRuling.FAIL, reasoning=EMPTY)
        for criterion in criteria
    )
    return TaskJudgement(verdict=TaskRuling.FAIL, reasoning=EMPTY, criteria=tuple(missing))


def judge_unavailable(why: str) -> TaskJudgement:
    """The judgement where no model could be asked."""
    reasoning = f"The judge is unavailable: {why}"
    return TaskJudgement(verdict=TaskRuling.UNAVAILABLE, reasoning=reasoning, reason=AbstainReason.JUDGE_UNAVAILABLE)
