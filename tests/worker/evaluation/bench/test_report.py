"""report.md and report.json of a small corpus, and the plots."""

import json
import re
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from inline_snapshot import snapshot

from tests.worker.evaluation.bench.samples import (
    ABSTAIN,
    ACCEPT,
    GOOD,
    PLAN,
    REJECT,
    WEAK_TEST,
    finding,
    row_outcome,
    scored_outcome,
)
from tests.worker.judge.samples import abstain_verdict, reject_verdict
from worker.evaluation.bench.compare import RowVerdict, compare_runs
from worker.evaluation.bench.plots import draw_plots
from worker.evaluation.bench.report import MOST_ROWS, report_json, report_page, report_summary
from worker.evaluation.bench.statistics import compute_report
from worker.signals.signal import SignalScope

AT_TEN = {**WEAK_TEST, "where": [{"path": "tests/test_a.py", "line": 10}]}
GAP = {"decision": "reject", "category": "acceptance_gap", "missing": ["AC1"], "kind": "size_matched"}
HOSTILE = "It says: <b>@team</b> | `a` | [x](http://evil.example) " + "z" * 300
CORPUS = [
    row_outcome(ACCEPT, {**GOOD, "why": "safe"}, "safe-1", lines=2, ms=1.5),
    row_outcome(
        abstain_verdict(score=0.6), {**GOOD, "why": "clean"}, "clean-1", language="go", repository="acme/tools"
    ),
    row_outcome(
        reject_verdict(concern=HOSTILE), {**GOOD, "why": "clean"}, "clean|2", whole_files=False, ms=80.0, bytes=12_345
    ),
    row_outcome(
        reject_verdict(findings=[finding()]),
        {**AT_TEN, "pair": "clean-1", "difficulty": "easy", "variant": "skip"},
        "seed-1",
    ),
    row_outcome(abstain_verdict(score=0.4, findings=[finding(line=99)]), {**AT_TEN, "difficulty": "hard"}, "seed-2"),
    row_outcome(
        abstain_verdict(score=0.5, criteria=[{"id": "AC1", "status": "missing"}]),
        GAP,
        "seed-3",
        repository="acme/tools",
    ),
    row_outcome(
        abstain_verdict(score=0.3, signals={"evaluate_score": 0.25}),
        {"outcome": "not_merged"},
        "agent-1",
        file="agents.jsonl",
        pointers=2,
        pointers_wrong=["upload.py:99"],
    ),
    row_outcome(abstain_verdict(score=0.7), {"outcome": "merged"}, "agent-2", file="agents.jsonl", pointers=3),
]
EARLIER = {
    "safe-1": RowVerdict(decision="abstain", abstain_reason="unproven", score=0.55),
    "clean-1": RowVerdict(decision="abstain", abstain_reason="judge_unavailable", score=0.55),
    "seed-1": RowVerdict(decision="reject", category="weak_test", score=0.137),
    "seed-2": RowVerdict(decision="reject", category="weak_test", score=0.1),
    "agent-1": RowVerdict(decision="accept", score=0.9),
    "gone": RowVerdict(decision="accept", score=0.9),
}
PLOTS = {"What was decided": "decisions.svg", "Calibration of the score": "calibration.svg"}


def without_signals(text: str) -> str:
    """Only the signals that fired here, since the table lists all."""
    return re.sub(r"^\| `(?!test_without_assertion).*\| (?:fact|suspicion) \|.*\n", "", text, flags=re.MULTILINE)


def test_report_page() -> None:
    text = without_signals(report_page(compute_report(CORPUS), PLAN, PLOTS, None))
    assert text == (Path(__file__).parent / "report.md").read_text(encoding="utf-8")


def test_comparison_comes_first_in_the_report() -> None:
    text = report_page(compute_report(CORPUS), PLAN, PLOTS, compare_runs(CORPUS, EARLIER))
    compared = text[text.index("## Compared") : text.index("![What was decided]")]
    assert compared == snapshot("""\
## Compared with the earlier run

Both hold 5 dossiers; 3 only this one, 1 only the earlier one.

|  | before | now |
|---|---|---|
| good changes rejected | 0.0 % (0 of 2; 0.0 to 65.8 %) | 0.0 % (0 of 2; 0.0 to 65.8 %) |
| defects rejected | 100.0 % (2 of 2; 34.2 to 100.0 %) | 50.0 % (1 of 2; 9.5 to 90.5 %) |
| area under the curve, rows.jsonl | 1.00 (0.63 to 1.00) | 1.00 (0.63 to 1.00) |

Decided differently: 3; 2 better and 1 worse, by what was expected.

| dossier | expected | before | now |  | concern now |
|---|---|---|---|---|---|
| `safe-1` | accept: safe | abstain unproven | accept | better | It was looked at. |
| `seed-2` | reject: weak_test | reject weak_test | abstain judge_unavailable | worse | It was looked at. |
| `agent-1` | not merged | accept | abstain judge_unavailable | better | It was looked at. |

Decided alike with another score: 1; 1 nearer to what was expected, 0 farther.

| dossier | expected | score before | now |  |
|---|---|---|---|---|
| `clean-1` | accept: clean | 0.550 | 0.600 | better |

| signal | new on good changes | gone from them | new on others | gone from them |
|---|---|---|---|---|
| `test_without_assertion` | 0 | 0 | 2 | 0 |

""")


def test_comparison_of_identical_runs_lists_no_difference() -> None:
    same = {"safe-1": RowVerdict(decision="accept", score=0.937)}
    text = report_page(compute_report(CORPUS[:1]), PLAN, {}, compare_runs(CORPUS[:1], same))
    compared = text[text.index("## Compared") : text.index("There are no plots")]
    assert compared == snapshot("""\
## Compared with the earlier run

Both hold 1 dossier; 0 only this one, 0 only the earlier one.

|  | before | now |
|---|---|---|
| good changes rejected | 0.0 % (0 of 1; 0.0 to 79.3 %) | 0.0 % (0 of 1; 0.0 to 79.3 %) |
| defects rejected | none there | none there |

Decided differently: 0; 0 better and 0 worse, by what was expected.

Decided alike with another score: 0; 0 nearer to what was expected, 0 farther.

""")


def test_summary_has_the_main_figures() -> None:
    assert report_summary(compute_report(CORPUS), "out/report.md") == snapshot("""\
8 dossiers judged, 5.0 ms each at the median.
Good changes rejected: 25.0 % (1 of 4; 4.6 to 69.9 %).
acceptance_gap: rejected 0.0 % (0 of 1; 0.0 to 79.3 %), found 0.0 % (0 of 1; 0.0 to 79.3 %).
weak_test: rejected 50.0 % (1 of 2; 9.5 to 90.5 %), found 50.0 % (1 of 2; 9.5 to 90.5 %).
all defects: rejected 33.3 % (1 of 3; 6.1 to 79.2 %), found 33.3 % (1 of 3; 6.1 to 79.2 %).
Report: out/report.md
""")


def test_summary_has_the_share_of_met_criteria_called_unmet() -> None:
    states = [{"id": "AC1", "status": "missing"}, {"id": "AC2", "status": "unverifiable"}]
    listed = row_outcome(abstain_verdict(criteria=states), GOOD, looks=(SignalScope.ISSUE,))
    text = report_summary(compute_report([listed]), "r")
    assert "\nListed criteria of good changes that are called missing or partly met: 50.0 % (1 of 2; " in text


def test_report_of_one_unlabelled_row() -> None:
    text = without_signals(report_page(compute_report([row_outcome(ABSTAIN)]), PLAN, {}, None))
    assert text == (Path(__file__).parent / "report_of_one.md").read_text(encoding="utf-8")
    summary = report_summary(compute_report([row_outcome(ABSTAIN)]), "r")
    assert summary == "1 dossier judged, 5.0 ms each at the median.\nReport: r\n"


def test_truncated_table_says_how_many_rows_are_left_out() -> None:
    rows = [row_outcome(REJECT, GOOD, f"r{number}") for number in range(MOST_ROWS + 3)]
    text = report_page(compute_report(rows), PLAN, {}, None)
    wrong = text[text.index("## Decided against") :]
    assert wrong.count("| `r") - wrong[wrong.index("## Categories") :].count("| `r") == MOST_ROWS
    assert "\n3 more are in report.json.\n" in wrong


def test_report_says_that_a_price_is_unknown() -> None:
    costly = row_outcome(abstain_verdict(judge_kind="hybrid", judge_model="m", judge_cost_usd=None))
    assert "Cost of models: unknown." in report_page(compute_report([costly]), PLAN, {}, None)


TWIN = row_outcome(abstain_verdict(score=0.6), GOOD, "a")
ROWS = [TWIN, row_outcome(REJECT, {**WEAK_TEST, "pair": "a"}, "b", ms=7.25)]


def test_report_json_has_each_figure_with_its_interval() -> None:
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


def test_report_json_has_no_rate_for_an_empty_share() -> None:
    share = json.loads(report_json(compute_report(ROWS), PLAN, None))["categories"]["scope_creep"]["recall"]
    assert share == {"hits": 0, "of": 0, "rate": None, "low": 0.0, "high": 1.0}


def test_report_json_lists_each_difference() -> None:
    accepted = RowVerdict(decision="accept", score=0.9)
    compared = compare_runs(ROWS, {"a": accepted, "x": accepted})
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


needs_matplotlib = pytest.mark.skipif(find_spec("matplotlib") is None, reason="an extra")

PLOTTED = [
    scored_outcome(0.9, good=True, name="a"),
    scored_outcome(0.2, good=False, name="b"),
    row_outcome(REJECT, WEAK_TEST, "c"),
    row_outcome(ABSTAIN, GOOD, "d", file="other.jsonl"),
]
PICTURES = ["decisions.svg", "categories.svg", "roc.svg", "calibration.svg", "signals.svg"]


@needs_matplotlib
@pytest.mark.slow
def test_plots_are_deterministic_and_cover_each_kind_of_figure(tmp_path: Path) -> None:
    first, second = (
        {name: (tmp_path / name).read_bytes() for name in draw_plots(compute_report(PLOTTED), tmp_path).values()}
        for _ in "ab"
    )
    assert first == second
    assert list(first) == PICTURES
    for name in PICTURES:
        assert ET.parse(tmp_path / name).getroot().tag.endswith("svg")  # noqa: S314 - drawn by ourselves


@needs_matplotlib
def test_no_plot_is_drawn_without_figures(tmp_path: Path) -> None:
    assert list(draw_plots(compute_report([row_outcome(ABSTAIN)]), tmp_path).values()) == ["decisions.svg"]
    assert [path.name for path in tmp_path.iterdir()] == ["decisions.svg"]
