"""Ways to spoil a text: what people, mail programs and attackers do to Markdown, code and diffs.

Knows no format. Invariant: every change comes from the given Random, and no result is larger than MOST bytes.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Final

MOST: Final = 300_000
_REPEATED: Final = 60_000
"""As long as GitHub lets the text of an issue be."""

ODD: Final = (
    b"\x00",
    b"\xff\xfe",
    b"\r",
    b"\r\n",
    b"\x0c",
    b"\xe2\x80\xa8",
    b"\xc2\xa0",
    b"\xef\xbb\xbf",
    b"\xcc\x81" * 20,
    "𝔸ß\u200d\u202e".encode(),
    b"\t",
    b" " * 40,
    b"99999999999999999999",
    b"-1",
)
BOMBS: Final = (
    b"a" * 50,
    b"(" * 20,
    b"[" * 20,
    b"{" * 20,
    b"<" * 20,
    b"*_" * 10,
    b"`" * 7,
    b"> " * 10,
    b"- " * 10,
    b"![](" * 6,
    b"<!--" * 4,
    b"&#x" * 5,
    b"\\" * 9,
    b'"' * 5,
    b"'''",
    b'"""',
    b"/*" * 3,
    b"#" * 7,
    b"a.b" * 9,
    b"| - " * 9,
    b" \t" * 20,
    b"\n" * 30,
)


def spoiled(raw: bytes, random: Random, words: Sequence[bytes] = ()) -> bytes:
    """The text after a few changes; *words* are pieces of the format that may be put in anywhere."""
    for _ in range(random.choice((1, 1, 2, 3, 5, 9))):
        raw = random.choice(_WAYS)(raw, random, words)[:MOST]
    return raw


def _cut(raw: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    start, end = _span(raw, random)
    return raw[:start] + raw[end:]


def _repeat(raw: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    start, end = _span(raw, random, most=60)
    piece = raw[start:end]
    times = random.choice((2, 3, 10, 100, _REPEATED // max(1, len(piece))))
    return raw[:end] + piece * times + raw[end:]


def _put(raw: bytes, random: Random, words: Sequence[bytes]) -> bytes:
    at = random.randint(0, len(raw))
    piece = random.choice((*ODD, *BOMBS, *words, *words, *words))
    return raw[:at] + piece * random.choice((1, 1, 1, 2, 30, 1 + _REPEATED // len(piece))) + raw[at:]


def _move(raw: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    start, end = _span(raw, random)
    rest = raw[:start] + raw[end:]
    at = random.randint(0, len(rest))
    return rest[:at] + raw[start:end] + rest[at:]


def _lines(raw: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    lines = raw.split(b"\n")
    at = random.randrange(len(lines))
    what = random.randrange(4)
    if what == 0:
        lines.insert(at, random.choice(lines))
    elif what == 1:
        del lines[at]
    elif what == 2:
        lines[at] = b" " * random.choice((1, 2, 4, 8, 300)) + lines[at]
    else:
        random.shuffle(lines)
    return b"\n".join(lines)


def _byte(raw: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    at = random.randint(0, len(raw))
    return raw[:at] + bytes([random.randrange(256)]) + raw[at + 1 :]


def _one_line(raw: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    return raw.replace(b"\n", random.choice((b"", b" ", b"\r")))


def _span(raw: bytes, random: Random, most: int = 4_000) -> tuple[int, int]:
    start = random.randint(0, len(raw))
    return start, min(len(raw), start + random.randint(0, random.choice((3, 60, most))))


_WAYS: Final[tuple[Callable[[bytes, Random, Sequence[bytes]], bytes], ...]] = (
    _cut,
    _repeat,
    _put,
    _put,
    _move,
    _lines,
    _lines,
    _byte,
    _one_line,
)
