"""Checks that hold whatever the code does."""

import pytest

from tests.worker.signals.made import Texts
from tests.worker.signals.weak_test.seen import names, seen, seen_new

ALWAYS = {
    "test_a.py": "def test_a():\n    x = run()\n    assert x == x\n",
    "tests/test_a.py": "def test_a():\n    assert (run(), 'message')\n",
    "a.test.ts": "it('a', () => {\n  run()\n  expect(true).toBe(true)\n})\n",
    "tests/a.rs": "#[test]\nfn a() {\n    run();\n    assert!(true);\n}\n",
    "ATest.java": "class ATest {\n  @Test void a() {\n    run();\n    assertTrue(true);\n  }\n}\n",
    "a_test.go": "package a\n\nfunc TestA(t *testing.T) {\n\trun()\n\tassert.Equal(t, x, x)\n}\n",
}


@pytest.mark.parametrize("path", ALWAYS)
def test_an_assertion_that_always_holds_is_a_fact(path: str) -> None:
    assert "assertion_always_true" in names(seen_new(path, ALWAYS[path]))


@pytest.mark.parametrize("comparing", ["==", "is"])
def test_what_is_computed_twice_may_differ_and_is_only_suspected(comparing: str) -> None:
    text = f"def test_a():\n    assert run(1) {comparing} run(1)\n"
    assert seen_new("test_a.py", text) == [("assertion_idle", 2)]


TWICE = {
    "test_a.py": "def test_a():\n    assert tokenize(1) == tokenize(1)\n",
    "a.test.ts": "it('a', () => {\n  expect(isoDate(1)).toEqual(isoDate(1))\n})\n",
    "tests/a.rs": "#[test]\nfn a() {\n    assert_eq!(x.total(), x.total());\n}\n",
    "ATest.java": "class ATest {\n  @Test void a() { assertEquals(x.toString(), x.toString()); }\n}\n",
    "a_test.go": 'package a\n\nfunc TestA(t *testing.T) {\n\tif Token("a") != Token("a") {\n\t\tt.Fatal()\n\t}\n}\n',
}


@pytest.mark.parametrize("path", TWICE)
def test_what_is_called_like_a_matcher_and_computed_twice_may_differ_as_well(path: str) -> None:
    assert names(seen_new(path, TWICE[path])) == ["assertion_idle"]


@pytest.mark.parametrize("check", ["assert x.a is x.a", "self.assertIs(x.a, x.a)", "assert x <= x"])
def test_a_property_that_is_kept_and_an_order_are_only_suspected(check: str) -> None:
    text = f"def test_lazy_order():\n    x = run()\n    {check}\n"
    assert seen_new("test_a.py", text) == [("assertion_idle", 3)]


def test_a_mark_that_a_line_is_reached_is_only_suspected_beside_others() -> None:
    text = "def test_a():\n    assert run() == 1\n    assert True\n"
    assert seen_new("test_a.py", text) == [("assertion_idle", 3)]


def test_beside_other_assertions_it_is_suspected() -> None:
    text = "def test_a():\n    x = run()\n    assert x == x\n    assert x != 1\n"
    assert seen_new("test_a.py", text) == [("assertion_idle", 3)]


def test_a_test_of_equality_may_compare_a_thing_with_itself() -> None:
    assert seen_new("test_a.py", "def test_equality():\n    x = run()\n    assert x == x\n    assert x != 1\n") == []


def test_a_function_of_the_project_may_hold_more_to_account_than_both_sides() -> None:
    assert names(seen_new("test_a.py", "def test_a():\n    x = run()\n    assert_eq(x, x)\n")) == ["assertion_idle"]


def test_a_check_that_is_handed_over_may_be_there_to_be_run() -> None:
    text = "it('a', () => {\n  expect(() => { expect(true).toBe(true) }).toThrow()\n})\n"
    assert seen_new("a.test.ts", text) == []


def test_an_assertion_that_stood_there_before_is_not_blamed() -> None:
    before = "def test_a():\n    assert True\n"
    assert seen({"test_a.py": before}, {"test_a.py": "def test_a():\n    f()\n    if x:\n        assert True\n"}) == []


def test_a_matcher_that_is_never_called_is_a_fact() -> None:
    text = "it('a', () => {\n  expect(x).toBe(1)\n  expect(y).toBeFalsy\n})\n"
    assert seen_new("a.test.ts", text) == [("matcher_not_called", 3)]


@pytest.mark.parametrize("matcher", ["toMatchObject", "to.be.equal"])
def test_a_matcher_whose_arguments_the_hunk_cuts_off_is_called(matcher: str) -> None:
    rows = "".join(f"    new Row({number}),\n" for number in range(30))
    before = "it('a', () => {\n" + "  make()\n" * 9 + f"  expect(x).toEqual([\n{rows}  ])\n}})\n"
    after = {"a.test.ts": before.replace("toEqual", matcher)}
    assert "matcher_not_called" not in names(seen({"a.test.ts": before}, after, texts=False))


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


@pytest.mark.parametrize(
    ("name", "expected"), [("should not hang", "assertion_idle"), ("adds", "assertion_always_true")]
)
def test_where_coming_to_the_end_is_all_it_is_about_a_constant_is_only_suspected(name: str, expected: str) -> None:
    assert names(seen_new("a.test.ts", f"it('{name}', () => {{\n  expect(1).toBe(1)\n}})\n")) == [expected]


def test_beside_its_hash_a_thing_may_be_compared_with_itself() -> None:
    text = "def test_a():\n    x = run()\n    assert hash(x) == hash(x)\n    assert x == x\n    assert x == 1\n"
    assert ("assertion_idle", 4) not in seen_new("test_a.py", text)


def test_beside_a_comparison_with_another_a_thing_may_be_compared_with_itself() -> None:
    text = "def test_a():\n    x, y = run()\n    assert x == x\n    assert x != y\n"
    assert seen_new("test_a.py", text) == []


PUT_OFF = [
    "it('a', () => {\n  run().then((x) => {\n    expect(x).toBe(1)\n  })\n})\n",
    "it('a', () => {\n  run().then((x) => x).then((x) => {\n    expect(x).toBe(1)\n  }).catch(log)\n})\n",
    "it('a', () => {\n  setTimeout(() => {\n    expect(x).toBe(1)\n  }, 10)\n})\n",
]
WAITED = [
    "it('a', async () => {\n  await run().then((x) => {\n    expect(x).toBe(1)\n  })\n})\n",
    "it('a', () => {\n  return run().then((x) => {\n    expect(x).toBe(1)\n  })\n})\n",
    "it('a', (done) => {\n  run().then((x) => {\n    expect(x).toBe(1)\n    done()\n  })\n})\n",
    "it('a', () => {\n  items.forEach((x) => {\n    expect(x).toBe(1)\n  })\n})\n",
    "it('a', () => {\n  const check = (x) => {\n    expect(x).toBe(1)\n  }\n  check(run())\n})\n",
]


@pytest.mark.parametrize("text", PUT_OFF, ids=range(len(PUT_OFF)))
def test_what_is_checked_after_the_test_is_over_is_suspected(text: str) -> None:
    assert "expectation_not_awaited" in names(seen_new("a.test.ts", text))


@pytest.mark.parametrize("text", WAITED, ids=range(len(WAITED)))
def test_what_the_test_waits_for_is_left_alone(text: str) -> None:
    assert "expectation_not_awaited" not in names(seen_new("a.test.ts", text))


def test_what_only_a_call_is_named_like_is_compared_with_itself_in_go() -> None:
    text = 'package a\n\nfunc TestA(t *testing.T) {\n\tx := run()\n\tif x != x {\n\t\tt.Errorf("got %d", x)\n\t}\n}\n'
    assert "assertion_always_true" in names(seen_new("a_test.go", text))


def test_what_only_sounds_like_a_check_inside_of_a_weak_one_does_not_make_up_for_it() -> None:
    text = 'package a\n\nfunc TestA(t *testing.T) {\n\tif !strings.Contains(run(), "") {\n\t\tt.Error(1)\n\t}\n}\n'
    assert "test_expects_presence_only" in names(seen_new("a_test.go", text))
    beside = "package a\n\nfunc TestA(t *testing.T) {\n\tcheckAll(t)\n\trequire.NotNil(t, run())\n}\n"
    assert "test_expects_presence_only" not in names(seen_new("a_test.go", beside))


QUIET = "package a\n\nfunc TestTotal(t *testing.T) {{\n\t{} := run()\n\trequire.NoError(t, err)\n}}\n"


def test_a_new_test_that_only_asks_that_nothing_fails_is_suspected() -> None:
    assert "test_expects_success_only" in names(seen_new("a_test.go", QUIET.format("got, err")))


@pytest.mark.parametrize(
    "text",
    [
        QUIET.format("err"),
        QUIET.format("got, err").replace("TestTotal", "TestValidInput"),
        QUIET.format("got, err").replace("t, err)\n", "t, err)\n\trequire.Equal(t, 1, got)\n"),
    ],
    ids=range(3),
)
def test_where_success_is_the_point_or_a_value_is_asserted_too_it_is_left_alone(text: str) -> None:
    assert "test_expects_success_only" not in names(seen_new("a_test.go", text))


HANDED_OVER = {
    "test_a.py": "def test_a():\n    def run():\n        got = work()\n        assert got == 1 or True\n    start(run)\n",
    "a.test.ts": "it('a', () => {\n  start((got) => {\n    work()\n    expect(got).toBe(got)\n  })\n})\n",
    "tests/a.rs": "#[test]\nfn a() {\n    spawn(move || {\n        let got = work();\n        assert_eq!(got, got);\n    });\n}\n",
}


@pytest.mark.parametrize("path", HANDED_OVER)
def test_what_can_not_fail_in_a_function_that_is_handed_over_is_only_suspected(path: str) -> None:
    assert "assertion_idle" in names(seen_new(path, HANDED_OVER[path]))
    assert "assertion_always_true" not in names(seen_new(path, HANDED_OVER[path]))


@pytest.mark.parametrize(
    "name", ["test_readinto_with_memoryview", "test_keys_in_lexicographical_order", "test_determines_branch"]
)
def test_a_name_that_only_holds_a_word_of_equality_is_about_something_else(name: str) -> None:
    text = f"def {name}():\n    x = run()\n    assert x == x\n"
    assert names(seen_new("test_a.py", text)) == ["assertion_always_true"]


def test_several_things_each_compared_with_itself_do_not_speak_for_each_other() -> None:
    lines = "".join(f"\tif got[{at}] != got[{at}] {{\n\t\tt.Error(got)\n\t}}\n" for at in range(2))
    text = f"package a\n\nfunc TestA(t *testing.T) {{\n\tgot := run()\n{lines}}}\n"
    assert names(seen_new("a_test.go", text)) == ["assertion_always_true", "assertion_always_true"]


ENDS = """class ATest {{
  @Test void adds() {{
    assertEquals(3, Sums.total(1, 2));
  }}
  @Test void {}() {{
    assertDoesNotThrow(() -> Sums.{}(0, 0));
  }}
}}
"""


@pytest.mark.parametrize(
    ("name", "called", "expected"),
    [("addsNothing", "total", True), ("acceptsNothing", "total", False), ("addsNothing", "reset", False)],
    ids=["its result is compared elsewhere", "success is the point", "nothing is known of its result"],
)
def test_what_is_only_run_where_others_compare_what_it_returns_is_suspected(
    name: str, called: str, *, expected: bool
) -> None:
    before = ENDS.format("x", "y").replace("  @Test void x() {\n    assertDoesNotThrow(() -> Sums.y(0, 0));\n  }\n", "")
    found = names(seen({"ATest.java": before}, {"ATest.java": ENDS.format(name, called)}))
    assert ("test_expects_success_only" in found) is expected


def test_what_can_not_fail_in_a_test_within_a_test_is_a_fact_of_the_inner_one() -> None:
    inner = '\tt.Run("inner", func(t *testing.T) {\n\t\tx := run()\n\t\tassert.Equal(t, x, x)\n\t})\n'
    text = f"package a\n\nfunc TestA(t *testing.T) {{\n{inner}}}\n"
    assert names(seen_new("a_test.go", text)) == ["assertion_always_true"]


def test_what_can_not_fail_in_a_test_that_a_fragment_shows_whole_is_told_once_and_as_a_fact() -> None:
    after = FRAGMENT + "\n\ndef test_b():\n    x = run()\n    assert x == x\n"
    assert names(seen({"test_a.py": FRAGMENT}, {"test_a.py": after}, texts=False)) == ["assertion_always_true"]


@pytest.mark.parametrize(
    ("name", "is_told"), [("test_repeated_header", True), ("test_repeated_calls", False), ("test_reordering", True)]
)
def test_a_name_with_a_word_like_equality_speaks_for_no_comparison_with_itself(name: str, *, is_told: bool) -> None:
    found = names(seen_new("test_a.py", f"def {name}():\n    x = run()\n    assert x == x\n"))
    assert ("assertion_always_true" in found) is is_told


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("test_a.py", "def test_a():\n    assert user.id == user.id\n"),
        ("ATest.java", "class ATest {\n  @Test void a() { assertSame(Things.NULL, Things.NULL); }\n}\n"),
        ("ATest.java", "class ATest {\n  @Test void a() { assertEquals(NULL, NULL); }\n}\n"),
        ("tests/a.rs", "#[test]\nfn a() {\n    assert_eq!(Level::INFO, Level::INFO);\n}\n"),
    ],
)
def test_a_constant_or_an_attribute_may_have_an_equality_of_its_own(path: str, text: str) -> None:
    assert names(seen_new(path, text)) == ["assertion_idle"]


@pytest.mark.parametrize(
    ("owner", "is_told"), [("Things", True), ("EqualityTests", False), ("ThingHashCodeTests", False)]
)
def test_a_test_in_a_class_of_equality_may_compare_a_thing_with_itself(owner: str, *, is_told: bool) -> None:
    text = f"class Test{owner}:\n    def test_self(self):\n        x = run()\n        assert x == x\n"
    assert ("assertion_always_true" in names(seen_new("test_a.py", text))) is is_told


JUNIT = "class ATest {\n  @Test void a() {\n    %s\n  }\n}\n"


@pytest.mark.parametrize(
    ("check", "is_told"),
    [
        ('assertTrue(is.available() == 3, "wrong number");', False),
        ('assertTrue("wrong number", is.available() == 3);', False),
        ('assertTrue(true, "mark is not supported");', True),
        ('assertTrue("mark is not supported", true);', True),
        ('assertTrue("it");', True),
        ("assertThat(cache.size).isAtLeast(0);", False),
        ("assertThat(cache.size()).isAtLeast(0);", True),
    ],
)
def test_a_message_is_no_condition_and_a_counter_may_fall_below_nothing(check: str, *, is_told: bool) -> None:
    assert ("assertion_always_true" in names(seen_new("ATest.java", JUNIT % check))) is is_told


OLD = "def test_a():\n    run()\n    assert True\n"
RESPELLED = {
    "respelled": ({"test_a.py": OLD}, {"test_a.py": OLD.replace("True", "1 == 1")}),
    "renamed": ({"test_a.py": OLD}, {"test_a.py": OLD.replace("_a", "_b")}),
    "moved": ({"test_a.py": OLD}, {"test_a.py": "x = 1\n", "test_b.py": "def test_c():\n    assert True\n"}),
}


@pytest.mark.parametrize(("before", "after"), RESPELLED.values(), ids=RESPELLED.keys())
def test_what_proved_nothing_before_and_is_only_said_otherwise_is_not_blamed(before: Texts, after: Texts) -> None:
    assert "assertion_always_true" not in names(seen(before, after))


def test_one_more_that_proves_nothing_is_a_fact() -> None:
    assert "assertion_always_true" in names(seen({"test_a.py": OLD}, {"test_a.py": OLD + "    assert 1 == 1\n"}))


@pytest.mark.parametrize(
    ("path", "text", "is_told"),
    [
        ("test_a.py", "def test_a():\n    x = [1]\n    run(x)\n    assert y == 1\n    assert x is not None\n", True),
        ("test_a.py", "def test_a():\n    x: str = 'a'\n    assert y == 1\n    assert x is not None\n", True),
        ("test_a.py", "def test_a():\n    x = load()\n    assert y == 1\n    assert x is not None\n", False),
        ("test_a.py", "def test_a():\n    x = []\n    x = load()\n    assert y == 1\n    assert x is not None\n", False),
        ("a.test.ts", "it('a', () => {\n  const x = { a: 1 }\n  expect(y).toBe(1)\n  expect(x).toBeDefined()\n})\n", True),
    ],
)  # fmt: skip
def test_what_the_test_itself_writes_out_is_there_in_any_case(path: str, text: str, *, is_told: bool) -> None:
    line = text.count("\n") - (1 if path.endswith(".ts") else 0)
    assert (("assertion_idle", line) in seen_new(path, text)) is is_told


RAISES = "def test_a():\n    x = load()\n    with pytest.raises(%s):\n        x.run()\n    assert x.y == 1\n"


def test_a_test_from_which_any_error_is_expected_from_now_on_is_suspected() -> None:
    before, after = RAISES % "ValueError", RAISES % "Exception"
    assert ("any_error_expected", 3) in seen({"test_a.py": before}, {"test_a.py": after})
    assert "any_error_expected" not in names(
        seen({"test_a.py": after}, {"test_a.py": after.replace("Exception):", "Exception) as found:")})
    )


@pytest.mark.parametrize(
    ("path", "line", "is_told"),
    [
        ("ATest.java", 'assertDoesNotThrow(() -> Times.toDays("1"));', True),
        ("ATest.java", 'assertDoesNotThrow(() -> Times.start("1"));', False),
        ("a_test.go", "require.NotPanics(t, func() { _ = run() })", True),
    ],
)
def test_what_returns_something_by_its_name_is_not_run_for_its_end_alone(
    path: str, line: str, *, is_told: bool
) -> None:
    java, go = (
        "class ATest {\n  @Test void days() {\n    %s\n  }\n}\n",
        "package a\n\nfunc TestA(t *testing.T) {\n\t%s\n}\n",
    )
    found = names(seen_new(path, (java if path.endswith(".java") else go) % line))
    assert ("test_expects_success_only" in found) is is_told


REACHED = {
    "a.test.js": (
        "test('a', t => {\n  const sink = () => { t.assert.fail('called') }\n  send(sink)\n  t.assert.ok(true)\n})\n",
        "t.assert.fail('called')",
        4,
    ),
    "test_a.py": (
        "def test_a():\n    sink = Sink(lambda: pytest.fail('called'))\n    send(sink)\n    assert True\n",
        "pytest.fail('called')",
        4,
    ),
    "ATest.java": (
        "class ATest {\n  @Test void a() {\n    send(() -> fail());\n    assertTrue(true);\n  }\n}\n",
        "fail()",
        4,
    ),
}


@pytest.mark.parametrize("path", REACHED)
def test_a_constant_in_a_test_that_says_itself_where_it_has_failed_is_only_suspected(path: str) -> None:
    text, fails, line = REACHED[path]
    assert ("assertion_idle", line) in seen_new(path, text)
    assert "assertion_always_true" not in names(seen_new(path, text))
    assert ("assertion_always_true", line) in seen_new(path, text.replace(fails, "other()"))


COUNTED = "test('a', async (t) => {\n  %s\n  send()\n  %s\n})\n"


@pytest.mark.parametrize("announced", ["t.plan(1)", "expect.assertions(1)", "assert.expect(1)"])
def test_a_constant_that_counts_towards_an_announced_number_of_assertions_is_only_suspected(announced: str) -> None:
    assert names(seen_new("a.test.js", COUNTED % (announced, "t.ok(true)"))) == ["assertion_idle"]


@pytest.mark.parametrize(
    ("announced", "check"),
    [
        ("t.plan(0)", "t.ok(true)"),
        ("trip.plan(1)", "t.ok(true)"),
        ("request().expect(200)", "t.ok(true)"),
        ("t.plan(1)", "t.equal(x, x)"),
    ],
    ids=["none is announced", "something is planned", "something else is expected", "it claims to compare"],
)
def test_what_claims_more_or_is_not_counted_is_a_fact(announced: str, check: str) -> None:
    assert names(seen_new("a.test.js", COUNTED % (announced, check))) == ["assertion_always_true"]


FORKED = {
    "else": ("a.test.ts", "it('a', () => {\n  if (run()) {\n    throw new Error('no')\n  } else {\n    expect(true).toBe(true)\n  }\n})\n", "throw new Error('no')", 5),
    "if": ("a.test.ts", "it('a', () => {\n  if (run()) {\n    expect(true).toBe(true)\n  } else {\n    throw new Error('no')\n  }\n})\n", "throw new Error('no')", 3),
    "rust": ("tests/a.rs", '#[test]\nfn a() {\n    match run() {\n        A => assert!(true),\n        B => panic!("no"),\n    }\n}\n', 'panic!("no")', 4),
}  # fmt: skip


@pytest.mark.parametrize("case", FORKED)
def test_a_constant_that_is_reached_where_the_other_way_does_not_fail_is_only_suspected(case: str) -> None:
    path, text, fails, line = FORKED[case]
    assert ("assertion_always_true", line) not in seen_new(path, text)
    assert ("assertion_idle", line) in seen_new(path, text)
    assert ("assertion_always_true", line) in seen_new(path, text.replace(fails, "other()"))


def test_a_constant_below_a_fork_is_a_fact_as_are_both_ways_of_a_catch() -> None:
    text = "it('a', () => {\n  if (run()) {\n    throw new Error('no')\n  }\n  expect(true).toBe(true)\n})\n"
    assert ("assertion_always_true", 5) in seen_new("a.test.ts", text)
    text = "it('a', () => {\n  try {\n    run()\n  } catch (e) {\n    expect(true).toBe(true)\n  }\n})\n"
    assert ("assertion_always_true", 5) in seen_new("a.test.ts", text)


SUITE = (
    "package a\n\ntype fixture struct {\n\tSuite\n\tran bool\n}\n\nfunc (s *fixture) TestOne() {\n\ts.Equal(1, 1)\n}\n\n"
    "func TestRuns(t *testing.T) {\n\tgiven := new(%s)\n\tRun(t, given)\n\t%s\n}\n"
)


@pytest.mark.parametrize(
    ("made", "check", "is_fact"),
    [
        ("fixture", "assert.True(t, given.ran)", False),
        ("fixture", "t.Log(given)", True),
        ("other", "assert.True(t, given.ran)", True),
    ],
)
def test_a_constant_in_a_type_that_another_test_runs_and_checks_is_only_suspected(
    made: str, check: str, *, is_fact: bool
) -> None:
    found = seen_new("suite_test.go", SUITE % (made, check))
    assert (("assertion_always_true", 9) in found) is is_fact
    assert (("assertion_idle", 9) in found) is not is_fact


CASE = "it('keeps the page', () => {\n  expect(true).toBe(true)\n})\n"


@pytest.mark.parametrize(
    ("path", "beside", "is_fact"),
    [
        ("test/cases/page/index.js", "test/cases/page/test.config.js", False),
        ("test/cases/page/index.js", "test/cases/page/__snapshots__/a.snap", False),
        ("test/cases/page/index.js", "test/cases/page/page.html", True),
        ("test/cases/page/index.js", "test/cases/other/test.config.js", True),
        ("test/cases/page/index.js", "test/cases/page/vitest.config.js", True),
        ("test/page.test.js", "test/test.config.js", True),
    ],
)
def test_a_constant_in_a_case_whose_folder_holds_the_checks_is_only_suspected(
    path: str, beside: str, *, is_fact: bool
) -> None:
    found = names(seen({}, {path: CASE, beside: "module.exports = {}\n"}))
    assert ("assertion_always_true" in found) is is_fact
    assert ("assertion_idle" in found) is not is_fact


@pytest.mark.parametrize(
    ("runner", "sibling", "is_fact"),
    [
        ("it.only", "throw new Error('This should not run')", False),
        ("it", "throw new Error('This should not run')", True),
        ("it.only", "expect(run()).toBe(1)", True),
    ],
)
def test_a_constant_in_the_only_test_that_may_run_is_only_suspected(
    runner: str, sibling: str, *, is_fact: bool
) -> None:
    text = f"{runner}('a', () => {{\n  expect(true).toBe(true)\n}})\n\nit('b', () => {{\n  {sibling}\n}})\n"
    assert (("assertion_always_true", 2) in seen_new("a.test.ts", text)) is is_fact
