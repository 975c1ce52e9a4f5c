"""What has to be so for a repository's merges to wait for our check: read for `assay doctor --repo`.

Does not change anything and has no words for people (`worker.publishing.texts.gate` does). Invariant: asks with the least token that can
answer, which names the one repository; what GitHub does not tell is None, never a guess.
"""

from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

from pydantic import RootModel

from worker.adapters.github.client import GitHubApi
from worker.adapters.github.doctor import of_installation
from worker.adapters.github.one_repository import ask_as_app, find_installation, repository_api
from worker.adapters.github.responses import BlobResponse, RestResponse
from worker.domain.check.branch_protection import RepositoryProtection, Requirement
from worker.domain.check.check_run import CHECK_NAME
from worker.domain.codeowners import CODEOWNERS_PATHS, parse_rules
from worker.domain.config.config_path import CONFIG_PATH
from worker.domain.dossier.dossier import ConfigOrigin, ConfigText
from worker.domain.ids import RepositoryName
from worker.domain.ports import Clock
from worker.dossier.config_file import resolve_config
from worker.errors import AssayError, SubjectGone
from worker.settings import Settings

QUEUE_QUERY: Final = """
query AssayQueue($owner: String!, $name: String!, $branch: String!) {
  repository(owner: $owner, name: $name) { mergeQueue(branch: $branch) { id } }
}
"""

READ_FILES: Final = (*CODEOWNERS_PATHS, CONFIG_PATH)
"""The files that say who owns what, and whose pull requests are judged."""

OWNERS_QUERY: Final = f"""
query AssayOwners($owner: String!, $name: String!, {", ".join(f"$place_{at}: String!" for at in range(len(READ_FILES)))}) {{
  repository(owner: $owner, name: $name) {{
    {" ".join(f"place_{at}: object(expression: $place_{at}) {{ ... on Blob {{ text }} }}" for at in range(len(READ_FILES)))}
  }}
}}
"""


class RequiredCheckResponse(RestResponse):
    """`app_id` of branch protection, `integration_id` of a ruleset; none: any source will do."""

    context: str
    app_id: int | None = None
    integration_id: int | None = None


class RequiredChecksResponse(RestResponse):
    checks: tuple[RequiredCheckResponse, ...] = ()
    contexts: tuple[str, ...] = ()


class ProtectionResponse(RestResponse):
    required_status_checks: RequiredChecksResponse | None = None


class ProtectedBranchResponse(RestResponse):
    protection: ProtectionResponse = ProtectionResponse()


class RuleParametersResponse(RestResponse):
    required_status_checks: tuple[RequiredCheckResponse, ...] = ()


class RulesetRuleResponse(RestResponse):
    type: str
    parameters: RuleParametersResponse = RuleParametersResponse()


class RulesetRulesPage(RootModel[tuple[RulesetRuleResponse, ...]]):
    pass


class DefaultBranchResponse(RestResponse):
    default_branch: str


class MergeQueueResponse(RestResponse):
    id: str


class QueuedRepositoryNode(RestResponse):
    mergeQueue: MergeQueueResponse | None = None  # noqa: N815 - GraphQL's name


class MergeQueueAnswer(RestResponse):
    repository: QueuedRepositoryNode


class OwnersResponse(RestResponse):
    """One field for each file that is read."""

    repository: dict[str, BlobResponse | None]


def read_branch_protection(settings: Settings, clock: Clock, repository: RepositoryName) -> RepositoryProtection:
    """Ask GitHub as the App. Raises AssayError for what it can't do without."""
    return ask_as_app(settings, clock, lambda api: _read_branch_protection(settings, clock, repository, api))


def _read_branch_protection(
    settings: Settings, clock: Clock, repository: RepositoryName, api: GitHubApi
) -> RepositoryProtection:
    installation = find_installation(api, repository)
    if installation is None:
        return RepositoryProtection(repository)
    with repository_api(
        settings, clock, api, (installation, repository), ("metadata", "contents", "merge_queues")
    ) as there:
        branch = there.get(f"/repos/{repository}", DefaultBranchResponse).default_branch
        rules = _rules(there, repository, branch)
        required = (*_protection_requirements(there, repository, branch), *_ruleset_requirements(rules))
        is_queued = any(rule.type == "merge_queue" for rule in rules) or _has_queue(there, repository, branch)
        *owning, config = _texts(there, repository, branch)
        return RepositoryProtection(
            repository,
            of_installation(installation),
            branch,
            required,
            is_queued,
            _teams(next((text for text in owning if text is not None), "")),
            resolve_config([ConfigText(origin=ConfigOrigin.REPOSITORY, text=config or "")]).config.authors,
        )


def _protection_requirements(api: GitHubApi, repository: RepositoryName, branch: str) -> Iterator[Requirement]:
    """Branch protection, of which GitHub shows this much to whoever may read the contents."""
    branch_checks = api.get(
        f"/repos/{repository}/branches/{quote(branch, safe='')}", ProtectedBranchResponse
    ).protection.required_status_checks
    if branch_checks is None:
        return
    checks = branch_checks.checks or tuple(RequiredCheckResponse(context=context) for context in branch_checks.contexts)
    yield from (
        Requirement("branch protection", _pinned_app(check.app_id)) for check in checks if check.context == CHECK_NAME
    )


def _rules(api: GitHubApi, repository: RepositoryName, branch: str) -> tuple[RulesetRuleResponse, ...]:
    """The rules in force, of the repository's rulesets and its organization's. An old Enterprise Server has none."""
    try:
        return api.get(
            f"/repos/{repository}/rules/branches/{quote(branch, safe='')}", RulesetRulesPage, per_page=100
        ).root
    except SubjectGone:
        return ()


def _ruleset_requirements(rules: tuple[RulesetRuleResponse, ...]) -> Iterator[Requirement]:
    for rule in rules:
        for check in rule.parameters.required_status_checks if rule.type == "required_status_checks" else ():
            if check.context == CHECK_NAME:
                yield Requirement("a ruleset", _pinned_app(check.integration_id))


def _has_queue(api: GitHubApi, repository: RepositoryName, branch: str) -> bool | None:
    """A queue that branch protection asks for, which no ruleset tells. None: we may not see it."""
    owner, _, name = repository.partition("/")
    try:
        answer = api.query(QUEUE_QUERY, {"owner": owner, "name": name, "branch": branch}, MergeQueueAnswer)
    except AssayError:
        return None
    return answer.repository.mergeQueue is not None


def _texts(api: GitHubApi, repository: RepositoryName, branch: str) -> list[str | None]:
    """What stands in each of the files that are read; None: it is not there, or we may not see it."""
    owner, _, name = repository.partition("/")
    places = {f"place_{at}": f"{branch}:{path}" for at, path in enumerate(READ_FILES)}
    try:
        repository_files = api.query(OWNERS_QUERY, {"owner": owner, "name": name, **places}, OwnersResponse).repository
    except AssayError:
        return [None for _ in READ_FILES]
    blobs = [repository_files.get(alias) for alias in places]
    return [None if blob is None else blob.text for blob in blobs]


def _teams(owning: str) -> tuple[str, ...]:
    """Teams that CODEOWNERS names."""
    return tuple(
        dict.fromkeys(owner.name for rule in parse_rules(owning) for owner in rule.owners if owner.team is not None)
    )


def _pinned_app(app_id: int | None) -> int | None:
    """Branch protection says -1 as well as nothing where any source will do."""
    return app_id if app_id is not None and app_id > 0 else None
