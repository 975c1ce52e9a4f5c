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
from worker.evaluation.stats.counters import (
    MOST_REPEATED,
    ORDER,
    VERSION,
    Counters,
    CountersByValue,
    CountersError,
    dump_counters,
    load_and_add,
    load_counters,
    merge_counters,
)
from worker.evaluation.stats.figures import (
    FigureSums,
    mean_interval,
    mean_of,
    percentiles,
    percentiles_in_order,
    share_of,
    wilson_interval,
)
from worker.evaluation.stats.pulls import MOST_VERDICTS, OutcomeRow, PullStats

names = st.sampled_from(["n", "accept", "nano"])
cell = st.builds(
    Counters,
    st.dictionaries(names, st.integers(-9, 10**12)),
    st.dictionaries(st.integers(0, 10**8), st.integers(-2, 99)),
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
def test_what_was_written_reads_back(cells: CountersByValue) -> None:
    assert load_counters(dump_counters(cells)) == cells


@given(st.lists(some, max_size=5), st.integers(0, 5))
def test_any_grouping_adds_up_to_the_same(many: list[CountersByValue], at: int) -> None:
    whole = dump_counters(merge_counters(many))
    assert dump_counters(merge_counters([merge_counters(many[:at]), merge_counters(many[at:])])) == whole
    assert dump_counters(merge_counters(reversed(many))) == whole


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
    with pytest.raises(CountersError):
        load_counters(raw)


@given(st.lists(some, max_size=5))
def test_what_was_written_apart_reads_back_added_up(many: list[CountersByValue]) -> None:
    assert load_and_add(map(dump_counters, many)) == merge_counters(many)


def test_pairs_of_one_value_are_listed_together_wherever_they_were_written() -> None:
    apart = [dump_counters({"a": Counters({"n": 1}, {one: 1})}) for one in (70_000, 1, 2)]
    [cell] = load_and_add(apart).values()
    assert (cell.sorted_pairs(), cell.get("n")) == ([1, 2, 70_000], 3)


@given(st.lists(st.integers(0, 10**8), max_size=30, unique=True), st.integers(1, 9))
def test_a_cell_of_few_repetitions_keeps_its_pairs_in_order(seen: list[int], times: int) -> None:
    cell = Counters()
    cell.add_pairs(seen)
    assert cell.sorted_pairs() == sorted(seen)
    listed = load_counters(dump_counters({"a": cell, "b": Counters({}, {5: times})}))
    assert (listed["a"].sorted_pairs() if seen else []) == sorted(seen)
    assert (listed["b"].sorted_pairs() is None) == (times > MOST_REPEATED)
    cell.add_pair(0, 7)
    assert (cell.sorted_pairs(), cell.pairs) == (None, Counter([*seen, 7]))


def test_a_cell_shows_what_it_holds() -> None:
    assert repr(Counters({"n": 1}, {5: 2})) == "Cell({'n': 1}, {5: 2})"
    assert Counters({"n": 1}) != {"n": 1}


def test_a_pull_request_is_remembered_as_it_was() -> None:
    fold = folded(
        completed("e1"),
        rejected("e2", parent_eval_id="e1", trigger="batch"),
        outcome(OutcomeKind.REVERTED, "e1"),
    )
    [pull] = fold.pulls.values()
    again = pulls.load_pull(pulls.dump_pull(pull))
    assert vars(again) == vars(pull)
    assert (again.last_heard_ms, PullStats().last_heard_ms) == (at(), 0)
    assert vars(pulls.load_pull(pulls.dump_pull(PullStats()))) == vars(PullStats())


@pytest.mark.parametrize(
    "raw", [b"", b"{}", b"[]", b'[[["e"]],[],{},null]', b"[[],[[1]],{},null]", b"[[],[],{},[1]]", b"[[],[],5,null]"]
)
def test_a_memory_that_nobody_wrote_is_told(raw: bytes) -> None:
    with pytest.raises(CountersError):
        pulls.load_pull(raw)


def test_no_more_is_remembered_than_a_fixed_number() -> None:
    [pull] = folded(*(completed(f"e{n:03}", head=f"{n:040x}") for n in range(MOST_VERDICTS + 5))).pulls.values()
    assert [row.eval_id for row in pull.rows] == [f"e{n:03}" for n in range(5, MOST_VERDICTS + 5)]
    for n in range(MOST_VERDICTS + 5):
        assert pull.add_outcome(OutcomeRow("retry", f"e{n}", n, n))
    assert len(pull.outcomes) == MOST_VERDICTS


def test_what_people_saw_is_forgotten_last() -> None:
    checks: dict[str, Any] = {"subject_kind": "ci_check", "parent_eval_id": "e000"}
    heads = [completed(f"e{n:03}", head=f"{n:040x}") for n in range(3)]
    [pull] = folded(*heads, *(completed(f"f{n:03}", **checks) for n in range(MOST_VERDICTS))).pulls.values()
    assert [row.eval_id for row in pull.rows] == [
        "e000",
        "e001",
        "e002",
        *(f"f{n:03}" for n in range(3, MOST_VERDICTS)),
    ]
    heads = [completed(f"e{n:03}", head=f"{n:040x}") for n in range(MOST_VERDICTS)]
    [pull] = folded(*heads, completed("f", **checks), completed("g", **checks)).pulls.values()
    assert [row.eval_id for row in pull.rows] == [*(f"e{n:03}" for n in range(1, MOST_VERDICTS)), "g"]


def test_intervals_are_those_of_the_books() -> None:
    assert wilson_interval(0, 0) is None
    assert wilson_interval(8, 10) == (0.490162, 0.943318)
    assert wilson_interval(0, 10) == (0.0, 0.277533)
    assert wilson_interval(10, 10) == (0.722467, 1.0)
    assert mean_interval(FigureSums(1, 5, 25), 10) is None
    assert mean_interval(FigureSums(100, 500, 50 * 16 + 50 * 36), 10) == (0.480302, 0.519698)


def test_figures_of_nothing_are_none() -> None:
    assert (mean_of({}, 1), share_of(0, 0)) == (None, None)
    assert percentiles({}, (0.5,), 1) == [None]
    assert percentiles({1: 1, 2: 1, 3: 2}, (0, 0.25, 0.5, 0.51, 1), 1) == [1, 1, 2, 3, 3]


@given(st.lists(st.integers(0, 9)), st.lists(st.floats(0, 1), max_size=3))
def test_percentiles_are_the_same_of_figures_one_by_one(figures: list[int], parts: list[float]) -> None:
    assert percentiles_in_order(sorted(figures), parts, 7) == percentiles(Counter(figures), parts, 7)


@given(st.integers(0, 500), st.integers(1, 500))
def test_an_interval_holds_its_share(hits: int, of: int) -> None:
    hits = min(hits, of)
    found = wilson_interval(hits, of)
    assert found is not None
    assert 0 <= found.low <= round(hits / of, 6) <= found.high <= 1
