"""GraphQL queries about one pull request, each one request, and the guess that prefetches its texts.

Untrusted text (paths, names) is passed in variables, never in a query's text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Protocol, TypeVar

from pydantic import AliasPath, Field

from worker.adapters.github.client import GitHubApi, name_variables, parse_or_outage
from worker.adapters.github.errors_and_rate_limits import RequestPriority
from worker.adapters.github.pull_request_texts import BATCH_SIZE, may_have_default, texts_to_read
from worker.adapters.github.responses import (
    DEFAULTS_ALIAS,
    ActorResponse,
    BlobResponse,
    FolderResponse,
    GraphIssue,
    GraphPull,
    GraphResponse,
    MoreContextsResponse,
    NodeConnection,
    PullQueryResponse,
    PullState,
    TextsQueryResponse,
)
from worker.domain.config.config import CONFIG_PATH, CONFIG_PATHS, DEFAULTS_REPOSITORY
from worker.domain.dossier import Dossier
from worker.domain.judge_request import JudgeRequest, PullRef
from worker.domain.model import RepositoryName, Sha, hash_base
from worker.dossier.diff import parse_diff
from worker.dossier.repo_rules.files import FOLDER_NAMES, ROOT_NAMES, RULE_FOLDERS, folders_above

CONTEXT_FRAGMENT: Final = """
fragment context on StatusCheckRollupContext {
  __typename
  ... on CheckRun {
    name status conclusion startedAt detailsUrl title summary
    isRequired(pullRequestNumber: $number)
    checkSuite { app { slug databaseId } workflowRun { event workflow { name } } }
    annotations(first: 10) { nodes { path message title annotationLevel location { start { line } } } }
  }
  ... on StatusContext { context state description isRequired(pullRequestNumber: $number) }
}
"""

SUITE_FRAGMENT: Final = """
fragment suite on CheckSuite {
  conclusion
  app { slug databaseId }
  workflowRun { workflow { name } }
  checkRuns(first: 1) { totalCount }
}
"""

ACTOR_FRAGMENT: Final = """
fragment who on Actor { __typename login }
"""

ISSUE_FRAGMENT: Final = """
fragment issue on Issue {
  number title body url authorAssociation lastEditedAt includesCreatedEdit
  author { ...who }
  editor { ...who }
  repository { nameWithOwner isPrivate }
  userContentEdits(first: 20) { nodes { editedAt diff editor { ...who } } pageInfo { hasNextPage } }
  timelineItems(last: 100, itemTypes: [RENAMED_TITLE_EVENT]) {
    nodes { ... on RenamedTitleEvent { createdAt previousTitle currentTitle actor { ...who } } }
    pageInfo { hasPreviousPage }
  }
}
"""

BLOB_FRAGMENT: Final = """
fragment blob on Blob { text isBinary isTruncated }
"""

FOLDER_FRAGMENT: Final = """
fragment folder on Tree { entries { name object { ...blob } } }
"""

REQUIRED_FRAGMENT: Final = """
fragment required on Ref {
  refUpdateRule { requiredStatusCheckContexts }
  rules(first: 100) {
    nodes { parameters { ... on RequiredStatusChecksParameters { requiredStatusChecks { name: context } } } }
  }
}
"""

PULL_QUERY: Final = """
query AssayPull({parameters}) {{
  repository(owner: $owner, name: $name) {{
    pullRequest(number: $number) {{
      state title body createdAt isDraft isCrossRepository changedFiles baseRefName baseRefOid headRefName headRefOid
      author {{ ...who }}
      labels(first: 100) {{ nodes {{ name }} }}
      commits(last: 100) {{ nodes {{ commit {{ oid message author {{ name user {{ login }} }} }} }} }}
      closingIssuesReferences(first: 20) {{ nodes {{ ...issue }} }}
      baseRepository {{ nameWithOwner isPrivate }}
      baseRef {{
        ...required
        target {{ ... on Commit {{ statusCheckRollup {{ contexts(first: 1) {{ totalCount }} }} }} }}
      }}
      tip: commits(last: 1) {{ nodes {{ commit {{ checkSuites(first: 50) {{ nodes {{ ...suite }} }} }} }} }}
      statusCheckRollup {{ contexts(first: 100) {{ nodes {{ ...context }} pageInfo {{ hasNextPage endCursor }} }} }}
    }}
    {fields}
  }}
  {default}
}}
"""

TEXTS_QUERY: Final = """
query AssayTexts({parameters}) {{
  repository(owner: $owner, name: $name) {{
    pullRequest(number: $number) {{ state headRefOid }}
    {fields}
  }}
  {default}
}}
"""
"""Blobs and folders (`commit:path`) and issues, each under its alias, and the newest head."""

CONTEXTS_QUERY: Final = (
    """
query AssayChecks($owner: String!, $name: String!, $number: Int!, $after: String!) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      state headRefOid
      statusCheckRollup {
        contexts(first: 100, after: $after) { nodes { ...context } pageInfo { hasNextPage endCursor } }
      }
    }
  }
}
"""
    + CONTEXT_FRAGMENT
)

HEAD_QUERY: Final = """
query AssayHead($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) { state headRefOid } }
}
"""


MEMBER_FRAGMENT: Final = """
fragment member on PullRequest {
  state headRefOid
  commits(last: 1) {
    nodes {
      commit {
        oid
        checkSuites(first: 10, filterBy: {appId: $app}) {
          totalCount
          nodes {
            checkRuns(first: 50, filterBy: {checkName: $check, checkType: ALL}) {
              totalCount
              nodes { url externalId status conclusion title }
            }
          }
        }
      }
    }
  }
}
"""
"""The newest head of a pull request, and our check run on it."""

MEMBER_QUERY: Final = (
    """
query AssayMember($owner: String!, $name: String!, $number: Int!, $app: Int!, $check: String!) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) { ...member } }
}
"""
    + MEMBER_FRAGMENT
)
"""The same for the pull request of a merge group."""


REVIEWS_QUERY: Final = """
query AssayReviews($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      latestOpinionatedReviews(last: 50, writersOnly: true) {
        nodes { url state submittedAt author { __typename login } commit { oid } }
      }
    }
  }
}
"""
"""Each person's newest review that approves, requests changes, or is dismissed."""

REACT_MUTATION: Final = """
mutation AssayReact($subject: ID!, $content: ReactionContent!) {
  addReaction(input: {subjectId: $subject, content: $content}) { reaction { content } }
}
"""
"""React to a review's own text, which REST can't."""

UPDATE_COMMENT_MUTATION: Final = """
mutation AssayTell($comment: ID!, $text: String!) {
  updateIssueComment(input: {id: $comment, body: $text}) { issueComment { pullRequest { number state headRefOid } } }
}
"""
"""Edit our comment, and read the head as HEAD does."""

OWNERS_DEFAULT_FIELD: Final = f"""
  {DEFAULTS_ALIAS}: repository(owner: $owner, name: "{DEFAULTS_REPOSITORY}", followRenames: false) {{
    object(expression: "HEAD:{CONFIG_PATH}") {{ ...blob }}
  }}
"""
"""A moved repository is not followed: its new owner may be a stranger."""


@dataclass(frozen=True, slots=True)
class AliasKind:
    """A kind of item: prefix of its aliases, type of its variable, its field, and that field's fragments."""

    prefix: str
    type: str
    field: str
    fragments: tuple[str, ...]

    def alias(self, index: int) -> str:
        return f"{self.prefix}_{index}"


FILE_KIND: Final = AliasKind("file", "String!", "object(expression: ${}) {{ ...blob }}", (BLOB_FRAGMENT,))
FOLDER_KIND: Final = AliasKind(
    "folder", "String!", "object(expression: ${}) {{ ...folder }}", (BLOB_FRAGMENT, FOLDER_FRAGMENT)
)
ISSUE_KIND: Final = AliasKind("issue", "Int!", "issue(number: ${}) {{ ...issue }}", (ISSUE_FRAGMENT, ACTOR_FRAGMENT))
PULL_FRAGMENTS: Final = (ISSUE_FRAGMENT, ACTOR_FRAGMENT, CONTEXT_FRAGMENT, SUITE_FRAGMENT, REQUIRED_FRAGMENT)


T = TypeVar("T")
ItemT = TypeVar("ItemT", bound=GraphResponse)


@dataclass(frozen=True, slots=True)
class PullQueryItems:
    """Items to query beside the newest head: `commit:path` expressions of files and folders, issue numbers.

    `owners_default`: the configuration for all repositories of this owner.
    """

    expressions: Sequence[str] = ()
    issues: Sequence[int] = ()
    folders: Sequence[str] = ()
    owners_default: bool = False

    def query(self, template: str, fragments: Sequence[str] = ()) -> tuple[str, dict[str, str | int]]:
        """A query with these items, and its variables besides the pull request's."""
        kinds = ((FILE_KIND, self.expressions), (FOLDER_KIND, self.folders), (ISSUE_KIND, self.issues))
        asked = [(kind, kind.alias(index), value) for kind, values in kinds for index, value in enumerate(values)]
        used = {*fragments, *(fragment for kind, values in kinds if values for fragment in kind.fragments)}
        document = template.format(
            parameters=", ".join(
                [
                    "$owner: String!, $name: String!, $number: Int!",
                    *(f"${alias}: {kind.type}" for kind, alias, _ in asked),
                ]
            ),
            fields=" ".join(f"{alias}: {kind.field.format(alias)}" for kind, alias, _ in asked),
            default=OWNERS_DEFAULT_FIELD if self.owners_default else "",
        )
        used |= {BLOB_FRAGMENT} if self.owners_default else set()
        return document + "".join(sorted(used)), {alias: value for _, alias, value in asked}


@dataclass(frozen=True, slots=True)
class PullQueryAnswers:
    """Answers in the order of the items; None for a missing item."""

    head: PullState
    blobs: tuple[BlobResponse | None, ...]
    issues: tuple[GraphIssue | None, ...]
    folders: tuple[FolderResponse | None, ...] = ()
    owners_default: BlobResponse | None = None


class OwnRunResponse(GraphResponse):
    """A run of our own check. `url` ends in its id, which overflows GraphQL's numbers."""

    url: str
    external_id: str | None = None
    status: str
    conclusion: str | None = None
    title: str | None = None


class CompleteNodes(NodeConnection[T]):
    """A list that was queried as a whole."""

    total_count: int

    @property
    def is_whole(self) -> bool:
        return len(self.visible_nodes) == self.total_count


class OwnSuiteResponse(GraphResponse):
    check_runs: CompleteNodes[OwnRunResponse] | None = None


class OwnTipResponse(GraphResponse):
    oid: str = Field(validation_alias=AliasPath("commit", "oid"))
    check_suites: CompleteNodes[OwnSuiteResponse] | None = Field(
        default=None, validation_alias=AliasPath("commit", "checkSuites")
    )


class GroupMemberResponse(PullState):
    """The pull request of a merge group."""

    commits: NodeConnection[OwnTipResponse]

    def own_runs(self) -> tuple[OwnRunResponse, ...] | None:
        """Runs of our check on the head; None if the list is incomplete."""
        tip = next((commit for commit in self.commits.visible_nodes if commit.oid == self.head_ref_oid), None)
        suites = tip.check_suites if tip else None
        if suites is None or not suites.is_whole:
            return None
        runs = [suite.check_runs for suite in suites.visible_nodes]
        if not all(page is not None and page.is_whole for page in runs):
            return None
        return tuple(run for page in runs if page for run in page.visible_nodes)


class LatestReviewResponse(GraphResponse):
    """`url` ends in its number, which overflows GraphQL's numbers."""

    url: str
    state: str
    submitted_at: datetime | None = None
    author: ActorResponse | None = None
    commit_sha: str | None = Field(default=None, validation_alias=AliasPath("commit", "oid"))


class ReviewsResponse(GraphResponse):
    latest_opinionated_reviews: NodeConnection[LatestReviewResponse] | None = None


class PullQueries:
    """Queries about one pull request with one credential."""

    def __init__(self, api: GitHubApi, repository: RepositoryName, number: int) -> None:
        self._api = api
        self._variables = name_variables(repository) | {"number": number}

    def pull(self) -> GraphPull:
        document, _ = PullQueryItems().query(PULL_QUERY, PULL_FRAGMENTS)
        return self._api.query(document, self._variables, PullQueryResponse[GraphPull]).pull_request

    def pull_with(self, asked: PullQueryItems) -> tuple[GraphPull, PullQueryAnswers]:
        """The pull request and, in the same request, further items."""
        document, variables = asked.query(PULL_QUERY, PULL_FRAGMENTS)
        answer = self._api.query(document, {**self._variables, **variables}, TextsQueryResponse)

        def parse() -> tuple[GraphPull, PullQueryAnswers]:
            return GraphPull.model_validate(answer.repository.get("pullRequest")), _parse_answers(answer, asked)

        return parse_or_outage(parse, "/graphql")

    def head(self) -> PullState:
        """The newest head, read right before a verdict is published: it may use the last request."""
        reply = PullQueryResponse[PullState]
        return self._api.query(HEAD_QUERY, self._variables, reply, RequestPriority.STATE).pull_request

    def member(self, app_id: int, check: str) -> "GroupMemberResponse":
        """The head, and the runs of this App's check on it."""
        variables = {**self._variables, "app": app_id, "check": check}
        return self._api.query(MEMBER_QUERY, variables, PullQueryResponse[GroupMemberResponse]).pull_request

    def reviews(self) -> tuple[LatestReviewResponse, ...]:
        answer = self._api.query(REVIEWS_QUERY, self._variables, PullQueryResponse[ReviewsResponse]).pull_request
        return answer.latest_opinionated_reviews.visible_nodes if answer.latest_opinionated_reviews else ()

    def contexts_after(self, cursor: str) -> MoreContextsResponse:
        variables = {**self._variables, "after": cursor}
        return self._api.query(CONTEXTS_QUERY, variables, PullQueryResponse[MoreContextsResponse]).pull_request

    def fetch_items(self, asked: PullQueryItems) -> PullQueryAnswers:
        document, variables = asked.query(TEXTS_QUERY)
        answer = self._api.query(document, {**self._variables, **variables}, TextsQueryResponse)
        return parse_or_outage(lambda: _parse_answers(answer, asked), "/graphql")


def _parse_answers(answer: TextsQueryResponse, asked: PullQueryItems) -> PullQueryAnswers:
    def of(kind: AliasKind, model: type[ItemT], asked_for: Sequence[object]) -> tuple[ItemT | None, ...]:
        items = [answer.repository.get(kind.alias(index)) for index in range(len(asked_for))]
        return tuple(None if item is None else model.model_validate(item) for item in items)

    return PullQueryAnswers(
        head=PullState.model_validate(answer.repository.get("pullRequest")),
        blobs=of(FILE_KIND, BlobResponse, asked.expressions),
        issues=of(ISSUE_KIND, GraphIssue, asked.issues),
        folders=of(FOLDER_KIND, FolderResponse, asked.folders),
        owners_default=answer.owners_default,
    )


MOST_RULED_FOLDERS: Final = 20
"""Folders above changed files whose rules files are queried in the same request."""


class DossierMemory(Protocol):
    """Dossiers of earlier judgings."""

    def __call__(self, pull: PullRef) -> Dossier | None: ...


@dataclass(frozen=True, slots=True)
class PrefetchGuess:
    """A guess of head and base, and of the changed files between them.

    `base_ref`: the base branch, whose newest commit has the rules; None: unknown, and `base_sha` is read.
    """

    head_sha: Sha
    base_sha: Sha
    paths: tuple[str, ...]
    ruled_by: tuple[str, ...]
    base_ref: str | None = None

    def items(self, request: JudgeRequest) -> PullQueryItems:
        at = self.base_sha if self.base_ref is None else branch_ref(self.base_ref)
        rules = rules_items(at, self.ruled_by, (), request)
        texts = [f"{self.head_sha}:{path}" for path in self.paths]
        return replace(rules, expressions=[*rules.expressions, *texts])


@dataclass(frozen=True, slots=True)
class PrefetchedTexts:
    """Answers to a correct guess. `ruled_by` None: it was wrong."""

    texts: Mapping[str, BlobResponse] = field(default_factory=dict[str, BlobResponse])
    ruled_by: tuple[str, ...] | None = None
    answers: PullQueryAnswers | None = None


def to_prefetched_texts(guess: PrefetchGuess, answered: PullQueryAnswers) -> PrefetchedTexts:
    """Texts of a correct guess. A missing text is queried again."""
    texts = zip(guess.paths, answered.blobs[len(guess.ruled_by) + len(CONFIG_PATHS) :], strict=True)
    return PrefetchedTexts({path: blob for path, blob in texts if blob is not None}, guess.ruled_by, answered)


def guess_from_diff(request: JudgeRequest, before: Dossier | None, diff: str) -> PrefetchGuess | None:
    """Guess from the diff, which is of the request's head or else of the last judged one."""
    if (commits := guess_range(request, before)) is None:
        return None
    changed = parse_diff(diff.encode())
    rules = rules_files_for([file.path for file in changed.files])
    return PrefetchGuess(*commits, texts_to_read(changed).paths[:BATCH_SIZE], rules, guess_base_ref(request, before))


def guess_range(request: JudgeRequest, before: Dossier | None) -> tuple[Sha, Sha] | None:
    """Head and base from the request, or else from the last dossier."""
    pull = before.pull_request if before else None
    head_sha = request.head_sha or (pull.head_sha if pull else None)
    base_sha = request.base_sha or (pull.base_sha if pull else None)
    return None if head_sha is None or base_sha is None else (head_sha, base_sha)


def guess_base_ref(request: JudgeRequest, before: Dossier | None) -> str | None:
    """The base branch as recorded, unless a delivery names a base without confirming it."""
    name = before.pull_request.base_ref if before else ""
    is_base_known = request.base is not None or request.base_sha is not None
    return name if name and (not is_base_known or request.base == hash_base(name)) else None


def branch_ref(base_ref: str) -> str:
    """Ref of a branch's newest commit: a pull request's base on GitHub stays behind when the branch moves."""
    return f"refs/heads/{base_ref}"


def rules_items(at: str, ruled_by: Sequence[str], issues: Sequence[int], request: JudgeRequest) -> PullQueryItems:
    """Query items for rules files, configuration and issues. *at*: a commit, or a branch."""
    rules = [f"{at}:{path}" for path in (*ruled_by, *CONFIG_PATHS)]
    folders = [f"{at}:{folder}" for folder in RULE_FOLDERS]
    return PullQueryItems(rules, issues, folders, may_have_default(request.repository))


def rules_files_for(changed: Sequence[str]) -> tuple[str, ...]:
    """Rules files that may apply to these, without those in folders of their own."""
    above = folders_above(changed, MOST_RULED_FOLDERS)
    return (*ROOT_NAMES, *(f"{folder}{name}" for folder in above for name in FOLDER_NAMES))
