"""Cells add up in any order, and read back as they were written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.analytics.told import at, completed, folded, outcome, rejected
from worker.analytics import pulls
from worker.analytics.cells import Cell, CellError, Cells, dumped, loaded, merged
from worker.analytics.figures import Sums, mean, mean_interval, percentiles, share, wilson
from worker.analytics.pulls import MOST, Done, Pull
from worker.domain.outcomes import OutcomeKind

names = st.sampled_from(["n", "accept", "nano"])
cell = st.builds(
    Cell, st.dictionaries(names, st.integers(-9, 10**12)), st.dictionaries(st.integers(0, 10**8), st.integers(-2, 99))
)
some = st.dictionaries(st.text(max_size=5), cell, max_size=4)


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
        b"[2]",
        b"[1,[],{}]",
        b"[2,[],[]]",
        b'[2,[],{"a":5}]',
        b'[2,[],{"a":[[],[],[1],[]]}]',
        b'[2,["n"],{"a":[[]]}]',
        b"\xff",
    ],
)
def test_what_nobody_wrote_is_told(raw: bytes) -> None:
    with pytest.raises(CellError):
        loaded(raw)


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


@given(st.integers(0, 500), st.integers(1, 500))
def test_an_interval_holds_its_share(hits: int, of: int) -> None:
    hits = min(hits, of)
    found = wilson(hits, of)
    assert found is not None
    assert 0 <= found.low <= round(hits / of, 6) <= found.high <= 1
