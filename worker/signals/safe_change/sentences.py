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


class Syntax(Enum):
    MARKDOWN = "markdown"
    RST = "rst"


class Kind(Enum):
    WORD = "word"
    """Letters or digits, without the plain punctuation beside them."""
    CODE = "code"
    LINK = "link"
    IMAGE = "image"
    ROLE = "role"
    NAME = "name"
    MARK = "mark"
    """Of the structure: a heading, an item of a list with its depth, a box that is ticked or not, a cell of a table."""


class Atom(NamedTuple):
    """A part of a line, as it is written. `label`: what a link shows, in lower-case letters alone."""

    kind: Kind
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


def parts_of(line: str, syntax: Syntax) -> Iterator[Atom]:
    """Yield all that the line says, in its order: emphasis and spaces say nothing."""
    text = line.removesuffix("\r")
    if len(text) > _LONGEST:
        yield Atom(Kind.NAME, text)
    elif syntax is Syntax.MARKDOWN or not _UNDERLINE.fullmatch(text):
        at = yield from _marks(text)
        yield from _cells(text[at:], syntax)


def _marks(text: str) -> Generator[Atom, None, int]:
    """Yield what the line begins with, and return where its words begin."""
    at = _end_of(_QUOTE, text, 0)
    while (end := _end_of(_ITEM_MARK, text, at)) > at:
        yield Atom(Kind.MARK, f"item {at}")
        at = end
    for mark, look in (("box", _BOX), ("heading", _HEADING), ("definition", _DEFINITION)):
        end = _end_of(look, text, at)
        if end > at:
            yield Atom(Kind.MARK, text[at:end].strip().casefold() if mark == "box" else mark)
        at = end
    return at


def _end_of(look: "re.Pattern[str]", text: str, at: int) -> int:
    found = look.match(text, at)
    return at if found is None else found.end()


def _cells(text: str, syntax: Syntax) -> Iterator[Atom]:
    if syntax is Syntax.MARKDOWN and not text.startswith("|"):
        yield from _parts_of(text, syntax)
        return
    at = 0
    for edge in (_COLUMN if syntax is Syntax.RST else _PIPE).finditer(text):
        yield from _parts_of(text[at : edge.start()], syntax)
        yield Atom(Kind.MARK, f"column {edge.end()}" if syntax is Syntax.RST else "cell")
        at = edge.end()
    yield from _parts_of(text[at:], syntax)


def _parts_of(text: str, syntax: Syntax) -> Iterator[Atom]:
    end = 0
    for found in _ATOM.finditer(text):
        yield from _words(text[end : found.start()], syntax)
        yield from _atoms(found, syntax)
        end = found.end()
    yield from _words(text[end:], syntax)


def _words(text: str, syntax: Syntax) -> Iterator[Atom]:
    """Cut plain text at its spaces. What is no word is a name, with all of its punctuation."""
    leading, trailing = (
        (_LEADING, _TRAILING) if syntax is Syntax.MARKDOWN else (_LEADING.replace("_", ""), _TRAILING.replace("_", ""))
    )
    for chunk in text.split(" "):
        if syntax is Syntax.RST and chunk.endswith("::"):  # what stands below is code: the mark may stay
            yield Atom(Kind.NAME, "::")
            chunk = chunk.removesuffix("::")  # noqa: PLW2901
        core = chunk.lstrip(leading).rstrip(trailing)
        if not _WORD.fullmatch(core) or "::" in chunk or "!!" in chunk:
            yield Atom(Kind.NAME, chunk)
        elif core:
            yield Atom(Kind.WORD, core)


def _atoms(found: "re.Match[str]", syntax: Syntax) -> Iterator[Atom]:
    if found["url"] is not None:
        yield Atom(Kind.LINK, found["url"])
    elif found["code"] is not None:
        yield from _code(found, syntax)
    elif found["image"]:
        yield Atom(Kind.IMAGE, found[0])
    else:
        target = found["target"] if found["target"] is not None else (found["defined"] or "").lstrip(": \t").strip("<>")
        named = f"[{found['name']}]" if found["name"] else ""
        if found["defined"] and not target.startswith(("https://", "http://")):
            yield Atom(Kind.NAME, found[0])
        elif found["target"] is not None or target or named:
            yield Atom(Kind.LINK, target or named, _letters(found["label"]))
        yield from _parts_of(found["label"], syntax)


_ADDRESSED: Final = pattern(r"(.*\S)\s+<([^<>\s]+)>")


def _code(found: "re.Match[str]", syntax: Syntax) -> Iterator[Atom]:
    role, content = found["role"], found["code"]
    if role:
        yield Atom(Kind.ROLE, f"{role.strip(':{}')}:{content}")
    elif syntax is Syntax.RST and found["reference"]:
        addressed = _ADDRESSED.fullmatch(content)
        yield Atom(Kind.LINK, addressed[2] if addressed else "", _letters(addressed[1] if addressed else content))
        yield from _parts_of(addressed[1] if addressed else content, syntax)
    else:
        yield Atom(Kind.CODE, content + found["reference"])


def _letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs", "Mn", "Me"})


def may_be_kept(atom: Atom) -> bool:
    """Whether the atom may stay as it is: not if it holds HTML, or a character that is not seen."""
    if atom.kind is Kind.NAME and "<" in atom.text:
        return False
    return not any(unicodedata.category(letter) in _INVISIBLE and letter != " " for letter in atom.text)


_ANCHOR: Final = pattern(r"#[\w-]+", re.ASCII)
_PAGE: Final = pattern(
    r"(?P<path>(?:\.{1,2}/)*(?:[\w-]+/)*[\w-]+(?:/|\.(?:md|rst|txt|html|py|rs|go|js|ts|java|rb|toml|json|ya?ml))?)(?:#[\w-]+)?",
    re.ASCII,
)


def is_link_inside(atom: Atom, path: str) -> bool:
    """Whether the document at *path* links to one of its headings, or to a file below the root.

    On GitHub, a link that climbs higher leads to other repositories.
    """
    found = _PAGE.fullmatch(atom.text) if atom.kind is Kind.LINK else None
    if found is None:
        return atom.kind is Kind.LINK and _ANCHOR.fullmatch(atom.text) is not None
    return not posixpath.normpath(posixpath.join(posixpath.dirname(path), found["path"])).startswith("..")


_PLAIN_SEGMENT: Final = pattern(r"[A-Za-z][A-Za-z_-]{0,40}(?:\.html?|\.md|\.rst)?|v?\d{1,3}(?:\.\d{1,3}){0,2}")


def is_same_link(old: Atom, new: Atom) -> bool:
    """Whether a link only moved within its own host: under the same two folders, to a page with a name of plain words."""
    if old.label != new.label:
        return False
    before, after = address_of(old.text), address_of(new.text)
    if before is None or after is None or not before.netloc:
        return False
    if (before.scheme, before.netloc, before.query) != (after.scheme, after.netloc, after.query):
        return False
    was, becomes = before.path.split("/")[1:], after.path.split("/")[1:]
    changed = [segment for segment in becomes if segment not in was]
    return (
        len(was) >= _OWNED
        and was[:_OWNED] == becomes[:_OWNED]
        and all(map(_PLAIN_SEGMENT.fullmatch, filter(None, changed)))
    )


_OWNED: Final = 2
"""Segments of a path that say whose page it is, as in `github.com/owner/repository`."""


def address_of(text: str) -> SplitResult | None:
    """Read a link; None where it can't be read."""
    try:
        return urlsplit(text)
    except ValueError:
        return None
