"""The App's installations, their repositories and open pull requests, and the deliveries of its webhook."""

import logging
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final
from urllib.parse import unquote

from pydantic import AliasPath, Field

from worker.adapters.github.checks import required_checks
from worker.adapters.github.client import ApiCall, GitHubApi, GitHubPart, name_variables
from worker.adapters.github.errors_and_rate_limits import GitHubBadRequest, RequestPriority
from worker.adapters.github.pull_request_query import (
    ACTOR_FRAGMENT,
    BLOB_FRAGMENT,
    OWNERS_DEFAULT_FIELD,
    REQUIRED_FRAGMENT,
)
from worker.adapters.github.pull_request_texts import config_texts, may_have_default
from worker.adapters.github.pull_requests import login_of, to_commits
from worker.adapters.github.responses import (
    DEFAULTS_ALIAS,
    ActorResponse,
    BlobResponse,
    GraphResponse,
    NodeConnection,
    Page,
    PullCommit,
    PullQueryResponse,
    PullState,
    RepositoriesQueryResponse,
    RestPull,
    RestResponse,
    RuledRefResponse,
)
from worker.domain.check.check_run import CHECK_NAME
from worker.domain.config.config import CONFIG_PATH
from worker.domain.dossier import PullRequest
from worker.domain.github_events import (
    DeliveryAttempt,
    OpenPull,
    OpenRepository,
    PullSnapshot,
    Repository,
)
from worker.domain.judge_request import JudgeRequest
from worker.domain.lifecycle.intake import ShownPull
from worker.domain.model import InstallationId, RepositoryId, RepositoryName, hash_base
from worker.domain.verdict.verdict import AbstainReason
from worker.dossier.authors import classify_account
from worker.errors import Forbidden, SubjectGone

LOG: Final = logging.getLogger(__name__)

MOST_PAGES: Final = 10
"""A thousand installations per run; a sweep continues with the others."""
PER_PAGE: Final = 100


class AccountSummary(RestResponse):
    """A user or an organization has a login, an enterprise a slug."""

    login: str = ""
    slug: str = ""


class InstallationView(RestResponse):
    """One item of `GET /app/installations`."""

    id: int
    account: AccountSummary | None = None
    html_url: str = ""
    permissions: dict[str, str] = Field(default_factory=dict[str, str])
    created_at: datetime
    suspended_at: datetime | None = None


def list_installations(api: GitHubApi) -> Iterator[InstallationView]:
    """The first MOST_PAGES pages of installations, read as the App itself. Raises as PullSource does."""
    for page, _ in list_installation_pages(api, 1):
        yield from page


def list_installation_pages(api: GitHubApi, first: int) -> Iterator[tuple[tuple[InstallationView, ...], int]]:
    """Pages from *first* on, each with the number of the next: 1 after the last. Raises as PullSource does."""
    for number in range(first, first + MOST_PAGES):
        page = api.get("/app/installations", Page[InstallationView], per_page=PER_PAGE, page=number).root
        is_last = len(page) < PER_PAGE
        yield page, 1 if is_last else number + 1
        if is_last:
            return


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
    """GitHub includes open pull requests: 0 means that there are none."""


class RepositoriesPage(RestResponse):
    total_count: int = 0
    repositories: tuple[RepositoryResponse, ...] = ()


RepositoryCursor = tuple[Repository, str | None]
"""A repository, and the cursor into its pull requests."""


MOST_LISTING_PAGES: Final = 30
"""3,000 open pull requests of one repository."""

AUTHOR_QUERY: Final = """
query AssayAuthor($owner: String!, $name: String!, $number: Int!, $place: String!) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      state isDraft body headRefName headRefOid
      author { ...who }
      commits(last: 100) { nodes { commit { oid message author { name user { login } } } } }
      baseRef { ...required target { ... on Commit { file(path: $place) { object { ...blob } } } } }
    }
  }
"""

OPEN_PULLS_QUERY: Final = (
    """
query AssayOpen($owner: String!, $name: String!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequests(first: 100, after: $after, states: [OPEN], orderBy: { field: CREATED_AT, direction: DESC }) {
      nodes { number createdAt isDraft baseRefName headRefName headRefOid author { ...who } }
      pageInfo { hasNextPage endCursor }
    }
  }
}
"""
    + ACTOR_FRAGMENT
)


class ConfigBaseResponse(RuledRefResponse):
    config: BlobResponse | None = Field(default=None, validation_alias=AliasPath("target", "file", "object"))


class AuthoredPullResponse(PullState):
    is_draft: bool
    body: str
    head_ref_name: str
    author: ActorResponse | None = None
    commits: NodeConnection[PullCommit]
    base_ref: ConfigBaseResponse | None = None


class AuthorQueryResponse(PullQueryResponse[AuthoredPullResponse]):
    owners_default: BlobResponse | None = Field(default=None, validation_alias=AliasPath(DEFAULTS_ALIAS, "object"))


class ListedPullResponse(GraphResponse):
    number: int
    created_at: datetime
    is_draft: bool
    base_ref_name: str
    head_ref_name: str
    head_ref_oid: str
    author: ActorResponse | None = None


class ListedPullsResponse(GraphResponse):
    pull_requests: NodeConnection[ListedPullResponse]


class OpenPullsQueryResponse(GraphResponse):
    pull_requests: NodeConnection[ListedPullResponse] = Field(validation_alias=AliasPath("repository", "pullRequests"))


class GitHubRepositories(GitHubPart):
    """The repositories of the live App. Raises as PullSource does."""

    def list_page(self, installation: InstallationId, number: int) -> tuple[tuple[Repository, ...], bool]:
        """One page of the repositories in use, and whether there are more pages."""
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
        """The connections in the order of the repositories; a removed repository has none."""
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


MOST_DELIVERY_PAGES: Final = 40
"""Read every five minutes: 480 of the 5,000 requests that an App has in an hour, for 13 deliveries a second."""
NEXT_CURSOR: Final = re.compile(r'<[^>]*[?&]cursor=([^&>]+)[^>]*>; *rel="next"')


class AppDeliveryResponse(RestResponse):
    id: int
    guid: str
    delivered_at: datetime
    status_code: int = 0
    redelivery: bool = False


class GitHubDeliveries:
    """The Deliveries port. Raises as PullSource does."""

    def __init__(self, api: GitHubApi) -> None:
        self._api = api

    def list_since(self, since: datetime, cursor: str | None) -> tuple[list[DeliveryAttempt], str | None]:
        """Attempts since then, up to MOST_DELIVERY_PAGES pages, and the next cursor. An expired cursor restarts at the newest."""
        attempts: list[DeliveryAttempt] = []
        for _ in range(MOST_DELIVERY_PAGES):
            page, following = self._page(cursor)
            attempts += [
                DeliveryAttempt(
                    id=delivery.id,
                    guid=delivery.guid,
                    at=delivery.delivered_at,
                    status_code=delivery.status_code,
                    is_again=delivery.redelivery,
                )
                for delivery in page
                if delivery.delivered_at >= since
            ]
            if following is None or not page or page[-1].delivered_at < since:
                return attempts, None
            cursor = following
        return attempts, cursor

    def _page(self, cursor: str | None) -> tuple[tuple[AppDeliveryResponse, ...], str | None]:
        params: dict[str, str | int] = {"per_page": PER_PAGE} | ({"cursor": cursor} if cursor else {})
        call = ApiCall("GET", "/app/hook/deliveries", params, is_repeatable=True)
        try:
            page, headers = self._api.fetch_with_headers(call, Page[AppDeliveryResponse])
        except (GitHubBadRequest, SubjectGone):
            if cursor is None:
                raise
            return self._page(None)
        following = NEXT_CURSOR.search(headers.get("link", ""))
        return page.root, unquote(following[1]) if following else None

    def redeliver(self, sent: DeliveryAttempt) -> bool:
        """Redeliver; False: GitHub can't redeliver this attempt."""
        try:
            self._api.headers(ApiCall("POST", f"/app/hook/deliveries/{sent.id}/attempts"))
        except (Forbidden, SubjectGone, GitHubBadRequest) as refused:  # too old, or not listed
            LOG.warning("redelivery refused: %s", refused, extra={"delivery_id": sent.guid})
            return False
        return True


class GitHubListing(GitHubPart):
    """Lists pull requests and their authors for the live App."""

    def find_author(self, request: JudgeRequest) -> PullSnapshot:
        """Find the author of a pull request. Raises Gone for a closed one, and as PullSource does."""
        from worker.dossier.config import resolve_config  # noqa: PLC0415 - YAML, for those who have a configuration

        document = f"{AUTHOR_QUERY}{OWNERS_DEFAULT_FIELD if may_have_default(request.repository) else ''}}}{ACTOR_FRAGMENT}{BLOB_FRAGMENT}{REQUIRED_FRAGMENT}"
        names = name_variables(request.repository)
        api = self._access.api(request.pull.installation_id)
        answer = api.query(document, names | {"number": request.pull.number, "place": CONFIG_PATH}, AuthorQueryResponse)
        pull = answer.pull_request
        if pull.state != "OPEN":
            raise SubjectGone(pull.state.lower())
        own = pull.base_ref.config if pull.base_ref else None
        config = resolve_config(config_texts(own, answer.owners_default))
        policy = config.config.policy
        return PullSnapshot(
            to_authored_pull_request(pull, request),
            None if config.refused_files else config.config.authors,
            is_required=pull.base_ref is not None and CHECK_NAME in required_checks(pull.base_ref),
            is_passed_unjudged=policy.mode == "observe" or policy.abstains.get(AbstainReason.UNPROVEN) == "neutral",
        )

    def find_shown(self, request: JudgeRequest) -> ShownPull:
        """The pull request as GitHub shows it now. Raises SubjectGone for a closed one, and as PullSource does."""
        path = f"/repos/{request.repository}/pulls/{request.pull.number}"
        pull = self._access.api(request.pull.installation_id).get(path, RestPull)
        if pull.state != "open":
            raise SubjectGone(pull.state)
        return ShownPull(pull.head_sha, hash_base(pull.base_ref), draft=pull.draft)

    def open_pulls(self, installation: InstallationId, repository: RepositoryName) -> Iterator[OpenPull]:
        """Open pull requests of a repository, newest first. Raises as PullSource does."""
        api = self._access.api(installation)
        cursor: str | None = None
        for _ in range(MOST_LISTING_PAGES):
            variables = name_variables(repository) | {"after": cursor}
            page = api.query(OPEN_PULLS_QUERY, variables, OpenPullsQueryResponse).pull_requests
            yield from map(to_open_pull, page.visible_nodes)
            cursor = page.page_info.end_cursor
            if not page.page_info.has_next_page or cursor is None:
                return


def to_authored_pull_request(pull: AuthoredPullResponse, request: JudgeRequest) -> PullRequest:
    """A pull request with the fields that identify its author."""
    return PullRequest(
        repository=request.repository,
        number=request.pull.number,
        title="",
        body=pull.body,
        author=login_of(pull.author),
        base_sha=pull.head_ref_oid,
        head_ref=pull.head_ref_name,
        head_sha=pull.head_ref_oid,
        draft=pull.is_draft,
        commits=tuple(to_commits(pull.commits)),
    )


def to_open_pull(pull: ListedPullResponse) -> OpenPull:
    author, kind = login_of(pull.author), pull.author.kind if pull.author else ""
    return OpenPull(
        number=pull.number,
        head_sha=pull.head_ref_oid,
        opened_at=pull.created_at,
        draft=pull.is_draft,
        author=classify_account(author, kind, pull.head_ref_name),
        base=hash_base(pull.base_ref_name),
    )
