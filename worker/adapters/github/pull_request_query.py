"""The questions about one pull request that GraphQL answers.

Does not interpret the answers. Invariant: each method is one request, retries apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from worker.adapters.github import queries
from worker.adapters.github.client import GitHubApi, parse_or_outage
from worker.adapters.github.rate_limits import RequestPriority
from worker.adapters.github.responses import (
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
from worker.domain.ids import RepositoryName

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PullQueryItems:
    """What else to ask for beside the newest head: `commit:path` expressions of files and of folders, numbers of issues.

    `owners_default`: the configuration that holds for all repositories of this owner.
    """

    expressions: Sequence[str] = ()
    issues: Sequence[int] = ()
    folders: Sequence[str] = ()
    owners_default: bool = False


@dataclass(frozen=True, slots=True)
class PullQueryAnswers:
    """The answers in the order of the questions; None where there is no such thing."""

    head: PullState
    blobs: tuple[BlobResponse | None, ...]
    issues: tuple[GraphIssue | None, ...]
    folders: tuple[FolderResponse | None, ...] = ()
    owners_default: BlobResponse | None = None


class OwnRunResponse(GraphResponse):
    """A run of our own check. `url` ends in its id, which GraphQL's numbers are too small for."""

    url: str
    external_id: str | None = None
    status: str
    conclusion: str | None = None
    title: str | None = None


class CompleteNodes(NodeConnection[T]):
    """A list that was asked for as a whole."""

    total_count: int

    @property
    def is_whole(self) -> bool:
        return len(self.visible_nodes) == self.total_count


class OwnSuiteResponse(GraphResponse):
    check_runs: CompleteNodes[OwnRunResponse] | None = None


class OwnCommitResponse(GraphResponse):
    oid: str
    check_suites: CompleteNodes[OwnSuiteResponse] | None = None


class OwnTipResponse(GraphResponse):
    commit: OwnCommitResponse


class GroupMemberResponse(PullState):
    """The pull request of a merge group."""

    commits: NodeConnection[OwnTipResponse]

    def own_runs(self) -> tuple[OwnRunResponse, ...] | None:
        """The runs of our check on the head; None where not all of them are known."""
        commit = next(
            (node.commit for node in self.commits.visible_nodes if node.commit.oid == self.head_ref_oid), None
        )
        suites = commit.check_suites if commit else None
        if suites is None or not suites.is_whole:
            return None
        runs = [suite.check_runs for suite in suites.visible_nodes]
        if not all(page is not None and page.is_whole for page in runs):
            return None
        return tuple(run for page in runs if page for run in page.visible_nodes)


class ReviewedCommitResponse(GraphResponse):
    oid: str


class LatestReviewResponse(GraphResponse):
    """`url` ends in its number, which GraphQL's numbers are too small for."""

    url: str
    state: str
    submitted_at: datetime | None = None
    author: ActorResponse | None = None
    commit: ReviewedCommitResponse | None = None


class ReviewsResponse(GraphResponse):
    latest_opinionated_reviews: NodeConnection[LatestReviewResponse] | None = None


class PullQueries:
    """One pull request, seen through one credential."""

    def __init__(self, api: GitHubApi, repository: RepositoryName, number: int) -> None:
        owner, _, name = repository.partition("/")
        self._api = api
        self._variables: dict[str, object] = {"owner": owner, "name": name, "number": number}

    def pull(self) -> GraphPull:
        query = queries.pull_query(queries.AliasedFields())
        return self._api.query(query.document, self._variables, PullQueryResponse[GraphPull]).repository.pull_request

    def pull_with(self, asked: PullQueryItems) -> "PullQueryResult":
        """The pull request and, in the same request, what is asked for beside it."""
        beside = queries.alias_items(
            asked.expressions, asked.issues, asked.folders, owners_default=asked.owners_default
        )
        query = queries.pull_query(beside)
        answer = self._api.query(query.document, {**self._variables, **query.variables}, TextsQueryResponse)
        return parse_or_outage(lambda: _parse_result(answer, asked), "/graphql")

    def head(self) -> PullState:
        """Asked right before a verdict is told: it may take the last request."""
        return self._api.query(
            queries.HEAD_QUERY, self._variables, PullQueryResponse[PullState], RequestPriority.STATE
        ).repository.pull_request

    def member(self, app_id: int, check: str) -> "GroupMemberResponse":
        """The head, and the runs of this App's check there."""
        variables = {**self._variables, "app": app_id, "check": check}
        return self._api.query(
            queries.MEMBER_QUERY, variables, PullQueryResponse[GroupMemberResponse]
        ).repository.pull_request

    def reviews(self) -> tuple[LatestReviewResponse, ...]:
        answer = self._api.query(
            queries.REVIEWS_QUERY, self._variables, PullQueryResponse[ReviewsResponse]
        ).repository.pull_request
        return answer.latest_opinionated_reviews.visible_nodes if answer.latest_opinionated_reviews else ()

    def contexts_after(self, cursor: str) -> MoreContextsResponse:
        answer = self._api.query(
            queries.CONTEXTS_QUERY, {**self._variables, "after": cursor}, PullQueryResponse[MoreContextsResponse]
        )
        return answer.repository.pull_request

    def fetch_items(self, asked: PullQueryItems) -> PullQueryAnswers:
        query = queries.items_query(asked.expressions, asked.issues, asked.folders, owners_default=asked.owners_default)
        answer = self._api.query(query.document, {**self._variables, **query.variables}, TextsQueryResponse)
        return parse_or_outage(lambda: _parse_answers(answer, asked), "/graphql")


@dataclass(frozen=True, slots=True)
class PullQueryResult:
    """A pull request, and what was asked for beside it."""

    pull: GraphPull
    answers: PullQueryAnswers


def _parse_answers(answer: TextsQueryResponse, asked: PullQueryItems) -> PullQueryAnswers:
    repository = answer.repository
    blobs = [repository.get(queries.file_alias(index)) for index in range(len(asked.expressions))]
    issues = [repository.get(queries.issue_alias(index)) for index in range(len(asked.issues))]
    folders = [repository.get(queries.folder_alias(index)) for index in range(len(asked.folders))]
    return PullQueryAnswers(
        head=PullState.model_validate(repository.get("pullRequest")),
        blobs=tuple(None if blob is None else BlobResponse.model_validate(blob) for blob in blobs),
        issues=tuple(None if issue is None else GraphIssue.model_validate(issue) for issue in issues),
        folders=tuple(None if folder is None else FolderResponse.model_validate(folder) for folder in folders),
        owners_default=answer.defaults.object if answer.defaults else None,
    )


def _parse_result(answer: TextsQueryResponse, asked: PullQueryItems) -> PullQueryResult:
    return PullQueryResult(
        GraphPull.model_validate(answer.repository.get("pullRequest")), _parse_answers(answer, asked)
    )
