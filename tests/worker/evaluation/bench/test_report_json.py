"""report.json: every figure, plainly."""

import json
from decimal import Decimal

from tests.worker.evaluation.bench.made import GOOD, PLAN, WEAK_TEST, judged
from tests.worker.judge.verdicts import rejected, unjudged
from worker.evaluation.bench.compare import RowVerdict, compare_runs
from worker.evaluation.bench.report_json import report_json
from worker.evaluation.bench.statistics import compute_report

ROWS = [judged(unjudged(score=0.6), GOOD, "a"), judged(rejected(), {**WEAK_TEST, "pair": "a"}, "b", ms=7.25)]


def test_every_figure_stands_under_its_name_with_its_interval() -> None:
    report = json.loads(report_json(compute_report(ROWS), PLAN, None))
    assert report["run"]["files"] == [["rows.jsonl", "sha256:f"]]
    assert report["rows"] == 2
    share = report["false_rejects"]["all"]["all"]
    assert (share["hits"], share["of"]) == (0, 1)
    assert (share["rate"], share["low"]) == (0.0, 0.0)
    assert 0.79 < share["high"] < 0.8
    assert report["categories"]["weak_test"]["recall"]["rate"] == 1.0
    assert report["pairs"]["weak_test"]["ours"]["groups"] == 1
    assert report["rankings"]["rows.jsonl"]["curve"][0] == {"x": 0.0, "y": 0.0}
    assert report["slowest"][0] == {"id": "b", "ms": 7.25, "lines": 10, "bytes": 1000}
    assert Decimal(report["cost_usd"]) == 0
    assert report["against"] is None


def test_a_share_of_nothing_has_no_rate() -> None:
    share = json.loads(report_json(compute_report(ROWS), PLAN, None))["categories"]["scope_creep"]["recall"]
    assert share == {"hits": 0, "of": 0, "rate": None, "low": 0.0, "high": 1.0}


def test_a_comparison_is_in_it_case_by_case() -> None:
    compared = compare_runs(
        ROWS, {"a": RowVerdict(decision="accept", score=0.9), "x": RowVerdict(decision="accept", score=0.9)}
    )
    against = json.loads(report_json(compute_report(ROWS), PLAN, compared))["against"]
    assert (against["rows"], against["only_now"], against["only_before"]) == (1, 1, 1)
    assert against["differences"] == [
        {
            "id": "a",
            "expected": "accept",
            "before": "accept",
            "now": "abstain judge_unavailable",
            "is_better": False,
            "concern": "It was looked at.",
        }
    ]
