"""What we read of GitHub's deliveries: slim models that leave everything else unread.

Does not decide what a delivery means (`app.events` does). Invariant: a value that exists has the types
that it says, nothing was converted; what does not fit is one Malformed that names the field, what was
expected and which kind of value was found, never the value itself.
"""

from dataclasses import dataclass
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from worker.domain.ids import DeliveryId, InstallationId, RepositoryId, RepositoryName, Sha

LARGEST = 2**63 - 1

Number = Annotated[int, Field(ge=1, le=LARGEST)]


class Malformed(Exception):
    """A body that can't be read. The message says where: expected, found."""


class Slim(BaseModel):
    """A part of a payload. GitHub adds fields as it likes: those that we don't know are not looked at."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


Shape = TypeVar("Shape", bound=Slim)


class Envelope(Slim):
    """What is read of every delivery, whatever it is. Events without an action have none."""

    action: str | None = None
    installation: object = None


class Installation(Slim):
    id: Annotated[InstallationId, Field(ge=1, le=LARGEST)]


class Repository(Slim):
    id: Annotated[RepositoryId, Field(ge=1, le=LARGEST)]
    full_name: RepositoryName


class InstallationPayload(Slim):
    installation: Installation


class RepositoryPayload(Slim):
    """The part that all our events share."""

    installation: Installation
    repository: Repository


class Commit(Slim):
    sha: Sha


class PullRequest(Slim):
    number: Number
    head: Commit
    draft: bool = False


class PullRequestPayload(RepositoryPayload):
    pull_request: PullRequest


class Account(Slim):
    login: Annotated[str, Field(min_length=1)]
    type: str


class Issue(Slim):
    """`pull_request` is there only if the issue is one."""

    number: Number
    state: str
    pull_request: object = None


class Comment(Slim):
    """`user` is null when the account is gone."""

    id: Number
    body: str
    user: Account | None


class CommentPayload(RepositoryPayload):
    issue: Issue
    comment: Comment


class SentPayload(RepositoryPayload):
    """`sender`: who did it. Some deliveries of GitHub's own doing have none."""

    sender: Account | None = None


class AuthoredPull(PullRequest):
    """`user` is null when the account is gone."""

    user: Account | None = None


class AuthoredPayload(SentPayload):
    pull_request: AuthoredPull


class HeadBranch(Commit):
    ref: str = ""


class ClosedPull(Slim):
    """A pull request at its end. `merge_commit_sha` stands there of an unmerged one, too: GitHub tried."""

    number: Number
    head: HeadBranch
    title: str = ""
    body: str | None = None
    merged: bool = False
    merge_commit_sha: Sha | None = None


class ClosedPayload(SentPayload):
    pull_request: ClosedPull


class PushedCommit(Slim):
    message: str = ""


class PushedRepository(Repository):
    default_branch: str = ""


class PushPayload(Slim):
    installation: Installation
    repository: PushedRepository
    ref: str
    commits: tuple[PushedCommit, ...] = ()


class App(Slim):
    id: Number


class BranchRepository(Slim):
    id: Number


class Branch(Slim):
    sha: Sha
    repo: BranchRepository


class CheckedPull(Slim):
    """A pull request that has the checked commit as its head. GitHub lists none of forks."""

    number: Number
    head: Branch
    base: Branch


class CheckRun(Slim):
    app: App | None
    external_id: str | None = None
    head_sha: Sha | None = None
    conclusion: str | None = None
    pull_requests: tuple[CheckedPull, ...] = ()


class CheckRunPayload(SentPayload):
    check_run: CheckRun


class Pressed(Slim):
    identifier: str = ""


class PressedPayload(CheckRunPayload):
    """`requested_action`: which of the buttons that the check run's App put there."""

    requested_action: Pressed = Pressed()


@dataclass(frozen=True, slots=True)
class Delivery:
    """One verified delivery, opened no further than its envelope. `our_app_id` tells our checks from others'."""

    delivery_id: DeliveryId
    event_name: str
    our_app_id: int
    envelope: Envelope
    body: bytes

    @property
    def name(self) -> str:
        """The event and its action, as GitHub's documentation writes them."""
        action = self.envelope.action
        return f"{self.event_name}.{action}" if action else self.event_name

    def read(self, shape: type[Shape]) -> Shape:
        """Take from the body what *shape* needs. Raises Malformed."""
        return read(shape, self.body)


def read(shape: type[Shape], body: bytes) -> Shape:
    """Take from *body* what *shape* needs. Raises Malformed for the first thing that does not fit."""
    try:
        return shape.model_validate_json(body)
    except ValidationError as error:
        raise Malformed(_complaint(error)) from None


def _complaint(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    if first["type"] == "json_invalid":
        return f"The body is not JSON: {first['msg'].removeprefix('Invalid JSON: ')}."
    place = ".".join(str(part) for part in first["loc"])
    where = f'Field "{place}"' if place else "The body"
    if first["type"] == "missing":
        return f"{where}: expected a value, found nothing."
    return f"{where}: expected {_expected(first['msg'])}, found {kind(first['input'])}."


def _expected(message: str) -> str:
    return message.removeprefix("Input should be ").replace("String should match", "a string that matches")


def kind(value: object) -> str:
    """The name that JSON has for this kind of value."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"
