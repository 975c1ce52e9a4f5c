"""What a condition, a matcher or the name of a helper proves in a test: a value, presence, success or nothing.

Reads expressions as text, in all languages alike. In doubt a condition proves a value, and a name is that of a check.
"""

import re
from enum import IntEnum
from functools import lru_cache
from typing import Final

from worker.domain.pattern import pattern
from worker.signals.analysis.change import Source
from worker.signals.analysis.file_roles import Language


class Proof(IntEnum):
    """What a check can find out, from nothing to all."""

    NOTHING = 0
    """It holds whatever the code does."""
    SUCCESS = 1
    """No error was thrown or returned."""
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
_SIDES: Final = pattern(r"([^=<>!&|]{1,200}?) ?={2,3} ?([^=<>!&|]{1,200})")
_JOINS: Final = pattern(r"&&|\|\|| and | or |;")
_OPERATOR: Final = pattern(r"!=|==|<=|>=|<|>")
_OPPOSITES: Final = {"!=": "==", "==": "!=", "<=": ">", ">=": "<", "<": ">=", ">": "<="}
_PAIRS: Final = pattern(r"(\.is_)(?:none|some|ok|err)\b")


def prove_condition(condition: str) -> Proof:
    """What is proved when *condition* is asserted to be true."""
    if len(condition) > _LONGEST:
        return Proof.VALUE
    text = _strip_brackets(condition)
    left, _, other = text.replace(" || ", " or ").partition(" or ")  # `x == y or x != y`, `x or not x`
    is_tautology = left != other and bool(other) and _strip_negation(left) == _strip_negation(other)
    if is_tautology or any(form.fullmatch(text) for form in (_ALWAYS, _LITERAL_IS_PRESENT, _ITSELF, _TYPED)):
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
    """Remove the brackets around a condition."""
    text = " ".join(condition.split())
    while text.startswith("(") and text.endswith(")") and "(" not in text[1:]:
        text = text[1:-1].strip()
    return text


def split_equality(condition: str) -> tuple[str, str] | None:
    """The two sides of a condition that is one comparison for equality."""
    match = _SIDES.fullmatch(" ".join(condition[:_LONGEST].split()))
    return None if match is None else (match[1], match[2])


def negate(condition: str) -> str:
    """The opposite of *condition* if it is one comparison or one call; else the empty text."""
    text = " ".join(condition.split())
    if len(text) > _LONGEST or _JOINS.search(text):
        return ""
    if text.startswith("!"):
        return text[1:].strip()
    match = _OPERATOR.search(text)
    return "" if match is None else f"{text[: match.start()]}{_OPPOSITES[match[0]]}{text[match.end() :]}"


def _strip_negation(text: str) -> str:
    bare = text.removeprefix("not ").removeprefix("!").replace("!=", "==").replace(" is not ", " is ")
    return _PAIRS.sub(lambda match: match[1], bare)


def prove_equality(left: str, other: str) -> Proof:
    """What is proved when the two are asserted to be equal: nothing for `x` and `x`, for `1` and `1`."""
    is_same = " ".join(left.split()) == " ".join(other.split()) and len(left) <= _LONGEST
    return Proof.NOTHING if is_same else Proof.VALUE


def is_literal(text: str) -> bool:
    return len(text) <= _LONGEST and _ALL_LITERAL.fullmatch(text) is not None


def is_name(text: str) -> bool:
    """Whether it is a variable or a field, whose truth says little in a language without types."""
    return len(text) <= _LONGEST and _NAME.fullmatch(text) is not None


def split_arguments(text: str) -> list[str]:
    """The arguments of a macro, which no grammar reads: split at the commas outside of brackets and strings."""
    parts: list[str] = [""]
    depth, quote, escaped = 0, "", False
    for letter in text:
        if quote:
            quote = "" if letter == quote and not escaped else quote
            escaped = letter == "\\" and not escaped
        elif letter in '"`':
            quote = letter
        elif letter == "," and depth == 0:
            parts.append("")
            continue
        else:
            depth += (letter in "([{") - (letter in ")]}")
        parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


_LONGEST_ARGUMENT: Final = 200
_PAIR: Final = 2
_EQUALS_NAME: Final = pattern(
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
_IS_A: Final = pattern(r"(?:assert_?)?(?:to_?be_?|is_?)?(?:an?|type|instance_?of|is_?instance|of_?type)", 2)
_ANY_VALUE: Final = pattern(
    r"(?:\w+\.)?ANY|expect\.anything\(\)|expect\.any\((?:Object|Function)?\)|(?:\w+\.)*(?:is\()?(?:any|anything)\(\)\)?"
    r"|(?:is\()?(?:\w+\.)?(?:notNullValue|not\(nullValue)\(\)\)*|(?:\w+\.)?Anything|sinon\.match\.any"
)
_NOTHING: Final = pattern(r"None|null|nil|undefined|\(?void 0\)?|nullptr")
_ANY_TEXT: Final = pattern(r"[brf]?\"\"|[brf]?''|``|/\^?(?:\.\*|\(\?:\))\$?/\w*|[br]?[\"']\^?\.\*\$?[\"']|\{\}")
_EITHER: Final = pattern(r"[\[({](?:true, ?false|false, ?true|True, ?False|False, ?True)[\])}]")
_SIZE: Final = pattern(
    r"(?:len|count|sizeof)\(.{1,160}\)|.{1,160}\.(?:length|size|len|count|size\(\)|len\(\)|length\(\)|count\(\))"
)
_COUNTER: Final = pattern(r"\.(?:size|len|count)$")
"""A field that the code under test counts itself may fall below zero."""
_HUGE: Final = pattern(
    r"(?:.*[^\w.])?(?:[1-9][\d_]{6,}(?:\.\d+)?|[1-9](?:\.\d+)?e\+?(?:[6-9]|[1-9]\d+)|Infinity|Number\.(?:MAX_VALUE|MAX_SAFE_INTEGER|POSITIVE_INFINITY)"
    r"|(?:Integer|Long|Double|Float)\.MAX_VALUE|math\.(?:inf|Inf\(1\)|MaxInt\w*|MaxFloat64)|float\([\"']inf[\"']\)|sys\.maxsize|\w{2,5}::MAX|\w{2,5}::INFINITY)\)*"
)
_ANY_TYPE: Final = pattern(r"(?:java\.lang\.)?[oO]bject(?:\.class)?")
_TYPE_OF: Final = pattern(r"typeof (.+)")
_STRING: Final = pattern(r"['\"`]string['\"`]")
_NO_TYPE: Final = pattern(r"['\"`](?:undefined|null)['\"`]")
_ASKS_NOTHING: Final = pattern(r"\(?\w+\)? *-> *\{\s*\}")
_PAIR_RULES: Final = (
    (_EQUALS_NAME, _ANY_VALUE, Proof.PRESENCE),
    (_DIFFERS, _NOTHING, Proof.PRESENCE),
    (_IS_A, _ANY_TYPE, Proof.PRESENCE),
    (_CONTAINS, _EITHER, Proof.NOTHING),
    (_CONTAINS, _ANY_TEXT, Proof.PRESENCE),
)
"""Forms of a matcher's name and of one of the two that it compares, and what it proves then."""


def proof_of_matcher(name: str, texts: list[str]) -> Proof | None:
    """What a matcher proves that lets nearly everything through, by the subject and its arguments; None for any other."""
    if not texts or any(len(text) > _LONGEST_ARGUMENT for text in texts):
        return None
    if name == "satisfiesAnyOf" and any(map(_ASKS_NOTHING.fullmatch, texts)):
        return Proof.NOTHING
    pair = texts[:_PAIR]
    if len(pair) < _PAIR:
        return _prove_size(name, texts[0], "0")
    if (proof := _prove_type(name, pair)) is not None:
        return proof
    for form, argument, proof in _PAIR_RULES:
        if _has_form(name, form) and any(map(argument.fullmatch, pair)):
            return proof
    # no number reaches its limit, or it allows a margin of millions
    is_no_limit = _has_form(name, _BELOW) and bool(_HUGE.fullmatch(texts[1])) and not texts[1][:1].isdigit()
    has_huge_margin = _has_form(name, _NEAR) and any(map(_HUGE.fullmatch, texts[_PAIR:]))
    return Proof.PRESENCE if is_no_limit or has_huge_margin else _prove_size(name, *pair)


@lru_cache(maxsize=4096)
def _has_form(name: str, form: re.Pattern[str]) -> bool:
    """Whether a matcher of this name is of this kind. A change calls the same few matchers thousands of times."""
    return form.fullmatch(name) is not None


def _prove_type(name: str, pair: list[str]) -> Proof | None:
    """Of `typeof x`: everything has a type, and the name of a type is a text."""
    named = next((match for match in map(_TYPE_OF.fullmatch, pair) if match is not None), None)
    if named is None:
        return None
    if _has_form(name, _DIFFERS) and any(map(_NO_TYPE.fullmatch, pair)):
        return Proof.PRESENCE
    is_of_name = _has_form(name, _IS_A) or named[1].startswith("typeof ")
    return Proof.NOTHING if is_of_name and any(map(_STRING.fullmatch, pair)) else None


def _prove_size(name: str, subject: str, bound: str) -> Proof | None:
    """No size is below zero; one above zero means that something is there."""
    is_least = _has_form(name, _AT_LEAST)
    if not (is_least or _has_form(name, _ABOVE)) or _SIZE.fullmatch(subject) is None:
        return None
    if _COUNTER.search(subject) and bound != "1":
        return None
    proofs = {"0": Proof.NOTHING, "1": Proof.PRESENCE} if is_least else {"-1": Proof.NOTHING, "0": Proof.PRESENCE}
    return proofs.get(bound)


_LONGEST_CHECK: Final = 80
_WORDS: Final = pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_ANYWHERE: Final = pattern(
    r"assert|expect|should|verif|check|rais|fail|requir|must|ensur|compar|equal|snapshot|golden|panic|throw|roundtrip|trybuild"
)
_FIRST: Final = pattern(
    r"diff|contain|valid|wait|until|prove|confirm|approv|inspect|lint|exit|abort|approx|almost|compil|reject|same|satisf|warn"
    r"|then$|within$|screen$|cmp$"
)
_LAST: Final = frozenset({"eq", "ok", "error", "errors", "pass", "passes", "done", "works", "same", "survives"})
_MATCHING: Final = pattern(r"(?:fn|re_?|to_?|^)match(?:es)?(?:_|[A-Z]|$)|(?:get|find|query)(?:All)?By[A-Z]|round_?trip")
_ENDS: Final = pattern(r"^test|_test$|^run_?tests?(?![a-z])|^do_?test", 2)
_STUBBING: Final = pattern(r"(?:then|will|do)(?:Return|Throw|Answer)")
"""What a double is set up with: `when(x).thenThrow(...)`."""
_MAKING: Final = frozenset(
    {"setup", "set", "new", "create", "make", "build", "mock", "prepare", "start", "init", "open", "fake", "get", "try"}
    | {"list", "read", "load", "parse", "fetch", "add", "with", "from"}
)
_QUALITIES: Final = frozenset({"required", "checked"})
"""What a builder sets of the thing that it makes."""


@lru_cache(maxsize=4096)
def is_check_name(name: str) -> bool:
    """Whether a function of this name may check something; one that makes a thing or sets up a double does not."""
    if len(name) > _LONGEST_CHECK:
        return False
    parts = [word.lower() for word in _WORDS.findall(name)]
    if _MATCHING.search(name) or _ENDS.search(name):
        return True
    if not parts or parts[0] in _MAKING or name in _QUALITIES or _STUBBING.match(name):
        return False
    return any(map(_ANYWHERE.match, parts)) or _FIRST.match(parts[0]) is not None or parts[-1] in _LAST


_ASSERTING: Final = pattern(r"assert|panic|unreachable|expect|check|matches_snapshot|unwrap_err|\brequire\.|\bis\.")


def can_assert(source: Source) -> bool:
    """False for a text of Rust without any word of an assertion: it need not be parsed then."""
    return source.language is not Language.RUST or _ASSERTING.search(source.text) is not None
