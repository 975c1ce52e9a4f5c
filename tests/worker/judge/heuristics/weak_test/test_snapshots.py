"""Recorded expectations that were recorded anew."""

import pytest

from tests.worker.judge.heuristics.weak_test.seen import seen

OLD = {"__snapshots__/a.snap": "one\ntwo\n"}
NEW = {"__snapshots__/a.snap": "one\nthree\n"}


def test_an_expectation_that_was_recorded_anew_without_a_reason_is_suspected() -> None:
    assert seen(OLD, NEW) == [("snapshot_rewritten", 2)]
    assert seen({**OLD, "a.test.ts": "f()\n"}, {**NEW, "a.test.ts": "g()\n"}) == [("snapshot_rewritten", 2)]


@pytest.mark.parametrize("path", ["src/a.ts", "package.json", "data.csv"])
def test_any_other_changed_file_may_explain_it(path: str) -> None:
    assert seen({**OLD, path: "a\n"}, {**NEW, path: "b\n"}) == []


def test_a_new_recording_is_no_rewriting() -> None:
    assert seen({}, NEW) == []
    assert seen(OLD, {"__snapshots__/a.snap": "one\ntwo\nthree\n"}) == []
