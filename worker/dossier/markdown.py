"""Markdown in blocks, bounded in time: tokens, fenced blocks, the block that is the author's case, comments and code spans."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

BACKTICKS: Final = pattern(r"`+")
NEWLINE: Final = pattern(r"\r\n?|\n")

QUOTATION_PREFIX: Final = " \t-*+.)0123456789"
"""Characters before the mark of a quotation: indentation and list marks."""

MOST_QUOTATION_LINES: Final = 100_000
"""How often lines may be looked at for quotations. From each line that begins one the parser looks through all that follow up to
a blank one, and it may start again at each: without a bound, a description of 60 KB takes ten seconds."""

MOST_LINES: Final = 20_000
"""Lines that are read: each may be a row of a table or an item of a list, for which the parser takes 50 microseconds. GitHub's
longest description has so many only where most are empty or hold a word."""


@dataclass(frozen=True)
class FencedBlock:
    """A fenced block outside quotations. `info_word`: the first word of its info string. `start` and `end` count lines from 0."""

    info_word: str
    text: str
    start: int = 0
    end: int = 0


def parse_blocks(text: str) -> "list[Token]":
    """Block tokens of *text*, in order; `inline` tokens carry the raw text of their block.

    Where there are too many quotations to read, their lines count as blank ones.
    """
    return _parser().parse(limit_text(text))


def limit_text(text: str) -> str:
    """The text as a parser of Markdown can read it in time."""
    if text.count("\n") + text.count("\r") >= MOST_LINES:
        last = next(islice(NEWLINE.finditer(text), MOST_LINES - 1, None), None)
        text = text if last is None else text[: last.end()]
    if text.count(">") * (text.count("\n") + text.count("\r")) <= MOST_QUOTATION_LINES:
        return text
    lines = NEWLINE.split(text)
    depths = [line.count(">") if line.lstrip(QUOTATION_PREFIX).startswith(">") else 0 for line in lines]
    looks = above = 0
    for line, depth in zip(lines, depths, strict=True):
        above = above + depth if line.strip() else 0
        looks += above
    if looks <= MOST_QUOTATION_LINES:
        return text
    return "\n".join("" if depth else line for line, depth in zip(lines, depths, strict=True))


def find_fences(text: str) -> Iterator[FencedBlock]:
    for token in skip_quotations(parse_blocks(text)):
        if token.type == "fence":
            start, end = token.map or (0, 0)
            yield FencedBlock((token.info.split(maxsplit=1) or [""])[0], token.content, start, end)


def skip_quotations(tokens: "Sequence[Token]") -> "Iterator[Token]":
    """The tokens outside of block quotations."""
    depth = 0
    for token in tokens:
        depth += {"blockquote_open": 1, "blockquote_close": -1}.get(token.type, 0)
        if depth == 0:
            yield token


def without_comments(text: str) -> str:
    """Take HTML comments out; one that never ends takes the rest."""
    kept: list[str] = []
    position = 0
    while (start := text.find("<!--", position)) >= 0:
        kept.append(text[position:start])
        end = text.find("-->", start + 4)
        position = end + 3 if end >= 0 else len(text)
    return "".join((*kept, text[position:]))


def without_code_spans(text: str) -> str:
    """Put a space for each code span: a run of backticks up to the next run of the same length."""
    runs = [(run.start(), run.end()) for run in BACKTICKS.finditer(text)]
    closers: dict[int, list[int]] = {}
    for index in range(len(runs) - 1, -1, -1):
        closers.setdefault(runs[index][1] - runs[index][0], []).append(index)
    kept: list[str] = []
    position = index = 0
    while index < len(runs):
        start, end = runs[index]
        waiting = closers[end - start]
        while waiting and waiting[-1] <= index:
            waiting.pop()
        if waiting:
            kept.append(text[position:start])
            index = waiting[-1]
            position = runs[index][1]
        index += 1
    return " ".join((*kept, text[position:]))


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # noqa: PLC0415 - 40 ms that a recorded dossier need not pay

    return MarkdownIt("commonmark").enable("table").disable("inline")


CASE_WORD: Final = "assay"
_DATA_WORDS: Final = frozenset({"", "yaml", "yml", "json", "jsonc", "json5", "text", "txt", "plaintext"})
_CASE_FIELD: Final = pattern(
    r"(?:^|[{,])[\s{,\[-]{0,80}[\"']?(?:ac[ _-]?coverage|addressed[ _-]?by)[\"']?\s*:", re.IGNORECASE | re.MULTILINE
)
"""A field that only a case has, as a key of YAML or JSON."""


def case_fences(body: str) -> tuple[FencedBlock, ...]:
    """The blocks with the word `assay`, or without any of those the blocks of data that hold a case's fields.

    A block in a quotation, in an HTML comment (a template's example) or inside another block is none.
    """
    lower = body.casefold()
    if CASE_WORD not in lower and "coverage" not in lower and "addressed" not in lower:
        return ()
    fences = tuple(find_fences(body))
    named = tuple(fence for fence in fences if fence.info_word.casefold() == CASE_WORD)
    return named or tuple(
        fence for fence in fences if fence.info_word.casefold() in _DATA_WORDS and _CASE_FIELD.search(fence.text)
    )


def case_fence(body: str) -> FencedBlock | None:
    """The block that counts: the last one, since agents append a new case to the description after a reject."""
    return next(reversed(case_fences(body)), None)
