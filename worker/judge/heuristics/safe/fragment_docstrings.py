"""Where a hunk of Python, of which no more is known, shows a docstring that is nothing but a text.

Does not guess: a string is a docstring where the hunk shows what it documents, with the line above that would
decorate it, or where it stands in a plain class and speaks like one (fields, roles). Invariant: any other string
over several lines is code.
"""

from collections.abc import Sequence
from typing import Final

from worker.domain.pattern import pattern
from worker.judge.heuristics.safe.docstrings import is_text_by_its_heading

_MARK: Final = pattern(r"\"\"\"|'''")
_OPENING: Final = pattern(r"\s*[rRuU]?(\"\"\"|''')")
_OF_THE_MODULE: Final = pattern(r"[rRuU]?(\"\"\"|''\')")
_HEADING: Final = pattern(r"\s*(class|def|async def)\b")
_FIELDS: Final = pattern(
    r"^\s*(:(param|returns?|rtype|raises?|type|arg|ivar|cvar|var)\b[^:]*:|\.\. (versionadded|versionchanged|deprecated|seealso|note|warning)::"
    r"|(Args|Arguments|Returns|Raises|Yields|Attributes|Parameters):?$)|:(py:)?(class|meth|func|attr|mod|exc|doc|ref|obj|data):`"
)
_MOST_LINES: Final = 30
"""Of a signature, from its docstring upwards."""


def docstring_rows(lines: Sequence[str], section: str) -> range:
    """The places of the lines of the one docstring that the fragment shows; none where there are more, or other strings."""
    marked = [at for at, line in enumerate(lines) if _MARK.search(line)]
    ends = sum(len(_MARK.findall(line)) for line in lines)
    if not marked or ends > len("()"):
        return _inner(lines, section) if not marked else range(0)
    first, last = marked[0], marked[-1]
    if ends == len("()") and _is_of_the_module(lines, first, last):
        return range(first, last + 1)
    if _OPENING.match(lines[first]) and _heading_above(lines, first, section):
        return range(first, last + 1 if ends == len("()") else len(lines))
    if ends == 1 and lines[first].rstrip().endswith(('"""', "'''")):
        return _inner(lines[: first + 1], section)
    return range(0)


def _is_of_the_module(lines: Sequence[str], first: int, last: int) -> bool:
    """Before an import from the future nothing may stand but comments and the docstring of the module."""
    behind = next((line for line in lines[last + 1 :] if line.strip()), "")
    return behind.startswith("from __future__ import ") and _OF_THE_MODULE.match(lines[first]) is not None


def _inner(lines: Sequence[str], section: str) -> range:
    """All lines, if they stand in the docstrings of a plain class: they have fields, as no other string has."""
    is_told = any(map(_FIELDS.search, lines))
    return range(len(lines)) if is_told and is_text_by_its_heading(section) and lines[0][:1] in {"", " "} else range(0)


def _heading_above(lines: Sequence[str], at: int, section: str) -> bool:
    """Whether what stands above is a definition without decorators, whose docstring nobody is seen to read."""
    if not at or not lines[at - 1].rstrip().endswith(":"):
        return False
    start = next((row for row in range(at - 1, max(at - _MOST_LINES, 0), -1) if _HEADING.match(lines[row])), 0)
    if not start or lines[start - 1].lstrip()[:1] in {"@", ")"} or lines[start - 1].rstrip().endswith(","):
        return False
    text = lines[start].strip()
    if text.startswith("class"):
        return is_text_by_its_heading(text)
    return not lines[start][:1].isspace() or is_text_by_its_heading(section)
