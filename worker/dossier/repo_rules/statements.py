"""A rules file's Markdown as statements: headings, list items, paragraphs and rows of tables, with their lines and code spans.

Code blocks and HTML comments state nothing. One pass over at most MOST_LINES lines of LONGEST characters.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from worker.domain.pattern import pattern

MOST_LINES: Final = 5_000
LONGEST: Final = 2_000
MOST_CELLS: Final = 10
MOST_IN_ONE: Final = 30
"""Lines of one paragraph; what is longer is prose, and its rest is left out."""

MOST_BELOW: Final = 12
"""Lines under a heading that may qualify it."""

OPEN, CLOSE = "«", "»"
"""Around the number of a code span, in prose."""

_FENCE: Final = pattern(r"\s{0,12}(`{3,}|~{3,})")
_HEADING: Final = pattern(r"\s{0,3}(#{1,6})\s+(.*)")
_UNDERLINE: Final = pattern(r"\s{0,3}(?:=+|-{2,})\s*")
_NUMBERED: Final = pattern(r"^(?:\d{1,3}(?:\.\d{1,3})*[.):]?\s+)+(?=\S)")
_ITEM: Final = pattern(r"(\s{0,40})(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?(.*)")
_CODE: Final = pattern(r" {4}|\t")
_QUOTED: Final = pattern(r"\s{0,3}(?:>\s?)+(?:\[!\w{1,20}\]\s*$)?")
_ROW: Final = pattern(r"\s{0,3}\|")
_RULE_LINE: Final = pattern(r"[\s|:-]+")
_SPAN: Final = pattern(r"(`{1,3})(?!`)([^\n]{1,200}?)(?<!`)\1(?!`)")
_LINK: Final = pattern(r"\[([^\]\n]{1,200})\]\([^)\n]{0,500}\)")
_EMPHASIS: Final = pattern(r"\*{1,3}|(?<!\w)_{1,2}(?=\S)|(?<=\S)_{1,2}(?!\w)")
_MARKS: Final = pattern(r"^[\s✅⚠️❗️❕‼️:!-]+")
_BARE_CODE: Final = pattern(
    r"(?<![\w`«./-])(?:[A-Za-z_][\w.]{0,60}\(\)|(?:console|System\.out|fmt|os|time|Thread)\.[A-Za-z]\w{0,30}(?:\(\))?"
    r"|(?:println|dbg|todo|unimplemented|eprintln|panic)!|(?:TODO|FIXME|XXX|HACK)(?=s?\b)|@ts-[a-z-]{3,20}|(?:(?<=use )|(?<=call )|(?<=using ))(?:eval|print)(?=$|[.,;])"
    r"|(?:[\w.@-]{1,60}/){1,12}(?:(?=[\s,;:.)]|$)|\*{1,2}|[\w*-]{1,60}(?:\.[a-z]{1,10}){1,2}\b)"
    r"|[\w-]{2,60}\.(?:md|rst|json|lock|toml|ya?ml|proto|sql|mod|sum|xml|gradle|cfg|ini)\b)"
)
"""Code and paths that are not marked as such."""

_CODE_PHRASES: Final = (
    (
        pattern(r"\b(?:debug(?:ging)? )?print(?= statements?\b| calls?\b)|\bdebug(?:ging)? prints\b", re.IGNORECASE),
        "print()",
    ),
    (pattern(r"\b(?:wildcard|star)(?= imports?\b(?! \())", re.IGNORECASE), "import *"),
    (pattern(r"\bdefault(?= exports?\b(?! \())", re.IGNORECASE), "export default"),
    (pattern(r"\bbare (?:«)?except:?(?= |s\b|\.|$)", re.IGNORECASE), "except:"),
)
"""Code that words name."""


@dataclass(frozen=True)
class Statement:
    """`prose` has `«0»`, `«1»` ... for the code `spans`. `lead` is the line that leads its list in."""

    prose: str
    spans: tuple[str, ...]
    headings: tuple[str, ...]
    lead: str
    lines: tuple[tuple[int, int], ...]
    """(offset in prose, line number), in order."""

    code_phrases: tuple[tuple[int, str], ...] = ()
    """(number of a code span, the words that name it)."""

    following_text: str = ""
    """The lines under a heading, which may make an exception of it."""

    def line_at(self, offset: int) -> int:
        return self.lines[max(0, bisect_right(self.lines, (offset, MOST_LINES * 2)) - 1)][1]

    @cached_property
    def plain_text(self) -> str:
        return self.restore_spans(self.prose)

    def restore_spans(self, prose: str) -> str:
        """*prose* with its code spans as they were written."""
        phrases = dict(self.code_phrases)
        return _NUMBER.sub(lambda match: phrases.get(int(match[1])) or f"`{self.spans[int(match[1])]}`", prose)


_NUMBER: Final = pattern(rf"{OPEN}(\d{{1,4}}){CLOSE}")


def parse_statements(markdown: str) -> Iterator[Statement]:
    """The statements of *markdown*, in order."""
    lines = [line[:LONGEST].rstrip("\r") for line in markdown.split("\n", MOST_LINES)[:MOST_LINES]]
    reader = _StatementReader(lines)
    for number, line in enumerate(lines, start=1):
        yield from reader.read(number, line)
    yield from reader.end()


class _StatementReader:
    """The place in the file: in a fence, in a comment, under which headings, in which item."""

    def __init__(self, lines: list[str]) -> None:
        self.all = lines
        self.fence = ""
        self.in_comment = False
        self.headings: list[tuple[int, str]] = []
        self.is_titled = False
        self.lead = ""
        self.is_item = False
        self.open: list[tuple[int, str]] = []
        self.columns: tuple[str, ...] = ()

    def read(self, number: int, line: str) -> Iterator[Statement]:
        line = line[match.end() :] if (match := _QUOTED.match(line)) else line
        if self._is_hidden(line):
            return
        if _ROW.match(line):
            yield from self.end()
            yield from self._row(number, line)
            return
        self.columns = ()
        if _UNDERLINE.fullmatch(line) and len(self.open) == 1 and not self.is_item:
            first, text = self.open.pop()
            yield from self._title(first, 1 if "=" in line else 2, text)
            return
        heading, item = _HEADING.match(line), _ITEM.match(line)
        fence = _FENCE.match(line)
        if fence or heading or item or not line.strip():
            yield from self.end()
        if fence:
            self.fence = fence[1]
            self.lead = self.lead if self.is_item else ""  # what it led in was this code
        elif heading:
            yield from self._title(number, len(heading[1]), heading[2].rstrip().rstrip("#").rstrip())
        elif item:
            self.is_item = True
            self.open = [(number, item[2])]
        elif line.strip() and (self.open or self.is_item or not _CODE.match(line)):
            self.is_item = self.is_item and (bool(self.open) or line[0].isspace())
            self.open.append((number, line.strip()))

    def _row(self, number: int, line: str) -> Iterator[Statement]:
        """A row as one statement, and each of its cells as an item under the head of its column."""
        cells = tuple(cell.strip() for cell in line.strip().strip("|").split("|")[:MOST_CELLS])
        if not self.columns:
            self.columns = cells
            return
        if _RULE_LINE.fullmatch(line):
            return
        headings = tuple(title for _, title in self.headings)
        yield _statement([(number, " | ".join(filter(None, cells)))], headings, "")
        for head, cell in zip(self.columns, cells, strict=False):
            if head and cell:
                yield _statement([(number, cell)], headings, head)

    def _is_hidden(self, line: str) -> bool:
        """Whether it is in a fence or a comment, their last lines included; a comment that begins here hides its line."""
        if self.fence:
            if line.strip().startswith(self.fence) and not line.strip().strip(self.fence[0]):
                self.fence = ""
            return True
        if self.in_comment or line.lstrip().startswith("<!--"):
            self.in_comment = "-->" not in line
            return True
        return False

    def _title(self, number: int, level: int, text: str) -> Iterator[Statement]:
        """Enter a heading. The file's own title heads everything, and so tells nothing of where a rule holds."""
        is_first, self.is_titled = not self.is_titled, True
        above = [(outer, title) for outer, title in self.headings if outer < level]
        below = " . ".join(_lines_below(self.all[number : number + MOST_BELOW]))
        plain = _NUMBERED.sub("", text, count=1)
        yield _statement([(number, plain)], tuple(title for _, title in above), "", below)
        if is_first and level == 1:
            return
        self.headings = [*above, (level, text)]
        self.lead, self.is_item = "", False

    def end(self) -> Iterator[Statement]:
        """End the open statement; a paragraph that ends in a colon also leads the list below it in."""
        if not self.open:
            return
        lines, self.open = self.open[:MOST_IN_ONE], []
        lead = self.lead if self.is_item else ""
        statement = _statement(lines, tuple(title for _, title in self.headings), lead)
        if not self.is_item:
            self.lead = statement.plain_text if statement.prose.endswith(":") else ""
        yield statement


def _lines_below(lines: list[str]) -> Iterator[str]:
    """The lines under a heading, up to the next one."""
    for line in lines:
        if _HEADING.match(line):
            return
        if line.strip() and not _UNDERLINE.fullmatch(line):
            yield line.strip()


def _statement(lines: list[tuple[int, str]], headings: tuple[str, ...], lead: str, below: str = "") -> Statement:
    spans: list[str] = []
    spoken: list[tuple[int, str]] = []
    prose = ""
    starts: list[tuple[int, int]] = []
    for number, line in lines:
        starts.append((len(prose), number))
        prose += _number_code_phrases(_prose(line, spans, is_first=not prose), spans, spoken) + " "
    return Statement(prose.rstrip(), tuple(spans), headings, lead, tuple(starts), tuple(spoken), below)


def _number_code_phrases(prose: str, spans: list[str], spoken: list[tuple[int, str]]) -> str:
    """*prose* with numbers for the code that its words name."""
    for regex, code in _CODE_PHRASES:
        if match := regex.search(prose):
            spoken.append((len(spans), match[0]))
            spans.append(code)
            prose = f"{prose[: match.start()]}{OPEN}{len(spans) - 1}{CLOSE}{prose[match.end() :]}"
    return prose


def _prose(line: str, spans: list[str], *, is_first: bool) -> str:
    """One line without emphasis and links, its code as numbers, also where that is not marked as code."""

    def numbered(match: re.Match[str]) -> str:
        spans.append((match[2] if match.lastindex else match[0]).strip())
        return f"{OPEN}{len(spans) - 1}{CLOSE}"

    kept = line.replace(OPEN, " ").replace(CLOSE, " ")
    kept = _SPAN.sub(numbered, kept)
    kept = _EMPHASIS.sub("", _LINK.sub(r"\1", kept))
    kept = _BARE_CODE.sub(numbered, kept)
    return (_MARKS.sub("", kept) if is_first else kept).replace("’", "'").strip()
