"""The pictures of a report, as SVG files.

Does not count. matplotlib is an extra (`assay[bench]`): without it a report has its tables alone. Invariant: the same
figures give the same bytes; what has no figures is not drawn.
"""

# numpy leaves parts of matplotlib's types open:
# pyright: reportUnknownMemberType=false

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from worker.evaluation.bench.measures import CurvePoint, Share
from worker.evaluation.bench.statistics import BenchReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.typing import RcKeyType

BLUE, ORANGE, GREEN, GREY, INK = "#0072b2", "#e69f00", "#009e73", "#c8c8c8", "#333333"
"""Okabe and Ito's: told apart by colour-blind people, and by their lightness in print."""

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
"""In inches: a picture of rows grows with them."""


class ReportPlot(NamedTuple):
    """A picture: its file, how many rows it has if it has rows, how it is filled, and whether there is anything in it."""

    file: str
    rows: int | None
    fill: "Callable[[BenchReport, Axes], None]"
    is_there: bool


def draw_plots(report: BenchReport, folder: Path) -> dict[str, str]:
    """Draw what there are figures for; file names by title. Empty where matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        return {}
    import matplotlib as mpl  # noqa: PLC0415 - an extra, and half a second

    mpl.use("svg")
    with mpl.rc_context(STYLE):
        return {
            title: _save_plot(folder, title, report, plot) for title, plot in plots_of(report).items() if plot.is_there
        }


def plots_of(report: BenchReport) -> dict[str, ReportPlot]:
    groups = report.decided["expected"]
    defects = [category for category in report.categories.values() if category.recall.of or category.precision.of]
    measured = [alarm for alarm in report.alarms.values() if alarm.clean.of]
    return {
        "What was decided": ReportPlot("decisions.svg", len(groups), _decisions, bool(groups)),
        "Precision and recall by category": ReportPlot("categories.svg", 2 * len(defects), _categories, bool(defects)),
        "ROC curve of the score, and of the size alone": ReportPlot("roc.svg", None, _roc, bool(report.rankings)),
        "Calibration of the score": ReportPlot("calibration.svg", None, _calibration, bool(report.calibration)),
        "False alarms by signal": ReportPlot("signals.svg", len(measured), _signals, bool(measured)),
    }


def _save_plot(folder: Path, title: str, report: BenchReport, plot: ReportPlot) -> str:
    figure_of(title, report, plot).savefig(folder / plot.file, metadata={"Date": None})
    return plot.file


def figure_of(title: str, report: BenchReport, plot: ReportPlot) -> "Figure":
    """One picture, not saved yet."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - as above

    height = 5.0 if plot.rows is None else HEAD + ROW * plot.rows
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.add_subplot()
    plot.fill(report, axes)
    axes.set_title(title, pad=16)
    return figure


def _decisions(report: BenchReport, axes: "Axes") -> None:
    names = [f"{name} ({group.rows})" for name, group in report.decided["expected"].items()]
    left = [0.0] * len(names)
    for label, colour in (("accepted", GREEN), ("rejected", ORANGE), ("abstained", GREY)):
        shares = [100 * getattr(group, label).rate for group in report.decided["expected"].values()]
        axes.barh(names, shares, left=left, height=0.7, label=label, color=colour)
        left = [a + b for a, b in zip(left, shares, strict=True)]
    _percent(axes, "% of the dossiers", 100)
    _rows(axes, len(names))
    _legend_below(axes)


def _categories(report: BenchReport, axes: "Axes") -> None:
    held = {
        name: category for name, category in report.categories.items() if category.recall.of or category.precision.of
    }
    for shift, label, colour, shares in (
        (-0.17, "rejects that were right", BLUE, [category.precision for category in held.values()]),
        (0.17, "defects rejected", ORANGE, [category.recall for category in held.values()]),
    ):
        _intervals(axes, [row + shift for row in range(len(held))], shares, colour, label)
    axes.set_yticks(range(len(held)), list(held))
    _percent(axes, "%, with 95 % intervals", 100)
    _rows(axes, len(held))
    _legend_below(axes)


def _intervals(axes: "Axes", rows: Sequence[float], shares: Sequence[Share], colour: str, label: str | None) -> None:
    """A point with its interval in each row whose share is one of something."""
    held = [(row, share) for row, share in zip(rows, shares, strict=True) if share.of]
    at = [row for row, _ in held]
    axes.hlines(
        at,
        [100 * share.low for _, share in held],
        [100 * share.high for _, share in held],
        color=colour,
        linewidth=2,
        alpha=0.5,
    )
    axes.plot([100 * share.rate for _, share in held], at, "o", color=colour, markersize=4, label=label, clip_on=False)


def _roc(report: BenchReport, axes: "Axes") -> None:
    colours = (BLUE, ORANGE, GREEN, "#cc79a7", "#56b4e9", "#d55e00", INK)
    for number, (name, ranking) in enumerate(report.rankings.items()):
        colour = colours[number % len(colours)]
        axes.plot(*_steps(ranking.curve), color=colour, linewidth=1.6, label=f"{name}: {ranking.ours.value:.2f}")
        axes.plot(
            *_steps(ranking.size_curve),
            color=colour,
            linewidth=1,
            linestyle=":",
            label=f"its size: {ranking.size.value:.2f}",
        )
    axes.plot([0, 1], [0, 1], color=GREY, linestyle="--", label="chance, or a constant: 0.50")
    axes.set_xlabel("share of the bad changes at or above the score")
    axes.set_ylabel("share of the good changes at or above the score")
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1), fontsize=8)


def _steps(points: Sequence[CurvePoint]) -> tuple[list[float], list[float]]:
    return [point.x for point in points], [point.y for point in points]


def _calibration(report: BenchReport, axes: "Axes") -> None:
    axes.plot([0, 1], [0, 1], color=GREY, linestyle="--", label="calibrated")
    means = [bin_.mean for bin_ in report.calibration]
    axes.vlines(
        means,
        [bin_.good.low for bin_ in report.calibration],
        [bin_.good.high for bin_ in report.calibration],
        color=BLUE,
        linewidth=2,
        alpha=0.5,
        label="95 % interval",
    )
    axes.plot(
        means,
        [bin_.good.rate for bin_ in report.calibration],
        "o-",
        color=BLUE,
        linewidth=1,
        label="score",
        clip_on=False,
    )
    for bin_ in report.calibration:
        centre = (bin_.low + bin_.high) / 2
        axes.text(centre, 1.01, f"{bin_.good.of}", ha="center", va="bottom", fontsize=7, color=INK)
    axes.set_xticks([tenth / 10 for tenth in range(11)])
    axes.set_xlabel("score (numbers at the top: how many dossiers)")
    axes.set_ylabel("share that was good")
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1))


def _signals(report: BenchReport, axes: "Axes") -> None:
    held = {name: alarm for name, alarm in report.alarms.items() if alarm.clean.of}
    rows = range(len(held))
    for kind, colour in (("fact", ORANGE), ("suspicion", BLUE)):
        mine = [(row, alarm.clean) for row, alarm in zip(rows, held.values(), strict=True) if alarm.kind == kind]
        _intervals(axes, [row for row, _ in mine], [share for _, share in mine], colour, kind)
    axes.set_yticks(list(rows), [f"{name}  {alarm.clean.hits} of {alarm.clean.of}" for name, alarm in held.items()])
    axes.tick_params(axis="y", labelsize=7)
    _percent(axes, "% of the good changes that hold what it looks at, with 95 % intervals", None)
    _rows(axes, len(held))
    _legend_below(axes)


def _percent(axes: "Axes", label: str, most: float | None) -> None:
    axes.set_xlim(0, most)
    axes.set_xlabel(label)
    axes.grid(visible=False, axis="y")


def _rows(axes: "Axes", rows: int) -> None:
    """The first row at the top."""
    axes.set_ylim(rows - 0.4, -0.6)


def _legend_below(axes: "Axes") -> None:
    handles, labels = axes.get_legend_handles_labels()
    axes.figure.legend(handles, labels, loc="outside lower center", ncols=3)
