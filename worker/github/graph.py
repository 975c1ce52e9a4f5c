"""The questions about one pull request that GraphQL answers.

Does not interpret the answers. Invariant: each method is one request, retries apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from worker.domain.ids import RepositoryName
from worker.github import queries
from worker.github.budget import Need
from worker.github.client import Api, understood
from worker.github.replies import (
    Blob,
    Folder,
    Found,
    FoundTexts,
    GraphContext,
    GraphIssue,
    GraphPull,
    MoreContexts,
    Nodes,
    PullState,
)


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


class PullGraph:
    """One pull request, seen through one credential."""

    def __init__(self, api: Api, repository: RepositoryName, number: int) -> None:
        owner, _, name = repository.partition("/")
        self._api = api
        self._variables: dict[str, object] = {"owner": owner, "name": name, "number": number}

    def pull(self) -> GraphPull:
        return self._api.query(queries.PULL, self._variables, Found[GraphPull]).repository.pull_request

    def head(self) -> PullState:
        """Asked right before a verdict is told: it may take the last request."""
        return self._api.query(queries.HEAD, self._variables, Found[PullState], Need.STATE).repository.pull_request

    def contexts_after(self, cursor: str) -> Nodes[GraphContext]:
        found = self._api.query(queries.MORE_CONTEXTS, {**self._variables, "after": cursor}, Found[MoreContexts])
        rollup = found.repository.pull_request.status_check_rollup
        return rollup.contexts if rollup else Nodes[GraphContext]()

    def ask(self, asked: Asked) -> Answered:
        query = queries.things(asked.expressions, asked.issues, asked.folders, owners_default=asked.owners_default)
        answer = self._api.query(query.document, {**self._variables, **query.variables}, FoundTexts)
        found = answer.repository
        blobs = [found.get(queries.file_alias(index)) for index in range(len(asked.expressions))]
        issues = [found.get(queries.issue_alias(index)) for index in range(len(asked.issues))]
        folders = [found.get(queries.folder_alias(index)) for index in range(len(asked.folders))]
        return understood(
            lambda: Answered(
                head=PullState.model_validate(found.get("pullRequest")),
                blobs=tuple(None if blob is None else Blob.model_validate(blob) for blob in blobs),
                issues=tuple(None if issue is None else GraphIssue.model_validate(issue) for issue in issues),
                folders=tuple(None if one is None else Folder.model_validate(one) for one in folders),
                owners_default=answer.defaults.object if answer.defaults else None,
            ),
            "/graphql",
        )
