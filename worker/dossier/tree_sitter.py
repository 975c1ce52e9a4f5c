"""Parse texts with tree-sitter, in work that the length of the text bounds: one parser per grammar, loaded at first use.

Memory is not bounded here: some broken texts of a few kilobytes take gigabytes in one step of the parser. So where SANDBOX is
set, each text is parsed there first. A text that no grammar or no sandbox gets through has no tree.
"""

from collections.abc import Callable
from contextvars import ContextVar
from functools import lru_cache
from importlib import import_module
from itertools import count
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import tree_sitter


class Grammar(NamedTuple):
    """A grammar: the module of its package, and the function there that returns it."""

    module: str
    function: str


SandboxCheck = Callable[[bytes, Grammar], bool]
"""Whether another process parses the text without dying."""

SANDBOX: Final[ContextVar[SandboxCheck | None]] = ContextVar("parser_sandbox", default=None)


def parse_tree(raw: bytes, grammar: Grammar) -> "tree_sitter.Tree | None":
    """The text's tree; None: it takes far more work than the text is long, or more memory than a process may have."""
    can_parse = SANDBOX.get()
    return parse_within_limits(raw, grammar) if can_parse is None or can_parse(raw, grammar) else None


@lru_cache
def load_language(grammar: Grammar) -> "tree_sitter.Language":
    import tree_sitter  # noqa: PLC0415 - 15 ms that a diff without code need not spend

    capsule: object = getattr(import_module(grammar.module), grammar.function)()
    return tree_sitter.Language(capsule)


@lru_cache
def _parser(grammar: Grammar) -> "tree_sitter.Parser":
    import tree_sitter  # noqa: PLC0415 - as above

    return tree_sitter.Parser(load_language(grammar))


_CHUNK: Final = 2_048
"""Bytes that the parser gets per read; it reads as many again each time the text of a node is asked for."""

_LEAST_WORK: Final = 1_000
_BYTES_A_STEP: Final = 16
"""A step is a hundred operations of the parser. Of 17,000 real files none took more than one in 80 bytes."""

_LEAST_READS: Final = 1_000
_BYTES_A_READ: Final = 10
"""The parser goes back and asks again where it is in doubt. Of 4,000 real files none asked more than once in 50 bytes; broken
texts make it ask nine times a byte, and each time costs as much as fifty steps.
"""


def parse_within_limits(raw: bytes, grammar: Grammar) -> "tree_sitter.Tree | None":
    """The tree, unless the parser does far more work than the text is long: some broken texts take it minutes."""
    parser, steps, most = _parser(grammar), count(), _LEAST_WORK + len(raw) // _BYTES_A_STEP
    text = _BoundedText(raw)
    try:
        tree = parser.parse(text.read, progress_callback=lambda _, __: next(steps) > most)
    except ValueError:  # raised when it was stopped
        parser.reset()
        return None
    if text.ends_early:
        return None
    if not tree.root_node.has_error:
        return parser.parse(raw, tree)  # made of the same nodes, at no cost, which need not ask for their text
    text.stop_counting()
    return tree


class _BoundedText:
    """The text as the parser reads it; after too many reads it ends early. Nodes read their own text after `stop_counting`."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._left: float = _LEAST_READS + len(raw) // _BYTES_A_READ

    @property
    def ends_early(self) -> bool:
        return self._left < 0

    def stop_counting(self) -> None:
        self._left = inf

    def read(self, at: int, _: object) -> bytes:
        self._left -= 1
        return self._raw[at : at + _CHUNK] if self._left >= 0 else b""
