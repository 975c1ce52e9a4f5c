"""The heuristic tier is sure only through a fact or a safe change."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from worker.domain.verdict.opinion import CERTAIN_CONFIDENCE, HeuristicOpinion
from worker.domain.verdict.verdict import Category, Finding

FACT = Finding(signal="stub_body", category=Category.HALF_FINISHED, fact=True, path="a.py", line=1)
SUSPICION = FACT.model_copy(update={"fact": False})


@given(st.floats(0, 1), st.booleans(), st.none() | st.just("only comments changed"))
def test_certainty_comes_from_a_fact_or_a_safe_change(confidence: float, has_fact: bool, safe: str | None) -> None:  # noqa: FBT001 - hypothesis draws it
    findings = (SUSPICION, FACT) if has_fact else (SUSPICION,)
    allowed = (confidence < CERTAIN_CONFIDENCE or has_fact or safe is not None) and not (has_fact and safe is not None)
    try:
        opinion = HeuristicOpinion(score=0.5, confidence=confidence, findings=findings, safe=safe, reason="r")
    except ValidationError:
        assert not allowed
    else:
        assert allowed
        assert opinion.facts == ((FACT,) if has_fact else ())


def test_a_fact_and_a_safe_change_exclude_each_other() -> None:
    with pytest.raises(ValidationError, match="not safe"):
        HeuristicOpinion(score=0.1, confidence=0.9, findings=(FACT,), safe="only comments changed", reason="r")
