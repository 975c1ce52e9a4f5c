"""What a condition proves that a test asserts: a value, that something is there at all, or nothing.

Reads one expression as text, in six languages alike. Does not evaluate. Invariant: in doubt it proves a value.
"""

import re
from enum import IntEnum
from typing import Final

from worker.domain.pattern import pattern


class Proof(IntEnum):
    """What a check can find out, from nothing to all."""

    NOTHING = 0
    """It holds whatever the code does."""
    SUCCESS = 1
    """Nothing was thrown, no error came back."""
    PRESENCE = 2
    """Something is there, whatever it is."""
    VALUE = 3


_LONGEST: Final = 400
"""A longer condition compares something."""

_LITERAL: Final = (
    r"(?:-?\d[\w.]*|[bfru]?\"[^\"{}\\]*\"|[bfru]?'[^'{}\\]*'|`[^`$\\]*`|[Tt]rue|[Ff]alse|None|null|nil|undefined)"
)
_ALL_LITERAL: Final = pattern(_LITERAL)
_ALWAYS: Final = pattern(
    r"(?:[Tt]rue|!\s*false|not False|Boolean\.TRUE|[1-9]\d*|\"[^\"{}\\]+\"|'[^'{}\\]+')"
    r"|.*(?:\bor True|\|\| ?true\)?)|True or .*|true \|\| .*|!!true"
    r"|.* in [(\[{](?:True, False|False, True)[)\]}]|isinstance\(.*, object\)"
    r"|len\([^()]*\) >= 0|[\w.]+\.(?:length|size\(\)|len\(\)|length\(\)) >= 0",
    re.DOTALL,
)
_ITSELF: Final = pattern(r"(.+) ?(?:===?|<=|>=| is ) ?\1")
_COMPARES: Final = pattern(r"==| and | or |&&|\|\|")
_LITERAL_IS_THERE: Final = pattern(r"[bfru]{0,2}(?:\"[^\"]*\"|'[^']*') (?:is not None|!= None|!==? (?:null|undefined))")
_THERE: Final = pattern(
    r".+ is not None|.+ != None|.+ !==? (?:null|undefined|nil)|typeof .+ !==? ['\"]undefined['\"]"
    r"|.+\.is_(?:some|ok)\(\)|.+\.isPresent\(\)|len\(.+\) > 0|!.+\.is_empty\(\)|.+\.(?:length|size\(\)|len\(\)) ?> ?0"
    r"|hasattr\(.+\)|!!.+|(?:bool|repr|str|type|id)\(.+\)",
    re.DOTALL,
)
_NAME: Final = pattern(r"[a-z_]\w*(?:\.\w+)*")


def proof_of(condition: str) -> Proof:
    """What is proved when *condition* is asserted to be true."""
    if len(condition) > _LONGEST:
        return Proof.VALUE
    text = " ".join(condition.split())
    while text.startswith("(") and text.endswith(")") and "(" not in text[1:]:
        text = text[1:-1].strip()
    if any(one.fullmatch(text) for one in (_ALWAYS, _LITERAL_IS_THERE, _ITSELF)) or _holds_either_way(text):
        return Proof.NOTHING
    if _COMPARES.search(text.replace("!==", "!=")):
        return Proof.VALUE
    return Proof.PRESENCE if _THERE.fullmatch(text) or is_name(text) else Proof.VALUE


def _holds_either_way(text: str) -> bool:
    """`x == y or x != y`."""
    one, _, other = text.replace(" || ", " or ").partition(" or ")
    return one != other and one.replace("!=", "==") == other.replace("!=", "==")


def proof_of_equal(one: str, other: str) -> Proof:
    """What is proved when the two are asserted to be equal: nothing for `x` and `x`, for `1` and `1`."""
    is_same = " ".join(one.split()) == " ".join(other.split()) and len(one) <= _LONGEST
    return Proof.NOTHING if is_same else Proof.VALUE


def is_literal(text: str) -> bool:
    return len(text) <= _LONGEST and _ALL_LITERAL.fullmatch(text) is not None


def is_name(text: str) -> bool:
    """Whether it is a variable or a field: in a language without types its truth says little."""
    return len(text) <= _LONGEST and _NAME.fullmatch(text) is not None


_OPENING: Final = "([{"
_CLOSING: Final = ")]}"
_QUOTES: Final = '"`'


def split_arguments(text: str) -> list[str]:
    """The arguments of a macro, whose inside no grammar knows: split at the commas outside of brackets and strings."""
    parts: list[str] = [""]
    depth, quote, escaped = 0, "", False
    for letter in text:
        if quote:
            quote = "" if letter == quote and not escaped else quote
            escaped = letter == "\\" and not escaped
        elif letter in _QUOTES:
            quote = letter
        elif letter == "," and depth == 0:
            parts.append("")
            continue
        else:
            depth += (letter in _OPENING) - (letter in _CLOSING)
        parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]
