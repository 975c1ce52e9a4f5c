"""Names, words and sizes of docs/design.md: class names occur once, and banned words and names and long functions do not occur."""

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import grimp
import pytest

ROOT: Final = Path(__file__).resolve().parent.parent
PRODUCT: Final = ("app", "worker")
AROUND: Final = ("bench", "tests")
PROSE: Final = ROOT / "tests/golden/prose"
"""What people read of Assay: logs, help, environment, check runs, comments, terminal. Its folder `verdicts` quotes changes."""

PHRASES: Final = (
    "anew", "any more", "at once", "by itself", "comes again", "counts no more", "in vain", "nobody", "somebody",
    "what became of", "who judges", "whoever",
)  # fmt: skip
BANNED: Final = re.compile(rf"\b(?:{'|'.join(PHRASES)})\b".replace(" ", r"\s+"), re.IGNORECASE)
LOCALS: Final = frozenset({"found", "given", "known", "one", "place", "said", "told", "words"})
FUNCTION, FILE, TEST_FILE = 60, 600, 800

Function = ast.FunctionDef | ast.AsyncFunctionDef


def files(root: Path, rooms: Iterable[str], ext: str) -> list[Path]:
    """Without what npm installs."""
    paths = (path for room in rooms for path in sorted((root / room).rglob(f"*.{ext}")))
    return [path for path in paths if "node_modules" not in path.parts]


def duplicate_class_names(trees: Iterable[ast.Module]) -> list[str]:
    """Names of classes that more than one class has."""
    names = Counter(node.name for tree in trees for node in statements(tree) if isinstance(node, ast.ClassDef))
    return sorted(name for name, count in names.items() if count > 1)


@cache
def imports() -> Mapping[str, frozenset[str]]:
    """The modules that each module of the product imports, without imports for type checkers."""
    graph = grimp.build_graph(*PRODUCT, exclude_type_checking_imports=True, cache_dir=None)
    return {module: frozenset(graph.find_modules_directly_imported_by(module)) for module in graph.modules}


def cycles_of(imported: Mapping[str, Iterable[str]]) -> list[frozenset[str]]:
    """The groups of modules that import one another, directly or through others."""
    reached = {module: reachable(module, imported) for module in imported}
    cyclic = [module for module in imported if module in reached[module]]
    groups = {frozenset(other for other in reached[module] if module in reached[other]) for module in cyclic}
    return sorted(groups, key=sorted)


def reachable(module: str, imported: Mapping[str, Iterable[str]]) -> set[str]:
    """The modules behind *module*; itself only where a cycle leads back."""
    behind, left = set[str](), list(imported[module])
    while left:
        other = left.pop()
        if other not in behind:
            behind.add(other)
            left.extend(imported.get(other, ()))
    return behind


def ignored_imports(project: str) -> int:
    """The imports that the contracts of pyproject.toml ignore."""
    contracts = tomllib.loads(project)["tool"]["importlinter"]["contracts"]
    return sum(len(contract.get("ignore_imports", ())) for contract in contracts)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements inside *node*; expressions hold no functions and are skipped."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(node, part, ()):
            yield inner
            yield from statements(inner)


def docstrings(tree: ast.Module) -> Iterator[str]:
    """Also the strings under constants and fields."""
    for node in statements(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


def banned_locals(tree: ast.Module) -> list[str]:
    """Each assignment, parameter and loop variable with a banned name, inside functions."""
    functions = [node for node in statements(tree) if isinstance(node, Function)]
    inside = {id(node): node for function in functions for node in ast.walk(function)}
    parameters = [node.arg for node in inside.values() if isinstance(node, ast.arg)]
    names = [node.id for node in inside.values() if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return [name for name in parameters + names if name in LOCALS]


def definitions(tree: ast.Module) -> Iterator[str]:
    """The names of functions and classes, as words."""
    for node in statements(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name.replace("_", " ")


class Size(NamedTuple):
    """The lines of one file, and those of each of its functions."""

    length: int
    functions: list[tuple[str, int]]


def size(path: Path) -> Size:
    functions = [(node.name, lines(node)) for node in statements(tree_of(path)) if isinstance(node, Function)]
    return Size(len(path.read_text("utf-8").splitlines()), functions)


def lines(node: Function) -> int:
    """Body without docstring, plus one for the signature."""
    body = node.body[1:] if ast.get_docstring(node) else node.body
    return (node.end_lineno or 0) - body[0].lineno + 2 if body else 1


def problems_of(path: Path) -> list[str]:
    name, limit = str(path.relative_to(ROOT)), TEST_FILE if path.is_relative_to(ROOT / "tests") else FILE
    measured = size(path)
    long = [f"{name}, {function}: {length}" for function, length in measured.functions if length > FUNCTION]
    return [f"{name}: {measured.length}", *long] if measured.length > limit else long


def test_class_name_occurs_once_in_the_product() -> None:
    assert duplicate_class_names(map(tree_of, files(ROOT, PRODUCT, "py"))) == []


def test_files_and_functions_keep_their_size() -> None:
    too_long = [problem for path in files(ROOT, (*PRODUCT, *AROUND), "py") for problem in problems_of(path)]
    assert not too_long, f"Split these (limits: {FILE} lines a file, {TEST_FILE} of tests, {FUNCTION} a function)"


def test_names_and_docstrings_hold_no_banned_word() -> None:
    trees = {path: tree_of(path) for path in files(ROOT, (*PRODUCT, *AROUND), "py")}
    prose = {path: "\n".join((*docstrings(tree), *definitions(tree))) for path, tree in trees.items()}
    names = {str(path.relative_to(ROOT)): names for path, tree in trees.items() if (names := banned_locals(tree))}
    banned = {str(path.relative_to(ROOT)): hits for path, text in prose.items() if (hits := BANNED.findall(text))}
    assert (names, banned) == ({}, {}), "Name it for what it holds (LOCALS), in terms of the field (PHRASES)"


def test_docs_and_golden_prose_hold_no_banned_word() -> None:
    pages = [*files(ROOT, ("docs",), "md"), ROOT / "README.md"]
    texts = {
        str(path.relative_to(ROOT)): path.read_text("utf-8")
        for path in (*pages, *PROSE.glob("*.*"), *PROSE.glob("texts/*"))
    }
    banned = {name: sorted(set(BANNED.findall(text))) for name, text in texts.items() if BANNED.search(text)}
    assert banned == {}, "Say it in terms of the field (PHRASES)"


def test_import_contracts_have_no_exception() -> None:
    assert ignored_imports((ROOT / "pyproject.toml").read_text("utf-8")) == 0


def test_no_modules_import_one_another() -> None:
    assert cycles_of(imports()) == []


def test_duplicate_class_name_is_listed_once() -> None:
    modules = [ast.parse(f"class Place: ...\n{more}") for more in ("class Pull: ...", "", "")]
    assert duplicate_class_names(modules) == ["Place"]


def test_modules_that_import_one_another_are_one_cycle() -> None:
    imported = {"a": ["b"], "b": ["c"], "c": ["a", "d"], "d": [], "e": ["f"], "f": ["e"]}
    assert cycles_of(imported) == [frozenset("abc"), frozenset("ef")]


def test_docstrings_are_those_of_modules_functions_and_constants() -> None:
    code = '"""Module."""\nLIMIT = 1\n"""Constant."""\ndef run():\n    """Function."""\n    return "text"\n'
    assert sorted(docstrings(ast.parse(code))) == ["Constant.", "Function.", "Module."]


@pytest.mark.parametrize(
    ("text", "count"), [("judged anew, at\nonce", 2), ("Nobody knows any more.", 2), ("renewed at onces", 0)]
)
def test_banned_words_are_whole_words_on_any_line(text: str, count: int) -> None:
    assert len(BANNED.findall(text)) == count


def test_banned_local_names_are_bound_inside_functions() -> None:
    code = "one = 1\ndef run(given):\n    found = [one for one in given]\n    def inner(): told = found\n    return found.place\n"
    assert sorted(banned_locals(ast.parse(code))) == ["found", "given", "one", "told"]


def test_ignored_imports_of_all_contracts_are_counted() -> None:
    contract = '[[tool.importlinter.contracts]]\nname = "x"\n'
    assert ignored_imports(f'{contract}ignore_imports = ["a -> b", "c -> d"]\n{contract}') == 2
