"""`/metrics`: its address, its text in the format of Prometheus, and the alerts that use it."""

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
from prometheus_client import Metric, generate_latest
from pydantic import SecretStr

from app.web.metrics import MetricsCollector, delivery_counter, serve_metrics, store_metrics
from app.web.webhooks import DeliveryCounters, DeliveryOutcome
from tests.app.web.web_server import settings
from tests.golden.golden import Golden
from tests.worker.adapters.redis.store_samples import judge_request, pull_ref
from tests.world.redis import RedisServer
from worker.adapters.redis.store import Store, open_store
from worker.domain.metrics import BOUNDS_S, CurrentGauges, DurationMetric, EventCount, Histogram, MetricTotals
from worker.domain.model import InstallationId
from worker.domain.verdict.verdict import AbstainReason, Category
from worker.errors import SettingError
from worker.process import SystemClock

ALERTS = Path(__file__).parents[3] / "docs" / "alerts.yml"
EMPTY = Histogram((0,) * (len(BOUNDS_S) + 1), 0.0)
GAUGES = CurrentGauges(
    3, 2, 4.25, 1, 1, 9, has_dispatcher=True, is_paused=False, waiting_tasks={"open_check": 5, "command": 6}
)
TOTALS = MetricTotals(
    verdicts={("accept", ""): 4, ("abstain", "paused"): 1},
    counts={EventCount.OVERDUE: 1, EventCount.GIVEN_UP: 2, EventCount.KILLED: 3, EventCount.PASSED_OVER: 4},
    spans={DurationMetric.FIRST_CHECK: Histogram((1, 0, 2, *(0,) * 9, 1), 4007.5), DurationMetric.VERDICT: EMPTY},
    spent_usd={InstallationId(100): Decimal("0.0123")},
    left={(InstallationId(100), "core"): 4321},
)


@pytest.fixture
def own_redis() -> Iterator[RedisServer]:
    redis = RedisServer.launch()
    yield redis
    redis.end()


@pytest.fixture
def store(own_redis: RedisServer) -> Iterator[Store]:
    with open_store(settings(redis_url=SecretStr(own_redis.url))) as opened:
        yield opened


class FixedCollector:
    """A collector of fixed metrics."""

    def __init__(self, *metrics: Metric) -> None:
        self.metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self.metrics


def metrics_text(deliveries: Mapping[str, int]) -> str:
    """All metrics in the format of Prometheus."""
    return generate_latest(FixedCollector(delivery_counter(deliveries), *store_metrics(GAUGES, TOTALS))).decode()


def test_every_metric_has_its_type_and_help(golden: Golden) -> None:
    golden.check_text("metrics.txt", metrics_text({"queued": 2}))


def test_metrics_text_is_valid_and_no_name_repeats() -> None:
    lines = metrics_text(DeliveryCounters().counts).splitlines()
    types = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(types) == len(set(types))
    row = re.compile(r'[a-z_]+(\{([a-z]+="[A-Za-z0-9_.+-]*",?)+\})? [0-9.e+-]+')
    assert [line for line in lines if not line.startswith("#") and not row.fullmatch(line)] == []
    assert [type_ for type_ in types if not type_.startswith("assay_")] == []


def test_metrics_address_serves_the_store_metrics_and_nothing_else(store: Store) -> None:
    store.pulls.request_judging(judge_request())
    store.measures.count_verdict(pull_ref().installation_id, "reject", "weak_test", 7)
    counters = DeliveryCounters()
    counters.count(DeliveryOutcome.QUEUED)
    with (
        serve_metrics(("127.0.0.1", 0), MetricsCollector(store, counters, SystemClock())) as url,
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


def test_redis_outage_is_a_metric(store: Store, own_redis: RedisServer) -> None:
    collector = MetricsCollector(store, DeliveryCounters(), SystemClock())
    own_redis.kill()
    lines = generate_latest(collector).decode().splitlines()
    assert "assay_store_up 0.0" in lines
    assert not any(line.startswith("assay_queue") for line in lines)


def test_failed_scrape_is_one_log_line(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    class Fails:
        def collect(self) -> Iterable[Metric]:
            raise BrokenPipeError

    with serve_metrics(("127.0.0.1", 0), Fails()) as url, pytest.raises(httpx.RemoteProtocolError):
        httpx.get(url)
    assert [(record.levelname, record.message) for record in caplog.records if record.name == "app.web.metrics"] == [
        ("WARNING", "metrics request failed")
    ]
    assert capfd.readouterr() == ("", "")


def test_unusable_metrics_address_is_a_setting_error() -> None:
    with ExitStack() as stack:
        used_socket = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = used_socket.getsockname()[1]
        with pytest.raises(SettingError, match=rf'^ASSAY_METRICS_ADDRESS is "127.0.0.1:{port}", which can\'t'):
            stack.enter_context(serve_metrics(("127.0.0.1", port), FixedCollector()))
    with pytest.raises(SettingError, match="ASSAY_METRICS_ADDRESS"):
        ExitStack().enter_context(serve_metrics(("no such host", 1), FixedCollector()))


def alert_rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"] for rule in group["rules"]]


def test_every_alert_uses_known_metrics_and_label_values() -> None:
    text = metrics_text(DeliveryCounters().counts)
    names = set(re.findall(r"^(assay_\w+)", text, re.MULTILINE))
    reasons = {*map(str, AbstainReason), *map(str, Category), ""}
    values = {
        "budget": {"core", "graphql"},
        "outcome": set(map(str, DeliveryOutcome)),
        "decision": {"accept", "reject", "abstain"},
        "reason": reasons,
    }
    assert len(alert_rules()) > 10
    for rule in alert_rules():
        selectors = re.findall(r"(assay_\w+)(?:\{([^}]*)\})?", rule["expr"])
        assert selectors, rule["alert"]
        for name, labels in selectors:
            assert name in names, (rule["alert"], name)
            for label, label_value in re.findall(r'(\w+)=~?"([^"]*)"', labels):
                assert set(label_value.split("|")) <= values[label], (rule["alert"], label_value)


def test_every_alert_has_a_severity_summary_and_action() -> None:
    for rule in alert_rules():
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}, rule["alert"]
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert set(rule["annotations"]) == {"summary", "action"}
        assert all(text.endswith((".", "!")) for text in rule["annotations"].values()), rule["alert"]


def test_alert_fires_when_no_web_process_is_scraped() -> None:
    """All other alerts are silent without metrics."""
    assert [rule["labels"]["severity"] for rule in alert_rules() if rule["expr"] == "absent(assay_store_up)"] == [
        "page"
    ]


def test_alerts_quote_log_messages_as_they_are() -> None:
    prose = (Path(__file__).parents[2] / "golden/prose/log_messages.txt").read_text(encoding="utf-8")
    messages = {message.partition(": %s")[0] for message in prose.splitlines()} | {"delivery"}
    quotes = {quote for rule in alert_rules() for quote in re.findall(r'"([^"]+)"', rule["annotations"]["action"])}
    assert quotes
    assert quotes <= messages
