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
from worker.clock import SystemClock
from worker.domain.dossier import AWAITING_APPROVAL, Ci, CiCheck, CiState
from worker.errors import AssayError, Forbidden, RateLimited, SubjectGone, Unavailable

NOBODY = OwnChecks(None)
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
def test_a_conclusion_is_githubs_word_in_small_letters_once_it_is_completed(
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


def test_another_apps_check_of_our_name_is_evidence_to_the_app_and_not_to_a_token() -> None:
    theirs = run("Assay", None)
    assert len(checks(theirs)) == 1
    assert checks(theirs, ourselves=NOBODY) == []


def test_a_check_without_an_app_is_told_by_its_name() -> None:
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
def test_a_rerun_replaces_the_run_before_it_and_no_other_of_its_name(
    reported: list[GraphContext], kept: list[tuple[str | None, int]]
) -> None:
    assert [(one.conclusion, one.attempt or 1) for one in checks(*reported)] == kept


def test_a_required_check_that_nobody_reported_is_pending_once_and_required_ones_come_first() -> None:
    found = checks(run("lint"), run("build", isRequired=True), required=("build", "test", "test", "Assay"))
    told = [("build", "success", True), ("test", None, True), ("lint", "success", None)]
    assert [(one.name, one.conclusion, one.required) for one in found] == told


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
def test_the_report_of_a_failure_is_kept(reported: GraphContext, report: str) -> None:
    assert [one.summary for one in checks(reported)] == [report]


def test_what_the_repository_ignores_is_no_evidence_and_is_not_waited_for() -> None:
    ci = ci_of([run("gate", None), run("test")], ASSAY, CiContext(("gate",), frozenset({"gate"})))
    assert [one.name for one in ci.checks] == ["test"]


HEAD = "a" * 40


def test_what_rulesets_require_is_awaited_beside_what_branch_protection_does() -> None:
    rules: list[dict[str, Any]] = [
        {"parameters": {"requiredStatusChecks": [{"name": "test"}, {"name": "lint"}]}},
        {"parameters": {}},
        {"parameters": None},
        {"parameters": {"requiredStatusChecks": [{"name": "test"}]}},
    ]
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
def test_the_head_commits_message_may_silence_the_ci_that_there_is(message: str, silenced: str | None) -> None:
    assert read_ci_context(pull_of(message, base_reports=1)).skip_words == silenced
    assert read_ci_context(pull_of(message, required=("test",))).skip_words == silenced
    assert read_ci_context(pull_of(message, required=("Assay",))).skip_words is None
    assert read_ci_context(pull_of(message, baseRef=None)).skip_words is None


SILENCED = CiContext(skip_words="[skip ci]")


def test_ci_that_ran_all_the_same_was_not_silenced() -> None:
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
def test_what_no_words_of_the_author_keep_away_does_not_stand_for_ci(reported: GraphContext) -> None:
    assert ci_of([reported], ASSAY, SILENCED).silenced == "[skip ci]"
    assert ci_of([reported], ASSAY, CiContext(("unit tests",), skip_words="[skip ci]")).silenced == "[skip ci]"


NO_RUNS = {"totalCount": 0}


def test_a_workflow_that_waits_for_approval_did_not_run() -> None:
    suites = [
        {"conclusion": "ACTION_REQUIRED", "workflowRun": {"workflow": {"name": "tests.yml"}}, "checkRuns": NO_RUNS},
        {"conclusion": "ACTION_REQUIRED", "app": {"slug": "github-actions"}},
        {"conclusion": "ACTION_REQUIRED", "checkRuns": NO_RUNS},
        {"conclusion": "ACTION_REQUIRED", "app": {"slug": "other"}, "checkRuns": {"totalCount": 1}},
        {"conclusion": "SUCCESS", "app": {"slug": "fine"}},
    ]
    found = read_ci_context(pull_of("Fix", tip={"nodes": [{"commit": {"checkSuites": {"nodes": suites}}}]}))
    assert found.held_workflows == ("tests.yml", "github-actions", "a workflow")
    assert read_ci_context(pull_of("Fix", tip={"nodes": [{"commit": {}}]})).held_workflows == ()

    held = ci_of([], ASSAY, found).checks
    assert [(one.status, one.conclusion) for one in held] == [(AWAITING_APPROVAL, None)] * 3


# Logs

JOB = "https://github.com/acme/widgets/actions/runs/77/job/"


class Shelf(GitHubApi):
    """An Api that holds logs by their path, and nothing else."""

    def __init__(self, logs: dict[str, bytes | AssayError]) -> None:
        super().__init__((), "https://api.github.com", SystemClock())
        self.logs = logs
        self.asked: list[str] = []

    def tail(self, path: str, most_read: int, most_kept: int) -> bytes:
        self.asked.append(path)
        assert most_kept < most_read
        found = self.logs[path.split("/")[-2]]
        if isinstance(found, AssayError):
            raise found
        return found


def logs_of(logs: dict[str, bytes | AssayError]) -> tuple[JobLogs, list[str]]:
    api = Shelf(logs)
    return JobLogs(api, "acme/widgets"), api.asked


def reported(name: str, job: str | None, conclusion: str = "failure") -> CiCheckReport:
    page = f"{JOB}{job}" if job else "https://ci.example.org/1"
    return CiCheckReport(CiCheck(name=name, conclusion=conclusion), page)


def test_a_log_loses_its_times_and_colours_and_keeps_its_end() -> None:
    log = "\ufeff2026-11-20T20:00:00.1234567Z \x1b[31mred\x1b[0m\r\n\n2026-11-20T20:00:01.1Z done\n"
    assert last_lines(log) == "red\ndone"


def test_a_log_ends_with_its_last_error_and_not_with_what_a_job_tidies_up() -> None:
    test = "FAILED tests/test_retry.py::test_503 - assert 503 == 200"
    ran = ["##[error]Unable to restore a cache", test, "##[error]Process completed with exit code 1."]
    after = ["Post job cleanup.", *(f"[command]/usr/bin/git config --local --unset-all {at}" for at in range(200))]
    log = "\n".join(f"2026-11-20T20:00:00.1234567Z {line}" for line in [*ran, *after, "Cleaning up orphan processes"])
    assert last_lines(log) == "\n".join(ran)


def test_a_long_log_is_cut_at_a_line() -> None:
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
def test_the_logs_of_the_first_failing_jobs_are_read(reports: list[tuple[str, ...]], tails: list[str]) -> None:
    logs, asked = logs_of({number: f"log {number}".encode() for number in "12345"})
    found = add_logs([reported(*report) for report in reports], logs)
    assert [one.check.log_tail for one in found] == tails
    assert len(asked) == len(list(filter(None, tails))) <= MOST_LOGS == 2


@pytest.mark.parametrize(
    "error",
    [Forbidden("no permission"), SubjectGone("log"), Unavailable("GitHub", "500"), GitHubBadRequest("409")],
    ids=lambda one: type(one).__name__,
)
def test_a_log_that_is_not_to_be_had_is_left_out(error: AssayError) -> None:
    logs, _ = logs_of({"1": error})
    assert logs.tail("1") == ""


def test_a_used_up_rate_limit_is_said() -> None:
    logs, _ = logs_of({"1": RateLimited("GitHub", SystemClock().now())})
    with pytest.raises(RateLimited):
        logs.tail("1")
