"""What one hunk shows of a file, made readable for a grammar where it begins inside of what it does not show.

Does not guess what stands around it. Invariant: lines keep their numbers, and of a language with brackets no line that the
change wrote is left out.
"""

from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern
from worker.dossier.diff.parser import DiffLine
from worker.signals.analysis import syntax
from worker.signals.analysis.file_roles import MORE_LANGUAGES, Language

if TYPE_CHECKING:
    from tree_sitter import Node

_QUOTES: Final = ('"""', "'''")
_BRACKETS: Final = pattern(r"[(\[{)\]}]")
_DEFINES: Final = pattern(r"(?:async def|def|class)\b|@\w")


def build_hunk_source(lines: tuple[DiffLine, ...], language: Language) -> str:
    """The text of these lines of one side, without the end of what began before them, where a grammar then reads more of it."""
    text = join_lines(lines)
    mended = without_partial_string(text, language)
    if mended != text or language in MORE_LANGUAGES:
        return mended
    start = _count_leading_lines(lines, language)
    root = syntax.parse(text, language) if start else None
    if root is None or not root.has_error or syntax.is_unreadable(root):
        return text
    beheaded = "\n" * start + join_lines(lines[start:])
    rest = syntax.parse(beheaded, language)
    return (
        beheaded
        if not rest.has_error or _count_error_bytes(rest, language) < _count_error_bytes(root, language)
        else text
    )


def join_lines(lines: tuple[DiffLine, ...]) -> str:
    return "".join(line.text + ("\n" if line.has_newline else "") for line in lines)


def _count_leading_lines(lines: tuple[DiffLine, ...], language: Language) -> int:
    """How many unchanged lines, before the first changed one, belong to what began before them."""
    depth, start = 0, 0
    for at, line in enumerate(lines):
        if language is Language.PYTHON and _DEFINES.match(line.text):
            return at
        if line.head_line is None or line.base_line is None:
            break
        for bracket in _BRACKETS.findall(line.text):
            depth += 1 if bracket in "([{" else -1
        if depth < 0:
            depth, start = 0, at + 1
    return 0 if language is Language.PYTHON else start


def _count_error_bytes(root: "Node", language: Language) -> int:
    """How many bytes a grammar can make nothing of."""
    return sum(node.end_byte - node.start_byte for node in syntax.find(root, language, ("ERROR",)))


def without_partial_string(text: str, language: Language) -> str:
    """A fragment of Python that begins or ends inside of a long string, without the part of the string that it shows."""
    for quotes in _QUOTES if language is Language.PYTHON else ():
        count = text.count(quotes)
        if count % 2:
            headless, tailless = _drop_string_head(text, quotes), _drop_string_tail(text, quotes)
            bad_head, bad_tail = (syntax.parse(part, language).has_error for part in (headless, tailless))
            rows = text.partition(quotes)[0].count("\n"), text.rpartition(quotes)[2].count("\n")
            text = tailless if bad_head and (not bad_tail or rows[1] < rows[0]) else headless
        elif count and syntax.parse(text, language).has_error:
            between = _drop_string_tail(
                _drop_string_head(text, quotes), quotes
            )  # it begins in one string and ends in another
            text = text if syntax.parse(between, language).has_error else between
    return text


def _drop_string_head(text: str, quotes: str) -> str:
    before, _, after = text.partition(quotes)
    return "\n" * before.count("\n") + " " * len(quotes) + after


def _drop_string_tail(text: str, quotes: str) -> str:
    start, _, rest = text.rpartition(quotes)
    return start + 2 * quotes + "\n" * rest.count("\n")
