"""What Prometheus reads: every figure in its text format.

Does not count and does not listen (`app.web.metrics` does). Invariant: a name stands once, with its type and what it
means; a label's value is a word of a closed set or an installation's number: no repository, no person.
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
"""What follows the family's name, the labels, and the figure."""

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
            yield f"{self.name}{suffix}{_render_labels(labels)} {figure:.10g}"


def render_exposition(families: Iterable[MetricFamily]) -> str:
    return "".join(f"{line}\n" for family in families for line in family.lines())


def process_families(deliveries: Mapping[str, int]) -> Iterator[MetricFamily]:
    """What this process alone counts."""
    rows = tuple(("", {"outcome": outcome}, count) for outcome, count in deliveries.items())
    yield MetricFamily("assay_deliveries_total", "counter", "Deliveries by outcome since this process started.", rows)


def store_families(standing: CurrentGauges, figures: MetricTotals) -> Iterator[MetricFamily]:
    """What all processes share: the same at each of them."""
    yield _gauge("store_up", "Whether Redis answers.", 1)
    yield from _queue_families(standing)
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
    """Redis does not answer: nothing else is known."""
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
    """Prometheus wants each bucket to hold all below it."""
    bounds = [*(f"{bound:g}" for bound in BOUNDS_S), "+Inf"]
    upto = list(accumulate(histogram.counts))
    buckets = tuple(("_bucket", {"le": bound}, float(count)) for bound, count in zip(bounds, upto, strict=True))
    return MetricFamily(
        f"assay_{name}", "histogram", description, (*buckets, ("_sum", {}, histogram.sum_s), ("_count", {}, upto[-1]))
    )


def _render_labels(labels: Mapping[str, str]) -> str:
    inside = ",".join(f'{name}="{value}"' for name, value in labels.items())
    return f"{{{inside}}}" if inside else ""


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
