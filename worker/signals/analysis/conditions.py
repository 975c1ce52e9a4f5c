"""What a condition proves that a test asserts: a value, that something is there at all, or nothing.

Reads one expression as text, in all languages alike. Does not evaluate. Invariant: in doubt it proves a value.
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
    r"(?:-?\d+(?:\.\d+)? ?(?:[<>]=?|!==?) ?-?\d+(?:\.\d+)?|[Tt]rue|!\s*false|not False|Boolean\.TRUE|[1-9]\d*|\"[^\"{}\\]+\"|'[^'{}\\]+')"
    r"|.*(?:\bor True|(?:(?<=[\w)\]\"'])|(?<=[\w)\]\"'] ))\|\| ?true\)?)|True or .*|true \|\| .*|!!true"
    r"|.*(?:[=!]=|[<>]| is | not ).* in [(\[{](?:True, False|False, True)[)\]}]|isinstance\(.*, object\)|matches!\(.*, ?_\)"
    r"|len\(.*\) (?:>= 0|> -1)|[\w.()\[\]]+\.(?:length|size\(\)|len\(\)|length\(\)|count\(\)) (?:>= 0|> -1)",
    re.DOTALL,
)
_ITSELF: Final = pattern(
    r"(.+) ?(?:===?|<=|>=| is ) ?\1"
    r"|(?:reflect\.DeepEqual|cmp\.Equal|bytes\.Equal|Objects\.equals|Arrays\.equals|isDeepStrictEqual|_\.isEqual|Object\.is|np\.array_equal)\((.+), ?\2\)"
    r"|([\w.]+)\.equals\(\3\)"
)
_TYPED: Final = pattern(
    r"typeof typeof .+ ===? ['\"]string['\"]|typeof .+ ===? ['\"]object['\"] \|\| typeof .+ !==? ['\"]object['\"]"
)
_COMPARES: Final = pattern(r"==| and | or |&&|\|\|")
_LITERAL_IS_PRESENT: Final = pattern(
    r"[bfru]{0,2}(?:\"[^\"]*\"|'[^']*') (?:is not None|!= None|!==? (?:null|undefined))"
)
_IS_PRESENT: Final = pattern(
    r".+ is not None|.+ != None|.+ !==? (?:null|undefined|nil)|typeof .+ !==? ['\"]undefined['\"]"
    r"|.+\.is_(?:some|ok)\(\)|.+\.isPresent\(\)|len\(.+\) > 0|!.+\.is_empty\(\)|.+\.(?:length|size\(\)|len\(\)) ?> ?0"
    r"|hasattr\(.+\)|!!.+|.+ in [(\[{](?:True, False|False, True)[)\]}]|(?:bool|repr|str|type|id)\(.+\)|.+ instanceof Object|Boolean\(.+\)"
    r"|['\"]{2} in .+|.+\.(?:contains|includes|startsWith|starts_with|endsWith|ends_with|startswith|endswith)\(['\"]{2}\)|strings\.Contains\(.+, \"\"\)"
    r"|[^<>]*\b(?:abs|Abs|fabs)\([^<>]+\) <=? (?:[1-9][\d_]{6,}|[1-9](?:\.\d+)?e\+?(?:[6-9]|\d\d+))"
    r"|[^<>]+\.abs\(\) <=? (?:[1-9][\d_]{6,}|[1-9](?:\.\d+)?e\+?(?:[6-9]|\d\d+))(?:\.0)?",
    re.DOTALL,
)
_ANYTHING: Final = pattern(r"[^=<>]+ == (?:\w+\.)?ANY|(?:\w+\.)?ANY == [^=<>]+")
_NAME: Final = pattern(r"[a-z_]\w*(?:\.\w+)*")


def prove_condition(condition: str) -> Proof:
    """What is proved when *condition* is asserted to be true."""
    if len(condition) > _LONGEST:
        return Proof.VALUE
    text = _strip_brackets(condition)
    if any(form.fullmatch(text) for form in (_ALWAYS, _LITERAL_IS_PRESENT, _ITSELF, _TYPED)) or _is_tautology(text):
        return Proof.NOTHING
    if _ANYTHING.fullmatch(text):
        return Proof.PRESENCE
    if _COMPARES.search(text.replace("!==", "!=")):
        return Proof.VALUE
    return Proof.PRESENCE if _IS_PRESENT.fullmatch(text) or is_name(text) else Proof.VALUE


def is_self_comparison(condition: str) -> bool:
    """Whether both sides of the comparison are the same."""
    return len(condition) <= _LONGEST and _ITSELF.fullmatch(_strip_brackets(condition)) is not None


def _strip_brackets(condition: str) -> str:
    """Without the brackets around it."""
    text = " ".join(condition.split())
    while text.startswith("(") and text.endswith(")") and "(" not in text[1:]:
        text = text[1:-1].strip()
    return text


def split_equality(condition: str) -> tuple[str, str] | None:
    """Of one comparison that asks for equality."""
    match = _SIDES.fullmatch(" ".join(condition[:_LONGEST].split()))
    return None if match is None else (match[1], match[2])


_SIDES: Final = pattern(r"([^=<>!&|]{1,200}?) ?={2,3} ?([^=<>!&|]{1,200})")


def negate(condition: str) -> str:
    """What holds where *condition* does not, if it is one comparison or one call; else the empty text."""
    text = " ".join(condition.split())
    if len(text) > _LONGEST or _JOINS.search(text):
        return ""
    if text.startswith("!"):
        return text[1:].strip()
    match = _OPERATOR.search(text)
    return "" if match is None else f"{text[: match.start()]}{_OPPOSITES[match[0]]}{text[match.end() :]}"


_JOINS: Final = pattern(r"&&|\|\|| and | or |;")
_OPERATOR: Final = pattern(r"!=|==|<=|>=|<|>")
_OPPOSITES: Final = {"!=": "==", "==": "!=", "<=": ">", ">=": "<", "<": ">=", ">": "<="}


def _is_tautology(text: str) -> bool:
    """`x == y or x != y`, `x or not x`."""
    left, _, other = text.replace(" || ", " or ").partition(" or ")
    return left != other and bool(other) and _strip_negation(left) == _strip_negation(other)


def _strip_negation(text: str) -> str:
    """Without its negation."""
    bare = text.removeprefix("not ").removeprefix("!").replace("!=", "==").replace(" is not ", " is ")
    return _PAIRS.sub(lambda match: match[1], bare)


_PAIRS: Final = pattern(r"(\.is_)(?:none|some|ok|err)\b")


def prove_equality(left: str, other: str) -> Proof:
    """What is proved when the two are asserted to be equal: nothing for `x` and `x`, for `1` and `1`."""
    is_same = " ".join(left.split()) == " ".join(other.split()) and len(left) <= _LONGEST
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
