"""Which lines of a document are prose, by the block that they stand in.

Markdown is read by a parser of CommonMark, reStructuredText by its indentation. Does not look into a line (`sentences` does).
Invariant: a line is prose only where it is proved to be: code, literals, HTML, data, directives and templates are none.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from worker.domain.pattern import pattern
from worker.dossier.markdown import parse_blocks
from worker.signals.safe_change.sentences import DocumentSyntax

_LONE_RETURN: Final = pattern(r"\r(?!\n)")
_TEMPLATE: Final = pattern(
    r"^[^`\n]*\{%|^\s*(?:--8<--|<<<|@include|@import|!include|\\input|\\include|@\[code)", re.MULTILINE
)
_COMMENT: Final = pattern(r"<!--")
_DEFINITION: Final = pattern(r" {0,3}\[[^\[\]`^]+\]:[ \t]+<?https?://[^\s<>]+>?[ \t]*\r?")


def find_undecidable_reason(text: str) -> str | None:
    """Say why no line of the document can be proved to be prose; None where lines can be told apart."""
    if text.startswith("#!"):
        return "the document starts like a script"
    if _LONE_RETURN.search(text):
        return "the document holds a carriage return that ends no line"
    if _TEMPLATE.search(text):
        return "a program fills in this document: it holds a template or an include"
    return None


def find_prose_lines(text: str, syntax: DocumentSyntax) -> frozenset[int]:
    """Return the numbers of the lines that are prose, or empty and between prose."""
    lines = text.replace("\r\n", "\n").split("\n")
    if syntax is DocumentSyntax.RST:
        prose = {*_find_lines_outside_literals(lines)}
    else:
        prose = {*_find_paragraph_lines(text, lines)} - {*_front_matter(lines)} - {*_find_container_lines(lines)}
    return frozenset(prose.union(_find_empty_lines(lines, prose)))


def _find_empty_lines(lines: Sequence[str], prose: Collection[int]) -> Iterator[int]:
    """Empty lines with prose above or below them, or nothing."""
    waiting: list[int] = []
    is_beside = True
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            waiting.append(number)
            continue
        if is_beside or number in prose:
            yield from waiting
        waiting = []
        is_beside = number in prose
    yield from waiting


def _find_paragraph_lines(text: str, lines: Sequence[str]) -> Iterator[int]:
    """Lines of paragraphs, headings and table rows, and definitions of links."""
    covered: set[int] = set()
    for token in parse_blocks(text):
        if token.map is None or token.type in {
            "bullet_list_open",
            "ordered_list_open",
            "list_item_open",
            "blockquote_open",
            "table_open",
        }:
            continue
        numbers = range(token.map[0] + 1, token.map[1] + 1)
        if token.type in {"inline", "tr_open"}:
            shown = lines[token.map[0] : token.map[1]]
            if not any(_COMMENT.search(line) for line in shown) and all(line.count("`") % 2 == 0 for line in shown):
                yield from numbers
        covered.update(numbers)
    yield from (
        number for number, line in enumerate(lines, start=1) if number not in covered and _DEFINITION.fullmatch(line)
    )


_METADATA: Final = pattern(r"[A-Za-z][\w -]{0,40}:(?:\s|$)")


def _front_matter(lines: Sequence[str]) -> Iterator[int]:
    """The lines of the metadata that a document begins with: up to its closing mark, or its first empty line."""
    mark = lines[0].strip()
    if mark not in {"---", "+++", ";;;"} and not _METADATA.match(lines[0]):
        return
    closing = {mark, "..."} if mark in {"---", "+++", ";;;"} else {""}
    for number, line in enumerate(lines, start=1):
        yield number
        if number > 1 and line.strip() in closing:
            return


_CONTAINER: Final = pattern(r"\s*(:{3,}|\${2,}|\\\[|\\begin)")


def _find_container_lines(lines: Sequence[str]) -> Iterator[int]:
    """Lines from the mark of an extension of Markdown to the next such mark: what they hold, the extension decides."""
    inside = False
    for number, line in enumerate(lines, start=1):
        is_mark = _CONTAINER.match(line) is not None
        if is_mark or inside:
            yield number
        inside ^= is_mark


_DIRECTIVE: Final = pattern(r"(\s*)(?:[-*+]\s+)?\.\.(?:\s+([\w:-]+)::|\s|$)")
_PROSE_DIRECTIVES: Final = pattern(
    r"note|warning|tip|important|caution|danger|attention|hint|seealso|version(?:added|changed)|deprecated"
)
_DATA: Final = pattern(r"\s*(?::[\w -]+:(?:\s|$)|__\s)")
_EXAMPLE: Final = pattern(r"\s*>>>")


def _find_lines_outside_literals(lines: Sequence[str]) -> Iterator[int]:
    """Lines outside of literal blocks, comments, examples, fields, and directives whose content is no prose."""
    literal: int | None = None
    in_example = False
    for number, line in enumerate(lines, start=1):
        in_example = bool(line.strip()) and (in_example or _EXAMPLE.match(line) is not None)
        if not line.strip() or in_example:
            continue
        indent = len(line) - len(line.lstrip())
        if literal is not None and indent > literal:
            continue
        literal = None
        directive = _DIRECTIVE.match(line)
        if directive is not None:
            literal = None if _PROSE_DIRECTIVES.fullmatch(directive[2] or "") else indent
        elif _DATA.match(line):
            literal = indent
        else:
            yield number
            literal = indent if line.rstrip().endswith("::") else None


_TITLE: Final = pattern(r"^\S.{2,}\n([=~^*#+-])\1{2,}\s*$", re.MULTILINE)


def has_title(text: str) -> bool:
    """Whether the text has an underlined title, as reStructuredText does and lists for programs do not."""
    return _TITLE.search(text) is not None
