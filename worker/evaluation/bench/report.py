"""The words of a report: Markdown out of figures.

Does not count or draw. Invariant: pure; no rate is printed without its numbers, no interval without its kind, and no
table is cut without saying what is left out; what dossiers and files say can't act as Markdown.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from worker.evaluation.bench.compare import Comparison, Sums
from worker.evaluation.bench.decisions import Recall
from worker.evaluation.bench.measures import Area, Share, Won
from worker.evaluation.bench.ranking import Ranking
from worker.evaluation.bench.run_folder import Plan
from worker.evaluation.bench.statistics import Report
from worker.evaluation.bench.tiers import Tiers
from worker.evaluation.bench.tiers_page import beside_zero
from worker.publishing.texts.markdown import code, prose

MOST: Final = 50
"""Rows of a table that is about single dossiers."""

CUT: Final = 200
UNMET: Final = "Listed criteria of good changes that are called missing or partly met"

DIVISIONS: Final = {
    "category": "Defects",
    "difficulty": "By difficulty",
    "language": "By language",
    "texts": "With and without whole files",
    "variant": "By variant",
}
DIVIDED: Final = {
    "all": "all",
    "file": "file",
    "language": "language",
    "texts": "what was there to read",
    "file and language": "file and language",
}


def page(
    report: Report, plan: Plan, plots: Mapping[str, str], compared: Comparison | None, beside: Tiers | None = None
) -> str:
    """report.md. *plots* are file names by title; *compared* None: nothing was compared; *beside*: the $0 tier."""
    parts = (
        _head(report, plan),
        beside_zero(beside),
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


def summary(report: Report, place: str) -> str:
    """What the terminal shows at the end."""
    lines = (
        f"{_many(report.rows)} judged, {report.ms:.1f} ms each at the median.",
        *(f"Good changes rejected: {_full(one)}." for one in report.false_rejects["all"].values()),
        *([f"{UNMET}: {_full(report.unmet)}."] if report.unmet.of else []),
        *(
            f"{name}: rejected {_full(one.rejected)}, found {_full(one.found)}."
            for name, one in report.recalls["category"].items()
        ),
        f"Report: {place}",
    )
    return "\n".join(lines) + "\n"


def _many(rows: int) -> str:
    return "1 dossier" if rows == 1 else f"{rows} dossiers"


def _head(report: Report, plan: Plan) -> Iterator[str]:
    files = ", ".join(code(name) for name, _ in plan.files)
    cost = "unknown" if report.cost_usd is None else f"${report.cost_usd}"
    yield "# Bench report"
    yield ""
    yield f"{_many(report.rows)} from {files}, tier {plan.tier}, Assay {plan.assay}."
    yield f"With a criterion that somebody listed: {_full(report.criteria)}."
    yield f"{UNMET}: {_full(report.unmet)}."
    yield f"Cost of models: {cost}. At the median a dossier took {report.ms:.1f} ms and has {report.findings:g} findings."
    yield "Intervals are 95 %: of shares Wilson's, of areas Hanley and McNeil's, of pairs from drawing their groups again."
    if report.evaluated is not None:
        rows, mean = report.evaluated
        yield f"{_many(rows)} carried an `evaluate` block; the mean of the composed scores is {mean:.3f}."
    yield ""


def _plots(plots: Mapping[str, str]) -> Iterator[str]:
    for title, name in plots.items():
        yield f"![{title}]({name})"
        yield ""
    if not plots:
        yield "There are no plots: they need matplotlib. Install `assay[bench]` and run the same command again."
        yield ""


def _decided(report: Report) -> Iterator[str]:
    yield "## What was decided"
    yield ""
    for groups in report.decided.values():
        yield from _table(
            ("expected", "dossiers", "accepted", "rejected", "abstained"),
            (
                (prose(name), str(one.rows), _rate(one.accepted), _rate(one.rejected), _rate(one.abstained))
                for name, one in groups.items()
            ),
        )


def _false_rejects(report: Report) -> Iterator[str]:
    yield "## Good changes that were rejected"
    yield ""
    if not report.false_rejects["all"]:
        yield "No dossier is known to be good: none expects `accept`, and none was merged."
        yield ""
        return
    yield from _table(
        ("by", "good changes", "rejected"),
        (
            (DIVIDED[by], prose(name), _full(one))
            for by, shares in report.false_rejects.items()
            for name, one in shares.items()
        ),
    )
    yield from _without(report.without["rejected"])


def _without(shares: Mapping[str, Share]) -> Iterator[str]:
    if shares:
        order = sorted(shares, key=lambda name: shares[name].rate)
        least, most = order[0], order[-1]
        yield (
            f"With one repository left out the share is {_full(shares[least])} (without {prose(least)}) at the least, "
            f"and {_full(shares[most])} (without {prose(most)}) at the most."
        )
        yield ""


def _recalls(report: Report) -> Iterator[str]:
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
            ((prose(name), *_recall(one)) for name, one in report.recalls[by].items()),
        )
        if by == "category":
            yield from _without(report.without["found"])


def _recall(one: Recall) -> Iterator[str]:
    yield str(one.rows)
    yield _full(one.rejected)
    yield _full(one.found)
    yield "" if one.named is None else _full(one.named)
    yield "" if one.marked is None else _full(one.marked)


def _categories(report: Report) -> Iterator[str]:
    yield "## Categories"
    yield ""
    yield "*Pairs*: a defect against the dossier like it but for the defect, by score and by size alone (smaller is better)."
    yield ""
    yield from _table(
        ("category", "rejects that were right", "defects rejected", "good changes suspected", "pairs won", "by size"),
        (
            (name, _full(one.precision), _full(one.recall), _full(one.suspected), *_pairs(report, name))
            for name, one in report.categories.items()
        ),
    )


def _pairs(report: Report, name: str) -> tuple[str, str]:
    pairs = report.pairs.get(name)
    return ("", "") if pairs is None else (_won(pairs.ours), _won(pairs.size))


def _rankings(report: Report) -> Iterator[str]:
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
        ((prose(name), *_ranking(one)) for name, one in report.rankings.items()),
    )


def _ranking(one: Ranking) -> Iterator[str]:
    yield str(one.ours.good)
    yield str(one.ours.bad)
    yield _area(one.ours)
    yield _area(one.size)
    yield _won(one.within)
    yield _won(one.within_size)
    yield "" if one.lift is None else f"{one.lift.rate:+.2f} ({one.lift.low:+.2f} to {one.lift.high:+.2f})"


def _calibration(report: Report) -> Iterator[str]:
    if not report.calibration:
        return
    yield "## Calibration"
    yield ""
    yield from _table(
        ("score", "mean", "good"),
        ((f"{one.low:.1f} to {one.high:.1f}", f"{one.mean:.2f}", _full(one.good)) for one in report.calibration),
    )


def _alarms(report: Report) -> Iterator[str]:
    yield "## Signals"
    yield ""
    yield "*False alarms*: good changes on which it fired, of those that hold what it looks at."
    yield ""
    yield from _table(
        ("signal", "kind", "looks at", "false alarms", "defects of its category"),
        (
            (f"`{name}`", one.kind, one.looks_at, _full(one.clean), _rate(one.defects))
            for name, one in report.alarms.items()
        ),
    )


def _pointers(report: Report) -> Iterator[str]:
    yield "## Evidence"
    yield ""
    yield f"Places that exist, with quotes equal to their lines: {_full(report.pointers)}."
    yield ""
    yield from _table(
        ("dossier", "place that does not"), ((code(row), code(place)) for row, place in report.pointers_wrong), MOST
    )


def _wrong(report: Report) -> Iterator[str]:
    if not report.wrong:
        return
    yield "## Decided against what was expected"
    yield ""
    yield from _table(
        ("dossier", "expected", "decided", "concern"),
        ((code(one.id), prose(one.expected), one.decided, prose(one.concern, CUT)) for one in report.wrong),
        MOST,
    )


def _slowest(report: Report) -> Iterator[str]:
    yield "## Slowest"
    yield ""
    yield from _table(
        ("dossier", "ms", "changed lines", "KB of diff"),
        ((code(one.id), f"{one.ms:.0f}", str(one.lines), f"{one.bytes / 1000:.1f}") for one in report.slowest),
    )


def _compared(compared: Comparison | None) -> Iterator[str]:
    if compared is None:
        return
    yield "## Compared with the earlier run"
    yield ""
    yield f"Both hold {_many(compared.rows)}; {compared.only_now} only this one, {compared.only_before} only the earlier one."
    yield ""
    yield from _table(
        ("", "before", "now"),
        _sums(compared.before, compared.now),
    )
    better, worse = (sum(one.is_better is good for one in compared.differences) for good in (True, False))
    differ = len(compared.differences)
    yield f"Decided differently: {differ}; {better} better and {worse} worse, by what was expected."
    yield ""
    yield from _table(
        ("dossier", "expected", "before", "now", "", "concern now"),
        (
            (code(one.id), prose(one.expected), one.before, one.now, BETTER[one.is_better], prose(one.concern, CUT))
            for one in compared.differences
        ),
        MOST,
    )
    yield from _moved(compared)


BETTER: Final = {True: "better", False: "worse", None: ""}


def _sums(before: Sums, now: Sums) -> Iterator[tuple[str, str, str]]:
    yield "good changes rejected", _full(before.false_rejects), _full(now.false_rejects)
    yield "defects rejected", _full(before.rejected_rightly), _full(now.rejected_rightly)
    for name, old in before.areas.items():
        new = now.areas[name]
        if old is not None and new is not None:
            yield f"area under the curve, {prose(name)}", _area(old), _area(new)


def _moved(compared: Comparison) -> Iterator[str]:
    better, worse = (sum(one.is_better is good for one in compared.moved) for good in (True, False))
    yield f"Decided alike with another score: {len(compared.moved)}; {better} nearer to what was expected, {worse} farther."
    yield ""
    yield from _table(
        ("dossier", "expected", "score before", "now", ""),
        (
            (code(one.id), prose(one.expected), f"{one.before:.3f}", f"{one.now:.3f}", BETTER[one.is_better])
            for one in compared.moved
        ),
        MOST,
    )
    yield from _table(
        ("signal", "new on good changes", "gone from them", "new on others", "gone from them"),
        ((code(name), *map(str, one)) for name, one in compared.signals.items()),
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


def _full(share: Share) -> str:
    """`1.2 % (3 of 250; 0.4 to 3.5 %)`."""
    if not share.of:
        return "none there"
    return f"{_percent(share.rate)} ({share.hits} of {share.of}; {share.low * 100:.1f} to {_percent(share.high)})"


def _area(one: Area) -> str:
    return f"{one.value:.2f} ({one.low:.2f} to {one.high:.2f})"


def _won(one: Won | None) -> str:
    return "" if one is None else f"{one.rate:.2f} of {one.pairs} ({one.low:.2f} to {one.high:.2f})"
