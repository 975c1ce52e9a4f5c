"""Which names the head version mentions, as far as it is known: whole texts, and what hunks show of the others.

Does not resolve names: one that two things share is mentioned for both. Invariant: every text is read once.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Final

from worker.domain.pattern import pattern
from worker.signals.analysis.change import CodeChange

WORD_PATTERN: Final = pattern(r"[A-Za-z_$][\w$]*")
_CALL: Final = pattern(r"([A-Za-z_$](?<![A-Za-z_$].)[\w$]{0,200}+)(?:::<[^>\n]{0,80}>|<[^>\n(]{0,80}>)?\(")
_INSTANTIATION: Final = pattern(r"[A-Z](?<![\w.].)(?<!class .)(?<!def .)\w*+(?=\()")
"""What may not stand before a word is looked for behind its first letter: so only letters are tried, which takes a fifth of the time."""
_DEF: Final = pattern(r"\bdef (\w+)")
_VALUE: Final = pattern(r"(?:[(,=:\[{]|\breturn)\s{0,4}&?(?:\w{1,40}\.)?([A-Za-z_$][\w$]*)(?=\s{0,4}(?:[,)\]};]|$))")
_BUILT_NAME: Final = pattern(
    r"[\"'`]([A-Za-z_]\w{0,60}?)(?:\$?\{|#\{|\$(?=\w)|%[sv]|[\"'`]\s{0,4}(?:\+|\.(?!\w))|(?<=_)[\"'`])"
)
"""A literal that ends where a value goes on. One that ends with an underscore is the beginning of a name by itself."""
_IMPORT_LINE: Final = pattern(
    r"\s*(?:import|from|export \{|export \*|use|pub use|//|#|\*|/\*|package|\w+,?$|[\"'`]\w+[\"'`],?$)"
)
"""Imports, exports and comments name what they do not use."""
_LONGEST: Final = 1_000


def count_words(change: CodeChange) -> Counter[str]:
    """How often each word stands anywhere."""
    return change.cached_for_family(_count_words)


def count_beside_calls(change: CodeChange, names: frozenset[str]) -> Counter[str]:
    """How often more each of these *names* stands in lines that are no import, export or comment than before a parenthesis.

    Before one stand calls, and most definitions.
    """
    counts: Counter[str] = Counter()
    for text in _texts(change) if names else ():
        if not names.isdisjoint(WORD_PATTERN.findall(text)):
            counts.update(word for word in _used_lines(text) if word in names)
            counts.subtract(word for word in _CALL.findall(text) if word in names)
    return counts


def count_definitions(change: CodeChange) -> Counter[str]:
    """How often each name is that of a function, the way that Python writes it."""
    return change.cached_for_family(_count_definitions)


def find_passed_names(change: CodeChange) -> frozenset[str]:
    """Names that stand by themselves where a value does: an argument, a default, an element, what is assigned or returned."""
    return change.cached(_find_passed_names)


def find_name_prefixes(change: CodeChange) -> frozenset[str]:
    """What names begin with that the program builds: `_cmd_` in `"_cmd_" + name`, `f"_cmd_{name}"` and `"_cmd_%s"`."""
    return change.cached(_find_name_prefixes)


def find_instantiated(change: CodeChange) -> frozenset[str]:
    """Classes of which something makes an object, the way that Python writes it."""
    return change.cached_for_family(_find_instantiated)


def find_removed_words(change: CodeChange) -> frozenset[str]:
    """Every word that a removed line held."""
    return change.cached_for_family(_find_removed_words)


def _count_words(change: CodeChange) -> Counter[str]:
    return Counter(chain.from_iterable(map(WORD_PATTERN.findall, _texts(change))))


def _used_lines(text: str) -> Iterator[str]:
    return chain.from_iterable(WORD_PATTERN.findall(line) for line in text.split("\n") if not _IMPORT_LINE.match(line))


def _count_definitions(change: CodeChange) -> Counter[str]:
    return Counter(chain.from_iterable(map(_DEF.findall, _texts(change))))


def _find_passed_names(change: CodeChange) -> frozenset[str]:
    lines = (line[:_LONGEST] for text in _texts(change) for line in text.split("\n") if not _IMPORT_LINE.match(line))
    return frozenset(chain.from_iterable(map(_VALUE.findall, lines)))


def _find_name_prefixes(change: CodeChange) -> frozenset[str]:
    return frozenset(chain.from_iterable(map(_BUILT_NAME.findall, _texts(change))))


def _find_instantiated(change: CodeChange) -> frozenset[str]:
    return frozenset(chain.from_iterable(map(_INSTANTIATION.findall, _texts(change))))


def _find_removed_words(change: CodeChange) -> frozenset[str]:
    lines = (text[:_LONGEST] for file in change.files for text in file.diff.removed_texts)
    return frozenset(chain.from_iterable(map(WORD_PATTERN.findall, lines)))


def _texts(change: CodeChange) -> Iterator[str]:
    changed = {file.path for file in change.files}
    yield from (text for path, text in change.texts.items() if path not in changed)
    yield from (file.visible_text for file in change.files)
