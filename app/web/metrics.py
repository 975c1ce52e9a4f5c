"""What Prometheus reads: every figure in its text format.

Does not count and does not listen (`app.web.metrics_port` does). Invariant: a name stands once, with its type and what it
means; a label's value is a word of a closed set or an installation's number: no repository, no person.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Final, Literal, NamedTuple

from worker.adapters.redis.metrics import BOUNDS_S, CurrentGauges, DurationMetric, EventCount, Histogram, MetricTotals

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
