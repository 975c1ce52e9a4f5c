"""Check runs and statuses as CI evidence."""

from datetime import UTC, datetime
from typing import Any

import pytest

from worker.adapters.github.ci_checks import REPORT_CHARACTERS, CiContext, OwnChecks, ci_of, read_ci_context
from worker.adapters.github.responses import GraphContext, GraphPull
from worker.domain.dossier import AWAITING_APPROVAL, Ci, CiCheck, CiState

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


@pytest.mark.parametrize("word", ["SUCCESS", "FAILURE", "NEUTRAL", "CANCELLED", "SKIPPED", "TIMED_OUT", "STALE"])
def test_a_conclusion_is_githubs_word_in_small_letters(word: str) -> None:
    assert [one.conclusion for one in checks(run("test", word))] == [word.lower()]


@pytest.mark.parametrize("word", ["QUEUED", "IN_PROGRESS", "WAITING", "PENDING", "REQUESTED"])
def test_a_run_that_is_not_completed_has_no_conclusion(word: str) -> None:
    [check] = checks(run("test", "SUCCESS", status=word))
    assert (check.status, check.conclusion) == (word.lower(), None)


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ("SUCCESS", ("completed", "success")),
        ("FAILURE", ("completed", "failure")),
        ("ERROR", ("completed", "failure")),
        ("PENDING", ("pending", None)),
        ("EXPECTED", ("expected", None)),
    ],
)
def test_a_status_counts_like_a_check(state: str, told: tuple[str, str | None]) -> None:
    [check] = checks(status("deploy", state))
    assert (check.status, check.conclusion) == told


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


@pytest.mark.parametrize("order", [1, -1])
def test_a_rerun_replaces_the_run_before_it(order: int) -> None:
    runs = [run("test", "FAILURE", at=1), run("test", "SUCCESS", at=2)][::order]
    [check] = checks(*runs)
    assert (check.conclusion, check.attempt) == ("success", 2)


def test_a_rerun_that_waits_replaces_the_success_before_it() -> None:
    [check] = checks(run("test", None, at=None, status="QUEUED"), run("test", "SUCCESS", at=5))
    assert check.conclusion is None


def test_a_job_of_the_same_name_in_another_workflow_stays() -> None:
    found = checks(run("build", "FAILURE", at=1, workflow="CI"), run("build", "SUCCESS", at=2, workflow="Docs"))
    assert [one.conclusion for one in found] == ["failure", "success"]


def test_a_check_of_the_same_name_by_another_app_stays() -> None:
    assert len(checks(run("build"), run("build", app="circleci", app_id=2), status("build", "SUCCESS"))) == 3


def test_a_required_check_that_nobody_reported_is_pending_once() -> None:
    found = checks(run("build", isRequired=True), required=("build", "test", "test", "Assay"))
    assert [(one.name, one.conclusion, one.required) for one in found] == [
        ("build", "success", True),
        ("test", None, True),
    ]


def test_the_report_of_a_failure_holds_title_summary_and_notes() -> None:
    note = {"path": "a.py", "message": "boom", "title": "Error", "location": {"start": {"line": 4}}}
    bare = {"path": ".github", "message": "exit code 1"}
    [check] = checks(
        run("test", "FAILURE", title="1 failed", summary=" see ", annotations={"nodes": [note, None, bare]})
    )
    assert check.summary == "1 failed\nsee\na.py:4: Error, boom\n.github: exit code 1".replace(
        "Error, boom", "Error: boom"
    )


def test_a_report_is_cut_and_shows_it() -> None:
    [check] = checks(run("test", "FAILURE", summary="x" * (REPORT_CHARACTERS + 5)))
    assert check.summary == "x" * REPORT_CHARACTERS + " …"


def test_what_passed_needs_no_report() -> None:
    assert [one.summary for one in checks(run("test", title="fine"), status("s", "SUCCESS", description="ok"))] == [
        "",
        "",
    ]


def test_required_checks_come_first() -> None:
    found = checks(run("lint"), run("build", isRequired=True), required=("test",))
    assert [one.name for one in found] == ["build", "test", "lint"]


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
    base: dict[str, Any] = {
        "refUpdateRule": {"requiredStatusCheckContexts": ["build", "lint"]},
        "rules": {"nodes": rules},
    }
    assert read_ci_context(pull_of("Fix", baseRef=base)).required == ("build", "lint", "test")
    assert read_ci_context(pull_of("Fix", baseRef={**base, "refUpdateRule": None})).required == ("test", "lint")
    assert read_ci_context(pull_of("Fix", baseRef={**base, "rules": None})).required == ("build", "lint")


def pull_of(message: str, required: tuple[str, ...] = (), base_reports: int = 0, **more: Any) -> GraphPull:
    """A pull request whose head commit says *message*."""
    rollup = {"contexts": {"totalCount": base_reports}} if base_reports else None
    fields = {
        "state": "OPEN",
        "headRefOid": HEAD,
        "title": "",
        "body": "",
        "createdAt": "2026-11-20T12:00:00Z",
        "isDraft": False,
        "changedFiles": 1,
        "baseRefName": "main",
        "baseRefOid": "b" * 40,
        "headRefName": "fix",
        "commits": {"nodes": [{"commit": {"oid": HEAD, "message": message}}]},
        "baseRef": {
            "refUpdateRule": {"requiredStatusCheckContexts": required},
            "target": {"statusCheckRollup": rollup},
        },
    }
    return GraphPull.model_validate({**fields, **more})


@pytest.mark.parametrize(
    ("message", "words"),
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
def test_the_head_commits_message_may_silence_ci(message: str, words: str | None) -> None:
    assert read_ci_context(pull_of(message, base_reports=1)).skip_words == words
    assert read_ci_context(pull_of(message, required=("test",))).skip_words == words


def test_a_repository_without_ci_has_none_to_silence() -> None:
    assert read_ci_context(pull_of("Fix [skip ci]", required=("Assay",))).skip_words is None
    assert read_ci_context(pull_of("Fix [skip ci]", baseRef=None)).skip_words is None


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


def test_a_workflow_that_waits_for_approval_did_not_run() -> None:
    suites = [
        {
            "conclusion": "ACTION_REQUIRED",
            "workflowRun": {"workflow": {"name": "tests.yml"}},
            "checkRuns": {"totalCount": 0},
        },
        {"conclusion": "ACTION_REQUIRED", "app": {"slug": "github-actions"}},
        {"conclusion": "ACTION_REQUIRED", "checkRuns": {"totalCount": 0}},
        {"conclusion": "ACTION_REQUIRED", "app": {"slug": "other"}, "checkRuns": {"totalCount": 1}},
        {"conclusion": "SUCCESS", "app": {"slug": "fine"}},
    ]
    found = read_ci_context(pull_of("Fix", tip={"nodes": [{"commit": {"checkSuites": {"nodes": suites}}}]}))
    assert found.held_workflows == ("tests.yml", "github-actions", "a workflow")
    assert read_ci_context(pull_of("Fix", tip={"nodes": [{"commit": {}}]})).held_workflows == ()

    held = ci_of([], ASSAY, found).checks
    assert [(one.status, one.conclusion) for one in held] == [(AWAITING_APPROVAL, None)] * 3
