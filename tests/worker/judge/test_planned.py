"""Who is to judge, as far as that is known before."""

from dataclasses import replace

from tests.worker.judge.courtroom import bench
from tests.worker.judge.making import model_of
from worker.domain.verdict.verdict import JudgeKind
from worker.judge.escalation import Pause


def test_who_is_to_judge_depends_on_the_tier_and_on_whether_anybody_may_be_asked() -> None:
    asked = bench(model_of())
    assert asked.planned_judge is JudgeKind.HYBRID
    assert replace(asked, threshold=2.0).planned_judge is JudgeKind.LLM
    for nobody in (bench(), replace(asked, threshold=0.0), replace(asked, pause=Pause.OPERATOR)):
        assert nobody.planned_judge is JudgeKind.HEURISTIC
