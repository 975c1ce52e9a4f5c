"""Shares of what was decided, over any division of the rows.

Does not compare scores (`ranking.py`) or word anything. Invariant: a share names its denominator.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from worker.domain.verdict.verdict import Abstain, Accept, Category, Reject
from worker.evaluation.bench.expectations import RowOutcome
from worker.evaluation.bench.measures import Share
from worker.signals.signal import Signal, SignalKind, SignalScope

T = TypeVar("T")
Rows = Sequence[RowOutcome]
Key = Callable[[RowOutcome], str]


class DecisionShares(NamedTuple):
    """What was decided about a group of rows."""

    rows: int
    accepted: Share
    rejected: Share
    abstained: Share


class DefectRecall(NamedTuple):
    """What became of the rows with one kind of defect."""

    rows: int
    rejected: Share
    found: Share
    named: Share | None
    marked: Share | None


class CategoryAccuracy(NamedTuple):
    """One category: how right its rejects are, how many of its defects it gets, and how often it suspects good rows."""

    precision: Share
    recall: Share
    suspected: Share


class SignalAlarms(NamedTuple):
    """One signal on good changes, and on defects of its category."""

    kind: SignalKind
    looks_at: SignalScope
    clean: Share
    defects: Share


def texts_key(outcome: RowOutcome) -> str:
    return "whole files" if outcome.traits.whole_files else "diff alone"


def file_key(outcome: RowOutcome) -> str:
    return outcome.traits.file


def language_key(outcome: RowOutcome) -> str:
    return outcome.traits.language


def category_key(outcome: RowOutcome) -> str:
    return str(outcome.expect.category)


def repository_key(outcome: RowOutcome) -> str:
    return outcome.traits.repository


def combine_keys(first: Key, second: Key) -> Key:
    return lambda row: f"{first(row)}, {second(row)}"


def count_by(rows: Iterable[RowOutcome], key: Key, count: Callable[[Rows], T]) -> dict[str, T]:
    """Count the rows apart that differ in *key*; those whose key is empty have none and are left out."""
    held: dict[str, list[RowOutcome]] = {}
    for row in rows:
        held.setdefault(key(row), []).append(row)
    return {name: count(held[name]) for name in sorted(held) if name}


def share_of(rows: Rows, holds: Callable[[RowOutcome], bool]) -> Share:
    return Share(sum(map(holds, rows)), len(rows))


def is_rejected(outcome: RowOutcome) -> bool:
    return isinstance(outcome.verdict, Reject)


def is_rejected_rightly(outcome: RowOutcome) -> bool:
    return outcome.is_rejected_rightly


def rejected_share(rows: Rows) -> Share:
    return share_of(rows, is_rejected)


def decision_shares(rows: Rows) -> dict[str, dict[str, DecisionShares]]:
    """By what was expected, and by the kind within it."""
    keys: tuple[tuple[str, Key], ...] = (
        ("expected", lambda row: row.expect.group),
        ("kind", lambda row: row.expect.kind and f"{row.expect.group}, {row.expect.kind}"),
    )
    return {name: count_by(rows, key, _shares) for name, key in keys}


def _shares(rows: Rows) -> DecisionShares:
    return DecisionShares(
        len(rows),
        accepted=share_of(rows, lambda row: isinstance(row.verdict, Accept)),
        rejected=rejected_share(rows),
        abstained=share_of(rows, lambda row: isinstance(row.verdict, Abstain)),
    )


def false_reject_shares(clean: Rows) -> dict[str, dict[str, Share]]:
    """Good rows that were rejected: all, then divided."""
    keys: tuple[tuple[str, Key], ...] = (
        ("all", lambda _: "all"),
        ("file", file_key),
        ("language", language_key),
        ("texts", texts_key),
        ("file and language", combine_keys(file_key, language_key)),
    )
    return {name: count_by(clean, key, rejected_share) for name, key in keys}


ALL_DEFECTS: Final = "all defects"
DIVISIONS: Final[tuple[tuple[str, Key], ...]] = (
    ("category", category_key),
    ("difficulty", lambda row: row.expect.difficulty and f"{category_key(row)}, {row.expect.difficulty}"),
    ("texts", combine_keys(category_key, texts_key)),
    ("language", combine_keys(category_key, language_key)),
    ("variant", lambda row: row.expect.variant and f"{category_key(row)}: {row.expect.variant}"),
)


def defect_recalls(defects: Rows) -> dict[str, dict[str, DefectRecall]]:
    """Defects of a known category: by it and all together, then divided within it."""
    plain = [row for row in defects if row.expect.category]
    recalls = {name: count_by(plain, key, _recall) for name, key in DIVISIONS}
    if len(recalls["category"]) > 1:
        recalls["category"] = {**recalls["category"], ALL_DEFECTS: _recall(plain)}
    return recalls


def _recall(rows: Rows) -> DefectRecall:
    placed = [row for row in rows if row.expect.where]
    missing = [row for row in rows if row.expect.missing]
    return DefectRecall(
        len(rows),
        rejected=share_of(rows, is_rejected_rightly),
        found=share_of(rows, lambda row: row.is_found),
        named=share_of(placed, lambda row: row.is_named) if placed else None,
        marked=share_of(missing, lambda row: row.is_marked) if missing else None,
    )


def category_accuracy(category: Category, strong: Rows, clean: Rows, defects: Rows) -> CategoryAccuracy:
    """Of all rejects with this category where good or bad is certain, the right ones; of all its defects, the same."""
    decided = (row for row in strong if row.expect.decision in {"accept", "reject"})
    return CategoryAccuracy(
        precision=share_of([row for row in decided if row.verdict.category == category], is_rejected_rightly),
        recall=share_of([row for row in defects if row.expect.category == category], is_rejected_rightly),
        suspected=share_of(clean, lambda row: row.suspects(category)),
    )


def shares_without_each(rows: Rows, holds: Callable[[RowOutcome], bool]) -> Mapping[str, Share]:
    """The share with each repository left out in turn: whether one of them carries it. Nothing where there is but one."""
    count = Counter(map(repository_key, rows))
    hits = Counter(repository_key(row) for row in rows if holds(row))
    if len(count) == 1:
        return {}
    return {name: Share(hits.total() - hits[name], count.total() - count[name]) for name in sorted(count)}


def signal_alarms(signal: Signal, clean: Rows, defects: Rows) -> SignalAlarms:
    """A firing where there was no opportunity by our own count is counted as one, and never lost."""

    def fired(row: RowOutcome) -> bool:
        return any(finding.signal == signal.name for finding in row.verdict.findings)

    return SignalAlarms(
        signal.kind,
        signal.scope,
        clean=share_of([row for row in clean if signal.scope in row.traits.looks or fired(row)], fired),
        defects=share_of([row for row in defects if row.expect.category == signal.category], fired),
    )
