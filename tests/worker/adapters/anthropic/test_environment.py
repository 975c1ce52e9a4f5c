"""What the SDK takes from the environment by itself, beside our settings: docs/configuration.md says so, and no more."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from pydantic import SecretStr
from pytest_httpserver import HTTPServer

from tests.worker.adapters.anthropic.sdk import anthropic_model
from tests.world.anthropic import Anthropic
from worker.domain.ports import Prompt
from worker.settings import ModelAccess

PROMPT = Prompt("You judge.", ("The change.",), {"type": "object"}, "v")
DOCS = Path(__file__).resolve().parents[4] / "docs" / "configuration.md"
TAKEN = (
    "ANTHROPIC_CUSTOM_HEADERS",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "ANTHROPIC_LOG",
)


@pytest.fixture
def script() -> Iterator[Anthropic]:
    with HTTPServer(threaded=True) as server:
        played = Anthropic(server)
        yield played
        played.check()


def headers(script: Anthropic, url: str | None = None) -> dict[str, str]:
    """The headers of one request, which came to *script*."""
    script.answers({})
    access = ModelAccess(SecretStr("sk-ours"), url or script.url, "claude-haiku-5-5", 5.0, 1, 0.0, 700)
    with closing(anthropic_model(access)) as model:
        model.ask(PROMPT)
    request, _ = script.server.log[-1]
    return {name.lower(): value for name, value in request.headers.items()}


def test_no_other_key_and_no_other_address_is_taken(script: Anthropic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-other")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "other")
    monkeypatch.setenv("ANTHROPIC_PROFILE", "other")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    sent = headers(script)
    keys = [sent[name] for name in ("x-api-key", "authorization") if name in sent]
    assert [key.removeprefix("Bearer ") for key in keys] == ["sk-ours"]
    assert not [name for name, value in sent.items() if "other" in value]


def test_headers_and_a_proxy_are_taken(script: Anthropic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-team: context")
    monkeypatch.setenv("HTTP_PROXY", script.url)
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("no_proxy", "")
    assert headers(script, "http://model.invalid")["x-team"] == "context"


def test_the_configuration_reference_says_what_is_taken() -> None:
    text = DOCS.read_text()
    assert [name for name in TAKEN if f"`{name}`" not in text] == []
