"""The thing under test replaced by a double."""

import pytest

from tests.worker.signals.made import Texts, change_of
from worker.signals.tests_pass_but_wrong.subject_mocked import double_under_test

CODE: Texts = {
    "src/a.py": "def render(x):\n    return x + 1\n",
    "src/a.ts": "export function render(x) {\n  return x + 1\n}\n",
}


def lines(path: str, text: str, code: Texts = CODE, *, texts: bool = True) -> list[int | None]:
    return [one.line for one in double_under_test.findings(change_of({}, {**code, path: text}, texts=texts))]


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        (
            "tests/test_a.py",
            "def test_a():\n    with patch('src.a.render', return_value=2):\n        assert a.render(1) == 2\n",
            3,
        ),
        (
            "tests/test_a.py",
            "def test_a(monkeypatch):\n    monkeypatch.setattr(a, 'render', two)\n    assert render(1) == 2\n",
            3,
        ),
        ("tests/test_a.py", "@patch('src.a.render')\ndef test_a(double):\n    assert a.render(1) == 2\n", 3),
        (
            "tests/a.test.ts",
            "it('a', () => {\n  jest.spyOn(a, 'render').mockReturnValue(2)\n  expect(a.render(1)).toBe(2)\n})\n",
            3,
        ),
        ("tests/test_a.py", "def test_a():\n    render = lambda x: 2\n    assert render(1) == 2\n", 3),
        ("tests/a.test.ts", "it('a', () => {\n  const render = () => 2\n  expect(render(1)).toBe(2)\n})\n", 3),
        ("tests/a.test.ts", "it('a', () => {\n  a.render = vi.fn(() => 2)\n  expect(a.render(1)).toBe(2)\n})\n", 3),
    ],
)
def test_a_test_that_calls_the_double_of_this_change_is_suspected(path: str, text: str, line: int) -> None:
    assert lines(path, text) == [line]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (
            "tests/test_a.py",
            "def test_a():\n    with patch('src.a.send', return_value=2):\n        assert a.render(1) == 2\n",
        ),
        (
            "tests/test_a.py",
            "def test_a():\n    with patch('src.a.render', return_value=2):\n        assert a.page(1) == 2\n",
        ),
        ("tests/test_a.py", "def test_a():\n    assert a.render(1) == 2\n"),
        ("tests/test_a.py", "with patch('src.a.render'):\n    x = a.render(1)\n"),
    ],
)
def test_a_double_of_something_else_is_left_alone(path: str, text: str) -> None:
    assert lines(path, text) == []


def test_an_old_function_is_not_of_this_change() -> None:
    text = "def test_a():\n    with patch('src.a.render', return_value=2):\n        assert a.render(1) == 2\n"
    change = change_of(CODE, {**CODE, "src/a.py": CODE["src/a.py"] + "\n\nx = 1\n", "tests/test_a.py": text})
    assert not list(double_under_test.findings(change))


def test_a_test_that_went_away_is_no_finding() -> None:
    gone = "def test_b():\n    assert a.other(1)\n"
    text = "def test_a():\n    with patch('src.a.render'):\n        assert a.page(1)\n"
    change = change_of({"tests/test_a.py": gone, "tests/test_b.py": gone}, {**CODE, "tests/test_a.py": gone + text})
    assert not list(double_under_test.findings(change))


@pytest.mark.parametrize("texts", [True, False])
def test_a_test_that_mocks_its_own_module_is_suspected(*, texts: bool) -> None:
    text = "jest.mock('../src/render')\nit('a', () => {\n  expect(render(1)).toBe(2)\n})\n"
    assert lines("tests/render.test.ts", text, {}, texts=texts) == [1]


@pytest.mark.parametrize(
    "text",
    [
        "jest.mock('../src/send')\n",
        "jest.mock('../src/render', () => ({ ...jest.requireActual('../src/render'), send: jest.fn() }))\n",
        "render()\n",
    ],
)
def test_a_test_that_mocks_another_module_or_a_part_is_left_alone(text: str) -> None:
    assert lines("tests/render.test.ts", text, {}) == []


def test_a_test_that_mocks_its_own_class_is_suspected() -> None:
    assert lines("src/test/java/ParserTest.java", "class ParserTest {\n  @Mock private Parser parser;\n}\n", {}) == [2]
    assert lines("src/test/java/ParserTest.java", "class ParserTest {\n  Parser p = mock(Parser.class);\n}\n", {}) == [
        2
    ]


@pytest.mark.parametrize(
    "text",
    [
        "class ParserTest {\n  @Mock Lexer lexer;\n}\n",
        "class ParserTest {\n  Parser p = mock(Parser.class);\n  Parser q = new Parser();\n}\n",
        "class ParserTest {\n  Parser p = parser();\n}\n",
    ],
)
def test_a_class_that_is_also_made_is_left_alone(text: str) -> None:
    assert lines("src/test/java/ParserTest.java", text, {}) == []
