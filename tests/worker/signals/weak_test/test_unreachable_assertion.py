"""Assertions that are not reached."""

import pytest

from tests.worker.signals.weak_test.seen import names, seen, seen_new

LEFT = [
    ("test_a.py", "def test_a():\n    x = run()\n    return\n    assert x == 1\n", 3),
    ("test_a.py", "def test_a():\n    x = run()\n    if True:\n        return\n    assert x == 1\n", 3),
    ("a.test.ts", "it('a', () => {\n  const x = run()\n  return;\n  expect(x).toBe(1)\n})\n", 3),
    ("tests/a.rs", "#[test]\nfn a() {\n    let x = run();\n    if true { return; }\n    assert_eq!(x, 1);\n}\n", 4),
    ("ATest.java", "class ATest {\n  @Test void a() {\n    int x = run();\n    if (true) return;\n    assertEquals(x, 1);\n  }\n}\n", 4),
    ("a_test.go", "package a\n\nfunc TestA(t *testing.T) {\n\tx := run()\n\treturn\n\tif x != 1 { t.Error(x) }\n}\n", 5),
]  # fmt: skip
REACHED = [
    ("test_a.py", "def test_a():\n    x = run()\n    assert x == 1\n    return\n    more(x)\n"),
    ("a.test.ts", "it('a', () => {\n  const x = run()\n  return expect(x).toBe(1)\n})\n"),
]
SWITCHED = [
    ("test_a.py", 'def test_a():\n    x = run()\n    if os.environ.get("STRICT"):\n        assert x == 1\n', 3),
    ("a.test.ts", "it('a', () => {\n  const x = run()\n  if (process.env.FULL) {\n    expect(x).toBe(1)\n  }\n})\n", 3),
    ("tests/a.rs", '#[test]\nfn a() {\n    let x = run();\n    if std::env::var("S").is_ok() {\n        assert_eq!(x, 1);\n    }\n}\n', 4),
    ("ATest.java", 'class ATest {\n  @Test void a() {\n    if (Boolean.getBoolean("s")) {\n      check(run());\n    }\n  }\n}\n', 3),
    ("a_test.go", 'package a\n\nfunc TestA(t *testing.T) {\n\tx := run()\n\tif os.Getenv("S") != "" {\n\t\tif x != 1 { t.Error(x) }\n\t}\n}\n', 5),
]  # fmt: skip
NEVER = [
    ("test_a.py", "def test_a():\n    x = run()\n    if False:\n        assert x == 1\n", 3),
    ("test_a.py", "def test_a():\n    x = run()\n    for y in []:\n        assert x == y\n", 3),
    ("a.test.ts", "it('a', () => {\n  const x = run();\n  [].forEach((y) => expect(x).toBe(y))\n})\n", 3),
    ("a.test.ts", "it('a', () => {\n  const x = run();\n  false && expect(x).toBe(1)\n})\n", 3),
    ("tests/a.rs", "#[test]\nfn a() {\n    let x = run();\n    if false {\n        assert_eq!(x, 1);\n    }\n}\n", 4),
    ("ATest.java", "class ATest {\n  @Test void a() {\n    for (int y : new int[0]) {\n      assertEquals(y, run());\n    }\n  }\n}\n", 3),
    ("a_test.go", "package a\n\nfunc TestA(t *testing.T) {\n\tx := run()\n\tif false {\n\t\trequire.Equal(t, 1, x)\n\t}\n}\n", 5),
    ("a_test.go", "package a\n\nfunc TestA(t *testing.T) {\n\tx := run()\n\tfor _, y := range []int{} {\n\t\trequire.Equal(t, y, x)\n\t}\n}\n", 5),
]  # fmt: skip
DOUBTFUL = [
    ("test_a.py", "def test_a():\n    x = run()\n    if x.skipped:\n        return\n    assert x == 1\n", 3),
    ("test_a.py", "def test_a():\n    x = run()\n    if x:\n        assert x == 1\n", 3),
    ("test_a.py", "def test_a():\n    x = run()\n    def check():\n        assert x == 1\n", 3),
    ("a.test.ts", "it('a', () => {\n  const x = run()\n  const check = () => expect(x).toBe(1)\n})\n", 3),
    ("tests/a.rs", "#[test]\nfn a() {\n    let x = run();\n    let check = || assert_eq!(x, 1);\n}\n", 4),
]  # fmt: skip
CALLED = [
    ("test_a.py", "def test_a():\n    x = run()\n    def check():\n        assert x == 1\n    check()\n"),
    ("a.test.ts", "it('a', () => {\n  const x = expect(run()).toBe(1)\n})\n"),
    ("test_a.py", "def test_a():\n    if False:\n        run()\n    else:\n        assert run() == 1\n"),
]
UNSWITCHED = [
    ("test_a.py", 'def test_a():\n    if os.getenv("S", None) != "1":\n        assert run() == 1\n'),
    ("test_a.py", 'def test_a():\n    if not os.environ.get("S"):\n        assert run() == 1\n'),
    ("a.test.ts", "it('a', () => {\n  if (!process.env.FAST) {\n    expect(run()).toBe(1)\n  }\n})\n"),
    ("test_a.py", 'def test_a():\n    x = run()\n    assert x == 1\n    if os.environ.get("S"):\n        assert x.y == 1\n'),
    ("test_a.py", 'def test_a():\n    if os.environ.get("S"):\n        assert run() == 1\n    else:\n        assert run() == 2\n'),
    ("a.test.ts", "it('a', () => {\n  const x = run()\n  if (x) {\n    expect(x).toBe(1)\n  }\n})\n"),
    ("a_test.go", 'package a\n\nfunc TestA(t *testing.T) {\n\tif runtime.GOOS == "windows" && os.Getenv("S") == "" {\n\t\tassert.Equal(t, 1, run())\n\t}\n}\n'),
]  # fmt: skip


@pytest.mark.parametrize(("path", "text", "line"), LEFT, ids=range(len(LEFT)))
def test_assertions_behind_a_return_are_a_fact_at_the_return(path: str, text: str, line: int) -> None:
    assert ("assertion_unreached", line) in seen_new(path, text)


def test_what_asks_for_success_is_written_as_a_check_and_what_fails_on_its_way_is_not() -> None:
    text = "package a\n\nfunc TestA(t *testing.T) {\n\terr := run()\n\treturn\n\trequire.NoError(t, err)\n}\n"
    assert ("assertion_unreached", 5) in seen_new("a_test.go", text)
    text = "#[test]\nfn a() {\n    let x = run();\n    return;\n    x.unwrap();\n}\n"
    assert "assertion_unreached" not in names(seen_new("tests/a.rs", text))


def test_a_name_that_begins_like_a_constant_is_a_condition() -> None:
    text = "package a\n\nfunc TestA(t *testing.T) {\n\tx := run()\n\tif nullable, _ := x.Nullable(); !nullable {\n\t\trequire.Equal(t, 1, x)\n\t}\n}\n"
    assert "assertion_unreached" not in names(seen_new("a_test.go", text))


@pytest.mark.parametrize(("path", "text"), REACHED, ids=range(len(REACHED)))
def test_assertions_that_are_reached_are_left_alone(path: str, text: str) -> None:
    assert seen_new(path, text) == []


def test_a_return_that_stood_there_before_is_not_blamed() -> None:
    before = "def test_a():\n    x = run()\n    return\n    assert x == 1\n"
    assert seen({"test_a.py": before}, {"test_a.py": before.replace("run()", "run(1)")}) == []


@pytest.mark.parametrize(("path", "text", "line"), SWITCHED, ids=range(len(SWITCHED)))
def test_assertions_that_only_the_environment_turns_on_are_a_fact(path: str, text: str, line: int) -> None:
    assert ("assertion_behind_switch", line) in seen_new(path, text)


def test_a_check_that_is_left_out_with_a_reason_is_only_suspected() -> None:
    text = "def test_a():\n    assert run() == 1\n    # The one below fails on devices with leading dimensions.\n    if False:\n        assert run(2) == 2\n"
    assert seen_new("test_a.py", text) == [("assertion_conditional", 4)]


@pytest.mark.parametrize(("path", "text"), UNSWITCHED, ids=range(len(UNSWITCHED)))
def test_a_test_that_asserts_without_the_switch_is_left_alone(path: str, text: str) -> None:
    assert "assertion_behind_switch" not in names(seen_new(path, text))


@pytest.mark.parametrize(("path", "text", "line"), NEVER, ids=range(len(NEVER)))
def test_assertions_where_nothing_ever_runs_are_a_fact(path: str, text: str, line: int) -> None:
    assert ("assertion_unreached", line) in seen_new(path, text)


@pytest.mark.parametrize(("path", "text", "line"), DOUBTFUL, ids=range(len(DOUBTFUL)))
def test_assertions_that_may_never_be_made_are_suspected(path: str, text: str, line: int) -> None:
    assert ("assertion_conditional", line) in seen_new(path, text)


@pytest.mark.parametrize(("path", "text"), CALLED, ids=range(len(CALLED)))
def test_assertions_in_what_is_called_are_left_alone(path: str, text: str) -> None:
    assert not {"assertion_conditional", "assertion_unreached"}.intersection(names(seen_new(path, text)))


def test_a_condition_that_was_put_around_an_old_assertion_is_suspected_once() -> None:
    before = "def test_a():\n    x = run()\n    assert x == 1\n    assert x != 2\n"
    after = "def test_a():\n    x = run()\n    if x.ready:\n        assert x == 1\n        assert x != 2\n"
    assert names(seen({"test_a.py": before}, {"test_a.py": after})).count("assertion_conditional") == 1


def test_a_condition_that_stood_there_before_is_not_blamed() -> None:
    before = "def test_a():\n    x = run()\n    if x:\n        assert x == 1\n"
    assert seen({"test_a.py": before}, {"test_a.py": before.replace("run()", "run(1)")}) == []


def test_a_way_out_that_stood_there_before_is_not_blamed() -> None:
    before = "def test_a():\n    x = run()\n    if x.skipped:\n        return\n    assert x == 1\n"
    assert seen({"test_a.py": before}, {"test_a.py": before.replace("run()", "run(1)")}) == []


def test_a_thing_compared_with_itself_behind_a_return_is_not_reached_either() -> None:
    text = "def test_a():\n    return\n    assert hash(make()) == hash(make())\n"
    assert ("assertion_unreached", 2) in seen_new("test_a.py", text)
    assert "assertion_unreached" not in names(seen_new("test_a.py", text.replace("    assert hash", "    use(hash")))


PARTLY = "it('a', () => {\n  const x = run()\n  expect(x).toBe(1)\n  if (%s) {\n    expect(x.y).toBe(2)\n  }%s\n})\n"


@pytest.mark.parametrize(
    ("condition", "behind", "expected"),
    [
        ("process.env.STRICT", "", [("assertion_conditional", 4)]),
        ("x.y", "", []),
        ("process.env.STRICT", " else {\n    expect(x.y).toBe(3)\n  }", []),
    ],
    ids=["a switch", "a result", "either way"],
)
def test_some_checks_of_a_new_test_behind_a_switch_are_suspected(
    condition: str, behind: str, expected: list[tuple[str, int]]
) -> None:
    text = PARTLY % (condition, behind)
    assert seen_new("a.test.ts", text) == expected
    assert names(seen({"a.test.ts": text}, {"a.test.ts": text.replace("run()", "run(1)")})) == []


def test_where_all_checks_stand_behind_the_switch_that_is_told_once() -> None:
    text = PARTLY.replace("  expect(x).toBe(1)\n", "") % ("process.env.STRICT", "")
    assert seen_new("a.test.ts", text) == [("assertion_behind_switch", 3)]


def test_a_look_at_an_error_behind_a_switch_is_suspected() -> None:
    text = "package a\n\nfunc TestA(t *testing.T) {\n\terr := run()\n\tif testing.Verbose() {\n\t\trequire.NoError(t, err)\n\t}\n}\n"
    assert ("assertion_conditional", 5) in seen_new("a_test.go", text)


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        ("test_a.py", "def test_a():\n    with run() as x:\n        return\n        assert x == 1\n", 3),
        (
            "ATest.java",
            "class ATest {\n  @Test void a() {\n    try (Thing x = run()) {\n      if (true) return;\n      assertEquals(1, x.size());\n    }\n  }\n}\n",
            4,
        ),
    ],
)
def test_what_follows_a_return_inside_of_an_opened_resource_is_not_reached(path: str, text: str, line: int) -> None:
    assert ("assertion_unreached", line) in seen_new(path, text)
