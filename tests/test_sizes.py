"""The sizes that docs/design.md promises: bounded functions and files."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FUNCTION, FILE, TEST_FILE = 60, 600, 800
PATHS = [path for room in ("app", "worker", "tests", "bench") for path in (ROOT / room).rglob("*.py")]
SOURCES = sorted(path for path in PATHS if "node_modules" not in path.parts)
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Size(NamedTuple):
    """The lines of one file, and those of each of its functions."""

    length: int
    functions: list[tuple[str, int]]


@cache
def size(path: Path) -> Size:
    text = path.read_text()
    tree = ast.parse(text)
    functions = [(node.name, lines(node)) for node in statements(tree) if isinstance(node, Function)]
    return Size(len(text.splitlines()), functions)


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements inside *node*; expressions hold no functions and are skipped."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(node, part, ()):
            yield inner
            yield from statements(inner)


def lines(node: Function) -> int:
    """Body without docstring, plus one for the signature."""
    body = node.body[1:] if ast.get_docstring(node) else node.body
    return (node.end_lineno or 0) - body[0].lineno + 2 if body else 1


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_files_and_functions_keep_their_size() -> None:
    too_long = [problem for path in SOURCES for problem in problems_of(path)]
    assert not too_long, f"Split these (limits: {FILE} lines a file, {TEST_FILE} of tests, {FUNCTION} a function)"


def problems_of(path: Path) -> list[str]:
    limit = TEST_FILE if path.relative_to(ROOT).parts[0] == "tests" else FILE
    measured = size(path)
    long = [f"{name(path)}, {function}: {length}" for function, length in measured.functions if length > FUNCTION]
    return [f"{name(path)}: {measured.length}", *long] if measured.length > limit else long
