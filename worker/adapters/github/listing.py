"""Who opened a pull request, and which ones are open: the two looks that are not for judging.

Does not read changes and decides nothing. Invariant: one request for one pull request, one for each hundred of a repository,
and never more than MOST_PAGES of them; untrusted names travel as variables.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from worker.adapters.github.ci_checks import required_checks
from worker.adapters.github.client import GitHubAccess
from worker.adapters.github.configs import config_texts, may_have_default
from worker.adapters.github.pull_requests import login_of, to_commits
from worker.adapters.github.queries import ACTOR_FRAGMENT, BLOB_FRAGMENT, OWNERS_DEFAULT_FIELD, REQUIRED_FRAGMENT
from worker.adapters.github.responses import (
    ActorResponse,
    BlobResponse,
    GraphResponse,
    NodeConnection,
    PullCommit,
    PullState,
    RepositoryPullResponse,
    RuledRefResponse,
)
from worker.domain.check.check_run import CHECK_NAME
from worker.domain.config.config_path import CONFIG_PATH
from worker.domain.dossier.dossier import PullRequest
from worker.domain.ids import InstallationId, RepositoryName, hash_base
from worker.domain.request.judge_request import JudgeRequest
from worker.domain.request.open_pulls import OpenPull, PullSnapshot
from worker.domain.verdict.verdict import AbstainReason
from worker.dossier.eligibility import classify_account
from worker.errors import SubjectGone

MOST_PAGES: Final = 30
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


class ConfigEntryResponse(GraphResponse):
    object: BlobResponse | None = None


class ConfigTipResponse(GraphResponse):
    file: ConfigEntryResponse | None = None


class ConfigBaseResponse(RuledRefResponse):
    target: ConfigTipResponse | None = None


class AuthoredPullResponse(PullState):
    is_draft: bool
    body: str
    head_ref_name: str
    author: ActorResponse | None = None
    commits: NodeConnection[PullCommit]
    base_ref: ConfigBaseResponse | None = None


class OwnersDefaultResponse(GraphResponse):
    object: BlobResponse | None = None


class AuthorQueryResponse(GraphResponse):
    repository: RepositoryPullResponse[AuthoredPullResponse]
    defaults: OwnersDefaultResponse | None = None


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
    repository: ListedPullsResponse


class GitHubListing:
    """The looks of the live App."""

    def __init__(self, access: GitHubAccess) -> None:
        self._access = access

    def find_author(self, request: JudgeRequest) -> PullSnapshot:
        """Who wrote it. Raises Gone where it is closed, and as PullSource does."""
        from worker.dossier.config_file import resolve_config  # noqa: PLC0415 - YAML, for those who have a configuration

        owner, _, name = request.repository.partition("/")
        document = f"{AUTHOR_QUERY}{OWNERS_DEFAULT_FIELD if may_have_default(request.repository) else ''}}}{ACTOR_FRAGMENT}{BLOB_FRAGMENT}{REQUIRED_FRAGMENT}"
        variables = {"owner": owner, "name": name, "number": request.pull.number, "place": CONFIG_PATH}
        api = self._access.api(request.pull.installation_id)
        answer = api.query(document, variables, AuthorQueryResponse)
        pull = answer.repository.pull_request
        if pull.state != "OPEN":
            raise SubjectGone(pull.state.lower())
        tip = pull.base_ref.target if pull.base_ref else None
        own = tip.file.object if tip and tip.file else None
        config = resolve_config(config_texts(own, answer.defaults.object if answer.defaults else None))
        policy = config.config.policy
        return PullSnapshot(
            to_authored_pull_request(pull, request),
            None if config.refused_files else config.config.authors,
            is_required=pull.base_ref is not None and CHECK_NAME in required_checks(pull.base_ref),
            is_passed_unjudged=policy.mode == "observe" or policy.abstains.get(AbstainReason.UNPROVEN) == "neutral",
        )

    def open_pulls(self, installation: InstallationId, repository: RepositoryName) -> Iterator[OpenPull]:
        """The open pull requests of a repository, the newest first. Raises as PullSource does."""
        owner, _, name = repository.partition("/")
        api = self._access.api(installation)
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            variables: dict[str, object] = {"owner": owner, "name": name, "after": cursor}
            page = api.query(OPEN_PULLS_QUERY, variables, OpenPullsQueryResponse).repository.pull_requests
            yield from map(to_open_pull, page.visible_nodes)
            cursor = page.page_info.end_cursor
            if not page.page_info.has_next_page or cursor is None:
                return


def to_authored_pull_request(pull: AuthoredPullResponse, request: JudgeRequest) -> PullRequest:
    """As much of it as tells who wrote it."""
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
