"""What the signals about tests look at, made once for all of them."""

from tests.worker.signals.made import change_of
from tests.worker.signals.weak_test.seen import seen_new
from worker.signals.analysis.test_pairs import find_bodies


def test_the_checks_of_what_a_hunk_shows_are_looked_for_once() -> None:
    body = "def test_a():\n    first = 1\n    assert first == 1\n"
    change = change_of({"test_a.py": body}, {"test_a.py": f"{body}    assert first == run()\n"}, texts=False)
    assert [one.name for one in find_bodies(change)] == ["test_a", ""]
    assert all(
        one.assertions is again.assertions for one, again in zip(find_bodies(change), find_bodies(change), strict=True)
    )


def test_a_test_of_types_is_for_the_compiler_and_nobody_runs_it() -> None:
    text = "it('a', () => {\n  expect(run())\n})\n"
    assert seen_new("a.test-d.ts", text) == []
    assert seen_new("a.test.ts", text) != []
