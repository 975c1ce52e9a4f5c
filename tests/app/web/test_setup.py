"""Setting Assay up over real HTTP: who may, what GitHub is asked, what is shown once and to whom, and what never gets anywhere."""

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
from tests.golden.golden import Golden, Pages
from tests.world.contract import find_violations
from tests.world.fake_github import FakeGitHub
from tests.world.redis import RedisServer
from worker.adapters.redis.store import Store
from worker.domain.config.app_manifest import build_manifest, read_setup_form
from worker.domain.config.app_permissions import OptIn, requested_permissions
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


class Setup:
    """A door without an App, and somebody with a browser at it."""

    def __init__(self, url: str, log: io.StringIO, store: Store) -> None:
        self.http = httpx.Client(base_url=url, timeout=10)
        self._log = log
        self._store = store

    def start_over(self) -> None:
        """As if it had just been started."""
        self._store.client.call("FLUSHALL")
        self._log.seek(0)
        self._log.truncate()
        open_setup(self._store, self._log)

    @property
    def said(self) -> str:
        return self._log.getvalue()

    @property
    def token(self) -> str:
        found = re.search(r"^    ([\w-]{43})$", self.said, re.MULTILINE)
        assert found
        return found[1]

    @property
    def outcomes(self) -> list[str]:
        lines = [json.loads(line) for line in self.said.splitlines() if line.startswith("{")]
        return [line["outcome"] for line in lines]

    def begin(self, **fields: Any) -> httpx.Response:
        form = {"token": self.token, "address": HOME, "opt_in": [str(one) for one in OptIn], **fields}
        return self.http.post("/setup", content=urlencode(form, doseq=True), headers={"Content-Type": FORM})

    def state(self) -> str:
        """Go to GitHub and come back with this."""
        return parse_qs(urlsplit(action(self.begin().text)).query)["state"][0]

    def back(self, code: str, state: str) -> httpx.Response:
        return self.http.get("/setup/callback", params={"code": code, "state": state})


FORM = "application/x-www-form-urlencoded"


def action(html: str) -> str:
    """Where the page's last form goes."""
    return unescape(re.findall(r'<form method="post" action="([^"]+)"', html)[-1])


def posted(html: str) -> dict[str, Any]:
    found = re.search(r'name="manifest" value="([^"]+)"', html)
    assert found
    return json.loads(unescape(found[1]))


def pasted(html: str) -> Settings:
    """What the lines to paste come to."""
    found = re.search(r"<pre>(ASSAY_APP_ID.+?)</pre>", html, re.DOTALL)
    assert found
    return read_settings(dict(line.split("=", 1) for line in unescape(found[1]).splitlines()))


def words(html: str) -> str:
    """What a person reads of it."""
    body = re.sub(r"<style>.*?</style>|<[^>]+>", " ", html, flags=re.DOTALL)
    return " ".join(unescape(body).split())


@contextmanager
def at_setup(redis: RedisServer, api_url: str) -> Generator[Setup]:
    log = io.StringIO()
    configured = settings(app=None, redis_url=SecretStr(redis.url), github_api_url=api_url)
    with serve_web(configured, log) as (url, store):
        door = Setup(url, log, store)
        try:
            yield door
        finally:
            door.http.close()


@pytest.fixture(scope="module")
def some_github() -> Iterator[HTTPServer]:
    with HTTPServer(threaded=True) as server:
        yield server


@pytest.fixture
def played(some_github: HTTPServer) -> HTTPServer:
    some_github.clear()
    return some_github


@pytest.fixture(scope="module")
def at_setup_once(redis_server: RedisServer, some_github: HTTPServer) -> Iterator[Setup]:
    with at_setup(redis_server, some_github.url_for("").rstrip("/")) as door:
        yield door


@pytest.fixture
def setup(at_setup_once: Setup, played: HTTPServer) -> Setup:
    assert played.log == []
    at_setup_once.start_over()
    return at_setup_once


def conversion(played: HTTPServer, code: str = "c0de", status: int = 201, answer: Any = APP) -> None:
    """GitHub knows this code, once."""
    order = played.expect_ordered_request(f"/app-manifests/{code}/conversions", method="POST")
    order.respond_with_json(answer, status=status)


def test_somebody_with_the_token_gets_an_app_and_all_its_settings_once(setup: Setup, played: HTTPServer) -> None:
    assert setup.http.get("/setup").status_code == 200
    confirm = setup.begin(organization="acme")
    assert confirm.status_code == 200
    assert urlsplit(action(confirm.text)).path == "/organizations/acme/settings/apps/new"
    assert posted(confirm.text)["default_permissions"] == requested_permissions(OptIn)
    conversion(played)
    done = setup.back("c0de", parse_qs(urlsplit(action(confirm.text)).query)["state"][0])
    assert done.status_code == 200
    app = pasted(done.text).require_app()
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
def test_what_was_left_out_beside_what_takes_the_same_permission_is_among_the_settings(
    setup: Setup, played: HTTPServer, chosen: list[str], declined: list[OptIn]
) -> None:
    confirm = setup.begin(opt_in=chosen)
    conversion(played)
    done = setup.back("c0de", parse_qs(urlsplit(action(confirm.text)).query)["state"][0])
    assert list(pasted(done.text).declined) == declined


def test_what_is_asked_is_shown_before_github_is_asked(setup: Setup) -> None:
    confirm = setup.begin(opt_in=["merge_queue"], deliveries="https://tunnel.example/x")
    made = posted(confirm.text)
    assert made["hook_attributes"]["url"] == "https://tunnel.example/x"
    assert made["redirect_url"] == f"{HOME}/setup/callback"
    read = words(confirm.text)
    for name, level in made["default_permissions"].items():
        assert f"{name}: {level}" in read
    assert f"Deliveries go to https://tunnel.example/x GitHub sends you back to {HOME}/setup/callback" in read
    assert ", ".join(made["default_events"]) in read


GUESSES = ("", "x", "0" * 43, " ", "*", "\x00", "ä" * 43)


def test_a_guessed_token_begins_nothing_however_near_and_the_token_still_opens(setup: Setup) -> None:
    token = setup.token
    near = [token[:-1], token + "a", token[1:], token.swapcase(), token[::-1]]
    for guess in (*GUESSES, *near * 10):
        refused = setup.begin(token=guess)
        assert refused.status_code == 403
        assert "That is not the token." in words(refused.text)
        assert "manifest" not in refused.text.replace("/app-manifests", "")
    assert set(setup.outcomes) == {"wrong_token"}
    assert setup.begin().status_code == 200
    assert token not in setup.said.replace(f"    {token}\n", "")


def test_a_state_that_did_not_begin_here_takes_nothing_over(setup: Setup) -> None:
    for state in ("", "made-up", setup.token):
        refused = setup.back("c0de", state)
        assert refused.status_code == 403
        assert "did not begin here" in refused.text
    assert setup.http.get("/setup").status_code == 200
    assert setup.outcomes == ["wrong_state"] * 3


def test_a_callback_that_is_replayed_shows_no_secret_again(setup: Setup, played: HTTPServer) -> None:
    state = setup.state()
    conversion(played)
    assert "hush" in setup.back("c0de", state).text
    again = setup.back("c0de", state)
    assert (again.status_code, "hush" in again.text) == (403, False)
    assert len(played.log) == 1


def test_another_way_that_was_begun_is_closed_as_well(setup: Setup, played: HTTPServer) -> None:
    first, second = setup.state(), setup.state()
    conversion(played)
    assert setup.back("c0de", first).status_code == 200
    assert setup.back("c0de", second).status_code == 403
    assert len(played.log) == 1


@pytest.mark.parametrize("code", ["", "../../user", "a/b", "a?b", "a b", "x" * 201, "%2e%2e"])
def test_a_code_that_is_none_goes_nowhere(setup: Setup, played: HTTPServer, code: str) -> None:
    refused = setup.back(code, setup.state())
    assert refused.status_code == 502
    assert "That is no code" in words(refused.text)
    assert played.log == []


def test_a_code_that_github_does_not_take_is_told(setup: Setup, played: HTTPServer) -> None:
    conversion(played, status=404, answer={"message": "Not Found"})
    refused = setup.back("c0de", setup.state())
    assert refused.status_code == 502
    assert "it answered 404. A code is good for an hour, and once." in words(refused.text)


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
def test_an_answer_that_is_no_app_is_told_without_what_was_in_it(setup: Setup, played: HTTPServer, answer: Any) -> None:
    conversion(played, answer=answer)
    refused = setup.back("c0de", setup.state())
    assert (refused.status_code, "hush" in refused.text) == (502, False)
    assert "what is no App" in words(refused.text)
    assert "hush" not in setup.said


def test_while_github_is_down_the_same_way_back_may_be_tried_again(setup: Setup, played: HTTPServer) -> None:
    state = setup.state()
    conversion(played, status=502, answer={})
    down = setup.back("c0de", state)
    assert down.status_code == 503
    assert "Reload this page" in words(down.text)
    conversion(played)
    assert setup.back("c0de", state).status_code == 200


def test_a_github_that_sends_elsewhere_is_not_followed(setup: Setup, played: HTTPServer) -> None:
    there = played.url_for("/elsewhere")
    order = played.expect_ordered_request("/app-manifests/c0de/conversions", method="POST")
    order.respond_with_data("", status=302, headers={"Location": there})
    assert setup.back("c0de", setup.state()).status_code == 502
    assert [request.path for request, _ in played.log] == ["/app-manifests/c0de/conversions"]


def test_a_host_header_gets_into_no_manifest(setup: Setup) -> None:
    evil = {"Host": "evil.example", "X-Forwarded-Host": "evil.example", "Content-Type": FORM}
    offered = setup.http.get("/setup", headers=evil)
    assert 'name="address" type="url" value="https://evil.example"' in offered.text  # to be looked at, and sent back
    form = urlencode({"token": setup.token, "address": HOME})
    confirm = setup.http.post("/setup", content=form, headers=evil)
    assert confirm.status_code == 200
    assert "evil" not in confirm.text
    assert f"GitHub sends you back to {HOME}/setup/callback" in words(confirm.text)


@pytest.mark.parametrize("host", ['"><script>alert(1)</script>', "a.b/evil", "a@b", "a b"])
def test_a_host_header_that_is_no_host_is_not_shown(setup: Setup, host: str) -> None:
    offered = setup.http.get("/setup", headers={"Host": host})
    assert offered.status_code in (200, 400)
    assert host not in offered.text


def test_what_was_typed_wrongly_is_told_and_kept_but_for_the_token(setup: Setup) -> None:
    typed = '"><img src=x onerror=alert(1)>'
    refused = setup.begin(address=typed, organization=typed)
    assert refused.status_code == 400
    assert "expected https://HOST" in words(refused.text)
    assert "<img" not in refused.text
    assert setup.token not in refused.text


def test_every_page_is_without_scripts_and_kept_by_nobody(setup: Setup, played: HTTPServer) -> None:
    conversion(played)
    pages = [setup.http.get("/setup"), setup.begin(token="x"), setup.begin(), setup.back("c0de", "x")]
    pages += [setup.back("c0de", setup.state()), setup.http.get("/setup")]
    assert [page.status_code for page in pages] == [200, 403, 200, 403, 200, 404]
    origin = played.url_for("").rstrip("/")
    for one in pages:
        assert one.headers["content-security-policy"] == (
            f"default-src 'none'; style-src '{STYLE_HASH}'; form-action 'self' {origin}; base-uri 'none'; frame-ancestors 'none'"
        )
        assert one.headers["cache-control"] == "no-store"
        assert one.headers["referrer-policy"] == "strict-origin"
        assert one.headers["x-content-type-options"] == "nosniff"
        assert not re.search(r"<script|javascript:|\son\w+=|style=\"|https?://[^\s\"<]+\.(js|css|png|woff)", one.text)


def test_no_secret_is_logged(setup: Setup, played: HTTPServer) -> None:
    state = setup.state()
    conversion(played)
    setup.back("c0de", state)
    logged = "\n".join(line for line in setup.said.splitlines() if line.startswith("{"))
    key = base64.b64encode(PEM.encode()).decode()
    assert not [one for one in (setup.token, state, "hush", "played", key, "c0de") if one in logged]


def test_a_door_without_an_app_says_so_and_takes_no_delivery(setup: Setup) -> None:
    assert setup.http.get("/livez").json() == {"status": "live"}
    ready = setup.http.get("/readyz")
    assert (ready.status_code, ready.json()["status"]) == (200, "not set up")
    refused = setup.http.post(PATH, content=b"{}", headers={"X-GitHub-Event": "ping"})
    assert refused.status_code == 503
    assert refused.headers["retry-after"] == "30"
    assert "ASSAY_APP_ID" in refused.json()["error"]
    assert setup.http.get("/api/analytics/quality").status_code == 404


def test_a_form_that_is_too_large_is_refused(setup: Setup) -> None:
    assert setup.http.post("/setup", content=b"a" * 20_000, headers={"Content-Type": FORM}).status_code == 413


def test_an_organization_may_be_in_the_address(setup: Setup) -> None:
    assert 'id="organization" name="organization" type="text" value="acme"' in setup.http.get(
        "/setup", params={"organization": "acme"}
    ).text  # fmt: skip


def test_where_an_app_is_configured_there_is_no_setup(web_server: WebServer) -> None:
    for method, path in (("GET", "/setup"), ("POST", "/setup"), ("GET", "/setup/callback?code=c&state=s")):
        closed = web_server.http.request(method, path)
        assert closed.status_code == 404
        assert "This Assay has its GitHub App" in words(closed.text)
        assert closed.headers["cache-control"] == "no-store"


def test_when_redis_goes_nobody_sees_a_traceback() -> None:
    redis = RedisServer.launch()
    with at_setup(redis, "https://api.github.com") as setup:
        redis.end()
        answers = [setup.http.get("/setup"), setup.back("c", "s"), setup.http.get("/readyz")]
        assert [answer.status_code for answer in answers] == [503, 503, 503]
        assert "Traceback" not in setup.said


@pytest.fixture(scope="module")
def github() -> Iterator[FakeGitHub]:
    bench = FakeGitHub.start()
    yield bench
    bench.stop()


def test_the_whole_way_over_a_github_that_holds_manifests_to_its_rules(
    redis_server: RedisServer, github: FakeGitHub
) -> None:
    with at_setup(redis_server, github.url) as setup:
        setup.start_over()
        confirm = setup.begin(
            organization="acme", address=str(setup.http.base_url).rstrip("/"), deliveries=f"{HOME}{PATH}"
        )
        form = {"manifest": json.dumps(posted(confirm.text))}
        sent = httpx.post(action(confirm.text), data=form, headers={"Content-Type": FORM})
        assert sent.status_code == 302, sent.text
        done = httpx.get(sent.headers["location"])
        assert done.status_code == 200
        assert f"ASSAY_APP_ID={github.info.app_id}\n" in done.text
        assert httpx.get(sent.headers["location"]).status_code == 403
    [exchange] = github.traffic("POST /app-manifests/")
    assert (exchange["status"], find_violations([exchange])) == (201, [])


MADE = CreatedApp(
    id=77, slug="assay-acme", html_url="https://github.com/apps/assay-acme", pem=SecretStr("PEM"), webhook_secret=SecretStr("hu'sh")
)  # fmt: skip


def page_text(html: str) -> str:
    """Each block on a line of its own, fields by their names."""
    body = re.sub(r"<style>.*?</style>|<title>.*?</title>", "", html, flags=re.DOTALL)
    body = re.sub(r'<input id="(\w+)"[^>]* value="([^"]*)"[^>]*>', r" [\1: \2]", body)
    body = re.sub(r'<input type="checkbox"[^>]*value="(\w+)"( checked)?>', r"[\1\2]", body)
    body = re.sub(r"</?(p|li|h1|h2|pre|dd|dt|small|label|button|ul|dl|form)\b[^>]*>", "\n", body)
    return (
        "\n".join(line.strip() for line in unescape(re.sub(r"<[^>]+>", "", body)).splitlines() if line.strip()) + "\n"
    )


def test_what_is_to_be_typed_is_shown_as_code() -> None:
    html = form_page(SetupFormValues(address=HOME))
    assert "where a repository sets <code>sarif: true</code><small>" in html
    assert "`" not in html


def test_what_github_will_be_asked() -> None:
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


def test_an_address_that_github_can_not_reach_is_warned_of() -> None:
    wanted = read_setup_form("http://localhost:8000", "", "acme", [])
    told = page_text(confirm_page(wanted, build_manifest(wanted, ()), "https://github.com/x"))
    assert "GitHub can’t reach this machine by that address" in told
    tunnel = read_setup_form("http://localhost:8000", "https://tunnel.example", "acme", [])
    assert "can’t reach" not in page_text(confirm_page(tunnel, build_manifest(tunnel, ()), "https://github.com/x"))


def test_what_was_not_chosen_is_one_more_line_to_put_there() -> None:
    assert setting_lines(MADE, ["reactions"]) == [*setting_lines(MADE), "ASSAY_REACTIONS=0"]
    assert setting_lines(MADE, ["made up", "merge_queue"]) == setting_lines(MADE)
    told = page_text(done_page(MADE, ["comments"]))
    assert "\nASSAY_COMMENTS=0\nOr on Fly" in told
    assert "ASSAY_APP_PRIVATE_KEY=UEVN ASSAY_COMMENTS=0\n" in told


def test_a_secret_that_a_shell_would_misread_is_quoted() -> None:
    assert setting_lines(MADE)[1] == """ASSAY_WEBHOOK_SECRET='hu'"'"'sh'"""


def test_what_came_from_outside_is_escaped_everywhere() -> None:
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


def test_the_ends_without_an_app() -> None:
    assert page_text(refused_page("GitHub said no.")) == "No App was taken over\nGitHub said no.\nBegin again\n"
    assert page_text(closed_page("All done.")) == "Setup is closed\nAll done.\n"


def test_a_made_app_shows_no_secret_by_accident() -> None:
    assert "PEM" not in repr(MADE)
    assert "hu'sh" not in json.dumps(MADE.model_dump(mode="json"))


def pages() -> Pages:
    form = SetupFormValues(address=HOME, organization="acme", opt_ins=frozenset({"comments"}))
    yield "the form", page_text(form_page(form, "Nothing like it."))
    yield "what to put where", page_text(done_page(MADE))


def test_what_people_read(golden: Golden) -> None:
    golden.holds_pages("prose/texts/setup.md", pages())
