"""Names and words of docs/design.md: class names occur once, and banned words and local names do not occur."""

import ast
from pathlib import Path

from bench.house import BANNED, banned_locals, cycles_of, docstrings, exceptions, files, imports, twice

ROOT = Path(__file__).resolve().parent.parent
TREES = {path: ast.parse(path.read_text("utf-8")) for path in files(ROOT, ("app", "worker"), "py")}


def test_a_class_name_occurs_once_in_the_product() -> None:
    assert twice(TREES.values()) == []


def test_no_local_variable_has_a_banned_name() -> None:
    found = {str(path.relative_to(ROOT)): names for path, tree in TREES.items() if (names := banned_locals(tree))}
    assert found == {}, "Name it for what it holds (bench/house.py, LOCALS)"


def test_docstrings_logs_help_and_docs_hold_no_banned_word() -> None:
    texts = {str(path.relative_to(ROOT)): "\n".join(docstrings(tree)) for path, tree in TREES.items()}
    pages = [*files(ROOT, ("docs",), "md"), ROOT / "README.md"]
    prose = [ROOT / "tests/golden/prose" / name for name in ("log_messages.txt", "help.txt")]
    texts |= {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in (*pages, *prose)}
    found = {name: sorted(set(BANNED.findall(text))) for name, text in texts.items() if BANNED.search(text)}
    assert found == {}, "Say it in terms of the field (bench/house.py, PHRASES)"


def test_the_contracts_of_imports_have_no_exception() -> None:
    assert exceptions((ROOT / "pyproject.toml").read_text("utf-8")) == 0


def test_no_modules_import_one_another() -> None:
    assert cycles_of(imports()) == []
