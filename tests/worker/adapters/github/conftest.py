"""A fake GitHub for the adapter's tests, whose exchanges are compared with GitHub's published API."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from pydantic import SecretStr

from tests.world.contract import find_violations
from tests.world.fake_github import Exchange, FakeGitHub
from worker.adapters.github.checks import GitHubCheckRuns, GitHubChecks
from worker.adapters.github.client import AppAccess, app_access
from worker.adapters.github.pull_requests import GitHubPullSource, make_read_options
from worker.domain.judge_request import JudgeRequest, PullRef, Trigger
from worker.domain.model import DeliveryId, InstallationId, RepositoryId
from worker.process import SystemClock
from worker.publishing.check_runs import no_lease
from worker.settings import AppCredentials, Settings, Timing

INSTALLATION = InstallationId(100)
CHANGE = {"a.py": "x = 1\ny = 3\n"}
DAMAGED_KEY = "-----BEGIN PRIVATE KEY-----\nYWJj\n-----END PRIVATE KEY-----"


@cache
def another_key() -> str:
    """A key of no App."""
    made = generate_private_key(65537, 2048)
    return made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def with_keys(settings: Settings, *keys: str) -> Settings:
    app = settings.require_app()
    return replace(settings, app=AppCredentials(app.app_id, tuple(map(SecretStr, keys)), app.webhook_secrets))


@dataclass
class MemoryVault:
    """A vault in memory; the real one is tested in tests/worker/adapters/redis."""

    kept: dict[str, bytes] = field(default_factory=dict[str, bytes])

    def get(self, name: str) -> bytes | None:
        return self.kept.get(name)

    def put(self, name: str, secret: bytes, ttl: timedelta) -> None:
        assert ttl > timedelta()
        self.kept[name] = secret


@dataclass(frozen=True)
class FakeRepo:
    """A repository of the fake GitHub and what people do in it."""

    github: FakeGitHub
    name: str

    def push(self, branch: str, files: dict[str, Any], **more: Any) -> str:
        return str(self.github.control("push", repo=self.name, branch=branch, files=files, **more)["sha"])

    def pull(self, files: dict[str, Any] = CHANGE, body: str = "", login: str = "alice") -> "OpenedPull":
        self.push("fix", files)
        return self.open_pull_request("fix", body, login)

    def open_pull_request(self, head: str, body: str = "", login: str = "alice", base: str = "main") -> "OpenedPull":
        pull = self.request_as(login, "POST", "/pulls", title="Fix", head=head, base=base, body=body)
        return OpenedPull(self, int(pull["number"]), str(pull["head"]["sha"]))

    def issue(self, title: str, body: str) -> int:
        return int(self.request_as("alice", "POST", "/issues", title=title, body=body)["number"])

    def request_as(self, login: str, method: str, path: str, **body: Any) -> Any:
        """The answer to this account's request; *path*: inside the repository."""
        return self.github.request_as(login, method, f"/repos/{self.name}{path}", **body)

    def ci(self, sha: str, name: str, **more: Any) -> None:
        self.github.control("ci", repo=self.name, sha=sha, name=name, **more)

    def script_answer(self, match: str, body: object, status: int = 200, **more: Any) -> None:
        """Set the answer to the next request that matches."""
        self.github.fault(match, kind="status", status=status, body=body, **more)

    def script_refusal(self, match: str, status: int, message: str = "No.", **more: Any) -> None:
        self.script_answer(match, {"message": message}, status, **more)

    def request_names(self, name: str | None = None) -> list[str]:
        """Every request since `forget`: its GraphQL operation, or its method and status."""
        exchanges = self.exchanges(name)
        return [exchange["operation"] or f"{exchange['method']} {exchange['status']}" for exchange in exchanges]

    def exchanges(self, *names: str | None) -> list[Exchange]:
        return self.github.requests(self.name, *names)


@dataclass(frozen=True)
class OpenedPull:
    repository: FakeRepo
    number: int
    sha: str

    @property
    def request(self) -> JudgeRequest:
        return JudgeRequest(
            pull=PullRef(installation_id=INSTALLATION, repository_id=RepositoryId(1), number=self.number),
            repository=self.repository.name,
            head_sha=None,
            trigger=Trigger.OPENED,
            delivery_id=DeliveryId("d"),
            requested_at=datetime(2026, 11, 20, tzinfo=UTC),
        )

    def edit(self, **fields: Any) -> None:
        self.repository.request_as("alice", "PATCH", f"/pulls/{self.number}", **fields)


@pytest.fixture(scope="session")
def github() -> Iterator[FakeGitHub]:
    """One fake GitHub for all tests; the key of its App is parsed once because parsing proves its primes."""
    fake = FakeGitHub.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jwt.algorithms.load_pem_private_key", cache(load_pem_private_key))
        yield fake
    fake.stop()


@pytest.fixture
def repo(github: FakeGitHub) -> Iterator[FakeRepo]:
    """A new repository, whose exchanges must match GitHub's published API."""
    name = f"things-{uuid4().hex[:8]}"
    github.control("repo", name=name, files={"a.py": "x = 1\ny = 2\n", "old.txt": "a\nb\nc\n"})
    repository = FakeRepo(github, f"acme/{name}")
    yield repository
    github.clear_faults()
    assert find_violations(repository.exchanges(None, "bob", "anonymous")) == []


@pytest.fixture
def settings(github: FakeGitHub, tmp_path: Path) -> Settings:
    ready = github.info
    app = AppCredentials(ready.app_id, (SecretStr(ready.private_key),), (SecretStr(ready.webhook_secret),))
    return Settings(data_dir=tmp_path, app=app, github_api_url=ready.url, timing=Timing(github_timeout=5))


@pytest.fixture
def vault() -> MemoryVault:
    return MemoryVault()


@pytest.fixture
def access(settings: Settings, vault: MemoryVault) -> Iterator[AppAccess]:
    with app_access(settings, vault, SystemClock()) as access:
        yield access


@pytest.fixture
def publisher(access: AppAccess, settings: Settings) -> GitHubChecks:
    return GitHubChecks(access, settings.require_app().app_id)


@pytest.fixture
def checks(publisher: GitHubChecks) -> GitHubCheckRuns:
    return publisher.with_fence(no_lease)


@pytest.fixture
def source(access: AppAccess, settings: Settings) -> GitHubPullSource:
    return GitHubPullSource(access, make_read_options(settings.require_app().app_id, settings.github_api_url))
