"""Whether a line of a document is a sentence, and what else it holds: code, links, names.

A line is cut into atoms: words, links, code, names and marks of the structure. Does not know where the line stands (`blocks`
does), or what of it may change (`rewording` does). Invariant: a character that no rule names is part of a name.
"""

import posixpath
import re
import unicodedata
from collections.abc import Generator, Iterator
from enum import Enum
from typing import Final, NamedTuple
from urllib.parse import SplitResult, urlsplit

from worker.domain.pattern import pattern


class DocumentSyntax(Enum):
    MARKDOWN = "markdown"
    RST = "rst"


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


_LONGEST: Final = 4_000
_ATOM: Final = pattern(
    r"(?P<role>:[a-zA-Z:+-]{1,40}:|\{[a-zA-Z:+-]{1,40}\})?(?P<ticks>`+)(?!`)(?P<code>[^`]+)(?P=ticks)(?!`)(?P<reference>_{0,2})"
    r"|(?P<image>!?)\[(?P<label>(?:[^\[\]`]|`[^`]*`){1,500})\](?:\((?P<target>[^()\s]*)\)|\[(?P<name>[^\[\]]*)\]|(?P<defined>:[ \t]+\S+))?"
    r"|<?(?P<url>https?://[^\s<>`\"'()\[\]]*[^\s<>`\"'()\[\].,:;!?*_])>?"
)
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


def split_line(line: str, syntax: DocumentSyntax) -> Iterator[TextAtom]:
    """Yield all that the line says, in its order: emphasis and spaces say nothing."""
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
    leading, trailing = (
        (_LEADING, _TRAILING)
        if syntax is DocumentSyntax.MARKDOWN
        else (_LEADING.replace("_", ""), _TRAILING.replace("_", ""))
    )
    for chunk in text.split(" "):
        if syntax is DocumentSyntax.RST and chunk.endswith("::"):  # what stands below is code: the mark may stay
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


_ADDRESSED: Final = pattern(r"(.*\S)\s+<([^<>\s]+)>")


def _build_code(match: "re.Match[str]", syntax: DocumentSyntax) -> Iterator[TextAtom]:
    role, content = match["role"], match["code"]
    if role:
        yield TextAtom(AtomKind.ROLE, f"{role.strip(':{}')}:{content}")
    elif syntax is DocumentSyntax.RST and match["reference"]:
        addressed = _ADDRESSED.fullmatch(content)
        yield TextAtom(
            AtomKind.LINK, addressed[2] if addressed else "", _letters(addressed[1] if addressed else content)
        )
        yield from _split_parts(addressed[1] if addressed else content, syntax)
    else:
        yield TextAtom(AtomKind.CODE, content + match["reference"])


def _letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs", "Mn", "Me"})


def is_keepable(atom: TextAtom) -> bool:
    """Whether the atom may stay as it is: not if it holds HTML, or a character that is not seen."""
    if atom.kind is AtomKind.NAME and "<" in atom.text:
        return False
    return not any(unicodedata.category(letter) in _INVISIBLE and letter != " " for letter in atom.text)


_ANCHOR: Final = pattern(r"#[\w-]+", re.ASCII)
_PAGE: Final = pattern(
    r"(?P<path>(?:\.{1,2}/)*(?:[\w-]+/)*[\w-]+(?:/|\.(?:md|rst|txt|html|py|rs|go|js|ts|java|rb|toml|json|ya?ml))?)(?:#[\w-]+)?",
    re.ASCII,
)


def is_link_inside(atom: TextAtom, path: str) -> bool:
    """Whether the document at *path* links to one of its headings, or to a file below the root.

    On GitHub, a link that climbs higher leads to other repositories.
    """
    page = _PAGE.fullmatch(atom.text) if atom.kind is AtomKind.LINK else None
    if page is None:
        return atom.kind is AtomKind.LINK and _ANCHOR.fullmatch(atom.text) is not None
    return not posixpath.normpath(posixpath.join(posixpath.dirname(path), page["path"])).startswith("..")


_PLAIN_SEGMENT: Final = pattern(r"[A-Za-z][A-Za-z_-]{0,40}(?:\.html?|\.md|\.rst)?|v?\d{1,3}(?:\.\d{1,3}){0,2}")


def is_same_link(old: TextAtom, new: TextAtom) -> bool:
    """Whether a link only moved within its own host: under the same two folders, to a page with a name of plain words."""
    if old.label != new.label:
        return False
    before, after = parse_link(old.text), parse_link(new.text)
    if before is None or after is None or not before.netloc:
        return False
    if (before.scheme, before.netloc, before.query) != (after.scheme, after.netloc, after.query):
        return False
    was, becomes = before.path.split("/")[1:], after.path.split("/")[1:]
    changed = [segment for segment in becomes if segment not in was]
    return (
        len(was) >= _OWNER_SEGMENTS
        and was[:_OWNER_SEGMENTS] == becomes[:_OWNER_SEGMENTS]
        and all(map(_PLAIN_SEGMENT.fullmatch, filter(None, changed)))
    )


_OWNER_SEGMENTS: Final = 2
"""Segments of a path that say whose page it is, as in `github.com/owner/repository`."""


def parse_link(text: str) -> SplitResult | None:
    """Read a link; None where it can't be read."""
    try:
        return urlsplit(text)
    except ValueError:
        return None
