"""Deliveries that wait in the inbox until the dispatcher applies them, in the order of their arrival."""

from typing import Annotated, Final, Literal, NamedTuple

from pydantic import Field, TypeAdapter

from worker.domain.github_events import PullRequestEvent
from worker.domain.judge_request import JudgeRequest, PullRef
from worker.domain.lifecycle.intake import IntakeOutcome, NamedHead
from worker.domain.model import DeliveryId, Frozen, InstallationId, RepositoryId, Sha


class RequestDelivery(Frozen):
    """A request to judge. *unless_judged_by*: issues (`hash_issue`); a verdict that depends on one of them stays."""

    kind: Literal["request"] = "request"
    request: JudgeRequest
    named_by: NamedHead
    unless_judged_by: tuple[str, ...] = ()
    event: PullRequestEvent | None = None

    @property
    def delivery_id(self) -> DeliveryId | None:
        return self.request.delivery_id


class CloseDelivery(Frozen):
    """A pull request was merged or closed."""

    kind: Literal["close"] = "close"
    pull: PullRef
    event: PullRequestEvent

    @property
    def delivery_id(self) -> DeliveryId | None:
        return self.event.delivery_id


class CheckDelivery(Frozen):
    """Another App's check completed on a commit. It may count twice: it only asks for another look."""

    kind: Literal["check"] = "check"
    installation_id: InstallationId
    repository_id: RepositoryId
    head_sha: Sha
    is_green: bool
    event: PullRequestEvent | None = None

    @property
    def delivery_id(self) -> DeliveryId | None:
        return None


class EventDelivery(Frozen):
    """A person reacted to a verdict."""

    kind: Literal["event"] = "event"
    event: PullRequestEvent

    @property
    def delivery_id(self) -> DeliveryId | None:
        return self.event.delivery_id


InboxDelivery = RequestDelivery | CloseDelivery | CheckDelivery | EventDelivery
INBOX_DELIVERY: Final = TypeAdapter[InboxDelivery](Annotated[InboxDelivery, Field(discriminator="kind")])


class AppliedDelivery(NamedTuple):
    """A delivery, and what followed from it."""

    delivery: InboxDelivery
    outcome: IntakeOutcome
