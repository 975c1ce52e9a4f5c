"""Private keys: PEM, OpenSSH and PGP blocks, whole, cut off at either end, or written into one string; PuTTY's files.

Does not look at certificates and public keys. Invariant: every line of a key keeps its place; code that only mentions how a
key begins is left as it is.
"""

import re
import string
from collections.abc import Iterator
from typing import Final

from worker.domain.pattern import pattern
from worker.dossier.secrets.redaction import SecretKind
from worker.dossier.secrets.span import SecretSpan

_BEGINS: Final = pattern(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_ENDS: Final = pattern(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_RUN: Final = pattern(r"(?:\\+[rn]|[\s\"'`,])*+([A-Za-z0-9+/=]{16,}+)")
_LONG_RUN: Final = pattern(r"[A-Za-z0-9+/=]{16,}+")
_BODY: Final = pattern(r"[\s\"'`#>|*]*+(?://\s)?([A-Za-z0-9+/=]++)(?:\\+[nr])*+[\s\"'`,;)\\+]*+")
_HEADER: Final = pattern(r"[\s\"'`#>|*]*+(?:[A-Z][A-Za-z-]{2,30}+: [^\n]{0,200}+)?")
_PUTTY: Final = pattern(r"Private-Lines: (\d{1,4})\s*")
_SHORTEST: Final = 16
_MOST_SHORT_LINES: Final = 2
"""So many last lines may be shorter."""

_HEADERS: Final = 8
"""Most lines of a key's head (`Proc-Type: ...`, empty ones) before its body."""


def find_private_keys(text: str) -> Iterator[SecretSpan]:
    """Every run of a private key's body."""
    if "PRIVATE KEY" in text:
        yield from _KeyBlocks(text).spans()
    if "Private-Lines: " in text:
        yield from _find_putty_keys(text)


class _KeyBlocks:
    """One walk over the lines. `_open`: how many lines of head may still come before the body; None outside of a key."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._open: int | None = None
        self._closed = -1

    def spans(self) -> Iterator[SecretSpan]:
        starts = [0]
        for line in self._lines:
            starts.append(starts[-1] + len(line) + 1)
        for number in range(len(self._lines)):
            for line, start, end in self._scan_line(number):
                yield SecretSpan(starts[line] + start, starts[line] + end, SecretKind.PRIVATE_KEY)

    def _scan_line(self, number: int) -> Iterator[tuple[int, int, int]]:
        line = self._lines[number]
        if "PRIVATE KEY" not in line:
            yield from () if self._open is None else self._body(number, line)
            return
        begins, ends = _BEGINS.search(line), _ENDS.search(line)
        if ends is not None and (begins is None or ends.start() < begins.start()):
            yield from ((number, *run) for run in _find_before_end(line, ends.start()))
            yield from self._scan_above(number) if self._open is None else ()
        if ends is not None:
            self._open, self._closed = None, number
        if begins is not None:
            yield from ((number, *run) for run in self._in_line(line, begins))

    def _in_line(self, line: str, begins: "re.Match[str] | None") -> Iterator[tuple[int, int]]:
        """The bodies of all keys that begin in this line; the last may go on below."""
        while begins is not None:
            start = begins.end()
            ends = _ENDS.search(line, start)
            yield from _find_within_line(line, start, ends)
            self._open = _HEADERS if ends is None else None
            begins = None if ends is None else _BEGINS.search(line, ends.end())

    def _body(self, number: int, line: str) -> Iterator[tuple[int, int, int]]:
        match = _BODY.fullmatch(line)
        if match and (len(match[1]) >= _SHORTEST or self._is_last(number)):
            yield number, *match.span(1)
        elif self._open and _HEADER.fullmatch(line):
            self._open -= 1
        else:
            self._open = None

    def _is_last(self, number: int) -> bool:
        """A key's last lines are short: the rest of the body, and a PGP block's checksum."""
        return any("PRIVATE KEY" in line for line in self._lines[number + 1 : number + 1 + _MOST_SHORT_LINES])

    def _scan_above(self, number: int) -> Iterator[tuple[int, int, int]]:
        """Of a key whose end alone is shown, the lines above that are nothing but its body."""
        short: list[tuple[int, int, int]] = []  # the rest of the body and a checksum: theirs only below a line of it
        for above in range(number - 1, self._closed, -1):
            match = _BODY.fullmatch(self._lines[above])
            if match is None or (len(match[1]) < _SHORTEST and number - above > _MOST_SHORT_LINES):
                return
            short.append((above, *match.span(1)))
            if len(match[1]) >= _SHORTEST:
                yield from short
                short.clear()


def _find_within_line(line: str, start: int, ends: "re.Match[str] | None") -> Iterator[tuple[int, int]]:
    """The body in one line with the key's beginning, up to its end or as far as it goes on."""
    if ends is not None:
        body = _LONG_RUN.search(line, start, ends.start())
        if body is not None:
            yield start, ends.start()
        return
    while (match := _RUN.match(line, start)) is not None:
        yield match.span(1)
        start = match.end()


def _find_before_end(line: str, end: int) -> Iterator[tuple[int, int]]:
    """What goes on without a break up to the end of a key that began above, or nowhere."""
    start = len(line[:end].rstrip(_OF_BODY))
    if _LONG_RUN.search(line, start, end) is not None:
        yield start, end


_OF_BODY: Final = f"{string.ascii_letters}{string.digits}+/=\\"


def _find_putty_keys(text: str) -> Iterator[SecretSpan]:
    left = at = 0
    for line in text.split("\n"):
        if left:
            left -= 1
            if line.strip():
                yield SecretSpan(at, at + len(line), SecretKind.PRIVATE_KEY)
        elif match := _PUTTY.fullmatch(line):
            left = int(match[1])
        at += len(line) + 1
