"""The web process: create_app assembles the routes, run_web serves them.

It loads no queue worker, no GitHub or model client and no cryptography. No response holds a traceback. Standard output gets one line,
once deliveries can be sent.

Uvicorn closes no connection whose request is incomplete, so silent ones up to the limit of file descriptors would lock GitHub out. Without
a whole head a connection lasts HEADER_TIMEOUT_S, without a whole body BODY_TIMEOUT_S more, each up to CHECK_INTERVAL_S longer.
"""

import asyncio
import errno
import gc
import json
import logging
import socket
import sys
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from heapq import nsmallest
from types import FrameType
from typing import Any, Final, TextIO, cast

import structlog
import uvicorn
from anyio import to_thread
from litestar import Litestar, Request, Response, Router, get
from litestar.exceptions import HTTPException
from litestar.handlers import ASGIRouteHandler, HTTPRouteHandler
from litestar.status_codes import HTTP_500_INTERNAL_SERVER_ERROR, HTTP_503_SERVICE_UNAVAILABLE
from litestar.types import HTTPScope
from msgspec.json import encode
from structlog.typing import FilteringBoundLogger
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from app.ingest.intake import EventIntake, RoutedIntake
from app.web.api import ReadOnlyApi, api_routes
from app.web.setup import NOT_SET_UP, SetupHandler, closed_routes, open_setup, setup_routes
from app.web.webhooks import (
    PATH,
    DeliveryApp,
    DeliveryCounters,
    DeliveryLogger,
    DeliveryOutcome,
    SignatureVerifier,
    WebhookIntake,
    delivery_app,
    respond,
    webhook_route,
)
from worker.domain.model import build_models
from worker.errors import Unavailable
from worker.log import log_json
from worker.process import SystemClock
from worker.settings import MAIN_CELL, Settings, malformed_setting
from worker.wiring.store import (
    LACKS_KEY,
    FiguresBuilder,
    Store,
    open_cells,
    open_figures_cache,
    open_store,
    wait_for_redis,
)

HEADER_TIMEOUT_S: Final = 10.0
BODY_TIMEOUT_S: Final = 20.0
"""Longer than the route waits for a body, so that its sender gets an answer first."""

CHECK_INTERVAL_S: Final = 1.0
"""How often all connections are checked; a timer for each would take a tenth of a delivery's time."""

MAX_CONNECTIONS: Final = 1_000
"""Each takes 15 KB of memory."""

MAX_EVICTIONS: Final = 50
"""How many are closed beyond that: finding them takes as long as answering some deliveries."""

MAX_HEADER_BYTES: Final = 64 * 1024
"""GitHub's have one or two thousand bytes."""

SHUTDOWN_SECONDS: Final = 10
TICKS_PER_CHECK: Final = round(CHECK_INTERVAL_S / 0.1)
"""Uvicorn's main loop ticks ten times a second."""
TICKS_PER_REFRESH: Final = 36_000
"""Once an hour what is counted here follows the streams."""
BACKLOG: Final = 2048
JSON_ENCODER: Final = json.JSONEncoder(default=repr, separators=(",", ":"))
INTERNAL_ERROR: Final[Mapping[str, str]] = {"error": "Assay itself failed. Its log says where."}
PORT_ERRORS: Final = frozenset({errno.EADDRINUSE, errno.EACCES})


class WebApp(Litestar):
    """All routes. Deliveries bypass the framework's routing, which takes a tenth of their time."""

    deliver: DeliveryApp | None = None
    builder: FiguresBuilder | None = None
    failures: "_FailureHandler"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self.deliver and scope["type"] == "http" and scope["path"] == PATH and scope["method"] == "POST":
            try:
                await self.deliver(scope, receive, send)
            except Exception as error:  # noqa: BLE001 - the framework reports bugs elsewhere
                self.failures.log_failure(scope, error)
                await respond(send, HTTP_500_INTERNAL_SERVER_ERROR, INTERNAL_ERROR, {})
        else:
            await super().__call__(scope, receive, send)


def create_app(
    settings: Settings, store: Store, log_to: TextIO = sys.stderr, counters: DeliveryCounters | None = None
) -> WebApp:
    """All routes; without the App's credentials, those that create it."""
    log, counters = json_log(log_to, settings.log_level), counters or DeliveryCounters()
    async_client = store.open_async_client()
    routes: Sequence[ASGIRouteHandler | HTTPRouteHandler | Router]
    deliver, builder, failed = None, None, _FailureHandler(log, counters)
    on_shutdown = [async_client.close]
    if settings.app is None:
        open_setup(store, log_to)
        routes = [*setup_routes(SetupHandler(settings, store, log)), *health_routes(store, is_set_up=False)]
    else:
        clock = SystemClock()
        cells = {
            name: EventIntake(cell, clock, cell.open_async_client())
            for name, cell in open_cells(settings, store).items()
        }
        if cells:
            intake = RoutedIntake(cells[MAIN_CELL].async_client, cells)
        else:
            intake = EventIntake(store, clock, async_client)
        build_models()
        verifier = SignatureVerifier(
            tuple(secret.get_secret_value().encode() for secret in settings.app.webhook_secrets)
        )
        logger = delivery_logger(log_to, settings.log_level)
        deliver = delivery_app(WebhookIntake(verifier, settings.app.app_id, intake, counters, logger))
        figures = open_figures_cache(settings, store)
        builder = FiguresBuilder(settings, store, figures)
        on_shutdown.append(builder.stop)
        for cell in cells.values():
            on_shutdown += [cell.async_client.close, cell.store.close]
        routes = [
            webhook_route(deliver),
            *health_routes(store, is_set_up=True),
            api_routes(ReadOnlyApi(store, figures, builder)),
            *closed_routes(settings.github_api_url),
        ]

    def http_error(_: Request[Any, Any, Any], error: HTTPException) -> Response[Mapping[str, str]]:
        return Response({"error": error.detail}, status_code=error.status_code, headers=error.headers)

    web = WebApp(
        route_handlers=routes,
        exception_handlers={HTTPException: http_error, Exception: failed.respond},
        on_shutdown=on_shutdown,
        openapi_config=None,
        logging_config=None,
        debug=False,
    )
    web.deliver, web.builder, web.failures = deliver, builder, failed
    return web


def health_routes(store: Store, *, is_set_up: bool) -> list[HTTPRouteHandler]:
    """GET /livez, which reads nothing, and GET /readyz, which asks Redis."""

    @get("/livez")
    async def livez() -> Mapping[str, str]:
        return {"status": "live"}

    @get("/readyz")
    async def readyz() -> Response[Mapping[str, str]]:
        return await to_thread.run_sync(_check_readiness, store, is_set_up)

    return [livez, readyz]


def _check_readiness(store: Store, is_set_up: bool) -> Response[Mapping[str, str]]:  # noqa: FBT001 - handed to a thread
    """Ready where Redis answers, without an App too, so that a load balancer forwards /setup.

    A store that lacks an old key is ready: it takes deliveries, and the checks report what can't be read.
    """
    try:
        if not is_set_up:
            store.ping()
            return Response({"status": "not set up", "reason": NOT_SET_UP})
        lacks_key = store.is_key_missing()
    except Unavailable as unavailable:
        content = {"status": "not ready", "reason": str(unavailable)}
        return Response(content, status_code=HTTP_503_SERVICE_UNAVAILABLE)
    problem = {"problem": f"{LACKS_KEY} See assay doctor."} if lacks_key else {}
    return Response({"status": "ready", **problem})


def json_log(stream: TextIO, level: str) -> FilteringBoundLogger:
    """A logger of JSON lines. Tracebacks hold no values of variables, which may be private source."""
    logger = structlog.wrap_logger(
        structlog.WriteLogger(stream),
        processors=[structlog.processors.format_exc_info, _render_line],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level]),
    )
    return cast("FilteringBoundLogger", logger.bind())


def _render_line(_: object, level: str, fields: Mapping[str, object]) -> str:
    """Encode with a shared encoder, whose creation takes longer than its work."""
    at = SystemClock().now().isoformat().replace("+00:00", "Z")
    return JSON_ENCODER.encode({**fields, "level": level, "timestamp": at})


def delivery_logger(stream: TextIO, level: str) -> DeliveryLogger:
    """A logger of what `json_log` writes at `info`, in a fifth of its time, for the line of each delivery."""
    is_enabled, clock = logging.getLevelNamesMapping()[level] <= logging.INFO, SystemClock()

    def log(event: str, /, **fields: object) -> None:
        if is_enabled:
            fields["event"], fields["level"], fields["timestamp"] = event, "info", clock.now()
            line = encode(fields)
            # beyond ASCII, a header may hold control sequences: JSON_ENCODER escapes them
            stream.write(f"{line.decode() if line.isascii() else _render_line(None, 'info', fields)}\n")
            stream.flush()

    return log


class _FailureHandler:
    """Responds to a bug with 500; the log gets the traceback."""

    def __init__(self, log: FilteringBoundLogger, counters: DeliveryCounters) -> None:
        self._log = log
        self._counters = counters

    def respond(self, request: Request[Any, Any, Any], error: Exception) -> Response[Mapping[str, str]]:
        self.log_failure(request.scope, error)
        return Response(INTERNAL_ERROR, status_code=HTTP_500_INTERNAL_SERVER_ERROR)

    def log_failure(self, scope: HTTPScope, error: Exception) -> None:
        raw = dict(scope["headers"]).get(b"x-github-delivery")
        delivery_id = None if raw is None else raw.decode("latin-1")
        self._counters.count(DeliveryOutcome.FAILED)
        self._log.error("failed", path=scope["path"], delivery_id=delivery_id, exc_info=error)


class Server(uvicorn.Server):
    """Uvicorn's server that prints where it listens, closes slow connections, and exits cleanly on a signal."""

    def __init__(self, config: uvicorn.Config, builder: FiguresBuilder | None) -> None:
        super().__init__(config)
        self._timeouts = ConnectionTimeouts()
        self._builder = builder

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listening in sockets or ():
            host, port = listening.getsockname()[:2]
            url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
            print(json.dumps({"event": "listening", "url": url}), flush=True)  # noqa: T201 - the supervisor reads it

    async def on_tick(self, counter: int) -> bool:
        if counter % TICKS_PER_CHECK == 0:
            self._timeouts.close_expired(tuple(self.server_state.connections), time.monotonic())
        if counter and counter % TICKS_PER_REFRESH == 0 and self._builder is not None:
            self._builder.refresh()
        return await super().on_tick(counter)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - uvicorn's signature
        self.force_exit = self.should_exit
        self.should_exit = True


def web_server(app: WebApp) -> Server:
    """A configured server. A second signal does not wait for open requests."""
    config = uvicorn.Config(
        cast("Any", app),
        http=TimedHttpProtocol,
        loop="uvloop",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # client addresses are not used
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    return Server(config, app.builder)


def run_web(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT. Raises SettingError, and Unavailable where Redis does not answer at the start."""
    log_json(settings.log_level)
    wait_for_redis(settings, json_log(sys.stderr, settings.log_level).warning)
    with open_store(settings) as store:
        counters = DeliveryCounters()
        server = web_server(create_app(settings, store, counters=counters))
        gc.collect()
        gc.freeze()  # collecting what is loaded takes as long as an answer
        with listen(settings.host, settings.port) as listening, _serve_metrics(settings, store, counters):
            server.run(sockets=[listening])


@contextmanager
def _serve_metrics(settings: Settings, store: Store, counters: DeliveryCounters) -> Generator[None]:
    """Serve `/metrics` during the block, if it has an address."""
    if settings.metrics_address is None:
        yield
        return
    from app.web.metrics import MetricsCollector, serve_metrics  # noqa: PLC0415 - rarely configured

    with serve_metrics(settings.metrics_address, MetricsCollector(store, counters, SystemClock())) as url:
        json_log(sys.stderr, settings.log_level).info("metrics", url=url)
        yield


def listen(host: str, port: int) -> socket.socket:
    """Bind the address. Port 0: any free one. Raises SettingError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        host.encode("idna")  # as create_server will, which leaks its socket for an invalid name
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (while attempting")[0]
        name, value = ("ASSAY_PORT", port) if error.errno in PORT_ERRORS else ("ASSAY_HOST", f'"{host}"')
        raise malformed_setting(name, f'is {value}, and "{host}:{port}" can\'t be listened at ({reason})') from error
    except UnicodeError as error:
        raise malformed_setting("ASSAY_HOST", f'is "{host}", which is no host\'s name') from error


class TimedHttpProtocol(HttpToolsProtocol):
    """Uvicorn's protocol with a limit on the head, and the state that the timeouts need."""

    _header_bytes: int = 0
    """Bytes since the awaited head began."""

    reading_since: float = 0.0
    """When the newest request began, or the connection."""

    @property
    def read_timeout(self) -> float | None:
        """How long to wait for the client; None: for nothing, or for its next request, which uvicorn limits."""
        if _is_reading_body(self.cycle):
            return BODY_TIMEOUT_S
        return HEADER_TIMEOUT_S if self._is_reading_header() else None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.reading_since = self.loop.time()
        if len(self.connections) > MAX_CONNECTIONS:
            evict_connections(self.connections)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.reading_since = self.loop.time()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._header_bytes = self._header_bytes + len(data) if self._is_reading_header() else 0
        if self._header_bytes > MAX_HEADER_BYTES:
            self.transport.close()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self.cycle.more_body = False  # uvicorn leaves it set after an early response

    def _is_reading_header(self) -> bool:
        return _is_idle(self.cycle) and self.timeout_keep_alive_task is None


def evict_connections(connections: Iterable[object]) -> None:
    """Close those that have been incomplete longest: GitHub's requests are complete within moments."""
    incomplete = [
        connection
        for connection in connections
        if isinstance(connection, TimedHttpProtocol)
        and (_is_idle(connection.cycle) or _is_reading_body(connection.cycle))
    ]
    for connection in nsmallest(MAX_EVICTIONS, incomplete, key=lambda connection: connection.reading_since):
        connection.transport.close()


def _is_idle(last: RequestResponseCycle | None) -> bool:
    """Whether no request is open. None: there was none yet."""
    return last is None or (last.response_complete and not last.more_body)


def _is_reading_body(last: RequestResponseCycle | None) -> bool:
    return last is not None and last.more_body


class ConnectionTimeouts:
    """Closes connections at their timeout."""

    def __init__(self) -> None:
        self._since: dict[TimedHttpProtocol, tuple[object, float]] = {}

    def close_expired(self, connections: Iterable[object], now: float) -> None:
        """To be called every CHECK_INTERVAL_S with all connections; *now*: seconds of a monotonic clock."""
        waits: dict[TimedHttpProtocol, tuple[object, float]] = {}
        for connection in connections:
            if not isinstance(connection, TimedHttpProtocol) or (limit := connection.read_timeout) is None:
                continue
            awaited = (connection.cycle, limit)
            before = self._since.get(connection, (None, now))
            since = before[1] if before[0] == awaited else now
            if now - since >= limit:
                connection.transport.close()
            else:
                waits[connection] = (awaited, since)
        self._since = waits
