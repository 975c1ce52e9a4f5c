"""Documents: the blocks of Markdown, bounded in time, which lines of a document are prose, and what each of them says.

Markdown is read by a parser of CommonMark, reStructuredText by its indentation. A line is prose only where it is proved to be:
code, literals, HTML, data, directives and templates are none. A line is cut into atoms: words, links, code, names and marks of
the structure; a character that no rule names is part of a name.
"""

import re
from collections.abc import Collection, Generator, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

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


_LONE_RETURN: Final = pattern(r"\r(?!\n)")
_TEMPLATE: Final = pattern(
    r"^[^`\n]*\{%|^\s*(?:--8<--|<<<|@include|@import|!include|\\input|\\include|@\[code)", re.MULTILINE
)
_COMMENT: Final = pattern(r"<!--")
_LINK_DEFINITION: Final = pattern(r" {0,3}\[[^\[\]`^]+\]:[ \t]+<?https?://[^\s<>]+>?[ \t]*\r?")
_METADATA: Final = pattern(r"[A-Za-z][\w -]{0,40}:(?:\s|$)")
_CONTAINER: Final = pattern(r"\s*(:{3,}|\${2,}|\\\[|\\begin)")
_DIRECTIVE: Final = pattern(r"(\s*)(?:[-*+]\s+)?\.\.(?:\s+([\w:-]+)::|\s|$)")
_PROSE_DIRECTIVES: Final = pattern(
    r"note|warning|tip|important|caution|danger|attention|hint|seealso|version(?:added|changed)|deprecated"
)
_DATA: Final = pattern(r"\s*(?::[\w -]+:(?:\s|$)|__\s)")
_EXAMPLE: Final = pattern(r"\s*>>>")
_TITLE: Final = pattern(r"^\S.{2,}\n([=~^*#+-])\1{2,}\s*$", re.MULTILINE)
_CONTAINER_BLOCKS: Final = frozenset(
    {"bullet_list_open", "ordered_list_open", "list_item_open", "blockquote_open", "table_open"}
)
_LONGEST: Final = 4_000
_ATOM: Final = pattern(
    r"(?P<role>:[a-zA-Z:+-]{1,40}:|\{[a-zA-Z:+-]{1,40}\})?(?P<ticks>`+)(?!`)(?P<code>[^`]+)(?P=ticks)(?!`)(?P<reference>_{0,2})"
    r"|(?P<image>!?)\[(?P<label>(?:[^\[\]`]|`[^`]*`){1,500})\](?:\((?P<target>[^()\s]*)\)|\[(?P<name>[^\[\]]*)\]|(?P<defined>:[ \t]+\S+))?"
    r"|<?(?P<url>https?://[^\s<>`\"'()\[\]]*[^\s<>`\"'()\[\].,:;!?*_])>?"
)
_ADDRESSED: Final = pattern(r"(.*\S)\s+<([^<>\s]+)>")
_QUOTE: Final = pattern(r"[\s>]*")
_ITEM_MARK: Final = pattern(r"(?:[-*+]|\d{1,3}[.)]|#\.)[ \t]+")
_BOX: Final = pattern(r"\[[ xX]\][ \t]+")
_HEADING: Final = pattern(r"#{1,6}[ \t]+")
_DEFINITION: Final = pattern(r":[ \t]+")
_COLUMN: Final = pattern(r"(?<=[^\s.:!?]) {2,}(?=\S)")
_PIPE: Final = pattern(r"\|")
_UNDERLINE: Final = pattern(r"([=~^\"+#*-])\1{2,}\s*")
_LETTER: Final = "A-Za-zÀ-ÖØ-öø-ÿŒœŠšŽžŸ"
_WORD: Final = pattern(
    rf"[{_LETTER}]{{1,30}}(?:['’-][{_LETTER}]{{1,30}})*['’]?"
    r"|v?\d{1,4}(?:[.,]\d{1,4}){0,2}[A-Za-z]{0,3}%?\+?|\d{4}-\d\d-\d\d|\d{1,4}[-–][\dA-Za-z]{1,12}|[A-Za-z]{1,12}-?\d{1,3}(?:\.\d{1,2})?"
    r"|[A-Z]{1,5}/[A-Z]{1,5}|[A-Z][a-z]{1,15}(?:\.js|@[A-Z][a-z]{1,15})|and/or|n/a|e\.g|i\.e|[-–—&]|"
)
_LEADING: Final = "*_(\"'“‘"
_TRAILING: Final = "*_)\"'”’.,:;!?…"


class DocumentSyntax(Enum):
    MARKDOWN = "markdown"
    RST = "rst"


def find_undecidable_reason(text: str) -> str | None:
    """Why no line of the document can be proved to be prose; None where lines can be told apart."""
    if text.startswith("#!"):
        return "the document starts like a script"
    if _LONE_RETURN.search(text):
        return "the document holds a carriage return that ends no line"
    if _TEMPLATE.search(text):
        return "a program fills in this document: it holds a template or an include"
    return None


def has_title(text: str) -> bool:
    """Whether the text has an underlined title, as reStructuredText does and lists for programs do not."""
    return _TITLE.search(text) is not None


def find_prose_lines(text: str, syntax: DocumentSyntax) -> frozenset[int]:
    """The numbers of the lines that are prose, or empty and between prose."""
    lines = text.replace("\r\n", "\n").split("\n")
    if syntax is DocumentSyntax.RST:
        prose = {*_find_lines_outside_literals(lines)}
    else:
        prose = {*_find_paragraph_lines(text, lines)} - {*_front_matter(lines)} - {*_find_container_lines(lines)}
    return frozenset(prose.union(_find_empty_lines(lines, prose)))


def _find_empty_lines(lines: Sequence[str], prose: Collection[int]) -> Iterator[int]:
    """Empty lines with prose, or nothing, above or below them."""
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
        if token.map is None or token.type in _CONTAINER_BLOCKS:
            continue
        numbers = range(token.map[0] + 1, token.map[1] + 1)
        if token.type in {"inline", "tr_open"}:
            shown = lines[token.map[0] : token.map[1]]
            if not any(_COMMENT.search(line) for line in shown) and all(line.count("`") % 2 == 0 for line in shown):
                yield from numbers
        covered.update(numbers)
    for number, line in enumerate(lines, start=1):
        if number not in covered and _LINK_DEFINITION.fullmatch(line):
            yield number


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


def _find_container_lines(lines: Sequence[str]) -> Iterator[int]:
    """Lines from the mark of an extension of Markdown to the next such mark: the extension decides what they are."""
    inside = False
    for number, line in enumerate(lines, start=1):
        is_mark = _CONTAINER.match(line) is not None
        if is_mark or inside:
            yield number
        inside ^= is_mark


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


class AtomKind(Enum):
    WORD = "word"
    """Letters or digits, without the plain punctuation beside them."""
    CODE = "code"
    LINK = "link"
    IMAGE = "image"
    ROLE = "role"
    NAME = "name"
    MARK = "mark"
    """Of the structure: a heading, an item of a list with its depth, a box that is ticked or not, a cell of a table."""


class TextAtom(NamedTuple):
    """A part of a line, as it is written. `label`: what a link shows, in lower-case letters alone."""

    kind: AtomKind
    text: str
    label: str = ""


def split_line(line: str, syntax: DocumentSyntax) -> Iterator[TextAtom]:
    """The atoms of a line in their order, without emphasis and spaces."""
    text = line.removesuffix("\r")
    if len(text) > _LONGEST:
        yield TextAtom(AtomKind.NAME, text)
    elif syntax is DocumentSyntax.MARKDOWN or not _UNDERLINE.fullmatch(text):
        at = yield from _read_marks(text)
        yield from _split_cells(text[at:], syntax)


def _read_marks(text: str) -> Generator[TextAtom, None, int]:
    """Yield what the line begins with, and return where its words begin."""
    at = _find_end(_QUOTE, text, 0)
    while (end := _find_end(_ITEM_MARK, text, at)) > at:
        yield TextAtom(AtomKind.MARK, f"item {at}")
        at = end
    for mark, look in (("box", _BOX), ("heading", _HEADING), ("definition", _DEFINITION)):
        end = _find_end(look, text, at)
        if end > at:
            yield TextAtom(AtomKind.MARK, text[at:end].strip().casefold() if mark == "box" else mark)
        at = end
    return at


def _find_end(look: "re.Pattern[str]", text: str, at: int) -> int:
    match = look.match(text, at)
    return at if match is None else match.end()


def _split_cells(text: str, syntax: DocumentSyntax) -> Iterator[TextAtom]:
    if syntax is DocumentSyntax.MARKDOWN and not text.startswith("|"):
        yield from _split_parts(text, syntax)
        return
    at = 0
    for edge in (_COLUMN if syntax is DocumentSyntax.RST else _PIPE).finditer(text):
        yield from _split_parts(text[at : edge.start()], syntax)
        yield TextAtom(AtomKind.MARK, f"column {edge.end()}" if syntax is DocumentSyntax.RST else "cell")
        at = edge.end()
    yield from _split_parts(text[at:], syntax)


def _split_parts(text: str, syntax: DocumentSyntax) -> Iterator[TextAtom]:
    end = 0
    for match in _ATOM.finditer(text):
        yield from _split_words(text[end : match.start()], syntax)
        yield from _build_atoms(match, syntax)
        end = match.end()
    yield from _split_words(text[end:], syntax)


def _split_words(text: str, syntax: DocumentSyntax) -> Iterator[TextAtom]:
    """Cut plain text at its spaces. What is no word is a name, with all of its punctuation."""
    is_rst = syntax is DocumentSyntax.RST
    leading, trailing = (_LEADING.replace("_", ""), _TRAILING.replace("_", "")) if is_rst else (_LEADING, _TRAILING)
    for chunk in text.split(" "):
        if is_rst and chunk.endswith("::"):  # what stands below is code: the mark may stay
            yield TextAtom(AtomKind.NAME, "::")
            chunk = chunk.removesuffix("::")  # noqa: PLW2901
        core = chunk.lstrip(leading).rstrip(trailing)
        if not _WORD.fullmatch(core) or "::" in chunk or "!!" in chunk:
            yield TextAtom(AtomKind.NAME, chunk)
        elif core:
            yield TextAtom(AtomKind.WORD, core)


def _build_atoms(match: "re.Match[str]", syntax: DocumentSyntax) -> Iterator[TextAtom]:
    if match["url"] is not None:
        yield TextAtom(AtomKind.LINK, match["url"])
    elif match["code"] is not None:
        yield from _build_code(match, syntax)
    elif match["image"]:
        yield TextAtom(AtomKind.IMAGE, match[0])
    else:
        target = match["target"] if match["target"] is not None else (match["defined"] or "").lstrip(": \t").strip("<>")
        named = f"[{match['name']}]" if match["name"] else ""
        if match["defined"] and not target.startswith(("https://", "http://")):
            yield TextAtom(AtomKind.NAME, match[0])
        elif match["target"] is not None or target or named:
            yield TextAtom(AtomKind.LINK, target or named, _letters(match["label"]))
        yield from _split_parts(match["label"], syntax)


def _build_code(match: "re.Match[str]", syntax: DocumentSyntax) -> Iterator[TextAtom]:
    role, content = match["role"], match["code"]
    if role:
        yield TextAtom(AtomKind.ROLE, f"{role.strip(':{}')}:{content}")
    elif syntax is DocumentSyntax.RST and match["reference"]:
        addressed = _ADDRESSED.fullmatch(content)
        label, target = (addressed[1], addressed[2]) if addressed else (content, "")
        yield TextAtom(AtomKind.LINK, target, _letters(label))
        yield from _split_parts(label, syntax)
    else:
        yield TextAtom(AtomKind.CODE, content + match["reference"])


def _letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())
