"""Files among tests that no runner looks into."""

import pytest

from tests.worker.signals.made import changed_file
from worker.signals.analysis.test_data import is_test_data

CASES = {
    "data of a formatter": ("tests/data/cases.py", "def test_a():\n    pass\n", True),
    "what a test tool is tried on": ("test/fixtures/only/a.spec.js", "it.only('a', b)\n", True),
    "what Go's tool leaves out": ("pkg/testdata/src/a_test.go", "package a\n", True),
    "a file of tests": ("tests/test_cases.py", "def test_a():\n    pass\n", False),
    "data of a formatter that speaks of testing": (
        "tests/data/tabs.py",
        "def test():\n    'This is testing, not pytest'\n",
        True,
    ),
    "collected by what it calls": ("testing/metafunc.py", "def test_a(pytester):\n    pytest.skip()\n", False),
    "collected by another pattern": ("testing/metafunc.py", "import pytest\n", False),
    "a program for a compiler": ("tests/fail/a.rs", "#[tokio::test]\nfn test_a() {}\n\nfn main() {}\n", True),
    "a test of Rust": ("tests/a.rs", "#[test]\nfn a() {}\n", False),
    "a program of Rust": ("src/main.rs", "fn main() {}\n", False),
    "what a compiler must refuse": ("lib/src/neg-tests-compile/scala/a_test.rs", "#[test]\nfn a() {}\n", True),
    "what a macro is tried on": ("tests/ui/a_test.rs", "#[test]\nfn a() {}\n", True),
    "a test of a screen": ("src/ui/a.test.ts", "it('a', b)\n", False),
    "a module of production by that name": ("shop/tests.py", "def test_odd(value):\n    return value % 2 == 1\n", True),
    "a module of tests by that name": ("shop/tests.py", "from django.test import TestCase\n", False),
    "a project that a test tool is run in": ("e2e/teardown/__tests__/a.test.js", "test('a', () => {});\n", True),
    "a test that runs it": ("e2e/__tests__/teardown.test.js", "test('a', () => {});\n", False),
    "what a formatter is tried on": ("tests/format/js/only/only.js", "test.fixme('a', () => {});\n", True),
    "a test of Java": ("src/test/Helper.java", "class Helper {\n}\n", False),
}


@pytest.mark.parametrize(("path", "text", "expected"), CASES.values(), ids=CASES.keys())
def test_what_no_runner_collects_is_material(path: str, text: str, *, expected: bool) -> None:
    assert is_test_data(changed_file(path, None, text)) is expected


def test_what_a_test_tool_is_tried_on_is_known_by_its_folder_alone() -> None:
    assert is_test_data(changed_file("test/__fixtures__/a.test.ts", "x()\n", "y()\n", texts=False))


def test_a_file_that_is_shown_in_part_is_taken_for_one_of_tests() -> None:
    long = "x = 1\n" * 20
    assert not is_test_data(changed_file("tests/data/cases.py", long, f"{long}y = 1\n", texts=False))
