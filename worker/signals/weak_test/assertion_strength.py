"""Which of two checks asks less of the same, and what a check names.

Reads checks as texts. Does not know where they stand. Invariant: one that names something else asks no less.
"""

import re
from collections.abc import Iterator
from typing import Final

from worker.domain.pattern import pattern
from worker.signals.analysis.assertions import Assertion, find_assertions
from worker.signals.analysis.conditions import Proof, is_literal
from worker.signals.analysis.tests import Test

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
_LONGEST_CHECK: Final = 300
_MORE: Final = r"(?:, ?[\"'`][^\"'`]*[\"'`])?"
_THERE: Final = pattern(
    r"(?:\w+\.)?(?:assertThat|expect)\((.+)\)\.(?:isNotNull\(\)|toBeDefined\(\)|toBeTruthy\(\)|not\.toBe(?:Null|Undefined)\(\)|to\.exist|to\.be\.ok);?"
    rf"|assert (.+) (?:is not|!=) None{_MORE}|self\.assertIsNotNone\((.+?){_MORE}\)"
    rf"|(?:require|assert)\.NotNil\(t, (.+?){_MORE}\)|if ([\w.]+) == nil \{{.*\}}"
    rf"|(?:[\w$]+(?:\.|->|::))?(?:[aA]ssertNotNull|IsNotNull|NotNull)\((.+?){_MORE}\);?"
)
_COMPARED: Final = pattern(
    r"assert (.+?) (?:[<>]=?|!=) (.+?)|self\.assert(?:NotEqual|Greater|Less|GreaterEqual|LessEqual)\((.+), (.+)\)"
    r"|expect\((.+)\)\.(?:not\.to(?:Be|Equal|StrictEqual)|toBe(?:Greater|Less)Than(?:OrEqual)?)\((.+)\);?"
    r"|(?:debug_)?assert!\((.+?) (?:[<>]=?|!=) (.+)\);?|(?:debug_)?assert_ne!\((.+), (.+)\);?"
    r"|(?:require|assert)\.(?:NotEqual|Greater|Less|GreaterOrEqual|LessOrEqual)\(t, (.+), (.+)\)"
    r"|(?:Assert(?:ions)?\.)?(?:assertTrue\((.+?) (?:[<>]=?|!=) (.+)\)|assertNotEquals\((.+), (.+)\));?"
    r"|assertThat\((.+)\)\.is(?:NotEqualTo|(?:Greater|Less)Than(?:OrEqualTo)?)\((.+)\);?"
)
_ELEMENT: Final = pattern(r"expect\((.+)\[(\d{1,6})\]\)\.(?:toBeFalsy|toBeUndefined|not\.toBeDefined)\(\);?")
_LENGTH: Final = pattern(r"expect\((?:(.+)\.length\)\.to(?:Be|Equal|StrictEqual)|(.+)\)\.toHaveLength)\((\d{1,6})\);?")
_PLAIN_NAME: Final = pattern(r"[A-Za-z_$][\w$]*")
_INTO: Final = pattern(r"!?(?:\.[A-Za-z_]|->|\[)")
_DENIES: Final = pattern(
    r"\.not\b|\bnot |!=|[nN]otE|isNot|doesNot|Null\b|Undefined\(|Falsy\(|\b(?:undefined|null|None|nil)\b"
)
_NOTHING: Final = frozenset({"None", "null", "nil", "undefined"})


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


def assertion_words(oracle: Assertion) -> frozenset[str]:
    """What it names, but for the words of the assertion itself."""
    names = _NAME.findall(_QUOTED.sub(" ", oracle.text))
    return frozenset(word for word in names if not _COMMON.fullmatch(word))


def assertion_names(oracle: Assertion) -> frozenset[str]:
    """What it names; where these are words that assertions are made of (`ok`, `size`, `self.x`), then those as well."""
    names = assertion_words(oracle)
    return names or frozenset(_WORD.findall(_QUOTED.sub(" ", oracle.text))) - _MEANS_NOTHING


def is_implied(gone: Assertion, base: Test, head: Test) -> bool:
    """Whether *head* still asks what *gone* asked: that something is there, or how it compares with a literal."""
    there, compared, counted = _presence_subject(gone), _compared_subject(gone), _absent_element(gone)
    stronger = [
        kept
        for kept in _find_checks(head)
        if kept.text == gone.text
        or (there and _is_stronger(kept, there))
        or (compared and compared in _equal_sides(kept))
        or (counted is not None and _is_length_check(kept, *counted))
    ]
    subject = there or compared or (counted or ("",))[0]
    if _PLAIN_NAME.fullmatch(subject):
        bound = re.findall(rf"(?<![\w.$]){re.escape(subject)}(?:: ?[^=\n]{{1,80}})? ?:?=(?![=>])", head.text)
        return bool(stronger) and len(bound) <= 1
    texts = {kept.text for kept in stronger}
    return any(
        kept.text in texts and kept.node != gone.node and _is_adjacent(kept, gone, base) for kept in _find_checks(base)
    )


def can_be_implied(gone: Assertion, head: Test) -> bool:
    """Whether *head* asks the same elsewhere, or says what the value is that *gone* asked something about."""
    return any(
        kept.text == gone.text or any(_is_about_subject(gone, side) for side in _equal_sides(kept))
        for kept in _find_checks(head)
    )


def _is_about_subject(gone: Assertion, subject: str) -> bool:
    """Whether *gone* asks about a part or a property of the subject, and of nothing else."""
    if (
        is_literal(subject)
        or subject in _equal_sides(gone)
        or next(_list_ends(subject, gone.text[:_LONGEST_CHECK]), None) is None
    ):
        return False
    return assertion_words(gone) <= frozenset(_WORD.findall(subject))


def _find_checks(test: Test) -> Iterator[Assertion]:
    assertions = find_assertions(test.body, test.source.language, nodes=test.source.nodes)
    return (assertion for assertion in assertions if not assertion.is_guess)


def _equal_sides(oracle: Assertion) -> list[str]:
    """What it holds to be equal."""
    return [side.strip() for side in oracle.pair or ()]


def _presence_subject(oracle: Assertion) -> str:
    """What is asked to be there at all."""
    match = _THERE.fullmatch(oracle.text) if len(oracle.text) <= _LONGEST_CHECK else None
    return "" if match is None else next(filter(None, match.groups()))


def _compared_subject(oracle: Assertion) -> str:
    """What is asked to differ from a literal, or to be more or less than it."""
    match = _COMPARED.fullmatch(oracle.text) if len(oracle.text) <= _LONGEST_CHECK else None
    sides = [side for side in match.groups() if side is not None] if match is not None else []
    subjects = [side for side in sides if not is_literal(side)]
    return subjects[0] if len(subjects) == 1 else ""


def _absent_element(oracle: Assertion) -> tuple[str, int] | None:
    """The list of which an element is asked to be absent, and the position of that element."""
    match = _ELEMENT.fullmatch(oracle.text) if len(oracle.text) <= _LONGEST_CHECK else None
    return None if match is None else (match[1], int(match[2]))


def _is_length_check(oracle: Assertion, subject: str, position: int) -> bool:
    """Whether it says that the list ends before this position."""
    match = _LENGTH.fullmatch(oracle.text[:_LONGEST_CHECK])
    return match is not None and (match[1] or match[2]) == subject and int(match[3]) <= position


def _is_stronger(oracle: Assertion, subject: str) -> bool:
    """It asks what the subject is, or looks into it, so that it fails where there is none."""
    if oracle.proof is not Proof.VALUE:
        return False
    text = (
        oracle.text[:_LONGEST_CHECK].partition(" {")[0]
        if oracle.text.startswith("if ")
        else oracle.text[:_LONGEST_CHECK]
    )
    rests = [text[at:] for at in _list_ends(subject, text)]
    if any(_INTO.match(rest) for rest in rests):
        return True
    if _DENIES.search(text):
        return False
    if any(rest.startswith("?.") for rest in rests):
        return True
    compared = _equal_sides(oracle)
    is_compared = subject in compared and _NOTHING.isdisjoint(compared)
    return is_compared or any(text.startswith(f"{entry}({subject})") for entry in ("expect", "assertThat"))


def _list_ends(subject: str, text: str) -> Iterator[int]:
    return (match.end() for match in re.finditer(rf"(?<![\w.$]){re.escape(subject)}(?![\w$])", text))


def _is_adjacent(assertion: Assertion, gone: Assertion, base: Test) -> bool:
    """Between the two stand nothing but checks."""
    first, last = sorted((assertion.node, gone.node), key=lambda node: node.start_byte)
    between = range(first.end_point.row + 1, last.start_point.row)
    checks = {
        row for each in _find_checks(base) for row in range(each.node.start_point.row, each.node.end_point.row + 1)
    }
    return all(row in checks or not base.source.lines[row].strip() for row in between)
