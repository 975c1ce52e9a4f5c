"""Shares of what was decided, over any division of the rows.

Does not compare scores (`ranking.py`) or word anything. Invariant: a share names its denominator.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from worker.domain.verdict.verdict import Abstain, Accept, Category, Reject
from worker.evaluation.bench.expectations import Outcome
from worker.evaluation.bench.measures import Share
from worker.signals.signal import Kind, Looks, Signal

T = TypeVar("T")
Rows = Sequence[Outcome]
Key = Callable[[Outcome], str]


class Shares(NamedTuple):
    """What was decided about a group of rows."""

    rows: int
    accepted: Share
    rejected: Share
    abstained: Share


class Recall(NamedTuple):
    """What became of the rows with one kind of defect."""

    rows: int
    rejected: Share
    found: Share
    named: Share | None
    marked: Share | None


class Right(NamedTuple):
    """One category: how right its rejects are, how many of its defects it gets, and how often it suspects good rows."""

    precision: Share
    recall: Share
    suspected: Share


class Alarm(NamedTuple):
    """One signal on good changes, and on defects of its category."""

    kind: Kind
    looks_at: Looks
    clean: Share
    defects: Share


def texts(one: Outcome) -> str:
    return "whole files" if one.traits.whole_files else "diff alone"


def file_of(one: Outcome) -> str:
    return one.traits.file


def language(one: Outcome) -> str:
    return one.traits.language


def category(one: Outcome) -> str:
    return str(one.expect.category)


def repository(one: Outcome) -> str:
    return one.traits.repository


def both(first: Key, second: Key) -> Key:
    return lambda one: f"{first(one)}, {second(one)}"


def each(rows: Iterable[Outcome], key: Key, count: Callable[[Rows], T]) -> dict[str, T]:
    """Count the rows apart that differ in *key*; those whose key is empty have none and are left out."""
    held: dict[str, list[Outcome]] = {}
    for one in rows:
        held.setdefault(key(one), []).append(one)
    return {name: count(held[name]) for name in sorted(held) if name}


def share(rows: Rows, holds: Callable[[Outcome], bool]) -> Share:
    return Share(sum(map(holds, rows)), len(rows))


def is_rejected(one: Outcome) -> bool:
    return isinstance(one.verdict, Reject)


def is_rejected_rightly(one: Outcome) -> bool:
    return one.is_rejected_rightly


def rejected(rows: Rows) -> Share:
    return share(rows, is_rejected)


def decided(rows: Rows) -> dict[str, dict[str, Shares]]:
    """By what was expected, and by the kind within it."""
    keys: tuple[tuple[str, Key], ...] = (
        ("expected", lambda one: one.expect.group),
        ("kind", lambda one: one.expect.kind and f"{one.expect.group}, {one.expect.kind}"),
    )
    return {name: each(rows, key, _shares) for name, key in keys}


def _shares(rows: Rows) -> Shares:
    return Shares(
        len(rows),
        accepted=share(rows, lambda one: isinstance(one.verdict, Accept)),
        rejected=rejected(rows),
        abstained=share(rows, lambda one: isinstance(one.verdict, Abstain)),
    )


def false_rejects(clean: Rows) -> dict[str, dict[str, Share]]:
    """Good rows that were rejected: all, then divided."""
    keys: tuple[tuple[str, Key], ...] = (
        ("all", lambda _: "all"),
        ("file", file_of),
        ("language", language),
        ("texts", texts),
        ("file and language", both(file_of, language)),
    )
    return {name: each(clean, key, rejected) for name, key in keys}


ALL: Final = "all defects"
DIVISIONS: Final[tuple[tuple[str, Key], ...]] = (
    ("category", category),
    ("difficulty", lambda one: one.expect.difficulty and f"{category(one)}, {one.expect.difficulty}"),
    ("texts", both(category, texts)),
    ("language", both(category, language)),
    ("variant", lambda one: one.expect.variant and f"{category(one)}: {one.expect.variant}"),
)


def recalls(defects: Rows) -> dict[str, dict[str, Recall]]:
    """Defects of a known category: by it and all together, then divided within it."""
    plain = [one for one in defects if one.expect.category]
    found = {name: each(plain, key, _recall) for name, key in DIVISIONS}
    if len(found["category"]) > 1:
        found["category"] = {**found["category"], ALL: _recall(plain)}
    return found


def _recall(rows: Rows) -> Recall:
    placed = [one for one in rows if one.expect.where]
    missing = [one for one in rows if one.expect.missing]
    return Recall(
        len(rows),
        rejected=share(rows, is_rejected_rightly),
        found=share(rows, lambda one: one.is_found),
        named=share(placed, lambda one: one.is_named) if placed else None,
        marked=share(missing, lambda one: one.is_marked) if missing else None,
    )


def right(of: Category, strong: Rows, clean: Rows, defects: Rows) -> Right:
    """Of all rejects with this category where good or bad is certain, the right ones; of all its defects, the same."""
    known = (one for one in strong if one.expect.decision in {"accept", "reject"})
    return Right(
        precision=share([one for one in known if one.verdict.category == of], is_rejected_rightly),
        recall=share([one for one in defects if one.expect.category == of], is_rejected_rightly),
        suspected=share(clean, lambda one: one.suspects(of)),
    )


def without(rows: Rows, holds: Callable[[Outcome], bool]) -> Mapping[str, Share]:
    """The share with each repository left out in turn: whether one of them carries it. Nothing where there is but one."""
    count = Counter(map(repository, rows))
    hits = Counter(repository(one) for one in rows if holds(one))
    if len(count) == 1:
        return {}
    return {name: Share(hits.total() - hits[name], count.total() - count[name]) for name in sorted(count)}


def alarm(of: Signal, clean: Rows, defects: Rows) -> Alarm:
    """A firing where there was no opportunity by our own count is counted as one, and never lost."""

    def fired(one: Outcome) -> bool:
        return any(finding.signal == of.name for finding in one.verdict.findings)

    return Alarm(
        of.kind,
        of.looks_at,
        clean=share([one for one in clean if of.looks_at in one.traits.looks or fired(one)], fired),
        defects=share([one for one in defects if one.expect.category == of.category], fired),
    )
