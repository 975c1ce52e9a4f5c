"""Which names the head version mentions: in whole texts where they are known, else in what hunks show.

Names are not resolved: one that two things share is mentioned for both.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Final

from worker.domain.pattern import pattern
from worker.signals.analysis.change import CodeChange, memoized, memoized_for_family

WORD_PATTERN: Final = pattern(r"[A-Za-z_$][\w$]*")
_CALL: Final = pattern(r"([A-Za-z_$](?<![A-Za-z_$].)[\w$]{0,200}+)(?:::<[^>\n]{0,80}>|<[^>\n(]{0,80}>)?\(")
_INSTANTIATION: Final = pattern(r"[A-Z](?<![\w.].)(?<!class .)(?<!def .)\w*+(?=\()")
"""Look-behinds follow the first letter, so that only letters are tried, which takes a fifth of the time."""
_DEF: Final = pattern(r"\bdef (\w+)")
_VALUE: Final = pattern(r"(?:[(,=:\[{]|\breturn)\s{0,4}&?(?:\w{1,40}\.)?([A-Za-z_$][\w$]*)(?=\s{0,4}(?:[,)\]};]|$))")
_BUILT_NAME: Final = pattern(
    r"[\"'`]([A-Za-z_]\w{0,60}?)(?:\$?\{|#\{|\$(?=\w)|%[sv]|[\"'`]\s{0,4}(?:\+|\.(?!\w))|(?<=_)[\"'`])"
)
"""A literal that ends where a value goes on. One that ends with an underscore is the beginning of a name."""
_IMPORT_LINE: Final = pattern(
    r"\s*(?:import|from|export \{|export \*|use|pub use|//|#|\*|/\*|package|\w+,?$|[\"'`]\w+[\"'`],?$)"
)
"""Imports, exports and comments name what they do not use."""
_LONGEST: Final = 1_000


@memoized_for_family
def count_words(change: CodeChange) -> Counter[str]:
    """Count each word of all texts."""
    return Counter(chain.from_iterable(map(WORD_PATTERN.findall, _texts(change))))


def count_beside_calls(change: CodeChange, names: frozenset[str]) -> Counter[str]:
    """Count each name in lines that are no import, export or comment, less those before a parenthesis.

    Before a parenthesis are calls and most definitions.
    """
    counts: Counter[str] = Counter()
    for text in _texts(change) if names else ():
        if not names.isdisjoint(WORD_PATTERN.findall(text)):
            used = (line for line in text.split("\n") if not _IMPORT_LINE.match(line))
            counts.update(word for line in used for word in WORD_PATTERN.findall(line) if word in names)
            counts.subtract(word for word in _CALL.findall(text) if word in names)
    return counts


@memoized_for_family
def count_definitions(change: CodeChange) -> Counter[str]:
    """Count the functions of each name, in the way that Python writes them."""
    return Counter(chain.from_iterable(map(_DEF.findall, _texts(change))))


@memoized
def find_passed_names(change: CodeChange) -> frozenset[str]:
    """Names in the place of a value: an argument, a default, an element, an assigned or returned one."""
    lines = (line[:_LONGEST] for text in _texts(change) for line in text.split("\n") if not _IMPORT_LINE.match(line))
    return frozenset(chain.from_iterable(map(_VALUE.findall, lines)))


@memoized
def find_name_prefixes(change: CodeChange) -> frozenset[str]:
    """Beginnings of names that the program builds: `_cmd_` in `"_cmd_" + name`, `f"_cmd_{name}"` and `"_cmd_%s"`."""
    return frozenset(chain.from_iterable(map(_BUILT_NAME.findall, _texts(change))))


@memoized_for_family
def find_instantiated(change: CodeChange) -> frozenset[str]:
    """Classes of which some code makes an object, in the way that Python writes it."""
    return frozenset(chain.from_iterable(map(_INSTANTIATION.findall, _texts(change))))


@memoized_for_family
def find_removed_words(change: CodeChange) -> frozenset[str]:
    """Every word of the removed lines."""
    lines = (text[:_LONGEST] for file in change.files for text in file.diff.removed_texts)
    return frozenset(chain.from_iterable(map(WORD_PATTERN.findall, lines)))


def _texts(change: CodeChange) -> Iterator[str]:
    changed = {file.path for file in change.files}
    yield from (text for path, text in change.texts.items() if path not in changed)
    yield from (file.visible_text for file in change.files)
