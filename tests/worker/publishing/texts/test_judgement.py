from decimal import Decimal

from inline_snapshot import snapshot

from worker.domain.verdict.verdict import EvidencePointer
from worker.judge.task_judgement import (
    CriterionJudgement,
    TaskJudgement,
    TaskRuling,
    judge_unavailable,
    judge_without_criteria,
)
from worker.publishing.texts.judgement import judgement_report

PLACE = EvidencePointer(path="output.txt", line=1, quote="name,\x1b[31mprice", note="no price")


def test_a_judgement_says_each_criterion_with_its_lines() -> None:
    judgement = TaskJudgement(
        verdict=TaskRuling.FAIL,
        reasoning="The price is missing.\nReally.",
        criteria=(
            CriterionJudgement(
                id="AC1", text="has a price", verdict=TaskRuling.FAIL, reasoning="partial: no price", evidence=(PLACE,)
            ),
            CriterionJudgement(id="AC2", text="has a name", verdict=TaskRuling.PASS, reasoning="met"),
        ),
        next_step="Add the price.",
        cost_usd=Decimal("0.0012"),
        eval_id="e1",
    )
    assert judgement_report(judgement) == snapshot("""\
FAIL: The price is missing. Really.
  FAIL        AC1  has a price
              partial: no price
              line 1: name,␛[31mprice
  PASS        AC2  has a name
              met
Next step: Add the price.
Cost: $0.0012. More: assay show e1
""")


def test_a_cost_that_is_not_known_is_not_nothing() -> None:
    assert "Cost: not known" in judgement_report(
        TaskJudgement(verdict=TaskRuling.PASS, reasoning="x", cost_usd=None, eval_id="e")
    )


def test_what_nobody_judged_says_why() -> None:
    assert judgement_report(judge_unavailable("status 529")) == snapshot(
        "UNAVAILABLE: The judge is unavailable: status 529\n"
    )
    assert judgement_report(judge_without_criteria()) == snapshot(
        "PASS: No acceptance criteria were given, so nothing was judged.\n"
    )
