"""Documentation comments in Rust, which are attributes: what of them is more than words.

Does not expand macros. Invariant: documentation that a derive or another macro may read is code, and so are the
examples in it, which are tested.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern
from worker.judge.heuristics.syntax import is_comment, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_DOC: Final = pattern(r"//[/!](?!/)|/\*[*!](?!\*)")
_FENCE: Final = pattern(r"//[/!]\s*(```|~~~)")
_INDENTED: Final = pattern(r"//[/!]( {5,}|\t)\S")
_PLAIN_DERIVES: Final = pattern(
    r"\b(Debug|Clone|Copy|PartialEq|Eq|PartialOrd|Ord|Hash|Default|Send|Sync|std|core|fmt|derive|cfg_attr|feature|serde|Serialize|Deserialize)\b"
)
_HARMLESS: Final = pattern(
    r"#!?\[\s*(doc|cfg|allow|deny|warn|expect|inline|must_use|deprecated|non_exhaustive|test|should_panic|cold|track_caller|repr|no_mangle|ignore"
    r"|automatically_derived|forbid|no_std)\b.*?\](?=\s|$)"
    r"|#!?\[\s*cfg_attr\([^\]]{0,500}?,\s*(doc|allow|deny|warn|must_use|inline|ignore|track_caller|non_exhaustive|test|no_std)\b[^\]]*\]",
    re.DOTALL,
)
_WORD: Final = pattern(r"[A-Za-z_]{2,}")


def is_doc(comment: str) -> bool:
    return _DOC.match(comment) is not None


def rewritten(children: "Sequence[Node]") -> list[bool]:
    """For each child whether attributes on it, above or below its documentation, hand it to a macro."""
    found: list[bool] = []
    run: list[str] = []
    size = 0
    for child in children:
        size += 1
        if child.type in _ATTRIBUTES:
            run.append(text_of(child))
        elif not is_comment(child):
            found += [_is_for_a_macro(run)] * size
            run, size = [], 0
    return [*found, *([_is_for_a_macro(run)] * size)]


_ATTRIBUTES: Final = frozenset({"attribute_item", "inner_attribute_item"})


def _is_for_a_macro(attributes: Sequence[str]) -> bool:
    plain = _PLAIN_DERIVES.sub("", _HARMLESS.sub("", " ".join(attributes)))
    return _WORD.search(plain) is not None


def in_examples(children: "Sequence[Node]") -> list[bool]:
    """For each child whether it is a line of an example, or the fence of one, in a run of documentation."""
    found: list[bool] = []
    inside = False
    for child in children:
        text = text_of(child) if is_comment(child) else ""
        fence = _FENCE.match(text) is not None
        found.append(bool(text) and (inside or fence or _INDENTED.match(text) is not None or text.startswith("/*")))
        inside = bool(text) and inside != fence
    return found
