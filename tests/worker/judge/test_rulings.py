"""The route of a judging, rulings of code, verdict scores and the texts of each fact."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.judge.samples import (
    accept_answer,
    dossier,
    evidence_bundle,
    fact,
    judge_context,
    model_of,
    new_file,
    opinion,
)
from tests.worker.signals.cases import read_cases
from tests.worker.signals.samples import RUBRIC
from worker.domain.dossier import CiState
from worker.domain.verdict.verdict import (
    AbstainReason,
    Category,
    Coverage,
    EvidencePointer,
    Finding,
    HeuristicOpinion,
    JudgeKind,
    Score,
    Side,
)
from worker.judge import texts
from worker.judge.checks.ci_status import CiReport
from worker.judge.context import ModelSkipReason, Pause, Ruling
from worker.judge.rulings import (
    DECISION_LINE,
    MOST_EVIDENCE,
    AcceptAsSafe,
    EscalationInput,
    RejectOnFacts,
    StopJudging,
    changed_places,
    choose_route,
    composite,
    is_accepting,
    reject_on_facts,
    rule_without_model,
    strength,
    verdict_score,
)
from worker.signals.heuristic_opinion import SIGNALS, form_opinion
from worker.signals.signal import SignalKind, SignalScope, signal

RED = CiReport(CiState.FAILURE)
UNSURE = opinion()
FACT = opinion(fact())
SAFE = opinion(safe="only documentation changed", score=0.9, reason="only documentation changed")
SUSPECT = opinion(fact(fact=False), confidence=0.58, reason="AC2 has no matching change")


def escalation_input(opinion: HeuristicOpinion, **changes: object) -> EscalationInput:
    fields = {"ci": CiReport(CiState.SUCCESS), "opinion": opinion, "threshold": 0.7, "has_model": True, **changes}
    return EscalationInput(**fields)  # pyright: ignore[reportArgumentType] - a table's row


def chosen_route(opinion: HeuristicOpinion, **changes: object) -> str:
    """The route with the reasons of a stop, such as `StopJudging ci_failed ci`."""
    route = choose_route(escalation_input(opinion, **changes))
    reasons = (route.abstain, route.skipped) if isinstance(route, StopJudging) else ()
    return " ".join([type(route).__name__, *reasons])


@pytest.mark.parametrize("opinion", [UNSURE, FACT, SAFE, SUSPECT], ids=["unsure", "fact", "safe", "suspect"])
@pytest.mark.parametrize("threshold", [0.0, 0.7, 2.0])
@pytest.mark.parametrize(
    ("changes", "route"),
    [
        ({"ci": RED}, "StopJudging ci_failed ci"),
        ({"ci": RED, "lacks_issue": True}, "StopJudging ci_failed ci"),
        ({"ci": CiReport(CiState.PENDING)}, "StopJudging ci_pending ci"),
        ({"lacks_issue": True}, "StopJudging no_criteria issue"),
    ],
)
def test_ci_and_then_missing_issue_stop_judging(
    opinion: HeuristicOpinion, threshold: float, changes: dict[str, object], route: str
) -> None:
    assert chosen_route(opinion, threshold=threshold, **changes) == route


@pytest.mark.parametrize(
    ("opinion", "changes", "expected"),
    [
        (FACT, {"threshold": 0.0}, "RejectOnFacts"),
        (FACT, {}, "RejectOnFacts"),
        (FACT, {"threshold": 0.95}, "RejectOnFacts"),
        (FACT, {"threshold": 0.96}, "AskModel"),
        (FACT, {"threshold": 2.0}, "AskModel"),
        (FACT, {"threshold": 2.0, "has_model": False}, "RejectOnFacts"),
        (SAFE, {"threshold": 0.0}, "AcceptAsSafe"),
        (SAFE, {}, "AcceptAsSafe"),
        (SAFE, {"threshold": 2.0}, "AskModel"),
        (SAFE, {"threshold": 2.0, "has_model": False}, "AcceptAsSafe"),
        (UNSURE, {"threshold": 0.0}, "StopJudging unproven tier"),
        (UNSURE, {"threshold": 0.4}, "StopJudging unproven tier"),
        (UNSURE, {"threshold": 0.41}, "AskModel"),
        (UNSURE, {}, "AskModel"),
        (UNSURE, {"ci": CiReport(CiState.MISSING)}, "AskModel"),
        (UNSURE, {"threshold": 2.0}, "AskModel"),
        (UNSURE, {"has_model": False}, "StopJudging unproven no_model"),
        (SUSPECT, {}, "AskModel"),
        (SUSPECT, {"threshold": 0.0, "has_model": False}, "StopJudging unproven tier"),
        (SUSPECT, {"has_model": False, "no_model": ModelSkipReason.OUTSIDER}, "StopJudging unproven outsider"),
        (SUSPECT, {"has_model": False, "no_model": ModelSkipReason.WITHHELD}, "StopJudging unproven withheld"),
    ],
)
def test_model_is_asked_below_the_threshold(
    opinion: HeuristicOpinion, changes: dict[str, object], expected: str
) -> None:
    assert chosen_route(opinion, **changes) == expected


NOT_MATCHED = "confidence 0.58 < 0.70: AC2 has no matching change"


@pytest.mark.parametrize(
    ("opinion", "changes", "reason"),
    [
        (SUSPECT, {}, NOT_MATCHED),
        (FACT, {}, "confidence 0.95 ≥ 0.70: nothing settles it"),
        (SAFE, {}, "confidence 0.95 ≥ 0.70: only documentation changed"),
        (SAFE, {"threshold": 0.95}, "confidence 0.95 ≥ 0.95: only documentation changed"),
        (opinion(confidence=0.699), {}, "confidence 0.699 < 0.700: nothing settles it"),
        (SUSPECT, {"threshold": 0.0}, "confidence 0.58 ≥ 0.00: AC2 has no matching change; the model is never asked at this tier"),
        (UNSURE, {"ci": RED}, "CI failed: the model is not asked before it is green"),
        (SUSPECT, {"has_model": False}, f"{NOT_MATCHED}; no model is configured"),
        (SUSPECT, {"has_model": False, "no_model": ModelSkipReason.OUTSIDER}, f"{NOT_MATCHED}; the author has no write access"),
        (SUSPECT, {"has_model": False, "no_model": ModelSkipReason.WITHHELD}, f"{NOT_MATCHED}; no changed file may be sent to a model"),
    ],
)  # fmt: skip
def test_reason_names_what_was_compared(opinion: HeuristicOpinion, changes: dict[str, object], reason: str) -> None:
    assert choose_route(escalation_input(opinion, **changes)).reason == reason


@given(st.floats(0, 1), st.booleans(), st.booleans(), st.booleans())
def test_threshold_zero_never_asks_and_above_one_always_asks(
    confidence: float,
    is_fact: bool,  # noqa: FBT001 - drawn
    is_safe: bool,  # noqa: FBT001 - drawn
    has_model: bool,  # noqa: FBT001 - drawn
) -> None:
    certain = confidence if is_fact or is_safe else min(confidence, 0.69)
    findings = (fact(),) if is_fact else ()
    tier = opinion(*findings, confidence=certain, safe="docs" if is_safe and not is_fact else None)
    assert chosen_route(tier, threshold=0.0, has_model=has_model) != "AskModel"
    assert (chosen_route(tier, threshold=1.01, has_model=has_model) == "AskModel") is has_model
    assert chosen_route(tier, has_model=False) != "AskModel"


def test_context_without_model_keeps_the_skip_reason() -> None:
    alone = judge_context(model_of(accept_answer())).without_model(ModelSkipReason.OUTSIDER)
    assert (alone.model, alone.second_model, alone.no_model) == (None, None, ModelSkipReason.OUTSIDER)


def test_planned_judge_depends_on_threshold_model_and_pause() -> None:
    hybrid = judge_context(model_of())
    assert hybrid.planned_judge is JudgeKind.HYBRID
    assert replace(hybrid, threshold=2.0).planned_judge is JudgeKind.LLM
    for context in (judge_context(), replace(hybrid, threshold=0.0), replace(hybrid, pause=Pause.OPERATOR)):
        assert context.planned_judge is JudgeKind.HEURISTIC


SCORES = st.lists(st.integers(1, 10), min_size=1, max_size=8)


def scores_of(numbers: list[int]) -> list[Score]:
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
def test_composite_and_verdict_score_follow_from_scores(numbers: list[int], mean: float, score: float) -> None:
    assert composite(scores_of(numbers)) == mean
    assert verdict_score(scores_of(numbers)) == score


@given(SCORES, st.integers(0, 7))
def test_verdict_score_follows_strength_and_lowest_score(numbers: list[int], position: int) -> None:
    score, lowest = verdict_score(scores_of(numbers)), min(numbers)
    assert 0 <= score <= 1
    assert (score >= 0.5) is (strength(scores_of(numbers)) >= DECISION_LINE) is is_accepting(scores_of(numbers))
    if not 3 < lowest < 6:
        assert is_accepting(scores_of(numbers)) is (lowest >= 6)
    better = list(numbers)
    better[position % len(better)] = min(10, better[position % len(better)] + 1)
    assert verdict_score(scores_of(better)) >= score


FULL = Coverage()
GONE = "diff --git a/old.md b/old.md\ndeleted file mode 100644\nindex 1111111..0000000\n--- a/old.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
MOVED = "diff --git a/a.md b/b.md\nsimilarity index 90%\nrename from a.md\nrename to b.md\n--- a/a.md\n+++ b/b.md\n@@ -1,2 +1 @@\n x\n-y\n"
RENAMED = "diff --git a/c.md b/d.md\nsimilarity index 100%\nrename from c.md\nrename to d.md\n"
EMPTIED = "diff --git a/e.md b/e.md\ndeleted file mode 100644\nindex e69de29..0000000\n"


def reject_by_code(*facts: Finding, **changes: Any) -> Ruling:
    return rule_without_model(evidence_bundle(dossier(**changes), opinion(*facts)), RejectOnFacts("r"), FULL)


def accept_as_safe(reason: str, **changes: Any) -> Ruling:
    return rule_without_model(evidence_bundle(dossier(**changes), opinion(safe=reason)), AcceptAsSafe("r"), FULL)


@pytest.mark.parametrize(
    ("light", "category", "first"),
    [(Category.HALF_FINISHED, "weak_test", "tests/test_upload.py:5"), (Category.SPEC_VIOLATION, "spec_violation", "upload.py:2")],
    ids=["by weight", "written words first"],
)  # fmt: skip
def test_heaviest_fact_names_the_category_and_all_are_evidence(light: Category, category: str, first: str) -> None:
    heavy = fact(weight=0.9, category=Category.WEAK_TEST, path="tests/test_upload.py", line=5)
    ruling = reject_by_code(fact(weight=0.2, category=light), heavy)
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
def test_fact_evidence_points_at_its_line_and_the_replaced_one(finding: Finding, places: list[object]) -> None:
    shown = [(pointer.path, pointer.line, pointer.side, pointer.quote) for pointer in reject_by_code(finding).evidence]
    assert shown == places


@pytest.mark.parametrize("path", [" ", "x ", " y.py"])
def test_evidence_path_may_begin_or_end_with_a_space(path: str) -> None:
    ruling = reject_by_code(fact(path=path, line=1), diff=new_file(path, "def x():", "    pass"), files=None)
    assert [(pointer.path, pointer.line) for pointer in ruling.evidence] == [(path, 1)]


def test_concern_and_evidence_name_a_limited_number_of_facts() -> None:
    assert reject_by_code(*(fact(line=line) for line in range(1, 6))).concern.endswith("And 2 more.")
    ruling = reject_by_code(*(fact(line=1 + line % 9, note=str(line)) for line in range(100)))
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
def test_unproven_verdict_counts_suspicions_and_names_next_step(
    skipped: str, suspicions: int, *, on_laptop: bool, concern: str, step: str
) -> None:
    wording = texts.unproven(texts.ModelSkipReason(skipped), suspicions, on_laptop=on_laptop)
    assert (wording[0][-len(concern) :], wording[1][: len(step)]) == (concern, step)


@pytest.mark.parametrize("skipped", ["no_model", "tier", "outsider", "withheld"])
def test_unproven_verdict_names_files_that_were_not_read(skipped: str) -> None:
    part = Coverage(read=("a.py",), unread=("big.json",))
    stop = StopJudging(AbstainReason.UNPROVEN, texts.ModelSkipReason(skipped), "r")
    concern = rule_without_model(evidence_bundle(dossier()), stop, part).concern
    assert concern.startswith("No fact was found in what could be read (not read in full: big.json)")


@pytest.mark.parametrize(("count", "end"), [(texts.MOST_NAMED, "n9"), (texts.MOST_NAMED + 1, "n9 and 1 more")])
def test_joined_names_are_limited(count: int, end: str) -> None:
    assert texts.join_names([f"n{number}" for number in range(count)]).endswith(f", {end}")


def test_too_large_text_says_when_nothing_was_read() -> None:
    nothing = "Nothing of this change could be read, so nothing was looked at. Not read: a.bin."
    assert texts.too_large(["a.bin"], is_nothing_read=True)[0] == nothing
    assert texts.too_large(["a.bin"])[0].startswith("Not everything that changed could be read")


def test_safe_change_evidence_is_added_line_removed_line_or_file() -> None:
    diff = GONE + MOVED + RENAMED + EMPTIED + new_file("n.md", "", "z")
    bundle = evidence_bundle(dossier(diff=diff, files=None), opinion(safe="docs"))
    shown = [(location.path, location.line, location.side, location.quote) for location in changed_places(bundle)]
    assert shown == [
        ("old.md", 1, "base", "x"),
        ("a.md", 2, "base", "y"),
        ("d.md", None, "head", None),
        ("e.md", None, "base", None),
        ("n.md", 2, "head", "z"),
    ]
    assert all(bundle.places.check(pointer) == pointer for pointer in changed_places(bundle))


def test_empty_diff_is_not_a_safe_change() -> None:
    assert accept_as_safe("docs", diff="", files=()).abstain_reason == "unproven"


def test_safe_change_leaves_criteria_unverifiable() -> None:
    ruling = accept_as_safe("only docs changed")
    assert ruling.concern == "Only docs changed."
    assert {(criterion.status, criterion.note) for criterion in ruling.criteria} == {
        ("unverifiable", "not looked at; code compared the changed sentences alone")
    }


# --- the texts of each fact -----------------------------------------------------------------------


EXAMPLES = {case.name: next(case.dossiers) for case in read_cases(Path(__file__).with_name("every_fact.diff"))}
"""A change for each signal that states facts."""

FACT_TEXTS = """\
empty_diff
the diff against the merge base is empty.
Commit and push the change that does what is asked for (AC1): this branch differs from its base in nothing.
forbidden_code_added src/a.py:2
AGENTS.md:3 says "Never use `print()` in library code", and this line adds `print()`.
Replace `print()` at src/a.py:2: AGENTS.md:3 forbids it.
forbidden_path_touched gen/a.py:1
AGENTS.md:3 says "Never edit files under `gen/`", and this change edits it, and nothing in the change would have generated that.
Undo what this change does to gen/a.py: AGENTS.md:3 wants it left alone.
changelog_entry_missing
AGENTS.md:3 says "Every change of behaviour needs an entry in `CHANGELOG.md`", and this change alters src/a.py and adds no entry to `CHANGELOG.md`.
Add an entry about this change to CHANGELOG.md, as AGENTS.md:3 asks.
docstring_missing src/a.py:4
AGENTS.md:3 says "Every public function has a docstring", and `load` is new and has none.
Write the documentation of the function at src/a.py:4, as AGENTS.md:3 asks.
cited_file_missing
the case cites src/upload.py for "AC1", and there is no such file at the head commit.
Correct the line `AC1 -> src/upload.py:12` of the case: cite the file that shows it, or add the file that it cites.
cited_line_missing src/a.py
the case cites line 12 of src/a.py, which has 1 lines.
Correct the line `AC1 -> src/a.py:12` of the case: cite a line that src/a.py has.
cited_name_missing src/a.py
the case cites "retry_upload" in src/a.py, and "retry_upload" does not stand there.
Correct the line `AC1 -> src/a.py:retry_upload` of the case: cite a name that src/a.py has, or add the one that it cites.
conflict_marker a.py:1
a merge conflict was committed.
Resolve the merge conflict at a.py:1: keep the lines that are right, and delete the markers.
stub_body a.py:2
the whole body of `load` is a stub.
Write the body of `load` at a.py:2, or take the function out of this change.
body_does_nothing a.py:1
`load` does nothing: its work stands there as a comment.
Write the body of `load` at a.py:1, or take the function out of this change.
unfinished_function a.py:3
the new function `load` says that it is not finished: TODO: handle the remaining cases.
Do what the comment at a.py:3 leaves open, then delete the comment.
debugger_left a.py:2
left from debugging: breakpoint().
Delete the debugging statement at a.py:2.
branch_on_test_runner a.py:2
the function gives another result when a test runner runs it.
Remove the branch at a.py:2: the code has to do the same in a test as elsewhere.
nothing_done_in_ci a.py:2
where CI or tests run, the function returns before it does anything.
Remove the early return at a.py:2: the function has to do its work in CI and under test, too.
test_hidden tests/test_a.py:6
the test `test_render` is still there, but no runner finds it.
Give the test at tests/test_a.py:6 back the name and the marks by which the test runner finds it, and make it pass.
test_disabled tests/test_a.py:1
the test `test_load`, which ran before, is switched off.
Remove what switches the test off at tests/test_a.py:1, and make the code pass it.
test_only a.test.ts:1
only this is left to run, the other tests around it are not.
Remove the mark at a.test.ts:1 that leaves only this to run, so that all tests run.
expected_value_returned a.py:2
`encode` ignores its arguments and returns `'aG9v'`, which the tests of this change hold.
Compute the result at a.py:2 from the arguments, in place of the constant that the tests expect.
check_cannot_fail .github/workflows/ci.yml:5
this check can't fail any more: `run: npm test || true`.
Undo the edit at .github/workflows/ci.yml:5 that keeps this check from failing, and fix what the check reports.
test_empty tests/test_a.py:1
the new test `test_load` does nothing.
Write the test at tests/test_a.py:1: call the code that it is named after, and assert the result. Or take it out until then.
test_result_unread tests/test_a.py:1
the new test `test_load` asserts nothing, and nothing checks its `size`.
Add an assertion to the test at tests/test_a.py:1 that compares what the code returns with the expected value.
assertion_always_true tests/test_a.py:3
this assertion can't fail: always true.
Replace the assertion at tests/test_a.py:3 by one that compares what the code returns with the expected value.
matcher_not_called a.test.ts:3
the matcher is never called.
Call the matcher at a.test.ts:3, with the expected value where it takes one.
failure_swallowed tests/test_a.py:2
what these assertions raise is caught and ignored.
Remove the handler at tests/test_a.py:2, or let it catch no more than the error that is meant, so that a failed assertion fails the test.
assertion_unreached tests/test_a.py:3
the assertions below are never reached.
Remove the early return at tests/test_a.py:3, so that the assertions below it run.
assertion_behind_switch tests/test_a.py:3
nothing is asserted unless the environment says so.
Move the assertions out of the condition at tests/test_a.py:3, so that they run wherever the test runs.
new_test_skipped tests/test_a.py:1
the new test `test_a` is skipped everywhere.
Remove the skip at tests/test_a.py:1, and make the test pass.
test_shadowed tests/test_a.py:6
`test_load` is defined 2 times, at lines 1 and 6, and only the last one runs.
Rename all but one of the definitions of `test_load` at lines 1 and 6 of tests/test_a.py, so that all tests of this file run.
scratch_file reproduce_issue.py:1
this file was left behind by a trial run, an editor or a plan.
Delete reproduce_issue.py, or say in the description what it is for.
"""
"""The name and location, the concern and the next step of each fact, on a line each."""

LINES = FACT_TEXTS.splitlines()
EXPECTED = {
    name: (location, concern, step)
    for (name, _, location), concern, step in zip(
        (line.partition(" ") for line in LINES[::3]), LINES[1::3], LINES[2::3], strict=True
    )
}


def rule_on_example(name: str) -> Ruling:
    example = EXAMPLES[name]
    opinion = form_opinion(example, RUBRIC)
    assert [fact.signal for fact in opinion.facts] == [name]
    return reject_on_facts(evidence_bundle(example, opinion))


def test_every_fact_has_an_example() -> None:
    assert EXAMPLES.keys() == EXPECTED.keys() == {signal.name for signal in SIGNALS if signal.kind is SignalKind.FACT}


@pytest.mark.parametrize("name", EXPECTED)
def test_fact_texts_name_its_location_concern_and_next_step(name: str) -> None:
    ruling, (location, concern, step) = rule_on_example(name), EXPECTED[name]
    assert [f"{pointer.location} ({pointer.side})" for pointer in ruling.evidence] == (
        [f"{location} (head)"] if location else []
    )
    assert (ruling.concern, ruling.next_step) == (f"{location}: {concern}" if location else concern, step)
    assert name == "empty_diff" or any(
        mended in step for mended in (location or "case", location.partition(":")[0] or "CHANGELOG.md")
    ), "a step names the location, the file or the line of the case"


def test_facts_do_not_share_their_step() -> None:
    bare = [signal.step for signal in SIGNALS if signal.kind is SignalKind.FACT]
    assert len(bare) - len(set(bare)) <= 1, "only an empty body and a stub share a step"


def test_steps_of_facts_are_merged_by_wording() -> None:
    steps = [
        fact(line=line, step=f"{verb} at upload.py:{line}.") for line, verb in ((2, "Mend"), (3, "Add"), (5, "Mend"))
    ]
    assert texts.describe_fact_steps(steps) == "Mend at upload.py:2 and upload.py:5. Add at upload.py:3."
    assert texts.describe_fact_steps([*steps, *steps]).endswith('Then see to the 3 other facts under "Evidence".')
    assert texts.describe_fact_steps([*steps, fact()]).endswith('the 1 other fact under "Evidence".')
    alike = [fact(line=line, step=f"Mend at upload.py:{line}.") for line in (2, 3, 5)]
    assert texts.describe_fact_steps(alike) == "Mend at upload.py:2, upload.py:3 and upload.py:5."
    assert texts.describe_fact_steps([fact(path=None, line=None, step="Push it.")]) == "Push it."


def test_only_facts_have_a_step() -> None:
    for kind, step in ((SignalKind.FACT, ""), (SignalKind.SUSPICION, "Remove it.")):
        with pytest.raises(TypeError, match="only a fact"):
            signal(Category.WEAK_TEST, kind, SignalScope.TESTS, step)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("empty_diff", {"AC1": "missing"}),
        ("changelog_entry_missing", {"AC1": "unverifiable", "changelog-entry": "missing"}),
        ("cited_file_missing", {"AC1": "unverifiable", "cited-file": "missing"}),
        ("stub_body", {"AC1": "unverifiable"}),
    ],
)
def test_fact_leaves_other_criteria_unverifiable(name: str, expected: dict[str, str]) -> None:
    assert {criterion.id: criterion.status for criterion in rule_on_example(name).criteria} == expected
