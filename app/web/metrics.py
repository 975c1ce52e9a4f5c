"""GET /metrics for Prometheus, at an address of its own, off the public side, served by threads of its own.

Labels hold words of closed sets and installation numbers: no repository, no person.
"""

import logging
import socket
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from itertools import accumulate
from typing import Any, Final, Literal, NamedTuple

from app.web.health import DeliveryCounters
from worker.adapters.redis.metrics import BOUNDS_S, CurrentGauges, DurationMetric, EventCount, Histogram, MetricTotals
from worker.adapters.redis.store import Store
from worker.domain.ports import Clock
from worker.errors import Unavailable
from worker.settings import malformed_setting

MetricKind = Literal["counter", "gauge", "histogram"]
MetricRow = tuple[str, Mapping[str, str], float]
"""Suffix of the family's name, labels, value."""

LOG: Final = logging.getLogger(__name__)
READ_TIMEOUT_S: Final = 5.0
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class MetricFamily(NamedTuple):
    """All rows of one name."""

    name: str
    kind: MetricKind
    description: str
    rows: tuple[MetricRow, ...]

    def lines(self) -> Iterator[str]:
        yield f"# HELP {self.name} {self.description}"
        yield f"# TYPE {self.name} {self.kind}"
        for suffix, labels, figure in self.rows:
            inside = ",".join(f'{name}="{value}"' for name, value in labels.items())
            yield f"{self.name}{suffix}{f'{{{inside}}}' if inside else ''} {figure:.10g}"


def render_exposition(families: Iterable[MetricFamily]) -> str:
    return "".join(f"{line}\n" for family in families for line in family.lines())


def process_families(deliveries: Mapping[str, int]) -> Iterator[MetricFamily]:
    """Metrics of this process."""
    rows = tuple(("", {"outcome": outcome}, count) for outcome, count in deliveries.items())
    yield MetricFamily("assay_deliveries_total", "counter", "Deliveries by outcome since this process started.", rows)


def store_families(gauges: CurrentGauges, figures: MetricTotals) -> Iterator[MetricFamily]:
    """Metrics from Redis, the same in all processes."""
    yield _gauge("store_up", "Whether Redis answers.", 1)
    yield from _queue_families(gauges)
    yield from _counter_families(figures)
    for span, description in DURATION_METRICS.items():
        yield _histogram(f"{span}_seconds", description, figures.spans[span])
    yield MetricFamily(
        "assay_spend_today_usd",
        "gauge",
        "What models cost today (UTC), with what is reserved, by installation, in dollars.",
        tuple(("", {"installation": str(installation)}, float(usd)) for installation, usd in figures.spent_usd.items()),
    )
    yield MetricFamily(
        "assay_github_requests_left",
        "gauge",
        "Requests that GitHub still grants an installation, by GitHub's budget, where it said so lately.",
        tuple(
            ("", {"installation": str(installation), "budget": budget}, float(left))
            for (installation, budget), left in figures.left.items()
        ),
    )


def store_down_families() -> Iterator[MetricFamily]:
    """The only metric without Redis."""
    yield _gauge("store_up", "Whether Redis answers.", 0)


def _queue_families(now: CurrentGauges) -> Iterator[MetricFamily]:
    yield _gauge("queue_due", "Pull requests to be judged, their quiet window or wait over or not.", now.due)
    yield _gauge("queue_late", "Those of them whose time has come.", now.due_now)
    yield _gauge("queue_age_seconds", "For how long the latest of those waits.", now.age_s)
    yield _gauge("queue_given", "Pull requests given to a worker and not begun.", now.dispatched)
    yield _gauge("queue_held", "Pull requests that are being judged.", now.leased)
    rows = tuple(("", {"errand": errand}, float(count)) for errand, count in now.waiting_tasks.items())
    yield MetricFamily(
        "assay_errands_waiting", "gauge", "What the dispatcher has to do at GitHub or in the ledger.", rows
    )
    yield _gauge("checks_open", "Check runs that are open.", now.open_checks)
    yield _gauge("dispatcher_leads", "Whether a dispatcher is at work.", now.has_dispatcher)
    yield _gauge("paused", "Whether judging is paused everywhere, by `assay pause`.", now.is_paused)


COUNTER_METRICS: Final = {
    EventCount.OVERDUE: (
        "checks_overdue_total",
        "Check runs that were not concluded in time and that the watchdog closed.",
    ),
    EventCount.GIVEN_UP: (
        "judgings_given_up_total",
        "Judgings that came to no verdict, for a failure of Assay or of GitHub.",
    ),
    EventCount.KILLED: ("judges_killed_total", "Processes that died while they judged."),
    EventCount.PASSED_OVER: (
        "deliveries_passed_over_total",
        "Deliveries that never arrived, and that GitHub failed to make again in three looks.",
    ),
}
DURATION_METRICS: Final = {
    DurationMetric.FIRST_CHECK: "From the delivery of a new head to its check run.",
    DurationMetric.VERDICT: "From the delivery that asked for it to a verdict on the check, quiet window and CI included.",
}


def _counter_families(figures: MetricTotals) -> Iterator[MetricFamily]:
    rows = tuple(
        ("", {"decision": decision, "reason": reason}, float(count))
        for (decision, reason), count in figures.verdicts.items()
    )
    description = "Verdicts shown, by decision and its reason: a reject's category, why it was not judged."
    yield MetricFamily("assay_verdicts_total", "counter", description, rows)
    for count, (name, text) in COUNTER_METRICS.items():
        yield MetricFamily(f"assay_{name}", "counter", text, (("", {}, figures.counts[count]),))


def _gauge(name: str, description: str, figure: float) -> MetricFamily:
    return MetricFamily(f"assay_{name}", "gauge", description, (("", {}, figure),))


def _histogram(name: str, description: str, histogram: Histogram) -> MetricFamily:
    """A histogram with cumulative buckets, as Prometheus expects."""
    bounds = [*(f"{bound:g}" for bound in BOUNDS_S), "+Inf"]
    upto = list(accumulate(histogram.counts))
    buckets = tuple(("_bucket", {"le": bound}, float(count)) for bound, count in zip(bounds, upto, strict=True))
    return MetricFamily(
        f"assay_{name}", "histogram", description, (*buckets, ("_sum", {}, histogram.sum_s), ("_count", {}, upto[-1]))
    )


def render_metrics(store: Store, tally: DeliveryCounters, clock: Clock) -> str:
    """All metrics in Prometheus's text format. Blocks while Redis is read; an unreachable one is a metric, not an error."""
    own = process_families(tally.counts)
    try:
        shared = list(store_families(store.measures.read_gauges(), store.measures.read_totals(clock.now())))
    except Unavailable:
        shared = list(store_down_families())
    return render_exposition([*own, *shared])


@contextmanager
def serve_metrics(address: tuple[str, int], render: Callable[[], str]) -> Generator[str]:
    """Serve GET /metrics at *address* during the block. Yields the URL. Raises SettingError where it can't listen there."""
    with _bind(*address) as listening:
        server = _MetricsServer(listening, render)
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
        problem = f'is "{host}:{port}", which can\'t be listened at ({reason})'
        raise malformed_setting("ASSAY_METRICS_ADDRESS", problem) from error


class _MetricsServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, listening: socket.socket, render: Callable[[], str]) -> None:
        HTTPServer.__init__(self, listening.getsockname()[:2], _MetricsHandler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.render = render

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - socketserver's signature
        """Log it as JSON; the base class prints to standard error."""
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
        """Log nothing: Prometheus reads every few seconds."""
