"""Deliveries about checks: other Apps' checks, which may retrigger a judging, and the buttons of our own check runs.

Our own check runs start nothing by themselves, or judging would never end.
"""

from typing import Final

from app.ingest.event_types import CiChanged, CommandIssued, FeedbackGiven, HeadRerunRequested, Ignored, RerunRequested
from app.ingest.payloads import (
    CheckedPull,
    CheckRun,
    CheckRunPayload,
    CheckSuitePayload,
    Delivery,
    PayloadApp,
    RepositoryPayload,
    RequestedActionPayload,
    StatusPayload,
    WorkflowRunPayload,
)
from app.ingest.pull_request import is_person, pull_ref
from worker.domain.check.check_run import CONTEST, HELPFUL, NOT_HELPFUL, REJUDGE, pull_number
from worker.domain.ids import Sha
from worker.domain.judge_request import CommandName

FAILED_CONCLUSIONS: Final = frozenset({"failure", "timed_out", "startup_failure"})
FAILED_STATES: Final = frozenset({"failure", "error"})
FEEDBACK_BUTTONS: Final = {HELPFUL.identifier: True, NOT_HELPFUL.identifier: False}
COMMAND_BUTTONS: Final = {REJUDGE.identifier: CommandName.REJUDGE, CONTEST.identifier: CommandName.CONTEST}


def on_check_run_created(delivery: Delivery) -> CiChanged | Ignored:
    """Some Apps create a completed check run."""
    payload = delivery.read(CheckRunPayload)
    if not is_own_app(payload.check_run.app, delivery) and payload.check_run.conclusion is None:
        return Ignored("not_done")
    return on_check_run_completed(delivery)


def on_check_run_completed(delivery: Delivery) -> CiChanged | Ignored:
    payload = delivery.read(CheckRunPayload)
    run = payload.check_run
    if is_own_app(run.app, delivery):
        return Ignored("own_check_run")
    if run.head_sha is None:
        return Ignored("no_commit")
    return _ci_changed(payload, run.head_sha, has_failed=run.conclusion in FAILED_CONCLUSIONS)


def on_check_suite_completed(delivery: Delivery) -> CiChanged | Ignored:
    """A failure is delivered with the check run that failed."""
    payload = delivery.read(CheckSuitePayload)
    suite = payload.check_suite
    if is_own_app(suite.app, delivery):
        return Ignored("own_check_suite")
    return _ci_changed(payload, suite.head_sha, has_failed=False, is_green=suite.conclusion == "success")


def on_status(delivery: Delivery) -> CiChanged | Ignored:
    payload = delivery.read(StatusPayload)
    if payload.state == "pending":
        return Ignored("not_done")
    return _ci_changed(payload, payload.sha, has_failed=payload.state in FAILED_STATES)


def on_workflow_completed(delivery: Delivery) -> CiChanged:
    payload = delivery.read(WorkflowRunPayload)
    return _ci_changed(payload, payload.workflow_run.head_sha, has_failed=False)


def _ci_changed(payload: RepositoryPayload, head_sha: Sha, *, has_failed: bool, is_green: bool = False) -> CiChanged:
    return CiChanged(
        installation_id=payload.installation.id,
        repository_id=payload.repository.id,
        head_sha=head_sha,
        has_failed=has_failed,
        is_green=is_green,
    )


def on_check_run_rerequested(delivery: Delivery) -> RerunRequested | HeadRerunRequested | Ignored:
    """Its head is the pull request's current one where GitHub names it: an old commit's check may be re-run, too."""
    payload = delivery.read(CheckRunPayload)
    run = payload.check_run
    if not is_own_app(run.app, delivery):
        return Ignored("other_apps_check_run")
    number = _number(run, payload)
    if number is None:
        return Ignored("no_commit") if run.head_sha is None else _rerun(payload, run.head_sha)
    head_sha = next((pull.head.sha for pull in _own_pulls(run, payload) if pull.number == number), None)
    return RerunRequested(pull=pull_ref(payload, number), repository=payload.repository.full_name, head_sha=head_sha)


def on_check_suite_rerequested(delivery: Delivery) -> HeadRerunRequested | Ignored:
    payload = delivery.read(CheckSuitePayload)
    if not is_own_app(payload.check_suite.app, delivery):
        return Ignored("other_apps_check_suite")
    return _rerun(payload, payload.check_suite.head_sha)


def _rerun(payload: RepositoryPayload, head_sha: Sha) -> HeadRerunRequested:
    return HeadRerunRequested(
        installation_id=payload.installation.id, repository_id=payload.repository.id, head_sha=head_sha
    )


def on_requested_action(delivery: Delivery) -> FeedbackGiven | CommandIssued | Ignored:
    payload = delivery.read(RequestedActionPayload)
    run, pressed = payload.check_run, payload.requested_action.identifier
    if not is_own_app(run.app, delivery):
        return Ignored("other_apps_check_run")
    if pressed not in FEEDBACK_BUTTONS and pressed not in COMMAND_BUTTONS:
        return Ignored("unknown_button")
    if payload.sender is None or not is_person(payload.sender):
        return Ignored("bot_pressed")
    number = _number(run, payload)
    if number is None:
        return Ignored("no_pull_request")
    pull, repository = pull_ref(payload, number), payload.repository.full_name
    if pressed in FEEDBACK_BUTTONS:
        return FeedbackGiven(
            pull=pull, repository=repository, head_sha=run.head_sha, is_helpful=FEEDBACK_BUTTONS[pressed]
        )
    return CommandIssued(
        pull=pull,
        repository=repository,
        head_sha=run.head_sha,
        comment_id=None,
        login=payload.sender.login,
        command=COMMAND_BUTTONS[pressed],
    )


def is_own_app(app: PayloadApp | None, delivery: Delivery) -> bool:
    return app is not None and app.id == delivery.our_app_id


def _own_pulls(run: CheckRun, payload: RepositoryPayload) -> list[CheckedPull]:
    return [pull for pull in run.pull_requests if pull.base.repo.id == payload.repository.id]


def _number(run: CheckRun, payload: RepositoryPayload) -> int | None:
    """The pull request that a check run of ours belongs to."""
    return pull_number(run.external_id) or next((pull.number for pull in _own_pulls(run, payload)), None)
