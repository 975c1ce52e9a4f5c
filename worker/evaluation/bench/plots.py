"""Plots of a report, as SVG files: the same figures give the same bytes.

matplotlib is an extra (`assay[bench]`): without it a report has tables alone.
"""

# numpy leaves parts of matplotlib's types open:
# pyright: reportUnknownMemberType=false

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from worker.evaluation.bench.statistics import BenchReport, CategoryAccuracy, CurvePoint, Share, SignalAlarms

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.typing import RcKeyType

BLUE, ORANGE, GREEN, GREY, INK = "#0072b2", "#e69f00", "#009e73", "#c8c8c8", "#333333"
"""Okabe and Ito's: distinct for colour-blind people, and by their lightness in print."""

STYLE: Final["dict[RcKeyType, Any]"] = {
    "svg.hashsalt": "assay",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#e3e3e3",
    "legend.frameon": False,
}
WIDTH, HEAD, ROW = 7.6, 1.3, 0.22
"""In inches: a plot of rows grows with them."""


class ReportPlot(NamedTuple):
    """A plot: its file, how many rows it has if it has rows, what fills it, and whether there is anything in it."""

    file: str
    rows: int | None
    fill: "Callable[[BenchReport, Axes], None]"
    is_there: bool


def draw_plots(report: BenchReport, folder: Path) -> dict[str, str]:
    """Draw what there are figures for; file names by title. Empty where matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        return {}
    import matplotlib as mpl  # noqa: PLC0415 - an extra, and half a second
    from matplotlib.figure import Figure  # noqa: PLC0415 - as above

    groups = report.decided["expected"]
    defects, measured = _defect_categories(report), _measured_signals(report)
    plots = {
        "What was decided": ReportPlot("decisions.svg", len(groups), _decisions, bool(groups)),
        "Precision and recall by category": ReportPlot("categories.svg", 2 * len(defects), _categories, bool(defects)),
        "ROC curve of the score, and of the size alone": ReportPlot("roc.svg", None, _roc, bool(report.rankings)),
        "Calibration of the score": ReportPlot("calibration.svg", None, _calibration, bool(report.calibration)),
        "False alarms by signal": ReportPlot("signals.svg", len(measured), _signals, bool(measured)),
    }
    plots = {title: plot for title, plot in plots.items() if plot.is_there}
    mpl.use("svg")
    with mpl.rc_context(STYLE):
        for title, plot in plots.items():
            height = 5.0 if plot.rows is None else HEAD + ROW * plot.rows
            figure = Figure(figsize=(WIDTH, height), layout="constrained")
            axes = figure.add_subplot()
            plot.fill(report, axes)
            axes.set_title(title, pad=16)
            figure.savefig(folder / plot.file, metadata={"Date": None})
    return {title: plot.file for title, plot in plots.items()}


def _defect_categories(report: BenchReport) -> dict[str, CategoryAccuracy]:
    return {
        name: category for name, category in report.categories.items() if category.recall.of or category.precision.of
    }


def _measured_signals(report: BenchReport) -> dict[str, SignalAlarms]:
    return {name: alarms for name, alarms in report.alarms.items() if alarms.clean.of}


def _decisions(report: BenchReport, axes: "Axes") -> None:
    names = [f"{name} ({group.rows})" for name, group in report.decided["expected"].items()]
    left = [0.0] * len(names)
    for label, colour in (("accepted", GREEN), ("rejected", ORANGE), ("abstained", GREY)):
        shares = [100 * getattr(group, label).rate for group in report.decided["expected"].values()]
        axes.barh(names, shares, left=left, height=0.7, label=label, color=colour)
        left = [a + b for a, b in zip(left, shares, strict=True)]
    _finish_rows(axes, len(names), "% of the dossiers", 100)


def _categories(report: BenchReport, axes: "Axes") -> None:
    categories = _defect_categories(report)
    for shift, label, colour, shares in (
        (-0.17, "rejects that were right", BLUE, [category.precision for category in categories.values()]),
        (0.17, "defects rejected", ORANGE, [category.recall for category in categories.values()]),
    ):
        _intervals(axes, [row + shift for row in range(len(categories))], shares, colour, label)
    axes.set_yticks(range(len(categories)), list(categories))
    _finish_rows(axes, len(categories), "%, with 95 % intervals", 100)


def _intervals(axes: "Axes", rows: Sequence[float], shares: Sequence[Share], colour: str, label: str) -> None:
    """A point with its interval in each row whose share is one of something."""
    drawn = [(row, share) for row, share in zip(rows, shares, strict=True) if share.of]
    at = [row for row, _ in drawn]
    lows, highs = [100 * share.low for _, share in drawn], [100 * share.high for _, share in drawn]
    axes.hlines(at, lows, highs, color=colour, linewidth=2, alpha=0.5)
    axes.plot([100 * share.rate for _, share in drawn], at, "o", color=colour, markersize=4, label=label, clip_on=False)


def _roc(report: BenchReport, axes: "Axes") -> None:
    colours = (BLUE, ORANGE, GREEN, "#cc79a7", "#56b4e9", "#d55e00", INK)
    for number, (name, ranking) in enumerate(report.rankings.items()):
        colour = colours[number % len(colours)]
        axes.plot(*_steps(ranking.curve), color=colour, linewidth=1.6, label=f"{name}: {ranking.ours.value:.2f}")
        size = f"its size: {ranking.size.value:.2f}"
        axes.plot(*_steps(ranking.size_curve), color=colour, linewidth=1, linestyle=":", label=size)
    axes.plot([0, 1], [0, 1], color=GREY, linestyle="--", label="chance, or a constant: 0.50")
    axes.set_xlabel("share of the bad changes at or above the score")
    axes.set_ylabel("share of the good changes at or above the score")
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1), fontsize=8)


def _steps(points: Sequence[CurvePoint]) -> tuple[list[float], list[float]]:
    return [point.x for point in points], [point.y for point in points]


def _calibration(report: BenchReport, axes: "Axes") -> None:
    axes.plot([0, 1], [0, 1], color=GREY, linestyle="--", label="calibrated")
    means, shares = [part.mean for part in report.calibration], [part.good for part in report.calibration]
    lows, highs, rates = [[getattr(share, end) for share in shares] for end in ("low", "high", "rate")]
    axes.vlines(means, lows, highs, color=BLUE, linewidth=2, alpha=0.5, label="95 % interval")
    axes.plot(means, rates, "o-", color=BLUE, linewidth=1, label="score", clip_on=False)
    for part in report.calibration:
        centre = (part.low + part.high) / 2
        axes.text(centre, 1.01, f"{part.good.of}", ha="center", va="bottom", fontsize=7, color=INK)
    axes.set_xticks([tenth / 10 for tenth in range(11)])
    axes.set_xlabel("score (numbers at the top: how many dossiers)")
    axes.set_ylabel("share that was good")
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1))


def _signals(report: BenchReport, axes: "Axes") -> None:
    signals = _measured_signals(report)
    for kind, colour in (("fact", ORANGE), ("suspicion", BLUE)):
        mine = [(row, alarms.clean) for row, alarms in enumerate(signals.values()) if alarms.kind == kind]
        _intervals(axes, [row for row, _ in mine], [share for _, share in mine], colour, kind)
    labels = [f"{name}  {alarms.clean.hits} of {alarms.clean.of}" for name, alarms in signals.items()]
    axes.set_yticks(range(len(signals)), labels)
    axes.tick_params(axis="y", labelsize=7)
    _finish_rows(axes, len(signals), "% of the good changes that hold what it looks at, with 95 % intervals", None)


def _finish_rows(axes: "Axes", rows: int, label: str, most: float | None) -> None:
    """Axis, label and legend of a plot of rows in percent, the first row at the top."""
    axes.set_xlim(0, most)
    axes.set_xlabel(label)
    axes.grid(visible=False, axis="y")
    axes.set_ylim(rows - 0.4, -0.6)
    handles, labels = axes.get_legend_handles_labels()
    axes.figure.legend(handles, labels, loc="outside lower center", ncols=3)
