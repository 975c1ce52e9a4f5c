"""Models of GitHub's answers, with the fields that we read.

Unknown fields are ignored, and a list may contain None for items that we may not see. `AliasPath` names the way to a field inside of the
answer; where a part of the way is missing or null, the field has its default.
"""

from datetime import datetime
from typing import Any, Final, Generic, Literal, TypeVar

from pydantic import AliasPath, BaseModel, ConfigDict, Field, RootModel
from pydantic.alias_generators import to_camel

T = TypeVar("T")
GHOST_LOGIN: Final = "ghost"
"""GitHub's name of a deleted account."""


class RestResponse(BaseModel):
    """An answer of the REST API."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Page(RootModel[tuple[T, ...]], Generic[T]):
    """One page of a list of the REST API."""


class GraphResponse(BaseModel):
    """A part of a GraphQL answer: snake_case here, camelCase there."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)


class ErrorResponse(RestResponse):
    message: str = ""


class GraphError(RestResponse):
    type: str | None = None
    message: str = ""
    path: tuple[str | int, ...] | None = None
    extensions: dict[str, Any] | None = None


class GraphAnswer(RestResponse):
    """Any GraphQL answer. `data` may be present, with holes, beside errors."""

    data: Any = None
    errors: tuple[GraphError, ...] = ()


class PageInfo(GraphResponse):
    has_next_page: bool = False
    has_previous_page: bool = False
    end_cursor: str | None = None


class NodeConnection(GraphResponse, Generic[T]):
    """A connection. A hole is an item that we may not see."""

    nodes: tuple[T | None, ...] | None = None
    page_info: PageInfo = PageInfo()

    @property
    def visible_nodes(self) -> tuple[T, ...]:
        return tuple(node for node in self.nodes or () if node is not None)


class ActorResponse(GraphResponse):
    kind: str = Field(validation_alias="__typename")
    login: str

    @property
    def full_login(self) -> str:
        """The login in REST's and webhooks' form: an App's ends in [bot], which GraphQL omits."""
        return f"{self.login}[bot]" if self.kind == "Bot" and not self.login.endswith("[bot]") else self.login


class NameResponse(GraphResponse):
    name: str


class PullCommit(GraphResponse):
    oid: str = Field(validation_alias=AliasPath("commit", "oid"))
    message: str = Field(validation_alias=AliasPath("commit", "message"))
    author_name: str | None = Field(default=None, validation_alias=AliasPath("commit", "author", "name"))
    author_login: str | None = Field(default=None, validation_alias=AliasPath("commit", "author", "user", "login"))


class ContentEditResponse(GraphResponse):
    """A text after an edit. `diff` holds the whole text; None: removed from the history, or hidden from us."""

    edited_at: datetime
    editor: ActorResponse | None = None
    diff: str | None = None


class RenameResponse(GraphResponse):  # an item of a timeline, which ends with the newest
    created_at: datetime
    previous_title: str
    current_title: str
    actor: ActorResponse | None = None


class GraphIssue(GraphResponse):
    """`user_content_edits`: its texts, newest first; `includes_created_edit`: the last of all is the original."""

    number: int
    title: str
    body: str
    url: str
    repository: str = Field(validation_alias=AliasPath("repository", "nameWithOwner"))
    is_private: bool = Field(default=False, validation_alias=AliasPath("repository", "isPrivate"))
    author: ActorResponse | None = None
    author_association: str | None = None
    editor: ActorResponse | None = None
    last_edited_at: datetime | None = None
    includes_created_edit: bool = False
    user_content_edits: NodeConnection[ContentEditResponse] | None = None
    timeline_items: NodeConnection[RenameResponse] | None = None


class TipSuiteResponse(GraphResponse):
    """A suite of the head commit. Without a run it is missing from the rollup."""

    conclusion: str | None = None
    app_slug: str | None = Field(default=None, validation_alias=AliasPath("app", "slug"))
    workflow: str | None = Field(default=None, validation_alias=AliasPath("workflowRun", "workflow", "name"))
    run_count: int = Field(default=0, validation_alias=AliasPath("checkRuns", "totalCount"))


class CheckAnnotationResponse(GraphResponse):
    path: str
    message: str
    title: str | None = None
    annotation_level: str | None = None
    line: int | None = Field(default=None, validation_alias=AliasPath("location", "start", "line"))


class GraphContext(GraphResponse):
    """A check run or a commit status, by `kind`. `event`: the trigger of the workflow's run."""

    kind: Literal["CheckRun", "StatusContext"] = Field(validation_alias="__typename")
    is_required: bool | None = None
    name: str | None = None
    status: str | None = None
    conclusion: str | None = None
    started_at: datetime | None = None
    details_url: str | None = None
    title: str | None = None
    summary: str | None = None
    app_slug: str | None = Field(default=None, validation_alias=AliasPath("checkSuite", "app", "slug"))
    app_id: int | None = Field(default=None, validation_alias=AliasPath("checkSuite", "app", "databaseId"))
    workflow: str = Field(default="", validation_alias=AliasPath("checkSuite", "workflowRun", "workflow", "name"))
    event: str = Field(default="", validation_alias=AliasPath("checkSuite", "workflowRun", "event"))
    annotations: NodeConnection[CheckAnnotationResponse] | None = None
    context: str | None = None
    state: str | None = None
    description: str | None = None


class BranchRuleResponse(GraphResponse):
    """A rule of a ruleset. Those that require no checks have no fields."""

    required_status_checks: tuple[NameResponse, ...] = Field(
        default=(), validation_alias=AliasPath("parameters", "requiredStatusChecks")
    )


class RuledRefResponse(GraphResponse):
    """`protected_contexts`: from branch protection. `rules`: from rulesets, the repository's and its organization's."""

    protected_contexts: tuple[str | None, ...] | None = Field(
        default=None, validation_alias=AliasPath("refUpdateRule", "requiredStatusCheckContexts")
    )
    rules: NodeConnection[BranchRuleResponse] | None = None


class BaseRefResponse(RuledRefResponse):
    report_count: int = Field(
        default=0, validation_alias=AliasPath("target", "statusCheckRollup", "contexts", "totalCount")
    )


class PullState(GraphResponse):
    state: Literal["OPEN", "CLOSED", "MERGED"]
    head_ref_oid: str


class GraphPull(PullState):
    title: str
    body: str
    created_at: datetime
    is_draft: bool
    is_cross_repository: bool | None = None
    changed_files: int
    base_ref_name: str
    base_ref_oid: str
    is_private: bool = Field(default=False, validation_alias=AliasPath("baseRepository", "isPrivate"))
    head_ref_name: str
    author: ActorResponse | None = None
    labels: NodeConnection[NameResponse] | None = None
    commits: NodeConnection[PullCommit]
    tip_suites: NodeConnection[TipSuiteResponse] | None = Field(
        default=None, validation_alias=AliasPath("tip", "nodes", 0, "commit", "checkSuites")
    )
    closing_issues_references: NodeConnection[GraphIssue] | None = None
    base_ref: BaseRefResponse | None = None
    contexts: NodeConnection[GraphContext] | None = Field(
        default=None, validation_alias=AliasPath("statusCheckRollup", "contexts")
    )


class PullQueryResponse(GraphResponse, Generic[T]):
    """Answer to a query about one pull request."""

    pull_request: T = Field(validation_alias=AliasPath("repository", "pullRequest"))


class MoreContextsResponse(PullState):  # of the newest head, whichever that is
    contexts: NodeConnection[GraphContext] | None = Field(
        default=None, validation_alias=AliasPath("statusCheckRollup", "contexts")
    )


class BlobResponse(GraphResponse):
    """A file. GitHub cuts `text` at 512,000 bytes and only `is_truncated` shows it. All None: not a blob."""

    text: str | None = None
    is_binary: bool | None = None
    is_truncated: bool | None = None


class FolderEntryResponse(GraphResponse):
    """An item of a folder. `object` is None for a submodule, and empty for a folder."""

    name: str
    object: BlobResponse | None = None


class FolderResponse(GraphResponse):
    """A folder with its files. None: not a folder."""

    entries: tuple[FolderEntryResponse, ...] | None = None


DEFAULTS_ALIAS: Final = "defaults"


class TextsQueryResponse(GraphResponse):
    """Answer to a query with one alias per file."""

    repository: dict[str, Any]
    owners_default: BlobResponse | None = Field(default=None, validation_alias=AliasPath(DEFAULTS_ALIAS, "object"))


class RepositoriesQueryResponse(RestResponse):
    """One field for each alias."""

    model_config = {"extra": "allow"}


class CreatedRunResponse(RestResponse):
    id: int


class CheckRunResponse(RestResponse):
    id: int
    name: str
    status: str
    conclusion: str | None = None
    external_id: str | None = None
    started_at: datetime | None = None
    app_id: int | None = Field(default=None, validation_alias=AliasPath("app", "id"))
    app_slug: str | None = Field(default=None, validation_alias=AliasPath("app", "slug"))
    title: str | None = Field(default=None, validation_alias=AliasPath("output", "title"))
    summary: str | None = Field(default=None, validation_alias=AliasPath("output", "summary"))


class CheckRunsPage(RestResponse):
    total_count: int = 0
    check_runs: tuple[CheckRunResponse, ...]


class CreatedReactionResponse(RestResponse):
    content: str


class PermissionResponse(RestResponse):
    permission: str
    role_name: str = ""


class ChangedFileResponse(RestResponse):
    filename: str
    status: str
    previous_filename: str | None = None
    changes: int = 0
    patch: str | None = None


class LabelResponse(RestResponse):
    name: str


class RestPull(RestResponse):
    number: int
    title: str
    body: str | None = None
    state: str
    draft: bool = False
    author: str = Field(default=GHOST_LOGIN, validation_alias=AliasPath("user", "login"))
    base_ref: str = Field(validation_alias=AliasPath("base", "ref"))
    base_sha: str = Field(validation_alias=AliasPath("base", "sha"))
    head_ref: str = Field(validation_alias=AliasPath("head", "ref"))
    head_sha: str = Field(validation_alias=AliasPath("head", "sha"))
    labels: tuple[LabelResponse, ...] = ()


class RestCommit(RestResponse):
    sha: str
    message: str = Field(validation_alias=AliasPath("commit", "message"))
    author_login: str | None = Field(default=None, validation_alias=AliasPath("author", "login"))
    author_name: str | None = Field(default=None, validation_alias=AliasPath("commit", "author", "name"))


class RestStatus(RestResponse):
    context: str
    state: str
    description: str | None = None


class CombinedStatus(RestResponse):
    statuses: tuple[RestStatus, ...]


class RestIssue(RestResponse):
    number: int
    title: str
    body: str | None = None
    html_url: str
    author: str = Field(default=GHOST_LOGIN, validation_alias=AliasPath("user", "login"))
    author_association: str | None = None


class RestFile(RestResponse):
    type: str = "file"
    encoding: str = ""
    content: str = ""


class AppView(RestResponse):
    """Answer of `GET /app` for the App whose key was used."""

    id: int
    slug: str = ""
    html_url: str = ""
    permissions: dict[str, str] = {}
    events: tuple[str, ...] = ()
