"""A rules file's Markdown as statements: list items and paragraphs, each with its lines, headings and code spans.

Does not understand a statement. Code blocks, quotations, tables and HTML comments state nothing. Invariant: one pass
over at most MOST_LINES lines of LONGEST characters; every statement knows the line of each of its characters.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.value import Value

MOST_LINES: Final = 5_000
LONGEST: Final = 2_000
MOST_IN_ONE: Final = 30
"""Lines of one paragraph; what is longer is prose, and its rest is left out."""

OPEN, CLOSE = "«", "»"
"""Around the number of a code span, in prose."""

_FENCE: Final = pattern(r"\s{0,12}(`{3,}|~{3,})")
_HEADING: Final = pattern(r"\s{0,3}(#{1,6})\s+(.*)")
_ITEM: Final = pattern(r"(\s{0,40})(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?(.*)")
_CODE: Final = pattern(r" {4}|\t")
_OTHER: Final = pattern(r"\s{0,3}(?:>|\|)")
_SPAN: Final = pattern(r"(`{1,3})(?!`)([^\n]{1,200}?)(?<!`)\1(?!`)")
_LINK: Final = pattern(r"\[([^\]\n]{1,200})\]\([^)\n]{0,500}\)")
_EMPHASIS: Final = pattern(r"\*{1,3}|(?<!\w)_{1,2}(?=\S)|(?<=\S)_{1,2}(?!\w)")
_MARKS: Final = pattern(r"^[\s✅❌⚠️🚫❗️⛔❕‼️:!-]+")
_BARE_CODE: Final = pattern(
    r"(?<![\w`«.])(?:[A-Za-z_][\w.]{0,60}\(\)|(?:console|System\.out|fmt|os|time|Thread)\.[A-Za-z]\w{0,30}"
    r"|(?:println|dbg|todo|unimplemented|eprintln|panic)!|(?:TODO|FIXME|XXX|HACK)(?=s?\b))"
)


class Statement(Value):
    """`prose` has `«0»`, `«1»` ... for the code `spans`. `lead` is the line that leads its list in."""

    prose: str
    spans: tuple[str, ...]
    headings: tuple[str, ...]
    lead: str
    lines: tuple[tuple[int, int], ...]
    """(offset in prose, line number), in order."""

    def line_at(self, offset: int) -> int:
        return self.lines[max(0, bisect_right(self.lines, (offset, MOST_LINES * 2)) - 1)][1]

    @cached_property
    def plain(self) -> str:
        return self.written(self.prose)

    def written(self, prose: str) -> str:
        """*prose* with its code spans as they were written."""
        return _NUMBER.sub(lambda found: f"`{self.spans[int(found[1])]}`", prose)


_NUMBER: Final = pattern(rf"{OPEN}(\d{{1,4}}){CLOSE}")


def statements(markdown: str) -> Iterator[Statement]:
    """The statements of *markdown*, in order."""
    reader = _Reader()
    for number, line in enumerate(markdown.split("\n", MOST_LINES)[:MOST_LINES], start=1):
        yield from reader.read(number, line[:LONGEST].rstrip("\r"))
    yield from reader.end()


@dataclass
class _Reader:
    """Where we are: in a fence, in a comment, under which headings, in which item."""

    fence: str = ""
    in_comment: bool = False
    headings: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    is_titled: bool = False
    lead: str = ""
    is_item: bool = False
    open: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    def read(self, number: int, line: str) -> Iterator[Statement]:
        if self._is_hidden(line):
            return
        heading, item = _HEADING.match(line), _ITEM.match(line)
        fence = _FENCE.match(line)
        if fence or heading or item or not line.strip() or _OTHER.match(line):
            yield from self.end()
        if fence:
            self.fence = fence[1]
        elif heading:
            self._title(len(heading[1]), heading[2].rstrip().rstrip("#").rstrip())
        elif item:
            self.is_item = True
            self.open = [(number, item[2])]
        elif line.strip() and not _OTHER.match(line) and not self._is_code(line):
            self.is_item = self.is_item and (bool(self.open) or line[0].isspace())
            self.open.append((number, line.strip()))

    def _is_hidden(self, line: str) -> bool:
        """In a fence or a comment, or the line that ends it; a comment that begins here hides its line."""
        if self.fence:
            if line.strip().startswith(self.fence) and not line.strip().strip(self.fence[0]):
                self.fence = ""
            return True
        if self.in_comment or line.lstrip().startswith("<!--"):
            self.in_comment = "-->" not in line
            return True
        return False

    def _is_code(self, line: str) -> bool:
        return not self.open and not self.is_item and _CODE.match(line) is not None

    def _title(self, level: int, text: str) -> None:
        """The file's own title heads everything, and so it says nothing of where a rule holds."""
        is_first, self.is_titled = not self.is_titled, True
        if is_first and level == 1:
            return
        self.headings = [*((above, title) for above, title in self.headings if above < level), (level, text)]
        self.lead, self.is_item = "", False

    def end(self) -> Iterator[Statement]:
        """What was open is a statement; a paragraph that ends in a colon also leads the list below it in."""
        if not self.open:
            return
        lines, self.open = self.open[:MOST_IN_ONE], []
        statement = _statement(lines, tuple(title for _, title in self.headings), self.lead)
        if not self.is_item:
            self.lead = statement.plain if statement.prose.endswith(":") else ""
        yield statement


def _statement(lines: list[tuple[int, str]], headings: tuple[str, ...], lead: str) -> Statement:
    spans: list[str] = []
    prose = ""
    starts: list[tuple[int, int]] = []
    for number, line in lines:
        starts.append((len(prose), number))
        prose += _prose(line, spans, is_first=not prose) + " "
    return Statement(prose.rstrip(), tuple(spans), headings, lead, tuple(starts))


def _prose(line: str, spans: list[str], *, is_first: bool) -> str:
    """One line without emphasis and links, its code as numbers; also what is code without being marked as such."""

    def numbered(found: re.Match[str]) -> str:
        spans.append((found[2] if found.lastindex else found[0]).strip())
        return f"{OPEN}{len(spans) - 1}{CLOSE}"

    kept = line.replace(OPEN, " ").replace(CLOSE, " ")
    kept = _SPAN.sub(numbered, kept)
    kept = _EMPHASIS.sub("", _LINK.sub(r"\1", kept))
    kept = _BARE_CODE.sub(numbered, kept)
    return (_MARKS.sub("", kept) if is_first else kept).replace("’", "'").strip()
