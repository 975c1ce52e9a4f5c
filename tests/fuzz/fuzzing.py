"""Spoil texts by a seed, and report the inputs that raise or run too long.

`corpus/NAME.txt` is the first text of a target, `corpus/NAME.dict` has pieces of its format, one a line, as inside b"...".
"""

import signal
import time
import traceback
from ast import literal_eval
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Final

CORPUS: Final = Path(__file__).with_name("corpus")
LIMIT: Final = 5.0
"""Seconds of CPU time for one input, none of which is larger than a few hundred kilobytes."""

MOST: Final = 300_000
REPEATED: Final = 60_000
"""GitHub's limit of an issue text."""

ODD: Final = (
    b"\x00", b"\xff\xfe", b"\r", b"\r\n", b"\x0c", b"\xe2\x80\xa8", b"\xc2\xa0", b"\xef\xbb\xbf", b"\xcc\x81" * 20,
    "𝔸ß\u200d\u202e".encode(), b"\t", b" " * 40, b"99999999999999999999", b"-1",
)  # fmt: skip
BOMBS: Final = (
    b"a" * 50, b"(" * 20, b"[" * 20, b"{" * 20, b"<" * 20, b"*_" * 10, b"`" * 7, b"> " * 10, b"- " * 10, b"![](" * 6,
    b"<!--" * 4, b"&#x" * 5, b"\\" * 9, b'"' * 5, b"'''", b'"""', b"/*" * 3, b"#" * 7, b"a.b" * 9, b"| - " * 9,
    b" \t" * 20, b"\n" * 30,
)  # fmt: skip
Words = Sequence[bytes]


@dataclass(frozen=True, slots=True)
class Target:
    """A parser and its inputs; `run` returns for every text or raises one of `refused`."""

    name: str
    make: Callable[[Random], bytes]
    run: Callable[[bytes], object]
    refused: tuple[type[Exception], ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one input: CPU seconds, and the traceback of a finding."""

    raw: bytes
    seconds: float
    wrong: str | None


class TooSlow(BaseException):
    """A run takes too long; no parser can catch it."""


@cache
def read_words(name: str) -> Words:
    lines = (CORPUS / f"{name}.dict").read_text("ascii").splitlines()
    return tuple(literal_eval(f'b"{line}"') for line in lines)


def text_target(name: str, run: Callable[[str], object]) -> Target:
    """A target of texts made from the corpus text."""
    raw, pieces = (CORPUS / f"{name}.txt").read_bytes(), read_words(name)
    return Target(name, lambda random: spoil(raw, random, pieces), lambda raw: run(raw.decode("utf-8", "replace")))


# Ways to spoil a text


def spoil(raw: bytes, random: Random, pieces: Words = ()) -> bytes:
    """Change the text in a few ways, with *pieces* of the format inserted; at most MOST bytes."""
    for _ in range(random.choice((1, 1, 2, 3, 5, 9))):
        raw = random.choice(WAYS)(raw, random, pieces)[:MOST]
    return raw


def cut(raw: bytes, random: Random, _: Words) -> bytes:
    start, end = span(raw, random)
    return raw[:start] + raw[end:]


def repeat(raw: bytes, random: Random, _: Words) -> bytes:
    start, end = span(raw, random, most=60)
    piece = raw[start:end]
    return raw[:end] + piece * random.choice((2, 3, 10, 100, REPEATED // max(1, len(piece)))) + raw[end:]


def put(raw: bytes, random: Random, pieces: Words) -> bytes:
    at = random.randint(0, len(raw))
    piece = random.choice((*ODD, *BOMBS, *pieces, *pieces, *pieces))
    return raw[:at] + piece * random.choice((1, 1, 1, 2, 30, 1 + REPEATED // len(piece))) + raw[at:]


def move(raw: bytes, random: Random, _: Words) -> bytes:
    start, end = span(raw, random)
    rest = raw[:start] + raw[end:]
    at = random.randint(0, len(rest))
    return rest[:at] + raw[start:end] + rest[at:]


def change_lines(raw: bytes, random: Random, _: Words) -> bytes:
    lines = raw.split(b"\n")
    at = random.randrange(len(lines))
    match random.randrange(4):
        case 0:
            lines.insert(at, random.choice(lines))
        case 1:
            del lines[at]
        case 2:
            lines[at] = b" " * random.choice((1, 2, 4, 8, 300)) + lines[at]
        case _:
            random.shuffle(lines)
    return b"\n".join(lines)


def change_byte(raw: bytes, random: Random, _: Words) -> bytes:
    at = random.randint(0, len(raw))
    return raw[:at] + bytes([random.randrange(256)]) + raw[at + 1 :]


def join_lines(raw: bytes, random: Random, _: Words) -> bytes:
    return raw.replace(b"\n", random.choice((b"", b" ", b"\r")))


def span(raw: bytes, random: Random, most: int = 4_000) -> tuple[int, int]:
    start = random.randint(0, len(raw))
    return start, min(len(raw), start + random.randint(0, random.choice((3, 60, most))))


WAYS: Final = (cut, repeat, put, put, move, change_lines, change_lines, change_byte, join_lines)


# Running


def try_input(target: Target, seed: int, number: int) -> Outcome:
    raw = target.make(Random(f"{seed}:{number}"))  # noqa: S311 - repeatable inputs, not secrets
    started = time.process_time()
    wrong = None
    try:
        with limited():
            target.run(raw)
    except target.refused:
        pass
    except TooSlow:
        wrong = f"took longer than {LIMIT:.0f} s:\n{traceback.format_exc(limit=-6)}"
    except Exception:  # noqa: BLE001 - each of them is a finding
        wrong = traceback.format_exc(limit=-6)
    return Outcome(raw, time.process_time() - started, wrong)


@contextmanager
def limited() -> Generator[None]:
    def stop(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
