"""Who opened a pull request, and which ones are open: the two looks that are not for judging.

Does not read changes and decides nothing. Invariant: one request for one pull request, one for each hundred of a repository,
and never more than MOST_PAGES of them; untrusted names travel as variables.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from worker.adapters.github.ci_checks import required_checks
from worker.adapters.github.client import Access
from worker.adapters.github.configs import config_texts, has_default
from worker.adapters.github.pull_requests import commits, login
from worker.adapters.github.queries import BLOB, OWNERS_DEFAULT, REQUIRED, WHO
from worker.adapters.github.responses import (
    Actor,
    Blob,
    GraphReply,
    Nodes,
    OfRepository,
    PullCommit,
    PullState,
    RuledRef,
)
from worker.domain.check.check_run import CHECK_NAME
from worker.domain.config.config_place import PLACE
from worker.domain.dossier.dossier import PullRequest
from worker.domain.ids import InstallationId, RepositoryName, base_mark
from worker.domain.request.judge_request import JudgeRequest
from worker.domain.request.open_pulls import Looked, OpenPull
from worker.domain.verdict.verdict import AbstainReason
from worker.dossier.eligibility import kind_of_account
from worker.errors import Gone

MOST_PAGES: Final = 30
"""3,000 open pull requests of one repository."""

AUTHOR: Final = """
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

OPEN: Final = (
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
    + WHO
)


class ConfigEntry(GraphReply):
    object: Blob | None = None


class ConfigTip(GraphReply):
    file: ConfigEntry | None = None


class ConfigBase(RuledRef):
    target: ConfigTip | None = None


class AuthoredPull(PullState):
    is_draft: bool
    body: str
    head_ref_name: str
    author: Actor | None = None
    commits: Nodes[PullCommit]
    base_ref: ConfigBase | None = None


class OwnersDefault(GraphReply):
    object: Blob | None = None


class FoundAuthor(GraphReply):
    repository: OfRepository[AuthoredPull]
    defaults: OwnersDefault | None = None


class ListedPull(GraphReply):
    number: int
    created_at: datetime
    is_draft: bool
    base_ref_name: str
    head_ref_name: str
    head_ref_oid: str
    author: Actor | None = None


class ListedPulls(GraphReply):
    pull_requests: Nodes[ListedPull]


class FoundPulls(GraphReply):
    repository: ListedPulls


class GitHubListing:
    """The looks of the live App."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def look(self, request: JudgeRequest) -> Looked:
        """Who wrote it. Raises Gone where it is closed, and as PullSource does."""
        from worker.dossier.config_file import configured  # noqa: PLC0415 - YAML, for those who have a configuration

        owner, _, name = request.repository.partition("/")
        document = f"{AUTHOR}{OWNERS_DEFAULT if has_default(request.repository) else ''}}}{WHO}{BLOB}{REQUIRED}"
        variables = {"owner": owner, "name": name, "number": request.pull.number, "place": PLACE}
        api = self._access.api(request.pull.installation_id)
        found = api.query(document, variables, FoundAuthor)
        pull = found.repository.pull_request
        if pull.state != "OPEN":
            raise Gone(pull.state.lower())
        tip = pull.base_ref.target if pull.base_ref else None
        own = tip.file.object if tip and tip.file else None
        said = configured(config_texts(own, found.defaults.object if found.defaults else None))
        policy = said.config.policy
        return Looked(
            pull_request(pull, request),
            None if said.refused else said.config.authors,
            is_required=pull.base_ref is not None and CHECK_NAME in required_checks(pull.base_ref),
            lets_pass=policy.mode == "observe" or policy.abstains.get(AbstainReason.UNPROVEN) == "neutral",
        )

    def open_pulls(self, installation: InstallationId, repository: RepositoryName) -> Iterator[OpenPull]:
        """The open pull requests of a repository, the newest first. Raises as PullSource does."""
        owner, _, name = repository.partition("/")
        api = self._access.api(installation)
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            variables: dict[str, object] = {"owner": owner, "name": name, "after": cursor}
            page = api.query(OPEN, variables, FoundPulls).repository.pull_requests
            yield from map(open_pull, page.seen)
            cursor = page.page_info.end_cursor
            if not page.page_info.has_next_page or cursor is None:
                return


def pull_request(pull: AuthoredPull, request: JudgeRequest) -> PullRequest:
    """As much of it as tells who wrote it."""
    return PullRequest(
        repository=request.repository,
        number=request.pull.number,
        title="",
        body=pull.body,
        author=login(pull.author),
        base_sha=pull.head_ref_oid,
        head_ref=pull.head_ref_name,
        head_sha=pull.head_ref_oid,
        draft=pull.is_draft,
        commits=tuple(commits(pull.commits)),
    )


def open_pull(pull: ListedPull) -> OpenPull:
    author, kind = login(pull.author), pull.author.kind if pull.author else ""
    return OpenPull(
        number=pull.number,
        head_sha=pull.head_ref_oid,
        opened_at=pull.created_at,
        draft=pull.is_draft,
        author=kind_of_account(author, kind, pull.head_ref_name),
        base=base_mark(pull.base_ref_name),
    )
