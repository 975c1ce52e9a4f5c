"""Event -> Wish, Ask, Happening, MergeGroup ... -> scripts in Redis. What the door does about an event, and all of it.

Does not judge, does not ask GitHub anything and does not start a job: a dispatcher takes it from here.
Invariant: each write may be sent twice, and a delivery that was counted before changes nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, assert_never

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
    PullEdited,
    PullReopened,
    RerunRequested,
    VisibleRepository,
)
from app.ingest.judge_requests import head_origin, to_judge_request
from app.ingest.outcome_events import to_outcome_event
from worker.adapters.redis import intake, keys
from worker.adapters.redis.async_client import AsyncRedisClient
from worker.adapters.redis.merge_groups import RedisMergeGroups
from worker.adapters.redis.store import Store
from worker.domain.check.merge_group import MergeGroup
from worker.domain.ids import DeliveryId, InstallationId, hash_base
from worker.domain.ports import Clock
from worker.domain.request.judge_request import CommandRequest, JudgeRequest, Trigger
from worker.domain.request.pull_request_events import hash_issue
from worker.domain.request.repository_added import RepositoryAdded

LATE_AFTER: Final = timedelta(minutes=1)
"""What is told sooner was said when we heard it: GitHub's clock and ours differ, and a push is told late, too."""

NOTED, UNKNOWN, DUPLICATE = intake.IntakeOutcome.NOTED, intake.IntakeOutcome.UNKNOWN, intake.IntakeOutcome.DUPLICATE
RareEvent = CommandIssued | InstallationChanged | MergeGroupChanged | HeadRerunRequested | IssueChanged | BranchPushed


@dataclass(frozen=True, slots=True)
class EventIntake:
    """Where events are written down. What comes often goes by the lane, on the event loop; the rest blocks a thread."""

    store: Store
    clock: Clock
    async_client: AsyncRedisClient

    async def take_in(self, event: Event, delivery_id: DeliveryId) -> intake.IntakeOutcome:
        """Write down what an event asks for. Raises Unavailable."""
        at = self.clock.now()
        match event:
            case HeadEvent() | RerunRequested():
                if isinstance(event, PullReopened):
                    await to_thread.run_sync(intake.reopen_pull_request, self.store.client, event.pull)
                if (
                    isinstance(event, PullEdited)
                    and event.closes
                    and await to_thread.run_sync(self._is_judged_by_issue, event)
                ):
                    return UNKNOWN
                wish = to_judge_request(event, delivery_id, at)
                reply = await self.async_client.run_script(
                    intake.judging_call(wish, self.store.timing, head_origin(event))
                )
                if happening := to_outcome_event(event, delivery_id, at):
                    await self.async_client.run_script(intake.queue_event_call(happening))
                return intake.parse_outcome(reply)
            case PullClosed():
                await self.async_client.run_script(
                    intake.close_pull_request_call(event.pull, self.store.ledger_retention)
                )
                return await self._store_outcome_event(event, delivery_id, at)
            case CiChanged():
                noted = await self._store_outcome_event(event, delivery_id, at)
                woken = intake.parse_retrigger(
                    await self.async_client.run_script(
                        intake.retrigger_ci_call(event, self.store.timing, is_green=event.is_green)
                    )
                )
                return noted if woken is UNKNOWN else woken
            case PersonCommented() | FeedbackGiven():
                return await self._store_outcome_event(event, delivery_id, at)
            case _:
                return await to_thread.run_sync(self._store_rare_event, event, delivery_id, at)

    async def _store_outcome_event(self, event: Event, delivery_id: DeliveryId, at: datetime) -> intake.IntakeOutcome:
        happening = to_outcome_event(event, delivery_id, at)
        return (
            UNKNOWN
            if happening is None
            else intake.parse_event_outcome(await self.async_client.run_script(intake.queue_event_call(happening)))
        )

    def _is_judged_by_issue(self, event: PullEdited) -> bool:
        """Whether it was judged by one of the issues that say what is asked for instead: its text says nothing of that then."""
        return any(intake.is_judged_by(self.store.client, event.pull, hash_issue(*issue)) for issue in event.closes)

    def _store_rare_event(self, event: RareEvent, delivery_id: DeliveryId, at: datetime) -> intake.IntakeOutcome:
        match event:
            case CommandIssued():
                return self._store_command(event, delivery_id, at)
            case InstallationChanged():
                return self._update_installation(event, delivery_id, at)
            case MergeGroupChanged():
                return RedisMergeGroups(self.store.client, self.store.timing).put(
                    to_merge_group(event, delivery_id, at)
                )
            case _:
                return self._store_repository_event(event, delivery_id, at)

    def _store_command(self, event: CommandIssued, delivery_id: DeliveryId, at: datetime) -> intake.IntakeOutcome:
        """A decision in a review is something that a person did, too."""
        happening = to_outcome_event(event, delivery_id, at)
        if happening is not None:
            intake.queue_event(self.store.client, happening)
        taken = [self.store.commands.put(ask) for ask in to_command_requests(event, delivery_id, at)]
        return next((outcome for outcome in taken if outcome is not DUPLICATE), DUPLICATE)

    def _store_repository_event(
        self, event: HeadRerunRequested | IssueChanged | BranchPushed, delivery_id: DeliveryId, at: datetime
    ) -> intake.IntakeOutcome:
        wire = self.store.client
        happening = to_outcome_event(event, delivery_id, at)
        noted = UNKNOWN if happening is None else intake.queue_event(wire, happening)
        match event:
            case HeadRerunRequested():
                woken = self._rejudge_all(intake.find_requests_by_head(wire, event), Trigger.RERUN, delivery_id, at)
                if woken is UNKNOWN:  # no pull request's head, but perhaps a merge group
                    commit = (event.installation_id, event.repository_id, event.head_sha)
                    woken = RedisMergeGroups(wire, self.store.timing).reopen(commit, delivery_id, at)
            case IssueChanged():
                mark = hash_issue(event.repository, event.number)
                requests = intake.find_requests_by_issue(wire, event.installation_id, mark)
                woken = self._rejudge_all(requests, Trigger.CRITERIA, delivery_id, at)
            case BranchPushed():
                woken = self._rejudge_base(event, delivery_id, at)
            case _:
                assert_never(event)
        return noted if woken is UNKNOWN else woken

    def _rejudge_all(
        self, requests: Iterable[JudgeRequest], trigger: Trigger, delivery_id: DeliveryId, at: datetime
    ) -> intake.IntakeOutcome:
        """Each of them is judged once more, whatever its newest head is then."""
        outcomes = [
            intake.request_judging(
                self.store.client, rejudge_request(request, trigger, delivery_id, at), self.store.timing
            ).outcome
            for request in requests
        ]
        return outcomes[0] if outcomes else UNKNOWN

    def _rejudge_base(self, event: BranchPushed, delivery_id: DeliveryId, at: datetime) -> intake.IntakeOutcome:
        """What was judged by the old ones is judged again; what the door keeps of the configuration is not known any more."""
        if not (event.has_new_rules or event.is_rewritten):
            return UNKNOWN
        branch = event.installation_id, event.repository_id, hash_base(event.branch)
        if event.has_new_config or event.is_rewritten:
            intake.set_window(self.store.client, *branch, None)
        why = Trigger.BASE if event.is_rewritten else Trigger.RULES  # what is built upon it changes something else now
        requests = intake.find_requests_by_base(self.store.client, *branch)
        if event.is_rewritten:
            requests = [
                request for request in requests if request.base in (None, branch[2])
            ]  # not what goes elsewhere by now
        woken = self._rejudge_all(requests, why, delivery_id, at)
        return NOTED if woken is UNKNOWN and event.has_new_config else woken

    def _update_installation(
        self, event: InstallationChanged, delivery_id: DeliveryId, at: datetime
    ) -> intake.IntakeOutcome:
        """All about an installation that left is forgotten, unless it is back in time.

        What was taken from it or granted to it may be told late, after it left: that brings nobody back.
        """
        leaving = self.store.uninstallations()
        if event.has_new_permissions:
            self.store.vault.drop(keys.token(event.installation_id))  # what it may do was said when it was made
        if event.is_installed:
            if event.added_repositories or not (event.removed_repositories or event.has_new_permissions):
                leaving.record_installed(event.installation_id)
            self.store.first_seen.remove(event.installation_id, event.removed_repositories)
            new = [
                to_repository_added(event.installation_id, repository, delivery_id, at)
                for repository in event.added_repositories
            ]
            intake.add_repositories(self.store.client, new)
        else:
            leaving.record_uninstalled(event.installation_id)
        return NOTED


def rejudge_request(request: JudgeRequest, trigger: Trigger, delivery_id: DeliveryId, at: datetime) -> JudgeRequest:
    """The same pull request for another reason. One delivery may be about several.

    What was last told of it may be old: who judges asks GitHub for the head, and whether it is a draft.
    """
    own = DeliveryId(f"{delivery_id}-{request.pull.repository_id}-{request.pull.number}")
    changes = {"head_sha": None, "trigger": trigger, "delivery_id": own, "requested_at": at, "outages": 0}
    changes["draft"] = False
    return request.model_copy(update=changes)


def to_command_requests(event: CommandIssued, delivery_id: DeliveryId, at: datetime) -> tuple[CommandRequest, ...]:
    """A command in a review that decides something is followed, and what it decides counts: each for itself.

    What is told late was said before what came since: a push, or another review.
    """
    fields = asdict(event)
    decides, said_at = fields.pop("decides"), fields.pop("said_at")
    is_late = said_at is not None and at - said_at > LATE_AFTER
    when = {"asked_at": said_at if is_late else at}
    command = CommandRequest.model_validate({**fields, **when, "delivery_id": delivery_id})
    if decides is None:
        return (command,)
    fields |= {"command": decides, "reason": "", "misspelt": None}
    return command, CommandRequest.model_validate(
        {**fields, **when, "delivery_id": DeliveryId(f"{delivery_id}-review")}
    )


def to_merge_group(event: MergeGroupChanged, delivery_id: DeliveryId, at: datetime) -> MergeGroup:
    return MergeGroup.model_validate({**asdict(event), "delivery_id": delivery_id, "at": at})


def to_repository_added(
    installation: InstallationId, seen: VisibleRepository, delivery_id: DeliveryId, at: datetime
) -> RepositoryAdded:
    fields = {"installation_id": installation, "since": at, "delivery_id": delivery_id}
    return RepositoryAdded.model_validate({**asdict(seen), **fields})
