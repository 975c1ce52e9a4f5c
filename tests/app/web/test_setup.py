"""Setup over HTTP: the token, the request to GitHub, the pages, and secrets that stay hidden."""

import base64
import io
import json
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest
from inline_snapshot import snapshot
from pydantic import SecretStr
from pytest_httpserver import HTTPServer

from app.web.setup import (
    STYLE_HASH,
    CreatedApp,
    SetupFormValues,
    closed_page,
    confirm_page,
    done_page,
    form_page,
    open_setup,
    refused_page,
    setting_lines,
)
from tests.app.web.web_server import PATH, WebServer, serve_web, settings
from tests.golden.golden import Golden
from tests.world.contract import find_violations
from tests.world.fake_github import FakeGitHub
from tests.world.redis import RedisServer
from worker.adapters.redis.store import Store
from worker.domain.config.github_app import OptIn, build_manifest, read_setup_form, requested_permissions
from worker.settings import Settings, read_settings

HOME = "https://assay.example.org"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nplayed\n-----END RSA PRIVATE KEY-----\n"
APP = {
    "id": 77,
    "slug": "assay-acme",
    "html_url": "https://github.com/apps/assay-acme",
    "pem": PEM,
    "webhook_secret": "hush",
}


class SetupBrowser:
    """A web server without an App, and a browser."""

    def __init__(self, url: str, log: io.StringIO, store: Store) -> None:
        self.http = httpx.Client(base_url=url, timeout=10)
        self._log = log
        self._store = store

    def start_over(self) -> None:
        """Begin as after a start of the web server."""
        self._store.client.call("FLUSHALL")
        self._log.seek(0)
        self._log.truncate()
        open_setup(self._store, self._log)

    @property
    def printed(self) -> str:
        return self._log.getvalue()

    @property
    def token(self) -> str:
        match = re.search(r"^    ([\w-]{43})$", self.printed, re.MULTILINE)
        assert match
        return match[1]

    @property
    def outcomes(self) -> list[str]:
        lines = [json.loads(line) for line in self.printed.splitlines() if line.startswith("{")]
        return [line["outcome"] for line in lines]

    def begin(self, **fields: Any) -> httpx.Response:
        form = {"token": self.token, "address": HOME, "opt_in": [str(option) for option in OptIn], **fields}
        return self.http.post("/setup", content=urlencode(form, doseq=True), headers={"Content-Type": FORM})

    def begin_and_get_state(self) -> str:
        """The state that GitHub sends back."""
        return parse_qs(urlsplit(form_action(self.begin().text)).query)["state"][0]

    def call_back(self, code: str, state: str) -> httpx.Response:
        return self.http.get("/setup/callback", params={"code": code, "state": state})


FORM = "application/x-www-form-urlencoded"


def form_action(html: str) -> str:
    """The target of the last form of a page."""
    return unescape(re.findall(r'<form method="post" action="([^"]+)"', html)[-1])


def manifest_of(html: str) -> dict[str, Any]:
    match = re.search(r'name="manifest" value="([^"]+)"', html)
    assert match
    return json.loads(unescape(match[1]))


def settings_of(html: str) -> Settings:
    """The settings in the lines to paste."""
    match = re.search(r"<pre>(ASSAY_APP_ID.+?)</pre>", html, re.DOTALL)
    assert match
    return read_settings(dict(line.split("=", 1) for line in unescape(match[1]).splitlines()))


def page_words(html: str) -> str:
    """The text of a page."""
    body = re.sub(r"<style>.*?</style>|<[^>]+>", " ", html, flags=re.DOTALL)
    return " ".join(unescape(body).split())


@contextmanager
def open_setup_browser(redis: RedisServer, api_url: str) -> Generator[SetupBrowser]:
    log = io.StringIO()
    configured = settings(app=None, redis_url=SecretStr(redis.url), github_api_url=api_url)
    with serve_web(configured, log) as (url, store):
        browser = SetupBrowser(url, log, store)
        try:
            yield browser
        finally:
            browser.http.close()


@pytest.fixture(scope="module")
def shared_api() -> Iterator[HTTPServer]:
    with HTTPServer(threaded=True) as server:
        yield server


@pytest.fixture
def fake_api(shared_api: HTTPServer) -> HTTPServer:
    shared_api.clear()
    return shared_api


@pytest.fixture(scope="module")
def shared_setup(redis_server: RedisServer, shared_api: HTTPServer) -> Iterator[SetupBrowser]:
    with open_setup_browser(redis_server, shared_api.url_for("").rstrip("/")) as browser:
        yield browser


@pytest.fixture
def setup(shared_setup: SetupBrowser, fake_api: HTTPServer) -> SetupBrowser:
    assert fake_api.log == []
    shared_setup.start_over()
    return shared_setup


def expect_conversion(played: HTTPServer, code: str = "c0de", status: int = 201, answer: Any = APP) -> None:
    """Let the GitHub API answer this code once."""
    handler = played.expect_ordered_request(f"/app-manifests/{code}/conversions", method="POST")
    handler.respond_with_json(answer, status=status)


def test_setup_creates_an_app_and_shows_its_settings_once(setup: SetupBrowser, fake_api: HTTPServer) -> None:
    assert setup.http.get("/setup").status_code == 200
    confirm = setup.begin(organization="acme")
    assert confirm.status_code == 200
    assert urlsplit(form_action(confirm.text)).path == "/organizations/acme/settings/apps/new"
    assert manifest_of(confirm.text)["default_permissions"] == requested_permissions(OptIn)
    expect_conversion(fake_api)
    done = setup.call_back("c0de", parse_qs(urlsplit(form_action(confirm.text)).query)["state"][0])
    assert done.status_code == 200
    app = settings_of(done.text).require_app()
    assert (app.app_id, app.webhook_secrets[0].get_secret_value()) == (77, "hush")
    assert app.private_keys[0].get_secret_value() == PEM.strip()
    assert "fly secrets set ASSAY_APP_ID=77 ASSAY_WEBHOOK_SECRET=hush ASSAY_APP_PRIVATE_KEY=" in done.text
    assert setup.http.get("/setup").status_code == 404
    assert "An App was created here" in setup.begin().text
    assert setup.outcomes == ["begun", "created"]


@pytest.mark.parametrize(
    ("chosen", "declined"),
    [(["comments"], [OptIn.REACTIONS]), (["reactions", "merge_queue"], [OptIn.COMMENTS]), (["merge_queue"], [])],
)
def test_declined_option_with_a_shared_permission_becomes_a_setting(
    setup: SetupBrowser, fake_api: HTTPServer, chosen: list[str], declined: list[OptIn]
) -> None:
    confirm = setup.begin(opt_in=chosen)
    expect_conversion(fake_api)
    done = setup.call_back("c0de", parse_qs(urlsplit(form_action(confirm.text)).query)["state"][0])
    assert list(settings_of(done.text).declined) == declined


def test_confirm_page_shows_what_github_is_asked_for(setup: SetupBrowser) -> None:
    confirm = setup.begin(opt_in=["merge_queue"], deliveries="https://tunnel.example/x")
    manifest = manifest_of(confirm.text)
    assert manifest["hook_attributes"]["url"] == "https://tunnel.example/x"
    assert manifest["redirect_url"] == f"{HOME}/setup/callback"
    text = page_words(confirm.text)
    for name, level in manifest["default_permissions"].items():
        assert f"{name}: {level}" in text
    assert f"Deliveries go to https://tunnel.example/x GitHub sends you back to {HOME}/setup/callback" in text
    assert ", ".join(manifest["default_events"]) in text


GUESSES = ("", "x", "0" * 43, " ", "*", "\x00", "ä" * 43)


def test_guessed_token_is_refused_and_the_real_one_still_works(setup: SetupBrowser) -> None:
    token = setup.token
    near = [token[:-1], token + "a", token[1:], token.swapcase(), token[::-1]]
    for guess in (*GUESSES, *near * 10):
        refused = setup.begin(token=guess)
        assert refused.status_code == 403
        assert "That is not the token." in page_words(refused.text)
        assert "manifest" not in refused.text.replace("/app-manifests", "")
    assert set(setup.outcomes) == {"wrong_token"}
    assert setup.begin().status_code == 200
    assert token not in setup.printed.replace(f"    {token}\n", "")


def test_callback_with_an_unknown_state_is_refused(setup: SetupBrowser) -> None:
    for state in ("", "made-up", setup.token):
        refused = setup.call_back("c0de", state)
        assert refused.status_code == 403
        assert "did not begin here" in refused.text
    assert setup.http.get("/setup").status_code == 200
    assert setup.outcomes == ["wrong_state"] * 3


def test_replayed_callback_shows_no_secret(setup: SetupBrowser, fake_api: HTTPServer) -> None:
    state = setup.begin_and_get_state()
    expect_conversion(fake_api)
    assert "hush" in setup.call_back("c0de", state).text
    replayed = setup.call_back("c0de", state)
    assert (replayed.status_code, "hush" in replayed.text) == (403, False)
    assert len(fake_api.log) == 1


def test_second_pending_setup_is_closed_by_the_first(setup: SetupBrowser, fake_api: HTTPServer) -> None:
    first, second = setup.begin_and_get_state(), setup.begin_and_get_state()
    expect_conversion(fake_api)
    assert setup.call_back("c0de", first).status_code == 200
    assert setup.call_back("c0de", second).status_code == 403
    assert len(fake_api.log) == 1


@pytest.mark.parametrize("code", ["", "../../user", "a/b", "a?b", "a b", "x" * 201, "%2e%2e"])
def test_malformed_code_is_not_sent_to_github(setup: SetupBrowser, fake_api: HTTPServer, code: str) -> None:
    refused = setup.call_back(code, setup.begin_and_get_state())
    assert refused.status_code == 502
    assert "That is no code" in page_words(refused.text)
    assert fake_api.log == []


def test_code_that_github_refuses_is_reported(setup: SetupBrowser, fake_api: HTTPServer) -> None:
    expect_conversion(fake_api, status=404, answer={"message": "Not Found"})
    refused = setup.call_back("c0de", setup.begin_and_get_state())
    assert refused.status_code == 502
    assert "it answered 404. A code is good for an hour, and once." in page_words(refused.text)


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {**APP, "pem": None},
        {**APP, "id": 0},
        {**APP, "html_url": "javascript:x"},
        {**APP, "html_url": f"https://{'x' * 500}"},
        {**APP, "slug": "x" * 101},
        {**APP, "slug": "a b"},
        {**APP, "slug": ""},
        "<html>",
    ],
)
def test_invalid_app_answer_is_reported_without_its_content(
    setup: SetupBrowser, fake_api: HTTPServer, answer: Any
) -> None:
    expect_conversion(fake_api, answer=answer)
    refused = setup.call_back("c0de", setup.begin_and_get_state())
    assert (refused.status_code, "hush" in refused.text) == (502, False)
    assert "what is no App" in page_words(refused.text)
    assert "hush" not in setup.printed


def test_callback_can_be_retried_after_a_github_outage(setup: SetupBrowser, fake_api: HTTPServer) -> None:
    state = setup.begin_and_get_state()
    expect_conversion(fake_api, status=502, answer={})
    down = setup.call_back("c0de", state)
    assert down.status_code == 503
    assert "Reload this page" in page_words(down.text)
    expect_conversion(fake_api)
    assert setup.call_back("c0de", state).status_code == 200


def test_redirect_from_github_is_not_followed(setup: SetupBrowser, fake_api: HTTPServer) -> None:
    there = fake_api.url_for("/elsewhere")
    handler = fake_api.expect_ordered_request("/app-manifests/c0de/conversions", method="POST")
    handler.respond_with_data("", status=302, headers={"Location": there})
    assert setup.call_back("c0de", setup.begin_and_get_state()).status_code == 502
    assert [request.path for request, _ in fake_api.log] == ["/app-manifests/c0de/conversions"]


def test_host_header_does_not_reach_the_manifest(setup: SetupBrowser) -> None:
    evil = {"Host": "evil.example", "X-Forwarded-Host": "evil.example", "Content-Type": FORM}
    offered = setup.http.get("/setup", headers=evil)
    assert (
        'name="address" type="url" value="https://evil.example"' in offered.text
    )  # a person can correct it before sending
    form = urlencode({"token": setup.token, "address": HOME})
    confirm = setup.http.post("/setup", content=form, headers=evil)
    assert confirm.status_code == 200
    assert "evil" not in confirm.text
    assert f"GitHub sends you back to {HOME}/setup/callback" in page_words(confirm.text)


@pytest.mark.parametrize("host", ['"><script>alert(1)</script>', "a.b/evil", "a@b", "a b"])
def test_malformed_host_header_is_not_shown(setup: SetupBrowser, host: str) -> None:
    offered = setup.http.get("/setup", headers={"Host": host})
    assert offered.status_code in (200, 400)
    assert host not in offered.text


def test_invalid_form_input_is_escaped_and_the_token_not_echoed(setup: SetupBrowser) -> None:
    typed = '"><img src=x onerror=alert(1)>'
    refused = setup.begin(address=typed, organization=typed)
    assert refused.status_code == 400
    assert "expected https://HOST" in page_words(refused.text)
    assert "<img" not in refused.text
    assert setup.token not in refused.text


def test_every_page_has_no_script_and_is_not_cached(setup: SetupBrowser, fake_api: HTTPServer) -> None:
    expect_conversion(fake_api)
    pages = [setup.http.get("/setup"), setup.begin(token="x"), setup.begin(), setup.call_back("c0de", "x")]
    pages += [setup.call_back("c0de", setup.begin_and_get_state()), setup.http.get("/setup")]
    assert [page.status_code for page in pages] == [200, 403, 200, 403, 200, 404]
    origin = fake_api.url_for("").rstrip("/")
    for page in pages:
        assert page.headers["content-security-policy"] == (
            f"default-src 'none'; style-src '{STYLE_HASH}'; form-action 'self' {origin}; base-uri 'none'; frame-ancestors 'none'"
        )
        assert page.headers["cache-control"] == "no-store"
        assert page.headers["referrer-policy"] == "strict-origin"
        assert page.headers["x-content-type-options"] == "nosniff"
        assert not re.search(r"<script|javascript:|\son\w+=|style=\"|https?://[^\s\"<]+\.(js|css|png|woff)", page.text)


def test_no_secret_is_logged(setup: SetupBrowser, fake_api: HTTPServer) -> None:
    state = setup.begin_and_get_state()
    expect_conversion(fake_api)
    setup.call_back("c0de", state)
    logged = "\n".join(line for line in setup.printed.splitlines() if line.startswith("{"))
    key = base64.b64encode(PEM.encode()).decode()
    assert not [secret for secret in (setup.token, state, "hush", "played", key, "c0de") if secret in logged]


def test_web_server_without_an_app_refuses_deliveries(setup: SetupBrowser) -> None:
    assert setup.http.get("/livez").json() == {"status": "live"}
    ready = setup.http.get("/readyz")
    assert (ready.status_code, ready.json()["status"]) == (200, "not set up")
    refused = setup.http.post(PATH, content=b"{}", headers={"X-GitHub-Event": "ping"})
    assert refused.status_code == 503
    assert refused.headers["retry-after"] == "30"
    assert "ASSAY_APP_ID" in refused.json()["error"]
    assert setup.http.get("/api/analytics/quality").status_code == 404


def test_oversized_form_is_refused(setup: SetupBrowser) -> None:
    assert setup.http.post("/setup", content=b"a" * 20_000, headers={"Content-Type": FORM}).status_code == 413


def test_organization_in_the_url_fills_the_form(setup: SetupBrowser) -> None:
    assert 'id="organization" name="organization" type="text" value="acme"' in setup.http.get(
        "/setup", params={"organization": "acme"}
    ).text  # fmt: skip


def test_setup_is_closed_once_an_app_is_configured(web_server: WebServer) -> None:
    for method, path in (("GET", "/setup"), ("POST", "/setup"), ("GET", "/setup/callback?code=c&state=s")):
        closed = web_server.http.request(method, path)
        assert closed.status_code == 404
        assert "This Assay has its GitHub App" in page_words(closed.text)
        assert closed.headers["cache-control"] == "no-store"


def test_redis_outage_during_setup_is_503_without_a_traceback() -> None:
    redis = RedisServer.launch()
    with open_setup_browser(redis, "https://api.github.com") as setup:
        redis.end()
        answers = [setup.http.get("/setup"), setup.call_back("c", "s"), setup.http.get("/readyz")]
        assert [answer.status_code for answer in answers] == [503, 503, 503]
        assert "Traceback" not in setup.printed


@pytest.fixture(scope="module")
def github() -> Iterator[FakeGitHub]:
    fake_github = FakeGitHub.start()
    yield fake_github
    fake_github.stop()


def test_setup_passes_the_manifest_rules_of_github(redis_server: RedisServer, github: FakeGitHub) -> None:
    with open_setup_browser(redis_server, github.url) as setup:
        setup.start_over()
        confirm = setup.begin(
            organization="acme", address=str(setup.http.base_url).rstrip("/"), deliveries=f"{HOME}{PATH}"
        )
        form = {"manifest": json.dumps(manifest_of(confirm.text))}
        sent = httpx.post(form_action(confirm.text), data=form, headers={"Content-Type": FORM})
        assert sent.status_code == 302, sent.text
        done = httpx.get(sent.headers["location"])
        assert done.status_code == 200
        assert f"ASSAY_APP_ID={github.info.app_id}\n" in done.text
        assert httpx.get(sent.headers["location"]).status_code == 403
    [exchange] = github.traffic("POST /app-manifests/")
    assert (exchange["status"], find_violations([exchange])) == (201, [])


CREATED_APP = CreatedApp(
    id=77, slug="assay-acme", html_url="https://github.com/apps/assay-acme", pem=SecretStr("PEM"), webhook_secret=SecretStr("hu'sh")
)  # fmt: skip


def page_text(html: str) -> str:
    """The text of a page with a line for each block, and fields by their names."""
    body = re.sub(r"<style>.*?</style>|<title>.*?</title>", "", html, flags=re.DOTALL)
    body = re.sub(r'<input id="(\w+)"[^>]* value="([^"]*)"[^>]*>', r" [\1: \2]", body)
    body = re.sub(r'<input type="checkbox"[^>]*value="(\w+)"( checked)?>', r"[\1\2]", body)
    body = re.sub(r"</?(p|li|h1|h2|pre|dd|dt|small|label|button|ul|dl|form)\b[^>]*>", "\n", body)
    return (
        "\n".join(line.strip() for line in unescape(re.sub(r"<[^>]+>", "", body)).splitlines() if line.strip()) + "\n"
    )


def test_form_shows_settings_as_code() -> None:
    html = form_page(SetupFormValues(address=HOME))
    assert "where a repository sets <code>sarif: true</code><small>" in html
    assert "`" not in html


def test_confirm_page_text() -> None:
    wanted = read_setup_form(HOME, "", "", ["comments"])
    html = confirm_page(
        wanted,
        build_manifest(wanted, {"pull_request", "merge_group"}),
        "https://github.com/settings/apps/new?state=s&x=1",
    )
    assert page_text(html) == snapshot("""\
Is this right?
Whose App
your own account’s
Deliveries go to
https://assay.example.org/github/webhooks
GitHub sends you back to
https://assay.example.org/setup/callback
Permissions
metadata: read, contents: read, pull_requests: write, issues: read, actions: read, statuses: read, checks: write
Events
pull_request
Sign in to github.com in this browser first. There you may still change the App’s name, which no other App may have.
Create the App on GitHub
No, begin again
""")
    assert 'action="https://github.com/settings/apps/new?state=s&amp;x=1"' in html


def test_local_address_is_warned_about() -> None:
    wanted = read_setup_form("http://localhost:8000", "", "acme", [])
    text = page_text(confirm_page(wanted, build_manifest(wanted, ()), "https://github.com/x"))
    assert "GitHub can’t reach this machine by that address" in text
    tunnel = read_setup_form("http://localhost:8000", "https://tunnel.example", "acme", [])
    assert "can’t reach" not in page_text(confirm_page(tunnel, build_manifest(tunnel, ()), "https://github.com/x"))


def test_declined_options_are_additional_setting_lines() -> None:
    assert setting_lines(CREATED_APP, ["reactions"]) == [*setting_lines(CREATED_APP), "ASSAY_REACTIONS=0"]
    assert setting_lines(CREATED_APP, ["made up", "merge_queue"]) == setting_lines(CREATED_APP)
    text = page_text(done_page(CREATED_APP, ["comments"]))
    assert "\nASSAY_COMMENTS=0\nOr on Fly" in text
    assert "ASSAY_APP_PRIVATE_KEY=UEVN ASSAY_COMMENTS=0\n" in text


def test_setting_with_a_quote_is_shell_quoted() -> None:
    assert setting_lines(CREATED_APP)[1] == """ASSAY_WEBHOOK_SECRET='hu'"'"'sh'"""


def test_outside_text_is_escaped_on_every_page() -> None:
    evil = '"><script>x</script>'
    pages = [
        form_page(SetupFormValues(evil, evil, evil), evil),
        refused_page(evil),
        closed_page(evil),
        confirm_page(
            read_setup_form(HOME, "", "", []),
            build_manifest(read_setup_form(HOME, "", "", []), ()),
            f"https://github.com/{evil}",
        ),
    ]
    assert not [page for page in pages if "<script" in page]


def test_refused_and_closed_page_text() -> None:
    assert page_text(refused_page("GitHub said no.")) == "No App was taken over\nGitHub said no.\nBegin again\n"
    assert page_text(closed_page("All done.")) == "Setup is closed\nAll done.\n"


def test_created_app_hides_its_secrets() -> None:
    assert "PEM" not in repr(CREATED_APP)
    assert "hu'sh" not in json.dumps(CREATED_APP.model_dump(mode="json"))


def test_page_texts_match_the_golden_file(golden: Golden) -> None:
    form = SetupFormValues(address=HOME, organization="acme", opt_ins=frozenset({"comments"}))
    pages = [
        ("the form", page_text(form_page(form, "Nothing like it."))),
        ("what to put where", page_text(done_page(CREATED_APP))),
    ]
    golden.check_pages("prose/texts/setup.md", pages)
