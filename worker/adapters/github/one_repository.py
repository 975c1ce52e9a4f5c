"""One repository as the App sees it, by a token that opens nothing else: for a person who names it on the command line.

Does not judge. Invariant: asks as the App by the first of its keys that GitHub takes; the token names this one repository, and may
read what it is asked for and no more.
"""

from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from typing import TypeVar

from pydantic import SecretStr

from worker.adapters.github.client import ApiCall, GitHubApi, key_api, token_access
from worker.adapters.github.installations import InstallationView
from worker.adapters.github.responses import RestResponse
from worker.domain.ids import InstallationId, RepositoryId, RepositoryName
from worker.domain.ports import Clock
from worker.domain.value import Value, replace
from worker.errors import AssayError, Forbidden, SubjectGone
from worker.settings import Settings

AnswerT = TypeVar("AnswerT")


class TokenResponse(RestResponse):
    token: SecretStr


class RepositoryIdResponse(RestResponse):
    id: int


class RepositoryNumbers(Value):
    """What GitHub calls a repository, whatever its name."""

    installation: InstallationId
    repository: RepositoryId


def ask_as_app(settings: Settings, clock: Clock, ask: Callable[[GitHubApi], AnswerT]) -> AnswerT:
    """Raises AssayError."""
    app = settings.require_app()
    refusal: AssayError | None = None
    for key in app.private_keys:
        try:
            with key_api(settings, app, key, clock) as api:
                return ask(api)
        except Forbidden as error:
            refusal = error
    raise refusal or Forbidden("there is no key")


def find_installation(api: GitHubApi, repository: RepositoryName) -> InstallationView | None:
    """None: the App is not installed there, or there is no such repository."""
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
    """What may be read there, of *may*, by a token made for that."""
    given_name, repository = named
    permissions = {name: "read" for name in may if name in given_name.permissions}
    body = {"repositories": [repository.partition("/")[2]], "permissions": permissions}
    made = api.fetch(ApiCall("POST", f"/app/installations/{given_name.id}/access_tokens", body=body), TokenResponse)
    with token_access(replace(settings, github_token=made.token), clock) as access:
        yield access.api(InstallationId(given_name.id))


def find_numbers(settings: Settings, clock: Clock, repository: RepositoryName) -> RepositoryNumbers | None:
    """None: the App does not see it. Raises AssayError for what keeps GitHub from saying so."""
    return ask_as_app(settings, clock, lambda api: _find_numbers(settings, clock, repository, api))


def _find_numbers(
    settings: Settings, clock: Clock, repository: RepositoryName, api: GitHubApi
) -> RepositoryNumbers | None:
    installation = find_installation(api, repository)
    if installation is None:
        return None
    with repository_api(settings, clock, api, (installation, repository), ("metadata",)) as there:
        answer = there.get(f"/repos/{repository}", RepositoryIdResponse)
    return RepositoryNumbers(InstallationId(installation.id), RepositoryId(answer.id))
