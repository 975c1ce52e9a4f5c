"""Models of GitHub's answers, with the fields that we read.

Unknown fields are ignored, and a list may contain None for items that we may not see.
"""

from datetime import datetime
from typing import Any, Final, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, RootModel
from pydantic.alias_generators import to_camel

T = TypeVar("T")


class RestResponse(BaseModel):
    """An answer of the REST API."""

    model_config = ConfigDict(frozen=True, extra="ignore")


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


# --- GraphQL: one pull request ----------------------------------------------------------------------------


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


class AccountResponse(GraphResponse):
    login: str


class CommitAuthorResponse(GraphResponse):
    name: str | None = None
    user: AccountResponse | None = None


class GraphCommit(GraphResponse):
    oid: str
    message: str
    author: CommitAuthorResponse | None = None


class PullCommit(GraphResponse):
    commit: GraphCommit


class RepositoryNameResponse(GraphResponse):
    name_with_owner: str
    is_private: bool = False


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
    repository: RepositoryNameResponse
    author: ActorResponse | None = None
    author_association: str | None = None
    editor: ActorResponse | None = None
    last_edited_at: datetime | None = None
    includes_created_edit: bool = False
    user_content_edits: NodeConnection[ContentEditResponse] | None = None
    timeline_items: NodeConnection[RenameResponse] | None = None


class AppResponse(GraphResponse):
    slug: str
    database_id: int | None = None


class WorkflowRunResponse(GraphResponse):
    """`event`: the trigger of the run; queried only for those that reported."""

    workflow: NameResponse
    event: str = ""


class TotalCountResponse(GraphResponse):
    total_count: int = 0


class SuiteResponse(GraphResponse):
    app: AppResponse | None = None
    workflow_run: WorkflowRunResponse | None = None


class TipSuiteResponse(SuiteResponse):
    """A suite of the head commit. Without a run it is missing from the rollup."""

    conclusion: str | None = None
    check_runs: TotalCountResponse | None = None


class TipCommitResponse(GraphResponse):
    check_suites: NodeConnection[TipSuiteResponse] | None = None


class TipResponse(GraphResponse):
    commit: TipCommitResponse


class SpanStartResponse(GraphResponse):
    line: int


class SpanResponse(GraphResponse):
    start: SpanStartResponse


class CheckAnnotationResponse(GraphResponse):
    path: str
    message: str
    title: str | None = None
    annotation_level: str | None = None
    location: SpanResponse | None = None


class GraphContext(GraphResponse):
    """A check run or a commit status, by `kind`."""

    kind: Literal["CheckRun", "StatusContext"] = Field(validation_alias="__typename")
    is_required: bool | None = None
    name: str | None = None
    status: str | None = None
    conclusion: str | None = None
    started_at: datetime | None = None
    details_url: str | None = None
    title: str | None = None
    summary: str | None = None
    check_suite: SuiteResponse | None = None
    annotations: NodeConnection[CheckAnnotationResponse] | None = None
    context: str | None = None
    state: str | None = None
    description: str | None = None


class RollupResponse(GraphResponse):
    contexts: NodeConnection[GraphContext]


class UpdateRuleResponse(GraphResponse):
    required_status_check_contexts: tuple[str | None, ...] | None = None


class RequiredChecksRule(GraphResponse):
    """A rule that requires checks. Other rules have no fields."""

    required_status_checks: tuple[NameResponse, ...] = ()


class BranchRuleResponse(GraphResponse):
    parameters: RequiredChecksRule | None = None


class CountedRollupResponse(GraphResponse):
    contexts: TotalCountResponse = TotalCountResponse()


class BaseTipResponse(GraphResponse):
    status_check_rollup: CountedRollupResponse | None = None


class RuledRefResponse(GraphResponse):
    """`ref_update_rule`: from branch protection. `rules`: from rulesets, the repository's and its organization's."""

    ref_update_rule: UpdateRuleResponse | None = None
    rules: NodeConnection[BranchRuleResponse] | None = None


class BaseRefResponse(RuledRefResponse):
    target: BaseTipResponse | None = None


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
    base_repository: RepositoryNameResponse | None = None
    head_ref_name: str
    author: ActorResponse | None = None
    labels: NodeConnection[NameResponse] | None = None
    commits: NodeConnection[PullCommit]
    tip: NodeConnection[TipResponse] | None = None
    closing_issues_references: NodeConnection[GraphIssue] | None = None
    base_ref: BaseRefResponse | None = None
    status_check_rollup: RollupResponse | None = None


class RepositoryPullResponse(GraphResponse, Generic[T]):
    pull_request: T


class PullQueryResponse(GraphResponse, Generic[T]):
    """Answer to a query about one pull request."""

    repository: RepositoryPullResponse[T]


class MoreContextsResponse(PullState):  # of the newest head, whichever that is
    status_check_rollup: RollupResponse | None = None


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


class DefaultsRepositoryResponse(GraphResponse):
    """The owner's repository for defaults, as far as we may see it."""

    object: BlobResponse | None = None


class TextsQueryResponse(GraphResponse):
    """Answer to a query with one alias per file."""

    repository: dict[str, Any]
    defaults: DefaultsRepositoryResponse | None = None


# --- REST -------------------------------------------------------------------------------------------------


class CreatedRunResponse(RestResponse):
    id: int


class RunAppResponse(RestResponse):
    id: int
    slug: str = ""


class RunOutputResponse(RestResponse):
    title: str | None = None
    summary: str | None = None


class CheckRunResponse(RestResponse):
    id: int
    name: str
    status: str
    conclusion: str | None = None
    external_id: str | None = None
    started_at: datetime | None = None
    app: RunAppResponse | None = None
    output: RunOutputResponse = RunOutputResponse()


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


class ChangedFilesPage(RootModel[tuple[ChangedFileResponse, ...]]):
    """One page of a pull request's files."""


class UserResponse(RestResponse):
    login: str


class BranchRefResponse(RestResponse):
    ref: str
    sha: str


class LabelResponse(RestResponse):
    name: str


class RestPull(RestResponse):
    number: int
    title: str
    body: str | None = None
    state: str
    draft: bool = False
    user: UserResponse | None = None
    base: BranchRefResponse
    head: BranchRefResponse
    labels: tuple[LabelResponse, ...] = ()


class GitCommitAuthor(RestResponse):
    name: str | None = None


class GitCommit(RestResponse):
    message: str
    author: GitCommitAuthor | None = None


class RestCommit(RestResponse):
    sha: str
    commit: GitCommit
    author: UserResponse | None = None

    @property
    def git_author(self) -> str:
        return (self.commit.author.name if self.commit.author else None) or ""


class RestCommits(RootModel[tuple[RestCommit, ...]]):
    """One page of a pull request's commits."""


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
    user: UserResponse | None = None
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
