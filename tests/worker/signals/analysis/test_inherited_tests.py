"""New tests that are skipped or empty, and the reasons that can be looked up."""

import pytest

from tests.worker.signals.weak_test.seen import names, seen_new

ACCOUNTED_FOR = [
    ("test_a.py", "@pytest.mark.skip(\n    reason='broken, see #71',\n)\ndef test_a():\n    assert run() == 1\n"),
    ("test_a.py", "@pytest.mark.skip(reason='see https://example.org/issues/7')\ndef test_a():\n    assert run() == 1\n"),
    ("test_a.py", "# fails since #71\n@pytest.mark.skip(reason='broken')\ndef test_a():\n    assert run() == 1\n"),
    ("test_a.py", "def test_a():\n    pytest.skip('GH-71')\n    assert run() == 1\n"),
    ("tests/a.rs", '#[ignore = "owner/name#71"]\n#[test]\nfn a() {\n    assert_eq!(run(), 1);\n}\n'),
    ("test_a.py", "@pytest.mark.skip(reason='the store keeps no order')\ndef test_a():\n    assert run() == 1\n"),
    ("test_a.py", "# the store keeps no order\n@pytest.mark.skip\ndef test_a():\n    assert run() == 1\n"),
    ("test_a.py", "def test_a():\n    pytest.skip(\n        'the store keeps no order'\n    )\n    assert run() == 1\n"),
    ("tests/a.rs", '#[ignore = "needs a network"]\n#[test]\nfn a() {\n    assert_eq!(run(), 1);\n}\n'),
    ("ATest.java", 'class ATest {\n  @Disabled("needs a network")\n  @Test void a() {\n    assertEquals(run(), 1);\n  }\n}\n'),
    ("a_test.go", 'package a\n\nfunc TestA(t *testing.T) {\n\tt.Skip("needs a network")\n\tup()\n}\n'),
    ("a.test.ts", "it('a', (t) => {\n  t.skip('needs a network')\n  expect(run()).toBe(1)\n})\n"),
    ("a.test.ts", "it.skip('a', () => { // needs a network\n  expect(run()).toBe(1)\n})\n"),
    ("a.test.ts", "test.todo('a', () => {\n  expect(run()).toBe(1)\n})\n"),
    ("test_a.py", "class TestA(BaseStoreTests):\n    def test_hash(self):\n        pytest.skip('unhashable')\n"),
    ("test_a.py", "class TestA(BaseStoreTests):\n    @pytest.mark.skip(reason='unhashable')\n    def test_hash(self):\n        super().test_hash()\n"),
    ("test_a.py", "class TestA(BaseStoreTests):\n    @pytest.mark.skip(reason='unhashable')\n    def test_hash(self):\n        pass\n"),
    ("ATest.java", 'class ATest extends Base {\n  @Override\n  @Disabled("no order")\n  @Test void a() {\n    super.a();\n  }\n}\n'),
    ("a_test.go", 'package a\n\ntype S struct {\n\ttest.Suite\n}\n\nfunc (s *S) TestA(c *C) {\n\tc.Skip("no transactions")\n}\n'),
]  # fmt: skip
NOT_ACCOUNTED_FOR = [
    ("test_a.py", '@pytest.mark.skip\ndef test_a():\n    """Regression test for #71."""\n    assert run() == 1\n'),
    ("test_a.py", "def test_a():\n    pytest.skip('x')\n    assert run('https://example.org') == 1\n"),
    ("test_a.py", "x = '#71'\n@pytest.mark.skip\ndef test_a():\n    assert run() == 1\n"),
    ("test_a.py", "@pytest.mark.skip(reason='skipped for now')\ndef test_a():\n    assert run() == 1\n"),
    ("test_a.py", "@pytest.mark.skip\n@pytest.mark.parametrize('first second', [(1, 2)])\ndef test_a(first, second):\n    assert run() == 1\n"),
    ("a.test.ts", "it.skip('adds two numbers', () => {\n  expect(run()).toBe(1)\n})\n"),
    ("test_a.py", "class TestA(unittest.TestCase):\n    def test_a(self):\n        self.skipTest('x')\n"),
    ("test_a.py", "class TestA(BaseStoreTests):\n    @pytest.mark.skip\n    def test_a(self):\n        a = run()\n        assert a == 1\n"),
    ("ATest.java", 'class ATest extends Base {\n  @Disabled("x")\n  @Test void a() {\n    assertEquals(run(), 1);\n  }\n}\n'),
    ("a_test.go", 'package a\n\ntype S struct {\n\tname string\n}\n\nfunc (s *S) TestA(c *C) {\n\tc.Skip("x")\n}\n'),
    ("a.test.ts", "it.skip('a', () => {\n  expect(run()).toBe(1)\n})\n"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "text"), ACCOUNTED_FOR, ids=range(len(ACCOUNTED_FOR)))
def test_a_skipped_test_that_is_looked_after_or_turns_off_an_inherited_one_is_suspected(path: str, text: str) -> None:
    assert set(names(seen_new(path, text))) - {"test_without_assertion"} == {"new_test_may_fail"}


@pytest.mark.parametrize(("path", "text"), NOT_ACCOUNTED_FOR, ids=range(len(NOT_ACCOUNTED_FOR)))
def test_any_other_reason_to_skip_a_new_test_leaves_it_a_fact(path: str, text: str) -> None:
    assert set(names(seen_new(path, text))) - {"test_without_assertion"} == {"new_test_skipped"}


def test_an_empty_test_turns_off_an_inherited_one_only_below_a_class_of_tests() -> None:
    assert names(seen_new("test_a.py", "class TestA(BaseTests):\n    def test_a(self):\n        pass\n")) == [
        "test_without_assertion"
    ]
    assert names(seen_new("test_a.py", "class TestA(object):\n    def test_a(self):\n        pass\n")) == [
        "test_empty",
        "test_without_assertion",
    ]


def test_a_test_of_go_turns_off_one_of_a_type_that_its_own_takes_over_and_of_no_other() -> None:
    types = "type (\n\tS struct {\n\t\tname string\n\t\t*Suite\n\t}\n\tT struct {\n\t\tone, other string\n\t}\n)\n"
    skipped = 'package a\n\n%s\nfunc (s *%s) TestA(c *C) {\n\tc.Skip("unsupported")\n}\n'
    assert names(seen_new("a_test.go", skipped % (types, "S"))) == ["new_test_may_fail"]
    assert names(seen_new("a_test.go", skipped % (types, "T"))) == ["new_test_skipped"]


def test_what_a_type_of_go_takes_over_is_found_in_one_look_at_it() -> None:
    types = "type S struct {" + "\n" * 150_000 + "}\n"
    text = f'package a\n\n{types}\nfunc (s *S) TestA(c *C) {{\n\tc.Skip("x")\n}}\n'
    assert names(seen_new("a_test.go", text)) == ["new_test_skipped"]
