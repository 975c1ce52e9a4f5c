"""Credentials, connections and retries, over real HTTP."""

import asyncio
import socket
from collections.abc import Callable
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
    GitHubRepository,
    MemoryVault,
    another_key,
    with_keys,
)
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
from worker.clock import SystemClock
from worker.domain.ids import InstallationId
from worker.domain.ports import RateLimit
from worker.errors import Forbidden, RateLimited, SettingError, SubjectGone, Unavailable
from worker.settings import Settings


class Counter:
    """A door in front of a port of this machine that counts who comes through."""

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
        for one in self._sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
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


def look(access: AppAccess, place: GitHubRepository) -> str:
    path = f"/repos/{place.name}/collaborators/bob/permission"
    return access.api(INSTALLATION).get(path, PermissionResponse).permission


def collaborators(place: GitHubRepository) -> str:
    return f"GET /repos/{place.name}/collab"


def tokens_made(place: GitHubRepository) -> int:
    app = place.github.requests(None, f"app:{place.github.info.app_id}")
    return sum(one["path"].endswith("/access_tokens") for one in app)


MAKING_A_TOKEN = "POST /app/installations/100/access_tokens"


# Credentials


def test_a_token_is_made_once_for_all_workers(
    github_repository: GitHubRepository, settings: Settings, vault: MemoryVault
) -> None:
    before = tokens_made(github_repository)
    for _ in range(2):
        with app_access(settings, vault, SystemClock()) as access:
            assert look(access, github_repository) == "write"
    assert tokens_made(github_repository) - before == 1
    assert list(vault.kept) == [keys.token(INSTALLATION)]


def test_a_token_that_is_refused_or_was_dropped_is_made_anew_and_the_request_sent_again(
    github_repository: GitHubRepository, access: AppAccess, vault: MemoryVault
) -> None:
    look(access, github_repository)
    old, before = dict(vault.kept), tokens_made(github_repository)
    github_repository.github.control("tokens/expire")
    assert look(access, github_repository) == "write"
    assert vault.kept != old
    assert [one["status"] for one in github_repository.github.requests(github_repository.name, "unknown")] == [401]
    vault.kept.clear()
    assert look(access, github_repository) == "write"
    assert tokens_made(github_repository) - before == 2


def test_a_token_that_another_worker_renewed_is_used(
    github_repository: GitHubRepository, settings: Settings, vault: MemoryVault
) -> None:
    with app_access(settings, vault, SystemClock()) as one, app_access(settings, vault, SystemClock()) as other:
        for access in (one, other):
            look(access, github_repository)
        github_repository.github.control("tokens/expire")
        before = tokens_made(github_repository)
        for access in (one, other):
            look(access, github_repository)
        assert tokens_made(github_repository) - before == 1


def test_credentials_that_stay_refused_are_forbidden_after_two_tries(
    github_repository: GitHubRepository, access: AppAccess
) -> None:
    look(access, github_repository)
    github_repository.script_refusal(collaborators(github_repository), 401, "Bad credentials", count=9)
    with pytest.raises(Forbidden):
        look(access, github_repository)
    assert github_repository.request_names()[1:] == ["GET 401"] * 2


@pytest.mark.parametrize("first", [another_key(), DAMAGED_KEY], ids=["refused", "damaged"])
def test_the_second_key_is_used_when_the_first_is_of_no_use(
    github_repository: GitHubRepository, settings: Settings, vault: MemoryVault, first: str
) -> None:
    good = settings.require_app().private_keys[0].get_secret_value()
    with app_access(with_keys(settings, first, good), vault, SystemClock()) as access:
        assert look(access, github_repository) == "write"
    alone = app_access(with_keys(settings, first), MemoryVault(), SystemClock())
    with alone as access, pytest.raises(Forbidden, match="ASSAY_APP_PRIVATE_KEY"):
        look(access, github_repository)


def test_without_an_accepted_key_the_remedy_is_named(github_repository: GitHubRepository, access: AppAccess) -> None:
    too_far = "'Expiration time' claim ('exp') is too far in the future"
    github_repository.script_refusal(MAKING_A_TOKEN, 401, too_far, count=9)
    with pytest.raises(Forbidden, match=r"too far in the future.*assay doctor"):
        look(access, github_repository)


@pytest.mark.parametrize(
    ("status", "message", "told"),
    [(404, "Not Found", "uninstalled"), (403, "This installation has been suspended", "suspended")],
)
def test_an_app_that_was_uninstalled_or_suspended_is_gone(
    github_repository: GitHubRepository, access: AppAccess, status: int, message: str, told: str
) -> None:
    github_repository.script_refusal(MAKING_A_TOKEN, status, message)
    with pytest.raises(SubjectGone, match=told):
        look(access, github_repository)


def test_a_persons_token_that_is_refused_names_its_variable(
    github_repository: GitHubRepository, settings: Settings
) -> None:
    wrong = token_access(replace(settings, github_token=SecretStr("ghp_wrong")), SystemClock())
    with wrong as access, pytest.raises(Forbidden, match="GITHUB_TOKEN"):
        access.api(InstallationId(0)).get(
            f"/repos/{github_repository.name}/collaborators/bob/permission", PermissionResponse
        )


def test_without_an_app_the_missing_variable_is_named(settings: Settings, vault: MemoryVault) -> None:
    nobodys = app_access(replace(settings, app=None), vault, SystemClock())
    with pytest.raises(SettingError, match="ASSAY_APP_ID"), nobodys:
        pass


# Where tokens are kept

HOUR, OTHER = timedelta(hours=1), InstallationId(2)
TOKEN, JWT = "githubkit:auth:app:9:installation:1:x", "githubkit:auth:app:1:jwt"


def test_a_token_of_an_installation_is_kept_until_it_is_refused(vault: MemoryVault) -> None:
    tokens = SharedTokens(vault, INSTALLATION)
    for token in ("ghs_one", "ghs_two"):
        tokens.set(TOKEN, token, HOUR)
        assert (tokens.get(TOKEN), SharedTokens(vault, OTHER).get(TOKEN)) == (token, None)
        assert vault.kept == {keys.token(INSTALLATION): token.encode()}, "under the name that the door knows"
        tokens.refuse(token)
        assert tokens.get(TOKEN) is None


def test_no_jwt_is_kept_and_no_token_that_is_over_already(vault: MemoryVault) -> None:
    tokens = SharedTokens(vault, INSTALLATION)
    tokens.set(JWT, "eyJ", HOUR)
    tokens.set(TOKEN, "ghs_one", timedelta(seconds=-5))
    assert vault.kept == {}
    vault.put(keys.token(INSTALLATION), b"ghs_one", HOUR)
    assert tokens.get(JWT) is None


def test_there_is_no_http_cache_and_nothing_asynchronous(vault: MemoryVault) -> None:
    strategy = SharedTokensStrategy(SharedTokens(vault, INSTALLATION))
    with pytest.raises(CacheUnsupportedError):
        strategy.get_hishel_storage()
    for cache in (strategy.get_async_cache_storage, strategy.get_async_hishel_storage):
        with pytest.raises(CacheUnsupportedError):
            asyncio.run(cache())


# Connections


def test_one_connection_serves_all_requests_from_all_threads(
    github_repository: GitHubRepository, settings: Settings, vault: MemoryVault
) -> None:
    with Counter(github_repository.github.info.port) as door:
        through = replace(settings, github_api_url=f"http://127.0.0.1:{door.port}")
        with app_access(through, vault, SystemClock()) as access:
            look(access, github_repository)
            for _ in range(3):
                thread = Thread(target=look, args=(access, github_repository))
                thread.start()
                thread.join()
            look(access, github_repository)
        assert len(github_repository.request_names()) == 5
        assert door.connections == 1


def test_threads_that_ask_at_the_same_time_are_all_answered(
    github_repository: GitHubRepository, access: AppAccess
) -> None:
    look(access, github_repository)
    github_repository.github.fault(collaborators(github_repository), kind="slow", ms=300, count=4)
    with ThreadPoolExecutor(4) as threads:
        asked = [threads.submit(look, access, github_repository) for _ in range(4)]
        assert [one.result() for one in asked] == ["write"] * 4


def test_only_so_many_installations_keep_a_connection(
    github_repository: GitHubRepository, settings: Settings, vault: MemoryVault
) -> None:
    with Counter(github_repository.github.info.port) as door:
        through = replace(settings, github_api_url=f"http://127.0.0.1:{door.port}")
        with app_access(through, vault, SystemClock()) as access:
            look(access, github_repository)
            kept = access.api(INSTALLATION)
            for number in range(MOST_CONNECTIONS - 1):
                access.api(InstallationId(1000 + number))
            assert access.api(INSTALLATION) is kept
            for number in range(MOST_CONNECTIONS):
                access.api(InstallationId(1000 + number))
            look(access, github_repository)
            assert access.api(INSTALLATION) is not kept
        assert door.connections == 2


# Retries and limits


@pytest.mark.parametrize("kind", ["reset", "status"])
def test_a_read_is_repeated_after_a_broken_connection_and_after_a_5xx(
    github_repository: GitHubRepository, access: AppAccess, kind: str
) -> None:
    github_repository.github.fault(collaborators(github_repository), kind=kind, count=2)
    assert look(access, github_repository) == "write"
    github_repository.github.fault(collaborators(github_repository), kind=kind, count=3)
    with pytest.raises(Unavailable, match="GitHub"):
        look(access, github_repository)
    assert len(github_repository.request_names()) == 6


def test_a_write_is_sent_once(github_repository: GitHubRepository, access: AppAccess) -> None:
    github_repository.github.fault("POST .*/check-runs", status=502)
    call = ApiCall("POST", f"/repos/{github_repository.name}/check-runs", body={"name": "x", "head_sha": "0" * 40})
    with pytest.raises(Unavailable, match="answered 502"):
        access.api(INSTALLATION).fetch(call, PermissionResponse)
    assert github_repository.request_names() == ["POST 502"]


def test_silence_is_not_waited_for_twice(
    github_repository: GitHubRepository, settings: Settings, vault: MemoryVault
) -> None:
    hasty = replace(settings, timing=replace(settings.timing, github_timeout=0.3))
    with app_access(hasty, vault, SystemClock()) as access:
        look(access, github_repository)
        github_repository.github.fault(collaborators(github_repository), kind="timeout", ms=1000, count=3)
        with pytest.raises(Unavailable, match="no answer in time"):
            look(access, github_repository)


@pytest.mark.parametrize(
    ("order", "seconds"), [({"kind": "secondary", "retry_after": 7}, 7), ({"kind": "secondary"}, 60)]
)
def test_a_secondary_limit_says_when_to_come_back(
    github_repository: GitHubRepository, access: AppAccess, order: dict[str, object], seconds: int
) -> None:
    github_repository.github.fault(collaborators(github_repository), **order)
    with pytest.raises(RateLimited) as caught:
        look(access, github_repository)
    wait = caught.value.retry_at - SystemClock().now()
    assert timedelta(seconds=seconds - 5) < wait <= timedelta(seconds=seconds + 1)
    assert caught.value.retry_at.microsecond == 0
    assert len(github_repository.request_names()) == 1


class Book:
    """What GitHub said of rate limits, for several processes."""

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
def test_while_a_secondary_limit_lasts_no_process_asks_for_this_installation(
    github_repository: GitHubRepository, settings: Settings, vault: MemoryVault, order: dict[str, object]
) -> None:
    book = Book()
    github_repository.github.fault("POST /graphql", count=100, **order)
    owner, _, name = github_repository.name.partition("/")
    query = "query Q($owner: String!, $name: String!) { repository(owner: $owner, name: $name) { name } }"
    for _ in range(20):
        with app_access(settings, vault, SystemClock(), book) as one, pytest.raises(RateLimited):
            one.api(INSTALLATION).query(query, {"owner": owner, "name": name}, PullState)
        with app_access(settings, vault, SystemClock(), book) as one, pytest.raises(RateLimited):
            look(one, github_repository)
    github_repository.github.clear_faults()
    assert github_repository.request_names() == ["Q"]


def test_a_used_up_limit_says_when_it_starts_anew(github_repository: GitHubRepository, access: AppAccess) -> None:
    look(access, github_repository)
    github_repository.github.control("rate", remaining=0, reset_in=600)
    try:
        with pytest.raises(RateLimited) as rest:
            look(access, github_repository)
        with pytest.raises(RateLimited) as graph:
            access.api(INSTALLATION).query("query Q { viewer { login } }", {}, PullState)
    finally:
        github_repository.github.control("rate", remaining=5000, reset_in=600)
    for caught in (rest, graph):
        assert timedelta(seconds=590) < caught.value.retry_at - SystemClock().now() <= timedelta(seconds=600)


def test_an_answer_that_is_not_githubs_is_an_outage(github_repository: GitHubRepository, access: AppAccess) -> None:
    github_repository.script_answer(collaborators(github_repository), {"hello": "world"})
    with pytest.raises(Unavailable, match="permission: Field required"):
        look(access, github_repository)


def test_a_server_that_is_not_there_is_an_outage(settings: Settings, vault: MemoryVault) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    nowhere = replace(settings, github_api_url=f"http://127.0.0.1:{port}")
    closed = app_access(nowhere, vault, SystemClock())
    with closed as access, pytest.raises(Unavailable, match="the connection broke"):
        access.api(INSTALLATION).get("/app", PermissionResponse)


def test_enterprise_servers_paths_are_used(
    github_repository: GitHubRepository, settings: Settings, vault: MemoryVault
) -> None:
    pull = github_repository.pull()
    url = f"{settings.github_api_url}/api/v3"
    with app_access(replace(settings, github_api_url=url), vault, SystemClock()) as access:
        assert look(access, github_repository) == "write"
        assert GitHubPullSource(access, make_read_options(None, url)).head_sha(pull.request) == pull.sha
    assert [one["path"] for one in github_repository.exchanges()][-1] == "/api/graphql"


@pytest.mark.parametrize(
    ("rest", "graph"),
    [
        ("https://api.github.com", "https://api.github.com/graphql"),
        ("https://git.example.com/api/v3", "https://git.example.com/api/graphql"),
        ("https://git.example.com/api/v3/", "https://git.example.com/api/graphql"),
        ("http://127.0.0.1:9/", "http://127.0.0.1:9/graphql"),
    ],
)
def test_graphql_is_found_beside_the_rest_api(rest: str, graph: str) -> None:
    assert graphql_url(rest) == graph


def test_no_error_tells_a_secret(github_repository: GitHubRepository, access: AppAccess, vault: MemoryVault) -> None:
    github_repository.github.fault(collaborators(github_repository), status=500, count=3)
    with pytest.raises(Unavailable) as caught:
        look(access, github_repository)
    [token] = vault.kept.values()
    assert token.decode() not in str(caught.value)
