"""The audit of what we depend on: it fails for a finding, never for a missing network, and calls neither the other."""

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


class Said(NamedTuple):
    code: int
    words: str


Answer = Callable[[list[dict[str, Any]]], bytes]


@contextmanager
def source(answer: Answer, asked: list[Any]) -> Generator[str]:
    """Somebody who answers for packages, in the form of OSV."""

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


def audit(tmp_path: Path, url: str, lock: str = LOCK) -> Said:
    (tmp_path / "uv.lock").write_text(lock)
    order = [sys.executable, str(ROOT / ".ci/audit.py"), "--lock", str(tmp_path / "uv.lock"), "--source", url]
    ran = subprocess.run([*order, "--timeout", "5"], env={}, capture_output=True, text=True, check=False)
    assert ran.stderr == ""
    return Said(ran.returncode, ran.stdout)


def about(name: str) -> Answer:
    """An advisory about this package."""
    return lambda queries: json.dumps(
        {"results": [{"vulns": [{"id": "GHSA-1"}]} if one["package"]["name"] == name else {} for one in queries]}
    ).encode()


def test_an_advisory_about_a_locked_version_fails_and_is_named(tmp_path: Path) -> None:
    asked: list[Any] = []
    with source(about("bad"), asked) as url:
        assert audit(tmp_path, url) == (
            1,
            "bad 0.1: GHSA-1\naudit of dependencies: 2 packages, 1 with advisories\n",
        )
    assert asked == [
        {"package": {"name": "bad", "ecosystem": "PyPI"}, "version": "0.1"},
        {"package": {"name": "good", "ecosystem": "PyPI"}, "version": "2.0"},
    ]


def test_without_any_it_says_how_many_were_looked_at(tmp_path: Path) -> None:
    with source(about("nothing"), []) as url:
        assert audit(tmp_path, url) == (0, "audit of dependencies: 2 packages, 0 with advisories\n")


def test_a_source_that_can_not_be_reached_is_reported_and_fails_nothing(tmp_path: Path) -> None:
    said = audit(tmp_path, "http://127.0.0.1:9/v1/querybatch")
    assert said.code == 0
    assert said.words.startswith("audit of dependencies: not run: http://127.0.0.1:9/v1/querybatch can't be asked (")
    assert "advisories\n" not in said.words


@pytest.mark.parametrize("body", [b"<html>Sign in</html>", b"[]", b'{"results": [{}]}', b'{"results": [1, 2]}'])
def test_an_answer_that_is_none_is_not_taken_for_nothing_found(tmp_path: Path, body: bytes) -> None:
    with source(lambda _: body, []) as url:
        said = audit(tmp_path, url)
    assert (said.code, "not run: " in said.words) == (0, True)


def test_what_is_locked_is_what_is_asked_for_in_ci() -> None:
    assert ".ci/audit.py" in (ROOT / ".ci/run").read_text()
