"""Facts about single assertions, proved again: unreached, dropped, loosened, always true, not called.

Does not say whether a fact is fair. Invariant: an assertion counts only by its words, never by what a string says.
"""

import ast
import re
from collections.abc import Iterator
from typing import Final

from bench.proving.answer import Answer, Claim, cannot_tell, first_answer, proved, refuted, settled
from bench.proving.idle import CHECK_CALLS, calls_twice, calls_twice_as_text, is_idle, is_idle_text
from bench.proving.looking import (
    ASSERTS,
    STRICT,
    Check,
    counted,
    is_all_new,
    is_python,
    may_go_on,
    not_found,
    stripped,
    test_at,
    with_file,
)
from bench.proving.masking import language, without_comments
from bench.proving.routines import Routine, parsed, routines
from bench.proving.shown import Shown


def _asserting_nodes(node: ast.AST) -> Iterator[ast.AST]:
    for one in ast.walk(node):
        is_call = isinstance(one, ast.Call) and CHECK_CALLS.search(ast.unparse(one.func)) is not None
        if is_call or isinstance(one, ast.Assert | ast.Raise):
            yield one


def assertion_unreached(claim: Claim, shown: Shown) -> Answer:
    test = test_at(claim, shown)
    if test is None:
        return not_found(claim, "test")
    if claim.line not in shown.added:
        return refuted("the line was not added")
    holds = _ends_in_python(claim, test) if test.node is not None else _ends_in_braces(claim, test)
    return settled(holds=holds, why="a return of the body itself stands above assertions")


def _ends_in_python(claim: Claim, test: Routine) -> bool:
    body = test.node.body if test.node is not None else []
    shift = test.first - (test.node.lineno if test.node is not None else 0)
    at = next((n for n, one in enumerate(body) if one.lineno + shift == claim.line), None)
    if at is None or not _ends(body[at]):
        return False
    return any(True for rest in body[at + 1 :] for _ in _asserting_nodes(rest))


def _ends_in_braces(claim: Claim, test: Routine) -> bool:
    lines = test.code.split("\n")
    row = claim.line - test.body_first
    before, here, after = "\n".join(lines[:row]), lines[row], "\n".join(lines[row + 1 :])
    is_level = before.count("{") == before.count("}") and before.count("(") == before.count(")")
    ends = re.match(r"\s*(?:return\b|if \(?(?:true|1)\)?\s*\{?\s*return)", here) is not None
    return is_level and ends and STRICT.search(after) is not None


def _ends(node: ast.stmt) -> bool:
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Constant) and bool(node.test.value) and _ends(node.body[-1])
    return isinstance(node, ast.Return | ast.Raise)


_ENVIRONMENT: Final = re.compile(
    r"environ|getenv|process\.env|env::var|import\.meta\.env|cfg!|getProperty|Deno\.env|getBoolean"
)


def assertion_behind_switch(claim: Claim, shown: Shown) -> Answer:
    test = test_at(claim, shown)
    if test is None:
        return not_found(claim, "test")
    if not is_all_new(test, shown):
        return refuted("the test is not new")
    if may_go_on(test, shown):
        return refuted("the end of the test is not shown, so nobody can know")
    if not _ENVIRONMENT.search(shown.head.get(claim.line, "")):
        return refuted("the line does not ask for the environment")
    code = test.code.split("\n")
    row = claim.line - test.body_first if test.node is None else claim.line - (test.last - len(code) + 1)
    inside = _block(code, row, is_python=is_python(shown))
    outside = [line for number, line in enumerate(code) if number not in inside]
    held = any(STRICT.search(code[number]) for number in inside)
    return settled(
        holds=held and not any(STRICT.search(line) for line in outside),
        why="all of the assertions stand in a block behind a question about the environment",
    )


def _block(code: list[str], row: int, *, is_python: bool) -> range:
    """The rows of what stands behind the `if` at *row*."""
    if is_python:
        indent = len(code[row]) - len(code[row].lstrip())
        rest = range(row + 1, len(code))
        end = next((n for n in rest if code[n].strip() and len(code[n]) - len(code[n].lstrip()) <= indent), len(code))
        return range(row, end)
    depth = 0
    for number in range(row, len(code)):
        depth += code[number].count("{") - code[number].count("}")
        if depth <= 0 and "{" in "".join(code[row : number + 1]):
            return range(row, number + 1)
    return range(row, len(code))


@first_answer
def assertion_dropped(claim: Claim, shown: Shown) -> Iterator[Answer]:
    lost = stripped("\n".join(shown.hunk_base.get(line, "") for line in range(claim.line, claim.last + 1)))
    if claim.line not in shown.removed or not ASSERTS.search(lost):
        yield refuted("no assertion was removed there")
    if lost in stripped("\n".join(shown.added_lines())):
        yield refuted("the same assertion was added again in this file")
    before = test_at(claim, shown)
    if before is None:
        yield not_found(claim, "test")
        return
    after = [one for one in routines(shown.head, shown.path) if one.name == before.name]
    if not after:
        yield refuted(f"no test `{before.name}` is there after the change")
    text = after[0].raw
    names = _names_in(lost)
    gone = sorted(name for name in names if not counted(name, text))
    if gone and not _is_emptied(after[0]):
        yield refuted(f"{', '.join(gone)} stands nowhere in the test any more")
    anew = "\n".join(shown.head[n] for n in sorted(shown.added) if after[0].holds(n))
    telling = {one for one in re.findall(r"[A-Za-z_]\w*", lost) if not _OF_ASSERTIONS.fullmatch(one)}
    if telling and STRICT.search(anew) and all(counted(one, anew) for one in telling):
        yield refuted("an added assertion of the same test names the same")
    yield proved("the assertion is gone, and the test still holds all that it names")


def _is_emptied(test: Routine) -> bool:
    return not test.code.strip() or test.code.strip() == "pass"


_OF_ASSERTIONS: Final = re.compile(
    r"(?:self|assert\w*|expect\w*|require|to[A-Z]\w*|is[A-Z]\w*|has[A-Z]\w*|contains\w*|and|or|not|in|is|None|null|nil|True|False|true|false|t|Equal\w*"
    r"|NotNil|Len|len|err|verify|that|then|be|been|have|eq|equal|ok|Ok|Some|unwrap|as|class|new|String|int|str|await|async|times|never|any|mock)"
)


def _names_in(text: str) -> set[str]:
    bare = re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|`[^`]*`', " ", text)
    names = re.findall(r"(?<![.\w])[A-Za-z_]\w*", bare)
    return {name for name in names if not _OF_ASSERTIONS.fullmatch(name)}


_PRESENCE: Final = re.compile(
    r"is not None|!= (?:None|nil|null|undefined)|!== (?:null|undefined)|\.(?:toBeDefined|toBeTruthy|toBe(?:Instance|Type)Of|to\.exist|to\.be\.ok|isNotNull|isPresent|isNotEmpty|is_some"
    r"|is_ok|is_err|isNotBlank|not\.toBeNull|not\.toBeUndefined|toThrow|isInstanceOf|toBeGreaterThan)\b|assertIsNotNone|assertNotNull|assertTrue|NotNil|NotEmpty|NotNull|assert!?\s*\(?\s*[\w.\[\]()&*]+\s*[,)]?|^assert [\w.\[\]()]+$"
    r"|assert len\(.*\) >|isinstance|NoError|\bhasattr|toHaveBeenCalled\(\)|assert_called\(\)|\.length > 0|is_empty|assert (?:True|true)|expect\(true\)|NotPanics|\|\| true|or True|\bt\.ok\([\w.]+\)|assertDoesNotThrow|isinstance"
)
_VALUE: Final = re.compile(
    r"==|\bEqual\w*\(|assert_eq|\bassertEqual|\.(?:toBe|toEqual|toStrictEqual|toMatch\w*|toContain\w*|toHave\w*|isEqualTo\w*|equals?|eql|contains\w*|deep|isTrue|isFalse|hasSize|hasMessage\w*|isSameAs"
    r"|equal\w*|deepEqual|strictEqual)\b|assertIn\b|assertRaises|\bin\b|assertThat|assertSame|matches!|[<>]=?|assert_called|assertArrayEquals|DeepEqual|assertTrue|assertFalse|t\.(?:Error|Fatal)|!="
)


_THROWN_AWAY: Final = re.compile(r"(?:let _ =|_ =|void) (.+?);?", re.DOTALL)


def _moved_from(new: str, shown: Shown) -> list[str]:
    """Removed assertions, elsewhere in the file, of all that the new one names: its test was moved."""
    names = _names_in(new)
    removed = (stripped(line) for line in shown.removed_lines())
    return [line for line in removed if names and ASSERTS.search(line) and names <= _names_in(line)]


def assertion_loosened(claim: Claim, shown: Shown) -> Answer:
    run = shown.run_at(claim.line, of_base=False)
    new = stripped("\n".join(shown.head.get(line, "") for line in range(claim.line, claim.last + 1)))
    if run is None or not run.removed:
        old = _moved_from(new, shown)
    else:
        old = [stripped(shown.hunk_base[line]) for line in run.removed]
    if not old:
        return refuted("nothing was removed where the line was added")
    thrown = _THROWN_AWAY.fullmatch(new.strip())
    if thrown is not None and ASSERTS.search(" ".join(old)):
        asked = "".join(thrown[1].split()) in "".join("".join(old).split())
        return settled(holds=asked, why=f"`{thrown[1][:70]}` was asserted, and is thrown away now")
    were = [line for line in old if ASSERTS.search(line) and _VALUE.search(line)]
    if not ASSERTS.search(new) or not (were or (ASSERTS.search(" ".join(old)) and _VALUE.search(" ".join(old)))):
        return refuted("no assertion of a value was replaced by this one")
    if stripped(new) in stripped("\n".join(old)):
        return refuted("the same assertion stood there before")
    if not _PRESENCE.search(new) and not _is_trivial(new):
        return cannot_tell(f"whether `{new[:80]}` asks less than `{(were or old)[0][:80]}`")
    beside = run.added if run is not None and run.removed else ()
    others = [shown.head[line] for line in beside if not claim.line <= line <= claim.last]
    kept = [one for one in others if STRICT.search(one) and _VALUE.search(one) and not _PRESENCE.search(one)]
    return settled(
        holds=not kept,
        why=f"`{(were or old)[0][:70]}` became `{new[:70]}`, and no assertion of a value stands beside it",
    )


def _is_trivial(text: str) -> bool:
    return (
        re.search(r"\bassert\s+\w[\w.]*$|assert!\(\w[\w.]*\)|(?:assert)?True\(t?,?\s*true|\(true\)", text) is not None
    )


def assertion_always_true(claim: Claim, shown: Shown) -> Answer:
    if claim.line not in shown.added:
        return refuted("the line was not added")
    raw = "\n".join(shown.head.get(line, "") for line in range(claim.line, claim.last + 1))
    why = f"`{stripped(raw)[:80]}` holds whatever the code does"
    if not is_python(shown):
        code = without_comments(raw, language(shown.path))
        may_differ = "itself" in claim.note and calls_twice_as_text(code)
        return _ALIKE if may_differ else settled(holds=is_idle_text(code), why=why)
    tree = parsed(raw.strip())
    node = next((one for one in ast.walk(tree) if isinstance(one, ast.Assert | ast.Call)), None) if tree else None
    if node is None:
        return cannot_tell("the assertion does not parse alone")
    return _ALIKE if calls_twice(node, raw) else settled(holds=is_idle(node), why=why)


_ALIKE: Final = cannot_tell("two calls are compared, which may differ")


_PROPERTIES: Final = re.compile(
    r"\.(?:to|be|been|is|that|which|and|has|have|with|at|of|same|not|deep|ok|true|false|null|undefined|exist|exists|empty|NaN|finite|sealed|frozen|extensible|arguments|called|calledOnce\w*|calledTwice|notCalled|fulfilled|rejected)\s*;?\s*$"
)


def matcher_not_called(claim: Claim, shown: Shown) -> Answer:
    raw = "\n".join(shown.head.get(line, "") for line in range(claim.line, claim.last + 1))
    code = without_comments(raw, language(shown.path)).strip()
    if not any(line in shown.added for line in range(claim.line, claim.last + 1)):
        return refuted("the line was not added")
    ends = re.search(r"\.(\w+)\s*;?$", code)
    if ends is None:
        return refuted("what stands there does not end with a name")
    if is_python(shown):
        return settled(holds=ends[1].startswith("assert"), why=f"`{ends[1]}` is named and not called")
    if _PROPERTIES.search(code) and not re.search(r"\.(?:to[A-Z]\w*|called\w*)\s*;?$", code):
        return refuted("a property of chai checks without a call")
    return settled(
        holds=re.match(r"(?:await |return )?\w*(?:expect|assert|mock|spy)\w*", code) is not None,
        why=f"`{ends[1]}` is named and not called",
    )


CHECKS: Final[dict[str, Check]] = {
    "assertion_unreached": with_file(assertion_unreached),
    "assertion_behind_switch": with_file(assertion_behind_switch),
    "assertion_dropped": with_file(assertion_dropped),
    "assertion_loosened": with_file(assertion_loosened),
    "assertion_always_true": with_file(assertion_always_true),
    "matcher_not_called": with_file(matcher_not_called),
}
