"""Checks that hold whatever the code does."""

import pytest

from tests.worker.judge.heuristics.weak_test.seen import names, seen, seen_new

ALWAYS = {
    "test_a.py": "def test_a():\n    x = run()\n    assert x == x\n",
    "tests/a.py": "def test_a():\n    assert (run(), 'message')\n",
    "a.test.ts": "it('a', () => {\n  run()\n  expect(true).toBe(true)\n})\n",
    "tests/a.rs": "#[test]\nfn a() {\n    run();\n    assert!(true);\n}\n",
    "ATest.java": "class ATest {\n  @Test void a() {\n    run();\n    assertTrue(true);\n  }\n}\n",
    "a_test.go": "package a\n\nfunc TestA(t *testing.T) {\n\trun()\n\tassert.Equal(t, x, x)\n}\n",
}


@pytest.mark.parametrize("path", ALWAYS)
def test_an_assertion_that_always_holds_is_a_fact(path: str) -> None:
    assert "assertion_always_true" in names(seen_new(path, ALWAYS[path]))


def test_what_is_computed_twice_may_differ_and_is_only_suspected() -> None:
    text = "def test_a():\n    assert run(1) == run(1)\n"
    assert seen_new("test_a.py", text) == [("assertion_idle", 2)]


def test_a_mark_that_a_line_is_reached_is_only_suspected_beside_others() -> None:
    text = "def test_a():\n    assert run() == 1\n    assert True\n"
    assert seen_new("test_a.py", text) == [("assertion_idle", 3)]


def test_beside_other_assertions_it_is_suspected() -> None:
    text = "def test_a():\n    x = run()\n    assert x == x\n    assert x != 1\n"
    assert seen_new("test_a.py", text) == [("assertion_idle", 3)]


def test_a_test_of_equality_may_compare_a_thing_with_itself() -> None:
    assert seen_new("test_a.py", "def test_equality():\n    x = run()\n    assert x == x\n    assert x != 1\n") == []


def test_a_check_that_is_handed_over_may_be_there_to_be_run() -> None:
    text = "it('a', () => {\n  expect(() => { expect(true).toBe(true) }).toThrow()\n})\n"
    assert seen_new("a.test.ts", text) == []


def test_an_assertion_that_stood_there_before_is_not_blamed() -> None:
    before = "def test_a():\n    assert True\n"
    assert seen({"test_a.py": before}, {"test_a.py": "def test_a():\n    f()\n    if x:\n        assert True\n"}) == []


def test_a_matcher_that_is_never_called_is_a_fact() -> None:
    text = "it('a', () => {\n  expect(x).toBe(1)\n  expect(y).toBeFalsy\n})\n"
    assert seen_new("a.test.ts", text) == [("matcher_not_called", 3)]


def test_an_expectation_that_nobody_waits_for_is_suspected() -> None:
    text = "it('a', () => {\n  expect(x).toBe(1)\n  expect(run()).rejects.toThrow()\n})\n"
    assert seen_new("a.test.ts", text) == [("expectation_not_awaited", 3)]


def test_a_test_that_only_asks_whether_something_is_there_is_suspected_at_its_first_check() -> None:
    assert seen_new("test_a.py", "def test_a():\n    x = run()\n    assert x is not None\n") == [
        ("test_expects_presence_only", 3)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "def test_a():\n    x = run()\n    assert x is not None\n    assert x == 1\n",
        "@raises(A)\ndef test_a():\n    assert run() is not None\n",
    ],
)
def test_a_test_that_asks_more_is_left_alone(text: str) -> None:
    assert seen_new("test_a.py", text) == []


FRAGMENT = "def test_a():\n" + "".join(f"    step({number})\n" for number in range(12)) + "    assert x == 1\n"


def test_inside_of_a_test_that_a_fragment_does_not_show_it_is_seen_as_well() -> None:
    after = {"test_a.py": FRAGMENT.replace("step(9)", "step(9)\n    assert True")}
    assert seen({"test_a.py": FRAGMENT}, after, texts=False) == [("assertion_idle", 12)]


def test_what_is_compared_with_itself_in_a_test_that_is_not_shown_is_suspected() -> None:
    after = {"test_a.py": FRAGMENT.replace("step(9)", "step(9)\n    assert x == x")}
    assert seen({"test_a.py": FRAGMENT}, after, texts=False) == [("assertion_idle", 12)]


ANY = [
    ("test_a.py", "def test_a():\n    with pytest.raises({}):\n        run()\n", "Exception", "ValueError"),
    (
        "ATest.java",
        "class ATest {{\n  @Test void a() {{\n    assertThrows({}, () -> run());\n  }}\n}}\n",
        "Throwable.class",
        "IOException.class",
    ),
]


@pytest.mark.parametrize(("path", "text", "wide", "narrow"), ANY, ids=[one[0] for one in ANY])
def test_where_any_error_would_do_it_is_suspected(path: str, text: str, wide: str, narrow: str) -> None:
    assert names(seen_new(path, text.format(wide))) == ["any_error_expected"]
    assert seen_new(path, text.format(narrow)) == []
