"""Whether a value was drawn by a machine: what tells a secret from a name, a path, a placeholder or a sentence.

Two measures that hold for short texts: how many different characters there are (entropy), and how many pairs of letters are
common ones in words and identifiers (four in five, against one in four of letters drawn at random).
"""

import math
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Final

from worker.domain.pattern import pattern

MOST_LENGTH: Final = 256

TOKEN_LENGTH: Final = 16
"""A token is not shorter."""

PASSWORD_LENGTH: Final = 8
"""Nor a password that is worth the name."""

_HEX: Final = pattern(r"(?:0x)?[0-9a-f]+|(?:0x)?[0-9A-F]+")
_HEX_KEY: Final = 32
_PLACEHOLDER: Final = pattern(
    r"(?i)change[-_ ]?(?:me|it|this)|example|placeholder|dummy|sample|redacted|replace|insert|your|my[-_]|todo|fixme|fake"
    r"|foo|bar(?![a-z])|test|mock|stub|default|secret|passw(?:or)?d|token|api[-_]?key|credential|x{4,}|\*{3,}|\.{3,}|-{4,}|_{4,}"
)
_CODE: Final = pattern(
    r"\s|^[$&*@:]|\$[{(]|\{\{|\{\w{0,40}\}|^<.*>$|%\(\w|(?:^|[-_/:.])%[sdvq](?:$|[-_/:.])|\w\(|\[\d*\]|://"
    r"|^(?:process|os|self|this|config|settings|env|secrets|vars|var|local|data|module)\."
)
_CHECKSUM: Final = pattern(r"(?i)(?:sha(?:1|256|384|512)|md5|h1|blake\w{1,6})[-:=]")
_PAIRS: Final = frozenset(  # the commonest in documents and identifiers: five sixths of all pairs there
    "ab ac ad ag ai al am an ap ar as at ba be bl bo ca ce ch ck cl co ct da de di do ea ec ed ee ef el em en ep er es et ev"  # noqa: SIM905 - read as words
    " ex fa fi fo ge ha he hi ho ia ic id ie if ig il im in io ir is it ke la ld le li ll lo ls lt lu ly ma me mi mm mo mp na"
    " nc nd ne ng ni no ns nt oc od ol om on oo op or os ot ou ow pa pe pl po pp pr pt qu ra re ri rm rn ro rr rs rt ry sc se"
    " sh si so sp ss st su ta te th ti to tr ts tt tu ty ue ul um un up ur us ut va ve wi xt yp".split()
)
_OF_PATHS: Final = ("/", ".", "~", "#", "?")
_READABLE_SHARE: Final = 0.5
_NAME_READABLE_SHARE: Final = 0.65
"""What is joined as names are may be a password, and so has to read more like words to be left."""
_FEW_CHARACTERS: Final = 3


def is_random(value: str) -> bool:
    """Whether this is a key or a token: long, and nothing that a person would have written."""
    value = value[:MOST_LENGTH]
    if len(value) < TOKEN_LENGTH or not _can_be_secret(value):
        return False
    if _entropy(value) < min(3.0, math.log2(len(value)) * 0.75):  # a drawn value has more; 16 characters give at most 4
        return False
    if _HEX.fullmatch(value):
        return len(value) >= _HEX_KEY
    has_digits = any(char.isdigit() for char in value)
    mixes_cases = any(char.islower() for char in value) and any(char.isupper() for char in value)
    return (has_digits or mixes_cases) and _readability(value) < _READABLE_SHARE


def is_password(value: str) -> bool:
    """Whether this is a password that a person chose: mixed characters, and no placeholder."""
    value = value[:MOST_LENGTH]
    if is_random(value):
        return True
    if len(value) < PASSWORD_LENGTH or not _can_be_secret(value) or value.startswith(_OF_PATHS):
        return False
    classes = sum(any(is_one(char) for char in value) for is_one in _CLASSES)
    # `UserRole2`, `auth/v1/login`: words joined as names are
    is_name = _NAME.fullmatch(value) is not None and _readability(value) >= _NAME_READABLE_SHARE
    return classes >= 3 and _entropy(value) >= 2.5 and not is_name  # noqa: PLR2004 - of four; bits of eight drawn characters


def is_placeholder(value: str) -> bool:
    """Whether it is visibly no secret: words for one, few different characters, or a row of neighbours (`0123456789abcdef`)."""
    rest = _PLACEHOLDER.sub("", value)
    near = sum(abs(ord(left) - ord(other)) <= 1 for left, other in pairwise(value))
    return len(rest) < PASSWORD_LENGTH or len(set(value)) <= _FEW_CHARACTERS or near * 2 > len(value)


def _can_be_secret(value: str) -> bool:
    return not (is_placeholder(value) or _CODE.search(value) or _CHECKSUM.match(value) or value.isdigit())


def _entropy(value: str) -> float:
    """Bits a character, by how often each occurs in the value itself."""
    total = len(value)
    return -sum(count / total * math.log2(count / total) for count in Counter(value).values())


def _readability(value: str) -> float:
    """The share of neighbours inside of a word that are a common pair of letters; camelCase begins a new word."""
    pairs = common = 0
    for left, other in pairwise(value):
        if left.isalnum() and other.isalnum() and not (left.islower() and other.isupper()):
            pairs += 1
            common += (left + other).lower() in _PAIRS
    return common / pairs if pairs else 1.0


_CLASSES: Final[tuple[Callable[[str], bool], ...]] = (
    str.islower,
    str.isupper,
    str.isdigit,
    lambda char: not char.isalnum(),
)
_NAME: Final = pattern(r"[A-Za-z][A-Za-z]*+(?:[-_./: ][A-Za-z0-9]++)*+\d{0,4}|[a-z]++(?:[A-Z][a-z]++)*+\d{0,4}")
