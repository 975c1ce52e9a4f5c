"""Deliveries about checks: of other Apps, which may wake a judging, and of our own, whose buttons people press.

Pure. Invariant: what our own check runs tell us starts nothing, or judging would never end; of them only what people press
counts. Which pull requests a commit is the head of is not asked of a delivery: of forks it names none.
"""

from typing import Final

from app.ingest.event_types import CiMoved, CommandGiven, HeadRerun, Ignored, RerunPressed, ThumbGiven
from app.ingest.payloads import (
    App,
    CheckedPull,
    CheckRun,
    CheckRunPayload,
    CheckSuitePayload,
    Delivery,
    PressedPayload,
    RepositoryPayload,
    StatusPayload,
    WorkflowRunPayload,
)
from app.ingest.pull_request import is_person, pull_ref
from worker.domain.check.check_run import CONTEST, HELPFUL, NOT_HELPFUL, REJUDGE, pull_number
from worker.domain.ids import Sha
from worker.domain.request.judge_request import CommandName

FAILING: Final = frozenset({"failure", "timed_out", "startup_failure"})
RED: Final = frozenset({"failure", "error"})
THUMBS: Final = {HELPFUL.identifier: True, NOT_HELPFUL.identifier: False}
COMMANDS: Final = {REJUDGE.identifier: CommandName.REJUDGE, CONTEST.identifier: CommandName.CONTEST}


def run_created(delivery: Delivery) -> CiMoved | Ignored:
    """Some Apps create a check run that is done already."""
    payload = delivery.read(CheckRunPayload)
    if not is_ours(payload.check_run.app, delivery) and payload.check_run.conclusion is None:
        return Ignored("not_done")
    return run_completed(delivery)


def run_completed(delivery: Delivery) -> CiMoved | Ignored:
    payload = delivery.read(CheckRunPayload)
    run = payload.check_run
    if is_ours(run.app, delivery):
        return Ignored("own_check_run")
    if run.head_sha is None:
        return Ignored("no_commit")
    return _moved(payload, run.head_sha, has_failed=run.conclusion in FAILING)


def suite_completed(delivery: Delivery) -> CiMoved | Ignored:
    """Its check runs have told already which of them failed."""
    payload = delivery.read(CheckSuitePayload)
    if is_ours(payload.check_suite.app, delivery):
        return Ignored("own_check_suite")
    suite = payload.check_suite
    return _moved(payload, suite.head_sha, has_failed=False, is_green=suite.conclusion == "success")


def status_set(delivery: Delivery) -> CiMoved | Ignored:
    payload = delivery.read(StatusPayload)
    if payload.state == "pending":
        return Ignored("not_done")
    return _moved(payload, payload.sha, has_failed=payload.state in RED)


def workflow_completed(delivery: Delivery) -> CiMoved:
    payload = delivery.read(WorkflowRunPayload)
    return _moved(payload, payload.workflow_run.head_sha, has_failed=False)


def _moved(payload: RepositoryPayload, head_sha: Sha, *, has_failed: bool, is_green: bool = False) -> CiMoved:
    return CiMoved(
        installation_id=payload.installation.id,
        repository_id=payload.repository.id,
        head_sha=head_sha,
        has_failed=has_failed,
        is_green=is_green,
    )


def rerun_pressed(delivery: Delivery) -> RerunPressed | HeadRerun | Ignored:
    """Names no head unless GitHub says which one is the pull request's own now: an old commit's check may be re-run too."""
    payload = delivery.read(CheckRunPayload)
    run = payload.check_run
    if not is_ours(run.app, delivery):
        return Ignored("other_apps_check_run")
    number = _number(run, payload)
    if number is None:
        return Ignored("no_commit") if run.head_sha is None else _rerun(payload, run.head_sha)
    head_sha = _head(_listed(run, payload), number)
    return RerunPressed(pull=pull_ref(payload, number), repository=payload.repository.full_name, head_sha=head_sha)


def all_rerun(delivery: Delivery) -> HeadRerun | Ignored:
    payload = delivery.read(CheckSuitePayload)
    if not is_ours(payload.check_suite.app, delivery):
        return Ignored("other_apps_check_suite")
    return _rerun(payload, payload.check_suite.head_sha)


def _rerun(payload: RepositoryPayload, head_sha: Sha) -> HeadRerun:
    return HeadRerun(installation_id=payload.installation.id, repository_id=payload.repository.id, head_sha=head_sha)


def button_pressed(delivery: Delivery) -> ThumbGiven | CommandGiven | Ignored:
    """What a bot presses says nothing."""
    payload = delivery.read(PressedPayload)
    run, pressed = payload.check_run, payload.requested_action.identifier
    if not is_ours(run.app, delivery):
        return Ignored("other_apps_check_run")
    if pressed not in THUMBS and pressed not in COMMANDS:
        return Ignored("unknown_button")
    if payload.sender is None or not is_person(payload.sender):
        return Ignored("bot_pressed")
    number = _number(run, payload)
    if number is None:
        return Ignored("no_pull_request")
    pull, repository = pull_ref(payload, number), payload.repository.full_name
    if pressed in THUMBS:
        return ThumbGiven(pull=pull, repository=repository, head_sha=run.head_sha, is_helpful=THUMBS[pressed])
    return CommandGiven(
        pull=pull,
        repository=repository,
        head_sha=run.head_sha,
        comment_id=None,
        login=payload.sender.login,
        command=COMMANDS[pressed],
    )


def is_ours(app: App | None, delivery: Delivery) -> bool:
    return app is not None and app.id == delivery.our_app_id


def _listed(run: CheckRun, payload: RepositoryPayload) -> list[CheckedPull]:
    return [pull for pull in run.pull_requests if pull.base.repo.id == payload.repository.id]


def _number(run: CheckRun, payload: RepositoryPayload) -> int | None:
    """Which pull request a check run of ours is of."""
    return pull_number(run.external_id) or next((pull.number for pull in _listed(run, payload)), None)


def _head(listed: list[CheckedPull], number: int) -> Sha | None:
    return next((pull.head.sha for pull in listed if pull.number == number), None)
