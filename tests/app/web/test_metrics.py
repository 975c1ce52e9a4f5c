"""`/metrics`: at an address of its own, in Prometheus' format, without names; and alerts that ask for what it tells."""

import re
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from inline_snapshot import snapshot
from prometheus_client import Metric, generate_latest
from pydantic import SecretStr

from app.web.metrics import MetricsCollector, delivery_counter, serve_metrics, store_metrics
from app.web.webhooks import DeliveryCounters, DeliveryOutcome
from tests.app.web.web_server import settings
from tests.worker.adapters.redis.store_samples import judge_request, pull_ref
from tests.world.redis import RedisServer
from worker.adapters.redis.store import Store, open_store
from worker.clock import SystemClock
from worker.domain.ids import InstallationId
from worker.domain.metrics import BOUNDS_S, CurrentGauges, DurationMetric, EventCount, Histogram, MetricTotals
from worker.domain.verdict.verdict import AbstainReason, Category
from worker.errors import SettingError

ALERTS = Path(__file__).parents[3] / "docs" / "alerts.yml"
EMPTY = Histogram((0,) * (len(BOUNDS_S) + 1), 0.0)
STANDING = CurrentGauges(
    3, 2, 4.25, 1, 1, 9, has_dispatcher=True, is_paused=False, waiting_tasks={"open_check": 5, "command": 6}
)
FIGURES = MetricTotals(
    verdicts={("accept", ""): 4, ("abstain", "paused"): 1},
    counts={EventCount.OVERDUE: 1, EventCount.GIVEN_UP: 2, EventCount.KILLED: 3, EventCount.PASSED_OVER: 4},
    spans={DurationMetric.FIRST_CHECK: Histogram((1, 0, 2, *(0,) * 9, 1), 4007.5), DurationMetric.VERDICT: EMPTY},
    spent_usd={InstallationId(100): Decimal("0.0123")},
    left={(InstallationId(100), "core"): 4321},
)


TOLD = snapshot("""\
# HELP assay_deliveries_total Deliveries by outcome since this process started.
# TYPE assay_deliveries_total counter
assay_deliveries_total{outcome="queued"} 2.0
# HELP assay_store_up Whether Redis answers.
# TYPE assay_store_up gauge
assay_store_up 1.0
# HELP assay_queue_due Pull requests to be judged, their quiet window or wait over or not.
# TYPE assay_queue_due gauge
assay_queue_due 3.0
# HELP assay_queue_late Those of them whose time has come.
# TYPE assay_queue_late gauge
assay_queue_late 2.0
# HELP assay_queue_age_seconds For how long the latest of those waits.
# TYPE assay_queue_age_seconds gauge
assay_queue_age_seconds 4.25
# HELP assay_queue_given Pull requests given to a worker and not begun.
# TYPE assay_queue_given gauge
assay_queue_given 1.0
# HELP assay_queue_held Pull requests that are being judged.
# TYPE assay_queue_held gauge
assay_queue_held 1.0
# HELP assay_checks_open Check runs that are open.
# TYPE assay_checks_open gauge
assay_checks_open 9.0
# HELP assay_dispatcher_leads Whether a dispatcher is at work.
# TYPE assay_dispatcher_leads gauge
assay_dispatcher_leads 1.0
# HELP assay_paused Whether judging is paused everywhere, by `assay pause`.
# TYPE assay_paused gauge
assay_paused 0.0
# HELP assay_errands_waiting What the dispatcher has to do at GitHub or in the ledger.
# TYPE assay_errands_waiting gauge
assay_errands_waiting{errand="open_check"} 5.0
assay_errands_waiting{errand="command"} 6.0
# HELP assay_verdicts_total Verdicts shown, by decision and its reason: a reject's category, why it was not judged.
# TYPE assay_verdicts_total counter
assay_verdicts_total{decision="accept",reason=""} 4.0
assay_verdicts_total{decision="abstain",reason="paused"} 1.0
# HELP assay_checks_overdue_total Check runs that were not concluded in time and that the watchdog closed.
# TYPE assay_checks_overdue_total counter
assay_checks_overdue_total 1.0
# HELP assay_judgings_given_up_total Judgings that came to no verdict, for a failure of Assay or of GitHub.
# TYPE assay_judgings_given_up_total counter
assay_judgings_given_up_total 2.0
# HELP assay_judges_killed_total Processes that died while they judged.
# TYPE assay_judges_killed_total counter
assay_judges_killed_total 3.0
# HELP assay_deliveries_passed_over_total Deliveries that never arrived, and that GitHub failed to make again in three looks.
# TYPE assay_deliveries_passed_over_total counter
assay_deliveries_passed_over_total 4.0
# HELP assay_first_check_seconds From the delivery of a new head to its check run.
# TYPE assay_first_check_seconds histogram
assay_first_check_seconds_bucket{le="0.5"} 1.0
assay_first_check_seconds_bucket{le="1"} 1.0
assay_first_check_seconds_bucket{le="2"} 3.0
assay_first_check_seconds_bucket{le="5"} 3.0
assay_first_check_seconds_bucket{le="10"} 3.0
assay_first_check_seconds_bucket{le="30"} 3.0
assay_first_check_seconds_bucket{le="60"} 3.0
assay_first_check_seconds_bucket{le="120"} 3.0
assay_first_check_seconds_bucket{le="300"} 3.0
assay_first_check_seconds_bucket{le="600"} 3.0
assay_first_check_seconds_bucket{le="1800"} 3.0
assay_first_check_seconds_bucket{le="3600"} 3.0
assay_first_check_seconds_bucket{le="+Inf"} 4.0
assay_first_check_seconds_count 4.0
assay_first_check_seconds_sum 4007.5
# HELP assay_verdict_seconds From the delivery that asked for it to a verdict on the check, quiet window and CI included.
# TYPE assay_verdict_seconds histogram
assay_verdict_seconds_bucket{le="0.5"} 0.0
assay_verdict_seconds_bucket{le="1"} 0.0
assay_verdict_seconds_bucket{le="2"} 0.0
assay_verdict_seconds_bucket{le="5"} 0.0
assay_verdict_seconds_bucket{le="10"} 0.0
assay_verdict_seconds_bucket{le="30"} 0.0
assay_verdict_seconds_bucket{le="60"} 0.0
assay_verdict_seconds_bucket{le="120"} 0.0
assay_verdict_seconds_bucket{le="300"} 0.0
assay_verdict_seconds_bucket{le="600"} 0.0
assay_verdict_seconds_bucket{le="1800"} 0.0
assay_verdict_seconds_bucket{le="3600"} 0.0
assay_verdict_seconds_bucket{le="+Inf"} 0.0
assay_verdict_seconds_count 0.0
assay_verdict_seconds_sum 0.0
# HELP assay_spend_today_usd What models cost today (UTC), with what is reserved, by installation, in dollars.
# TYPE assay_spend_today_usd gauge
assay_spend_today_usd{installation="100"} 0.0123
# HELP assay_github_requests_left Requests that GitHub still grants an installation, by GitHub's budget, where it said so lately.
# TYPE assay_github_requests_left gauge
assay_github_requests_left{budget="core",installation="100"} 4321.0
""")


@pytest.fixture
def fragile() -> Iterator[RedisServer]:
    redis = RedisServer.launch()
    yield redis
    redis.end()


@pytest.fixture
def store(fragile: RedisServer) -> Iterator[Store]:
    with open_store(settings(redis_url=SecretStr(fragile.url))) as opened:
        yield opened


class Played:
    """A collector of these metrics."""

    def __init__(self, *metrics: Metric) -> None:
        self.metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self.metrics


def exposed(deliveries: Mapping[str, int]) -> str:
    """All figures in Prometheus' format."""
    return generate_latest(Played(delivery_counter(deliveries), *store_metrics(STANDING, FIGURES))).decode()


def test_every_figure_is_told_with_its_type_and_what_it_means() -> None:
    assert exposed({"queued": 2}) == TOLD


def test_what_is_told_can_be_read_line_by_line_and_no_name_stands_twice() -> None:
    told = exposed(DeliveryCounters().counts).splitlines()
    types = [line.split()[2] for line in told if line.startswith("# TYPE")]
    assert len(types) == len(set(types))
    row = re.compile(r'[a-z_]+(\{([a-z]+="[A-Za-z0-9_.+-]*",?)+\})? [0-9.e+-]+')
    assert [line for line in told if not line.startswith("#") and not row.fullmatch(line)] == []
    assert [type_ for type_ in types if not type_.startswith("assay_")] == []


def test_a_store_that_was_used_tells_its_figures_at_the_address_and_nothing_else_is_there(store: Store) -> None:
    store.pulls.request_judging(judge_request())
    store.measures.count_verdict(pull_ref().installation_id, "reject", "weak_test", 7)
    tally = DeliveryCounters()
    tally.count(DeliveryOutcome.QUEUED)
    with (
        serve_metrics(("127.0.0.1", 0), MetricsCollector(store, tally, SystemClock())) as url,
        httpx.Client() as http,
    ):
        answer = http.get(url)
        assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        for line in (
            'assay_deliveries_total{outcome="queued"} 1.0',
            "assay_store_up 1.0",
            "assay_queue_due 1.0",
            'assay_verdicts_total{decision="reject",reason="weak_test"} 1.0',
            "assay_verdict_seconds_count 1.0",
            'assay_spend_today_usd{installation="100"} 0.0',
        ):
            assert line in answer.text.splitlines(), line
        assert "widgets" not in answer.text
        assert http.get(url.removesuffix("/metrics")).status_code == 404
        assert http.get(f"{url}/x").status_code == 404
        assert http.post(url).status_code == 501
    with pytest.raises(httpx.ConnectError):
        httpx.get(url)


def test_a_redis_that_is_gone_is_a_figure(store: Store, fragile: RedisServer) -> None:
    collected = MetricsCollector(store, DeliveryCounters(), SystemClock())
    fragile.kill()
    told = generate_latest(collected).decode().splitlines()
    assert "assay_store_up 0.0" in told
    assert not any(line.startswith("assay_queue") for line in told)


def test_a_reader_who_gets_no_answer_is_a_line_of_the_log_and_nothing_else(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    class Fails:
        def collect(self) -> Iterable[Metric]:
            raise BrokenPipeError

    with serve_metrics(("127.0.0.1", 0), Fails()) as url, pytest.raises(httpx.RemoteProtocolError):
        httpx.get(url)
    assert [(record.levelname, record.message) for record in caplog.records if record.name == "app.web.metrics"] == [
        ("WARNING", "figures query failed")
    ]
    assert capfd.readouterr() == ("", "")


def test_an_address_that_is_taken_or_is_none_is_a_settings_error() -> None:
    with ExitStack() as stack:
        taken = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = taken.getsockname()[1]
        with pytest.raises(SettingError, match=rf'^ASSAY_METRICS_ADDRESS is "127.0.0.1:{port}", which can\'t'):
            stack.enter_context(serve_metrics(("127.0.0.1", port), Played()))
    with pytest.raises(SettingError, match="ASSAY_METRICS_ADDRESS"):
        ExitStack().enter_context(serve_metrics(("no such host", 1), Played()))


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"] for rule in group["rules"]]


def test_every_alert_asks_for_figures_that_are_told_by_labels_that_they_have() -> None:
    told = exposed(DeliveryCounters().counts)
    names = set(re.findall(r"^(assay_\w+)", told, re.MULTILINE))
    reasons = {*map(str, AbstainReason), *map(str, Category), ""}
    values = {
        "budget": {"core", "graphql"},
        "outcome": set(map(str, DeliveryOutcome)),
        "decision": {"accept", "reject", "abstain"},
        "reason": reasons,
    }
    assert len(rules()) > 10
    for rule in rules():
        asked = re.findall(r"(assay_\w+)(?:\{([^}]*)\})?", rule["expr"])
        assert asked, rule["alert"]
        for name, labels in asked:
            assert name in names, (rule["alert"], name)
            for label, said in re.findall(r'(\w+)=~?"([^"]*)"', labels):
                assert set(said.split("|")) <= values[label], (rule["alert"], said)


def test_every_alert_says_what_is_wrong_and_what_to_do() -> None:
    for rule in rules():
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}, rule["alert"]
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert set(rule["annotations"]) == {"summary", "action"}
        assert all(said.endswith((".", "!")) for said in rule["annotations"].values()), rule["alert"]


def test_an_alert_fires_where_no_door_tells_any_figure() -> None:
    """All others compare figures, and without any they are silent."""
    assert [rule["labels"]["severity"] for rule in rules() if rule["expr"] == "absent(assay_store_up)"] == ["page"]
