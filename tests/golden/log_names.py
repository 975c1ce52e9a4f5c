"""Every field, event and message that the code can write to a log, read from its source.

Invariant: depends only on names of logging (`LOG.info(..., extra=...)`, keywords of structlog, `bound_contextvars`), so that files
and functions may move and be renamed.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
LEVELS: Final = frozenset({"debug", "info", "warning", "error", "exception", "critical", "log"})
OF_LOGGING: Final = frozenset({"exc_info", "stack_info", "stacklevel", "extra"})
CONTEXT: Final = frozenset({"bound_contextvars", "bind_contextvars"})
WRITERS: Final = frozenset({"log_delivery"})
"""Functions that write a line without a logger, for speed: the event, and fields as keywords."""
LOGS: Final = re.compile(r'\w*log(?:ger)?\.\w+\(|contextvars|"event"|\blog_delivery\(|\bfields\b', re.IGNORECASE)
"""Matches a file that logs or builds fields of a line. Other files are not parsed, which takes two seconds."""

Kept = Mapping[str, list[ast.expr]]
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class LogNames:
    """Names and messages. An expression that cannot be resolved in the source adds no field."""

    fields: set[str] = field(default_factory=set[str])
    events: set[str] = field(default_factory=set[str])
    messages: set[str] = field(default_factory=set[str])


class Reader:
    """One reading of the sources of modules, by their names."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources = sources
        self._returns: dict[str, list[ast.expr]] = defaultdict(list)
        self._given: dict[str, list[ast.expr]] = defaultdict(list)
        self._carriers = {*CONTEXT}
        self._seen: set[int] = set()
        self.names = LogNames()

    def read(self) -> LogNames:
        modules = {module for module, text in self._sources.items() if LOGS.search(text)}
        for module in modules:
            self._index(module)
        carried = re.compile(rf"\b(?:{'|'.join(self._carriers)})\(")
        for module in modules | {module for module, text in self._sources.items() if carried.search(text)}:
            tree = self._tree(module)
            kept = assigned(module, tree)
            for node in ast.walk(tree):
                if isinstance(node, ast.Call):
                    self._call(node, kept)
                elif isinstance(node, ast.Dict):
                    self.names.events |= {text for key, text in string_items(node) if key == "event"}
        return self.names

    @cache  # noqa: B019 - a reader lives as long as one reading
    def _tree(self, module: str) -> ast.Module:
        return ast.parse(self._sources[module])

    def _index(self, module: str) -> None:
        """Collect what functions return, keyword arguments, and functions that bind fields to all lines of a block."""
        for node in ast.walk(self._tree(module)):
            if isinstance(node, Function):
                inner = list(ast.walk(node))
                self._returns[node.name] += [
                    item.value for item in inner if isinstance(item, ast.Return) and item.value
                ]
                if any(isinstance(item, ast.Call) and last_name(item.func) in CONTEXT for item in inner):
                    self._carriers.add(node.name)
            elif isinstance(node, ast.Call):
                for item in node.keywords:
                    self._given[item.arg or ""].append(item.value)

    def _call(self, node: ast.Call, kept: Kept) -> None:
        name, first = last_name(node.func), node.args[0] if node.args else None
        message = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None
        if name in self._carriers:
            for item in (*node.args, *(word.value for word in node.keywords)):
                self._fields(item, kept)
        elif is_log(node.func) or (name in WRITERS and message):
            own = {word.arg for word in node.keywords if word.arg} - OF_LOGGING
            if message:
                (self.names.events if own or name in WRITERS else self.names.messages).add(message)
            self.names.fields |= own
            for word in node.keywords:
                if word.arg == "extra":
                    self._fields(word.value, kept)

    def _fields(self, node: ast.expr, kept: Kept) -> None:
        """Add the fields of a mapping, whose parts are found by name."""
        if id(node) in self._seen:
            return
        self._seen.add(id(node))
        parts: list[ast.expr] = []
        match node:
            case ast.Dict():
                self.names.fields |= {str(key.value) for key in node.keys if isinstance(key, ast.Constant)}
                parts = [value for key, value in zip(node.keys, node.values, strict=True) if key is None]
            case ast.BinOp(left=left, right=right) | ast.IfExp(body=left, orelse=right):
                parts = [left, right]
            case ast.Name(id=name):
                parts = kept.get(name, [])
            case ast.Attribute(attr=name):
                parts = [*kept.get(name, []), *self._given.get(name, [])]
            case ast.Call(func=ast.Attribute(attr="model_dump", value=value)):
                for kind in kept.get(f"{ast.unparse(value)}:", []):
                    self.names.fields |= self._fields_of(ast.unparse(kind))
            case ast.Call(func=func):
                parts = self._returns.get(last_name(func), [])
            case _:
                pass
        for item in parts:
            self._fields(item, kept)

    def _fields_of(self, kind: str) -> set[str]:
        """The fields of a class, by its module and name."""
        module, _, name = kind.rpartition(".")
        classes = [item for item in self._tree(module).body if isinstance(item, ast.ClassDef) and item.name == name]
        own = [item.target for kind in classes for item in kind.body if isinstance(item, ast.AnnAssign)]
        return {item.id for item in own if isinstance(item, ast.Name)}


def assigned(module: str, tree: ast.Module) -> Kept:
    """The values of each name in a file; under `NAME:` the classes, with their modules, of its annotation."""
    kept: dict[str, list[ast.expr]] = defaultdict(list)
    imports = [item for item in ast.walk(tree) if isinstance(item, ast.ImportFrom)]
    homes = {name.asname or name.name: f"{item.module}.{name.name}" for item in imports for name in item.names}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[target], value=value) | ast.NamedExpr(target=target, value=value):
                kept[last_name(target)].append(value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                kept[last_name(target)].append(value)
            case ast.arg(arg=name, annotation=ast.Name(id=kind)) if kind[0].isupper():
                kept[f"{name}:"].append(ast.Name(homes.get(kind, f"{module}.{kind}")))
            case _:
                pass
    return kept


def last_name(node: ast.expr) -> str:
    """The last name of an expression."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=func):
            return last_name(func)
        case _:
            return ""


def is_log(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr in LEVELS
        and last_name(node.value).lower().strip("_").endswith(("log", "logger"))
    )


def string_items(node: ast.Dict) -> Iterator[tuple[str, str]]:
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield str(key.value), value.value


def log_names(rooms: Iterable[str] = ("app", "worker")) -> LogNames:
    paths = [path.relative_to(ROOT) for room in rooms for path in sorted((ROOT / room).rglob("*.py"))]
    named_by = {".".join(path.with_suffix("").parts).removesuffix(".__init__"): path for path in paths}
    return Reader({module: (ROOT / path).read_text("utf-8") for module, path in named_by.items()}).read()
