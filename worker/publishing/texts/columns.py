"""Columns of a terminal: width, line breaks, colour and small charts. Without colour no escape sequence is written."""

import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from math import inf
from typing import Final

from worker.publishing.texts.markdown import visible

TAB: Final = 4


class Ink(StrEnum):
    """Select Graphic Rendition numbers."""

    BOLD = "1"
    DIM = "2"
    RED = "1;31"
    GREEN = "1;32"
    YELLOW = "1;33"


@dataclass(frozen=True)
class TerminalPage:
    """A terminal: its width in columns, and whether it shows colour."""

    width: int = 80
    has_colour: bool = False

    def ink(self, text: str, ink: Ink) -> str:
        """The text in colour, if the terminal shows colour."""
        return f"\x1b[{ink}m{text}\x1b[0m" if self.has_colour and text else text


def display_width(text: str) -> int:
    """Columns of a text: two for wide characters, none for combining ones."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


def _character_width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1


def wrap_lines(text: str, page: TerminalPage, indent: int = 0) -> list[str]:
    """Wrap text to the page. A word that is longer than a line stays whole, so that paths stay clickable."""
    width, lines = max(page.width - indent, 20), list[str]()
    for paragraph in visible(text).split("\n"):
        line = ""
        for word in paragraph.split():
            longer = f"{line} {word}" if line else word
            if line and display_width(longer) > width:
                lines.append(line)
                longer = word
            line = longer
        lines.append(line)
    return [" " * indent + line for line in lines]


def label_row(label: str, text: str, page: TerminalPage, columns: int) -> list[str]:
    """A bold label in so many columns, and the text beside it."""
    first, *rest = wrap_lines(text, page, indent=columns + 1)
    return [page.ink(label, Ink.BOLD) + " " * (columns + 1 - display_width(label)) + first.lstrip(), *rest]


def quote_lines(text: str, page: TerminalPage, indent: int) -> list[str]:
    """Lines of code behind a bar, cut at the page's edge so that each stays one line."""
    width = max(page.width - indent - 2, 20)
    lines = [_cut(visible(line).expandtabs(TAB), width) for line in text.split("\n")]
    return [" " * indent + page.ink(f"| {line}".rstrip(), Ink.DIM) for line in lines]


def _cut(line: str, width: int) -> str:
    if display_width(line) <= width:
        return line
    ends = [*accumulate(map(_character_width, line))]
    return f"{line[: bisect_right(ends, width - 2)]} …"


STEPS: Final = "▁▂▃▄▅▆▇█"
PLAIN_STEPS: Final = "_.-=+*%#"


def bar(share: float, width: int, page: TerminalPage) -> str:
    """A share from 0 to 1 as a bar of this width."""
    full = round(max(0.0, min(1.0, share)) * width)
    return ("█" * full + "░" * (width - full)) if page.has_colour else ("#" * full + "." * (width - full))


def sparkline(figures: Sequence[int | float | None], page: TerminalPage) -> str:
    """One character per figure, scaled from 0 to the largest; a blank for None."""
    steps = STEPS if page.has_colour else PLAIN_STEPS
    most = max((figure for figure in figures if figure is not None), default=0) or inf
    return "".join(" " if figure is None else steps[round(figure / most * (len(STEPS) - 1))] for figure in figures)
