"""What we read of GitHub's answers, and nothing else of them.

Does not fetch. Invariant: an answer may hold anything more, so unknown fields are left out, and a
list may have holes where we may not look.
"""

from datetime import datetime
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, RootModel
from pydantic.alias_generators import to_camel

T = TypeVar("T")


class Reply(BaseModel):
    """An answer of the REST API."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class GraphReply(BaseModel):
    """A part of a GraphQL answer: snake_case here, camelCase there."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)


class Refusal(Reply):
    message: str = ""


class GraphError(Reply):
    type: str | None = None
    message: str = ""
    path: tuple[str | int, ...] | None = None
    extensions: dict[str, Any] | None = None


class GraphAnswer(Reply):
    """Any GraphQL answer. `data` is there, with holes, beside errors too."""

    data: Any = None
    errors: tuple[GraphError, ...] = ()


# --- GraphQL: one pull request ----------------------------------------------------------------------------


class PageInfo(GraphReply):
    has_next_page: bool = False
    has_previous_page: bool = False
    end_cursor: str | None = None


class Nodes(GraphReply, Generic[T]):
    """A connection. A hole is something we may not see."""

    nodes: tuple[T | None, ...] | None = None
    page_info: PageInfo = PageInfo()

    @property
    def seen(self) -> tuple[T, ...]:
        return tuple(node for node in self.nodes or () if node is not None)


class Actor(GraphReply):
    kind: str = Field(validation_alias="__typename")
    login: str

    @property
    def full_login(self) -> str:
        """As REST and webhooks spell it: an App's login ends in [bot], which GraphQL leaves out."""
        return f"{self.login}[bot]" if self.kind == "Bot" and not self.login.endswith("[bot]") else self.login


class Named(GraphReply):
    name: str


class Account(GraphReply):
    login: str


class CommitAuthor(GraphReply):
    name: str | None = None
    user: Account | None = None


class GraphCommit(GraphReply):
    oid: str
    message: str
    author: CommitAuthor | None = None


class PullCommit(GraphReply):
    commit: GraphCommit


class RepositoryNamed(GraphReply):
    name_with_owner: str
    is_private: bool = False


class ContentEdit(GraphReply):
    """A text as an edit left it. `diff` holds it whole; None: it was taken out of the history, or is not for us."""

    edited_at: datetime
    editor: Actor | None = None
    diff: str | None = None


class Rename(GraphReply):  # an item of a timeline, which ends with the newest
    created_at: datetime
    previous_title: str
    current_title: str
    actor: Actor | None = None


class GraphIssue(GraphReply):
    """`user_content_edits`: its texts, the newest first; `includes_created_edit`: the last of all is the one it was written with."""

    number: int
    title: str
    body: str
    url: str
    repository: RepositoryNamed
    author: Actor | None = None
    author_association: str | None = None
    editor: Actor | None = None
    last_edited_at: datetime | None = None
    includes_created_edit: bool = False
    user_content_edits: Nodes[ContentEdit] | None = None
    timeline_items: Nodes[Rename] | None = None


class App(GraphReply):
    slug: str
    database_id: int | None = None


class Workflow(GraphReply):
    """`event`: what it runs for; asked only of those that reported."""

    workflow: Named
    event: str = ""


class Counted(GraphReply):
    total_count: int = 0


class Suite(GraphReply):
    app: App | None = None
    workflow_run: Workflow | None = None


class TipSuite(Suite):
    """One of the head commit's. Without a run there is nothing that a rollup would show."""

    conclusion: str | None = None
    check_runs: Counted | None = None


class TipCommit(GraphReply):
    check_suites: Nodes[TipSuite] | None = None


class Tip(GraphReply):
    commit: TipCommit


class Start(GraphReply):
    line: int


class Span(GraphReply):
    start: Start


class CheckNote(GraphReply):
    path: str
    message: str
    title: str | None = None
    annotation_level: str | None = None
    location: Span | None = None


class GraphContext(GraphReply):
    """A check run or a commit status; which one, `kind` says."""

    kind: Literal["CheckRun", "StatusContext"] = Field(validation_alias="__typename")
    is_required: bool | None = None
    name: str | None = None
    status: str | None = None
    conclusion: str | None = None
    started_at: datetime | None = None
    details_url: str | None = None
    title: str | None = None
    summary: str | None = None
    check_suite: Suite | None = None
    annotations: Nodes[CheckNote] | None = None
    context: str | None = None
    state: str | None = None
    description: str | None = None


class Rollup(GraphReply):
    contexts: Nodes[GraphContext]


class UpdateRule(GraphReply):
    required_status_check_contexts: tuple[str | None, ...] | None = None


class RuleParameters(GraphReply):
    """Of a rule that requires checks. Of others nothing is asked."""

    required_status_checks: tuple[Named, ...] = ()


class BranchRule(GraphReply):
    parameters: RuleParameters | None = None


class CountedRollup(GraphReply):
    contexts: Counted = Counted()


class BaseTip(GraphReply):
    status_check_rollup: CountedRollup | None = None


class RuledRef(GraphReply):
    """`ref_update_rule`: of branch protection. `rules`: of rulesets, the repository's and its organization's."""

    ref_update_rule: UpdateRule | None = None
    rules: Nodes[BranchRule] | None = None


class BaseRef(RuledRef):
    target: BaseTip | None = None


class PullState(GraphReply):
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
    base_repository: RepositoryNamed | None = None
    head_ref_name: str
    author: Actor | None = None
    labels: Nodes[Named] | None = None
    commits: Nodes[PullCommit]
    tip: Nodes[Tip] | None = None
    closing_issues_references: Nodes[GraphIssue] | None = None
    base_ref: BaseRef | None = None
    status_check_rollup: Rollup | None = None


class OfRepository(GraphReply, Generic[T]):
    pull_request: T


class Found(GraphReply, Generic[T]):
    """What a query about one pull request answers."""

    repository: OfRepository[T]


class MoreContexts(PullState):  # of the newest head, whichever that is
    status_check_rollup: Rollup | None = None


class Blob(GraphReply):
    """A file. GitHub cuts `text` at 512,000 bytes and says so only in `is_truncated`. All None: not a blob."""

    text: str | None = None
    is_binary: bool | None = None
    is_truncated: bool | None = None


class FolderEntry(GraphReply):
    """What stands in a folder. `object` is None for a submodule, and says nothing for a folder."""

    name: str
    object: Blob | None = None


class Folder(GraphReply):
    """A folder with the files in it. None: not a folder."""

    entries: tuple[FolderEntry, ...] | None = None


class DefaultsRepository(GraphReply):
    """The owner's repository for defaults, as far as we may see it."""

    object: Blob | None = None


class FoundTexts(GraphReply):
    """The answer to a query with one alias a file."""

    repository: dict[str, Any]
    defaults: DefaultsRepository | None = None


# --- REST -------------------------------------------------------------------------------------------------


class CreatedRun(Reply):
    id: int


class RunApp(Reply):
    id: int
    slug: str = ""


class RunOutput(Reply):
    title: str | None = None
    summary: str | None = None


class Run(Reply):
    id: int
    name: str
    status: str
    conclusion: str | None = None
    external_id: str | None = None
    started_at: datetime | None = None
    app: RunApp | None = None
    output: RunOutput = RunOutput()


class Runs(Reply):
    total_count: int = 0
    check_runs: tuple[Run, ...]


class Reaction(Reply):
    content: str


class Permission(Reply):
    permission: str
    role_name: str = ""


class ChangedFile(Reply):
    filename: str
    status: str
    previous_filename: str | None = None
    changes: int = 0
    patch: str | None = None


class ChangedFiles(RootModel[tuple[ChangedFile, ...]]):
    """One page of a pull request's files."""


class User(Reply):
    login: str


class Branch(Reply):
    ref: str
    sha: str


class Label(Reply):
    name: str


class RestPull(Reply):
    number: int
    title: str
    body: str | None = None
    state: str
    draft: bool = False
    user: User | None = None
    base: Branch
    head: Branch
    labels: tuple[Label, ...] = ()


class GitCommitAuthor(Reply):
    name: str | None = None


class GitCommit(Reply):
    message: str
    author: GitCommitAuthor | None = None


class RestCommit(Reply):
    sha: str
    commit: GitCommit
    author: User | None = None

    @property
    def git_author(self) -> str:
        return (self.commit.author.name if self.commit.author else None) or ""


class RestCommits(RootModel[tuple[RestCommit, ...]]):
    """One page of a pull request's commits."""


class RestStatus(Reply):
    context: str
    state: str
    description: str | None = None


class CombinedStatus(Reply):
    statuses: tuple[RestStatus, ...]


class RestIssue(Reply):
    number: int
    title: str
    body: str | None = None
    html_url: str
    user: User | None = None
    author_association: str | None = None


class RestFile(Reply):
    type: str = "file"
    encoding: str = ""
    content: str = ""


class AppView(Reply):
    """What `GET /app` tells about the App whose key asked."""

    id: int
    slug: str = ""
    html_url: str = ""
    permissions: dict[str, str] = {}
    events: tuple[str, ...] = ()
