"""Delivery -> Event, or Ignored with its reason: one table of all deliveries that Assay handles or knowingly ignores.

A delivery that is not in the table is ignored by name. Events that are only ignored are not subscribed to.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Final

from app.ingest import checks, comments, pull_request, repository
from app.ingest.event_types import Event, Ignored, PullDrafted, PullReady, ReviewRequested
from app.ingest.payloads import CommentPayload, Delivery, LineCommentPayload
from worker.domain.config.app_permissions import IMPLICIT_EVENTS

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
            pull_request.on_opened,
            "opens the check run; judged after the quiet window, with an `assay` block immediately",
        ),
        ("pull_request", "synchronize"): DeliveryRule(
            pull_request.on_synchronized, "the same for the new head; cancels the check run of the old head"
        ),
        ("pull_request", "reopened"): DeliveryRule(pull_request.on_reopened, "judged after the quiet window"),
        ("pull_request", "ready_for_review"): DeliveryRule(
            partial(pull_request.on_head_event, PullReady), JUDGED_IMMEDIATELY
        ),
        ("pull_request", "converted_to_draft"): DeliveryRule(
            partial(pull_request.on_head_event, PullDrafted),
            "a waiting judging waits until ready or requested; a running judging continues",
        ),
        ("pull_request", "edited"): DeliveryRule(
            pull_request.on_edited,
            "new or changed `assay` block: judged immediately; other base, other closing issues, block removed: rejudged; other title "
            "or text where no closing issue states the criteria, unless by a bot that is not the author: rejudged after the quiet "
            "window; else ignored",
        ),
        ("pull_request", "review_requested"): DeliveryRule(
            partial(pull_request.on_head_event, ReviewRequested), "ends the quiet window and the wait of a draft"
        ),
        ("pull_request", "closed"): DeliveryRule(
            pull_request.on_closed, "concludes unfinished check runs; records an outcome"
        ),
        **_ignore("labels decide nothing", "label", "pull_request.labeled", "pull_request.unlabeled"),
        **_ignore("`merge_group` follows", "merge_queue", "pull_request.enqueued", "pull_request.dequeued"),
        ("issues", "edited"): DeliveryRule(
            repository.on_issue_edited,
            "title or text: rejudges the judged open pull requests of the installation that close it",
        ),
        ("issues", "deleted"): DeliveryRule(repository.on_issue_removed, "as `issues.edited`"),
        ("issues", "transferred"): DeliveryRule(repository.on_issue_removed, "as `issues.edited`"),
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
        ("check_run", "created"): DeliveryRule(checks.on_check_run_created, "as `completed`, if completed"),
        ("check_run", "completed"): DeliveryRule(
            checks.on_check_run_completed, "of other Apps: wakes a judging that waits for CI; records a failure"
        ),
        ("check_run", "rerequested"): DeliveryRule(checks.on_check_run_rerequested, f"ours: {JUDGED_IMMEDIATELY}"),
        ("check_run", "requested_action"): DeliveryRule(checks.on_requested_action, "our buttons"),
        ("check_suite", "completed"): DeliveryRule(
            checks.on_check_suite_completed,
            "of other Apps: wakes a judging that waits for CI; success ends the quiet window",
        ),
        ("check_suite", "rerequested"): DeliveryRule(
            checks.on_check_suite_rerequested, f"ours: every pull request with that head is {JUDGED_IMMEDIATELY}"
        ),
        ("status", ""): DeliveryRule(
            checks.on_status, "not pending: wakes a judging that waits for CI; records a failure"
        ),
        ("workflow_run", "completed"): DeliveryRule(checks.on_workflow_completed, "wakes a judging that waits for CI"),
        ("push", ""): DeliveryRule(
            repository.on_push,
            "changes `.github/assay.yml` or a rules file, or is a force-push: rejudges the judged open pull requests into that branch; "
            "on the default branch: records reverts",
        ),
        ("merge_group", "checks_requested"): DeliveryRule(
            repository.on_merge_group_requested, "answers the check run of the group"
        ),
        ("merge_group", "destroyed"): DeliveryRule(repository.on_merge_group_destroyed, "discards an unanswered group"),
        ("installation", "created"): DeliveryRule(
            repository.on_app_installed, "open pull requests get a neutral check run; stops a scheduled deletion"
        ),
        ("installation", "deleted"): DeliveryRule(
            repository.on_app_uninstalled, "deletes all stored data after `ASSAY_FORGET_AFTER`"
        ),
        ("installation", "new_permissions_accepted"): DeliveryRule(
            repository.on_permissions_accepted, "discards the installation token"
        ),
        **_ignore("GitHub refuses requests until unsuspended", "suspended", "installation.suspend"),
        **_ignore("the next sweep finds missed events", "unsuspended", "installation.unsuspend"),
        ("installation_repositories", "added"): DeliveryRule(
            repository.on_app_installed, "open pull requests of the new repositories get a neutral check run"
        ),
        ("installation_repositories", "removed"): DeliveryRule(
            repository.on_app_installed, "forgets since when the App sees them"
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
