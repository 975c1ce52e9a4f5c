"""Outgoing requests: a URL in foreign text is never called, and a redirect never carries our token."""

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from pydantic import SecretStr
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.app.cli.assay_command import environment, run_assay
from tests.conversations.conftest import anthropic_server, github, product, redis, shared_product, world
from tests.worker.adapters.github.conftest import INSTALLATION, MemoryVault, another_key
from tests.worker.judge.samples import dossier
from tests.world.changes import ISSUE, PROJECT, RETRY, RETRY_AT
from tests.world.replies import accept
from tests.world.world import World
from worker.adapters.github.checks import JOB_URL, JobLogs
from worker.adapters.github.client import app_access, token_access
from worker.domain.dossier import Ci, CiCheck, CiState
from worker.process import SystemClock
from worker.settings import AppCredentials, Settings, Timing

__all__ = ["anthropic_server", "github", "product", "redis", "shared_product", "world"]  # fixtures of the conversations

ROOT: Final = Path(__file__).resolve().parents[2]
TOKEN: Final = "ghp_" + "canaryOfTheInstallation0000000000000"
LOG: Final = "/repos/acme/widgets/actions/jobs/5/logs"

NETWORK_MODULES: Final = {
    "aiohttp", "anthropic", "asyncio", "ftplib", "githubkit", "http.client", "http.server", "httpx", "httpx2", "imaplib",
    "poplib", "redis", "requests", "smtplib", "socket", "socketserver", "ssl", "subprocess", "telnetlib", "urllib.request",
    "urllib3", "webbrowser", "xmlrpc.client",
}  # fmt: skip
ALLOWED_MODULES: Final = {
    "app/web/api.py": "waits, and opens no connection",
    "app/cli/serve.py": "starts our own commands",
    "app/cli/wait.py": "the Assay that the caller names",
    "app/web/server.py": "listens",
    "app/web/metrics.py": "listens",
    "app/web/setup.py": "ASSAY_GITHUB_API_URL",
    "app/web/webhooks.py": "waits, and opens no connection",
    "worker/adapters/github/client.py": "ASSAY_GITHUB_API_URL",
    "worker/adapters/github/errors_and_rate_limits.py": "reads errors",
    "worker/adapters/anthropic.py": "ANTHROPIC_BASE_URL",
    "worker/adapters/git/git.py": "git, without protocols",
    "worker/dossier/tree_sitter.py": "our own interpreter",
    "worker/scheduling/queue.py": "REDIS_URL",
    "worker/adapters/redis/connection/embedded_server.py": "starts our own Redis",
    "worker/adapters/redis/connection/server_supervisor.py": "our own Redis' socket",
    "worker/adapters/redis/connection/async_client.py": "REDIS_URL",
    "worker/adapters/redis/connection/client.py": "REDIS_URL",
    "worker/wiring/store.py": "starts our own interpreter",
}
"""Every module that can open a connection, and to what: an operator's setting, the caller's argument, or this machine."""


IMPORT: Final = re.compile(
    rf"^\s*(?:import|from)\s+(?:{'|'.join(re.escape(module) for module in NETWORK_MODULES)})\b(?!\.(?:parse|error))",
    re.MULTILINE,
)


def test_only_listed_modules_can_open_connections() -> None:
    files = {
        path: path.read_text(encoding="utf-8") for name in ("app", "worker") for path in (ROOT / name).rglob("*.py")
    }
    importing = {str(path.relative_to(ROOT)) for path, text in files.items() if IMPORT.search(text)}
    assert importing == set(ALLOWED_MODULES)


class Listener:
    """A local port to which the URLs of a test lead."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.settimeout(0)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def was_called(self) -> bool:
        try:
            connection, _ = self._socket.accept()
        except BlockingIOError:
            return False
        connection.close()
        return True

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    created = Listener()
    yield created
    created.close()


def test_listener_notices_a_connection(listener: Listener) -> None:
    assert not listener.was_called()
    socket.create_connection(("127.0.0.1", int(listener.url.rpartition(":")[2]))).close()
    assert listener.was_called()


def markdown_pointing_at(url: str) -> str:
    """Markdown, YAML and a case that point to *url* in every way."""
    return (
        f"{url}/a ![x]({url}/b.png) [y]({url}/c) <{url}/d> <img src={url}/e> <script src='{url}/f'></script>\n\n"
        f"Closes {url}/acme/widgets/issues/7\n\n[ref]: {url}/g\n\n- [ ] see {url}/h\n\n"
        f"```assay\nsummary: '{url}/i'\nac_coverage:\n  - claim: '{url}/j'\n    addressed_by: '{url}/k'\n"
        f"    evidence: '{url}/l'\nwork_arounds: ['{url}/m']\nuncertainties: ['{url}/n']\n```\n"
    )


def dossier_pointing_at(url: str) -> str:
    """A dossier with *url* in every foreign text."""
    plain = dossier()
    pull = plain.pull_request.model_copy(update={"title": url, "body": markdown_pointing_at(url)})
    issues = tuple(
        issue.model_copy(update={"title": url, "body": markdown_pointing_at(url), "url": f"{url}/o"})
        for issue in plain.issues
    )
    check = CiCheck(name=url, conclusion="success", app=url, summary=url, log_tail=url)
    return plain.model_copy(
        update={"pull_request": pull, "issues": issues, "ci": Ci(state=CiState.SUCCESS, checks=(check,))}
    ).model_dump_json(exclude_unset=True)


@pytest.mark.slow
def test_dossier_full_of_urls_is_judged_without_calling_them(listener: Listener, tmp_path: Path) -> None:
    file = tmp_path / "dossier.json"
    file.write_text(dossier_pointing_at(listener.url), encoding="utf-8")
    done = run_assay("judge", "--dossier", str(file), "--json", environ=environment(tmp_path / "state"))
    assert json.loads(done.stdout)["decision"], done.stderr
    assert not listener.was_called()


@pytest.mark.slow
def test_urls_in_pull_requests_issues_cases_and_configuration_are_never_called(
    world: World, listener: Listener
) -> None:
    config = f"# {listener.url}\nnever_send: ['{listener.url}/*']\nci_ignore: ['{listener.url}']\n"
    rules = {
        "AGENTS.md": markdown_pointing_at(listener.url),
        ".github/assay.yml": config,
        "CODEOWNERS": f"* {listener.url} @bob\n",
    }
    repository = world.create_repository({**PROJECT, **rules})
    issue = world.alice.write_issue(listener.url[:200], f"{ISSUE[1]}\n{markdown_pointing_at(listener.url)}")
    world.model.reply_by(lambda _: accept(RETRY_AT, concern=f"See {listener.url}/model ![x]({listener.url}/y.png)."))
    hidden = {
        ".gitmodules": f'[submodule "x"]\n\tpath = x\n\turl = {listener.url}/x.git\n',
        "README.md": markdown_pointing_at(listener.url),
    }
    body = f"Closes #{issue.number}\n\n{markdown_pointing_at(listener.url)}"
    pull = world.agent.open_pull_request({**RETRY, **hidden}, body=body, title=listener.url, draft=True)
    repository.report_ci(pull.head, "unit tests", "success", listener.url)
    world.agent.mark_ready(pull)
    world.wait_until_idle()
    world.bob.comment(pull, f"/contest {listener.url}/reason")
    world.wait_until_idle()
    assert pull.check.status == "completed"
    assert not listener.was_called()


@pytest.fixture(scope="module")
def api_and_storage() -> Iterator[tuple[HTTPServer, HTTPServer]]:
    with HTTPServer(threaded=True) as api, HTTPServer(threaded=True) as elsewhere:
        yield api, elsewhere


@pytest.fixture
def reset_servers(api_and_storage: tuple[HTTPServer, HTTPServer]) -> tuple[HTTPServer, HTTPServer]:
    """The GitHub API and the storage of its logs."""
    for server in api_and_storage:
        server.clear()
    return api_and_storage


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("is_app", [True, False], ids=["installation", "person"])
def test_redirected_job_log_request_does_not_carry_our_token(
    reset_servers: tuple[HTTPServer, HTTPServer],
    tmp_path: Path,
    status: int,
    is_app: bool,  # noqa: FBT001 - a table
) -> None:
    api, storage = reset_servers
    requests: list[tuple[str, dict[str, str]]] = []

    def answer(request: Request) -> Response:
        requests.append((request.host, dict(request.headers)))
        if request.path.endswith("/access_tokens"):
            grant: dict[str, object] = {"token": TOKEN, "expires_at": "2999-01-01T00:00:00Z", "permissions": {}}
            return Response(json.dumps(grant), status=201, content_type="application/json")
        if request.path == LOG:
            return Response(status=status, headers={"Location": storage.url_for("/signed?sig=1")})
        return Response(b"FAILED tests/test_a.py::test_b\n")

    for server in reset_servers:
        server.expect_request("/signed").respond_with_handler(answer)
        server.expect_request(LOG).respond_with_handler(answer)
    api.expect_request("/app/installations/100/access_tokens", method="POST").respond_with_handler(answer)

    assert read_job_log(api, tmp_path, is_app=is_app) == "FAILED tests/test_a.py::test_b"
    storage_headers = [headers for host, headers in requests if host.endswith(f":{storage.port}")]
    api_headers = [
        headers for host, headers in requests if host.endswith(f":{api.port}") and "Authorization" in headers
    ]
    assert len(storage_headers) == 1
    assert TOKEN not in json.dumps(storage_headers)
    assert "Authorization" not in storage_headers[0]
    assert any(TOKEN in headers["Authorization"] for headers in api_headers), "the test uses the right token"


def read_job_log(api: HTTPServer, folder: Path, *, is_app: bool) -> str:
    url, clock, timing = api.url_for("").rstrip("/"), SystemClock(), Timing(github_timeout=5)
    if not is_app:
        person = Settings(data_dir=folder, github_token=SecretStr(TOKEN), github_api_url=url, timing=timing)
        with token_access(person, clock) as access:
            return JobLogs(access.api(INSTALLATION), "acme/widgets").tail("5")
    credentials = AppCredentials(1, (SecretStr(another_key()),), (SecretStr("secret"),))
    app = Settings(data_dir=folder, app=credentials, github_api_url=url, timing=timing)
    with app_access(app, MemoryVault(), clock) as access:
        return JobLogs(access.api(INSTALLATION), "acme/widgets").tail("5")


@pytest.mark.parametrize(
    ("url", "job"),
    [
        ("https://github.com/acme/widgets/actions/runs/1/job/5", "5"),
        (
            "https://evil.example/acme/widgets/actions/runs/1/job/5",
            "5",
        ),  # the log is still read from our own repository
        ("https://evil.example/actions/runs/1/job/../../../../user", None),
        ("https://evil.example/actions/runs/1/job/5/../../6", None),
        ("https://evil.example/actions/runs/1/job/5%2f..%2f6", None),
        ("https://evil.example/", None),
    ],
)
def test_only_the_job_number_is_read_from_a_check_url(url: str, job: str | None) -> None:
    match = JOB_URL.search(url)
    assert (match[1] if match else None) == job
