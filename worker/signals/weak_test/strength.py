"""Which of two checks asks less of the same, and what a check names.

Reads checks as texts. Does not know where they stand. Invariant: one that names something else asks no less.
"""

from typing import Final

from worker.domain.pattern import pattern
from worker.signals.analysis.assertions import Assertion
from worker.signals.analysis.conditions import Proof


def is_weaker(new: Assertion, old: Assertion) -> bool:
    """It asks only whether something is there, of what the old one asked more than the opposite."""
    asked = {word for word in _MEMBER.findall(_QUOTED.sub(" ", new.text)) if not _PRESENCE_WORDS.fullmatch(word)}
    is_of_the_same = asked <= set(_WORD.findall(old.text)) and assertion_words(new) <= assertion_words(old)
    if new.proof is Proof.SUCCESS and not assertion_words(new):
        is_of_the_same = not _ERROR.isdisjoint(
            _WORD.findall(old.text)
        )  # that a step before it failed says nothing of it
    return new.proof < old.proof and is_of_the_same and not is_opposite(new, old)


def is_opposite(new: Assertion, old: Assertion) -> bool:
    """What was absent is there now; an error that is absent is what `NoError` asks for."""
    was_absent = new.proof in {Proof.PRESENCE, Proof.SUCCESS} and _ABSENCE_WORDS.search(old.text) is not None
    return was_absent or _NOT.sub("", old.text) == new.text


_MEMBER: Final = pattern(r"\.([A-Za-z_]\w*)")
_PRESENCE_WORDS: Final = pattern(
    r"(?:is|to|has|Not|not|assert|exist|be|len|size|length|count|any|defined|truthy|ok|some|unwrap|expect|No|True|Nil|resolves|rejects|class)(?:[A-Z_]?\w*)"
)
"""What an assertion itself is called, and what only asks whether something is there."""
_ABSENCE_WORDS: Final = pattern(
    r"\.is(?:Null|NotPresent)\(|isPresent\(\)\)\.isFalse\(|assertFalse\(.{0,200}\.isPresent\(\)|assert(?:Null|IsNone)\(|\bAssert\.(?:Is)?Null\(|\bIs\.Null\b|Should(?:\(\)\.)?BeNull\(|\bbe_nil\b|assert_nil\b|shouldBe null\b|\.toBe(?:Null|Undefined)\("
    r"|\bis None\b|\.Nil\(|is_none\(\)"
)
_NOT: Final = pattern(r"!|\bnot ")
_WORD: Final = pattern(r"[A-Za-z_]\w*")
_NAME: Final = pattern(r"(?<![.\w])[A-Za-z_]\w*")
_ERROR: Final = frozenset({"err", "error", "Error", "result"})
_QUOTED: Final = pattern(
    r"(?<![A-Za-z])[bfruBFRU]{0,2}\"(?:[^\"\\]|\\.){0,500}\"|(?<![A-Za-z])[bfruBFRU]{0,2}'(?:[^'\\]|\\.){0,500}'"
)
_COMMON: Final = pattern(
    r"assert\w*|self|expect|require|then|is|not|None|null|nil|undefined|len|in|and|or|if|t|to[A-Z]\w*|is[A-Z]\w*|has[A-Z]\w*"
    r"|contains\w*|true|false|True|False|Equal\w*|True|False|NotNil|Len|Errorf?|Fatalf?|String|int|str|await|err|Object|func|_"
    r"|repr|id|format|fmt|Sprintf?|Sprint|typeof|bool|Boolean|isinstance|instanceof|object|type|any|ANY|mock|anything|Some|Ok|abs|Math|math|Abs|Infinity|Number"
    r"|MAX_VALUE|float|inf|length|size|ok|equals?|strictEqual|deepEqual|deepStrictEqual|notEqual|notStrictEqual|same|match|matches|regexp|MatchString"
    r"|NotEmpty|NotZero|Contains|Greater\w*|Less\w*|InDelta|within|delta|included?s?|exists?|undefined|throws?|at(?:Least|Most)\w*|never|times|any[A-Z]\w*|doesNotThrow|NotPanics|NoError|a|an"
)


def assertion_words(oracle: Assertion) -> frozenset[str]:
    """What it names, but for the words of the assertion itself."""
    names = _NAME.findall(_QUOTED.sub(" ", oracle.text))
    return frozenset(word for word in names if not _COMMON.fullmatch(word))


def assertion_names(oracle: Assertion) -> frozenset[str]:
    """What it names; where these are words that assertions are made of (`ok`, `size`, `self.x`), then those as well."""
    names = assertion_words(oracle)
    return names or frozenset(_WORD.findall(_QUOTED.sub(" ", oracle.text))) - _MEANS_NOTHING


_MEANS_NOTHING: Final = frozenset(
    {
        "assert",
        "assert_eq",
        "expect",
        "require",
        "self",
        "is",
        "not",
        "and",
        "or",
        "in",
        "t",
        "if",
        "None",
        "null",
        "nil",
    }
    | {
        "true",
        "false",
        "True",
        "False",
        "undefined",
        "toBe",
        "toEqual",
        "Equal",
        "assertEqual",
        "assertEquals",
        "assertTrue",
    }
    | {
        "assertFalse",
        "NoError",
        "NotNil",
        "Nil",
        "Empty",
        "NotEmpty",
        "Len",
        "len",
        "assertThat",
        "isEqualTo",
        "isTrue",
    }
    | {"isFalse", "hasSize", "Fatal", "Fatalf", "Error", "Errorf", "assertIsNone", "assertIsNotNone", "assertNotNull"}
)
