"""The open pull requests of many repositories of an installation, in few requests.

Does not read changes and decides nothing. Invariant: one request for each hundred repositories, one for each twenty of those, and
one more for each further hundred open pull requests of a repository; all of them wait while pull requests need what is left.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from worker.adapters.github.client import ApiCall, GitHubAccess, GitHubApi
from worker.adapters.github.listing import ListedPullResponse, ListedPullsResponse, to_open_pull
from worker.adapters.github.queries import ACTOR_FRAGMENT
from worker.adapters.github.rate_limits import RequestPriority
from worker.adapters.github.responses import NodeConnection, RestResponse
from worker.domain.ids import InstallationId, RepositoryId
from worker.domain.request.open_pulls import OpenRepository, Repository

REPOSITORIES_PER_PAGE: Final = 100
REPOSITORIES_PER_QUERY: Final = 20
FIRST_PULLS: Final = 50
PULLS_FRAGMENT: Final = """
fragment pulls on PullRequestConnection {
  nodes { number createdAt isDraft baseRefName headRefName headRefOid author { ...who } }
  pageInfo { hasNextPage endCursor }
}
"""


class RepositoryResponse(RestResponse):
    id: int
    full_name: str
    archived: bool = False
    disabled: bool = False
    open_issues_count: int = 1
    """GitHub counts open pull requests among these: none means that there is none of either."""


class RepositoriesPage(RestResponse):
    total_count: int = 0
    repositories: tuple[RepositoryResponse, ...] = ()


RepositoryCursor = tuple[Repository, str | None]
"""Of which repository, and after which of its pull requests."""


class GitHubRepositories:
    """The look of the live App. Raises as PullSource does."""

    def __init__(self, access: GitHubAccess) -> None:
        self._access = access

    def list_page(self, installation: InstallationId, number: int) -> tuple[tuple[Repository, ...], bool]:
        """One page of its repositories that are in use, and whether there are more pages."""
        params: dict[str, str | int] = {"per_page": REPOSITORIES_PER_PAGE, "page": number}
        call = ApiCall(
            "GET", "/installation/repositories", params, is_repeatable=True, need=RequestPriority.SWEEP, is_polled=True
        )
        page = self._access.api(installation).fetch(call, RepositoriesPage)
        used = tuple(
            Repository(RepositoryId(repository.id), repository.full_name, is_busy=repository.open_issues_count > 0)
            for repository in page.repositories
            if not repository.archived and not repository.disabled
        )
        return used, page.total_count > number * REPOSITORIES_PER_PAGE

    def list_open(self, installation: InstallationId, repositories: Sequence[Repository]) -> Iterator[OpenRepository]:
        """Their open pull requests."""
        api = self._access.api(installation)
        for start in range(0, len(repositories), REPOSITORIES_PER_QUERY):
            yield from self._some(api, repositories[start : start + REPOSITORIES_PER_QUERY])

    def _some(self, api: GitHubApi, repositories: Sequence[Repository]) -> Iterator[OpenRepository]:
        answers = self._ask(api, [(repository, None) for repository in repositories])
        for repository, first in zip(repositories, answers, strict=True):
            pulls, connection = [to_open_pull(pull) for pull in first.visible_nodes], first
            while connection.page_info.has_next_page and (cursor := connection.page_info.end_cursor):
                [connection] = self._ask(api, [(repository, cursor)], 100)
                pulls += [to_open_pull(pull) for pull in connection.visible_nodes]
            yield OpenRepository(repository, tuple(pulls))

    def _ask(
        self, api: GitHubApi, wanted: Sequence[RepositoryCursor], first: int = FIRST_PULLS
    ) -> list[NodeConnection[ListedPullResponse]]:
        """The connections in the order of the repositories; one that is gone meanwhile has none."""
        parameters, fields = ["$first: Int!"], list[str]()
        variables: dict[str, object] = {"first": first}
        for at, (repository, cursor) in enumerate(wanted):
            owner, _, name = repository.name.partition("/")
            variables |= {f"owner_{at}": owner, f"name_{at}": name, f"after_{at}": cursor}
            parameters += [f"$owner_{at}: String!", f"$name_{at}: String!", f"$after_{at}: String"]
            fields.append(
                f"repository_{at}: repository(owner: $owner_{at}, name: $name_{at}) {{ pullRequests(first: $first, "
                f"after: $after_{at}, states: [OPEN]) {{ ...pulls }} }}"
            )
        document = (
            f"query AssayRepositories({', '.join(parameters)}) {{ {' '.join(fields)} }}{PULLS_FRAGMENT}{ACTOR_FRAGMENT}"
        )
        answer = api.query(document, variables, RepositoriesQueryResponse, RequestPriority.SWEEP).model_extra or {}
        empty = ListedPullsResponse.model_validate({"pullRequests": {}})
        named = [answer.get(f"repository_{at}") for at in range(len(wanted))]
        return [(ListedPullsResponse.model_validate(listed) if listed else empty).pull_requests for listed in named]


class RepositoriesQueryResponse(RestResponse):
    """One field for each alias."""

    model_config = {"extra": "allow"}  # noqa: RUF012 - pydantic's own way
