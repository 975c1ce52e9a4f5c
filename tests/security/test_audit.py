"""The audit of dependencies: an advisory fails it, an unreachable source does not."""

import json
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOCK = """
[[package]]
name = "mine"
version = "1.0"
source = { editable = "." }

[[package]]
name = "good"
version = "2.0"
source = { registry = "https://example.test/simple" }

[[package]]
name = "bad"
version = "0.1"
source = { registry = "https://example.test/simple" }
"""


class AuditResult(NamedTuple):
    code: int
    text: str


Answer = Callable[[list[dict[str, Any]]], bytes]


@contextmanager
def serve_advisories(answer: Answer, asked: list[Any]) -> Generator[str]:
    """Serve advisories in the form of OSV, and record the queries."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            queries = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
            asked.extend(queries)
            body = answer(queries)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002 - the library's name

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/querybatch"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def run_audit(tmp_path: Path, url: str, lock: str = LOCK) -> AuditResult:
    (tmp_path / "uv.lock").write_text(lock)
    order = [sys.executable, str(ROOT / ".ci/audit.py"), "--lock", str(tmp_path / "uv.lock"), "--source", url]
    ran = subprocess.run([*order, "--timeout", "5"], env={}, capture_output=True, text=True, check=False)
    assert ran.stderr == ""
    return AuditResult(ran.returncode, ran.stdout)


def advisory_for(name: str) -> Answer:
    """An answer with an advisory about this package."""
    return lambda queries: json.dumps(
        {"results": [{"vulns": [{"id": "GHSA-1"}]} if query["package"]["name"] == name else {} for query in queries]}
    ).encode()


def test_advisory_about_a_locked_version_fails_and_is_named(tmp_path: Path) -> None:
    asked: list[Any] = []
    with serve_advisories(advisory_for("bad"), asked) as url:
        assert run_audit(tmp_path, url) == (
            1,
            "bad 0.1: GHSA-1\naudit of dependencies: 2 packages, 1 with advisories\n",
        )
    assert asked == [
        {"package": {"name": "bad", "ecosystem": "PyPI"}, "version": "0.1"},
        {"package": {"name": "good", "ecosystem": "PyPI"}, "version": "2.0"},
    ]


def test_audit_without_advisories_counts_the_packages(tmp_path: Path) -> None:
    with serve_advisories(advisory_for("nothing"), []) as url:
        assert run_audit(tmp_path, url) == (0, "audit of dependencies: 2 packages, 0 with advisories\n")


def test_unreachable_source_is_reported_without_failing(tmp_path: Path) -> None:
    result = run_audit(tmp_path, "http://127.0.0.1:9/v1/querybatch")
    assert result.code == 0
    assert result.text.startswith("audit of dependencies: not run: http://127.0.0.1:9/v1/querybatch can't be asked (")
    assert "advisories\n" not in result.text


@pytest.mark.parametrize("body", [b"<html>Sign in</html>", b"[]", b'{"results": [{}]}', b'{"results": [1, 2]}'])
def test_malformed_answer_is_reported_as_not_run(tmp_path: Path, body: bytes) -> None:
    with serve_advisories(lambda _: body, []) as url:
        result = run_audit(tmp_path, url)
    assert (result.code, "not run: " in result.text) == (0, True)


def test_ci_runs_the_audit() -> None:
    assert ".ci/audit.py" in (ROOT / ".ci/run").read_text()
