"""The pictures: the same bytes for the same figures, and none without figures."""

from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.worker.evaluation.bench.made import GOOD, WEAK_TEST, judged, scored
from tests.worker.judge.making import rejected, unjudged
from worker.evaluation.bench.plots import draw_plots
from worker.evaluation.bench.statistics import compute_report

pytestmark = pytest.mark.skipif(find_spec("matplotlib") is None, reason="an extra")

ROWS = [
    scored(0.9, good=True, name="a"),
    scored(0.2, good=False, name="b"),
    judged(rejected(), WEAK_TEST, "c"),
    judged(unjudged(), GOOD, "d", file="other.jsonl"),
]
ALL = ["decisions.svg", "categories.svg", "roc.svg", "calibration.svg", "signals.svg"]


@pytest.mark.slow
def test_there_is_a_picture_for_every_kind_of_figure_and_the_same_bytes_for_the_same_figures(tmp_path: Path) -> None:
    first, second = (
        {name: (tmp_path / name).read_bytes() for name in draw_plots(compute_report(ROWS), tmp_path).values()}
        for _ in "ab"
    )
    assert first == second
    assert list(first) == ALL
    for name in ALL:
        assert ET.parse(tmp_path / name).getroot().tag.endswith("svg")  # noqa: S314 - drawn by ourselves


def test_what_has_no_figures_is_not_drawn(tmp_path: Path) -> None:
    assert list(draw_plots(compute_report([judged(unjudged())]), tmp_path).values()) == ["decisions.svg"]
    assert [path.name for path in tmp_path.iterdir()] == ["decisions.svg"]
