"""Opinions on parts are joined by a fixed rule."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from worker.domain.dossier import Criterion
from worker.domain.opinion import Leaning, ModelOpinion
from worker.domain.verdict import Category, CriterionStatus, CriterionVerdict, EvidencePointer, Score
from worker.judge.packing.joining import joined, of_all, settles

PLACE = EvidencePointer(path="a.py", line=1, quote="x")
OTHER = EvidencePointer(path="b.py", line=2, quote="y")


def opinion(decision: Leaning, score: float = 0.8, **changes: Any) -> ModelOpinion:
    rejects = decision is Leaning.REJECT
    fields = {
        "decision": decision,
        "category": Category.WEAK_TEST if rejects else None,
        "concern": f"{decision} at {score}",
        "evidence": (PLACE,),
        "next_step": None if decision is Leaning.ACCEPT else "Do it.",
        "scores": (Score(criterion="proof", score=5, reasoning="r", improvement="i"),),
        "score": score,
        "confidence": 0.9,
    }
    return ModelOpinion.model_validate({**fields, **changes})


LEANINGS = st.builds(
    opinion, st.sampled_from(Leaning), st.sampled_from([0.1, 0.4, 0.9]), evidence=st.sampled_from([(), (PLACE,)])
)


@given(st.lists(LEANINGS, min_size=1, max_size=5))
def test_one_reject_with_evidence_rejects_and_only_accepts_accept(opinions: list[ModelOpinion]) -> None:
    whole = joined(opinions)
    if any(map(settles, opinions)):
        assert whole.decision is Leaning.REJECT
        assert whole.category
        assert whole.evidence
    elif all(one.decision is Leaning.ACCEPT for one in opinions):
        assert whole.decision is Leaning.ACCEPT
        assert (whole.category, whole.next_step) == (None, None)
    else:
        assert (whole.decision, whole.category) == (Leaning.CANNOT_TELL, None)


@given(st.lists(LEANINGS, min_size=1, max_size=5), st.randoms())
def test_the_order_of_the_parts_does_not_decide(opinions: list[ModelOpinion], random: Any) -> None:
    shuffled = list(opinions)
    random.shuffle(shuffled)
    one, other = joined(opinions), joined(shuffled)
    assert (one.decision, one.score, one.confidence) == (other.decision, other.score, other.confidence)
    assert set(one.evidence) == set(other.evidence)


def test_the_weakest_of_the_deciding_parts_speaks() -> None:
    whole = joined([opinion(Leaning.ACCEPT, 0.9), opinion(Leaning.ACCEPT, 0.6, evidence=(OTHER,))])
    assert whole.concern == "accept at 0.6"
    assert whole.evidence == (PLACE, OTHER)


def test_an_accept_that_points_only_at_its_criteria_has_these_as_evidence() -> None:
    met = CriterionVerdict(id="AC1", status=CriterionStatus.MET, evidence=(OTHER,))
    bare = CriterionVerdict(id="AC2", status=CriterionStatus.MET)
    whole = joined([opinion(Leaning.ACCEPT, evidence=(), criteria=(met, bare)), opinion(Leaning.ACCEPT)])
    assert whole.evidence == (OTHER, PLACE)


def test_a_part_that_misses_something_and_points_at_nothing_leaves_it_open() -> None:
    whole = joined([opinion(Leaning.ACCEPT), opinion(Leaning.REJECT, 0.2, evidence=())])
    assert whole.decision is Leaning.CANNOT_TELL
    assert whole.next_step == "Do it."


def test_a_criterion_that_no_part_was_asked_for_is_open() -> None:
    met = CriterionVerdict(id="AC2", status=CriterionStatus.MET, evidence=(PLACE,))
    criteria = (Criterion(id="AC1", text="one"), Criterion(id="AC2", text="two"))
    whole = of_all(opinion(Leaning.REJECT, criteria=(met,)), criteria, frozenset({"AC1"}))
    assert [(one.id, one.status, one.claimed) for one in whole.criteria] == [
        ("AC1", CriterionStatus.UNVERIFIABLE, True),
        ("AC2", CriterionStatus.MET, False),
    ]
