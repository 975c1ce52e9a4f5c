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
    """Known, and nothing follows."""

    def to_event(_: Delivery) -> Ignored:
        return Ignored(reason)

    return DeliveryRule(to_event, f"nothing: {why}", is_handled=False)


JUDGED_IMMEDIATELY: Final = "judged at once"
PERMISSIONS_NOT_CACHED: Final = "who may command is asked of GitHub each time"

DELIVERY_RULES: Final[Mapping[tuple[str, str], DeliveryRule]] = MappingProxyType(
    {
        ("pull_request", "opened"): DeliveryRule(
            pull_request.on_opened, "a check at once; judged after the quiet window, with an `assay` block at once"
        ),
        ("pull_request", "synchronize"): DeliveryRule(
            pull_request.on_synchronized, "the same for the new head; the old one's check is cancelled"
        ),
        ("pull_request", "reopened"): DeliveryRule(pull_request.on_reopened, "judged after the quiet window"),
        ("pull_request", "ready_for_review"): DeliveryRule(
            partial(pull_request.on_head_event, PullReady), JUDGED_IMMEDIATELY
        ),
        ("pull_request", "converted_to_draft"): DeliveryRule(
            partial(pull_request.on_head_event, PullDrafted),
            "what was not judged yet waits until it is ready or is asked for; a judging that began goes on",
        ),
        ("pull_request", "edited"): DeliveryRule(
            pull_request.on_edited,
            "a new or changed `assay` block: judged at once; another base, other issues to close or no `assay` block any more: "
            "judged again; another title or text where no issue that it closes says what is asked for, but by a bot that did not "
            "open it: judged again after the quiet window; all else: nothing",
        ),
        ("pull_request", "review_requested"): DeliveryRule(
            partial(pull_request.on_head_event, ReviewRequested),
            "ends the quiet window, and a draft's waiting; else nothing",
        ),
        ("pull_request", "closed"): DeliveryRule(
            pull_request.on_closed, "unfinished checks are concluded; noted as an outcome"
        ),
        ("pull_request", "labeled"): ignore_delivery("a label decides nothing here", "label"),
        ("pull_request", "unlabeled"): ignore_delivery("a label decides nothing here", "label"),
        ("pull_request", "enqueued"): ignore_delivery("the merge queue asks by `merge_group`", "merge_queue"),
        ("pull_request", "dequeued"): ignore_delivery("the merge queue says so by `merge_group`", "merge_queue"),
        ("issues", "edited"): DeliveryRule(
            repository.on_issue_edited,
            "title or text: open pull requests (of any repository of the installation) that close it and were judged, or are being "
            "judged, are judged again",
        ),
        ("issues", "deleted"): DeliveryRule(repository.on_issue_removed, "the same"),
        ("issues", "transferred"): DeliveryRule(repository.on_issue_removed, "the same"),
        ("issues", "closed"): ignore_delivery("it still says what was asked for", "issue_state"),
        ("issues", "reopened"): ignore_delivery("it still says what was asked for", "issue_state"),
        ("issue_comment", "created"): DeliveryRule(
            comments.on_comment_created, "a command is answered; else noted that a person spoke"
        ),
        ("issue_comment", "edited"): DeliveryRule(
            comments.on_comment_edited, "a command that the edit put there is answered"
        ),
        ("pull_request_review_comment", "created"): DeliveryRule(
            comments.on_line_comment_created, "a command is answered"
        ),
        ("pull_request_review_comment", "edited"): DeliveryRule(
            comments.on_line_comment_edited, "a command that the edit put there is answered"
        ),
        ("pull_request_review", "submitted"): DeliveryRule(
            comments.on_review_submitted,
            "a command in it is answered; an approval or a request for changes decides, if a person has to; else noted that a "
            "person spoke",
        ),
        ("pull_request_review", "edited"): DeliveryRule(
            comments.on_review_edited, "a command that the edit put there is answered"
        ),
        ("pull_request_review", "dismissed"): DeliveryRule(
            comments.on_review_dismissed,
            "what it decided is taken back: the check says again what the recorded verdict says",
        ),
        ("check_run", "created"): DeliveryRule(checks.on_check_run_created, "as `completed`, if it is done already"),
        ("check_run", "completed"): DeliveryRule(
            checks.on_check_run_completed,
            "of another App: a judging that waits for CI looks again; that it failed is noted; ours: nothing",
        ),
        ("check_run", "rerequested"): DeliveryRule(
            checks.on_check_run_rerequested, f"ours: {JUDGED_IMMEDIATELY}; another App's: nothing"
        ),
        ("check_run", "requested_action"): DeliveryRule(checks.on_requested_action, "the buttons on our check"),
        ("check_suite", "completed"): DeliveryRule(
            checks.on_check_suite_completed,
            "a judging that waits for CI looks again; one that passed ends the quiet window; ours: nothing",
        ),
        ("check_suite", "rerequested"): DeliveryRule(
            checks.on_check_suite_rerequested,
            f"ours: every pull request with that head is {JUDGED_IMMEDIATELY}; another App's: nothing",
        ),
        ("status", ""): DeliveryRule(
            checks.on_status, "a judging that waits for CI looks again; that it failed is noted; pending: nothing"
        ),
        ("workflow_run", "completed"): DeliveryRule(
            checks.on_workflow_completed, "a judging that waits for CI looks again"
        ),
        ("push", ""): DeliveryRule(
            repository.on_push,
            "`.github/assay.yml`, `AGENTS.md`, `CLAUDE.md` or another rules file changed: open pull requests into that branch that "
            "were judged, or are being judged, are judged again; a force-push: the same, since what is stacked on it changes something "
            "else; reverts on the default branch are noted",
        ),
        ("merge_group", "checks_requested"): DeliveryRule(
            repository.on_merge_group_requested, "the group's own check is answered"
        ),
        ("merge_group", "destroyed"): DeliveryRule(
            repository.on_merge_group_destroyed, "what was not answered yet is dropped"
        ),
        ("installation", "created"): DeliveryRule(
            repository.on_app_installed, "open pull requests get a neutral check; what was to be forgotten stays"
        ),
        ("installation", "deleted"): DeliveryRule(
            repository.on_app_uninstalled, "all about it is forgotten after `ASSAY_FORGET_AFTER`"
        ),
        ("installation", "new_permissions_accepted"): DeliveryRule(
            repository.on_permissions_accepted,
            "the token that has the old ones is dropped; nothing else is remembered of what was refused",
        ),
        ("installation", "suspend"): ignore_delivery("GitHub refuses us until it is unsuspended", "suspended"),
        ("installation", "unsuspend"): ignore_delivery("the sweep finds what was missed", "unsuspended"),
        ("installation_repositories", "added"): DeliveryRule(
            repository.on_app_installed, "open pull requests of the new repositories get a neutral check"
        ),
        ("installation_repositories", "removed"): DeliveryRule(
            repository.on_app_installed, "what is open there when it comes back gets a neutral check then"
        ),
        ("repository", "deleted"): ignore_delivery(
            "what was judged goes with its retention, or by `assay forget`", "repository"
        ),
        ("repository", "transferred"): ignore_delivery(
            "an App's installation is its owner's, so the old owner's hears `installation_repositories.removed` and the new "
            "owner's `added`, if it has one. A concluded check stays as it is, an unfinished one becomes neutral, and what is "
            "judged from then on is judged without what the old installation remembers (earlier verdicts, rounds, overrides): "
            "that goes by `assay forget OLD-OWNER/NAME`",
            "repository",
        ),
        ("repository", "renamed"): ignore_delivery(
            "repositories are known by number; later events, or the sweep, bring the name", "repository"
        ),
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
