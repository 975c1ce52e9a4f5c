"""Existing tests that are switched off."""

import pytest

from tests.worker.signals.made import change_of, dossier_of
from worker.signals import tests_pass_but_wrong, weak_test
from worker.signals.analysis.change import CodeChange
from worker.signals.tests_pass_but_wrong import test_disabled

PY = "def test_a():\n    x = up()\n    assert x == 1\n"
OFF = {
    "mark": ("tests/test_a.py", PY, "@pytest.mark.skip(reason='flaky')\n" + PY, 1),
    "bare mark": ("tests/test_a.py", PY, "@pytest.mark.skip\n" + PY, 1),
    "if true": ("tests/test_a.py", PY, "@pytest.mark.skipif(True, reason='x')\n" + PY, 1),
    "expected to fail, and not run": ("tests/test_a.py", PY, "@pytest.mark.xfail(run=False)\n" + PY, 1),
    "a condition that always holds": ("tests/test_a.py", PY, "@pytest.mark.skipif(\n    True, reason='x'\n)\n" + PY, 1),
    "skipped below a conditional mark": (
        "tests/test_a.py",
        "@pytest.mark.skipif(IS_WINDOWS, reason='x')\n" + PY,
        "@pytest.mark.skipif(IS_WINDOWS, reason='x')\n@pytest.mark.skip(reason='flaky')\n" + PY,
        2,
    ),
    "call": ("tests/test_a.py", PY, PY.replace("    x =", "    pytest.skip('later')\n    x ="), 2),
    "return": ("tests/test_a.py", PY, PY.replace("    x =", "    return\n    x ="), 2),
    "whole file": ("tests/test_a.py", PY, "pytestmark = pytest.mark.skip\n" + PY, 1),
    "module": ("tests/test_a.py", PY, "pytest.skip('x', allow_module_level=True)\n" + PY, 1),
    "class": (
        "tests/test_a.py",
        "class TestA:\n    def test_a(self):\n        assert up() == 1\n",
        "@unittest.skip('x')\nclass TestA:\n    def test_a(self):\n        assert up() == 1\n",
        1,
    ),
    "go": (
        "a_test.go",
        "package a\n\nfunc TestA(t *testing.T) {\n\tup()\n}\n",
        'package a\n\nfunc TestA(t *testing.T) {\n\tt.Skip("later")\n\tup()\n}\n',
        4,
    ),
    "go, file": (
        "a_test.go",
        "package a\n\nfunc TestA(t *testing.T) {\n\tup()\n}\n",
        "//go:build ignore\n\npackage a\n\nfunc TestA(t *testing.T) {\n\tup()\n}\n",
        1,
    ),
    "rust": (
        "src/a.rs",
        "#[test]\nfn works() {\n    assert!(up());\n}\n",
        "#[test]\n#[cfg(any())]\n// why\nfn works() {\n    assert!(up());\n}\n",
        2,
    ),
    "rust, mod": (
        "src/a.rs",
        "mod tests {\n    #[test]\n    fn works() {\n        assert!(up());\n    }\n}\n",
        "#[cfg(any())]\nmod tests {\n    #[test]\n    fn works() {\n        assert!(up());\n    }\n}\n",
        1,
    ),
    "java": (
        "ATest.java",
        "class ATest {\n  @Test\n  void a() {\n    assertThat(up());\n  }\n}\n",
        "class ATest {\n  @Disabled\n  @Test\n  void a() {\n    assertThat(up());\n  }\n}\n",
        2,
    ),
    "testng": (
        "ATest.java",
        "class ATest {\n  @Test\n  void a() {\n    assertThat(up());\n  }\n}\n",
        "class ATest {\n  @Test(enabled = false)\n  void a() {\n    assertThat(up());\n  }\n}\n",
        2,
    ),
    "it": ("a.test.ts", "it('a', () => {\n  up()\n})\n", "it.skip('a', () => {\n  up()\n})\n", 1),
    "xit": ("a.test.ts", "it('a', () => {\n  up()\n})\n", "xit('a', () => {\n  up()\n})\n", 1),
    "describe": (
        "a.test.ts",
        "describe('b', () => {\n  it('a', () => {\n    up()\n  })\n})\n",
        "describe.skip('b', () => {\n  it('a', () => {\n    up()\n  })\n})\n",
        1,
    ),
}

TS = "it('a', () => {\n  expect(up()).toBe(1)\n})\n"
RS = "#[test]\nfn works() {\n    assert_eq!(up(), 1);\n}\n"
CONDITIONAL = {
    "a name": ("tests/test_a.py", PY, "@pytest.mark.xfail(IS_WINDOWS, reason='x')\n" + PY),
    "an attribute": ("tests/test_a.py", PY, "@pytest.mark.xfail(compat.IS_WINDOWS, reason='x')\n" + PY),
    "a text": ("tests/test_a.py", PY, "@pytest.mark.xfail(\"sys.platform == 'win32'\", reason='x')\n" + PY),
    "on the next line": ("tests/test_a.py", PY, "@pytest.mark.xfail(\n    IS_WINDOWS,\n    reason='x',\n)\n" + PY),
    "behind the reason": ("tests/test_a.py", PY, "@pytest.mark.xfail(\n    reason='x', condition=IS_OLD\n)\n" + PY),
    "a named error": ("tests/test_a.py", PY, "@pytest.mark.xfail(\n    # later\n    raises=OSError,\n)\n" + PY),
    "skipif": ("tests/test_a.py", PY, "@pytest.mark.skipif(\n    IS_WINDOWS, reason='x'\n)\n" + PY),
    "false": ("tests/test_a.py", PY, "@pytest.mark.skipif(False, reason='x')\n" + PY),
    "skipUnless": ("tests/test_a.py", PY, "@unittest.skipUnless(HAS_X, 'x')\n" + PY),
    "branch": ("a.test.ts", TS, f"if (isMac) {{\n  it.skip('a', () => {{}})\n}} else {{\n{TS}}}\n"),
    "one of two runners": ("a.test.ts", TS, TS.replace("it(", "(isMac ? it.skip : it)(")),
    "a name for one of two": ("a.test.ts", TS, f"const itx = isMac\n  ? it.skip\n  : it\n{TS.replace('it(', 'itx(')}"),
    "cfg": ("src/a.rs", RS, RS.replace("    assert", "    if cfg!(windows) {\n        return;\n    }\n    assert")),
    "skip unless": (
        "tests/ATest.cs",
        "class ATest {\n  [Fact]\n  public void A() {\n    Assert.Equal(1, Up());\n  }\n}\n",
        'class ATest {\n  [Fact(Skip = "x", SkipUnless = nameof(IsX))]\n  public void A() {\n    Assert.Equal(1, Up());\n  }\n}\n',
    ),
}


@pytest.mark.parametrize("texts", [True, False])
@pytest.mark.parametrize(("path", "before", "after"), CONDITIONAL.values(), ids=CONDITIONAL.keys())
def test_a_skip_under_a_condition_is_nothing_at_all(path: str, before: str, after: str, *, texts: bool) -> None:
    for base in ({path: before}, {path: ""}):
        change = change_of(base, {path: after}, texts=texts)
        signals = (*tests_pass_but_wrong.SIGNALS, *weak_test.SIGNALS)
        assert [finding.signal for one in signals for finding in one.findings(change)] == []


def lines(path: str, before: str, after: str, *, texts: bool = True) -> list[int | None]:
    change = change_of({path: before}, {path: after}, texts=texts)
    return [finding.line for finding in test_disabled.test_disabled.findings(change)]


@pytest.mark.parametrize(("path", "before", "after", "line"), OFF.values(), ids=OFF.keys())
def test_switching_off_a_test_that_ran_is_a_fact(path: str, before: str, after: str, line: int) -> None:
    assert lines(path, before, after) == [line]


def test_what_is_switched_off_is_named() -> None:
    path, before, after, _ = OFF["go"]
    (found,) = test_disabled.test_disabled.findings(change_of({path: before}, {path: after}))
    assert found.fact
    assert found.note == "the test `TestA`, which ran before, is switched off"


HONEST = {
    "new": ("tests/test_a.py", PY, PY + "\n\n@pytest.mark.skip\ndef test_b():\n    assert down() == 2\n"),
    "own mark with a condition": ("tests/test_a.py", PY, "@skip.unless_module('sqlalchemy')\n" + PY),
    "condition": ("tests/test_a.py", PY, "@pytest.mark.skipif(sys.platform == 'win32', reason='x')\n" + PY),
    "expected error": ("tests/test_a.py", PY, "@pytest.mark.xfail(raises=OSError)\n" + PY),
    "in a branch": (
        "tests/test_a.py",
        PY,
        PY.replace("    x =", "    if slow:\n        pytest.skip('later')\n    x ="),
    ),
    "at the end": ("tests/test_a.py", PY, PY + "    return\n"),
    "off before": ("tests/test_a.py", "@pytest.mark.skip\n" + PY, "@pytest.mark.skip(reason='x')\n" + PY),
    "off before, and now without a reason": (
        "src/a.rs",
        '#[test]\n#[ignore = "waits for 500 ms"]\nfn works() {\n    assert!(up());\n}\n',
        "#[test]\n#[ignore]\nfn works() {\n    assert!(up());\n}\n",
    ),
    "off before, on one line": (
        "ATest.java",
        'class ATest {\n  @Test @Ignore("x")\n  void a() {\n    assertThat(up());\n  }\n}\n',
        "class ATest {\n  @Test\n  @Ignore\n  void a() {\n    assertThat(up());\n  }\n}\n",
    ),
    "in a suite that was off": (
        "a.test.ts",
        f"describe.skip('b', () => {{\n{TS}}})\n",
        f"describe.skip('b', () => {{\n{TS.replace('it(', 'it.skip(')}}})\n",
    ),
    "in a class that was off": (
        "ATest.java",
        "@Disabled\nclass ATest {\n  @Test\n  void a() {\n    assertThat(up());\n  }\n}\n",
        "@Disabled\nclass ATest {\n  @Test\n  @Disabled\n  void a() {\n    assertThat(up());\n  }\n}\n",
    ),
    "cases that hold brackets": ("tests/test_a.py", PY, f"@pytest.mark.parametrize('x', (1, f('a', (), b)))\n{PY}"),
    "call before": (
        "a_test.go",
        'package a\n\nfunc TestA(t *testing.T) {\n\tt.Skip("a")\n\tup()\n}\n',
        'package a\n\nfunc TestA(t *testing.T) {\n\tt.Skip("b")\n\tup()\n}\n',
    ),
    "quoted": ("tests/test_a.py", PY, PY + "\n\nTEXT = '''\n@pytest.mark.skip\ndef test_a():\n    pass\n'''\n"),
    "moved": ("tests/test_a.py", f"@pytest.mark.skip\n{PY}\n\nX = 1\n", f"X = 1\n\n\n@pytest.mark.skip\n{PY}"),
    "no test": ("tests/test_a.py", PY, PY + "\n\n@pytest.mark.skip\ndef other():\n    return 1\n"),
    "above nothing": (
        "src/a.rs",
        "#[test]\nfn works() {\n    up();\n}\n",
        "#[test]\nfn works() {\n    up();\n}\n#[ignore]\n",
    ),
    "not a test file": ("a.py", "def f():\n    return g()\n", "@pytest.mark.skip\ndef f():\n    return g()\n"),
    "late": ("tests/test_a.py", PY + "    assert y\n", PY + "    return\n    assert y\n"),
}


@pytest.mark.parametrize(("path", "before", "after"), HONEST.values(), ids=HONEST.keys())
def test_an_honest_skip_is_left_alone(path: str, before: str, after: str) -> None:
    assert lines(path, before, after) == []


REST = {
    "py": "".join(f"    y{n} = g({n})\n" for n in range(9)),
    "go": "".join(f"\ty{n} := g({n})\n" for n in range(9)),
    "ts": "".join(f"  const y{n} = g({n})\n" for n in range(9)),
    "java": "".join(f"    int y{n} = g({n});\n" for n in range(9)),
}
IN_HUNKS = {
    "mark": ("tests/test_a.py", PY + REST["py"], "@pytest.mark.skip\n" + PY + REST["py"], 1),
    "call": (
        "a_test.go",
        *(
            f"package a\n\nfunc TestA(t *testing.T) {{\n{{}}{REST['go']}}}\n".replace("{}", x)
            for x in ("", '\t// why\n\tt.Skip("x")\n')
        ),
        5,
    ),
    "it": ("a.test.ts", *(f"{x}('a', () => {{\n{REST['ts']}}})\n" for x in ("it", "it.skip")), 1),
    "xdescribe": ("a.test.ts", *(f"{x}('a', () => {{\n{REST['ts']}}})\n" for x in ("  describe", "  xdescribe")), 1),
    "java": (
        "ATest.java",
        *(f"class ATest {{\n{x}  @Test\n  void a() {{\n{REST['java']}  }}\n}}\n" for x in ("", "  @Ignore\n")),
        2,
    ),
}


@pytest.mark.parametrize(("path", "before", "after", "line"), IN_HUNKS.values(), ids=IN_HUNKS.keys())
def test_the_diff_alone_shows_it_too(path: str, before: str, after: str, line: int) -> None:
    assert lines(path, before, after, texts=False) == [line]


def test_the_section_of_a_hunk_is_the_line_above_it() -> None:
    top = "".join(f"// {n}\n" for n in range(5))
    before = f"package a\n\nfunc TestA(t *testing.T) {{\n{top}{REST['go']}}}\n"
    after = before.replace("// 4\n", '// 4\n\tt.Skip("x")\n')
    change = change_of({"a_test.go": before}, {"a_test.go": after}, texts=False)
    assert not list(test_disabled.test_disabled.findings(change))


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("tests/test_a.py", REST["py"], REST["py"] + "@pytest.mark.skip\ndef test_new():\n    assert up(\n"),
        ("tests/test_a.py", REST["py"], REST["py"] + "@pytest.mark.skip\n"),
        ("tests/test_a.py", "    y = 1\n    z = 2\n", "    y = 1\n    pytest.skip('x')\n    z = 2\n"),
        ("a.test.ts", "  a()\n", "  a()\n  it.skip('new', () => {\n"),
        ("a.test.ts", "  a()\n", "  a()\n  return\n"),
        (
            "tests/test_a.py",
            "@pytest.mark.skip('a')\ndef test_a():\n    assert up(\n",
            "@pytest.mark.skip('b')\ndef test_a():\n    assert up(\n",
        ),
    ],
)
def test_a_hunk_that_shows_no_old_test_proves_nothing(path: str, before: str, after: str) -> None:
    assert lines(path, before, after, texts=False) == []


OTHER = "it('b', () => {\n  down()\n})\n"
ONLY = {
    "it": ("a.test.ts", "it('a', () => {\n  up()\n})\n" + OTHER, "it.only('a', () => {\n  up()\n})\n" + OTHER),
    "new": (
        "a.test.ts",
        "it('a', () => {\n  up()\n})\n",
        "describe.only('b', () => {\n})\nit('a', () => {\n  up()\n})\n",
    ),
    "fit": ("a.test.ts", "it('a', () => {\n  up()\n})\n" + OTHER, "fit('a', () => {\n  up()\n})\n" + OTHER),
    "ginkgo": ("a_test.go", 'package a\n\tIt("a", f)\n', '\tFIt("a", f)\npackage a\n'),
}


@pytest.mark.parametrize("others", ["", "it.only('b', () => {\n  up()\n})\n", "it.skip('b', () => {\n  up()\n})\n"])
def test_a_mark_that_leaves_no_other_test_out_is_no_fact(others: str) -> None:
    before, after = "it('a', () => {\n  up()\n})\n", "it.only('a', () => {\n  up()\n})\n"
    assert not list(
        test_disabled.test_only.findings(change_of({"a.test.ts": before + others}, {"a.test.ts": after + others}))
    )


@pytest.mark.parametrize(("path", "before", "after"), ONLY.values(), ids=ONLY.keys())
def test_leaving_only_one_test_to_run_is_a_fact(path: str, before: str, after: str) -> None:
    (found,) = test_disabled.test_only.findings(change_of({path: before}, {path: after}))
    assert found.fact
    assert found.line == 1


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.test.ts", "x()\n", "x()\nconst text = `\nit.only('a')\n`\n"),
        ("a.test.ts", "it.only('a')\n", "x()\n  it.only('a')\n"),
        ("tests/test_a.py", "x()\n", "it.only('a')\n"),
        ("tests/a.txt", "x()\n", "it.only('a')\n"),
        ("test/fixtures/only/a.spec.js", "x()\n", "it.only('a')\n"),
        ("a.ts", "x()\n", "it.only('a')\n"),
        ("a.test.ts", "x()\n", "if (!isReady()) {\n  it.only('needs it', () => {\n    warn()\n  })\n}\n"),
    ],
)
def test_what_narrows_no_run_is_left_alone(path: str, before: str, after: str) -> None:
    assert not list(test_disabled.test_only.findings(change_of({path: before + OTHER}, {path: after + OTHER})))


def test_an_endless_line_is_no_skip() -> None:
    long = "@pytest.mark.skip(" + "x" * 600 + ")\n"
    assert lines("tests/test_a.py", PY, long + PY) == []


def test_a_file_that_can_not_be_parsed_proves_nothing() -> None:
    deep = f"x = {'(' * 200}1{')' * 200}\n"
    assert lines("tests/test_a.py", deep + PY, f"{deep}@pytest.mark.skip\n{PY}") == []


def test_another_test_in_the_place_of_an_old_one_did_not_run_before() -> None:
    before = "it('keeps', () => {\n  expect(a()).toBe(1)\n})\n\nit('allows one', () => {\n  expect(b(1)).toBe(1)\n})\n"
    after = "it('keeps', () => {\n  expect(a()).toBe(1)\n})\n\nxit('denies all', () => {\n  const c = d()\n  expect(c).toEqual([])\n})\n"
    assert list(test_disabled.test_disabled.findings(change_of({"a.test.js": before}, {"a.test.js": after}))) == []


FORESEEN = {
    "commented out until now": ("# @pytest.mark.skip('until 10')\n" + PY, "@pytest.mark.skip('until 10')\n" + PY, 1),
    "commented out with a margin until now": (f"#    @pytest.mark.skip\n{PY}", f"@pytest.mark.skip\n{PY}", 1),
    "a new test beside it": (PY, f"@pytest.mark.skip\n{PY}\n\ndef test_new():\n    assert more(2) == 3\n", 1),
    "its own docstring": (
        PY.replace("    x =", '    """Skipped between major releases."""\n    x ='),
        "@pytest.mark.skip\n" + PY.replace("    x =", '    """Skipped between major releases."""\n    x ='),
        1,
    ),
    "a condition that was meant": (PY, "@pytest.mark.skip(\n    IS_PYPY,\n    'why',\n)\n" + PY, 1),
    "a reason": (PY, "@pytest.mark.skip(reason='the store keeps no order')\n" + PY, 1),
    "a reason in a comment": (PY, "# The store keeps no order.\n@pytest.mark.skip\n" + PY, 2),
    "expected to fail": (PY, "@pytest.mark.xfail\n" + PY, 1),
    "expected to fail, on several lines": (PY, "@pytest.mark.xfail(\n    reason='x',\n)\n" + PY, 1),
    "a link": (PY, "# see https://example.org/7\n@pytest.mark.skip\n" + PY, 2),
    "an issue by its number": (PY, "@pytest.mark.skip('flaky, see #17')\n" + PY, 1),
    "a link beside it": (PY, "@pytest.mark.skip('https://example.org/7')\n" + PY, 1),
}


@pytest.mark.parametrize(("before", "after", "line"), FORESEEN.values(), ids=FORESEEN.keys())
def test_a_skip_that_was_foreseen_or_says_where_it_is_looked_after_is_only_suspected(
    before: str, after: str, line: int
) -> None:
    change = change_of({"tests/test_a.py": before}, {"tests/test_a.py": after})
    assert not list(test_disabled.test_disabled.findings(change))
    assert [one.line for one in test_disabled.test_disabled_explained.findings(change)] == [line]


@pytest.mark.parametrize(
    "after",
    [
        "@pytest.mark.skip(reason='flaky')\n" + PY,
        "@pytest.mark.skip(reason=WHY)\n" + PY,
        "# flaky\n@pytest.mark.skip\n" + PY,
        "@pytest.mark.skip\n" + PY.replace("    x =", '    """Is skipped."""\n    x ='),
    ],
    ids=["a word", "a constant", "a comment", "a new docstring"],
)
def test_a_word_of_its_author_explains_no_skip(after: str) -> None:
    change = change_of({"tests/test_a.py": PY}, {"tests/test_a.py": after})
    assert not list(test_disabled.test_disabled_explained.findings(change))
    assert list(test_disabled.test_disabled.findings(change))


def test_a_test_that_was_off_before_under_another_name_is_none() -> None:
    body = "  expect(await run()).toBe(200);\n});\n"
    before = "it.skip('reads a body', async () => {\n" + body
    change = change_of({"a.test.ts": before}, {"a.test.ts": before.replace("a body", "a JSON body")})
    assert not list(test_disabled.test_disabled.findings(change))


def test_a_skip_beside_a_mark_of_deprecation_is_only_suspected() -> None:
    before = "class ATest {\n  @Test void a() {\n    assertEquals(1, run());\n  }\n}\n"
    change = change_of({"ATest.java": before}, {"ATest.java": "@Deprecated\n@Disabled\n" + before})
    assert not list(test_disabled.test_disabled.findings(change))
    assert [one.line for one in test_disabled.test_disabled_explained.findings(change)] == [2]


@pytest.mark.parametrize(
    ("asked", "is_fact"),
    [
        ("Skip tests that need the old store", False),
        ("Clean up\n\n- [ ] disable `test_a`, it can't start a process", False),
        ("Clean up\n\n2. Please skip test_a (broken)", False),
        ("Tests are skipped on CI", True),
        ("Do not skip tests", True),
        ("Skip the cache", True),
    ],
)
def test_a_skip_that_an_issue_asks_for_is_only_suspected(asked: str, *, is_fact: bool) -> None:
    title, _, body = asked.partition("\n\n")
    issue = {"number": 7, "title": title, "body": body}
    skipped = "@pytest.mark.skip(reason='old')\n" + PY
    change = CodeChange(dossier_of({"tests/test_a.py": PY}, {"tests/test_a.py": skipped}, issues=[issue]))
    assert bool(list(test_disabled.test_disabled.findings(change))) is is_fact
    assert bool(list(test_disabled.test_disabled_explained.findings(change))) is not is_fact


@pytest.mark.parametrize("above", ["// see https://example.org/7\n#[cfg(any())]\n", "// slow\n#[ignore]\n"])
def test_a_link_above_an_attribute_of_rust_explains_it_and_what_is_ignored_another_command_runs(above: str) -> None:
    before = "#[test]\nfn works() {\n    assert!(up());\n}\n"
    after = above + before
    change = change_of({"src/a.rs": before}, {"src/a.rs": after})
    assert [one.line for one in test_disabled.test_disabled_explained.findings(change)] == [2]


def test_a_skip_that_the_title_announces_is_suspected() -> None:
    dossier = dossier_of(
        {"tests/test_a.py": PY}, {"tests/test_a.py": f"@pytest.mark.skip\n{PY}"}, title="Skip test_a for now"
    )
    assert not list(test_disabled.test_disabled.findings(CodeChange(dossier)))
    assert [one.line for one in test_disabled.test_disabled_explained.findings(CodeChange(dossier))] == [1]


@pytest.mark.parametrize(("title", "is_fact"), [("Disable the fastpath for reads", False), ("Disable the path", True)])
def test_a_skip_of_what_the_title_switches_off_is_suspected(title: str, *, is_fact: bool) -> None:
    before = PY.replace("test_a", "test_fastpath_of_path")
    dossier = dossier_of({"tests/test_a.py": before}, {"tests/test_a.py": f"@pytest.mark.skip\n{before}"}, title=title)
    assert bool(list(test_disabled.test_disabled.findings(CodeChange(dossier)))) is is_fact


def test_a_set_up_method_of_a_class_that_spring_starts_is_no_test() -> None:
    before = "@SpringBootTest\npublic class ATest {\n  @Before\n  public void setUp() {\n    up();\n  }\n}\n"
    assert lines("ATest.java", before, before.replace("@SpringBootTest", "@SpringBootTest\n@Ignore")) == []


LEFT = "describe('a', () => {\n  it.only('b', () => {\n    up()\n  })\n\n  it('c', () => {\n    %s\n  })\n})\n"


@pytest.mark.parametrize(
    ("sibling", "is_told"),
    [
        ("throw new Error('This test should not run')", False),
        ("throw new Error(`must not be run`)", False),
        ("fail('should never run')", False),
        ("expect(up()).toBe(1)", True),
        ("throw new Error('not ready')", True),
        ("// should not run", True),
    ],
)
def test_a_mark_beside_tests_that_must_not_run_is_what_is_tested(sibling: str, *, is_told: bool) -> None:
    found = list(test_disabled.test_only.findings(change_of({}, {"a.test.ts": LEFT % sibling})))
    assert bool(found) is is_told
