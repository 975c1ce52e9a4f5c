"""New tests that never run."""

import pytest

from tests.worker.signals.made import Texts, dossier_of
from tests.worker.signals.weak_test.seen import names, seen, seen_new
from worker.signals.analysis.change import CodeChange
from worker.signals.weak_test import test_never_runs

CHECK = "    assert run() == 1\n"
SKIPPED = [
    ("test_a.py", f'@pytest.mark.skip(reason="flaky")\ndef test_a():\n{CHECK}', 1),
    ("test_a.py", f'@unittest.skip("x")\n@mark\ndef test_a():\n{CHECK}', 1),
    ("test_a.py", f'def test_a():\n    pytest.skip("x")\n{CHECK}', 2),
    ("a.test.ts", "it.skip('a', () => {\n  expect(run()).toBe(1)\n})\n", 1),
    ("a.test.ts", "xit('a', () => {\n  expect(run()).toBe(1)\n})\n", 1),
    ("a.test.ts", "describe.skip('x', () => {\n  it('a', () => {\n    expect(run()).toBe(1)\n  })\n})\n", 1),
    ("a.test.ts", "it('a', (t) => {\n  t.skip()\n  expect(run()).toBe(1)\n})\n", 2),
    ("ATest.java", 'class ATest {\n  @Disabled("x")\n  @Test void a() {\n    assertEquals(run(), 1);\n  }\n}\n', 2),
    ("ATest.java", "class ATest {\n  @Test(\n      enabled = false)\n  void a() {\n    assertEquals(run(), 1);\n  }\n}\n", 4),
    ("a_test.go", 'package a\n\nfunc TestA(t *testing.T) {\n\tt.Skip("x")\n\tif run() != 1 { t.Error(1) }\n}\n', 4),
]  # fmt: skip
RUNNING = [
    ("test_a.py", f'@pytest.mark.skipif(WIN, reason="x")\ndef test_a():\n{CHECK}'),
    ("test_a.py", f'def test_a():\n    if WIN:\n        pytest.skip("x")\n{CHECK}'),
    ("a.test.ts", "it.skipIf(win)('a', () => {\n  expect(run()).toBe(1)\n})\n"),
    ("a.test.ts", "describe('x', () => {\n  it('a', () => {\n    expect(run()).toBe(1)\n  })\n})\n"),
    ("tests/a.rs", "#[test]\nfn a() {\n    assert_eq!(run(), 1);\n}\n"),
    (
        "ATest.java",
        "class ATest {\n  @DisabledOnOs(WINDOWS)\n  @Test void a() {\n    assertEquals(run(), 1);\n  }\n}\n",
    ),
    (
        "a_test.go",
        "package a\n\nfunc TestA(t *testing.T) {\n\tif short { t.Skip() }\n\tif run() != 1 { t.Error(1) }\n}\n",
    ),
]


@pytest.mark.parametrize(
    "name", ["TestLive", "TestUploadE2E", "TestManualUpload", "TestSmoke", "TestUpload_Integration"]
)
def test_a_new_test_that_is_named_after_being_started_by_hand_is_only_suspected(name: str) -> None:
    text = f"package a\n\nfunc {name}(t *testing.T) {{\n\tt.SkipNow()\n\tif run() != 1 {{ t.Error(1) }}\n}}\n"
    assert "new_test_skipped" not in names(seen_new("a_test.go", text))
    assert "new_test_skipped" in names(seen_new("a_test.go", text.replace(name, "TestAlive")))


@pytest.mark.parametrize(("path", "text", "line"), SKIPPED, ids=range(len(SKIPPED)))
def test_a_new_test_that_nobody_runs_is_a_fact_at_what_skips_it(path: str, text: str, line: int) -> None:
    assert ("new_test_skipped", line) in seen_new(path, text)


@pytest.mark.parametrize(("path", "text"), RUNNING, ids=range(len(RUNNING)))
def test_a_test_that_runs_somewhere_is_not_skipped(path: str, text: str) -> None:
    assert seen_new(path, text) == []


AFTER = "@pytest.mark.skip\ndef test_a():\n    assert run() == 1\n"
LATER: dict[str, tuple[Texts, Texts, str]] = {
    "beside one that runs": ({}, {"test_a.py": AFTER + "\n\ndef test_b():\n    assert run() == 2\n"}, "Count"),
    "beside a changed one": (
        {"test_b.py": "def test_b():\n    assert run() == 2\n"},
        {"test_b.py": "def test_b():\n    assert run() == 3\n", "test_a.py": AFTER},
        "Count",
    ),
    "named after a failure": (
        {},
        {
            "a.test.ts": "it.skip('fails on nothing', () => {\n  expect(f()).toBe(1)\n})\nit('b', () => {\n  expect(f()).toBe(2)\n})\n"
        },
        "Count",
    ),
    "in a file that skipped before": (
        {"test_a.py": AFTER.replace("_a", "_b")},
        {"test_a.py": f"{AFTER.replace('_a', '_b')}\n\n{AFTER}"},
        "Count",
    ),
    "announced": ({}, {"test_a.py": AFTER}, "Count, skip test_a for now"),
    "a report in its body": (
        {},
        {"test_a.py": AFTER.replace("    assert", "    # make it pass, see #820\n    assert")},
        "Count",
    ),
    "ignored in Rust": ({}, {"src/a.rs": "#[test]\n#[ignore]\nfn a() {\n    assert_eq!(run(), 1);\n}\n"}, "Count"),
}


def test_a_new_test_that_is_said_to_fail_is_a_fact_beside_others_too() -> None:
    text = AFTER.replace("skip", "skip(reason='flaky')") + "\n\ndef test_b():\n    assert run() == 2\n"
    assert names(seen_new("test_a.py", text)) == ["new_test_skipped"]


@pytest.mark.parametrize(("before", "after", "title"), LATER.values(), ids=LATER.keys())
def test_a_new_test_that_is_left_for_later_is_only_suspected(before: Texts, after: Texts, title: str) -> None:
    change = CodeChange(dossier_of(before, after, title=title))
    assert not list(test_never_runs.new_test_skipped.findings(change))
    assert list(test_never_runs.new_test_may_fail.findings(change))


def test_two_new_tests_of_which_none_runs_are_a_fact() -> None:
    both = f"{AFTER}\n\n{AFTER.replace('_a', '_b')}"
    assert names(seen_new("test_a.py", both)).count("new_test_skipped") == len("ab")


def test_a_new_test_in_a_suite_that_was_skipped_before_is_not_blamed() -> None:
    before = "describe.skip('x', () => {\n})\n"
    after = "describe.skip('x', () => {\n  it('a', () => {\n    expect(run()).toBe(1)\n  })\n})\n"
    assert seen({"a.test.ts": before}, {"a.test.ts": after}) == []


def test_a_new_test_that_may_fail_unseen_is_suspected() -> None:
    assert seen_new("test_a.py", f'@pytest.mark.xfail(reason="slow")\ndef test_a():\n{CHECK}') == [
        ("new_test_may_fail", 2)
    ]
    assert seen_new("test_a.py", f"@pytest.mark.xfail(strict=True)\ndef test_a():\n{CHECK}") == []


TEST = f"def test_a():\n{CHECK}\n\n"


def test_two_tests_of_one_name_are_a_fact_at_the_new_one() -> None:
    assert seen({"test_a.py": TEST}, {"test_a.py": TEST + "def test_a():\n    assert run(2) == 2\n"}) == [
        ("test_shadowed", 5)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "class TestA:\n    def test_a(self):\n        assert f() == 1\n\n\nclass TestB:\n    def test_a(self):\n        assert f() == 1\n",
        "if x:\n    def test_a():\n        assert f() == 1\nelse:\n    def test_a():\n        assert f() == 2\n",
        "@register\ndef test_a():\n    assert f() == 1\n\n\ndef test_a():\n    assert f() == 2\n",
    ],
)
def test_one_name_in_two_places_or_kept_by_a_decorator_is_not_shadowed(text: str) -> None:
    assert seen_new("test_a.py", text) == []


TYPED = f"def test_a() -> None:\n{CHECK}\n\n"
OTHER = "def test_a():\n    assert run(2) == 2\n\n\n"


@pytest.mark.parametrize("after", [TEST + TEST + "x = 1\n", TYPED + TYPED, TEST + OTHER])
def test_two_old_tests_of_one_name_are_not_blamed(after: str) -> None:
    assert "test_shadowed" not in names(seen({"test_a.py": TEST + TEST}, {"test_a.py": after}))


SHADOWED: dict[str, tuple[str, str, str, str]] = {
    "a second one": (
        TEST,
        TEST + OTHER,
        "lines 1 and 5,",
        "Rename all but one of the definitions of `test_a` at lines 1 and 5 of test_a.py, so that all tests of this file run.",
    ),
    "a third one": (
        TEST + TEST,
        TEST + TEST + OTHER,
        "lines 1, 5 and 9,",
        "Rename all but one of the definitions of `test_a` at lines 1, 5 and 9 of test_a.py, so that all tests of this file run.",
    ),
    "the same once more": (
        TEST,
        TEST + TEST,
        "lines 1 and 5,",
        "Keep one of the definitions of `test_a` at lines 1 and 5 of test_a.py, and delete what repeats it.",
    ),
}


@pytest.mark.parametrize("case", SHADOWED)
def test_the_step_for_tests_of_one_name_names_every_definition(case: str) -> None:
    before, after, at, step = SHADOWED[case]
    (found,) = test_never_runs.test_shadowed.findings(
        CodeChange(dossier_of({"test_a.py": before}, {"test_a.py": after}))
    )
    assert found.fact
    assert at in found.note
    assert found.step == step


MEASURES = """class ATest {
  @Disabled("performance")
  @Test void lots() {
    var all = make(2500);
    %s(all);
  }
}
"""


@pytest.mark.parametrize(("called", "skipped"), [("run", False), ("assertSorted", True)])
def test_what_is_started_by_hand_to_measure_and_asserts_nothing_is_no_skipped_test(
    called: str, *, skipped: bool
) -> None:
    assert ("new_test_skipped" in names(seen_new("ATest.java", MEASURES % called))) is skipped


def test_what_only_skips_itself_is_a_skipped_test_whatever_it_says() -> None:
    text = 'package a\n\nfunc TestA(t *testing.T) {\n\tt.Skip("manual")\n}\n'
    assert ("new_test_skipped", 4) in seen_new("a_test.go", text)


@pytest.mark.parametrize(("path", "names_of"), [("tests/data/cases.py", []), ("tests/test_a.py", ["test_shadowed"])])
def test_material_that_no_runner_collects_shadows_nothing(path: str, names_of: list[str]) -> None:
    assert names(seen_new(path, TEST + "def test_a():\n    assert run(2) == 2\n")) == names_of


SKIPPED_ANYHOW = [
    ("test_a.py", "@pytest.mark.skipif(True, reason='x')\ndef test_a():\n    assert run() == 1\n"),
    ("test_a.py", "@pytest.mark.skipif('True')\ndef test_a():\n    assert run() == 1\n"),
    ("test_a.py", "@unittest.skipUnless(False, 'x')\ndef test_a():\n    assert run() == 1\n"),
    ("test_a.py", "@pytest.mark.parametrize(('x', 'y'), [], ids=str)\ndef test_a(x, y):\n    assert run(x) == y\n"),
    ("test_a.py", "@pytest.mark.parametrize('x', [])\ndef test_a(x):\n    assert run(x) == 1\n"),
    ("test_a.py", "def test_a():\n    pytest.xfail('x')\n    assert run() == 1\n"),
    ("test_a.py", "def test_a():\n    raise pytest.skip.Exception('x')\n    assert run() == 1\n"),
    ("a.test.ts", "it.skipIf(true)('a', () => {\n  expect(run()).toBe(1)\n})\n"),
    ("a.test.ts", "it.runIf(false)('a', () => {\n  expect(run()).toBe(1)\n})\n"),
    ("a.test.ts", "it.each([])('a', () => {\n  expect(run()).toBe(1)\n})\n"),
    ("tests/a.rs", "#[test]\n#[cfg(any())]\nfn a() {\n    assert_eq!(run(), 1);\n}\n"),
    ("ATest.java", "class ATest {\n  @Test void a() {\n    assumeTrue(false);\n    assertEquals(run(), 1);\n  }\n}\n"),
    ("a_test.go", "package a\n\nfunc TestA(t *testing.T) {\n\tif true {\n\t\tt.Skip()\n\t}\n\trequire.Equal(t, 1, run())\n}\n"),
]  # fmt: skip
SKIPPED_SOMEWHERE = [
    ("test_a.py", "@pytest.mark.skipif(sys.platform == 'win32', reason='x')\ndef test_a():\n    assert run() == 1\n"),
    ("test_a.py", "@unittest.skipUnless(HAS_SSL, 'x')\ndef test_a():\n    assert run() == 1\n"),
    ("test_a.py", "@pytest.mark.parametrize('x', [1])\ndef test_a(x):\n    assert run(x) == 1\n"),
    ("test_a.py", "@pytest.mark.parametrize('x', (1, type('a', (), {})()))\ndef test_a(x):\n    assert run(x) == 1\n"),
    ("test_a.py", "@pytest.mark.parametrize('x', (skip, make('skip', [])))\ndef test_a(x):\n    assert run(x) == 1\n"),
    ("a.test.ts", "it.skipIf(isWindows)('a', () => {\n  expect(run()).toBe(1)\n})\n"),
    ("ATest.java", "class ATest {\n  @Test void a() {\n    assumeTrue(isLinux());\n    assertEquals(run(), 1);\n  }\n}\n"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "text"), SKIPPED_ANYHOW, ids=range(len(SKIPPED_ANYHOW)))
def test_a_condition_that_always_holds_skips_a_new_test_everywhere(path: str, text: str) -> None:
    assert "new_test_skipped" in names(seen_new(path, text))


@pytest.mark.parametrize(("path", "text"), SKIPPED_SOMEWHERE, ids=range(len(SKIPPED_SOMEWHERE)))
def test_a_condition_that_may_hold_is_an_honest_skip(path: str, text: str) -> None:
    assert "new_test_skipped" not in names(seen_new(path, text))
