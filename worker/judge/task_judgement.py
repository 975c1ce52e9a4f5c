"""What a judge says of an output that a task was delegated for: PASS, FAIL or UNAVAILABLE, criterion by criterion.

Does not ask anybody (`worker.wiring.delegate` does). Invariant: nothing but an accept is a PASS and nothing but a reject is a FAIL;
what nobody judged is UNAVAILABLE, and says why.
"""

import hashlib
from collections.abc import Sequence
from decimal import Decimal
from enum import StrEnum
from typing import Final, assert_never

from worker.domain.dossier.dossier import Criterion, Dossier, HeadFile, Policy, PullRequest
from worker.domain.model import Frozen
from worker.domain.verdict.verdict import (
    Abstain,
    AbstainReason,
    Accept,
    CriterionStatus,
    CriterionVerdict,
    EvidencePointer,
    Reject,
    Verdict,
)
from worker.dossier.criteria import MOST_CRITERIA, listed_criteria

OUTPUT: Final = "output.txt"
"""The output, as the judge is shown it: a new file."""

EMPTY: Final = "The output is empty."
NOT_ASKED: Final = "No acceptance criteria were given, so nothing was judged."
HEADING: Final = "## Acceptance criteria"

Criteria = str | Sequence[str] | None


class TaskRuling(StrEnum):
    PASS = "PASS"  # noqa: S105 - a ruling, not a password
    FAIL = "FAIL"
    UNAVAILABLE = "UNAVAILABLE"


class CriterionJudgement(Frozen):
    """One criterion. `evidence`: lines of the output that show it."""

    id: str
    text: str
    verdict: TaskRuling
    reasoning: str
    evidence: tuple[EvidencePointer, ...] = ()


class TaskJudgement(Frozen):
    """`reason`: why it was not judged. `judged`: False where there was nothing to judge by. `cost_usd` None: not known."""

    verdict: TaskRuling
    reasoning: str
    criteria: tuple[CriterionJudgement, ...] = ()
    next_step: str | None = None
    reason: AbstainReason | None = None
    judged: bool = True
    cost_usd: Decimal | None = Decimal(0)
    eval_id: str | None = None


def criteria_from(criteria: Criteria) -> tuple[Criterion, ...]:
    """The criteria: of Markdown its list items, else its paragraphs. Raises ValueError for more than fit one question."""
    texts = (
        (_list_items(criteria) if isinstance(criteria, str) else tuple(text for text in criteria if text.strip()))
        if criteria
        else ()
    )
    if len(texts) >= MOST_CRITERIA:
        msg = f"at most {MOST_CRITERIA - 1} criteria can be judged together"
        raise ValueError(msg)
    return tuple(
        Criterion(id=f"AC{number}", text=_escape_surrogates(text)) for number, text in enumerate(texts, start=1)
    )


def _list_items(markdown: str) -> tuple[str, ...]:
    if not markdown.strip():
        return ()
    return listed_criteria(f"{HEADING}\n\n{markdown}") or (markdown.strip(),)


def dossier_of(output: str, criteria: tuple[Criterion, ...], signals: Sequence[str]) -> Dossier:
    """The output as a change that adds one file. *signals* are about code, so they are switched off."""
    output = _escape_surrogates(output)
    asked = "\0".join(f"{criterion.id} {criterion.text}" for criterion in criteria)
    digest = hashlib.sha256(f"{asked}\0\0{output}".encode()).hexdigest()
    nothing = "0" * 40
    return Dossier(
        pull_request=PullRequest(
            repository="delegate/output",
            number=int(digest[:12], 16),
            title="",
            body="",
            author="delegate",
            author_agent=None,
            base_sha=nothing,
            head_sha=digest[:40],
        ),
        criteria=criteria,
        case=None,
        diff=_added_file(output),
        files=(HeadFile(path=OUTPUT, text=output),),
        policy=Policy(signals=dict.fromkeys(signals, "off")),
    )


def _escape_surrogates(text: str) -> str:
    """Half of a character pair, which no file can hold, as an escape."""
    return text.encode("utf-8", "backslashreplace").decode()


def _added_file(text: str) -> str:
    lines = text.removesuffix("\n").split("\n")
    body = "".join(f"+{line}\n" for line in lines)
    end = "" if text.endswith("\n") else "\\ No newline at end of file\n"
    return (
        f"diff --git a/{OUTPUT} b/{OUTPUT}\nnew file mode 100644\n--- /dev/null\n+++ b/{OUTPUT}\n"
        f"@@ -0,0 +1,{len(lines)} @@\n{body}{end}"
    )


_UNVERIFIABLE: Final = {"status": CriterionStatus.UNVERIFIABLE, "note": "", "evidence": ()}


def judgement_of(verdict: Verdict, criteria: Sequence[Criterion]) -> TaskJudgement:
    """What a verdict on that dossier says of the output. What only code guessed of a criterion says nothing."""
    texts = {criterion.id: criterion.text for criterion in criteria}
    is_unjudged = isinstance(verdict, Abstain) and not verdict.scores
    judged = [
        criterion.model_copy(update=_UNVERIFIABLE) if is_unjudged else criterion for criterion in verdict.criteria
    ]
    return TaskJudgement(
        verdict=_ruling(verdict),
        reasoning=_reword_for_output(verdict.concern) if is_unjudged else verdict.concern,
        criteria=tuple(_criterion(criterion, texts[criterion.id]) for criterion in judged),
        next_step=_ASK_AGAIN.get(verdict.abstain_reason, _LOOK_YOURSELF)
        if is_unjudged and verdict.abstain_reason
        else verdict.next_step,
        reason=verdict.abstain_reason,
        cost_usd=verdict.judge_cost_usd,
        eval_id=verdict.eval_id,
    )


def _reword_for_output(concern: str) -> str:
    """What the court says where nobody judged, of an output: it is no change, and solves no issue."""
    for of_change, of_output in _REWORDINGS:
        concern = concern.replace(of_change, of_output)
    return concern


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
    AbstainReason.PAUSED: "Ask again once judging is not paused any more, or look at the output yourself.",
}
"""What whoever asked may do: there is no check to re-run, and no author to wait for."""


def _ruling(verdict: Verdict) -> TaskRuling:
    match verdict:
        case Accept():
            return TaskRuling.PASS
        case Reject():
            return TaskRuling.FAIL
        case Abstain():
            return TaskRuling.UNAVAILABLE
        case _:
            assert_never(verdict)


STATES: Final = {
    CriterionStatus.MET: TaskRuling.PASS,
    CriterionStatus.PARTIAL: TaskRuling.FAIL,
    CriterionStatus.MISSING: TaskRuling.FAIL,
    CriterionStatus.UNVERIFIABLE: TaskRuling.UNAVAILABLE,
}


def _criterion(criterion: CriterionVerdict, text: str) -> CriterionJudgement:
    notes = [note for note in (criterion.note, *(pointer.note for pointer in criterion.evidence)) if note]
    return CriterionJudgement(
        id=criterion.id,
        text=text,
        verdict=STATES[criterion.status],
        reasoning=f"{criterion.status}: {'; '.join(notes)}" if notes else criterion.status.value,
        evidence=criterion.evidence,
    )


def judge_without_criteria() -> TaskJudgement:
    """Without criteria nobody judges, and nothing stands against the output."""
    return TaskJudgement(verdict=TaskRuling.PASS, reasoning=NOT_ASKED, judged=False)


def judge_empty_output(criteria: Sequence[Criterion]) -> TaskJudgement:
    """An empty output meets nothing; nobody has to be asked."""
    missing = (
        CriterionJudgement(id=criterion.id, text=criterion.text, verdict=TaskRuling.FAIL, reasoning=EMPTY)
        for criterion in criteria
    )
    return TaskJudgement(verdict=TaskRuling.FAIL, reasoning=EMPTY, criteria=tuple(missing))


def judge_unavailable(why: str) -> TaskJudgement:
    """Nobody could be asked: neither a pass nor a fail."""
    reasoning = f"The judge is unavailable: {why}"
    return TaskJudgement(verdict=TaskRuling.UNAVAILABLE, reasoning=reasoning, reason=AbstainReason.JUDGE_UNAVAILABLE)
