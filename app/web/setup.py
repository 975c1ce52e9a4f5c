"""GET and POST /setup, GET /setup/callback: create the GitHub App once, by GitHub's manifest flow.

Each step needs the printed one-time token or a state that began here. Secrets are shown to the person and not stored, and pages are
not cached. The manifest holds only addresses that a person typed or confirmed. The web process loads no GitHub client, so urllib
exchanges GitHub's code for the App, in one request without redirects or retries. No error or repr holds a secret.
"""

import base64
import hashlib
import http.client
import json
import re
import shlex
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from html import escape
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO
from urllib.error import HTTPError
from urllib.parse import parse_qs, quote, urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
)
from urllib.request import Request as OutgoingRequest

from anyio import to_thread
from litestar import MediaType, Request, Response, Router, get, post
from litestar.handlers import HTTPRouteHandler
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError
from structlog.typing import FilteringBoundLogger

from app.ingest.events import SUBSCRIBED_EVENTS
from worker.domain.config.github_app import (
    CALLBACK,
    CORE_PERMISSIONS,
    DEFAULT_OPT_INS,
    OPT_IN_SETTINGS,
    OPTIONAL_PERMISSIONS,
    WEBHOOKS,
    Manifest,
    SetupForm,
    SetupFormError,
    build_manifest,
    find_declined,
    guess_address,
    is_loopback,
    read_setup_form,
    register_url,
)
from worker.errors import Unavailable
from worker.settings import Settings, web_url
from worker.wiring.store import Store

if TYPE_CHECKING:
    from jinja2 import Template

HtmlResponse = Response[str]
AnyRequest = Request[Any, Any, Any]
HERE: Final = Path(__file__).parent
STYLE: Final = (HERE / "setup.css").read_text(encoding="ascii")
STYLE_HASH: Final = "sha256-" + base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
"""The only style that the Content-Security-Policy allows."""

MAX_FORM_BYTES: Final = 16 * 1024
MAX_RESPONSE_BYTES: Final = 1024 * 1024
RETRY_SECONDS: Final = "30"
CODE: Final = r"[A-Za-z0-9_-]{1,200}"

NOT_SET_UP: Final = "Assay is not set up: no GitHub App is configured. Open /setup, or set ASSAY_APP_ID, ASSAY_APP_PRIVATE_KEY and ASSAY_WEBHOOK_SECRET."
ALREADY_SET_UP: Final = (
    "This Assay has its GitHub App. Its settings are at GitHub, under Developer settings, GitHub Apps."
)
SETUP_CLOSED: Final = (
    "An App was created here, or the token of this page is older than a day. Put the App’s three settings where Assay runs, and "
    "start it again. If they are lost, start it without them: it prints a new token, and you create another App."
)
WRONG_TOKEN: Final = (
    "That is not the token. It is in the terminal or the log of assay up or assay serve, as it was last started."  # noqa: S105 - no token
)
WRONG_STATE: Final = (
    "This way back from GitHub did not begin here, began more than an hour ago, or was gone already. Nothing was taken over. If you "
    "created an App just now, delete it at GitHub: its key was not passed on."
)
RETRY_HINT: Final = "Reload this page to try once more: GitHub’s code is good for an hour."


class CreatedApp(BaseModel):
    """The App and its secrets, which GitHub returns once."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    id: int = Field(gt=0)
    # max_length instead of {1,100} in the pattern, whose compilation takes a twentieth of the start
    slug: str = Field(pattern=r"^[\w.-]+$", max_length=100)
    html_url: str = Field(pattern=r"^https?://[^\s\"<>]+$", max_length=500)
    pem: SecretStr = Field(min_length=1)
    webhook_secret: SecretStr = Field(min_length=1)


class CodeRefused(Exception):
    """GitHub refuses the code, or it has expired. The message is for people."""


def exchange_code(api_url: str, code: str, timeout_s: float) -> CreatedApp:
    """Fetch the App of a code. Raises CodeRefused, and Unavailable where a retry may help."""
    if not re.fullmatch(CODE, code):
        raise CodeRefused("That is no code of GitHub's.")
    request = OutgoingRequest(  # noqa: S310 - settings take http(s) only
        f"{api_url}/app-manifests/{quote(code, safe='')}/conversions",
        data=b"",
        headers={"Accept": "application/vnd.github+json", "User-Agent": "assay"},
        method="POST",
    )
    opener = OpenerDirector()  # urllib's default one without redirects: the code must reach GitHub only
    for handler in (ProxyHandler, HTTPHandler, HTTPSHandler, HTTPDefaultErrorHandler, HTTPErrorProcessor):
        opener.add_handler(handler())
    try:
        with opener.open(request, timeout=timeout_s) as answer:
            return CreatedApp.model_validate_json(answer.read(MAX_RESPONSE_BYTES))
    except HTTPError as error:
        with error:
            if error.code >= HTTPStatus.INTERNAL_SERVER_ERROR or error.code == HTTPStatus.TOO_MANY_REQUESTS:
                raise Unavailable("GitHub", f"answered {error.code}") from None
            raise CodeRefused(
                f"GitHub refuses this code: it answered {error.code}. A code is good for an hour, and once."
            ) from None
    except (OSError, http.client.HTTPException) as error:
        raise Unavailable("GitHub", f"did not answer ({type(error).__name__})") from None
    except ValidationError:
        raise CodeRefused("GitHub answered with what is no App.") from None


@dataclass(frozen=True)
class SetupFormValues:
    """The values in the form: typed before, or proposed."""

    address: str = ""
    deliveries: str = ""
    organization: str = ""
    opt_ins: frozenset[str] = DEFAULT_OPT_INS


@cache
def _template() -> "Template":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 - for these pages alone

    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined)

    def code_spans(text: str) -> str:
        return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))

    environment.filters["code_spans"] = code_spans
    return environment.get_template("setup.html", globals={"style": STYLE})


def form_page(form: SetupFormValues, wrong: str = "") -> str:
    """The first page: token, addresses and permissions."""
    return _template().render(
        page="form", title="Set up Assay", form=form, wrong=wrong, core=CORE_PERMISSIONS, optional=OPTIONAL_PERMISSIONS
    )


def confirm_page(wanted: SetupForm, manifest: Manifest, target: str) -> str:
    """The second page: the manifest, and the button that sends it to GitHub."""
    return _template().render(
        page="confirm",
        title="Is this right?",
        wanted=wanted,
        manifest=manifest,
        manifest_json=json.dumps(manifest),
        is_loopback=is_loopback(wanted.webhook_base),
        target=target,
    )


def done_page(made: CreatedApp, declined: Collection[str] = ()) -> str:
    """The last page, shown once: the secrets and where to put them."""
    title = f"Your App “{made.slug}” is there"
    return _template().render(page="done", title=title, made=made, variables=setting_lines(made, declined))


def setting_lines(made: CreatedApp, declined: Collection[str] = ()) -> list[str]:
    """The App's settings as shell assignments, with the key in base64; then those that switch off what was *declined*."""
    key = base64.b64encode(made.pem.get_secret_value().encode()).decode()
    values = (str(made.id), made.webhook_secret.get_secret_value(), key)
    names = ("ASSAY_APP_ID", "ASSAY_WEBHOOK_SECRET", "ASSAY_APP_PRIVATE_KEY")
    off = [f"{name}=0" for name, opt_in in OPT_IN_SETTINGS.items() if opt_in in declined]
    return [*(f"{name}={shlex.quote(value)}" for name, value in zip(names, values, strict=True)), *off]


def refused_page(message: str) -> str:
    """The page of a failed callback."""
    return _template().render(page="refused", title="No App was taken over", message=message)


def closed_page(message: str) -> str:
    return _template().render(page="closed", title="Setup is closed", message=message)


class SetupHandler:
    """The steps of the set-up."""

    def __init__(self, settings: Settings, store: Store, log: FilteringBoundLogger) -> None:
        self._api_url = settings.github_api_url
        self._timeout_s = settings.timing.github_timeout
        self._setup = store.setup()
        self._log = log

    def show_form(self, host: str, organization: str) -> HtmlResponse:
        """The first page. It proposes the address of the Host header."""
        if not self._setup.is_open():
            return self._respond(closed_page(SETUP_CLOSED), HTTPStatus.NOT_FOUND)
        return self._respond(form_page(SetupFormValues(address=guess_address(host), organization=organization[:39])))

    def begin(self, fields: Mapping[str, list[str]]) -> HtmlResponse:
        """The second page, for the holder of the token."""
        typed = {name: fields.get(name, [""])[0][:1000] for name in ("token", "address", "deliveries", "organization")}
        ticked = frozenset(fields.get("opt_in", ()))
        form = SetupFormValues(typed["address"], typed["deliveries"], typed["organization"], ticked)
        if not self._setup.is_open():
            return self._respond(closed_page(SETUP_CLOSED), HTTPStatus.NOT_FOUND)
        if not self._setup.is_token(typed["token"].strip()):
            self._log.warning("setup", outcome="wrong_token")
            return self._respond(form_page(form, WRONG_TOKEN), HTTPStatus.FORBIDDEN)
        try:
            wanted = read_setup_form(form.address, form.deliveries, form.organization, ticked)
        except SetupFormError as error:
            return self._respond(form_page(form, str(error)), HTTPStatus.BAD_REQUEST)
        declined = [permission.opt_in for permission in find_declined(wanted.opt_ins)]
        state = self._setup.begin_setup(declined=declined)
        if state is None:
            return self._respond(closed_page(SETUP_CLOSED), HTTPStatus.NOT_FOUND)
        self._log.info("setup", outcome="begun", organization=wanted.organization, deliveries=wanted.webhook_base)
        target = register_url(web_url(self._api_url), wanted.organization, state)
        return self._respond(confirm_page(wanted, build_manifest(wanted, SUBSCRIBED_EVENTS), target))

    def finish(self, code: str, state: str) -> HtmlResponse:
        """The last page, after the way back from GitHub. Closes the set-up."""
        taker = self._setup.take_state(state)
        if taker is None:
            self._log.warning("setup", outcome="wrong_state")
            return self._respond(refused_page(WRONG_STATE), HTTPStatus.FORBIDDEN)
        try:
            made = exchange_code(self._api_url, code, self._timeout_s)
        except CodeRefused as error:
            self._log.warning("setup", outcome="code_refused", reason=str(error))
            return self._respond(refused_page(str(error)), HTTPStatus.BAD_GATEWAY)
        except Unavailable as error:
            self._setup.give_back(state, taker)
            self._log.warning("setup", outcome="unavailable", reason=str(error))
            return self._respond(refused_page(f"{error}. {RETRY_HINT}"), HTTPStatus.SERVICE_UNAVAILABLE)
        with suppress(Unavailable):  # GitHub returns the secrets once; the used state opens nothing anyway
            self._setup.close()
        self._log.info("setup", outcome="created", app_id=made.id, slug=made.slug)
        return self._respond(done_page(made, self._setup.declined_in(state)))

    def _respond(self, html: str, status: HTTPStatus = HTTPStatus.OK) -> HtmlResponse:
        return page_response(html, status, web_url(self._api_url))


def page_response(html: str, status: HTTPStatus, github: str) -> HtmlResponse:
    """A page that is not cached or framed and has no scripts; its forms go here and to GitHub."""
    origin = "{0.scheme}://{0.netloc}".format(urlsplit(github))
    policy = f"default-src 'none'; style-src '{STYLE_HASH}'; form-action 'self' {origin}; base-uri 'none'; frame-ancestors 'none'"
    headers = {
        "Content-Security-Policy": policy,
        "Cache-Control": "no-store",
        "Referrer-Policy": "strict-origin",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Cross-Origin-Opener-Policy": "same-origin",
    }
    return Response(html, status_code=status, media_type=MediaType.HTML, headers=headers)


def open_setup(store: Store, output: TextIO) -> None:
    """Create the one-time token and print it."""
    token = store.setup().open()
    output.write(
        "assay: No GitHub App is configured, so nothing is judged. To create one, open /setup in a browser and enter this one-time "
        f"token (good for a day, or until there is an App):\n\n    {token}\n\n"
    )
    output.flush()


def setup_routes(handler: SetupHandler) -> list[HTTPRouteHandler | Router]:
    """The routes of /setup, and the answer to deliveries, while there is no App."""

    @get("/setup", sync_to_thread=True)
    def form(request: AnyRequest) -> HtmlResponse:
        organization = str(request.query_params.get("organization", ""))
        return handler.show_form(request.headers.get("host", ""), organization)

    @post("/setup", request_max_body_size=MAX_FORM_BYTES)
    async def begin(request: AnyRequest) -> HtmlResponse:
        return await to_thread.run_sync(handler.begin, parse_qs((await request.body()).decode(errors="replace")))

    @get(CALLBACK, sync_to_thread=True)
    def callback(request: AnyRequest) -> HtmlResponse:
        code, state = (str(request.query_params.get(name, "")) for name in ("code", "state"))
        return handler.finish(code, state)

    def unavailable(_: AnyRequest, error: Unavailable) -> HtmlResponse:
        html = refused_page(f"{error}. Reload this page to try again.")
        return page_response(html, HTTPStatus.SERVICE_UNAVAILABLE, "https://github.com")

    pages = Router("/", route_handlers=[form, begin, callback], exception_handlers={Unavailable: unavailable})

    @post(WEBHOOKS)
    async def deliveries() -> Response[Mapping[str, str]]:
        return Response(
            {"error": NOT_SET_UP}, status_code=HTTPStatus.SERVICE_UNAVAILABLE, headers={"Retry-After": RETRY_SECONDS}
        )

    return [pages, deliveries]


def closed_routes(api_url: str) -> list[HTTPRouteHandler]:
    """The routes of /setup once there is an App: they say so."""

    def show_closed_page() -> HtmlResponse:
        return page_response(closed_page(ALREADY_SET_UP), HTTPStatus.NOT_FOUND, web_url(api_url))

    @get(["/setup", CALLBACK])
    async def form() -> HtmlResponse:
        return show_closed_page()

    @post("/setup", request_max_body_size=MAX_FORM_BYTES)
    async def begin() -> HtmlResponse:
        return show_closed_page()

    return [form, begin]
