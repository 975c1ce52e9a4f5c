"""Tests that name nothing outside of themselves."""

import pytest

import worker.judge.heuristics.tests as of_tests
from worker.judge.heuristics.change import Source
from worker.judge.heuristics.paths import Language
from worker.judge.heuristics.tests_pass_but_wrong.outward import names_nothing_outside

TOY = """    class Toy:
        def keys(self, times=1, *rest, size: int = 2):
            return iter(sorted(["a"] * times))

    toy = Toy()
    wanted = [one for one in "a"]
    with pytest.raises(ValueError) as found:
        int("a")
    assert list(toy.keys(times=1)) == wanted and found
"""
PYTHON = f"import json\nimport pytest\nfrom shop import http\n\nLIMIT = 1\n\n\ndef test_toy():\n{TOY}"
TOY_OF_SCRIPTS = """  class Toy { keys(times = 1, ...rest: number[]) { return Array(times).fill('a') } }
  const toy = new Toy()
  const { length, at: second } = toy.keys()
  for (const key of toy.keys()) expect(key).toBe('a')
  expect([length, toy.keys().map(one => one)]).toEqual([1, ['a']])
"""
SCRIPT = f"import {{ expect, it }} from 'vitest'\nimport {{ shop }} from '../shop'\nit('keeps', () => {{\n{TOY_OF_SCRIPTS}}})\n"


def names_nothing(text: str, language: Language, *, whole: bool = True) -> bool:
    (test, *_) = of_tests.tests_of(Source(text, 1, whole=whole, language=language))
    return names_nothing_outside(test)


@pytest.mark.parametrize(
    "text",
    [
        PYTHON,
        PYTHON.replace("    assert list", "    assert json.loads('1') == 1\n    assert list"),
        "class TestToy(TestCase):\n    def test_toy(self):\n        self.assertEqual(sorted('ba'), ['a', 'b'])\n",
        "class TestToy(TestCase):\n    def test_toy(self):\n        class Toy:\n            def b(self):\n                return self.c\n",
        "from .shop import *\n\n\ndef test_toy():\n    def size(x):\n        return len(x)\n\n    assert size('a') == 1\n",
    ],
    ids=[
        "a class of its own",
        "the standard library",
        "the instance is asked to assert",
        "another instance",
        "a function of its own",
    ],
)
def test_what_a_test_defines_itself_and_the_language_are_of_nothing_outside(text: str) -> None:
    assert names_nothing(text, Language.PYTHON)


@pytest.mark.parametrize(
    "text",
    [
        PYTHON.replace("iter(", "http.iter("),
        PYTHON.replace('"a"] * times', '"a"] * LIMIT'),
        PYTHON.replace("from shop import http", "from shop import sorted"),
        PYTHON.replace("import json", "from . import json").replace("iter(", "json.loads("),
        PYTHON.replace("LIMIT = 1", "def sorted(x):\n    return x"),
        PYTHON.replace("LIMIT = 1", "sorted, LIMIT = shop()"),
        PYTHON.replace("test_toy():", "test_toy(toy_client):").replace("Toy()", "toy_client.get()"),
        PYTHON.replace("def test_toy", "@pytest.mark.parametrize('one', SOURCES)\ndef test_toy"),
        PYTHON.replace("class Toy:", "class Toy(Shop):"),
        PYTHON.replace('"a"] * times', 'eval("shop")] * times'),
        "class TestToy(Base):\n    def test_toy(self):\n        assert list(self.client.keys()) == []\n",
    ],
    ids=range(11),
)
def test_what_is_imported_given_marked_or_inherited_is_outside(text: str) -> None:
    assert text != PYTHON
    assert not names_nothing(text, Language.PYTHON)


@pytest.mark.parametrize(
    "text",
    [
        SCRIPT,
        "const test = require('node:test')\ntest('keeps', t => {\n  t.assert.equal(new Map().size, 0)\n})\n",
        "it('keeps', done => {\n  function size({ a }, b) { return { a, b } }\n  size({ a: 1 }, 2)\n  done()\n})\n",
    ],
    ids=["a class of its own", "its test tool", "a function of its own"],
)
def test_in_scripts_it_is_seen_as_well(text: str) -> None:
    assert names_nothing(text, Language.TYPESCRIPT)


@pytest.mark.parametrize(
    "text",
    [
        SCRIPT.replace("Array(times)", "shop(times)"),
        SCRIPT.replace("import { shop }", "import { Array }"),
        SCRIPT.replace("import { shop }", "import Array"),
        SCRIPT.replace("import { shop } from '../shop'", "export const Array = shop()"),
        "test('keeps', t => {\n  t.context.shop.open()\n})\n",
        "it('keeps', ({ page }) => {\n  expect(page.title()).toBe('a')\n})\n",
    ],
    ids=range(6),
)
def test_what_is_imported_or_given_is_outside_in_scripts_as_well(text: str) -> None:
    assert text != SCRIPT
    assert not names_nothing(text, Language.TYPESCRIPT)


def test_where_the_file_is_not_known_whole_or_not_looked_through_it_may_name_something() -> None:
    assert not names_nothing(PYTHON, Language.PYTHON, whole=False)
    assert not names_nothing("package a\n\nfunc TestA(t *testing.T) {\n\tt.Log(1)\n}\n", Language.GO)
