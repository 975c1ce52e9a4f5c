"""Cells add up in any order, and read back as they were written."""

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.evaluation.stats.told import at, completed, folded, outcome, rejected
from worker.domain.verdict.outcomes import OutcomeKind
from worker.evaluation.stats import pulls
from worker.evaluation.stats.cells import (
    ORDER,
    REPEATED,
    VERSION,
    Cell,
    CellError,
    Cells,
    dumped,
    gathered,
    loaded,
    merged,
)
from worker.evaluation.stats.figures import Sums, mean, mean_interval, percentiles, percentiles_in_order, share, wilson
from worker.evaluation.stats.pulls import MOST, Done, Pull

names = st.sampled_from(["n", "accept", "nano"])
cell = st.builds(
    Cell, st.dictionaries(names, st.integers(-9, 10**12)), st.dictionaries(st.integers(0, 10**8), st.integers(-2, 99))
)
some = st.dictionaries(st.text(max_size=5), cell, max_size=4)


def line(values: object = (), columns: object = (), sizes: object = (), **other: object) -> bytes:
    """The first line of a bucket, with the end of the line."""
    known: dict[str, object] = {"version": VERSION, "order": ORDER, "kind": "H", "names": [], "counted": {}, **other}
    told: list[object] = [
        known["version"],
        known["order"],
        known["kind"],
        values,
        known["names"],
        columns,
        sizes,
        known["counted"],
    ]
    return json.dumps(told).encode() + b"\n"


@given(some)
def test_what_was_written_reads_back(cells: Cells) -> None:
    assert loaded(dumped(cells)) == cells


@given(st.lists(some, max_size=5), st.integers(0, 5))
def test_any_grouping_adds_up_to_the_same(many: list[Cells], at: int) -> None:
    whole = dumped(merged(many))
    assert dumped(merged([merged(many[:at]), merged(many[at:])])) == whole
    assert dumped(merged(reversed(many))) == whole


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{}",
        b"[3]",
        line(version=2),
        line(order="none"),
        line(5),
        line(["a"]),
        line(["a"], [list[int]()], [0], names=["n"]),
        line(["a"], [["1"]], [0], names=["n"]) * 2,
        line(["a"], [[1]], [0]),
        line(["a"], [], [1]),
        line(["a"], [], ["1"]) + b"\1\0",
        line() + b"\1\0",
        line(["a"], [], [1]) + b"\1\0\0",
        line(["a"], [], [1], kind="d") + b"\1\0\0\0\0\0\0\0",
        line(["a"], [], [0], counted={"a": [[1], []]}),
        line(["a"], [], [0], counted={"a": 1}),
        b"\xff",
    ],
)
def test_what_nobody_wrote_is_told(raw: bytes) -> None:
    with pytest.raises(CellError):
        loaded(raw)


@given(st.lists(some, max_size=5))
def test_what_was_written_apart_reads_back_added_up(many: list[Cells]) -> None:
    assert gathered(map(dumped, many)) == merged(many)


def test_pairs_of_one_value_are_listed_together_wherever_they_were_written() -> None:
    apart = [dumped({"a": Cell({"n": 1}, {one: 1})}) for one in (70_000, 1, 2)]
    [cell] = gathered(apart).values()
    assert (cell.in_order(), cell.get("n")) == ([1, 2, 70_000], 3)


@given(st.lists(st.integers(0, 10**8), max_size=30, unique=True), st.integers(1, 9))
def test_a_cell_of_few_repetitions_keeps_its_pairs_in_order(seen: list[int], times: int) -> None:
    cell = Cell()
    cell.saw(seen)
    assert cell.in_order() == sorted(seen)
    listed = loaded(dumped({"a": cell, "b": Cell({}, {5: times})}))
    assert (listed["a"].in_order() if seen else []) == sorted(seen)
    assert (listed["b"].in_order() is None) == (times > REPEATED)
    cell.see(0, 7)
    assert (cell.in_order(), cell.pairs) == (None, Counter([*seen, 7]))


def test_a_cell_shows_what_it_holds() -> None:
    assert repr(Cell({"n": 1}, {5: 2})) == "Cell({'n': 1}, {5: 2})"
    assert Cell({"n": 1}) != {"n": 1}


def test_a_pull_request_is_remembered_as_it_was() -> None:
    fold = folded(
        completed("e1"),
        rejected("e2", parent_eval_id="e1", trigger="batch"),
        outcome(OutcomeKind.REVERTED, "e1"),
    )
    [pull] = fold.pulls.values()
    again = pulls.loaded(pulls.dumped(pull))
    assert vars(again) == vars(pull)
    assert (again.last_heard_ms, Pull().last_heard_ms) == (at(), 0)
    assert vars(pulls.loaded(pulls.dumped(Pull()))) == vars(Pull())


@pytest.mark.parametrize(
    "raw", [b"", b"{}", b"[]", b'[[["e"]],[],{},null]', b"[[],[[1]],{},null]", b"[[],[],{},[1]]", b"[[],[],5,null]"]
)
def test_a_memory_that_nobody_wrote_is_told(raw: bytes) -> None:
    with pytest.raises(CellError):
        pulls.loaded(raw)


def test_no_more_is_remembered_than_a_fixed_number() -> None:
    [pull] = folded(*(completed(f"e{n:03}", head=f"{n:040x}") for n in range(MOST + 5))).pulls.values()
    assert [row.eval_id for row in pull.rows] == [f"e{n:03}" for n in range(5, MOST + 5)]
    for n in range(MOST + 5):
        assert pull.heard(Done("retry", f"e{n}", n, n))
    assert len(pull.done) == MOST


def test_what_people_saw_is_forgotten_last() -> None:
    checks: dict[str, Any] = {"subject_kind": "ci_check", "parent_eval_id": "e000"}
    heads = [completed(f"e{n:03}", head=f"{n:040x}") for n in range(3)]
    [pull] = folded(*heads, *(completed(f"f{n:03}", **checks) for n in range(MOST))).pulls.values()
    assert [row.eval_id for row in pull.rows] == ["e000", "e001", "e002", *(f"f{n:03}" for n in range(3, MOST))]
    heads = [completed(f"e{n:03}", head=f"{n:040x}") for n in range(MOST)]
    [pull] = folded(*heads, completed("f", **checks), completed("g", **checks)).pulls.values()
    assert [row.eval_id for row in pull.rows] == [*(f"e{n:03}" for n in range(1, MOST)), "g"]


def test_intervals_are_those_of_the_books() -> None:
    assert wilson(0, 0) is None
    assert wilson(8, 10) == (0.490162, 0.943318)
    assert wilson(0, 10) == (0.0, 0.277533)
    assert wilson(10, 10) == (0.722467, 1.0)
    assert mean_interval(Sums(1, 5, 25), 10) is None
    assert mean_interval(Sums(100, 500, 50 * 16 + 50 * 36), 10) == (0.480302, 0.519698)


def test_figures_of_nothing_are_none() -> None:
    assert (mean({}, 1), share(0, 0)) == (None, None)
    assert percentiles({}, (0.5,), 1) == [None]
    assert percentiles({1: 1, 2: 1, 3: 2}, (0, 0.25, 0.5, 0.51, 1), 1) == [1, 1, 2, 3, 3]


@given(st.lists(st.integers(0, 9)), st.lists(st.floats(0, 1), max_size=3))
def test_percentiles_are_the_same_of_figures_one_by_one(figures: list[int], parts: list[float]) -> None:
    assert percentiles_in_order(sorted(figures), parts, 7) == percentiles(Counter(figures), parts, 7)


@given(st.integers(0, 500), st.integers(1, 500))
def test_an_interval_holds_its_share(hits: int, of: int) -> None:
    hits = min(hits, of)
    found = wilson(hits, of)
    assert found is not None
    assert 0 <= found.low <= round(hits / of, 6) <= found.high <= 1
