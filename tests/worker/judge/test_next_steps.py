"""What the reader of a reject gets for each fact: the place, what is wrong there, and the one step that takes it away."""

from pathlib import Path

import pytest

from tests.worker.judge.making import bundle, fact
from tests.worker.signals.cases import read_cases
from tests.worker.signals.made import RUBRIC
from worker.domain.verdict.verdict import Category
from worker.judge import texts
from worker.judge.rulings import Ruling, reject_on_facts
from worker.signals.heuristic_opinion import form_opinion
from worker.signals.registry import SIGNALS
from worker.signals.signal import SignalKind, SignalScope, signal

EXAMPLES = {case.name: next(case.dossiers) for case in read_cases(Path(__file__).with_name("every_fact.diff"))}
"""One change for each signal that states facts."""

READER = """\
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
"""Of each fact its name and place, what is wrong there, and the step that takes it away."""

LINES = READER.splitlines()
EXPECTED = {
    name: (location, concern, step)
    for (name, _, location), concern, step in zip(
        (line.partition(" ") for line in LINES[::3]), LINES[1::3], LINES[2::3], strict=True
    )
}


def ruled(name: str) -> Ruling:
    example = EXAMPLES[name]
    opinion = form_opinion(example, RUBRIC)
    assert [fact.signal for fact in opinion.facts] == [name]
    return reject_on_facts(bundle(example, opinion))


def test_every_fact_is_drawn() -> None:
    assert EXAMPLES.keys() == EXPECTED.keys() == {signal.name for signal in SIGNALS if signal.kind is SignalKind.FACT}


@pytest.mark.parametrize("name", EXPECTED)
def test_step_place_and_concern_of_a_fact_fit_together(name: str) -> None:
    ruling, (location, concern, step) = ruled(name), EXPECTED[name]
    assert [f"{pointer.location} ({pointer.side})" for pointer in ruling.evidence] == (
        [f"{location} (head)"] if location else []
    )
    assert (ruling.concern, ruling.next_step) == (f"{location}: {concern}" if location else concern, step)
    assert name == "empty_diff" or any(
        mended in step for mended in (location or "case", location.partition(":")[0] or "CHANGELOG.md")
    ), "a step names the place, the file, or the line of the case to mend"


def test_no_two_facts_of_one_category_share_their_step_by_chance() -> None:
    bare = [signal.step for signal in SIGNALS if signal.kind is SignalKind.FACT]
    assert len(bare) - len(set(bare)) <= 1, "an empty body and a stub are mended alike, nothing else is"


def test_all_broken_rules_are_named_and_what_is_mended_alike_once() -> None:
    steps = [fact(line=line, step=f"{do} at upload.py:{line}.") for line, do in ((2, "Mend"), (3, "Add"), (5, "Mend"))]
    assert texts.describe_fact_steps(steps) == "Mend at upload.py:2 and upload.py:5. Add at upload.py:3."
    assert texts.describe_fact_steps([*steps, *steps]).endswith('Then see to the 3 other facts under "Evidence".')
    assert texts.describe_fact_steps([*steps, fact()]).endswith('the 1 other fact under "Evidence".')
    alike = [fact(line=line, step=f"Mend at upload.py:{line}.") for line in (2, 3, 5)]
    assert texts.describe_fact_steps(alike) == "Mend at upload.py:2, upload.py:3 and upload.py:5."
    assert texts.describe_fact_steps([fact(path=None, line=None, step="Push it.")]) == "Push it."


def test_a_fact_without_a_step_and_a_suspicion_with_one_are_no_signal() -> None:
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
def test_a_fact_says_nothing_of_criteria_that_are_not_about_it(name: str, expected: dict[str, str]) -> None:
    assert {criterion.id: criterion.status for criterion in ruled(name).criteria} == expected
