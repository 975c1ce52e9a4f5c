"""One number from the scores: the weakest criterion decides first."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.judge.making import bundle, dossier, fact, new_file, opinion
from worker.domain.verdict.verdict import AbstainReason, Category, Coverage, EvidencePointer, Finding, Score, Side
from worker.judge import texts
from worker.judge.escalation import AcceptAsSafe, RejectOnFacts, StopJudging
from worker.judge.rulings import (
    DECISION_LINE,
    MOST_EVIDENCE,
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


def rejected(*facts: Finding, **changes: Any) -> Ruling:
    return rule_without_model(bundle(dossier(**changes), opinion(*facts)), RejectOnFacts("r"), FULL)


def safe(reason: str, **changes: Any) -> Ruling:
    return rule_without_model(bundle(dossier(**changes), opinion(safe=reason)), AcceptAsSafe("r"), FULL)


@pytest.mark.parametrize(
    ("light", "category", "first"),
    [(Category.HALF_FINISHED, "weak_test", "tests/test_upload.py:5"), (Category.SPEC_VIOLATION, "spec_violation", "upload.py:2")],
    ids=["by weight", "written words first"],
)  # fmt: skip
def test_the_gravest_fact_names_the_category_and_all_are_evidence(light: Category, category: str, first: str) -> None:
    heavy = fact(weight=0.9, category=Category.WEAK_TEST, path="tests/test_upload.py", line=5)
    ruling = rejected(fact(weight=0.2, category=light), heavy)
    places = [pointer.location for pointer in ruling.evidence]
    assert (ruling.category, places[0]) == (category, first)
    assert sorted(places) == ["tests/test_upload.py:5", "upload.py:2"]


BEFORE = EvidencePointer(path="upload.py", line=2, side=Side.BASE, note="this stood here before")
HERE, THERE = (
    ("upload.py", 2, "head", "    for attempt in range(3):"),
    ("upload.py", 2, "base", "    return post(data)"),
)


@pytest.mark.parametrize(
    ("finding", "places"),
    [
        (fact(), [HERE]),
        (fact(line=99), [("upload.py", None, "head", None)]),
        (fact(instead_of=BEFORE), [HERE, THERE]),
        (fact(instead_of=BEFORE.model_copy(update={"line": 99})), [HERE]),
    ],
    ids=["its line", "its file where the line is not known", "what it replaced", "nowhere"],
)
def test_a_fact_points_at_its_place_and_at_what_stood_there(finding: Finding, places: list[object]) -> None:
    shown = [(pointer.path, pointer.line, pointer.side, pointer.quote) for pointer in rejected(finding).evidence]
    assert shown == places


@pytest.mark.parametrize("path", [" ", "x ", " y.py"])
def test_a_path_may_begin_or_end_with_a_space(path: str) -> None:
    ruling = rejected(fact(path=path, line=1), diff=new_file(path, "def x():", "    pass"), files=None)
    assert [(pointer.path, pointer.line) for pointer in ruling.evidence] == [(path, 1)]


def test_many_facts_are_named_in_part() -> None:
    assert rejected(*(fact(line=number) for number in range(1, 6))).concern.endswith("And 2 more.")
    ruling = rejected(*(fact(line=1 + number % 9, note=str(number)) for number in range(100)))
    assert len(ruling.evidence) == MOST_EVIDENCE


@pytest.mark.parametrize(
    ("skipped", "suspicions", "on_laptop", "concern", "step"),
    [
        ("tier", 1, False, "1 suspicion to look at.", "A person reviews it"),
        ("tier", 0, True, "this tier asks no model.", "Judge it again with `--tier hybrid`"),
        ("no_model", 2, False, "2 suspicions to look at.", "A person reviews it, or the operator sets"),
        ("no_model", 0, True, "no model is set up.", "Set ANTHROPIC_API_KEY to have a model"),
        ("outsider", 1, False, "its author has no write access here. 1 suspicion to look at.", "An account with write access comments `/rejudge`"),
    ],
)  # fmt: skip
def test_an_unproven_verdict_counts_suspicions_and_tells_its_reader_what_to_do(
    skipped: str, suspicions: int, *, on_laptop: bool, concern: str, step: str
) -> None:
    wording = texts.unproven(texts.ModelSkipReason(skipped), suspicions, on_laptop=on_laptop)
    assert (wording[0][-len(concern) :], wording[1][: len(step)]) == (concern, step)


@pytest.mark.parametrize("skipped", ["no_model", "tier", "outsider", "withheld"])
def test_where_a_part_could_not_be_read_no_fact_was_found_in_the_rest(skipped: str) -> None:
    part = Coverage(read=("a.py",), unread=("big.json",))
    stop = StopJudging(AbstainReason.UNPROVEN, texts.ModelSkipReason(skipped), "r")
    concern = rule_without_model(bundle(dossier()), stop, part).concern
    assert concern.startswith("No fact was found in what could be read (not read in full: big.json)")


def test_where_nothing_could_be_read_nothing_was_looked_at() -> None:
    nothing = "Nothing of this change could be read, so nothing was looked at. Not read: a.bin."
    assert texts.too_large(["a.bin"], is_nothing_read=True)[0] == nothing
    assert texts.too_large(["a.bin"])[0].startswith("Not everything that changed could be read")


def test_a_safe_change_is_shown_by_its_added_lines_else_the_removed_else_the_file() -> None:
    diff = GONE + MOVED + RENAMED + EMPTIED + new_file("n.md", "", "z")
    heard = bundle(dossier(diff=diff, files=None), opinion(safe="docs"))
    shown = [(location.path, location.line, location.side, location.quote) for location in changed_places(heard)]
    assert shown == [
        ("old.md", 1, "base", "x"),
        ("a.md", 2, "base", "y"),
        ("d.md", None, "head", None),
        ("e.md", None, "base", None),
        ("n.md", 2, "head", "z"),
    ]
    assert all(heard.places.check(pointer) == pointer for pointer in changed_places(heard))


def test_nothing_changed_is_no_safe_change() -> None:
    assert safe("docs", diff="", files=()).abstain_reason == "unproven"


def test_a_safe_change_is_worded_as_a_sentence_and_calls_nothing_met_that_code_did_not_look_at() -> None:
    ruling = safe("only docs changed")
    assert ruling.concern == "Only docs changed."
    assert {(criterion.status, criterion.note) for criterion in ruling.criteria} == {
        ("unverifiable", "not looked at; code compared the changed sentences alone")
    }
