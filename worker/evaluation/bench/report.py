"""A report as Markdown, as plain JSON and as a summary for the terminal.

A rate is printed with its counts, an interval with its kind, a cut table with what is left out; what dossiers and files say
can't act as Markdown.
"""

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, cast

from worker.evaluation.bench.compare import Comparison, TierComparison
from worker.evaluation.bench.runner import RunPlan
from worker.evaluation.bench.statistics import (
    BenchReport,
    CalibrationError,
    DefectRecall,
    PairsWon,
    RocArea,
    ScoreRanking,
    Share,
)
from worker.publishing.texts.markdown import code, prose

MOST_ROWS: Final = 50
"""Rows of a table that is about single dossiers."""

LONGEST_CELL: Final = 200
UNMET: Final = "Listed criteria of good changes that are called missing or partly met"
BETTER_WORDS: Final = {True: "better", False: "worse", None: ""}

RECALL_TITLES: Final = {
    "category": "Defects",
    "difficulty": "By difficulty",
    "language": "By language",
    "texts": "With and without whole files",
    "variant": "By variant",
}
FALSE_REJECT_TITLES: Final = {
    "all": "all",
    "file": "file",
    "language": "language",
    "texts": "what was there to read",
    "file and language": "file and language",
}
TIER_TITLES: Final = {
    "decided": "decided",
    "right": "agreement: decided rightly",
    "accepts_right": "accepts that were right (precision)",
    "good_accepted": "good ones accepted (recall)",
    "rejects_right": "rejects that were right (precision)",
    "bad_rejected": "bad ones rejected (recall)",
}


def report_json(
    report: BenchReport, plan: RunPlan, compared: Comparison | None, beside: TierComparison | None = None
) -> str:
    """report.json: every figure under its name. A share carries its counts, its rate (null if of nothing) and its interval."""
    figures = cast("Mapping[str, object]", _plain(report))
    fields = {"run": plan.model_dump(mode="json"), **figures, "against": _plain(compared), "tiers": _plain(beside)}
    return f"{json.dumps(fields, indent=1, ensure_ascii=False)}\n"


def _plain(value: object) -> object:
    match value:
        case None | str() | int() | float():
            return value
        case Decimal():
            return str(value)
        case Share():
            rate = value.rate if value.of else None
            fields = {"hits": value.hits, "of": value.of, "rate": rate, "low": value.low, "high": value.high}
        case _ if dataclasses.is_dataclass(value):
            fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        case Mapping():
            fields = cast("Mapping[Any, object]", value)
        case _ if hasattr(value, "_asdict"):  # a NamedTuple
            fields = cast("Any", value)._asdict()
        case _:
            return [_plain(item) for item in cast("Iterable[object]", value)]
    return {str(name): _plain(item) for name, item in fields.items()}


def report_summary(report: BenchReport, folder: str) -> str:
    """What the terminal shows at the end."""
    lines = (
        f"{_count_rows(report.rows)} judged, {report.ms:.1f} ms each at the median.",
        *(f"Good changes rejected: {_share(share)}." for share in report.false_rejects["all"].values()),
        *([f"{UNMET}: {_share(report.unmet)}."] if report.unmet.of else []),
        *(
            f"{name}: rejected {_share(recall.rejected)}, found {_share(recall.found)}."
            for name, recall in report.recalls["category"].items()
        ),
        f"Report: {folder}",
    )
    return "\n".join(lines) + "\n"


def report_page(
    report: BenchReport,
    plan: RunPlan,
    plots: Mapping[str, str],
    compared: Comparison | None,
    beside: TierComparison | None = None,
) -> str:
    """report.md. *plots* are file names by title; *compared* None: nothing was compared; *beside*: the $0 tier."""
    parts = (
        _head(report, plan),
        tiers_section(beside),
        _comparison_lines(compared),
        _plots(plots),
        _decision_lines(report),
        _false_rejects(report),
        _wrong_rows_lines(report),
        _recalls(report),
        _categories(report),
        _rankings(report),
        _calibration(report),
        _alarms(report),
        _pointers(report),
        _slowest(report),
    )
    return "\n".join(line for part in parts for line in part)


def _head(report: BenchReport, plan: RunPlan) -> Iterator[str]:
    files = ", ".join(code(name) for name, _ in plan.files)
    cost = "unknown" if report.cost_usd is None else f"${report.cost_usd}"
    yield "# Bench report"
    yield ""
    yield f"{_count_rows(report.rows)} from {files}, tier {plan.tier}, Assay {plan.assay}."
    yield f"With a listed criterion: {_share(report.criteria)}."
    yield f"{UNMET}: {_share(report.unmet)}."
    yield f"Cost of models: {cost}. At the median a dossier took {report.ms:.1f} ms and has {report.findings:g} findings."
    yield "Intervals are 95 %: of shares Wilson's, of areas Hanley and McNeil's, of pairs from drawing their groups again."
    if report.evaluated is not None:
        rows, mean = report.evaluated
        yield f"{_count_rows(rows)} carried an `evaluate` block; the mean of the composed scores is {mean:.3f}."
    yield ""


def tiers_section(comparison: TierComparison | None) -> Iterator[str]:
    """A run with a model beside the $0 tier. Empty where there was no model."""
    if comparison is None:
        return
    zero, model = comparison.zero, comparison.model
    yield from _title("## Beside the $0 tier")
    yield f"The model was asked about {_share(comparison.asked)} of the dossiers. Spent: ${comparison.spent_usd:f} of ${comparison.limit_usd:f},"
    yield "including repeated judgings and requests that may have been billed."
    yield f"Decided alike by both: {_share(comparison.agreement)}."
    yield ""
    yield from _table(
        ("of dossiers known to be good or bad", "$0 tier", "with the model"),
        (
            *(
                (title, _share(getattr(zero, name)), _share(getattr(model, name)))
                for name, title in TIER_TITLES.items()
            ),
            ("calibration error (ECE)", _error(zero.calibration_error), _error(model.calibration_error)),
        ),
    )
    yield "*Calibration error*: by how much the score differs from the share of good ones, over ten bins; the interval from drawing"
    yield "the dossiers again."
    yield ""


def _comparison_lines(compared: Comparison | None) -> Iterator[str]:
    if compared is None:
        return
    before, now = compared.before, compared.now
    yield from _title("## Compared with the earlier run")
    yield f"Both hold {_count_rows(compared.rows)}; {compared.only_now} only this one, {compared.only_before} only the earlier one."
    yield ""
    areas = ((name, old, now.areas[name]) for name, old in before.areas.items())
    yield from _table(
        ("", "before", "now"),
        (
            ("good changes rejected", _share(before.false_rejects), _share(now.false_rejects)),
            ("defects rejected", _share(before.rejected_rightly), _share(now.rejected_rightly)),
            *(
                (f"area under the curve, {prose(name)}", _area(old), _area(new))
                for name, old, new in areas
                if old is not None and new is not None
            ),
        ),
    )
    better, worse = _count_better(row.is_better for row in compared.differences)
    yield f"Decided differently: {len(compared.differences)}; {better} better and {worse} worse, by what was expected."
    yield ""
    yield from _table(
        ("dossier", "expected", "before", "now", "", "concern now"),
        (
            (code(row.id), prose(row.expected), row.before, row.now, BETTER_WORDS[row.is_better], _cell(row.concern))
            for row in compared.differences
        ),
        MOST_ROWS,
    )
    better, worse = _count_better(row.is_better for row in compared.moved)
    yield f"Decided alike with another score: {len(compared.moved)}; {better} nearer to what was expected, {worse} farther."
    yield ""
    yield from _table(
        ("dossier", "expected", "score before", "now", ""),
        (
            (code(row.id), prose(row.expected), f"{row.before:.3f}", f"{row.now:.3f}", BETTER_WORDS[row.is_better])
            for row in compared.moved
        ),
        MOST_ROWS,
    )
    yield from _table(
        ("signal", "new on good changes", "gone from them", "new on others", "gone from them"),
        ((code(name), *map(str, swing)) for name, swing in compared.signals.items()),
    )


def _count_better(rows: Iterable[bool | None]) -> tuple[int, int]:
    decided = list(rows)
    return decided.count(True), decided.count(False)


def _plots(plots: Mapping[str, str]) -> Iterator[str]:
    for title, name in plots.items():
        yield from _title(f"![{title}]({name})")
    if not plots:
        yield from _title(
            "There are no plots: they need matplotlib. Install `assay[bench]` and run the same command again."
        )


def _decision_lines(report: BenchReport) -> Iterator[str]:
    yield from _title("## What was decided")
    for groups in report.decided.values():
        yield from _table(
            ("expected", "dossiers", "accepted", "rejected", "abstained"),
            (
                (prose(name), str(group.rows), _rate(group.accepted), _rate(group.rejected), _rate(group.abstained))
                for name, group in groups.items()
            ),
        )


def _false_rejects(report: BenchReport) -> Iterator[str]:
    yield from _title("## Good changes that were rejected")
    if not report.false_rejects["all"]:
        yield "No dossier is known to be good: none expects `accept`, and none was merged."
        yield ""
        return
    yield from _table(
        ("by", "good changes", "rejected"),
        (
            (FALSE_REJECT_TITLES[by], prose(name), _share(share))
            for by, shares in report.false_rejects.items()
            for name, share in shares.items()
        ),
    )
    yield from _without(report.without["rejected"])


def _without(shares: Mapping[str, Share]) -> Iterator[str]:
    if shares:
        order = sorted(shares, key=lambda name: shares[name].rate)
        least, most = order[0], order[-1]
        yield (
            f"With one repository left out the share is {_share(shares[least])} (without {prose(least)}) at the least, "
            f"and {_share(shares[most])} (without {prose(most)}) at the most."
        )
        yield ""


def _wrong_rows_lines(report: BenchReport) -> Iterator[str]:
    if report.wrong:
        yield from _title("## Decided against what was expected")
        yield from _table(
            ("dossier", "expected", "decided", "concern"),
            ((code(row.id), prose(row.expected), row.decided, _cell(row.concern)) for row in report.wrong),
            MOST_ROWS,
        )


def _recalls(report: BenchReport) -> Iterator[str]:
    if not report.recalls["category"]:
        return
    for by, title in RECALL_TITLES.items():
        yield from _title(f"{'##' if by == 'category' else '###'} {title}")
        if by == "category":
            yield "*Rejected*: with the right category or a fair one. *Found*: rejected so, or a finding of the category within"
            yield "3 lines. *Named*: a finding of the category in the file. *Marked*: the unmet criteria, and at most one other."
            yield ""
        yield from _table(
            ("defect", "dossiers", "rejected", "found", "named", "marked"),
            ((prose(name), *_recall(recall)) for name, recall in report.recalls[by].items()),
        )
        if by == "category":
            yield from _without(report.without["found"])


def _recall(recall: DefectRecall) -> Iterator[str]:
    yield str(recall.rows)
    for share in (recall.rejected, recall.found, recall.named, recall.marked):
        yield "" if share is None else _share(share)


def _categories(report: BenchReport) -> Iterator[str]:
    yield from _title("## Categories")
    yield "*Pairs*: a defect against the dossier like it but for the defect, by score and by size alone (smaller is better)."
    yield ""
    yield from _table(
        ("category", "rejects that were right", "defects rejected", "good changes suspected", "pairs won", "by size"),
        (
            (name, *map(_share, accuracy), *map(_won, report.pairs.get(name, (None, None))))
            for name, accuracy in report.categories.items()
        ),
    )


def _rankings(report: BenchReport) -> Iterator[str]:
    if not report.rankings:
        return
    yield from _title("## Score")
    yield "The area under the ROC curve, good against bad: 0.50 is chance, and what a score that is always the same reaches."
    yield "*Size* is the baseline that says: the smaller, the better. *Within*: pairs won among dossiers of one task or"
    yield "repository. *Lift*: by how much the score wins more of these pairs than the size."
    yield ""
    yield from _table(
        ("file", "good", "bad", "score", "size", "within, score", "within, size", "lift"),
        ((prose(name), *_ranking_lines(ranking)) for name, ranking in report.rankings.items()),
    )


def _ranking_lines(ranking: ScoreRanking) -> Iterator[str]:
    yield str(ranking.ours.good)
    yield str(ranking.ours.bad)
    yield _area(ranking.ours)
    yield _area(ranking.size)
    yield _won(ranking.within)
    yield _won(ranking.within_size)
    lift = ranking.lift
    yield "" if lift is None else f"{lift.rate:+.2f} ({lift.low:+.2f} to {lift.high:+.2f})"


def _calibration(report: BenchReport) -> Iterator[str]:
    if report.calibration:
        yield from _title("## Calibration")
        yield from _table(
            ("score", "mean", "good"),
            ((f"{row.low:.1f} to {row.high:.1f}", f"{row.mean:.2f}", _share(row.good)) for row in report.calibration),
        )


def _alarms(report: BenchReport) -> Iterator[str]:
    yield from _title("## Signals")
    yield "*False alarms*: good changes on which it fired, of those that hold what it looks at."
    yield ""
    yield from _table(
        ("signal", "kind", "looks at", "false alarms", "defects of its category"),
        (
            (f"`{name}`", alarms.kind, alarms.looks_at, _share(alarms.clean), _rate(alarms.defects))
            for name, alarms in report.alarms.items()
        ),
    )


def _pointers(report: BenchReport) -> Iterator[str]:
    yield from _title("## Evidence")
    yield f"Places that exist, with quotes equal to their lines: {_share(report.pointers)}."
    yield ""
    wrong = ((code(row), code(pointer)) for row, pointer in report.pointers_wrong)
    yield from _table(("dossier", "place that does not"), wrong, MOST_ROWS)


def _slowest(report: BenchReport) -> Iterator[str]:
    yield from _title("## Slowest")
    yield from _table(
        ("dossier", "ms", "changed lines", "KB of diff"),
        ((code(row.id), f"{row.ms:.0f}", str(row.lines), f"{row.bytes / 1000:.1f}") for row in report.slowest),
    )


def _title(text: str) -> tuple[str, str]:
    return text, ""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], most: int | None = None) -> Iterator[str]:
    """A table, or nothing where it has no row. Cells are Markdown already."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    if not lines:
        return
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    yield from lines[:most]
    yield ""
    if most is not None and len(lines) > most:
        yield f"{len(lines) - most} more are in report.json."
        yield ""


def _count_rows(rows: int) -> str:
    return "1 dossier" if rows == 1 else f"{rows} dossiers"


def _cell(concern: str) -> str:
    return prose(concern, LONGEST_CELL)


def _rate(share: Share) -> str:
    return f"{share.rate * 100:.1f} % ({share.hits})" if share.of else "none there"


def _share(share: Share) -> str:
    """`1.2 % (3 of 250; 0.4 to 3.5 %)`."""
    if not share.of:
        return "none there"
    return f"{share.rate * 100:.1f} % ({share.hits} of {share.of}; {share.low * 100:.1f} to {share.high * 100:.1f} %)"


def _error(error: CalibrationError | None) -> str:
    return "none there" if error is None else f"{error.value:.3f} ({error.low:.3f} to {error.high:.3f})"


def _area(area: RocArea) -> str:
    return f"{area.value:.2f} ({area.low:.2f} to {area.high:.2f})"


def _won(won: PairsWon | None) -> str:
    return "" if won is None else f"{won.rate:.2f} of {won.pairs} ({won.low:.2f} to {won.high:.2f})"
