"""What we read of GitHub's deliveries: slim models that leave everything else unread.

Does not decide what a delivery means (`app.ingest.events` does). Invariant: a value that exists has the types
that it says, nothing was converted; what does not fit is one Malformed that names the field, what was
expected and which kind of value was found, never the value itself.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, TypedDict, TypeGuard, TypeVar, Union, cast, get_args, get_origin

from msgspec import DecodeError, Struct
from msgspec.json import Decoder
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from worker.domain.ids import DeliveryId, InstallationId, RepositoryId, RepositoryName, Sha

MAX_ID = 2**63 - 1

Number = Annotated[int, Field(ge=1, le=MAX_ID)]


class MalformedPayload(Exception):
    """A body that can't be read. The message says where: expected, found."""


class PayloadModel(BaseModel):
    """A part of a payload. GitHub adds fields as it likes: those that we don't know are not looked at."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


Shape = TypeVar("Shape", bound=PayloadModel)


class Envelope(PayloadModel):
    """What is read of every delivery, whatever it is. Events without an action have none."""

    action: str | None = None
    installation: object = None


class Installation(PayloadModel):
    id: Annotated[InstallationId, Field(ge=1, le=MAX_ID)]


class PayloadRepository(PayloadModel):
    id: Annotated[RepositoryId, Field(ge=1, le=MAX_ID)]
    full_name: RepositoryName


class InstallationPayload(PayloadModel):
    installation: Installation


class RepositoryPayload(PayloadModel):
    """The part that all our events share."""

    installation: Installation
    repository: PayloadRepository


class PayloadAccount(PayloadModel):
    login: Annotated[str, Field(min_length=1)]
    type: str


class SenderPayload(RepositoryPayload):
    """`sender`: who did it. Some deliveries of GitHub's own doing have none."""

    sender: PayloadAccount | None = None


class PreviousValue(PayloadModel):
    """What an edit replaced."""

    before: str | None = Field(default=None, validation_alias="from")


# --- pull requests ----------------------------------------------------------------------------------------


class HeadRepository(PayloadModel):
    id: int


class PayloadHead(PayloadModel):
    """`repo` is null when the fork is gone."""

    sha: Sha
    ref: str = ""
    repo: HeadRepository | None = None


class Base(PayloadModel):
    sha: Sha
    ref: str | None = None


class PayloadPullRequest(PayloadModel):
    """`user` is null when the account is gone. `merge_commit_sha` stands there of an unmerged one, too: GitHub tried."""

    number: Number
    head: PayloadHead
    base: Base | None = None
    state: str = "open"
    draft: bool = False
    user: PayloadAccount | None = None
    title: str = ""
    body: str | None = None
    html_url: str = ""
    merged: bool = False
    merge_commit_sha: Sha | None = None
    author_association: str = ""


class BaseChange(PayloadModel):
    ref: PreviousValue | None = None


class PullChanges(PayloadModel):
    title: PreviousValue | None = None
    body: PreviousValue | None = None
    base: BaseChange | None = None


class PullRequestPayload(SenderPayload):
    """`changes`: of an edit. `before`: of a push, the commit that it led from."""

    pull_request: PayloadPullRequest
    changes: PullChanges = PullChanges()
    before: Sha | None = None


# --- what people write ------------------------------------------------------------------------------------


class PayloadIssue(PayloadModel):
    """`pull_request` is there only if the issue is one."""

    number: Number
    state: str
    pull_request: object = None


class PayloadApp(PayloadModel):
    id: Number


class Comment(PayloadModel):
    """`user` is null when the account is gone. `performed_via_github_app`: an App wrote it."""

    id: Number
    body: str
    user: PayloadAccount | None
    performed_via_github_app: PayloadApp | None = None
    updated_at: str | None = None


class TextChanges(PayloadModel):
    title: PreviousValue | None = None
    body: PreviousValue | None = None


class CommentPayload(SenderPayload):
    issue: PayloadIssue
    comment: Comment
    changes: TextChanges = TextChanges()


class ReviewedPull(PayloadModel):
    number: Number
    state: str


class LineCommentPayload(SenderPayload):
    """A comment at a line of the change."""

    pull_request: ReviewedPull
    comment: Comment
    changes: TextChanges = TextChanges()


class PayloadReview(PayloadModel):
    """Its text is null where there are only comments at lines."""

    id: Number
    node_id: str = ""
    body: str | None = None
    user: PayloadAccount | None
    commit_id: Sha | None = None
    state: str = ""
    submitted_at: str | None = None


class ReviewPayload(SenderPayload):
    pull_request: ReviewedPull
    review: PayloadReview
    changes: TextChanges = TextChanges()


class IssuePayload(RepositoryPayload):
    issue: PayloadIssue
    changes: TextChanges = TextChanges()


# --- checks -----------------------------------------------------------------------------------------------


class BranchRepository(PayloadModel):
    id: Number


class PayloadBranch(PayloadModel):
    sha: Sha
    repo: BranchRepository


class CheckedPull(PayloadModel):
    """A pull request that has the checked commit as its head. GitHub lists none of forks."""

    number: Number
    head: PayloadBranch
    base: PayloadBranch


class CheckRun(PayloadModel):
    app: PayloadApp | None
    external_id: str | None = None
    head_sha: Sha | None = None
    conclusion: str | None = None
    pull_requests: tuple[CheckedPull, ...] = ()


class CheckRunPayload(SenderPayload):
    check_run: CheckRun


class RequestedAction(PayloadModel):
    identifier: str = ""


class RequestedActionPayload(CheckRunPayload):
    """`requested_action`: which of the buttons that the check run's App put there."""

    requested_action: RequestedAction = RequestedAction()


class CheckSuite(PayloadModel):
    app: PayloadApp | None
    head_sha: Sha
    conclusion: str | None = None


class CheckSuitePayload(SenderPayload):
    check_suite: CheckSuite


class StatusPayload(RepositoryPayload):
    """Not a check run: a word that any account with write access may leave at a commit."""

    sha: Sha
    state: str


class WorkflowRun(PayloadModel):
    head_sha: Sha


class WorkflowRunPayload(RepositoryPayload):
    workflow_run: WorkflowRun


# --- branches ---------------------------------------------------------------------------------------------


class PushedCommit(PayloadModel):
    """`added`, `modified`, `removed`: paths."""

    message: str = ""
    added: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


class PushedRepository(PayloadRepository):
    default_branch: str = ""


class PushPayload(PayloadModel):
    """`forced`: commits that were there before are there no more, and none says what they said."""

    installation: Installation
    repository: PushedRepository
    ref: str
    created: bool = False
    deleted: bool = False
    forced: bool = False
    commits: tuple[PushedCommit, ...] = ()


class PayloadMergeGroup(PayloadModel):
    head_sha: Sha
    head_ref: str
    base_sha: Sha
    base_ref: str


class MergeGroupPayload(RepositoryPayload):
    """`reason`: of one that GitHub gave up."""

    merge_group: PayloadMergeGroup
    reason: str | None = None


# --- the App ----------------------------------------------------------------------------------------------


class InstallationRepositoriesPayload(InstallationPayload):
    """`repositories`: all that it may see; `repositories_added`: those that it may see from now on, `_removed`: until now."""

    repositories: tuple[PayloadRepository, ...] = ()
    repositories_added: tuple[PayloadRepository, ...] = ()
    repositories_removed: tuple[PayloadRepository, ...] = ()


class Delivery(Struct, frozen=True):
    """One verified delivery, opened no further than its envelope. `our_app_id` tells our checks from others'.

    `values`: what `app.ingest.payloads` took out of the body for all shapes together, so that it is gone through once.
    """

    delivery_id: DeliveryId
    event_name: str
    our_app_id: int
    envelope: Envelope
    body: bytes
    values: object = None

    @property
    def name(self) -> str:
        """The event and its action, as GitHub's documentation writes them."""
        action = self.envelope.action
        return f"{self.event_name}.{action}" if action else self.event_name

    def read(self, shape: type[Shape]) -> Shape:
        """Take from the body what *shape* needs. Raises Malformed."""
        return validate_payload(shape, self.values, self.body)


def validate_payload(shape: type[Shape], values: object, body: bytes) -> Shape:
    """As `read`, but from what was *values* in the body if that suffices. Raises Malformed, always in the words of `read`."""
    try:
        return shape.__pydantic_validator__.validate_python(values)  # as `model_validate`, whose options cost as much
    except ValidationError:
        return parse_payload(shape, body)


def parse_payload(shape: type[Shape], body: bytes) -> Shape:
    """Take from *body* what *shape* needs. Raises Malformed for the first thing that does not fit."""
    try:
        return shape.model_validate_json(body)
    except ValidationError as error:
        raise MalformedPayload(_describe_error(error)) from None


def _describe_error(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    if first["type"] == "json_invalid":
        return f"The body is not JSON: {first['msg'].removeprefix('Invalid JSON: ')}."
    path = ".".join(str(part) for part in first["loc"])
    where = f'Field "{path}"' if path else "The body"
    if first["type"] == "missing":
        return f"{where}: expected a value, found nothing."
    return f"{where}: expected {_expected(first['msg'])}, found {json_type_name(first['input'])}."


def _expected(message: str) -> str:
    return message.removeprefix("Input should be ").replace("String should match", "a string that matches")


def json_type_name(value: object) -> str:
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


def decode_payload(body: bytes) -> object:
    """What is found in a body, as plain values; None where that needs a closer look."""
    try:
        if not body.isascii():
            body.decode()  # also where nobody looks, it has to be text
        return _decoder().decode(body)
    except (DecodeError, UnicodeDecodeError, RecursionError):
        return None


@cache
def _decoder() -> Decoder[Any]:
    shapes = set(_subclasses(PayloadModel))
    parts = {part for shape in shapes for annotation in _field_types(shape).values() for part in _models_in(annotation)}
    return Decoder(_object_type(sorted(shapes - parts, key=lambda shape: shape.__name__)))


def _subclasses(shape: type[PayloadModel]) -> Iterator[type[PayloadModel]]:
    for subclass in shape.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)


def _field_types(shape: type[PayloadModel]) -> dict[str, object]:
    """What is said of each field, by its name in the body."""
    fields = shape.model_fields.items()
    return {str(field.validation_alias or name): field.annotation for name, field in fields}


def _models_in(annotation: object) -> Iterator[type[PayloadModel]]:
    if is_payload_model(annotation):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


def _object_type(shapes: Iterable[type[PayloadModel]]) -> Any:
    """What a decoder takes for an object with the fields of all these shapes, each of which may be missing."""
    types = defaultdict[str, list[object]](list)
    for shape in shapes:
        for name, annotation in _field_types(shape).items():
            types[name].append(_unwrap(annotation))
    make = cast("Callable[..., Any]", TypedDict)
    return make("Looked", {name: _merged_type(ones) for name, ones in types.items()}, total=False)


def _merged_type(annotations: list[object]) -> Any:
    """What a decoder takes for a value of which all this is said. Null is left to the shapes."""
    shapes = [item for item in annotations if is_payload_model(item)]
    if len(shapes) == len(annotations):
        return _object_type(shapes) | None
    if all(get_origin(item) is tuple for item in annotations):
        return tuple[_merged_type([_unwrap(get_args(item)[0]) for item in annotations]), ...] | None
    return Any


def _unwrap(annotation: object) -> object:
    """The type behind `Annotated[...]` and `... | None`."""
    if get_origin(annotation) is Annotated:
        return _unwrap(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        [argument, *others] = [argument for argument in get_args(annotation) if argument is not NoneType]
        return object if others else _unwrap(argument)
    return annotation


def is_payload_model(annotation: object) -> TypeGuard[type[PayloadModel]]:
    return isinstance(annotation, type) and issubclass(annotation, PayloadModel)
