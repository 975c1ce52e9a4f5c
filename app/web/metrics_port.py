"""The listener of `/metrics`: an address of its own, so that what faces GitHub tells nobody how we fare.

Does not word the figures (`app.web.metrics` does). Runs in threads of its own, so that it answers however busy the door is.
Invariant: it answers GET /metrics and nothing else, and a Redis that does not answer is a figure, not an error.
"""

import logging
import socket
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from typing import Any, Final

from app.web.health import DeliveryCounters
from app.web.metrics import CONTENT_TYPE, process_families, render_exposition, store_down_families, store_families
from worker.adapters.redis.store import Store
from worker.domain.ports import Clock
from worker.errors import Unavailable
from worker.settings import malformed_setting

LOG: Final = logging.getLogger(__name__)
READ_TIMEOUT_S: Final = 5.0
"""How long a reader may be silent."""


def render_metrics(store: Store, tally: DeliveryCounters, clock: Clock) -> str:
    """All that is known right now. Blocks while Redis is asked."""
    own = process_families(tally.counts)
    try:
        shared = list(store_families(store.measures.read_gauges(), store.measures.read_totals(clock.now())))
    except Unavailable:
        shared = list(store_down_families())
    return render_exposition([*own, *shared])


@contextmanager
def serve_metrics(address: tuple[str, int], tell: Callable[[], str]) -> Generator[str]:
    """Answer there until the block ends; where that is. Raises SettingError when the address can't be had."""
    with _bind(*address) as listening:
        server = _MetricsServer(listening, tell)
        thread = threading.Thread(
            target=server.serve_forever, name="metrics", kwargs={"poll_interval": 0.1}, daemon=True
        )
        thread.start()
        try:
            host, port = listening.getsockname()[:2]
            yield f"http://[{host}]:{port}/metrics" if ":" in host else f"http://{host}:{port}/metrics"
        finally:
            server.shutdown()
            thread.join()


def _bind(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise malformed_setting(
            "ASSAY_METRICS_ADDRESS", f'is "{host}:{port}", which can\'t be listened at ({reason})'
        ) from error


class _MetricsServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, listening: socket.socket, tell: Callable[[], str]) -> None:
        HTTPServer.__init__(self, listening.getsockname()[:2], _MetricsHandler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.render = tell

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - socketserver's signature
        """As a line of the log. By itself it prints to standard error, where all else is JSON."""
        LOG.warning("a reader of the figures got no answer", exc_info=sys.exception())


class _MetricsHandler(BaseHTTPRequestHandler):
    timeout = READ_TIMEOUT_S
    server_version = "assay"
    sys_version = ""

    def do_GET(self) -> None:
        if self.path.partition("?")[0] != "/metrics" or not isinstance(self.server, _MetricsServer):
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        body = self.server.render().encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", CONTENT_TYPE)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
        """Not a word: it is read every few seconds."""
