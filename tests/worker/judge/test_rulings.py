"""One number from the scores: the weakest criterion decides first."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.judge.making import accept, dossier, fact, new_file, opinion, reply
from worker.domain.verdict.verdict import (
    AbstainReason,
    Category,
    Coverage,
    CriterionStatus,
    EvidencePointer,
    Finding,
    HeuristicOpinion,
    ModelOpinion,
    Score,
    Side,
)
from worker.dossier.diff.parser import parse_diff
from worker.judge import texts
from worker.judge.checks.ci_status import read_ci
from worker.judge.checks.claims import check_claims
from worker.judge.checks.evidence import Places
from worker.judge.escalation import AcceptAsSafe, RejectOnFacts, StopJudging
from worker.judge.llm.reply import read_reply
from worker.judge.llm.reply_schema import ReplyRequirements
from worker.judge.rubric import load_rubric
from worker.judge.rulings import (
    DECISION_LINE,
    MOST_EVIDENCE,
    EvidenceBundle,
    Ruling,
    changed_places,
    composite,
    is_accepting,
    rule_without_model,
    strength,
    verdict_score,
)

SCORES = st.lists(st.integers(1, 10), min_size=1, max_size=8)


def scored(numbers: list[int]) -> list[Score]:
    return [Score(criterion=f"c{n}", score=number, reasoning="", improvement="") for n, number in enumerate(numbers)]


@pytest.mark.parametrize(
    ("numbers", "mean", "score"),
    [
        ([1], 1.0, 0.0),
        ([10, 10], 10.0, 1.0),
        ([8, 8, 8, 8], 8.0, 0.778),
        ([6, 6, 6, 6], 6.0, 0.556),
        ([10, 10, 10, 3], 8.3, 0.419),
        ([5, 6, 6, 8], 6.3, 0.493),
        ([5, 7, 7, 7], 6.5, 0.5),
        ([6, 6, 7], 6.3, 0.567),
    ],
    ids=str,
)
def test_composite_and_score_follow_from_the_scores(numbers: list[int], mean: float, score: float) -> None:
    assert composite(scored(numbers)) == mean
    assert verdict_score(scored(numbers)) == score


@given(SCORES)
def test_the_score_is_in_range_and_on_the_side_that_the_strength_is_on(numbers: list[int]) -> None:
    score = verdict_score(scored(numbers))
    assert 0 <= score <= 1
    assert (score >= 0.5) is (strength(scored(numbers)) >= DECISION_LINE) is is_accepting(scored(numbers))


@given(SCORES)
def test_the_two_rules_that_the_model_is_told_are_enough(numbers: list[int]) -> None:
    lowest = min(numbers)
    if lowest <= 3:
        assert not is_accepting(scored(numbers))
    if lowest >= 6:
        assert is_accepting(scored(numbers))


@given(SCORES, st.integers(0, 7))
def test_a_better_score_never_lowers_the_verdict(numbers: list[int], position: int) -> None:
    better = list(numbers)
    better[position % len(better)] = min(10, better[position % len(better)] + 1)
    assert verdict_score(scored(better)) >= verdict_score(scored(numbers))


FULL = Coverage()
GONE = "diff --git a/old.md b/old.md\ndeleted file mode 100644\nindex 1111111..0000000\n--- a/old.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
MOVED = "diff --git a/a.md b/b.md\nsimilarity index 90%\nrename from a.md\nrename to b.md\n--- a/a.md\n+++ b/b.md\n@@ -1,2 +1 @@\n x\n-y\n"
RENAMED = "diff --git a/c.md b/d.md\nsimilarity index 100%\nrename from c.md\nrename to d.md\n"
EMPTIED = "diff --git a/e.md b/e.md\ndeleted file mode 100644\nindex e69de29..0000000\n"


def hearing(tier: HeuristicOpinion, **changes: Any) -> EvidenceBundle:
    heard = dossier(**changes)
    diff, places = parse_diff(heard.diff.encode()), Places(heard)
    return EvidenceBundle(heard, diff, places, tier, read_ci(heard.ci), check_claims(heard, diff, places))


def rejected(*facts: Finding, **changes: Any) -> Ruling:
    return rule_without_model(hearing(opinion(*facts), **changes), RejectOnFacts("r"), FULL)


@pytest.mark.parametrize(
    ("light", "heavy", "category", "first"),
    [
        (Category.HALF_FINISHED, Category.WEAK_TEST, Category.WEAK_TEST, "tests/test_upload.py:5"),
        (Category.SPEC_VIOLATION, Category.WEAK_TEST, Category.SPEC_VIOLATION, "upload.py:2"),
    ],
    ids=["by weight", "written words first"],
)
def test_the_gravest_fact_names_the_category_and_all_are_evidence(
    light: Category, heavy: Category, category: Category, first: str
) -> None:
    ruling = rejected(
        fact(weight=0.2, category=light), fact(weight=0.9, category=heavy, path="tests/test_upload.py", line=5)
    )
    places = [pointer.location for pointer in ruling.evidence]
    assert (ruling.category, places[0]) == (category, first)
    assert sorted(places) == ["tests/test_upload.py:5", "upload.py:2"]


def test_a_fact_whose_line_is_not_known_still_points_at_its_file() -> None:
    ruling = rejected(fact(line=99))
    assert [(pointer.path, pointer.line, pointer.quote) for pointer in ruling.evidence] == [("upload.py", None, None)]


def test_what_stood_in_a_facts_place_is_evidence_too_where_it_can_be_shown() -> None:
    before = EvidencePointer(path="upload.py", line=2, side=Side.BASE, note="this stood here before")
    ruling = rejected(fact(instead_of=before))
    assert [(pointer.side, pointer.line, pointer.quote) for pointer in ruling.evidence] == [
        (Side.HEAD, 2, "    for attempt in range(3):"),
        (Side.BASE, 2, "    return post(data)"),
    ]
    nowhere = rejected(fact(instead_of=before.model_copy(update={"line": 99})))
    assert [pointer.side for pointer in nowhere.evidence] == [Side.HEAD]


@pytest.mark.parametrize("path", [" ", "x ", " y.py"])
def test_a_path_may_begin_or_end_with_a_space(path: str) -> None:
    ruling = rejected(fact(path=path, line=1), diff=new_file(path, "def x():", "    pass"), files=None)
    assert [(pointer.path, pointer.line) for pointer in ruling.evidence] == [(path, 1)]


def test_many_facts_are_named_in_part() -> None:
    many = [fact(line=number) for number in range(1, 6)]
    assert rejected(*many).concern.endswith("And 2 more.")
    ruling = rejected(*(fact(line=1 + number % 9, note=str(number)) for number in range(100)))
    assert len(ruling.evidence) == MOST_EVIDENCE


def test_suspicions_are_counted_in_an_unproven_verdict() -> None:
    assert texts.unproven(texts.ModelSkipReason.TIER, 1)[0].endswith("1 suspicion to look at.")
    assert texts.unproven(texts.ModelSkipReason.NO_MODEL, 2)[0].endswith("2 suspicions to look at.")
    outsider = texts.unproven(texts.ModelSkipReason.OUTSIDER, 1)
    assert outsider[0].endswith("its author has no write access here. 1 suspicion to look at.")
    assert "`/rejudge`" in outsider[1]


@pytest.mark.parametrize(
    "skipped",
    [
        texts.ModelSkipReason.NO_MODEL,
        texts.ModelSkipReason.TIER,
        texts.ModelSkipReason.OUTSIDER,
        texts.ModelSkipReason.WITHHELD,
    ],
)
def test_where_a_part_could_not_be_read_no_fact_was_found_in_the_rest(skipped: texts.ModelSkipReason) -> None:
    part = Coverage(read=("a.py",), unread=("big.json",))
    concern = rule_without_model(hearing(opinion()), StopJudging(AbstainReason.UNPROVEN, skipped, "r"), part).concern
    assert concern.startswith("No fact was found in what could be read (not read in full: big.json)")


def test_where_nothing_could_be_read_nothing_was_looked_at() -> None:
    assert (
        texts.too_large(["a.bin"], is_nothing_read=True)[0]
        == "Nothing of this change could be read, so nothing was looked at. Not read: a.bin."
    )
    assert texts.too_large(["a.bin"])[0].startswith("Not everything that changed could be read")


def test_on_a_laptop_the_reader_is_the_one_who_sets_the_key() -> None:
    assert texts.unproven(texts.ModelSkipReason.NO_MODEL, 0, on_laptop=True)[1].startswith(
        "Set ANTHROPIC_API_KEY to have a model"
    )
    assert "the operator" in texts.unproven(texts.ModelSkipReason.NO_MODEL, 0)[1]
    assert "`--tier hybrid`" in texts.unproven(texts.ModelSkipReason.TIER, 0, on_laptop=True)[1]
    assert "A person reviews it" in texts.unproven(texts.ModelSkipReason.TIER, 0)[1]


def test_a_safe_change_is_shown_by_its_added_lines_else_the_removed_else_the_file() -> None:
    heard = hearing(opinion(safe="docs"), diff=GONE + MOVED + RENAMED + EMPTIED + new_file("n.md", "", "z"), files=None)
    shown = [(location.path, location.line, location.side, location.quote) for location in changed_places(heard)]
    assert shown == [
        ("old.md", 1, Side.BASE, "x"),
        ("a.md", 2, Side.BASE, "y"),
        ("d.md", None, Side.HEAD, None),
        ("e.md", None, Side.BASE, None),
        ("n.md", 2, Side.HEAD, "z"),
    ]
    assert all(heard.places.check(pointer) == pointer for pointer in changed_places(heard))


def test_nothing_changed_is_no_safe_change() -> None:
    ruling = rule_without_model(hearing(opinion(safe="docs"), diff="", files=()), AcceptAsSafe("r"), FULL)
    assert ruling.abstain_reason is AbstainReason.UNPROVEN


def test_a_safe_change_is_worded_as_a_sentence() -> None:
    ruling = rule_without_model(hearing(opinion(safe="only docs changed")), AcceptAsSafe("r"), FULL)
    assert ruling.concern == "Only docs changed."


def test_code_alone_calls_nothing_met_that_it_did_not_look_at() -> None:
    ruling = rule_without_model(hearing(opinion(safe="only docs changed")), AcceptAsSafe("r"), FULL)
    assert ruling.criteria
    assert {criterion.status for criterion in ruling.criteria} == {CriterionStatus.UNVERIFIABLE}
    assert {criterion.note for criterion in ruling.criteria} == {
        "not looked at; code compared the changed sentences alone"
    }


def test_what_a_model_said_to_an_overruled_accept_is_quoted() -> None:
    heard = dossier()
    opinion = read_reply(reply(accept()), ReplyRequirements(heard.criteria or (), load_rubric(), Places(heard)))
    assert isinstance(opinion, ModelOpinion)
    assert "said accept" in texts.overruled("A stub.", opinion)
