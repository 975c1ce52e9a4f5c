"""Break the product in a copy, one line at a time, and name the tests that notice.

    python -m bench.mutate [NAME ...]              each stage once, held by conversations
    python -m bench.mutate --drawn 40 [--seed 1]   lines of the pure rooms drawn by chance, held by their room's tests

Prints one line a mutation, and the share that was noticed. Exits 1 where a stage went unnoticed. A stage's text that is not in the code
exactly once is an error, so that the list can't rot. A drawn mutation that goes unnoticed may change nothing that matters: read it. A
mutation takes about a minute.
"""

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final, cast

ROOT: Final = Path(__file__).resolve().parent.parent
NOTICED: Final = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
ENOUGH: Final = "3"
ENDLESS: Final = "no end"
LONGEST_S: Final = 900
"""Tests that take longer do not end: the mutation is noticed."""

CONVERSATIONS: Final = Path("tests/conversations")
PURE_ROOMS: Final = (
    "app/ingest", "worker/domain", "worker/dossier", "worker/judge", "worker/publishing/texts", "worker/signals",
)  # fmt: skip


@dataclass(frozen=True)
class Stage:
    """A stage that is broken: where, how, and the conversations that notice."""

    name: str
    path: str
    before: str
    after: str
    noticed_by: Sequence[str] = ()

    @property
    def steps(self) -> list[list[Path]]:
        return [[CONVERSATIONS / name for name in self.noticed_by]]

    def rewrite(self, text: str) -> str:
        count = text.count(self.before)
        assert count == 1, f"{self.name}: the text stands {count} times"
        return text.replace(self.before, self.after)


def read_stages(kind: str = "stage") -> list[Stage]:
    rows: list[dict[str, Any]] = tomllib.loads((ROOT / "bench" / "mutations.toml").read_text("utf-8"))[kind]
    return [Stage(**row) for row in rows]


OPPOSITE: Final[dict[type[ast.AST], tuple[str, str]]] = {
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"), ast.And: ("and", "or"), ast.Or: ("or", "and"), ast.Add: ("+", "-"), ast.Sub: ("-", "+"),
}  # fmt: skip


MODEL_OPTIONS: Final = {"frozen", "slots", "kw_only"}
"""Keywords of classes, which no behaviour depends on."""


@dataclass(frozen=True)
class Drawn:
    """One line that reads otherwise. `line` counts from 1."""

    path: str
    line: int
    before: str
    after: str

    @property
    def name(self) -> str:
        return f"{self.path}:{self.line}: {self.before.strip()}  ->  {self.after.strip()}"

    @property
    def steps(self) -> list[list[Path]]:
        """The tests that mirror the file's folder, then those of its whole room."""
        room = next(room for room in PURE_ROOMS if self.path.startswith(f"{room}/"))
        return [[Path("tests") / Path(self.path).parent], [Path("tests") / room]]

    def rewrite(self, text: str) -> str:
        lines = text.split("\n")
        assert lines[self.line - 1] == self.before, self.name
        lines[self.line - 1] = self.after
        return "\n".join(lines)


def possible(path: str, text: str) -> Iterator[Drawn]:
    """All mutations of a file: an operator turned around, a `not` left out, a number one larger, True for False."""
    lines, tree = text.split("\n"), ast.parse(text)
    options = {
        id(word.value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Call, ast.ClassDef))
        for word in node.keywords
        if word.arg in MODEL_OPTIONS
    }
    for node in ast.walk(tree):
        if id(node) in options:
            continue
        for (row, start, end), new in edits_of(node):
            line = lines[row - 1]
            raw = line.encode()  # columns of ast count bytes
            piece = raw[start:end].decode()
            changed = new(piece)
            if changed != piece:
                yield Drawn(path, row, line, raw[:start].decode() + changed + raw[end:].decode())


Span = tuple[int, int, int]


def edits_of(node: ast.AST) -> Iterator[tuple[Span, Callable[[str], str]]]:
    """The pieces of one line that a mutation of this node rewrites, and how."""
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            yield from between(left, right, operator)
        case ast.BoolOp(op=operator, values=[left, right, *_]):
            yield from between(left, right, operator)
        case ast.BinOp(left=left, op=operator, right=right):
            yield from between(left, right, operator)
        case ast.UnaryOp(op=ast.Not(), operand=operand) if node.lineno == operand.lineno:
            yield (node.lineno, node.col_offset, operand.col_offset), lambda piece: piece.replace("not ", "", 1)
        case ast.Constant(value=bool() | int()) if node.lineno == node.end_lineno:
            span = (node.lineno, node.col_offset, node.end_col_offset or 0)
            value: object = not node.value if isinstance(node.value, bool) else cast("int", node.value) + 1
            yield span, lambda _: str(value)
        case _:
            return


def between(left: ast.expr, right: ast.expr, operator: ast.AST) -> Iterator[tuple[Span, Callable[[str], str]]]:
    """The operator between two operands on one line."""
    if type(operator) in OPPOSITE and left.end_lineno == right.lineno and left.end_col_offset is not None:
        old, new = OPPOSITE[type(operator)]
        pattern = re.compile(rf"(?<!\w){re.escape(old)}(?!\w)")
        yield (right.lineno, left.end_col_offset, right.col_offset), lambda piece: pattern.sub(new, piece, count=1)


def draw(count: int, seed: int, root: Path = ROOT) -> list[Drawn]:
    """Mutations by chance, in equal parts of each room; the same seed and code give the same ones."""
    random = Random(seed)  # noqa: S311 - a draw that can be repeated
    pools = [
        [
            drawn
            for path in sorted((root / room).rglob("*.py"))
            for drawn in possible(str(path.relative_to(root)), path.read_text())
        ]
        for room in PURE_ROOMS
    ]
    for pool in pools:
        random.shuffle(pool)
    return [pool[turn] for turn in range(-(-count // len(pools))) for pool in pools if turn < len(pool)][:count]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="stages with this word alone")
    parser.add_argument("--drawn", type=int, metavar="N", help="that many lines of the pure rooms instead")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    names = arguments.names or [""]
    stages = [stage for stage in read_stages() if any(name in stage.name for name in names)]
    mutations: Sequence[Stage | Drawn] = draw(arguments.drawn, arguments.seed) if arguments.drawn else stages
    with copied() as copy:
        unnoticed = [mutation.name for mutation in mutations if not is_noticed(mutation, copy)]
    noticed = len(mutations) - len(unnoticed)
    print(f"{noticed} of {len(mutations)} noticed ({noticed / len(mutations):.0%})")
    print("".join(f"UNNOTICED {name}\n" for name in unnoticed), end="")
    return int(bool(unnoticed) and not arguments.drawn)


@contextmanager
def copied() -> Generator[Path]:
    """The project in a folder and an environment of its own."""
    with tempfile.TemporaryDirectory(prefix="assay-mutate-") as folder:
        copy = Path(folder) / "assay"
        ignored = shutil.ignore_patterns(".venv", ".git", "__pycache__", ".hypothesis")
        shutil.copytree(ROOT, copy, ignore=ignored, symlinks=True)
        environ = {**os.environ, "UV_PROJECT_ENVIRONMENT": str(copy / ".venv")}  # noqa: TID251 - a child's
        environ.pop("VIRTUAL_ENV", None)
        sync = ["sync", "--quiet", "--frozen", "--all-groups", "--compile-bytecode", "--python"]
        uv = [str(Path(sys.executable).with_name("uv")), *sync, sys.executable]
        subprocess.run(uv, cwd=copy, env=environ, check=True)
        subprocess.run([sys.executable, "-m", "compileall", "-q", "app", "worker"], cwd=copy, check=True)
        yield copy


def is_noticed(mutation: Stage | Drawn, copy: Path) -> bool:
    """Break the copy, run the tests step by step until some fail, mend it, and drop those that fail without the mutation too."""
    file = copy / mutation.path
    whole = file.read_text()
    file.write_text(mutation.rewrite(whole))
    try:
        caught = next((names for tests in mutation.steps if (names := failing(map(str, tests), copy))), set[str]())
    finally:
        file.write_text(whole)
    if caught and ENDLESS not in caught:
        caught -= failing(sorted(caught), copy)
    print(f"{mutation.name}: {', '.join(sorted(caught)) or 'UNNOTICED'}", flush=True)
    return bool(caught)


def failing(tests: Iterable[str], copy: Path) -> set[str]:
    """Run these tests; the files, or functions with their files, that fail."""
    chosen = [test for test in tests if (copy / test.partition("::")[0]).exists()]
    if not chosen:
        return set()
    command = [".venv/bin/python", "-m", "pytest", "-q", "-n", "2", f"--maxfail={ENOUGH}", *chosen]
    slow = ["-m", ""] if any(CONVERSATIONS in Path(test).parents for test in chosen) else []
    try:
        ran = subprocess.run(
            [*command, *slow], cwd=copy, capture_output=True, text=True, check=False, timeout=LONGEST_S
        )
    except subprocess.TimeoutExpired:
        return {ENDLESS}
    return {name.partition("[")[0] for name in NOTICED.findall(ran.stdout)}


if __name__ == "__main__":
    sys.exit(main())
