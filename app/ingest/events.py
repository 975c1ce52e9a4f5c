"""What a delivery means to us: an Event (a fact that matters), or Ignored with its reason. One table.

Pure; asks nobody. Does not read bodies itself (`app.ingest.pull_request` and others do) and does not decide what is done about an event (`app.ingest.intake`
does). Invariant: the table is all that we act on; what is not in it is ignored by name, so a new kind of delivery can't
surprise us; and what is in it only to say that nothing follows is subscribed to by nobody.

Our own check runs come back to us as `created` and `completed`; judging those would never end. Only their
`rerequested` and our buttons on them are for us.
What people do afterwards (close, merge, revert, comment, press a button) judges nothing; it is noted down.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Final

from app.ingest import checks, comments, pull_request, repository
from app.ingest.event_types import Event, Ignored, PullDrafted, PullReady, ReviewRequested
from app.ingest.payloads import Delivery
from worker.domain.config.app_permissions import IMPLICIT_EVENTS

Translate = Callable[[Delivery], Event | Ignored]


@dataclass(frozen=True, slots=True)
class DeliveryRule:
    """How deliveries of this name are read, and in words what follows. `is_handled`: something does."""

    to_event: Translate
    description: str
    is_handled: bool = True


def ignore_delivery(why: str, reason: str) -> DeliveryRule:
    """A known event that is ignored."""

    def to_event(_: Delivery) -> Ignored:
        return Ignored(reason)

    return DeliveryRule(to_event, why, is_handled=False)


JUDGED_IMMEDIATELY: Final = "judged immediately"
PERMISSIONS_NOT_CACHED: Final = "roles are read for each command"

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
            partial(pull_request.on_head_event, ReviewRequested),
            "ends the quiet window and the wait of a draft",
        ),
        ("pull_request", "closed"): DeliveryRule(
            pull_request.on_closed, "concludes unfinished check runs; records an outcome"
        ),
        ("pull_request", "labeled"): ignore_delivery("labels decide nothing", "label"),
        ("pull_request", "unlabeled"): ignore_delivery("labels decide nothing", "label"),
        ("pull_request", "enqueued"): ignore_delivery("`merge_group` follows", "merge_queue"),
        ("pull_request", "dequeued"): ignore_delivery("`merge_group` follows", "merge_queue"),
        ("issues", "edited"): DeliveryRule(
            repository.on_issue_edited,
            "title or text: rejudges the judged open pull requests of the installation that close it",
        ),
        ("issues", "deleted"): DeliveryRule(repository.on_issue_removed, "as `issues.edited`"),
        ("issues", "transferred"): DeliveryRule(repository.on_issue_removed, "as `issues.edited`"),
        ("issues", "closed"): ignore_delivery("the criteria stay", "issue_state"),
        ("issues", "reopened"): ignore_delivery("the criteria stay", "issue_state"),
        ("issue_comment", "created"): DeliveryRule(
            comments.on_comment_created, "executes a command; else records activity of a person"
        ),
        ("issue_comment", "edited"): DeliveryRule(comments.on_comment_edited, "executes a command that the edit added"),
        ("pull_request_review_comment", "created"): DeliveryRule(
            comments.on_line_comment_created, "executes a command"
        ),
        ("pull_request_review_comment", "edited"): DeliveryRule(
            comments.on_line_comment_edited, "executes a command that the edit added"
        ),
        ("pull_request_review", "submitted"): DeliveryRule(
            comments.on_review_submitted,
            "executes a command; a code owner's approval or request for changes decides a verdict that needs a person",
        ),
        ("pull_request_review", "edited"): DeliveryRule(
            comments.on_review_edited, "executes a command that the edit added"
        ),
        ("pull_request_review", "dismissed"): DeliveryRule(
            comments.on_review_dismissed,
            "the check run shows the recorded verdict again",
        ),
        ("check_run", "created"): DeliveryRule(checks.on_check_run_created, "as `completed`, if completed"),
        ("check_run", "completed"): DeliveryRule(
            checks.on_check_run_completed,
            "of other Apps: wakes a judging that waits for CI; records a failure",
        ),
        ("check_run", "rerequested"): DeliveryRule(checks.on_check_run_rerequested, f"ours: {JUDGED_IMMEDIATELY}"),
        ("check_run", "requested_action"): DeliveryRule(checks.on_requested_action, "our buttons"),
        ("check_suite", "completed"): DeliveryRule(
            checks.on_check_suite_completed,
            "of other Apps: wakes a judging that waits for CI; success ends the quiet window",
        ),
        ("check_suite", "rerequested"): DeliveryRule(
            checks.on_check_suite_rerequested,
            f"ours: every pull request with that head is {JUDGED_IMMEDIATELY}",
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
            repository.on_permissions_accepted,
            "discards the installation token",
        ),
        ("installation", "suspend"): ignore_delivery("GitHub refuses requests until unsuspended", "suspended"),
        ("installation", "unsuspend"): ignore_delivery("the next sweep finds missed events", "unsuspended"),
        ("installation_repositories", "added"): DeliveryRule(
            repository.on_app_installed, "open pull requests of the new repositories get a neutral check run"
        ),
        ("installation_repositories", "removed"): DeliveryRule(
            repository.on_app_installed, "forgets since when the App sees them"
        ),
        ("repository", "deleted"): ignore_delivery("retention or `assay forget` deletes stored data", "repository"),
        ("repository", "transferred"): ignore_delivery(
            "the installations get `installation_repositories.removed` and `.added`; the new one starts without verdicts, rounds and "
            "overrides, and an unfinished check run becomes neutral; `assay forget OLD-OWNER/NAME` deletes them",
            "repository",
        ),
        ("repository", "renamed"): ignore_delivery("repositories are known by number", "repository"),
        ("member", "added"): ignore_delivery(PERMISSIONS_NOT_CACHED, "permissions"),
        ("member", "edited"): ignore_delivery(PERMISSIONS_NOT_CACHED, "permissions"),
        ("member", "removed"): ignore_delivery(PERMISSIONS_NOT_CACHED, "permissions"),
        ("membership", "added"): ignore_delivery(PERMISSIONS_NOT_CACHED, "permissions"),
        ("membership", "removed"): ignore_delivery(PERMISSIONS_NOT_CACHED, "permissions"),
        ("team", "edited"): ignore_delivery(PERMISSIONS_NOT_CACHED, "permissions"),
    }
)

SUBSCRIBED_EVENTS: Final = (
    frozenset(event_name for (event_name, _), row in DELIVERY_RULES.items() if row.is_handled) - IMPLICIT_EVENTS
)
"""The events that the App must subscribe to. What is about the App itself comes to it anyway."""


def translate(delivery: Delivery) -> Event | Ignored:
    """Say what a delivery means to us. Raises Malformed if it is one of ours and can't be read."""
    row = DELIVERY_RULES.get((delivery.event_name, delivery.envelope.action or ""))
    if row is None:
        return Ignored(f"unhandled:{delivery.name}")
    if row.is_handled and delivery.envelope.installation is None:
        return Ignored("no_installation")
    return row.to_event(delivery)
