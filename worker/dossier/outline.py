"""An issue's Markdown as an outline: titles, list items, table rows, paragraphs, in order.

Says what stands where, not what it means (`worker.dossier.criteria` does). Invariant: code (but for Gherkin outside of
lists), quotations and HTML comments give no part; a line in bold or a `<summary>` is a title below all headings.
"""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern
from worker.domain.value import Value
from worker.dossier.markdown import parse_blocks, skip_quotations, without_comments

if TYPE_CHECKING:
    from markdown_it.token import Token

LABEL_LEVEL: Final = 7
"""The level of a title that is no heading: bold text, `<summary>`, a line that ends in a colon."""

BOLD_LINE: Final = pattern(r"(?:\*\*|__)([^*_\n][^\n]*?)(?:\*\*|__)\s*:?")
COLON_LINE: Final = pattern(r"([^\n:]{1,60}):")
SUMMARY: Final = pattern(r"<summary>(.{0,200}?)</summary>", re.IGNORECASE | re.DOTALL)
TAG: Final = pattern(r"</?\w+>")
GHERKIN: Final = frozenset({"gherkin", "cucumber", "feature"})
FEATURE: Final = pattern(r"\s*(?:[@#][^\n]*\n\s*){0,10}(?:Feature|Background|Scenario(?: Outline| Template)?):")
BOX: Final = pattern(r"\[[ xX]\]\s+")


class OutlineTitle(Value):
    """`level` counts from 1 (`#`); LABEL_LEVEL is the lowest. An empty text ends a `<details>`."""

    text: str
    level: int


class ListItem(Value):
    """The first paragraph of a list item. `depth` counts lists from 1."""

    text: str
    depth: int
    is_task: bool


class TableRow(Value):
    """A table's row under its header."""

    header: tuple[str, ...]
    cells: tuple[str, ...]


class Paragraph(Value):
    """Text outside lists."""

    text: str


class GherkinBlock(Value):
    """A fenced block of Gherkin: what it is marked as, or how an unmarked one begins."""

    text: str


OutlinePart = OutlineTitle | ListItem | TableRow | Paragraph | GherkinBlock


def parse_outline(markdown: str) -> Iterator[OutlinePart]:
    """The parts of *markdown*, in order."""
    reader = _OutlineReader()
    for token in skip_quotations(parse_blocks(markdown)):
        yield from reader.read(token)


class _OutlineReader:
    """Where we are: in which heading, how deep in lists, in which row."""

    def __init__(self) -> None:
        self.heading = 0
        self.depth = 0
        self.item_begins = False
        self.header: tuple[str, ...] = ()
        self.cells: list[str] = []
        self.in_table = False

    def read(self, token: "Token") -> Iterable[OutlinePart]:
        match token.type:
            case "inline":
                return self._text(token.content)
            case "html_block":
                return _read_html_titles(token.content)
            case "tr_close":
                return self._row()
            case "fence":
                return () if self.depth else _steps(token)
            case _:
                self._enter_or_leave(token)
                return ()

    def _enter_or_leave(self, token: "Token") -> None:
        match token.type:
            case "heading_open":
                self.heading = int(token.tag[1:])
            case "heading_close":
                self.heading = 0
            case "bullet_list_open" | "ordered_list_open":
                self.depth += 1
            case "bullet_list_close" | "ordered_list_close":
                self.depth -= 1
            case "list_item_open":
                self.item_begins = True
            case "list_item_close":
                self.item_begins = False
            case "table_open" | "table_close":
                self.in_table, self.header = token.type == "table_open", ()
            case _:
                pass

    def _text(self, text: str) -> Iterable[OutlinePart]:
        if self.heading:
            return (OutlineTitle(text, self.heading),)
        if self.in_table:
            self.cells.append(text)
            return ()
        if self.item_begins:
            self.item_begins = False
            return (_item(text, self.depth),)
        return () if self.depth else _paragraph(text)

    def _row(self) -> Iterable[OutlinePart]:
        cells, self.cells = tuple(self.cells), []
        if self.header:
            return (TableRow(self.header, cells),)
        self.header = cells
        return ()


def _steps(fence: "Token") -> Iterable[OutlinePart]:
    marked = fence.info.casefold().split()[:1]
    is_gherkin = marked[0] in GHERKIN if marked else FEATURE.match(fence.content) is not None
    return (GherkinBlock(fence.content),) if is_gherkin else ()


def _item(text: str, depth: int) -> ListItem:
    box = BOX.match(text)
    return ListItem(text[box.end() :] if box else text, depth, is_task=box is not None)


def _paragraph(text: str) -> Iterable[OutlinePart]:
    label = BOLD_LINE.fullmatch(text) or COLON_LINE.fullmatch(text)
    if label:
        return (OutlineTitle(label[1], LABEL_LEVEL),)
    first, _, rest = text.partition("\n")
    label = BOLD_LINE.fullmatch(first)
    return (OutlineTitle(label[1], LABEL_LEVEL), Paragraph(rest)) if label else (Paragraph(text),)


def _read_html_titles(html: str) -> Iterable[OutlinePart]:
    """The titles that an HTML block's `<summary>` sets, and the end of its `<details>`."""
    shown = without_comments(html)
    titles = [OutlineTitle(TAG.sub("", summary).strip(), LABEL_LEVEL) for summary in SUMMARY.findall(shown)]
    return [*titles, OutlineTitle("", LABEL_LEVEL)] if "</details>" in shown.lower() else titles
