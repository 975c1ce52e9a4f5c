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
    AppMoved,
    BranchMoved,
    CiMoved,
    CommandGiven,
    Event,
    GroupTold,
    HeadFact,
    HeadRerun,
    IssueChanged,
    PersonSpoke,
    PullClosed,
    PullEdited,
    PullReopened,
    RerunPressed,
    Seen,
    ThumbGiven,
)
from app.ingest.noting import to_happening
from app.ingest.wishes import named, to_wish
from worker.adapters.redis import intake, keys
from worker.adapters.redis.async_client import Lane
from worker.adapters.redis.merge_groups import Groups
from worker.adapters.redis.store import Store
from worker.domain.check.merge_group import MergeGroup
from worker.domain.ids import DeliveryId, InstallationId, base_mark
from worker.domain.ports import Clock
from worker.domain.request.greeting import Greeting
from worker.domain.request.judge_request import Ask, JudgeRequest, Trigger
from worker.domain.request.pull_request_events import issue_mark

LATE: Final = timedelta(minutes=1)
"""What is told sooner was said when we heard it: GitHub's clock and ours differ, and a push is told late, too."""

NOTED, UNKNOWN, DUPLICATE = intake.Outcome.NOTED, intake.Outcome.UNKNOWN, intake.Outcome.DUPLICATE
Seldom = CommandGiven | AppMoved | GroupTold | HeadRerun | IssueChanged | BranchMoved


@dataclass(frozen=True, slots=True)
class Intake:
    """Where events are written down. What comes often goes by the lane, on the event loop; the rest blocks a thread."""

    store: Store
    clock: Clock
    lane: Lane

    async def take_in(self, event: Event, delivery_id: DeliveryId) -> intake.Outcome:
        """Write down what an event asks for. Raises Unavailable."""
        at = self.clock.now()
        match event:
            case HeadFact() | RerunPressed():
                if isinstance(event, PullReopened):
                    await to_thread.run_sync(intake.reopen, self.store.wire, event.pull)
                if (
                    isinstance(event, PullEdited)
                    and event.closes
                    and await to_thread.run_sync(self._is_for_an_issue, event)
                ):
                    return UNKNOWN
                wish = to_wish(event, delivery_id, at)
                reply = await self.lane.run(intake.to_want(wish, self.store.timing, named(event)))
                if happening := to_happening(event, delivery_id, at):
                    await self.lane.run(intake.to_happen(happening))
                return intake.became(reply)
            case PullClosed():
                await self.lane.run(intake.to_shut(event.pull, self.store.remembered))
                return await self._happened(event, delivery_id, at)
            case CiMoved():
                noted = await self._happened(event, delivery_id, at)
                woken = intake.nudged(
                    await self.lane.run(intake.to_nudge(event, self.store.timing, is_green=event.is_green))
                )
                return noted if woken is UNKNOWN else woken
            case PersonSpoke() | ThumbGiven():
                return await self._happened(event, delivery_id, at)
            case _:
                return await to_thread.run_sync(self._seldom, event, delivery_id, at)

    async def _happened(self, event: Event, delivery_id: DeliveryId, at: datetime) -> intake.Outcome:
        happening = to_happening(event, delivery_id, at)
        return UNKNOWN if happening is None else intake.happened(await self.lane.run(intake.to_happen(happening)))

    def _is_for_an_issue(self, event: PullEdited) -> bool:
        """Whether it was judged by one of the issues that say what is asked for instead: its text says nothing of that then."""
        return any(intake.is_judged_by(self.store.wire, event.pull, issue_mark(*one)) for one in event.closes)

    def _seldom(self, event: Seldom, delivery_id: DeliveryId, at: datetime) -> intake.Outcome:
        match event:
            case CommandGiven():
                return self._command(event, delivery_id, at)
            case AppMoved():
                return self._move(event, delivery_id, at)
            case GroupTold():
                return Groups(self.store.wire, self.store.timing).put(to_group(event, delivery_id, at))
            case _:
                return self._elsewhere(event, delivery_id, at)

    def _command(self, event: CommandGiven, delivery_id: DeliveryId, at: datetime) -> intake.Outcome:
        """A decision in a review is something that a person did, too."""
        happening = to_happening(event, delivery_id, at)
        if happening is not None:
            intake.happen(self.store.wire, happening)
        taken = [self.store.asks.put(ask) for ask in to_asks(event, delivery_id, at)]
        return next((one for one in taken if one is not DUPLICATE), DUPLICATE)

    def _elsewhere(
        self, event: HeadRerun | IssueChanged | BranchMoved, delivery_id: DeliveryId, at: datetime
    ) -> intake.Outcome:
        wire = self.store.wire
        happening = to_happening(event, delivery_id, at)
        noted = UNKNOWN if happening is None else intake.happen(wire, happening)
        match event:
            case HeadRerun():
                woken = self._again(intake.with_head(wire, event), Trigger.RERUN, delivery_id, at)
                if woken is UNKNOWN:  # no pull request's head, but perhaps a merge group
                    place = (event.installation_id, event.repository_id, event.head_sha)
                    woken = Groups(wire, self.store.timing).again(place, delivery_id, at)
            case IssueChanged():
                mark = issue_mark(event.repository, event.number)
                found = intake.closing(wire, event.installation_id, mark)
                woken = self._again(found, Trigger.CRITERIA, delivery_id, at)
            case BranchMoved():
                woken = self._new_rules(event, delivery_id, at)
            case _:
                assert_never(event)
        return noted if woken is UNKNOWN else woken

    def _again(
        self, found: Iterable[JudgeRequest], trigger: Trigger, delivery_id: DeliveryId, at: datetime
    ) -> intake.Outcome:
        """Each of them is judged once more, whatever its newest head is then."""
        outcomes = [
            intake.want(self.store.wire, again(one, trigger, delivery_id, at), self.store.timing).outcome
            for one in found
        ]
        return outcomes[0] if outcomes else UNKNOWN

    def _new_rules(self, event: BranchMoved, delivery_id: DeliveryId, at: datetime) -> intake.Outcome:
        """What was judged by the old ones is judged again; what the door keeps of the configuration is not known any more."""
        if not (event.has_new_rules or event.is_rewritten):
            return UNKNOWN
        place = event.installation_id, event.repository_id, base_mark(event.branch)
        if event.has_new_config or event.is_rewritten:
            intake.set_window(self.store.wire, *place, None)
        why = Trigger.BASE if event.is_rewritten else Trigger.RULES  # what is built upon it changes something else now
        found = intake.judged_into(self.store.wire, *place)
        if event.is_rewritten:
            found = [one for one in found if one.base in (None, place[2])]  # not what goes elsewhere by now
        woken = self._again(found, why, delivery_id, at)
        return NOTED if woken is UNKNOWN and event.has_new_config else woken

    def _move(self, event: AppMoved, delivery_id: DeliveryId, at: datetime) -> intake.Outcome:
        """All about an installation that left is forgotten, unless it is back in time.

        What was taken from it or granted to it may be told late, after it left: that brings nobody back.
        """
        leaving = self.store.leaving()
        if event.may_more:
            self.store.vault.drop(keys.token(event.installation_id))  # what it may do was said when it was made
        if event.is_there:
            if event.new or not (event.gone or event.may_more):
                leaving.is_back(event.installation_id)
            self.store.arrivals.gone(event.installation_id, event.gone)
            new = [to_greeting(event.installation_id, one, delivery_id, at) for one in event.new]
            intake.greet(self.store.wire, new)
        else:
            leaving.leaves(event.installation_id)
        return NOTED


def again(request: JudgeRequest, trigger: Trigger, delivery_id: DeliveryId, at: datetime) -> JudgeRequest:
    """The same pull request for another reason. One delivery may be about several.

    What was last told of it may be old: who judges asks GitHub for the head, and whether it is a draft.
    """
    own = DeliveryId(f"{delivery_id}-{request.pull.repository_id}-{request.pull.number}")
    changes = {"head_sha": None, "trigger": trigger, "delivery_id": own, "requested_at": at, "outages": 0}
    changes["draft"] = False
    return request.model_copy(update=changes)


def to_asks(event: CommandGiven, delivery_id: DeliveryId, at: datetime) -> tuple[Ask, ...]:
    """A command in a review that decides something is followed, and what it decides counts: each for itself.

    What is told late was said before what came since: a push, or another review.
    """
    said = asdict(event)
    decides, said_at = said.pop("decides"), said.pop("said_at")
    is_late = said_at is not None and at - said_at > LATE
    when = {"asked_at": said_at if is_late else at}
    given = Ask.model_validate({**said, **when, "delivery_id": delivery_id})
    if decides is None:
        return (given,)
    said |= {"command": decides, "reason": "", "misspelt": None}
    return given, Ask.model_validate({**said, **when, "delivery_id": DeliveryId(f"{delivery_id}-review")})


def to_group(event: GroupTold, delivery_id: DeliveryId, at: datetime) -> MergeGroup:
    return MergeGroup.model_validate({**asdict(event), "delivery_id": delivery_id, "at": at})


def to_greeting(installation: InstallationId, seen: Seen, delivery_id: DeliveryId, at: datetime) -> Greeting:
    told = {"installation_id": installation, "since": at, "delivery_id": delivery_id}
    return Greeting.model_validate({**asdict(seen), **told})
