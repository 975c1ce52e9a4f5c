"""Print the figures of the redesign for this checkout: `python -m bench.house [--entered]`.

Each line has a figure, its value and its goal. `--entered` starts the product, opens one documentation-only pull request and counts
the product files whose functions its processes enter (`bench/entered.py`); this takes about a minute.
"""

import argparse
import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from tests.test_style import (
    BANNED,
    PRODUCT,
    Function,
    banned_locals,
    cycles_of,
    docstrings,
    duplicate_class_names,
    files,
    ignored_imports,
    imports,
    size,
    tree_of,
)

ROOT: Final = Path(__file__).resolve().parent.parent
GENERATED: Final = "<!-- Generated "


class Figure(NamedTuple):
    """One line of the table. `goal`: empty where the figure is only printed."""

    name: str
    value: str
    goal: str = ""


def figures(root: Path) -> Iterator[Figure]:
    sources = {path: path.read_text("utf-8") for path in files(root, PRODUCT, "py")}
    trees = {path: tree_of(path) for path in sources}
    scripts = files(root, PRODUCT, "lua")
    levels = [f"{count} {folder.relative_to(root)}" for folder, count in fullest(root / room for room in PRODUCT)]
    lengths = [length for path in sources for _, length in size(path).functions]
    once, private = used_once(trees.values())
    prose = {
        "docs": [path.read_text("utf-8") for path in (*files(root, ("docs",), "md"), root / "README.md")],
        "docstrings": [text for tree in trees.values() for text in docstrings(tree)],
        "log texts": [(root / "tests/golden/prose/log_messages.txt").read_text("utf-8")],
        "help": [(root / "tests/golden/prose/help.txt").read_text("utf-8")],
    }
    by_room = {name: sum(len(BANNED.findall(text)) for text in texts) for name, texts in prose.items()}
    cycles = cycles_of(imports())

    yield Figure("product lines, Python", f"{lines_of(sources):,}", "<= 53,000")
    yield Figure("product lines, Lua", f"{lines_of(scripts):,}", "<= 400")
    yield Figure("Lua scripts", f"{len(scripts)}", "<= 14")
    yield Figure("Python files in app/ and worker/", f"{len(sources)}", "<= 280")
    yield Figure("most entries on any level", ", ".join(levels), "12, never over 17")
    yield Figure("test lines", f"{lines_of(files(root, ('tests',), 'py')):,}", "<= 55,000")
    yield Figure("bench lines", f"{lines_of(files(root, ('bench',), 'py')):,}", "<= 4,000")
    written = [text for text in prose["docs"][:-1] if not text.startswith(GENERATED)]
    yield Figure("docs, words, without generated pages", f"{sum(len(text.split()) for text in written):,}", "<= 20,000")
    yield Figure("private functions used once", f"{once} of {private} ({once / max(private, 1):.0%})")
    yield Figure("median function, lines", f"{median(lengths):g}")
    yield Figure("class names used twice", f"{len(duplicate_class_names(trees.values()))}", "0")
    yield Figure("import cycles", f"{len(cycles)}", "0")
    yield Figure("import exceptions", f"{ignored_imports((root / 'pyproject.toml').read_text('utf-8'))}", "0")
    shares = ", ".join(f"{name} {count}" for name, count in by_room.items())
    yield Figure("banned words", f"{sum(by_room.values()):,} ({shares})", "0")
    yield Figure("banned local names", f"{sum(len(banned_locals(tree)) for tree in trees.values()):,}", "0")


def lines_of(paths: Iterable[Path]) -> int:
    return sum(len(path.read_text("utf-8").splitlines()) for path in paths)


def fullest(roots: Iterable[Path], most: int = 3) -> list[tuple[Path, int]]:
    """The folders with the most files and folders. `__init__.py` does not count."""
    folders = [
        folder
        for root in roots
        for folder in (root, *(path for path in root.rglob("*") if path.is_dir() and path.name != "__pycache__"))
    ]
    hidden = re.compile(r"\.|__pycache__$|__init__\.py$")
    counts = {folder: sum(not hidden.match(path.name) for path in folder.iterdir()) for folder in folders}
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]


def used_once(trees: Iterable[ast.Module]) -> tuple[int, int]:
    """How many private functions and methods their file names once besides the definition, and how many there are."""
    once = private = 0
    for tree in trees:
        nodes = list(ast.walk(tree))
        names = [node.name for node in nodes if isinstance(node, Function) and re.match("_[^_]", node.name)]
        uses = Counter(
            node.id if isinstance(node, ast.Name) else node.attr
            for node in nodes
            if isinstance(node, (ast.Name, ast.Attribute))
        )
        private += len(names)
        once += sum(uses[name] == 1 for name in names)
    return once, private


def entered() -> Iterator[Figure]:
    from bench.entered import documentation_only  # noqa: PLC0415 - starts the world of the tests

    for name, functions, goal in zip(("judge job", "all processes"), documentation_only(), (90, 120), strict=True):
        paths = {path for path, _, _ in functions}
        yield Figure(f"files entered, {name}", f"{len(paths)} ({len(functions):,} functions)", f"<= {goal}")


def table(rows: Iterable[Figure]) -> str:
    titled = [Figure("figure", "found", "goal"), *rows]
    widths = [max(len(row[at]) for row in titled) for at in range(3)]
    return "\n".join(
        " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in titled
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entered", action="store_true", help="also count the files that one pull request enters")
    arguments = parser.parse_args()
    print(table([*figures(ROOT), *(entered() if arguments.entered else ())]))


if __name__ == "__main__":
    main()
