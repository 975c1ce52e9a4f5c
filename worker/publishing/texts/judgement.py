"""A judgement of an output as text for a terminal.

Does not print. Invariant: no character of an output or a criterion can move the cursor, change colours or hide text.
"""

from worker.judge.task_judgement import TaskJudgement
from worker.publishing.texts.visible import one_line

UNKNOWN_COST = "not known"


def judgement_report(judgement: TaskJudgement) -> str:
    """The ruling, then each criterion, then what to do and what it cost."""
    lines = [f"{judgement.verdict}: {one_line(judgement.reasoning)}"]
    for criterion in judgement.criteria:
        lines.append(f"  {criterion.verdict:<11} {one_line(criterion.id)}  {one_line(criterion.text)}")
        lines.append(f"              {one_line(criterion.reasoning)}")
        lines += [
            f"              line {pointer.line}: {one_line(pointer.quote or '')}" for pointer in criterion.evidence
        ]
    if judgement.next_step:
        lines.append(f"Next step: {one_line(judgement.next_step)}")
    if judgement.eval_id:
        cost = UNKNOWN_COST if judgement.cost_usd is None else f"${judgement.cost_usd:f}"
        lines.append(f"Cost: {cost}. More: assay show {judgement.eval_id}")
    return "\n".join(lines) + "\n"
