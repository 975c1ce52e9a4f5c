"""Check runs, statuses and the ends of failing jobs' logs as CI evidence."""

from datetime import UTC, datetime
from typing import Any

import pytest

from worker.adapters.github.ci_checks import (
    MOST_LOGS,
    REPORT_CHARACTERS,
    TAIL_CHARACTERS,
    CiCheckReport,
    CiContext,
    JobLogs,
    OwnChecks,
    add_logs,
    ci_of,
    last_lines,
    read_ci_context,
)
from worker.adapters.github.client import GitHubApi
from worker.adapters.github.errors import GitHubBadRequest
from worker.adapters.github.responses import GraphContext, GraphPull
from worker.domain.dossier import AWAITING_APPROVAL, Ci, CiCheck, CiState
from worker.errors import AssayError, Forbidden, RateLimited, SubjectGone, Unavailable
from worker.process import SystemClock

WITHOUT_APP = OwnChecks(None)
ASSAY = OwnChecks(4711)


def run(name: str, conclusion: str | None = "SUCCESS", **more: Any) -> GraphContext:
    workflow, event = more.pop("workflow", None), more.pop("event", "pull_request")
    suite = {"app": {"slug": more.pop("app", "github-actions"), "databaseId": more.pop("app_id", 15368)}}
    started = more.pop("at", 0)
    fields = {
        "__typename": "CheckRun",
        "name": name,
        "status": "COMPLETED" if conclusion else "IN_PROGRESS",
        "conclusion": conclusion,
        "startedAt": None if started is None else datetime(2026, 11, 20, 12, started, tzinfo=UTC),
        "checkSuite": {**suite, "workflowRun": {"event": event, "workflow": {"name": workflow}} if workflow else None},
    }
    return GraphContext.model_validate({**fields, **more})


def status(context: str, state: str, **more: Any) -> GraphContext:
    return GraphContext.model_validate({"__typename": "StatusContext", "context": context, "state": state, **more})


def checks(*contexts: GraphContext, required: tuple[str, ...] = (), ourselves: OwnChecks = ASSAY) -> list[CiCheck]:
    return list(ci_of(contexts, ourselves, CiContext(required)).checks)


@pytest.mark.parametrize(
    ("reported", "state", "conclusion"),
    [
        *(
            (run("test", word), "completed", word.lower())
            for word in ("SUCCESS", "FAILURE", "NEUTRAL", "CANCELLED", "SKIPPED", "TIMED_OUT", "STALE")
        ),
        *(
            (run("test", "SUCCESS", status=word), word.lower(), None)
            for word in ("QUEUED", "IN_PROGRESS", "WAITING", "PENDING", "REQUESTED")
        ),
        (status("deploy", "SUCCESS"), "completed", "success"),
        (status("deploy", "FAILURE"), "completed", "failure"),
        (status("deploy", "ERROR"), "completed", "failure"),
        (status("deploy", "PENDING"), "pending", None),
        (status("deploy", "EXPECTED"), "expected", None),
    ],
)
def test_conclusion_is_in_lower_case_once_the_check_is_completed(
    reported: GraphContext, state: str, conclusion: str | None
) -> None:
    [check] = checks(reported)
    assert (check.status, check.conclusion) == (state, conclusion)


@pytest.mark.parametrize(
    "ours",
    [
        run("Assay", app="assay", app_id=4711),
        run("Assay, second look", app="assay", app_id=4711),
        status("Assay", "EXPECTED"),
    ],
)
def test_our_own_check_is_no_evidence(ours: GraphContext) -> None:
    assert ci_of([ours], ASSAY, CiContext(("Assay",))) == Ci(state=CiState.MISSING, checks=())


def test_check_of_another_app_with_our_name_counts_for_the_app_only() -> None:
    theirs = run("Assay", None)
    assert len(checks(theirs)) == 1
    assert checks(theirs, ourselves=WITHOUT_APP) == []


def test_check_without_an_app_is_recognised_by_name() -> None:
    bare = run("Assay", checkSuite=None)
    assert checks(bare, run("x", checkSuite=None)) == [CiCheck(name="x", conclusion="success")]


BUILD = run("build", "FAILURE", at=1, workflow="CI")


@pytest.mark.parametrize(
    ("reported", "kept"),
    [
        pytest.param([run("test", "FAILURE", at=1), run("test", at=2)], [("success", 2)], id="a rerun"),
        pytest.param([run("test", at=2), run("test", "FAILURE", at=1)], [("success", 2)], id="listed before it"),
        pytest.param([run("t", None, at=None, status="QUEUED"), run("t", at=5)], [(None, 2)], id="a rerun that waits"),
        pytest.param(
            [BUILD, run("build", at=2, workflow="Docs")], [("failure", 1), ("success", 1)], id="another workflow's"
        ),
        pytest.param(
            [run("b"), run("b", app="circleci", app_id=2), status("b", "SUCCESS")],
            [("success", 1)] * 3,
            id="other apps'",
        ),
    ],
)
def test_rerun_replaces_only_the_run_of_the_same_workflow_and_app(
    reported: list[GraphContext], kept: list[tuple[str | None, int]]
) -> None:
    assert [(check.conclusion, check.attempt or 1) for check in checks(*reported)] == kept


def test_unreported_required_check_is_pending_and_listed_after_reported_ones() -> None:
    contexts = checks(run("lint"), run("build", isRequired=True), required=("build", "test", "test", "Assay"))
    expected = [("build", "success", True), ("test", None, True), ("lint", "success", None)]
    assert [(check.name, check.conclusion, check.required) for check in contexts] == expected


NOTE = {"path": "a.py", "message": "boom", "title": "Error", "location": {"start": {"line": 4}}}
BARE = {"path": ".github", "message": "exit code 1"}


@pytest.mark.parametrize(
    ("reported", "report"),
    [
        (
            run("test", "FAILURE", title="1 failed", summary=" see ", annotations={"nodes": [NOTE, None, BARE]}),
            "1 failed\nsee\na.py:4: Error: boom\n.github: exit code 1",
        ),
        (run("test", "FAILURE", summary="x" * (REPORT_CHARACTERS + 5)), "x" * REPORT_CHARACTERS + " …"),
        (run("test", title="fine"), ""),
        (status("s", "SUCCESS", description="ok"), ""),
    ],
    ids=["title, summary and notes", "cut, and it shows", "a run that passed", "a status that passed"],
)
def test_report_of_a_failed_check_is_kept(reported: GraphContext, report: str) -> None:
    assert [check.summary for check in checks(reported)] == [report]


def test_ignored_check_is_no_evidence_and_not_awaited() -> None:
    ci = ci_of([run("gate", None), run("test")], ASSAY, CiContext(("gate",), frozenset({"gate"})))
    assert [check.name for check in ci.checks] == ["test"]


HEAD = "a" * 40


def test_checks_required_by_rulesets_and_branch_protection_are_awaited() -> None:
    test, both = (
        {"requiredStatusChecks": [{"name": name} for name in names]} for names in (["test"], ["test", "lint"])
    )
    parameters: list[dict[str, Any] | None] = [both, {}, None, test]
    rules = [{"parameters": parameter} for parameter in parameters]
    update = {"requiredStatusCheckContexts": ["build", "lint"]}
    base: dict[str, Any] = {"refUpdateRule": update, "rules": {"nodes": rules}}
    assert read_ci_context(pull_of("Fix", baseRef=base)).required == ("build", "lint", "test")
    assert read_ci_context(pull_of("Fix", baseRef={**base, "refUpdateRule": None})).required == ("test", "lint")
    assert read_ci_context(pull_of("Fix", baseRef={**base, "rules": None})).required == ("build", "lint")


def pull_of(message: str, required: tuple[str, ...] = (), base_reports: int = 0, **more: Any) -> GraphPull:
    """A pull request whose head commit says *message*."""
    rollup = {"contexts": {"totalCount": base_reports}} if base_reports else None
    fields: dict[str, Any] = {
        "state": "OPEN", "headRefOid": HEAD, "title": "", "body": "", "createdAt": "2026-11-20T12:00:00Z",
        "isDraft": False, "changedFiles": 1, "baseRefName": "main", "baseRefOid": "b" * 40, "headRefName": "fix",
        "commits": {"nodes": [{"commit": {"oid": HEAD, "message": message}}]},
    }  # fmt: skip
    rules = {"requiredStatusCheckContexts": required}
    fields["baseRef"] = {"refUpdateRule": rules, "target": {"statusCheckRollup": rollup}}
    return GraphPull.model_validate({**fields, **more})


@pytest.mark.parametrize(
    ("message", "silenced"),
    [
        ("Fix\n\n\nskip-checks: true", "skip-checks: true"),
        ("Fix\n\nskip-checks:true\nrequest-checks: true", "skip-checks:true"),
        ("Fix [skip ci]", "[skip ci]"),
        ("[CI SKIP] Fix", "[CI SKIP]"),
        ("Fix [no ci]\n", "[no ci]"),
        ("Fix [actions skip]", "[actions skip]"),
        ("Say why skip-checks: true is bad", None),
        ("Fix [skip-ci]", None),
        ("Fix", None),
    ],
)
def test_head_commit_message_can_silence_existing_ci(message: str, silenced: str | None) -> None:
    assert read_ci_context(pull_of(message, base_reports=1)).skip_words == silenced
    assert read_ci_context(pull_of(message, required=("test",))).skip_words == silenced
    assert read_ci_context(pull_of(message, required=("Assay",))).skip_words is None
    assert read_ci_context(pull_of(message, baseRef=None)).skip_words is None


SILENCED = CiContext(skip_words="[skip ci]")


def test_ci_that_ran_is_not_silenced() -> None:
    required = CiContext(("test", "Assay"), skip_words="[skip ci]")
    assert ci_of([], ASSAY, required).silenced == "[skip ci]"
    assert ci_of([run("test", app="jenkins")], ASSAY, required).silenced is None
    assert ci_of([], ASSAY, SILENCED) == Ci(state=CiState.MISSING, silenced="[skip ci]")
    assert ci_of([run("test", workflow="CI")], ASSAY, SILENCED).silenced is None
    assert ci_of([run("test")], ASSAY, SILENCED).silenced is None


@pytest.mark.parametrize(
    "reported",
    [
        run("license/cla", app="cla-assistant"),
        run("license/cla", checkSuite=None),
        run("license/cla", checkSuite={"app": None}),
        status("vercel", "SUCCESS"),
        run("label", workflow="Labels", event="pull_request_target"),
        run("test", None, workflow="CI"),
    ],
)
def test_check_that_skip_words_cannot_stop_does_not_count_as_ci(reported: GraphContext) -> None:
    assert ci_of([reported], ASSAY, SILENCED).silenced == "[skip ci]"
    assert ci_of([reported], ASSAY, CiContext(("unit tests",), skip_words="[skip ci]")).silenced == "[skip ci]"


NO_RUNS = {"totalCount": 0}


def test_workflow_that_awaits_approval_did_not_run() -> None:
    suites = [
        {"conclusion": "ACTION_REQUIRED", "workflowRun": {"workflow": {"name": "tests.yml"}}, "checkRuns": NO_RUNS},
        {"conclusion": "ACTION_REQUIRED", "app": {"slug": "github-actions"}},
        {"conclusion": "ACTION_REQUIRED", "checkRuns": NO_RUNS},
        {"conclusion": "ACTION_REQUIRED", "app": {"slug": "other"}, "checkRuns": {"totalCount": 1}},
        {"conclusion": "SUCCESS", "app": {"slug": "fine"}},
    ]
    context = read_ci_context(pull_of("Fix", tip={"nodes": [{"commit": {"checkSuites": {"nodes": suites}}}]}))
    assert context.held_workflows == ("tests.yml", "github-actions", "a workflow")
    assert read_ci_context(pull_of("Fix", tip={"nodes": [{"commit": {}}]})).held_workflows == ()

    held = ci_of([], ASSAY, context).checks
    assert [(check.status, check.conclusion) for check in held] == [(AWAITING_APPROVAL, None)] * 3


# Logs

JOB = "https://github.com/acme/widgets/actions/runs/77/job/"


class StoredLogs(GitHubApi):
    """An API that only has logs."""

    def __init__(self, logs: dict[str, bytes | AssayError]) -> None:
        super().__init__((), "https://api.github.com", SystemClock())
        self.logs = logs
        self.asked: list[str] = []

    def tail(self, path: str, most_read: int, most_kept: int) -> bytes:
        self.asked.append(path)
        assert most_kept < most_read
        log = self.logs[path.split("/")[-2]]
        if isinstance(log, AssayError):
            raise log
        return log


def logs_of(logs: dict[str, bytes | AssayError]) -> tuple[JobLogs, list[str]]:
    api = StoredLogs(logs)
    return JobLogs(api, "acme/widgets"), api.asked


def check_report(name: str, job: str | None, conclusion: str = "failure") -> CiCheckReport:
    page = f"{JOB}{job}" if job else "https://ci.example.org/1"
    return CiCheckReport(CiCheck(name=name, conclusion=conclusion), page)


def test_log_tail_drops_times_and_colours() -> None:
    log = "\ufeff2026-11-20T20:00:00.1234567Z \x1b[31mred\x1b[0m\r\n\n2026-11-20T20:00:01.1Z done\n"
    assert last_lines(log) == "red\ndone"


def test_log_tail_ends_with_the_last_error() -> None:
    test = "FAILED tests/test_retry.py::test_503 - assert 503 == 200"
    ran = ["##[error]Unable to restore a cache", test, "##[error]Process completed with exit code 1."]
    after = ["Post job cleanup.", *(f"[command]/usr/bin/git config --local --unset-all {at}" for at in range(200))]
    log = "\n".join(f"2026-11-20T20:00:00.1234567Z {line}" for line in [*ran, *after, "Cleaning up orphan processes"])
    assert last_lines(log) == "\n".join(ran)


def test_long_log_is_cut_to_its_last_lines() -> None:
    kept = last_lines("\n".join(f"line {number}" for number in range(5000)))
    assert len(kept) <= TAIL_CHARACTERS
    assert (kept[:5], kept[-9:]) == ("line ", "line 4999")


@pytest.mark.parametrize(
    ("reports", "tails"),
    [
        pytest.param([("a", "1"), ("b", None), ("c", "3"), ("d", "4")], ["log 1", "", "log 3", ""], id="the first"),
        pytest.param([("e", "5", "success"), ("build", "1"), ("build", "2", "success"), ("build", "3")],
                     ["", "log 1", "", "log 3"], id="each its own, of one name"),
        pytest.param([("a", "1", "success")], [""], id="none of what is green"),
    ],
)  # fmt: skip
def test_logs_of_the_first_failing_jobs_are_read(reports: list[tuple[str, ...]], tails: list[str]) -> None:
    logs, asked = logs_of({number: f"log {number}".encode() for number in "12345"})
    with_logs = add_logs([check_report(*report) for report in reports], logs)
    assert [report.check.log_tail for report in with_logs] == tails
    assert len(asked) == len(list(filter(None, tails))) <= MOST_LOGS == 2


@pytest.mark.parametrize(
    "error",
    [Forbidden("no permission"), SubjectGone("log"), Unavailable("GitHub", "500"), GitHubBadRequest("409")],
    ids=lambda error: type(error).__name__,
)
def test_unavailable_log_is_left_out(error: AssayError) -> None:
    logs, _ = logs_of({"1": error})
    assert logs.tail("1") == ""


def test_rate_limit_on_a_log_is_raised() -> None:
    logs, _ = logs_of({"1": RateLimited("GitHub", SystemClock().now())})
    with pytest.raises(RateLimited):
        logs.tail("1")
