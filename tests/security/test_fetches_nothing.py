"""An address that others wrote is text: nobody calls there, and where GitHub sends us on, our token stays behind."""

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from pydantic import SecretStr
from pytest_httpserver import HTTPServer
from werkzeug import Request as Asked
from werkzeug import Response as Answered

from tests.app.cli.assay_command import environment, run_assay
from tests.conversations.conftest import anthropic_server, github, product, redis, shared_product, world
from tests.worker.adapters.github.conftest import INSTALLATION, MemoryVault, another_key
from tests.worker.judge.samples import dossier
from tests.world.changes import ISSUE, PROJECT, RETRY, RETRY_AT
from tests.world.replies import accept
from tests.world.world import World
from worker.adapters.github.ci_checks import JOB_URL, JobLogs
from worker.adapters.github.client import app_access, token_access
from worker.clock import SystemClock
from worker.domain.dossier import Ci, CiCheck, CiState
from worker.settings import AppCredentials, Settings, Timing

__all__ = [
    "anthropic_server",
    "github",
    "product",
    "redis",
    "shared_product",
    "world",
]  # the stage of the conversations

ROOT: Final = Path(__file__).resolve().parents[2]
TOKEN: Final = "ghp_" + "canaryOfTheInstallation0000000000000"
LOG: Final = "/repos/acme/widgets/actions/jobs/5/logs"

CALLERS: Final = {
    "aiohttp", "anthropic", "asyncio", "ftplib", "githubkit", "http.client", "http.server", "httpx", "httpx2", "imaplib",
    "poplib", "redis", "requests", "smtplib", "socket", "socketserver", "ssl", "subprocess", "telnetlib", "urllib.request",
    "urllib3", "webbrowser", "xmlrpc.client",
}  # fmt: skip
WHO_MAY_CALL: Final = {
    "app/web/api.py": "waits, and opens no connection",
    "app/web/asgi.py": "listens",
    "app/cli/serve.py": "starts our own commands",
    "app/cli/wait.py": "the Assay that the caller names",
    "app/web/timeouts.py": "listens",
    "app/web/metrics.py": "listens",
    "app/web/setup.py": "ASSAY_GITHUB_API_URL",
    "app/web/webhooks.py": "waits, and opens no connection",
    "worker/adapters/github/client.py": "ASSAY_GITHUB_API_URL",
    "worker/adapters/github/errors.py": "reads errors",
    "worker/adapters/anthropic/model.py": "ANTHROPIC_BASE_URL",
    "worker/adapters/git/git.py": "git, without protocols",
    "worker/dossier/parser_sandbox.py": "our own interpreter",
    "worker/scheduling/queue.py": "REDIS_URL",
    "worker/adapters/redis/connection/embedded_server.py": "starts our own Redis",
    "worker/adapters/redis/connection/server_supervisor.py": "our own Redis' socket",
    "worker/adapters/redis/connection/async_client.py": "REDIS_URL",
    "worker/adapters/redis/connection/client.py": "REDIS_URL",
    "worker/wiring/figures.py": "starts our own interpreter",
}
"""Every module that could call anybody, and whom: an operator's setting, the caller's own argument, or this machine."""


IMPORT: Final = re.compile(
    rf"^\s*(?:import|from)\s+(?:{'|'.join(re.escape(one) for one in CALLERS)})\b(?!\.(?:parse|error))", re.MULTILINE
)


def test_only_modules_that_are_known_for_it_can_call_anybody() -> None:
    files = {
        path: path.read_text(encoding="utf-8") for name in ("app", "worker") for path in (ROOT / name).rglob("*.py")
    }
    able = {str(path.relative_to(ROOT)) for path, text in files.items() if IMPORT.search(text)}
    assert able == set(WHO_MAY_CALL)


class Listener:
    """A port of this machine that everything in a test names."""

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
def trap() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.close()


def test_the_trap_works(trap: Listener) -> None:
    assert not trap.was_called()
    socket.create_connection(("127.0.0.1", int(trap.url.rpartition(":")[2]))).close()
    assert trap.was_called()


def words(url: str) -> str:
    """Every way in which Markdown, YAML and a case can point somewhere."""
    return (
        f"{url}/a ![x]({url}/b.png) [y]({url}/c) <{url}/d> <img src={url}/e> <script src='{url}/f'></script>\n\n"
        f"Closes {url}/acme/widgets/issues/7\n\n[ref]: {url}/g\n\n- [ ] see {url}/h\n\n"
        f"```assay\nsummary: '{url}/i'\nac_coverage:\n  - claim: '{url}/j'\n    addressed_by: '{url}/k'\n"
        f"    evidence: '{url}/l'\nwork_arounds: ['{url}/m']\nuncertainties: ['{url}/n']\n```\n"
    )


def full_of(url: str) -> str:
    """A recorded dossier that names *url* wherever somebody else's words can stand."""
    plain = dossier()
    pull = plain.pull_request.model_copy(update={"title": url, "body": words(url)})
    issues = tuple(one.model_copy(update={"title": url, "body": words(url), "url": f"{url}/o"}) for one in plain.issues)
    check = CiCheck(name=url, conclusion="success", app=url, summary=url, log_tail=url)
    return plain.model_copy(
        update={"pull_request": pull, "issues": issues, "ci": Ci(state=CiState.SUCCESS, checks=(check,))}
    ).model_dump_json(exclude_unset=True)


@pytest.mark.slow
def test_a_recorded_dossier_full_of_addresses_is_judged_without_calling_any(trap: Listener, tmp_path: Path) -> None:
    file = tmp_path / "dossier.json"
    file.write_text(full_of(trap.url), encoding="utf-8")
    judged = run_assay("judge", "--dossier", str(file), "--json", environ=environment(tmp_path / "state"))
    assert json.loads(judged.stdout)["decision"], judged.stderr
    assert not trap.was_called()


@pytest.mark.slow
def test_what_a_pull_request_an_issue_a_case_or_a_configuration_names_is_never_called(
    world: World, trap: Listener
) -> None:
    config = f"# {trap.url}\nnever_send: ['{trap.url}/*']\nci_ignore: ['{trap.url}']\n"
    rules = {"AGENTS.md": words(trap.url), ".github/assay.yml": config, "CODEOWNERS": f"* {trap.url} @bob\n"}
    here = world.create_repository({**PROJECT, **rules})
    issue = world.alice.write_issue(trap.url[:200], f"{ISSUE[1]}\n{words(trap.url)}")
    world.model.reply_by(lambda _: accept(RETRY_AT, concern=f"See {trap.url}/model ![x]({trap.url}/y.png)."))
    hidden = {".gitmodules": f'[submodule "x"]\n\tpath = x\n\turl = {trap.url}/x.git\n', "README.md": words(trap.url)}
    body = f"Closes #{issue.number}\n\n{words(trap.url)}"
    pull = world.agent.open_pull_request({**RETRY, **hidden}, body=body, title=trap.url, draft=True)
    here.report_ci(pull.head, "unit tests", "success", trap.url)
    world.agent.mark_ready(pull)
    world.wait_until_idle()
    world.bob.comment(pull, f"/contest {trap.url}/reason")
    world.wait_until_idle()
    assert pull.check.status == "completed"
    assert not trap.was_called()


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[HTTPServer, HTTPServer]]:
    with HTTPServer(threaded=True) as api, HTTPServer(threaded=True) as elsewhere:
        yield api, elsewhere


@pytest.fixture
def servers(both: tuple[HTTPServer, HTTPServer]) -> tuple[HTTPServer, HTTPServer]:
    """GitHub's API, and where it keeps its logs."""
    for one in both:
        one.clear()
    return both


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("is_app", [True, False], ids=["installation", "person"])
def test_where_a_jobs_log_is_kept_elsewhere_our_token_is_not_carried_there(
    servers: tuple[HTTPServer, HTTPServer],
    tmp_path: Path,
    status: int,
    is_app: bool,  # noqa: FBT001 - a table
) -> None:
    api, elsewhere = servers
    told: list[tuple[str, dict[str, str]]] = []

    def answer(asked: Asked) -> Answered:
        told.append((asked.host, dict(asked.headers)))
        if asked.path.endswith("/access_tokens"):
            grant: dict[str, object] = {"token": TOKEN, "expires_at": "2999-01-01T00:00:00Z", "permissions": {}}
            return Answered(json.dumps(grant), status=201, content_type="application/json")
        if asked.path == LOG:
            return Answered(status=status, headers={"Location": elsewhere.url_for("/signed?sig=1")})
        return Answered(b"FAILED tests/test_a.py::test_b\n")

    for server in servers:
        server.expect_request("/signed").respond_with_handler(answer)
        server.expect_request(LOG).respond_with_handler(answer)
    api.expect_request("/app/installations/100/access_tokens", method="POST").respond_with_handler(answer)

    assert tail(api, tmp_path, is_app=is_app) == "FAILED tests/test_a.py::test_b"
    there = [headers for host, headers in told if host.endswith(f":{elsewhere.port}")]
    ours = [headers for host, headers in told if host.endswith(f":{api.port}") and "Authorization" in headers]
    assert len(there) == 1
    assert TOKEN not in json.dumps(there)
    assert "Authorization" not in there[0]
    assert any(TOKEN in headers["Authorization"] for headers in ours), "or this test looks at the wrong token"


def tail(api: HTTPServer, folder: Path, *, is_app: bool) -> str:
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
        ("https://evil.example/acme/widgets/actions/runs/1/job/5", "5"),  # of our own repository all the same
        ("https://evil.example/actions/runs/1/job/../../../../user", None),
        ("https://evil.example/actions/runs/1/job/5/../../6", None),
        ("https://evil.example/actions/runs/1/job/5%2f..%2f6", None),
        ("https://evil.example/", None),
    ],
)
def test_of_a_checks_address_only_a_jobs_number_is_taken(url: str, job: str | None) -> None:
    found = JOB_URL.search(url)
    assert (found[1] if found else None) == job
