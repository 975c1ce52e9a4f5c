"""GET /metrics for Prometheus, at an address of its own, off the public side, served by threads of its own.

Labels hold words of closed sets and installation numbers: no repository, no person.
"""

import logging
import socket
import sys
import threading
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.server import HTTPServer, ThreadingHTTPServer
from itertools import accumulate
from typing import Any, Final

from prometheus_client import CollectorRegistry, MetricsHandler
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from app.web.webhooks import DeliveryCounters
from worker.domain.metrics import BOUNDS_S, CurrentGauges, DurationMetric, EventCount, MetricTotals
from worker.domain.ports import Clock
from worker.errors import Unavailable
from worker.settings import malformed_setting
from worker.wiring.store import Store

LOG: Final = logging.getLogger(__name__)
READ_TIMEOUT_S: Final = 5.0

GAUGES: Final[Mapping[str, tuple[str, str]]] = {
    "queue_due": ("due", "Pull requests to be judged, their quiet window or wait over or not."),
    "queue_late": ("due_now", "Those of them whose time has come."),
    "queue_age_seconds": ("age_s", "For how long the latest of those waits."),
    "queue_given": ("dispatched", "Pull requests given to a worker and not begun."),
    "queue_held": ("leased", "Pull requests that are being judged."),
    "checks_open": ("open_checks", "Check runs that are open."),
    "dispatcher_leads": ("has_dispatcher", "Whether a dispatcher is at work."),
    "paused": ("is_paused", "Whether judging is paused everywhere, by `assay pause`."),
}
"""Field of CurrentGauges and description, by name."""

COUNTERS: Final = {
    EventCount.OVERDUE: ("checks_overdue", "Check runs that were not concluded in time and that the watchdog closed."),
    EventCount.GIVEN_UP: (
        "judgings_given_up",
        "Judgings that came to no verdict, for a failure of Assay or of GitHub.",
    ),
    EventCount.KILLED: ("judges_killed", "Processes that died while they judged."),
    EventCount.PASSED_OVER: (
        "deliveries_passed_over",
        "Deliveries that never arrived, and that GitHub failed to make again in three looks.",
    ),
}
DURATIONS: Final = {
    DurationMetric.FIRST_CHECK: "From the delivery of a new head to its check run.",
    DurationMetric.VERDICT: "From the delivery that asked for it to a verdict on the check, quiet window and CI included.",
}


class MetricsCollector:
    """Metrics of this process, and those in Redis, which are the same in all processes. Blocks while Redis is read."""

    def __init__(self, store: Store, deliveries: DeliveryCounters, clock: Clock) -> None:
        self._store = store
        self._deliveries = deliveries
        self._clock = clock

    def collect(self) -> Iterator[Metric]:
        """An unreachable Redis is a metric, not an error."""
        yield delivery_counter(self._deliveries.counts)
        try:
            gauges, totals = self._store.measures.read_gauges(), self._store.measures.read_totals(self._clock.now())
        except Unavailable:
            yield GaugeMetricFamily("assay_store_up", "Whether Redis answers.", 0)
        else:
            yield from store_metrics(gauges, totals)


def delivery_counter(deliveries: Mapping[str, int]) -> Metric:
    counter = CounterMetricFamily(
        "assay_deliveries", "Deliveries by outcome since this process started.", labels=["outcome"]
    )
    return _fill_family(counter, {(outcome,): count for outcome, count in deliveries.items()})


def store_metrics(gauges: CurrentGauges, totals: MetricTotals) -> Iterator[Metric]:
    """Metrics from Redis."""
    yield GaugeMetricFamily("assay_store_up", "Whether Redis answers.", 1)
    for name, (field, description) in GAUGES.items():
        yield GaugeMetricFamily(f"assay_{name}", description, getattr(gauges, field))
    yield _fill_family(
        GaugeMetricFamily(
            "assay_errands_waiting", "What the dispatcher has to do at GitHub or in the ledger.", labels=["errand"]
        ),
        {(errand,): count for errand, count in gauges.waiting_tasks.items()},
    )
    yield _fill_family(
        CounterMetricFamily(
            "assay_verdicts",
            "Verdicts shown, by decision and its reason: a reject's category, why it was not judged.",
            labels=["decision", "reason"],
        ),
        totals.verdicts,
    )
    for count, (name, description) in COUNTERS.items():
        yield CounterMetricFamily(f"assay_{name}", description, totals.counts[count])
    for span, description in DURATIONS.items():
        histogram, bounds = totals.spans[span], [*(f"{bound:g}" for bound in BOUNDS_S), "+Inf"]
        buckets = list(zip(bounds, accumulate(histogram.counts), strict=True))
        yield HistogramMetricFamily(f"assay_{span}_seconds", description, buckets, histogram.sum_s)
    yield _fill_family(
        GaugeMetricFamily(
            "assay_spend_today_usd",
            "What models cost today (UTC), with what is reserved, by installation, in dollars.",
            labels=["installation"],
        ),
        {(str(installation),): float(usd) for installation, usd in totals.spent_usd.items()},
    )
    yield _fill_family(
        GaugeMetricFamily(
            "assay_github_requests_left",
            "Requests that GitHub still grants an installation, by GitHub's budget, where it said so lately.",
            labels=["installation", "budget"],
        ),
        {(str(installation), budget): left for (installation, budget), left in totals.left.items()},
    )


def _fill_family(
    family: CounterMetricFamily | GaugeMetricFamily,
    rows: Mapping[tuple[str, ...], float] | Mapping[tuple[str, str], float],
) -> Metric:
    for labels, value in rows.items():
        family.add_metric(labels, value)
    return family


@contextmanager
def serve_metrics(address: tuple[str, int], collector: Collector) -> Generator[str]:
    """Serve GET /metrics at *address* during the block. Yields the URL. Raises SettingError where it can't listen there."""
    registry = CollectorRegistry()
    registry.register(collector)
    host, port = address
    try:
        listening = socket.create_server(address, family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        problem = f'is "{host}:{port}", which can\'t be listened at ({reason})'
        raise malformed_setting("ASSAY_METRICS_ADDRESS", problem) from error
    with listening:
        server = _MetricsServer(listening, _MetricsHandler.factory(registry))
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


class _MetricsServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, listening: socket.socket, handler: type) -> None:
        HTTPServer.__init__(self, listening.getsockname()[:2], handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - socketserver's signature
        """Log it as JSON; the base class prints to standard error."""
        LOG.warning("metrics request failed", exc_info=sys.exception())


class _MetricsHandler(MetricsHandler):
    timeout = READ_TIMEOUT_S
    server_version = "assay"
    sys_version = ""

    def do_GET(self) -> None:  # noqa: N802 - http.server's name
        if self.path.partition("?")[0] == "/metrics":
            super().do_GET()
        else:
            self.send_error(HTTPStatus.NOT_FOUND)
