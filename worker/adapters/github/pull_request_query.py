"""The questions about one pull request that GraphQL answers.

Does not interpret the answers. Invariant: each method is one request, retries apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from worker.adapters.github import queries
from worker.adapters.github.client import Api, understood
from worker.adapters.github.rate_limits import Need
from worker.adapters.github.responses import (
    Actor,
    Blob,
    Folder,
    Found,
    FoundTexts,
    GraphIssue,
    GraphPull,
    GraphReply,
    MoreContexts,
    Nodes,
    PullState,
)
from worker.domain.ids import RepositoryName

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Asked:
    """What else to ask for beside the newest head: `commit:path` expressions of files and of folders, numbers of issues.

    `owners_default`: the configuration that holds for all repositories of this owner.
    """

    expressions: Sequence[str] = ()
    issues: Sequence[int] = ()
    folders: Sequence[str] = ()
    owners_default: bool = False


@dataclass(frozen=True, slots=True)
class Answered:
    """The answers in the order of the questions; None where there is no such thing."""

    head: PullState
    blobs: tuple[Blob | None, ...]
    issues: tuple[GraphIssue | None, ...]
    folders: tuple[Folder | None, ...] = ()
    owners_default: Blob | None = None


class OurRun(GraphReply):
    """A run of our own check. `url` ends in its id, which GraphQL's numbers are too small for."""

    url: str
    external_id: str | None = None
    status: str
    conclusion: str | None = None
    title: str | None = None


class All(Nodes[T]):
    """A list that was asked for as a whole."""

    total_count: int

    @property
    def is_whole(self) -> bool:
        return len(self.seen) == self.total_count


class OurSuite(GraphReply):
    check_runs: All[OurRun] | None = None


class OurCommit(GraphReply):
    oid: str
    check_suites: All[OurSuite] | None = None


class OurTip(GraphReply):
    commit: OurCommit


class Member(PullState):
    """The pull request of a merge group."""

    commits: Nodes[OurTip]

    def our_runs(self) -> tuple[OurRun, ...] | None:
        """The runs of our check on the head; None where not all of them are known."""
        commit = next((one.commit for one in self.commits.seen if one.commit.oid == self.head_ref_oid), None)
        suites = commit.check_suites if commit else None
        if suites is None or not suites.is_whole:
            return None
        found = [suite.check_runs for suite in suites.seen]
        if not all(one is not None and one.is_whole for one in found):
            return None
        return tuple(run for one in found if one for run in one.seen)


class ReviewedCommit(GraphReply):
    oid: str


class LatestReview(GraphReply):
    """`url` ends in its number, which GraphQL's numbers are too small for."""

    url: str
    state: str
    submitted_at: datetime | None = None
    author: Actor | None = None
    commit: ReviewedCommit | None = None


class Reviews(GraphReply):
    latest_opinionated_reviews: Nodes[LatestReview] | None = None


class PullGraph:
    """One pull request, seen through one credential."""

    def __init__(self, api: Api, repository: RepositoryName, number: int) -> None:
        owner, _, name = repository.partition("/")
        self._api = api
        self._variables: dict[str, object] = {"owner": owner, "name": name, "number": number}

    def pull(self) -> GraphPull:
        query = queries.pull(queries.Aliased())
        return self._api.query(query.document, self._variables, Found[GraphPull]).repository.pull_request

    def pull_with(self, asked: Asked) -> "Seen":
        """The pull request and, in the same request, what is asked for beside it."""
        beside = queries.aliased(asked.expressions, asked.issues, asked.folders, owners_default=asked.owners_default)
        query = queries.pull(beside)
        answer = self._api.query(query.document, {**self._variables, **query.variables}, FoundTexts)
        return understood(lambda: _seen(answer, asked), "/graphql")

    def head(self) -> PullState:
        """Asked right before a verdict is told: it may take the last request."""
        return self._api.query(queries.HEAD, self._variables, Found[PullState], Need.STATE).repository.pull_request

    def member(self, app_id: int, check: str) -> "Member":
        """The head, and the runs of this App's check there."""
        variables = {**self._variables, "app": app_id, "check": check}
        return self._api.query(queries.MEMBER, variables, Found[Member]).repository.pull_request

    def reviews(self) -> tuple[LatestReview, ...]:
        found = self._api.query(queries.REVIEWS, self._variables, Found[Reviews]).repository.pull_request
        return found.latest_opinionated_reviews.seen if found.latest_opinionated_reviews else ()

    def contexts_after(self, cursor: str) -> MoreContexts:
        found = self._api.query(queries.MORE_CONTEXTS, {**self._variables, "after": cursor}, Found[MoreContexts])
        return found.repository.pull_request

    def ask(self, asked: Asked) -> Answered:
        query = queries.things(asked.expressions, asked.issues, asked.folders, owners_default=asked.owners_default)
        answer = self._api.query(query.document, {**self._variables, **query.variables}, FoundTexts)
        return understood(lambda: _answered(answer, asked), "/graphql")


@dataclass(frozen=True, slots=True)
class Seen:
    """A pull request, and what was asked for beside it."""

    pull: GraphPull
    answered: Answered


def _answered(answer: FoundTexts, asked: Asked) -> Answered:
    found = answer.repository
    blobs = [found.get(queries.file_alias(index)) for index in range(len(asked.expressions))]
    issues = [found.get(queries.issue_alias(index)) for index in range(len(asked.issues))]
    folders = [found.get(queries.folder_alias(index)) for index in range(len(asked.folders))]
    return Answered(
        head=PullState.model_validate(found.get("pullRequest")),
        blobs=tuple(None if blob is None else Blob.model_validate(blob) for blob in blobs),
        issues=tuple(None if issue is None else GraphIssue.model_validate(issue) for issue in issues),
        folders=tuple(None if one is None else Folder.model_validate(one) for one in folders),
        owners_default=answer.defaults.object if answer.defaults else None,
    )


def _seen(answer: FoundTexts, asked: Asked) -> Seen:
    return Seen(GraphPull.model_validate(answer.repository.get("pullRequest")), _answered(answer, asked))
