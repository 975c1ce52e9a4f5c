"""Parse texts with tree-sitter, in work that the length of the text bounds: one parser per grammar, loaded at first use.

Memory is not bounded: some broken texts of a few kilobytes take gigabytes in one step of the parser, or crash it. So where SANDBOX
is set, each text is parsed in a child process first, which loads nothing of the working directory and ends with its parent. A text
that no grammar or no sandbox gets through has no tree.
"""

import hashlib
import logging
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from contextvars import ContextVar
from functools import lru_cache
from importlib import import_module
from itertools import count
from math import inf
from pathlib import Path
from select import select
from typing import TYPE_CHECKING, Final, NamedTuple

from worker.process import die_with_parent, limit_memory

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


LOG: Final = logging.getLogger(__name__)

MOST_BYTES: Final = 1 << 29
"""A text of the largest size that is parsed, a megabyte, takes 360 MiB at worst where it is a program: of signs in a row."""

MOST_S: Final = 60.0
"""The parser's work is bounded, and takes a few seconds at most."""

LIFETIME_BYTES: Final = 1 << 25
"""Bytes that one process parses: the parser of tree-sitter 0.26 keeps every text that it read piece by piece."""

_READY: Final = b"!"
_SIZES: Final = struct.Struct(">III")
_ROOT: Final = Path(__file__).resolve().parent.parent.parent
_CODE: Final = "import sys; sys.path.insert(0, sys.argv[1]); from worker.dossier.tree_sitter import main; main(*map(int, sys.argv[2:]))"


class ParserSandbox:
    """Parse texts in a child process, which is restarted after each text that it did not survive."""

    def __init__(self, most_bytes: int = MOST_BYTES, life: int = LIFETIME_BYTES) -> None:
        self._most_bytes = most_bytes
        self._life = life
        self._fatal: set[bytes] = set()
        self._start()

    def _start(self) -> None:
        self._left = self._life
        self._is_ready = False
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter, and words of our own
            [sys.executable, "-I", "-c", _CODE, str(_ROOT), str(self._most_bytes), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a parser that gets no memory prints that before it ends
            bufsize=0,
        )

    @property
    def pid(self) -> int:
        """Of the current child."""
        return self._process.pid

    def can_parse(self, raw: bytes, grammar: Grammar) -> bool:
        """Whether a process got through this text. Raises RuntimeError where none can be started."""
        digest = hashlib.sha256(raw).digest()
        if digest in self._fatal:  # a change is parsed more than once, and logged once
            return False
        if self._left < 0:
            self._restart()
        if not self._is_ready and self._receive() != _READY:
            self.close()
            raise RuntimeError("no process that parses could be started")
        self._is_ready = True
        self._left -= len(raw)
        if self._send(raw, grammar) and self._receive() == _READY:
            return True
        self._fatal.add(digest)
        LOG.warning("parser failed, text of %s bytes read by lines: %s", len(raw), grammar.module)
        self._restart()
        return False

    def close(self) -> None:
        self._process.kill()
        with self._process:
            pass

    def _restart(self) -> None:
        self.close()
        self._start()

    def _send(self, raw: bytes, grammar: Grammar) -> bool:
        names = grammar.module.encode(), grammar.function.encode()
        message = memoryview(_SIZES.pack(*map(len, names), len(raw)) + b"".join(names) + raw)
        assert self._process.stdin is not None  # noqa: S101 - it has a pipe
        try:
            while message:
                message = message[self._process.stdin.write(message) :]
        except BrokenPipeError:
            return False
        return True

    def _receive(self) -> bytes:
        """The child's next byte; nothing where it ended, or takes too long."""
        assert self._process.stdout is not None  # noqa: S101 - it has a pipe
        ready, _, _ = select([self._process.stdout], [], [], MOST_S)
        return self._process.stdout.read(1) if ready else b""


@contextmanager
def sandboxed_parsing() -> Generator[None]:
    """Within this context no text is parsed here that the child did not survive."""
    with closing(ParserSandbox()) as sandbox:
        token = SANDBOX.set(sandbox.can_parse)
        try:
            yield
        finally:
            SANDBOX.reset(token)


def main(most_bytes: int, parent: int) -> None:
    """Parse the texts of standard input until it ends, and write a byte after each."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all of a terminal; the parent ends this process
    die_with_parent(parent, signal.SIGKILL)  # other children of the parent may hold the other end of the pipe
    limit_memory(most_bytes)
    stream = os.fdopen(0, "rb")
    os.write(1, _READY)
    while sizes := stream.read(_SIZES.size):
        module, function, raw = (stream.read(size) for size in _SIZES.unpack(sizes))
        parse_within_limits(raw, Grammar(module.decode(), function.decode()))
        os.write(1, _READY)
