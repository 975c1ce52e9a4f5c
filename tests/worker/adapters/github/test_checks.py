"""Check runs, statuses and the ends of failing jobs' logs as CI evidence."""

import base64
import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.worker.adapters.github.conftest import INSTALLATION, FakeRepo, MemoryVault, OpenedPull
from tests.worker.adapters.github.test_errors_and_rate_limits import StoredLimits
from worker.adapters.github.checks import (
    MOST_LOGS,
    REPORT_CHARACTERS,
    TAIL_CHARACTERS,
    CiCheckReport,
    CiContext,
    GitHubCheckRuns,
    GitHubChecks,
    GitHubPublishedRuns,
    GitHubScans,
    JobLogs,
    OwnChecks,
    add_logs,
    ci_of,
    last_lines,
    read_ci_context,
)
from worker.adapters.github.client import AppAccess, GitHubApi, app_access
from worker.adapters.github.errors_and_rate_limits import RESERVED_REQUESTS, GitHubBadRequest, RequestPriority
from worker.adapters.github.responses import GraphContext, GraphPull
from worker.domain.check.check_run import (
    HELPFUL,
    NOT_HELPFUL,
    Annotation,
    AnnotationLevel,
    CheckContent,
    Conclusion,
    UploadRefusal,
)
from worker.domain.config.github_app import OptIn, requested_permissions
from worker.domain.dossier import AWAITING_APPROVAL, Ci, CiCheck, CiState
from worker.domain.judge_request import JudgeRequest, PullRef
from worker.domain.model import CheckRunId
from worker.domain.ports import RateLimit
from worker.errors import AssayError, Forbidden, LeaseLost, RateLimited, SubjectGone, Unavailable
from worker.judge.merge_group import PublishedCheckRun
from worker.process import SystemClock
from worker.publishing.check_runs import no_lease
from worker.publishing.texts.states import existing_pull_content
from worker.settings import Settings

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


def read_checks(*contexts: GraphContext, required: tuple[str, ...] = (), ourselves: OwnChecks = ASSAY) -> list[CiCheck]:
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
    [check] = read_checks(reported)
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
    assert len(read_checks(theirs)) == 1
    assert read_checks(theirs, ourselves=WITHOUT_APP) == []


def test_check_without_an_app_is_recognised_by_name() -> None:
    bare = run("Assay", checkSuite=None)
    assert read_checks(bare, run("x", checkSuite=None)) == [CiCheck(name="x", conclusion="success")]


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
    assert [(check.conclusion, check.attempt or 1) for check in read_checks(*reported)] == kept


def test_unreported_required_check_is_pending_and_listed_after_reported_ones() -> None:
    contexts = read_checks(run("lint"), run("build", isRequired=True), required=("build", "test", "test", "Assay"))
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
    assert [check.summary for check in read_checks(reported)] == [report]


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


JUDGING = CheckContent("Judging", "Assay reads the pull request.")
REJECTED = CheckContent("Rejected", "A stub.", "More", Conclusion.FAILURE)
BUTTONS = CheckContent("Rejected", "A stub.", "More", Conclusion.FAILURE, (), (HELPFUL, NOT_HELPFUL))


def note(line: int, message: str = "a stub") -> Annotation:
    return Annotation("a.py", line, line, AnnotationLevel.FAILURE, "half finished", message)


def with_notes(*notes: Annotation) -> CheckContent:
    return CheckContent("Rejected", "A stub.", "More", Conclusion.FAILURE, notes)


def notes_on(last: int) -> CheckContent:
    """A content with a note on each line up to *last*."""
    return with_notes(*(note(line) for line in range(1, last + 1)))


@pytest.fixture
def pull(repo: FakeRepo) -> OpenedPull:
    return repo.pull({"a.py": "x = 1\n" * 200})


def runs(pull: OpenedPull) -> list[Any]:
    return [run for run in pull.repository.github.state(pull.repository.name)["check_runs"] if run["name"] == "Assay"]


def only_run(pull: OpenedPull) -> Any:
    [run] = runs(pull)
    return run


def state(pull: OpenedPull) -> tuple[str, str | None, list[int]]:
    """Status, conclusion and annotated lines of the only run."""
    run = only_run(pull)
    return run["status"], run["conclusion"], [annotation["start_line"] for annotation in run["annotations"]]


def test_check_run_is_created_in_progress_with_its_pull_request_number(
    checks: GitHubCheckRuns, pull: OpenedPull
) -> None:
    made = checks.create(pull.request, pull.sha, JUDGING)
    run = only_run(pull)
    assert (run["id"], run["status"], run["conclusion"], run["actions"]) == (made, "in_progress", None, [])
    assert (run["external_id"], run["head_sha"]) == (f"pull:{pull.number}", pull.sha)
    assert (run["output"]["title"], run["output"]["summary"]) == ("Judging", "Assay reads the pull request.")
    assert pull.repository.request_names() == ["GET 200", "POST 201"]


def test_check_run_is_concluded_with_buttons_and_reopened_without_text(
    checks: GitHubCheckRuns, pull: OpenedPull
) -> None:
    made = checks.create(pull.request, pull.sha, JUDGING)
    checks.update(pull.request, made, BUTTONS)
    run = only_run(pull)
    assert (run["status"], run["conclusion"], run["output"]["text"]) == ("completed", "failure", "More")
    buttons = [(action["identifier"], action["label"]) for action in run["actions"]]
    assert buttons == [("helpful", "Helpful"), ("not_helpful", "Not helpful")]
    checks.update(pull.request, made, JUDGING)
    run = only_run(pull)
    assert (run["status"], run["conclusion"], run["output"]["text"]) == ("in_progress", None, "")
    assert pull.repository.request_names() == ["GET 200", "POST 201", "PATCH 200", "PATCH 200"]


@pytest.mark.parametrize("last", [1, 60])
def test_check_run_can_be_created_concluded_with_many_annotations(
    checks: GitHubCheckRuns, pull: OpenedPull, last: int
) -> None:
    checks.create(pull.request, pull.sha, notes_on(last))
    assert state(pull) == ("completed", "failure", [*range(1, last + 1)])


@pytest.mark.parametrize("kind", ["status", "reset"])
def test_lost_response_creates_no_second_check_run(checks: GitHubCheckRuns, pull: OpenedPull, kind: str) -> None:
    pull.repository.github.fault("POST .*/check-runs", kind=kind, after=True)
    made = checks.create(pull.request, pull.sha, JUDGING)
    assert [run["id"] for run in runs(pull)] == [made]


def test_newer_of_two_check_runs_created_at_the_same_time_is_used(checks: GitHubCheckRuns, pull: OpenedPull) -> None:
    older, newer = (checks.create_first(pull.request, pull.sha, JUDGING) for _ in range(2))
    assert older < newer
    for _ in range(2):
        assert checks.find(pull.request, pull.sha) == newer
    states = {run["id"]: (run["status"], run["conclusion"], run["output"]["title"]) for run in runs(pull)}
    assert states == {older: ("completed", "cancelled", "Created twice"), newer: ("in_progress", None, "Judging")}
    assert pull.repository.request_names() == ["POST 201", "POST 201", "GET 200", "PATCH 200", "GET 200"]


def test_older_concluded_check_run_is_left_unchanged(checks: GitHubCheckRuns, pull: OpenedPull) -> None:
    checks.create_first(pull.request, pull.sha, REJECTED)
    newer = checks.create_first(pull.request, pull.sha, JUDGING)
    assert checks.find(pull.request, pull.sha) == newer
    assert sorted(str(run["conclusion"]) for run in runs(pull)) == ["None", "failure"]


def test_failed_creation_is_not_repeated_without_a_search(checks: GitHubCheckRuns, pull: OpenedPull) -> None:
    pull.repository.github.fault("POST .*/check-runs")
    with pytest.raises(Unavailable):
        checks.create(pull.request, pull.sha, JUDGING)
    assert pull.repository.request_names() == ["GET 200", "POST 502", "GET 200"]
    assert runs(pull) == []


def test_creation_refused_by_a_rate_limit_is_not_searched_for(checks: GitHubCheckRuns, pull: OpenedPull) -> None:
    pull.repository.github.fault("POST .*/check-runs", kind="secondary", retry_after=30)
    with pytest.raises(RateLimited):
        checks.create(pull.request, pull.sha, JUDGING)
    assert pull.repository.request_names() == ["GET 200", "POST 403"]


def test_check_run_of_a_dead_judge_is_found_and_updated(checks: GitHubCheckRuns, pull: OpenedPull) -> None:
    first = checks.create(pull.request, pull.sha, JUDGING)
    assert checks.create(pull.request, pull.sha, REJECTED) == first
    assert only_run(pull)["conclusion"] == "failure"


@pytest.mark.parametrize(("before", "after"), [(REJECTED, "failure"), (JUDGING, "neutral")])
def test_existing_pull_content_overwrites_no_concluded_check_run(
    checks: GitHubCheckRuns, pull: OpenedPull, before: CheckContent, after: str
) -> None:
    first = checks.create(pull.request, pull.sha, before)
    assert checks.create(pull.request, pull.sha, existing_pull_content()) == first
    run = only_run(pull)
    assert (run["conclusion"], run["output"]["title"] == before.title) == (after, before is REJECTED)


def test_existing_pull_content_replaces_a_check_run_concluded_by_github(
    checks: GitHubCheckRuns, pull: OpenedPull
) -> None:
    first = checks.create(pull.request, pull.sha, JUDGING)
    pull.repository.ci(pull.sha, "Assay", id=first, status="completed", conclusion="timed_out")
    assert only_run(pull)["conclusion"] == "timed_out"
    assert checks.create(pull.request, pull.sha, existing_pull_content()) == first
    assert only_run(pull)["conclusion"] == "neutral"


def test_check_run_of_another_app_with_our_name_is_not_used(checks: GitHubCheckRuns, pull: OpenedPull) -> None:
    pull.repository.ci(pull.sha, "Assay", status="in_progress", external_id=f"pull:{pull.number}")
    theirs = only_run(pull)
    made = checks.create(pull.request, pull.sha, JUDGING)
    assert made != theirs["id"]
    with pytest.raises(Forbidden, match="checks: write"):
        checks.update(pull.request, CheckRunId(theirs["id"]), REJECTED)


def test_our_check_run_is_found_behind_a_hundred_of_other_apps(checks: GitHubCheckRuns, pull: OpenedPull) -> None:
    made = checks.create(pull.request, pull.sha, JUDGING)
    for _ in range(100):
        pull.repository.ci(pull.sha, "Assay")
    assert checks.find(pull.request, pull.sha) == made


def test_pull_requests_of_one_commit_have_their_own_check_runs(
    repo: FakeRepo, checks: GitHubCheckRuns, pull: OpenedPull
) -> None:
    repo.push("other", {})
    twin = repo.open_pull_request("fix", base="other")
    assert twin.sha == pull.sha
    first, second = (checks.create(opened.request, opened.sha, JUDGING) for opened in (pull, twin))
    assert first != second
    assert checks.create(pull.request, pull.sha, REJECTED) == first


def test_annotations_are_sent_in_fifties_with_the_conclusion_last(checks: GitHubCheckRuns, pull: OpenedPull) -> None:
    made = checks.create(pull.request, pull.sha, JUDGING)
    checks.update(pull.request, made, notes_on(120))
    assert state(pull) == ("completed", "failure", [*range(1, 121)])
    assert pull.repository.request_names()[2:] == ["GET 200", "PATCH 200", "PATCH 200", "PATCH 200"]


@pytest.mark.parametrize("kind", ["status", "reset"])
def test_update_with_a_lost_response_repeats_no_annotation(
    checks: GitHubCheckRuns, pull: OpenedPull, kind: str
) -> None:
    made = checks.create(pull.request, pull.sha, JUDGING)
    pull.repository.github.fault("PATCH .*/check-runs", kind=kind, after=True)
    checks.update(pull.request, made, notes_on(2))
    assert state(pull) == ("completed", "failure", [1, 2])


@dataclass
class RecordingFence:
    """A fence that records earlier requests and lets *left* further ones pass."""

    pull: OpenedPull
    left: int = 99
    before: list[list[str]] = field(default_factory=list[list[str]])

    def __call__(self) -> None:
        self.before.append(self.pull.repository.request_names())
        self.left -= 1
        if self.left < 0:
            raise LeaseLost


def test_fence_is_checked_before_each_write_request(publisher: GitHubChecks, pull: OpenedPull) -> None:
    fence = RecordingFence(pull)
    checks = publisher.with_fence(fence)
    made = checks.create(pull.request, pull.sha, JUDGING)
    checks.update(pull.request, made, notes_on(120))
    written = ["GET 200", "POST 201", "GET 200", "PATCH 200", "PATCH 200", "PATCH 200"]
    assert pull.repository.request_names() == written
    assert fence.before == [written[:1], written[:3], written[:4], written[:5]]


@pytest.mark.parametrize("left", [0, 1, 2])
def test_lost_lease_stops_the_remaining_annotation_batches(
    publisher: GitHubChecks, pull: OpenedPull, left: int
) -> None:
    made = publisher.with_fence(no_lease).create(pull.request, pull.sha, JUDGING)
    with pytest.raises(LeaseLost):
        publisher.with_fence(RecordingFence(pull, left)).update(pull.request, made, notes_on(120))
    assert pull.repository.request_names()[2:] == ["GET 200", *["PATCH 200"] * left]
    assert only_run(pull)["status"] == "in_progress"


def test_check_run_is_neither_created_nor_searched_for_without_the_lease(
    publisher: GitHubChecks, pull: OpenedPull
) -> None:
    with pytest.raises(LeaseLost):
        publisher.with_fence(RecordingFence(pull, 0)).create_first(pull.request, pull.sha, JUDGING)
    assert (pull.repository.request_names(), runs(pull)) == ([], [])


@pytest.mark.parametrize("kind", ["status", "reset"])
def test_fence_is_checked_before_a_lost_request_is_repeated(
    publisher: GitHubChecks, pull: OpenedPull, kind: str
) -> None:
    made = publisher.with_fence(no_lease).create(pull.request, pull.sha, JUDGING)
    pull.repository.github.fault("PATCH .*/check-runs", kind=kind)
    fence = RecordingFence(pull, 1)
    with pytest.raises(LeaseLost):
        publisher.with_fence(fence).update(pull.request, made, REJECTED)
    assert len(fence.before) == 2
    assert len(pull.repository.request_names()[2:]) == 1
    assert only_run(pull)["conclusion"] is None


def test_fence_is_checked_after_a_token_is_created(publisher: GitHubChecks, pull: OpenedPull) -> None:
    made = publisher.with_fence(no_lease).create(pull.request, pull.sha, JUDGING)
    tokens = len(pull.repository.github.traffic("/access_tokens$"))
    pull.repository.github.control("tokens/expire")
    fence = RecordingFence(pull, 1)
    with pytest.raises(LeaseLost):
        publisher.with_fence(fence).update(pull.request, made, REJECTED)
    upload_sarif = pull.repository.github.traffic(f"^PATCH /repos/{pull.repository.name}/")
    assert [request["status"] for request in upload_sarif] == [401], (
        "the refused request is not repeated with the new token"
    )
    assert len(pull.repository.github.traffic("/access_tokens$")) == tokens + 1
    assert len(fence.before) == 2
    assert only_run(pull)["conclusion"] is None


def test_older_check_run_is_cancelled_under_the_fence(publisher: GitHubChecks, pull: OpenedPull) -> None:
    free = publisher.with_fence(no_lease)
    free.create_first(pull.request, pull.sha, JUDGING)
    free.create_first(pull.request, pull.sha, JUDGING)
    with pytest.raises(LeaseLost):
        publisher.with_fence(RecordingFence(pull, 0)).find(pull.request, pull.sha)
    assert [run["status"] for run in runs(pull)] == ["in_progress"] * 2


def test_second_judging_adds_only_new_annotations(checks: GitHubCheckRuns, pull: OpenedPull) -> None:
    made = checks.create(pull.request, pull.sha, notes_on(2))
    checks.update(pull.request, made, JUDGING)
    checks.update(pull.request, made, with_notes(note(2), note(3), note(2, "another")))
    assert state(pull)[2] == [1, 2, 3, 2]


def test_annotations_beyond_the_first_page_are_read(checks: GitHubCheckRuns, pull: OpenedPull) -> None:
    made = checks.create(pull.request, pull.sha, notes_on(130))
    checks.update(pull.request, made, notes_on(130))
    assert len(state(pull)[2]) == 130


def test_update_that_keeps_failing_is_an_outage(checks: GitHubCheckRuns, pull: OpenedPull) -> None:
    made = checks.create(pull.request, pull.sha, JUDGING)
    pull.repository.github.fault("PATCH .*/check-runs", count=9)
    with pytest.raises(Unavailable):
        checks.update(pull.request, made, REJECTED)
    assert pull.repository.request_names()[2:] == ["PATCH 502"] * 2


def test_missing_head_is_gone(checks: GitHubCheckRuns, pull: OpenedPull) -> None:
    with pytest.raises(SubjectGone):
        checks.create(pull.request, "0" * 40, JUDGING)
    with pytest.raises(SubjectGone):
        checks.update(pull.request, CheckRunId(1), JUDGING)


# Published check runs of many heads


@pytest.fixture
def published_runs(access: AppAccess, settings: Settings) -> GitHubPublishedRuns:
    return GitHubPublishedRuns(access, settings.require_app().app_id)


def with_head(pull: OpenedPull, head_sha: str = "") -> JudgeRequest:
    return pull.request.model_copy(update={"head_sha": head_sha or pull.sha})


def test_published_runs_are_our_own_of_each_pull_request(
    repo: FakeRepo, published_runs: GitHubPublishedRuns, checks: GitHubCheckRuns
) -> None:
    repo.push("other", {"b.py": "z = 1\n"})
    first, second = repo.pull(), repo.open_pull_request("other")
    repo.ci(first.sha, "Assay", external_id=f"pull:{first.number}", conclusion="success")
    foreign = published_runs.newest_runs(INSTALLATION, [with_head(first), with_head(second)])
    assert foreign == [None, None]
    open_ = checks.create(first.request, first.sha, JUDGING)
    ended = checks.create(second.request, second.sha, REJECTED)
    shown = [PublishedCheckRun(open_, None, "Judging"), PublishedCheckRun(ended, "failure", "Rejected")]
    assert published_runs.newest_runs(INSTALLATION, [with_head(first), with_head(second)]) == shown
    other_head = published_runs.newest_runs(INSTALLATION, [with_head(first, "9" * 40), with_head(second)])
    assert other_head == [None, shown[1]]


def test_published_runs_of_a_hundred_heads_take_one_request(
    repo: FakeRepo, published_runs: GitHubPublishedRuns
) -> None:
    pull = repo.pull()
    for count, requests in ((100, 1), (101, 2), (0, 0)):
        before = len(repo.github.traffic("POST /graphql"))
        assert published_runs.newest_runs(INSTALLATION, [with_head(pull)] * count) == [None] * count
        assert len(repo.github.traffic("POST /graphql")) == before + requests


def test_sweep_requests_are_refused_when_the_rate_limit_is_reserved(
    repo: FakeRepo, settings: Settings, vault: MemoryVault
) -> None:
    pull = repo.pull()
    left = RateLimit(RESERVED_REQUESTS[RequestPriority.SWEEP], SystemClock().now() + timedelta(hours=1))
    with app_access(settings, vault, SystemClock(), StoredLimits(core=left, graphql=left)) as access:
        with pytest.raises(RateLimited):
            GitHubPublishedRuns(access, settings.require_app().app_id).newest_runs(INSTALLATION, [with_head(pull)])
        with pytest.raises(RateLimited):
            GitHubScans(access).upload(pull.request.pull, repo.name, pull.sha, SARIF)
    assert repo.request_names() == []


# SARIF uploads

DRIVER: dict[str, Any] = {"driver": {"name": "Assay", "rules": []}}
RUN: dict[str, Any] = {"tool": DRIVER, "automationDetails": {"id": "assay/x"}, "results": []}
SARIF = base64.b64encode(gzip.compress(json.dumps({"version": "2.1.0", "runs": [RUN]}).encode())).decode()


@pytest.fixture
def scanning_repo(repo: FakeRepo) -> Iterator[FakeRepo]:
    repo.github.control("permissions", permissions=requested_permissions(OptIn))
    yield repo
    repo.github.control("permissions", permissions=None)


def upload_sarif(repo: FakeRepo, access: AppAccess, sarif: str = SARIF) -> tuple[UploadRefusal | None, PullRef]:
    opened = repo.pull()
    pull = opened.request.pull
    return GitHubScans(access).upload(pull, repo.name, opened.sha, sarif), pull


def stored_uploads(repo: FakeRepo) -> list[dict[str, Any]]:
    return repo.github.state(repo.name, "uploads")["uploads"]


def test_sarif_is_uploaded_for_the_pull_request_head(scanning_repo: FakeRepo, access: AppAccess) -> None:
    refusal, pull = upload_sarif(scanning_repo, access)
    assert refusal is None
    [upload] = stored_uploads(scanning_repo)
    assert (upload["ref"], upload["tool_name"]) == (f"refs/pull/{pull.number}/head", "Assay")


def test_refused_sarif_upload_says_why(scanning_repo: FakeRepo, access: AppAccess) -> None:
    assert upload_sarif(scanning_repo, access, "bm90IGd6aXA=")[0] is UploadRefusal.NOT_TAKEN
    scanning_repo.github.control("scanning", repo=scanning_repo.name, enabled=False)
    assert upload_sarif(scanning_repo, access)[0] is UploadRefusal.NOT_ENABLED
    scanning_repo.github.control("permissions", permissions=requested_permissions([OptIn.COMMENTS]))
    assert upload_sarif(scanning_repo, access)[0] is UploadRefusal.PERMISSION
    assert stored_uploads(scanning_repo) == []


def test_sarif_upload_tells_missing_repository_from_missing_head(scanning_repo: FakeRepo, access: AppAccess) -> None:
    scanning_repo.script_refusal("POST .*/code-scanning/sarifs", 404, "Not Found")
    refusal, pull = upload_sarif(scanning_repo, access)
    assert refusal is UploadRefusal.NOT_FOUND
    with pytest.raises(SubjectGone, match="head commit deleted"):
        GitHubScans(access).upload(pull, scanning_repo.name, "0" * 40, SARIF)


@pytest.mark.parametrize(("order", "error"), [({"status": 503}, Unavailable), ({"kind": "secondary"}, RateLimited)])
def test_rate_limit_or_outage_is_no_upload_refusal(
    scanning_repo: FakeRepo, access: AppAccess, order: dict[str, Any], error: type[Exception]
) -> None:
    scanning_repo.github.fault("POST .*/code-scanning/sarifs", **order)
    with pytest.raises(error):
        upload_sarif(scanning_repo, access)
