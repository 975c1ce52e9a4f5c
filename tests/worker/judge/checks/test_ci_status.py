"""The state of CI and its failing tests."""

import pytest

from worker.adapters.git.junit import read_junit
from worker.domain.dossier import AWAITING_APPROVAL, Ci, CiCheck, CiState
from worker.domain.verdict.verdict import CiFailure
from worker.judge.checks.ci_status import EXCERPT_LINES, failing_tests, first_failure, read_ci, without_ansi
from worker.judge.texts import ci_pending

GREEN = CiCheck(name="test", conclusion="success")
RED = CiCheck(name="lint", conclusion="failure")
RUNNING = CiCheck(name="e2e", conclusion=None, status="in_progress")


def with_required(check: CiCheck, required: bool | None) -> CiCheck:  # noqa: FBT001 - a table's column
    return check.model_copy(update={"required": required})


@pytest.mark.parametrize(
    ("ci", "state"),
    [
        (None, CiState.MISSING),
        (Ci(), CiState.MISSING),
        (Ci(checks=(GREEN,)), CiState.SUCCESS),
        (Ci(checks=(GREEN, RED)), CiState.FAILURE),
        (Ci(checks=(GREEN, RUNNING)), CiState.PENDING),
        (Ci(checks=(RUNNING, RED)), CiState.FAILURE),
        (Ci(checks=(GREEN, with_required(RED, required=False))), CiState.SUCCESS),
        (Ci(checks=(GREEN, with_required(RUNNING, required=False))), CiState.SUCCESS),
        (Ci(state=CiState.SUCCESS, checks=(GREEN, RED)), CiState.SUCCESS),
        (Ci(state=CiState.SUCCESS, checks=(GREEN, with_required(RED, required=True))), CiState.FAILURE),
        (Ci(state=CiState.SUCCESS, checks=(GREEN, with_required(RUNNING, required=True))), CiState.PENDING),
        (Ci(state=CiState.FAILURE), CiState.FAILURE),
        (Ci(state=CiState.PENDING, checks=(GREEN,)), CiState.PENDING),
        (Ci(state=CiState.MISSING), CiState.MISSING),
        (Ci(state=CiState.MISSING, checks=(with_required(RED, required=True),)), CiState.FAILURE),
    ],
    ids=range(15),
)
def test_ci_state_is_worst_state_that_counts(ci: Ci | None, state: CiState) -> None:
    assert read_ci(ci).state is state


@pytest.mark.parametrize(
    ("conclusions", "state"),
    [
        ("failure timed_out cancelled action_required startup_failure stale", CiState.FAILURE),
        ("success neutral skipped", CiState.SUCCESS),
    ],
)
def test_non_passing_conclusions_are_failures(conclusions: str, state: CiState) -> None:
    for conclusion in conclusions.split():
        report = read_ci(Ci(checks=(CiCheck(name="test", conclusion=conclusion),)))
        assert (report.state, len(report.failed)) == (state, state is CiState.FAILURE), conclusion


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("FAILED tests/test_a.py::test_x - assert 1 == 2", "tests/test_a.py::test_x"),
        ("FAILED tests/test_a.py::test_x[a b] - boom", "tests/test_a.py::test_x[a b]"),
        ("ERROR tests/test_a.py", "tests/test_a.py"),
        ("--- FAIL: TestUpload (0.00s)", "TestUpload"),
        ("    --- FAIL: TestUpload/busy (0.00s)", "TestUpload/busy"),
        ("test upload::tests::busy ... FAILED", "upload::tests::busy"),
        ("  ● Upload › retries on 503", "Upload › retries on 503"),
        (" FAIL  src/upload.test.ts > Upload > retries", "src/upload.test.ts > Upload > retries"),
        ("UploadTest > retries() FAILED", "UploadTest > retries()"),
        ("[ERROR]   UploadTest.retries:42 expected: <3> but was: <1>", "UploadTest.retries:42"),
        ("not ok 3 - retries on 503", "retries on 503"),
        ("\x1b[31mFAILED\x1b[0m tests/test_a.py::test_x", "tests/test_a.py::test_x"),
        ("3 failed, 2 passed in 0.1s", None),
        ("ERROR: could not install", None),
        ("ok 3 - fine", None),
    ],
    ids=range(15),
)
def test_failing_test_is_read_from_runner_output(line: str, name: str | None) -> None:
    check = CiCheck(name="test", conclusion="failure", log_tail=f"collected 3 items\n{line}\r\ndone")
    assert list(failing_tests(check)) == ([] if name is None else [name])


def test_junit_report_names_failing_tests() -> None:
    failing = b'<testsuite><testcase file="tests/test_a.py" name="test_x[1]"><failure message="1 != 2: no"/></testcase></testsuite>'
    report = read_ci(Ci(checks=(read_junit(failing, "junit.xml"),)))
    assert (report.state, report.tests) == (CiState.FAILURE, ("tests/test_a.py::test_x[1]",))


def test_failing_test_is_named_once_from_failed_checks() -> None:
    line = "FAILED tests/test_a.py::test_x"
    checks = (
        CiCheck(name="3.11", conclusion="failure", summary=line),
        CiCheck(name="3.13", conclusion="failure", log_tail=line),
        CiCheck(name="flaky", conclusion="success", log_tail="FAILED tests/test_b.py::test_y"),
    )
    assert read_ci(Ci(checks=checks)).tests == ("tests/test_a.py::test_x",)


def test_first_twenty_failing_tests_are_named() -> None:
    log = "\n".join(f"FAILED tests/test_a.py::test_{n}" for n in range(50))
    assert len(read_ci(Ci(checks=(CiCheck(name="t", conclusion="failure", log_tail=log),))).tests) == 20


def test_silenced_ci_is_pending() -> None:
    report = read_ci(Ci(state=CiState.MISSING, silenced="[skip ci]"))
    assert (report.state, report.silenced) == (CiState.PENDING, "[skip ci]")
    concern, step = ci_pending(report)
    assert concern == 'CI did not run on this head: its commit message says "[skip ci]".'
    assert step == "The author pushes a commit whose message does not keep CI from running."


def test_workflow_awaiting_approval_is_named() -> None:
    held = CiCheck(name="tests.yml", status=AWAITING_APPROVAL, conclusion=None)
    running = CiCheck(name="lint", status="in_progress", conclusion=None)
    assert ci_pending(read_ci(Ci(checks=(held,)))) == (
        "CI did not run on this head: a maintainer has to approve it first (tests.yml).",
        "A maintainer approves the workflows to run; Assay judges when they have finished.",
    )
    assert ci_pending(read_ci(Ci(checks=(held, running))))[0] == "CI did not finish in time: tests.yml, lint."


PYTEST = """\
tests/test_retry.py::test_503 FAILED [ 50%]
tests/test_retry.py::test_200 PASSED [100%]
=================================== FAILURES ===================================
___________________________________ test_503 ___________________________________

    def test_503() -> None:
>       assert upload(503) == 200
E       assert 503 == 200

tests/test_retry.py:7: AssertionError
=========================== short test summary info ============================
FAILED tests/test_retry.py::test_503 - assert 503 == 200
"""

GO = """\
=== RUN   TestUpload
--- FAIL: TestUpload (0.00s)
    upload_test.go:12: got 503, want 200
FAIL
"""


def failure_of(log_tail: str) -> CiFailure | None:
    red = CiCheck(name="unit tests", conclusion="failure", log_tail=log_tail)
    return first_failure(read_ci(Ci(checks=(RED, red))))


def test_first_failure_has_test_name_and_log() -> None:
    failure = failure_of(f"\x1b[31m{PYTEST}\x1b[0m")
    assert failure is not None
    assert (failure.check, failure.test) == ("unit tests", "tests/test_retry.py::test_503")
    assert "E       assert 503 == 200" in failure.log
    go = failure_of(GO)
    assert go is not None
    assert (go.test, go.log.splitlines()[0]) == ("TestUpload", "=== RUN   TestUpload")
    assert "got 503, want 200" in go.log


LINES = [f"line {number}" for number in range(50)]


@pytest.mark.parametrize(
    ("check", "failure"),
    [
        ({}, CiFailure(check="lint")),
        ({"log_tail": "\n".join(LINES)}, CiFailure(check="lint", log="\n".join(LINES[30:]))),
        ({"summary": "\n".join(LINES)}, CiFailure(check="lint", log="\n".join(LINES[:EXCERPT_LINES]))),
        ({"app": "junit", "summary": "a::test_x: boom"}, CiFailure(check="lint", test="a::test_x", log="a::test_x: boom")),
        ({"name": " "}, CiFailure(check="a check without a name")),
    ],
    ids=["no report", "the end of the log", "the report", "junit", "no name"],
)  # fmt: skip
def test_first_failure_uses_available_report(check: dict[str, str], failure: CiFailure) -> None:
    assert first_failure(read_ci(Ci(checks=(RED.model_copy(update=check),)))) == failure


def test_failed_ci_without_checks_has_no_first_failure() -> None:
    assert first_failure(read_ci(Ci(state=CiState.FAILURE))) is None


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        ("\x1b[31mFAILED\x1b[0m test", "FAILED test"),
        ("\x1b[1;38;5;196mbold\x1b[K", "bold"),
        ("a[0] = 1; list[3m]", "a[0] = 1; list[3m]"),
        ("\x1b[" + "1" * 21 + "m", "\x1b[" + "1" * 21 + "m"),
    ],
)
def test_ansi_sequences_are_removed(printed: str, text: str) -> None:
    assert without_ansi(printed) == text
