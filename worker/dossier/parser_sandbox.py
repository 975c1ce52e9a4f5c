"""Parse texts in a child process first: a broken one can take a parser gigabytes of memory, or crash it.

The child loads nothing of the working directory, and ends with its parent.
"""

import hashlib
import logging
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from select import select
from typing import Final

from worker.dossier.tree_sitter import SANDBOX, Grammar, parse_within_limits
from worker.process import die_with_parent, limit_memory

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
_CODE: Final = "import sys; sys.path.insert(0, sys.argv[1]); from worker.dossier.parser_sandbox import main; main(*map(int, sys.argv[2:]))"


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
