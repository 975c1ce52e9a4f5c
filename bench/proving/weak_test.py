"""Facts about whole tests, proved again: skipped, shadowed, empty, or with nobody who reads their result.

Does not say whether a fact is fair. Invariant: a test that can't be cut out of what is shown is "cannot tell".
"""

import ast
import re
from collections.abc import Iterator
from typing import Final

from bench.proving.answer import Answer, Claim, cannot_tell, first_answer, proved, refuted, settled
from bench.proving.idle import is_idle_line
from bench.proving.looking import (
    ASSERTS,
    STRICT,
    Check,
    counted,
    is_python,
    may_go_on,
    not_found,
    test_at,
    told,
    with_file,
)
from bench.proving.masking import language, masked
from bench.proving.routines import Routine, parsed, routines
from bench.proving.shown import Matter, Shown

_SKIPS: Final = re.compile(
    r"mark\.skip\b|\bskip\(|@skip\b|@(?:unittest\.)?skip\b|#\[ignore\b|@(?:\w+\.)*(?:Disabled|Ignore)\b|enabled\s*=\s*false|\bx(?:it|test|specify|describe|context|suite)\b"
    r"|\.(?:skip|fixme|todo)\b|\.Skip(?:f|Now)?\(|skipTest\(|SkipTest\b|\bX(?:It|Describe|Context)\(|\bP(?:It|Describe)\("
)
_CONDITIONS: Final = re.compile(r"skipif|skipIf|skipUnless|runIf|DisabledOn|DisabledIf|EnabledIf|cfg_attr|\.if\(")


def skips(text: str) -> bool:
    return _SKIPS.search(text) is not None


def has_condition(text: str) -> bool:
    return _CONDITIONS.search(text) is not None


@first_answer
def new_test_skipped(claim: Claim, shown: Shown) -> Iterator[Answer]:
    line = shown.head.get(claim.line, "")
    if claim.line not in shown.added or not skips(line) or has_condition(line):
        yield refuted("no skip without a condition was added there")
    name = next(iter(told(claim.note)), "")
    if not name or any(name in one for one in shown.removed_lines()):
        yield refuted(f"`{name}` stood there before")
    if shown.base_text is not None and counted(name, shown.base_text) and re.fullmatch(r"\w+", name):
        yield refuted(f"`{name}` stands in the text before")
    test = test_at(claim, shown)
    if test is not None and test.first < claim.line and re.search(r"[sS]kip", line):
        yield _first_statement(claim, shown, test)
    yield proved(f"`{line.strip()[:60]}` stands at the new test without a condition")


def _first_statement(claim: Claim, shown: Shown, test: Routine) -> Answer:
    """A call that skips: it must be reached by everybody."""
    if test.node is not None:
        shift = test.first - test.node.lineno
        statements = [one.lineno + shift for one in test.node.body if not _is_docstring(one)]
        return settled(holds=claim.line in statements[:2], why="the call that skips is among the first statements")
    before = "\n".join(masked(shown.head.get(n, ""), language(shown.path)) for n in range(test.first, claim.line))
    level = before.count("{") - before.count("}")
    return settled(holds=level <= 1, why="the call that skips is a statement of the body itself")


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def test_shadowed(claim: Claim, shown: Shown) -> Answer:
    if shown.text is None:
        return cannot_tell("the text is not there")
    tree = parsed(shown.text)
    if tree is None:
        return cannot_tell("the text does not parse")
    for node in ast.walk(tree):
        body: list[ast.stmt] = getattr(node, "body", None) if isinstance(node, ast.Module | ast.ClassDef) else None  # type: ignore[assignment] - both have one
        named = [one for one in body or () if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
        here = next((one for one in named if one.lineno == claim.line), None)
        if here is not None:
            same = [one for one in named if one.name == here.name]
            is_new = any(one.lineno in shown.added for one in same)
            return settled(holds=len(same) > 1 and is_new, why=f"{len(same)} functions `{here.name}` stand in one body")
    return refuted("no function of a class or module begins there")


def test_empty(claim: Claim, shown: Shown) -> Answer:
    test = test_at(claim, shown)
    if test is None:
        return not_found(claim, "test")
    if may_go_on(test, shown):
        return refuted("the end of the test is not shown, so nobody can know")
    if test.node is not None:
        busy = [one for one in ast.walk(ast.Module(test.node.body, [])) if isinstance(one, ast.Call | ast.Assert)]
        busy += [
            one for one in ast.walk(ast.Module(test.node.body, [])) if isinstance(one, ast.With | ast.Raise | ast.For)
        ]
        return settled(holds=not busy, why="its body calls, asserts and raises nothing")
    if re.search(r"should_panic|expected\s*=", test.above):
        return refuted("its mark expects a failure")
    return settled(holds="(" not in test.code and not STRICT.search(test.code), why="its body calls nothing")


def test_result_unread(claim: Claim, matter: Matter) -> Answer:
    shown = matter.file(claim.path)
    test = test_at(claim, shown) if shown is not None else None
    if shown is None or test is None:
        return not_found(claim, "test")
    names = told(claim.note)
    name = names[-1] if len(names) > 1 else ""
    if may_go_on(test, shown):
        return refuted("the end of the test is not shown, so nobody can know")
    held = ASSERTS.search(_without_idle(test))
    if held is not None:
        return refuted(f"it holds `{held[0]}`")
    helper = next(_helpers(test, matter), None)
    if helper is not None:
        return refuted(f"it calls or takes `{helper}`, which asserts")
    if "what `" in claim.note:
        return settled(holds=counted(name, test.code) > 0, why=f"it asserts nothing, and drops what `{name}` returns")
    reads = [line for line in test.code.split("\n") if counted(name, line) and not _PRINTED.match(line)]
    return settled(
        holds=sum(counted(name, line) for line in reads) == 1,
        why=f"it asserts nothing, and `{name}` stands in it once" + (", but for prints" if len(reads) > 1 else ""),
    )


def _without_idle(test: Routine) -> str:
    """Its code without lines that assert what always holds."""
    pairs = zip(test.raw.split("\n"), test.code.split("\n"), strict=True)
    return "\n".join(code for raw, code in pairs if not (STRICT.search(code) and is_idle_line(raw)))


_PRINTED: Final = re.compile(
    r"\s*(?:print|println!|eprintln!|dbg!|console\.\w+|fmt\.Print\w*|t\.Log\w*|System\.out\.\w+|log\w*\.\w+|tracing::\w+!|logging\.\w+)\("
)


def _helpers(test: Routine, matter: Matter) -> Iterator[str]:
    """Functions shown anywhere that assert, and that the test names."""
    called = re.findall(r"(?<![.\w])(\w+)\s*\(", test.code)
    words = {*called, *re.findall(r"\w+", test.parameters)} - {test.name}
    for path, lines in _sources(matter):
        if language(path) != _language(test):
            continue
        for one in routines(lines, path):
            if one.name in words and not one.is_test and STRICT.search(_WITHOUT_SUCCESS.sub("", one.code)):
                yield one.name


_WITHOUT_SUCCESS: Final = re.compile(r"\w+\.(?:NoError|Nil|Fatal\w*)\([^\n]*")
"""That a step of the set-up worked is no assertion about what is tested."""


def _language(test: Routine) -> str:
    return "python" if test.node is not None else test_language(test)


def test_language(test: Routine) -> str:
    for mark, of in ((r"\bfn\b", "rust"), (r"\bfunc\b", "go"), (r"\bvoid\b", "java")):
        if re.search(mark, test.header):
            return of
    return "script"


def _sources(matter: Matter) -> Iterator[tuple[str, dict[int, str]]]:
    changed = {one.path for one in matter.files}
    yield from ((one.path, one.head) for one in matter.files)
    for path, text in matter.texts.items():
        if path not in changed:
            yield path, dict(enumerate(text.split("\n"), 1))


def failure_swallowed(claim: Claim, shown: Shown) -> Answer:
    if not any(line in shown.added for line in range(claim.line, claim.last + 1)):
        return refuted("the line was not added")
    raw = "\n".join(shown.head.get(line, "") for line in range(claim.line, claim.last + 1))
    code = masked(raw, language(shown.path))
    if not ASSERTS.search(code):
        return refuted("no assertion stands in it")
    if is_python(shown):
        return settled(holds=_swallows(raw), why="a handler for everything ignores what the assertions raise")
    caught = re.search(r"catch\s*(?:\(([^)]*)\))?\s*\{([^{}]*)\}\s*$", code, re.DOTALL)
    if caught is None:
        return settled(holds="catch_unwind" in code, why="what the assertions raise is caught and dropped")
    is_all = language(shown.path) == "script" or re.search(r"Throwable|Error", caught[1] or "") is not None
    said = [one.strip() for one in re.split(r";|\n", caught[2]) if one.strip()]
    is_ignored = all(
        re.match(r"(?:return\b|continue|console\.|log\w*\.|System\.|\w+\.printStackTrace|print)", one) for one in said
    )
    return settled(holds=is_all and is_ignored, why="a handler for everything ignores what the assertions raise")


def _swallows(raw: str) -> bool:
    indent = len(raw) - len(raw.lstrip())
    tree = parsed("\n".join(line[indent:] for line in raw.split("\n")))
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.With) and re.search(
            r"suppress\(.*(?:Exception|AssertionError)", ast.unparse(node.items[0])
        ):
            return True
        if isinstance(node, ast.Try) and any(_ignores_all(one) for one in node.handlers):
            return True
    return False


def _ignores_all(handler: ast.ExceptHandler) -> bool:
    caught = "" if handler.type is None else ast.unparse(handler.type)
    is_all = not caught or re.search(r"\b(?:Exception|BaseException|AssertionError)\b", caught) is not None
    idle = re.compile(
        r"pass|continue|return(?: None| True)?|\.\.\.|print\(.*|\w*log\w*\.\w+\(.*|warnings\.warn\(.*|pytest\.skip\(.*",
        re.DOTALL,
    )
    return is_all and all(idle.fullmatch(ast.unparse(one)) for one in handler.body)


CHECKS: Final[dict[str, Check]] = {
    "new_test_skipped": with_file(new_test_skipped),
    "test_shadowed": with_file(test_shadowed),
    "test_empty": with_file(test_empty),
    "test_result_unread": test_result_unread,
    "failure_swallowed": with_file(failure_swallowed),
}
