"""Credentials, connections and retries, over real HTTP."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from threading import Thread
from typing import Self

import pytest
from githubkit.exception import CacheUnsupportedError
from pydantic import SecretStr

from tests.worker.adapters.github.conftest import (
    DAMAGED_KEY,
    INSTALLATION,
    FakeRepo,
    MemoryVault,
    another_key,
    with_keys,
)
from tests.world.fake_github import FakeGitHub
from worker.adapters.github.client import (
    MOST_CONNECTIONS,
    ApiCall,
    AppAccess,
    SharedTokens,
    SharedTokensStrategy,
    app_access,
    graphql_url,
    token_access,
)
from worker.adapters.github.pull_requests import GitHubPullSource, make_read_options
from worker.adapters.github.responses import PermissionResponse, PullState
from worker.adapters.redis import keys
from worker.domain.model import InstallationId
from worker.domain.ports import RateLimit
from worker.errors import Forbidden, RateLimited, SettingError, SubjectGone, Unavailable
from worker.process import SystemClock
from worker.settings import Settings


class CountingProxy:
    """A proxy in front of a local port that counts connections."""

    def __init__(self, port: int) -> None:
        self._behind = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads: list[Thread] = []
        self._sockets: list[socket.socket] = [self._listener]
        self.port: int = self._listener.getsockname()[1]
        self.connections = 0

    def __enter__(self) -> Self:
        self._run(self._listen)
        return self

    def __exit__(self, *_: object) -> None:
        for connection in self._sockets:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        for thread in self._threads:
            thread.join()

    def _run(self, work: Callable[..., None], *arguments: socket.socket) -> None:
        thread = Thread(target=work, args=arguments)
        self._threads.append(thread)
        thread.start()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._behind))
                self.connections += 1
                self._sockets += [near, far]
                self._run(self._pass_on, near, far)
                self._run(self._pass_on, far, near)

    @staticmethod
    def _pass_on(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


def read_permission(access: AppAccess, repo: FakeRepo) -> str:
    path = f"/repos/{repo.name}/collaborators/bob/permission"
    return access.api(INSTALLATION).get(path, PermissionResponse).permission


def collaborators(repo: FakeRepo) -> str:
    return f"GET /repos/{repo.name}/collab"


def tokens_made(repo: FakeRepo) -> int:
    app = repo.github.requests(None, f"app:{repo.github.info.app_id}")
    return sum(request["path"].endswith("/access_tokens") for request in app)


MAKING_A_TOKEN = "POST /app/installations/100/access_tokens"


# Credentials


def test_token_is_created_once_for_all_workers(repo: FakeRepo, settings: Settings, vault: MemoryVault) -> None:
    before = tokens_made(repo)
    for _ in range(2):
        with app_access(settings, vault, SystemClock()) as access:
            assert read_permission(access, repo) == "write"
    assert tokens_made(repo) - before == 1
    assert list(vault.kept) == [keys.token(INSTALLATION)]


def test_refused_or_dropped_token_is_replaced_and_the_request_repeated(
    repo: FakeRepo, access: AppAccess, vault: MemoryVault
) -> None:
    read_permission(access, repo)
    old, before = dict(vault.kept), tokens_made(repo)
    repo.github.control("tokens/expire")
    assert read_permission(access, repo) == "write"
    assert vault.kept != old
    assert [request["status"] for request in repo.github.requests(repo.name, "unknown")] == [401]
    vault.kept.clear()
    assert read_permission(access, repo) == "write"
    assert tokens_made(repo) - before == 2


def test_token_renewed_by_another_worker_is_used(repo: FakeRepo, settings: Settings, vault: MemoryVault) -> None:
    with app_access(settings, vault, SystemClock()) as first, app_access(settings, vault, SystemClock()) as other:
        for access in (first, other):
            read_permission(access, repo)
        repo.github.control("tokens/expire")
        before = tokens_made(repo)
        for access in (first, other):
            read_permission(access, repo)
        assert tokens_made(repo) - before == 1


def test_refused_credentials_are_forbidden_after_two_tries(repo: FakeRepo, access: AppAccess) -> None:
    read_permission(access, repo)
    repo.script_refusal(collaborators(repo), 401, "Bad credentials", count=9)
    with pytest.raises(Forbidden):
        read_permission(access, repo)
    assert repo.request_names()[1:] == ["GET 401"] * 2


@pytest.mark.parametrize("first", [another_key(), DAMAGED_KEY], ids=["refused", "damaged"])
def test_second_key_is_used_when_the_first_is_refused_or_damaged(
    repo: FakeRepo, settings: Settings, vault: MemoryVault, first: str
) -> None:
    good = settings.require_app().private_keys[0].get_secret_value()
    with app_access(with_keys(settings, first, good), vault, SystemClock()) as access:
        assert read_permission(access, repo) == "write"
    alone = app_access(with_keys(settings, first), MemoryVault(), SystemClock())
    with alone as access, pytest.raises(Forbidden, match="ASSAY_APP_PRIVATE_KEY"):
        read_permission(access, repo)


def test_refused_app_key_error_names_the_remedy(repo: FakeRepo, access: AppAccess) -> None:
    too_far = "'Expiration time' claim ('exp') is too far in the future"
    repo.script_refusal(MAKING_A_TOKEN, 401, too_far, count=9)
    with pytest.raises(Forbidden, match=r"too far in the future.*assay doctor"):
        read_permission(access, repo)


@pytest.mark.parametrize(
    ("status", "message", "reason"),
    [(404, "Not Found", "uninstalled"), (403, "This installation has been suspended", "suspended")],
)
def test_uninstalled_or_suspended_app_is_gone(
    repo: FakeRepo, access: AppAccess, status: int, message: str, reason: str
) -> None:
    repo.script_refusal(MAKING_A_TOKEN, status, message)
    with pytest.raises(SubjectGone, match=reason):
        read_permission(access, repo)


def test_refused_personal_token_error_names_its_variable(repo: FakeRepo, settings: Settings) -> None:
    wrong = token_access(replace(settings, github_token=SecretStr("ghp_wrong")), SystemClock())
    with wrong as access, pytest.raises(Forbidden, match="GITHUB_TOKEN"):
        access.api(InstallationId(0)).get(f"/repos/{repo.name}/collaborators/bob/permission", PermissionResponse)


def test_missing_app_error_names_its_variable(settings: Settings, vault: MemoryVault) -> None:
    without_app = app_access(replace(settings, app=None), vault, SystemClock())
    with pytest.raises(SettingError, match="ASSAY_APP_ID"), without_app:
        pass


# Token storage

HOUR, OTHER = timedelta(hours=1), InstallationId(2)
TOKEN, JWT = "githubkit:auth:app:9:installation:1:x", "githubkit:auth:app:1:jwt"


def test_installation_token_is_kept_until_refused(vault: MemoryVault) -> None:
    tokens = SharedTokens(vault, INSTALLATION)
    for token in ("ghs_one", "ghs_two"):
        tokens.set(TOKEN, token, HOUR)
        assert (tokens.get(TOKEN), SharedTokens(vault, OTHER).get(TOKEN)) == (token, None)
        assert vault.kept == {keys.token(INSTALLATION): token.encode()}, "under the key that the web server reads"
        tokens.refuse(token)
        assert tokens.get(TOKEN) is None


def test_jwt_and_expired_token_are_not_kept(vault: MemoryVault) -> None:
    tokens = SharedTokens(vault, INSTALLATION)
    tokens.set(JWT, "eyJ", HOUR)
    tokens.set(TOKEN, "ghs_one", timedelta(seconds=-5))
    assert vault.kept == {}
    vault.put(keys.token(INSTALLATION), b"ghs_one", HOUR)
    assert tokens.get(JWT) is None


def test_http_cache_and_asynchronous_storage_are_unsupported(vault: MemoryVault) -> None:
    strategy = SharedTokensStrategy(SharedTokens(vault, INSTALLATION))
    with pytest.raises(CacheUnsupportedError):
        strategy.get_hishel_storage()
    for cache in (strategy.get_async_cache_storage, strategy.get_async_hishel_storage):
        with pytest.raises(CacheUnsupportedError):
            asyncio.run(cache())


# Connections


@pytest.fixture
def proxied_access(
    github: FakeGitHub, settings: Settings, vault: MemoryVault
) -> Iterator[tuple[AppAccess, CountingProxy]]:
    with CountingProxy(github.info.port) as proxy:
        through = replace(settings, github_api_url=f"http://127.0.0.1:{proxy.port}")
        with app_access(through, vault, SystemClock()) as access:
            yield access, proxy


def test_one_connection_serves_requests_of_all_threads(
    repo: FakeRepo, proxied_access: tuple[AppAccess, CountingProxy]
) -> None:
    access, proxy = proxied_access
    read_permission(access, repo)
    for _ in range(3):
        thread = Thread(target=read_permission, args=(access, repo))
        thread.start()
        thread.join()
    read_permission(access, repo)
    assert (len(repo.request_names()), proxy.connections) == (5, 1)


def test_parallel_requests_are_all_answered(repo: FakeRepo, access: AppAccess) -> None:
    read_permission(access, repo)
    repo.github.fault(collaborators(repo), kind="slow", ms=300, count=4)
    with ThreadPoolExecutor(4) as threads:
        asked = [threads.submit(read_permission, access, repo) for _ in range(4)]
        assert [answer.result() for answer in asked] == ["write"] * 4


def test_number_of_installations_with_a_connection_is_limited(
    repo: FakeRepo, proxied_access: tuple[AppAccess, CountingProxy]
) -> None:
    access, proxy = proxied_access
    read_permission(access, repo)
    kept = access.api(INSTALLATION)
    for number in range(MOST_CONNECTIONS - 1):
        access.api(InstallationId(1000 + number))
    assert access.api(INSTALLATION) is kept
    for number in range(MOST_CONNECTIONS):
        access.api(InstallationId(1000 + number))
    read_permission(access, repo)
    assert access.api(INSTALLATION) is not kept
    assert proxy.connections == 2


# Retries and limits


@pytest.mark.parametrize("kind", ["reset", "status"])
def test_read_is_repeated_after_a_broken_connection_or_a_5xx(repo: FakeRepo, access: AppAccess, kind: str) -> None:
    repo.github.fault(collaborators(repo), kind=kind, count=2)
    assert read_permission(access, repo) == "write"
    repo.github.fault(collaborators(repo), kind=kind, count=3)
    with pytest.raises(Unavailable, match="GitHub"):
        read_permission(access, repo)
    assert len(repo.request_names()) == 6


def test_write_is_sent_once(repo: FakeRepo, access: AppAccess) -> None:
    repo.github.fault("POST .*/check-runs", status=502)
    call = ApiCall("POST", f"/repos/{repo.name}/check-runs", body={"name": "x", "head_sha": "0" * 40})
    with pytest.raises(Unavailable, match="answered 502"):
        access.api(INSTALLATION).fetch(call, PermissionResponse)
    assert repo.request_names() == ["POST 502"]


def test_timed_out_request_is_not_repeated(repo: FakeRepo, settings: Settings, vault: MemoryVault) -> None:
    hasty = replace(settings, timing=replace(settings.timing, github_timeout=0.3))
    with app_access(hasty, vault, SystemClock()) as access:
        read_permission(access, repo)
        repo.github.fault(collaborators(repo), kind="timeout", ms=1000, count=3)
        with pytest.raises(Unavailable, match="no answer in time"):
            read_permission(access, repo)


@pytest.mark.parametrize(
    ("order", "seconds"), [({"kind": "secondary", "retry_after": 7}, 7), ({"kind": "secondary"}, 60)]
)
def test_secondary_limit_says_when_to_retry(
    repo: FakeRepo, access: AppAccess, order: dict[str, object], seconds: int
) -> None:
    repo.github.fault(collaborators(repo), **order)
    with pytest.raises(RateLimited) as caught:
        read_permission(access, repo)
    wait = caught.value.retry_at - SystemClock().now()
    assert timedelta(seconds=seconds - 5) < wait <= timedelta(seconds=seconds + 1)
    assert caught.value.retry_at.microsecond == 0
    assert len(repo.request_names()) == 1


class SharedLimits:
    """Rate limits that several processes share."""

    def __init__(self) -> None:
        self.kept: dict[str, RateLimit] = {}

    def find_limits(self, installation: InstallationId) -> dict[str, RateLimit]:
        assert installation == INSTALLATION
        return self.kept

    def put(self, installation: InstallationId, resource: str, limit: RateLimit) -> None:
        assert installation == INSTALLATION
        self.kept[resource] = limit


@pytest.mark.parametrize(
    "order",
    [
        {"kind": "secondary", "retry_after": 30},
        {"kind": "secondary"},
        {"status": 200, "body": {"errors": [{"message": "You have exceeded a secondary rate limit"}]}},
    ],
    ids=["with a time", "without one", "GraphQL's"],
)
def test_secondary_limit_stops_all_processes_of_the_installation(
    repo: FakeRepo, settings: Settings, vault: MemoryVault, order: dict[str, object]
) -> None:
    book = SharedLimits()
    repo.github.fault("POST /graphql", count=100, **order)
    owner, _, name = repo.name.partition("/")
    query = "query Q($owner: String!, $name: String!) { repository(owner: $owner, name: $name) { name } }"
    for _ in range(20):
        with app_access(settings, vault, SystemClock(), book) as access, pytest.raises(RateLimited):
            access.api(INSTALLATION).query(query, {"owner": owner, "name": name}, PullState)
        with app_access(settings, vault, SystemClock(), book) as access, pytest.raises(RateLimited):
            read_permission(access, repo)
    repo.github.clear_faults()
    assert repo.request_names() == ["Q"]


def test_exhausted_rate_limit_says_when_it_resets(repo: FakeRepo, access: AppAccess) -> None:
    read_permission(access, repo)
    repo.github.control("rate", remaining=0, reset_in=600)
    try:
        with pytest.raises(RateLimited) as rest:
            read_permission(access, repo)
        with pytest.raises(RateLimited) as graph:
            access.api(INSTALLATION).query("query Q { viewer { login } }", {}, PullState)
    finally:
        repo.github.control("rate", remaining=5000, reset_in=600)
    for caught in (rest, graph):
        assert timedelta(seconds=590) < caught.value.retry_at - SystemClock().now() <= timedelta(seconds=600)


def test_malformed_response_is_an_outage(repo: FakeRepo, access: AppAccess) -> None:
    repo.script_answer(collaborators(repo), {"hello": "world"})
    with pytest.raises(Unavailable, match="permission: Field required"):
        read_permission(access, repo)


def test_unreachable_server_is_an_outage(settings: Settings, vault: MemoryVault) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    nowhere = replace(settings, github_api_url=f"http://127.0.0.1:{port}")
    closed = app_access(nowhere, vault, SystemClock())
    with closed as access, pytest.raises(Unavailable, match="the connection broke"):
        access.api(INSTALLATION).get("/app", PermissionResponse)


def test_enterprise_server_paths_are_used(repo: FakeRepo, settings: Settings, vault: MemoryVault) -> None:
    pull = repo.pull()
    url = f"{settings.github_api_url}/api/v3"
    with app_access(replace(settings, github_api_url=url), vault, SystemClock()) as access:
        assert read_permission(access, repo) == "write"
        assert GitHubPullSource(access, make_read_options(None, url)).head_sha(pull.request) == pull.sha
    assert [request["path"] for request in repo.exchanges()][-1] == "/api/graphql"


@pytest.mark.parametrize(
    ("rest", "graph"),
    [
        ("https://api.github.com", "https://api.github.com/graphql"),
        ("https://git.example.com/api/v3", "https://git.example.com/api/graphql"),
        ("https://git.example.com/api/v3/", "https://git.example.com/api/graphql"),
        ("http://127.0.0.1:9/", "http://127.0.0.1:9/graphql"),
    ],
)
def test_graphql_url_is_next_to_the_rest_api(rest: str, graph: str) -> None:
    assert graphql_url(rest) == graph


def test_error_message_holds_no_secret(repo: FakeRepo, access: AppAccess, vault: MemoryVault) -> None:
    repo.github.fault(collaborators(repo), status=500, count=3)
    with pytest.raises(Unavailable) as caught:
        read_permission(access, repo)
    [token] = vault.kept.values()
    assert token.decode() not in str(caught.value)
