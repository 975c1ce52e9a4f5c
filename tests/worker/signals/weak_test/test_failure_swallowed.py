"""Assertions whose failure is caught and ignored."""

import pytest

from tests.worker.signals.weak_test.seen import names, seen, seen_new

PY = "def test_a():\n    try:\n        assert run() == 1\n    {}\n        {}\n"
JS = "it('a', () => {{\n  try {{\n    expect(run()).toBe(1)\n  }} catch (e) {{ {} }}\n}})\n"
JAVA = "class ATest {{\n  @Test void a() {{\n    try {{\n      assertEquals(run(), 1);\n    }} catch ({}) {{ {} }}\n  }}\n}}\n"
RUST = "#[test]\nfn a() {{\n    {}std::panic::catch_unwind(|| {{ assert_eq!(run(), 1); }}){};\n}}\n"
SUPPRESS = "def test_a():\n    with contextlib.suppress({}):\n        assert run() == 1\n"

SWALLOWED = [
    ("test_a.py", PY.format("except:", "pass")),
    ("test_a.py", PY.format("except Exception:", "print('x')")),
    ("test_a.py", PY.format("except (ValueError, AssertionError) as e:", "return")),
    ("test_a.py", SUPPRESS.format("Exception")),
    ("a.test.ts", JS.format("")),
    ("a.test.ts", JS.format("console.log(e)")),
    ("ATest.java", JAVA.format("Throwable t", "// ignored")),
    ("ATest.java", JAVA.format("Throwable t", "").replace("assertEquals(run(), 1)", "verify(run()).more()")),
    ("ATest.java", JAVA.format("AssertionError e", "e.printStackTrace();")),
    ("ATest.java", JAVA.format("AssertionError e", "return;") + "class Other { { fail(); } }\n"),
    ("ATest.java", JAVA.format("AssertionError e", "").replace("}\n  }", "}\n    fail();\n  }")),
    ("test_a.py", PY.format("except AssertionError:", "return") + "    print('done')\n"),
    ("test_a.py", PY.format("except AssertionError:", "pass") + "    else:\n        print('done')\n"),
    ("tests/a.rs", RUST.format("let _ = ", "")),
    ("tests/a.rs", RUST.format("", "")),
]
HONEST = [
    ("test_a.py", PY.format("except ValueError:", "pass")),
    ("test_a.py", PY.format("except Exception as e:", "errors.append(e)")),
    ("test_a.py", SUPPRESS.format("ValueError")),
    ("test_a.py", "def test_a():\n    try:\n        run()\n    except Exception:\n        pass\n    assert x == 1\n"),
    ("test_a.py", "def test_a():\n    def g():\n        try:\n            assert f() == 1\n        except Exception:\n            pass\n    assert g() == 2\n"),
    ("test_a.py", "def test_a():\n    try:\n        assert f() == 1\n    finally:\n        close()\n"),
    ("a.test.ts", JS.format("throw e")),
    ("a.test.ts", JS.format("return").replace("}\n})", "}\n  throw new AssertionError('it passed')\n})")),
    ("ATest.java", JAVA.format("AssertionError e", "// expected\n return;").replace("}\n  }", "}\n    failBecauseItPassed();\n  }")),
    ("test_a.py", PY.format("except AssertionError:", "return") + "    pytest.fail('it passed')\n"),
    ("test_a.py", PY.format("except AssertionError:", "pass") + "    else:\n        raise AssertionError('it passed')\n"),
    ("ATest.java", JAVA.format("Exception e", "")),
    ("tests/a.rs", RUST.format("let result = ", "") + "// assert\n"),
    ("tests/a.rs", "#[test]\nfn a() {\n    assert_eq!(run(), 1);\n}\n"),
    ("a_test.go", "package a\n\nfunc TestA(t *testing.T) {\n\tif x != 1 { t.Error(x) }\n}\n"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "text"), SWALLOWED, ids=range(len(SWALLOWED)))
def test_a_failure_that_is_caught_and_ignored_is_a_fact(path: str, text: str) -> None:
    assert "failure_swallowed" in names(seen_new(path, text))


@pytest.mark.parametrize(("path", "text"), HONEST, ids=range(len(HONEST)))
def test_a_failure_that_something_is_made_of_is_not_swallowed(path: str, text: str) -> None:
    assert "failure_swallowed" not in names(seen_new(path, text))


def test_what_was_swallowed_before_is_not_blamed() -> None:
    before = PY.format("except:", "pass")
    after = before.replace("    try:", "    more()\n    try:")
    assert seen({"test_a.py": before}, {"test_a.py": after}) == []


def test_what_was_swallowed_before_and_is_only_indented_otherwise_is_not_blamed() -> None:
    before = JAVA.format("Throwable t", "// expected")
    after = before.replace("  ", "\t").replace(", 1)", ", 2)")
    assert "failure_swallowed" not in names(seen({"ATest.java": before}, {"ATest.java": after}))


def test_a_message_for_what_was_swallowed_before_is_not_blamed() -> None:
    before = JAVA.format("Throwable t", "").replace("assertEquals(run(), 1);", "run(); fail();")
    after = before.replace("fail();", 'fail("Expected a failure");')
    assert "failure_swallowed" in names(seen_new("ATest.java", after))
    assert "failure_swallowed" not in names(seen({"ATest.java": before}, {"ATest.java": after}))


def test_one_more_that_is_swallowed_is_a_fact() -> None:
    before = JAVA.format("Throwable t", "// expected")
    more = before.replace("    try {", "    try { assertEquals(more(), 1); } catch (Throwable t) { }\n    try {")
    assert names(seen({"ATest.java": before}, {"ATest.java": more})) == ["failure_swallowed"]


@pytest.mark.parametrize("handler", ["() => {}", "() => undefined", "(e) => console.log(e)", "function () {}", "noop"])
def test_a_promise_whose_failure_is_caught_for_nothing_is_a_fact(handler: str) -> None:
    text = f"it('a', async () => {{\n  await run().then((x) => expect(x).toBe(1)).catch({handler})\n}})\n"
    assert "failure_swallowed" in names(seen_new("a.test.ts", text))


@pytest.mark.parametrize("handler", ["(e) => expect(e).toBe(1)", "fail", "(e) => { throw e }"])
def test_a_promise_whose_failure_is_looked_at_is_left_alone(handler: str) -> None:
    text = f"it('a', async () => {{\n  await run().then((x) => expect(x).toBe(1)).catch({handler})\n}})\n"
    assert seen_new("a.test.ts", text) == []
