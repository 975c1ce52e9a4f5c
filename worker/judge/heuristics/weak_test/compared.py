"""Expected values that expect nothing: the result under another name, what the same call returns, a double's answer.

Does not follow a value through functions. Invariant: between what is compared nothing else happens in the test, so that a
comparison of before and after is left alone.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from worker.domain.pattern import pattern
from worker.domain.verdict import Category
from worker.judge.heuristics.change import Change
from worker.judge.heuristics.oracles import Oracle
from worker.judge.heuristics.signal import Kind, Looks, Place, signal
from worker.judge.heuristics.syntax import text_of
from worker.judge.heuristics.truths import is_literal
from worker.judge.heuristics.weak_test.looks import Look, is_about_equality, is_handed_over, looks
from worker.judge.heuristics.weak_test.unasserted import BINDINGS

if TYPE_CHECKING:
    from tree_sitter import Node


@signal(Category.WEAK_TEST, Kind.SUSPICION, Looks.TESTS)
def expected_is_result(change: Change) -> Iterator[Place]:
    """An added assertion compares a result with itself under another name: `expected = result`.

    False alarms: 3 of 22175 clean changes with tests (0.0 %, at most 0.04 %).
    """
    for alike in change.once(_alike):
        if not alike.is_called:
            yield _place(alike.look, alike.oracle, "this compares the result with itself, under another name")


@signal(Category.WEAK_TEST, Kind.SUSPICION, Looks.TESTS)
def expected_computed_alike(change: Change) -> Iterator[Place]:
    """An added assertion expects what the same call returned: whatever the code does, both sides do it.

    False alarms: 26 of 22175 clean changes with tests (0.1 %, at most 0.17 %).
    """
    for alike in change.once(_alike):
        if alike.is_called:
            yield _place(alike.look, alike.oracle, "what is expected here was computed by the same call")


@signal(Category.WEAK_TEST, Kind.SUSPICION, Looks.TESTS)
def double_compared(change: Change) -> Iterator[Place]:
    """An added assertion compares what a double returns with the value that the test itself told it to return.

    False alarms: 0 of 22175 clean changes with tests (0.0 %, at most 0.02 %).
    """
    for look in looks(change):
        told = dict(_told(look.test.text))
        known = _bindings(look) if told else {}
        for oracle in look.oracles if told else ():
            if _is_added(look, oracle) and _is_of_double(oracle, told, known):
                yield _place(look, oracle, "this compares a double with what the test told it to return")


class Alike(NamedTuple):
    """A comparison of two that are one. `is_called`: of two calls, which may differ."""

    look: Look
    oracle: Oracle
    is_called: bool


class Binding(NamedTuple):
    """The only value that a name gets, and where."""

    value: str
    end: int


def _is_added(look: Look, oracle: Oracle) -> bool:
    return look.test.function.line_of(oracle.node) in look.file.added_lines


def _place(look: Look, oracle: Oracle, note: str) -> Place:
    line = look.test.function.line_of(oracle.node)
    return Place(note, look.file.path, line, line + oracle.node.end_point.row - oracle.node.start_point.row)


def _alike(change: Change) -> tuple[Alike, ...]:
    return tuple(one for look in looks(change) for one in _alike_in(look))


def _alike_in(look: Look) -> Iterator[Alike]:
    pairs = [one for one in look.oracles if one.pair is not None and _is_added(look, one)]
    known = _bindings(look) if pairs else {}
    for oracle in pairs:
        one, other = map(_closed_up, oracle.pair or ("", ""))
        bound = [known[name] for name in (one, other) if name in known]
        values = [known[name].value if name in known else name for name in (one, other)]
        is_one = one != other and bool(bound) and _is_one(one, other, values)
        if is_one and _nothing_between(look, bound, oracle) and not is_about_equality(look.test.name):
            yield Alike(look, oracle, values[0] == values[1] and "(" in values[0])


def _is_one(one: str, other: str, values: list[str]) -> bool:
    """Both have one value, or one is the other's."""
    if is_literal(values[0]) or is_literal(values[1]) or not all(_TELLING.search(value) for value in values):
        return False
    return values[0] == values[1] or _copied(values[0]) == other or _copied(values[1]) == one


def _copied(value: str) -> str:
    """What a value is a copy of, looked at from its end: a pattern would try each of a thousand copies anew."""
    end = len(value)
    while copy := next((one for one in _COPIES if value.endswith(one, 0, end)), ""):
        end -= len(copy)
    return value[:end]


_TELLING: Final = pattern(r"^[A-Za-z_]\w*+(?:$|[(.\[])")
_COPIES: Final = (".clone()", ".copy()", ".to_owned()", ".to_vec()", ".to_string()", ".toString()", ".slice()")


def _bindings(look: Look) -> dict[str, Binding]:
    """What is bound once in the test, by name."""
    found: dict[str, Binding] = {}
    times: Counter[str] = Counter(_ASSIGNED.findall(look.test.text))
    language = look.test.source.language
    for node in look.test.source.nodes.find(BINDINGS[language], look.test.body) if language in BINDINGS else ():
        name = _field(node, ("left", "pattern", "name")).partition(",")[0]
        value = _closed_up(_field(node, ("right", "value")))
        if value and times[name] <= 1 and not is_handed_over(node, look.test.body):
            found[name] = Binding(value, node.end_byte)
    return found


_ASSIGNED: Final = pattern(r"\b([A-Za-z_]\w*+)(?:, ?\w++){0,20}+(?:: ?[\w<>\[\], ]{1,60})? ?(?::=|[-+*/|&]?=(?![=>]))")


def _field(node: "Node", names: tuple[str, ...]) -> str:
    return text_of(next((one for one in map(node.child_by_field_name, names) if one is not None), None))


def _closed_up(text: str) -> str:
    """On one line, without what only passes it on."""
    return _PASSED_ON.sub("", " ".join(text.split())).strip("()&* ") if "(" not in text else _unwrapped(text)


_PASSED_ON: Final = pattern(r"^(?:await |&mut |&)")


def _unwrapped(text: str) -> str:
    return _PASSED_ON.sub("", " ".join(text.split()))


def _nothing_between(look: Look, bound: list[Binding], oracle: Oracle) -> bool:
    """Between the first of them and the assertion the test only binds and asserts."""
    first = min(one.end for one in bound)
    quiet = {one.node.start_byte for one in look.oracles}
    between = [one for one in look.test.function.statements if first < one.start_byte < oracle.node.start_byte]
    return all(
        _BINDS.match(text_of(one)) or any(one.start_byte <= at < one.end_byte for at in quiet) for one in between
    )


_BINDS: Final = pattern(r"(?:const|let|var|final|auto)\b|[\w, ]{1,80}(?::=|=(?!=))|[\w<>]{1,80} \w{1,80} = ")

_VALUE: Final = r"([^\n;]{1,200}?)"
_RETURNS: Final = r"(?:mock(?:Return|Resolved)Value(?:Once)?|returns|resolves)"
_RETURNING: Final = ("mockre", "returns", "resolves")
_TOLD: Final = (
    pattern(rf"^[^\S\n]*([\w.]{{1,80}})\.return_value = {_VALUE}$", 8, needs=("return_value",)),
    pattern(rf"([\w.]{{1,80}}) = (?:\w+\.)?(?:Magic|Async)?Mock\(return_value={_VALUE}\)$", 8, needs=("return_value",)),
    pattern(
        rf"([\w.]{{1,80}})(?: = (?:jest|vi|sinon|mock)\.(?:fn|stub)\(\))?\.{_RETURNS}\({_VALUE}\);?$",
        8,
        needs=_RETURNING,
    ),
    pattern(rf"([\w.]{{1,80}}) = (?:jest|vi|sinon|mock)\.fn\((?:async )?\(\) => {_VALUE}\);?$", 8, needs=(".fn(",)),
    pattern(rf"\bwhen\(([\w.]{{1,80}})\([^()\n]{{0,80}}\)\)\.thenReturn\({_VALUE}\);?$", 8, needs=("thenreturn(",)),
)
_TOLD_APART: Final = (
    pattern(
        rf"(?:spyOn|stub)\(([\w.]{{1,80}}), [\"'`](\w{{1,80}})[\"'`]\)\.{_RETURNS}\({_VALUE}\);?$", 8, needs=_RETURNING
    ),
    pattern(rf"([\w.]{{1,80}})\.On\(\"(\w{{1,80}})\"[^()\n]{{0,80}}\)\.Return\({_VALUE}\)$", 8, needs=(".return(",)),
)


def _told(text: str) -> Iterator[tuple[str, str]]:
    """Doubles by the name that calls them, and what each was told to return."""
    for look in _TOLD:
        yield from ((found[1], found[2]) for found in look.finditer(text))
    for look in _TOLD_APART:
        yield from ((f"{found[1]}.{found[2]}", found[3]) for found in look.finditer(text))


_CALL: Final = pattern(r"([\w.]{1,160})\([^()]{0,80}\)")


def _is_of_double(oracle: Oracle, told: Mapping[str, str], known: Mapping[str, Binding]) -> bool:
    if oracle.pair is None:
        return False
    sides = [known[side].value if side in known else side for side in map(_unwrapped, oracle.pair)]
    for call, other in (sides, sides[::-1]):
        found = _CALL.fullmatch(call)
        if found is not None and found[1] in told and _unwrapped(told[found[1]]) == other:
            return True
    return False
