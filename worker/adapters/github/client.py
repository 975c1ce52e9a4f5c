"""Requests to GitHub: credentials, kept connections, bounded retries and translated errors.

A request that changes something is sent once (twice if GitHub refused the credential, so nothing was done). A
repeatable one is sent at most three times, and only after a broken connection or a 5xx. Nothing sleeps: a rate limit is
raised with its end.
"""

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field, replace
from datetime import timedelta
from threading import Lock
from typing import Any, Final, NoReturn, Protocol, TypeVar

from githubkit import GitHub, Response
from githubkit.auth import AppAuthStrategy, AppInstallationAuthStrategy, TokenAuthStrategy, UnauthAuthStrategy
from githubkit.cache import BaseCache, BaseCacheStrategy, MemCacheStrategy
from githubkit.exception import CacheUnsupportedError, GitHubException, RequestError, RequestFailed
from httpx import HTTPError, Request
from pydantic import BaseModel, SecretStr, ValidationError

from worker.adapters.github.errors_and_rate_limits import (
    GITHUB,
    CredentialRefused,
    RequestBudget,
    RequestPriority,
    SecondaryRateLimited,
    TransientOutage,
    reset_time,
    translate_error,
    translate_graphql_errors,
)
from worker.adapters.github.responses import GraphAnswer
from worker.adapters.redis import keys
from worker.domain.model import InstallationId, RepositoryName
from worker.domain.ports import Clock, Fence, RateLimits, Vault
from worker.errors import AssayError, Forbidden, Outage
from worker.settings import AppCredentials, Settings

ATTEMPTS: Final = 3
MOST_CONNECTIONS: Final = 64
"""Installations whose connection is kept; a dispatcher serves thousands."""

MOST_REMEMBERED: Final = 40
"""Answers kept per installation: a sweep reads 36 pages in the hour that a token lasts."""
NOT_MODIFIED: Final = 304
USER_AGENT: Final = "assay"
DIFF: Final = "application/vnd.github.diff"
APP_REMEDY: Final = "Check ASSAY_APP_ID, ASSAY_APP_PRIVATE_KEY and this machine's clock with `assay doctor`"

Model = TypeVar("Model", bound=BaseModel)
AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One request. `is_repeatable`: sending it twice has the same effect as once.

    `fence` runs right before each sending; its error stops the request. `is_polled`: the answer is kept and revalidated
    with its `etag`.
    """

    method: str
    path: str
    params: Mapping[str, str | int] = field(default_factory=dict[str, str | int])
    body: Mapping[str, object] | None = None
    accept: str | None = None
    is_repeatable: bool = False
    need: RequestPriority = RequestPriority.JUDGING
    fence: Fence | None = None
    is_polled: bool = False
    etag: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        accept = {} if self.accept is None else {"Accept": self.accept}
        return accept if self.etag is None else accept | {"If-None-Match": self.etag}


FENCE: Final[ContextVar[Fence | None]] = ContextVar("fence", default=None)
"""Fence of the request under way, which also covers a token request that it needs first."""


def check_fence(request: Request) -> None:
    """Check the fence right before a request is sent (a hook of httpx)."""
    if (fence := FENCE.get()) is not None and not request.url.path.endswith("/access_tokens"):
        fence()


class SharedTokens(BaseCache):
    """githubkit's cache of credentials, kept in a Vault: an installation's token, under a name that the web also uses."""

    def __init__(self, vault: Vault, installation: InstallationId) -> None:
        self._vault = vault
        self._name = keys.token(installation)
        self._refused: set[str] = set()

    def get(self, key: str) -> str | None:
        sealed = None if _is_jwt(key) else self._vault.get(self._name)
        token = None if sealed is None else sealed.decode()
        return None if token in self._refused else token

    def set(self, key: str, value: str, ex: timedelta) -> None:
        """Keep a new token. A clock that is an hour ahead leaves no time to keep it."""
        if not _is_jwt(key) and ex > timedelta():
            self._vault.put(self._name, value.encode(), ex)

    def refuse(self, token: str) -> None:
        """Remove a token that GitHub refused, unless another worker has replaced it."""
        self._refused.add(token)


def _is_jwt(key: str) -> bool:
    return key.endswith(":jwt")


class SharedTokensStrategy(BaseCacheStrategy):
    """A cache strategy with SharedTokens, no HTTP cache and no asynchronous cache."""

    def __init__(self, tokens: SharedTokens) -> None:
        self._tokens = tokens

    def get_cache_storage(self) -> SharedTokens:
        return self._tokens

    async def get_async_cache_storage(self) -> NoReturn:
        raise CacheUnsupportedError

    def get_hishel_storage(self) -> NoReturn:
        raise CacheUnsupportedError

    async def get_async_hishel_storage(self) -> NoReturn:
        raise CacheUnsupportedError


class GitHubConnection:
    """One githubkit client with one HTTP connection pool, which every thread may use.

    githubkit keeps the pool in a context variable, so each request runs in a copy of the context that opened it.
    """

    def __init__(self, github: GitHub[Any]) -> None:
        self._github = github
        self._context = copy_context()
        self._context.run(github.__enter__)

    def send(self, call: ApiCall) -> Response[Any, Any]:
        def request() -> Response[Any, Any]:
            FENCE.set(call.fence)  # in a context of its own
            return self._github.request(  # pyright: ignore[reportUnknownMemberType] - githubkit leaves a dict bare
                call.method, call.path, params=dict(call.params) or None, json=call.body, headers=call.headers or None
            )

        return self._context.copy().run(request)

    def tail(self, path: str, most_read: int, most_kept: int) -> bytes:
        return self._context.copy().run(self._tail, path, most_read, most_kept)

    def _tail(self, path: str, most_read: int, most_kept: int) -> bytes:
        try:
            raw = self._github.request("GET", path, stream=True).raw_response  # pyright: ignore[reportUnknownMemberType] - as above
        except RequestFailed as error:
            error.response.raw_response.read()
            raise
        kept, read = b"", 0
        try:
            for chunk in raw.iter_bytes():
                kept, read = (kept + chunk)[-most_kept:], read + len(chunk)
                if read >= most_read:
                    break
        except HTTPError as error:
            raise RequestError(error) from error
        finally:
            raw.close()
        return kept

    def close(self) -> None:
        self._context.run(self._github.__exit__)


class GitHubApi:
    """The API for one credential. Holds one connection for each key that was needed.

    *budget* and *tokens* are an installation's: its remaining requests, and its tokens, which are made from the App's key.
    """

    def __init__(
        self,
        connects: Sequence[Callable[[], GitHubConnection]],
        base_url: str,
        clock: Clock,
        budget: RequestBudget | None = None,
        tokens: SharedTokens | None = None,
    ) -> None:
        self._budget = budget
        self._tokens = tokens
        self._connects = connects
        self._connections: dict[int, GitHubConnection] = {}
        self._polled: dict[tuple[object, ...], tuple[str, object]] = {}
        self._key = 0
        self._lock = Lock()
        self._graphql_url = graphql_url(base_url)
        self._clock = clock

    def get(self, path: str, reply: type[Model], **params: str | int) -> Model:
        return self.fetch(ApiCall("GET", path, params, is_repeatable=True), reply)

    def get_bytes(self, path: str, accept: str) -> bytes:
        return self._answer(ApiCall("GET", path, accept=accept, is_repeatable=True)).content

    def tail(self, path: str, most_read: int, most_kept: int) -> bytes:
        """The end of the text at *path* (redirects included): the last *most_kept* of at most *most_read* bytes."""
        return self._with_credential(lambda connection: connection.tail(path, most_read, most_kept))

    def fetch(self, call: ApiCall, reply: type[Model]) -> Model:
        """Send one call and parse its answer. GitHub neither sends nor counts an unchanged answer to a polled one."""
        if not call.is_polled:
            return parse_response(self._answer(call).content, reply, call.path)
        key = (reply, call.path, *sorted(call.params.items()))
        etag, cached = self._polled.get(key, (None, None))
        response = self._answer(replace(call, etag=etag))
        if response.status_code == NOT_MODIFIED and isinstance(cached, reply):
            return cached
        value = parse_response(response.content, reply, call.path)
        with self._lock:  # parsed it takes a twentieth of the text; the oldest is dropped beyond the limit
            self._polled.pop(key, None)
            if (fresh := response.headers.get("etag")) is not None:
                self._polled[key] = (fresh, value)
            while len(self._polled) > MOST_REMEMBERED:
                del self._polled[next(iter(self._polled))]
        return value

    def fetch_with_headers(self, call: ApiCall, reply: type[Model]) -> tuple[Model, Mapping[str, str]]:
        """Fetch as `fetch` does, with the answer's headers, their names in lower case."""
        response = self._answer(call)
        named = {name.lower(): value for name, value in response.headers.items()}
        return parse_response(response.content, reply, call.path), named

    def headers(self, call: ApiCall) -> Mapping[str, str]:
        return dict(self._answer(call).headers)

    def query(
        self,
        document: str,
        variables: Mapping[str, object],
        reply: type[Model],
        need: RequestPriority = RequestPriority.JUDGING,
    ) -> Model:
        """Query GraphQL. A missing field is None if `is_optional` allows its absence."""
        body = {"query": document, "variables": dict(variables)}
        call = ApiCall("POST", self._graphql_url, body=body, is_repeatable=True, need=need)

        def ask() -> Model:
            response = self._send_authorized(call)
            answer = parse_response(response.content, GraphAnswer, "/graphql")
            if error := translate_graphql_errors(answer.errors, self._clock.now(), reset_time(response.headers)):
                self._note_secondary_limit(call, error)
                raise error
            return parse_or_outage(lambda: reply.model_validate(answer.data), "/graphql")

        return retry_transient(ask, ATTEMPTS)

    def _answer(self, call: ApiCall) -> Response[Any, Any]:
        return retry_transient(lambda: self._send_authorized(call), ATTEMPTS if call.is_repeatable else 1)

    def _send_authorized(self, call: ApiCall) -> Response[Any, Any]:
        """Send a call. Raises RateLimited without sending if the rest of the budget is reserved for more urgent calls."""
        if self._budget is not None:
            self._budget.admit("graphql" if call.path == self._graphql_url else "core", call.need)
        try:
            response = self._with_credential(lambda connection: connection.send(call))
        except SecondaryRateLimited as error:
            self._note_secondary_limit(call, error)
            raise
        self._note(response.headers)
        return response

    def _note_secondary_limit(self, call: ApiCall, error: AssayError) -> None:
        """Record a secondary limit of this call for all processes that use the installation."""
        if self._budget is not None and isinstance(error, SecondaryRateLimited):
            self._budget.note_throttled(call.need, error.retry_at)

    def _note(self, headers: Mapping[str, str]) -> None:
        if self._budget is not None:
            self._budget.note_headers(headers)

    def _with_credential(self, send: Callable[[GitHubConnection], AnswerT]) -> AnswerT:
        """Send; after a 401 retry with another credential: a fresh token, then the other key."""
        for _ in range(len(self._connects) + 1):
            key = self._key
            try:
                return self._send(key, send)
            except CredentialRefused as refusal:
                if not self._try_another(key, refusal):
                    remedy = APP_REMEDY if refusal.of_app else "Check GITHUB_TOKEN"
                    raise Forbidden(f"GitHub refuses our credentials: {refusal}. {remedy}") from refusal
        raise Forbidden("GitHub refuses a token that it has just made")

    def _send(self, key: int, send: Callable[[GitHubConnection], AnswerT]) -> AnswerT:
        with self._lock:
            if key not in self._connections:
                self._connections[key] = self._connects[key]()
            connection = self._connections[key]
        try:
            return send(connection)
        except GitHubException as error:
            if isinstance(error, RequestFailed):
                self._note(error.response.headers)
            raise translate_error(error, self._clock.now()) from error

    def _try_another(self, refused_key: int, refusal: CredentialRefused) -> bool:
        """Whether there is another credential: a fresh token, or the App's next key."""
        if not refusal.of_app:
            if self._tokens is not None:
                self._tokens.refuse(refusal.credential)
            return self._tokens is not None
        with self._lock:
            if self._key == refused_key and refused_key + 1 < len(self._connects):
                self._key += 1
            return self._key != refused_key

    def close(self) -> None:
        """Close the connections. A later call opens new ones."""
        with self._lock:
            connections, self._connections = self._connections, {}
        for connection in connections.values():
            connection.close()


class GitHubAccess(Protocol):
    """The credentials that we have on GitHub."""

    def api(self, installation_id: InstallationId) -> GitHubApi: ...


class GitHubPart:
    """The adapter of a port on GitHub's API."""

    def __init__(self, access: GitHubAccess) -> None:
        self._access = access


class AppAccess:
    """The App's access to each of its installations. Made by `app_access`."""

    def __init__(self, settings: Settings, vault: Vault, clock: Clock, rates: RateLimits | None = None) -> None:
        self._rates = rates
        self._credentials = settings.require_app()
        self._settings = settings
        self._vault = vault
        self._clock = clock
        self._lock = Lock()
        self._apis: dict[InstallationId, GitHubApi] = {}

    def api(self, installation_id: InstallationId) -> GitHubApi:
        """API of this installation. Beyond the limit the least recently used one is closed."""
        with self._lock:
            api = self._apis.pop(installation_id, None) or self._open(installation_id)
            self._apis[installation_id] = api
            stale = self._apis.pop(next(iter(self._apis))) if len(self._apis) > MOST_CONNECTIONS else None
        if stale is not None:
            stale.close()
        return api

    def _open(self, installation_id: InstallationId) -> GitHubApi:
        tokens = SharedTokens(self._vault, installation_id)

        def connect(key: SecretStr) -> Callable[[], GitHubConnection]:
            auth = AppInstallationAuthStrategy(
                self._credentials.app_id, key.get_secret_value(), installation_id=installation_id
            )
            return lambda: make_connection(self._settings, auth, tokens)

        connects = [connect(key) for key in self._credentials.private_keys]
        budget = None if self._rates is None else RequestBudget(installation_id, self._rates, self._clock)
        return GitHubApi(connects, self._settings.github_api_url, self._clock, budget, tokens)

    def close(self) -> None:
        for api in self._apis.values():
            api.close()


class SingleAccess:
    """The same credential for every installation: a person's token, or none."""

    def __init__(self, api: GitHubApi) -> None:
        self._api = api

    def api(self, installation_id: InstallationId) -> GitHubApi:  # noqa: ARG002 - a token knows no installations
        return self._api


@contextmanager
def app_access(settings: Settings, vault: Vault, clock: Clock, rates: RateLimits | None = None) -> Generator[AppAccess]:
    """Authenticate as the App. Connections stay open until the exit; enter it inside the job, not before a fork."""
    access = AppAccess(settings, vault, clock, rates)
    try:
        yield access
    finally:
        access.close()


@contextmanager
def token_access(settings: Settings, clock: Clock) -> Generator[SingleAccess]:
    """Authenticate with GITHUB_TOKEN; without one, anonymously."""
    token = settings.github_token
    auth = UnauthAuthStrategy() if token is None else TokenAuthStrategy(token.get_secret_value())
    with _one_api(settings, auth, clock) as api:
        yield SingleAccess(api)


@contextmanager
def key_api(settings: Settings, app: AppCredentials, key: SecretStr, clock: Clock) -> Generator[GitHubApi]:
    """Authenticate as the App itself with this one key, as `assay doctor` does."""
    with _one_api(settings, AppAuthStrategy(app.app_id, key.get_secret_value()), clock) as api:
        yield api


def ask_as_app(settings: Settings, clock: Clock, ask: Callable[[GitHubApi], AnswerT]) -> AnswerT:
    """Run *ask* with the App's first accepted key. Raises AssayError."""
    app = settings.require_app()
    refusal: AssayError | None = None
    for key in app.private_keys:
        try:
            with key_api(settings, app, key, clock) as api:
                return ask(api)
        except Forbidden as error:
            refusal = error
    raise refusal or Forbidden("there is no key")


@contextmanager
def _one_api(
    settings: Settings, auth: UnauthAuthStrategy | TokenAuthStrategy | AppAuthStrategy, clock: Clock
) -> Generator[GitHubApi]:
    api = GitHubApi([lambda: make_connection(settings, auth, None)], settings.github_api_url, clock)
    try:
        yield api
    finally:
        api.close()


def make_connection(
    settings: Settings,
    auth: AppInstallationAuthStrategy | AppAuthStrategy | TokenAuthStrategy | UnauthAuthStrategy,
    tokens: SharedTokens | None,
) -> GitHubConnection:
    """A githubkit client with a timeout, and without retries and a cache of its own."""
    github = GitHub(
        auth,
        base_url=settings.github_api_url,
        user_agent=USER_AGENT,
        timeout=settings.timing.github_timeout,
        auto_retry=False,
        http_cache=False,
        event_hooks={"request": [check_fence]},
        cache_strategy=MemCacheStrategy()
        if tokens is None
        else SharedTokensStrategy(tokens),  # the default is shared: one key's JWT would pass for another's
    )
    return GitHubConnection(github)


def retry_transient(ask: Callable[[], AnswerT], attempts: int) -> AnswerT:
    """Retry without a pause after a broken connection or a 5xx, *attempts* times in all."""
    for _ in range(attempts - 1):
        try:
            return ask()
        except TransientOutage:
            continue
    return ask()


def name_variables(repository: RepositoryName) -> dict[str, object]:
    """The variables with which a GraphQL query names a repository."""
    owner, _, name = repository.partition("/")
    return {"owner": owner, "name": name}


def parse_response(body: bytes, reply: type[Model], path: str) -> Model:
    return parse_or_outage(lambda: reply.model_validate_json(body), path)


def parse_or_outage(parse: Callable[[], AnswerT], path: str) -> AnswerT:
    """Parse an answer. An invalid one (a proxy's page) is raised as an outage."""
    try:
        return parse()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "the whole answer"
        raise Outage(GITHUB, f"answered {path} with what is not its answer ({field}: {first['msg']})") from error


def graphql_url(base_url: str) -> str:
    """The GraphQL URL: beside the REST API on github.com, at /api/graphql on Enterprise Server."""
    base, count = re.subn(r"/api/v3/?$", "/api/graphql", base_url)
    return base if count else f"{base_url.rstrip('/')}/graphql"
