"""What travels on the queue: judge this pull request, because of this.

Does not carry any text of the pull request. Invariant: small, and complete enough to find it again.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from worker.domain.frozen import Frozen
from worker.domain.ids import DeliveryId, InstallationId, RepositoryId, RepositoryName, Sha

LAPTOP: Final = InstallationId(0)
"""What is judged on a laptop belongs to no installation of the App."""


class PullRef(Frozen):
    """One pull request, by numbers that never change. A laptop's branches live under LAPTOP."""

    installation_id: InstallationId
    repository_id: RepositoryId
    number: Annotated[int, Field(ge=0)]


class Trigger(StrEnum):
    """What made us judge."""

    OPENED = "opened"
    PUSHED = "pushed"
    REOPENED = "reopened"
    READY = "ready_for_review"
    COMMAND = "command"
    RERUN = "rerun"
    LATE = "late"
    OUTAGE = "outage"
    LOCAL = "local"


class JudgeRequest(Frozen):
    """`head_sha` is what the trigger knew (a comment knows none); the judge asks for the head itself.

    `outages`: how often this head was judged in vain, because no model could be reached.
    """

    pull: PullRef
    repository: RepositoryName
    head_sha: Sha | None
    trigger: Trigger
    delivery_id: DeliveryId
    requested_at: datetime
    outages: Annotated[int, Field(ge=0)] = 0


class CommandName(StrEnum):
    REJUDGE = "rejudge"


class Ask(Frozen):
    """A command in a comment, before anybody checked that its author may give it."""

    pull: PullRef
    repository: RepositoryName
    comment_id: Annotated[int, Field(ge=1)]
    login: Annotated[str, Field(min_length=1)]
    command: CommandName
    delivery_id: DeliveryId
    asked_at: datetime
