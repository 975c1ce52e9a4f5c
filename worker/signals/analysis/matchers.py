"""Matchers that let nearly everything through, whatever stands before them: any value, any text, any size, a margin of millions.

Reads names and arguments as text, in all languages and their frameworks alike. Does not know which call is an assertion
(`assertions.py`). Invariant: in doubt a matcher is None here, and so one that asks for a value.
"""

import re
from functools import lru_cache
from typing import Final

from worker.domain.pattern import pattern
from worker.signals.analysis.conditions import Proof

_LONGEST: Final = 200
_PAIR: Final = 2

_EQUALS: Final = pattern(
    r"(?:assert_?)?(?:that_?)?(?:is_?)?(?:equals?|eq|same|strict_?equal|deep_?equal|deep_?strict_?equal|is|to_?be|to_?equal|to_?strict_?equal"
    r"|equal_?to|equal_?values|that)!?",
    2,
)
_DIFFERS: Final = pattern(
    r"(?:assert_?)?(?:is_?)?not_?(?:equals?|strict_?equal|deep_?equal|deep_?strict_?equal|equal_?to|same_?as|same|eq|to_?be|to_?equal|to_?strict_?equal)?!?|assert_ne!|ne",
    2,
)
_CONTAINS: Final = pattern(
    r"(?:assert_?)?(?:to_?)?(?:in|contains?|includes?|match(?:es)?|match_?object|regexp?|starts?_?with|ends?_?with|have_?string|regex_?matches)!?",
    2,
)
_AT_LEAST: Final = pattern(
    r"(?:assert_?)?(?:to_?be_?|is_?)?(?:greater_?(?:than_?)?(?:or_?)?equal(?:_?to)?|at_?least|least|gte|not_?negative)",
    2,
)
_ABOVE: Final = pattern(r"(?:assert_?)?(?:to_?be_?|is_?|has_?size_?)?(?:greater(?:_?than)?|above|gt|positive)", 2)
_BELOW: Final = pattern(
    r"(?:assert_?)?(?:to_?be_?|is_?)?(?:less(?:_?than)?(?:_?or_?equal(?:_?to)?)?|below|lt|lte|at_?most|most)", 2
)
_NEAR: Final = pattern(
    r"(?:assert_?)?(?:to_?be_?|is_?)?(?:in_?delta|in_?epsilon|almost_?equals?|close_?to|approximately|equals?|approx_eq|relative_eq|abs_diff_eq)!?",
    2,
)

_ANYTHING: Final = pattern(
    r"(?:\w+\.)?ANY|expect\.anything\(\)|expect\.any\((?:Object|Function)?\)|(?:\w+\.)*(?:is\()?(?:any|anything)\(\)\)?"
    r"|(?:is\()?(?:\w+\.)?(?:notNullValue|not\(nullValue)\(\)\)*|(?:\w+\.)?Anything|sinon\.match\.any"
)
_NOTHING: Final = pattern(r"None|null|nil|undefined|\(?void 0\)?|nullptr")
_ANY_TEXT: Final = pattern(r"[brf]?\"\"|[brf]?''|``|/\^?(?:\.\*|\(\?:\))\$?/\w*|[br]?[\"']\^?\.\*\$?[\"']|\{\}")
_SIZE: Final = pattern(
    r"(?:len|count|sizeof)\(.{1,160}\)|.{1,160}\.(?:length|size|len|count|size\(\)|len\(\)|length\(\)|count\(\))"
)
_HUGE: Final = pattern(
    r"(?:.*[^\w.])?(?:[1-9][\d_]{6,}(?:\.\d+)?|[1-9](?:\.\d+)?e\+?(?:[6-9]|[1-9]\d+)|Infinity|Number\.(?:MAX_VALUE|MAX_SAFE_INTEGER|POSITIVE_INFINITY)"
    r"|(?:Integer|Long|Double|Float)\.MAX_VALUE|math\.(?:inf|Inf\(1\)|MaxInt\w*|MaxFloat64)|float\([\"']inf[\"']\)|sys\.maxsize|\w{2,5}::MAX|\w{2,5}::INFINITY)\)*"
)


def proof_of_matcher(name: str, texts: list[str]) -> Proof | None:
    """What a matcher proves that lets nearly all through, given the subject and what it is held against; else None."""
    if not texts or any(len(text) > _LONGEST for text in texts):
        return None
    for look in (_prove_equality, _prove_types, _prove_containment, _prove_sizes, _prove_margins, _prove_choices):
        proof = look(name, texts)
        if proof is not None:
            return proof
    return None


def _prove_equality(name: str, texts: list[str]) -> Proof | None:
    if len(texts) < _PAIR:
        return None
    pair = texts[:_PAIR]
    if _has_name_form(_EQUALS, name) and any(map(_ANYTHING.fullmatch, pair)):
        return Proof.PRESENCE
    return Proof.PRESENCE if _has_name_form(_DIFFERS, name) and any(map(_NOTHING.fullmatch, pair)) else None


@lru_cache(maxsize=4096)
def _has_name_form(look: re.Pattern[str], name: str) -> bool:
    """Whether a matcher of this name is of this kind. A change calls the same few matchers thousands of times."""
    return look.fullmatch(name) is not None


_IS_A: Final = pattern(r"(?:assert_?)?(?:to_?be_?|is_?)?(?:an?|type|instance_?of|is_?instance|of_?type)", 2)
_ANY_TYPE: Final = pattern(r"(?:java\.lang\.)?[oO]bject(?:\.class)?")
_TYPE_OF: Final = pattern(r"typeof (.+)")
_STRING: Final = pattern(r"['\"`]string['\"`]")
_NO_TYPE: Final = pattern(r"['\"`](?:undefined|null)['\"`]")


def _prove_types(name: str, texts: list[str]) -> Proof | None:
    """Everything is an object, and the name of a type is a text."""
    if len(texts) < _PAIR:
        return None
    named = next((match for match in map(_TYPE_OF.fullmatch, texts[:_PAIR]) if match is not None), None)
    if named is not None and _has_name_form(_DIFFERS, name) and any(map(_NO_TYPE.fullmatch, texts[:_PAIR])):
        return Proof.PRESENCE
    is_type = _has_name_form(_IS_A, name)
    is_of_name = named is not None and (is_type or named[1].startswith("typeof "))
    if is_of_name and any(map(_STRING.fullmatch, texts[:_PAIR])):
        return Proof.NOTHING
    return Proof.PRESENCE if is_type and any(map(_ANY_TYPE.fullmatch, texts[:_PAIR])) else None


def _prove_containment(name: str, texts: list[str]) -> Proof | None:
    """Every text holds the empty one and a pattern of anything; what is true or false is one of the two."""
    if len(texts) < _PAIR or not _has_name_form(_CONTAINS, name):
        return None
    if any(map(_EITHER.fullmatch, texts[:_PAIR])):
        return Proof.NOTHING
    return Proof.PRESENCE if any(map(_ANY_TEXT.fullmatch, texts[:_PAIR])) else None


_EITHER: Final = pattern(r"[\[({](?:true, ?false|false, ?true|True, ?False|False, ?True)[\])}]")


def _prove_sizes(name: str, texts: list[str]) -> Proof | None:
    """No size is below nothing; one above nothing says that something is there."""
    is_least, is_above = _has_name_form(_AT_LEAST, name), _has_name_form(_ABOVE, name)
    if not (is_least or is_above) or _SIZE.fullmatch(texts[0]) is None:
        return None
    bound = texts[1] if len(texts) >= _PAIR else "0"
    if _COUNTER.search(texts[0]) and bound != "1":
        return None
    proofs = {"0": Proof.NOTHING, "1": Proof.PRESENCE} if is_least else {"-1": Proof.NOTHING, "0": Proof.PRESENCE}
    return proofs.get(bound)


_COUNTER: Final = pattern(r"\.(?:size|len|count)$")
"""A field that the code under test counts by itself may fall below nothing."""


def _prove_margins(name: str, texts: list[str]) -> Proof | None:
    """A margin of millions, or a limit that no number reaches."""
    if len(texts) >= _PAIR and _has_name_form(_BELOW, name) and _is_limitless(texts[1]):
        return Proof.PRESENCE
    if len(texts) > _PAIR and _has_name_form(_NEAR, name) and any(map(_HUGE.fullmatch, texts[_PAIR:])):
        return Proof.PRESENCE
    return None


def _is_limitless(text: str) -> bool:
    return _HUGE.fullmatch(text) is not None and not text[:1].isdigit()


def _prove_choices(name: str, texts: list[str]) -> Proof | None:
    """One of several will do, and one of them asks for nothing."""
    return Proof.NOTHING if name == "satisfiesAnyOf" and any(map(_ASKS_NOTHING.fullmatch, texts)) else None


_ASKS_NOTHING: Final = pattern(r"\(?\w+\)? *-> *\{\s*\}")
