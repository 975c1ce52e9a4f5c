"""Two assertions compared as texts: which asks for less of the same, and whether a test still asks for what a lost one asked.

One that names something else asks for no less. Of a subject that is no plain name, bound once, only an adjacent check counts.
"""

import re
from collections.abc import Iterator
from typing import Final

from worker.domain.pattern import pattern
from worker.signals.analysis.assertions import Assertion
from worker.signals.analysis.proofs import Proof, is_literal
from worker.signals.analysis.tests import Test

_MEMBER: Final = pattern(r"\.([A-Za-z_]\w*)")
_PRESENCE_WORDS: Final = pattern(
    r"(?:is|to|has|Not|not|assert|exist|be|len|size|length|count|any|defined|truthy|ok|some|unwrap|expect|No|True|Nil|resolves|rejects|class)(?:[A-Z_]?\w*)"
)
"""Names of assertions, and of what only asks whether something is there."""
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
    {"assert", "assert_eq", "expect", "require", "self", "is", "not", "and", "or", "in", "t", "if", "None"}
    | {"null", "nil", "true", "false", "True", "False", "undefined", "toBe", "toEqual", "Equal", "assertEqual"}
    | {"assertEquals", "isTrue", "assertTrue", "assertFalse", "NoError", "NotNil", "Nil", "Empty", "NotEmpty"}
    | {"Len", "len", "assertThat", "isFalse", "isEqualTo", "hasSize", "Fatal", "Fatalf", "Error", "Errorf"}
    | {"assertIsNone", "assertIsNotNone", "assertNotNull"}
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
    """Whether it only asks for the presence of something of which the old one asked for more than the opposite."""
    asked = {word for word in _MEMBER.findall(_QUOTED.sub(" ", new.text)) if not _PRESENCE_WORDS.fullmatch(word)}
    names, old_words = assertion_words(new), set(_WORD.findall(old.text))
    is_same = asked <= old_words and names <= assertion_words(old)
    if new.proof is Proof.SUCCESS and not names:
        is_same = not old_words.isdisjoint(_ERROR)  # that an earlier step failed has nothing to do with it
    return new.proof < old.proof and is_same and not is_opposite(new, old)


def is_opposite(new: Assertion, old: Assertion) -> bool:
    """Whether what was absent is there now; the absence of an error is what `NoError` asks for."""
    was_absent = new.proof in {Proof.PRESENCE, Proof.SUCCESS} and _ABSENCE_WORDS.search(old.text) is not None
    return was_absent or _NOT.sub("", old.text) == new.text


def assertion_words(assertion: Assertion) -> frozenset[str]:
    """The names in it, without the words of the assertion itself."""
    names = _NAME.findall(_QUOTED.sub(" ", assertion.text))
    return frozenset(word for word in names if not _COMMON.fullmatch(word))


def assertion_names(assertion: Assertion) -> frozenset[str]:
    """The names in it; words that assertions are made of (`ok`, `size`, `self.x`) only if there are no others."""
    names = assertion_words(assertion)
    return names or frozenset(_WORD.findall(_QUOTED.sub(" ", assertion.text))) - _MEANS_NOTHING


def is_implied(gone: Assertion, base: Test, head: Test) -> bool:
    """Whether *head* still asks for what *gone* asked: that something is there, or how it compares with a literal."""
    text = gone.text if len(gone.text) <= _LONGEST_CHECK else ""
    presence, element, compared = _THERE.fullmatch(text), _ELEMENT.fullmatch(text), _find_compared(text)
    there = next(filter(None, presence.groups())) if presence is not None else ""
    counted, position = (element[1], int(element[2])) if element is not None else ("", 0)
    stronger = [
        kept
        for kept in _find_checks(head)
        if kept.text == gone.text
        or (there and _is_stronger(kept, there))
        or (compared and compared in _equal_sides(kept))
        or (counted and _is_ended(counted, position, kept))
    ]
    subject = there or compared or counted
    if _PLAIN_NAME.fullmatch(subject):
        bound = re.findall(rf"(?<![\w.$]){re.escape(subject)}(?:: ?[^=\n]{{1,80}})? ?:?=(?![=>])", head.text)
        return bool(stronger) and len(bound) <= 1
    texts = {kept.text for kept in stronger}
    others = (kept for kept in _find_checks(base) if kept.text in texts and kept.node != gone.node)
    return any(_is_adjacent(kept, gone, base) for kept in others)


def can_be_implied(gone: Assertion, head: Test) -> bool:
    """Whether *head* asks for the same elsewhere, or for the value of which *gone* asked a part or a property."""
    text, names, own = gone.text[:_LONGEST_CHECK], assertion_words(gone), _equal_sides(gone)
    return any(
        kept.text == gone.text
        or any(
            next(_list_ends(side, text), None) is not None
            and not (is_literal(side) or side in own)
            and names <= frozenset(_WORD.findall(side))
            for side in _equal_sides(kept)
        )
        for kept in _find_checks(head)
    )


def _find_checks(test: Test) -> Iterator[Assertion]:
    return (assertion for assertion in test.assertions if not assertion.is_guess)


def _equal_sides(assertion: Assertion) -> list[str]:
    return [side.strip() for side in assertion.pair or ()]


def _find_compared(text: str) -> str:
    """What is asked to differ from a literal, or to be more or less than it."""
    match = _COMPARED.fullmatch(text)
    sides = match.groups() if match is not None else ()
    subjects = [side for side in sides if side is not None and not is_literal(side)]
    return subjects[0] if len(subjects) == 1 else ""


def _is_ended(subject: str, position: int, assertion: Assertion) -> bool:
    """Whether the list has to end before the position of an element that is asked to be absent."""
    match = _LENGTH.fullmatch(assertion.text[:_LONGEST_CHECK])
    return match is not None and (match[1] or match[2]) == subject and int(match[3]) <= position


def _is_stronger(assertion: Assertion, subject: str) -> bool:
    """Whether it asks for the value of the subject, or looks into it, and so fails where there is none."""
    if assertion.proof is not Proof.VALUE:
        return False
    text = assertion.text[:_LONGEST_CHECK]
    text = text.partition(" {")[0] if text.startswith("if ") else text
    rests = [text[at:] for at in _list_ends(subject, text)]
    if any(_INTO.match(rest) for rest in rests):
        return True
    if _DENIES.search(text):
        return False
    compared = _equal_sides(assertion)
    is_compared = subject in compared and _NOTHING.isdisjoint(compared)
    is_optional = any(rest.startswith("?.") for rest in rests)
    return is_optional or is_compared or text.startswith((f"expect({subject})", f"assertThat({subject})"))


def _list_ends(subject: str, text: str) -> Iterator[int]:
    return (match.end() for match in re.finditer(rf"(?<![\w.$]){re.escape(subject)}(?![\w$])", text))


def _is_adjacent(assertion: Assertion, gone: Assertion, base: Test) -> bool:
    """Whether only checks are between the two."""
    first, last = sorted((assertion.node, gone.node), key=lambda node: node.start_byte)
    nodes = [check.node for check in _find_checks(base)]
    checks = {row for node in nodes for row in range(node.start_point.row, node.end_point.row + 1)}
    between = range(first.end_point.row + 1, last.start_point.row)
    return all(row in checks or not base.source.lines[row].strip() for row in between)
