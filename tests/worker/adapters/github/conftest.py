"""GitHub on loopback for the adapter's tests, with every exchange held against GitHub's published API."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from pydantic import SecretStr

from tests.world.contract import find_violations
from tests.world.fake_github import Exchange, FakeGitHub
from worker.adapters.github.check_runs import GitHubCheckRuns, GitHubChecks
from worker.adapters.github.client import AppAccess, app_access
from worker.adapters.github.pull_requests import GitHubPullSource, make_read_options
from worker.clock import SystemClock
from worker.domain.ids import DeliveryId, InstallationId, RepositoryId
from worker.domain.judge_request import JudgeRequest, PullRef, Trigger
from worker.publishing.check_runs import no_lease
from worker.settings import AppCredentials, Settings, Timing

INSTALLATION = InstallationId(100)
CHANGE = {"a.py": "x = 1\ny = 3\n"}
DAMAGED_KEY = "-----BEGIN PRIVATE KEY-----\nYWJj\n-----END PRIVATE KEY-----"


def another_key() -> str:
    """A key of no App."""
    made = generate_private_key(65537, 2048)
    return made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def with_keys(settings: Settings, *keys: str) -> Settings:
    app = settings.require_app()
    return replace(settings, app=AppCredentials(app.app_id, tuple(map(SecretStr, keys)), app.webhook_secrets))


@dataclass
class MemoryVault:
    """A Vault that forgets nothing, for tests of its user; the real one is tested in tests/worker/adapters/redis."""

    kept: dict[str, bytes] = field(default_factory=dict[str, bytes])

    def get(self, name: str) -> bytes | None:
        return self.kept.get(name)

    def put(self, name: str, secret: bytes, ttl: timedelta) -> None:
        assert ttl > timedelta()
        self.kept[name] = secret


@dataclass(frozen=True)
class GitHubRepository:
    """One repository of the bench and what people do in it."""

    github: FakeGitHub
    name: str

    def push(self, branch: str, files: dict[str, Any], **more: Any) -> str:
        return str(self.github.control("push", repo=self.name, branch=branch, files=files, **more)["sha"])

    def pull(self, files: dict[str, Any] = CHANGE, body: str = "", login: str = "alice") -> "OpenedPullRequest":
        self.push("fix", files)
        return self.open_pull_request("fix", body, login)

    def open_pull_request(
        self, head: str, body: str = "", login: str = "alice", base: str = "main"
    ) -> "OpenedPullRequest":
        made = self.github.request_as(
            login, "POST", f"/repos/{self.name}/pulls", title="Fix", head=head, base=base, body=body
        )
        return OpenedPullRequest(self, int(made["number"]), str(made["head"]["sha"]))

    def issue(self, title: str, body: str) -> int:
        return int(
            self.github.request_as("alice", "POST", f"/repos/{self.name}/issues", title=title, body=body)["number"]
        )

    def ci(self, sha: str, name: str, **more: Any) -> None:
        self.github.control("ci", repo=self.name, sha=sha, name=name, **more)

    def script_answer(self, match: str, body: object, status: int = 200, **more: Any) -> None:
        """What GitHub answers to the next request that matches."""
        self.github.fault(match, kind="status", status=status, body=body, **more)

    def script_refusal(self, match: str, status: int, message: str = "No.", **more: Any) -> None:
        self.script_answer(match, {"message": message}, status, **more)

    def request_names(self, name: str | None = None) -> list[str]:
        """Every request since `forget`, in one word each."""
        return [one["operation"] or f"{one['method']} {one['status']}" for one in self.exchanges(name)]

    def exchanges(self, *names: str | None) -> list[Exchange]:
        return self.github.requests(self.name, *names)


@dataclass(frozen=True)
class OpenedPullRequest:
    place: GitHubRepository
    number: int
    sha: str

    @property
    def request(self) -> JudgeRequest:
        return JudgeRequest(
            pull=PullRef(installation_id=INSTALLATION, repository_id=RepositoryId(1), number=self.number),
            repository=self.place.name,
            head_sha=None,
            trigger=Trigger.OPENED,
            delivery_id=DeliveryId("d"),
            requested_at=datetime(2026, 11, 20, tzinfo=UTC),
        )

    def edit(self, **fields: Any) -> None:
        self.place.github.request_as("alice", "PATCH", f"/repos/{self.place.name}/pulls/{self.number}", **fields)


@pytest.fixture(scope="session")
def github() -> Iterator[FakeGitHub]:
    """One for all. Its App has one key, which is read once: each reading proves its primes, longer than a test takes."""
    bench = FakeGitHub.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jwt.algorithms.load_pem_private_key", cache(load_pem_private_key))
        yield bench
    bench.stop()


@pytest.fixture
def github_repository(github: FakeGitHub) -> Iterator[GitHubRepository]:
    """A new repository. Afterwards every exchange about it must be one that GitHub has."""
    name = f"things-{uuid4().hex[:8]}"
    github.control("repo", name=name, files={"a.py": "x = 1\ny = 2\n", "old.txt": "a\nb\nc\n"})
    place = GitHubRepository(github, f"acme/{name}")
    yield place
    github.clear_faults()
    assert find_violations(place.exchanges(None, "bob", "anonymous")) == []


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
