"""Event -> delivery in the inbox, command, merge group -> Redis: all that the web process does about an event.

Each write is idempotent: a delivery that was counted before changes nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final, assert_never, cast

from anyio import to_thread
from msgspec.structs import asdict

from app.ingest.event_types import (
    BranchPushed,
    CiChanged,
    CommandIssued,
    Event,
    FeedbackGiven,
    HeadEvent,
    HeadRerunRequested,
    InstallationChanged,
    IssueChanged,
    MergeGroupChanged,
    PersonCommented,
    PullClosed,
    PullDrafted,
    PullEdited,
    PullEvent,
    PullOpened,
    PullPushed,
    PullReady,
    PullReopened,
    PullRequestEdit,
    RepositoryEvent,
    RerunRequested,
    ReviewRequested,
    VisibleRepository,
)
from worker.domain.github_events import (
    MergeGroup,
    PullRequestEvent,
    PullRequestEventKind,
    RepositoryAdded,
    hash_issue,
)
from worker.domain.judge_request import CommandName, CommandRequest, FirstSeen, JudgeRequest, Trigger
from worker.domain.lifecycle.intake import (
    CheckDelivery,
    CloseDelivery,
    EventDelivery,
    InboxDelivery,
    IntakeOutcome,
    NamedHead,
    RequestDelivery,
)
from worker.domain.model import DeliveryId, InstallationId, hash_base
from worker.domain.ports import Clock
from worker.errors import Unavailable
from worker.wiring.store import Store
from worker.wiring.web import (
    AsyncRedisClient,
    RedisMergeGroups,
    add_repositories,
    append_delivery,
    find_residence,
    intake,
    keys,
)

LATE_AFTER: Final = timedelta(minutes=1)
"""A time in a delivery counts only beyond this distance: GitHub's clock differs from ours, and a push is delivered late, too."""

NOTED, UNKNOWN, DUPLICATE = IntakeOutcome.NOTED, IntakeOutcome.UNKNOWN, IntakeOutcome.DUPLICATE
RareEvent = CommandIssued | InstallationChanged | MergeGroupChanged | HeadRerunRequested | IssueChanged | BranchPushed
JudgeTriggerEvent = (
    PullOpened | PullPushed | PullReopened | PullReady | PullDrafted | PullEdited | ReviewRequested | RerunRequested
)
InboxEvent = JudgeTriggerEvent | PullClosed | CiChanged | PersonCommented | FeedbackGiven
EventFields = dict[str, object]

EDIT_TRIGGERS: Final[Mapping[PullRequestEdit, Trigger]] = MappingProxyType(
    {
        PullRequestEdit.CASE: Trigger.CASE,
        PullRequestEdit.BASE: Trigger.BASE,
        PullRequestEdit.LINKS: Trigger.EDITED,
        PullRequestEdit.TEXT: Trigger.TEXT,
    }
)
EVENT_TRIGGERS: Final[Mapping[type[JudgeTriggerEvent], Trigger]] = MappingProxyType(
    {
        PullPushed: Trigger.PUSHED,
        PullDrafted: Trigger.EDITED,
        PullReopened: Trigger.REOPENED,
        PullReady: Trigger.READY,
        ReviewRequested: Trigger.REVIEW,
        RerunRequested: Trigger.RERUN,
    }
)


@dataclass(frozen=True, slots=True)
class EventIntake:
    """Stores events. Frequent ones are appended to the inbox, on the event loop; rare ones block a thread."""

    store: Store
    clock: Clock
    async_client: AsyncRedisClient

    async def take_in(self, event: Event, delivery_id: DeliveryId) -> IntakeOutcome:
        """Store what an event asks for. Raises Unavailable."""
        at = self.clock.now()
        match event:
            case HeadEvent() | RerunRequested() | PullClosed() | CiChanged() | PersonCommented() | FeedbackGiven():
                return await append_delivery(self.async_client, to_inbox_delivery(event, delivery_id, at))
            case _:
                return await to_thread.run_sync(self._store_rare_event, event, delivery_id, at)

    def _store_rare_event(self, event: RareEvent, delivery_id: DeliveryId, at: datetime) -> IntakeOutcome:
        match event:
            case CommandIssued():
                self._queue_outcome_event(event, delivery_id, at)  # a review that decides is also an act of a person
                stored = [self.store.commands.put(command) for command in to_command_requests(event, delivery_id, at)]
                return next((outcome for outcome in stored if outcome is not DUPLICATE), DUPLICATE)
            case InstallationChanged():
                return self._update_installation(event, delivery_id, at)
            case MergeGroupChanged():
                groups = RedisMergeGroups(self.store.client, self.store.timing)
                return groups.put(to_merge_group(event, delivery_id, at))
            case _:
                return self._store_repository_event(event, delivery_id, at)

    def _queue_outcome_event(self, event: RareEvent, delivery_id: DeliveryId, at: datetime) -> IntakeOutcome:
        outcome = to_outcome_event(event, delivery_id, at)
        return UNKNOWN if outcome is None else self.store.pull_request_events.put(outcome)

    def _store_repository_event(
        self, event: HeadRerunRequested | IssueChanged | BranchPushed, delivery_id: DeliveryId, at: datetime
    ) -> IntakeOutcome:
        client = self.store.client
        noted = self._queue_outcome_event(event, delivery_id, at)
        match event:
            case HeadRerunRequested():
                woken = self._rejudge_all(intake.find_requests_by_head(client, event), Trigger.RERUN, delivery_id, at)
                if woken is UNKNOWN:  # no pull request's head, but perhaps a merge group's
                    commit = (event.installation_id, event.repository_id, event.head_sha)
                    woken = RedisMergeGroups(client, self.store.timing).reopen(commit, delivery_id, at)
            case IssueChanged():
                mark = hash_issue(event.repository, event.number)
                requests = intake.find_requests_by_issue(client, event.installation_id, mark)
                woken = self._rejudge_all(requests, Trigger.CRITERIA, delivery_id, at)
            case BranchPushed():
                woken = self._rejudge_base(event, delivery_id, at)
            case _:
                assert_never(event)
        return noted if woken is UNKNOWN else woken

    def _rejudge_all(
        self, requests: Iterable[JudgeRequest], trigger: Trigger, delivery_id: DeliveryId, at: datetime
    ) -> IntakeOutcome:
        """Request a judging of each pull request's newest head. Returns the outcome of the first."""
        outcomes = [
            intake.request_judging(
                self.store.client, rejudge_request(request, trigger, delivery_id, at), self.store.timing
            ).outcome
            for request in requests
        ]
        return outcomes[0] if outcomes else UNKNOWN

    def _rejudge_base(self, event: BranchPushed, delivery_id: DeliveryId, at: datetime) -> IntakeOutcome:
        """Rejudge what was judged by the branch's old rules, and drop the cached quiet window of its configuration."""
        if not (event.has_new_rules or event.is_rewritten):
            return UNKNOWN
        branch = event.installation_id, event.repository_id, hash_base(event.branch)
        if event.has_new_config or event.is_rewritten:
            intake.set_window(self.store.client, *branch, None)
        requests = intake.find_requests_by_base(self.store.client, *branch)
        if event.is_rewritten:  # the diff against it is another one now; what has left this base is unaffected
            requests = [request for request in requests if request.base in (None, branch[2])]
        trigger = Trigger.BASE if event.is_rewritten else Trigger.RULES
        woken = self._rejudge_all(requests, trigger, delivery_id, at)
        return NOTED if woken is UNKNOWN and event.has_new_config else woken

    def _update_installation(self, event: InstallationChanged, delivery_id: DeliveryId, at: datetime) -> IntakeOutcome:
        """Schedule the deletion of an installation that left, or cancel it.

        Removed repositories and new permissions may be delivered after the uninstallation: they cancel nothing.
        """
        uninstallations = self.store.uninstallations()
        if event.has_new_permissions:
            self.store.vault.drop(keys.token(event.installation_id))  # a token has the permissions of its creation
        if event.is_installed:
            if event.added_repositories or not (event.removed_repositories or event.has_new_permissions):
                uninstallations.record_installed(event.installation_id)
            self.store.first_seen.remove(event.installation_id, event.removed_repositories)
            added = [
                to_repository_added(event.installation_id, repository, delivery_id, at)
                for repository in event.added_repositories
            ]
            add_repositories(self.store.client, added)
        else:
            uninstallations.record_uninstalled(event.installation_id)
        return NOTED


def to_inbox_delivery(event: InboxEvent, delivery_id: DeliveryId, at: datetime) -> InboxDelivery:
    """What the dispatcher applies of a frequent event."""
    outcome = to_outcome_event(event, delivery_id, at)
    match event:
        case CiChanged():
            return CheckDelivery(
                installation_id=event.installation_id,
                repository_id=event.repository_id,
                head_sha=event.head_sha,
                is_green=event.is_green,
                event=outcome,
            )
        case HeadEvent() | RerunRequested():
            issues = event.closes if isinstance(event, PullEdited) else ()
            return RequestDelivery(
                request=to_judge_request(event, delivery_id, at),
                named_by=head_origin(event),
                unless_judged_by=tuple(hash_issue(*issue) for issue in issues),
                event=outcome,
            )
        case _:
            pull_request_event = cast("PullRequestEvent", outcome)  # these events always are one
            if isinstance(event, PullClosed):
                return CloseDelivery(pull=event.pull, event=pull_request_event)
            return EventDelivery(event=pull_request_event)


def to_judge_request(event: JudgeTriggerEvent, delivery_id: DeliveryId, at: datetime) -> JudgeRequest:
    head = event if isinstance(event, HeadEvent) else None
    is_new_head = isinstance(event, (PullPushed, PullOpened))
    return JudgeRequest(
        pull=event.pull,
        repository=event.repository,
        head_sha=event.head_sha,
        trigger=trigger_of(event),
        delivery_id=delivery_id,
        requested_at=at,
        author=head and head.author,
        draft=head is not None and head.draft,
        arrived=FirstSeen(head_sha=event.head_sha, at=at) if is_new_head and event.head_sha else None,
        base_sha=head and head.base_sha,
        base=None if head is None or head.base_ref is None else hash_base(head.base_ref),
        outside=head is not None and head.is_outside,
    )


def head_origin(event: JudgeTriggerEvent) -> NamedHead:
    """The commit that a push led from."""
    return NamedHead(event.before, has_case=event.has_case) if isinstance(event, PullPushed) else NamedHead()


def trigger_of(event: JudgeTriggerEvent) -> Trigger:
    match event:
        case PullOpened():
            return Trigger.CASE if event.has_case else Trigger.OPENED
        case PullEdited():
            return EDIT_TRIGGERS[event.edit]
        case _:
            return EVENT_TRIGGERS[type(event)]


def to_outcome_event(event: Event, delivery_id: DeliveryId, at: datetime) -> PullRequestEvent | None:
    """What may be an outcome of a verdict, as numbers, hashes and words of closed sets; None: nothing in this event."""
    fields = _outcome_fields(event)
    if fields is None or not isinstance(event, (PullEvent, RepositoryEvent)):
        return None
    if isinstance(event, PullEvent):
        fields |= event.pull.model_dump()
    else:
        fields |= {"installation_id": event.installation_id, "repository_id": event.repository_id}
    return PullRequestEvent.model_validate({**fields, "delivery_id": delivery_id, "at": at})


def _outcome_fields(event: Event) -> EventFields | None:
    kind, fields = None, EventFields()
    match event:
        case PullPushed():  # first: most deliveries are pushes by the author
            if event.by_another:
                kind = PullRequestEventKind.PUSHED_BY_ANOTHER
                fields = {"by_person": True, "head_sha": event.head_sha, "before_sha": event.before}
        case PullReopened():
            kind = PullRequestEventKind.REOPENED
            fields = {"by_person": event.by_person, "head_sha": event.head_sha}
        case PersonCommented() | CommandIssued(command=CommandName.APPROVED | CommandName.CHANGES):
            kind, fields = PullRequestEventKind.SPOKE, {"by_person": True}
        case FeedbackGiven():
            kind = PullRequestEventKind.HELPFUL if event.is_helpful else PullRequestEventKind.NOT_HELPFUL
            fields = {"by_person": True, "head_sha": event.head_sha}
        case PullClosed():
            kind = PullRequestEventKind.CLOSED if event.merge_sha is None else PullRequestEventKind.MERGED
            fields = {"by_person": event.by_person, "head_sha": event.head_sha}
            if event.merge_sha is not None:
                fields |= {"merge_sha": event.merge_sha, "mends": event.mends, "reverts": event.reverts}
        case CiChanged(has_failed=True):
            kind, fields = PullRequestEventKind.CI_FAILED, {"head_sha": event.head_sha}
        case BranchPushed(reverted_commits=reverted) if reverted:
            kind, fields = PullRequestEventKind.REVERTED, {"reverted_shas": reverted}
        case _:
            pass
    return None if kind is None else {"what": kind, **fields}


def rejudge_request(request: JudgeRequest, trigger: Trigger, delivery_id: DeliveryId, at: datetime) -> JudgeRequest:
    """The same pull request for another reason. One delivery may be about several.

    Head and draft state of the recorded request may be old; the worker asks GitHub for them.
    """
    own = DeliveryId(f"{delivery_id}-{request.pull.repository_id}-{request.pull.number}")
    changes = {"head_sha": None, "trigger": trigger, "delivery_id": own, "requested_at": at, "outages": 0}
    return request.model_copy(update={**changes, "draft": False})


def to_command_requests(event: CommandIssued, delivery_id: DeliveryId, at: datetime) -> tuple[CommandRequest, ...]:
    """The command, and what the review that holds it decides: two requests.

    A late delivery counts as of when it was written, before pushes and reviews that were delivered meanwhile.
    """
    fields = asdict(event)
    decides, said_at = fields.pop("decides"), fields.pop("said_at")
    is_late = said_at is not None and at - said_at > LATE_AFTER
    fields["asked_at"] = said_at if is_late else at
    command = CommandRequest.model_validate({**fields, "delivery_id": delivery_id})
    if decides is None:
        return (command,)
    fields |= {"command": decides, "reason": "", "misspelt": None, "delivery_id": DeliveryId(f"{delivery_id}-review")}
    return command, CommandRequest.model_validate(fields)


def to_merge_group(event: MergeGroupChanged, delivery_id: DeliveryId, at: datetime) -> MergeGroup:
    return MergeGroup.model_validate({**asdict(event), "delivery_id": delivery_id, "at": at})


def to_repository_added(
    installation: InstallationId, seen: VisibleRepository, delivery_id: DeliveryId, at: datetime
) -> RepositoryAdded:
    fields = {"installation_id": installation, "since": at, "delivery_id": delivery_id}
    return RepositoryAdded.model_validate({**asdict(seen), **fields})


@dataclass(frozen=True, slots=True)
class RoutedIntake:
    """`table`: a client of the main cell. `intakes`: of each cell, by name."""

    table: AsyncRedisClient
    intakes: Mapping[str, EventIntake]

    async def take_in(self, event: Event, delivery_id: DeliveryId) -> IntakeOutcome:
        """Store what an event asks for. Raises Unavailable, also while its installation moves to another cell."""
        installation = event.pull.installation_id if isinstance(event, PullEvent) else event.installation_id
        residence = await find_residence(self.table, installation)
        if residence.is_moving:
            raise Unavailable("Redis", f"installation {installation} is being moved to the cell {residence.cell}")
        if residence.cell not in self.intakes:
            raise Unavailable("Redis", f"ASSAY_CELLS lacks the cell {residence.cell} of installation {installation}")
        return await self.intakes[residence.cell].take_in(event, delivery_id)
