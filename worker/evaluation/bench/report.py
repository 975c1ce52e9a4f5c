"""The words of a report: Markdown out of figures.

Does not count or draw. Invariant: pure; no rate is printed without its numbers, no interval without its kind, and no
table is cut without saying what is left out; what dossiers and files say can't act as Markdown.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from worker.evaluation.bench.compare import Comparison, RunFigures
from worker.evaluation.bench.decisions import DefectRecall
from worker.evaluation.bench.measures import PairsWon, RocArea, Share
from worker.evaluation.bench.ranking import ScoreRanking
from worker.evaluation.bench.run_folder import RunPlan
from worker.evaluation.bench.statistics import BenchReport
from worker.evaluation.bench.tiers import TierComparison
from worker.evaluation.bench.tiers_report import tiers_section
from worker.publishing.texts.markdown import code, prose

MOST_ROWS: Final = 50
"""Rows of a table that is about single dossiers."""

LONGEST_CELL: Final = 200
UNMET: Final = "Listed criteria of good changes that are called missing or partly met"

DIVISIONS: Final = {
    "category": "Defects",
    "difficulty": "By difficulty",
    "language": "By language",
    "texts": "With and without whole files",
    "variant": "By variant",
}
DIVISION_TITLES: Final = {
    "all": "all",
    "file": "file",
    "language": "language",
    "texts": "what was there to read",
    "file and language": "file and language",
}


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
        _compared(compared),
        _plots(plots),
        _decided(report),
        _false_rejects(report),
        _wrong(report),
        _recalls(report),
        _categories(report),
        _rankings(report),
        _calibration(report),
        _alarms(report),
        _pointers(report),
        _slowest(report),
    )
    return "\n".join(line for part in parts for line in part)


def report_summary(report: BenchReport, folder: str) -> str:
    """What the terminal shows at the end."""
    lines = (
        f"{_count_rows(report.rows)} judged, {report.ms:.1f} ms each at the median.",
        *(f"Good changes rejected: {_share_with_interval(share)}." for share in report.false_rejects["all"].values()),
        *([f"{UNMET}: {_share_with_interval(report.unmet)}."] if report.unmet.of else []),
        *(
            f"{name}: rejected {_share_with_interval(recall.rejected)}, found {_share_with_interval(recall.found)}."
            for name, recall in report.recalls["category"].items()
        ),
        f"Report: {folder}",
    )
    return "\n".join(lines) + "\n"


def _count_rows(rows: int) -> str:
    return "1 dossier" if rows == 1 else f"{rows} dossiers"


def _head(report: BenchReport, plan: RunPlan) -> Iterator[str]:
    files = ", ".join(code(name) for name, _ in plan.files)
    cost = "unknown" if report.cost_usd is None else f"${report.cost_usd}"
    yield "# Bench report"
    yield ""
    yield f"{_count_rows(report.rows)} from {files}, tier {plan.tier}, Assay {plan.assay}."
    yield f"With a criterion that somebody listed: {_share_with_interval(report.criteria)}."
    yield f"{UNMET}: {_share_with_interval(report.unmet)}."
    yield f"Cost of models: {cost}. At the median a dossier took {report.ms:.1f} ms and has {report.findings:g} findings."
    yield "Intervals are 95 %: of shares Wilson's, of areas Hanley and McNeil's, of pairs from drawing their groups again."
    if report.evaluated is not None:
        rows, mean = report.evaluated
        yield f"{_count_rows(rows)} carried an `evaluate` block; the mean of the composed scores is {mean:.3f}."
    yield ""


def _plots(plots: Mapping[str, str]) -> Iterator[str]:
    for title, name in plots.items():
        yield f"![{title}]({name})"
        yield ""
    if not plots:
        yield "There are no plots: they need matplotlib. Install `assay[bench]` and run the same command again."
        yield ""


def _decided(report: BenchReport) -> Iterator[str]:
    yield "## What was decided"
    yield ""
    for groups in report.decided.values():
        yield from _table(
            ("expected", "dossiers", "accepted", "rejected", "abstained"),
            (
                (prose(name), str(group.rows), _rate(group.accepted), _rate(group.rejected), _rate(group.abstained))
                for name, group in groups.items()
            ),
        )


def _false_rejects(report: BenchReport) -> Iterator[str]:
    yield "## Good changes that were rejected"
    yield ""
    if not report.false_rejects["all"]:
        yield "No dossier is known to be good: none expects `accept`, and none was merged."
        yield ""
        return
    yield from _table(
        ("by", "good changes", "rejected"),
        (
            (DIVISION_TITLES[by], prose(name), _share_with_interval(share))
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
            f"With one repository left out the share is {_share_with_interval(shares[least])} (without {prose(least)}) at the least, "
            f"and {_share_with_interval(shares[most])} (without {prose(most)}) at the most."
        )
        yield ""


def _recalls(report: BenchReport) -> Iterator[str]:
    if not report.recalls["category"]:
        return
    for by, title in DIVISIONS.items():
        yield f"{'##' if by == 'category' else '###'} {title}"
        yield ""
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
    yield _share_with_interval(recall.rejected)
    yield _share_with_interval(recall.found)
    yield "" if recall.named is None else _share_with_interval(recall.named)
    yield "" if recall.marked is None else _share_with_interval(recall.marked)


def _categories(report: BenchReport) -> Iterator[str]:
    yield "## Categories"
    yield ""
    yield "*Pairs*: a defect against the dossier like it but for the defect, by score and by size alone (smaller is better)."
    yield ""
    yield from _table(
        ("category", "rejects that were right", "defects rejected", "good changes suspected", "pairs won", "by size"),
        (
            (
                name,
                _share_with_interval(category.precision),
                _share_with_interval(category.recall),
                _share_with_interval(category.suspected),
                *_pairs(report, name),
            )
            for name, category in report.categories.items()
        ),
    )


def _pairs(report: BenchReport, name: str) -> tuple[str, str]:
    pairs = report.pairs.get(name)
    return ("", "") if pairs is None else (_won(pairs.ours), _won(pairs.size))


def _rankings(report: BenchReport) -> Iterator[str]:
    if not report.rankings:
        return
    yield "## Score"
    yield ""
    yield "The area under the ROC curve, good against bad: 0.50 is chance, and what a score that is always the same reaches."
    yield "*Size* is the baseline that says: the smaller, the better. *Within*: pairs won among dossiers of one task or"
    yield "repository. *Lift*: by how much the score wins more of these pairs than the size."
    yield ""
    yield from _table(
        ("file", "good", "bad", "score", "size", "within, score", "within, size", "lift"),
        ((prose(name), *_ranking(ranking)) for name, ranking in report.rankings.items()),
    )


def _ranking(ranking: ScoreRanking) -> Iterator[str]:
    yield str(ranking.ours.good)
    yield str(ranking.ours.bad)
    yield _area(ranking.ours)
    yield _area(ranking.size)
    yield _won(ranking.within)
    yield _won(ranking.within_size)
    yield (
        ""
        if ranking.lift is None
        else f"{ranking.lift.rate:+.2f} ({ranking.lift.low:+.2f} to {ranking.lift.high:+.2f})"
    )


def _calibration(report: BenchReport) -> Iterator[str]:
    if not report.calibration:
        return
    yield "## Calibration"
    yield ""
    yield from _table(
        ("score", "mean", "good"),
        (
            (f"{bin_.low:.1f} to {bin_.high:.1f}", f"{bin_.mean:.2f}", _share_with_interval(bin_.good))
            for bin_ in report.calibration
        ),
    )


def _alarms(report: BenchReport) -> Iterator[str]:
    yield "## Signals"
    yield ""
    yield "*False alarms*: good changes on which it fired, of those that hold what it looks at."
    yield ""
    yield from _table(
        ("signal", "kind", "looks at", "false alarms", "defects of its category"),
        (
            (f"`{name}`", alarm.kind, alarm.looks_at, _share_with_interval(alarm.clean), _rate(alarm.defects))
            for name, alarm in report.alarms.items()
        ),
    )


def _pointers(report: BenchReport) -> Iterator[str]:
    yield "## Evidence"
    yield ""
    yield f"Places that exist, with quotes equal to their lines: {_share_with_interval(report.pointers)}."
    yield ""
    yield from _table(
        ("dossier", "place that does not"),
        ((code(row), code(pointer)) for row, pointer in report.pointers_wrong),
        MOST_ROWS,
    )


def _wrong(report: BenchReport) -> Iterator[str]:
    if not report.wrong:
        return
    yield "## Decided against what was expected"
    yield ""
    yield from _table(
        ("dossier", "expected", "decided", "concern"),
        ((code(row.id), prose(row.expected), row.decided, prose(row.concern, LONGEST_CELL)) for row in report.wrong),
        MOST_ROWS,
    )


def _slowest(report: BenchReport) -> Iterator[str]:
    yield "## Slowest"
    yield ""
    yield from _table(
        ("dossier", "ms", "changed lines", "KB of diff"),
        ((code(row.id), f"{row.ms:.0f}", str(row.lines), f"{row.bytes / 1000:.1f}") for row in report.slowest),
    )


def _compared(compared: Comparison | None) -> Iterator[str]:
    if compared is None:
        return
    yield "## Compared with the earlier run"
    yield ""
    yield f"Both hold {_count_rows(compared.rows)}; {compared.only_now} only this one, {compared.only_before} only the earlier one."
    yield ""
    yield from _table(
        ("", "before", "now"),
        _sums(compared.before, compared.now),
    )
    better, worse = (sum(difference.is_better is good for difference in compared.differences) for good in (True, False))
    differ = len(compared.differences)
    yield f"Decided differently: {differ}; {better} better and {worse} worse, by what was expected."
    yield ""
    yield from _table(
        ("dossier", "expected", "before", "now", "", "concern now"),
        (
            (
                code(difference.id),
                prose(difference.expected),
                difference.before,
                difference.now,
                BETTER_WORDS[difference.is_better],
                prose(difference.concern, LONGEST_CELL),
            )
            for difference in compared.differences
        ),
        MOST_ROWS,
    )
    yield from _moved(compared)


BETTER_WORDS: Final = {True: "better", False: "worse", None: ""}


def _sums(before: RunFigures, now: RunFigures) -> Iterator[tuple[str, str, str]]:
    yield "good changes rejected", _share_with_interval(before.false_rejects), _share_with_interval(now.false_rejects)
    yield "defects rejected", _share_with_interval(before.rejected_rightly), _share_with_interval(now.rejected_rightly)
    for name, old in before.areas.items():
        new = now.areas[name]
        if old is not None and new is not None:
            yield f"area under the curve, {prose(name)}", _area(old), _area(new)


def _moved(compared: Comparison) -> Iterator[str]:
    better, worse = (sum(score.is_better is good for score in compared.moved) for good in (True, False))
    yield f"Decided alike with another score: {len(compared.moved)}; {better} nearer to what was expected, {worse} farther."
    yield ""
    yield from _table(
        ("dossier", "expected", "score before", "now", ""),
        (
            (
                code(score.id),
                prose(score.expected),
                f"{score.before:.3f}",
                f"{score.now:.3f}",
                BETTER_WORDS[score.is_better],
            )
            for score in compared.moved
        ),
        MOST_ROWS,
    )
    yield from _table(
        ("signal", "new on good changes", "gone from them", "new on others", "gone from them"),
        ((code(name), *map(str, signal)) for name, signal in compared.signals.items()),
    )


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


def _percent(rate: float) -> str:
    return f"{rate * 100:.1f} %"


def _rate(share: Share) -> str:
    return f"{_percent(share.rate)} ({share.hits})" if share.of else "none there"


def _share_with_interval(share: Share) -> str:
    """`1.2 % (3 of 250; 0.4 to 3.5 %)`."""
    if not share.of:
        return "none there"
    return f"{_percent(share.rate)} ({share.hits} of {share.of}; {share.low * 100:.1f} to {_percent(share.high)})"


def _area(area: RocArea) -> str:
    return f"{area.value:.2f} ({area.low:.2f} to {area.high:.2f})"


def _won(pairs_won: PairsWon | None) -> str:
    return (
        ""
        if pairs_won is None
        else f"{pairs_won.rate:.2f} of {pairs_won.pairs} ({pairs_won.low:.2f} to {pairs_won.high:.2f})"
    )
