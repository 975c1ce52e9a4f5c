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
from app.ingest.event_types import Event, Ignored, PullDrafted, PullReady, ReviewAsked
from app.ingest.payloads import Delivery
from worker.domain.config.app_permissions import UNASKED

Translate = Callable[[Delivery], Event | Ignored]


@dataclass(frozen=True, slots=True)
class Row:
    """How deliveries of this name are read, and in words what follows. `is_heard`: something does."""

    to_event: Translate
    does: str
    is_heard: bool = True


def nothing(why: str, reason: str) -> Row:
    """Known, and nothing follows."""

    def to_event(_: Delivery) -> Ignored:
        return Ignored(reason)

    return Row(to_event, f"nothing: {why}", is_heard=False)


AGAIN_AT_ONCE: Final = "judged at once"
NO_MEMORY: Final = "who may command is asked of GitHub each time"

TABLE: Final[Mapping[tuple[str, str], Row]] = MappingProxyType(
    {
        ("pull_request", "opened"): Row(
            pull_request.opened, "a check at once; judged after the quiet window, with an `assay` block at once"
        ),
        ("pull_request", "synchronize"): Row(
            pull_request.pushed, "the same for the new head; the old one's check is cancelled"
        ),
        ("pull_request", "reopened"): Row(pull_request.reopened, "judged after the quiet window"),
        ("pull_request", "ready_for_review"): Row(partial(pull_request.changed, PullReady), AGAIN_AT_ONCE),
        ("pull_request", "converted_to_draft"): Row(
            partial(pull_request.changed, PullDrafted),
            "what was not judged yet waits until it is ready or is asked for; a judging that began goes on",
        ),
        ("pull_request", "edited"): Row(
            pull_request.edited,
            "a new or changed `assay` block: judged at once; another base, other issues to close or no `assay` block any more: "
            "judged again; another title or text where no issue that it closes says what is asked for, but by a bot that did not "
            "open it: judged again after the quiet window; all else: nothing",
        ),
        ("pull_request", "review_requested"): Row(
            partial(pull_request.changed, ReviewAsked), "ends the quiet window, and a draft's waiting; else nothing"
        ),
        ("pull_request", "closed"): Row(pull_request.closed, "unfinished checks are concluded; noted as an outcome"),
        ("pull_request", "labeled"): nothing("a label decides nothing here", "label"),
        ("pull_request", "unlabeled"): nothing("a label decides nothing here", "label"),
        ("pull_request", "enqueued"): nothing("the merge queue asks by `merge_group`", "merge_queue"),
        ("pull_request", "dequeued"): nothing("the merge queue says so by `merge_group`", "merge_queue"),
        ("issues", "edited"): Row(
            repository.issue_edited,
            "title or text: open pull requests (of any repository of the installation) that close it and were judged, or are being "
            "judged, are judged again",
        ),
        ("issues", "deleted"): Row(repository.issue_gone, "the same"),
        ("issues", "transferred"): Row(repository.issue_gone, "the same"),
        ("issues", "closed"): nothing("it still says what was asked for", "issue_state"),
        ("issues", "reopened"): nothing("it still says what was asked for", "issue_state"),
        ("issue_comment", "created"): Row(comments.commented, "a command is answered; else noted that a person spoke"),
        ("issue_comment", "edited"): Row(comments.comment_edited, "a command that the edit put there is answered"),
        ("pull_request_review_comment", "created"): Row(comments.line_commented, "a command is answered"),
        ("pull_request_review_comment", "edited"): Row(
            comments.line_comment_edited, "a command that the edit put there is answered"
        ),
        ("pull_request_review", "submitted"): Row(
            comments.reviewed,
            "a command in it is answered; an approval or a request for changes decides, if a person has to; else noted that a "
            "person spoke",
        ),
        ("pull_request_review", "edited"): Row(comments.review_edited, "a command that the edit put there is answered"),
        ("pull_request_review", "dismissed"): Row(
            comments.dismissed, "what it decided is taken back: the check says again what the recorded verdict says"
        ),
        ("check_run", "created"): Row(checks.run_created, "as `completed`, if it is done already"),
        ("check_run", "completed"): Row(
            checks.run_completed,
            "of another App: a judging that waits for CI looks again; that it failed is noted; ours: nothing",
        ),
        ("check_run", "rerequested"): Row(checks.rerun_pressed, f"ours: {AGAIN_AT_ONCE}; another App's: nothing"),
        ("check_run", "requested_action"): Row(checks.button_pressed, "the buttons on our check"),
        ("check_suite", "completed"): Row(
            checks.suite_completed,
            "a judging that waits for CI looks again; one that passed ends the quiet window; ours: nothing",
        ),
        ("check_suite", "rerequested"): Row(
            checks.all_rerun, f"ours: every pull request with that head is {AGAIN_AT_ONCE}; another App's: nothing"
        ),
        ("status", ""): Row(
            checks.status_set, "a judging that waits for CI looks again; that it failed is noted; pending: nothing"
        ),
        ("workflow_run", "completed"): Row(checks.workflow_completed, "a judging that waits for CI looks again"),
        ("push", ""): Row(
            repository.branch_pushed,
            "`.github/assay.yml`, `AGENTS.md`, `CLAUDE.md` or another rules file changed: open pull requests into that branch that "
            "were judged, or are being judged, are judged again; a force-push: the same, since what is stacked on it changes something "
            "else; reverts on the default branch are noted",
        ),
        ("merge_group", "checks_requested"): Row(repository.group_told, "the group's own check is answered"),
        ("merge_group", "destroyed"): Row(repository.group_gone, "what was not answered yet is dropped"),
        ("installation", "created"): Row(
            repository.app_came, "open pull requests get a neutral check; what was to be forgotten stays"
        ),
        ("installation", "deleted"): Row(repository.app_left, "all about it is forgotten after `ASSAY_FORGET_AFTER`"),
        ("installation", "new_permissions_accepted"): Row(
            repository.app_may_more,
            "the token that has the old ones is dropped; nothing else is remembered of what was refused",
        ),
        ("installation", "suspend"): nothing("GitHub refuses us until it is unsuspended", "suspended"),
        ("installation", "unsuspend"): nothing("the sweep finds what was missed", "unsuspended"),
        ("installation_repositories", "added"): Row(
            repository.app_came, "open pull requests of the new repositories get a neutral check"
        ),
        ("installation_repositories", "removed"): Row(
            repository.app_came, "what is open there when it comes back gets a neutral check then"
        ),
        ("repository", "deleted"): nothing(
            "what was judged goes with its retention, or by `assay forget`", "repository"
        ),
        ("repository", "transferred"): nothing(
            "an App's installation is its owner's, so the old owner's hears `installation_repositories.removed` and the new "
            "owner's `added`, if it has one. A concluded check stays as it is, an unfinished one becomes neutral, and what is "
            "judged from then on is judged without what the old installation remembers (earlier verdicts, rounds, overrides): "
            "that goes by `assay forget OLD-OWNER/NAME`",
            "repository",
        ),
        ("repository", "renamed"): nothing(
            "repositories are known by number; later events, or the sweep, bring the name", "repository"
        ),
        ("member", "added"): nothing(NO_MEMORY, "permissions"),
        ("member", "edited"): nothing(NO_MEMORY, "permissions"),
        ("member", "removed"): nothing(NO_MEMORY, "permissions"),
        ("membership", "added"): nothing(NO_MEMORY, "permissions"),
        ("membership", "removed"): nothing(NO_MEMORY, "permissions"),
        ("team", "edited"): nothing(NO_MEMORY, "permissions"),
    }
)

SUBSCRIBED: Final = frozenset(event_name for (event_name, _), row in TABLE.items() if row.is_heard) - UNASKED
"""The events that the App must subscribe to. What is about the App itself comes to it anyway."""


def translate(delivery: Delivery) -> Event | Ignored:
    """Say what a delivery means to us. Raises Malformed if it is one of ours and can't be read."""
    row = TABLE.get((delivery.event_name, delivery.envelope.action or ""))
    if row is None:
        return Ignored(f"unhandled:{delivery.name}")
    if row.is_heard and delivery.envelope.installation is None:
        return Ignored("no_installation")
    return row.to_event(delivery)
