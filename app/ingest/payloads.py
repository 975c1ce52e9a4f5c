"""What Assay reads of GitHub's deliveries: strict models of the fields that it uses, and a decoder that skips the rest.

A payload that does not fit raises MalformedPayload with the field, the expected and the found type, never the value.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from types import NoneType, UnionType
from typing import Annotated, Any, TypedDict, TypeGuard, TypeVar, Union, cast, get_args, get_origin

from msgspec import DecodeError, Struct
from msgspec.json import Decoder
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from worker.domain.judge_request import PullRef
from worker.domain.model import DeliveryId, InstallationId, RepositoryId, RepositoryName, Sha

MAX_ID = 2**63 - 1

Number = Annotated[int, Field(ge=1, le=MAX_ID)]


class MalformedPayload(Exception):
    """A body that can't be read. The message names the field, the expected and the found type."""


class PayloadModel(BaseModel):
    """A part of a payload. Unknown fields are ignored, since GitHub adds some at any time."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


Shape = TypeVar("Shape", bound=PayloadModel)


class Envelope(PayloadModel):
    """The fields of every delivery. Some events have no action."""

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
    """Installation and repository, which most deliveries name."""

    installation: Installation
    repository: PayloadRepository


class PayloadAccount(PayloadModel):
    login: Annotated[str, Field(min_length=1)]
    type: str


class SenderPayload(RepositoryPayload):
    """`sender`: the acting account. Some deliveries have none."""

    sender: PayloadAccount | None = None


class PreviousValue(PayloadModel):
    """The value before an edit."""

    before: str | None = Field(default=None, validation_alias="from")


class HeadRepository(PayloadModel):
    id: int


class PayloadHead(PayloadModel):
    """`repo` is null when the fork is deleted."""

    sha: Sha
    ref: str = ""
    repo: HeadRepository | None = None


class Base(PayloadModel):
    sha: Sha
    ref: str | None = None


class PayloadPullRequest(PayloadModel):
    """`user` is null when the account is deleted. An unmerged one has a `merge_commit_sha`, too, of a test merge."""

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
    """The pull request got another base; GitHub is asked which."""


class PullChanges(PayloadModel):
    title: PreviousValue | None = None
    body: PreviousValue | None = None
    base: BaseChange | None = None


class PullRequestPayload(SenderPayload):
    """`changes`: of an edit. `before`: the previous head, of a push."""

    pull_request: PayloadPullRequest
    changes: PullChanges = PullChanges()
    before: Sha | None = None


class PayloadIssue(PayloadModel):
    """`pull_request` is set if the issue is one."""

    number: Number
    state: str
    pull_request: object = None


class PayloadApp(PayloadModel):
    id: Number


class Comment(PayloadModel):
    """`user` is null when the account is deleted. `performed_via_github_app`: an App wrote it."""

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
    """`body` is null where the review has line comments only."""

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


class BranchRepository(PayloadModel):
    id: Number


class PayloadBranch(PayloadModel):
    sha: Sha
    repo: BranchRepository


class CheckedPull(PayloadModel):
    """A pull request with the checked commit as its head. GitHub lists none of forks."""

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
    """`requested_action`: the button that was pressed."""

    requested_action: RequestedAction = RequestedAction()


class CheckSuite(PayloadModel):
    app: PayloadApp | None
    head_sha: Sha
    conclusion: str | None = None


class CheckSuitePayload(SenderPayload):
    check_suite: CheckSuite


class StatusPayload(RepositoryPayload):
    """A commit status, which any account with write access may set."""

    sha: Sha
    state: str


class WorkflowRun(PayloadModel):
    head_sha: Sha


class WorkflowRunPayload(RepositoryPayload):
    workflow_run: WorkflowRun


class PushedCommit(PayloadModel):
    """`added`, `modified`, `removed`: paths."""

    message: str = ""
    added: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


class PushedRepository(PayloadRepository):
    default_branch: str = ""


class PushPayload(PayloadModel):
    """`forced`: commits were removed from the branch; the payload does not list them."""

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
    """`reason`: why GitHub destroyed the group."""

    merge_group: PayloadMergeGroup
    reason: str | None = None


class InstallationRepositoriesPayload(InstallationPayload):
    """`repositories`: all of a new installation; `_added`, `_removed`: the changes of an existing one."""

    repositories: tuple[PayloadRepository, ...] = ()
    repositories_added: tuple[PayloadRepository, ...] = ()
    repositories_removed: tuple[PayloadRepository, ...] = ()


def pull_ref(payload: RepositoryPayload, number: int) -> PullRef:
    return _pull_ref(payload.installation.id, payload.repository.id, number)


@lru_cache(maxsize=1024)
def _pull_ref(installation: InstallationId, repository: RepositoryId, number: int) -> PullRef:
    return PullRef(installation_id=installation, repository_id=repository, number=number)


def is_person(account: PayloadAccount | None) -> bool:
    return account is not None and account.type == "User"


class Delivery(Struct, frozen=True):
    """One verified delivery. `values`: what `decode_payload` read of the body. `our_app_id`: identifies our own checks."""

    delivery_id: DeliveryId
    event_name: str
    our_app_id: int
    envelope: Envelope
    body: bytes
    values: object = None

    @property
    def name(self) -> str:
        """The event and its action, as in GitHub's documentation."""
        action = self.envelope.action
        return f"{self.event_name}.{action}" if action else self.event_name

    def read(self, shape: type[Shape]) -> Shape:
        """Read the fields of *shape*. Raises MalformedPayload."""
        return validate_payload(shape, self.values, self.body)


def validate_payload(shape: type[Shape], values: object, body: bytes) -> Shape:
    """Read *shape* from *values*, or where they do not fit from *body*. Raises MalformedPayload."""
    try:
        return shape.__pydantic_validator__.validate_python(values)  # `model_validate` takes twice as long
    except ValidationError:
        return parse_payload(shape, body)


def parse_payload(shape: type[Shape], body: bytes) -> Shape:
    """Read *shape* from *body*. Raises MalformedPayload for the first field that does not fit."""
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
    expected = first["msg"].removeprefix("Input should be ").replace("String should match", "a string that matches")
    return f"{where}: expected {expected}, found {json_type_name(first['input'])}."


def json_type_name(value: object) -> str:
    """The JSON name of a value's type."""
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
    """Decode in one pass the fields that any model reads, unchecked; None: the body has to be read as a whole.

    A delivery has 36 KB, of which the models read a page.
    """
    try:
        if not body.isascii():
            body.decode()  # skipped parts have to be UTF-8, too
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
    """The annotation of each field, by its name in the body."""
    return {str(field.validation_alias or name): field.annotation for name, field in shape.model_fields.items()}


def _models_in(annotation: object) -> Iterator[type[PayloadModel]]:
    if is_payload_model(annotation):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


def _object_type(shapes: Iterable[type[PayloadModel]]) -> Any:
    """The decoder's type of an object with the fields of all these shapes, each optional."""
    types = defaultdict[str, list[object]](list)
    for shape in shapes:
        for name, annotation in _field_types(shape).items():
            types[name].append(_unwrap(annotation))
    make = cast("Callable[..., Any]", TypedDict)
    return make("Looked", {name: _merged_type(annotations) for name, annotations in types.items()}, total=False)


def _merged_type(annotations: list[object]) -> Any:
    """The decoder's type of a value with all these annotations. The models check for null."""
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
