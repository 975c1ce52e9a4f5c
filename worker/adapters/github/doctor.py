"""Facts for `assay doctor` and setup: the App's keys and installations, branch protection, ids of a repository.

`examine_app` returns every problem as a value and never raises.
"""

from collections.abc import Collection, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final
from urllib.parse import quote

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from pydantic import AliasPath, Field, SecretStr

from worker.adapters.github.client import ApiCall, GitHubApi, ask_as_app, key_api, name_variables, token_access
from worker.adapters.github.installations import AccountSummary, InstallationView, list_installations
from worker.adapters.github.responses import AppView, BlobResponse, Page, RestResponse
from worker.domain.check.check_run import CHECK_NAME
from worker.domain.codeowners import CODEOWNERS_PATHS, parse_rules
from worker.domain.config.config import CONFIG_PATH
from worker.domain.config.github_app import AppInstallation, RepositoryProtection, Requirement, select_events
from worker.domain.dossier import ConfigOrigin, ConfigText
from worker.domain.model import InstallationId, RepositoryId, RepositoryName
from worker.domain.ports import Clock
from worker.dossier.config import resolve_config
from worker.errors import AssayError, SubjectGone, Unavailable
from worker.settings import AppCredentials, Settings

SAME_APP_HINT: Final = "ASSAY_APP_ID and the key have to be of one App"


@dataclass(frozen=True, slots=True)
class AppKeyReport:
    """One private key; `problem` None: GitHub takes it for this App's."""

    position: int
    problem: str | None


@dataclass(frozen=True, slots=True)
class AppReport:
    """Results of the examination. `app` and its dependents are None or empty if no key was accepted."""

    keys: tuple[AppKeyReport, ...]
    app: AppView | None
    missing_events: tuple[str, ...]
    clock_skew: timedelta | None
    """Lead of this machine's clock over GitHub's; None if GitHub did not answer."""
    installations: tuple[AppInstallation, ...] = ()


def examine_app(settings: Settings, clock: Clock, subscribed: Iterable[str]) -> AppReport:
    """Ask GitHub with each key who the App is and where it is installed. *subscribed*: events that the App needs."""
    app = settings.require_app()
    answers = [check_key(settings, app, key, clock) for key in app.private_keys]
    keys = tuple(AppKeyReport(position, answer.problem) for position, answer in enumerate(answers, start=1))
    view = next((answer.app for answer in answers if answer.app), None)
    return AppReport(
        keys=keys,
        app=view,
        missing_events=tuple(sorted(set(select_events(subscribed, view.permissions)) - set(view.events)))
        if view
        else (),
        clock_skew=next((answer.skew for answer in answers if answer.skew is not None), None),
        installations=next((answer.installations for answer in answers if answer.app), ()),
    )


@dataclass(frozen=True, slots=True)
class KeyCheckResult:
    """GitHub's answer to one key."""

    app: AppView | None
    problem: str | None
    skew: timedelta | None
    installations: tuple[AppInstallation, ...] = ()


def check_key(settings: Settings, app: AppCredentials, key: SecretStr, clock: Clock) -> KeyCheckResult:
    if problem := key_problem(key):
        return KeyCheckResult(None, problem, None)
    try:
        with key_api(settings, app, key, clock) as api:
            view = api.get("/app", AppView)
            installed = tuple(map(of_installation, list_installations(api)))
            skew = clock_skew(api.headers(ApiCall("GET", "/app", is_repeatable=True)).get("date"), clock.now())
    except Unavailable as error:
        return KeyCheckResult(None, f"{error}. Check the network and ASSAY_GITHUB_API_URL", None)
    except AssayError as error:
        return KeyCheckResult(None, f"{str(error).rstrip('.')}. {SAME_APP_HINT}", None)
    if view.id != app.app_id:
        return KeyCheckResult(
            None, f"the key belongs to the App {view.id} ({view.slug}), not to {app.app_id}. {SAME_APP_HINT}", skew
        )
    return KeyCheckResult(view, None, skew, installed)


def of_installation(view: InstallationView) -> AppInstallation:
    account = view.account or AccountSummary()
    name = account.login or account.slug or "a deleted account"
    return AppInstallation(view.id, name, view.permissions, view.html_url, view.suspended_at is not None)


def key_problem(key: SecretStr) -> str | None:
    """Why this text can't be an App's private key; None if it can."""
    try:
        loaded = load_pem_private_key(key.get_secret_value().encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return "the PEM text can't be parsed: it is cut or damaged. Copy the whole file again"
    return None if isinstance(loaded, RSAPrivateKey) else "it is not an RSA key, so not one that GitHub made"


def clock_skew(date: str | None, now: datetime) -> timedelta | None:
    """Lead of our clock over an answer's Date header, to the second."""
    try:
        return None if date is None else now - parsedate_to_datetime(date).astimezone(UTC)
    except ValueError:
        return None


QUEUE_QUERY: Final = """
query AssayQueue($owner: String!, $name: String!, $branch: String!) {
  repository(owner: $owner, name: $name) { mergeQueue(branch: $branch) { id } }
}
"""

READ_FILES: Final = (*CODEOWNERS_PATHS, CONFIG_PATH)
"""The files with the code owners and with the configuration."""

OWNERS_QUERY: Final = f"""
query AssayOwners($owner: String!, $name: String!, {", ".join(f"$place_{at}: String!" for at in range(len(READ_FILES)))}) {{
  repository(owner: $owner, name: $name) {{
    {" ".join(f"place_{at}: object(expression: $place_{at}) {{ ... on Blob {{ text }} }}" for at in range(len(READ_FILES)))}
  }}
}}
"""


class RequiredCheckResponse(RestResponse):
    """`app_id` of branch protection, `integration_id` of a ruleset; None: any source satisfies it."""

    context: str
    app_id: int | None = None
    integration_id: int | None = None


class RequiredChecksResponse(RestResponse):
    checks: tuple[RequiredCheckResponse, ...] = ()
    contexts: tuple[str, ...] = ()


class ProtectedBranchResponse(RestResponse):
    required_status_checks: RequiredChecksResponse | None = Field(
        default=None, validation_alias=AliasPath("protection", "required_status_checks")
    )


class RulesetRuleResponse(RestResponse):
    type: str
    required_status_checks: tuple[RequiredCheckResponse, ...] = Field(
        default=(), validation_alias=AliasPath("parameters", "required_status_checks")
    )


class RepositoryDetails(RestResponse):
    id: int
    default_branch: str


class MergeQueueAnswer(RestResponse):
    queue: dict[str, str] | None = Field(validation_alias=AliasPath("repository", "mergeQueue"))


class OwnersResponse(RestResponse):
    """One field for each file that is read."""

    repository: dict[str, BlobResponse | None]


def read_branch_protection(settings: Settings, clock: Clock, repository: RepositoryName) -> RepositoryProtection:
    """Read a repository's protection as the App. Raises AssayError for required answers."""

    def read(api: GitHubApi) -> RepositoryProtection:
        installation = find_installation(api, repository)
        if installation is None:
            return RepositoryProtection(repository)
        permissions = ("metadata", "contents", "merge_queues")
        with repository_api(settings, clock, api, (installation, repository), permissions) as there:
            branch = there.get(f"/repos/{repository}", RepositoryDetails).default_branch
            rules = _rules(there, repository, branch)
            *owning, config = _texts(there, repository, branch)
            codeowners = parse_rules(next((text for text in owning if text is not None), ""))
            owners = (owner for rule in codeowners for owner in rule.owners)
            return RepositoryProtection(
                repository,
                of_installation(installation),
                branch,
                (*_protection_requirements(there, repository, branch), *_ruleset_requirements(rules)),
                any(rule.type == "merge_queue" for rule in rules) or _has_queue(there, repository, branch),
                tuple(dict.fromkeys(owner.name for owner in owners if owner.team is not None)),
                resolve_config([ConfigText(origin=ConfigOrigin.REPOSITORY, text=config or "")]).config.authors,
            )

    return ask_as_app(settings, clock, read)


def _protection_requirements(api: GitHubApi, repository: RepositoryName, branch: str) -> Iterator[Requirement]:
    """Requirements of branch protection, as far as GitHub shows them with read access to contents."""
    path = f"/repos/{repository}/branches/{quote(branch, safe='')}"
    required = api.get(path, ProtectedBranchResponse).required_status_checks or RequiredChecksResponse()
    named = (RequiredCheckResponse(context=context) for context in required.contexts)
    for check in required.checks or named:
        if check.context == CHECK_NAME:
            yield Requirement("branch protection", _pinned_app(check.app_id))


def _rules(api: GitHubApi, repository: RepositoryName, branch: str) -> tuple[RulesetRuleResponse, ...]:
    """Active rules of the repository's and its organization's rulesets. An old Enterprise Server has none."""
    try:
        path = f"/repos/{repository}/rules/branches/{quote(branch, safe='')}"
        return api.get(path, Page[RulesetRuleResponse], per_page=100).root
    except SubjectGone:
        return ()


def _ruleset_requirements(rules: tuple[RulesetRuleResponse, ...]) -> Iterator[Requirement]:
    for rule in rules:
        for check in rule.required_status_checks if rule.type == "required_status_checks" else ():
            if check.context == CHECK_NAME:
                yield Requirement("a ruleset", _pinned_app(check.integration_id))


def _has_queue(api: GitHubApi, repository: RepositoryName, branch: str) -> bool | None:
    """Whether branch protection requires a merge queue, which rulesets don't list. None: not visible."""
    try:
        return (
            api.query(QUEUE_QUERY, name_variables(repository) | {"branch": branch}, MergeQueueAnswer).queue is not None
        )
    except AssayError:
        return None


def _texts(api: GitHubApi, repository: RepositoryName, branch: str) -> list[str | None]:
    """Text of each file; None: missing or not visible."""
    places = {f"place_{at}": f"{branch}:{path}" for at, path in enumerate(READ_FILES)}
    try:
        files = api.query(OWNERS_QUERY, name_variables(repository) | places, OwnersResponse).repository
    except AssayError:
        return [None for _ in READ_FILES]
    blobs = [files.get(alias) for alias in places]
    return [None if blob is None else blob.text for blob in blobs]


def _pinned_app(app_id: int | None) -> int | None:
    """Id of the required App; branch protection has -1 or nothing if any source satisfies it."""
    return app_id if app_id is not None and app_id > 0 else None


class TokenResponse(RestResponse):
    token: SecretStr


@dataclass(frozen=True)
class RepositoryNumbers:
    """Ids of a repository and its installation."""

    installation: InstallationId
    repository: RepositoryId


def find_installation(api: GitHubApi, repository: RepositoryName) -> InstallationView | None:
    """Find the installation of a repository. None: not installed there, or no such repository."""
    try:
        return api.get(f"/repos/{repository}/installation", InstallationView)
    except SubjectGone:
        return None


@contextmanager
def repository_api(
    settings: Settings,
    clock: Clock,
    api: GitHubApi,
    named: tuple[InstallationView, RepositoryName],
    may: Collection[str],
) -> Generator[GitHubApi]:
    """The repository's API with a token limited to the permissions in *may*."""
    given_name, repository = named
    permissions = {name: "read" for name in may if name in given_name.permissions}
    body = {"repositories": [repository.partition("/")[2]], "permissions": permissions}
    made = api.fetch(ApiCall("POST", f"/app/installations/{given_name.id}/access_tokens", body=body), TokenResponse)
    with token_access(replace(settings, github_token=made.token), clock) as access:
        yield access.api(InstallationId(given_name.id))


def find_numbers(settings: Settings, clock: Clock, repository: RepositoryName) -> RepositoryNumbers | None:
    """Find a repository's ids. None: the App does not see it. Raises AssayError."""

    def read(api: GitHubApi) -> RepositoryNumbers | None:
        installation = find_installation(api, repository)
        if installation is None:
            return None
        with repository_api(settings, clock, api, (installation, repository), ("metadata",)) as there:
            answer = there.get(f"/repos/{repository}", RepositoryDetails)
        return RepositoryNumbers(InstallationId(installation.id), RepositoryId(answer.id))

    return ask_as_app(settings, clock, read)


WEEK: Final = timedelta(days=7)
PER_PAGE: Final = 100
MOST_PAGES: Final = 3


class OpenedPullResponse(RestResponse):
    created_at: datetime


def count_opened_this_week(settings: Settings, clock: Clock, repository: RepositoryName) -> int:
    """Count with GITHUB_TOKEN, or anonymously. Raises as a PullSource does."""
    order: dict[str, str | int] = {"state": "all", "sort": "created", "direction": "desc", "per_page": PER_PAGE}
    since, count = clock.now() - WEEK, 0
    with token_access(settings, clock) as access:
        api = access.api(InstallationId(0))
        for number in range(1, MOST_PAGES + 1):
            page = api.get(f"/repos/{repository}/pulls", Page[OpenedPullResponse], **order, page=number).root
            count += sum(pull.created_at >= since for pull in page)
            if len(page) < PER_PAGE:
                break
    return count
