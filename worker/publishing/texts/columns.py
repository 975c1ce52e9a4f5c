"""Columns of a terminal: how wide text is, where it breaks, and colour.

Does not know verdicts. Invariant: colour changes no text, and without it no escape sequence is written.
"""

import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import accumulate
from typing import Final

from worker.domain.value import Value
from worker.publishing.texts.markdown import visible

TAB: Final = 4


class Ink(StrEnum):
    """Select Graphic Rendition numbers."""

    BOLD = "1"
    DIM = "2"
    RED = "1;31"
    GREEN = "1;32"
    YELLOW = "1;33"


class TerminalPage(Value):
    """What is written on: its width in columns, and whether it shows colour."""

    width: int = 80
    has_colour: bool = False

    def ink(self, text: str, ink: Ink) -> str:
        """The text in colour, where there is colour."""
        return f"\x1b[{ink}m{text}\x1b[0m" if self.has_colour and text else text


def display_width(text: str) -> int:
    """How many columns a text takes: wide characters two, combining ones none."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


def _character_width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1


def wrap_lines(text: str, page: TerminalPage, indent: int = 0) -> list[str]:
    """Words in lines that fit the page. A word that is longer than a line stays whole (paths stay clickable)."""
    room = max(page.width - indent, 20)
    return [" " * indent + line for paragraph in visible(text).split("\n") for line in _lines(paragraph, room)]


def _lines(paragraph: str, room: int) -> Iterator[str]:
    line = ""
    for word in paragraph.split():
        longer = f"{line} {word}" if line else word
        if line and display_width(longer) > room:
            yield line
            longer = word
        line = longer
    yield line


def quote_lines(text: str, page: TerminalPage, indent: int) -> list[str]:
    """Lines of code behind a bar, cut at the page's edge so that none is mistaken for another."""
    margin = " " * indent
    room = max(page.width - indent - 2, 20)
    return [
        margin + page.ink(f"| {_cut(visible(line).expandtabs(TAB), room)}".rstrip(), Ink.DIM)
        for line in text.split("\n")
    ]


def _cut(line: str, room: int) -> str:
    if display_width(line) <= room:
        return line
    ends = [*accumulate(map(_character_width, line))]
    return f"{line[: bisect_right(ends, room - 2)]} …"


STEPS: Final = "▁▂▃▄▅▆▇█"
PLAIN_STEPS: Final = "_.-=+*%#"


def bar(share: float, width: int, page: TerminalPage) -> str:
    """A share from 0 to 1 as a bar."""
    full = round(max(0.0, min(1.0, share)) * width)
    return ("█" * full + "░" * (width - full)) if page.has_colour else ("#" * full + "." * (width - full))


def sparkline(figures: Sequence[int | float | None], page: TerminalPage) -> str:
    """One character a figure, from 0 to the largest; a blank where there is none."""
    steps = STEPS if page.has_colour else PLAIN_STEPS
    most = max((figure for figure in figures if figure is not None), default=0)
    return "".join(" " if figure is None else steps[_step(figure, most)] for figure in figures)


def _step(figure: float, most: float) -> int:
    return round(figure / most * (len(STEPS) - 1)) if most else 0
