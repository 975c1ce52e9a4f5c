"""Whether hunks change only comments or layout, where no more of the file is known than the hunks.

Weaker than a tree, so it allows less: comments only on lines of their own, layout only line by line (in Java also
over lines). Invariant: what a hunk leaves open (where a string or a comment began, who reads a docstring) counts
as code that changed.
"""

import re
from collections.abc import Iterable, Sequence
from textwrap import dedent
from typing import Final, NamedTuple

from worker.domain.diff import DiffLine, Hunk
from worker.domain.pattern import pattern
from worker.judge.heuristics.change import ChangedFile
from worker.judge.heuristics.paths import SCRIPTS, Language, Role
from worker.judge.heuristics.safe.directives import is_directive
from worker.judge.heuristics.safe.docstrings import is_other_wording, is_place_of_texts
from worker.judge.heuristics.safe.fragment_docstrings import docstring_rows
from worker.judge.heuristics.safe.rust_docs import is_doc
from worker.judge.heuristics.syntax import begins_in_text, parse

_LONGEST: Final = 2_000

_STRING: Final = pattern(r"(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`[^`]*`)")
_RUST_STRING: Final = pattern(r"(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)')")
_LEFT_OPEN: Final = pattern(r"[\"`]|'''|\\$")
"""What is left of a line without its strings, where one began above it or goes on below it."""

_CODE: Final = pattern(
    r"^\s*(def|class|func|fn|function|if|elif|else|for|while|return|import|from|with|try|except|raise|assert|public|private|protected|const|let|var|type|package"
    r"|use|impl|struct|@\w|\})|[;{}]\s*$|^\s*[\w.\[\]\"']+\s*[:+-]?=\s*\S|^\s*[\w.]+\(.*\)$|[(,]$"
)
_DEFINITION: Final = pattern(
    r"\b(class|interface|enum|record|func|fn|function|type|var|const|let|impl|struct|trait|export|describe|public|private|import|package)\b|\{$"
)
_AFTER_IMPORTS: Final = pattern(r"^(func|type|var|const)\b")
_LIKE_CODE: Final = pattern(r"[;{}]\s*$|^\s*//\s*#")


class _Side(NamedTuple):
    """One side of a hunk: its lines of code, its comments, each with whether it changed, and a docstring in Python."""

    code: list[str]
    comments: list[tuple[str, bool]]
    docstring: list[str]


def is_same_in_fragments(file: ChangedFile) -> bool:
    """Whether each hunk, for itself, is the same code before and after."""
    language = file.language
    if language is None or (file.role is not Role.PRODUCTION and language is not Language.JAVA):
        return False  # tests hold programs in strings
    shown = "\n".join(line.text for line in file.diff.lines())
    if language is Language.PYTHON and not is_place_of_texts(file.path, shown):
        return False
    return all(_is_same_hunk(hunk, language) for hunk in file.diff.hunks)


def _is_same_hunk(hunk: Hunk, language: Language) -> bool:
    if language is Language.PYTHON and _has_only_gaps(hunk):
        return True
    sides = [
        _side([line for line in hunk.lines if getattr(line, side) is not None], language, hunk.section)
        for side in ("base_line", "head_line")
    ]
    before, after = sides
    if before is None or after is None or not _is_in_code(hunk, before, language):
        return False
    if _has_directive(hunk, (before, after), language):
        return False
    if not is_other_wording(before.docstring, after.docstring):
        return False
    if before.code == after.code:
        return True
    return _squeezed(before.code, language) == _squeezed(after.code, language)


def _has_only_gaps(hunk: Hunk) -> bool:
    """Whether only empty lines changed, which stand in no string, wherever the fragment begins."""
    if any(line.text.strip() for line in hunk.lines if _is_changed(line)):
        return False
    if any(line.text.endswith("\\") for line in hunk.lines):
        return False  # the next line is part of it
    if any(is_directive(line.text.strip(), Language.PYTHON) for line in hunk.lines if line.text.lstrip()[:1] == "#"):
        return False
    text = dedent("\n".join(line.text for line in hunk.lines))
    rows = [row for row, line in enumerate(hunk.lines, start=1) if _is_changed(line)]
    readings = (parse(f"{above}\n{text}\n", Language.PYTHON) for above in ("", '"""', "'''"))
    possible = [root for root in readings if not root.has_error]
    return bool(possible) and not any(begins_in_text(root, row) for root in possible for row in rows)


def _side(lines: Sequence[DiffLine], language: Language, section: str) -> _Side | None:
    """The lines of one side, sorted into code and comments; None where that can't be told."""
    if any(len(line.text) > _LONGEST for line in lines):
        return None
    found = _hashed(lines, section) if language is Language.PYTHON else _starred(lines, language)
    if found is None:
        return None
    string = _RUST_STRING if language is Language.RUST else _STRING
    if any(_LEFT_OPEN.search(string.sub("0", line)) for line in found.code):
        return None
    return found


def _is_in_code(hunk: Hunk, side: _Side, language: Language) -> bool:
    """Whether what the hunk shows reads like code, and not like a text that quotes some."""
    if side.docstring or any(map(_CODE.search, side.code)):
        return True
    return language is not Language.PYTHON and _DEFINITION.search(hunk.section) is not None


def _hashed(lines: Sequence[DiffLine], section: str) -> _Side:
    rows = docstring_rows([line.text for line in lines], section)
    code = [line for at, line in enumerate(lines) if at not in rows]
    comments = [(line.text.strip(), _is_changed(line)) for line in code if line.text.lstrip().startswith("#")]
    kept = [line.text for line in code if not line.text.lstrip().startswith("#")]
    return _Side(kept, comments, [lines[at].text.rstrip() for at in rows])


_WITHOUT_BLOCKS: Final = frozenset({Language.GO, Language.RUST})
"""Block comments are rare there, and hold a preamble of C or a text of their own kind."""


def _starred(lines: Sequence[DiffLine], language: Language) -> _Side | None:
    """Languages with `//` and `/* */`."""
    inside = _begins_inside(lines)
    if inside and language in _WITHOUT_BLOCKS:
        return None
    found = _Side([], [], [])
    for line in lines:
        text = line.text.strip()
        opens = not inside and text.startswith("/*")
        if opens and language in _WITHOUT_BLOCKS:
            return None
        if inside or opens:
            _, end, rest = text.partition("*/")
            if rest.strip() or (text and not opens and not text.startswith("*")):
                return None
            found.comments.append((text, _is_changed(line)))
            inside = not end
        elif text.startswith("//"):
            found.comments.append((text, _is_changed(line)))
        elif "/*" in text or "*/" in text:
            return None
        else:
            found.code.append(line.text)
    return found


def _begins_inside(lines: Sequence[DiffLine]) -> bool:
    """Whether the first line stands in a block comment: its end comes before any beginning, or all lines have a star."""
    texts = [line.text.strip() for line in lines if line.text.strip()]
    for text in texts:
        if text.startswith("/*"):
            return False
        if "*/" in text:
            return text.startswith("*")
    return all(text.startswith("*") for text in texts)


def _is_changed(line: DiffLine) -> bool:
    return line.base_line is None or line.head_line is None


def _has_directive(hunk: Hunk, sides: Iterable[_Side], language: Language) -> bool:
    """Whether a tool may read any comment of the hunk, or a compiler or a macro one that changed."""
    comments = [one for side in sides for one in side.comments]
    changed = [text for text, is_changed in comments if is_changed]
    if any(is_directive(text, language) for text, _ in comments):
        return True
    if language is Language.GO and not _AFTER_IMPORTS.match(hunk.section):
        return any(map(_LIKE_CODE.search, changed))  # cgo, whose `import "C"` may stand further below
    return any(_is_more(text, language) for text in changed)


def _is_more(comment: str, language: Language) -> bool:
    return is_doc(comment) if language is Language.RUST else language is Language.JAVA and "@deprecated" in comment


def _squeezed(lines: Sequence[str], language: Language) -> str:
    """The code without layout: line by line, in Java as one text, since the ends of its lines mean nothing."""
    kept = [line for line in lines if line.strip()]
    if language is Language.JAVA and not any("//" in line for line in kept):
        return _without_white(" ".join(kept), language)
    if language is Language.PYTHON:
        return "\n".join(line[: -len(line.lstrip())] + _without_white(line, language) for line in kept)
    return "\n".join(_without_white(line, language) for line in kept)


_WHITE: Final = pattern(r"\s+")
_MARK: Final = {Language.PYTHON: "#", Language.JAVASCRIPT: "/", Language.TYPESCRIPT: "/", Language.TSX: "/"}
"""With that a comment may begin, or an expression in which white space counts."""


def _without_white(line: str, language: Language) -> str:
    text = line.strip()
    if _MARK.get(language, "//") in text or ("<" in text and language in SCRIPTS):
        return text
    parts = (_RUST_STRING if language is Language.RUST else _STRING).split(text)
    return "".join(part if at % 2 else _WHITE.sub(_kept, part) for at, part in enumerate(parts))


def _kept(white: re.Match[str]) -> str:
    """White space between two words, or two signs, holds them apart."""
    before, after = white.string[max(white.start() - 1, 0) : white.start()], white.string[white.end() : white.end() + 1]
    return " " if not before or not after or _is_word(before) == _is_word(after) else ""


def _is_word(letter: str) -> bool:
    return letter.isalnum() or letter in "_.$"
