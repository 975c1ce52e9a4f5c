"""Delivery -> Event, or Ignored with its reason: one table of all deliveries that Assay handles or knowingly ignores.

A delivery that is not in the table is ignored by name. Events that are only ignored are not subscribed to. An event about a pull request
carries author and draft state, so that it suffices without earlier ones; which pull requests others are about is looked up at intake, in
the index in Redis. Our own check runs start nothing by themselves, or judging would never end.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Final, NamedTuple

from msgspec.structs import asdict, replace

from app.ingest import comments
from app.ingest.event_types import (
    BranchPushed,
    CiChanged,
    CommandIssued,
    Event,
    FeedbackGiven,
    HeadEvent,
    HeadRerunRequested,
    Ignored,
    InstallationChanged,
    IssueChanged,
    MergeGroupChanged,
    PullClosed,
    PullDrafted,
    PullEdited,
    PullOpened,
    PullPushed,
    PullReady,
    PullReopened,
    PullRequestEdit,
    RerunRequested,
    ReviewRequested,
    VisibleRepository,
)
from app.ingest.payloads import (
    CheckedPull,
    CheckRun,
    CheckRunPayload,
    CheckSuitePayload,
    CommentPayload,
    Delivery,
    InstallationPayload,
    InstallationRepositoriesPayload,
    IssuePayload,
    LineCommentPayload,
    MergeGroupPayload,
    PayloadAccount,
    PayloadApp,
    PullRequestPayload,
    PushPayload,
    RepositoryPayload,
    RequestedActionPayload,
    StatusPayload,
    WorkflowRunPayload,
    is_person,
    pull_ref,
)
from worker.domain.check.check_run import CONTEST, HELPFUL, NOT_HELPFUL, REJUDGE, pull_number
from worker.domain.config.github_app import IMPLICIT_EVENTS
from worker.domain.github_events import GroupEnd
from worker.domain.judge_request import CommandName
from worker.domain.model import Sha
from worker.dossier.authors import classify_account
from worker.dossier.issues import (
    MOST_COMMITS,
    describe_own_task,
    find_closing_links,
    find_reverted_commits,
    find_reverted_pulls,
    is_declared_fix,
)
from worker.dossier.markup import case_fence
from worker.dossier.repo_rules.files import is_rules_file

MEMBER_ASSOCIATIONS: Final = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})
"""The associations of accounts that may have write access."""

HOST: Final = re.compile(r"https?://([^/:]+)")

HeadEventType = type[PullReady | PullDrafted | ReviewRequested]


def on_head_event(event: HeadEventType, delivery: Delivery) -> PullReady | PullDrafted | ReviewRequested | Ignored:
    payload = delivery.read(PullRequestPayload)
    return _ignored_if_closed(payload) or event(**asdict(_head_event(payload)))


def on_opened(delivery: Delivery) -> PullOpened:
    payload = delivery.read(PullRequestPayload)
    return PullOpened(**asdict(_head_event(payload)), has_case=case_fence(payload.pull_request.body or "") is not None)


def on_synchronized(delivery: Delivery) -> PullPushed:
    """`by_another` is false for the opener, whether they or an agent in their name pushed."""
    payload = delivery.read(PullRequestPayload)
    by_another = is_person(_other_sender(payload))
    has_case = case_fence(payload.pull_request.body or "") is not None
    return PullPushed(**asdict(_head_event(payload)), by_another=by_another, before=payload.before, has_case=has_case)


def on_reopened(delivery: Delivery) -> PullReopened:
    payload = delivery.read(PullRequestPayload)
    return PullReopened(**asdict(_head_event(payload)), by_person=is_person(payload.sender))


def on_edited(delivery: Delivery) -> PullEdited | Ignored:
    """A changed base, case or closing issue matters; other text does where no issue states the criteria.

    Whether a named issue can be read is checked at intake.
    """
    payload = delivery.read(PullRequestPayload)
    effect = _edit_effect(payload)
    if ignored := _ignored_if_closed(payload):
        return ignored
    if effect is None:
        return Ignored("nothing_judged_by")
    closes = tuple(sorted(effect.closes))
    return PullEdited(**asdict(_head_event(payload)), edit=effect.edit, closes=closes)


def _ignored_if_closed(payload: PullRequestPayload) -> Ignored | None:
    return None if payload.pull_request.state == "open" else Ignored("pull_request_closed")


class _PullText(NamedTuple):
    title: str
    body: str


class _EditEffect(NamedTuple):
    """What an edit changed, and the issues that state the criteria instead of the text."""

    edit: PullRequestEdit
    closes: frozenset[tuple[str, int]] = frozenset()


def _edit_effect(payload: PullRequestPayload) -> _EditEffect | None:
    if payload.changes.base is not None:
        return _EditEffect(PullRequestEdit.BASE)
    pull, changes = payload.pull_request, payload.changes
    now = _PullText(pull.title, pull.body or "")
    before = _PullText(
        now.title if changes.title is None else changes.title.before or "",
        now.body if changes.body is None else changes.body.before or "",
    )
    if now == before:
        return None
    case = _case(now.body)
    has_another = case != _case(before.body)
    if has_another and case is not None:
        return _EditEffect(PullRequestEdit.CASE)
    links = _links(now.body, payload)
    if links != _links(before.body, payload):
        return _EditEffect(PullRequestEdit.LINKS)
    if has_another:
        return _EditEffect(PullRequestEdit.TEXT)
    other = _other_sender(payload)
    is_by_other_bot = other is not None and not is_person(other)  # such as one that writes summaries
    has_other_task = not is_by_other_bot and describe_own_task(*now) != describe_own_task(*before)
    return _EditEffect(PullRequestEdit.TEXT, links) if has_other_task else None


def _other_sender(payload: PullRequestPayload) -> PayloadAccount | None:
    """The sender, unless it is the opener."""
    opener, sender = payload.pull_request.user, payload.sender
    return None if sender is None or (opener is not None and sender.login == opener.login) else sender


def _case(body: str) -> str | None:
    """The text of the case in a description."""
    fence = case_fence(body)
    return fence.text if fence else None


def _links(body: str, payload: PullRequestPayload) -> frozenset[tuple[str, int]]:
    match = HOST.match(payload.pull_request.html_url)
    links = find_closing_links(body, payload.repository.full_name, match[1] if match else "github.com")
    return frozenset((link.repository.casefold(), link.number) for link in links)


def on_closed(delivery: Delivery) -> PullClosed:
    payload = delivery.read(PullRequestPayload)
    pull, repository = payload.pull_request, payload.repository.full_name
    body = pull.body or ""
    return PullClosed(
        pull=pull_ref(payload, pull.number),
        repository=repository,
        head_sha=pull.head.sha,
        by_person=is_person(payload.sender),
        merge_sha=(pull.merge_commit_sha or pull.head.sha) if pull.merged else None,
        mends=pull.merged and is_declared_fix(pull.title, body, repository),
        reverts=find_reverted_pulls(pull.head.ref, body, repository) if pull.merged else (),
    )


def _head_event(payload: PullRequestPayload) -> HeadEvent:
    pull = payload.pull_request
    base, head_repository = pull.base, pull.head.repo
    is_from_fork = head_repository is None or head_repository.id != payload.repository.id  # None: a deleted fork
    return HeadEvent(
        pull=pull_ref(payload, pull.number),
        repository=payload.repository.full_name,
        head_sha=pull.head.sha,
        author=pull.user and _classify_account(pull.user.login, pull.user.type, pull.head.ref),
        draft=pull.draft,
        base_sha=base.sha if base else None,
        base_ref=base.ref if base else None,
        is_outside=is_from_fork and pull.author_association not in {"", *MEMBER_ASSOCIATIONS},
    )


_classify_account = lru_cache(maxsize=1024)(classify_account)


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


CONFIG_PATH: Final = ".github/assay.yml"
"""Its quiet window is cached in Redis, unlike anything in other rules files."""


def on_issue_edited(delivery: Delivery) -> IssueChanged | Ignored:
    payload = delivery.read(IssuePayload)
    if payload.changes.body is None and payload.changes.title is None:
        return Ignored("nothing_judged_by")
    return on_issue_removed(delivery)


def on_issue_removed(delivery: Delivery) -> IssueChanged | Ignored:
    """Deleted, or moved to another repository."""
    payload = delivery.read(IssuePayload)
    if payload.issue.pull_request is not None:
        return Ignored("not_an_issue")
    return IssueChanged(
        installation_id=payload.installation.id,
        repository_id=payload.repository.id,
        repository=payload.repository.full_name,
        number=payload.issue.number,
    )


def on_push(delivery: Delivery) -> BranchPushed | Ignored:
    """A push matters where it reverts commits, changes rules files or rewrites the branch."""
    payload = delivery.read(PushPayload)
    paths = {path for commit in payload.commits for path in (*commit.added, *commit.modified, *commit.removed)}
    has_new_config = CONFIG_PATH in paths
    has_new_rules = has_new_config or any(map(is_rules_file, paths))
    branch = payload.ref.removeprefix("refs/heads/")
    commits = payload.commits if branch == payload.repository.default_branch else ()
    reverted = dict.fromkeys(sha for commit in commits for sha in find_reverted_commits(commit.message))
    is_rewritten = payload.forced and not (payload.created or payload.deleted)
    if not (reverted or has_new_rules or is_rewritten):
        return Ignored("nothing_judged_by")
    return BranchPushed(
        installation_id=payload.installation.id,
        repository_id=payload.repository.id,
        branch=branch,
        reverted_commits=tuple(reverted)[:MOST_COMMITS],
        has_new_config=has_new_config,
        has_new_rules=has_new_rules,
        is_rewritten=is_rewritten,
    )


def on_merge_group_requested(delivery: Delivery) -> MergeGroupChanged:
    payload = delivery.read(MergeGroupPayload)
    group = payload.merge_group
    return MergeGroupChanged(
        installation_id=payload.installation.id,
        repository_id=payload.repository.id,
        repository=payload.repository.full_name,
        head_sha=group.head_sha,
        head_ref=group.head_ref,
        base_sha=group.base_sha,
        base_ref=group.base_ref,
    )


def on_merge_group_destroyed(delivery: Delivery) -> MergeGroupChanged:
    """An unknown reason counts as invalidated."""
    reason = delivery.read(MergeGroupPayload).reason
    ended = GroupEnd(reason) if reason in set(GroupEnd) else GroupEnd.INVALIDATED
    return replace(on_merge_group_requested(delivery), ended=ended)


def on_app_installed(delivery: Delivery) -> InstallationChanged:
    payload = delivery.read(InstallationRepositoriesPayload)
    added = (*payload.repositories, *payload.repositories_added)
    return InstallationChanged(
        installation_id=payload.installation.id,
        is_installed=True,
        added_repositories=tuple(
            VisibleRepository(repository_id=repository.id, repository=repository.full_name) for repository in added
        ),
        removed_repositories=tuple(repository.id for repository in payload.repositories_removed),
    )


def on_permissions_accepted(delivery: Delivery) -> InstallationChanged:
    return InstallationChanged(
        installation_id=delivery.read(InstallationPayload).installation.id, is_installed=True, has_new_permissions=True
    )


def on_app_uninstalled(delivery: Delivery) -> InstallationChanged:
    return InstallationChanged(installation_id=delivery.read(InstallationPayload).installation.id, is_installed=False)


Translate = Callable[[Delivery], Event | Ignored]


@dataclass(frozen=True, slots=True)
class DeliveryRule:
    """How a delivery becomes an event, and its effect for docs/triggers.md. `is_handled`: it has one."""

    to_event: Translate
    description: str
    is_handled: bool = True


def _ignore(description: str, reason: str, *names: str) -> dict[tuple[str, str], DeliveryRule]:
    """Rules for known deliveries (`event.action`) that are ignored."""
    rule = DeliveryRule(lambda _: Ignored(reason), description, is_handled=False)
    return {(event, action): rule for event, _, action in (name.partition(".") for name in names)}


JUDGED_IMMEDIATELY: Final = "judged immediately"

DELIVERY_RULES: Final[Mapping[tuple[str, str], DeliveryRule]] = MappingProxyType(
    {
        ("pull_request", "opened"): DeliveryRule(
            on_opened,
            "opens the check run; judged after the quiet window, with an `assay` block immediately",
        ),
        ("pull_request", "synchronize"): DeliveryRule(
            on_synchronized, "the same for the new head; cancels the check run of the old head"
        ),
        ("pull_request", "reopened"): DeliveryRule(on_reopened, "judged after the quiet window"),
        ("pull_request", "ready_for_review"): DeliveryRule(partial(on_head_event, PullReady), JUDGED_IMMEDIATELY),
        ("pull_request", "converted_to_draft"): DeliveryRule(
            partial(on_head_event, PullDrafted),
            "a waiting judging waits until ready or requested; a running judging continues",
        ),
        ("pull_request", "edited"): DeliveryRule(
            on_edited,
            "new or changed `assay` block: judged immediately; other base, other closing issues, block removed: rejudged; other title "
            "or text where no closing issue states the criteria, unless by a bot that is not the author: rejudged after the quiet "
            "window; else ignored",
        ),
        ("pull_request", "review_requested"): DeliveryRule(
            partial(on_head_event, ReviewRequested), "ends the quiet window and the wait of a draft"
        ),
        ("pull_request", "closed"): DeliveryRule(on_closed, "concludes unfinished check runs; records an outcome"),
        **_ignore("labels decide nothing", "label", "pull_request.labeled", "pull_request.unlabeled"),
        **_ignore("`merge_group` follows", "merge_queue", "pull_request.enqueued", "pull_request.dequeued"),
        ("issues", "edited"): DeliveryRule(
            on_issue_edited,
            "title or text: rejudges the judged open pull requests of the installation that close it",
        ),
        ("issues", "deleted"): DeliveryRule(on_issue_removed, "as `issues.edited`"),
        ("issues", "transferred"): DeliveryRule(on_issue_removed, "as `issues.edited`"),
        **_ignore("the criteria stay", "issue_state", "issues.closed", "issues.reopened"),
        ("issue_comment", "created"): DeliveryRule(
            partial(comments.on_comment_created, CommentPayload),
            "executes a command; else records activity of a person",
        ),
        ("issue_comment", "edited"): DeliveryRule(
            partial(comments.on_comment_edited, CommentPayload), "executes a command that the edit added"
        ),
        ("pull_request_review_comment", "created"): DeliveryRule(
            partial(comments.on_comment_created, LineCommentPayload), "executes a command"
        ),
        ("pull_request_review_comment", "edited"): DeliveryRule(
            partial(comments.on_comment_edited, LineCommentPayload), "executes a command that the edit added"
        ),
        ("pull_request_review", "submitted"): DeliveryRule(
            comments.on_review_submitted,
            "executes a command; a code owner's approval or request for changes decides a verdict that needs a person",
        ),
        ("pull_request_review", "edited"): DeliveryRule(
            comments.on_review_edited, "executes a command that the edit added"
        ),
        ("pull_request_review", "dismissed"): DeliveryRule(
            comments.on_review_dismissed, "the check run shows the recorded verdict again"
        ),
        ("check_run", "created"): DeliveryRule(on_check_run_created, "as `completed`, if completed"),
        ("check_run", "completed"): DeliveryRule(
            on_check_run_completed, "of other Apps: wakes a judging that waits for CI; records a failure"
        ),
        ("check_run", "rerequested"): DeliveryRule(on_check_run_rerequested, f"ours: {JUDGED_IMMEDIATELY}"),
        ("check_run", "requested_action"): DeliveryRule(on_requested_action, "our buttons"),
        ("check_suite", "completed"): DeliveryRule(
            on_check_suite_completed,
            "of other Apps: wakes a judging that waits for CI; success ends the quiet window",
        ),
        ("check_suite", "rerequested"): DeliveryRule(
            on_check_suite_rerequested, f"ours: every pull request with that head is {JUDGED_IMMEDIATELY}"
        ),
        ("status", ""): DeliveryRule(on_status, "not pending: wakes a judging that waits for CI; records a failure"),
        ("workflow_run", "completed"): DeliveryRule(on_workflow_completed, "wakes a judging that waits for CI"),
        ("push", ""): DeliveryRule(
            on_push,
            "changes `.github/assay.yml` or a rules file, or is a force-push: rejudges the judged open pull requests into that branch; "
            "on the default branch: records reverts",
        ),
        ("merge_group", "checks_requested"): DeliveryRule(
            on_merge_group_requested, "answers the check run of the group"
        ),
        ("merge_group", "destroyed"): DeliveryRule(on_merge_group_destroyed, "discards an unanswered group"),
        ("installation", "created"): DeliveryRule(
            on_app_installed, "open pull requests get a neutral check run; stops a scheduled deletion"
        ),
        ("installation", "deleted"): DeliveryRule(
            on_app_uninstalled, "deletes all stored data after `ASSAY_FORGET_AFTER`"
        ),
        ("installation", "new_permissions_accepted"): DeliveryRule(
            on_permissions_accepted, "discards the installation token"
        ),
        **_ignore("GitHub refuses requests until unsuspended", "suspended", "installation.suspend"),
        **_ignore("the next sweep finds missed events", "unsuspended", "installation.unsuspend"),
        ("installation_repositories", "added"): DeliveryRule(
            on_app_installed, "open pull requests of the new repositories get a neutral check run"
        ),
        ("installation_repositories", "removed"): DeliveryRule(
            on_app_installed, "forgets since when the App sees them"
        ),
        **_ignore("retention or `assay forget` deletes stored data", "repository", "repository.deleted"),
        **_ignore(
            "the installations get `installation_repositories.removed` and `.added`; the new one starts without verdicts, rounds and "
            "overrides, and an unfinished check run becomes neutral; `assay forget OLD-OWNER/NAME` deletes them",
            "repository",
            "repository.transferred",
        ),
        **_ignore("repositories are known by number", "repository", "repository.renamed"),
        **_ignore(
            "roles are read for each command",
            "permissions",
            *(
                "member.added",
                "member.edited",
                "member.removed",
                "membership.added",
                "membership.removed",
                "team.edited",
            ),
        ),
    }
)

SUBSCRIBED_EVENTS: Final = (
    frozenset(event_name for (event_name, _), row in DELIVERY_RULES.items() if row.is_handled) - IMPLICIT_EVENTS
)
"""The events that the App must subscribe to; GitHub delivers those about the App itself anyway."""


def translate(delivery: Delivery) -> Event | Ignored:
    """Translate a delivery by the table. Raises MalformedPayload for a handled one that can't be read."""
    row = DELIVERY_RULES.get((delivery.event_name, delivery.envelope.action or ""))
    if row is None:
        return Ignored(f"unhandled:{delivery.name}")
    if row.is_handled and delivery.envelope.installation is None:
        return Ignored("no_installation")
    return row.to_event(delivery)
